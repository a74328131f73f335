//! [DLPack](https://dmlc.github.io/dlpack/latest/c_api.html), the C structures by which libraries hand tensors to each other:
//! version 1.0, and the structure without a version that came before.

use super::{DType, InteropError, Place, Tensor};
use crate::base::error::{Error, Result};
use std::ffi::c_void;
use std::ptr::NonNull;

/// The version of the structures.
const VERSION: Version = Version { major: 1, minor: 0 };

/// Kinds of memory (`DLDeviceType`).
const CPU: i32 = 1;
pub(super) const CUDA: i32 = 2;
/// Page-locked host memory.
const CUDA_HOST: i32 = 3;
const CUDA_MANAGED: i32 = 13;

/// The flag of a tensor that the consumer must not write (`DLPACK_FLAG_BITMASK_READ_ONLY`).
const READ_ONLY: u64 = 1;

/// Whether a kind of memory is one of CUDA's, for which a stream is named when the tensor is handed over.
#[cfg(feature = "python")]
pub(super) fn is_cuda(kind: i32) -> bool {
    matches!(kind, CUDA | CUDA_HOST | CUDA_MANAGED)
}

/// `DLPackVersion`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// Structures of another major version are laid out otherwise.
    pub major: u32,
    /// Structures of another minor version are compatible.
    pub minor: u32,
}

