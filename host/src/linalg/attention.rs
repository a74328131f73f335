//! Attention forward: `softmax(scale q kᵀ) v`, without its matrix of scores in memory.

use crate::array::layout::Layout;
use crate::array::{ArrayView, ArrayViewMut};
use crate::base::error::{LinalgError, Result};
use crate::linalg::Linalg;
use bytemuck::Pod;
use cuda_std::half::{bf16, f16};
use cuda_std::launch::Call;
use cuda_std::tensor::Order;
use cuda_std::vector::Vector8;
use rumba_linalg::attention as kernels;

/// The keys that a query sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mask {
    /// All of them.
    #[default]
    None,
    /// Query `i` sees keys 0 to `i`.
    Causal,
    /// The last query sees all keys, and each one before it one less: queries that continue what the keys begin with.
    CausalFromEnd,
}

/// Options of an attention: by default all keys are seen, and the scale is one over the square root of the heads'
/// size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Attention {
    /// The keys that a query sees.
    pub mask: Mask,
    /// The factor of the scores, which is positive.
    pub scale: Option<f32>,
}

/// Element types with kernels: `f16` and `bf16` of `half`. Sums are computed in `f32`.
#[diagnostic::on_unimplemented(
    message = "there is no attention of elements `{Self}`",
    note = "there is one of `f16` and `bf16` of `cuda_std::half`"
)]
pub trait AttentionElement: Pod + sealed::Kernels {}

/// How a kernel by warp groups is called: queries, keys, values, output, the factor of the scores as a power of 2, and how many keys the
/// first query sees.
type ByWarpGroups<T> = for<'c> fn(
    ArrayView<'c, T, 4>,
    ArrayView<'c, T, 4>,
    ArrayView<'c, T, 4>,
    (ArrayViewMut<'c, T, 4>, Order),
    f32,
    i32,
) -> Call<'c>;

/// How the kernel by warps is called: as one by warp groups, but for the order.
type ByWarps<T> = for<'c> fn(
    ArrayView<'c, T, 4>,
    ArrayView<'c, T, 4>,
    ArrayView<'c, T, 4>,
    ArrayViewMut<'c, T, 4>,
    f32,
    i32,
) -> Call<'c>;

/// How a kernel by warps is called whose operands lie in vectors.
type InVectors<T> =
    for<'c> fn([ArrayView<'c, <T as sealed::Kernels>::Eight, 4>; 3], ArrayViewMut<'c, T, 4>, f32, i32) -> Call<'c>;

/// A kernel by warp groups.
#[derive(Clone, Copy, Debug)]
pub struct WarpGroups<T> {
    /// Numbers of a head at most.
    size: usize,
    /// Queries of a block's part.
    rows: usize,
    threads: u32,
    call: ByWarpGroups<T>,
}

mod sealed {
    use super::{ByWarps, InVectors, Pod, WarpGroups};

    pub trait Kernels: Sized + 'static {
        /// A vector of eight elements: `Vector8`.
        type Eight: Pod;
        /// In ascending order of their sizes.
        const WARP_GROUPS: &'static [WarpGroups<Self>];
        /// For heads of up to 64 numbers, and of up to 128.
        const IN_VECTORS: [InVectors<Self>; 2];
        /// For all devices, sizes and strides.
        const WARPS: ByWarps<Self>;
    }
}

macro_rules! elements {
    ($($ty:ident: $small:ident $large:ident;)*) => {$(
        impl AttentionElement for $ty {}

        impl sealed::Kernels for $ty {
            const WARP_GROUPS: &'static [WarpGroups<$ty>] = &[
                WarpGroups { size: 64, rows: 192, threads: 512, call: |q, k, v, o, scale, visible| kernels::warp_group::attention_64::<$ty>(q, k, v, o, scale, visible) },
                WarpGroups { size: 128, rows: 128, threads: 384, call: |q, k, v, o, scale, visible| kernels::warp_group::attention_128::<$ty>(q, k, v, o, scale, visible) },
                WarpGroups { size: 192, rows: 128, threads: 384, call: |q, k, v, o, scale, visible| kernels::warp_group::attention_192::<$ty>(q, k, v, o, scale, visible) },
                WarpGroups { size: 512, rows: 64, threads: 256, call: |q, k, v, o, scale, visible| kernels::warp_group::attention_512::<$ty>(q, k, v, o, scale, visible) },
            ];
            type Eight = Vector8<$ty>;
            const IN_VECTORS: [InVectors<$ty>; 2] = [
                |[q, k, v], o, scale, visible| kernels::vectors::$small(q, k, v, o, scale, visible),
                |[q, k, v], o, scale, visible| kernels::vectors::$large(q, k, v, o, scale, visible),
            ];
            const WARPS: ByWarps<$ty> =
                |q, k, v, o, scale, visible| kernels::warp::attention_by_warps::<$ty>(q, k, v, o, scale, visible);
        }
    )*};
}

