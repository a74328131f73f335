//! A bidirectional transformer for texts.

use crate::error::{Error, Result};
use crate::layers::{Activation, Attention, Embedding, Heads, LayerNorm, Linear};
use crate::run::Run;
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::array::ArrayView;
use rumba::linalg::Mask;

/// How large a [`Bert`] is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BertShape {
    /// Tokens of the vocabulary.
    pub words: usize,
    /// The largest number of tokens in a text.
    pub positions: usize,
    /// Token types (`type_vocab_size`); every token has the first type.
    pub kinds: usize,
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
    /// The epsilon of layer norms, which keeps their divisor above zero.
    pub epsilon: f32,
}

/// `BertModel` of Hugging Face's transformers (Devlin et al. 2019), without its pooler; a norm follows each sublayer
/// (post-norm).
#[derive(Debug)]
pub struct Bert<T> {
    words: Embedding<T>,
    positions: Embedding<T>,
    kinds: Embedding<T>,
    norm: LayerNorm<T>,
    layers: Vec<Layer<T>>,
    activation: Activation,
}

#[derive(Debug)]
struct Layer<T> {
    attention: (Attention<T>, LayerNorm<T>),
    inner: [Linear<T>; 2],
    norm: LayerNorm<T>,
}

impl<T: Element> Bert<T> {
    /// Takes the weights of a `BertModel`.
    ///
    /// # Errors
    /// The errors of [`Weights::array`], and of layers that do not fit the shape.
    pub fn load(weights: &Weights, shape: &BertShape) -> Result<Bert<T>> {
        let BertShape { width, inner, .. } = *shape;
        let embeddings = weights.at("embeddings");
        let table = |name, rows| Embedding::load(&embeddings.at(name), [rows, width]);
        let norm = |weights: &Weights| LayerNorm::load(&weights.at("LayerNorm"), width, shape.epsilon);
        let heads = Heads { channels: width, context: None, count: shape.heads, biased: true };
        let layer = |index: usize| -> Result<Layer<T>> {
            let weights = weights.at("encoder.layer").at(index);
            let attention = weights.at("attention");
            let names = ["self.query", "self.key", "self.value", "output.dense"];
            let linear = |name, shape| Linear::load(&weights.at(name), shape);
            Ok(Layer {
                attention: (Attention::load_named(&attention, heads, names)?, norm(&attention.at("output"))?),
                inner: [linear("intermediate.dense", [width, inner])?, linear("output.dense", [inner, width])?],
                norm: norm(&weights.at("output"))?,
            })
        };
        Ok(Bert {
            words: table("word_embeddings", shape.words)?,
            positions: table("position_embeddings", shape.positions)?,
            kinds: table("token_type_embeddings", shape.kinds)?,
            norm: norm(&embeddings)?,
            layers: (0..shape.layers).map(layer).collect::<Result<_>>()?,
            activation: shape.activation,
        })
    }

    /// The final hidden state of each token, `[texts, words, width]`. The texts are arrays outside of the run, which
    /// hold numbers of tokens; all texts have the same number of tokens, without padding.
    ///
    /// # Errors
    /// [`Error::Shape`] if texts are too long or not in row-major order; errors of the runtime.
    pub fn forward(&self, run: &Run, texts: ArrayView<'_, u32, 2>) -> Result<Tensor<T, 3>> {
        let [count, length] = texts.shape();
        let [most, width] = self.positions.table().shape();
        let ids = texts.as_slice().filter(|_| length <= most).ok_or_else(|| Error::Shape {
            layer: "Bert",
            wanted: format!("contiguous rows of {most} words at most"),
            shape: texts.shape().to_vec(),
        })?;
        let shape = [count, length, width];
        let mut x = self.words.forward(run, ids)?.reshape(shape);
        for rows in [self.kinds.table().slice((..1, ..)), self.positions.table().slice((..length, ..))] {
            x = run.make(shape, |reads, sum| run.map(T::add(reads.view(&x)?, rows.insert_axis(0)), sum))?;
        }
        x = self.norm.forward(run, &x)?;
        for layer in &self.layers {
            let (attention, norm) = &layer.attention;
            x = attention.added(run, &x, None, Mask::None, &x)?;
            x = norm.forward(run, &x)?;
            let [widen, narrow] = &layer.inner;
            let inner = widen.activated(run, &x, self.activation)?;
            x = narrow.added(run, &inner, &x)?;
            drop(inner);
            x = layer.norm.forward(run, &x)?;
        }
        Ok(x)
    }
}
