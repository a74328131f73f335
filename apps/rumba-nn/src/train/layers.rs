//! Layers with a backward pass, and what a network of them needs beside.

use super::parameters::{Gradients, Parameters, Slot};
use crate::error::Result;
use crate::layers::refuse;
use crate::run::Run;
use crate::run::element::in_one_piece;
use crate::run::tensor::Tensor;
use cuda_std::launch::Call;
use nn_kernels::gradient::{self, PLACES};
use rumba::{DeviceSlice, DeviceSliceMut, LaunchConfig, linalg};
use std::ops::Range;

/// `x Wᵀ + b` of rows of `x`: see [`Layout::linear`](super::Layout::linear).
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    weight: Slot,
    bias: Slot,
}

impl Linear {
    pub(super) fn new(weight: Slot, bias: Slot) -> Linear {
        Linear { weight, bias }
    }

    /// Computes it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of rows that are not as long as the layer's inputs; the runtime's.
    pub fn forward(&self, run: &Run, parameters: &Parameters, x: &Tensor<f32, 2>) -> Result<Tensor<f32, 2>> {
        self.compute(run, parameters, x, linalg::Activation::Identity)
    }

    /// Computes it, and the larger of each result and zero.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn rectified(&self, run: &Run, parameters: &Parameters, x: &Tensor<f32, 2>) -> Result<Tensor<f32, 2>> {
        self.compute(run, parameters, x, linalg::Activation::Relu)
    }

    fn compute(
        &self,
        run: &Run,
        parameters: &Parameters,
        x: &Tensor<f32, 2>,
        activation: linalg::Activation,
    ) -> Result<Tensor<f32, 2>> {
        let (weight, bias) = (parameters.view(self.weight)?, parameters.view(self.bias)?);
        let ([rows, columns], [outputs, inputs]) = (x.shape(), weight.shape());
        if columns != inputs {
            return refuse("Linear", format!("rows of {inputs} elements"), &x.shape());
        }
        run.make([rows, outputs], |reads, y| {
            let product = run.linalg().product(reads.view(x)?, weight.transpose());
            Ok(product.bias(bias.index_axis(0, 0)).activation(activation).eval_into(y)?)
        })
    }

    /// Writes the gradients of weight and bias by those of the result, `dy`: for the result of [`rectified`](Self::rectified) those that
    /// [`Run::rectified_gradient`] gives.
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
        let rows = x.shape()[0];
        run.read(|reads| {
            let weight = run.linalg().product(reads.view(dy)?.transpose(), reads.view(x)?);
            weight.eval_into(gradients.view_mut(self.weight)?)?;
            let outputs = self.bias.len();
            run.sum_parts(reads.slice(dy)?, rows, outputs, 0..outputs, gradients.slice_mut(self.bias))
        })
    }

    /// The gradient of the input by that of the result.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn input_gradient(&self, run: &Run, parameters: &Parameters, dy: &Tensor<f32, 2>) -> Result<Tensor<f32, 2>> {
        let weight = parameters.view(self.weight)?;
        let ([rows, columns], [outputs, inputs]) = (dy.shape(), weight.shape());
        if columns != outputs {
            return refuse("Linear::input_gradient", format!("rows of {outputs} elements"), &dy.shape());
        }
        run.make([rows, inputs], |reads, dx| Ok(run.linalg().product(reads.view(dy)?, weight).eval_into(dx)?))
    }
}

impl super::buckets::sealed::Layer for Linear {
    fn start(&self) -> usize {
        self.weight.start()
    }
}

/// A convolution with filters of 3 by 3, and the larger of each result and zero: see
/// [`Layout::convolution`](super::Layout::convolution). Images are `[images, rows, columns, channels]`.
///
/// It is the product of each pixel's neighbours with the filters ("im2col", Chellapilla, Puri, Simard 2006), by kernels for few channels.
#[derive(Clone, Copy, Debug)]
pub struct Convolution {
    weight: Slot,
    bias: Slot,
}

impl super::buckets::sealed::Layer for Convolution {
    fn start(&self) -> usize {
        self.weight.start()
    }
}

/// Rows of a part of a gradient that is summed in parts.
const PART: usize = 256;

impl Convolution {
    pub(super) fn new(weight: Slot, bias: Slot) -> Convolution {
        Convolution { weight, bias }
    }

