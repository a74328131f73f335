//! A device and one module of PTX on it: buffers, and launches of kernels by name. Types of arguments are the caller's
//! promise; nothing here knows the signatures.

use std::any::Any;
use std::ffi::{CString, c_void};
use std::marker::PhantomData;

use anyhow::{Context as _, Result, bail};
use bytemuck::{AnyBitPattern, NoUninit};
use cust::context::Context;
use cust::error::CudaResult;
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use rumba_driver as _;

/// A device with one program loaded.
pub struct Gpu {
    stream: Stream,
    module: Module,
    _context: Context,
}

/// A kernel's argument: its bytes, in words that are aligned for every type. A buffer is borrowed or kept.
pub struct Arg<'b> {
    words: Vec<u128>,
    /// Keeps a buffer alive as long as the argument.
    _owned: Option<Box<dyn Any>>,
    _borrowed: PhantomData<&'b ()>,
}

impl Arg<'_> {
    /// A value of any type without padding that is read.
    pub fn value<T: Copy>(value: T) -> Self {
        let mut words = vec![0_u128; size_of::<T>().div_ceil(size_of::<u128>())];
        // SAFETY: the words have room for the value.
        unsafe { words.as_mut_ptr().cast::<T>().write_unaligned(value) };
        Self { words, _owned: None, _borrowed: PhantomData }
    }
}

impl<'b, T: DeviceCopy> From<&'b DeviceBuffer<T>> for Arg<'b> {
    fn from(buffer: &'b DeviceBuffer<T>) -> Self {
        Self::value(buffer.as_device_ptr().as_raw())
    }
}

impl<T: DeviceCopy + 'static> From<DeviceBuffer<T>> for Arg<'_> {
    fn from(buffer: DeviceBuffer<T>) -> Self {
        let mut arg = Self::value(buffer.as_device_ptr().as_raw());
        arg._owned = Some(Box::new(buffer));
        arg
    }
}

macro_rules! scalars {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Arg<'_> {
            fn from(value: $ty) -> Self {
                Self::value(value)
            }
        }
    )*};
}
scalars!(i8, i16, u32, i32, u64, i64, f32, f64);

/// The arguments of a launch, each what [`Arg`] can be made from.
#[macro_export]
macro_rules! args {
    ($($value:expr),* $(,)?) => { &[$($crate::Arg::from($value)),*] };
}

/// Bytes of dynamic shared memory that every kernel can have.
const DEFAULT_SHARED: u32 = 48 << 10;

/// Sizes of a grid or a block.
pub type Size = [u32; 3];

/// As many blocks of `block` threads as cover `n`.
pub fn blocks(n: usize, block: u32) -> Size {
    [(n as u32).div_ceil(block), 1, 1]
}

impl Gpu {
    /// The first device, with a module.
    ///
    /// # Errors
    /// What the driver says, for text that does not load with its log.
    pub fn new(ptx: &str) -> Result<Self> {
        let context = cust::quick_init()?;
        let text = CString::new(ptx)?;
        let module =
            Module::from_ptx_cstr(&text, &[]).with_context(|| format!("the module does not load: {}", log(&text)))?;
        Ok(Self { stream: Stream::new(StreamFlags::DEFAULT, None)?, module, _context: context })
    }

    /// A copy of values on the device; of none, room for one.
    ///
    /// # Errors
    /// What the driver says.
    pub fn buffer<T: DeviceCopy + NoUninit + AnyBitPattern>(&self, values: &[T]) -> Result<DeviceBuffer<T>> {
        if values.is_empty() {
            return self.zeros(1);
        }
        Ok(DeviceBuffer::from_slice(values)?)
    }

    /// Zeros on the device, at least one.
    ///
    /// # Errors
    /// What the driver says.
    pub fn zeros<T: DeviceCopy + AnyBitPattern + NoUninit>(&self, count: usize) -> Result<DeviceBuffer<T>> {
        Ok(DeviceBuffer::from_slice(&vec![T::zeroed(); count.max(1)])?)
    }