/// `DLTensor`.
#[repr(C)]
struct Description {
    data: *mut c_void,
    device_type: i32,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    /// In elements; null: in row-major order.
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`: a tensor with its owner, from before there were versions.
#[repr(C)]
pub struct Managed {
    tensor: Description,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// `DLManagedTensorVersioned`: a tensor with its owner.
#[repr(C)]
pub struct ManagedVersioned {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: Description,
}

/// A structure that a library handed over: what describes the tensor, and how the owner is told that it is not needed any more.
trait Structure: Sized {
    /// # Safety
    /// The structure is alive and the caller its only user.
    unsafe fn delete(this: NonNull<Self>);

    /// A tensor as this structure.
    fn of(tensor: Description, context: *mut c_void, is_read_only: bool) -> Self;

    /// What is kept behind `context`.
    fn context(&self) -> *mut c_void;
}

macro_rules! structure {
    ($name:ident, $($field:ident: $value:expr),*; $read_only:ident) => {
        impl Structure for $name {
            unsafe fn delete(this: NonNull<Self>) {
                // SAFETY: the caller's promise; a library that wants to be told has set the function.
                if let Some(deleter) = unsafe { this.as_ref() }.deleter {
                    // SAFETY: as above, and this is the last use.
                    unsafe { deleter(this.as_ptr()) };
                }
            }

            fn of(tensor: Description, context: *mut c_void, $read_only: bool) -> Self {
                Self { tensor, context, deleter: Some(delete::<Self>), $($field: $value),* }
            }

            fn context(&self) -> *mut c_void {
                self.context
            }
        }
    };
}

structure!(Managed,; _is_read_only);
structure!(ManagedVersioned, version: VERSION, flags: if is_read_only { READ_ONLY } else { 0 }; is_read_only);

/// Tells the owner that a tensor is not needed any more, when this is dropped.
struct Owner<S: Structure>(NonNull<S>);

// SAFETY: DLPack allows any thread to call the deleter, and nothing else is done with the structure.
unsafe impl<S: Structure> Send for Owner<S> {}

// SAFETY: as above.
unsafe impl<S: Structure> Sync for Owner<S> {}

impl<S: Structure> Drop for Owner<S> {
    fn drop(&mut self) {
        // SAFETY: the structure was handed over to this owner, and this is the last use.
        unsafe { S::delete(self.0) };
    }
}

/// A tensor that this runtime hands over: the structure, and what its pointers reach.
struct Handed<S> {
    structure: S,
    _tensor: Tensor,
    _shape: Vec<i64>,
    _strides: Vec<i64>,
}

/// The deleter of [`Handed`] structures.
unsafe extern "C" fn delete<S: Structure>(structure: *mut S) {
    // SAFETY: the consumer passes the structure that it was given, once.
    drop(unsafe { Box::from_raw((*structure).context().cast::<Handed<S>>()) });
}

impl Tensor {
    /// Takes a tensor over. The owner's deleter is called with the last handle to the memory, after all work of the device that uses
    /// it, or at once if there is an error.
    ///
    /// # Errors
    /// [`InteropError::Invalid`] if the structure is of another major version, or describes no tensor of host or CUDA memory.
    ///
    /// # Safety
    /// The structure is valid, and the caller transfers its ownership. Until the deleter is called, no other code writes the elements,
    /// or reads them while this runtime writes them.
    pub unsafe fn from_dlpack(structure: NonNull<ManagedVersioned>) -> Result<Tensor> {
        let owner = Owner(structure);
        // SAFETY: the caller's promise. The fields up to `flags` are the same in each version.
        let (version, flags) = unsafe { ((*structure.as_ptr()).version, (*structure.as_ptr()).flags) };
        if version.major != VERSION.major {
            let what = format!(
                "it is of DLPack's version {}.{}, and this program knows {}.{}",
                version.major, version.minor, VERSION.major, VERSION.minor
            );
            return Err(InteropError::Invalid { what }.into());
        }
        // SAFETY: the caller's promise.
        let tensor = unsafe { taken(&(*structure.as_ptr()).tensor, owner) }?;
        Ok(if flags & READ_ONLY != 0 { tensor.read_only() } else { tensor })
    }

    /// The same for the structure without a version, whose tensors may be written.
    ///
    /// # Errors
    /// As [`Tensor::from_dlpack`].
    ///
    /// # Safety
    /// As [`Tensor::from_dlpack`].
    pub unsafe fn from_dlpack_unversioned(structure: NonNull<Managed>) -> Result<Tensor> {
        // SAFETY: the caller's promise.
        unsafe { taken(&(*structure.as_ptr()).tensor, Owner(structure)) }
    }

    /// Hands the tensor over: the consumer calls the structure's deleter when it has done its work.
    pub fn into_dlpack(self) -> NonNull<ManagedVersioned> {
        handed(self)
    }

    /// The same as the structure without a version, which cannot say that a tensor is read-only.
    ///
    /// # Errors
    /// [`InteropError::ReadOnly`].
    pub fn into_dlpack_unversioned(self) -> Result<NonNull<Managed>> {
        if self.is_read_only {
            return Err(InteropError::ReadOnly.into());
        }
        Ok(handed(self))
    }
}

/// # Safety
/// As [`Tensor::from_dlpack`].
unsafe fn taken<S: Structure + 'static>(tensor: &Description, owner: Owner<S>) -> Result<Tensor> {
    let invalid = |what: String| Error::from(InteropError::Invalid { what });
    let place = match tensor.device_type {
        CPU | CUDA_HOST => Place::Host,
        CUDA | CUDA_MANAGED => {
            let ordinal = u32::try_from(tensor.device_id);
            Place::Device(ordinal.map_err(|_| invalid(format!("{} is no number of a device", tensor.device_id)))?)
        }
        kind => return Err(invalid(format!("its memory is of DLPack's kind {kind}, neither the host's nor CUDA's"))),
    };
    let axes = usize::try_from(tensor.ndim).map_err(|_| invalid(format!("it has {} axes", tensor.ndim)))?;
    let list = |start: *const i64| match axes {
        0 => &[][..],
        // SAFETY: the structure has a number for each axis.
        _ => unsafe { std::slice::from_raw_parts(start, axes) },
    };
    if axes > 0 && tensor.shape.is_null() {
        return Err(invalid("it has no shape".to_owned()));
    }
    let shape: Result<Vec<usize>, _> = list(tensor.shape).iter().map(|&length| usize::try_from(length)).collect();
    let shape = shape.map_err(|_| invalid(format!("its shape is {:?}", list(tensor.shape))))?;
    let strides: Option<Vec<isize>> =
        (!tensor.strides.is_null()).then(|| list(tensor.strides).iter().map(|&stride| stride as isize).collect());
    let dtype = DType::new(tensor.code, tensor.bits, tensor.lanes);
    let address = (tensor.data.expose_provenance() as u64).wrapping_add(tensor.byte_offset);
    // SAFETY: the caller's promise; the structure's owner is the owner.
    unsafe { Tensor::new(place, address, dtype, &shape, strides.as_deref(), owner) }
}

fn handed<S: Structure>(tensor: Tensor) -> NonNull<S> {
    let (device_type, device_id) = match tensor.place {
        Place::Host => (CPU, 0),
        Place::Device(ordinal) => (CUDA, ordinal as i32),
    };
    // Allocations have fewer bytes than `isize::MAX`, so lengths and strides fit.
    let mut shape: Vec<i64> = tensor.shape.iter().map(|&length| length as i64).collect();
    let mut strides: Vec<i64> = tensor.strides.iter().map(|&stride| stride as i64).collect();
    let description = Description {
        data: std::ptr::with_exposed_provenance_mut(tensor.address as usize),
        device_type,
        device_id,
        ndim: shape.len() as i32,
        code: tensor.dtype.code,
        bits: tensor.dtype.bits,
        lanes: tensor.dtype.lanes,
        shape: shape.as_mut_ptr(),
        strides: strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let mut place = Box::<Handed<S>>::new_uninit();
    let context = place.as_mut_ptr().cast();
    let structure = S::of(description, context, tensor.is_read_only);
    let handed = Box::write(place, Handed { structure, _tensor: tensor, _shape: shape, _strides: strides });
    let handed = Box::into_raw(handed);
    // SAFETY: it was allocated just now; the deleter frees it.
    unsafe { NonNull::new_unchecked(&raw mut (*handed).structure) }
}
