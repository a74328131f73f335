//! Writes the kernels of the examples into one file.

include!("../extract.rs");

fn main() {
    let mut text = String::new();
    for example in examples() {
        writeln!(text, "pub mod {} {{\n{}\n}}", example.name, example.kernels).expect("a string takes all text");
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("examples.rs"), text).expect("the folder is ours to write");
}
