//! What arrays need kernels for: copies between views of any strides, and fills.
//!
//! The PTX lies beside the sources, so that a program that has arrays needs no kernel toolchain for them. A test of
//! `rumba-tests` (`arrays`) builds it anew and compares; it also writes it, with `UPDATE_EXPECT=1`.
#![no_std]

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

/// The kernels, built from this crate.
#[cfg(not(target_arch = "nvptx64"))]
pub const PTX: &str = include_str!("../kernels.ptx");

/// 16 bytes, which are read and written in one access.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Quad([u32; 4]);

/// The element itself. Elements of any size are copied as words.
#[vectorize(T = [u8, u16, u32, u64, Quad])]
pub fn copy<T>(element: T) -> T {
    element
}
