//! The benchmark table: every case, its kernel against the limits of the device and against plain Rust on all cores,
//! everything measured in this one run; and how long a process takes to its first result. `cargo xtask bench` builds and
//! runs it.
//!
//! Kernel and plain Rust take turns, and the least time of each counts: what else the machine does then disturbs both the
//! same, and the ratio least.

use anyhow::{Context, Result, bail};
use comfy_table::{CellAlignment, Table, presets};
use rumba::{Device, Module};
use rumba_tests::figures::time;
use rumba_tests::{Case, PTX, cases};
use std::io::{BufRead, BufReader, IsTerminal};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long one measurement may take, unless a single run takes longer.
const BUDGET: Duration = Duration::from_millis(600);
/// Bytes per second from which a memory is a GPU's.
const FAST: f64 = 500e9;
/// Bytes of the copy that tells the bandwidth.
const COPY: usize = 256 << 20;

/// Asks this program for a first result only, see [`first_result`].
const FIRST_RESULT: &str = "--first-result";
/// Processes started to find out how long that takes.
const STARTS: usize = 20;

fn main() -> Result<()> {
    if std::env::args().any(|word| word == FIRST_RESULT) {
        return first_result();
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let chosen = cases::chosen(&words)?;
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let bandwidth = copy_bandwidth(&device)?;
    println!("{}", device.name());
    println!("copy on the device: {:.1} GB/s (bytes read and written)", bandwidth / 1e9);
    println!("native: the same work in Rust with rayon on {} threads\n", rayon::current_num_threads());

    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    if !std::io::stdout().is_terminal() {
        table.force_no_tty();
    }
    table.set_header(["case", "n", "kernel", "GB/s", "of copy", "GFLOP/s", "native", "native / kernel"]);
    let mut ratios = Vec::new();
    for case in chosen {
        let n = case.bench[usize::from(bandwidth > FAST)];
        let (kernel, native) =
            measure(&device, &module, case, n).with_context(|| format!("{} of size {n}", case.name))?;
        let cost = (case.cost)(n);
        let rate = cost.bytes as f64 / kernel;
        let flops = if cost.flops == 0 { "-".into() } else { format!("{:.2}", cost.flops as f64 / kernel / 1e9) };
        table.add_row([
            case.name.to_owned(),
            n.to_string(),
            time(kernel),
            format!("{:.1}", rate / 1e9),
            format!("{:.0} %", 100.0 * rate / bandwidth),
            flops,
            time(native),
            format!("{:.3}", native / kernel),
        ]);
        ratios.push(native / kernel);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!("geometric mean of native / kernel: {mean:.3}");
    launch_overhead(&device, &module)?;
    start_up()
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

/// Bytes read plus bytes written per second by a copy from device memory to device memory.
fn copy_bandwidth(device: &Device) -> Result<f64> {
    let source = device.zeros::<u8>(COPY)?;
    let mut destination = device.zeros::<u8>(COPY)?;
    let seconds = least(|| {
        let start = device.record()?;
        destination.copy_from_buffer(&source)?;
        let end = device.record()?;
        end.synchronize()?;
        Ok(end.since(&start)?.as_secs_f64())
    })?;
    Ok(2.0 * COPY as f64 / seconds)
}

/// Least seconds of the kernel and of plain Rust, which take turns; the first result of both is compared.
fn measure(device: &Device, module: &Module, case: &Case, n: usize) -> Result<(f64, f64)> {
    let mut prepared = (case.prepare)(device, module, n)?;
    prepared.launch()?;
    device.synchronize()?;
    prepared.native();
    prepared.verify()?;
    let (mut kernel, mut native) = (f64::INFINITY, f64::INFINITY);
    let started = Instant::now();
    for round in 0.. {
        if round >= 3 && (started.elapsed() > 2 * BUDGET || round >= 200) {
            break;
        }
        let start = device.record()?;
        prepared.launch()?;
        let end = device.record()?;
        end.synchronize()?;
        kernel = kernel.min(end.since(&start)?.as_secs_f64());
        let start = Instant::now();
        prepared.native();
        native = native.min(start.elapsed().as_secs_f64());
    }
    Ok((kernel, native))
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
