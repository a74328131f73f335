//! The state of the machine, as handlers see it: operations, programs, warps, blocks, clusters, and the launch that
//! they are in.

pub(crate) mod back_off;
pub(crate) mod block;
pub(crate) mod bounds;
pub(crate) mod cluster;
pub(crate) mod context;
pub(crate) mod counters;
pub(crate) mod difference;
pub(crate) mod fault;
pub(crate) mod fuel;
pub(crate) mod geometry;
pub(crate) mod op;
pub(crate) mod polls;
pub(crate) mod printf;
pub(crate) mod program;
pub(crate) mod running;
pub(crate) mod special;
pub(crate) mod tensor_memory;
pub(crate) mod warp;
