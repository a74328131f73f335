//! The text encoder of Stable Diffusion: its hidden states condition the diffusion model.

use crate::error::{Error, Result};
use crate::layers::{Activation, Attention, Embedding, Heads, LayerNorm, Linear};
use crate::run::Run;
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::array::ArrayView;
use rumba::linalg::Mask;

/// How large a [`ClipText`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClipTextShape {
    /// Tokens of the vocabulary.
    pub words: usize,
    /// The largest number of tokens in a text.
    pub positions: usize,
    /// Numbers of a token's embedding, and of its final hidden state.
    pub width: usize,
    /// Layers.
    pub layers: usize,
    /// Heads of each attention.
    pub heads: usize,
    /// Numbers of a token between the two products of a layer's feed-forward part.
    pub inner: usize,
    /// The function between these two products.
    pub activation: Activation,
}

impl ClipTextShape {
    /// The text encoder of Stable Diffusion 1.5: ViT-L/14.
    pub const STABLE_DIFFUSION_1: ClipTextShape = ClipTextShape {
        words: 49408,
        positions: 77,
        width: 768,
        layers: 12,
        heads: 12,
        inner: 3072,
        activation: Activation::QuickGelu,
    };

    /// The text encoder of Stable Diffusion 2.1: OpenCLIP's ViT-H/14 without its last layer.
    pub const STABLE_DIFFUSION_2: ClipTextShape = ClipTextShape {
        width: 1024,
        layers: 23,
        heads: 16,
        inner: 4096,
        activation: Activation::Gelu,
        ..ClipTextShape::STABLE_DIFFUSION_1
    };
}

/// A transformer for texts: `CLIPTextModel` of Hugging Face's transformers (Radford et al. 2021).
#[derive(Debug)]
pub struct ClipText<T> {
    words: Embedding<T>,
    positions: Embedding<T>,
    layers: Vec<Layer<T>>,
    norm: LayerNorm<T>,
    activation: Activation,
}

#[derive(Debug)]
struct Layer<T> {
    first: LayerNorm<T>,
    attention: Attention<T>,
    second: LayerNorm<T>,
    inner: [Linear<T>; 2],
}

impl<T: Element> ClipText<T> {
    /// Takes the weights of a `CLIPTextModel`, which lie [at](Weights::at) `text_model` in published files.
    ///
    /// # Errors
    /// The errors of [`Weights::array`], and of layers that do not fit the shape.
    pub fn load(weights: &Weights, shape: &ClipTextShape) -> Result<ClipText<T>> {
        let ClipTextShape { words, positions, width, layers, heads, inner, activation } = *shape;
        let embedding = |name, rows| Embedding::load(&weights.at("embeddings").at(name), [rows, width]);
        let heads = Heads { channels: width, context: None, count: heads, biased: true };
        let layer = |index: usize| -> Result<Layer<T>> {
            let weights = weights.at("encoder.layers").at(index);
            let norm = |name| LayerNorm::load(&weights.at(name), width, 1e-5);
            let linear = |name, shape| Linear::load(&weights.at("mlp").at(name), shape);
            let names = ["q_proj", "k_proj", "v_proj", "out_proj"];
            Ok(Layer {
                first: norm("layer_norm1")?,
                attention: Attention::load_named(&weights.at("self_attn"), heads, names)?,
                second: norm("layer_norm2")?,
                inner: [linear("fc1", [width, inner])?, linear("fc2", [inner, width])?],
            })
        };
        Ok(ClipText {
            words: embedding("token_embedding", words)?,
            positions: embedding("position_embedding", positions)?,
            layers: (0..layers).map(layer).collect::<Result<_>>()?,
            norm: LayerNorm::load(&weights.at("final_layer_norm"), width, 1e-5)?,
            activation,
        })
    }

    /// The final hidden state of each token, `[texts, words, width]`. The texts are arrays outside of the run, which
    /// hold numbers of tokens.
    ///
    /// # Errors
    /// [`Error::Shape`] if texts are too long or not in row-major order; errors of the runtime.
    pub fn forward(&self, run: &Run, texts: ArrayView<'_, u32, 2>) -> Result<Tensor<T, 3>> {
        let [count, length] = texts.shape();
        let [most, width] = self.positions.table().shape();
        let ids = texts.as_slice().filter(|_| length <= most).ok_or_else(|| Error::Shape {
            layer: "ClipText",
            wanted: format!("contiguous rows of {most} words at most"),
            shape: texts.shape().to_vec(),
        })?;
        let words = self.words.forward(run, ids)?;
        let mut x = run.make([count, length, width], |reads, sum| {
            let positions = self.positions.table().slice((..length, ..)).insert_axis(0);
            run.map(T::add(reads.view(&words)?.reshape([count, length, width])?, positions), sum)
        })?;
        drop(words);
        for layer in &self.layers {
            let normed = layer.first.forward(run, &x)?;
            x = layer.attention.added(run, &normed, None, Mask::Causal, &x)?;
            drop(normed);
            let [widen, narrow] = &layer.inner;
            let mut inner = layer.second.forward(run, &x)?;
            inner = widen.activated(run, &inner, self.activation)?;
            x = narrow.added(run, &inner, &x)?;
        }
        self.norm.forward(run, &x)
    }
}
