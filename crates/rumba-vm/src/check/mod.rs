//! The checks that are made while a kernel runs: what an access may do is decided at once, at a door; what threads may do
//! to each other is remembered and compared.

pub(crate) mod arithmetic;
pub(crate) mod arrays;
mod batch;
pub(crate) mod cells;
pub(crate) mod clock;
pub(crate) mod finding;
pub(crate) mod lanes;
pub(crate) mod memory;
pub(crate) mod monitor;
pub(crate) mod notes;
pub(crate) mod order;
pub(crate) mod pending;
pub(crate) mod published;
pub(crate) mod race;
pub(crate) mod range;
pub(crate) mod record;
pub(crate) mod registers;
pub(crate) mod shadow;
pub(crate) mod sync;
pub(crate) mod unwritten;
pub(crate) mod values;
