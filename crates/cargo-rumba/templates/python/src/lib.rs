//! Kernels for Python. Arrays of PyTorch, CuPy and Numba are used where they are, on the device; arrays of NumPy are copied.

use std::sync::LazyLock;

use pyo3::prelude::*;
use rumba::array::Array;
use rumba::python::{Argument, DeviceArray};
use rumba::{Device, Module};

#[rumba::kernels]
mod kernels {
    use cuda_std::prelude::*;

    /// y = a x + y
    #[kernel]
    pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
        let i = grid::<1>();
        if let Some(y) = y.get_mut(i) {
            *y += a * x[i];
        }
    }
}

/// The device and the kernels on it, or why there is none.
static LOADED: LazyLock<rumba::Result<(Device, Module)>> = LazyLock::new(|| {
    let device = Device::new()?;
    let module = device.load(kernels::PTX)?;
    Ok((device, module))
});

fn loaded() -> PyResult<&'static (Device, Module)> {
    LOADED.as_ref().map_err(|error| pyo3::exceptions::PyRuntimeError::new_err(error.to_string()))
}

/// Adds `a * x` to `y`, in place: arrays of float32, of the same length.
#[pyfunction]
fn saxpy(a: f32, x: Argument, y: Argument) -> PyResult<()> {
    let (device, module) = loaded()?;
    let x = x.read::<f32, 1>(device)?;
    let mut y = y.write::<f32, 1>(device)?;
    if x.len() < y.len() {
        let message = format!("`x` has {} elements, and `y` has {}", x.len(), y.len());
        return Err(pyo3::exceptions::PyValueError::new_err(message));
    }
    module.for_each(y.len(), kernels::saxpy(a, x.as_slice()?, y.as_slice_mut()?))?;
    Ok(y.finish()?)
}

/// An array of ones on the device, for any library that knows DLPack or the CUDA array interface.
#[pyfunction]
fn ones(length: usize) -> PyResult<DeviceArray> {
    let (device, _) = loaded()?;
    Ok(DeviceArray::new(Array::full(device, [length], 1.0_f32)?)?)
}

/// The name of the device.
#[pyfunction]
fn device() -> PyResult<String> {
    Ok(loaded()?.0.name().to_owned())
}

#[pymodule]
fn {{module-name}}(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DeviceArray>()?;
    module.add_function(wrap_pyfunction!(saxpy, module)?)?;
    module.add_function(wrap_pyfunction!(ones, module)?)?;
    module.add_function(wrap_pyfunction!(device, module)?)
}
