//! cuRAND, NVIDIA's random numbers: uniform, normal, log-normal and Poisson distributions, and bits, by several generators.
//!
//! cuRAND is found and loaded as [cuBLAS](crate::cublas) is, when the first [`Generator`] is made: `libcurand.so.10`, or the file that
//! `RUMBA_CURAND_LIBRARY` names. It works on NVIDIA GPUs only; `rumba::algorithms` fills with random numbers on every device, and
//! `cuda_std::random` makes them inside of kernels.
//!
//! Not here: quasirandom sequences.

pub use crate::base::error::LibraryError;

use crate::base::error::Result;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::cuda::sys::CUstream;
use crate::devices::device::Device;
use crate::libraries::loading::{Source, functions};
use crate::libraries::{Pointer, Session, aligned, on_a_gpu, uses};
use crate::streams::stream::Stream;
use bytemuck::Pod;
use std::ffi::c_int;

static SOURCE: Source = Source {
    library: "cuRAND",
    variable: "RUMBA_CURAND_LIBRARY",
    files: &[(11, "libcurand.so.10")],
    package: "curand",
    install: "install it (pip's nvidia-curand or nvidia-curand-cu12, NVIDIA's Debian package libcurand-13-0, conda's libcurand)",
    instead: "`rumba::algorithms`",
    answers: &[
        (100, "CURAND_STATUS_VERSION_MISMATCH"),
        (101, "CURAND_STATUS_NOT_INITIALIZED"),
        (102, "CURAND_STATUS_ALLOCATION_FAILED"),
        (103, "CURAND_STATUS_TYPE_ERROR"),
        (104, "CURAND_STATUS_OUT_OF_RANGE"),
        (105, "CURAND_STATUS_LENGTH_NOT_MULTIPLE"),
        (106, "CURAND_STATUS_DOUBLE_PRECISION_REQUIRED"),
        (201, "CURAND_STATUS_LAUNCH_FAILURE"),
        (202, "CURAND_STATUS_PREEXISTING_FAILURE"),
        (203, "CURAND_STATUS_INITIALIZATION_FAILED"),
        (204, "CURAND_STATUS_ARCH_MISMATCH"),
        (999, "CURAND_STATUS_INTERNAL_ERROR"),
    ],
};

functions! {
    SOURCE, Pointer;
    create = "curandCreateGenerator": fn(*mut Pointer, c_int);
    destroy = "curandDestroyGenerator": fn(Pointer);
    set_stream = "curandSetStream": fn(Pointer, CUstream);
    set_seed = "curandSetPseudoRandomGeneratorSeed": fn(Pointer, u64);
    set_offset = "curandSetGeneratorOffset": fn(Pointer, u64);
    bits = "curandGenerate": fn(Pointer, u64, usize);
    uniform = "curandGenerateUniform": fn(Pointer, u64, usize);
    uniform_double = "curandGenerateUniformDouble": fn(Pointer, u64, usize);
    normal = "curandGenerateNormal": fn(Pointer, u64, usize, f32, f32);
    normal_double = "curandGenerateNormalDouble": fn(Pointer, u64, usize, f64, f64);
    log_normal = "curandGenerateLogNormal": fn(Pointer, u64, usize, f32, f32);
    log_normal_double = "curandGenerateLogNormalDouble": fn(Pointer, u64, usize, f64, f64);
    poisson = "curandGeneratePoisson": fn(Pointer, u64, usize, f64);
}

/// The sequence of a generator: `curandRngType_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// XORWOW, cuRAND's default.
    Xorwow,
    /// MRG32k3a.
    Mrg32k3a,
    /// The Mersenne Twister for GPUs.
    Mtgp32,
    /// The Mersenne Twister MT19937.
    Mt19937,
    /// Philox 4x32 with 10 rounds.
    Philox,
}

impl Kind {
    fn number(self) -> c_int {
        match self {
            Kind::Xorwow => 101,
            Kind::Mrg32k3a => 121,
            Kind::Mtgp32 => 141,
            Kind::Mt19937 => 142,
            Kind::Philox => 161,
        }
    }
}

/// Floats that cuRAND makes: `f32`, `f64`.
pub trait Real: Pod + Into<f64> + sealed::Real {}

impl Real for f32 {}
impl Real for f64 {}

