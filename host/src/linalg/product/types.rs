//! Which elements are multiplied, and by which kernels.

use super::choice::Way;
use crate::array::{ArrayView, ArrayViewMut};
use bytemuck::Pod;
use cuda_std::half::{bf16, f16};
use cuda_std::launch::Call;
use rumba_linalg::product::{Activation, Real, thread, warp};

/// Elements whose products can be written to elements `U`: the table of [`Linalg::product`](crate::linalg::Linalg::product).
#[diagnostic::on_unimplemented(
    message = "products of elements `{Self}` are not written to elements `{U}`",
    note = "`f16` and `bf16` have outputs of the same type or of `f32`, `f32` and `f64` of their own, `i8` of `i32`"
)]
pub trait Multiply<U: Pod>: Pod {
    /// What products are summed in, and numbers of products are given as.
    type Sum: Real;
    #[doc(hidden)]
    const ZERO: Self::Sum = Self::Sum::ZERO;
    #[doc(hidden)]
    const ONE: Self::Sum = Self::Sum::ONE;
    /// Ways there are, the last being by elements.
    #[doc(hidden)]
    const WAYS: &'static [Way];

    /// The launch of a kernel.
    #[doc(hidden)]
    fn call<'c>(way: Way, operands: Operands<'c, Self, U>) -> Call<'c>;
}

/// Those with activations.
#[diagnostic::on_unimplemented(
    message = "a product of elements `{Self}` has no activation",
    note = "sums of `i8` are whole numbers"
)]
pub trait Float<U: Pod>: Multiply<U> {}

/// What a kernel takes.
#[doc(hidden)]
pub struct Operands<'c, T: Multiply<U>, U: Pod> {
    pub(super) a: ArrayView<'c, T, 3>,
    pub(super) b: ArrayView<'c, T, 3>,
    pub(super) bias: ArrayView<'c, U, 3>,
    pub(super) residual: ArrayView<'c, U, 3>,
    pub(super) alpha: T::Sum,
    pub(super) beta: T::Sum,
    pub(super) activation: Activation,
    pub(super) c: ArrayViewMut<'c, U, 3>,
}

impl<'c, T: Multiply<U>, U: Pod> Operands<'c, T, U> {
    /// The same for another output.
    pub(super) fn with_output<'o>(&self, c: ArrayViewMut<'o, U, 3>) -> Operands<'o, T, U>
    where
        'c: 'o,
    {
        Operands {
            a: self.a,
            b: self.b,
            bias: self.bias,
            residual: self.residual,
            alpha: self.alpha,
            beta: self.beta,
            activation: self.activation,
            c,
        }
    }
}

/// Elements, output and sums; the kernels, which take the same arguments.
macro_rules! kernels {
    ($($ty:ident, $output:ident, $sum:ident, [$($way:ident $kernel:expr),*];)*) => {$(
        impl Multiply<$output> for $ty {
            type Sum = $sum;
            const WAYS: &'static [Way] = &[$(Way::$way,)* Way::Elements];

            fn call<'c>(way: Way, operands: Operands<'c, Self, $output>) -> Call<'c> {
                let Operands { a, b, bias, residual, alpha, beta, activation, c } = operands;
                match way {
                    $(Way::$way => $kernel(a, b, bias, residual, alpha, beta, activation, c),)*
                    _ => thread::product_elements::<$ty, $output, $sum>(a, b, bias, residual, alpha, beta, activation, c),
                }
            }
        }
    )*};
}

kernels! {
    f16, f16, f32, [Warps warp::product_warps_f16];
    f16, f32, f32, [Warps warp::product_warps_f16_f32];
    bf16, bf16, f32, [Warps warp::product_warps_bf16];
    bf16, f32, f32, [Warps warp::product_warps_bf16_f32];
    f32, f32, f32, [WarpsTf32 warp::product_warps_tf32, Threads thread::product_threads, ThreadsSmall thread::product_threads_small];
    f64, f64, f64, [Warps warp::product_warps_f64, WarpsSmall warp::product_warps_f64_small];
    i8, i32, i32, [Warps warp::product_warps_i8];
}

impl Float<f16> for f16 {}
impl Float<f32> for f16 {}
impl Float<bf16> for bf16 {}
impl Float<f32> for bf16 {}
impl Float<f32> for f32 {}
impl Float<f64> for f64 {}
