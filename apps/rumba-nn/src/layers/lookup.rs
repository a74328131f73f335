//! Rows for numbers: embeddings, and times as sines.

use super::refuse;
use crate::error::Result;
use crate::run::Run;
use crate::run::element::{Element, in_one_piece};
use crate::run::tensor::Tensor;
use crate::weights::Weights;
use rumba::array::{Array, ArrayView};
use rumba::{DeviceSlice, LaunchConfig};

/// A row of a table for each number: PyTorch's `nn.Embedding`.
#[derive(Debug)]
pub struct Embedding<T> {
    table: Array<T, 2>,
}

impl<T: Element> Embedding<T> {
    /// Takes `weight`, a table with rows and columns of `shape`.
    ///
    /// # Errors
    /// The errors of [`Weights::array`].
    pub fn load(weights: &Weights, shape: [usize; 2]) -> Result<Embedding<T>> {
        Ok(Embedding { table: weights.array("weight", shape)? })
    }

    /// The table.
    pub(crate) fn table(&self) -> &Array<T, 2> {
        &self.table
    }

    /// The rows of numbers in device memory, which lie outside of the run. A number that has no row is a panic of the kernel, which the
    /// next wait reports.
    ///
    /// # Errors
    /// The runtime's.
    pub fn forward(&self, run: &Run, ids: DeviceSlice<'_, u32>) -> Result<Tensor<T, 2>> {
        run.rows(self.table.view(), ids)
    }
}

impl Run {
    /// The rows of a table that have these numbers. The table and the numbers lie outside of the run. A number that has no row is a panic
    /// of the kernel, which the next wait reports.
    ///
    /// # Errors
    /// The runtime's.
    pub fn rows<T: Element>(&self, table: ArrayView<'_, T, 2>, numbers: DeviceSlice<'_, u32>) -> Result<Tensor<T, 2>> {
        let shape = [numbers.len(), table.shape()[1]];
        self.make(shape, |_, y| {
            let call = T::embedding(numbers, table, (in_one_piece(y), shape));
            let threads = [shape[1], shape[0].min(1 << 15), 1].map(|length| length as u32);
            self.launch(self.module(), LaunchConfig::covering(threads).block(128), call)
        })
    }

    /// Each time as a row of `columns` numbers: half of them cosines, then as many sines, whose frequencies go down from 1 to 1 /
    /// 10,000. This is what diffusers' `Timesteps` computes with `flip_sin_to_cos`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) of an odd number of columns; the runtime's.
    pub fn timesteps<T: Element>(&self, times: DeviceSlice<'_, f32>, columns: usize) -> Result<Tensor<T, 2>> {
        let shape = [times.len(), columns];
        if !columns.is_multiple_of(2) {
            return refuse("timesteps", "an even number of columns".to_owned(), &shape);
        }
        self.make(shape, |_, y| self.launch_rows(shape[0], T::timesteps(times, 10_000.0, (in_one_piece(y), shape))))
    }
}
