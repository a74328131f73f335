//! Launches a kernel on a million elements: on an NVIDIA GPU if there is one, otherwise on the software device.

use kernels::saxpy;
use rumba::prelude::*;

/// The kernels as PTX, built by the build script.
const PTX: &str = include_str!(env!("KERNELS_PTX"));

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;

    let n = 1_000_000;
    let x = vec![1.0_f32; n];
    let mut y = vec![2.0_f32; n];
    // Host slices are copied to the device, and back if the kernel writes them.
    let times = module.for_each_timed(n, saxpy(3.0, &x, &mut y))?;

    println!("{}: {n} elements, the last is {}", device.name(), y[n - 1]);
    println!("{times}");
    Ok(())
}
