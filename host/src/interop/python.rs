//! Arrays of Python as arguments of functions in extension modules made with [PyO3](https://pyo3.rs), and arrays of this runtime
//! as objects of Python.
//!
//! An [`Argument`] is any object with DLPack's `__dlpack__` (NumPy, PyTorch, CuPy) or with
//! [`__cuda_array_interface__`](https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html) (Numba). Memory of the device
//! is used as it is; memory of the host is copied to the device, and back where it is written. A [`DeviceArray`] has both
//! protocols, and `__array__` for NumPy.
//!
//! `cargo rumba new --python PATH` makes a project with all of this.
//!
//! ```no_run
//! # use rumba::array::Array;
//! use pyo3::prelude::*;
//! use rumba::Device;
//! use rumba::python::{Argument, DeviceArray};
//! # mod kernels { pub use rumba::test_kernels::{PTX, scale}; }
//!
//! /// Multiplies an array of any library in place.
//! #[pyfunction]
//! fn multiply(factor: f32, values: Argument) -> PyResult<()> {
//!     let device = Device::new()?;
//!     let mut values = values.write::<f32, 1>(&device)?;
//!     device.load(kernels::PTX)?.for_each(values.len(), kernels::scale(factor, values.as_slice_mut()?))?;
//!     Ok(values.finish()?)
//! }
//!
//! /// An array on the device, for any library.
//! #[pyfunction]
//! fn ones(length: usize) -> PyResult<DeviceArray> {
//!     Ok(DeviceArray::new(Array::full(&Device::new()?, [length], 1.0_f32)?)?)
//! }
//! # fn main() {}
//! ```

use super::dlpack::{Managed, ManagedVersioned};
use super::{DType, Element, Foreign, ForeignMut, InteropError, Place, Tensor, row_major};
use crate::array::{Array, ArrayView, ArrayViewMut};
use crate::base::error::{Error, Result};
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::devices::device::Device;
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyCapsule, PyDict, PyTuple};
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;

/// CUDA's legacy default stream, as both protocols number it. The streams of this runtime wait for it.
const LEGACY: i64 = 1;

/// The names of DLPack's capsules, before and after the tensor is taken over.
const VERSIONED: (&CStr, &CStr) = (c"dltensor_versioned", c"used_dltensor_versioned");
const UNVERSIONED: (&CStr, &CStr) = (c"dltensor", c"used_dltensor");

impl From<Error> for PyErr {
    /// A `TypeError` for an argument of another kind, a `ValueError` for one that cannot be used as it is, a `MemoryError`, or a
    /// `RuntimeError`.
    fn from(error: Error) -> PyErr {
        let text = error.to_string();
        match error {
            Error::Interop(InteropError::Type { .. } | InteropError::Axes { .. }) => PyTypeError::new_err(text),
            Error::Interop(_) | Error::Launch(_) | Error::Array(_) => PyValueError::new_err(text),
            Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
            _ => PyRuntimeError::new_err(text),
        }
    }
}

/// An array that was passed from Python.
#[derive(Debug)]
pub struct Argument {
    tensor: Tensor,
    /// Whether work on other streams than the legacy default stream may still use the memory.
    is_busy: bool,
}

impl Argument {
    /// The memory and its description. Streams of other libraries may still use the memory.
    pub fn into_tensor(self) -> Tensor {
        self.tensor
    }

    /// The elements on the device, to read: where they are, or copied from the host.
    ///
    /// # Errors
    /// [`InteropError::Type`], [`InteropError::Axes`]; [`InteropError::NotContiguous`] for elements in host memory;
    /// otherwise as [`Tensor::read`].
    pub fn read<T: Element, const N: usize>(self, device: &Device) -> Result<Read<T, N>> {
        self.wait(device)?;
        Ok(Read(match self.tensor.place() {
            Place::Device(_) => Elements::Shared(self.tensor.read(device)?),
            Place::Host => Elements::Copied(copied(&self.tensor, device)?, ()),
        }))
    }

