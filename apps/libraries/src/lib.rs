//! Our side of comparisons with NVIDIA's libraries and with PyTorch: each case with its inputs on the device. The program of this package
//! runs them in turns with the other side; the tests compare the networks with results that are kept.

use anyhow::{Result, bail};
use rumba::linalg::Linalg;
use rumba::{Device, Stream};
use serde::Deserialize;

mod attention;
mod convolution;
pub mod network;
pub mod numbers;
mod product;
mod step;

/// A measured case.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is its module")]
pub enum Case {
    Attention(attention::Attention),
    Product(product::Product),
    Convolution(convolution::Convolution),
    Network(network::Network),
    Step(step::Step),
}

/// A case with its inputs on the device.
pub trait Work {
    /// The kernel that runs, and its launch configuration.
    fn kernel(&self) -> String;
    /// Launches it once.
    fn launch(&mut self, stream: &Stream) -> rumba::Result<()>;
    /// So many launches without a pause between them.
    fn repeated(&mut self, device: &Device, times: u32) -> rumba::Result<Launches> {
        let graph = device.capture(|stream| (0..times).try_for_each(|_| self.launch(stream)))?;
        Ok(Box::new(move |stream| graph.launch_on(stream)))
    }
    /// The error of what the last launch wrote.
    fn error(&self) -> Result<f64>;
    /// The kernels of a launch, with their times.
    fn profile(&mut self) -> Result<String> {
        bail!("this case is one kernel")
    }
}

/// Puts launches on a stream.
pub type Launches = Box<dyn Fn(&Stream) -> rumba::Result<()>>;

/// The same with one kind of kernel alone, where it can compute what is asked for.
fn only(linalg: Linalg, kind: Option<&str>) -> Linalg {
    // A process is told few of these names.
    kind.map_or(linalg.clone(), |kind| linalg.only(kind.to_owned().leak()))
}

/// Makes random inputs for a case, and chooses its kernel.
///
/// # Errors
/// An error for an unknown case; the runtime's errors.
pub fn prepare(device: &Device, case: Case) -> Result<Box<dyn Work>> {
    match case {
        Case::Attention(attention) => attention.prepare(device),
        Case::Product(product) => product.prepare(device),
        Case::Convolution(convolution) => convolution.prepare(device),
        Case::Network(network) => network.prepare(device),
        Case::Step(step) => step.prepare(device),
    }
}
