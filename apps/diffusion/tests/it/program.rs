//! Runs the program from the command line.

use crate::pictures::goldens;
use diffusion::Picture;
use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str], out: &Path) -> Output {
    let weights = goldens().join("one");
    let mut command = Command::new(env!("CARGO_BIN_EXE_diffusion"));
    command.arg("--weights").arg(weights).arg("--out").arg(out).args(arguments);
    command.output().expect("it starts")
}

#[test]
fn a_text_becomes_a_picture() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let (first, second) = (folder.path().join("first.png"), folder.path().join("second.png"));
    let output = run(&["--steps", "3", "--size", "24x16", "--seed", "5", "a cat"], &first);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("3 steps of DPM-Solver++ (2M)") && text.contains("steps/s"), "{text}");
    let picture = Picture::read(&first).expect("it was drawn");
    assert_eq!((picture.columns, picture.rows), (24, 16));

    let image = first.to_str().expect("it is UTF-8");
    let arguments = ["--image", image, "--strength", "0.5", "--steps", "4", "--sampler", "euler", "a cat"];
    let output = run(&arguments, &second);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("2 steps of Euler"), "{text}");
    let other = Picture::read(&second).expect("it was drawn");
    assert_eq!((other.columns, other.rows), (24, 16));
    assert_ne!(other, picture);
}

/// The output of the program for one picture of each digit.
fn digits(environment: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let file = folder.path().join("digits.png");
    let mut command = Command::new(env!("CARGO_BIN_EXE_diffusion"));
    command
        .args(["--columns", "1", "--steps", "1", "--guidance", "1", "--out"])
        .arg(&file)
        .envs(environment.iter().copied());
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    let picture = Picture::read(&file).expect("it was drawn");
    assert_eq!((picture.columns, picture.rows), (68, 626));
    String::from_utf8(output.stdout).expect("it is UTF-8")
}

#[test]
fn a_sheet_is_drawn_and_devices_are_compared() {
    let text = digits(&[]);
    let lines: Vec<&str> = text.lines().collect();
    let names = lines.iter().map(|line| line.split(':').next().unwrap_or_default());
    let names: Vec<&str> = names.take(6).collect();
    assert_eq!(names, ["device", "recording", "drawing", "decoding", "transfers", "picture"], "{text}");
    assert!(lines[2].contains("10 digits in 1 steps"), "{text}");
    let rows = &lines[7..];
    let titles: Vec<&str> = rows[0].split_whitespace().skip(2).collect();
    assert_eq!(titles, ["recording", "drawing", "decoding", "transfers", "device"], "{text}");
    assert!(rows[1].starts_with("one core") && rows[1].ends_with("(1 workers)"), "{text}");
    assert!(rows[2].starts_with("all cores") && rows[2].matches(" s ").count() == 4, "{text}");
    assert!(rows[3].starts_with("GPU") && rows.len() == 4, "{text}");
}

#[test]
fn what_is_checked_is_one_process() {
    let text = digits(&[("RUMBA_DEVICE", "soft"), ("RUMBA_CHECK", "mem")]);
    let last = text.lines().last();
    assert!(last.is_some_and(|line| line.starts_with("picture:")), "{text}");
}

#[test]
fn a_wrong_call_is_told() {
    let out = Path::new("none.png");
    for (arguments, expected) in [
        (&["--size", "24by16", "a cat"][..], "a size is two numbers, such as 512x768"),
        (
            &["--size", "23x16", "a cat"],
            "a picture of 23x16 pixels cannot be drawn by these networks: both are to be multiples of 2, up to 16384",
        ),
        (&["--image", "no.png", "a cat"], "the picture no.png cannot be read: "),
        (&["--columns", "3", "a cat"], "cannot be used with"),
        (&[], "required arguments were not provided"),
    ] {
        let output = run(arguments, out);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(expected), "{arguments:?}: {text}");
    }
}
