//! Linear algebra on arrays: products of matrices, convolutions, attention. The kernels are ordinary ones of the crate
//! `rumba-linalg`; this module chooses among them and launches them.

mod attention;
mod convolution;
mod product;
mod tuner;

pub use product::{Activation, Float, Matrices, Multiply, Precision, Product};
pub use tuner::Tuning;

pub use crate::base::error::LinalgError;
pub use attention::{Attention, AttentionElement, Mask};
pub use convolution::{Convolution, ConvolutionElement};

use crate::base::error::Result;
use crate::base::ptx::Pieces;
use crate::devices::device::Device;
use crate::launch::library::{Kernels, Library};
use crate::streams::stream::Stream;
use std::sync::{Arc, LazyLock};
use tuner::Tuner;

/// The kernels.
static KERNELS: LazyLock<Pieces> = LazyLock::new(|| Pieces::new(include_str!(env!("LINALG_PTX"))));

/// Linear algebra on one device: the kernels, and work memory that is kept from call to call.
///
/// A call puts its work on the stream and returns. Kernels are compiled by the driver when they are first used.
///
/// Cloning gives another handle to the same kernels and memory. Handles may be used from any thread.
#[derive(Clone, Debug)]
pub struct Linalg {
    library: Library,
    tuner: Arc<Tuner>,
    tuning: Tuning,
    /// The one way to compute products that is wanted.
    only: Option<&'static str>,
}

impl Linalg {
    /// Linear algebra on a device. Nothing is loaded or allocated yet.
    pub fn new(device: &Device) -> Linalg {
        let kernels = Kernels { name: "linear algebra", texts: &KERNELS };
        Linalg {
            library: Library::new(device, kernels),
            tuner: Arc::new(Tuner::new(device)),
            tuning: Tuning::default(),
            only: None,
        }
    }

    /// The same library on another stream instead of the default stream.
    #[must_use]
    pub fn on(&self, stream: &Stream) -> Linalg {
        Linalg { library: self.library.on(stream), ..self.clone() }
    }

    /// The same library with another choice of kernels.
    ///
    /// ```
    /// # use rumba::array::Array;
    /// # use rumba::linalg::{Linalg, Tuning};
    /// # fn main() -> rumba::Result<()> {
    /// # let device = rumba::Device::new()?;
    /// // Nothing is measured, and no file is read or written.
    /// let linalg = Linalg::new(&device).tuned(Tuning::Heuristic);
    /// # let a = Array::full(&device, [2, 2], 1.0_f64)?;
    /// # let mut c = Array::zeros(&device, [2, 2])?;
    /// # linalg.product(&a, &a).eval_into(&mut c)?;
    /// # assert_eq!(c.to_vec()?, [2.0; 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn tuned(&self, tuning: Tuning) -> Linalg {
        Linalg { tuning, ..self.clone() }
    }

    /// The same by one kind of kernel, where it can compute what is asked for: for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn only(&self, name: &'static str) -> Linalg {
        Linalg { only: Some(name), ..self.clone() }
    }

    /// Gives the work memory back to the device; it is allocated again when it is needed.
    pub fn release_memory(&self) {
        self.library.release_memory();
    }
}

/// Refuses lengths that kernels, which count in 32 bits with a sign, do not count.
fn counted(operation: &'static str, lengths: &[usize]) -> Result<()> {
    if lengths.iter().all(|length| i32::try_from(*length).is_ok()) {
        return Ok(());
    }
    Err(LinalgError::Lengths { operation, lengths: lengths.to_vec() }.into())
}