    /// The contents of a buffer after the launches so far.
    ///
    /// # Errors
    /// What the driver says, and faults of launches before.
    pub fn read<T: DeviceCopy + AnyBitPattern + NoUninit>(&self, buffer: &DeviceBuffer<T>) -> Result<Vec<T>> {
        self.stream.synchronize()?;
        let mut values = vec![T::zeroed(); buffer.len()];
        buffer.copy_to(&mut values)?;
        Ok(values)
    }

    /// Waits for the launches so far.
    ///
    /// # Errors
    /// Their faults.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }

    /// Starts a kernel. The arguments have the types of its parameters.
    ///
    /// # Errors
    /// If the module lacks the kernel, or the launch fails.
    pub fn launch(&self, kernel: &str, grid: Size, block: Size, shared: u32, args: &[Arg<'_>]) -> Result<()> {
        let function = self.module.get_function(kernel).with_context(|| format!("kernel `{kernel}`"))?;
        if shared > DEFAULT_SHARED {
            const MAX_DYNAMIC_SHARED: sys::CUfunction_attribute =
                sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function belongs to the module, which is loaded.
            let code = unsafe { sys::cuFuncSetAttribute(function.to_raw(), MAX_DYNAMIC_SHARED, shared as i32) };
            if code != sys::cudaError_enum::CUDA_SUCCESS {
                bail!("{shared} bytes of shared memory for `{kernel}`: {code:?}");
            }
        }
        let pointers: Vec<*mut c_void> = args.iter().map(|arg| arg.words.as_ptr().cast_mut().cast()).collect();
        let (g, b) = ((grid[0], grid[1], grid[2]), (block[0], block[1], block[2]));
        // SAFETY: the caller passes what the kernel's parameters are; the driver copies it during the call.
        let outcome: CudaResult<()> = unsafe { self.stream.launch(&function, g, b, shared, &pointers) };
        outcome.with_context(|| format!("launch of `{kernel}`"))
    }

    /// Starts a kernel all of whose blocks are resident at once.
    ///
    /// # Errors
    /// As [`Self::launch`].
    pub fn launch_cooperatively(&self, kernel: &str, grid: Size, block: Size, args: &[Arg<'_>]) -> Result<()> {
        let function = self.module.get_function(kernel).with_context(|| format!("kernel `{kernel}`"))?;
        let mut pointers: Vec<*mut c_void> = args.iter().map(|arg| arg.words.as_ptr().cast_mut().cast()).collect();
        // SAFETY: as in `launch`.
        let code = unsafe {
            sys::cuLaunchCooperativeKernel(
                function.to_raw(),
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                0,
                self.stream.as_inner(),
                pointers.as_mut_ptr(),
            )
        };
        if code != sys::cudaError_enum::CUDA_SUCCESS {
            bail!("launch of `{kernel}`: {code:?}");
        }
        Ok(())
    }

    /// Overwrites a variable of the module.
    ///
    /// # Errors
    /// If the module has no variable of this name and size.
    pub fn set_variable<T: DeviceCopy + NoUninit>(&self, name: &str, value: &T) -> Result<()> {
        Ok(self.module.get_global::<T>(&CString::new(name)?)?.copy_from(value)?)
    }

    /// Reads a variable of the module.
    ///
    /// # Errors
    /// If the module has no variable of this name and size.
    pub fn variable<T: DeviceCopy + AnyBitPattern>(&self, name: &str) -> Result<T> {
        self.stream.synchronize()?;
        let mut value = T::zeroed();
        self.module.get_global::<T>(&CString::new(name)?)?.copy_to(&mut value)?;
        Ok(value)
    }
}

/// The message of the driver's compiler for a text that does not load.
fn log(text: &CString) -> String {
    let mut log = vec![0_u8; 1 << 16];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(log.len())];
    let mut module = std::ptr::null_mut();
    // SAFETY: the text is terminated, both arrays have two entries, and the log is as long as said.
    unsafe {
        sys::cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr());
    }
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).into_owned()
}
