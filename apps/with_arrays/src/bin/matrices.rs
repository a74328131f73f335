//! A matrix of nalgebra, and its double.

// ANCHOR: program
use nalgebra::DMatrix;
use rumba::array::Array;
use rumba::prelude::*;

fn main() -> rumba::Result<()> {
    let device = Device::new()?;
    let matrix = DMatrix::from_row_slice(2, 3, &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let shape = [matrix.ncols(), matrix.nrows()];
    let columns = Array::from_slice(&device, shape, matrix.as_slice())?;
    let rows = columns.transpose();
    assert_eq!(rows.to_vec()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);

    let twice = (2.0 * &columns).eval()?;
    let back = DMatrix::from_vec(2, 3, twice.to_vec()?);
    assert_eq!(back, 2.0 * matrix);
    Ok(())
}
// ANCHOR_END: program
