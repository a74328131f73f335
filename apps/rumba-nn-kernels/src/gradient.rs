//! The kernels of training beside products: layers that inference does not use, gradients, and the step of an
//! optimizer.

use cuda_std::prelude::*;

/// Places of a filter of 3 by 3.
pub const PLACES: usize = 9;

/// The images of a launch: rows, columns and channels of each.
type Shape = [u32; 3];

/// The index of a pixel's neighbour at a place of the filter, or with `BACK` the index of the pixel whose neighbour at
/// this place it is.
#[inline(always)]
fn neighbour<const BACK: bool>(pixel: usize, place: usize, [rows, columns, _]: Shape) -> Option<usize> {
    let (rows, columns) = (rows as usize, columns as usize);
    let [down, across] = if BACK { [2 - place / 3, 2 - place % 3] } else { [place / 3, place % 3] };
    let (row, column) = (pixel / columns % rows + down, pixel % columns + across);
    let is_there = (1..=rows).contains(&row) && (1..=columns).contains(&column);
    // Not before the first pixel: rows and columns are counted from 1 here.
    is_there.then(|| pixel + down * columns + across - columns - 1)
}

/// The patches of a filter of 3 by 3 at each pixel of images `[images, rows, columns, channels]`: the channels of nine
/// neighbours, zeros beyond the edges (im2col). A product of these rows with a matrix of filters is the convolution.
///
/// Launch it with a thread for each element of `y`.
#[kernel]
pub fn patches(x: &[f32], shape: Shape, mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    let channels = shape[2] as usize;
    if let Some(y) = y.get_mut(i) {
        let i = i.get();
        let (pixel, place, channel) = (i / channels / PLACES, i / channels % PLACES, i % channels);
        *y = neighbour::<false>(pixel, place, shape).map_or(0.0, |pixel| x[pixel * channels + channel]);
    }
}

/// The gradient of [`patches`] by its images: for each element the sum over the nine patches that it is in.
///
/// Launch it with a thread for each element of `dx`.
#[kernel]
pub fn patches_gradient(dy: &[f32], shape: Shape, mut dx: DisjointSlice<f32>) {
    let i = grid::<1>();
    let channels = shape[2] as usize;
    if let Some(dx) = dx.get_mut(i) {
        let i = i.get();
        let (pixel, channel) = (i / channels, i % channels);
        let mut sum = 0.0;
        for place in 0..PLACES {
            if let Some(pixel) = neighbour::<true>(pixel, place, shape) {
                sum += dy[(pixel * PLACES + place) * channels + channel];
            }
        }
        *dx = sum;
    }
}

/// The larger of zero and `x Wᵀ + b`, where rows of `x` are `inputs` long and there are few outputs: `weights` has a row for each of them.
///
/// Launch it with a thread for each element of `y`, whose rows have an element for each output.
#[kernel]
pub fn filter(x: &[f32], weights: &[f32], biases: &[f32], inputs: u32, mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        let (i, inputs, outputs) = (i.get(), inputs as usize, biases.len());
        let (row, output) = (i / outputs, i % outputs);
        let (x, weights) = (&x[row * inputs..][..inputs], &weights[output * inputs..][..inputs]);
        let mut sum = biases[output];
        for j in 0..inputs {
            sum = GpuFloat::mul_add(x[j], weights[j], sum);
        }
        *y = if sum > 0.0 { sum } else { 0.0 };
    }
}

/// The gradient of the weights of [`filter`], with the gradient of the bias behind each row, in parts: each part sums
/// over `length` rows of `x`. The parts give the launch enough threads although the weights are few.
///
/// Launch it with a thread for each element of `parts`, which has `outputs (inputs + 1)` for each part.
#[kernel]
pub fn filter_gradient(x: &[f32], dy: &[f32], inputs: u32, outputs: u32, length: u32, mut parts: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(part) = parts.get_mut(i) {
        let [inputs, outputs, length] = [inputs, outputs, length].map(|count| count as usize);
        let (i, width) = (i.get(), inputs + 1);
        let (input, output, first) = (i % width, i / width % outputs, i / width / outputs * length);
        let rows = dy.len() / outputs;
        let end = if first + length < rows { first + length } else { rows };
        let mut sum = 0.0;
        for row in first..end {
            // The input of the bias is one.
            let x = if input < inputs { x[row * inputs + input] } else { 1.0 };
            sum = GpuFloat::mul_add(x, dy[row * outputs + output], sum);
        }
        *part = sum;
    }
}

/// Sums of `count` parts, element by element: the `width` elements from `first` on of each row of `stride` elements.
/// With the parts of [`filter_gradient`], these elements are the gradient of the weights, or the gradient of the bias.
///
/// Launch it with a thread for each element of `y`.
#[kernel]
pub fn sum_parts(parts: &[f32], count: u32, stride: u32, first: u32, width: u32, mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        let [count, stride, first, width] = [count, stride, first, width].map(|count| count as usize);
        let (i, length) = (i.get(), parts.len() / count);
        let place = i / width * stride + first + i % width;
        let mut sum = 0.0;
        for part in 0..count {
            sum += parts[part * length + place];
        }
        *y = sum;
    }
}

