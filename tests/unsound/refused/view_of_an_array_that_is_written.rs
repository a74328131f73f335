//! A view of an array that a launch writes, and two views that write.
use cuda_std::prelude::*;
use rumba::array::Array;

#[kernel]
pub fn copy(x: View<u32, 1>, mut y: Disjoint<u32, cuda_std::output::Array<1>>) {
    y.each(|at, y| *y = x[at]);
}

fn main() -> rumba::Result<()> {
    let device = rumba::Device::new()?;
    let mut numbers = Array::<u32, 1>::arange(&device, 0, 1, 8)?;
    let call = copy(numbers.slice((1..,)), numbers.slice_mut((..7,)));
    let (left, right) = (numbers.view_mut(), numbers.view_mut());
    drop((left, right, call));
    Ok(())
}
