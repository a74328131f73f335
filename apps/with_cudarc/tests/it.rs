//! The program on the software device, which both libraries load as one driver, and on a GPU where there is one.

use std::path::Path;
use std::process::{Command, Output};

fn run(variables: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_with_cudarc"));
    command.envs(variables.iter().copied()).output().expect("the program starts")
}

#[test]
fn the_program_works_on_the_software_device() {
    let device = std::env::var_os("RUMBA_SOFT_LIBRARY").expect("cargo names the software device");
    let driver = Path::new(&device).with_file_name("libcuda.so");
    assert!(driver.is_file(), "{} is missing: `cargo build --release -p rumba-libcuda`", driver.display());
    let output = run(&[("RUMBA_DEVICE", Path::new("soft")), ("RUMBA_SOFT_LIBRARY", &driver)]);
    let said = test_processes::text(&output);
    assert!(output.status.success() && said.contains("1000000 sums in the memory of cudarc"), "{said}");
}

#[test]
fn without_a_common_driver_the_program_says_how_to_start_it() {
    let output = run(&[("RUMBA_DEVICE", Path::new("soft"))]);
    let said = test_processes::text(&output);
    assert!(!output.status.success() && said.contains("start the program with `cargo rumba check"), "{said}");
}
