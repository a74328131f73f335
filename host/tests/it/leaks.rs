//! Nothing leaks and nothing is freed twice: launches, allocations, streams, events, graphs and modules in random order from
//! several threads, after which the device's memory and the process's open files are what they were.
//!
//! `RUMBA_LEAK_OPERATIONS=100000` does it thoroughly. The order is the same in each run, but for what the threads make of it.

use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Device, DeviceBuffer, Event, Graph, LaunchConfig, Module, PinnedBuffer, Result, Stream};
use std::thread;
use test_processes::alone;

const THREADS: u64 = 4;
const LONGEST: usize = 1 << 14;

/// The resources of a thread at a moment.
#[derive(Default)]
struct Things {
    modules: Vec<Module>,
    streams: Vec<Stream>,
    buffers: Vec<DeviceBuffer<f32>>,
    pinned: Vec<PinnedBuffer<f32>>,
    events: Vec<Event>,
    graphs: Vec<Graph>,
}

/// A number below `below`, by Knuth's generator.
fn random(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % below
}

/// Adds something, or drops one where there are many.
fn turn_over<T>(
    things: &mut Vec<T>,
    most: usize,
    state: &mut u64,
    new: impl FnOnce(&mut u64) -> Result<T>,
) -> Result<()> {
    if things.len() >= most {
        things.swap_remove(random(state, most));
    }
    things.push(new(state)?);
    Ok(())
}

fn churn(device: &Device, operations: usize, seed: u64) -> Result<()> {
    let mut state = seed;
    let mut things = Things::default();
    for _ in 0..operations {
        let kind = random(&mut state, 100);
        let Things { modules, streams, buffers, pinned, events, graphs } = &mut things;
        match kind {
            _ if modules.is_empty() => modules.push(device.load(PTX)?),
            0 => turn_over(modules, 2, &mut state, |_| device.load(PTX))?,
            1..=7 => turn_over(streams, 6, &mut state, |_| device.stream())?,
            8..=27 => turn_over(buffers, 12, &mut state, |state| device.zeros(random(state, LONGEST)))?,
            28..=29 => turn_over(pinned, 3, &mut state, |state| device.pinned(random(state, LONGEST)))?,
            30..=39 => turn_over(events, 8, &mut state, |state| match streams.is_empty() {
                true => device.record(),
                false => streams[random(state, streams.len())].record(),
            })?,
            40..=41 if !buffers.is_empty() => turn_over(graphs, 3, &mut state, |state| {
                let (module, index) = (&modules[0], random(state, buffers.len()));
                device.capture(|stream| {
                    let buffer = &mut buffers[index];
                    let threads = LaunchConfig::for_each(buffer.len()).stream(stream);
                    module.launch(threads, scale(2.0, buffer))
                })
            })?,
            42..=45 if !graphs.is_empty() => graphs[random(&mut state, graphs.len())].launch()?,
            46 if !pinned.is_empty() && !streams.is_empty() => {
                let host = pinned.swap_remove(random(&mut state, pinned.len()));
                let mut buffer = device.zeros(host.len())?;
                let copy = buffer.copy_from_pinned(host, &streams[random(&mut state, streams.len())])?;
                if random(&mut state, 2) == 0 {
                    pinned.push(copy.wait()?);
                }
            }
            47 if !streams.is_empty() => {
                let stream = &streams[random(&mut state, streams.len())];
                // Some futures are dropped, some callbacks keep something to the end.
                drop(stream.done());
                let kept = buffers.pop();
                stream.add_callback(move |_| drop(kept))?;
            }
            48 => drop(buffers.pop()),
            49 => drop(streams.pop()),
            _ if buffers.len() >= 2 => {
                let index = random(&mut state, buffers.len() - 1);
                let (left, right) = buffers.split_at_mut(index + 1);
                let (x, y) = (&left[index], &mut right[0]);
                let n = x.len().min(y.len());
                let threads = LaunchConfig::for_each(n);
                let threads = match streams.is_empty() || random(&mut state, 3) == 0 {
                    true => threads,
                    false => threads.stream(&streams[random(&mut state, streams.len())]),
                };
                let module = &modules[random(&mut state, modules.len())];
                module.launch(threads, saxpy(1.0, x.slice(..n), y.slice_mut(..n)))?;
            }
            _ => buffers.push(device.zeros(1 + random(&mut state, LONGEST))?),
        }
    }
    // The rest goes in an order of its own.
    let Things { modules, buffers, .. } = std::mem::take(&mut things);
    drop(modules);
    drop(buffers);
    Ok(())
}

fn from_threads(device: &Device, operations: usize) -> Result<()> {
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|seed| scope.spawn(move || churn(device, operations / THREADS as usize, seed))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })?;
    // Callbacks may still hold buffers; they run one after the other, and this is the last.
    let (sender, receiver) = std::sync::mpsc::channel();
    device.stream()?.add_callback(move |_| sender.send(()).expect("the test waits"))?;
    receiver.recv().expect("the callback runs");
    device.synchronize()
}

/// Free bytes of the device, and open files of the process.
fn state_of(device: &Device) -> Result<(usize, usize)> {
    let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    Ok((device.free_memory()?, files))
}

#[test]
fn everything_comes_back() {
    // The software device then names each call that it refuses. Compilation in the background opens files meanwhile.
    let environment = [("RUMBA_LOG", "errors"), ("RUMBA_ENGINE", "interpreter")];
    let Some(told) = alone(&environment, || {
        let asked = std::env::var("RUMBA_LEAK_OPERATIONS").ok();
        let operations = asked.map_or(4000, |asked| asked.parse().expect("a number of operations"));
        let device = Device::new()?;
        // The driver creates these objects once and keeps them.
        from_threads(&device, operations.min(2000))?;
        let before = state_of(&device)?;
        let start = std::time::Instant::now();
        from_threads(&device, operations)?;
        let after = state_of(&device)?;
        println!("{operations} operations on {} in {:.1?}: {before:?}, {after:?}", device.name(), start.elapsed());
        assert_eq!(after, before, "free bytes and open files");
        Ok(())
    }) else {
        return;
    };
    let refused: Vec<&str> = told.lines().filter(|line| line.contains("CUDA_ERROR")).collect();
    assert!(refused.is_empty(), "calls that the device refused: {refused:#?}");
}
