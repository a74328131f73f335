//! Page-locked memory that a copy is writing to.
use rumba::prelude::*;

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let stream = device.stream()?;
    let buffer = device.zeros::<u32>(4)?;
    let pinned = device.pinned::<u32>(4)?;
    let copy = buffer.copy_to_pinned(pinned, &stream)?;
    println!("{}", pinned[0]);
    copy.wait()?;
    Ok(())
}
