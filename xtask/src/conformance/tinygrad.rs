//! tinygrad: tensors in Python, compiled to PTX by tinygrad itself; launch parameters go through `extra`. Its package
//! has no tests, so those of `tinygrad_tests.py` run.
//!
//! Version 0.13 is the last that needs no C compiler to read a result.

use super::python::{self, Environment, Process};
use super::suite::{Driver, Suite, Worker};
use anyhow::Result;
use std::process::Command;

const PACKAGES: &[&str] = &["tinygrad==0.13.0", "numpy==2.2.6"];

/// The module of the tests, beside `run_tests.py`.
const TESTS: &str = "tinygrad_tests";

pub(super) struct Tinygrad;

fn environment() -> Result<Environment> {
    Ok(Environment::new(super::folder("tinygrad")?.join("venv"), PACKAGES))
}

fn interpreter(driver: &Driver) -> Result<Command> {
    let mut python = Command::new(environment()?.python());
    python
        .current_dir(super::folder("tinygrad")?)
        .env("LD_LIBRARY_PATH", &driver.folder)
        .env("RUMBA_DEVICE", "soft")
        .env("DEV", "CUDA:PTX")
        .env("CACHELEVEL", "0")
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(python)
}

impl Suite for Tinygrad {
    fn name(&self) -> &'static str {
        "tinygrad"
    }

    fn about(&self) -> String {
        format!("tinygrad ({})", PACKAGES[0])
    }

    fn is_installed(&self) -> bool {
        environment().is_ok_and(|environment| environment.is_installed())
    }

    fn install(&self) -> Result<()> {
        environment()?.install()
    }

    fn list(&self, driver: &Driver) -> Result<Vec<String>> {
        python::list(interpreter(driver)?, TESTS)
    }

    fn worker(&self, driver: &Driver) -> Result<Box<dyn Worker>> {
        Ok(Box::new(Process::new(self.name(), driver, interpreter)))
    }

    fn group<'t>(&self, test: &'t str) -> &'t str {
        let name = test.rsplit('.').next().unwrap_or(test);
        if name.starts_with("test_cast_") {
            return "conversions";
        }
        let several = ["matmul", "training", "replayed", "attention", "conv2d", "gradient"];
        if several.iter().any(|part| name.contains(part)) {
            "products and trainings"
        } else {
            "single operations"
        }
    }

    fn slice(&self) -> &'static [&'static str] {
        &[
            "tinygrad_tests.Programs.test_add",
            "tinygrad_tests.Programs.test_cast_float32_to_long",
            "tinygrad_tests.Programs.test_long_sum",
            "tinygrad_tests.Programs.test_matmul",
            "tinygrad_tests.Programs.test_softmax",
            "tinygrad_tests.Programs.test_training",
        ]
    }
}
