//! Work in the background whose host side ends early, panics or is polled again: callbacks, futures, graphs, copies.

use cuda_std::prelude::*;

/// Adds one to each element, after a while.
#[kernel]
pub fn add_one_late(rounds: u32, mut y: DisjointSlice<u32>) {
    let mut hash = thread::thread_idx_x();
    for round in 0..rounds {
        hash = hash.wrapping_mul(1_664_525).wrapping_add(round) ^ (hash >> 7);
    }
    if let Some(y) = y.own() {
        *y += 1 + u32::from(hash == u32::MAX);
    }
}

/// Panics where the host says so.
#[kernel]
pub fn panic_where(thread: u32, mut y: DisjointSlice<u32>) {
    assert!(thread::thread_idx_x() != thread, "this thread panics");
    if let Some(y) = y.own() {
        *y += 1;
    }
}

/// Attacks by these kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use std::future::{Future, IntoFuture};
    use std::pin::pin;
    use std::sync::mpsc::channel;
    use std::task::{Context, Poll, Waker};

    use rumba::{Error, LaunchConfig, Result};

    use crate::Target;

    const N: usize = 64;
    const ROUNDS: u32 = 20_000;

    /// A callback that launches, waits, and adds further callbacks; and one that is called behind a kernel that has panicked.
    pub fn callback_that_launches(target: &Target) -> Result<()> {
        let stream = target.device.stream()?;
        let (sender, receiver) = channel();
        let (module, device) = (target.module.clone(), target.device.clone());
        let mut y = target.device.zeros::<u32>(N)?;
        target.module.launch(LaunchConfig::new(1, N as u32).stream(&stream), super::add_one_late(ROUNDS, &mut y))?;
        stream.add_callback(move |outcome| {
            let work = || -> Result<Vec<u32>> {
                outcome?;
                let mut own = device.zeros::<u32>(N)?;
                module.launch((1, N as u32), super::add_one_late(1, &mut own))?;
                own.to_vec()
            };
            sender.send(work()).expect("the receiver is there");
        })?;
        let own = receiver.recv().expect("the callback is called")?;
        assert_eq!((own, y.to_vec()?), (vec![1; N], vec![1; N]));
        Ok(())
    }

    /// A host function that calls the library gets an error, not a deadlock.
    pub fn host_function_that_waits(target: &Target) -> Result<()> {
        let stream = target.device.stream()?;
        let (sender, receiver) = channel();
        let (own, device) = (stream.clone(), target.device.clone());
        stream.launch_host_fn(move || {
            let outcomes = [own.synchronize(), device.synchronize(), device.zeros::<u32>(4).map(drop)];
            let are_refused = outcomes.iter().all(|outcome| matches!(outcome, Err(Error::InHostFunction { .. })));
            sender.send(are_refused).expect("the receiver is there");
        })?;
        stream.synchronize()?;
        assert_eq!(receiver.recv(), Ok(true));
        Ok(())
    }

    /// A future that is polled once and forgotten, while the copy still writes to its memory.
    pub fn future_forgotten(target: &Target) -> Result<()> {
        let stream = target.device.stream()?;
        let mut y = target.device.zeros::<u32>(N)?;
        target.module.launch(LaunchConfig::new(1, N as u32).stream(&stream), super::add_one_late(ROUNDS, &mut y))?;
        let mut future = Box::pin(y.copy_to_pinned(target.device.pinned::<u32>(N)?, &stream)?.into_future());
        let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        std::mem::forget(future);
        let mut next = target.device.pinned::<u32>(N)?;
        next.fill(5);
        stream.synchronize()?;
        assert!(next.iter().all(|&value| value == 5));
        assert_eq!(y.to_vec()?, [1; N]);
        Ok(())
    }

    /// A future that is polled behind its end gives the memory once.
    pub fn future_polled_twice(target: &Target) -> Result<()> {
        let stream = target.device.stream()?;
        let y = target.device.buffer_from(&[3_u32; N])?;
        let mut future = pin!(y.copy_to_pinned(target.device.pinned::<u32>(N)?, &stream)?.into_future());
        stream.synchronize()?;
        let mut given = 0;
        for _ in 0..1000 {
            if let Poll::Ready(outcome) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                assert!(outcome?.iter().all(|&value| value == 3));
                given += 1;
                for _ in 0..3 {
                    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
                }
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(given, 1);
        Ok(())
    }

    /// A graph that is changed while it runs, and one whose recording fails.
    pub fn graph_changed_while_it_runs(target: &Target) -> Result<()> {
        let stream = target.device.stream()?;
        fn config(stream: &rumba::Stream) -> LaunchConfig<'_> {
            LaunchConfig::new(1, N as u32).stream(stream)
        }
        let mut first = target.device.zeros::<u32>(N)?;
        let mut graph =
            target.device.capture(|s| target.module.launch(config(s), super::add_one_late(ROUNDS, &mut first)))?;
        graph.launch_on(&stream)?;
        let mut second = target.device.zeros::<u32>(N)?;
        graph.update(|s| target.module.launch(config(s), super::add_one_late(1, &mut second)))?;
        let first_read = first.to_vec()?;
        drop(first);
        graph.launch()?;
        let refused = graph.update(|s| {
            target.module.launch(config(s), super::add_one_late(1, &mut second))?;
            Err(Error::InHostFunction { operation: "a test".into() })
        });
        assert!(refused.is_err());
        graph.launch()?;
        stream.synchronize()?;
        assert_eq!((first_read, second.to_vec()?), (vec![1; N], vec![2; N]));
        Ok(())
    }

    /// A recording within a recording, and a stream of one that is over.
    pub fn recording_within_a_recording(target: &Target) -> Result<()> {
        let mut y = target.device.zeros::<u32>(N)?;
        let mut kept = None;
        let graph = target.device.capture(|outer| {
            kept = Some(outer.clone());
            let inner = target.device.capture(|inner| {
                target.module.launch(LaunchConfig::new(1, N as u32).stream(inner), super::add_one_late(1, &mut y))
            })?;
            assert_eq!(inner.len(), 1);
            target.module.launch(LaunchConfig::new(1, N as u32).stream(outer), super::add_one_late(1, &mut y))
        })?;
        let stream = kept.expect("the work was called");
        let late = target.module.launch(LaunchConfig::new(1, N as u32).stream(&stream), super::add_one_late(1, &mut y));
        assert!(late.is_err(), "a launch was recorded for a graph that is made");
        graph.launch()?;
        assert_eq!((graph.len(), y.to_vec()?), (1, vec![1; N]));
        Ok(())
    }

    /// A graph of a kernel that panics: each launch tells it, and the device goes on.
    pub fn graph_that_panics(target: &Target) -> Result<()> {
        let mut y = target.device.zeros::<u32>(N)?;
        let graph = target.device.capture(|s| {
            target.module.launch(LaunchConfig::new(1, N as u32).stream(s), super::panic_where(7, &mut y))
        })?;
        for _ in 0..3 {
            graph.launch()?;
            let outcome = target.device.synchronize();
            assert!(matches!(outcome, Err(Error::Panic(_))), "{outcome:?}");
        }
        let y = y.to_vec()?;
        assert!(y.iter().enumerate().all(|(i, y)| *y == if i == 7 { 0 } else { 3 }), "{y:?}");
        Ok(())
    }

    /// Threads that launch the same graph, and drop it, at once.
    pub fn graph_of_many_threads(target: &Target) -> Result<()> {
        let mut y = target.device.zeros::<u32>(N)?;
        let graph = target.device.capture(|s| {
            target.module.launch(LaunchConfig::new(1, N as u32).stream(s), super::add_one_late(10, &mut y))
        })?;
        let graph = std::sync::Arc::new(graph);
        let launched: Vec<_> = (0..4)
            .map(|_| {
                let (graph, device) = (graph.clone(), target.device.clone());
                std::thread::spawn(move || -> Result<()> {
                    let stream = device.stream()?;
                    for _ in 0..5 {
                        graph.launch_on(&stream)?;
                    }
                    Ok(())
                })
            })
            .collect();
        drop(graph);
        for thread in launched {
            thread.join().expect("the thread ends")?;
        }
        assert_eq!(y.to_vec()?, [20; N]);
        Ok(())
    }

    /// Memory that both sides use: the host looks at what a kernel has written, and not before.
    pub fn unified_memory_while_a_kernel_runs(target: &Target) -> Result<()> {
        let mut y = target.device.managed::<u32>(N)?;
        for round in 1..4 {
            target.module.launch((1, N as u32), super::add_one_late(ROUNDS, &mut y))?;
            assert!(y.host()?.iter().all(|&value| value == round));
        }
        y.host_mut()?.fill(9);
        target.module.launch((1, N as u32), super::add_one_late(ROUNDS, &mut y))?;
        drop(y);
        target.device.synchronize()
    }

    /// Events of another run, and of streams that are gone.
    pub fn event_of_a_stream_that_is_gone(target: &Target) -> Result<()> {
        let stream = target.device.stream()?;
        let mut y = target.device.zeros::<u32>(N)?;
        target.module.launch(LaunchConfig::new(1, N as u32).stream(&stream), super::add_one_late(ROUNDS, &mut y))?;
        let event = stream.record()?;
        drop(stream);
        let other = target.device.stream()?;
        other.wait(&event)?;
        other.synchronize()?;
        assert!(event.has_happened()?);
        assert_eq!(y.to_vec()?, [1; N]);
        Ok(())
    }
}
