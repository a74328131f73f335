//! Shapes that do not fit.

use crate::base::error::Error;
use cuda_std::launch::ShapeError;

/// An array that cannot have a shape, or arrays whose shapes do not fit together.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// A shape whose product differs from the number of elements.
    #[error("{elements} elements have no shape {shape:?}; give a shape that multiplies up to {elements}")]
    Elements {
        /// How many elements there are.
        elements: usize,
        /// The shape that was asked for.
        shape: Vec<usize>,
    },

    /// Elements that do not lie so that the shape could be had without a copy.
    #[error(
        "a view of shape {from:?} with strides {strides:?} cannot be seen in shape {to:?} where it lies\n\
         help: `view.to_array()?.reshape(..)` copies it first"
    )]
    Reshape {
        /// The shape of the view.
        from: Vec<usize>,
        /// Its strides, in elements.
        strides: Vec<isize>,
        /// The shape that was asked for.
        to: Vec<usize>,
    },

    /// Shapes that do not broadcast.
    #[error(
        "an array of shape {from:?} cannot be broadcast to shape {to:?}: from the last axis on, lengths must be equal, \
         or 1 in the first"
    )]
    Broadcast {
        /// The shape of the array.
        from: Vec<usize>,
        /// The shape that was asked for.
        to: Vec<usize>,
    },

    /// Operands of a vectorized function that do not fit together.
    #[error(transparent)]
    Operands(#[from] ShapeError),
}

impl From<ArrayError> for Error {
    fn from(error: ArrayError) -> Error {
        Error::Array(Box::new(error))
    }
}

impl From<ShapeError> for Error {
    fn from(error: ShapeError) -> Error {
        ArrayError::from(error).into()
    }
}
