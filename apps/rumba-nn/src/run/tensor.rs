//! Tensors: values of a run, and where their numbers lie.

use crate::run::Memory;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

/// Numbers in `N` dimensions that a layer has computed within a [`Run`](crate::Run), in row-major order. They do not change.
///
/// A clone is the same numbers. When the last one is dropped, their memory is free for the tensors that are made after it: a tensor
/// that is not needed any more is best dropped at once.
pub struct Tensor<T, const N: usize> {
    pub(crate) memory: Rc<Memory>,
    /// The word of the memory at which the numbers begin.
    pub(crate) start: usize,
    shape: [usize; N],
    element: PhantomData<T>,
}

impl<T, const N: usize> Tensor<T, N> {
    pub(crate) fn new(memory: Rc<Memory>, start: usize, shape: [usize; N]) -> Tensor<T, N> {
        Tensor { memory, start, shape, element: PhantomData }
    }

    /// How long each axis is.
    pub fn shape(&self) -> [usize; N] {
        self.shape
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same numbers in another shape.
    ///
    /// # Panics
    /// Unless both shapes have the same number of elements.
    #[track_caller]
    #[must_use]
    pub fn reshape<const M: usize>(&self, shape: [usize; M]) -> Tensor<T, M> {
        let own = self.shape;
        assert_eq!(shape.iter().product::<usize>(), self.len(), "a tensor of shape {own:?} has no shape {shape:?}");
        Tensor::new(self.memory.clone(), self.start, shape)
    }
}

impl<T, const N: usize> Clone for Tensor<T, N> {
    fn clone(&self) -> Self {
        Tensor::new(self.memory.clone(), self.start, self.shape)
    }
}

impl<T, const N: usize> fmt::Debug for Tensor<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("element", &std::any::type_name::<T>())
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}
