//! The types of a tensor's numbers, and the kernels for each type.

use crate::error::Result;
use crate::run::tensor::Tensor;
use crate::run::{Reads, Run};
use bytemuck::Pod;
use cuda_std::half::{bf16, f16};
use cuda_std::launch::{Call, Dim, Map};
use nn_kernels::norm::Groups;
use nn_kernels::{BrainVector, HalfVector, Lanes, SingleVector, elementwise, lookup, norm};
use rumba::array::{ArrayView, ArrayViewMut};
use rumba::linalg::{Attention, ConvolutionElement, Float, Mask, Multiply};
use rumba::{DeviceSlice, DeviceSliceMut};
use safetensors::tensor::Dtype;
use std::ops::Range;

/// Numbers of tensors: `f32`, and `f16` and `bf16` of `cuda_std::half`. Layers sum in `f32` in all of them.
pub trait Element: ConvolutionElement + Float<Self> + Multiply<Self, Sum = f32> + nn_kernels::Real + Kernels {}

/// The kernels of a type, each of the function of its name in `rumba-nn-kernels`.
#[doc(hidden)]
pub trait Kernels: Sized + 'static {
    fn activate(x: ArrayView<'_, Self, 1>, function: u32) -> Map<'_, Self, Dim<1>>;

    /// How many numbers a vector of 16 bytes has.
    const VECTOR: usize;
    /// Their type in files of weights.
    const DTYPE: Dtype;

    fn gated<'a>(
        halves: DeviceSlice<'a, Self>,
        columns: usize,
        y: DeviceSliceMut<'a, Self>,
        are_vectors: bool,
    ) -> Call<'a>;

    fn group_moments<'a>(
        inputs: [DeviceSlice<'a, Self>; 2],
        shape: Groups,
        moments: Rows<'a, [f32; 2]>,
        are_vectors: bool,
    ) -> Call<'a>;

    fn group_factors<'a>(
        moments: DeviceSlice<'a, [f32; 2]>,
        shape: Groups,
        weights: [DeviceSlice<'a, Self>; 3],
        epsilon: f32,
        factors: Rows<'a, [f32; 2]>,
    ) -> Call<'a>;

    fn normalise<'a>(
        x: DeviceSlice<'a, Self>,
        factors: DeviceSlice<'a, [f32; 2]>,
        function: u32,
        y: (DeviceSliceMut<'a, Self>, [usize; 3]),
        are_vectors: bool,
    ) -> Call<'a>;

    fn sum<'a>(
        x: ArrayView<'a, Self, 3>,
        y: ArrayView<'a, Self, 3>,
        a: ArrayView<'a, f32, 1>,
        b: ArrayView<'a, f32, 1>,
    ) -> Map<'a, Self, Dim<3>>;

    fn add<'a>(x: ArrayView<'a, Self, 3>, y: ArrayView<'a, Self, 3>) -> Map<'a, Self, Dim<3>>;

    fn copy<const N: usize>(x: ArrayView<'_, Self, N>) -> Map<'_, Self, Dim<N>>;

    fn of_f32<const N: usize>(x: ArrayView<'_, f32, N>) -> Map<'_, Self, Dim<N>>;

    fn constant(x: f32) -> Map<'static, Self, Dim<0>>;

    fn to_f32<const N: usize>(x: ArrayView<'_, Self, N>) -> Map<'_, f32, Dim<N>>;

    fn layer_norm<'a>(
        inputs: [DeviceSlice<'a, Self>; 3],
        epsilon: f32,
        y: Rows<'a, Self>,
        are_vectors: bool,
    ) -> Call<'a>;

    fn embedding<'a>(ids: DeviceSlice<'a, u32>, table: ArrayView<'a, Self, 2>, y: Rows<'a, Self>) -> Call<'a>;

    fn timesteps<'a>(times: DeviceSlice<'a, f32>, longest: f32, y: Rows<'a, Self>) -> Call<'a>;

    /// Attention of `[batch, length, heads, size]`, as `rumba::linalg` has it or made of products.
    #[expect(private_interfaces, reason = "the trait is not public")]
    fn attention(run: &Run, qkv: [Projected<'_, Self>; 3], mask: Mask) -> Result<Tensor<Self, 4>>;
}

/// Heads as `rumba::linalg` wants them: before the positions.
const HEADS: [usize; 4] = [0, 2, 1, 3];

/// Queries, keys or values: of a tensor `[batch, positions, heads, size]` those of some heads.
pub(crate) struct Projected<'t, T> {
    pub(crate) tensor: &'t Tensor<T, 4>,
    pub(crate) heads: Range<usize>,
}

impl<T: Element> Projected<'_, T> {
    pub(crate) fn shape(&self) -> [usize; 4] {
        let [batch, positions, _, size] = self.tensor.shape();
        [batch, positions, self.heads.len(), size]
    }

    /// With heads before positions.
    pub(crate) fn view<'r>(&'r self, reads: &'r Reads<'_>) -> Result<ArrayView<'r, T, 4>> {
        let all = reads.view(self.tensor)?;
        Ok(all.slice((.., .., self.heads.clone(), ..)).permute(HEADS))
    }
}

