//! The choice of the device that a command's program runs on.

use anyhow::{Result, bail};
use libloading::Library;
use rumba_interface::environment::library_from_environment;

/// The device that a program runs on; passed on as `RUMBA_DEVICE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Device {
    /// NVIDIA's driver where it reports a GPU, otherwise the software device
    Auto,
    /// an NVIDIA GPU, or an error
    Gpu,
    /// the software device
    Soft,
}

impl Device {
    /// The value of `RUMBA_DEVICE`.
    pub fn name(self) -> &'static str {
        match self {
            Device::Auto => "auto",
            Device::Gpu => "gpu",
            Device::Soft => "soft",
        }
    }

    /// The device in a sentence.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Device::Auto => "the GPU, or the software device where there is none",
            Device::Gpu => "the GPU",
            Device::Soft => "the software device",
        }
    }

    /// Looks for the GPU, if this is one. A program looks for it as well, but a command may have minutes of other work first.
    ///
    /// # Errors
    /// If there is none.
    pub fn ensure(self) -> Result<()> {
        if self == Device::Gpu
            && let Err(cause) = count_gpus()
        {
            bail!(
                "there is no NVIDIA GPU for `--device gpu`: {cause}\n\
                 help: `--device soft` takes the software device; RUMBA_CUDA_LIBRARY names NVIDIA's library where the loader does \
                 not find it"
            );
        }
        Ok(())
    }
}

/// Asks NVIDIA's driver for its devices, or says why there is none.
fn count_gpus() -> Result<(), String> {
    let name = library_from_environment("RUMBA_CUDA_LIBRARY").unwrap_or_else(|| "libcuda.so.1".into());
    // SAFETY: loading runs the library's initialisers. It is NVIDIA's driver by name, or a file that the user named for that.
    let library = unsafe { Library::new(&name) }.map_err(|error| format!("NVIDIA's driver does not load: {error}"))?;
    let mut count = 0;
    // SAFETY: the functions have these types in every release of the driver, and the place is valid.
    let code = unsafe {
        let init = library.get::<unsafe extern "C" fn(u32) -> i32>(b"cuInit\0");
        let device_count = library.get::<unsafe extern "C" fn(*mut i32) -> i32>(b"cuDeviceGetCount\0");
        match (init, device_count) {
            (Ok(init), Ok(device_count)) => match init(0) {
                0 => device_count(&mut count),
                code => code,
            },
            _ => return Err(format!("{} is no CUDA driver", name.to_string_lossy())),
        }
    };
    // The driver has threads that run its code.
    std::mem::forget(library);
    match (code, count) {
        (0, 1..) => Ok(()),
        (0, _) => Err("NVIDIA's driver reports no device".to_owned()),
        (code, _) => Err(format!("NVIDIA's driver does not start (code {code})")),
    }
}
