//! Elements whose layout depends on conditions in which the two compilations of this crate differ, and near misses.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

/// Elements of a row: on the device more.
pub const WIDTH: usize = if cfg!(target_arch = "nvptx64") { 8 } else { 1 };

/// Wrong: rows that are wider on the device.
#[kernel]
pub fn wide_rows(mut y: DisjointSlice<[u32; WIDTH]>) {
    if let Some(y) = y.own() {
        *y = [9; WIDTH];
    }
}

/// Has a field more where debug assertions are on, as they are in a host that is not optimised, and never in kernels.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Counted {
    /// The number.
    pub value: u32,
    /// How often it was set.
    #[cfg(debug_assertions)]
    pub count: u32,
}

/// Wrong in a host with debug assertions.
#[kernel]
pub fn set_counted(value: u32, mut y: DisjointSlice<Counted>) {
    if let Some(y) = y.own() {
        y.value = value;
    }
}

/// Right: other names, but the same layout.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Named {
    /// The number.
    #[cfg(target_arch = "nvptx64")]
    pub on_device: u32,
    /// The number.
    #[cfg(not(target_arch = "nvptx64"))]
    pub on_host: u32,
}

/// Right.
#[kernel]
pub fn set_named(value: u32, mut y: DisjointSlice<Named>) {
    if let Some(y) = y.own() {
        *y = bytemuck::cast(value);
    }
}

/// Wrong: a tile with room for larger blocks on the host.
#[kernel]
pub fn small_tile(mut y: DisjointSlice<u32>, mut tile: Shared<Tile<u32, { 64 / WIDTH }>>) {
    *tile.own() = 1;
    let tile = tile.sync();
    if let Some(y) = y.own() {
        *y = tile[0];
    }
}

/// Wrong: on the device nothing is stated, on the host a block.
#[cfg_attr(target_arch = "nvptx64", kernel)]
#[cfg_attr(not(target_arch = "nvptx64"), kernel(block = 32))]
pub fn stated_once(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = 1;
    }
}

/// Right for one of its types: a generic kernel is compared for each.
#[kernel(T = [u32, [u32; WIDTH]])]
pub fn clear<T: Pod>(mut y: DisjointSlice<T>) {
    if let Some(y) = y.own() {
        *y = T::zeroed();
    }
}
