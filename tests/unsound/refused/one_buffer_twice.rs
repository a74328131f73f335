//! One buffer as an input and as an output.
use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn copy(x: &[u32], mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = x[0];
    }
}

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let mut buffer = device.zeros::<u32>(4)?;
    let _call = copy(&buffer, &mut buffer);
    Ok(())
}
