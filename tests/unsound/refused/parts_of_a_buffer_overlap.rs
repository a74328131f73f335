//! Two mutable parts of one buffer.
use rumba::prelude::*;

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let mut buffer = device.zeros::<u32>(8)?;
    let left = buffer.slice_mut(0..5);
    let right = buffer.slice_mut(3..8);
    println!("{} {}", left.len(), right.len());
    Ok(())
}
