//! Mistakes that users of CUDA make in kernels: what the builder adds to the compiler's messages about them, and that it adds
//! nothing to others.

use cuda_builder::BuildError;
use tempfile::TempDir;

use crate::build::{assert_has, assert_lacks, try_build};

/// The diagnostics of the builder for a kernel crate with these files, which does not compile.
fn diagnostics(files: &[(&str, &str)]) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    let folder = TempDir::new().expect("a temporary folder");
    let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).expect("a file");
    std::fs::create_dir(folder.path().join("src")).expect("a folder");
    write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"mistakes\"\nedition = \"2024\"\n[dependencies]\ncuda_std = {{ path = \"{root}/../cuda_std\" }}\n[workspace]\n"
        ),
    );
    // Pins versions that an offline build can find.
    std::fs::copy(format!("{root}/../../Cargo.lock"), folder.path().join("Cargo.lock"))
        .expect("the workspace has a lock file");
    for (file, text) in files {
        write(file, text);
    }
    match try_build(folder.path(), |builder| builder.build_arg("--offline")) {
        Err(BuildError::Compile { diagnostics, .. }) => diagnostics,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("it compiles: {files:?}"),
    }
}

/// The diagnostics of the builder about each line of a crate with these lines.
fn of_lines(lines: &[&str]) -> Vec<String> {
    let source = format!("use cuda_std::prelude::*;\n{}\n", lines.join("\n"));
    let all = diagnostics(&[("src/lib.rs", &source)]);
    let about = |index: usize| {
        let place = format!("src/lib.rs:{}:", index + 2);
        let errors = all.split("\nerror").filter(|error| error.contains(&place));
        errors.collect::<Vec<_>>().join("\n")
    };
    (0..lines.len()).map(about).collect()
}

const ALLOCATED: &str = "= help: kernels are compiled without the standard library, and allocate nothing unless";
const IN_CORE: &str = "= help: kernels are compiled without the standard library: write `core::`";
const BORROWED: &str = "= help: `tile.read(|tile| ..)` waits";
const ONE_TYPE: &str = "= help: both sides of an operator have one type";
const CONSTANT: &str =
    "= help: a literal is `f32` or `f64`, and a generic number may be either: write `T::from_f64(0.5)`";

/// Words of all advice.
const OF_ADVICE: &[&str] = &[
    "standard library",
    "tile.read",
    "from_f64",
    "as usize]",
    "grid::<1>()",
    "cuda_std::GpuFloat",
    "Triton",
    "fetch_add",
    "Shared<Tile",
    "y.own()",
    "one type",
];

/// Lines of kernel crates, with what is found at once, and what the builder says of each; near misses are told nothing.
const CASES: &[&[(&str, Option<&str>)]] = &[
    &[
        ("fn vector() { let v: Vec<f32> = Vec::new(); }", Some(ALLOCATED)),
        ("fn boxed() { Box::new(1); }", Some(ALLOCATED)),
        ("fn text() { String::new(); }", Some(ALLOCATED)),
        ("fn list() { vec![0.0; 4]; }", Some(ALLOCATED)),
        ("use alloc::vec::Vec as Elements;", Some(ALLOCATED)),
        ("use std::collections::HashMap as Map;", Some(IN_CORE)),
        ("fn half_turn() -> f32 { std::f32::consts::PI }", Some(IN_CORE)),
        ("fn map() { HashMap::<u32, u32>::new(); }", Some("open addressing")),
        ("fn print() { println!(\"{}\", 1); }", Some("`use cuda_std::println;`")),
        ("fn other_type() { Vac::new(); }", None),
        ("use cuda_std::nothing;", None),
        ("fn other_macro() { veq![1]; }", None),
        ("fn other_index() -> u32 { threadIndex.x }", None),
        ("fn other_function(x: f32) -> f32 { sinusoid(x) + logistic(x) }", None),
        ("fn other_value() -> u32 { tl + 1 }", None),
        ("fn other_atomic() { atomicTouch(1); }", None),
        ("use other_crate::item;", None),
        ("#[shares] fn other_attribute() {}", None),
    ],
    &[("extern crate alloc;", Some(ALLOCATED))],
    &[
        ("fn scale<T: GpuFloat>(x: T) -> T { 0.5 * x }", Some(CONSTANT)),
        ("fn scaled<T: GpuFloat>(x: T) -> T { x * 0.5 }", Some(CONSTANT)),
        ("fn less<T: GpuFloat>(x: T) -> T { 1.0 - x }", Some(CONSTANT)),
        ("fn at(x: &[f32], i: u32) -> f32 { x[i] }", Some("write `x[i as usize]`")),
        ("fn at_float(x: &[f32], i: f32) -> f32 { x[i] }", None),
        ("fn integer() -> u32 { 0.5 * 1_u32 }", Some(ONE_TYPE)),
        ("fn single() -> f32 { 1_u32 }", None),
        ("fn generic<T: GpuFloat>(x: T) -> f32 { x }", None),
        ("fn float<T: GpuFloat>(x: T) -> T { 1_u32 }", None),
        ("fn reference(x: &mut f32) { let mut x = x; x = 1.0; }", None),
        ("fn field(x: &(f32, f32)) { x.0 = 1.0; }", None),
        ("fn pointer(x: Option<f32>) -> f32 { *x }", None),
        ("fn two(x: f32, n: u32) -> f32 { x * n }", Some(ONE_TYPE)),
        ("fn text(x: f32) { let _ = \"a\" * x; }", None),
    ],
    &[
        (
            "#[kernel] pub fn closure(mut y: Disjoint<f32, Rows>, mut tile: Shared<Tile<f32, 64>>) { y.each_row(|_, _| { tile.sync(); }); }",
            Some(BORROWED),
        ),
        (
            "#[kernel] pub fn turns(mut tile: Shared<Tile<f32, 64>>) { for _ in 0..3 { let view = tile.sync(); } }",
            Some(BORROWED),
        ),
        ("#[kernel] pub fn slice(mut tile: SharedSlice<f32>) { loop { let view = tile.sync(); } }", Some(BORROWED)),
        ("struct S; fn take(_: S) {} fn moved() { let s = S; take(s); take(s); }", None),
    ],
];

