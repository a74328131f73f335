//! The transformer blocks of Stable Diffusion's U-Net: pixels attend to each other, then to the tokens of the text.

use crate::error::Result;
use crate::layers::{Attention, GroupNorm, Heads, LayerNorm, Linear};
use crate::run::Run;
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::linalg::Mask;

/// How large a [`Transformer`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransformerShape {
    /// Channels of the images.
    pub channels: usize,
    /// Numbers of a word of the text.
    pub context: usize,
    /// Heads of each attention.
    pub heads: usize,
    /// Groups of the norm.
    pub groups: usize,
    /// Blocks, each with both attentions.
    pub blocks: usize,
    /// How the projections at the beginning and the end lie in the file.
    pub projection: Projection,
}

/// How a product for each pixel lies in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Projection {
    /// As a convolution of 1 by 1: Stable Diffusion 1.
    Convolution,
    /// As a matrix: Stable Diffusion 2.
    Matrix,
}

/// Attention of an image's pixels to each other and to a text: diffusers' `Transformer2DModel`.
#[derive(Debug)]
pub struct Transformer<T> {
    norm: GroupNorm<T>,
    enter: Linear<T>,
    blocks: Vec<Block<T>>,
    leave: Linear<T>,
}

#[derive(Debug)]
struct Block<T> {
    norms: [LayerNorm<T>; 3],
    pixels: Attention<T>,
    words: Attention<T>,
    inner: [Linear<T>; 2],
}

impl<T: Element> Block<T> {
    fn load(weights: &Weights, shape: &TransformerShape) -> Result<Block<T>> {
        let width = shape.channels;
        let norm = |name| LayerNorm::load(&weights.at(name), width, 1e-5);
        let attention = |name, context| {
            let heads = Heads { channels: width, context, count: shape.heads, biased: false };
            Attention::load(&weights.at(name), heads)
        };
        let linear = |name, shape| Linear::load(&weights.at("ff.net").at(name), shape);
        Ok(Block {
            norms: [norm("norm1")?, norm("norm2")?, norm("norm3")?],
            pixels: attention("attn1", None)?,
            words: attention("attn2", Some(shape.context))?,
            inner: [linear("0.proj", [width, 8 * width])?, linear("2", [4 * width, width])?],
        })
    }

    fn forward(&self, run: &Run, x: &Tensor<T, 3>, text: &Tensor<T, 3>) -> Result<Tensor<T, 3>> {
        let [first, second, third] = &self.norms;
        let mut normed = first.forward(run, x)?;
        let mut x = self.pixels.added(run, &normed, None, Mask::None, x)?;
        normed = second.forward(run, &x)?;
        x = self.words.added(run, &normed, Some(text), Mask::None, &x)?;
        normed = third.forward(run, &x)?;
        let [widen, narrow] = &self.inner;
        normed = widen.forward(run, &normed)?;
        normed = run.gated(&normed)?;
        narrow.added(run, &normed, &x)
    }
}

impl<T: Element> Transformer<T> {
    /// Takes the weights of a `Transformer2DModel`.
    ///
    /// # Errors
    /// The errors of [`Weights::array`], and of layers that do not fit the shape.
    pub fn load(weights: &Weights, shape: &TransformerShape) -> Result<Transformer<T>> {
        let TransformerShape { channels, groups, projection, .. } = *shape;
        let product = |name| match projection {
            Projection::Convolution => Linear::load_filters(&weights.at(name), [channels; 2]),
            Projection::Matrix => Linear::load(&weights.at(name), [channels; 2]),
        };
        let block = |index: usize| Block::load(&weights.at("transformer_blocks").at(index), shape);
        Ok(Transformer {
            norm: GroupNorm::load(&weights.at("norm"), channels, groups, 1e-6)?,
            enter: product("proj_in")?,
            blocks: (0..shape.blocks).map(block).collect::<Result<_>>()?,
            leave: product("proj_out")?,
        })
    }

    /// The images after attention to a text: `[images, words, numbers]`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of images or texts with other channels, and of as many texts; the runtime's.
    pub fn forward(&self, run: &Run, x: &Tensor<T, 4>, text: &Tensor<T, 3>) -> Result<Tensor<T, 4>> {
        let [images, rows, columns, channels] = x.shape();
        let mut y = self.norm.forward(run, x)?;
        y = self.enter.forward(run, &y)?;
        let mut tokens = y.reshape([images, rows * columns, channels]);
        drop(y);
        for block in &self.blocks {
            tokens = block.forward(run, &tokens, text)?;
        }
        self.leave.added(run, &tokens.reshape(x.shape()), x)
    }
}
