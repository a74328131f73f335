//! Measures the errors of `cuda_std::float`, in units in the last place (ulp): `cargo xtask ulp`.
//!
//! | type | inputs | reference |
//! |---|---|---|
//! | `f32`, one number | all, or evenly spread over the bits | the same function in `f64`, on the device |
//! | the rest | random, half of them evenly spread over the exponents | more than 200 bits, on the host |
//!
//! So what the first line rests on is measured by the second. `bounds.txt` holds the worst errors; a run that finds a
//! larger one fails.

pub mod bounds;
pub mod measure;
mod real;
mod references;