    /// The elements on the device, to write: where they are, or copied from the host and back.
    ///
    /// # Errors
    /// As [`Argument::read`] and [`Tensor::write`].
    pub fn write<T: Element, const N: usize>(mut self, device: &Device) -> Result<Write<T, N>> {
        self.wait(device)?;
        let elements = match self.tensor.place() {
            Place::Device(_) => Elements::Shared(self.tensor.write(device)?),
            Place::Host => {
                let array = copied(&self.tensor, device)?;
                // What would be found only when the elements are copied back.
                self.tensor.host_slice_mut::<T>()?;
                Elements::Copied(array, self.tensor)
            }
        };
        Ok(Write { elements, is_finished: false })
    }

    fn wait(&self, device: &Device) -> Result<()> {
        if self.is_busy { device.synchronize() } else { Ok(()) }
    }
}

/// A copy of elements in host memory.
fn copied<T: Element, const N: usize>(tensor: &Tensor, device: &Device) -> Result<Array<T, N>> {
    tensor.has_type::<T>()?;
    let shape = tensor.dimensions()?;
    Array::from_slice(device, shape, tensor.host_slice()?)
}

/// Elements of another library, or a copy of elements in host memory with the place that they go back to.
enum Elements<S, T, const N: usize, B> {
    Shared(S),
    Copied(Array<T, N>, B),
}

/// Elements of an [`Argument`], to read.
pub struct Read<T, const N: usize>(Elements<Foreign<T, N>, T, N, ()>);

/// Elements of an [`Argument`], to write. Elements that were copied from the host go back when this is dropped;
/// [`Write::finish`] returns the errors of this.
pub struct Write<T: Element, const N: usize> {
    elements: Elements<ForeignMut<T, N>, T, N, Tensor>,
    is_finished: bool,
}

/// The lengths of a type that has a view.
macro_rules! lengths {
    ($($name:ident),*) => {$(
        impl<T: Element, const N: usize> $name<T, N> {
            /// The length of each axis.
            pub fn shape(&self) -> [usize; N] {
                self.view().shape()
            }

            /// How many elements there are.
            pub fn len(&self) -> usize {
                self.view().len()
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    )*};
}

lengths!(Read, Write);

impl<T: Element, const N: usize> Read<T, N> {
    /// The elements. A view is an argument of kernels.
    pub fn view(&self) -> ArrayView<'_, T, N> {
        match &self.0 {
            Elements::Shared(array) => array.view(),
            Elements::Copied(array, ()) => array.view(),
        }
    }

    /// The elements one after the other, as kernels take slices.
    ///
    /// # Errors
    /// [`InteropError::NotContiguous`].
    pub fn as_slice(&self) -> Result<DeviceSlice<'_, T>> {
        match &self.0 {
            Elements::Shared(array) => array.as_slice(),
            Elements::Copied(array, ()) => Ok(array.as_slice()),
        }
    }

    /// Whether the elements were copied to the device.
    pub fn is_copy(&self) -> bool {
        matches!(self.0, Elements::Copied(..))
    }
}

impl<T: Element, const N: usize> Write<T, N> {
    /// The elements, to read.
    pub fn view(&self) -> ArrayView<'_, T, N> {
        match &self.elements {
            Elements::Shared(array) => array.view(),
            Elements::Copied(array, _) => array.view(),
        }
    }

    /// The elements, to write. A view is an argument of kernels.
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, T, N> {
        match &mut self.elements {
            Elements::Shared(array) => array.view_mut(),
            Elements::Copied(array, _) => array.view_mut(),
        }
    }

    /// The elements one after the other, as kernels take slices that they write.
    ///
    /// # Errors
    /// [`InteropError::NotContiguous`].
    pub fn as_slice_mut(&mut self) -> Result<DeviceSliceMut<'_, T>> {
        match &mut self.elements {
            Elements::Shared(array) => array.as_slice_mut(),
            // An array of its own is in row-major order.
            Elements::Copied(array, tensor) => {
                array.view_mut().into_slice().ok_or_else(|| tensor.not_contiguous().into())
            }
        }
    }

    /// Whether the elements were copied to the device.
    pub fn is_copy(&self) -> bool {
        matches!(self.elements, Elements::Copied(..))
    }

    /// Waits for the work that writes the elements, and copies elements of host memory back.
    ///
    /// # Errors
    /// What a kernel did wrong meanwhile; the driver's.
    pub fn finish(mut self) -> Result<()> {
        self.write_back()
    }

    fn write_back(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_finished, true) {
            return Ok(());
        }
        match &mut self.elements {
            Elements::Shared(array) => array.wait(),
            Elements::Copied(array, tensor) => match tensor.is_empty() {
                true => Ok(()),
                false => array.as_slice().copy_to(tensor.host_slice_mut()?),
            },
        }
    }
}

