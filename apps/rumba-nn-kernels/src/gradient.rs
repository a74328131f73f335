//! The kernels of training beside products: layers that inference does not use, gradients, and the step of an
//! optimizer.
//!
//! Indices are `u32`, since a division of `usize` takes many instructions: tensors have fewer than 2³² elements.

use crate::{Lanes, SingleVector};
use cuda_std::prelude::*;
use cuda_std::symmetric::Symmetric;

/// Places of a filter of 3 by 3.
pub const PLACES: usize = 9;

/// The winner of a window whose results are all zero.
const NONE: u8 = 4;

/// The images of a launch: rows and columns, which are even, and channels of each.
type Shape = [u32; 3];

/// Four pixels of an image, two rows of two, of which pooling takes the largest.
#[derive(Clone, Copy)]
struct Window {
    image: u32,
    row: u32,
    column: u32,
}

impl Window {
    /// The window of a number, in the order of the pooled images.
    #[inline(always)]
    fn new(number: u32, [rows, columns, _]: Shape) -> Window {
        let (across, down) = (columns / 2, rows / 2);
        let line = number / across;
        Window { image: line / down, row: line % down, column: number % across }
    }

    /// The number of the pixel `down` and `across` from the window's first pixel, less one row and one column, if it is in the image.
    #[inline(always)]
    fn pixel(self, down: u32, across: u32, [rows, columns, _]: Shape) -> Option<u32> {
        // Counted from 1: no number is negative.
        let (row, column) = (2 * self.row + down, 2 * self.column + across);
        let is_inside = row >= 1 && row <= rows && column >= 1 && column <= columns;
        is_inside.then(|| (self.image * rows + row - 1) * columns + column - 1)
    }
}

/// A convolution with filters of 3 by 3 with zeros beyond the edges, then the larger of each result and zero, then the
/// largest of each window of two by two pixels.
///
/// `x` are images `[images, rows, columns, channels]` of an even number of rows and columns, as numbers or as vectors of
/// channels; `shape` counts numbers. `weights` is `[9, channels, outputs]`. `winners` receives the pixel of each window
/// that is the largest, from 0 to 3, or 4 if all are zero.
///
/// Launch it with a thread for each element of `y`.
#[kernel(T = [f32, SingleVector])]
pub fn convolve<T: Lanes>(
    x: &[T],
    shape: Shape,
    weights: &[f32],
    biases: &[f32],
    mut y: DisjointSlice<f32>,
    mut winners: DisjointSlice<u8>,
) {
    let i = grid::<1>();
    if let (Some(y), Some(winner)) = (y.get_mut(i), winners.get_mut(i)) {
        let (i, channels, outputs) = (i.get() as u32, shape[2], biases.len() as u32);
        let (output, vectors) = (i % outputs, channels / T::COUNT as u32);
        let window = Window::new(i / outputs, shape);
        // The neighbourhood of the window: the first vector of each pixel, or a number beyond the end.
        let around: [[u32; 4]; 4] = core::array::from_fn(|down| {
            core::array::from_fn(|across| {
                window.pixel(down as u32, across as u32, shape).map_or(u32::MAX, |pixel| pixel * vectors)
            })
        });
        let mut sums = [biases[output as usize]; 4];
        for vector in 0..vectors {
            // All loads first, which then take place at the same time.
            let own = around.map(|row| {
                row.map(|first| {
                    x.get(first.saturating_add(vector) as usize).map_or(T::Floats::default(), |x| x.floats())
                })
            });
            for lane in 0..T::COUNT {
                let first = (vector * T::COUNT as u32 + lane as u32) * outputs + output;
                let weights: [f32; PLACES] =
                    core::array::from_fn(|place| weights[(first + place as u32 * channels * outputs) as usize]);
                for (position, sum) in sums.iter_mut().enumerate() {
                    for (place, weight) in weights.iter().enumerate() {
                        let x = own[position / 2 + place / 3][position % 2 + place % 3].as_ref()[lane];
                        *sum = GpuFloat::mul_add(x, *weight, *sum);
                    }
                }
            }
        }
        let (mut best, mut largest) = (NONE, 0.0);
        for (position, sum) in sums.into_iter().enumerate() {
            if sum > largest {
                (best, largest) = (position as u8, sum);
            }
        }
        (*y, *winner) = (largest, best);
    }
}

