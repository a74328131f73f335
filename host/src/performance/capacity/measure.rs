//! Measures a device: copies of a large buffer, an empty kernel, and kernels of nothing but multiply-adds.
//!
//! Each figure is the best of a few runs. The kernels are PTX made here, a chain of multiply-adds per accumulator, so that
//! neither memory nor the compiler has a say. Tensor cores are measured by `mma.sync`, which does not reach the peak
//! that Hopper's `wgmma` does.

use crate::base::error::Result;
use crate::base::units;
use crate::devices::device::Device;
use crate::modules::module::Module;
use crate::performance::capacity::Unit;
use comfy_table::{CellAlignment, Table, presets};
use cuda_std::DisjointSlice;
use cuda_std::launch::{Argument, Call, Kernel, Parameter};
use std::fmt;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Bytes of the copies on a GPU, and on the software device, whose memory is the host's.
const COPY: [usize; 2] = [256 << 20, 32 << 20];
/// Runs of each measurement.
const RUNS: usize = 4;
/// How long a kernel of multiply-adds runs at least.
const LONG_ENOUGH: Duration = Duration::from_millis(4);
/// A pair of normal numbers in f16 (1.0) and in bf16 (0.008), and a normal number in tf32. The software device multiplies
/// matrices of subnormal numbers on a slower path.
const NORMAL: u32 = 0x3c00_3c00;
/// Accumulators of a thread, and multiply-adds of each in one pass of the loop.
const CHAINS: usize = 8;
const PASS: usize = 16;

/// The measured rates of a device; see [`Device::measure`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Measured {
    /// The device's name.
    pub device: String,
    /// Bytes per second from ordinary host memory.
    pub copy_in: f64,
    /// Bytes per second to ordinary host memory.
    pub copy_out: f64,
    /// Bytes per second from page-locked host memory.
    pub copy_in_pinned: f64,
    /// Bytes per second to page-locked host memory.
    pub copy_out_pinned: f64,
    /// Bytes per second of a copy within the device's memory, read and written.
    pub memory: f64,
    /// From the launch of an empty kernel to the end of the wait for it.
    pub launch: Duration,
    /// Operations per second, of the units that the device has.
    pub rates: Vec<(Unit, f64)>,
}

impl Measured {
    /// Operations per second of one kind of unit. None: the device's compiler refuses its instructions.
    pub fn rate(&self, unit: Unit) -> Option<f64> {
        let found = self.rates.iter().find(|(known, _)| *known == unit);
        found.map(|(_, rate)| *rate)
    }
}

impl Device {
    /// Measures what this device does: copies, launches, and each kind of arithmetic. Takes under a second on a GPU, some
    /// seconds on the software device, and half a GiB of memory.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    pub fn measure(&self) -> Result<Measured> {
        let bytes = COPY[usize::from(crate::base::driver::is_software())];
        let mut buffer = self.zeros::<u8>(bytes)?;
        let mut host = vec![1_u8; bytes];
        let copy_in = best(bytes, || timed(|| buffer.copy_from(&host)))?;
        let copy_out = best(bytes, || timed(|| buffer.copy_to(&mut host)))?;
        let memory = memory(self, bytes)?;
        let stream = self.stream()?;
        let mut pinned = Some(self.pinned::<u8>(bytes)?);
        let copy_in_pinned = best(bytes, || {
            let Some(source) = pinned.take() else {
                return Ok(Duration::MAX);
            };
            let start = stream.record()?;
            let pending = buffer.copy_from_pinned(source, &stream)?;
            let end = stream.record()?;
            pinned = Some(pending.wait()?);
            end.since(&start)
        })?;
        let copy_out_pinned = best(bytes, || {
            let Some(destination) = pinned.take() else {
                return Ok(Duration::MAX);
            };
            let start = stream.record()?;
            let pending = buffer.copy_to_pinned(destination, &stream)?;
            let end = stream.record()?;
            pinned = Some(pending.wait()?);
            end.since(&start)
        })?;
        let mut rates = Vec::new();
        for unit in Unit::ALL {
            rates.extend(rate(self, unit)?.map(|rate| (unit, rate)));
        }
        Ok(Measured {
            device: self.name().to_owned(),
            copy_in,
            copy_out,
            copy_in_pinned,
            copy_out_pinned,
            memory,
            launch: self.launch_latency()?,
            rates,
        })
    }

    fn launch_latency(&self) -> Result<Duration> {
        let program = &PROGRAMS[2];
        let module = program.load(self)?;
        let mut nothing = self.zeros::<u32>(1)?;
        let mut least = Duration::MAX;
        for _ in 0..50 * RUNS {
            let time = timed(|| {
                module.launch((1, 32), program.call(0, &mut nothing))?;
                self.synchronize()
            })?;
            least = least.min(time);
        }
        Ok(least)
    }
}

