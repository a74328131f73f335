//! The element types of products, and their kernels.

use super::choice::Algorithm;
use crate::array::{ArrayView, ArrayViewMut};
use bytemuck::Pod;
use cuda_std::half::{bf16, e4m3, e5m2, f16};
use cuda_std::launch::Call;
use rumba_linalg::product::{Activation, Real, fused, stored, thread, warp, warp_group};

use super::group::{self, Tensors, copied, fused, stored};
use super::parts::InParts;

/// Elements whose products can be written to elements `U`: the table of [`Linalg::product`](crate::linalg::Linalg::product).
#[diagnostic::on_unimplemented(
    message = "products of elements `{Self}` are not written to elements `{U}`",
    note = "`f16` and `bf16` have outputs of the same type or of `f32`, `e4m3` and `e5m2` of `f16`, `bf16` or `f32`, `f32` and `f64` \
            of their own, `i8` of `i32`"
)]
pub trait Multiply<U: Pod>: InParts<U> {
    /// The type of sums, and of numbers such as scales.
    type Sum: Real;
    #[doc(hidden)]
    const ZERO: Self::Sum = Self::Sum::ZERO;
    #[doc(hidden)]
    const ONE: Self::Sum = Self::Sum::ONE;
    /// Whether sums are whole numbers.
    #[doc(hidden)]
    const WHOLE: bool = Self::Sum::WHOLE;
    /// Ways there are, the last being by elements.
    #[doc(hidden)]
    const ALGORITHMS: &'static [Algorithm];

    /// The launch of a kernel.
    #[doc(hidden)]
    fn call<'c>(algorithm: Algorithm, operands: Operands<'c, Self, U>) -> Call<'c>;
}

/// Kernels with activations.
#[diagnostic::on_unimplemented(
    message = "a product of elements `{Self}` has no activation",
    note = "sums of `i8` are whole numbers"
)]
pub trait Float<U: Pod>: Multiply<U> {}

/// The arguments of a kernel.
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
    /// The operands of the transposed product.
    pub(super) fn transposed(self) -> Operands<'c, T, U> {
        let axes = [0, 2, 1];
        let turned = |view: ArrayView<'c, U, 3>| view.permute(axes);
        Operands {
            a: self.b.permute(axes),
            b: self.a.permute(axes),
            bias: turned(self.bias),
            residual: turned(self.residual),
            c: self.c.permute(axes),
            ..self
        }
    }

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

/// Elements, output and sums; the kernels, which take the same arguments; and those by warp groups, of operands as tensor maps.
macro_rules! kernels {
    ($($ty:ident, $output:ident, $sum:ident, [$($algorithm:ident $kernel:expr),*], [$($group:ident $tensors:expr),*];)*) => {$(
        impl Multiply<$output> for $ty {
            type Sum = $sum;
            const ALGORITHMS: &'static [Algorithm] = &[$(Algorithm::$group,)* $(Algorithm::$algorithm,)* Algorithm::Elements];

            fn call<'c>(algorithm: Algorithm, operands: Operands<'c, Self, $output>) -> Call<'c> {
                match algorithm {
                    $(Algorithm::$algorithm => {
                        let Operands { a, b, bias, residual, alpha, beta, activation, c } = operands;
                        $kernel(a, b, bias, residual, alpha, beta, activation, c)
                    })*
                    $(Algorithm::$group => {
                        let tensors: Tensors<'c, $ty, $output> = Tensors::new(operands);
                        $tensors(tensors)
                    })*
                    _ => {
                        let Operands { a, b, bias, residual, alpha, beta, activation, c } = operands;
                        thread::product_elements::<$ty, $output, $sum>(a, b, bias, residual, alpha, beta, activation, c)
                    }
                }
            }
        }
    )*};
}

