//! Names the library as programs ask for it: the loader then also takes it for `libcuda.so.1` where it was
//! loaded by path. It is kept for as long as the process: it has threads, and is called when the process ends.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
