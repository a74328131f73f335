//! Matrices that do not fit together.

use crate::base::error::Error;

/// Operands of linear algebra that do not fit together, or that there is no kernel for.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
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
}

impl From<LinalgError> for Error {
    fn from(error: LinalgError) -> Error {
        Error::Linalg(Box::new(error))
    }
}
