//! Tensors of other libraries in this process, without a copy: from and to DLPack, and by address.
//!
//! A [`Tensor`] is memory with a description that is only known when the program runs: place, type of the elements, shape and
//! strides, and the owner that keeps the memory alive. [`Tensor::read`] and [`Tensor::write`] check the description against the
//! types of the program, and give arrays whose views are arguments of kernels. [`Tensor::from_array`] is the other direction.
//!
//! `cudarc`, with the feature of that name, passes memory of the crates cudarc and candle on; `python` does so with arrays of Python.
//!
//! CUDA libraries share memory if they use one driver and the primary context of a device, as this runtime does, and as PyTorch,
//! CuPy, Numba, cudarc and candle do.
//!
//! The streams of this runtime wait for work that was put on CUDA's legacy default stream before. A program that fills the memory
//! on other streams waits for these first. The owner gets the memory back after all work of the device that uses it.
//!
//! # Examples
//! ```
//! use rumba::interop::{DType, Place, Tensor};
//! use rumba::test_kernels::{PTX, scale};
//!
//! let device = rumba::Device::new()?;
//! # let other_library = device.buffer_from(&[1.0_f32, 2.0, 3.0])?;
//! // Memory of another library, with a handle that keeps the memory alive.
//! let (address, owner) = (other_library.as_device_pointer().address(), other_library);
//! let place = Place::Device(device.ordinal());
//! // SAFETY: `owner` keeps three elements at this address alive, and nothing else uses them.
//! let tensor = unsafe { Tensor::new(place, address, DType::F32, &[3], None, owner)? };
//!
//! let mut numbers = tensor.write::<f32, 1>(&device)?;
//! device.load(PTX)?.for_each(3, scale(10.0, numbers.as_slice_mut()?))?;
//! assert_eq!(numbers.view().to_vec()?, [10.0, 20.0, 30.0]);
//! # Ok::<(), rumba::Error>(())
//! ```

#[cfg(feature = "cudarc")]
pub mod cudarc;
pub mod dlpack;
mod foreign;
mod held;
#[cfg(feature = "python")]
pub mod python;

pub use crate::base::dtype::{DType, Element};
pub use crate::base::error::InteropError;
pub use foreign::{Foreign, ForeignMut};

use crate::array::{Array, layout};
use crate::base::error::Result;
use crate::devices::device::Device;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Whose memory the elements are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The host's.
    Host,
    /// A device's, by its ordinal; managed memory too.
    Device(u32),
}

/// Memory of another library or of this one, with a description of its elements. Clones are handles to the same memory.
#[derive(Clone)]
pub struct Tensor {
    /// The element at index 0 of each axis.
    address: u64,
    place: Place,
    dtype: DType,
    shape: Vec<usize>,
    strides: Vec<isize>,
    is_read_only: bool,
    owner: Arc<dyn Any + Send + Sync>,
}

impl Tensor {
    /// Elements at an address. `strides` is how many elements further the next one of each axis is; without strides the elements
    /// are in row-major order. `owner` is dropped with the last handle to the memory, after all work of the device that uses it.
    ///
    /// # Errors
    /// [`InteropError::Invalid`] if there are more or fewer strides than axes, if the address is none of such an element, or if the
    /// elements reach beyond the address space.
    ///
    /// # Safety
    /// As long as `owner` lives, all elements lie in allocated memory of this place, and no other code writes them, or reads them
    /// while this runtime writes them.
    pub unsafe fn new(
        place: Place,
        address: u64,
        dtype: DType,
        shape: &[usize],
        strides: Option<&[isize]>,
        owner: impl Send + Sync + 'static,
    ) -> Result<Tensor> {
        let invalid = |what: String| Err(InteropError::Invalid { what }.into());
        let strides = strides.map_or_else(|| row_major(shape), <[isize]>::to_vec);
        if strides.len() != shape.len() {
            return invalid(format!("it has {} strides for {} axes", strides.len(), shape.len()));
        }
        let size = dtype.bytes();
        if size == 0 || !size.is_power_of_two() {
            return invalid(format!("elements of type {dtype} have no whole address each"));
        }
        let tensor = Tensor {
            address,
            place,
            dtype,
            shape: shape.to_vec(),
            strides,
            is_read_only: false,
            owner: Arc::new(owner),
        };
        if tensor.is_empty() {
            return Ok(tensor);
        }
        if address == 0 || !address.is_multiple_of(size as u64) {
            return invalid(format!("{address:#x} is not the address of an element of {size} bytes"));
        }
        match tensor.reach() {
            Some(_) => Ok(tensor),
            None => {
                invalid(format!("shape {shape:?} with strides {:?} reaches beyond the address space", tensor.strides))
            }
        }
    }

    /// The array's memory for another library, after all work of the device.
    ///
    /// # Errors
    /// What a kernel did wrong meanwhile; the driver's.
    pub fn from_array<T: Element, const N: usize>(array: Array<T, N>) -> Result<Tensor> {
        let (slice, shape) = (array.as_slice(), array.shape());
        let (memory, address) = (slice.memory(), slice.address());
        let place = Place::Device(memory.context.ordinal);
        memory.wait("hand over")?;
        // SAFETY: the owner is the array, whose elements these are.
        unsafe { Tensor::new(place, address, T::DTYPE, &shape, None, array) }
    }

    /// The same memory, which this runtime will not write.
    #[must_use]
    pub fn read_only(self) -> Tensor {
        Tensor { is_read_only: true, ..self }
    }

    /// The address of the element at index 0 of each axis.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Whose memory it is.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The length of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How many elements further the next one of each axis is.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Whether the memory must not be written.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Whether the elements are in row-major order, one after the other.
    pub fn is_contiguous(&self) -> bool {
        layout::is_contiguous(&self.shape, &self.strides)
    }

