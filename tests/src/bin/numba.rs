//! Ten million numbers incremented, beside Numba in one run on one GPU: with host arrays, with pinned ones, on the device, and
//! what a launch costs. `cargo xtask bench --against numba` builds and runs it.
//!
//! Numba's side is `tests/baseline/numba/increment.py`, run by the `python3` on the search path. Where it has no Numba, only
//! Rumba's figures are printed.

use anyhow::{Context, Result, bail, ensure};
use comfy_table::{CellAlignment, Table, presets};
use cust::sys;
use kernels_gpu::increment::increment_f64;
use rumba::{Device, LaunchConfig};
use rumba_tests::{PTX, figures};
use serde::Deserialize;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Elements, as in the articles.
const N: usize = 10_000_000;
/// Rounds of which the median counts.
const ROUNDS: usize = 21;
/// Launches of a round when a launch is measured.
const LAUNCHES: usize = 1000;
/// Bytes of the copies that tell what the bus carries.
const BUS: usize = 256 << 20;
const SCRIPT: &str = include_str!("../../baseline/numba/increment.py");

/// Medians in seconds.
struct Ours {
    host_arrays: f64,
    pinned: f64,
    pinned_in: f64,
    pinned_out: f64,
    kernel_and_wait: f64,
    launch: f64,
}

/// The output of the script.
#[derive(Deserialize)]
struct Theirs {
    numba: String,
    numba_cuda: Option<String>,
    host_arrays: f64,
    host_pinned: f64,
    kernel_and_wait: f64,
    launch: f64,
}

