//! Matrices that do not fit together.

use crate::base::error::Error;

/// Operands of linear algebra that do not fit together, or that no kernel supports.
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

    /// A filter that does not fit the images.
    #[error(
        "a filter of shape {filter:?} does not fit images of shape {images:?}\n\
         help: images are `[images, rows, columns, channels]`, filters `[outputs, rows, columns, channels]`, with as many channels"
    )]
    Filter {
        /// The shape of the images.
        images: [usize; 4],
        /// The shape of the filter.
        filter: [usize; 4],
    },

    /// A convolution without a place for the filter.
    #[error(
        "there is no place for a filter of {taps:?} rows and columns in images of {image:?} with a padding of {padding:?}, in \
         steps of {stride:?}\n\
         help: the filter has at least one row and column, and at most as many as an image with its padding; steps are 1 or more"
    )]
    NoPlace {
        /// Rows and columns of an image.
        image: [usize; 2],
        /// Rows and columns of the filter.
        taps: [usize; 2],
        /// How far the filter moves.
        stride: [usize; 2],
        /// Rows and columns of zeros around an image.
        padding: [usize; 2],
    },

    /// The bias or the output of a convolution that has another shape than the filter and the images ask for.
    #[error("the {operand} of this convolution has shape {wanted:?}, and an array of shape {shape:?} was given")]
    Operand {
        /// The operand.
        operand: &'static str,
        /// The shape that was given.
        shape: Vec<usize>,
        /// The required shape.
        wanted: Vec<usize>,
    },

    /// Lengths that kernels do not count.
    #[error("a {operation} of lengths {lengths:?}: kernels count to 2147483647 along each axis, padding included")]
    Lengths {
        /// The operation: a product, or a convolution.
        operation: &'static str,
        /// The lengths of the axes.
        lengths: Vec<usize>,
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
