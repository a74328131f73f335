//! Numbers: mathematical functions, numbers of 16 bits, several in one access, random ones. Nothing here knows of other
//! threads.

pub mod complex;
pub mod float;
pub(crate) mod float8;
pub mod half;
pub mod random;
pub mod vector;
