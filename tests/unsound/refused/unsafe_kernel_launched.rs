//! A kernel with raw pointers, called as if it were safe.
use cuda_std::prelude::*;
use rumba::prelude::*;

/// # Safety
/// `x` is a number on the device.
#[kernel]
pub unsafe fn write(x: *mut u32) {
    unsafe { *x = 1 };
}

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let buffer = device.zeros::<u32>(4)?;
    let _call = write(buffer.as_device_pointer());
    Ok(())
}
