//! Memory that a copy of a scope is writing to.
use rumba::prelude::*;

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let stream = device.stream()?;
    let buffer = device.zeros::<u32>(4)?;
    let mut host = device.pinned::<u32>(4)?;
    device.scope(|scope| {
        scope.copy_out(buffer.as_slice(), &mut host, &stream)?;
        println!("{}", host[0]);
        Ok(())
    })
}
