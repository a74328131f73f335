//! Names the library as programs ask for it: the loader then also takes it for `libcuda.so.1` where it was
//! loaded by path. The library is never unloaded: it has threads, and registers a function for the end of the process.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
