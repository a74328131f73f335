//! Products in parts of the sums, for few tiles with long sums: each part is a product of its own, and their total is the result.

use super::group::{is_plain, matrices};
use super::types::{Multiply, Operands};
use crate::array::ArrayViewMut;
use crate::array::layout::Layout;
use crate::base::error::Result;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::launch::config::LaunchConfig;
use crate::launch::library::{Launch, Library};
use bytemuck::Pod;
use cuda_std::half::{bf16, e4m3, e5m2, f16};
use cuda_std::launch::{Call, TensorShape};
use rumba_linalg::product::parts::{product_parts_nt, total, total_and_more};

/// Matrices, one behind the other.
type Placed<'c, T> = (DeviceSlice<'c, T>, TensorShape);

/// The sums of parts, how many parts there are, and how long their rows are.
type Sums<'c> = (DeviceSlice<'c, f32>, [u32; 2]);

/// Elements whose products to elements `U` may be computed in parts.
#[doc(hidden)]
pub trait InParts<U: Pod>: Pod {
    /// Whether kernels exist for this pair of types.
    const IN_PARTS: bool = false;

    /// The products of the parts. The terms of both operands are contiguous.
    fn products<'c>(_: Placed<'c, Self>, _: Placed<'c, Self>, _: ArrayViewMut<'c, f32, 3>) -> Option<Call<'c>> {
        None
    }

    /// The sum of the parts, converted to `U`, with a thread for each element.
    fn total<'c>(_: Sums<'c>, _: Operands<'c, Self, U>) -> Option<(LaunchConfig<'static>, Call<'c>)>
    where
        Self: Multiply<U>,
    {
        None
    }
}

macro_rules! in_parts {
    ($($ty:ident $output:ident;)*) => {$(
        impl InParts<$output> for $ty {
            const IN_PARTS: bool = true;

            fn products<'c>(a: Placed<'c, Self>, b: Placed<'c, Self>, c: ArrayViewMut<'c, f32, 3>) -> Option<Call<'c>> {
                let c = c.into_view();
                let (memory, shape) = matrices(&c);
                // SAFETY: the view was a mutable one, and is not used any more.
                let memory: DeviceSliceMut<'c, f32> = unsafe { memory.assume_mut() };
                Some(product_parts_nt::<$ty>(a, b, (memory, shape)))
            }

            fn total<'c>(
                (parts, [count, pitch]): Sums<'c>,
                operands: Operands<'c, Self, $output>,
            ) -> Option<(LaunchConfig<'static>, Call<'c>)> {
                let is_plain = is_plain(&operands);
                let Operands { bias, residual, alpha, beta, activation, c, .. } = operands;
                let [_, rows, columns] = c.shape();
                if is_plain && pitch as usize == columns && c.view().is_contiguous() {
                    let c = c.into_slice()?;
                    return Some((LaunchConfig::for_each(c.len()), total::<$output>(parts, count, c)));
                }
                let threads = [columns, rows].map(|length| u32::try_from(length).unwrap_or(u32::MAX));
                let call = total_and_more::<$output>(parts, count, pitch, bias, residual, alpha, beta, activation, c);
                Some((LaunchConfig::covering((threads[0], threads[1].min(u16::MAX.into()))), call))
            }
        }
    )*};
}

in_parts! {
    f16 f16;
    f16 f32;
    bf16 bf16;
    bf16 f32;
}

macro_rules! whole {
    ($($ty:ident: $($output:ident)*;)*) => {$($(
        impl InParts<$output> for $ty {}
    )*)*};
}

whole! {
    f32: f32;
    f64: f64;
    i8: i32;
    e4m3: f16 bf16 f32;
    e5m2: f16 bf16 f32;
}

/// In how many parts sums of so many terms of 16 bits can be computed: as long as each other, of whole 16 bytes.
pub(super) fn of(terms: usize) -> impl Iterator<Item = usize> {
    (2..=32).filter(move |parts| terms > 0 && terms.is_multiple_of(8 * parts))
}

/// Whether a product can be computed so: of two matrices, whose sums can be divided.
pub(super) fn divides<T: Multiply<U>, U: Pod>(operands: &Operands<'_, T, U>) -> bool {
    let [batch, _, terms] = operands.a.shape();
    batch == 1 && of(terms).next().is_some()
}

/// Computes a product in so many parts. `config` launches the kernel of the parts.
pub(super) fn run<T: Multiply<U>, U: Pod>(
    library: &Library,
    operands: Operands<'_, T, U>,
    parts: usize,
    config: LaunchConfig<'_>,
    launch: &mut Launch<'_>,
) -> Result<()> {
    let [_, rows, columns] = operands.c.shape();
    // Rows begin at multiples of 16 bytes.
    let pitch = columns.next_multiple_of(4);
    let mut work = library.work(parts * rows * pitch)?;
    let layout =
        Layout { offset: 0, shape: [parts, rows, columns], strides: [(rows * pitch) as isize, pitch as isize, 1] };
    let part = |whole: TensorShape| TensorShape {
        batches: parts,
        columns: whole.columns / parts,
        batch_stride: whole.columns / parts,
        ..whole
    };
    let turned = operands.b.permute([0, 2, 1]);
    let ((a, a_shape), (b, b_shape)) = (matrices(&operands.a), matrices(&turned));
    let sums = ArrayViewMut::new(work.slice().cast::<f32>().into_view(), layout);
    if let Some(call) = T::products((a, part(a_shape)), (b, part(b_shape)), sums) {
        launch(library, config, call)?;
    }
    let sums = (work.slice().into_view().cast::<f32>(), [parts as u32, pitch as u32]);
    match T::total(sums, operands) {
        Some((config, call)) => launch(library, config, call),
        None => Ok(()),
    }
}
