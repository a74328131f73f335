//! The detectors: what threads did is remembered and compared. They know numbers, and no warp or launch.

pub(crate) mod agent;
pub(crate) mod arrivals;
pub(crate) mod batch;
pub(crate) mod cells;
pub(crate) mod clock;
pub(crate) mod finding;
pub(crate) mod flight;
pub(crate) mod groups;
mod lines;
pub(crate) mod monitor;
mod noted;
pub(crate) mod notes;
pub(crate) mod order;
pub(crate) mod products;
pub(crate) mod program;
pub(crate) mod proxy;
pub(crate) mod published;
pub(crate) mod race;
pub(crate) mod reads;
pub(crate) mod record;
mod row;
mod stores;
mod strong;
pub(crate) mod thread_state;
pub(crate) mod transactions;
pub(crate) mod updates;
pub(crate) mod watch;