    /// Computes it. The second tensor is what the backward pass needs: the neighbours of each pixel.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of images with other channels; the runtime's.
    pub fn rectified(
        &self,
        run: &Run,
        parameters: &Parameters,
        x: &Tensor<f32, 4>,
    ) -> Result<(Tensor<f32, 4>, Tensor<f32, 2>)> {
        let ([images, rows, columns, channels], [outputs, inputs]) = (x.shape(), self.weight.shape());
        if PLACES * channels != inputs {
            return refuse("Convolution", format!("images of {} channels", inputs / PLACES), &x.shape());
        }
        let patches = run.patches(x)?;
        let y = run.make([images, rows, columns, outputs], |reads, y| {
            let (weight, bias) = (parameters.slice(self.weight), parameters.slice(self.bias));
            let (count, y) = (y.len(), in_one_piece(y));
            let call = gradient::filter(reads.slice(&patches)?, weight, bias, inputs as u32, y);
            run.launch_each(count, call)
        })?;
        Ok((y, patches))
    }

    /// Writes the gradients of the filters, and makes that of the input. `dy` is the gradient of the result.
    ///
    /// # Errors
    /// As [`rectified`](Self::rectified).
    pub fn backward(
        &self,
        run: &Run,
        parameters: &Parameters,
        result: &(Tensor<f32, 4>, Tensor<f32, 2>),
        dy: &Tensor<f32, 4>,
        gradients: &mut Gradients,
    ) -> Result<Tensor<f32, 4>> {
        let dz = self.filter_gradient(run, result, dy, gradients)?;
        let [images, rows, columns, _] = dy.shape();
        let channels = self.weight.shape()[1] / PLACES;
        let weight = parameters.view(self.weight)?;
        let dpatches = run.make(result.1.shape(), |reads, dpatches| {
            Ok(run.linalg().product(reads.view(&dz)?, weight).eval_into(dpatches)?)
        })?;
        run.patches_gradient(&dpatches, [images, rows, columns, channels])
    }

    /// Writes the gradients of the filters alone, as of the first layer of a network.
    ///
    /// # Errors
    /// As [`rectified`](Self::rectified).
    pub fn backward_to_filters(
        &self,
        run: &Run,
        result: &(Tensor<f32, 4>, Tensor<f32, 2>),
        dy: &Tensor<f32, 4>,
        gradients: &mut Gradients,
    ) -> Result<()> {
        self.filter_gradient(run, result, dy, gradients).map(drop)
    }

    fn filter_gradient(
        &self,
        run: &Run,
        (y, patches): &(Tensor<f32, 4>, Tensor<f32, 2>),
        dy: &Tensor<f32, 4>,
        gradients: &mut Gradients,
    ) -> Result<Tensor<f32, 2>> {
        let [images, rows, columns, channels] = y.shape();
        let pixels = images * rows * columns;
        let dz = run.rectified_gradient(dy, y)?.reshape([pixels, channels]);
        let [outputs, inputs] = self.weight.shape();
        let (count, width) = (pixels.div_ceil(PART), inputs + 1);
        let parts = run.make([count, outputs * width], |reads, parts| {
            let (x, dz) = (reads.slice(patches)?, reads.slice(&dz)?);
            let (threads, parts) = (parts.len(), in_one_piece(parts));
            let [inputs, outputs, part] = [inputs, outputs, PART].map(|count| count as u32);
            run.launch_each(threads, gradient::filter_gradient(x, dz, inputs, outputs, part, parts))
        })?;
        run.read(|reads| {
            for (slot, columns) in [(self.weight, 0..inputs), (self.bias, inputs..width)] {
                run.sum_parts(reads.slice(&parts)?, count, width, columns, gradients.slice_mut(slot))?;
            }
            Ok(())
        })?;
        Ok(dz)
    }
}

/// Rows, columns and channels, as the kernels take them.
fn image_shape([_, rows, columns, channels]: [usize; 4]) -> [u32; 3] {
    [rows, columns, channels].map(|length| length as u32)
}

/// The layers of training.
impl Run {
    /// Launches a kernel of ours that has a thread for each number of a new tensor.
    fn launch_each(&self, count: usize, call: Call<'_>) -> Result<()> {
        self.launch(self.module(), LaunchConfig::for_each(count), call)
    }

