//! Common beginnings of tests.

use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Device, Module};

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
