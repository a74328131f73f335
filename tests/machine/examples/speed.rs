//! How fast the machine is: kernels as the kernel toolchain compiles them, with results checked and checks on.
//!
//! `cargo run --release -p machine --example speed [NAME]`; with `NATIVE` in the environment, native code.

use std::time::{Duration, Instant};

#[path = "../tests/it/common/compiler.rs"]
mod compiler;

use rumba_vm::{Config, Device, Engine, Launch, Module, Source, Statistics};

const PTX: &str = include_str!("speed.ptx");

/// Runs of each kernel; the fastest counts.
const RUNS: usize = 12;

type Failure = Box<dyn std::error::Error>;

struct Bench {
    device: Device,
    module: Module,
    only: Option<String>,
}

#[derive(Default)]
struct Parameters(Vec<u8>);

impl Parameters {
    fn push<const N: usize>(mut self, bytes: [u8; N]) -> Self {
        self.0.resize(self.0.len().next_multiple_of(N), 0);
        self.0.extend(bytes);
        self
    }

    fn slice(self, address: u64, length: usize) -> Self {
        self.push(address.to_le_bytes()).push((length as u64).to_le_bytes())
    }
}

impl Bench {
    fn upload<const N: usize>(&self, values: impl Iterator<Item = [u8; N]>) -> Result<u64, Failure> {
        let bytes: Vec<u8> = values.flatten().collect();
        let address = self.device.allocate(bytes.len())?;
        // SAFETY: the launches have ended, and nothing else uses the device.
        unsafe { self.device.write(address, &bytes) }?;
        Ok(address)
    }

    fn download(&self, address: u64, count: usize) -> Result<Vec<f32>, Failure> {
        let mut bytes = vec![0; 4 * count];
        // SAFETY: as above.
        unsafe { self.device.read(address, &mut bytes) }?;
        Ok(bytes.chunks_exact(4).map(|chunk| f32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]])).collect())
    }

    /// Runs a kernel and prints how long it took; `work` is how much it does, in `unit`.
    fn run(
        &self,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        parameters: &Parameters,
        (work, unit): (f64, &str),
    ) -> Result<bool, Failure> {
        if self.only.as_ref().is_some_and(|only| only != name) {
            return Ok(false);
        }
        let function = self.module.function(name).ok_or("no such kernel")?;
        let launch = Launch {
            grid,
            block,
            dynamic_shared: 0,
            parameters: &parameters.0,
            cooperative: false,
            cluster: None,
            device: 0,
        };
        let mut best = (Duration::MAX, Statistics::default());
        let mut least = Duration::MAX;
        for _ in 0..RUNS {
            let (start, used) = (Instant::now(), processor_time());
            let statistics = self.device.launch(&function, &launch)?;
            best = best.min_by_time((start.elapsed(), statistics));
            least = least.min(processor_time() - used);
        }
        let seconds = best.0.as_secs_f64();
        let instructions = best.1.warp_instructions as f64;
        println!(
            "{name:16} {:9.2} ms {:9.1} M{unit}/s {:9.2} ms of processor time, {:6.2} ns per warp instruction",
            1e3 * seconds,
            work / seconds / 1e6,
            1e3 * least.as_secs_f64(),
            1e9 * least.as_secs_f64() / instructions
        );
        Ok(true)
    }
}

/// The processor time that all threads of the process have used: less disturbed by other processes than the time that
/// passes.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

trait Faster {
    fn min_by_time(self, other: Self) -> Self;
}

impl Faster for (Duration, Statistics) {
    fn min_by_time(self, other: Self) -> Self {
        if other.0 < self.0 { other } else { self }
    }
}