impl<T: Element, const N: usize> Drop for Write<T, N> {
    fn drop(&mut self) {
        // `finish` returns the errors.
        let _ = self.write_back();
    }
}

impl<'py> FromPyObject<'_, 'py> for Argument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.hasattr("__dlpack__")? && object.hasattr("__dlpack_device__")? {
            return by_dlpack(&object);
        }
        if object.hasattr("__cuda_array_interface__")? {
            return by_interface(&object);
        }
        let kind = object.get_type().qualname()?;
        Err(PyTypeError::new_err(format!(
            "an object of type `{kind}` is no array: it has neither `__dlpack__` nor `__cuda_array_interface__`\n\
             help: pass an array of NumPy, PyTorch, CuPy or Numba, such as `numpy.asarray(values, dtype=numpy.float32)`"
        )))
    }
}

/// Takes the tensor of an object over by DLPack.
fn by_dlpack(object: &Bound<'_, PyAny>) -> PyResult<Argument> {
    let py = object.py();
    let (kind, _): (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
    let arguments = PyDict::new(py);
    if super::dlpack::is_cuda(kind) {
        arguments.set_item("stream", LEGACY)?;
    }
    arguments.set_item("max_version", (1, 0))?;
    let export = object.getattr("__dlpack__")?;
    let capsule = export.call((), Some(&arguments)).or_else(|error| {
        // Libraries from before DLPack had versions.
        if !error.is_instance_of::<PyTypeError>(py) {
            return Err(error);
        }
        arguments.del_item("max_version")?;
        export.call((), Some(&arguments))
    })?;
    let capsule = capsule.cast_into::<PyCapsule>()?;
    let taken = |(name, used): (&'static CStr, &'static CStr)| -> PyResult<Option<NonNull<c_void>>> {
        if !capsule.is_valid_checked(Some(name)) {
            return Ok(None);
        }
        let structure = capsule.pointer_checked(Some(name))?;
        // SAFETY: a capsule, and a name that lives as long as the process.
        match unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } {
            0 => Ok(Some(structure)),
            _ => Err(PyErr::fetch(py)),
        }
    };
    let tensor = match (taken(VERSIONED)?, taken(UNVERSIONED)?) {
        // SAFETY: the capsule of this name has such a structure, which its new name hands over.
        (Some(structure), _) => unsafe { Tensor::from_dlpack(structure.cast::<ManagedVersioned>()) },
        // SAFETY: as above.
        (None, Some(structure)) => unsafe { Tensor::from_dlpack_unversioned(structure.cast::<Managed>()) },
        (None, None) => return Err(PyBufferError::new_err("`__dlpack__` returned a capsule that was used already")),
    };
    // The producer has made the legacy default stream wait.
    Ok(Argument { tensor: tensor?, is_busy: false })
}

