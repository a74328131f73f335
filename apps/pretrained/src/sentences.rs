//! Sentences as vectors: networks of the kind of sentence-transformers (Reimers, Gurevych 2019), whose cosine says how much two mean the same.

use crate::error::{Error, Result, parse};
use rumba::array::Array;
use rumba_nn::models::{Bert, BertShape};
use rumba_nn::{Activation, Element, Nn, Weights};
use serde::Deserialize;
use std::path::Path;
use tokenizers::{Tokenizer, TruncationParams};

/// How many words of a sentence are read, which is what the network was trained on.
const LONGEST: usize = 256;

/// A network for sentences, and its tokenizer.
#[derive(Debug)]
pub struct Sentences<T> {
    nn: Nn,
    tokenizer: Tokenizer,
    network: Bert<T>,
    width: usize,
}

/// The fields of a `config.json` of transformers that this module reads.
#[derive(Deserialize)]
struct Config {
    model_type: String,
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    vocab_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    layer_norm_eps: f32,
}

fn absolute() -> String {
    "absolute".to_owned()
}

impl<T: Element> Sentences<T> {
    /// Reads `config.json`, `tokenizer.json` and `model.safetensors` of a folder.
    ///
    /// # Errors
    /// [`Error::Unreadable`], [`Error::Model`]; those of [`Weights::open`] and [`Bert::load`].
    pub fn open(nn: &Nn, folder: &Path) -> Result<Sentences<T>> {
        let file = folder.join("config.json");
        let config: Config = parse(&file)?;
        let kinds = [
            ("model_type", &config.model_type, "bert"),
            ("hidden_act", &config.hidden_act, "gelu"),
            ("position_embedding_type", &config.position_embedding_type, "absolute"),
        ];
        for (setting, value, only) in kinds {
            if value != only {
                let reason = format!("`{setting}` is {value}, and only {only} is supported");
                return Err(Error::Model { file, reason });
            }
        }
        let shape = BertShape {
            words: config.vocab_size,
            positions: config.max_position_embeddings,
            kinds: config.type_vocab_size,
            width: config.hidden_size,
            layers: config.num_hidden_layers,
            heads: config.num_attention_heads,
            inner: config.intermediate_size,
            activation: Activation::Gelu,
            epsilon: config.layer_norm_eps,
        };
        let file = folder.join("tokenizer.json");
        let longest = LONGEST.min(shape.positions);
        Ok(Sentences {
            tokenizer: tokenizer(&file, longest).map_err(|error| Error::Model { file, reason: error.to_string() })?,
            network: Bert::load(&Weights::open(nn, folder.join("model.safetensors"))?, &shape)?,
            nn: nn.clone(),
            width: shape.width,
        })
    }

    /// The tokens of a sentence, including the tokens for beginning and end. Excess tokens are cut off.
    ///
    /// # Errors
    /// [`Error::Sentence`].
    pub fn words(&self, sentence: &str) -> Result<Vec<u32>> {
        match self.tokenizer.encode(sentence, true) {
            Ok(encoding) => Ok(encoding.get_ids().to_vec()),
            Err(error) => Err(Error::Sentence { sentence: sentence.to_owned(), error: error.to_string() }),
        }
    }

    /// The vector of a sentence, of length 1: the mean of what stands for its words.
    ///
    /// # Errors
    /// As [`words`](Self::words); the runtime's.
    pub fn embed(&self, sentence: &str) -> Result<Vec<f32>> {
        let (device, words) = (self.nn.device(), self.words(sentence)?);
        let ids = Array::from_slice(device, [1, words.len()], &words)?;
        let mut numbers = Array::zeros(device, [1, words.len(), self.width])?;
        self.nn.run(|run| {
            let text = self.network.forward(run, ids.view())?;
            run.write(&text, numbers.view_mut())
        })?;
        let numbers = numbers.to_vec()?;
        let mut sum = vec![0.0_f32; self.width];
        for word in numbers.chunks_exact(self.width) {
            for (sum, number) in sum.iter_mut().zip(word) {
                *sum += number;
            }
        }
        let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        Ok(sum.iter().map(|x| x / length).collect())
    }
}

/// The tokenizer of a file, without the padding that it asks for.
fn tokenizer(file: &Path, longest: usize) -> tokenizers::Result<Tokenizer> {
    let mut tokenizer = Tokenizer::from_file(file)?;
    tokenizer.with_padding(None);
    tokenizer.with_truncation(Some(TruncationParams { max_length: longest, ..TruncationParams::default() }))?;
    Ok(tokenizer)
}

/// The cosine of the angle between two vectors.
pub fn cosine(x: &[f32], y: &[f32]) -> f64 {
    let product = |x: &[f32], y: &[f32]| -> f64 { x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum() };
    product(x, y) / (product(x, x) * product(y, y)).sqrt()
}