/// Windows that a thread of [`filter_gradient`] loads at a time.
const AT_A_TIME: usize = 4;

/// The gradient of the filters of [`convolve`] and of their biases, in parts: each part sums over `lines` lines of windows. The
/// parts give the launch enough threads although the weights are few.
///
/// `dy` is the gradient of the result. `parts` is `[9, channels + 1, outputs]` for each part; the gradient of the biases lies behind the
/// channels of the first place. Launch it with a thread for each output along x, each channel and one more along y, and each part
/// along z.
#[kernel]
pub fn filter_gradient(
    x: &[f32],
    shape: Shape,
    dy: &[f32],
    winners: &[u8],
    lines: u32,
    mut parts: Disjoint<f32, Layers<PLACES>>,
) {
    let [_, rows, outputs] = parts.shape();
    let [output, channel, part] = grid::<3>().to_array();
    let (outputs, channels) = (outputs as u32, rows as u32 - 1);
    let (down, across) = (shape[0] / 2, shape[1] / 2);
    let all = dy.len() as u32 / (outputs * across).max(1);
    let Some(mut own) = parts.own() else { return };
    let mut sums = [0.0; PLACES];
    for line in part * lines..all.min((part + 1) * lines) {
        let (image, row) = (line / down, line % down);
        let mut first = 0;
        while first < across {
            let loaded: [(f32, u32); AT_A_TIME] = core::array::from_fn(|k| {
                let column = first + k as u32;
                let at = ((line * across + column) * outputs + output) as usize;
                let is_inside = column < across;
                let (dy, winner) = (dy.get(at).copied(), winners.get(at).copied());
                match (dy, winner) {
                    (Some(dy), Some(winner)) if is_inside && winner != NONE => (dy, u32::from(winner)),
                    _ => (0.0, 0),
                }
            });
            if channel == channels {
                // The input of a bias is one.
                sums[0] += loaded.iter().map(|(dy, _)| dy).sum::<f32>();
            } else {
                let around: [[f32; PLACES]; AT_A_TIME] = core::array::from_fn(|k| {
                    let window = Window { image, row, column: first + k as u32 };
                    core::array::from_fn(|place| {
                        let [down, across] = [loaded[k].1 / 2 + place as u32 / 3, loaded[k].1 % 2 + place as u32 % 3];
                        let pixel = window.pixel(down, across, shape);
                        pixel.and_then(|pixel| x.get((pixel * channels + channel) as usize)).copied().unwrap_or(0.0)
                    })
                });
                for (around, (dy, _)) in around.into_iter().zip(loaded) {
                    for (sum, x) in sums.iter_mut().zip(around) {
                        *sum = GpuFloat::mul_add(x, dy, *sum);
                    }
                }
            }
            first += AT_A_TIME as u32;
        }
    }
    let mut sums = sums.into_iter();
    own.each(|_, part| *part = sums.next().unwrap_or(0.0));
}

