//! Norms and softmax.

use crate::elementwise::activated;
use crate::{BrainVector, HalfVector, Lanes, Real, SingleVector, both};
use cuda_std::half::{bf16, f16};
use cuda_std::prelude::*;

/// Groups of a part of an image's channels at most: see [`Groups`].
pub const MOST_GROUPS: usize = 8;

/// How the threads of [`group_moments`] share an image out, which has `pixels` by `columns` numbers or vectors.
///
/// A warp has a chunk of the pixels, and of each of them a part of the columns, at most 32: so many that the part has whole groups, or a group whole
/// parts. A lane stays in its column.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Groups {
    /// Pixels of an image.
    pub pixels: u32,
    /// Numbers or vectors of a pixel.
    pub columns: u32,
    /// Those of a part.
    pub part: u32,
    /// Groups in a part, at most [`MOST_GROUPS`], or 1 if a group has several parts.
    pub groups: u32,
    /// Channels that a part has of each of its groups.
    pub channels: u32,
    /// Pixels of a chunk.
    pub length: u32,
    /// Chunks of an image: none is empty.
    pub chunks: u32,
}

impl Groups {
    /// How many pixels a chunk has.
    #[inline(always)]
    fn length_of(&self, chunk: u32) -> u32 {
        let left = self.pixels - chunk * self.length;
        if left < self.length { left } else { self.length }
    }
}

/// Mean, and sum of the squares of the differences from it, of what chunks of images have of groups.
///
/// `x` is `[images, pixels, columns]`. `offsets` is empty, or has numbers for each image, `[images, columns]`, that are added to each of its
/// pixels. `moments` has a row for each chunk of each part of each image, with an element for each group of the part. Launch it in one
/// dimension, with blocks of whole warps; a grid with fewer warps than rows goes around several times.
///
/// Lanes sum differences from the first number that they see of a channel: so no digits are lost where the mean is large (Chan, Golub, LeVeque,
/// "Algorithms for Computing the Sample Variance", 1983, whose formula also joins what lanes have).
#[kernel(T = [f32, f16, bf16, SingleVector, HalfVector, BrainVector])]
pub fn group_moments<T: Lanes>(x: &[T], offsets: &[T], shape: Groups, mut moments: Disjoint<[f32; 2], Rows<ByWarp>>) {
    let Groups { pixels, columns, part, .. } = shape;
    let lane = warp::lane_id();
    let part = part.clamp(1, warp::WARP_SIZE);
    // Pixels that a warp sees at a time, and which of them and which column the lane has.
    let together = warp::WARP_SIZE / part;
    let (pixel, own) = (lane / part, lane % part);
    moments.each_row(|row, mut moments| {
        let chunk = row as u32 % shape.chunks;
        let parts = columns / part;
        let (image, column) = (row as u32 / shape.chunks / parts, row as u32 / shape.chunks % parts * part + own);
        let offset = match offsets.get((image * columns + column) as usize) {
            Some(offset) => offset.floats(),
            None => T::Floats::default(),
        };
        let length = shape.length_of(chunk);
        let place = |pixel: u32| {
            (image as usize * pixels as usize + (chunk * shape.length + pixel) as usize) * columns as usize
        };
        let (mut count, mut first) = (0.0, T::Floats::default());
        let (mut sums, mut squares) = (T::Floats::default(), T::Floats::default());
        let mut at = pixel;
        while at < length && pixel < together {
            let x = both(x[place(at) + column as usize].floats(), offset, |x, offset| x + offset);
            if at == pixel {
                first = x;
            }
            let difference = both(x, first, |x, first| x - first);
            sums = both(sums, difference, |sum, difference| sum + difference);
            squares = both(squares, difference, |sum, x| GpuFloat::mul_add(x, x, sum));
            count += 1.0;
            at += together;
        }
        // Of each of the lane's channels.
        let scale = if count > 0.0 { 1.0 / count } else { 0.0 };
        let means = both(first, sums, |first, sum| GpuFloat::mul_add(sum, scale, first));
        let squares = both(squares, sums, |squares, sum| squares - sum * sum * scale);
        let mut result = [0.0; 2];
        for group in 0..shape.groups {
            let is_of = |j: usize| (own * T::COUNT as u32 + j as u32) / shape.channels == group;
            let mean = warp::reduce_sum(sum_where(is_of, means, means, |mean, _| count * mean));
            let mean = mean / (length * shape.channels) as f32;
            let join = |own: f32, squares| GpuFloat::mul_add(count * (own - mean), own - mean, squares);
            let squares = warp::reduce_sum(sum_where(is_of, means, squares, join));
            if group == lane {
                result = [mean, squares];
            }
        }
        moments.store_with::<1>(|_, _| result);
    });
}

/// The sum of a function of the pairs of two vectors, of those places that are asked for.
#[inline(always)]
fn sum_where<F: AsRef<[f32]>>(is_asked: impl Fn(usize) -> bool, x: F, y: F, value: impl Fn(f32, f32) -> f32) -> f32 {
    let mut sum = 0.0;
    for (j, (x, y)) in x.as_ref().iter().zip(y.as_ref()).enumerate() {
        if is_asked(j) {
            sum += value(*x, *y);
        }
    }
    sum
}

/// The sum over what the lanes of a warp have, `count` values one after the other in turns.
#[inline(always)]
fn sum_over(count: usize, value: impl Fn(usize) -> f32) -> f32 {
    let mut sum = 0.0;
    let mut i = warp::lane_id() as usize;
    while i < count {
        sum += value(i);
        i += warp::WARP_SIZE as usize;
    }
    warp::reduce_sum(sum)
}

