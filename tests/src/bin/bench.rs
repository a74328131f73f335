//! The benchmark table: every case, its kernel against the limits of the device and against plain Rust on all cores,
//! everything measured in this one run; and how long a process takes to its first result. `cargo xtask bench` builds and
//! runs it.

use anyhow::{Context, Result, bail};
use rumba::compare::Contender;
use rumba::estimate::Cost;
use rumba::{Bench, Device, Module, Timings};
use rumba_tests::figures::time;
use rumba_tests::{PTX, Prepared, cases};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long the measurement of a launch's overhead may take, unless a single run takes longer.
const BUDGET: Duration = Duration::from_millis(600);

/// Asks this program for a first result only, see [`first_result`].
const FIRST_RESULT: &str = "--first-result";
/// Processes started to find out how long that takes.
const STARTS: usize = 20;

fn main() -> Result<()> {
    if std::env::args().any(|word| word == FIRST_RESULT) {
        return first_result();
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let chosen = cases::chosen(&words)?;
    let mut bench = Bench::new()?;
    let device = bench.device().clone();
    let module = device.load(PTX)?;
    println!("CPU: the same work in Rust with rayon on {} threads\n", rayon::current_num_threads());
    let is_gpu = !device.capacity()?.is_software();
    for case in chosen {
        bench.compare(case.name, [case.bench[usize::from(is_gpu)]], |n| {
            let prepared = (case.prepare)(&device, &module, n).map_err(of_runtime)?;
            Ok(Resident { device: device.clone(), prepared, cost: (case.cost)(n) })
        })?;
    }
    bench.finish();
    launch_overhead(&device, &module)?;
    start_up()
}

/// A case with its data on the device, as a contender: its times are those of the kernel alone.
struct Resident {
    device: Device,
    prepared: Box<dyn Prepared>,
    cost: Cost,
}

impl Contender for Resident {
    fn cpu(&mut self) {
        self.prepared.native();
    }

    fn device(&mut self) -> rumba::Result<Timings> {
        let start = self.device.record()?;
        self.prepared.launch().map_err(of_runtime)?;
        let end = self.device.record()?;
        Ok(Timings { kernel: end.since(&start)?, ..Timings::default() })
    }

    fn agree(&self) -> Result<(), String> {
        self.prepared.verify().map_err(|difference| format!("{difference:#}"))
    }

    fn cost(&self) -> Cost {
        self.cost
    }
}

/// The error of the runtime that a case returns.
fn of_runtime(error: anyhow::Error) -> rumba::Error {
    error.downcast().expect("data and launches of a case fail with errors of the runtime")
}
/// The work of a process for a first result: find the device, load the gallery, run a kernel over 32 elements.
fn first_result() -> Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let mut y = [1.0_f32; 32];
    let x = [2.0_f32; 32];
    module.for_each(y.len(), kernels_gpu::saxpy::saxpy(3.0, &x, &mut y))?;
    println!("{}", y[31]);
    Ok(())
}

/// The time from the start of a process to the result of a tiny kernel.
fn start_up() -> Result<()> {
    let program = std::env::current_exe().context("the program's own path")?;
    let mut least = f64::INFINITY;
    for _ in 0..STARTS {
        let start = Instant::now();
        let mut child = Command::new(&program)
            .arg(FIRST_RESULT)
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start {}", program.display()))?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        least = least.min(start.elapsed().as_secs_f64());
        if line.trim() != "7" || !child.wait()?.success() {
            bail!("the first result of a new process was `{}` instead of 7", line.trim());
        }
    }
    println!("start of a process to the result of a tiny kernel: {}", time(least));
    Ok(())
}

/// The least of as many runs as the budget allows, at least three.
fn least(mut run: impl FnMut() -> Result<f64>) -> Result<f64> {
    run()?;
    let start = Instant::now();
    let mut least = f64::INFINITY;
    let mut count = 0;
    while count < 3 || (start.elapsed() < BUDGET && count < 200) {
        least = least.min(run()?);
        count += 1;
    }
    Ok(least)
}

/// The overhead of a typed launch over the bare driver call, with the same kernel and arguments.
fn launch_overhead(device: &Device, module: &Module) -> Result<()> {
    const LAUNCHES: u32 = 2000;
    let mut y = device.zeros::<f32>(32)?;
    let x = device.zeros::<f32>(32)?;
    let typed = least(|| {
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            module.launch((1, 32), kernels_gpu::saxpy::saxpy(2.0, &x, &mut y))?;
        }
        let elapsed = start.elapsed();
        device.synchronize()?;
        Ok(elapsed.as_secs_f64() / f64::from(LAUNCHES))
    })?;

    let bare_module = cust::module::Module::from_ptx(module.ptx(), &[])?;
    let function = bare_module.get_function("saxpy")?.to_raw();
    let mut a = 2.0_f32;
    let (mut x_address, mut y_address) = (x.as_device_pointer().address(), y.as_device_pointer().address());
    let (mut x_length, mut y_length) = (32_u64, 32_u64);
    let mut parameters: [*mut std::ffi::c_void; 5] = [
        (&raw mut a).cast(),
        (&raw mut x_address).cast(),
        (&raw mut x_length).cast(),
        (&raw mut y_address).cast(),
        (&raw mut y_length).cast(),
    ];
    let bare = least(|| {
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            // SAFETY: the parameters are those of `saxpy`, in order, and the buffers outlive the launches.
            let code = unsafe {
                cust::sys::cuLaunchKernel(
                    function,
                    1,
                    1,
                    1,
                    32,
                    1,
                    1,
                    0,
                    std::ptr::null_mut(),
                    parameters.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            };
            if code != cust::sys::cudaError_enum::CUDA_SUCCESS {
                bail!("cuLaunchKernel: {code:?}");
            }
        }
        let elapsed = start.elapsed();
        device.synchronize()?;
        Ok(elapsed.as_secs_f64() / f64::from(LAUNCHES))
    })?;
    println!(
        "\nlaunch of saxpy over 32 elements: {:.2} µs typed, {:.2} µs by cuLaunchKernel alone, difference {:.2} µs",
        typed * 1e6,
        bare * 1e6,
        (typed - bare) * 1e6
    );
    Ok(())
}
