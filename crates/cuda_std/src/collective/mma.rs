//! Matrix multiplication by whole warps: `mma.sync` on fragments, of which each lane has a few elements.
//!
//! A warp computes `c += a b` for small matrices: [`FragmentA`], [`FragmentB`] and the accumulator [`FragmentC`]. This
//! module knows the elements of each lane, so kernels load and store by row and column. All 32 lanes of a warp execute
//! each operation together.
//!
//! | elements | rows, columns, inner | accumulator | instruction |
//! |---|---|---|---|
//! | [`struct@f16`] | 16, 8, 16 | `f32` | `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32` |
//! | [`struct@bf16`] | 16, 8, 16 | `f32` | `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32` |
//! | [`Tf32`] | 16, 8, 8 | `f32` | `mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32` |
//! | `i8` | 16, 8, 32 | `i32` | `mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32` |
//! | `f64` | 16, 8, 4 | `f64` | `mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64`, PTX 7.8, sm_90; else two of `m8n8k4` |
//!
//! All need PTX 7.0 and sm_80. Where elements are is the PTX ISA's "Matrix Fragments for mma". Products by warp groups, `wgmma`, are
//! in [`tensor`](crate::tensor); `tcgen05` is not here.
//!
//! ```
//! use cuda_std::half::f16;
//! use cuda_std::mma::{FragmentA, FragmentB, FragmentC, Fragments};
//! use cuda_std::prelude::*;
//!
//! /// c = a b, in blocks of 32 by 32 elements and eight warps. Rows of the tiles are padded to keep off bank conflicts.
//! #[kernel]
//! pub fn matmul_by_warps(
//!     a: &[f16],
//!     b: &[f16],
//!     inner: u32,
//!     mut c: Disjoint<f32, Fragments<32, 32>>,
//!     mut tiles: Shared<(Table2<f16, 32, 24>, Table2<f16, 16, 40>)>,
//! ) {
//!     let (inner, columns, [top, left]) = (inner as usize, c.columns(), c.tile_start());
//!     let mut sum = FragmentC::<f16>::zero();
//!     let [row, column] = c.part_start(0);
//!     for start in (0..inner).step_by(16) {
//!         let (mut a_part, mut b_part) = tiles.part();
//!         a_part.each(|[i, j], own| *own = if j < 16 { a[(top + i) * inner + start + j] } else { f16::ZERO });
//!         b_part.each(|[i, j], own| *own = if j < 32 { b[(start + i) * columns + left + j] } else { f16::ZERO });
//!         let loaded = tiles.sync();
//!         let (a_tile, b_tile) = loaded.get();
//!         sum.multiply_add(&FragmentA::from_rows(a_tile, row, 0), &FragmentB::from_rows(b_tile, 0, column));
//!         tiles = loaded.sync();
//!     }
//!     c.store(0, &sum);
//! }
//!
//! # fn main() {
//! let number = |i: usize| f16::from_f32((i % 7) as f32 - 3.0);
//! let (a, b): (Vec<f16>, Vec<f16>) = ((0..64 * 48).map(number).collect(), (0..48 * 32).map(number).collect());
//! let mut c = vec![0.0_f32; 64 * 32];
//! examples::launch(((1, 2), 256), matmul_by_warps(&a, &b, 48, (&mut c, [64, 32])));
//! for (i, c) in c.into_iter().enumerate() {
//!     let products = (0..48).map(|k| a[i / 32 * 48 + k].to_f32() * b[k * 32 + i % 32].to_f32());
//!     assert_eq!(c, products.sum::<f32>());
//! }
//! # let opcodes = ["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "ldmatrix.sync.aligned.m8n8.x4", "ldmatrix.sync"];
//! # examples::becomes("matmul_by_warps", &opcodes);
//! # examples::avoids("matmul_by_warps", &["ld.local", "st.local", "isspacep"]);
//! # }
//! ```

mod rows;

pub use rows::FragmentRows;

use core::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

use crate::abi::parameter::{Element, Role, demand};
use crate::array::output::{self, Disjoint, MOST, Reach, Sealed};
use crate::collective::warp::WARP_SIZE;
use crate::device::intrinsics;
use crate::device::thread::{block_idx_x, block_idx_y, index_in_block, lane_id, threads_in_block};
use crate::mem::shared::TileRow;
use crate::number::half::{bf16, f16};
use crate::number::vector::Vector8;

