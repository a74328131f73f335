//! Rows of fragments: 16 rows by as many columns as a warp likes, of which sums become operands of another product.

use super::{FragmentA, FragmentB, FragmentC, Multiply, Rows, has, unrolled, whole_rows};
use crate::abi::parameter::{Element, Role};
use crate::array::output::{self, Disjoint, Reach, Sealed};
use crate::array::strided::{Dimensions, element};
use crate::collective::warp::WARP_SIZE;
use crate::device::intrinsics;
use crate::device::thread::{block_idx_x, block_idx_y, index_in_block, lane_id, threads_in_block};

impl<T: Multiply> FragmentC<T> {
    /// A row of accumulators, all elements zero. Unlike `[FragmentC::zero(); N]`, which is a loop over an array, in registers from
    /// the start.
    #[inline(always)]
    #[must_use]
    pub fn zeros<const N: usize>() -> [Self; N] {
        // SAFETY: accumulators may be zero: see `Zeroable`.
        unsafe { core::mem::zeroed() }
    }

    /// Calls `work` with the number of each fragment, row and column in it, and the lane's elements of it.
    #[inline(always)]
    pub fn each_of<const N: usize>(fragments: &mut [Self; N], mut work: impl FnMut(usize, usize, usize, &mut T::Sum)) {
        unrolled::<N>(|number| fragments[number].each(|row, column, sum| work(number, row, column, sum)));
    }

    /// Adds the product of a row of fragments and the rows of a tile, of which there are as many fragments side by side as sums.
    ///
    /// `mma.sync.aligned`, see the [module](super); PTX 7.0, sm_80.
    ///
    /// # Panics
    /// If the tile does not have all of it.
    #[inline(always)]
    #[track_caller]
    pub fn multiply_add_row<R: Rows<T>, const N: usize, const K: usize>(
        sums: &mut [Self; N],
        a: &[FragmentA<T>; K],
        tile: &R,
    ) {
        unrolled::<K>(|step| {
            unrolled::<N>(|n| {
                let (row, column) = (step * T::INNER, n * T::COLUMNS);
                if n % 2 > 0 {
                    return;
                }
                if n + 1 < N {
                    let [left, right] = FragmentB::pair_from_rows(tile, row, column);
                    sums[n].multiply_add(&a[step], &left);
                    sums[n + 1].multiply_add(&a[step], &right);
                } else {
                    sums[n].multiply_add(&a[step], &FragmentB::from_rows(tile, row, column));
                }
            });
        });
    }

    /// Adds the product of a row of fragments and the transpose of a tile, whose columns are summed over: as many rows of it as there
    /// are columns of sums.
    ///
    /// `mma.sync.aligned`, see the [module](super); PTX 7.0, sm_80.
    ///
    /// # Panics
    /// If the tile does not have all of it.
    #[inline(always)]
    #[track_caller]
    pub fn multiply_add_columns<R: Rows<T>, const N: usize, const K: usize>(
        sums: &mut [Self; N],
        a: &[FragmentA<T>; K],
        tile: &R,
    ) {
        unrolled::<K>(|step| {
            let b: [FragmentB<T>; N] = FragmentB::row_from_columns(tile, 0, step * T::INNER);
            unrolled::<N>(|n| sums[n].multiply_add(&a[step], &b[n]));
        });
    }
}

impl<T: Multiply> FragmentB<T> {
    /// Two fragments of a tile, side by side: see [`from_rows`](Self::from_rows).
    ///
    /// `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16`; PTX 6.5, sm_75. Else `ld`.
    #[inline(always)]
    #[track_caller]
    fn pair_from_rows<R: Rows<T>>(tile: &R, row: usize, column: usize) -> [Self; 2] {
        assert!(has(R::ROWS, row, T::INNER) && has(R::COLUMNS, column, 2 * T::COLUMNS), "a fragment beyond its tile");
        let lane = lane_id() as usize;
        // The 8 by 8 matrices: the upper and the lower half of the left fragment, and those of the right one.
        match whole_rows::<T, R>(tile, row + lane % 16, column + lane / 16 * 8) {
            Some(address) if const { T::COLUMNS == 8 && T::INNER == 16 } => {
                // As large as two fragments of the right matrix.
                let mut pair = FragmentA::<T>::load(|_, _| T::zeroed());
                // SAFETY: four registers are a lane's elements of two fragments, of 16 bits; eight elements at the address are in
                // shared memory and aligned.
                let halves = unsafe {
                    intrinsics::ldmatrix_x4_trans((&raw mut pair.0).cast(), address);
                    (&raw const pair.0).cast::<[T::B; 2]>().read()
                };
                halves.map(Self)
            }
            _ => [0, T::COLUMNS].map(|right| Self::from_rows(tile, row, column + right)),
        }
    }
}

