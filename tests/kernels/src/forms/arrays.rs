//! Vectorized functions, and kernels whose parameters are views.

use core::ops::{Add, Mul};
use cuda_std::prelude::*;

/// A structure as an element.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Complex {
    /// Along the real axis.
    pub real: f32,
    /// Along the imaginary axis.
    pub imaginary: f32,
}

/// The length of the hypotenuse.
#[vectorize]
pub fn hypotenuse(a: f32, b: f32) -> f32 {
    (a * a + b * b).sqrt()
}

/// `a * b + c`, for several types.
#[vectorize(T = [f32, f64, i32, u8])]
pub fn multiply_add<T: Mul<Output = T> + Add<Output = T> + Copy>(a: T, b: T, c: T) -> T {
    a * b + c
}

/// Operands and result of different types.
#[vectorize]
pub fn select(condition: u8, yes: f64, no: i16) -> f32 {
    if condition != 0 { yes as f32 } else { f32::from(no) }
}

/// Structures as elements.
#[vectorize]
pub fn square(z: Complex) -> Complex {
    Complex { real: z.real * z.real - z.imaginary * z.imaginary, imaginary: 2.0 * z.real * z.imaginary }
}

/// A function with a private helper, and a pattern for a parameter.
#[vectorize]
pub fn norm([x, y, z]: [f32; 3]) -> f32 {
    length(x, y, z)
}

fn length(x: f32, y: f32, z: f32) -> f32 {
    hypotenuse(hypotenuse(x, y), z)
}

/// The call, as a function of its own.
#[cfg(not(target_arch = "nvptx64"))]
pub fn norms(vectors: &[[f32; 3]]) -> cuda_std::launch::Map<'_, f32, cuda_std::launch::Dim<1>> {
    norm::over(vectors)
}

/// `c = a + the transpose of b`, of any strides.
#[kernel]
pub fn add_transposed(a: View<f32, 2>, b: View<f32, 2>, mut c: Disjoint<f32, Array<2>>) {
    let b = b.transposed();
    if let Some(c) = c.own() {
        let at = [thread::grid::<2>().y(), thread::grid::<2>().x()];
        *c = a[at] + b[at];
    }
}

/// Numbers each element by its index, whatever the grid.
#[kernel]
pub fn number_four(mut a: Disjoint<u32, Array<4>>) {
    a.each(|[i, j, k, l], a| *a = (1000 * i + 100 * j + 10 * k + l) as u32);
}

/// Reads one element past the end of a view.
#[kernel]
pub fn read_outside(a: View<f32, 1>, mut b: Disjoint<f32, Array<1>>) {
    let end = a.shape()[0];
    b.each(|_, b| *b = a[end]);
}

/// The product of two matrices.
#[guvectorize("(m,n),(n,p)->(m,p)")]
pub fn matmul(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    let ([m, n], [_, p]) = (a.shape(), b.shape());
    for i in 0..m {
        for j in 0..p {
            let mut sum = 0.0;
            for k in 0..n {
                sum += a[[i, k]] * b[[k, j]];
            }
            c[[i, j]] = sum;
        }
    }
}

/// Sums that go on along an axis, times a number; for two types.
#[guvectorize("(n),()->(n)", T = [f64, i32])]
pub fn running_sum<T: Add<Output = T> + Mul<Output = T> + Copy>(x: View<T, 1>, factor: T, mut y: ViewMut<T, 1>) {
    if x.is_empty() {
        return;
    }
    let mut sum = x[0] * factor;
    y[0] = sum;
    for i in 1..x.shape()[0] {
        sum = sum + x[i] * factor;
        y[i] = sum;
    }
}

/// Vectors of three numbers.
#[guvectorize("(3),(3)->(3)")]
pub fn cross(a: View<f32, 1>, b: View<f32, 1>, mut c: ViewMut<f32, 1>) {
    for i in 0..3 {
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        c[i] = a[j] * b[k] - a[k] * b[j];
    }
}
