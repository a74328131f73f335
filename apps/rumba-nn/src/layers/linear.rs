//! Products with a matrix of weights.

use super::{Activation, refuse};
use crate::error::Result;
use crate::run::Run;
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::array::Array;
use rumba::linalg;

/// `x Wᵀ + b` of the last axis: PyTorch's `nn.Linear`.
#[derive(Debug)]
pub struct Linear<T> {
    weight: Array<T, 2>,
    bias: Option<Array<T, 1>>,
}

impl<T: Element> Linear<T> {
    /// Takes `weight`, `[outputs, inputs]`, and `bias`.
    ///
    /// # Errors
    /// The errors of [`Weights::array`].
    pub fn load(weights: &Weights, [inputs, outputs]: [usize; 2]) -> Result<Linear<T>> {
        let bias = Some(weights.array("bias", [outputs])?);
        Ok(Linear { bias, ..Linear::load_unbiased(weights, [inputs, outputs])? })
    }

    /// Takes `weight` alone.
    ///
    /// # Errors
    /// The errors of [`Weights::array`].
    pub fn load_unbiased(weights: &Weights, [inputs, outputs]: [usize; 2]) -> Result<Linear<T>> {
        Ok(Linear { weight: weights.array("weight", [outputs, inputs])?, bias: None })
    }

    /// Several products with the same rows as one product: their results lie one behind the other in each row. All have
    /// `outputs` outputs.
    pub(crate) fn load_parts(parts: &[&Weights], [inputs, outputs]: [usize; 2], biased: bool) -> Result<Linear<T>> {
        let together = |name: &str, shape: &[usize]| -> Result<Vec<T>> {
            let parts = parts.iter().map(|part| part.numbers(name, shape));
            Ok(parts.collect::<Result<Vec<Vec<T>>>>()?.concat())
        };
        let Some(first) = parts.first() else {
            return refuse("Linear", "a product".to_owned(), &[0]);
        };
        let (device, rows) = (first.nn().device(), outputs * parts.len());
        let weight = Array::from_slice(device, [rows, inputs], &together("weight", &[outputs, inputs])?)?;
        let bias = match biased {
            true => Some(Array::from_slice(device, [rows], &together("bias", &[outputs])?)?),
            false => None,
        };
        Ok(Linear { weight, bias })
    }

    /// Takes `weight` and `bias` of a convolution with filters of 1 by 1, `[outputs, inputs, 1, 1]`, which is a product for each pixel.
    ///
    /// # Errors
    /// The errors of [`Weights::array`].
    pub fn load_filters(weights: &Weights, [inputs, outputs]: [usize; 2]) -> Result<Linear<T>> {
        let filters: Array<T, 4> = weights.array("weight", [outputs, inputs, 1, 1])?;
        Ok(Linear { weight: filters.reshape([outputs, inputs])?, bias: Some(weights.array("bias", [outputs])?) })
    }

    /// Computes it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) unless the length of the last axis is the number of inputs; errors of the
    /// runtime.
    pub fn forward<const N: usize>(&self, run: &Run, x: &Tensor<T, N>) -> Result<Tensor<T, N>> {
        self.compute(run, x, linalg::Activation::Identity, None)
    }

    /// Computes it, and a function of each result.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn activated<const N: usize>(&self, run: &Run, x: &Tensor<T, N>, function: Activation) -> Result<Tensor<T, N>> {
        match function.fused() {
            Some(fused) => self.compute(run, x, fused, None),
            None => run.activate(&self.forward(run, x)?, function),
        }
    }

    /// Computes it, and adds another tensor.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and if the other tensor has another shape than the result.
    pub fn added<const N: usize>(&self, run: &Run, x: &Tensor<T, N>, residual: &Tensor<T, N>) -> Result<Tensor<T, N>> {
        self.compute(run, x, linalg::Activation::Identity, Some(residual))
    }

    fn compute<const N: usize>(
        &self,
        run: &Run,
        x: &Tensor<T, N>,
        activation: linalg::Activation,
        residual: Option<&Tensor<T, N>>,
    ) -> Result<Tensor<T, N>> {
        let [outputs, inputs] = self.weight.shape();
        let mut shape = x.shape();
        match shape.last_mut() {
            Some(last) if *last == inputs => *last = outputs,
            _ => return refuse("Linear", format!("rows of {inputs} elements"), &x.shape()),
        }
        if let Some(residual) = residual
            && residual.shape() != shape
        {
            return refuse("Linear", format!("a residual of shape {shape:?}"), &residual.shape());
        }
        let rows = x.len() / inputs.max(1);
        run.make(shape, |reads, y| {
            let x = reads.view(x)?.reshape([rows, inputs])?;
            let mut product = run.linalg().product(x, self.weight.transpose()).activation(activation);
            if let Some(bias) = &self.bias {
                product = product.bias(bias);
            }
            if let Some(residual) = residual {
                product = product.residual(reads.view(residual)?.reshape([rows, outputs])?);
            }
            Ok(product.eval_into(y.reshape([rows, outputs])?)?)
        })
    }
}
