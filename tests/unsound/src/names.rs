//! Kernels whose names, types and parameters are those that macros and the device library use inside.

#![allow(
    non_camel_case_types,
    dead_code,
    unused_macros,
    reason = "names that stand for others, in one of two compilations"
)]

use cuda_std::DisjointSlice;
use cuda_std::kernel;
use cuda_std::shared::{Shared, Tile};

/// In scope wherever the macro's code stands.
mod core {}
mod std {}
struct Option;
struct Some;
struct None;
struct Result;
struct Call;
struct Kernel;
struct Parameter;
struct KernelParameter;
struct Description;
struct Storage;
type u32 = i16;
type usize = i8;
type bool = f32;
trait Copy {}
macro_rules! assert {
    ($($any:tt)*) => {
        compile_error!("the macro of another crate")
    };
}

/// Its parameters have the names of the entry's words.
#[kernel]
pub fn entry(p0: f32, p0_a: f32, p1_place: &[f32], mut p3_b: DisjointSlice<f32>) {
    let sum = p0 + p0_a + p1_place[0];
    if let ::core::option::Option::Some(own) = p3_b.own() {
        *own = sum;
    }
}

/// Numbers that have the names of the macro's constants, and of a tile in shared memory.
const __GRID_CONSTANTS: ::core::primitive::usize = 1;
const __REGISTERS: ::core::primitive::u32 = 2;
const __CLUSTERS: ::core::primitive::u32 = 4;
const CONTRACT: ::core::primitive::usize = 32;
static LEAVE_TILE: ::core::primitive::u32 = 8;

/// It uses these numbers.
#[kernel]
pub fn leave(factor: f32, mut own: DisjointSlice<f32>, mut tile: Shared<Tile<f32, CONTRACT>>) {
    let sum = __GRID_CONSTANTS as ::core::primitive::u32 + __REGISTERS + __CLUSTERS + LEAVE_TILE;
    *tile.own() = sum as f32 * factor;
    let tile = tile.sync();
    if let ::core::option::Option::Some(own) = own.own() {
        *own = tile[31];
    }
}

/// Its type parameters have the names of others.
#[kernel(L = [f32, f64], A = [f32, f64])]
pub fn product<L: bytemuck::Pod + cuda_std::Element, A: bytemuck::Pod + cuda_std::Element>(
    r#type: L,
    r#fn: A,
    mut left: DisjointSlice<L>,
    mut right: DisjointSlice<A>,
) {
    if let (::core::option::Option::Some(l), ::core::option::Option::Some(r)) = (left.own(), right.own()) {
        (*l, *r) = (r#type, r#fn);
    }
}

/// Attacks by these kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use crate::Target;
    use rumba::Result;

    /// Each name is the author's.
    pub fn names_of_the_macro(target: &Target) -> Result<()> {
        let mut y = [0.0_f32; 32];
        target.module.launch((1, 32), super::entry(1.0, 2.0, &[4.0], &mut y))?;
        assert_eq!(y, [7.0; 32]);
        target.module.launch((1, 32), super::leave(1.0, &mut y))?;
        assert_eq!(y, [15.0; 32]);
        let mut z = [0.0_f64; 32];
        target.module.launch((1, 32), super::product(1.5_f32, 2.5_f64, &mut y, &mut z))?;
        assert_eq!((y, z), ([1.5; 32], [2.5; 32]));
        Ok(())
    }
}