/// A number of TensorFloat-32: an `f32` of which multiplication uses the upper 19 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Tf32(f32);

impl Tf32 {
    /// Rounds to the nearest, halves away from zero. `cvt.rna.tf32.f32`; PTX 7.0, sm_80.
    #[inline(always)]
    #[must_use]
    pub fn from_f32(value: f32) -> Self {
        #[cfg(target_arch = "nvptx64")]
        {
            Self(f32::from_bits(intrinsics::f2tf32(value)))
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            if value.is_nan() {
                return Self(value);
            }
            Self(f32::from_bits((value.to_bits() + 0x1000) & !0x1fff))
        }
    }

    /// The number, exactly.
    #[inline(always)]
    #[must_use]
    pub fn to_f32(self) -> f32 {
        self.0
    }
}

/// Elements that warps multiply: `f16`, `bf16`, [`Tf32`], `i8`, `f64`.
pub trait Multiply: sealed::Multiply<C: AsMut<[Self::Sum]> + AsRef<[Self::Sum]>> {
    /// The type of sums.
    type Sum: Pod;
    /// Rows of a and of c.
    const ROWS: usize;
    /// Columns of b and of c.
    const COLUMNS: usize;
    /// Columns of a and rows of b.
    const INNER: usize;
}

mod sealed {
    pub trait Multiply: bytemuck::Pod {
        /// A lane's elements of a.
        type A: Copy + core::fmt::Debug + bytemuck::Zeroable;
        /// A lane's elements of b.
        type B: Copy + core::fmt::Debug + bytemuck::Zeroable;
        /// A lane's elements of c.
        type C: Copy + core::fmt::Debug + bytemuck::Zeroable;

        fn load_a(element: impl FnMut(usize, usize) -> Self) -> Self::A;
        fn load_b(element: impl FnMut(usize, usize) -> Self) -> Self::B;
        fn each_c<V: Copy>(c: &mut Self::C, work: impl FnMut(usize, usize, &mut V))
        where
            Self::C: AsMut<[V]>;
        fn multiply(c: &mut Self::C, a: &Self::A, b: &Self::B);
    }
}

/// The group of four lanes that the calling one is in, and its place there.
#[inline(always)]
fn quad() -> (usize, usize) {
    let lane = lane_id() as usize;
    (lane / 4, lane % 4)
}

