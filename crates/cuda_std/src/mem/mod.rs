//! Memory that threads share, other than a kernel's arrays: atomic numbers, shared memory, constant memory, the heap.

pub mod atomic;
pub mod constant;
pub mod heap;
pub mod shared;
