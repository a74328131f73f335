//! A classifier of handwritten digits, and its training: the digits, the network, and what one process of several does.

pub mod data;
pub mod network;
pub mod plot;
pub mod start;