/// Calls `work` with the numbers below `N`, which are at most 16. LLVM leaves a loop over larger bodies as it is, and what
/// such a loop indexes has to be in local memory; calls of a closure become straight code.
#[inline(always)]
pub(crate) fn unrolled<const N: usize>(mut work: impl FnMut(usize)) {
    const { assert!(N <= 16, "at most 16 fragments in each direction") };
    macro_rules! calls {
        ($($i:literal)*) => {$(
            if $i < N {
                work($i);
            }
        )*};
    }
    calls!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

/// A line for each type: its shape, the elements of a lane, and where the i-th is, by group `g` and place `t`. Elements are
/// listed rather than counted, for the same reason.
macro_rules! multiplies {
    ($($ty:ident, $sum:ident, [$rows:literal, $columns:literal, $inner:literal], $mma:ident,
       a[$($a:literal)*]: |$ga:ident, $ta:ident, $ia:ident| $place_a:expr,
       b[$($b:literal)*]: |$gb:ident, $tb:ident, $ib:ident| $place_b:expr,
       c[$c:literal];)*) => {$(
        impl Multiply for $ty {
            type Sum = $sum;
            const ROWS: usize = $rows;
            const COLUMNS: usize = $columns;
            const INNER: usize = $inner;
        }

        impl sealed::Multiply for $ty {
            type A = [$ty; [$($a),*].len()];
            type B = [$ty; [$($b),*].len()];
            type C = [$sum; $c];

            #[inline(always)]
            fn load_a(mut element: impl FnMut(usize, usize) -> Self) -> Self::A {
                let ($ga, $ta) = quad();
                let mut element = |$ia: usize| {
                    let (row, column) = $place_a;
                    element(row, column)
                };
                [$(element($a)),*]
            }

            #[inline(always)]
            fn load_b(mut element: impl FnMut(usize, usize) -> Self) -> Self::B {
                let ($gb, $tb) = quad();
                let mut element = |$ib: usize| {
                    let (row, column) = $place_b;
                    element(row, column)
                };
                [$(element($b)),*]
            }

            #[inline(always)]
            fn each_c<V: Copy>(c: &mut Self::C, mut work: impl FnMut(usize, usize, &mut V))
            where
                Self::C: AsMut<[V]>,
            {
                let (g, t) = quad();
                let c = c.as_mut();
                unrolled::<$c>(|i| work(g + 8 * (i / 2), 2 * t + i % 2, &mut c[i]));
            }

            #[inline(always)]
            fn multiply(c: &mut Self::C, a: &Self::A, b: &Self::B) {
                // SAFETY: as many elements as the instruction takes, in this order.
                unsafe { intrinsics::$mma(c.as_mut_ptr().cast(), a.as_ptr().cast(), b.as_ptr().cast()) }
            }
        }
    )*};
}

multiplies! {
    f16, f32, [16, 8, 16], mma_f16,
        a[0 1 2 3 4 5 6 7]: |g, t, i| (g + 8 * (i / 2 % 2), 2 * t + i % 2 + 8 * (i / 4)),
        b[0 1 2 3]: |g, t, i| (2 * t + i % 2 + 8 * (i / 2), g),
        c[4];
    bf16, f32, [16, 8, 16], mma_bf16,
        a[0 1 2 3 4 5 6 7]: |g, t, i| (g + 8 * (i / 2 % 2), 2 * t + i % 2 + 8 * (i / 4)),
        b[0 1 2 3]: |g, t, i| (2 * t + i % 2 + 8 * (i / 2), g),
        c[4];
    Tf32, f32, [16, 8, 8], mma_tf32,
        a[0 1 2 3]: |g, t, i| (g + 8 * (i % 2), t + 4 * (i / 2)),
        b[0 1]: |g, t, i| (t + 4 * i, g),
        c[4];
    i8, i32, [16, 8, 32], mma_i8,
        a[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15]: |g, t, i| (g + 8 * (i / 4 % 2), 4 * t + i % 4 + 16 * (i / 8)),
        b[0 1 2 3 4 5 6 7]: |g, t, i| (4 * t + i % 4 + 16 * (i / 4), g),
        c[4];
    f64, f64, [16, 8, 4], mma_f64,
        a[0 1]: |g, t, i| (g + 8 * i, t),
        b[0]: |g, t, i| (t + 4 * i, g),
        c[4];
}

/// A fragment of the left matrix: `ROWS` by `INNER`.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct FragmentA<T: Multiply>(T::A);

/// A fragment of the right matrix: `INNER` by `COLUMNS`.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct FragmentB<T: Multiply>(T::B);

/// An accumulator: `ROWS` by `COLUMNS`, of elements [`Multiply::Sum`].
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct FragmentC<T: Multiply>(T::C);

// SAFETY: numbers, which may be zero.
unsafe impl<T: Multiply> Zeroable for FragmentC<T> {}

impl<T: Multiply> FragmentA<T> {
    /// A fragment of what `element` gives for row and column.
    ///
    /// ```
    /// use cuda_std::half::bf16;
    /// use cuda_std::mma::{FragmentA, FragmentB, FragmentC, Fragments, Multiply, Tf32, WarpPart};
    /// use cuda_std::prelude::*;
    ///
    /// /// a b, of a row of numbers each, by one warp.
    /// fn product<T: Multiply>(a: &[T], b: &[T]) -> FragmentC<T> {
    ///     let mut c = FragmentC::zero();
    ///     let a = FragmentA::load(|i, j| a[i * T::INNER + j]);
    ///     c.multiply_add(&a, &FragmentB::load(|i, j| b[i * T::COLUMNS + j]));
    ///     c
    /// }
    ///
    /// #[kernel]
    /// pub fn product_bf16(a: &[bf16], b: &[bf16], mut c: Disjoint<f32, Fragments<16, 8>>) {
    ///     c.store(0, &product(a, b));
    /// }
    ///
    /// #[kernel]
    /// pub fn product_tf32(a: &[Tf32], b: &[Tf32], mut c: Disjoint<f32, Fragments<16, 8>>) {
    ///     c.store(0, &product(a, b));
    /// }
    ///
    /// #[kernel]
    /// pub fn product_i8(a: &[i8], b: &[i8], mut c: Disjoint<i32, Fragments<16, 8>>) {
    ///     c.store(0, &product(a, b));
    /// }
    ///
    /// #[kernel]
    /// pub fn product_f64(a: &[f64], b: &[f64], mut c: Disjoint<f64, Fragments<16, 8>>) {
    ///     c.store(0, &product(a, b));
    /// }
    ///
    /// # fn main() {
    /// fn check<T: Multiply>(number: fn(i8) -> T, run: impl Fn(&[T], &[T], &mut Vec<T::Sum>), value: fn(&T::Sum) -> i32) {
    ///     let (m, n, k) = (T::ROWS, T::COLUMNS, T::INNER);
    ///     let a: Vec<i8> = (0..m * k).map(|i| (i * 5 % 17) as i8 - 8).collect();
    ///     let b: Vec<i8> = (0..k * n).map(|i| (i * 3 % 13) as i8 - 6).collect();
    ///     let mut c = vec![bytemuck::Zeroable::zeroed(); m * n];
    ///     let numbers = |x: &[i8]| x.iter().map(|&x| number(x)).collect::<Vec<T>>();
    ///     run(&numbers(&a), &numbers(&b), &mut c);
    ///     for (i, c) in c.iter().enumerate() {
    ///         let term = |j: usize| i32::from(a[i / n * k + j]) * i32::from(b[j * n + i % n]);
    ///         assert_eq!(value(c), (0..k).map(term).sum::<i32>());
    ///     }
    /// }
    /// check(|x| bf16::from_f32(x.into()), |a, b, c| examples::launch((1, 32), product_bf16(a, b, (c, [16, 8]))), |&c| c as i32);
    /// check(|x| Tf32::from_f32(x.into()), |a, b, c| examples::launch((1, 32), product_tf32(a, b, (c, [16, 8]))), |&c| c as i32);
    /// check(|x| x, |a, b, c| examples::launch((1, 32), product_i8(a, b, (c, [16, 8]))), |&c| c);
    /// check(f64::from, |a, b, c| examples::launch((1, 32), product_f64(a, b, (c, [16, 8]))), |&c| c as i32);
    /// # examples::becomes("product_bf16", &["mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"]);
    /// # examples::becomes("product_tf32", &["mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"]);
    /// # examples::becomes("product_i8", &["mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"]);
    /// # examples::becomes("product_f64", &["mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"]);
    /// # examples::avoids("product_i8", &["ld.local", "st.local"]);
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn load(element: impl FnMut(usize, usize) -> T) -> Self {
        Self(T::load_a(element))
    }

    /// The fragment whose first element is at `row`, `column` of a tile. Best for types of 16 bits in shared memory, with
    /// rows of a multiple of 16 bytes.
    ///
    /// `ldmatrix.sync.aligned.m8n8.x4.shared.b16`; PTX 6.5, sm_75. Else `ld`.
    ///
    /// # Panics
    /// If the tile does not have all of it.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn from_rows<R: Rows<T>>(tile: &R, row: usize, column: usize) -> Self {
        assert!(has(R::ROWS, row, T::ROWS) && has(R::COLUMNS, column, T::INNER), "a fragment beyond its tile");
        let lane = lane_id() as usize;
        match whole_rows::<T, R>(tile, row + lane % 16, column + lane / 16 * 8) {
            Some(address) => {
                let mut a = Self::load(|_, _| T::zeroed());
                // SAFETY: four registers are a lane's eight elements of 16 bits; eight elements at the address are in shared
                // memory and aligned.
                unsafe { intrinsics::ldmatrix_x4((&raw mut a.0).cast(), address) };
                a
            }
            None => Self::load(|i, j| tile.element(row + i, column + j)),
        }
    }
}

