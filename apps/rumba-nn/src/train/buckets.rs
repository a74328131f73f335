//! Gradients that ranks average while the backward pass goes on.

use super::layers::{Convolution, Linear};
use super::parameters::Gradients;
use crate::error::Result;
use crate::run::Run;
use nn_kernels::gradient;
use rumba::ranks::{ProcessGroup, ReduceOp};
use rumba::{LaunchConfig, SymmetricBuffer};

/// A layer with parameters.
pub trait Layer: sealed::Layer {}

impl Layer for Linear {}
impl Layer for Convolution {}

pub(super) mod sealed {
    pub trait Layer {
        /// Where the layer's parameters begin.
        fn start(&self) -> usize;
    }
}

/// The gradients of a backward pass, which ranks average in buckets: each bucket is exchanged as soon as its gradients are there, beside
/// the launches that compute the next ones, as PyTorch's `DistributedDataParallel` does (Li et al. 2020).
///
/// The backward pass goes from the last layer to the first. Parameters lie in the order of the layers, so a bucket is the part of the
/// gradients from a layer to the bucket before it.
#[derive(Debug)]
pub struct Buckets<'g> {
    group: Option<&'g ProcessGroup>,
    /// The memory by which a kernel of each rank averages a bucket, instead of an operation of the group.
    memory: Option<&'g mut SymmetricBuffer<f32>>,
    /// The fewest numbers of a bucket but the last.
    fewest: usize,
    /// Where the last bucket begins.
    end: usize,
}

impl<'g> Buckets<'g> {
    /// For one backward pass, which is recorded or run: no gradients are there yet. A bucket is exchanged when its size reaches `bytes`.
    /// Without a group nothing is exchanged.
    #[must_use]
    pub fn new(group: Option<&'g ProcessGroup>, gradients: &Gradients, bytes: usize) -> Buckets<'g> {
        Buckets { group, memory: None, fewest: (bytes / size_of::<f32>()).max(1), end: gradients.len() }
    }

    /// Lets a kernel of each rank average the gradients, where the ranks have symmetric memory: it is a launch of the program like all
    /// others, and takes less time than an operation of the group for gradients of a few hundred KiB. The memory has room for all
    /// [`Gradients`].
    #[must_use]
    pub fn with_memory(self, memory: Option<&'g mut SymmetricBuffer<f32>>) -> Buckets<'g> {
        Buckets { memory, ..self }
    }

    /// The gradients of `layer`, and of all layers behind it, are there.
    ///
    /// # Errors
    /// Those of [`ProcessGroup::all_reduce`].
    pub fn ready(&mut self, run: &Run, gradients: &mut Gradients, layer: &impl Layer) -> Result<()> {
        let start = layer.start();
        if self.end.saturating_sub(start) >= self.fewest { self.exchange(run, gradients, start) } else { Ok(()) }
    }

    /// All gradients are there.
    ///
    /// # Errors
    /// Those of [`ProcessGroup::all_reduce`].
    pub fn finish(mut self, run: &Run, gradients: &mut Gradients) -> Result<()> {
        if self.end > 0 { self.exchange(run, gradients, 0) } else { Ok(()) }
    }

    fn exchange(&mut self, run: &Run, gradients: &mut Gradients, start: usize) -> Result<()> {
        let bucket = gradients.buffer_mut().slice_mut(start..self.end);
        self.end = start;
        if let Some(memory) = &mut self.memory {
            /// Few blocks, since all of them count each other.
            const MOST_BLOCKS: usize = 32;
            const THREADS: usize = 512;
            let blocks = bucket.len().div_ceil(THREADS).clamp(1, MOST_BLOCKS) as u32;
            let call = gradient::average_over_ranks(bucket, &mut **memory);
            return run.launch(run.module(), LaunchConfig::new(blocks, THREADS as u32), call);
        }
        let Some(group) = self.group else { return Ok(()) };
        match run.stream() {
            Some(stream) => group.on(stream).all_reduce(bucket, ReduceOp::Average)?,
            None => group.all_reduce(bucket, ReduceOp::Average)?,
        }
        Ok(())
    }
}
