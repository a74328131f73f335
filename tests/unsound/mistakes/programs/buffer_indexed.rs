//! Numba and PyCUDA: an element of a device array.

use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn scale(factor: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= factor;
    }
}

fn run(device: &Device) -> rumba::Result<()> {
    let mut y = device.zeros::<f32>(4)?;
    println!("{}", y[0]);
    y[1] = 2.0;
    Ok(())
}

fn main() {}