/// The gradient of the images of [`convolve`] by the gradient of the result, `dy`.
///
/// Launch it with a thread for each element of `dx`.
#[kernel]
pub fn convolve_gradient(dy: &[f32], winners: &[u8], weights: &[f32], shape: Shape, mut dx: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(dx) = dx.get_mut(i) {
        let [rows, columns, channels] = shape;
        let (i, outputs) = (i.get() as u32, weights.len() as u32 / (PLACES as u32 * channels));
        let (pixel, channel) = (i / channels, i % channels);
        let line = pixel / columns;
        let (image, row, column) = (line / rows, line % rows, pixel % columns);
        let (down, across) = (rows / 2, columns / 2);
        // The nine pixels around this one lie in four windows. Rows and columns of windows are counted from 1, and the first of both may
        // be beyond the edge.
        let corners: [_; 4] = core::array::from_fn(|corner| {
            let (below, right) = (row.div_ceil(2) + corner as u32 / 2, column.div_ceil(2) + corner as u32 % 2);
            let is_inside = below >= 1 && below <= down && right >= 1 && right <= across;
            let window = is_inside.then(|| (image * down + below - 1) * across + right - 1);
            // The place of this pixel in the filter at the window's first pixel.
            (window, [(row + 3).wrapping_sub(2 * below), (column + 3).wrapping_sub(2 * right)])
        });
        let mut sum = 0.0;
        for output in 0..outputs {
            let loaded = corners.map(|(window, _)| {
                let at = window.map(|window| (window * outputs + output) as usize);
                at.and_then(|at| Some((*dy.get(at)?, *winners.get(at)?))).unwrap_or((0.0, NONE))
            });
            let weights: [f32; 4] = core::array::from_fn(|corner| {
                let (winner, first) = (u32::from(loaded[corner].1), corners[corner].1);
                let (down, across) = (first[0].wrapping_sub(winner / 2), first[1].wrapping_sub(winner % 2));
                let at = (((3 * down + across) * channels + channel) * outputs + output) as usize;
                let is_inside = winner != u32::from(NONE) && down < 3 && across < 3;
                if is_inside { weights.get(at).copied().unwrap_or(0.0) } else { 0.0 }
            });
            for ((dy, _), weight) in loaded.into_iter().zip(weights) {
                sum = GpuFloat::mul_add(dy, weight, sum);
            }
        }
        *dx = sum;
    }
}

/// The sum of products of `count` pairs, which are loaded eight at a time.
#[inline(always)]
fn sum_of_products(count: u32, pair: impl Fn(u32) -> (f32, f32)) -> f32 {
    let (mut sum, mut i) = (0.0, 0);
    while i < count {
        let pairs: [(f32, f32); 8] =
            core::array::from_fn(|k| if i + (k as u32) < count { pair(i + k as u32) } else { (0.0, 0.0) });
        for (x, y) in pairs {
            sum = GpuFloat::mul_add(x, y, sum);
        }
        i += 8;
    }
    sum
}

/// `x Wᵀ + b` of rows of `x`, where there are few outputs: `weights` has a row for each of them.
///
/// `y` has rows of one element, for each row of `x` an element for each output. Launch it in one dimension, with blocks of whole warps; a grid
/// with fewer blocks than rows goes around several times.
#[kernel]
pub fn linear(x: &[f32], weights: &[f32], biases: &[f32], mut y: Disjoint<f32, Rows>, mut block: BlockScratch<f32>) {
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let outputs = biases.len() as u32;
    let inputs = weights.len() as u32 / outputs.max(1);
    for (i, mut y) in y.rows_mut() {
        let (row, output) = (i as u32 / outputs, i as u32 % outputs);
        let count = inputs.saturating_sub(thread).div_ceil(threads);
        let sum = sum_of_products(count, |i| {
            let input = thread + i * threads;
            (x[(row * inputs + input) as usize], weights[(output * inputs + input) as usize])
        });
        let sum = block.reduce_sum(sum) + biases[output as usize];
        y.each(|_, y| *y = sum);
    }
}

/// The gradient of the inputs of [`linear`]: `dy W`.
///
/// Launch it with a thread for each element of `dx`.
#[kernel]
pub fn linear_gradient(dy: &[f32], weights: &[f32], outputs: u32, mut dx: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(dx) = dx.get_mut(i) {
        let inputs = weights.len() as u32 / outputs;
        let (row, input) = (i.get() as u32 / inputs, i.get() as u32 % inputs);
        *dx = sum_of_products(outputs, |output| {
            (dy[(row * outputs + output) as usize], weights[(output * inputs + input) as usize])
        });
    }
}