/// An output of rows, with their number and length.
pub(crate) type Rows<'a, T> = (DeviceSliceMut<'a, T>, [usize; 2]);

macro_rules! elements {
    ($($ty:ident, $vector:ident, $dtype:ident: $attention:path;)*) => {$(
        impl Element for $ty {}

        impl Kernels for $ty {
            fn activate(x: ArrayView<'_, Self, 1>, function: u32) -> Map<'_, Self, Dim<1>> {
                elementwise::activate::over(x, function)
            }

            const VECTOR: usize = <$vector as Lanes>::COUNT;
            const DTYPE: Dtype = Dtype::$dtype;

            fn gated<'a>(
                halves: DeviceSlice<'a, Self>,
                columns: usize,
                y: DeviceSliceMut<'a, Self>,
                are_vectors: bool,
            ) -> Call<'a> {
                if are_vectors {
                    let columns = (columns / Self::VECTOR) as u32;
                    elementwise::gated::<$vector>(halves.cast(), columns, y.cast())
                } else {
                    elementwise::gated::<$ty>(halves, columns as u32, y)
                }
            }

            fn group_moments<'a>(
                [x, offsets]: [DeviceSlice<'a, Self>; 2],
                shape: Groups,
                moments: Rows<'a, [f32; 2]>,
                are_vectors: bool,
            ) -> Call<'a> {
                if are_vectors {
                    norm::group_moments::<$vector>(x.cast(), offsets.cast(), shape, moments)
                } else {
                    norm::group_moments::<$ty>(x, offsets, shape, moments)
                }
            }

            fn group_factors<'a>(
                moments: DeviceSlice<'a, [f32; 2]>,
                shape: Groups,
                [scale, shift, offsets]: [DeviceSlice<'a, Self>; 3],
                epsilon: f32,
                factors: Rows<'a, [f32; 2]>,
            ) -> Call<'a> {
                norm::group_factors::<$ty>(moments, shape, scale, shift, offsets, epsilon, factors)
            }

            fn normalise<'a>(
                x: DeviceSlice<'a, Self>,
                factors: DeviceSlice<'a, [f32; 2]>,
                function: u32,
                (y, shape): (DeviceSliceMut<'a, Self>, [usize; 3]),
                are_vectors: bool,
            ) -> Call<'a> {
                if are_vectors {
                    let [images, pixels, channels] = shape;
                    let y = (y.cast::<$vector>(), [images, pixels, channels / Self::VECTOR]);
                    norm::normalise::<$vector>(x.cast(), factors, function, y)
                } else {
                    norm::normalise::<$ty>(x, factors, function, (y, shape))
                }
            }

            fn sum<'a>(
                x: ArrayView<'a, Self, 3>,
                y: ArrayView<'a, Self, 3>,
                a: ArrayView<'a, f32, 1>,
                b: ArrayView<'a, f32, 1>,
            ) -> Map<'a, Self, Dim<3>> {
                elementwise::sum::over(x, y, a, b)
            }

            fn add<'a>(x: ArrayView<'a, Self, 3>, y: ArrayView<'a, Self, 3>) -> Map<'a, Self, Dim<3>> {
                elementwise::sum::over(x, y, 1.0, 1.0)
            }

            fn copy<const N: usize>(x: ArrayView<'_, Self, N>) -> Map<'_, Self, Dim<N>> {
                elementwise::convert::over(x)
            }

            fn of_f32<const N: usize>(x: ArrayView<'_, f32, N>) -> Map<'_, Self, Dim<N>> {
                elementwise::convert::over(x)
            }

            fn constant(x: f32) -> Map<'static, Self, Dim<0>> {
                elementwise::convert::over(x)
            }

            fn to_f32<const N: usize>(x: ArrayView<'_, Self, N>) -> Map<'_, f32, Dim<N>> {
                elementwise::convert::over(x)
            }

            fn layer_norm<'a>(
                [x, scale, shift]: [DeviceSlice<'a, Self>; 3],
                epsilon: f32,
                (y, [rows, columns]): Rows<'a, Self>,
                are_vectors: bool,
            ) -> Call<'a> {
                if are_vectors {
                    let y = (y.cast::<$vector>(), [rows, columns / Self::VECTOR]);
                    norm::layer_norm::<$vector>(x.cast(), scale.cast(), shift.cast(), epsilon, y)
                } else {
                    norm::layer_norm::<$ty>(x, scale, shift, epsilon, (y, [rows, columns]))
                }
            }

            fn embedding<'a>(ids: DeviceSlice<'a, u32>, table: ArrayView<'a, Self, 2>, y: Rows<'a, Self>) -> Call<'a> {
                lookup::embedding::<$ty>(ids, table, y)
            }

            fn timesteps<'a>(times: DeviceSlice<'a, f32>, longest: f32, y: Rows<'a, Self>) -> Call<'a> {
                lookup::timesteps::<$ty>(times, longest, y)
            }

            #[expect(private_interfaces, reason = "the trait is not public")]
            fn attention(run: &Run, qkv: [Projected<'_, Self>; 3], mask: Mask) -> Result<Tensor<Self, 4>> {
                $attention(run, qkv, mask)
            }
        }
    )*};
}