fn main() -> Result<()> {
    let device = Device::new()?;
    let bus = bus_bandwidth(&device)?;
    let ours = ours(&device)?;
    let theirs = theirs().inspect_err(|error| eprintln!("note: no figures of Numba: {error:#}")).ok();

    println!("{}, {N} numbers of f64, medians of {ROUNDS}", device.name());
    if let Some(Theirs { numba, numba_cuda, .. }) = &theirs {
        println!("Numba {numba}, numba-cuda {}", numba_cuda.as_deref().unwrap_or("none"));
    }
    let theirs = |pick: fn(&Theirs) -> f64| theirs.as_ref().map(pick);
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_header(["", "Rumba", "Numba", "Numba / Rumba"]);
    let rows = [
        ("host arrays, copied in and out", ours.host_arrays, theirs(|t| t.host_arrays)),
        ("pinned host arrays", ours.pinned, theirs(|t| t.host_pinned)),
        ("on the device, waited for", ours.kernel_and_wait, theirs(|t| t.kernel_and_wait)),
        ("a launch", ours.launch, theirs(|t| t.launch)),
    ];
    for (what, ours, theirs) in rows {
        let cells = [Some(shown(ours)), theirs.map(shown), theirs.map(|theirs| format!("{:.2}", theirs / ours))];
        let cells = cells.map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
        table.add_row([what.to_owned()].into_iter().chain(cells));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");

    let bytes = (N * size_of::<f64>()) as f64;
    for (direction, seconds, bus) in [("in", ours.pinned_in, bus[0]), ("out", ours.pinned_out, bus[1])] {
        let rate = bytes / seconds;
        println!(
            "pinned, {direction}: {:.1} GB/s, {:.1} % of the {:.1} GB/s that copies of {} MiB reach",
            rate / 1e9,
            100.0 * rate / bus,
            bus / 1e9,
            BUS >> 20
        );
    }
    let rate = 2.0 * bytes / (ours.host_arrays - ours.kernel_and_wait);
    println!("host arrays: {:.1} GB/s in and out", rate / 1e9);
    Ok(())
}

fn ours(device: &Device) -> Result<Ours> {
    let module = device.load(PTX)?;
    let mut a = vec![1.0_f64; N];
    module.for_each(N, increment_f64(&mut a))?;
    let host_arrays = median(|| Ok(module.for_each(N, increment_f64(&mut a))?))?;
    let expected = (2 + ROUNDS) as f64;
    ensure!(a.iter().all(|a| *a == expected), "the device computed something else than {expected}");

    let stream = device.stream()?;
    let mut buffer = device.buffer_from(&a)?;
    let mut host = Some(device.pinned::<f64>(N)?);
    let (mut times_in, mut times_out, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..=ROUNDS {
        let start = Instant::now();
        let copy = buffer.copy_from_pinned(host.take().context("it was given back")?, &stream)?;
        let pinned = copy.wait()?;
        let copied_in = Instant::now();
        module.launch(LaunchConfig::for_each(N).stream(&stream), increment_f64(&mut buffer))?;
        stream.synchronize()?;
        let computed = Instant::now();
        host = Some(buffer.copy_to_pinned(pinned, &stream)?.wait()?);
        let end = Instant::now();
        times.push((end - start).as_secs_f64());
        times_in.push((copied_in - start).as_secs_f64());
        times_out.push((end - computed).as_secs_f64());
    }
    let kernel_and_wait = median(|| {
        module.for_each(N, increment_f64(&mut buffer))?;
        Ok(device.synchronize()?)
    })?;

    let mut small = device.zeros::<f64>(256)?;
    let many = median(|| {
        for _ in 0..LAUNCHES {
            module.launch((1, 64), increment_f64(&mut small))?;
        }
        Ok(device.synchronize()?)
    })?;
    Ok(Ours {
        host_arrays,
        pinned: figures::median(times),
        pinned_in: figures::median(times_in),
        pinned_out: figures::median(times_out),
        kernel_and_wait,
        launch: many / LAUNCHES as f64,
    })
}

fn theirs() -> Result<Theirs> {
    let mut python = Command::new("python3")
        .args(["-", &N.to_string(), &ROUNDS.to_string(), &LAUNCHES.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("there is no python3")?;
    python.stdin.take().context("it was asked for")?.write_all(SCRIPT.as_bytes())?;
    let output = python.wait_with_output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}", said.lines().last().unwrap_or("the script failed"));
    }
    let printed = String::from_utf8(output.stdout)?;
    serde_json::from_str(printed.lines().last().unwrap_or_default()).context("the script prints one line of JSON")
}

fn median(mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(figures::median(times))
}

/// Bytes in a second, in and out, by the driver's own calls: the best of ten copies of page-locked memory.
fn bus_bandwidth(device: &Device) -> Result<[f64; 2]> {
    let memory = device.zeros::<u8>(BUS)?;
    let address = memory.as_device_pointer().address();
    let mut host = std::ptr::null_mut();
    // SAFETY: the device's context is current on this thread since the last call; `host` is a valid place.
    let locked = unsafe { sys::cuMemAllocHost_v2(&mut host, BUS) };
    ensure!(locked == sys::CUresult::CUDA_SUCCESS, "cannot page-lock {BUS} bytes: {locked:?}");
    let mut best = [f64::INFINITY; 2];
    for _ in 0..10 {
        for (best, inward) in best.iter_mut().zip([true, false]) {
            let start = Instant::now();
            // SAFETY: both memories have `BUS` bytes; the null stream is waited for.
            let copied = unsafe {
                if inward {
                    sys::cuMemcpyHtoDAsync_v2(address, host, BUS, std::ptr::null_mut());
                } else {
                    sys::cuMemcpyDtoHAsync_v2(host, address, BUS, std::ptr::null_mut());
                }
                sys::cuStreamSynchronize(std::ptr::null_mut())
            };
            ensure!(copied == sys::CUresult::CUDA_SUCCESS, "cannot copy: {copied:?}");
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    // SAFETY: allocated above, not used any more.
    unsafe { sys::cuMemFreeHost(host) };
    Ok(best.map(|seconds| BUS as f64 / seconds))
}

/// A time with a unit that fits.
fn shown(seconds: f64) -> String {
    match seconds {
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.2} µs", s * 1e6),
    }
}
