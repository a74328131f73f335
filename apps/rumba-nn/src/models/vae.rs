//! The variational autoencoder of Stable Diffusion: decodes latents to images, and encodes images to latents.

use super::blocks::{PixelAttention, Resnet};
use crate::error::Result;
use crate::layers::{Activation, Convolution, Filters, GroupNorm};
use crate::run::Run;
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use crate::weights::Weights;

/// The epsilon of norms, which keeps their divisor above zero.
const EPSILON: f32 = 1e-6;

/// How large a [`VaeDecoder`] and a [`VaeEncoder`] are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaeShape {
    /// Channels of a latent.
    pub latent: usize,
    /// Channels of an image.
    pub channels: usize,
    /// The channels of each level, the first being that of whole images.
    pub levels: Vec<usize>,
    /// Blocks of a level of the encoder. The decoder has one more.
    pub blocks: usize,
    /// Groups of the norms.
    pub groups: usize,
}

impl VaeShape {
    /// The shape of Stable Diffusion 1 and 2.
    #[must_use]
    pub fn stable_diffusion() -> VaeShape {
        VaeShape { latent: 4, channels: 3, levels: vec![128, 256, 512, 512], blocks: 2, groups: 32 }
    }

    fn resnet<T: Element>(&self, weights: &Weights, widths: [usize; 2]) -> Result<Resnet<T>> {
        Resnet::load(weights, widths, None, self.groups, EPSILON)
    }
}

/// Blocks for the smallest images.
#[derive(Debug)]
struct Middle<T> {
    first: Resnet<T>,
    attention: PixelAttention<T>,
    second: Resnet<T>,
}

impl<T: Element> Middle<T> {
    fn load(weights: &Weights, shape: &VaeShape) -> Result<Middle<T>> {
        let width = shape.levels[shape.levels.len() - 1];
        let resnet = |name| shape.resnet(&weights.at(name), [width; 2]);
        Ok(Middle {
            first: resnet("resnets.0")?,
            attention: PixelAttention::load(&weights.at("attentions.0"), width, 1, shape.groups, EPSILON)?,
            second: resnet("resnets.1")?,
        })
    }

    fn forward(&self, run: &Run, x: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        let mut x = self.first.forward(run, x, None)?;
        x = self.attention.forward(run, &x)?;
        self.second.forward(run, &x, None)
    }
}

/// Blocks for images of one size, and the convolution that makes them half or twice as large.
#[derive(Debug)]
struct Level<T> {
    resnets: Vec<Resnet<T>>,
    resize: Option<Convolution<T>>,
}

impl<T: Element> Level<T> {
    fn resnets(&self, run: &Run, mut x: Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        for resnet in &self.resnets {
            x = resnet.forward(run, &x, None)?;
        }
        Ok(x)
    }
}

/// The decoder of a variational autoencoder (Kingma, Welling 2014): that of diffusers' `AutoencoderKL`.
#[derive(Debug)]
pub struct VaeDecoder<T> {
    enter: Convolution<T>,
    first: Convolution<T>,
    middle: Middle<T>,
    up: Vec<Level<T>>,
    norm: GroupNorm<T>,
    last: Convolution<T>,
}

