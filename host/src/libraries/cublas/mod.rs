//! cuBLAS, NVIDIA's linear algebra, on arrays and views: products of matrices and the most common operations on vectors.
//!
//! cuBLAS is loaded when [`Blas::new`] is first called: `libcublas.so.13` of CUDA 13, or that of CUDA 12 or 11, as the loader finds
//! it, in the folders of a CUDA toolkit (`CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`), of a conda environment, or of pip's package in an
//! active environment of Python; or the file that `RUMBA_CUBLAS_LIBRARY` names. cuBLAS works on NVIDIA GPUs only; `rumba::linalg`
//! works on every device.
//!
//! Not here: the other routines of BLAS, and cuBLASLt.

mod element;
mod shape;

pub use crate::base::error::LibraryError;
pub use element::{Element, Real};

use crate::array::{ArrayView, ArrayViewMut};
use crate::base::error::Result;
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::{DeviceSliceMut, same_length};
use crate::cuda::sys::CUstream;
use crate::devices::device::Device;
use crate::libraries::loading::{Source, functions};
use crate::libraries::{Pointer, Session, on_a_gpu, uses};
use crate::streams::stream::Stream;
use element::RealFunctions;
use shape::Operand;
use std::ffi::{c_int, c_void};
use std::ptr::from_ref;

static SOURCE: Source = Source {
    library: "cuBLAS",
    variable: "RUMBA_CUBLAS_LIBRARY",
    files: &[(13, "libcublas.so.13"), (12, "libcublas.so.12"), (11, "libcublas.so.11")],
    package: "cublas",
    install: "install it (pip's nvidia-cublas or nvidia-cublas-cu12, NVIDIA's Debian package libcublas-13-0, conda's libcublas)",
    instead: "`rumba::linalg`",
    answers: &[
        (1, "CUBLAS_STATUS_NOT_INITIALIZED"),
        (3, "CUBLAS_STATUS_ALLOC_FAILED"),
        (7, "CUBLAS_STATUS_INVALID_VALUE"),
        (8, "CUBLAS_STATUS_ARCH_MISMATCH"),
        (11, "CUBLAS_STATUS_MAPPING_ERROR"),
        (13, "CUBLAS_STATUS_EXECUTION_FAILED"),
        (14, "CUBLAS_STATUS_INTERNAL_ERROR"),
        (15, "CUBLAS_STATUS_NOT_SUPPORTED"),
        (16, "CUBLAS_STATUS_LICENSE_ERROR"),
    ],
};

type Scalar = *const c_void;

functions! {
    SOURCE, Pointer;
    create = "cublasCreate_v2": fn(*mut Pointer);
    destroy = "cublasDestroy_v2": fn(Pointer);
    set_stream = "cublasSetStream_v2": fn(Pointer, CUstream);
    set_pointer_mode = "cublasSetPointerMode_v2": fn(Pointer, c_int);
    gemm = "cublasGemmEx": fn(
        Pointer, c_int, c_int, c_int, c_int, c_int, Scalar, u64, c_int, c_int, u64, c_int, c_int, Scalar, u64, c_int, c_int, c_int, c_int,
    );
    gemm_batched = "cublasGemmStridedBatchedEx": fn(
        Pointer, c_int, c_int, c_int, c_int, c_int, Scalar, u64, c_int, c_int, i64, u64, c_int, c_int, i64, Scalar, u64, c_int, c_int,
        i64, c_int, c_int, c_int,
    );
    sgemv = "cublasSgemv_v2": fn(Pointer, c_int, c_int, c_int, Scalar, u64, c_int, u64, c_int, Scalar, u64, c_int);
    dgemv = "cublasDgemv_v2": fn(Pointer, c_int, c_int, c_int, Scalar, u64, c_int, u64, c_int, Scalar, u64, c_int);
    saxpy = "cublasSaxpy_v2": fn(Pointer, c_int, Scalar, u64, c_int, u64, c_int);
    daxpy = "cublasDaxpy_v2": fn(Pointer, c_int, Scalar, u64, c_int, u64, c_int);
    sscal = "cublasSscal_v2": fn(Pointer, c_int, Scalar, u64, c_int);
    dscal = "cublasDscal_v2": fn(Pointer, c_int, Scalar, u64, c_int);
    sdot = "cublasSdot_v2": fn(Pointer, c_int, u64, c_int, u64, c_int, u64);
    ddot = "cublasDdot_v2": fn(Pointer, c_int, u64, c_int, u64, c_int, u64);
    snrm2 = "cublasSnrm2_v2": fn(Pointer, c_int, u64, c_int, u64);
    dnrm2 = "cublasDnrm2_v2": fn(Pointer, c_int, u64, c_int, u64);
}

