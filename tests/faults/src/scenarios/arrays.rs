//! Arrays of several dimensions.

use rumba::Result;
use rumba::array::{Array, every};
use rumba::test_kernels::{PTX, scale};

use crate::World;

pub(super) fn made(world: &World) -> Result<()> {
    assert_eq!(Array::<f32, 2>::zeros(&world.device, [2, 3])?.to_vec()?, [0.0; 6]);
    assert_eq!(Array::full(&world.device, [3, 2], 7_u16)?.to_vec()?, [7; 6]);
    assert_eq!(Array::arange(&world.device, 1_i32, 2, 4)?.to_vec()?, [1, 3, 5, 7]);
    Ok(())
}

pub(super) fn copied(world: &World) -> Result<()> {
    let array = Array::arange(&world.device, 0_u32, 1, 12)?.reshape([3, 4])?;
    assert_eq!(array.transpose().to_vec()?, [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]);
    let part = array.slice((1.., every(.., 2))).to_array()?;
    assert_eq!((part.shape(), part.to_vec()?), ([2, 2], vec![4, 6, 8, 10]));
    let clone = part.try_clone()?;
    drop((array, part));
    assert_eq!(clone.to_vec()?, [4, 6, 8, 10]);
    Ok(())
}

pub(super) fn computed(world: &World) -> Result<()> {
    let (a, b) =
        (Array::arange(&world.device, 1.0_f32, 1.0, 6)?.reshape([2, 3])?, Array::full(&world.device, [3], 10.0_f32)?);
    let sum = (&a + &b).eval()?;
    assert_eq!(sum.to_vec()?, [11.0, 12.0, 13.0, 14.0, 15.0, 16.0]);
    let mut output = Array::zeros(&world.device, [2, 3])?;
    ((&a - 1.0) * &sum / &b).eval_into(output.view_mut())?;
    assert_eq!(output.to_vec()?[..3], [0.0, 1.2, 2.6]);
    Ok(())
}

pub(super) fn filled(world: &World) -> Result<()> {
    let mut array = Array::<i64, 2>::zeros(&world.device, [3, 3])?;
    array.slice_mut((.., 1..2)).fill(5)?;
    array.slice_mut((0..1, ..)).copy_from_slice(&[1, 2, 3])?;
    array.fill(array.to_vec()?[4])?;
    assert_eq!(array.to_vec()?, [5; 9]);
    Ok(())
}

pub(super) fn reshaped(world: &World) -> Result<()> {
    let array = Array::arange(&world.device, 0_u8, 1, 24)?.reshape([2, 3, 4])?;
    let turned = array.view().permute([2, 0, 1]).to_array()?.reshape([4, 6])?;
    assert_eq!(turned.row(1).to_vec()?, [1, 5, 9, 13, 17, 21]);
    assert_eq!(turned.column(0).to_vec()?, [0, 1, 2, 3]);
    Ok(())
}

pub(super) fn as_arguments(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let mut array = Array::full(&world.device, [4, 8], 1.0_f32)?;
    module.for_each(16, scale(3.0, array.slice_mut((2.., ..)).into_slice().expect("rows lie together")))?;
    assert_eq!(array.to_vec()?, [[1.0; 16], [3.0; 16]].concat());
    Ok(())
}
