//! The definition of a case.

use anyhow::Result;
pub use rumba::estimate::Cost;
use rumba::{Device, Module};

/// A kernel with inputs, a reference and a cost. One case feeds the tests and the benchmark.
pub struct Case {
    /// As it appears in test names and in the table.
    pub name: &'static str,
    /// The sizes tested: the edges of a warp and of a block among them.
    pub sizes: &'static [usize],
    /// The sizes measured: on a processor's memory, and on a GPU's, which shows what it can with larger ones only.
    pub bench: [usize; 2],
    /// The minimal cost of size `n`.
    pub cost: fn(n: usize) -> Cost,
    /// Makes the inputs of size `n` on the device.
    pub prepare: fn(&Device, &Module, n: usize) -> Result<Box<dyn Prepared>>,
}

impl Case {
    /// A size that shows something and does not take long.
    pub fn middling(&self) -> usize {
        let largest = self.sizes.iter().copied().max().unwrap_or(1);
        largest.max(self.bench[0] / 16)
    }
}

/// A case with its data in place.
pub trait Prepared {
    /// Starts the kernel; does not wait for it.
    fn launch(&mut self) -> Result<()>;

    /// Does the same work in plain Rust on all cores, once, from the same inputs: the reference.
    fn native(&mut self);

    /// Compares the device's results of one `launch` with the results of one `native`.
    fn verify(&self) -> Result<()>;
}
