//! The software CUDA device as a library that programs load, as they load NVIDIA's driver.
//!
//! `cargo xtask setup` builds the library and puts it where programs look for it. `rumba-soft` has all of the code;
//! this crate only exports the symbol that programs call. It exports no symbol of the driver API, so that it is never
//! mistaken for `libcuda.so.1`.

use rumba_interface::Device;

static DEVICE: Device = rumba_soft::device();

/// The table of the device.
#[unsafe(no_mangle)]
pub extern "C" fn rumba_soft_device() -> *const Device {
    &raw const DEVICE
}