impl<T: Element> VaeDecoder<T> {
    /// Takes the decoder's weights of an `AutoencoderKL`.
    ///
    /// # Errors
    /// The errors of [`Weights::array`], and of layers that do not fit the shape.
    ///
    /// # Panics
    /// If the shape has no levels.
    pub fn load(weights: &Weights, shape: &VaeShape) -> Result<VaeDecoder<T>> {
        let VaeShape { latent, channels, ref levels, blocks, groups } = *shape;
        let (width, deepest) = (levels[0], levels[levels.len() - 1]);
        let decoder = weights.at("decoder");
        let convolution = |weights: Weights, filters| Convolution::load(&weights, filters);

        let mut before = deepest;
        let mut up = Vec::new();
        for (index, &own) in levels.iter().rev().enumerate() {
            let weights = decoder.at("up_blocks").at(index);
            let mut resnets = Vec::new();
            for block in 0..=blocks {
                resnets.push(shape.resnet(&weights.at("resnets").at(block), [before, own])?);
                before = own;
            }
            let resize = (index + 1 < levels.len())
                .then(|| convolution(weights.at("upsamplers.0.conv"), Filters::of_3(own, own)))
                .transpose()?;
            up.push(Level { resnets, resize });
        }
        Ok(VaeDecoder {
            enter: convolution(weights.at("post_quant_conv"), Filters::of_1(latent, latent))?,
            first: convolution(decoder.at("conv_in"), Filters::of_3(latent, deepest))?,
            middle: Middle::load(&decoder.at("mid_block"), shape)?,
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
        x = self.middle.forward(run, &x)?;
        for level in &self.up {
            x = level.resnets(run, x)?;
            if let Some(double) = &level.resize {
                x = run.upsample(&x)?;
                x = double.forward(run, &x)?;
            }
        }
        x = self.norm.activated(run, &x, Activation::Silu)?;
        self.last.forward(run, &x)
    }
}

/// The encoder of a variational autoencoder: that of diffusers' `AutoencoderKL`.
#[derive(Debug)]
pub struct VaeEncoder<T> {
    first: Convolution<T>,
    down: Vec<Level<T>>,
    middle: Middle<T>,
    norm: GroupNorm<T>,
    last: Convolution<T>,
    leave: Convolution<T>,
}

impl<T: Element> VaeEncoder<T> {
    /// Takes the encoder's weights of an `AutoencoderKL`.
    ///
    /// # Errors
    /// The errors of [`Weights::array`], and of layers that do not fit the shape.
    ///
    /// # Panics
    /// If the shape has no levels.
    pub fn load(weights: &Weights, shape: &VaeShape) -> Result<VaeEncoder<T>> {
        let VaeShape { latent, channels, ref levels, blocks, groups } = *shape;
        let (width, deepest) = (levels[0], levels[levels.len() - 1]);
        let encoder = weights.at("encoder");
        let convolution = |weights: Weights, filters| Convolution::load(&weights, filters);

        let mut before = width;
        let mut down = Vec::new();
        for (index, &own) in levels.iter().enumerate() {
            let weights = encoder.at("down_blocks").at(index);
            let mut resnets = Vec::new();
            for block in 0..blocks {
                resnets.push(shape.resnet(&weights.at("resnets").at(block), [before, own])?);
                before = own;
            }
            let filters = Filters::of_3(own, own).unpadded().halving();
            let resize = (index + 1 < levels.len())
                .then(|| convolution(weights.at("downsamplers.0.conv"), filters))
                .transpose()?;
            down.push(Level { resnets, resize });
        }
        Ok(VaeEncoder {
            first: convolution(encoder.at("conv_in"), Filters::of_3(channels, width))?,
            down,
            middle: Middle::load(&encoder.at("mid_block"), shape)?,
            norm: GroupNorm::load(&encoder.at("conv_norm_out"), deepest, groups, EPSILON)?,
            last: convolution(encoder.at("conv_out"), Filters::of_3(deepest, 2 * latent))?,
            leave: convolution(weights.at("quant_conv"), Filters::of_1(2 * latent, 2 * latent))?,
        })
    }

    /// The distributions of the latents of images, `[images, rows, columns, channels]`: for each latent its mean, and behind those of all
    /// channels the logarithm of its variance. Rows and columns are to be multiples of two to the power of the levels but one.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of images with other channels; the runtime's.
    pub fn forward(&self, run: &Run, images: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        let mut x = self.first.forward(run, images)?;
        for level in &self.down {
            x = level.resnets(run, x)?;
            if let Some(halve) = &level.resize {
                // Zeros lie behind the last row and column only.
                x = run.padded(&x)?;
                x = halve.forward(run, &x)?;
            }
        }
        x = self.middle.forward(run, &x)?;
        x = self.norm.activated(run, &x, Activation::Silu)?;
        x = self.last.forward(run, &x)?;
        self.leave.forward(run, &x)
    }
}
