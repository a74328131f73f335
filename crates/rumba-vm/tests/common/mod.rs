//! What the tests of kernels share: a device with a module, buffers, launches.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use rumba_vm::{Config, Device, Fault, Launch, LaunchFailure, Module, Source, Statistics};

/// A device with a module loaded.
pub struct Bench {
    pub device: Device,
    pub module: Module,
}

/// A kernel argument.
#[derive(Clone, Copy)]
pub enum Arg {
    U32(u32),
    U64(u64),
    F32(f32),
}

impl From<u32> for Arg {
    fn from(value: u32) -> Self {
        Self::U32(value)
    }
}

impl From<u64> for Arg {
    fn from(value: u64) -> Self {
        Self::U64(value)
    }
}

impl From<f32> for Arg {
    fn from(value: f32) -> Self {
        Self::F32(value)
    }
}

/// Something of which a buffer can be made.
pub trait Plain: Copy {
    fn push(self, bytes: &mut Vec<u8>);
}

macro_rules! plain {
    ($($ty:ty),*) => {$(
        impl Plain for $ty {
            fn push(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

plain!(u8, u16, u32, u64, i32, i64, f32, f64);

/// The bytes of values.
pub fn bytes_of<T: Plain>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        value.push(&mut bytes);
    }
    bytes
}

/// Bytes as `f32`.
pub fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|chunk| f32::from_le_bytes(chunk.try_into().unwrap())).collect()
}

/// Bytes as `u32`.
pub fn u32s(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|chunk| u32::from_le_bytes(chunk.try_into().unwrap())).collect()
}

/// Bytes as `u64`.
pub fn u64s(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect()
}

impl Bench {
    /// A device of two workers with `ptx` loaded.
    pub fn new(ptx: &str) -> Self {
        Self::with(ptx, Config::default())
    }

    /// A device with `ptx` loaded.
    pub fn with(ptx: &str, config: Config) -> Self {
        let device = Device::new(Config { workers: 2, memory_bytes: 1 << 30, ..config }).unwrap();
        let module = match device.load(&[Source { name: "test.ptx", ptx }]) {
            Ok(module) => module,
            Err(error) => panic!("{error}"),
        };
        Self { device, module }
    }

    /// A buffer with these values.
    pub fn upload<T: Plain>(&self, values: &[T]) -> u64 {
        let bytes = bytes_of(values);
        let address = self.device.allocate(bytes.len()).unwrap();
        self.device.write(address, &bytes).unwrap();
        address
    }

    /// A buffer of zeros.
    pub fn zeros(&self, bytes: usize) -> u64 {
        let address = self.device.allocate(bytes).unwrap();
        self.device.fill(address, &[0], bytes).unwrap();
        address
    }

    /// What a buffer holds.
    pub fn download(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        self.device.read(address, &mut out).unwrap();
        out
    }

    /// Launches a kernel over one dimension.
    pub fn run(&self, name: &str, grid: u32, block: u32, args: &[Arg]) -> Result<Statistics, LaunchFailure> {
        self.launch(name, [grid, 1, 1], [block, 1, 1], 0, args)
    }

    /// Launches a kernel.
    pub fn launch(
        &self,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        args: &[Arg],
    ) -> Result<Statistics, LaunchFailure> {
        let function = self.module.function(name).unwrap();
        let mut parameters = Vec::new();
        for arg in args {
            let bytes = match arg {
                Arg::U32(value) => value.to_le_bytes().to_vec(),
                Arg::U64(value) => value.to_le_bytes().to_vec(),
                Arg::F32(value) => value.to_le_bytes().to_vec(),
            };
            parameters.resize(parameters.len().next_multiple_of(bytes.len()), 0);
            parameters.extend_from_slice(&bytes);
        }
        let launch = Launch { grid, block, dynamic_shared, parameters: &parameters, cooperative: false };
        self.device.launch(&function, &launch)
    }

    /// Launches a kernel that makes a mistake.
    pub fn fault(&self, name: &str, grid: u32, block: u32, args: &[Arg]) -> Fault {
        match self.run(name, grid, block, args) {
            Err(LaunchFailure::Fault(fault)) => *fault,
            other => panic!("a fault was expected, not {other:?}"),
        }
    }
}