impl Functions {
    /// Makes a call whose result goes to device memory (`CUBLAS_POINTER_MODE_DEVICE`).
    ///
    /// # Safety
    /// The handle is alive, its context current, and no other call uses the handle.
    unsafe fn with_result_on_device(&self, handle: Pointer, call: impl FnOnce() -> c_int) -> c_int {
        // SAFETY: the caller's promise, here and below.
        let set = unsafe { (self.set_pointer_mode)(handle, 1) };
        let answered = if set == 0 { call() } else { set };
        // SAFETY: as above.
        let reset = unsafe { (self.set_pointer_mode)(handle, 0) };
        if answered == 0 { reset } else { answered }
    }
}

/// cuBLAS on one device: a handle, and the stream that its work is put on.
///
/// Matrices and vectors are arrays by reference, views of them, or slices of buffers. Vectors have any stride but 0. The elements of a
/// row or of a column of a matrix lie one after the other: arrays, transposed views and parts of both do, and everything else is an
/// error that says so. Nothing is copied.
///
/// Calls with one handle, and with the handles that [`Blas::on`] makes of it, run in their order. For work that overlaps make several
/// handles. Calls on a stream that [captures](crate::Device::capture) launches become parts of the graph, each a call of the library by
/// the host between the launches before and after it.
///
/// # Examples
/// ```
/// use rumba::array::Array;
/// use rumba::cublas::Blas;
/// use rumba::error::{Error, LibraryError};
///
/// let device = rumba::Device::new()?;
/// let blas = match Blas::new(&device) {
///     // This library runs on GPUs only.
///     Err(Error::Library(error)) if matches!(*error, LibraryError::SoftwareDevice { .. }) => return Ok(()),
///     other => other?,
/// };
/// let a = Array::from_slice(&device, [2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let mut c = Array::zeros(&device, [2, 2])?;
/// // c = a aᵀ
/// blas.gemm(1.0, &a, a.transpose(), 0.0, &mut c)?;
/// assert_eq!(c.to_vec()?, [14.0, 32.0, 32.0, 77.0]);
/// # Ok::<(), rumba::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blas {
    session: Session<Functions>,
    tf32: bool,
}

/// The operations by their names in messages.
const GEMM: &str = "multiply matrices (gemm)";
const GEMV: &str = "multiply a matrix and a vector (gemv)";
const AXPY: &str = "add vectors (axpy)";
const DOT: &str = "compute a scalar product (dot)";
const NRM2: &str = "compute a norm (nrm2)";

impl Blas {
    /// A handle on a device, whose work is put on the default stream.
    ///
    /// # Errors
    /// [`LibraryError::SoftwareDevice`], [`LibraryError::Missing`], [`LibraryError::NoFunction`] and what cuBLAS refuses.
    pub fn new(device: &Device) -> Result<Blas> {
        on_a_gpu(&SOURCE)?;
        let library = Functions::get()?;
        let operation = "make a handle of cuBLAS";
        let create = || {
            let mut handle = Pointer::NULL;
            // SAFETY: the place is valid, and the context of the device is current.
            SOURCE.check(operation, unsafe { (library.create)(&mut handle) })?;
            Ok(handle)
        };
        let session = Session::new(device, library, operation, create, |_| Ok(0), |_, _| Ok(()))?;
        Ok(Blas { session, tf32: false })
    }

    /// The same handle with its work on another stream.
    #[must_use]
    pub fn on(&self, stream: &Stream) -> Blas {
        Blas { session: self.session.on(stream), ..*self }
    }

    /// The same handle with products of `f32` by tensor cores in TensorFloat-32: 11 bits of each factor count.
    #[must_use]
    pub fn tf32(&self) -> Blas {
        Blas { session: self.session.clone(), tf32: true }
    }

