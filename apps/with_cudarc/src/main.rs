//! Memory, streams and copies of the crate cudarc; kernels and typed launches of Rumba. No element is copied between the libraries.

use anyhow::{Result, ensure};
use cudarc::driver::DevicePtr;
use rumba::interop::cudarc::scope;
use rumba::{Device, DeviceBuffer};
use std::time::Instant;

#[rumba::kernels]
mod kernels {
    use cuda_std::prelude::*;

    /// y = a x + y
    #[kernel]
    pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
        let i = grid::<1>();
        if let Some(y) = y.get_mut(i) {
            *y += a * x[i];
        }
    }
}

/// Elements of each slice.
const N: usize = 1_000_000;

fn main() -> Result<()> {
    let device = Device::new()?;
    let module = device.load(kernels::PTX)?;

    // ANCHOR: program
    // The context is the device's primary one, which Rumba uses too.
    let context = device.to_cudarc()?;
    let stream = context.new_stream()?;
    let x = stream.clone_htod(&vec![1.0_f32; N])?;
    let mut y = stream.clone_htod(&vec![2.0_f32; N])?;

    // Views are borrowed until the scope ends. The device orders the work.
    let (read, written) = (x.as_view(), y.as_view_mut());
    scope(&device, |scope| {
        let (x, y) = (scope.read(read)?, scope.write(written)?);
        module.for_each(N, kernels::saxpy(3.0, x, y))
    })?;

    // A slice changes its owner, and comes back as the same slice.
    let place = y.device_ptr(&stream).0;
    let mut buffer = DeviceBuffer::from_cudarc(&device, y)?;
    let ones = device.buffer_from(&vec![1.0_f32; N])?;
    module.for_each(N, kernels::saxpy(4.0, &ones, &mut buffer))?;
    let y = buffer.into_cudarc(&stream)?;
    ensure!(y.device_ptr(&stream).0 == place, "the slice is somewhere else");

    // Memory of Rumba in a copy of cudarc's.
    let mut copy = device.zeros::<f32>(N)?;
    let slice = copy.as_slice_mut();
    scope(&device, |scope| {
        let mut copy = scope.lend_mut(slice, &stream)?;
        stream.memcpy_dtod(&y, &mut copy).expect("both have N elements");
        Ok(())
    })?;
    // ANCHOR_END: program

    ensure!(stream.clone_dtoh(&y)? == vec![9.0; N], "another sum in the memory of cudarc");
    ensure!(copy.to_vec()? == vec![9.0; N], "another sum in the memory of Rumba");
    println!("{N} sums in the memory of cudarc, on {}", device.name());
    costs(&device, &module, &stream)
}

/// Prints what a scope costs: launches in scopes, compared with launches that have their memory.
fn costs(device: &Device, module: &rumba::Module, stream: &std::sync::Arc<cudarc::driver::CudaStream>) -> Result<()> {
    const TIMES: u32 = 1000;
    let (x, y) = (device.zeros::<f32>(256)?, &mut device.zeros::<f32>(256)?);
    let (their_x, mut their_y) = (stream.alloc_zeros::<f32>(256)?, stream.alloc_zeros::<f32>(256)?);
    module.for_each(256, kernels::saxpy(1.0, &x, &mut *y))?;
    device.synchronize()?;
    let start = Instant::now();
    for _ in 0..TIMES {
        module.for_each(256, kernels::saxpy(1.0, &x, &mut *y))?;
    }
    device.synchronize()?;
    let alone = start.elapsed() / TIMES;
    let start = Instant::now();
    for _ in 0..TIMES {
        let (x, y) = (their_x.as_view(), their_y.as_view_mut());
        scope(device, |scope| module.for_each(256, kernels::saxpy(1.0, scope.read(x)?, scope.write(y)?)))?;
    }
    device.synchronize()?;
    let in_scope = start.elapsed() / TIMES;
    println!("a launch takes {alone:.1?}, and {in_scope:.1?} in a scope with two views");
    Ok(())
}