kernels! {
    f16, f16, f32, [Warps warp::product_warps_f16], [
        Large copied!(f16, product_large_nn product_large_nt product_large_tn product_large_tt),
        Small copied!(f16, product_small_nn product_small_nt product_small_tn product_small_tt),
        Stored stored!(product_stored_16, f16, f16),
        Fused fused!(f16, f16, product_fused_large_nn product_fused_large_nt),
        FusedSmall fused!(f16, f16, product_fused_small_nt product_fused_small_nt)
    ];
    f16, f32, f32, [Warps warp::product_warps_f16_f32], [
        Stored stored!(product_stored_16, f16, f32)
    ];
    bf16, bf16, f32, [Warps warp::product_warps_bf16], [
        Large copied!(bf16, product_large_nn product_large_nt product_large_tn product_large_tt),
        Small copied!(bf16, product_small_nn product_small_nt product_small_tn product_small_tt),
        Stored stored!(product_stored_16, bf16, bf16),
        Fused fused!(bf16, bf16, product_fused_large_nn product_fused_large_nt),
        FusedSmall fused!(bf16, bf16, product_fused_small_nt product_fused_small_nt)
    ];
    bf16, f32, f32, [Warps warp::product_warps_bf16_f32], [
        Stored stored!(product_stored_16, bf16, f32)
    ];
    f32, f32, f32, [
        WarpsTf32 warp::product_warps_tf32, Threads thread::product_threads, ThreadsPacked thread::product_threads,
        ThreadsSmall thread::product_threads_small
    ], [
        LargeTf32 |t: Tensors<'c, _, _>| warp_group::product_large_tf32(t.a, t.b, t.c),
        StoredTf32 stored!(product_stored_32, f32, f32)
    ];
    f64, f64, f64, [
        WarpsF64 warp::product_warps_f64, WarpsF64Packed warp::product_warps_f64,
        WarpsF64Small warp::product_warps_f64_small
    ], [];
    i8, i32, i32, [Warps warp::product_warps_i8], [
        Stored stored!(product_stored_s8, i8, i32)
    ];
    e4m3, f16, f32, [], [
        Large |t: Tensors<'c, _, _>| warp_group::product_large_8::<e4m3, f16>(t.a, t.b, t.alpha, t.c),
        Fused fused!(e4m3, f16, product_fused_8 product_fused_8),
        Stored stored!(product_stored_8, e4m3, f16)
    ];
    e4m3, bf16, f32, [], [
        Large |t: Tensors<'c, _, _>| warp_group::product_large_8::<e4m3, bf16>(t.a, t.b, t.alpha, t.c),
        Fused fused!(e4m3, bf16, product_fused_8 product_fused_8),
        Stored stored!(product_stored_8, e4m3, bf16)
    ];
    e4m3, f32, f32, [], [Stored stored!(product_stored_8, e4m3, f32)];
    e5m2, f16, f32, [], [
        Large |t: Tensors<'c, _, _>| warp_group::product_large_8::<e5m2, f16>(t.a, t.b, t.alpha, t.c),
        Fused fused!(e5m2, f16, product_fused_8 product_fused_8),
        Stored stored!(product_stored_8, e5m2, f16)
    ];
    e5m2, bf16, f32, [], [
        Large |t: Tensors<'c, _, _>| warp_group::product_large_8::<e5m2, bf16>(t.a, t.b, t.alpha, t.c),
        Fused fused!(e5m2, bf16, product_fused_8 product_fused_8),
        Stored stored!(product_stored_8, e5m2, bf16)
    ];
    e5m2, f32, f32, [], [Stored stored!(product_stored_8, e5m2, f32)];
}

macro_rules! floats {
    ($($ty:ident: $($output:ident)*;)*) => {$($(
        impl Float<$output> for $ty {}
    )*)*};
}

floats! {
    f16: f16 f32;
    bf16: bf16 f32;
    f32: f32;
    f64: f64;
    e4m3: f16 bf16 f32;
    e5m2: f16 bf16 f32;
}