elements! {
    f32, SingleVector, F32: by_products;
    f16, HalfVector, F16: in_one;
    bf16, BrainVector, BF16: in_one;
}

fn in_one<T: Element + rumba::linalg::AttentionElement>(
    run: &Run,
    [q, k, v]: [Projected<'_, T>; 3],
    mask: Mask,
) -> Result<Tensor<T, 4>> {
    run.make(q.shape(), |reads, output| {
        let (q, k, v) = (q.view(reads)?, k.view(reads)?, v.view(reads)?);
        let attention = Attention { mask, scale: None };
        Ok(run.linalg().attention(q, k, v, output.permute(HEADS), attention)?)
    })
}

/// There is no attention of `f32` in one kernel: products for the scores and for the values, softmax between. A product takes one
/// axis of matrices, so there is one for each image, or for each head if those are fewer.
fn by_products(run: &Run, [q, k, v]: [Projected<'_, f32>; 3], mask: Mask) -> Result<Tensor<f32, 4>> {
    let ([batch, rows, heads, size], [_, length, ..]) = (q.shape(), k.shape());
    let axis = usize::from(heads < batch);
    let parts = 0..batch.min(heads);
    let scores = run.make([batch, heads, rows, length], |reads, mut scores| {
        for part in parts.clone() {
            let q = q.view(reads)?.index_axis(axis, part);
            let k = k.view(reads)?.index_axis(axis, part).permute([0, 2, 1]);
            let product = run.linalg().product(q, k).scale((size as f32).sqrt().recip());
            product.eval_into(scores.reborrow().index_axis_mut(axis, part))?;
        }
        Ok(())
    })?;
    // How many keys more than its number the first query sees.
    let first = match mask {
        Mask::Causal => 0,
        Mask::CausalFromEnd => length as i32 - rows as i32,
        _ => length as i32,
    };
    let weights = run.make(scores.shape(), |reads, weights| {
        let shape = [batch * heads * rows, length];
        let call = norm::softmax(reads.slice(&scores)?, rows as u32, first, (in_one_piece(weights), shape));
        run.launch_rows(shape[0], call)
    })?;
    drop(scores);
    run.make(q.shape(), |reads, output| {
        let mut output = output.permute(HEADS);
        for part in parts {
            let v = v.view(reads)?.index_axis(axis, part);
            let weights = reads.view(&weights)?.index_axis(axis, part);
            let product = run.linalg().product(weights, v);
            product.eval_into(output.reborrow().index_axis_mut(axis, part))?;
        }
        Ok(())
    })
}

/// The elements of a new tensor.
pub(crate) fn in_one_piece<T: Pod, const N: usize>(tensor: ArrayViewMut<'_, T, N>) -> DeviceSliceMut<'_, T> {
    tensor.into_slice().expect("a new tensor lies in one piece")
}