mod sealed {
    pub trait Real {
        const IS_DOUBLE: bool;
    }

    impl Real for f32 {
        const IS_DOUBLE: bool = false;
    }

    impl Real for f64 {
        const IS_DOUBLE: bool = true;
    }
}

/// A generator of random numbers on one device.
///
/// Each call continues the sequence. The same kind, seed and offset give the same numbers, if the calls are the same. Calls of one
/// generator, and of the generators that [`Generator::on`] makes of it, run in their order. On a stream that
/// [captures](crate::Device::capture) launches, a call becomes a part of the graph, whose launches make new numbers each time.
///
/// # Examples
/// ```
/// use rumba::curand::{Generator, Kind};
/// use rumba::error::{Error, LibraryError};
///
/// let device = rumba::Device::new()?;
/// let generator = match Generator::new(&device, Kind::Philox, 42) {
///     // This library runs on GPUs only.
///     Err(Error::Library(error)) if matches!(*error, LibraryError::SoftwareDevice { .. }) => return Ok(()),
///     other => other?,
/// };
/// let mut x = device.zeros::<f32>(1000)?;
/// generator.normal(&mut x, 0.0, 1.0)?;
/// assert!(x.to_vec()?.iter().any(|x| *x < 0.0));
/// # Ok::<(), rumba::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    session: Session<Functions>,
}

const NORMAL: &str = "make normal random numbers";

impl Generator {
    /// A generator with a seed, at the start of its sequence.
    ///
    /// # Errors
    /// [`LibraryError::SoftwareDevice`], [`LibraryError::Missing`], [`LibraryError::NoFunction`] and what cuRAND refuses.
    pub fn new(device: &Device, kind: Kind, seed: u64) -> Result<Generator> {
        on_a_gpu(&SOURCE)?;
        let library = Functions::get()?;
        let operation = "make a generator of random numbers";
        let create = || {
            let mut handle = Pointer::NULL;
            // SAFETY: the place is valid, and the context of the device is current.
            SOURCE.check(operation, unsafe { (library.create)(&mut handle, kind.number()) })?;
            Ok(handle)
        };
        let seed = |handle| {
            // SAFETY: the handle was made just now.
            SOURCE.check(operation, unsafe { (library.set_seed)(handle, seed) })?;
            Ok(0)
        };
        let session = Session::new(device, library, operation, create, seed, |_, _| Ok(()))?;
        Ok(Generator { session })
    }

    /// The same generator with its work on another stream.
    #[must_use]
    pub fn on(&self, stream: &Stream) -> Generator {
        Generator { session: self.session.on(stream) }
    }

    /// Continues with the sequence of a seed, `offset` numbers after its start. The Mersenne Twisters have no offsets: make a new
    /// generator to begin again.
    ///
    /// # Errors
    /// What cuRAND refuses, as for a Mersenne Twister; [`GraphError::NotALaunch`](crate::error::GraphError::NotALaunch)
    /// on a stream that records launches.
    pub fn seek(&self, seed: u64, offset: u64) -> Result<()> {
        let operation = "set the seed of random numbers";
        self.session.at_once(operation, move |library, handle| {
            // SAFETY: the handle is alive, and no other call uses it.
            unsafe {
                // Generators without offsets refuse the first call. A seed alone keeps the place in the sequence.
                match (library.set_offset)(handle, offset) {
                    0 => {}
                    refused => return refused,
                }
                match (library.set_seed)(handle, seed) {
                    0 => (library.set_offset)(handle, offset),
                    refused => refused,
                }
            }
        })
    }