/// Fragments of lines with consecutive terms of 8 or 16 bits in shared memory: 32 bytes of each line.
impl<T: Multiply> FragmentA<T> {
    /// The fragment of 16 lines.
    ///
    /// # Safety
    /// The first element of the first line is in shared memory and aligned to 16 bytes, and so are the others, `stride` elements
    /// further each.
    #[inline(always)]
    pub(crate) unsafe fn from_lines(first: *const T, stride: usize) -> Self {
        const { assert!(size_of::<T::A>() == 16 && T::ROWS == 16) };
        let lane = lane_id() as usize;
        let address = first.wrapping_add(lane % 16 * stride).cast::<u8>().wrapping_add(lane / 16 * 16);
        let mut a = Self::load(|_, _| T::zeroed());
        // SAFETY: four registers; the caller's.
        unsafe { intrinsics::ldmatrix_x4((&raw mut a.0).cast(), address) };
        a
    }
}

/// As for [`FragmentA`].
impl<T: Multiply> FragmentB<T> {
    /// The fragment of 8 lines.
    ///
    /// # Safety
    /// As for [`FragmentA::from_lines`].
    #[inline(always)]
    pub(crate) unsafe fn from_lines(first: *const T, stride: usize) -> Self {
        const { assert!(size_of::<T::B>() == 8 && T::COLUMNS == 8) };
        let lane = lane_id() as usize % 16;
        let address = first.wrapping_add(lane % 8 * stride).cast::<u8>().wrapping_add(lane / 8 * 16);
        let mut b = Self::load(|_, _| T::zeroed());
        // SAFETY: two registers; the caller's.
        unsafe { intrinsics::ldmatrix_x2((&raw mut b.0).cast(), address) };
        b
    }
}

