//! Scenarios of the runtime in which each driver call fails with each of its errors, and mixed work for hours.
//!
//! A scenario is a short program. [`faults`] runs it once for each of its driver calls and each error that the call can return. A run
//! ends in a typed error or in the right result, leaves nothing behind, and the device works on. [`soak`] does everything at once in
//! many threads, and looks at what the process has after the first minute and at the end.
//!
//! `rumba_interface::errors` lists the errors that a call can return; `rumba_driver::fault` makes calls fail.

pub mod faults;
pub mod scenarios;
pub mod soak;

use rumba::{Device, Result};

/// The kernels of [`test_kernels::faults`].
pub const PTX: &str = include_str!(env!("FAULTS_PTX"));

/// A short program of the runtime, which looks at its own results.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// Its name, by which a run is repeated.
    pub name: &'static str,
    /// Whether a GPU can run it: NVIDIA's driver keeps a kernel's failure until the process ends, and has no checks.
    pub on_gpu: bool,
    pub(crate) run: fn(&World) -> Result<()>,
}

/// The state that all scenarios share.
pub struct World {
    /// Device 0, whose context stays while scenarios come and go.
    pub device: Device,
}
