//! Memory that ends before the scope that copies to it.
use rumba::prelude::*;

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let stream = device.stream()?;
    let buffer = device.zeros::<u32>(4)?;
    device.scope(|scope| {
        let mut host = device.pinned::<u32>(4)?;
        scope.copy_out(buffer.as_slice(), &mut host, &stream)
    })
}
