//! The blocks that networks for images are made of.

use crate::error::Result;
use crate::layers::{Activation, Attention, Convolution, Filters, GroupNorm, Heads, Linear};
use crate::run::Run;
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::linalg::Mask;

/// Two convolutions, between which a time may be added, beside the images themselves: diffusers' `ResnetBlock2D`.
#[derive(Debug)]
pub struct Resnet<T> {
    first: (GroupNorm<T>, Convolution<T>),
    time: Option<Linear<T>>,
    second: (GroupNorm<T>, Convolution<T>),
    /// Where the channels become others.
    shortcut: Option<Linear<T>>,
}

impl<T: Element> Resnet<T> {
    /// Takes the weights of a `ResnetBlock2D`. `time` is how many numbers stand for a time, if there is one; the norms have so many groups, and
    /// divide by the root of the variance and `epsilon`.
    ///
    /// # Errors
    /// The errors of [`Weights::array`], and of norms whose groups do not divide the channels.
    pub fn load(
        weights: &Weights,
        [inputs, outputs]: [usize; 2],
        time: Option<usize>,
        groups: usize,
        epsilon: f32,
    ) -> Result<Resnet<T>> {
        let norm = |name, channels| GroupNorm::load(&weights.at(name), channels, groups, epsilon);
        let time = time.map(|time| Linear::load(&weights.at("time_emb_proj"), [time, outputs]));
        let convolution = |name, filters| Convolution::load(&weights.at(name), filters);
        let shortcut = || Linear::load_filters(&weights.at("conv_shortcut"), [inputs, outputs]);
        let shortcut = (inputs != outputs).then(shortcut);
        Ok(Resnet {
            first: (norm("norm1", inputs)?, convolution("conv1", Filters::of_3(inputs, outputs))?),
            time: time.transpose()?,
            second: (norm("norm2", outputs)?, convolution("conv2", Filters::of_3(outputs, outputs))?),
            shortcut: shortcut.transpose()?,
        })
    }

    /// `x` is `[images, rows, columns, inputs]`, and `time` a row for each image, activated already.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of images with other channels, and of other times; the runtime's.
    // ANCHOR: resnet
    pub fn forward(&self, run: &Run, x: &Tensor<T, 4>, time: Option<&Tensor<T, 2>>) -> Result<Tensor<T, 4>> {
        let mut y = self.first.0.activated(run, x, Activation::Silu)?;
        y = self.first.1.forward(run, &y)?;
        y = match (&self.time, time) {
            (Some(linear), Some(time)) => {
                let rows = linear.forward(run, time)?;
                self.second.0.activated_with(run, &y, &rows, Activation::Silu)?
            }
            _ => self.second.0.activated(run, &y, Activation::Silu)?,
        };
        y = self.second.1.forward(run, &y)?;
        match &self.shortcut {
            Some(shortcut) => shortcut.added(run, x, &y),
            None => run.add(x, &y),
        }
    }
    // ANCHOR_END: resnet
}

/// Attention of the pixels of an image to each other, added to them: diffusers' `Attention` of images.
#[derive(Debug)]
pub(super) struct PixelAttention<T> {
    norm: GroupNorm<T>,
    attention: Attention<T>,
}

impl<T: Element> PixelAttention<T> {
    pub(super) fn load(
        weights: &Weights,
        channels: usize,
        heads: usize,
        groups: usize,
        epsilon: f32,
    ) -> Result<PixelAttention<T>> {
        let heads = Heads { channels, context: None, count: heads, biased: true };
        // Files from before 2023 have the older names; diffusers reads both.
        let names = if weights.has("query.weight") {
            ["query", "key", "value", "proj_attn"]
        } else {
            ["to_q", "to_k", "to_v", "to_out.0"]
        };
        Ok(PixelAttention {
            norm: GroupNorm::load(&weights.at("group_norm"), channels, groups, epsilon)?,
            attention: Attention::load_named(weights, heads, names)?,
        })
    }

    pub(super) fn forward(&self, run: &Run, x: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        let [images, rows, columns, channels] = x.shape();
        let flat = [images, rows * columns, channels];
        let normed = self.norm.forward(run, x)?.reshape(flat);
        let y = self.attention.added(run, &normed, None, Mask::None, &x.reshape(flat))?;
        Ok(y.reshape(x.shape()))
    }
}
