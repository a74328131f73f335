//! The corpus of the checks: kernels that are wrong, each in one way, and near misses that are right.
//!
//! A file is about one theme of one check, and wrong kernels stand next to the right kernels that resemble them.
//! Comments state the findings, and `rumba_tests::ui` reads them; kernels that Rust cannot express are in `ptx`.
#![allow(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::manual_is_multiple_of,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    reason = "half of these kernels are unsound, which is their purpose, and they are written as in CUDA C++"
)]

mod device;

pub mod arith;
pub mod init;
pub mod mem;
pub mod port;
pub mod race;
pub mod sync;
