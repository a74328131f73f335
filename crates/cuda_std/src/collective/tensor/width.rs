//! Widths of accumulators, and the numbers that products are summed in.

use ::half::{bf16, f16};

use crate::device::wgmma::{E4m3, E5m2, Sums, Wgmma};

/// How wide an accumulator may be: 32, 64, 128, 160, 176, 192 or 256 columns.
#[derive(Debug)]
pub struct Columns<const COLUMNS: usize>(());

/// A supported width of [`Columns`].
#[diagnostic::on_unimplemented(
    message = "there is no accumulator of this width",
    note = "accumulators have 32, 64, 128, 160, 176, 192 or 256 columns"
)]
pub trait Width: sealed::Width {}

pub(super) mod sealed {
    use bytemuck::Pod;

    use super::{E4m3, E5m2, Sums, Wgmma, bf16, f16};

    pub trait Width {
        #[allow(private_bounds, reason = "the instructions are not public")]
        type F32: Sums<Number = f32> + Wgmma<f16> + Wgmma<bf16> + Wgmma<f32> + Wgmma<E4m3> + Wgmma<E5m2>;
        #[allow(private_bounds, reason = "the instructions are not public")]
        type I32: Sums<Number = i32> + Wgmma<i8>;
    }

    /// A sum.
    pub trait Number: Pod {
        /// The sums of a warp group.
        #[allow(private_bounds, reason = "the instructions are not public")]
        type Of<W: Width>: Sums<Number = Self>;
    }

    impl Number for f32 {
        type Of<W: Width> = W::F32;
    }

    impl Number for i32 {
        type Of<W: Width> = W::I32;
    }
}

macro_rules! widths {
    ($($columns:literal)*) => {$(
        impl Width for Columns<$columns> {}
        impl sealed::Width for Columns<$columns> {
            type F32 = [f32; $columns / 2];
            type I32 = [i32; $columns / 2];
        }
    )*};
}

widths!(32 64 128 160 176 192 256);

/// The type of sums: `f32`, or `i32` for `i8`.
pub trait Number: sealed::Number {}

impl Number for f32 {}
impl Number for i32 {}
