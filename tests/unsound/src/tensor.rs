//! Tiles and results of products by warp groups that the instructions do not allow: columns that are no multiple of 16 bytes, elements of
//! which four are no vector.

use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::{
    Im2colMap, MatrixOutput, ResidentPipeline, Swizzled, TensorMap, TensorMap4, TensorPipeline, TensorStaging, Tiling,
    product_in_fours,
};

type Half = Swizzled<f16, 64, 64>;
type Whole = Swizzled<f16, 128, 64>;

macro_rules! fours {
    ($($name:ident: $ty:ty, |$sum:ident| $value:expr;)*) => {$(
        /// Results of these bytes, four at a time.
        #[kernel(block = 384, min_blocks = 1, arch = "sm_90a")]
        pub fn $name(
            a: TensorMap<Whole>,
            b: TensorMap<Whole>,
            c: MatrixOutput<$ty, Tiling<128, 128>>,
            stages: TensorPipeline<(Whole, Whole), 4, 2>,
            staging: TensorStaging<Swizzled<f32, 16, 32>, 2>,
        ) {
            product_in_fours((a, b), stages, (c, staging), true, |_| (), |sums: [f32; 4], old, ()| {
                core::array::from_fn(|i| {
                    let ($sum, _) = (sums[i], old[i]);
                    $value
                })
            });
        }
    )*};
}

fours! {
    fours_of_bytes: u8, |sum| sum as u8;
    fours_of_three_bytes: [u8; 3], |sum| [sum as u8, 1, 2];
    fours_of_floats: f32, |sum| sum;
    fours_of_six_bytes: [u16; 3], |sum| [sum as u16, 1, 2];
    fours_of_doubles: f64, |sum| f64::from(sum);
    fours_of_sixteen_bytes: [u32; 4], |sum| [sum as u32, 1, 2, 3];
}

/// Copies a tile from a row and a column that the host chooses.
#[kernel(block = 256, min_blocks = 1, arch = "sm_90a")]
pub fn tile_from_a_column(a: TensorMap<Half>, row: u32, column: u32, stages: TensorPipeline<(Half, Half), 2, 1>) {
    stages.roles::<40, 216>(
        |producer| producer.acquire().fill(a.at([row, column]), a.at_batch(row, [0, 0])),
        |consumer| drop(consumer.wait()),
    );
}

/// Copies what a tap sees from a channel that the host chooses.
#[kernel(block = 256, min_blocks = 1, arch = "sm_90a")]
pub fn tile_from_a_channel(
    images: Im2colMap<Half>,
    a: TensorMap<Half>,
    row: u32,
    tap: u32,
    channel: u32,
    stages: TensorPipeline<(Half, Half), 2, 1>,
) {
    stages.roles::<56, 216>(
        |producer| {
            let source = images.at(row).tap([tap, tap], channel);
            producer.acquire().fill(source, a.at([0, 0]));
        },
        |consumer| drop(consumer.wait()),
    );
}

/// The same of an array of matrices.
#[kernel(block = 256, min_blocks = 1, arch = "sm_90a")]
pub fn tile_of_a_stack(
    a: TensorMap4<Half>,
    place: u32,
    column: u32,
    stages: ResidentPipeline<[Half; 1], [Half; 1], 1, 2, 1>,
) {
    stages.roles::<40, 216>(
        |resident, stages| {
            resident.acquire().fill(a.at([place, place, place]).column(column));
            stages.acquire().fill(a.at([0, 0, 0]));
        },
        |resident, stages, _| {
            drop(resident.wait());
            drop(stages.wait());
        },
    );
}