/// Takes the memory of an object by the CUDA array interface.
fn by_interface(object: &Bound<'_, PyAny>) -> PyResult<Argument> {
    let interface = object.getattr("__cuda_array_interface__")?.cast_into::<PyDict>()?;
    let entry = |key: &str| -> PyResult<Bound<'_, PyAny>> {
        let found = interface.get_item(key)?.filter(|entry| !entry.is_none());
        found.ok_or_else(|| PyValueError::new_err(format!("`__cuda_array_interface__` has no `{key}`")))
    };
    let shape: Vec<usize> = entry("shape")?.extract()?;
    let (address, is_read_only): (u64, bool) = entry("data")?.extract()?;
    let name: String = entry("typestr")?.extract()?;
    let dtype = DType::from_typestr(&name).ok_or_else(|| {
        PyTypeError::new_err(format!(
            "elements of type `{name}` are not supported: numbers in this machine's order of bytes are"
        ))
    })?;
    let mut strides = None;
    if let Ok(bytes) = entry("strides") {
        let bytes: Vec<isize> = bytes.extract()?;
        let size = dtype.bytes() as isize;
        if size == 0 || bytes.iter().any(|stride| stride % size != 0) {
            return Err(PyValueError::new_err(format!(
                "strides of {bytes:?} bytes are not whole elements of {size} bytes"
            )));
        }
        strides = Some(bytes.into_iter().map(|stride| stride / size).collect::<Vec<_>>());
    }
    if entry("mask").is_ok() {
        return Err(PyValueError::new_err("arrays with a mask are not supported"));
    }
    // Starts the driver.
    Device::count()?;
    let ordinal = crate::cuda::ordinal_of(address).unwrap_or(0);
    let stream = entry("stream").ok().map(|stream| stream.extract::<i64>()).transpose()?;
    let owner = object.clone().unbind();
    // SAFETY: the object keeps the memory alive, and Python's code does not use it while the function runs.
    let tensor = unsafe { Tensor::new(Place::Device(ordinal), address, dtype, &shape, strides.as_deref(), owner) }?;
    let tensor = if is_read_only { tensor.read_only() } else { tensor };
    Ok(Argument { tensor, is_busy: stream.is_some_and(|stream| stream != LEGACY) })
}

/// An array on the device, which other libraries take without a copy.
#[pyclass(frozen, module = "rumba")]
pub struct DeviceArray {
    tensor: Tensor,
}

impl DeviceArray {
    /// The array as an object of Python, after all work of the device.
    ///
    /// # Errors
    /// What a kernel did wrong meanwhile; the driver's.
    pub fn new<T: Element, const N: usize>(array: Array<T, N>) -> Result<Self> {
        Ok(Self { tensor: Tensor::from_array(array)? })
    }

    fn ordinal(&self) -> u32 {
        match self.tensor.place() {
            Place::Device(ordinal) => ordinal,
            Place::Host => 0,
        }
    }

    /// A copy of the elements.
    fn bytes(&self) -> Result<Vec<u8>> {
        let device = Device::get(self.ordinal())?;
        self.tensor.clone().into_bytes().read::<u8, 1>(&device)?.as_slice()?.to_vec()
    }

    fn typestr(&self) -> PyResult<String> {
        let dtype = self.tensor.dtype();
        dtype.typestr().ok_or_else(|| PyTypeError::new_err(format!("NumPy has no type {dtype}")))
    }
}

