//! Common beginnings of tests.

use rumba::error::InteropError;
use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Device, Error, Module};

pub fn device() -> Device {
    Device::new().expect("there is a device")
}

/// A device, and kernels that are ready to run: the driver loads a kernel when it is first launched, which may wait for all
/// streams.
pub fn ready() -> rumba::Result<(Device, Module)> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let mut y = device.zeros::<f32>(1)?;
    module.for_each(1, scale(1.0, &mut y))?;
    module.for_each(1, saxpy(1.0, &device.zeros::<f32>(1)?, &mut y))?;
    device.synchronize()?;
    Ok((device, module))
}

/// The error of a tensor of another library that was refused.
#[track_caller]
pub fn interop_error<T>(result: rumba::Result<T>) -> InteropError {
    match result {
        Err(Error::Interop(error)) => error,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("no error"),
    }
}
