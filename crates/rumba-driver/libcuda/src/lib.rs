//! The software CUDA device as a shared library.
//!
//! `cargo build --release -p rumba-libcuda` makes `target/release/libcuda.so`. Under the name `libcuda.so.1`,
//! in a folder of LD_LIBRARY_PATH, it serves any program that loads NVIDIA's driver by that name. It is the
//! software device unless `RUMBA_CUDA_LIBRARY` names NVIDIA's library.
//!
//! All calls are in `rumba-driver`; here is only what tells it how it was loaded.

/// Runs when the library is loaded, before any call.
extern "C" fn loaded() {
    rumba_driver::serve_as_library();
}

/// The loader calls what it finds in this section.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;
