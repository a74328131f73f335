//! Convolutions of images, which lie as `[images, rows, columns, channels]`.

use super::{Activation, refuse};
use crate::Nn;
use crate::error::Result;
use crate::run::Run;
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::array::Array;
use rumba::linalg;

/// How the filters of a convolution are, and how they go over images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filters {
    /// Channels of the input.
    pub inputs: usize,
    /// Channels of the output.
    pub outputs: usize,
    /// Rows and columns of a filter.
    pub size: usize,
    /// How far it moves.
    pub stride: usize,
    /// Rows and columns of zeros around an image.
    pub padding: usize,
}

impl Filters {
    /// Filters of 1 by 1: a product for each pixel.
    #[must_use]
    pub fn of_1(inputs: usize, outputs: usize) -> Filters {
        Filters { inputs, outputs, size: 1, stride: 1, padding: 0 }
    }

    /// Filters of 3 by 3, with one row and column of zeros around: images stay as large.
    #[must_use]
    pub fn of_3(inputs: usize, outputs: usize) -> Filters {
        Filters { size: 3, padding: 1, ..Filters::of_1(inputs, outputs) }
    }

    /// These filters without padding.
    #[must_use]
    pub fn unpadded(self) -> Filters {
        Filters { padding: 0, ..self }
    }

    /// These filters with a stride of two: images become half as large.
    #[must_use]
    pub fn halving(self) -> Filters {
        Filters { stride: 2, ..self }
    }
}

/// A convolution with a bias: PyTorch's `nn.Conv2d`.
#[derive(Debug)]
pub struct Convolution<T> {
    /// With zeros for channels that are there for their number only: see [`channels`].
    filters: Array<T, 4>,
    bias: Array<T, 1>,
    shape: Filters,
}

/// How many channels a convolution is computed with. Warp groups (compute capability 9.0) take images and results of numbers of 16 bits, with
/// multiples of eight channels: to add some zeros takes less time than to do without.
fn channels<T>(nn: &Nn, wanted: usize) -> usize {
    if size_of::<T>() == 2 && nn.device().limits().compute_capability == (9, 0) {
        wanted.next_multiple_of(8)
    } else {
        wanted
    }
}

impl<T: Element> Convolution<T> {
    /// Takes `weight`, `[outputs, inputs, rows, columns]`, and `bias`.
    ///
    /// # Errors
    /// The errors of [`Weights::array`].
    pub fn load(weights: &Weights, shape: Filters) -> Result<Convolution<T>> {
        let Filters { inputs, outputs, size, .. } = shape;
        let nn = weights.nn();
        let [own_inputs, own_outputs] = [inputs, outputs].map(|count| channels::<T>(nn, count));
        let numbers: Vec<T> = weights.numbers("weight", &[outputs, inputs, size, size])?;
        let filters = Array::from_fn(nn.device(), [own_outputs, size, size, own_inputs], |at| {
            let [output, row, column, input] = at;
            match output < outputs && input < inputs {
                true => numbers[((output * inputs + input) * size + row) * size + column],
                false => T::zeroed(),
            }
        })?;
        let mut bias: Vec<T> = weights.numbers("bias", &[outputs])?;
        bias.resize(own_outputs, T::zeroed());
        Ok(Convolution { filters, bias: Array::from_slice(nn.device(), [own_outputs], &bias)?, shape })
    }

    /// Computes it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of images with other channels; [`rumba::linalg::LinalgError`] of images without a place for
    /// the filter; the runtime's.
    pub fn forward(&self, run: &Run, x: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        self.compute(run, x, linalg::Activation::Identity)
    }

    /// Computes it, and a function of each result.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn activated(&self, run: &Run, x: &Tensor<T, 4>, function: Activation) -> Result<Tensor<T, 4>> {
        match function.fused() {
            Some(fused) => self.compute(run, x, fused),
            None => run.activate(&self.forward(run, x)?, function),
        }
    }

    fn compute(&self, run: &Run, x: &Tensor<T, 4>, activation: linalg::Activation) -> Result<Tensor<T, 4>> {
        let Filters { inputs, outputs, size, stride, padding } = self.shape;
        let [images, rows, columns, channels] = x.shape();
        if channels != inputs {
            return refuse("Convolution", format!("images with {inputs} channels"), &x.shape());
        }
        let places = |length: usize| (length + 2 * padding).checked_sub(size).map_or(0, |rest| rest / stride + 1);
        let [own_outputs, .., own_inputs] = self.filters.shape();
        let widened;
        let mut x = x;
        if own_inputs > inputs {
            let zeros = own_inputs - inputs;
            widened = run.widened(x, zeros)?;
            x = &widened;
        }
        let y = run.make([images, places(rows), places(columns), own_outputs], |reads, y| {
            let convolution = run.linalg().convolution(reads.view(x)?, self.filters.view());
            let convolution = convolution.bias(self.bias.view()).stride([stride; 2]).padding([padding; 2]);
            Ok(convolution.activation(activation).eval_into(y)?)
        })?;
        if own_outputs == outputs {
            return Ok(y);
        }
        run.make([images, places(rows), places(columns), outputs], |reads, part| {
            run.map(T::copy(reads.view(&y)?.slice((.., .., .., ..outputs))), part)
        })
    }
}
