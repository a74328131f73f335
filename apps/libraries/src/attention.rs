//! Attention forward, with its heads one after the other.

use anyhow::{Result, bail};
use cuda_std::half::{bf16, f16};
use rumba::array::Array;
use rumba::linalg::{Attention as Options, AttentionElement, Linalg, Mask};
use rumba::{Device, Stream};
use serde::Deserialize;

use crate::numbers::{Number, Random, relative_error};
use crate::{Work, only};

/// Attention of as many queries as keys.
#[derive(Clone, Debug, Deserialize)]
pub struct Attention {
    element: String,
    batch: usize,
    heads: usize,
    length: usize,
    size: usize,
    causal: bool,
    /// Restricts the case to one kind of kernel.
    #[serde(default)]
    only: Option<String>,
}

/// How many rows of the result are compared.
const SAMPLE: usize = 30;

struct Operands<T> {
    linalg: Linalg,
    attention: Attention,
    queries: Array<T, 4>,
    keys: Array<T, 4>,
    values: Array<T, 4>,
    output: Array<T, 4>,
}

impl Attention {
    pub fn prepare(self, device: &Device) -> Result<Box<dyn Work>> {
        Ok(match &*self.element {
            "f16" => Box::new(Operands::<f16>::make(device, self)?),
            "bf16" => Box::new(Operands::<bf16>::make(device, self)?),
            other => bail!("no attention of elements `{other}`"),
        })
    }
}

impl<T: AttentionElement + Number> Operands<T> {
    fn make(device: &Device, attention: Attention) -> Result<Self> {
        let Attention { batch, heads, length, size, .. } = attention;
        let shape = [batch, heads, length, size];
        let mut random = Random(1);
        let mut normal = || Array::from_slice(device, shape, &random.normal::<T>(shape.iter().product()));
        Ok(Self {
            linalg: only(Linalg::new(device), attention.only.as_deref()),
            queries: normal()?,
            keys: normal()?,
            values: normal()?,
            output: Array::full(device, shape, T::rounded(0.0))?,
            attention,
        })
    }
}

impl<T: AttentionElement + Number> Work for Operands<T> {
    fn kernel(&self) -> String {
        format!("heads of {}", self.attention.size)
    }

    fn launch(&mut self, stream: &Stream) -> rumba::Result<()> {
        let mask = if self.attention.causal { Mask::Causal } else { Mask::None };
        let options = Options { mask, ..Options::default() };
        let linalg = self.linalg.on(stream);
        linalg.attention(&self.queries, &self.keys, &self.values, &mut self.output, options)
    }

    fn error(&self) -> Result<f64> {
        let Attention { batch, heads, length, size, causal, .. } = self.attention;
        let (q, k, v) = (self.queries.to_vec()?, self.keys.to_vec()?, self.values.to_vec()?);
        let output = self.output.to_vec()?;
        let mut random = Random(2);
        let mut pairs = Vec::new();
        for _ in 0..SAMPLE {
            let (head, row) = (random.below(batch * heads), random.below(length));
            let vector = |array: &[T], j: usize| -> Vec<f64> {
                array[(head * length + j) * size..][..size].iter().map(|x| x.exact()).collect()
            };
            let query = vector(&q, row);
            let seen = if causal { row + 1 } else { length };
            let scores = (0..seen).map(|j| query.iter().zip(vector(&k, j)).map(|(q, k)| q * k).sum::<f64>());
            let scores: Vec<f64> = scores.map(|score| score / (size as f64).sqrt()).collect();
            let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let (mut sum, mut exact) = (0.0, vec![0.0; size]);
            for (j, score) in scores.into_iter().enumerate() {
                let weight = (score - top).exp();
                sum += weight;
                for (exact, value) in exact.iter_mut().zip(vector(&v, j)) {
                    *exact += weight * value;
                }
            }
            let exact = exact.into_iter().map(|exact| exact / sum);
            pairs.extend(vector(&output, row).into_iter().zip(exact));
        }
        Ok(relative_error(&pairs))
    }
}
