//! Kernels compiled for several architectures, and a kernel without `arch`. tests/tests/it/variants.rs launches them on
//! devices of several compute capabilities; what they compute tells which variant ran.

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

cuda_std::constant! {
    /// The factor of all kernels.
    pub static FACTOR: u32 = 1;
}

/// How many threads have counted, of all kernels.
static COUNT: AtomicU32 = AtomicU32::new(0);

fn count() -> u32 {
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// The number of the architecture that the code around it is compiled for, among those that the kernels state.
macro_rules! compiled_for {
    () => {
        if cfg_arch!("sm_90a") {
            901
        } else if cfg_arch!("sm_90") {
            900
        } else if cfg_arch!("sm_80") {
            800
        } else {
            700
        }
    };
}

/// States no architecture.
#[kernel]
pub fn plain(mut y: DisjointSlice<[u32; 2]>) {
    if let Some(y) = y.own() {
        *y = [compiled_for!() * *FACTOR, count()];
    }
}

/// Has a variant for Hopper and one for what is older and newer.
#[kernel(arch = ["sm_90a", "sm_80"])]
pub fn product(mut y: DisjointSlice<[u32; 2]>) {
    if let Some(y) = y.own() {
        *y = [compiled_for!() * *FACTOR, count()];
    }
}

/// Is for Hopper only.
#[kernel(arch = "sm_90a")]
pub fn hopper(mut y: DisjointSlice<[u32; 2]>) {
    if let Some(y) = y.own() {
        *y = [compiled_for!() * *FACTOR, count()];
    }
}

/// Is generic, and states architectures.
#[kernel(T = [u32, u64], arch = ["sm_80", "sm_90"])]
pub fn generic<T: From<u32> + cuda_std::Element>(mut y: DisjointSlice<T>) {
    if let Some(y) = y.own() {
        *y = T::from(compiled_for!());
    }
}

/// Reads behind the end, in each variant in a line of its own.
#[kernel(arch = ["sm_80", "sm_90a"])]
pub fn reads_too_far(x: &[u32], mut y: DisjointSlice<u32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y = if cfg_arch!("sm_90a") { x[9] } else { x[8] };
    }
}