impl<T: Multiply> FragmentB<T> {
    /// `N` fragments of the transpose of a tile, side by side: those of the tile's rows from `row` on, and of its columns from
    /// `column` on, which are summed over. See [`FragmentA::from_rows`].
    ///
    /// ```
    /// use cuda_std::half::f16;
    /// use cuda_std::mma::{FragmentA, FragmentB, FragmentC, Fragments, WarpPart};
    /// use cuda_std::prelude::*;
    ///
    /// /// c = a bᵀ, of 16 by 16 elements each, by one warp.
    /// #[kernel]
    /// pub fn product_of_rows(
    ///     a: &[f16],
    ///     b: &[f16],
    ///     mut c: Disjoint<f32, Fragments<16, 16, WarpPart<16, 16>>>,
    ///     mut tiles: Shared<(Table2<f16, 16, 24>, Table2<f16, 16, 24>)>,
    /// ) {
    ///     let (mut a_part, mut b_part) = tiles.part();
    ///     a_part.each(|[i, j], own| *own = if j < 16 { a[i * 16 + j] } else { f16::ZERO });
    ///     b_part.each(|[i, j], own| *own = if j < 16 { b[i * 16 + j] } else { f16::ZERO });
    ///     let tiles = tiles.sync();
    ///     let (a, b) = tiles.get();
    ///     let mut sums = [[FragmentC::<f16>::zero(); 2]];
    ///     FragmentC::multiply_add_all(&mut sums, &[FragmentA::from_rows(a, 0, 0)], &FragmentB::row_from_columns(b, 0, 0));
    ///     c.store_all(0, &sums);
    /// }
    ///
    /// # fn main() {
    /// let number = |i: usize| f16::from_f32((i % 7) as f32 - 3.0);
    /// let (a, b): (Vec<f16>, Vec<f16>) = ((0..256).map(number).collect(), (100..356).map(number).collect());
    /// let mut c = vec![0.0_f32; 256];
    /// examples::launch((1, 32), product_of_rows(&a, &b, (&mut c, [16, 16])));
    /// for (i, c) in c.into_iter().enumerate() {
    ///     assert_eq!(c, (0..16).map(|k| a[i / 16 * 16 + k].to_f32() * b[i % 16 * 16 + k].to_f32()).sum::<f32>());
    /// }
    /// # examples::becomes("product_of_rows", &["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "ldmatrix.sync"]);
    /// # examples::avoids("product_of_rows", &["ld.local", "st.local", "isspacep"]);
    /// # }
    /// ```
    ///
    /// `ldmatrix.sync.aligned.m8n8.x4.shared.b16` for two fragments; PTX 6.5, sm_75. Else `ld`.
    ///
    /// # Panics
    /// If the tile does not have all of them.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn row_from_columns<R: Rows<T>, const N: usize>(tile: &R, row: usize, column: usize) -> [Self; N] {
        assert!(has(R::ROWS, row, N * T::COLUMNS) && has(R::COLUMNS, column, T::INNER), "a fragment beyond its tile");
        let lane = lane_id() as usize;
        let mut fragments = [Self::load(|_, _| T::zeroed()); N];
        // The 8 by 8 matrices of a pair: the upper and the lower half of the first fragment, and those of the second.
        let place = (row + lane / 16 * 8 + lane % 8, column + lane / 8 % 2 * 8);
        let pairs = const { N.is_multiple_of(2) && T::COLUMNS == 8 && T::INNER == 16 };
        match whole_rows::<T, R>(tile, place.0, place.1) {
            Some(address) if pairs => unrolled::<N>(|j| {
                if j % 2 == 0 {
                    // As large as two fragments of the right matrix.
                    let mut pair = FragmentA::<T>::load(|_, _| T::zeroed());
                    let address = address.wrapping_add(2 * j * T::COLUMNS * R::STRIDE);
                    // SAFETY: four registers are a lane's elements of two fragments, of 16 bits; eight elements at the address
                    // are in shared memory and aligned.
                    let halves = unsafe {
                        intrinsics::ldmatrix_x4((&raw mut pair.0).cast(), address);
                        (&raw const pair.0).cast::<[T::B; 2]>().read()
                    };
                    [fragments[j], fragments[j + 1]] = halves.map(Self);
                }
            }),
            _ => unrolled::<N>(|n| {
                fragments[n] = Self::load(|i, j| tile.element(row + n * T::COLUMNS + j, column + i));
            }),
        }
        fragments
    }
}

