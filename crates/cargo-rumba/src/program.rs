//! Programs of any kind on the software device.
//!
//! A program in C, C++ or Python loads `libcuda.so.1` by `LD_LIBRARY_PATH`. Python finds `sitecustomize.py` as well, which makes
//! numba-cuda link PTX.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{libcuda, soft};

/// The software device in place of NVIDIA's driver.
pub(crate) struct Driver {
    /// The folder of `libcuda.so.1`.
    folder: PathBuf,
    /// The folder of the module that Python imports first.
    python: PathBuf,
}

impl Driver {
    /// Builds the driver.
    pub(crate) fn new() -> Result<Self> {
        soft::ensure()?;
        let folder = libcuda::folder()?;
        let python = folder.join("python");
        std::fs::create_dir_all(&python)
            .and_then(|()| std::fs::write(python.join("sitecustomize.py"), include_str!("program/sitecustomize.py")))
            .with_context(|| format!("could not write to {}", python.display()))?;
        Ok(Self { folder, python })
    }

    /// A program that finds this driver.
    pub(crate) fn command(&self, name: &str, args: &[String]) -> Command {
        let library = self.folder.join(libcuda::FILE);
        let mut command = Command::new(name);
        command.args(args).env("RUMBA_DEVICE", "soft");
        // Numba 0.61 and older look for the driver by a variable of their own.
        command.env("NUMBA_CUDA_DRIVER", &library);
        // Libraries of one process share a device, as they share a GPU.
        command.env("RUMBA_SOFT_LIBRARY", &library);
        for (variable, folder) in [("LD_LIBRARY_PATH", &self.folder), ("PYTHONPATH", &self.python)] {
            let others = std::env::var_os(variable).unwrap_or_default();
            let others = std::env::split_paths(&others).filter(|folder| !folder.as_os_str().is_empty());
            let folders = std::env::join_paths(std::iter::once(folder.clone()).chain(others));
            command.env(variable, folders.unwrap_or_else(|_| folder.clone().into()));
        }
        command
    }
}
