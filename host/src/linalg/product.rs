//! Products of matrices.