/// The gradient of the weights of [`linear`], with the gradient of the bias behind each row, in parts: each part sums over
/// `length` rows of `x` and `dy`.
///
/// Launch it with a thread for each element of `parts`, which has `outputs (inputs + 1)` for each part.
#[kernel]
pub fn weight_gradient(x: &[f32], dy: &[f32], inputs: u32, outputs: u32, length: u32, mut parts: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(part) = parts.get_mut(i) {
        let (i, width) = (i.get() as u32, inputs + 1);
        let (input, output, first) = (i % width, i / width % outputs, i / width / outputs * length);
        let rows = dy.len() as u32 / outputs;
        *part = sum_of_products(rows.saturating_sub(first).min(length), |row| {
            let row = first + row;
            // The input of the bias is one.
            let x = if input < inputs { x[(row * inputs + input) as usize] } else { 1.0 };
            (x, dy[(row * outputs + output) as usize])
        });
    }
}

/// How the parts of a gradient lie in memory, and how the gradient does.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Parts {
    /// The number of parts.
    pub count: u32,
    /// The rows of a part, and the length of a row.
    pub shape: [u32; 2],
    /// The elements of each row that belong to the weights: the other ones belong to the biases.
    pub weights: u32,
    /// Where the biases begin in the gradient, behind the weights and padding.
    pub biases: u32,
}

impl Parts {
    /// The place in a part of an element of the gradient, unless it is padding.
    #[inline(always)]
    fn place(&self, i: u32) -> Option<u32> {
        let ([rows, width], weights) = (self.shape, self.weights);
        if i < rows * weights {
            return Some(i / weights * width + i % weights);
        }
        let others = width - weights;
        i.checked_sub(self.biases).map(|i| i / others * width + weights + i % others)
    }

    /// The number of elements of a part.
    #[inline(always)]
    fn length(&self) -> u32 {
        self.shape[0] * self.shape[1]
    }
}

/// Sums the parts of [`filter_gradient`], of [`weight_gradient`] or of a loss: `y` receives the gradient of the weights, padding, and the
/// gradient of the biases. The padding is zero.
///
/// `y` has rows of one element. Launch it in one dimension, with blocks of whole warps; a grid with fewer blocks than rows goes around several
/// times.
#[kernel]
pub fn sum_parts(parts: &[f32], shape: Parts, mut y: Disjoint<f32, Rows>, mut block: BlockScratch<f32>) {
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    for (i, mut y) in y.rows_mut() {
        let mut sum = 0.0;
        if let Some(place) = shape.place(i as u32) {
            let count = shape.count.saturating_sub(thread).div_ceil(threads);
            sum = sum_of_products(count, |i| (parts[((thread + i * threads) * shape.length() + place) as usize], 1.0));
        }
        let sum = block.reduce_sum(sum);
        y.each(|_, y| *y = sum);
    }
}

/// As [`sum_parts`], for few parts.
///
/// Launch it with a thread for each element of `y`.
#[kernel]
pub fn sum_few_parts(parts: &[f32], shape: Parts, mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y = shape.place(i.get() as u32).map_or(0.0, |place| {
            sum_of_products(shape.count, |part| (parts[(part * shape.length() + place) as usize], 1.0))
        });
    }
}

/// The cross-entropy of each row of logits and its class, divided by the number of rows, and its gradient by the logits: softmax, less
/// one for the right class.
///
/// `losses` has rows of one element. Launch it in one dimension, with blocks of whole warps; a grid with fewer warps than rows goes around several
/// times. A label that is no class is a panic.
#[kernel]
pub fn cross_entropy(
    logits: &[f32],
    labels: &[u32],
    mut losses: Disjoint<f32, Rows<ByWarp>>,
    mut gradient: Disjoint<f32, Rows<ByWarp>>,
) {
    let classes = gradient.columns();
    let scale = 1.0 / labels.len() as f32;
    for ((row, mut loss), (_, mut gradient)) in losses.rows_mut().zip(gradient.rows_mut()) {
        let (x, label) = (&logits[row * classes..][..classes], labels[row] as usize);
        assert!(label < classes, "a label is a class");
        let largest = warp::reduce(over(x, f32::NEG_INFINITY, GpuFloat::max), GpuFloat::max);
        let sum = warp::reduce_sum(over(x, 0.0, |sum, x| sum + GpuFloat::exp(x - largest)));
        loss.each(|_, loss| *loss = (GpuFloat::ln(sum) + largest - x[label]) * scale);
        gradient.each(|class, gradient| {
            let right = if class == label { 1.0 } else { 0.0 };
            *gradient = (GpuFloat::exp(x[class] - largest) / sum - right) * scale;
        });
    }
}

