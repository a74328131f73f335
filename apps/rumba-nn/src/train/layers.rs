//! Layers with a backward pass, and what a network of them needs beside.

use super::parameters::{Gradients, Parameters, Slot};
use crate::error::Result;
use crate::layers::refuse;
use crate::run::Run;
use crate::run::element::in_one_piece;
use crate::run::tensor::Tensor;
use nn_kernels::gradient::{self, PLACES, Parts};
use nn_kernels::{Lanes, SingleVector};
use rumba::{DeviceSlice, DeviceSliceMut, LaunchConfig};

/// `x Wᵀ + b` of rows of `x`: see [`Layout::linear`](super::Layout::linear). Its kernels are for few outputs, as the classes of a
/// classifier.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    weight: Slot,
    bias: Slot,
}

/// Rows of a part of the gradient of a [`Linear`] layer.
const ROWS: usize = 64;

impl Linear {
    pub(super) fn new(weight: Slot, bias: Slot) -> Linear {
        Linear { weight, bias }
    }

    /// Computes it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of rows that are not as long as the layer's inputs; the runtime's.
    pub fn forward(&self, run: &Run, parameters: &Parameters, x: &Tensor<f32, 2>) -> Result<Tensor<f32, 2>> {
        let ([rows, columns], [outputs, inputs]) = (x.shape(), self.weight.shape());
        if columns != inputs {
            return refuse("Linear", format!("rows of {inputs} elements"), &x.shape());
        }
        run.make([rows, outputs], |reads, y| {
            let (weight, bias) = (parameters.slice(self.weight), parameters.slice(self.bias));
            let y = (in_one_piece(y), [rows * outputs, 1]);
            let call = gradient::linear(reads.slice(x)?, weight, bias, y);
            run.launch(run.module(), in_blocks(rows * outputs, inputs.div_ceil(8)), call)
        })
    }

    /// Writes the gradients of weight and bias by the gradient of the result, `dy`.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn backward(
        &self,
        run: &Run,
        x: &Tensor<f32, 2>,
        dy: &Tensor<f32, 2>,
        gradients: &mut Gradients,
    ) -> Result<()> {
        let ([rows, columns], [outputs, inputs]) = (x.shape(), self.weight.shape());
        if (columns, dy.shape()) != (inputs, [rows, outputs]) {
            return refuse("Linear::backward", format!("{rows} rows of {outputs} elements"), &dy.shape());
        }
        let (count, width) = (rows.div_ceil(ROWS).max(1), inputs + 1);
        let parts = run.make([count, outputs * width], |reads, parts| {
            let (threads, parts) = (parts.len(), in_one_piece(parts));
            let [inputs, outputs, length] = [inputs, outputs, ROWS].map(|count| count as u32);
            let call = gradient::weight_gradient(reads.slice(x)?, reads.slice(dy)?, inputs, outputs, length, parts);
            run.launch(run.module(), LaunchConfig::for_each(threads), call)
        })?;
        run.sum_parts(&parts, [outputs, width], inputs, [self.weight, self.bias], gradients)
    }

    /// The gradient of the input by the gradient of the result.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn input_gradient(&self, run: &Run, parameters: &Parameters, dy: &Tensor<f32, 2>) -> Result<Tensor<f32, 2>> {
        let ([rows, columns], [outputs, inputs]) = (dy.shape(), self.weight.shape());
        if columns != outputs {
            return refuse("Linear::input_gradient", format!("rows of {outputs} elements"), &dy.shape());
        }
        run.make([rows, inputs], |reads, dx| {
            let (count, dx, weight) = (dx.len(), in_one_piece(dx), parameters.slice(self.weight));
            let call = gradient::linear_gradient(reads.slice(dy)?, weight, outputs as u32, dx);
            run.launch(run.module(), LaunchConfig::for_each(count), call)
        })
    }
}

impl super::buckets::sealed::Layer for Linear {
    fn start(&self) -> usize {
        self.weight.start()
    }
}

/// A convolution with filters of 3 by 3, the larger of each result and zero, and the largest of each two by two pixels:
/// see [`Layout::convolution`](super::Layout::convolution). Images are `[images, rows, columns, channels]`.
///
/// Its kernels are for few channels: each computes the convolution at once, and keeps no result but the largest. The gradient of a window is that of one pixel.
#[derive(Clone, Copy, Debug)]
pub struct Convolution {
    weight: Slot,
    bias: Slot,
}

