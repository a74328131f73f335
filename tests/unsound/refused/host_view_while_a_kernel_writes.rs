//! Managed memory that the host reads while a launch may write it.
use cuda_std::prelude::*;
use rumba::prelude::*;

#[kernel]
pub fn clear(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = 0;
    }
}

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let mut numbers = device.managed::<u32>(4)?;
    let view = numbers.host()?;
    let call = clear(&mut numbers);
    println!("{}", view[0]);
    drop(call);
    Ok(())
}
