//! The software CUDA device as a shared library that any CUDA program can load.
//!
//! `cargo build --release -p rumba-libcuda` makes `target/release/libcuda.so`. Under the name `libcuda.so.1`,
//! in a folder of LD_LIBRARY_PATH, it serves any program that loads NVIDIA's driver by that name. It contains the
//! software device, and uses it unless `RUMBA_CUDA_LIBRARY` names NVIDIA's library.
//!
//! `rumba-driver` and `rumba-soft` implement all calls; this crate only tells them how they were loaded.

use rumba_interface::Device;

static DEVICE: Device = rumba_soft::device();

/// The table of the device. A program of this runtime in the same process has the same device if `RUMBA_SOFT_LIBRARY` names this library.
#[unsafe(no_mangle)]
pub extern "C" fn rumba_soft_device() -> *const Device {
    &raw const DEVICE
}

/// Runs when the library is loaded, before any call.
extern "C" fn loaded() {
    rumba_driver::serve_as_library(&DEVICE);
}

/// The loader calls what it finds in this section.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;
