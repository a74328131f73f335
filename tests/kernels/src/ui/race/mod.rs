//! Data races: accesses of two threads that nothing orders.

pub mod atomics;
pub mod barriers;
pub mod blocks;
pub mod copies;
pub mod warps;
