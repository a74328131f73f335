//! Attention with the products around it.

use super::{Linear, refuse};
use crate::error::Result;
use crate::run::Run;
use crate::run::element::{Element, Projected};
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::linalg::Mask;

/// The sizes of an attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Channels of the queries, and of the result.
    pub channels: usize,
    /// Channels of another tensor, to which a tensor attends: none if it attends to itself.
    pub context: Option<usize>,
    /// Heads, which share the channels out.
    pub count: usize,
    /// Whether queries, keys and values have a bias. The result does in any case.
    pub biased: bool,
}

/// Attention of several heads, of a tensor to itself or to another: diffusers' `Attention`.
#[derive(Debug)]
pub struct Attention<T> {
    /// Queries, and in self-attention keys and values behind them: one product.
    own: Linear<T>,
    /// Keys and values of another tensor.
    context: Option<Linear<T>>,
    result: Linear<T>,
    heads: Heads,
}

impl<T: Element> Attention<T> {
    /// Takes `to_q`, `to_k`, `to_v` and `to_out.0`.
    ///
    /// # Errors
    /// The errors of [`Weights::array`]; [`Error::Shape`](crate::Error::Shape) unless the heads divide the channels.
    pub fn load(weights: &Weights, heads: Heads) -> Result<Attention<T>> {
        Attention::load_named(weights, heads, ["to_q", "to_k", "to_v", "to_out.0"])
    }

    /// Takes the same under other names.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_named(weights: &Weights, heads: Heads, names: [&str; 4]) -> Result<Attention<T>> {
        let Heads { channels, context, count, biased } = heads;
        if count == 0 || !channels.is_multiple_of(count) {
            return refuse("Attention", format!("channels for {count} heads"), &[channels]);
        }
        let [queries, keys, values, result] = names.map(|name| weights.at(name));
        let linear = |parts: &[&Weights], inputs| Linear::load_parts(parts, [inputs, channels], biased);
        let (own, context) = match context {
            None => (linear(&[&queries, &keys, &values], channels)?, None),
            Some(inputs) => (linear(&[&queries], channels)?, Some(linear(&[&keys, &values], inputs)?)),
        };
        Ok(Attention { own, context, result: Linear::load(&result, [channels, channels])?, heads })
    }

    /// What each position of `x` finds at those of `context`, or of `x` itself without one, and then `residual` added. All are
    /// `[batch, positions, channels]`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of tensors with other channels, batches or residuals, and of a context where the weights are those
    /// of self-attention, or the other way round; the runtime's.
    pub fn added(
        &self,
        run: &Run,
        x: &Tensor<T, 3>,
        context: Option<&Tensor<T, 3>>,
        mask: Mask,
        residual: &Tensor<T, 3>,
    ) -> Result<Tensor<T, 3>> {
        let attended = self.attend(run, x, context, mask)?;
        self.result.added(run, &attended, residual)
    }

    /// The attention without a residual.
    ///
    /// # Errors
    /// As [`added`](Self::added).
    pub fn forward(
        &self,
        run: &Run,
        x: &Tensor<T, 3>,
        context: Option<&Tensor<T, 3>>,
        mask: Mask,
    ) -> Result<Tensor<T, 3>> {
        let attended = self.attend(run, x, context, mask)?;
        self.result.forward(run, &attended)
    }

    fn attend(&self, run: &Run, x: &Tensor<T, 3>, context: Option<&Tensor<T, 3>>, mask: Mask) -> Result<Tensor<T, 3>> {
        let Heads { channels, count, .. } = self.heads;
        let projected = |linear: &Linear<T>, x: &Tensor<T, 3>| -> Result<Tensor<T, 4>> {
            let ([batch, positions, _], y) = (x.shape(), linear.forward(run, x)?);
            let size = channels / count;
            Ok(y.reshape([batch, positions, y.shape()[2] / size, size]))
        };
        // The part with this number of what one product made.
        let part = |tensor, number| Projected { tensor, heads: number * count..(number + 1) * count };
        let y = match (&self.context, context) {
            (None, None) => {
                let all = projected(&self.own, x)?;
                T::attention(run, [part(&all, 0), part(&all, 1), part(&all, 2)], mask)?
            }
            (Some(linear), Some(context)) if context.shape()[0] == x.shape()[0] => {
                let (own, other) = (projected(&self.own, x)?, projected(linear, context)?);
                T::attention(run, [part(&own, 0), part(&other, 0), part(&other, 1)], mask)?
            }
            (None, Some(context)) => {
                return refuse("Attention", "no context: it is self-attention".to_owned(), &context.shape());
            }
            (Some(_), context) => {
                let shape = context.map_or(vec![], |context| context.shape().to_vec());
                return refuse("Attention", format!("a context of batch {}", x.shape()[0]), &shape);
            }
        };
        Ok(y.reshape(x.shape()))
    }
}
