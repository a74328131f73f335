//! A view of an array that is gone.
use rumba::{array::Array, prelude::*};

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let view = {
        let array = Array::<u32, 2>::zeros(&device, [4, 4])?;
        array.transpose()
    };
    println!("{:?}", view.to_vec()?);
    Ok(())
}
