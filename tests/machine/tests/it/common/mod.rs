//! Common code of the tests of kernels: a device with a module, buffers, launches.

pub(crate) mod broken;
pub(crate) mod compiler;
pub(crate) mod warps;
pub(crate) mod words;

use self::warps::Warps;
use rumba_vm::{Config, Device, Engine, Fault, Launch, LaunchFailure, MemoryError, Module, Source, Statistics};

/// A module of one kernel `k` with the parameters `out` and `n`, which stand in `%rd1` and `%r1`. `%r2` is the number of
/// the thread in its block, `%r3` that of the block, `%r4` that of the thread in the grid and `%rd2` the address of its
/// element of `out`, which has 32 bits.
pub(crate) fn kernel(declarations: &str, body: &str) -> String {
    format!(
        "{HEADER}
{declarations}
.visible .entry k(.param .u64 out, .param .u32 n)
{{
    .reg .pred %p<30>;
    .reg .b16 %rs<30>;
    .reg .b32 %r<60>;
    .reg .b32 %f<30>;
    .reg .b64 %rd<60>;
    .reg .b64 %fd<30>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r5, %ntid.x;
    mad.lo.s32 %r4, %r3, %r5, %r2;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd2, %rd1, %rd3;
{body}
    ret;
}}
"
    )
}

/// How every module starts.
pub(crate) const HEADER: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n";

/// Runs a [`kernel`] and gives the first `count` values of `out`.
pub(crate) fn run(declarations: &str, body: &str, grid: u32, block: u32, n: u32, count: usize) -> Vec<u32> {
    let bench = Bench::new(&kernel(declarations, body));
    let out = bench.zeros(4 * count.max((grid * block) as usize));
    if let Err(error) = bench.run("k", grid, block, &[out.into(), n.into()]) {
        panic!("{error}");
    }
    u32s(&bench.download(out, 4 * count))
}

/// A device with a module loaded.
pub(crate) struct Bench {
    pub(crate) device: Device,
    pub(crate) module: Module,
}

/// A kernel argument.
#[derive(Clone, Copy)]
pub(crate) enum Arg {
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

/// A number that buffers can hold.
pub(crate) trait Plain: Copy {
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
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        value.push(&mut bytes);
    }
    bytes
}

/// Bytes as `f32`.
pub(crate) fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|chunk| f32::from_le_bytes(chunk.try_into().unwrap())).collect()
}

/// Bytes as `u32`.
pub(crate) fn u32s(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|chunk| u32::from_le_bytes(chunk.try_into().unwrap())).collect()
}

/// Bytes as `u64`.
pub(crate) fn u64s(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect()
}

/// The engine of tests that say of none: with `RUMBA_TEST_NATIVE`, all of them run as native code, or, if it is `compare`, on both
/// engines.
pub(crate) fn engine() -> Engine {
    engine_with(compiler::native)
}

/// The engine of tests all of whose warps are full.
pub(crate) fn engine_of_full_warps() -> Engine {
    engine_with(|| Warps::Full.native())
}

fn engine_with(native: impl FnOnce() -> Option<Engine>) -> Engine {
    let engine = match std::env::var("RUMBA_TEST_NATIVE").as_deref() {
        Err(_) => None,
        Ok("compare") => compiler::of(None).map(Engine::compared),
        Ok(_) => native(),
    };
    engine.unwrap_or_else(Engine::interpreter)
}

/// Whether the processors have vector instructions on which golden vectors are compared; native code uses those of this one.
pub(crate) fn processors() -> impl Iterator<Item = bool> {
    let count = if std::env::var_os("RUMBA_TEST_NATIVE").is_some() { 1 } else { 2 };
    [true, false].into_iter().take(count)
}

impl Bench {
    /// A device of two workers with `ptx` loaded.
    pub(crate) fn new(ptx: &str) -> Self {
        let mut config = Config::default();
        if cfg!(miri) {
            // Miri takes minutes for a kernel.
            config.time_limit = None;
        }
        Self::with(ptx, config)
    }

    /// A device with `ptx` loaded, on the engine of the run of tests unless the test names another one than the interpreter.
    pub(crate) fn with(ptx: &str, config: Config) -> Self {
        let engine = if config.engine == Engine::interpreter() { engine() } else { config.engine };
        Self::on_the_engine_of(Config { engine, ..config }, ptx)
    }

    /// A device with `ptx` loaded, on this engine.
    pub(crate) fn on_the_engine_of(config: Config, ptx: &str) -> Self {
        let device = Device::new(Config { workers: 2, memory_bytes: 1 << 30, ..config }).unwrap();
        let module = match device.load(&[Source { name: "test.ptx", ptx }]) {
            Ok(module) => module,
            Err(error) => panic!("{error}"),
        };
        Self { device, module }
    }

    /// Copies device memory to the host.
    pub(crate) fn read(&self, from: u64, to: &mut [u8]) -> Result<(), MemoryError> {
        // SAFETY: tests copy when their launches have ended, from one thread.
        unsafe { self.device.read(from, to) }
    }

    /// Copies host memory to the device.
    pub(crate) fn write(&self, to: u64, from: &[u8]) -> Result<(), MemoryError> {
        // SAFETY: as above.
        unsafe { self.device.write(to, from) }
    }

    /// Copies device memory.
    pub(crate) fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), MemoryError> {
        // SAFETY: as above.
        unsafe { self.device.copy(to, from, bytes) }
    }

    /// Writes a pattern again and again.
    pub(crate) fn fill(&self, to: u64, pattern: &[u8], count: usize) -> Result<(), MemoryError> {
        // SAFETY: as above.
        unsafe { self.device.fill(to, pattern, count) }
    }

    /// A buffer with these values.
    pub(crate) fn upload<T: Plain>(&self, values: &[T]) -> u64 {
        let bytes = bytes_of(values);
        let address = self.device.allocate(bytes.len()).unwrap();
        self.write(address, &bytes).unwrap();
        address
    }

    /// A buffer of zeros.
    pub(crate) fn zeros(&self, bytes: usize) -> u64 {
        let address = self.device.allocate(bytes).unwrap();
        self.fill(address, &[0], bytes).unwrap();
        address
    }

    /// The contents of a buffer.
    pub(crate) fn download(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        self.read(address, &mut out).unwrap();
        out
    }

    /// Launches a kernel over one dimension.
    pub(crate) fn run(&self, name: &str, grid: u32, block: u32, args: &[Arg]) -> Result<Statistics, LaunchFailure> {
        self.launch(name, [grid, 1, 1], [block, 1, 1], 0, args)
    }

    /// Launches a kernel.
    pub(crate) fn launch(
        &self,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        args: &[Arg],
    ) -> Result<Statistics, LaunchFailure> {
        let launch =
            Launch { grid, block, dynamic_shared, parameters: &[], cooperative: false, cluster: None, device: 0 };
        self.launch_as(name, launch, args)
    }

    /// Launches a kernel as `launch` says, with these parameters.
    pub(crate) fn launch_as(&self, name: &str, launch: Launch<'_>, args: &[Arg]) -> Result<Statistics, LaunchFailure> {
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
        let launch = Launch { parameters: &parameters, ..launch };
        self.device.launch(&function, &launch)
    }

    /// Launches a kernel that makes a mistake.
    pub(crate) fn fault(&self, name: &str, grid: u32, block: u32, args: &[Arg]) -> Fault {
        match self.run(name, grid, block, args) {
            Err(LaunchFailure::Fault(fault)) => *fault,
            other => panic!("a fault was expected, not {other:?}"),
        }
    }
}

/// A generator of pseudo-random numbers (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