/// Attacks by these kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use bytemuck::Pod;
    use cuda_std::half::f16;
    use cuda_std::launch::Call;
    use cuda_std::tensor::Window;
    use rumba::array::Array;
    use rumba::{DeviceBuffer, Error, Result};

    use crate::Target;

    const SIXTEEN: &str = "a tile that is copied begins at a multiple of 16 bytes in its row";

    /// Launches, and expects a panic, or none.
    fn ends(target: &Target, call: Call<'_>, is_right: bool) {
        let launched = target.module.launch((1, 256), call);
        match launched.and_then(|()| target.device.synchronize()) {
            Ok(()) if is_right => {}
            Err(Error::Panic(panic)) if !is_right && panic.message.contains(SIXTEEN) => {}
            other => panic!("{other:?}"),
        }
    }

    /// Writes products with elements of any size, into buffers that begin anywhere.
    fn written<T: Pod + cuda_std::Element + PartialEq + std::fmt::Debug>(
        target: &Target,
        kernel: impl for<'a> Fn(&'a DeviceBuffer<f16>, &'a mut DeviceBuffer<T>) -> Call<'a>,
        value: T,
    ) -> Result<()> {
        let a = target.device.buffer_from(&vec![f16::ONE; 128 * 64])?;
        let mut others = Vec::new();
        for number in 0..3 {
            let mut c = target.device.zeros::<T>(128 * 128)?;
            target.module.launch((1, 384), kernel(&a, &mut c))?;
            let c_now = c.to_vec()?;
            assert!(c_now.iter().all(|element| *element == value), "{:?}", &c_now[..8]);
            others.push((c, target.device.zeros::<u8>(256 * (7 * number + 1))?));
        }
        Ok(())
    }

    /// All results are written, and by stores that are aligned as their elements.
    pub fn results_of_any_size(target: &Target) -> Result<()> {
        const SHAPE: [usize; 2] = [128, 64];
        const TILE: [usize; 2] = [128, 128];
        written(target, |a, c| super::fours_of_bytes((a, SHAPE), (a, SHAPE), (c, TILE)), 64_u8)?;
        written(target, |a, c| super::fours_of_three_bytes((a, SHAPE), (a, SHAPE), (c, TILE)), [64_u8, 1, 2])?;
        written(target, |a, c| super::fours_of_floats((a, SHAPE), (a, SHAPE), (c, TILE)), 64_f32)?;
        written(target, |a, c| super::fours_of_six_bytes((a, SHAPE), (a, SHAPE), (c, TILE)), [64_u16, 1, 2])?;
        written(target, |a, c| super::fours_of_doubles((a, SHAPE), (a, SHAPE), (c, TILE)), 64_f64)?;
        written(target, |a, c| super::fours_of_sixteen_bytes((a, SHAPE), (a, SHAPE), (c, TILE)), [64_u32, 1, 2, 3])
    }

    /// A tile begins at any row, and at any column that copies can begin at.
    pub fn tile_from_any_column(target: &Target) -> Result<()> {
        let a = target.device.buffer_from(&vec![f16::ONE; 128 * 128])?;
        for (row, column, is_right) in [
            (0, 1, false),
            (0, 0, true),
            (5, 4, false),
            (3, 64, true),
            (0, u32::MAX, false),
            (200, 200, true),
            (u32::MAX, 0, true),
            (1 << 31, 1 << 31, true),
            (0, u32::MAX - 7, true),
        ] {
            ends(target, super::tile_from_a_column((&a, [128, 128]), row, column), is_right);
        }
        Ok(())
    }

    /// So does what a tap of a filter sees.
    pub fn tile_from_any_channel(target: &Target) -> Result<()> {
        let a = target.device.buffer_from(&vec![f16::ONE; 8 * 8 * 64])?;
        let window = Window { images: [1, 8, 8, 64], taps: [3, 3], stride: [1, 1], padding: [1, 1] };
        for (row, tap, channel, is_right) in [
            (0, 0, 1, false),
            (0, 0, 0, true),
            (63, 2, 60, false),
            (63, 2, 56, true),
            (5000, 255, 8, true),
            (0, 300, u32::MAX - 7, true),
        ] {
            let call = super::tile_from_a_channel((&a, window), (&a, [64, 64]), row, tap, channel);
            ends(target, call, is_right);
        }
        Ok(())
    }

    /// And a tile of an array of matrices.
    pub fn tile_of_any_matrix(target: &Target) -> Result<()> {
        let a = Array::full(&target.device, [2, 2, 64, 128], f16::ONE)?;
        for (place, column, is_right) in
            [(0, 9, false), (1, 8, true), (7, 0, true), (u32::MAX, 64, true), (0, u32::MAX, false)]
        {
            ends(target, super::tile_of_a_stack(a.view(), place, column), is_right);
        }
        Ok(())
    }
}
