//! cudarc: safe wrappers that load `libcuda.so` at run time. The unit tests and doctests of its driver module,
//! unmodified.
//!
//! Their kernels are CUDA C++, which NVIDIA's NVRTC compiles to PTX: it comes from a wheel, of the last version that
//! still knows the architecture that one test asks for.

use super::crates::{Crate, is_doctest};
use super::python::{self, Environment};
use super::suite::{Driver, Suite, Worker};
use anyhow::Result;
use std::path::PathBuf;
use std::sync::OnceLock;

const PACKAGES: &[&str] = &["nvidia-cuda-nvrtc-cu12==12.9.86", "nvidia-cuda-runtime-cu12==12.9.79"];

/// Headers that a test includes, which NVRTC also looks for in the folder that it is called from.
const HEADERS: [&str; 2] = ["cuda_fp16.h", "cuda_fp16.hpp"];

#[derive(Default)]
pub(super) struct Cudarc {
    with_driver: OnceLock<Crate>,
}

fn package() -> Crate {
    Crate::new(
        "cudarc",
        "0.19.10",
        &["--no-default-features", "--features=std,driver,nvrtc,dynamic-loading,cuda-13000,f16"],
    )
}

fn environment() -> Result<Environment> {
    Ok(Environment::new(super::folder("cudarc")?.join("venv"), PACKAGES))
}

/// Where the wheels have their files.
fn wheels() -> Result<PathBuf> {
    Ok(environment()?.site_packages()?.join("nvidia"))
}

impl Cudarc {
    /// The crate, told where driver and compiler lie. Some of its tests take two devices.
    fn with_driver(&self, driver: &Driver) -> Result<&Crate> {
        if let Some(package) = self.with_driver.get() {
            return Ok(package);
        }
        let mut package = package();
        let libraries = [driver.folder.clone(), wheels()?.join("cuda_nvrtc/lib")];
        let libraries = std::env::join_paths(libraries)?;
        package.environment = vec![("LD_LIBRARY_PATH", libraries.into()), ("RUMBA_SOFT_DEVICES", PathBuf::from("2"))];
        Ok(self.with_driver.get_or_init(|| package))
    }
}

impl Suite for Cudarc {
    fn name(&self) -> &'static str {
        "cudarc"
    }

    fn about(&self) -> String {
        let Crate { name, version, .. } = package();
        format!("{name} {version}")
    }

    fn is_installed(&self) -> bool {
        let headers = |source: PathBuf| HEADERS.iter().all(|header| source.join(header).exists());
        environment().is_ok_and(|environment| environment.is_installed())
            && package().is_installed()
            && package().source().is_ok_and(headers)
    }

    fn install(&self) -> Result<()> {
        if self.is_installed() {
            return Ok(());
        }
        environment()?.install()?;
        package().install()?;
        let include = wheels()?.join("cuda_runtime/include");
        python::lay_out(&package().source()?, &HEADERS.map(|header| (header, include.join(header))))
    }

    fn list(&self, driver: &Driver) -> Result<Vec<String>> {
        self.with_driver(driver)?.list()
    }

    fn worker(&self, driver: &Driver) -> Result<Box<dyn Worker>> {
        Ok(self.with_driver(driver)?.worker())
    }

    fn group<'t>(&self, test: &'t str) -> &'t str {
        if is_doctest(test) {
            return "doctests";
        }
        match test.split_once("::tests::") {
            Some((module, _)) => module,
            None => "others",
        }
    }

    fn alone(&self) -> bool {
        true
    }

    fn slice(&self) -> &'static [&'static str] {
        &[
            "driver::safe::core::tests::test_post_alloc_memory",
            "driver::safe::core::tests::test_transmutes",
            "driver::safe::launch::tests::test_device_side_assert",
            "driver::safe::launch::tests::test_launch_with_32bit",
            "driver::safe::launch::tests::test_launch_with_half",
            "driver::safe::unified_memory::tests::test_unified_memory_global",
        ]
    }
}
