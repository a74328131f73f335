//! The gallery's programs as a user meets them: options, exit status, and the choice of the device.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// A program of the gallery.
fn program(name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gallery"));
    command.arg0(name);
    command
}

fn saxpy(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    program("saxpy")
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .expect("the program was built beside this test")
}

#[track_caller]
fn fails(output: &Output, parts: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it must fail, but: {text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

#[test]
fn a_record_is_one_line_of_json() {
    let output = saxpy(&["--n", "1000", "--json"], &[]);
    let text = String::from_utf8(output.stdout).expect("JSON is text");
    assert!(output.status.success(), "{text}");
    let record: serde_json::Value = serde_json::from_str(text.trim()).expect("one record");
    assert_eq!((&record["name"], &record["n"], &record["ok"]), (&"saxpy".into(), &1000.into(), &true.into()));
    for time in ["cpu_s", "copy_in_s", "kernel_s", "copy_out_s"] {
        assert!(record[time].as_f64().is_some_and(|seconds| seconds >= 0.0), "{record}");
    }
    assert!(record["ptx_hash"].as_str().is_some_and(|hash| hash.starts_with("sha256:")), "{record}");
    assert!(record["device"].as_str().is_some_and(|device| !device.is_empty()), "{record}");
}

#[test]
fn the_table_says_where_and_what() {
    let output = saxpy(&["--n", "1000"], &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    for part in ["device: ", "sha256:", "copy in", "kernel", "copy out", "correct"] {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

#[test]
fn help_has_every_option() {
    let output = saxpy(&["--help"], &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    for part in ["y = a x + y", "--n", "--device", "--json"] {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

#[test]
fn a_gpu_where_there_is_none() {
    let nowhere = ("RUMBA_CUDA_LIBRARY", "/nowhere/libcuda.so.1");
    let parts = ["/nowhere/libcuda.so.1", "RUMBA_DEVICE=soft"];
    fails(&saxpy(&["--n", "1"], &[nowhere, ("RUMBA_DEVICE", "gpu")]), &parts);
    fails(&saxpy(&["--n", "1", "--device", "gpu"], &[nowhere]), &parts);
}

#[test]
fn a_device_that_does_not_exist() {
    fails(&saxpy(&["--n", "1"], &[("RUMBA_DEVICE", "abacus")]), &["abacus", "auto", "gpu", "soft"]);
    fails(&saxpy(&["--device", "abacus"], &[]), &["abacus", "auto", "gpu", "soft"]);
}

#[test]
fn nothing_to_do() {
    assert!(saxpy(&["--n", "0"], &[]).status.success());
}

#[test]
fn the_checks_find_nothing_in_any_program() {
    for (name, _) in gallery::programs::ALL {
        let size = if *name == "pi" { "--blocks=2" } else { "--n=64" };
        let output = program(name)
            .arg(size)
            .current_dir(env!("CARGO_TARGET_TMPDIR"))
            .envs([("RUMBA_DEVICE", "soft"), ("RUMBA_CHECK", "all")])
            .output()
            .expect("the programs were built beside this test");
        let reports = String::from_utf8_lossy(&output.stderr);
        let says_nothing_else = reports.lines().count() == 1 && reports.starts_with("rumba: no findings in ");
        assert!(output.status.success() && says_nothing_else, "{name}: {reports}");
    }
}

#[test]
fn a_name_of_no_program() {
    let output = program("abacus").output().expect("the program was built beside this test");
    fails(&output, &["`abacus`", "cargo xtask run", "black_scholes, ", "transpose"]);
}