/// What a group norm multiplies each channel of each image by, and what it adds then (Wu, He 2018), from the [`group_moments`] of its images.
///
/// `scale` and `shift` have a number for each channel, and `offsets` one for each channel of each image, or none. `factors` has a row for
/// each group of each image, with an element for each channel of the group. Launch it as [`group_moments`].
#[kernel(T = [f32, f16, bf16])]
pub fn group_factors<T: Real>(
    moments: &[[f32; 2]],
    shape: Groups,
    scale: &[T],
    shift: &[T],
    offsets: &[T],
    epsilon: f32,
    mut factors: Disjoint<[f32; 2], Rows<ByWarp>>,
) {
    let channels = factors.columns();
    let groups = scale.len() / channels.max(1);
    factors.each_row(|row, mut factors| {
        let (image, group) = (row / groups.max(1), row % groups.max(1));
        // Its parts lie one behind the other: several, or a share of one.
        let (parts, place) =
            if shape.groups > 1 { (1, group % shape.groups as usize) } else { (channels / shape.channels as usize, 0) };
        let chunks = shape.chunks as usize;
        let of_part = (shape.groups * shape.channels) as usize;
        let first = image * (groups * channels / of_part) + group * channels / of_part;
        let moment = |i: usize| moments[(first * chunks + i) * shape.groups as usize + place];
        let count_of = |i: usize| (shape.length_of((i % chunks) as u32) * shape.channels) as f32;
        let count = (shape.pixels as usize * channels) as f32;
        let mean = sum_over(parts * chunks, |i| count_of(i) * moment(i)[0]) / count;
        let squares = sum_over(parts * chunks, |i| {
            let [own, squares] = moment(i);
            GpuFloat::mul_add(count_of(i) * (own - mean), own - mean, squares)
        });
        let inverse = GpuFloat::rsqrt(squares / count + epsilon);
        factors.each(|channel, own| {
            let channel = group * channels + channel;
            let offset = offsets.get(image * scale.len() + channel).map_or(0.0, |offset| offset.number());
            let factor = inverse * scale[channel].number();
            *own = [factor, GpuFloat::mul_add(offset - mean, factor, shift[channel].number())];
        });
    });
}

/// `function(factor x + addend)`: the second step of a group norm, after [`group_factors`].
///
/// `x` is contiguous with the shape of `y`, `[images, pixels, columns]`, and `factors` has the shape `[images,
/// channels]`. If a launch has a thread along x for each column and along z for each image, each thread stays in its
/// column.
#[kernel(T = [f32, f16, bf16, SingleVector, HalfVector, BrainVector])]
pub fn normalise<T: Lanes>(x: &[T], factors: &[[f32; 2]], function: u32, mut y: Disjoint<T, Array<3>>) {
    let [_, pixels, columns] = y.shape();
    let mut known = usize::MAX;
    let (mut factor, mut addend) = (T::Floats::default(), T::Floats::default());
    y.each(|[image, pixel, column], y| {
        let own = image * columns + column;
        if own != known {
            known = own;
            let pairs = factor.as_mut().iter_mut().zip(addend.as_mut());
            for (pair, (factor, addend)) in factors[own * T::COUNT..][..T::COUNT].iter().zip(pairs) {
                [*factor, *addend] = *pair;
            }
        }
        let mut values = x[(image * pixels + pixel) * columns + column].floats();
        let factors = factor.as_ref().iter().zip(addend.as_ref());
        for (value, (factor, addend)) in values.as_mut().iter_mut().zip(factors) {
            *value = activated(GpuFloat::mul_add(*value, *factor, *addend), function);
        }
        *y = T::rounded(values);
    });
}

/// In each row, `y[i] = (x[i] - mean) / sqrt(variance + epsilon) * scale[i] + shift[i]`: Ba, Kiros, Hinton 2016.
///
/// `x` has the elements of `y` one after the other, `scale` and `shift` those of a row. Launch it in one dimension, with blocks of
/// whole warps; a grid with fewer warps than rows goes around several times.
#[kernel(T = [f32, f16, bf16, SingleVector, HalfVector, BrainVector])]
pub fn layer_norm<T: Lanes>(x: &[T], scale: &[T], shift: &[T], epsilon: f32, mut y: Disjoint<T, Rows<ByWarp>>) {
    let columns = y.columns();
    let count = (columns * T::COUNT) as f32;
    let (scale, shift) = (&scale[..columns], &shift[..columns]);
    y.each_row(|row, mut y| {
        let x = &x[row * columns..][..columns];
        let mean = sum_over(columns, |i| x[i].floats().as_ref().iter().sum()) / count;
        let squares = |i: usize| x[i].floats().as_ref().iter().map(|x| (x - mean) * (x - mean)).sum();
        let inverse = GpuFloat::rsqrt(sum_over(columns, squares) / count + epsilon);
        y.each(|i, y| {
            let scaled = both(x[i].floats(), scale[i].floats(), |x, scale| (x - mean) * inverse * scale);
            *y = T::rounded(both(scaled, shift[i].floats(), |x, shift| x + shift));
        });
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
        let mut largest = f32::NEG_INFINITY;
        let mut i = warp::lane_id() as usize;
        while i < visible {
            largest = GpuFloat::max(largest, x[i]);
            i += warp::WARP_SIZE as usize;
        }
        let largest = warp::reduce(largest, GpuFloat::max);
        let scale = 1.0 / sum_over(visible, |i| GpuFloat::exp(x[i] - largest));
        y.each(|i, y| {
            *y = if i < visible { GpuFloat::exp(x[i] - largest) * scale } else { 0.0 };
        });
    });
}
