//! Results that depend on the order in which threads run: on the lockstep of a warp, on the numbers of blocks that run at
//! the same time. Every access is atomic or volatile, so that none of these is a data race.

pub mod lockstep;
pub mod order;