impl<T: Multiply> FragmentA<T> {
    /// `N` fragments of a tile, one below the other: see [`from_rows`](Self::from_rows).
    ///
    /// # Panics
    /// If the tile does not have all of them.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn column_from_rows<R: Rows<T>, const N: usize>(tile: &R, row: usize, column: usize) -> [Self; N] {
        let mut fragments = [Self::load(|_, _| T::zeroed()); N];
        unrolled::<N>(|i| fragments[i] = Self::from_rows(tile, row + i * T::ROWS, column));
        fragments
    }
}

impl<T: Multiply> FragmentB<T> {
    /// A fragment of what `element` gives for row and column.
    #[inline(always)]
    #[must_use]
    pub fn load(element: impl FnMut(usize, usize) -> T) -> Self {
        Self(T::load_b(element))
    }

    /// The fragment whose first element is at `row`, `column` of a tile: see [`FragmentA::from_rows`].
    ///
    /// `ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16`; PTX 6.5, sm_75. Else `ld`.
    ///
    /// # Panics
    /// If the tile does not have all of it.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn from_rows<R: Rows<T>>(tile: &R, row: usize, column: usize) -> Self {
        assert!(has(R::ROWS, row, T::INNER) && has(R::COLUMNS, column, T::COLUMNS), "a fragment beyond its tile");
        match whole_rows::<T, R>(tile, row + lane_id() as usize % 16, column) {
            Some(address) => {
                let mut b = Self::load(|_, _| T::zeroed());
                // SAFETY: as for `FragmentA`, with two registers.
                unsafe { intrinsics::ldmatrix_x2_trans((&raw mut b.0).cast(), address) };
                b
            }
            None => Self::load(|i, j| tile.element(row + i, column + j)),
        }
    }
}

impl<T: Multiply> FragmentB<T> {
    /// `N` fragments of a tile, side by side: see [`FragmentA::from_rows`].
    ///
    /// # Panics
    /// If the tile does not have all of them.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn row_from_rows<R: Rows<T>, const N: usize>(tile: &R, row: usize, column: usize) -> [Self; N] {
        let mut fragments = [Self::load(|_, _| T::zeroed()); N];
        unrolled::<N>(|j| fragments[j] = Self::from_rows(tile, row, column + j * T::COLUMNS));
        fragments
    }
}

/// Whether `count` of so many rows or columns exist from `first` on. No addition, so nothing wraps around.
#[inline(always)]
fn has(all: usize, first: usize, count: usize) -> bool {
    count <= all && first <= all - count
}

