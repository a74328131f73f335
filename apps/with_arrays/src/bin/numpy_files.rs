//! Reads a file of NumPy, scales the array on the device, and writes a file.

// ANCHOR: program
use kernels::scale;
use ndarray::Array2;
use ndarray_npy::{read_npy, write_npy};
use rumba::array::Array;
use rumba::prelude::*;

const PTX: &str = include_str!(env!("KERNELS_PTX"));

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    // np.save("x.npy", np.array([[1, 2, 3], [4, 5, 6]], np.float32, order="F"))
    let x: Array2<f32> = read_npy("x.npy")?;
    let mut x = Array::from_ndarray(&device, &x)?;
    let elements = x.view_mut().into_slice().expect("an array lies row by row");
    module.for_each(elements.len(), scale(10.0, elements))?;
    // np.load("y.npy")
    write_npy("y.npy", &x.to_ndarray()?)?;

    let y: Array2<f32> = read_npy("y.npy")?;
    assert_eq!(y, ndarray::array![[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]);
    Ok(())
}
// ANCHOR_END: program
