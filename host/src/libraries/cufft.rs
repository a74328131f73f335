//! cuFFT, NVIDIA's fast Fourier transforms: of complex numbers, from and to real numbers, in one to three dimensions, in batches.
//!
//! cuFFT is found and loaded as [cuBLAS](crate::cublas) is, when the first [`Plan`] is made: `libcufft.so.12` of CUDA 13, `.11` of CUDA 12,
//! `.10` of CUDA 11, or the file that `RUMBA_CUFFT_LIBRARY` names. It works on NVIDIA GPUs only.
//!
//! Not here: transforms of parts of arrays, and plans over several GPUs.

pub use crate::base::error::LibraryError;

use crate::base::error::Result;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::cuda::sys::CUstream;
use crate::devices::device::Device;
use crate::libraries::loading::{Source, functions};
use crate::libraries::{Session, aligned, on_a_gpu, uses};
use crate::streams::stream::Stream;
use bytemuck::Pod;
use cuda_std::complex::Complex;
use std::ffi::c_int;
use std::fmt;
use std::marker::PhantomData;

static SOURCE: Source = Source {
    library: "cuFFT",
    variable: "RUMBA_CUFFT_LIBRARY",
    files: &[(13, "libcufft.so.12"), (12, "libcufft.so.11"), (11, "libcufft.so.10")],
    package: "cufft",
    install: "install it (pip's nvidia-cufft or nvidia-cufft-cu12, NVIDIA's Debian package libcufft-13-0, conda's libcufft)",
    instead: "a kernel of your own",
    answers: &[
        (1, "CUFFT_INVALID_PLAN"),
        (2, "CUFFT_ALLOC_FAILED"),
        (3, "CUFFT_INVALID_TYPE"),
        (4, "CUFFT_INVALID_VALUE"),
        (5, "CUFFT_INTERNAL_ERROR"),
        (6, "CUFFT_EXEC_FAILED"),
        (7, "CUFFT_SETUP_FAILED"),
        (8, "CUFFT_INVALID_SIZE"),
        (9, "CUFFT_UNALIGNED_DATA"),
        (11, "CUFFT_INVALID_DEVICE"),
        (13, "CUFFT_NO_WORKSPACE"),
        (14, "CUFFT_NOT_IMPLEMENTED"),
        (16, "CUFFT_NOT_SUPPORTED"),
        (17, "CUFFT_MISSING_DEPENDENCY"),
        (18, "CUFFT_NVRTC_FAILURE"),
        (19, "CUFFT_NVJITLINK_FAILURE"),
        (20, "CUFFT_NVSHMEM_FAILURE"),
    ],
};

/// `cufftHandle`.
type Handle = c_int;

functions! {
    SOURCE, Handle;
    create = "cufftCreate": fn(*mut Handle);
    destroy = "cufftDestroy": fn(Handle);
    set_stream = "cufftSetStream": fn(Handle, CUstream);
    set_auto_allocation = "cufftSetAutoAllocation": fn(Handle, c_int);
    set_work_area = "cufftSetWorkArea": fn(Handle, u64);
    make_plan = "cufftMakePlanMany64": fn(
        Handle, c_int, *const i64, *const i64, i64, i64, *const i64, i64, i64, c_int, i64, *mut usize,
    );
    c2c = "cufftExecC2C": fn(Handle, u64, u64, c_int);
    z2z = "cufftExecZ2Z": fn(Handle, u64, u64, c_int);
    r2c = "cufftExecR2C": fn(Handle, u64, u64);
    d2z = "cufftExecD2Z": fn(Handle, u64, u64);
    c2r = "cufftExecC2R": fn(Handle, u64, u64);
    z2d = "cufftExecZ2D": fn(Handle, u64, u64);
}

