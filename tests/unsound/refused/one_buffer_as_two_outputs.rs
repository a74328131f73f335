//! One buffer as two outputs.
use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn fill_both(mut x: DisjointSlice<u32>, mut y: DisjointSlice<u32>) {
    let _ = (x.own(), y.own());
}

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let mut buffer = device.zeros::<u32>(4)?;
    let _call = fill_both(&mut buffer, &mut buffer);
    Ok(())
}
