//! An output that contains elements more than once: a view that was broadcast.
use cuda_std::prelude::*;
use rumba::array::Array;

#[kernel]
pub fn fill(mut y: Disjoint<u32, cuda_std::output::Array<1>>) {
    y.each(|_, y| *y = 1);
}

fn main() -> rumba::Result<()> {
    let device = rumba::Device::new()?;
    let mut number = Array::<u32, 1>::arange(&device, 0, 1, 1)?;
    drop(fill(number.view().broadcast([64])?));
    drop(fill(number.view_mut().broadcast([64])?));
    Ok(())
}