/// Elements `S` that a transform turns into elements `D`: complex numbers into complex numbers, real numbers into complex numbers, or
/// complex numbers into real numbers, of `f32` or `f64`.
#[diagnostic::on_unimplemented(
    message = "no Fourier transform turns `{Self}` into `{D}`",
    note = "`Complex<f32>` becomes `Complex<f32>`, `f32` becomes `Complex<f32>`, and `Complex<f32>` becomes `f32`; as with `f64`"
)]
pub trait Transform<D>: Pod + sealed::Transform<D> {}

mod sealed {
    use std::ffi::c_int;

    pub trait Transform<D> {
        /// `cufftType`.
        const TYPE: c_int;
        /// Whether the source, and whether the target, has complex numbers of half of the frequencies.
        const HALVES: [bool; 2];
    }
}

macro_rules! transforms {
    ($($source:ty => $target:ty = $number:literal, $halves:expr;)*) => {$(
        impl Transform<$target> for $source {}

        impl sealed::Transform<$target> for $source {
            const TYPE: c_int = $number;
            const HALVES: [bool; 2] = $halves;
        }
    )*};
}

transforms! {
    Complex<f32> => Complex<f32> = 0x29, [false, false];
    f32 => Complex<f32> = 0x2a, [false, true];
    Complex<f32> => f32 = 0x2c, [true, false];
    Complex<f64> => Complex<f64> = 0x69, [false, false];
    f64 => Complex<f64> = 0x6a, [false, true];
    Complex<f64> => f64 = 0x6c, [true, false];
}

/// Transforms of arrays of one shape, one after the other: cuFFT's plan, and the memory that it works in.
///
/// Neither direction divides by the number of elements: forwards and back gives each element times that number. A transform of real
/// numbers has the frequencies from 0 to half of the last axis, `last / 2 + 1` complex numbers; the others are their conjugates.
///
/// Transforms of one plan, and of the plans that [`Plan::on`] makes of it, run in their order. On a stream that
/// [captures](crate::Device::capture) launches, a transform becomes a part of the graph.
///
/// # Examples
/// ```
/// use cuda_std::complex::Complex32;
/// use rumba::cufft::Plan;
/// use rumba::error::{Error, LibraryError};
///
/// let device = rumba::Device::new()?;
/// let plan = match Plan::<Complex32, Complex32>::new(&device, [4], 1) {
///     // This library runs on GPUs only.
///     Err(Error::Library(error)) if matches!(*error, LibraryError::SoftwareDevice { .. }) => return Ok(()),
///     other => other?,
/// };
/// let x = device.buffer_from(&[1.0, 0.0, 0.0, 0.0].map(Complex32::from))?;
/// let mut frequencies = device.zeros(4)?;
/// plan.forward(&x, &mut frequencies)?;
/// assert_eq!(frequencies.to_vec()?, [Complex32::ONE; 4]);
/// # Ok::<(), rumba::Error>(())
/// ```
pub struct Plan<S, D> {
    session: Session<Functions>,
    shape: Vec<usize>,
    batch: usize,
    elements: PhantomData<fn(S) -> D>,
}

impl<S, D> Clone for Plan<S, D> {
    fn clone(&self) -> Self {
        Plan { session: self.session.clone(), shape: self.shape.clone(), batch: self.batch, elements: PhantomData }
    }
}

impl<S, D> fmt::Debug for Plan<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("shape", &self.shape).field("batch", &self.batch).finish_non_exhaustive()
    }
}

const PLAN: &str = "make a plan of a Fourier transform";
const TRANSFORM: &str = "compute a Fourier transform";

