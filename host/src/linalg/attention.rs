//! Attention forward.