elements! {
    f16: attention_64_by_warps_f16 attention_128_by_warps_f16;
    bf16: attention_64_by_warps_bf16 attention_128_by_warps_bf16;
}

impl Linalg {
    /// `softmax(scale q kᵀ) v` for each head of each batch: `output[b, h, i]` is the mean of the values `v[b, h, j]`, weighted by
    /// the exponential of the scaled product of `q[b, h, i]` and `k[b, h, j]`. Queries that see no key get zeros.
    ///
    /// All arrays are `[batch, heads, length, size]`, with any strides: what lies as `[batch, length, heads, size]` is passed with its
    /// axes in the other order, by [`permute`](ArrayView::permute). The length of keys and values may be another than that of the
    /// queries. Heads have up to 512 numbers.
    ///
    /// On devices of compute capability 9.0 the work is done by warp groups where the elements of a head lie one after the other
    /// and all other strides are multiples of 16 bytes, as they are of heads of 64 or 80 numbers. Else it is done by warps: where
    /// arrays lie so and heads have a multiple of 8 and up to 128 numbers, by copies of 16 bytes at a time; others take several times
    /// as long.
    ///
    /// # Errors
    /// [`LinalgError`] if the shapes do not fit, heads are too large or the scale is not positive; [`crate::Error::OtherDevice`]; the
    /// driver's.
    ///
    /// # Examples
    /// ```
    /// use cuda_std::half::f16;
    /// use rumba::array::Array;
    /// use rumba::linalg::{Attention, Linalg, Mask};
    ///
    /// let device = rumba::Device::new()?;
    /// let linalg = Linalg::new(&device);
    /// // One batch of 20 positions with 2 heads, which lie beside each other.
    /// let numbers = |seed: usize| (0..20 * 2 * 64).map(|i| f16::from_f32((i * seed % 17) as f32 / 17.0)).collect::<Vec<_>>();
    /// let array = |seed| Array::from_slice(&device, [1, 20, 2, 64], &numbers(seed));
    /// let (q, k, v) = (array(3)?, array(5)?, array(7)?);
    /// let mut output = Array::zeros(&device, [1, 20, 2, 64])?;
    /// let heads = [0, 2, 1, 3];
    /// linalg.attention(
    ///     q.view().permute(heads),
    ///     k.view().permute(heads),
    ///     v.view().permute(heads),
    ///     output.view_mut().permute(heads),
    ///     Attention { mask: Mask::Causal, ..Attention::default() },
    /// )?;
    /// // The first query sees the first value alone.
    /// assert_eq!(output.to_vec()?[..128], numbers(7)[..128]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn attention<'a, T: AttentionElement>(
        &self,
        queries: impl Into<ArrayView<'a, T, 4>>,
        keys: impl Into<ArrayView<'a, T, 4>>,
        values: impl Into<ArrayView<'a, T, 4>>,
        output: impl Into<ArrayViewMut<'a, T, 4>>,
        attention: Attention,
    ) -> Result<()> {
        let (queries, keys, values, mut output) = (queries.into(), keys.into(), values.into(), output.into());
        let [batch, heads, rows, size] = queries.shape();
        let [_, _, length, _] = keys.shape();
        if keys.shape() != [batch, heads, length, size]
            || values.shape() != keys.shape()
            || output.shape() != queries.shape()
        {
            return Err(LinalgError::Attention {
                queries: queries.shape(),
                keys: keys.shape(),
                values: values.shape(),
                output: output.shape(),
            }
            .into());
        }
        let scale = attention.scale.unwrap_or_else(|| (size as f32).sqrt().recip());
        if size > 0 && !(scale > 0.0 && scale.is_finite()) {
            return Err(LinalgError::AttentionScale { scale }.into());
        }
        let most = i32::MAX as usize;
        let matrices = batch.saturating_mul(heads);
        if size > 512 || rows.max(length) > most || matrices.saturating_mul(rows) > u32::MAX as usize {
            return Err(LinalgError::AttentionSize { queries: queries.shape(), keys: length }.into());
        }
        if output.is_empty() {
            return Ok(());
        }
        if length == 0 {
            return output.fill(T::zeroed());
        }
        let visible = match attention.mask {
            Mask::None => length as i32,
            Mask::Causal => 1,
            Mask::CausalFromEnd => 1 + (length as i64 - rows as i64) as i32,
        };
        let task = Task {
            // Weights are powers of 2.
            scale: scale * std::f32::consts::LOG2_E,
            visible,
            matrices,
        };
        let is_ninth = self.library.device().limits().compute_capability.0 == 9;
        let is_wanted = |way: &str| self.only.is_none_or(|only| only == way);
        let fits = [&queries, &keys, &values].into_iter().all(fits_tensor_maps);
        if is_ninth && fits && fits_tensor_maps(&output.view()) && is_wanted("warp groups") {
            self.attention_by_warp_groups(task, queries, keys, values, output)
        } else if fits && size.is_multiple_of(8) && size <= 128 && is_wanted("vectors") {
            self.attention_in_vectors(task, [queries, keys, values], output)
        } else {
            self.attention_by_warps(task, queries, keys, values, output)
        }
    }

    fn attention_in_vectors<T: AttentionElement>(
        &self,
        task: Task,
        operands: [ArrayView<'_, T, 4>; 3],
        output: ArrayViewMut<'_, T, 4>,
    ) -> Result<()> {
        let [_, _, rows, size] = output.shape();
        let blocks = task.matrices * rows.div_ceil(kernels::warp::ROWS);
        let [small, large] = T::IN_VECTORS;
        let (call, block) = if size <= 64 { (small, (8, 16)) } else { (large, (16, 8)) };
        let call = call(operands.map(|view| in_vectors(&view)), output, task.scale, task.visible);
        self.library.launch(None, (blocks as u32, block), call)
    }

    fn attention_by_warps<T: AttentionElement>(
        &self,
        task: Task,
        queries: ArrayView<'_, T, 4>,
        keys: ArrayView<'_, T, 4>,
        values: ArrayView<'_, T, 4>,
        output: ArrayViewMut<'_, T, 4>,
    ) -> Result<()> {
        let [_, _, rows, size] = queries.shape();
        let parts = task.matrices * rows.div_ceil(kernels::warp::ROWS);
        let blocks = [parts, size.div_ceil(kernels::warp::COLUMNS)].map(|blocks| blocks as u32);
        let call = T::WARPS(queries, keys, values, output, task.scale, task.visible);
        self.library.launch(None, ((blocks[0], blocks[1]), 128), call)
    }

    fn attention_by_warp_groups<T: AttentionElement>(
        &self,
        task: Task,
        queries: ArrayView<'_, T, 4>,
        keys: ArrayView<'_, T, 4>,
        values: ArrayView<'_, T, 4>,
        mut output: ArrayViewMut<'_, T, 4>,
    ) -> Result<()> {
        let [_, _, rows, size] = queries.shape();
        let kernel = T::WARP_GROUPS.iter().find(|kernel| size <= kernel.size).expect("larger heads are refused");
        let parts = rows.div_ceil(kernel.rows);
        let blocks = (task.matrices * parts).min(self.library.device().limits().multiprocessors_at_once as usize);
        // Where parts take less and less time, as many heads together as fill an even number of rounds: what a block has more to do
        // in one, it has less in the next. Else head by head, so that blocks read the same keys.
        let last_first = task.visible < keys.shape()[2] as i32;
        let together = if last_first { 2 * blocks / gcd(2 * blocks, parts) } else { 1 };
        let order = Order { together: together as u32, last_first };
        // A launch computes up to 256 columns.
        for first in (0..size).step_by(256) {
            let columns = (.., .., .., first..size.min(first + 256));
            let call = (kernel.call)(
                queries,
                keys,
                values.slice(columns.clone()),
                (output.reborrow().slice_mut(columns), order),
                task.scale,
                task.visible,
            );
            self.library.launch(None, (blocks as u32, kernel.threads), call)?;
        }
        Ok(())
    }
}

