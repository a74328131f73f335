//! Norms and softmax.

use crate::Real;
use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;

/// Threads of a block of [`group_factors`].
pub const BLOCK: usize = 256;

/// What a group norm multiplies each channel of each image by, and what it adds then: Wu, He 2018.
///
/// `x` is `[images, groups, pixels, channels of a group]`, with any strides. `scale` and `shift` have a number for each channel.
/// `factors` has a row for each group of each image, with an element for each channel of the group. Launch it with a block for each row.
///
/// The variance is that of what is left after the mean is known, which loses no digits.
#[kernel(block = BLOCK, T = [f32, f16, bf16])]
pub fn group_factors<T: Real>(
    x: View<T, 4>,
    scale: &[T],
    shift: &[T],
    epsilon: f32,
    mut factors: Disjoint<[f32; 2], Rows>,
    mut warps: Shared<PerWarp<f32>>,
) {
    let [_, groups, pixels, channels] = x.shape();
    let row = thread::block_idx_x() as usize;
    let (image, group) = (row / groups.max(1), row % groups.max(1));
    let (count, channels) = ((pixels * channels) as u32, channels as u32);
    let own = |mean: f32, power: fn(f32) -> f32| {
        let mut sum = 0.0;
        let mut i = thread::thread_idx_x();
        while i < count {
            let (pixel, channel) = (i / channels, i % channels);
            if let Some(x) = x.get([image, group, pixel as usize, channel as usize]) {
                sum += power(x.number() - mean);
            }
            i += BLOCK as u32;
        }
        warp::reduce_sum(sum)
    };
    let own_sum = own(0.0, |x| x);
    if let Some(sum) = warps.own() {
        *sum = own_sum;
    }
    let sums = warps.sync();
    let mean = total(sums.get()) / count as f32;
    warps = sums.sync();
    let own_squares = own(mean, |x| x * x);
    if let Some(sum) = warps.own() {
        *sum = own_squares;
    }
    let squares = warps.sync();
    let inverse = GpuFloat::rsqrt(total(squares.get()) / count as f32 + epsilon);
    factors.each_row(|row, mut factors| {
        let first = row % groups.max(1) * channels as usize;
        factors.each(|channel, own| {
            let factor = inverse * scale[first + channel].number();
            *own = [factor, shift[first + channel].number() - mean * factor];
        });
    });
}

/// The sum of what the warps of a block of [`BLOCK`] threads have.
#[inline(always)]
fn total(warps: &[f32; 32]) -> f32 {
    warps[..BLOCK / 32].iter().sum()
}

/// In each row, `y[i] = (x[i] - mean) / sqrt(variance + epsilon) * scale[i] + shift[i]`: Ba, Kiros, Hinton 2016.
///
/// `x` has the elements of `y` one after the other, `scale` and `shift` those of a row. Launch it in one dimension, with blocks of
/// whole warps; a grid with fewer warps than rows goes around several times.
#[kernel(T = [f32, f16, bf16])]
pub fn layer_norm<T: Real>(x: &[T], scale: &[T], shift: &[T], epsilon: f32, mut y: Disjoint<T, Rows<ByWarp>>) {
    let columns = y.columns();
    let (scale, shift) = (&scale[..columns], &shift[..columns]);
    y.each_row(|row, mut y| {
        let x = &x[row * columns..][..columns];
        let own = |mean: f32, power: fn(f32) -> f32| {
            let mut sum = 0.0;
            let mut i = warp::lane_id() as usize;
            while i < columns {
                sum += power(x[i].number() - mean);
                i += warp::WARP_SIZE as usize;
            }
            warp::reduce_sum(sum) / columns as f32
        };
        let mean = own(0.0, |x| x);
        let inverse = GpuFloat::rsqrt(own(mean, |x| x * x) + epsilon);
        y.each(|i, y| *y = T::of((x[i].number() - mean) * inverse * scale[i].number() + shift[i].number()));
    });
}

/// In each row, `y[i] = exp(x[i]) / sum of exp(x[k])`, over the columns that the row sees; the others become 0.
///
/// Rows come in matrices of so many. In each, row `i` sees columns 0 to `i + first`, which may be none. `x` has the elements of `y` one after the other.
/// Launch it as [`layer_norm`].
#[kernel]
pub fn softmax(x: &[f32], rows: u32, first: i32, mut y: Disjoint<f32, Rows<ByWarp>>) {
    let columns = y.columns();
    y.each_row(|row, mut y| {
        let x = &x[row * columns..][..columns];
        let last = (row % (rows as usize).max(1)) as i32 + first;
        let visible = columns.min((last + 1).max(0) as usize);
        let lane = warp::lane_id() as usize;
        let mut largest = f32::NEG_INFINITY;
        let mut i = lane;
        while i < visible {
            largest = GpuFloat::max(largest, x[i]);
            i += warp::WARP_SIZE as usize;
        }
        let largest = warp::reduce(largest, GpuFloat::max);
        let mut sum = 0.0;
        let mut i = lane;
        while i < visible {
            sum += GpuFloat::exp(x[i] - largest);
            i += warp::WARP_SIZE as usize;
        }
        let scale = 1.0 / warp::reduce_sum(sum);
        y.each(|i, y| {
            *y = if i < visible {
                GpuFloat::exp(x[i] - largest) * scale
            } else {
                0.0
            };
        });
    });
}
