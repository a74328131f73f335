//! What every room uses: lanes and masks of them, scalar types, seeds, data-flow analysis, and what reports are told with.

pub(crate) mod config;
pub mod engine;
pub(crate) mod flow;
pub mod ir;
pub(crate) mod lanes;
pub mod limits;
pub(crate) mod pool;
pub(crate) mod prefetch;
pub(crate) mod report;
pub(crate) mod seed;
pub(crate) mod types;