/// The address of an element from which `ldmatrix` can read: types of 16 bits, in shared memory, aligned to 16 bytes.
/// Rows of a multiple of 16 bytes make the answer the same in all lanes.
#[inline(always)]
fn whole_rows<T: Multiply, R: Rows<T>>(tile: &R, row: usize, column: usize) -> Option<*const u8> {
    if size_of::<T>() != 2 || !(R::STRIDE * 2).is_multiple_of(16) {
        return None;
    }
    let start = core::ptr::from_ref(tile).cast::<u8>();
    if !intrinsics::is_shared(start) || !(start.addr() + 2 * column).is_multiple_of(16) {
        return None;
    }
    // Inside of the tile, as the callers have checked.
    Some(start.wrapping_add(2 * (row * R::STRIDE + column)))
}

/// Tiles with rows of elements, one after the other: the views of `Tile2` and `Table2`.
///
/// # Safety
/// `ROWS` rows of `STRIDE` elements lie one after the other, of which the first `COLUMNS` can be read.
pub unsafe trait Rows<T> {
    /// How many rows there are.
    const ROWS: usize;
    /// Elements of a row.
    const COLUMNS: usize;
    /// Elements from one row to the next.
    const STRIDE: usize;

    /// An element.
    fn element(&self, row: usize, column: usize) -> T;
}

// SAFETY: an array of arrays.
unsafe impl<T: Copy, const ROWS: usize, const COLUMNS: usize> Rows<T> for [[T; COLUMNS]; ROWS] {
    const ROWS: usize = ROWS;
    const COLUMNS: usize = COLUMNS;
    const STRIDE: usize = COLUMNS;

    #[inline(always)]
    fn element(&self, row: usize, column: usize) -> T {
        self[row][column]
    }
}

// SAFETY: an array of structures that are a row and its padding.
unsafe impl<T: Copy, const ROWS: usize, const COLUMNS: usize, const PAD: usize> Rows<T>
    for [TileRow<T, COLUMNS, PAD>; ROWS]
{
    const ROWS: usize = ROWS;
    const COLUMNS: usize = COLUMNS;
    const STRIDE: usize = COLUMNS + PAD;

    #[inline(always)]
    fn element(&self, row: usize, column: usize) -> T {
        self[row][column]
    }
}

/// Rows of vectors are rows of their numbers.
macro_rules! rows_of_vectors {
    ($($row:ty, [$($pad:ident)?];)*) => {$(
        // SAFETY: an array of structures that are a row of vectors, if with padding, and vectors are arrays.
        unsafe impl<T: Copy, const ROWS: usize, const VECTORS: usize $(, const $pad: usize)?> Rows<T> for [$row; ROWS] {
            const ROWS: usize = ROWS;
            const COLUMNS: usize = 8 * VECTORS;
            const STRIDE: usize = 8 * (VECTORS $(+ $pad)?);

            #[inline(always)]
            fn element(&self, row: usize, column: usize) -> T {
                self[row][column / 8][column % 8]
            }
        }
    )*};
}

rows_of_vectors! {
    [Vector8<T>; VECTORS], [];
    TileRow<Vector8<T>, VECTORS, PAD>, [PAD];
}

impl<T: Multiply> FragmentC<T> {
    /// All elements zero.
    #[inline(always)]
    #[must_use]
    pub fn zero() -> Self {
        Self(T::C::zeroed())
    }

    /// Adds the product of two fragments.
    ///
    /// `mma.sync.aligned`, see the [module](self); PTX 7.0, sm_80.
    #[inline(always)]
    pub fn multiply_add(&mut self, a: &FragmentA<T>, b: &FragmentB<T>) {
        T::multiply(&mut self.0, &a.0, &b.0);
    }

