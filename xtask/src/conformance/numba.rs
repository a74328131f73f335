//! Numba: CUDA kernels in Python, compiled to PTX by NVIDIA's libNVVM. Its CUDA tests, `numba.cuda.tests`, unmodified.

use super::python::{self, Environment, Process};
use super::suite::{Driver, Suite, Worker};
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

const PACKAGES: &[&str] = &[
    "numba==0.61.2",
    "numpy==2.2.6",
    "nvidia-cuda-nvcc-cu12==12.4.131",
    "nvidia-cuda-runtime-cu12==12.4.127",
    "nvidia-cuda-nvrtc-cu12==12.4.127",
];

/// A toolkit's files, and where the wheels have them. Numba takes a library only under a name with a version.
const FILES: [(&str, &str); 5] = [
    ("nvvm/lib64/libnvvm.so.4", "cuda_nvcc/nvvm/lib64/libnvvm.so"),
    ("nvvm/libdevice/libdevice.10.bc", "cuda_nvcc/nvvm/libdevice/libdevice.10.bc"),
    ("lib64/libcudart.so.12", "cuda_runtime/lib/libcudart.so.12"),
    ("lib64/libnvrtc.so.12", "cuda_nvrtc/lib/libnvrtc.so.12"),
    ("lib64/libnvrtc-builtins.so.12.4", "cuda_nvrtc/lib/libnvrtc-builtins.so.12.4"),
];

/// The library of device functions that cooperative kernels are linked with. The software device implements these
/// functions; Numba only checks that the file exists.
const DEVICE_LIBRARY: &str = "lib64/libcudadevrt.a";

const TESTS: &str = "numba.cuda.tests";

pub(super) struct Numba;

fn environment() -> Result<Environment> {
    Ok(Environment::new(super::folder("numba")?.join("venv"), PACKAGES))
}

/// The part of a CUDA toolkit that Numba looks for, laid out of the wheels.
fn toolkit() -> Result<PathBuf> {
    Ok(super::folder("numba")?.join("cuda"))
}

fn interpreter(driver: &Driver) -> Result<Command> {
    let mut python = Command::new(environment()?.python());
    python
        .current_dir(super::folder("numba")?)
        .env("CUDA_HOME", toolkit()?)
        .env("NUMBA_CUDA_DRIVER", driver.folder.join("libcuda.so.1"))
        .env("RUMBA_DEVICE", "soft")
        .env(python::MEMORY.0, python::MEMORY.1)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env_remove("LD_LIBRARY_PATH");
    Ok(python)
}

impl Suite for Numba {
    fn name(&self) -> &'static str {
        "numba"
    }

    fn about(&self) -> String {
        format!("Numba ({})", PACKAGES[0])
    }

    fn is_installed(&self) -> bool {
        let environment = environment().is_ok_and(|environment| environment.is_installed());
        let mut names = FILES.iter().map(|(name, _)| *name).chain([DEVICE_LIBRARY]);
        environment && toolkit().is_ok_and(|toolkit| names.all(|name| toolkit.join(name).exists()))
    }

    fn install(&self) -> Result<()> {
        if self.is_installed() {
            return Ok(());
        }
        let environment = environment()?;
        environment.install()?;
        let nvidia = environment.site_packages()?.join("nvidia");
        python::lay_out(&toolkit()?, &FILES.map(|(name, file)| (name, nvidia.join(file))))?;
        // An archive without members.
        std::fs::write(toolkit()?.join(DEVICE_LIBRARY), "!<arch>\n")?;
        Ok(())
    }

    fn list(&self, driver: &Driver) -> Result<Vec<String>> {
        python::list(interpreter(driver)?, TESTS)
    }

    fn worker(&self, driver: &Driver) -> Result<Box<dyn Worker>> {
        Ok(Box::new(Process::new(self.name(), driver, interpreter)))
    }

    fn group<'t>(&self, test: &'t str) -> &'t str {
        python::folder_of(test, TESTS)
    }

    fn slice(&self) -> &'static [&'static str] {
        &[
            "numba.cuda.tests.cudadrv.test_cuda_memory.TestCudaMemory.test_pinned_memory",
            "numba.cuda.tests.cudadrv.test_events.TestCudaEvent.test_event_elapsed",
            "numba.cuda.tests.cudadrv.test_linker.TestLinker.test_linking_cu",
            "numba.cuda.tests.cudapy.test_atomics.TestCudaAtomics.test_atomic_cas_1dim",
            "numba.cuda.tests.cudapy.test_intrinsics.TestCudaIntrinsic.test_popc_u4",
            "numba.cuda.tests.cudapy.test_matmul.TestCudaMatMul.test_func",
            "numba.cuda.tests.cudapy.test_print.TestPrint.test_string",
            "numba.cuda.tests.cudapy.test_recursion.TestSelfRecursion.test_global_explicit_sig",
            "numba.cuda.tests.cudapy.test_reduction.TestReduction.test_sum_reduce",
            "numba.cuda.tests.cudapy.test_sync.TestCudaSync.test_syncthreads_count",
            "numba.cuda.tests.cudapy.test_vectorize.TestCUDAVectorize.test_scalar",
            "numba.cuda.tests.cudapy.test_warp_ops.TestCudaWarpOperations.test_shfl_sync_types",
        ]
    }
}