impl<S: Transform<D>, D: Pod> Plan<S, D> {
    /// A plan for `batch` arrays of this shape: of one, two or three axes, the last the fastest. For a transform to real numbers this
    /// is the shape of the result.
    ///
    /// # Errors
    /// [`LibraryError::SoftwareDevice`], [`LibraryError::Missing`], [`LibraryError::NoFunction`]; [`LibraryError::Shapes`] for an axis
    /// or a batch of length 0, and for another number of axes; [`Error::OutOfMemory`](crate::Error::OutOfMemory), and what cuFFT
    /// refuses.
    pub fn new<const N: usize>(device: &Device, shape: [usize; N], batch: usize) -> Result<Plan<S, D>> {
        on_a_gpu(&SOURCE)?;
        let lengths = planned(&shape, batch)?;
        let library = Functions::get()?;
        let create = || {
            let mut handle = 0;
            // SAFETY: the place is valid, and the context of the device is current.
            SOURCE.check(PLAN, unsafe { (library.create)(&mut handle) })?;
            Ok(handle)
        };
        let prepare = |handle| {
            let (mut bytes, none) = (0, std::ptr::null());
            // SAFETY: `lengths` has as many numbers as the plan has axes; without strides the elements lie one after the other.
            unsafe {
                SOURCE.check(PLAN, (library.set_auto_allocation)(handle, 0))?;
                let axes = lengths.as_ptr();
                let made = (library.make_plan)(
                    handle,
                    lengths.len() as c_int,
                    axes,
                    none,
                    1,
                    0,
                    none,
                    1,
                    0,
                    S::TYPE,
                    batch as i64,
                    &mut bytes,
                );
                SOURCE.check(PLAN, made)?;
            }
            Ok(bytes)
        };
        // SAFETY: the memory has as many bytes as the plan asked for, and lives as long as the handle.
        let bind = |handle, address| SOURCE.check(PLAN, unsafe { (library.set_work_area)(handle, address) });
        let session = Session::new(device, library, PLAN, create, prepare, bind)?;
        Ok(Plan { session, shape: shape.to_vec(), batch, elements: PhantomData })
    }

    /// The same plan with its work on another stream.
    #[must_use]
    pub fn on(&self, stream: &Stream) -> Plan<S, D> {
        Plan { session: self.session.on(stream), ..self.clone() }
    }

    /// The number of elements of the source, and of the target.
    pub fn lengths(&self) -> [usize; 2] {
        lengths::<S, D>(&self.shape, self.batch)
    }

    /// Puts a transform on the stream.
    ///
    /// # Safety
    /// The target is borrowed mutably, and so is the source if the call writes it.
    unsafe fn put(
        &self,
        source: DeviceSlice<'_, S>,
        target: DeviceSlice<'_, D>,
        writes_source: bool,
        call: impl Fn(&Functions, Handle, u64, u64) -> c_int + Send + Sync + 'static,
    ) -> Result<()> {
        fits::<S, D>(&self.shape, self.batch, [source.len(), target.len()])?;
        aligned(&SOURCE, TRANSFORM, &source, complex::<S, D>())?;
        aligned(&SOURCE, TRANSFORM, &target, complex::<S, D>())?;
        let (from, to) = (source.address(), target.address());
        let memory = [uses(&source, writes_source), uses(&target, true)];
        // SAFETY: the plan reaches as many elements as `fits` has compared.
        unsafe { self.session.put(TRANSFORM, &memory, move |library, handle| call(library, handle, from, to)) }
    }
}

/// The bytes of a complex number, to which cuFFT wants real numbers aligned as well.
const fn complex<S, D>() -> usize {
    if size_of::<S>() > size_of::<D>() { size_of::<S>() } else { size_of::<D>() }
}

/// The lengths of the axes of a plan.
fn planned(shape: &[usize], batch: usize) -> Result<Vec<i64>, LibraryError> {
    let has_elements = !shape.contains(&0) && batch > 0;
    let bytes = shape.iter().try_fold(batch, |all, &axis| all.checked_mul(axis)).and_then(|all| all.checked_mul(16));
    if !(1..=3).contains(&shape.len()) || !has_elements || bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(LibraryError::Shapes {
            operation: PLAN,
            shapes: vec![shape.to_vec(), vec![batch]],
            rule: "a plan has one to three axes and a number of arrays, which are all positive, and fits into the address space",
        });
    }
    Ok(shape.iter().map(|&axis| axis as i64).collect())
}

