//! cust: the crate that the feature `cust` of the runtime passes things from and to. Its unit tests and doctests, unmodified; they link `-lcuda`.

use super::crates::{Crate, is_doctest};
use super::suite::{Driver, Suite, Worker};
use crate::shell;
use anyhow::{Context, Result};
use std::path::PathBuf;
use std::sync::OnceLock;

#[derive(Default)]
pub(super) struct Cust {
    with_driver: OnceLock<Crate>,
}

fn package() -> Crate {
    Crate::new("cust", "0.3.2", &["--all-features"])
}

impl Cust {
    /// The crate, told where the driver lies: its build script looks for a toolkit's `lib64`.
    fn with_driver(&self, driver: &Driver) -> Result<&Crate> {
        if let Some(package) = self.with_driver.get() {
            return Ok(package);
        }
        let mut package = package();
        let toolkit: PathBuf = shell::target().join("conformance/toolkit");
        std::fs::create_dir_all(&toolkit).with_context(|| format!("could not make {}", toolkit.display()))?;
        super::link(&driver.folder, &toolkit.join("lib64"))?;
        package.environment = vec![("CUDA_LIBRARY_PATH", toolkit), ("LD_LIBRARY_PATH", driver.folder.clone())];
        Ok(self.with_driver.get_or_init(|| package))
    }
}

impl Suite for Cust {
    fn name(&self) -> &'static str {
        "cust"
    }

    fn about(&self) -> String {
        let Crate { name, version, .. } = package();
        format!("{name} {version}")
    }

    fn is_installed(&self) -> bool {
        package().is_installed()
    }

    fn install(&self) -> Result<()> {
        package().install()
    }

    fn list(&self, driver: &Driver) -> Result<Vec<String>> {
        self.with_driver(driver)?.list()
    }

    fn worker(&self, driver: &Driver) -> Result<Box<dyn Worker>> {
        Ok(self.with_driver(driver)?.worker())
    }

    fn group<'t>(&self, test: &'t str) -> &'t str {
        if is_doctest(test) { "doctests" } else { "unit tests" }
    }

    fn slice(&self) -> &'static [&'static str] {
        &[
            "device::test::test_get_name",
            "event::test::test_elapsed_time_f32_with_disable_timing",
            "memory::array::test::allow_layered_cubemaps",
            "memory::array::test::fail_on_zero_width_1d_array",
            "memory::device::device_box::test_device_box::test_copy_device_to_host",
            "memory::device::device_buffer::test_device_buffer::test_async_copy_to_from_device",
            "memory::locked::locked_buffer::test::overflows_usize",
            "memory::unified::test_unified_box::test_equality",
        ]
    }
}
