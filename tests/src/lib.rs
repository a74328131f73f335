//! The gallery's kernels as cases: inputs, reference and cost, which tests and benchmarks share.
//! How a case is run on which engine is the business of tests/trials/cases.rs and src/bin/bench.rs.

mod baseline;
mod case;
pub mod cases;
mod compare;
pub mod contests;
pub mod figures;
pub mod served;
pub mod tensor_map;
pub mod ui;
pub mod ulp;

pub use baseline::{NVCC, baselines};
pub use case::{Case, Cost, Prepared};
pub use compare::{Results, Tolerance, compare, record};

pub use gallery::{PTX, PTX_HASH};