/// The number of elements of the source and of the target of a plan.
fn lengths<S: Transform<D>, D>(shape: &[usize], batch: usize) -> [usize; 2] {
    let (last, others) = shape.split_last().expect("a plan has axes");
    let lines = others.iter().product::<usize>() * batch;
    S::HALVES.map(|half| if half { lines * (last / 2 + 1) } else { lines * last })
}

fn fits<S: Transform<D>, D>(shape: &[usize], batch: usize, given: [usize; 2]) -> Result<(), LibraryError> {
    if lengths::<S, D>(shape, batch) == given {
        return Ok(());
    }
    let [source, target] = given;
    Err(LibraryError::Shapes {
        operation: TRANSFORM,
        shapes: vec![shape.to_vec(), vec![batch], vec![source], vec![target]],
        rule: "after the shape and the batch of the plan, these are the lengths of source and target; `Plan::lengths` has the right lengths",
    })
}

/// `CUFFT_FORWARD` and `CUFFT_INVERSE`.
const FORWARD: c_int = -1;
const INVERSE: c_int = 1;

macro_rules! plans {
    ($($real:ty: $c2c:ident, $r2c:ident, $c2r:ident;)*) => {$(
        impl Plan<Complex<$real>, Complex<$real>> {
            /// The frequencies of complex numbers.
            ///
            /// # Errors
            /// [`LibraryError::Shapes`] if the lengths are not those of the plan; [`Error::OtherDevice`](crate::Error::OtherDevice) and
            /// what cuFFT refuses.
            pub fn forward<'s, 't>(
                &self,
                source: impl Into<DeviceSlice<'s, Complex<$real>>>,
                target: impl Into<DeviceSliceMut<'t, Complex<$real>>>,
            ) -> Result<()> {
                self.transform(source.into(), target.into().into_view(), FORWARD)
            }

            /// The complex numbers of frequencies, times their number.
            ///
            /// # Errors
            /// As [`Self::forward`].
            pub fn inverse<'s, 't>(
                &self,
                source: impl Into<DeviceSlice<'s, Complex<$real>>>,
                target: impl Into<DeviceSliceMut<'t, Complex<$real>>>,
            ) -> Result<()> {
                self.transform(source.into(), target.into().into_view(), INVERSE)
            }

            /// [`Self::forward`] in place.
            ///
            /// # Errors
            /// As [`Self::forward`].
            pub fn forward_in_place<'t>(&self, values: impl Into<DeviceSliceMut<'t, Complex<$real>>>) -> Result<()> {
                let values = values.into().into_view();
                self.transform(values, values, FORWARD)
            }

            /// [`Self::inverse`] in place.
            ///
            /// # Errors
            /// As [`Self::forward`].
            pub fn inverse_in_place<'t>(&self, values: impl Into<DeviceSliceMut<'t, Complex<$real>>>) -> Result<()> {
                let values = values.into().into_view();
                self.transform(values, values, INVERSE)
            }

            /// The target is borrowed mutably.
            fn transform(
                &self,
                source: DeviceSlice<'_, Complex<$real>>,
                target: DeviceSlice<'_, Complex<$real>>,
                direction: c_int,
            ) -> Result<()> {
                // SAFETY: the handle and the addresses are those of the plan; the callers have borrowed the target mutably.
                let call = move |library: &Functions, handle, from, to| unsafe { (library.$c2c)(handle, from, to, direction) };
                // SAFETY: as above.
                unsafe { self.put(source, target, false, call) }
            }
        }

        impl Plan<$real, Complex<$real>> {
            /// The frequencies of real numbers, up to half of the last axis.
            ///
            /// # Errors
            /// [`LibraryError::Shapes`] if the lengths are not those of the plan; [`LibraryError::Alignment`] if the source begins at an
            /// odd index; [`Error::OtherDevice`](crate::Error::OtherDevice) and what cuFFT refuses.
            pub fn forward<'s, 't>(
                &self,
                source: impl Into<DeviceSlice<'s, $real>>,
                target: impl Into<DeviceSliceMut<'t, Complex<$real>>>,
            ) -> Result<()> {
                let (source, target) = (source.into(), target.into().into_view());
                // SAFETY: as for complex numbers.
                let call = move |library: &Functions, handle, from, to| unsafe { (library.$r2c)(handle, from, to) };
                // SAFETY: the target was borrowed mutably.
                unsafe { self.put(source, target, false, call) }
            }
        }

        impl Plan<Complex<$real>, $real> {
            /// The real numbers of frequencies up to half of the last axis, times the number of elements. Overwrites the source.
            ///
            /// # Errors
            /// [`LibraryError::Shapes`] if the lengths are not those of the plan; [`LibraryError::Alignment`] if the target begins at an
            /// odd index; [`Error::OtherDevice`](crate::Error::OtherDevice) and what cuFFT refuses.
            pub fn inverse<'s, 't>(
                &self,
                source: impl Into<DeviceSliceMut<'s, Complex<$real>>>,
                target: impl Into<DeviceSliceMut<'t, $real>>,
            ) -> Result<()> {
                let (source, target) = (source.into().into_view(), target.into().into_view());
                // SAFETY: as for complex numbers.
                let call = move |library: &Functions, handle, from, to| unsafe { (library.$c2r)(handle, from, to) };
                // SAFETY: both were borrowed mutably.
                unsafe { self.put(source, target, true, call) }
            }
        }
    )*};
}

