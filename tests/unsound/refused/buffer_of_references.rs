//! A buffer of references, whose bits a kernel may change.
use rumba::prelude::*;

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let numbers = [1_u32, 2];
    let _buffer = device.buffer_from(&[&numbers[0], &numbers[1]])?;
    Ok(())
}