/// The index of the first of the four elements that an element of the pooled image is the largest of, and how far the others are.
#[inline(always)]
fn window(i: usize, [rows, columns, channels]: Shape) -> (usize, [usize; 4]) {
    let [rows, columns, channels] = [rows, columns, channels].map(|length| length as usize);
    let (pixel, channel) = (i / channels, i % channels);
    let (half_rows, half_columns) = (rows / 2, columns / 2);
    let (row, column) = (pixel / half_columns % half_rows, pixel % half_columns);
    let image = pixel / half_columns / half_rows;
    let first = ((image * rows + 2 * row) * columns + 2 * column) * channels + channel;
    (first, [0, channels, columns * channels, (columns + 1) * channels])
}

/// The largest of each two by two pixels of images with even sides, `shape`.
///
/// Launch it with a thread for each element of `y`.
#[kernel]
pub fn largest(x: &[f32], shape: Shape, mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        let (first, others) = window(i.get(), shape);
        *y = others.iter().map(|other| x[first + other]).fold(f32::NEG_INFINITY, f32::max);
    }
}

/// The gradient of [`largest`] by its images: that of the pooled element goes to the first of the four that is the largest.
///
/// Launch it with a thread for each element of `dx`.
#[kernel]
pub fn largest_gradient(x: &[f32], dy: &[f32], shape: Shape, mut dx: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(dx) = dx.get_mut(i) {
        let i = i.get();
        let [rows, columns, channels] = shape.map(|length| length as usize);
        let (pixel, channel) = (i / channels, i % channels);
        let (row, column, image) = (pixel / columns % rows, pixel % columns, pixel / columns / rows);
        let pooled = (image * (rows / 2) + row / 2) * (columns / 2) + column / 2;
        let pooled = pooled * channels + channel;
        let (first, others) = window(pooled, shape);
        let mut best = first;
        for other in others {
            if x[first + other] > x[best] {
                best = first + other;
            }
        }
        *dx = if best == i { dy[pooled] } else { 0.0 };
    }
}

/// The gradient of `max(x, 0)` where that is `y`.
#[vectorize]
pub fn rectified_gradient(dy: f32, y: f32) -> f32 {
    if y > 0.0 { dy } else { 0.0 }
}

/// The logarithm of the sum of a row's exponentials.
#[inline(always)]
fn log_sum_exp(row: &[f32]) -> f32 {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    largest + GpuFloat::ln(row.iter().map(|x| GpuFloat::exp(x - largest)).sum::<f32>())
}

/// What the cross-entropy of each row of logits and the class that is right adds to the mean over all rows: `logits` has `classes` for each
/// label.
///
/// Launch it with a thread for each row. A label that is no class is a panic.
#[kernel]
pub fn cross_entropy(logits: &[f32], labels: &[u32], classes: u32, mut losses: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(loss) = losses.get_mut(i) {
        let (i, classes) = (i.get(), classes as usize);
        let (row, label) = (&logits[i * classes..(i + 1) * classes], labels[i] as usize);
        assert!(label < classes, "a label is a class");
        *loss = (log_sum_exp(row) - row[label]) / labels.len() as f32;
    }
}

/// The gradient of the mean of [`cross_entropy`] by the logits: softmax, less one for the right class, for each row.
///
/// Launch it with a thread for each element of `gradient`.
#[kernel]
pub fn cross_entropy_gradient(logits: &[f32], labels: &[u32], classes: u32, mut gradient: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(gradient) = gradient.get_mut(i) {
        let (i, classes) = (i.get(), classes as usize);
        let (index, class) = (i / classes, i % classes);
        let row = &logits[index * classes..(index + 1) * classes];
        let right = if labels[index] as usize == class { 1.0 } else { 0.0 };
        *gradient = (GpuFloat::exp(row[class] - log_sum_exp(row)) - right) / labels.len() as f32;
    }
}

/// A step of Adam (Kingma, Ba 2015) with decoupled weight decay (Loshchilov, Hutter 2019). `corrections` are `1 - beta^step` of the two
/// moments.
///
/// Launch it with a thread for each value.
#[kernel]
pub fn adam(
    gradient: &[f32],
    rate: f32,
    decay: f32,
    betas: [f32; 2],
    corrections: [f32; 2],
    mut values: DisjointSlice<f32>,
    mut firsts: DisjointSlice<f32>,
    mut seconds: DisjointSlice<f32>,
) {
    let i = grid::<1>();
    if let (Some(value), Some(first), Some(second)) = (values.get_mut(i), firsts.get_mut(i), seconds.get_mut(i)) {
        let gradient = gradient[i.get()];
        *first = betas[0] * *first + (1.0 - betas[0]) * gradient;
        *second = betas[1] * *second + (1.0 - betas[1]) * gradient * gradient;
        let (mean, square) = (*first / corrections[0], *second / corrections[1]);
        *value -= rate * (mean / (GpuFloat::sqrt(square) + 1e-8) + decay * *value);
    }
}
