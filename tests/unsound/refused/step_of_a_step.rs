//! Steps whose product might wrap: every part has a step of its own.
use rumba::array::{Array, every};

fn main() -> rumba::Result<()> {
    let device = rumba::Device::new()?;
    let numbers = Array::<u32, 1>::arange(&device, 0, 1, 8)?;
    println!("{:?}", numbers.slice((every(every(.., isize::MAX), 2),)).shape());
    Ok(())
}
