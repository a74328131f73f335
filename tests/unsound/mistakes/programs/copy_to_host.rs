//! Numba: `copy_to_host()`, PyCUDA: `get()`.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn run(device: &Device) -> rumba::Result<()> {
    let y = device.zeros::<f32>(4)?;
    let host = y.copy_to_host();
    let other = y.get();
    let x = device.to_device(&[1.0_f32]);
    Ok(())
}

fn main() {}