    /// Sums `count` parts, whose rows are `width` long: the elements of these columns.
    fn sum_parts(
        &self,
        parts: DeviceSlice<'_, f32>,
        count: usize,
        width: usize,
        columns: Range<usize>,
        y: DeviceSliceMut<'_, f32>,
    ) -> Result<()> {
        let threads = y.len();
        let [count, width, first, length] = [count, width, columns.start, columns.len()].map(|count| count as u32);
        self.launch_each(threads, gradient::sum_parts(parts, count, width, first, length, y))
    }

    fn patches(&self, x: &Tensor<f32, 4>) -> Result<Tensor<f32, 2>> {
        let [images, rows, columns, channels] = x.shape();
        let shape = [images * rows * columns, PLACES * channels];
        self.make(shape, |reads, y| {
            let (count, y) = (y.len(), in_one_piece(y));
            self.launch_each(count, gradient::patches(reads.slice(x)?, image_shape(x.shape()), y))
        })
    }

    fn patches_gradient(&self, dy: &Tensor<f32, 2>, shape: [usize; 4]) -> Result<Tensor<f32, 4>> {
        self.make(shape, |reads, dx| {
            let (count, dx) = (dx.len(), in_one_piece(dx));
            self.launch_each(count, gradient::patches_gradient(reads.slice(dy)?, image_shape(shape), dx))
        })
    }

    /// The gradient of `max(x, 0)` by `x`, where that is `y` and `dy` its gradient.
    ///
    /// # Errors
    /// [`rumba::array::ArrayError`] of other shapes; the runtime's.
    pub fn rectified_gradient<const N: usize>(
        &self,
        dy: &Tensor<f32, N>,
        y: &Tensor<f32, N>,
    ) -> Result<Tensor<f32, N>> {
        let length = [y.len()];
        self.make(y.shape(), |reads, dx| {
            let (dy, y) = (reads.view(dy)?.reshape(length)?, reads.view(y)?.reshape(length)?);
            self.map(gradient::rectified_gradient::over(dy, y), dx.reshape(length)?)
        })
    }

    /// The largest of each two by two pixels: images become half as large.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of images with an odd number of rows or columns; the runtime's.
    pub fn largest(&self, x: &Tensor<f32, 4>) -> Result<Tensor<f32, 4>> {
        let [images, rows, columns, channels] = x.shape();
        if rows % 2 + columns % 2 > 0 {
            return refuse("largest", "images with even sides".to_owned(), &x.shape());
        }
        let shape = [images, rows / 2, columns / 2, channels];
        self.make(shape, |reads, y| {
            let (count, y) = (y.len(), in_one_piece(y));
            self.launch_each(count, gradient::largest(reads.slice(x)?, image_shape(x.shape()), y))
        })
    }

    /// The gradient of [`largest`](Self::largest) by its images.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of a gradient of another shape than the result; the runtime's.
    pub fn largest_gradient(&self, x: &Tensor<f32, 4>, dy: &Tensor<f32, 4>) -> Result<Tensor<f32, 4>> {
        let [images, rows, columns, channels] = x.shape();
        let wanted = [images, rows / 2, columns / 2, channels];
        if dy.shape() != wanted {
            return refuse("largest_gradient", format!("a gradient of shape {wanted:?}"), &dy.shape());
        }
        self.make(x.shape(), |reads, dx| {
            let (count, dx) = (dx.len(), in_one_piece(dx));
            self.launch_each(
                count,
                gradient::largest_gradient(reads.slice(x)?, reads.slice(dy)?, image_shape(x.shape()), dx),
            )
        })
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
        let losses = self.make([rows, 1], |reads, y| {
            let (count, y) = (y.len(), in_one_piece(y));
            self.launch_each(count, gradient::cross_entropy(reads.slice(logits)?, labels, classes as u32, y))
        })?;
        self.read(|reads| self.sum_parts(reads.slice(&losses)?, rows, 1, 0..1, gradients.loss_mut()))?;
        self.make(logits.shape(), |reads, y| {
            let (count, y) = (y.len(), in_one_piece(y));
            self.launch_each(count, gradient::cross_entropy_gradient(reads.slice(logits)?, labels, classes as u32, y))
        })
    }
}