    /// The elements as an array of the device, to read.
    ///
    /// # Errors
    /// [`InteropError::Type`], [`InteropError::Axes`], [`InteropError::OnHost`], [`InteropError::OtherDevice`],
    /// [`InteropError::OtherContext`]; [`InteropError::InUse`] while a [`ForeignMut`] has a part of the memory; the driver's.
    pub fn read<T: Element, const N: usize>(self, device: &Device) -> Result<Foreign<T, N>> {
        Foreign::new(self, device, false)
    }

    /// The elements as an array of the device, to write.
    ///
    /// # Errors
    /// As [`Tensor::read`]; [`InteropError::ReadOnly`], [`InteropError::Overlaps`]; [`InteropError::InUse`] while a [`Foreign`] or a
    /// [`ForeignMut`] has a part of the memory.
    pub fn write<T: Element, const N: usize>(self, device: &Device) -> Result<ForeignMut<T, N>> {
        if self.is_read_only {
            return Err(InteropError::ReadOnly.into());
        }
        if !self.is_distinct() {
            return Err(InteropError::Overlaps { shape: self.shape, strides: self.strides }.into());
        }
        Foreign::new(self, device, true).map(ForeignMut::new)
    }

    /// The elements of a tensor in host memory.
    ///
    /// # Errors
    /// [`InteropError::Type`], [`InteropError::NotContiguous`], [`InteropError::OnDevice`].
    pub fn host_slice<T: Element>(&self) -> Result<&[T]> {
        let address = self.host_elements::<T>()?;
        // SAFETY: the owner keeps this number of aligned elements alive, and no other code writes them: the promise to `new`.
        Ok(unsafe { std::slice::from_raw_parts(address, self.len()) })
    }

    /// The elements of a tensor in host memory, to write.
    ///
    /// # Errors
    /// As [`Tensor::host_slice`]; [`InteropError::ReadOnly`]; [`InteropError::InUse`] if there is a clone of this tensor.
    pub fn host_slice_mut<T: Element>(&mut self) -> Result<&mut [T]> {
        let address = self.host_elements::<T>()?;
        if self.is_read_only {
            return Err(InteropError::ReadOnly.into());
        }
        if Arc::get_mut(&mut self.owner).is_none() {
            return Err(InteropError::InUse.into());
        }
        // SAFETY: as above; there is no other handle, and no two indices name one element of contiguous elements.
        Ok(unsafe { std::slice::from_raw_parts_mut(address.cast_mut(), self.len()) })
    }

    fn host_elements<T: Element>(&self) -> Result<*const T> {
        self.has_type::<T>()?;
        if let Place::Device(ordinal) = self.place {
            return Err(InteropError::OnDevice { ordinal }.into());
        }
        if !self.is_contiguous() {
            return Err(self.not_contiguous().into());
        }
        match self.is_empty() {
            true => Ok(std::ptr::NonNull::dangling().as_ptr()),
            false => Ok(std::ptr::with_exposed_provenance(self.address as usize)),
        }
    }

    fn has_type<T: Element>(&self) -> Result<()> {
        match self.dtype == T::DTYPE {
            true => Ok(()),
            false => Err(InteropError::Type { found: self.dtype, wanted: T::DTYPE }.into()),
        }
    }

    /// The length of each axis, of as many as the program expects.
    fn dimensions<const N: usize>(&self) -> Result<[usize; N]> {
        let dimensions = <[usize; N]>::try_from(self.shape.as_slice());
        dimensions.map_err(|_| InteropError::Axes { shape: self.shape.clone(), wanted: N }.into())
    }

    fn not_contiguous(&self) -> InteropError {
        InteropError::NotContiguous { shape: self.shape.clone(), strides: self.strides.clone() }
    }

    /// The bytes from the first to the last element, if there are any and the address space has them.
    fn reach(&self) -> Option<std::ops::Range<u64>> {
        let (mut before, mut after) = (0_i128, 0_i128);
        for (&length, &stride) in self.shape.iter().zip(&self.strides) {
            let distance = (length as i128).checked_sub(1)?.checked_mul(stride as i128)?;
            before = before.checked_add(distance.min(0))?;
            after = after.checked_add(distance.max(0))?;
        }
        let (size, address) = (self.dtype.bytes() as i128, i128::from(self.address));
        let start = before.checked_mul(size)?.checked_add(address)?;
        let end = after.checked_add(1)?.checked_mul(size)?.checked_add(address)?;
        // Lengths in bytes are `isize`, as in slices.
        (end.checked_sub(start)? <= isize::MAX as i128).then_some(())?;
        Some(start.try_into().ok()?..end.try_into().ok()?)
    }

    /// Whether each index has an element of its own: each axis steps over all elements of the axes of smaller strides.
    fn is_distinct(&self) -> bool {
        let axes = self.shape.iter().zip(&self.strides).filter(|(length, _)| **length > 1);
        let mut axes: Vec<(usize, usize)> = axes.map(|(&length, stride)| (stride.unsigned_abs(), length)).collect();
        axes.sort_unstable();
        let mut reached = 0;
        self.is_empty()
            || axes.into_iter().all(|(stride, length)| {
                let is_beyond = stride > reached;
                // No more than `reach`, which fits.
                reached += stride * (length - 1);
                is_beyond
            })
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("place", &self.place)
            .field("dtype", &self.dtype)
            .field("shape", &self.shape)
            .field("strides", &self.strides)
            .field("is_read_only", &self.is_read_only)
            .finish_non_exhaustive()
    }
}

/// The strides of elements one after the other, the last axis fastest.
fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    layout::set_row_major(shape, &mut strides);
    strides
}
