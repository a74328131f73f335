//! Products by threads on their own, which read the operands where they lie.

use bytemuck::{Pod, Zeroable};

use super::output::Product;
use crate::abi::parameter::Element;
use crate::array::output::Disjoint;
use crate::array::strided::View;
use crate::collective::mma::unrolled;
use crate::device::thread::{index_in_block, threads_in_block};
use crate::number::float::GpuFloat;
use crate::number::half::{bf16, e4m3, e5m2, f16};

/// Elements of operands, whose products are summed: `f16`, `bf16`, `e4m3`, `e5m2`, `f32`, `f64`, `i8`.
pub trait Term: Pod + Element {
    /// The type of sums.
    type Sum: Pod + Element;

    /// `sum` and a product. Products of 16 bits are exact in it.
    #[must_use]
    fn multiply_add(self, other: Self, sum: Self::Sum) -> Self::Sum;
}

macro_rules! terms {
    ($($ty:ty, $sum:ty: |$a:ident, $b:ident, $c:ident| $value:expr;)*) => {$(
        impl Term for $ty {
            type Sum = $sum;

            #[inline(always)]
            fn multiply_add(self, $b: Self, $c: $sum) -> $sum {
                let $a = self;
                $value
            }
        }
    )*};
}

terms! {
    f16, f32: |a, b, c| GpuFloat::mul_add(a.to_f32(), b.to_f32(), c);
    bf16, f32: |a, b, c| GpuFloat::mul_add(a.to_f32(), b.to_f32(), c);
    e4m3, f32: |a, b, c| GpuFloat::mul_add(a.to_f32(), b.to_f32(), c);
    e5m2, f32: |a, b, c| GpuFloat::mul_add(a.to_f32(), b.to_f32(), c);
    f32, f32: |a, b, c| GpuFloat::mul_add(a, b, c);
    f64, f64: |a, b, c| GpuFloat::mul_add(a, b, c);
    i8, i32: |a, b, c| c.wrapping_add(i32::from(a) * i32::from(b));
}

/// Rows and columns of a thread's part of a tile, and of threads.
const EACH: usize = 4;
const SIDE: usize = 16;

/// Rows and columns of the product that a block of 256 threads computes at a time by [`product_by_elements`].
pub(crate) const TILE: usize = EACH * SIDE;

/// `c = f(a b)` for each matrix of a batch, by threads that read the operands where they lie: 4 by 4 sums each. For small matrices.
///
/// `finish` is called with the index of each element, `[batch, row, column]`, its sum and the element. Blocks have any shape; those of 256
/// threads have tiles of 64 by 64.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::product::{Product, product_by_elements};
///
/// #[kernel]
/// pub fn add_product(a: View<i8, 3>, b: View<i8, 3>, c: Disjoint<i32, Product>) {
///     product_by_elements(a, b, c, |_, sum, c| *c += sum);
/// }
///
/// # fn main() {
/// let mut c = [100, 200];
/// examples::launch((1, 64), add_product((&[1, 2], [1, 1, 2]), (&[3, 4, 5, 6], [1, 2, 2]), (&mut c, [1, 1, 2])));
/// assert_eq!(c, [113, 216]);
/// # }
/// ```
#[inline(always)]
pub fn product_by_elements<T: Term, U: Element>(
    a: View<'_, T, 3>,
    b: View<'_, T, 3>,
    mut c: Disjoint<'_, U, Product>,
    mut finish: impl FnMut([usize; 3], T::Sum, &mut U),
) {
    let terms = a.shape()[2].min(b.shape()[1]);
    for tile in c.tiles([TILE, TILE]) {
        let [layer, top, left] = [tile.layer, tile.row, tile.column].map(|at| at as usize);
        let mut part = index_in_block() as usize;
        // In a block of 256 threads once.
        while part < SIDE * SIDE {
            let (row, column) = (top + part / SIDE, left + part % SIDE);
            let mut sums = [[T::Sum::zeroed(); EACH]; EACH];
            // Lanes beyond the edges read the last line, and their results are not written.
            let [rows, columns] = [(a.shape()[1], row), (b.shape()[2], column)].map(|(length, at)| {
                core::array::from_fn::<_, EACH, _>(|i| (at + i * SIDE).min(length.saturating_sub(1)))
            });
            for k in 0..terms {
                let left: [T; EACH] = rows.map(|row| a.get([layer, row, k]).copied().unwrap_or(T::zeroed()));
                let right: [T; EACH] = columns.map(|column| b.get([layer, k, column]).copied().unwrap_or(T::zeroed()));
                unrolled::<EACH>(|i| unrolled::<EACH>(|j| sums[i][j] = left[i].multiply_add(right[j], sums[i][j])));
            }
            unrolled::<EACH>(|i| {
                unrolled::<EACH>(|j| {
                    let index = [layer, row + i * SIDE, column + j * SIDE];
                    // SAFETY: no two blocks have the same tile, no two threads the same part of it.
                    unsafe { c.visit(index, |index, element| finish(index, sums[i][j], element)) };
                });
            });
            part += threads_in_block() as usize;
        }
    }
}