/// Combines a lane's elements of a row.
#[inline(always)]
fn over(row: &[f32], first: f32, combine: impl Fn(f32, f32) -> f32) -> f32 {
    let (mut value, mut i) = (first, warp::lane_id() as usize);
    while i < row.len() {
        value = combine(value, row[i]);
        i += warp::WARP_SIZE as usize;
    }
    value
}

/// The row of `all` for the step that comes next, after so many `steps`: the rows are used in turns.
///
/// Launch it with a thread for each element of `row`.
#[kernel]
pub fn next_row(all: &[u32], steps: &[u32], mut row: DisjointSlice<u32>) {
    let i = grid::<1>();
    let length = row.len();
    if let Some(own) = row.get_mut(i) {
        let rows = all.len() / length;
        *own = all[steps[0] as usize % rows * length + i.get()];
    }
}

/// The numbers of a step of Adam.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Rates {
    /// How far a step goes.
    pub rate: f32,
    /// How much of the rate each value becomes smaller by.
    pub decay: f32,
    /// How much of the moments is kept.
    pub betas: [f32; 2],
    /// The logarithms of `betas`.
    pub logarithms: [f32; 2],
}

/// A step of Adam (Kingma, Ba 2015) with decoupled weight decay (Loshchilov, Hutter 2019).
///
/// `gradient` is that of the values, followed by the loss. Each value has a count of its steps, so that no thread reads a count that another thread
/// writes. The loss is noted in `losses`, whose elements are used in turns.
///
/// Launch it with a thread for each value.
#[kernel]
pub fn adam(
    gradient: &[f32],
    rates: Rates,
    mut values: DisjointSlice<f32>,
    mut firsts: DisjointSlice<f32>,
    mut seconds: DisjointSlice<f32>,
    mut steps: DisjointSlice<u32>,
    losses: &[Atomic<f32>],
) {
    let i = grid::<1>();
    let Rates { rate, decay, betas, logarithms } = rates;
    if let (Some(value), Some(first), Some(second)) = (values.get_mut(i), firsts.get_mut(i), seconds.get_mut(i))
        && let Some(step) = steps.get_mut(i)
    {
        if i.get() == 0 {
            losses[*step as usize % losses.len()].store(gradient[gradient.len() - 1]);
        }
        *step += 1;
        let gradient = gradient[i.get()];
        *first = betas[0] * *first + (1.0 - betas[0]) * gradient;
        *second = betas[1] * *second + (1.0 - betas[1]) * gradient * gradient;
        // 1 - beta^step.
        let corrections = logarithms.map(|logarithm| -GpuFloat::exp_m1(logarithm * *step as f32));
        let (mean, square) = (*first / corrections[0], *second / corrections[1]);
        *value -= rate * (mean / (GpuFloat::sqrt(square) + 1e-8) + decay * *value);
    }
}

/// Averages the gradients of all ranks, in the order of the ranks, so that all of them get the same bits.
///
/// `memory` has an element for each gradient. Launch the kernel on each rank, with any number of threads.
#[kernel(cooperative)]
pub fn average_over_ranks(gradients: &[Atomic<f32>], mut memory: Symmetric<f32>) {
    let length = gradients.len();
    memory.each(|i, element| {
        if i < length {
            *element = gradients[i].load();
        }
    });
    let ranks = memory.sync();
    let share = 1.0 / ranks.ranks() as f32;
    for i in grid_stride(length) {
        let sum: f32 = ranks.iter().map(|elements| elements[i]).sum();
        gradients[i].store(share * sum);
    }
}