/// The result of a [`Convolution`], and the data that the backward pass needs.
#[derive(Clone, Debug)]
pub struct Convolved {
    x: Tensor<f32, 4>,
    /// The result: images half as large.
    pub y: Tensor<f32, 4>,
    /// The pixel of each window that is the largest.
    winners: Tensor<u8, 4>,
}

/// The threads that compute the gradient of a [`Convolution`], at most: as many as an H100 runs at a time, about.
const THREADS: usize = 1 << 17;

impl Convolution {
    pub(super) fn new(weight: Slot, bias: Slot) -> Convolution {
        Convolution { weight, bias }
    }

    /// Computes it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of images with other channels, or an odd number of rows or columns; the runtime's.
    pub fn forward(&self, run: &Run, parameters: &Parameters, x: &Tensor<f32, 4>) -> Result<Convolved> {
        let ([images, rows, columns, channels], [inputs, outputs]) = (x.shape(), self.weight.shape());
        if PLACES * channels != inputs || rows % 2 + columns % 2 > 0 {
            let wanted = format!("images with even sides and {} channels", inputs / PLACES);
            return refuse("Convolution", wanted, &x.shape());
        }
        let shape = [images, rows / 2, columns / 2, outputs];
        let (y, winners) = run.make_two([shape, shape], |reads, y, winners| {
            let (count, shape_of_x, x) = (y.len(), x.shape(), reads.slice(x)?);
            let (weight, bias) = (parameters.slice(self.weight), parameters.slice(self.bias));
            let (y, winners) = (in_one_piece(y), in_one_piece(winners));
            let shape = image_shape(shape_of_x);
            let call = if channels.is_multiple_of(<SingleVector as Lanes>::COUNT) {
                gradient::convolve::<SingleVector>(x.cast(), shape, weight, bias, y, winners)
            } else {
                gradient::convolve::<f32>(x, shape, weight, bias, y, winners)
            };
            run.launch(run.module(), LaunchConfig::for_each(count), call)
        })?;
        Ok(Convolved { x: x.clone(), y, winners })
    }

    /// Writes the gradients of the filters, and makes the gradient of the input. `dy` is the gradient of the result.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of a gradient of another shape than the result; the runtime's.
    pub fn backward(
        &self,
        run: &Run,
        parameters: &Parameters,
        result: &Convolved,
        dy: &Tensor<f32, 4>,
        gradients: &mut Gradients,
    ) -> Result<Tensor<f32, 4>> {
        self.backward_to_filters(run, result, dy, gradients)?;
        let shape = result.x.shape();
        run.make(shape, |reads, dx| {
            let (count, dx) = (dx.len(), in_one_piece(dx));
            let (dy, winners, weight) =
                (reads.slice(dy)?, reads.slice(&result.winners)?, parameters.slice(self.weight));
            let call = gradient::convolve_gradient(dy, winners, weight, image_shape(shape), dx);
            run.launch(run.module(), LaunchConfig::for_each(count), call)
        })
    }

    /// Writes the gradients of the filters alone, as of the first layer of a network.
    ///
    /// # Errors
    /// As [`backward`](Self::backward).
    pub fn backward_to_filters(
        &self,
        run: &Run,
        Convolved { x, y, winners }: &Convolved,
        dy: &Tensor<f32, 4>,
        gradients: &mut Gradients,
    ) -> Result<()> {
        let [images, rows, _, outputs] = y.shape();
        if dy.shape() != y.shape() {
            return refuse("Convolution::backward", format!("a gradient of shape {:?}", y.shape()), &dy.shape());
        }
        let channels = x.shape()[3];
        let most = (THREADS / (outputs * (channels + 1))).max(1);
        let lines = (images * rows).div_ceil(most).max(1);
        let count = (images * rows).div_ceil(lines).max(1);
        let parts = run.make([count * PLACES, (channels + 1) * outputs], |reads, parts| {
            let parts = (in_one_piece(parts), [count * PLACES, channels + 1, outputs]);
            let (images, dy, winners) = (reads.slice(x)?, reads.slice(dy)?, reads.slice(winners)?);
            let call = gradient::filter_gradient(images, image_shape(x.shape()), dy, winners, lines as u32, parts);
            run.launch(run.module(), in_parts([outputs, channels + 1, count]), call)
        })?;
        let shape = [PLACES, (channels + 1) * outputs];
        run.sum_parts(&parts, shape, channels * outputs, [self.weight, self.bias], gradients)
    }
}

