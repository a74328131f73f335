//! The software CUDA device as a library that programs load, as they load NVIDIA's driver.
//!
//! `cargo xtask setup` builds it and puts it where programs look for it. All is in `rumba-soft`; here is only the symbol
//! by which it is entered. It has none of the driver API's, so that it is never taken for `libcuda.so.1`.

use rumba_interface::Device;

static DEVICE: Device = rumba_soft::device();

/// The table of the device.
#[unsafe(no_mangle)]
pub extern "C" fn rumba_soft_device() -> *const Device {
    &raw const DEVICE
}
