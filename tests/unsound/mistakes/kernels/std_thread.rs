//! Rust: a mutex, and threads.

use std::sync::Mutex;

use cuda_std::prelude::*;

#[kernel]
pub fn start(x: &[f32]) {
    let total = Mutex::new(0.0);
    std::thread::spawn(|| {});
}
