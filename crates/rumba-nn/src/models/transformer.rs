//! What Stable Diffusion's U-Net looks at a text with: pixels attend to each other, then to the words.

use crate::error::Result;
use crate::layers::{Attention, Convolution, Filters, GroupNorm, Heads, LayerNorm, Linear};
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
    enter: Product<T>,
    blocks: Vec<Block<T>>,
    leave: Product<T>,
}

#[derive(Debug)]
enum Product<T> {
    Convolution(Convolution<T>),
    Matrix(Linear<T>),
}

#[derive(Debug)]
struct Block<T> {
    norms: [LayerNorm<T>; 3],
    pixels: Attention<T>,
    words: Attention<T>,
    inner: [Linear<T>; 2],
}

impl<T: Element> Product<T> {
    fn load(weights: &Weights, channels: usize, projection: Projection) -> Result<Product<T>> {
        Ok(match projection {
            Projection::Convolution => {
                Product::Convolution(Convolution::load(weights, Filters::of_1(channels, channels))?)
            }
            Projection::Matrix => Product::Matrix(Linear::load(weights, [channels; 2])?),
        })
    }

    fn forward(&self, run: &Run, x: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        match self {
            Product::Convolution(convolution) => convolution.forward(run, x),
            Product::Matrix(linear) => linear.forward(run, x),
        }
    }
}

impl<T: Element> Block<T> {
    fn load(weights: &Weights, shape: &TransformerShape) -> Result<Block<T>> {
        let width = shape.channels;
        let norm = |name| LayerNorm::load(&weights.at(name), width, 1e-5);
        let attention = |name, context| {
            let heads = Heads {
                channels: width,
                context,
                count: shape.heads,
                biased: false,
            };
            Attention::load(&weights.at(name), heads)
        };
        let linear = |name, shape| Linear::load(&weights.at("ff.net").at(name), shape);
        Ok(Block {
            norms: [norm("norm1")?, norm("norm2")?, norm("norm3")?],
            pixels: attention("attn1", width)?,
            words: attention("attn2", shape.context)?,
            inner: [linear("0.proj", [width, 8 * width])?, linear("2", [4 * width, width])?],
        })
    }

    fn forward(&self, run: &Run, x: &Tensor<T, 3>, text: &Tensor<T, 3>) -> Result<Tensor<T, 3>> {
        let [first, second, third] = &self.norms;
        let mut normed = first.forward(run, x)?;
        let mut x = self.pixels.added(run, &normed, &normed, Mask::None, x)?;
        normed = second.forward(run, &x)?;
        x = self.words.added(run, &normed, text, Mask::None, &x)?;
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
    /// Those of [`Weights::array`], and of layers that the shape does not fit.
    pub fn load(weights: &Weights, shape: &TransformerShape) -> Result<Transformer<T>> {
        let TransformerShape {
            channels,
            groups,
            projection,
            ..
        } = *shape;
        let block = |index: usize| Block::load(&weights.at("transformer_blocks").at(index), shape);
        Ok(Transformer {
            norm: GroupNorm::load(&weights.at("norm"), channels, groups, 1e-6)?,
            enter: Product::load(&weights.at("proj_in"), channels, projection)?,
            blocks: (0..shape.blocks).map(block).collect::<Result<_>>()?,
            leave: Product::load(&weights.at("proj_out"), channels, projection)?,
        })
    }

    /// The images, with what they find in a text added: `[images, words, numbers]`.
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
        let mut y = tokens.reshape(x.shape());
        drop(tokens);
        y = self.leave.forward(run, &y)?;
        run.add(x, &y)
    }
}
