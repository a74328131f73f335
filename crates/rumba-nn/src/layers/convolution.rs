//! Convolutions of images, which lie as `[images, rows, columns, channels]`.

use super::{Activation, refuse};
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
        Filters {
            inputs,
            outputs,
            size: 1,
            stride: 1,
            padding: 0,
        }
    }

    /// Filters of 3 by 3, with one row and column of zeros around: images stay as large.
    #[must_use]
    pub fn of_3(inputs: usize, outputs: usize) -> Filters {
        Filters {
            size: 3,
            padding: 1,
            ..Filters::of_1(inputs, outputs)
        }
    }

    /// The same without zeros around.
    #[must_use]
    pub fn unpadded(self) -> Filters {
        Filters { padding: 0, ..self }
    }

    /// The same in steps of two: images become half as large.
    #[must_use]
    pub fn halving(self) -> Filters {
        Filters { stride: 2, ..self }
    }
}

/// A convolution with a bias: PyTorch's `nn.Conv2d`.
#[derive(Debug)]
pub struct Convolution<T> {
    filters: Array<T, 4>,
    bias: Array<T, 1>,
    shape: Filters,
}

impl<T: Element> Convolution<T> {
    /// Takes `weight`, `[outputs, inputs, rows, columns]`, and `bias`.
    ///
    /// # Errors
    /// Those of [`Weights::array`].
    pub fn load(weights: &Weights, shape: Filters) -> Result<Convolution<T>> {
        let Filters {
            inputs, outputs, size, ..
        } = shape;
        Ok(Convolution {
            filters: weights.filters("weight", [outputs, size, size, inputs])?,
            bias: weights.array("bias", [outputs])?,
            shape,
        })
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
        let Filters {
            inputs,
            outputs,
            size,
            stride,
            padding,
        } = self.shape;
        let [images, rows, columns, channels] = x.shape();
        if channels != inputs {
            return refuse("Convolution", format!("images with {inputs} channels"), &x.shape());
        }
        let places = |length: usize| {
            (length + 2 * padding)
                .checked_sub(size)
                .map_or(0, |rest| rest / stride + 1)
        };
        run.make([images, places(rows), places(columns), outputs], |reads, y| {
            let convolution = run.linalg().convolution(reads.view(x)?, self.filters.view());
            let convolution = convolution
                .bias(self.bias.view())
                .stride([stride; 2])
                .padding([padding; 2]);
            Ok(convolution.activation(activation).eval_into(y)?)
        })
    }
}