    /// Fills with random bits.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) and what cuRAND refuses.
    pub fn bits<'a>(&self, x: impl Into<DeviceSliceMut<'a, u32>>) -> Result<()> {
        let x = x.into().into_view();
        // SAFETY: the address is one of as many numbers.
        let call = |library: &Functions, handle, address, length| unsafe { (library.bits)(handle, address, length) };
        // SAFETY: the elements are borrowed mutably.
        unsafe { self.put("make random bits", &x, call) }
    }

    /// Fills with numbers that are evenly distributed above 0 and up to 1, which is included.
    ///
    /// # Errors
    /// As [`Generator::bits`].
    pub fn uniform<'a, T: Real>(&self, x: impl Into<DeviceSliceMut<'a, T>>) -> Result<()> {
        let x = x.into().into_view();
        let call = |library: &Functions, handle, address, length| {
            let function = if T::IS_DOUBLE { library.uniform_double } else { library.uniform };
            // SAFETY: as for `bits`.
            unsafe { function(handle, address, length) }
        };
        // SAFETY: as for `bits`.
        unsafe { self.put("make uniform random numbers", &x, call) }
    }

    /// Fills with normally distributed numbers. cuRAND makes them in pairs.
    ///
    /// # Errors
    /// As [`Generator::bits`]; [`LibraryError::Shapes`] for an odd number of elements, [`LibraryError::Alignment`] if they begin at an
    /// odd index.
    pub fn normal<'a, T: Real>(&self, x: impl Into<DeviceSliceMut<'a, T>>, mean: T, deviation: T) -> Result<()> {
        self.normals(x.into().into_view(), mean, deviation, false)
    }

    /// Fills with numbers whose logarithms are normally distributed.
    ///
    /// # Errors
    /// As [`Generator::normal`].
    pub fn log_normal<'a, T: Real>(&self, x: impl Into<DeviceSliceMut<'a, T>>, mean: T, deviation: T) -> Result<()> {
        self.normals(x.into().into_view(), mean, deviation, true)
    }

    /// The elements are borrowed mutably.
    fn normals<T: Real>(&self, x: DeviceSlice<'_, T>, mean: T, deviation: T, is_log: bool) -> Result<()> {
        in_pairs(x.len())?;
        aligned(&SOURCE, NORMAL, &x, 2 * size_of::<T>())?;
        let (mean, deviation): (f64, f64) = (mean.into(), deviation.into());
        let call = move |library: &Functions, handle, address, length| {
            if T::IS_DOUBLE {
                let function = if is_log { library.log_normal_double } else { library.normal_double };
                // SAFETY: as for `bits`.
                return unsafe { function(handle, address, length, mean, deviation) };
            }
            let function = if is_log { library.log_normal } else { library.normal };
            // SAFETY: as for `bits`. The numbers were of `f32`.
            unsafe { function(handle, address, length, mean as f32, deviation as f32) }
        };
        // SAFETY: as for `bits`.
        unsafe { self.put(NORMAL, &x, call) }
    }

    /// Fills with numbers of Poisson's distribution with this mean.
    ///
    /// # Errors
    /// As [`Generator::bits`]; cuRAND refuses a mean that is not positive.
    pub fn poisson<'a>(&self, x: impl Into<DeviceSliceMut<'a, u32>>, mean: f64) -> Result<()> {
        let x = x.into().into_view();
        let call = move |library: &Functions, handle, address, length| {
            // SAFETY: as for `bits`.
            unsafe { (library.poisson)(handle, address, length, mean) }
        };
        // SAFETY: as for `bits`.
        unsafe { self.put("make random numbers of Poisson's distribution", &x, call) }
    }

    /// Puts a call on the stream that fills a slice.
    ///
    /// # Safety
    /// The elements are borrowed mutably, and the call writes no others.
    unsafe fn put<T: Pod>(
        &self,
        operation: &'static str,
        x: &DeviceSlice<'_, T>,
        call: impl Fn(&Functions, Pointer, u64, usize) -> c_int + Send + Sync + 'static,
    ) -> Result<()> {
        if x.is_empty() {
            return Ok(());
        }
        let (address, length) = (x.address(), x.len());
        // SAFETY: the caller's promise.
        unsafe {
            self.session.put(operation, &[uses(x, true)], move |library, handle| call(library, handle, address, length))
        }
    }
}

fn in_pairs(length: usize) -> Result<(), LibraryError> {
    match length.is_multiple_of(2) {
        true => Ok(()),
        false => Err(LibraryError::Shapes {
            operation: NORMAL,
            shapes: vec![vec![length]],
            rule: "cuRAND makes these numbers in pairs: pass an even number of elements",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{LibraryError, in_pairs};

    #[test]
    fn normal_numbers_come_in_pairs() {
        assert_eq!([in_pairs(0), in_pairs(2), in_pairs(1000)], [Ok(()), Ok(()), Ok(())]);
        assert!(matches!(in_pairs(7), Err(LibraryError::Shapes { .. })));
    }
}
