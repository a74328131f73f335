//! Matrices that do not fit together.

use crate::base::error::Error;

/// Operands of linear algebra that do not fit together, or that there is no kernel for.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LinalgError {
    /// A product of matrices whose shapes do not fit.
    #[error(
        "a product of shapes {left:?} and {right:?} does not fit into {output:?}\n\
         help: `[rows, terms]` times `[terms, columns]` is `[rows, columns]`; of three dimensions the first counts matrices, and \
         operands with one matrix or two dimensions serve for all of them"
    )]
    Product {
        /// The shape of the left operand.
        left: Vec<usize>,
        /// The shape of the right operand.
        right: Vec<usize>,
        /// The shape of the output.
        output: Vec<usize>,
    },

    /// An array that is no matrix and no batch of matrices.
    #[error("an array of shape {shape:?} is no matrix: give two dimensions, or three for several matrices")]
    NoMatrix {
        /// Its shape.
        shape: Vec<usize>,
    },

    /// Arrays of an attention whose shapes do not fit.
    #[error(
        "attention of queries {queries:?}, keys {keys:?} and values {values:?} does not fit into {output:?}\n\
         help: all are `[batch, heads, length, size]`; keys and values have one length, queries and output another, and the rest is \
         the same; `view.permute([0, 2, 1, 3])` makes it of `[batch, length, heads, size]`"
    )]
    Attention {
        /// The shape of the queries.
        queries: [usize; 4],
        /// The shape of the keys.
        keys: [usize; 4],
        /// The shape of the values.
        values: [usize; 4],
        /// The shape of the output.
        output: [usize; 4],
    },

    /// An attention with a factor of the scores that is no positive number.
    #[error(
        "attention multiplies scores by {scale}: give a positive number, or none for one over the root of the heads' size"
    )]
    AttentionScale {
        /// The factor.
        scale: f32,
    },

    /// An attention over more queries, keys or heads than 31 bits count, or heads that are too large.
    #[error(
        "attention of queries {queries:?} with {keys} keys: heads have at most 512 numbers, and lengths are below 2147483648"
    )]
    AttentionSize {
        /// The shape of the queries.
        queries: [usize; 4],
        /// How many keys there are.
        keys: usize,
    },
}

impl From<LinalgError> for Error {
    fn from(error: LinalgError) -> Error {
        Error::Linalg(Box::new(error))
    }
}