#[pymethods]
impl DeviceArray {
    /// The array by DLPack, version 1.0 or the structure without a version.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // All work of the device was waited for, so each stream may use the memory.
        let _ = stream;
        if copy == Some(true) || dl_device.is_some_and(|device| device != self.__dlpack_device__()) {
            return Err(PyBufferError::new_err("the array is handed over without a copy, where it is"));
        }
        let (structure, name): (*mut c_void, _) = match max_version {
            Some((major, _)) if major >= 1 => (self.tensor.clone().into_dlpack().as_ptr().cast(), VERSIONED.0),
            _ => (self.tensor.clone().into_dlpack_unversioned()?.as_ptr().cast(), UNVERSIONED.0),
        };
        // SAFETY: a structure that was made just now, and a name that lives as long as the process.
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(structure, name.as_ptr(), Some(drop_capsule))) }
    }

    /// DLPack's kind and number of the device.
    fn __dlpack_device__(&self) -> (i32, i32) {
        (super::dlpack::CUDA, self.ordinal() as i32)
    }

    /// The CUDA array interface, version 3.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        let address = if self.tensor.is_empty() { 0 } else { self.tensor.address() };
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("typestr", self.typestr()?)?;
        interface.set_item("data", (address, false))?;
        interface.set_item("version", 3)?;
        Ok(interface)
    }

    /// A copy of the elements as NumPy's array.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err("the array is on the device, so NumPy needs a copy of it"));
        }
        let bytes = PyByteArray::new(py, &self.bytes()?);
        let array = py.import("numpy")?.call_method1("frombuffer", (bytes, self.typestr()?))?;
        let array = array.call_method1("reshape", (self.shape(py)?,))?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// A copy of the elements as bytes, in row-major order.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.bytes()?))
    }

    /// The length of each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.shape())
    }

    /// The name of the type of the elements.
    #[getter]
    fn dtype(&self) -> String {
        self.tensor.dtype().to_string()
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.tensor.shape().first().copied();
        first.ok_or_else(|| PyTypeError::new_err("an array without axes has no length"))
    }

    fn __repr__(&self) -> String {
        let (shape, dtype) = (self.tensor.shape(), self.tensor.dtype());
        format!("DeviceArray(shape={shape:?}, dtype={dtype}, device={})", self.ordinal())
    }
}

/// Releases the tensor of a capsule that was not consumed.
unsafe extern "C" fn drop_capsule(capsule: *mut ffi::PyObject) {
    // SAFETY: Python passes the capsule that is destroyed, whose name says which structure it has; a capsule that was taken has
    // another name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.0.as_ptr()) == 1 {
            let structure = ffi::PyCapsule_GetPointer(capsule, VERSIONED.0.as_ptr()).cast::<ManagedVersioned>();
            drop(NonNull::new(structure).map(|structure| Tensor::from_dlpack(structure)));
        } else if ffi::PyCapsule_IsValid(capsule, UNVERSIONED.0.as_ptr()) == 1 {
            let structure = ffi::PyCapsule_GetPointer(capsule, UNVERSIONED.0.as_ptr()).cast::<Managed>();
            drop(NonNull::new(structure).map(|structure| Tensor::from_dlpack_unversioned(structure)));
        }
    }
}

impl Tensor {
    /// The same memory as bytes. Only for tensors of this runtime, which are contiguous.
    fn into_bytes(self) -> Tensor {
        let shape = vec![self.len() * self.dtype.bytes()];
        Tensor { dtype: DType::U8, strides: row_major(&shape), shape, ..self }
    }
}

impl DType {
    /// The type by NumPy's name of it, such as `<f4`, in this machine's order of bytes.
    fn from_typestr(name: &str) -> Option<DType> {
        let (order, rest) = (name.chars().next()?, name.get(1..)?);
        let bytes: u8 = rest.get(1..)?.parse().ok()?;
        let own = if cfg!(target_endian = "little") { '<' } else { '>' };
        let has_order = order == own || order == '=' || (order == '|' && bytes == 1);
        let kind = NUMPY.iter().find(|(letter, _)| rest.starts_with(*letter)).map(|(_, code)| *code);
        has_order.then_some(DType::new(kind?, bytes.checked_mul(8)?, 1))
    }

    /// NumPy's name of the type, if NumPy has the type.
    fn typestr(self) -> Option<String> {
        let letter = NUMPY.iter().find(|(_, code)| *code == self.code).map(|(letter, _)| *letter)?;
        let order = match (self.bytes(), cfg!(target_endian = "little")) {
            (1, _) => '|',
            (_, true) => '<',
            (_, false) => '>',
        };
        Some(format!("{order}{letter}{}", self.bytes()))
    }
}

/// NumPy's letters of kinds, with DLPack's codes.
const NUMPY: [(char, u8); 5] = [('i', 0), ('u', 1), ('f', 2), ('c', 5), ('b', 6)];