    /// Adds the product of each fragment of a column and each of a row to the accumulator where they meet: each fragment,
    /// once loaded, is multiplied several times.
    ///
    /// ```
    /// use cuda_std::half::f16;
    /// use cuda_std::mma::{FragmentA, FragmentB, FragmentC, Fragments, WarpPart};
    /// use cuda_std::prelude::*;
    ///
    /// /// c = a b, of 32 by 16 and 16 by 16 elements, by one warp: two fragments each make four products.
    /// #[kernel]
    /// pub fn four_products(
    ///     a: &[f16],
    ///     b: &[f16],
    ///     mut c: Disjoint<f32, Fragments<32, 16, WarpPart<32, 16>>>,
    ///     mut tiles: Shared<(Table2<f16, 32, 24>, Table2<f16, 16, 24>)>,
    /// ) {
    ///     let (mut a_part, mut b_part) = tiles.part();
    ///     a_part.each(|[i, j], own| *own = if j < 16 { a[i * 16 + j] } else { f16::ZERO });
    ///     b_part.each(|[i, j], own| *own = if j < 16 { b[i * 16 + j] } else { f16::ZERO });
    ///     let tiles = tiles.sync();
    ///     let (a, b) = tiles.get();
    ///     let mut sums = [[FragmentC::<f16>::zero(); 2]; 2];
    ///     FragmentC::multiply_add_all(&mut sums, &FragmentA::column_from_rows(a, 0, 0), &FragmentB::row_from_rows(b, 0, 0));
    ///     c.store_all(0, &sums);
    /// }
    ///
    /// # fn main() {
    /// let number = |i: usize| f16::from_f32((i % 7) as f32 - 3.0);
    /// let (a, b): (Vec<f16>, Vec<f16>) = ((0..32 * 16).map(number).collect(), (0..16 * 16).map(number).collect());
    /// let mut c = vec![0.0_f32; 32 * 16];
    /// examples::launch((1, 32), four_products(&a, &b, (&mut c, [32, 16])));
    /// for (i, c) in c.into_iter().enumerate() {
    ///     assert_eq!(c, (0..16).map(|k| a[i / 16 * 16 + k].to_f32() * b[k * 16 + i % 16].to_f32()).sum::<f32>());
    /// }
    /// # examples::becomes("four_products", &["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "ldmatrix.sync"]);
    /// # examples::avoids("four_products", &["ld.local", "st.local", "isspacep"]);
    /// # }
    /// ```
    ///
    /// `mma.sync.aligned`, `ROWS * COLUMNS` times; PTX 7.0, sm_80.
    #[inline(always)]
    pub fn multiply_add_all<const ROWS: usize, const COLUMNS: usize>(
        sums: &mut [[Self; COLUMNS]; ROWS],
        a: &[FragmentA<T>; ROWS],
        b: &[FragmentB<T>; COLUMNS],
    ) {
        unrolled::<ROWS>(|i| unrolled::<COLUMNS>(|j| sums[i][j].multiply_add(&a[i], &b[j])));
    }

    /// Calls `work` with row and first column of each two of the lane's elements that are side by side, and these.
    #[inline(always)]
    pub(crate) fn each_pair(&self, mut work: impl FnMut(usize, usize, &[T::Sum])) {
        let (g, t) = quad();
        let c = self.0.as_ref();
        unrolled::<2>(|half| work(g + 8 * half, 2 * t, &c[2 * half..2 * half + 2]));
    }

    /// Calls `work` with row, column and value of each of the lane's elements.
    #[inline(always)]
    pub fn each(&mut self, work: impl FnMut(usize, usize, &mut T::Sum)) {
        T::each_c(&mut self.0, work);
    }
}

/// The layout of an output in which each block of a 2-D grid has a tile of a matrix, `ROWS` by `COLUMNS`, and each warp of the
/// block every so many parts of the tile: one accumulator of 16 by 8, or what `PART` says, such as a table of accumulators,
/// [`WarpPart<32, 16>`](WarpPart).
///
/// The host passes it with its shape, `(&mut c, [rows, columns])`. The parts of a tile are counted row by row; warp w of n
/// has the numbers w, w + n, and so on, which a step counts from 0. Blocks are whole warps.
#[derive(Debug)]
pub struct Fragments<const ROWS: usize, const COLUMNS: usize, PART = WarpPart<16, 8>>(PhantomData<PART>);

/// Rows and columns of a warp's part of a tile: see [`Fragments`].
#[derive(Debug)]
pub enum WarpPart<const ROWS: usize, const COLUMNS: usize> {}

