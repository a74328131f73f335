//! Attention: `softmax(scale q kᵀ) v`, without its matrix of scores in memory. Each file has one way to compute it.

pub mod warp_group;
