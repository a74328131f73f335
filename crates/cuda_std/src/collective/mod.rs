//! Operations that threads carry out together: those of a warp, of a block, of groups of threads, and products of matrices.

mod agreement;
pub mod block;
pub mod groups;
pub mod mma;
pub mod product;
pub mod symmetric;
pub mod tensor;
pub mod warp;
