//! A host function that would run after the end of its borrow.
use rumba::prelude::*;

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let stream = device.stream()?;
    let mut count = 0;
    stream.launch_host_fn(|| count += 1)?;
    println!("{count}");
    Ok(())
}
