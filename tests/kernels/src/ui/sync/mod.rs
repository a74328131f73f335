//! Barriers and warp operations to which not those come that they are for.

pub mod barriers;
pub mod mbarriers;
pub mod warps;