impl<T: Multiply> FragmentA<T> {
    /// `N` fragments of a tile, side by side: see [`from_rows`](Self::from_rows).
    ///
    /// # Panics
    /// If the tile does not have all of them.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn row_from_rows<R: Rows<T>, const N: usize>(tile: &R, row: usize, column: usize) -> [Self; N] {
        let mut fragments = [Self::load(|_, _| T::zeroed()); N];
        unrolled::<N>(|j| fragments[j] = Self::from_rows(tile, row, column + j * T::INNER));
        fragments
    }

    /// Sums as the left operand of another product, each as `convert` makes it an element: two fragments of 16 by 8 sums are one of
    /// 16 by 16 elements.
    ///
    /// For elements of 16 bits, whose fragments of sums are where those of elements are; no lane asks another.
    #[inline(always)]
    #[must_use]
    pub fn row_from_sums<const N: usize, const SUMS: usize>(
        sums: &[FragmentC<T>; SUMS],
        mut convert: impl FnMut(T::Sum) -> T,
    ) -> [Self; N] {
        const {
            assert!(SUMS == 2 * N, "two fragments of sums are one of elements");
            assert!(T::ROWS == 16 && T::COLUMNS == 8 && T::INNER == 16, "elements have 16 bits");
        }
        let mut row = [Self::load(|_, _| T::zeroed()); N];
        unrolled::<N>(|n| {
            row[n] = Self::load(|i, j| {
                // The lane's elements of each fragment are in rows 8 apart, two in each.
                let mut element = T::zeroed();
                let mut fragment = sums[2 * n + j / 8];
                fragment.each(|row, column, sum| {
                    if row / 8 == i / 8 && column % 2 == j % 2 {
                        element = convert(*sum);
                    }
                });
                element
            });
        });
        row
    }
}

/// The layout of an array of matrices with any strides, `[outer, inner, rows, columns]`, of which each block of a 2-D grid has a part:
/// as many times 16 rows as it has warps, x counting them through all matrices, and `COLUMNS` columns, which y counts. Each warp has
/// 16 of the rows.
///
/// The host passes an array or a view of four dimensions.
#[derive(Debug)]
pub enum FragmentRows<const COLUMNS: usize> {}

impl<const COLUMNS: usize> Sealed for FragmentRows<COLUMNS> {}

impl<const COLUMNS: usize> output::Layout for FragmentRows<COLUMNS> {
    type Shape = Dimensions<4>;
    const ROLE: Role = Role::PerThread { rank: 2, elements: 1 };
    const REACH: Reach = Reach::All;
}

impl<T: Element, const COLUMNS: usize> Disjoint<'_, T, FragmentRows<COLUMNS>> {
    /// Where the block's part begins: outer and inner index of its matrix, its first row and column. `None` for a block beyond the
    /// last.
    #[inline(always)]
    #[must_use]
    pub fn part(&self) -> Option<[usize; 4]> {
        let [outer, inner, rows, columns] = self.shape();
        let height = (threads_in_block() / WARP_SIZE * 16) as usize;
        let number = block_idx_x() as usize;
        // A length has 31 bits.
        let parts = rows.div_ceil(height.max(1)).max(1);
        let (matrix, part) = (number / parts, number % parts);
        let column = block_idx_y() as usize * COLUMNS;
        (matrix / inner.max(1) < outer && inner > 0 && part * height < rows && column < columns)
            .then(|| [matrix / inner.max(1), matrix % inner.max(1), part * height, column])
    }

    /// Writes the sums of the warp's 16 rows, from column `FROM` of the part on, each converted to an element by
    /// `convert`. Elements beyond the edges of the matrix or of the part are left out.
    ///
    /// `st.global`; PTX 1.0.
    #[inline(always)]
    pub fn store_row<F: Multiply, const FROM: usize, const N: usize>(
        &mut self,
        sums: &[FragmentC<F>; N],
        mut convert: impl FnMut(F::Sum) -> T,
    ) {
        const {
            assert!(F::ROWS == 16 && F::COLUMNS == 8, "a warp has 16 rows");
            assert!(FROM <= COLUMNS, "a column of the part");
        }
        let Some([outer, inner, first, left]) = self.part() else {
            return;
        };
        let warp = (index_in_block() / WARP_SIZE) as usize;
        if warp >= (threads_in_block() / WARP_SIZE) as usize {
            return;
        }
        // Each fragment by itself, inlined: an array that a closure may index lies in local memory.
        unrolled::<N>(|number| {
            let mut fragment = sums[number];
            fragment.each(|i, j, sum| {
                let across = FROM + number * F::COLUMNS + j;
                if across >= COLUMNS {
                    return;
                }
                if let Some(offset) = self.shape.offset([outer, inner, first + 16 * warp + i, left + across]) {
                    // SAFETY: inside the shape, whose elements are distinct. One block owns the rows and columns of a
                    // part, one warp each 16 of its rows, and one lane each element of the fragments.
                    unsafe { element(self.start, offset).write(convert(*sum)) }
                }
            });
        });
    }
}
