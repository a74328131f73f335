//! A scope that outlives the function that waits for its copies.
use rumba::prelude::*;

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let mut kept = None;
    device.scope(|scope| {
        kept = Some(scope);
        Ok(())
    })
}