/// Bytes per second of a copy within the device's memory, read and written.
pub(in crate::performance) fn memory(device: &Device, bytes: usize) -> Result<f64> {
    let from = device.zeros::<u8>(bytes)?;
    let mut to = device.zeros::<u8>(bytes)?;
    best(2 * bytes, || {
        device.synchronize()?;
        let start = device.record()?;
        to.copy_from_buffer(&from)?;
        device.record()?.since(&start)
    })
}

/// Operations per second of one kind of unit. None: the device's compiler refuses its instructions.
pub(in crate::performance) fn rate(device: &Device, unit: Unit) -> Result<Option<f64>> {
    let program = Unit::ALL.iter().zip(&PROGRAMS).find(|(known, _)| **known == unit).map(|(_, program)| program);
    let loaded = program.and_then(|program| Some((program, program.load(device).ok()?)));
    loaded.map(|(program, module)| program.measure(device, &module)).transpose()
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// Bytes per second of the fastest of some runs.
fn best(bytes: usize, mut run: impl FnMut() -> Result<Duration>) -> Result<f64> {
    let mut least = Duration::MAX;
    for _ in 0..RUNS {
        least = least.min(run()?);
    }
    Ok(bytes as f64 / least.as_secs_f64().max(1e-9))
}

/// A kernel of multiply-adds of one kind.
struct Program {
    kernel: Kernel,
    /// The architecture that has the instruction.
    target: &'static str,
    /// Type and number of the registers of an accumulator.
    accumulator: (&'static str, usize),
    /// Type and number of the registers of the two factors.
    factors: (&'static str, [usize; 2]),
    instruction: &'static str,
    /// Operations of one thread in one instruction.
    operations: u32,
}

const PARAMETERS: &[Parameter] =
    &[Parameter::bound::<u32>("passes", "u32"), Parameter::bound::<DisjointSlice<u32>>("out", "DisjointSlice<u32>")];

const fn program(
    target: &'static str,
    instruction: &'static str,
    accumulator: (&'static str, usize),
    factors: (&'static str, [usize; 2]),
    operations: u32,
) -> Program {
    Program {
        kernel: Kernel::new("multiply_adds", module_path!(), file!(), line!(), PARAMETERS),
        target,
        accumulator,
        factors,
        instruction,
        operations,
    }
}

/// In the order of [`Unit::ALL`]. A matrix instruction's operations are those of its warp, divided by 32.
static PROGRAMS: [Program; 10] = [
    program("sm_70", "fma.rn.f16x2", ("b32", 1), ("b32", [1, 1]), 4),
    program("sm_80", "fma.rn.bf16x2", ("b32", 1), ("b32", [1, 1]), 4),
    program("sm_70", "fma.rn.f32", ("f32", 1), ("f32", [1, 1]), 2),
    program("sm_70", "fma.rn.f64", ("f64", 1), ("f64", [1, 1]), 2),
    program("sm_70", "mad.lo.s32", ("s32", 1), ("s32", [1, 1]), 2),
    program(
        "sm_80",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ("f32", 4),
        ("b32", [4, 2]),
        2 * 16 * 8 * 16 / 32,
    ),
    program(
        "sm_80",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
        ("f32", 4),
        ("b32", [4, 2]),
        2 * 16 * 8 * 16 / 32,
    ),
    program(
        "sm_80",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
        ("f32", 4),
        ("b32", [4, 2]),
        2 * 16 * 8 * 8 / 32,
    ),
    program(
        "sm_80",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
        ("f64", 2),
        ("f64", [1, 1]),
        2 * 8 * 8 * 4 / 32,
    ),
    program(
        "sm_80",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
        ("s32", 4),
        ("b32", [4, 2]),
        2 * 16 * 8 * 32 / 32,
    ),
];

impl Program {
    /// Threads of a block.
    const THREADS: u32 = 256;

    /// Registers as an operand: of a matrix instruction in braces.
    fn operand(&self, name: &str, count: usize) -> String {
        match count {
            1 if !self.instruction.starts_with("mma") => format!("%{name}0"),
            count => {
                let list: Vec<String> = (0..count).map(|index| format!("%{name}{index}")).collect();
                format!("{{{}}}", list.join(", "))
            }
        }
    }

    fn ptx(&self) -> String {
        let (kind, width) = self.accumulator;
        let (factor, [first, second]) = self.factors;
        let (a, b) = (self.operand("a", first), self.operand("b", second));
        let mut text = format!(
            ".version 7.0\n.target {}\n.address_size 64\n\
             .visible .entry multiply_adds(.param .u32 passes, .param .u64 out, .param .u64 length) {{\n\
             .reg .pred %p; .reg .b32 %n, %w; .reg .b64 %o;\n\
             .reg .{factor} %a<{first}>; .reg .{factor} %b<{second}>;\n\
             ld.param.u32 %n, [passes];\nld.param.u64 %o, [out];\n",
            self.target
        );
        // Factors and sums start from the thread's number, so that nothing is known before it runs.
        text += &starts("a", factor, first);
        text += &starts("b", factor, second);
        for chain in 0..CHAINS {
            let _ = writeln!(text, ".reg .{kind} %c{chain}_<{width}>;");
            text += &starts(&format!("c{chain}_"), kind, width);
        }
        text += "bra.uni test;\nagain:\n";
        for _ in 0..PASS {
            for chain in 0..CHAINS {
                let sum = self.operand(&format!("c{chain}_"), width);
                // A plain multiply-add is sum × factor + factor; a matrix instruction adds to its sum.
                let _ = match width {
                    1 => writeln!(text, "{} {sum}, {sum}, {a}, {b};", self.instruction),
                    _ => writeln!(text, "{} {sum}, {a}, {b}, {sum};", self.instruction),
                };
            }
        }
        text += "sub.u32 %n, %n, 1;\ntest:\nsetp.ne.u32 %p, %n, 0;\n@%p bra again;\n";
        // The sums must be used: they are stored where they have a value that they never have together.
        text += "mov.u32 %w, 0;\n.reg .b32 %t; .reg .b64 %v;\n";
        for chain in 0..CHAINS {
            for index in 0..width {
                let _ = match kind {
                    "f64" => writeln!(text, "mov.b64 %v, %c{chain}_{index}; cvt.u32.u64 %t, %v; xor.b32 %w, %w, %t;"),
                    _ => writeln!(text, "mov.b32 %t, %c{chain}_{index}; xor.b32 %w, %w, %t;"),
                };
            }
        }
        text += "setp.eq.u32 %p, %w, 305419896;\ncvta.to.global.u64 %o, %o;\n@%p st.global.u32 [%o], %w;\nret;\n}\n";
        text
    }

    fn load(&self, device: &Device) -> Result<Module> {
        // SAFETY: its kernel is `call`'s: it takes a number and a slice, and writes to the first element at most.
        unsafe { device.load_unchecked("a measurement", &self.ptx()) }
    }

    fn call<'a>(&'static self, passes: u32, out: impl Argument<'a, DisjointSlice<'a, u32>>) -> Call<'a> {
        // SAFETY: both parameters are bound below, in order; the kernel writes to the first element at most.
        let mut call = unsafe { Call::new(&self.kernel) };
        // SAFETY: as above.
        let arguments = unsafe { call.arguments_mut() };
        arguments.push_value(passes);
        out.bind(arguments);
        call
    }

    /// Operations per second, with every multiprocessor full.
    fn measure(&'static self, device: &Device, module: &Module) -> Result<f64> {
        let limits = device.limits();
        let grid = limits.multiprocessors_at_once * (limits.threads_per_multiprocessor / Self::THREADS).max(1);
        let mut out = device.zeros::<u32>(1)?;
        let mut run = |passes: u32| {
            let start = device.record()?;
            module.launch((grid, Self::THREADS), self.call(passes, &mut out))?;
            device.record()?.since(&start)
        };
        let mut passes = 1;
        while passes < 1 << 20 && run(passes)? < LONG_ENOUGH {
            passes *= 4;
        }
        let mut least = Duration::MAX;
        for _ in 0..RUNS {
            least = least.min(run(passes)?);
        }
        let instructions = f64::from(passes) * (CHAINS * PASS) as f64 * f64::from(grid) * f64::from(Self::THREADS);
        Ok(instructions * f64::from(self.operations) / least.as_secs_f64().max(1e-9))
    }
}

/// PTX that gives registers the thread's number as their type, in `b32` with the bits of [`NORMAL`].
fn starts(name: &str, kind: &str, count: usize) -> String {
    let start = |index| match kind {
        "f64" | "f32" => format!("mov.u32 %w, %tid.x; cvt.rn.{kind}.u32 %{name}{index}, %w;\n"),
        "b32" => format!("mov.u32 %w, %tid.x; or.b32 %{name}{index}, %w, {NORMAL};\n"),
        _ => format!("mov.u32 %{name}{index}, %tid.x;\n"),
    };
    (0..count).map(start).collect()
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
        table.set_header(["", "measured"]);
        for (unit, rate) in &self.rates {
            table.add_row([unit.to_string(), format!("{}{}", units::scaled(*rate), unit.operations())]);
        }
        for (name, rate) in [
            ("memory (a copy, read and written)", self.memory),
            ("host to device, page-locked", self.copy_in_pinned),
            ("device to host, page-locked", self.copy_out_pinned),
            ("host to device, ordinary memory", self.copy_in),
            ("device to host, ordinary memory", self.copy_out),
        ] {
            table.add_row([name.to_owned(), format!("{}B/s", units::scaled(rate))]);
        }
        table.add_row(["launch and wait".to_owned(), units::time(self.launch)]);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        write!(f, "{}, measured\n{table}", self.device)
    }
}