impl super::buckets::sealed::Layer for Convolution {
    fn start(&self) -> usize {
        self.weight.start()
    }
}

/// Rows, columns and channels, as the kernels take them.
fn image_shape([_, rows, columns, channels]: [usize; 4]) -> [u32; 3] {
    [rows, columns, channels].map(|length| length as u32)
}

/// Threads for outputs, lines and parts, in blocks of about 128.
fn in_parts(lengths: [usize; 3]) -> LaunchConfig<'static> {
    let mut left = 128;
    let block = lengths.map(|length| {
        let own = length.clamp(1, left);
        left /= own;
        own as u32
    });
    let grid = [0, 1, 2].map(|axis| (lengths[axis] as u32).div_ceil(block[axis]));
    LaunchConfig::new(grid, block)
}

/// A block for each of some sums, with so many threads at most.
fn in_blocks(sums: usize, threads: usize) -> LaunchConfig<'static> {
    LaunchConfig::new(sums.clamp(1, 1 << 16) as u32, threads.next_power_of_two().clamp(32, 256) as u32)
}

/// The number of parts that a thread sums alone, at most.
const FEW: u32 = 16;

/// The layers of training.
impl Run {
    /// Sums parts of shape `[rows, width]`: `weights` elements of each row belong to the weight, the other ones to the bias, which follows the
    /// weight in memory.
    fn sum_parts(
        &self,
        parts: &Tensor<f32, 2>,
        [rows, width]: [usize; 2],
        weights: usize,
        [weight, bias]: [Slot; 2],
        gradients: &mut Gradients,
    ) -> Result<()> {
        let [count, rows, width, weights, biases] =
            [parts.len() / (rows * width), rows, width, weights, bias.start() - weight.start()]
                .map(|count| count as u32);
        let shape = Parts { count, shape: [rows, width], weights, biases };
        self.sum(parts, shape, gradients.slice_between(weight, bias))
    }

    fn sum(&self, parts: &Tensor<f32, 2>, shape: Parts, y: DeviceSliceMut<'_, f32>) -> Result<()> {
        let length = y.len();
        self.read(|reads| {
            let parts = reads.slice(parts)?;
            if shape.count <= FEW {
                let call = gradient::sum_few_parts(parts, shape, y);
                return self.launch(self.module(), LaunchConfig::for_each(length), call);
            }
            let config = in_blocks(length, shape.count as usize);
            self.launch(self.module(), config, gradient::sum_parts(parts, shape, (y, [length, 1])))
        })
    }

    /// The next row of `all`, which are rows as long as `row`: that of the number of steps of the parameters, where the rows are used in turns. All lie
    /// outside of the run.
    ///
    /// # Errors
    /// The runtime's.
    ///
    /// # Panics of the kernels
    /// If there is no row.
    pub fn next_row(
        &self,
        all: DeviceSlice<'_, u32>,
        parameters: &Parameters,
        row: DeviceSliceMut<'_, u32>,
    ) -> Result<()> {
        let count = row.len();
        let call = gradient::next_row(all, parameters.steps_slice(), row);
        self.launch(self.module(), LaunchConfig::for_each(count), call)
    }

    /// The mean cross-entropy of rows of logits and their classes goes to the gradients as the loss; the result is its gradient by
    /// the logits.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless there is a row for each label; the runtime's.
    ///
    /// # Panics of the kernels
    /// For a label that is no class.
    pub fn cross_entropy(
        &self,
        logits: &Tensor<f32, 2>,
        labels: DeviceSlice<'_, u32>,
        gradients: &mut Gradients,
    ) -> Result<Tensor<f32, 2>> {
        let [rows, classes] = logits.shape();
        if rows != labels.len() {
            return refuse("cross_entropy", format!("{} rows of logits", labels.len()), &logits.shape());
        }
        let (losses, gradient) = self.make_two([[rows, 1], [rows, classes]], |reads, losses, gradient| {
            let losses = (in_one_piece(losses), [rows, 1]);
            let gradient = (in_one_piece(gradient), [rows, classes]);
            self.launch_rows(rows, gradient::cross_entropy(reads.slice(logits)?, labels, losses, gradient))
        })?;
        let shape = Parts { count: rows as u32, shape: [1, 1], weights: 1, biases: 1 };
        self.sum(&losses, shape, gradients.loss_mut())?;
        Ok(gradient)
    }
}
