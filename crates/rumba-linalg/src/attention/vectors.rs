//! By warps, with `mma.sync` on tiles that threads copy 16 bytes at a time, while the tiles before are multiplied: compute capability 8.0
//! and later, heads of up to 128 numbers that lie in vectors of eight.
//!
//! As FlashAttention-2 does it: a warp has 16 queries, and keeps them, their scores and their sums in registers.

use cuda_std::Element;
use cuda_std::half::{bf16, f16};
use cuda_std::mma::{FragmentA, FragmentC, FragmentRows};
use cuda_std::prelude::*;
use cuda_std::vector::Vector8;

use super::Keys;
use super::warp::{Number, ROWS, Softmax};

/// A tile of `KEYS` keys or values, in rows that keep off bank conflicts.
type Rows<T, const KEYS: usize, const VECTORS: usize> = Tile2<Vector8<T>, KEYS, VECTORS, 1>;

/// `softmax(scale q kᵀ) v` for heads of up to `VECTORS` vectors, over `KEYS` keys at a time. The other numbers count fragments: of a warp's
/// queries, of its scores, of its weights and of its output.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel's parameters")]
fn attend<
    'l,
    T: Number,
    const VECTORS: usize,
    const KEYS: usize,
    const QUERIES: usize,
    const SCORES: usize,
    const WEIGHTS: usize,
    const OUTPUTS: usize,
    const COLUMNS: usize,
>(
    q: View<'l, Vector8<T>, 4>,
    k: View<'l, Vector8<T>, 4>,
    v: View<'l, Vector8<T>, 4>,
    mut o: Disjoint<T, FragmentRows<COLUMNS>>,
    scale: f32,
    visible: i32,
    tiles: Pipeline<'l, (Rows<T, KEYS, VECTORS>, Rows<T, KEYS, VECTORS>)>,
) where
    Vector8<T>: Element,
{
    const {
        assert!(2 * KEYS >= ROWS, "the queries of a block come to the place of keys and values");
    };
    let Some([outer, inner, first, _]) = o.part() else {
        return;
    };
    let rows = q.shape()[2];
    let task = Keys { visible, all: k.shape()[2] as i32 };
    let blocks = task.blocks::<KEYS>((first + ROWS).min(rows) as u32) as usize;
    let own = 16 * (thread::index_in_block() as usize / 32 % (ROWS / 16));
    let from = |matrix: View<'l, Vector8<T>, 4>, start: usize| {
        move |[row, column]: [usize; 2]| matrix.get([outer, inner, start + row, column])
    };
    let mut stages = tiles.start();
    stages.fetch_pair(from(q, first), from(q, first + KEYS));
    stages.advance();
    stages.fetch_pair(from(k, 0), from(v, 0));
    let (near, far) = stages.front();
    let queries: [FragmentA<T>; QUERIES] = if own + 16 <= KEYS {
        FragmentA::row_from_rows(near, own, 0)
    } else {
        FragmentA::row_from_rows(far, own - KEYS, 0)
    };
    let mut output: [FragmentC<T>; OUTPUTS] = FragmentC::zeros();
    let mut softmax = Softmax::new(scale);
    for block in 0..blocks {
        let start = block * KEYS;
        stages.advance();
        // Rows behind the last key are filled with zeros, which are not multiplied.
        stages.fetch_pair(from(k, start + KEYS), from(v, start + KEYS));
        let (columns, values) = stages.front();
        let mut scores: [FragmentC<T>; SCORES] = FragmentC::zeros();
        FragmentC::multiply_add_columns(&mut scores, &queries, columns);
        if (start + KEYS) as i32 > task.seen((first + own) as u32) {
            FragmentC::each_of(&mut scores, |number, i, j, score| {
                if (start + 8 * number + j) as i32 >= task.seen((first + own + i) as u32) {
                    *score = f32::NEG_INFINITY;
                }
            });
        }
        if let Some(factor) = softmax.add(&mut scores) {
            FragmentC::each_of(&mut output, |_, i, _, sum| *sum *= factor[i / 8]);
        }
        let weights: [FragmentA<T>; WEIGHTS] = FragmentA::row_from_sums(&scores, T::of);
        FragmentC::multiply_add_row(&mut output, &weights, values);
    }
    let factor = softmax.normalisation();
    FragmentC::each_of(&mut output, |_, i, _, sum| *sum *= factor[i / 8]);
    o.store_row::<T, 0, OUTPUTS>(&output, T::of);
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $ty:ident, $vectors:literal vectors in blocks of $across:literal x $down:literal,
       $keys:literal keys, fragments $queries:literal $scores:literal $weights:literal $outputs:literal, $columns:literal columns;)*) => {$(
        $(#[$doc])*
        #[kernel(block = ($across, $down), min_blocks = 3, arch = "sm_80")]
        #[allow(clippy::too_many_arguments, reason = "a kernel's parameters")]
        pub fn $name(
            q: View<Vector8<$ty>, 4>,
            k: View<Vector8<$ty>, 4>,
            v: View<Vector8<$ty>, 4>,
            o: Disjoint<$ty, FragmentRows<$columns>>,
            scale: f32,
            visible: i32,
            tiles: Pipeline<(Rows<$ty, $keys, $vectors>, Rows<$ty, $keys, $vectors>)>,
        ) {
            attend::<$ty, $vectors, $keys, $queries, $scores, $weights, $outputs, $columns>(q, k, v, o, scale, visible, tiles);
        }
    )*};
}

kernels! {
    /// For heads of up to 64 numbers. A block has [`ROWS`] rows, which x of the grid counts through all matrices.
    attention_64_by_warps_f16: f16, 8 vectors in blocks of 8 x 16, 64 keys, fragments 4 8 4 8, 64 columns;
    /// The same kernel for `bf16`.
    attention_64_by_warps_bf16: bf16, 8 vectors in blocks of 8 x 16, 64 keys, fragments 4 8 4 8, 64 columns;
    /// For heads of up to 128 numbers.
    attention_128_by_warps_f16: f16, 16 vectors in blocks of 16 x 8, 32 keys, fragments 8 4 2 16, 128 columns;
    /// The same kernel for `bf16`.
    attention_128_by_warps_bf16: bf16, 16 vectors in blocks of 16 x 8, 32 keys, fragments 8 4 2 16, 128 columns;
}
