//! Types of elements, and the functions of cuBLAS for each.

use crate::libraries::Pointer;
use crate::libraries::cublas::{Functions, Scalar};
use bytemuck::Pod;
use cuda_std::complex::Complex;
use cuda_std::half::{bf16, f16};
use std::ffi::c_int;

/// Elements of matrices: `f16`, `bf16`, `f32`, `f64`, `Complex<f32>` and `Complex<f64>`.
pub trait Element: Pod + sealed::Element {
    /// The type of `alpha` and `beta`: `f32` for `f16` and `bf16`, otherwise the elements' own.
    type Scalar: Copy + Send + Sync + 'static;
}

/// Elements of vectors: `f32` and `f64`.
pub trait Real: Element<Scalar = Self> + Send + Sync {}

/// A type of elements, as cuBLAS knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    F16,
    Bf16,
    F32,
    F64,
    Complex32,
    Complex64,
}

impl Number {
    /// `cudaDataType_t`.
    pub(super) fn data_type(self) -> c_int {
        match self {
            Number::F32 => 0,
            Number::F64 => 1,
            Number::F16 => 2,
            Number::Complex32 => 4,
            Number::Complex64 => 5,
            Number::Bf16 => 14,
        }
    }

    /// `cublasComputeType_t`: `CUBLAS_COMPUTE_32F`, `CUBLAS_COMPUTE_32F_FAST_TF32` or `CUBLAS_COMPUTE_64F`.
    pub(super) fn compute(self, tf32: bool) -> c_int {
        match self {
            Number::F64 | Number::Complex64 => 70,
            Number::F32 | Number::Complex32 if tf32 => 77,
            Number::F16 | Number::Bf16 | Number::F32 | Number::Complex32 => 68,
        }
    }
}

pub(super) mod sealed {
    use super::Number;

    pub trait Element {
        const NUMBER: Number;
    }
}

type Gemv =
    unsafe extern "C" fn(Pointer, c_int, c_int, c_int, Scalar, u64, c_int, u64, c_int, Scalar, u64, c_int) -> c_int;
type Axpy = unsafe extern "C" fn(Pointer, c_int, Scalar, u64, c_int, u64, c_int) -> c_int;
type Scal = unsafe extern "C" fn(Pointer, c_int, Scalar, u64, c_int) -> c_int;
type Dot = unsafe extern "C" fn(Pointer, c_int, u64, c_int, u64, c_int, u64) -> c_int;
type Nrm2 = unsafe extern "C" fn(Pointer, c_int, u64, c_int, u64) -> c_int;

/// The functions of cuBLAS for one type of real numbers.
#[derive(Clone, Copy)]
pub(super) struct RealFunctions {
    pub(super) gemv: Gemv,
    pub(super) axpy: Axpy,
    pub(super) scal: Scal,
    pub(super) dot: Dot,
    pub(super) nrm2: Nrm2,
}

macro_rules! elements {
    ($($ty:ty = $number:ident, $scalar:ty;)*) => {$(
        impl Element for $ty {
            type Scalar = $scalar;
        }

        impl sealed::Element for $ty {
            const NUMBER: Number = Number::$number;
        }
    )*};
}

elements! {
    f16 = F16, f32;
    bf16 = Bf16, f32;
    f32 = F32, f32;
    f64 = F64, f64;
    Complex<f32> = Complex32, Complex<f32>;
    Complex<f64> = Complex64, Complex<f64>;
}

impl Real for f32 {}
impl Real for f64 {}

impl RealFunctions {
    pub(super) fn of<T: Real>(library: &Functions) -> RealFunctions {
        macro_rules! functions {
            ($gemv:ident, $axpy:ident, $scal:ident, $dot:ident, $nrm2:ident) => {
                RealFunctions {
                    gemv: library.$gemv,
                    axpy: library.$axpy,
                    scal: library.$scal,
                    dot: library.$dot,
                    nrm2: library.$nrm2,
                }
            };
        }
        match T::NUMBER {
            Number::F64 => functions!(dgemv, daxpy, dscal, ddot, dnrm2),
            // The only other type of real numbers is `f32`.
            Number::F16 | Number::Bf16 | Number::F32 | Number::Complex32 | Number::Complex64 => {
                functions!(sgemv, saxpy, sscal, sdot, snrm2)
            }
        }
    }
}
