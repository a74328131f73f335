//! Generic kernels, and kernels with generic functions and closures inside.

use core::ops::Add;
use cuda_std::Element;
use cuda_std::prelude::*;

/// `y = a x`, for two types.
#[kernel(T = [f32, f64])]
pub fn scale<T: GpuFloat>(a: T, x: &[T], mut y: DisjointSlice<T>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y = a * x[i];
    }
}

/// Each thread adds `N` neighbours: every combination of types and numbers, with a `where` clause.
#[kernel(T = [u32, i64], N = [2, 4], max_threads = 128)]
pub fn neighbours<T, const N: usize>(x: &[T], mut y: DisjointSlice<T>)
where
    T: Element + Copy + Add<Output = T> + Default,
{
    let i = grid::<1>().get();
    if let Some(y) = y.own() {
        *y = x[i..].iter().take(N).fold(T::default(), |sum, &x| sum + x);
    }
}

/// Reverses each block: pairs of type and number, the block among what depends on them.
#[kernel((T, N) = [(f32, 64), (f64, 32)], block = N)]
pub fn reverse<T: Element + Copy, const N: usize>(x: &[T], mut y: DisjointSlice<T>, mut tile: Shared<Tile<T, N>>) {
    *tile.own() = x[grid::<1>()];
    let tile = tile.sync();
    if let Some(y) = y.own() {
        *y = tile[N - 1 - thread::thread_idx_x() as usize];
    }
}

/// A computation as a type: a kernel can be generic over it.
pub trait Operation {
    /// Combines two numbers.
    fn apply(a: i32, b: i32) -> i32;
}

/// `a + b`
#[derive(Debug)]
pub struct Sum;

/// `a b`
#[derive(Debug)]
pub struct Product;

impl Operation for Sum {
    fn apply(a: i32, b: i32) -> i32 {
        a + b
    }
}

impl Operation for Product {
    fn apply(a: i32, b: i32) -> i32 {
        a * b
    }
}

/// Combines by an operation, with a sign that is a const parameter of another type.
///
/// # Safety
///
/// `y` has an element for each of `x`.
#[kernel(O = [Sum, self::Product], NEGATIVE = [false, true])]
pub unsafe fn combine<O: Operation, const NEGATIVE: bool>(x: &[i32], y: *mut i32) {
    let i = grid::<1>().get();
    if let Some(&x) = x.get(i) {
        let value = O::apply(x, 3);
        // SAFETY: the caller's, and the index is the thread's own.
        unsafe { *y.add(i) = if NEGATIVE { -value } else { value } };
    }
}

/// A polynomial by Horner's rule.
fn polynomial<const N: usize>(coefficients: [f32; N], x: f32) -> f32 {
    coefficients.iter().rev().fold(0.0, |sum, &c| sum * x + c)
}

/// A closure that captures a parameter, passed to a function, and a function with a const parameter.
#[kernel]
pub fn closures(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
    fn twice(f: impl Fn(f32) -> f32, x: f32) -> f32 {
        f(f(x))
    }
    let i = grid::<1>();
    let shift = |x: f32| x + a;
    if let Some(y) = y.get_mut(i) {
        *y = polynomial([1.0, 2.0, 3.0], twice(shift, x[i]));
    }
}
