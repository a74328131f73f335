//! Group and layer norm.

use super::{Activation, refuse};
use crate::error::Result;
use crate::run::Run;
use crate::run::element::{Element, in_one_piece};
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::LaunchConfig;
use rumba::array::Array;

/// The norm of each group of channels of each image: PyTorch's `nn.GroupNorm`, for images that lie as
/// `[images, rows, columns, channels]`.
#[derive(Debug)]
pub struct GroupNorm<T> {
    scale: Array<T, 1>,
    shift: Array<T, 1>,
    groups: usize,
    epsilon: f32,
}

impl<T: Element> GroupNorm<T> {
    /// Takes `weight` and `bias`, a number for each channel.
    ///
    /// # Errors
    /// Those of [`Weights::array`]; [`Error::Shape`](crate::Error::Shape) unless the groups share the channels out.
    pub fn load(weights: &Weights, channels: usize, groups: usize, epsilon: f32) -> Result<GroupNorm<T>> {
        if groups == 0 || !channels.is_multiple_of(groups) {
            return refuse("GroupNorm", format!("channels in {groups} groups"), &[channels]);
        }
        Ok(GroupNorm {
            scale: weights.array("weight", [channels])?,
            shift: weights.array("bias", [channels])?,
            groups,
            epsilon,
        })
    }

    /// Computes it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of images with other channels; the runtime's.
    pub fn forward(&self, run: &Run, x: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        self.activated(run, x, Activation::Identity)
    }

    /// Computes it, and a function of each result.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn activated(&self, run: &Run, x: &Tensor<T, 4>, function: Activation) -> Result<Tensor<T, 4>> {
        let ([images, rows, columns, channels], groups) = (x.shape(), self.groups);
        if channels != self.scale.len() {
            let wanted = format!("images with {} channels", self.scale.len());
            return refuse("GroupNorm", wanted, &x.shape());
        }
        let (pixels, each) = (rows * columns, channels / groups);
        if x.is_empty() {
            return Ok(x.clone());
        }
        let factors = run.make([images, 1, channels], |reads, factors| {
            let x = reads
                .view(x)?
                .reshape([images, pixels, groups, each])?
                .permute([0, 2, 1, 3]);
            let factors = (in_one_piece(factors), [images * groups, each]);
            let call = T::group_factors(x, self.scale.as_slice(), self.shift.as_slice(), self.epsilon, factors);
            run.launch(run.module(), LaunchConfig::grid((images * groups) as u32), call)
        })?;
        run.make(x.shape(), |reads, y| {
            let shape = [images, pixels, channels];
            let call = T::normalise(reads.view(x)?.reshape(shape)?, reads.view(&factors)?, function.number());
            run.map(call, y.reshape(shape)?)
        })
    }
}

/// The norm of the last axis: PyTorch's `nn.LayerNorm`.
#[derive(Debug)]
pub struct LayerNorm<T> {
    scale: Array<T, 1>,
    shift: Array<T, 1>,
    epsilon: f32,
}

impl<T: Element> LayerNorm<T> {
    /// Takes `weight` and `bias`, a number for each element of a row.
    ///
    /// # Errors
    /// Those of [`Weights::array`].
    pub fn load(weights: &Weights, columns: usize, epsilon: f32) -> Result<LayerNorm<T>> {
        Ok(LayerNorm {
            scale: weights.array("weight", [columns])?,
            shift: weights.array("bias", [columns])?,
            epsilon,
        })
    }

    /// Computes it.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of rows of another length; the runtime's.
    pub fn forward<const N: usize>(&self, run: &Run, x: &Tensor<T, N>) -> Result<Tensor<T, N>> {
        let columns = self.scale.len();
        if x.shape().last() != Some(&columns) {
            return refuse("LayerNorm", format!("rows of {columns} elements"), &x.shape());
        }
        let rows = x.len() / columns.max(1);
        run.make(x.shape(), |reads, y| {
            let (scale, shift, y) = (self.scale.as_slice(), self.shift.as_slice(), in_one_piece(y));
            let call = T::layer_norm(reads.slice(x)?, scale, shift, self.epsilon, (y, [rows, columns]));
            run.launch_rows(rows, call)
        })
    }
}
