//! Attention with the products around it.

use super::{Linear, refuse};
use crate::error::Result;
use crate::run::Run;
use crate::run::element::Element;
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::linalg::Mask;

/// What an attention is between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Channels of the queries, and of the result.
    pub channels: usize,
    /// Channels of the keys and values: as many, if a tensor attends to itself.
    pub context: usize,
    /// Heads, which share the channels out.
    pub count: usize,
    /// Whether queries, keys and values have a bias. The result does in any case.
    pub biased: bool,
}

/// Attention of several heads, of a tensor to itself or to another: diffusers' `Attention`.
#[derive(Debug)]
pub struct Attention<T> {
    queries: Linear<T>,
    keys: Linear<T>,
    values: Linear<T>,
    result: Linear<T>,
    heads: Heads,
}

impl<T: Element> Attention<T> {
    /// Takes `to_q`, `to_k`, `to_v` and `to_out.0`.
    ///
    /// # Errors
    /// Those of [`Weights::array`]; [`Error::Shape`](crate::Error::Shape) unless the heads share the channels out.
    pub fn load(weights: &Weights, heads: Heads) -> Result<Attention<T>> {
        Attention::load_named(weights, heads, ["to_q", "to_k", "to_v", "to_out.0"])
    }

    /// Takes the same under other names.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_named(weights: &Weights, heads: Heads, names: [&str; 4]) -> Result<Attention<T>> {
        let Heads {
            channels,
            context,
            count,
            biased,
        } = heads;
        if count == 0 || !channels.is_multiple_of(count) {
            return refuse("Attention", format!("channels for {count} heads"), &[channels]);
        }
        let [queries, keys, values, result] = names;
        let linear = |name, inputs| {
            let (weights, shape) = (weights.at(name), [inputs, channels]);
            if biased {
                Linear::load(&weights, shape)
            } else {
                Linear::load_unbiased(&weights, shape)
            }
        };
        Ok(Attention {
            queries: linear(queries, channels)?,
            keys: linear(keys, context)?,
            values: linear(values, context)?,
            result: Linear::load(&weights.at(result), [channels, channels])?,
            heads,
        })
    }

    /// What each position of `x` finds at those of `context`, which is `x` itself in self-attention, and then `residual` added. All are
    /// `[batch, positions, channels]`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of tensors with other channels, batches or residuals; the runtime's.
    pub fn added(
        &self,
        run: &Run,
        x: &Tensor<T, 3>,
        context: &Tensor<T, 3>,
        mask: Mask,
        residual: &Tensor<T, 3>,
    ) -> Result<Tensor<T, 3>> {
        let attended = self.attend(run, x, context, mask)?;
        self.result.added(run, &attended, residual)
    }

    /// The same without a residual.
    ///
    /// # Errors
    /// As [`added`](Self::added).
    pub fn forward(&self, run: &Run, x: &Tensor<T, 3>, context: &Tensor<T, 3>, mask: Mask) -> Result<Tensor<T, 3>> {
        let attended = self.attend(run, x, context, mask)?;
        self.result.forward(run, &attended)
    }

    fn attend(&self, run: &Run, x: &Tensor<T, 3>, context: &Tensor<T, 3>, mask: Mask) -> Result<Tensor<T, 3>> {
        if context.shape()[0] != x.shape()[0] {
            return refuse(
                "Attention",
                format!("a context of batch {}", x.shape()[0]),
                &context.shape(),
            );
        }
        let heads = |linear: &Linear<T>, x: &Tensor<T, 3>| -> Result<Tensor<T, 4>> {
            let [batch, length, _] = x.shape();
            let Heads { channels, count, .. } = self.heads;
            Ok(linear
                .forward(run, x)?
                .reshape([batch, length, count, channels / count]))
        };
        let (q, k, v) = (
            heads(&self.queries, x)?,
            heads(&self.keys, context)?,
            heads(&self.values, context)?,
        );
        Ok(T::attention(run, [&q, &k, &v], mask)?.reshape(x.shape()))
    }
}
