//! Writes the generated kernels into one file.

#[allow(dead_code, reason = "the programs are printed here, and evaluated elsewhere")]
#[path = "../src/program/mod.rs"]
mod program;

fn main() {
    println!("cargo::rerun-if-changed=../src/program");
    println!("cargo::rerun-if-env-changed={}", program::VARIABLE);
    let [seed, count] = program::wanted();
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let path = std::path::Path::new(&out).join("kernels.rs");
    std::fs::write(path, program::source::crate_text(seed, count)).expect("the folder is ours to write");
}
