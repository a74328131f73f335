//! Kernels as they are written for Rust-CUDA's `cuda_std`: unsafe, with raw pointers, references, any `Copy` structure by
//! value, statics in shared and constant memory, and vectors of the crate glam.

use cuda_std::glam::{UVec2, Vec3};
use cuda_std::prelude::*;
use cuda_std::{address_space, externally_visible, gpu_only, shared_array};

/// Elements of a block of [`reverse_static`] and [`reverse_macro`].
pub const BLOCK: usize = 64;

/// `c = a + b`
#[kernel]
#[allow(improper_ctypes_definitions, clippy::missing_safety_doc)]
pub unsafe fn vector_sum(a: &[f32], b: &[f32], c: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        // SAFETY: as long as `a`, says the caller; the index is the thread's own.
        let c = unsafe { &mut *c.add(i) };
        *c = a[i] + b[i];
    }
}

/// Reverses each block through a static.
#[kernel]
#[allow(clippy::missing_safety_doc)]
pub unsafe fn reverse_static(x: *mut u32) {
    #[address_space(shared)]
    static mut TILE: [u32; BLOCK] = [0; BLOCK];

    let (thread, own) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: each thread writes its own element, and none after the barrier.
    unsafe {
        TILE[thread] = *x.add(own);
        thread::sync_threads();
        *x.add(own) = TILE[BLOCK - 1 - thread];
    }
}

/// Reverses each block through an array of the macro.
#[kernel]
#[allow(clippy::missing_safety_doc)]
pub unsafe fn reverse_macro(x: *mut u32) {
    let tile = shared_array![u32; BLOCK];
    let (thread, own) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: as in `reverse_static`.
    unsafe {
        *tile.add(thread) = *x.add(own);
        thread::sync_threads();
        *x.add(own) = *tile.add(BLOCK - 1 - thread);
    }
}

/// A static that the host finds by its name.
#[externally_visible]
#[address_space(constant)]
pub static GAMMA: [f32; 2] = [0.5, 2.0];

/// A structure with padding.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct View {
    /// Columns and rows.
    pub bounds: UVec2,
    /// Whether to turn it over.
    pub flip: bool,
    /// The colour of the lower left.
    pub origin: Vec3,
}

/// Where a pixel is.
#[gpu_only]
fn pixel(view: &View) -> Option<usize> {
    let i = thread::index_2d();
    let row = if view.flip { view.bounds.y - 1 - i.y } else { i.y };
    (i.cmplt(view.bounds).all()).then_some((row * view.bounds.x + i.x) as usize)
}

/// A structure by value, a reference, and vectors behind a pointer.
#[kernel]
#[allow(clippy::missing_safety_doc)]
pub unsafe fn shade(out: *mut Vec3, view: View, light: &[f32; 4]) {
    let i = thread::index_2d().as_vec2();
    if let Some(pixel) = pixel(&view) {
        let colour = view.origin + Vec3::new(i.x, i.y, GAMMA[1]) * light[3];
        // SAFETY: as many pixels as the bounds say; each is one thread's.
        unsafe { *out.add(pixel) += colour.clamp(Vec3::ZERO, Vec3::splat(10.0)) };
    }
}
