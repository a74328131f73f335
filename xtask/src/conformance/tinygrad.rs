//! tinygrad: tensors in Python, compiled to PTX by tinygrad itself; launch parameters go through `extra`. Its package
//! has no tests, so those of `tinygrad_tests.py` run.
//!
//! Version 0.13 is the last that needs no C compiler to read a result.

use super::python::Client;

const PACKAGES: &[&str] = &["tinygrad==0.13.0", "numpy==2.2.6"];

/// The module of the tests, beside `run_tests.py`.
const TESTS: &str = "tinygrad_tests";

pub(super) const CLIENT: Client = Client {
    name: "tinygrad",
    packages: PACKAGES,
    tests: TESTS,
    prepare: |python| {
        python.env("DEV", "CUDA:PTX").env("CACHELEVEL", "0");
    },
    group: kind_of,
    slice: &[
        "tinygrad_tests.Programs.test_add",
        "tinygrad_tests.Programs.test_cast_float32_to_long",
        "tinygrad_tests.Programs.test_long_sum",
        "tinygrad_tests.Programs.test_matmul",
        "tinygrad_tests.Programs.test_softmax",
        "tinygrad_tests.Programs.test_training",
    ],
};

/// The row of the summary that a test belongs to.
fn kind_of(test: &str) -> &str {
    let name = test.rsplit('.').next().unwrap_or(test);
    if name.starts_with("test_cast_") {
        return "conversions";
    }
    let several = ["matmul", "training", "replayed", "attention", "conv2d", "gradient"];
    if several.iter().any(|part| name.contains(part)) { "products and trainings" } else { "single operations" }
}