#[test]
fn mistakes_are_told_what_to_write() {
    for cases in CASES {
        let lines: Vec<&str> = cases.iter().map(|(line, _)| *line).collect();
        for ((line, advice), text) in cases.iter().zip(of_lines(&lines)) {
            assert!(!text.is_empty(), "nothing is said of `{line}`");
            match advice {
                Some(advice) => assert_has(&text, &[advice]),
                None => assert_lacks(&text, OF_ADVICE),
            }
        }
    }
}

#[test]
fn kernels_of_one_name_are_both_named() {
    let kernel =
        "use cuda_std::prelude::*;\n\n#[kernel]\npub fn step(mut y: DisjointSlice<f32>) {\n    let _ = y.own();\n}\n";
    let text = diagnostics(&[
        ("src/lib.rs", "pub mod a;\npub mod b;\n"),
        ("src/a.rs", kernel),
        ("src/b.rs", &format!("\n{kernel}")),
    ]);
    assert_has(
        &text,
        &[
            "error: two kernels have the name `step`",
            "src/b.rs:4:1",
            "the other is at src/a.rs:4",
            "#[kernel(name = \"other_step\")]",
        ],
    );
}

#[test]
fn kernels_of_one_name_in_two_crates_are_both_named() {
    let folder = TempDir::new().expect("a temporary folder");
    let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).expect("a file");
    std::fs::create_dir_all(folder.path().join("below/src")).expect("a folder");
    std::fs::create_dir(folder.path().join("src")).expect("a folder");
    let package = |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n{rest}");
    write("Cargo.toml", &package("above", "[dependencies]\nbelow = { path = \"below\" }\n[workspace]\n"));
    write("below/Cargo.toml", &package("below", ""));
    let kernel = |name: &str, rest: &str| {
        format!(
            "#![no_std]\n#![feature(abi_ptx)]\n#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn {name}(x: *mut u32) {{ unsafe {{ *x = 1 }} }}\n{rest}"
        )
    };
    write("below/src/lib.rs", &kernel("step", ""));
    write("src/lib.rs", &kernel("step", "pub use below::*;\n"));
    let error = try_build(folder.path(), |builder| builder).expect_err("one name for two kernels");
    assert_has(
        &error.to_string(),
        &["the crates above and below have a kernel `step` each", "#[kernel(name = \"below_step\")]"],
    );
    write("src/lib.rs", &kernel("first_step", "pub use below::*;\n"));
    let ptx = try_build(folder.path(), |builder| builder).expect("two names for two kernels");
    assert_eq!(ptx.kernels, ["first_step", "step"]);
}
