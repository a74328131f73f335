//! The host's cost of a launch: a kernel with three slices in device memory, through `rumba` and by a bare
//! `cuLaunchKernel` with the same function and arguments, alternating, and in a graph. `cargo xtask bench --launches`
//! builds and runs the program.
//!
//! A round ends with a wait and has fewer launches than a stream holds, so that the host never waits for the device
//! within a round. All kinds alternate. The result is the median of all rounds of a kind, and the median of the
//! differences to the bare round before, which the processor's clock affects least.

use anyhow::{Result, bail};
use cust::function::Function;
use cust::memory::DevicePointer;
use cust::sys;
use kernels_gpu::elementwise::add;
use rumba::{Device, DeviceBuffer, LaunchConfig};
use rumba_tests::PTX;
use rumba_tests::figures::median;
use std::ffi::c_void;
use std::ptr;
use std::time::Instant;

/// Launches of one round.
const LAUNCHES: u32 = 500;
const ROUNDS: usize = 301;
/// Rounds before those that count.
const WARM_UP: usize = 20;
/// Elements of each slice: one block, for the shortest possible kernel.
const N: usize = 256;

fn main() -> Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let stream = device.stream()?;
    let (a, b) = (device.zeros::<f32>(N)?, device.zeros::<f32>(N)?);
    let mut out = device.zeros::<f32>(N)?;

    let mut launch = || module.launch(LaunchConfig::new(1, 64).stream(&stream), add(&a, &b, &mut out));
    launch()?;
    stream.synchronize()?;

    // The device has made its context current on this thread.
    let bare_module = cust::module::Module::from_ptx(module.ptx(), &[])?;
    let function = bare_module.get_function("add")?;
    let bare_stream = cust::stream::Stream::new(cust::stream::StreamFlags::DEFAULT, None)?;
    let buffers: [cust::memory::DeviceBuffer<f32>; 3] = [
        cust::memory::DeviceBuffer::zeroed(N)?,
        cust::memory::DeviceBuffer::zeroed(N)?,
        cust::memory::DeviceBuffer::zeroed(N)?,
    ];
    let addresses = [&buffers[0], &buffers[1], &buffers[2]].map(|buffer| buffer.as_device_ptr());

    let mut rounds: Vec<[f64; 3]> = Vec::new();
    for _ in 0..WARM_UP + ROUNDS {
        rounds.push([
            round(|| bare_launch(&function, &bare_stream, addresses), || Ok(bare_stream.synchronize()?))?,
            round(
                || Ok(module.launch(LaunchConfig::new(1, 64).stream(&stream), add(&a, &b, &mut out))?),
                || Ok(stream.synchronize()?),
            )?,
            round(|| Ok(module.for_each(N, add(&a, &b, &mut out))?), || Ok(device.synchronize()?))?,
        ]);
    }
    let rounds = &rounds[WARM_UP..];
    let graph = device.capture(|stream| {
        (0..LAUNCHES).try_for_each(|_| module.launch(LaunchConfig::new(1, 64).stream(stream), add(&a, &b, &mut out)))
    })?;
    let mut in_graph = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        graph.launch_on(&stream)?;
        in_graph.push(start.elapsed().as_secs_f64() / f64::from(LAUNCHES));
        stream.synchronize()?;
    }

    println!("{}: one launch of a kernel with three slices, on the host", device.name());
    let bare = median(rounds.iter().map(|round| round[0]));
    println!("  bare cuLaunchKernel    {:7.3} µs", bare * 1e6);
    for (name, kind) in [("launch  ", 1), ("for_each", 2)] {
        let more = median(rounds.iter().map(|round| round[kind] - round[0]));
        println!(
            "  rumba, {name}        {:7.3} µs    {:+.3} µs, ratio {:.3}",
            median(rounds.iter().map(|round| round[kind])) * 1e6,
            more * 1e6,
            1.0 + more / bare
        );
    }
    let in_graph = median(in_graph);
    println!(
        "  rumba, graph of {LAUNCHES}    {:7.3} µs    {:+.3} µs, ratio {:.3}",
        in_graph * 1e6,
        (in_graph - bare) * 1e6,
        in_graph / bare
    );
    check(&a, &out)
}

/// Seconds of one launch.
fn round(mut launch: impl FnMut() -> Result<()>, wait: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    for _ in 0..LAUNCHES {
        launch()?;
    }
    let seconds = start.elapsed().as_secs_f64();
    wait()?;
    Ok(seconds / f64::from(LAUNCHES))
}

fn bare_launch(
    function: &Function<'_>,
    stream: &cust::stream::Stream,
    addresses: [DevicePointer<f32>; 3],
) -> Result<()> {
    let mut words = [0_u64; 6];
    for (pair, address) in words.chunks_exact_mut(2).zip(addresses) {
        pair.copy_from_slice(&[address.as_raw(), N as u64]);
    }
    let mut pointers = [ptr::null_mut::<c_void>(); 6];
    for (pointer, word) in pointers.iter_mut().zip(&mut words) {
        *pointer = ptr::from_mut(word).cast();
    }
    // SAFETY: the kernel has six parameters of eight bytes, three slices of `N` elements that live until the stream is
    // waited for.
    let launched = unsafe {
        sys::cuLaunchKernel(
            function.to_raw(),
            1,
            1,
            1,
            64,
            1,
            1,
            0,
            stream.as_inner(),
            pointers.as_mut_ptr(),
            ptr::null_mut(),
        )
    };
    if launched != sys::CUresult::CUDA_SUCCESS {
        bail!("cuLaunchKernel answers {launched:?}");
    }
    Ok(())
}

fn check(a: &DeviceBuffer<f32>, out: &DeviceBuffer<f32>) -> Result<()> {
    if a.to_vec()? != out.to_vec()? {
        bail!("the kernel's result is wrong");
    }
    Ok(())
}