fn main() -> Result<(), Failure> {
    let device = Device::new(Config {
        memory_bytes: 2 << 30,
        engine: if std::env::var_os("NATIVE").is_some() {
            compiler::native().ok_or("there is no LLVM")?
        } else {
            Engine::interpreter()
        },
        ..Config::default()
    })?;
    let module = device.load(&[Source { name: "speed.ptx", ptx: PTX }])?;
    let bench = Bench { device, module, only: std::env::args().nth(1) };

    let n = 10_000_000;
    let a = bench.upload((0..n).map(|i| (i as f64).to_le_bytes()))?;
    let parameters = Parameters::default().slice(a, n);
    bench.run("increment_f64", [n.div_ceil(256) as u32, 1, 1], [256, 1, 1], &parameters, (n as f64, " elements"))?;

    let x = bench.upload((0..n).map(|i| (i as f32).to_le_bytes()))?;
    let y = bench.upload((0..n).map(|_| 1f32.to_le_bytes()))?;
    let parameters = Parameters::default().push(2f32.to_le_bytes()).slice(x, n).slice(y, n);
    bench.run("saxpy", [n.div_ceil(256) as u32, 1, 1], [256, 1, 1], &parameters, (n as f64, " elements"))?;

    let size = 512usize;
    let a = bench.upload((0..size * size).map(|i| ((i % 7) as f32).to_le_bytes()))?;
    let b = bench.upload((0..size * size).map(|i| ((i % 5) as f32).to_le_bytes()))?;
    let c = bench.upload((0..size * size).map(|_| 0f32.to_le_bytes()))?;
    let size_bytes = (size as u32).to_le_bytes();
    let parameters = Parameters::default()
        .slice(a, size * size)
        .slice(b, size * size)
        .push(size_bytes)
        .push(c.to_le_bytes())
        .push(size_bytes)
        .push(size_bytes);
    let work = (size * size * size) as f64;
    for name in ["matmul", "matmul_tiled"] {
        let blocks = (size / 16) as u32;
        if bench.run(name, [blocks, blocks, 1], [16, 16, 1], &parameters, (work, "FMA"))? {
            let result = bench.download(c, size * size)?;
            let (row, column) = (100, 37);
            let term = |k: usize| (((row * size + k) % 7) * ((k * size + column) % 5)) as f32;
            let expected: f32 = (0..size).map(term).sum();
            assert_eq!(result[row * size + column], expected, "{name}");
        }
    }
    let blocks = (size / 32) as u32;
    bench.run("matmul", [blocks, size as u32 / 8, 1], [32, 8, 1], &parameters, (work, "FMA"))?;

    let (width, height, limit) = (1024usize, 1024usize, 256u32);
    let out = bench.device.allocate(4 * width * height)?;
    let parameters = Parameters::default()
        .push((-2f32).to_le_bytes())
        .push(1.25f32.to_le_bytes())
        .push((2.5 / 1024f32).to_le_bytes())
        .push(limit.to_le_bytes())
        .push(out.to_le_bytes())
        .push((height as u32).to_le_bytes())
        .push((width as u32).to_le_bytes());
    bench.run("mandelbrot", [64, 64, 1], [16, 16, 1], &parameters, ((width * height) as f64, " pixels"))?;

    let sums = bench.device.allocate(4 * 1024)?;
    let parameters = Parameters::default().slice(x, n).slice(sums, 1024);
    bench.run("reduce", [256, 1, 1], [256, 1, 1], &parameters, (n as f64, " elements"))?;

    // Numbers as they come: halves from -1 to 1, most of them far from each other.
    let halves = (0..16 * 32u32).map(|i| (((i * 7919 % 0x3c00) | ((i % 3) << 15)) as u16).to_le_bytes());
    let tiles = bench.upload(halves)?;
    let products = 4.0 * 64.0 * 256.0;
    bench.run(
        "mma_f16",
        [256, 1, 1],
        [32, 1, 1],
        &Parameters::default().push(tiles.to_le_bytes()),
        (products * 2048.0, "FMA"),
    )?;

    let function = bench.module.function("nothing").ok_or("no such kernel")?;
    for (grid, launches) in [(1u32, 10_000u32), (2, 10_000), (1_000_000, 5)] {
        let launch = Launch {
            grid: [grid, 1, 1],
            block: [32, 1, 1],
            dynamic_shared: 0,
            parameters: &[],
            cooperative: false,
            cluster: None,
            device: 0,
        };
        let start = Instant::now();
        for _ in 0..launches {
            bench.device.launch(&function, &launch)?;
        }
        let each = start.elapsed().as_secs_f64() / f64::from(launches);
        println!(
            "launch of {grid} empty block(s): {:.2} us, {:.1} ns per block",
            1e6 * each,
            1e9 * each / f64::from(grid)
        );
    }
    Ok(())
}
