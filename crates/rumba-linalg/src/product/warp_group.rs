//! By warp groups, with `wgmma` on tiles that tensor copies bring: compute capability 9.0.
//!
//! Each kernel is [`product`] with tiles of its own: which product wants which is in [`VARIANTS`].
//! Letters behind a name say how `a` and `b` lie, as BLAS writes it: `n` as it is multiplied, `a` with a row for each row of the
//! product and `b` with a row for each number that is summed over, `t` transposed. Numbers of other sizes than 16 bits are
//! multiplied as `nt` only. Sums of products of 8 bits may be scaled; [`fused`](super::fused) does more with them.

use cuda_std::half::{bf16, e4m3, e5m2, f16};
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Across, Element, Factor, Multicast, Swizzled, TensorMap, TensorOutput, TensorPipeline, TensorStaging, Tiling,
    product,
};

/// A kernel of this module: what a program that chooses among them has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The kernel's name, less the orders of its operands and its types.
    pub name: &'static str,
    /// Rows of a tile of the product.
    pub rows: u32,
    /// Columns of a tile.
    pub columns: u32,
    /// Bytes along the sum that a stage has of each row.
    pub depth: u32,
    /// Blocks of a cluster.
    pub cluster: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Whether `c` is written by tensor copies: its rows, too, begin at multiples of 16 bytes then. Those of `a` and `b` always do.
    pub copies: bool,
}

/// For many tiles.
pub const LARGE: Variant =
    Variant { name: "product_large", rows: 128, columns: 256, depth: 128, cluster: 2, threads: 384, copies: true };

/// For as many tiles of a quarter of the size as there are multiprocessors, or fewer.
pub const SMALL: Variant = Variant { name: "product_small", rows: 64, columns: 128, cluster: 1, threads: 256, ..LARGE };

/// As [`LARGE`], with ordinary stores and any epilogue: for rows of `c` that begin anywhere, and numbers that have not 16 bits. The kernels
/// are those of [`stored`](super::stored).
pub const STORED: Variant = Variant { name: "product_stored", copies: false, ..LARGE };

/// All of them.
pub const VARIANTS: [Variant; 3] = [LARGE, SMALL, STORED];

/// Columns of 16 bits that are summed over in a stage: rows of 128 bytes.
const DEPTH: usize = 64;

/// A tile with its rows along the sum.
type Along<T, const LENGTH: usize> = Swizzled<T, LENGTH, DEPTH>;
/// A tile with its rows across the sum.
type Beside<T, const LENGTH: usize> = Across<T, DEPTH, LENGTH>;

/// Kernels that write by tensor copies: the names, what is copied at once of `a` and `b`, and the tiles of a stage.
macro_rules! copied {
    ($($doc:literal $large:ident $small:ident: $a:ident $a_rows:literal $a_small:literal, $b:ident $b_rows:literal $b_small:literal;)*) => {$(
        #[doc = concat!("[`LARGE`]: ", $doc)]
        #[kernel(block = 384, min_blocks = 1, cluster = 2, arch = ["sm_90a"], T = [f16, bf16])]
        pub fn $large<T: Element>(
            a: TensorMap<Swizzled<T, $a_rows, DEPTH>>,
            b: TensorMap<Swizzled<T, $b_rows, DEPTH>>,
            c: TensorOutput<Swizzled<T, 16, 64>, Tiling<128, 256, 8, 2>>,
            stages: TensorPipeline<($a<T, 128>, Multicast<$b<T, 256>>), 4, 2, 2>,
            staging: TensorStaging<Swizzled<T, 16, 64>, 2>,
        ) {
            product((a, b), stages, (c, staging), |_, sum: f32| sum);
        }

        #[doc = concat!("[`SMALL`]: ", $doc)]
        #[kernel(block = 256, min_blocks = 1, arch = ["sm_90a"], T = [f16, bf16])]
        pub fn $small<T: Element>(
            a: TensorMap<Swizzled<T, $a_small, DEPTH>>,
            b: TensorMap<Swizzled<T, $b_small, DEPTH>>,
            c: TensorOutput<Swizzled<T, 16, 64>, Tiling<64, 128, 16>>,
            stages: TensorPipeline<($a<T, 64>, $b<T, 128>), 8, 1>,
            staging: TensorStaging<Swizzled<T, 16, 64>, 1>,
        ) {
            product((a, b), stages, (c, staging), |_, sum: f32| sum);
        }
    )*};
}

copied! {
    "`c = a b`." product_large_nn product_small_nn: Along 128 64, Beside 64 64;
    "`c = a bᵀ`." product_large_nt product_small_nt: Along 128 64, Along 128 128;
    "`c = aᵀ b`." product_large_tn product_small_tn: Beside 64 64, Beside 64 64;
    "`c = aᵀ bᵀ`." product_large_tt product_small_tt: Beside 64 64, Along 128 128;
}

/// [`LARGE`]: `c = a bᵀ` of tf32, the upper 19 bits of `f32`.
#[kernel(block = 384, min_blocks = 1, cluster = 2, arch = ["sm_90a"])]
pub fn product_large_tf32(
    a: TensorMap<Swizzled<f32, 128, 32>>,
    b: TensorMap<Swizzled<f32, 128, 32>>,
    c: TensorOutput<Swizzled<f32, 16, 32>, Tiling<128, 256, 8, 2>>,
    stages: TensorPipeline<(Swizzled<f32, 128, 32>, Multicast<Swizzled<f32, 256, 32>>), 4, 2, 2>,
    staging: TensorStaging<Swizzled<f32, 16, 32>, 2>,
) {
    product((a, b), stages, (c, staging), |_, sum: f32| sum);
}

/// [`LARGE`]: `c = alpha a bᵀ` of numbers with 8 bits.
#[kernel(
    block = 384, min_blocks = 1, cluster = 2, arch = ["sm_90a"],
    (T, U) = [(e4m3, f16), (e4m3, bf16), (e5m2, f16), (e5m2, bf16)]
)]
pub fn product_large_8<T: Factor<Sum = f32>, U: Element>(
    a: TensorMap<Swizzled<T, 128, 128>>,
    b: TensorMap<Swizzled<T, 128, 128>>,
    alpha: f32,
    c: TensorOutput<Swizzled<U, 16, 64>, Tiling<128, 256, 8, 2>>,
    stages: TensorPipeline<(Swizzled<T, 128, 128>, Multicast<Swizzled<T, 256, 128>>), 4, 2, 2>,
    staging: TensorStaging<Swizzled<U, 16, 64>, 2>,
) {
    product((a, b), stages, (c, staging), |_, sum: f32| sum * alpha);
}