/// Whether tensor copies can have an array: its rows begin at multiples of 16 bytes, and have no gaps between elements.
fn fits_tensor_maps<T: Pod>(view: &ArrayView<'_, T, 4>) -> bool {
    let (_, address) = view.place();
    let (shape, strides) = (view.shape(), view.strides());
    let is_aligned =
        |axis: usize| shape[axis] == 1 || strides[axis] > 0 && strides[axis] * size_of::<T>() as isize % 16 == 0;
    address.is_multiple_of(16) && (strides[3] == 1 || shape[3] == 1) && (0..3).all(is_aligned)
}

/// An array whose heads begin at multiples of 16 bytes and have a multiple of 8 numbers, in vectors.
fn in_vectors<'a, T: AttentionElement>(view: &ArrayView<'a, T, 4>) -> ArrayView<'a, T::Eight, 4> {
    let ([outer, inner, rows, size], strides) = (view.shape(), view.strides());
    let shape = [outer, inner, rows, size / 8];
    // An axis of one element has any stride.
    let stride = |axis: usize| if shape[axis] == 1 { 0 } else { strides[axis] / 8 };
    let strides = [stride(0), stride(1), stride(2), 1];
    let last: usize = (0..4).map(|axis| (shape[axis] - 1) * strides[axis].unsigned_abs()).sum();
    let start = view.layout().offset;
    let memory = view.memory().slice(start..start + 8 * (last + 1)).cast::<T::Eight>();
    ArrayView::new(memory, Layout { offset: 0, shape, strides })
}

/// The greatest common divisor.
fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The task of a launch.
#[derive(Clone, Copy, Debug)]
struct Task {
    scale: f32,
    visible: i32,
    matrices: usize,
}
