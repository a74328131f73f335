//! What makes images of the latents that Stable Diffusion draws in.

use super::blocks::{PixelAttention, Resnet};
use crate::error::Result;
use crate::layers::{Activation, Convolution, Filters, GroupNorm};
use crate::run::Run;
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use crate::weights::Weights;

/// What norms divide by at least.
const EPSILON: f32 = 1e-6;

/// How large a [`VaeDecoder`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaeShape {
    /// Channels of a latent.
    pub latent: usize,
    /// Channels of an image.
    pub channels: usize,
    /// The channels of each level, the first being that of whole images.
    pub levels: Vec<usize>,
    /// Blocks of a level less one.
    pub blocks: usize,
    /// Groups of the norms.
    pub groups: usize,
}

impl VaeShape {
    /// That of Stable Diffusion 1 and 2.
    #[must_use]
    pub fn stable_diffusion() -> VaeShape {
        VaeShape {
            latent: 4,
            channels: 3,
            levels: vec![128, 256, 512, 512],
            blocks: 2,
            groups: 32,
        }
    }
}

/// The decoder of a variational autoencoder (Kingma, Welling 2014): that of diffusers' `AutoencoderKL`.
#[derive(Debug)]
pub struct VaeDecoder<T> {
    enter: Convolution<T>,
    first: Convolution<T>,
    middle: (Resnet<T>, PixelAttention<T>, Resnet<T>),
    up: Vec<Level<T>>,
    norm: GroupNorm<T>,
    last: Convolution<T>,
}

/// Blocks for images of one size, and the convolution after they became twice as large.
#[derive(Debug)]
struct Level<T> {
    resnets: Vec<Resnet<T>>,
    double: Option<Convolution<T>>,
}

impl<T: Element> VaeDecoder<T> {
    /// Takes the decoder's weights of an `AutoencoderKL`.
    ///
    /// # Errors
    /// Those of [`Weights::array`], and of layers that the shape does not fit.
    ///
    /// # Panics
    /// If the shape has no levels.
    pub fn load(weights: &Weights, shape: &VaeShape) -> Result<VaeDecoder<T>> {
        let VaeShape {
            latent,
            channels,
            ref levels,
            blocks,
            groups,
        } = *shape;
        let (width, deepest) = (levels[0], levels[levels.len() - 1]);
        let decoder = weights.at("decoder");
        let convolution = |weights: Weights, filters| Convolution::load(&weights, filters);
        let resnet = |weights: Weights, widths| Resnet::load(&weights, widths, None, groups, EPSILON);

        let mut before = deepest;
        let mut up = Vec::new();
        for (index, &own) in levels.iter().rev().enumerate() {
            let weights = decoder.at("up_blocks").at(index);
            let mut resnets = Vec::new();
            for block in 0..=blocks {
                resnets.push(resnet(weights.at("resnets").at(block), [before, own])?);
                before = own;
            }
            let double = (index + 1 < levels.len())
                .then(|| convolution(weights.at("upsamplers.0.conv"), Filters::of_3(own, own)))
                .transpose()?;
            up.push(Level { resnets, double });
        }
        let middle = decoder.at("mid_block");
        let attention = PixelAttention::load(&middle.at("attentions.0"), deepest, 1, groups, EPSILON)?;
        Ok(VaeDecoder {
            enter: convolution(weights.at("post_quant_conv"), Filters::of_1(latent, latent))?,
            first: convolution(decoder.at("conv_in"), Filters::of_3(latent, deepest))?,
            middle: (
                resnet(middle.at("resnets.0"), [deepest; 2])?,
                attention,
                resnet(middle.at("resnets.1"), [deepest; 2])?,
            ),
            up,
            norm: GroupNorm::load(&decoder.at("conv_norm_out"), width, groups, EPSILON)?,
            last: convolution(decoder.at("conv_out"), Filters::of_3(width, channels))?,
        })
    }

    /// The images of latents, `[images, rows, columns, channels]`, that are divided by the model's scaling factor already. Images have
    /// twice as many rows and columns for each level but one.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of latents with other channels; the runtime's.
    pub fn forward(&self, run: &Run, latents: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        let mut x = self.enter.forward(run, latents)?;
        x = self.first.forward(run, &x)?;
        let (first, attention, second) = &self.middle;
        x = first.forward(run, &x, None)?;
        x = attention.forward(run, &x)?;
        x = second.forward(run, &x, None)?;
        for Level { resnets, double } in &self.up {
            for resnet in resnets {
                x = resnet.forward(run, &x, None)?;
            }
            if let Some(double) = double {
                x = run.upsample(&x)?;
                x = double.forward(run, &x)?;
            }
        }
        x = self.norm.activated(run, &x, Activation::Silu)?;
        self.last.forward(run, &x)
    }
}
