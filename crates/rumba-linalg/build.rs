//! Tells the build script of `rumba` where these sources are. Their folder has another name in each kind of source: a clone, a registry,
//! a folder of vendored crates.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::metadata=folder={}", env!("CARGO_MANIFEST_DIR"));
}
