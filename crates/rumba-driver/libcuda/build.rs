//! Names the library as programs ask for it: the loader then also takes it for `libcuda.so.1` where it was
//! loaded by path.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
}