impl<const ROWS: usize, const COLUMNS: usize, const M: usize, const N: usize> Sealed
    for Fragments<ROWS, COLUMNS, WarpPart<M, N>>
{
}

impl<const ROWS: usize, const COLUMNS: usize, const M: usize, const N: usize> output::Layout
    for Fragments<ROWS, COLUMNS, WarpPart<M, N>>
{
    type Shape = [u32; 2];
    const ROLE: Role = {
        demand(ROWS > 0 && COLUMNS > 0 && ROWS <= MOST && COLUMNS <= MOST, "a tile has 1 to 2^20 rows and columns");
        Role::PerThread { rank: 2, elements: 1 }
    };
    const REACH: Reach = Reach::Tile([COLUMNS, ROWS]);
}

impl<T: Element + Pod, const ROWS: usize, const COLUMNS: usize, const M: usize, const N: usize>
    Disjoint<'_, T, Fragments<ROWS, COLUMNS, WarpPart<M, N>>>
{
    /// Parts of a tile.
    const PARTS: usize = {
        assert!(M > 0 && N > 0 && ROWS.is_multiple_of(M) && COLUMNS.is_multiple_of(N), "a tile is made of whole parts");
        let _ = <Fragments<ROWS, COLUMNS, WarpPart<M, N>> as output::Layout>::ROLE;
        ROWS / M * (COLUMNS / N)
    };

    /// Row and column of the matrix at which the block's tile starts.
    #[inline(always)]
    #[must_use]
    pub fn tile_start(&self) -> [usize; 2] {
        [block_idx_y() as usize * ROWS, block_idx_x() as usize * COLUMNS]
    }

    /// How many parts the calling thread's warp has at most.
    #[inline(always)]
    #[must_use]
    pub fn steps(&self) -> usize {
        Self::PARTS.div_ceil(threads_in_block().div_ceil(WARP_SIZE) as usize)
    }

    /// Row and column in the block's tile at which the warp's part of this step starts. Beyond the last, the row is
    /// beyond the tile.
    #[inline(always)]
    #[must_use]
    pub fn part_start(&self, step: usize) -> [usize; 2] {
        // A step beyond the last part has no rows. The step is compared first, so that the product does not wrap around
        // to a part of another warp.
        if step >= Self::PARTS {
            return [ROWS, 0];
        }
        let warps = threads_in_block().div_ceil(WARP_SIZE) as usize;
        let number = step * warps + (index_in_block() / WARP_SIZE) as usize;
        [number / (COLUMNS / N) * M, number % (COLUMNS / N) * N]
    }

    /// Writes an accumulator to the warp's part of this step; what is beyond the edges of the matrix is left out.
    ///
    /// `st.global`; PTX 1.0.
    #[inline(always)]
    pub fn store<F: Multiply<Sum = T>>(&mut self, step: usize, fragment: &FragmentC<F>) {
        self.store_all(step, &[[*fragment]]);
    }

    /// Writes a table of accumulators to the warp's part of this step; what is beyond the edges of the matrix is left out.
    ///
    /// `st.global`; PTX 1.0.
    #[inline(always)]
    pub fn store_all<F: Multiply<Sum = T>, const DOWN: usize, const ACROSS: usize>(
        &mut self,
        step: usize,
        fragments: &[[FragmentC<F>; ACROSS]; DOWN],
    ) {
        const {
            assert!(M == DOWN * F::ROWS && N == ACROSS * F::COLUMNS, "the output is for parts of another shape");
        };
        let [top, left] = self.tile_start();
        let [row, column] = self.part_start(step);
        if row >= ROWS {
            return;
        }
        let store = |down: usize, across: usize| {
            let (row, column) = (top + row + down * F::ROWS, left + column + across * F::COLUMNS);
            let mut fragment = fragments[down][across];
            fragment.each(|i, j, value| {
                let (row, column) = (row + i, column + j);
                if row < self.rows() && column < self.columns() {
                    // SAFETY: inside the matrix. A tile is one block's, a step's part of it one warp's, and an element of
                    // the fragments one lane's.
                    unsafe { self.start.add(row * self.columns() + column).write(*value) }
                }
            });
        };
        unrolled::<DOWN>(|down| unrolled::<ACROSS>(|across| store(down, across)));
    }
}
