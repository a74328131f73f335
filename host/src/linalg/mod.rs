//! Linear algebra on arrays: products of matrices, convolutions, attention. The kernels are ordinary ones of the crate
//! `rumba-linalg`; this module chooses among them and launches them.

mod attention;
mod convolution;
mod product;

use crate::base::ptx::Pieces;
use crate::devices::device::Device;
use crate::launch::library::{Kernels, Library};
use crate::streams::stream::Stream;
use std::sync::LazyLock;

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
}

impl Linalg {
    /// Linear algebra on a device. Nothing is loaded or allocated yet.
    pub fn new(device: &Device) -> Linalg {
        let kernels = Kernels {
            name: "linear algebra",
            texts: &KERNELS,
        };
        Linalg {
            library: Library::new(device, kernels),
        }
    }

    /// The same on a stream of its own instead of the default one.
    #[must_use]
    pub fn on(&self, stream: &Stream) -> Linalg {
        Linalg {
            library: self.library.on(stream),
        }
    }

    /// Gives the work memory back to the device; it is allocated again when it is needed.
    pub fn release_memory(&self) {
        self.library.release_memory();
    }
}
