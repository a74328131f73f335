//! A buffer of `bool`, which comes back with any bits.
use rumba::prelude::*;

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let _buffer = device.zeros::<bool>(4)?;
    Ok(())
}
