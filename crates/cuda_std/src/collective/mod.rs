//! Operations that threads carry out together: those of a warp, of groups of threads, and products of matrices.

mod agreement;
pub mod groups;
pub mod mma;
pub mod product;
pub mod tensor;
pub mod warp;