    /// `c = alpha a b + beta c`, for matrices of two dimensions or batches of three. `a` and `b` with one matrix serve for all
    /// matrices of `c`. With `beta` zero the old elements of `c` are not read.
    ///
    /// Elements are `f16`, `bf16`, `f32`, `f64`, or complex numbers of `f32` and `f64`. Sums of `f16` and `bf16` are `f32`, and so are
    /// their `alpha` and `beta`.
    ///
    /// # Errors
    /// [`LibraryError::Shapes`], [`LibraryError::Strides`], [`LibraryError::TooLong`], [`Error::OtherDevice`](crate::Error::OtherDevice)
    /// and what cuBLAS refuses.
    pub fn gemm<'a, 'b, 'c, T: Element, const A: usize, const B: usize, const C: usize>(
        &self,
        alpha: T::Scalar,
        a: impl Into<ArrayView<'a, T, A>>,
        b: impl Into<ArrayView<'b, T, B>>,
        beta: T::Scalar,
        c: impl Into<ArrayViewMut<'c, T, C>>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into().into_view());
        let operands = [Operand::of("a", &a), Operand::of("b", &b), Operand::of("c", &c)];
        let Some(gemm) = shape::gemm(GEMM, operands)? else {
            return Ok(());
        };
        let (first, second) = if gemm.is_swapped { (b.place().1, a.place().1) } else { (a.place().1, b.place().1) };
        let target = c.place().1;
        let (number, compute) = (T::NUMBER, T::NUMBER.compute(self.tf32));
        let call = move |library: &Functions, handle: Pointer| {
            let shape::Gemm { transposes: [ta, tb], sizes: [m, n, k], leading: [la, lb, lc], .. } = gemm;
            let (alpha, beta) = (from_ref(&alpha).cast(), from_ref(&beta).cast());
            let kind = number.data_type();
            // SAFETY: `shape::gemm` has found all elements that this reaches within the views; the scalars are of the type that
            // belongs to `compute`, and read before the call returns.
            unsafe {
                if gemm.batch == 1 {
                    return (library.gemm)(
                        handle, ta, tb, m, n, k, alpha, first, kind, la, second, kind, lb, beta, target, kind, lc,
                        compute, DEFAULT,
                    );
                }
                let [sa, sb, sc] = gemm.apart;
                (library.gemm_batched)(
                    handle, ta, tb, m, n, k, alpha, first, kind, la, sa, second, kind, lb, sb, beta, target, kind, lc,
                    sc, gemm.batch, compute, DEFAULT,
                )
            }
        };
        let memory = [uses(&a.memory(), false), uses(&b.memory(), false), uses(&c.memory(), true)];
        // SAFETY: the call reaches the elements of the views only; those of `c` are borrowed mutably.
        unsafe { self.session.put(GEMM, &memory, call) }
    }

    /// `y = alpha a x + beta y`, for a matrix and vectors. With `beta` zero the old elements of `y` are not read.
    ///
    /// # Errors
    /// As [`Blas::gemm`].
    pub fn gemv<'a, 'x, 'y, T: Real>(
        &self,
        alpha: T,
        a: impl Into<ArrayView<'a, T, 2>>,
        x: impl Into<ArrayView<'x, T, 1>>,
        beta: T,
        y: impl Into<ArrayViewMut<'y, T, 1>>,
    ) -> Result<()> {
        let (a, x, y) = (a.into(), x.into(), y.into().into_view());
        let operands = [Operand::of("a", &a), Operand::of("x", &x), Operand::of("y", &y)];
        let Some(shape::Gemv { transpose, sizes: [m, n], leading, vectors: [of_x, of_y] }) =
            shape::gemv(GEMV, operands)?
        else {
            return Ok(());
        };
        let (matrix, from, to) = (a.place().1, of_x.start(&x), of_y.start(&y));
        let call = move |library: &Functions, handle: Pointer| {
            let (alpha, beta) = (from_ref(&alpha).cast(), from_ref(&beta).cast());
            // SAFETY: as for `gemm`.
            unsafe {
                (RealFunctions::of::<T>(library).gemv)(
                    handle, transpose, m, n, alpha, matrix, leading, from, of_x.step, beta, to, of_y.step,
                )
            }
        };
        let memory = [uses(&a.memory(), false), uses(&x.memory(), false), uses(&y.memory(), true)];
        // SAFETY: the call reaches the elements of the views only; those of `y` are borrowed mutably.
        unsafe { self.session.put(GEMV, &memory, call) }
    }

    /// `y = alpha x + y`.
    ///
    /// # Errors
    /// As [`Blas::gemm`].
    pub fn axpy<'x, 'y, T: Real>(
        &self,
        alpha: T,
        x: impl Into<ArrayView<'x, T, 1>>,
        y: impl Into<ArrayViewMut<'y, T, 1>>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into().into_view());
        let (length, [of_x, of_y]) = shape::pair(AXPY, [Operand::of("x", &x), Operand::of("y", &y)])?;
        let (from, to) = (of_x.start(&x), of_y.start(&y));
        let call = move |library: &Functions, handle: Pointer| {
            // SAFETY: as for `gemm`.
            unsafe {
                (RealFunctions::of::<T>(library).axpy)(
                    handle,
                    length,
                    from_ref(&alpha).cast(),
                    from,
                    of_x.step,
                    to,
                    of_y.step,
                )
            }
        };
        // SAFETY: as for `gemv`.
        unsafe { self.session.put(AXPY, &[uses(&x.memory(), false), uses(&y.memory(), true)], call) }
    }

    /// `x = alpha x`.
    ///
    /// # Errors
    /// As [`Blas::gemm`].
    pub fn scal<'x, T: Real>(&self, alpha: T, x: impl Into<ArrayViewMut<'x, T, 1>>) -> Result<()> {
        let operation = "scale a vector (scal)";
        let x = x.into().into_view();
        let (length, of_x) = shape::vector(operation, Operand::of("x", &x))?;
        // This routine takes steps forwards only; every element is treated alike.
        let (start, step) = (of_x.start(&x), of_x.step.abs());
        let call = move |library: &Functions, handle: Pointer| {
            // SAFETY: as for `gemm`.
            unsafe { (RealFunctions::of::<T>(library).scal)(handle, length, from_ref(&alpha).cast(), start, step) }
        };
        // SAFETY: as for `gemv`.
        unsafe { self.session.put(operation, &[uses(&x.memory(), true)], call) }
    }

    /// The sum of the products of the elements of two vectors. Waits for the result.
    ///
    /// # Errors
    /// As [`Blas::gemm`]; [`GraphError::NotALaunch`](crate::error::GraphError::NotALaunch) on a stream that records launches.
    pub fn dot<'x, 'y, T: Real>(
        &self,
        x: impl Into<ArrayView<'x, T, 1>>,
        y: impl Into<ArrayView<'y, T, 1>>,
    ) -> Result<T> {
        self.read(DOT, |result| self.dot_into(x, y, result))
    }

    /// [`Blas::dot`] with the result in device memory, so that nothing waits for it.
    ///
    /// # Errors
    /// As [`Blas::gemm`]; [`Error::LengthMismatch`](crate::Error::LengthMismatch) unless `result` has one element.
    pub fn dot_into<'x, 'y, 'r, T: Real>(
        &self,
        x: impl Into<ArrayView<'x, T, 1>>,
        y: impl Into<ArrayView<'y, T, 1>>,
        result: impl Into<DeviceSliceMut<'r, T>>,
    ) -> Result<()> {
        let (x, y, result) = (x.into(), y.into(), result.into().into_view());
        same_length("compute one number", 1, result.len())?;
        let (length, [of_x, of_y]) = shape::pair(DOT, [Operand::of("x", &x), Operand::of("y", &y)])?;
        let (left, right, target) = (of_x.start(&x), of_y.start(&y), result.address());
        let call = move |library: &Functions, handle: Pointer| {
            // SAFETY: as for `gemm`; the result has room for a number.
            unsafe {
                library.with_result_on_device(handle, || {
                    (RealFunctions::of::<T>(library).dot)(handle, length, left, of_x.step, right, of_y.step, target)
                })
            }
        };
        let memory = [uses(&x.memory(), false), uses(&y.memory(), false), uses(&result, true)];
        // SAFETY: as for `gemv`.
        unsafe { self.session.put(DOT, &memory, call) }
    }

    /// The root of the sum of the squares of a vector's elements. Waits for the result.
    ///
    /// # Errors
    /// As [`Blas::dot`].
    pub fn nrm2<'x, T: Real>(&self, x: impl Into<ArrayView<'x, T, 1>>) -> Result<T> {
        self.read(NRM2, |result| self.nrm2_into(x, result))
    }

    /// [`Blas::nrm2`] with the result in device memory, so that nothing waits for it.
    ///
    /// # Errors
    /// As [`Blas::dot_into`].
    pub fn nrm2_into<'x, 'r, T: Real>(
        &self,
        x: impl Into<ArrayView<'x, T, 1>>,
        result: impl Into<DeviceSliceMut<'r, T>>,
    ) -> Result<()> {
        let (x, result) = (x.into(), result.into().into_view());
        same_length("compute one number", 1, result.len())?;
        let (length, of_x) = shape::vector(NRM2, Operand::of("x", &x))?;
        let (start, step, target) = (of_x.start(&x), of_x.step.abs(), result.address());
        let call = move |library: &Functions, handle: Pointer| {
            // SAFETY: as for `dot_into`.
            unsafe {
                library.with_result_on_device(handle, || {
                    (RealFunctions::of::<T>(library).nrm2)(handle, length, start, step, target)
                })
            }
        };
        // SAFETY: as for `gemv`.
        unsafe { self.session.put(NRM2, &[uses(&x.memory(), false), uses(&result, true)], call) }
    }

    fn read<T: Real>(
        &self,
        operation: &'static str,
        compute: impl FnOnce(DeviceSliceMut<'_, T>) -> Result<()>,
    ) -> Result<T> {
        self.session.computes_now(operation)?;
        let mut result = DeviceBuffer::uninitialised(self.session.context().clone(), 1)?;
        compute(result.as_slice_mut())?;
        let mut value = [T::zeroed()];
        result.as_slice().copy_to(&mut value)?;
        Ok(value[0])
    }
}

/// `CUBLAS_GEMM_DEFAULT`.
const DEFAULT: c_int = -1;