plans! {
    f32: c2c, r2c, c2r;
    f64: z2z, d2z, z2d;
}

#[cfg(test)]
mod tests {
    use super::{LibraryError, complex, fits, lengths, planned};
    use cuda_std::complex::{Complex32, Complex64};

    #[test]
    fn lengths_of_plans() {
        let table = [
            (&[8][..], 1, [[8, 8], [8, 5], [5, 8]]),
            (&[7][..], 3, [[21, 21], [21, 12], [12, 21]]),
            (&[4, 6][..], 2, [[48, 48], [48, 32], [32, 48]]),
            (&[2, 3, 5][..], 1, [[30, 30], [30, 18], [18, 30]]),
            (&[1][..], 1, [[1, 1], [1, 1], [1, 1]]),
        ];
        for (shape, batch, [complex, to_complex, to_real]) in table {
            assert_eq!(lengths::<Complex32, Complex32>(shape, batch), complex, "{shape:?}");
            assert_eq!(lengths::<f32, Complex32>(shape, batch), to_complex, "{shape:?}");
            assert_eq!(lengths::<Complex64, f64>(shape, batch), to_real, "{shape:?}");
            assert!(fits::<f32, Complex32>(shape, batch, to_complex).is_ok());
            let [source, target] = to_complex;
            for wrong in [[source + 1, target], [source, target + 1], [target * 2, source]] {
                let found = fits::<f32, Complex32>(shape, batch, wrong);
                assert!(matches!(found, Err(LibraryError::Shapes { .. })), "{shape:?} {wrong:?}");
            }
        }
    }

    #[test]
    fn plans_have_elements() {
        assert_eq!(planned(&[4, 6], 2), Ok(vec![4, 6]));
        let wrong: [(&[usize], usize); 5] =
            [(&[], 1), (&[2, 2, 2, 2], 1), (&[4, 0], 1), (&[4], 0), (&[1 << 40, 1 << 40], 1)];
        for (shape, batch) in wrong {
            assert!(matches!(planned(shape, batch), Err(LibraryError::Shapes { .. })), "{shape:?} {batch}");
        }
    }

    #[test]
    fn real_numbers_are_aligned_as_complex_numbers() {
        assert_eq!(
            [complex::<f32, Complex32>(), complex::<Complex64, f64>(), complex::<Complex32, Complex32>()],
            [8, 16, 8]
        );
    }
}
