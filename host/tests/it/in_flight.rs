//! Memory that the device may still write to is neither freed nor reused: copies and kernels in progress whose handles
//! are dropped in a host function, where nothing can wait, on another thread, or with a context that is lost.
//!
//! A gate, a host function that waits for the test, keeps a stream busy: no test depends on how long something takes. NVIDIA's
//! driver runs the host functions of a context one after the other, where a gate holds up all others: these tests run on
//! the software device.

use crate::common::ready;
use rumba::prelude::*;
use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Error, PinnedBuffer, UnifiedBuffer};
use std::future::{Future, IntoFuture};
use std::pin::pin;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;
use test_processes::{Outcome, alone};

const N: usize = 4096;

/// As [`alone`], on the software device.
#[track_caller]
fn alone_on_soft(test: impl FnOnce() -> Outcome) {
    alone(&[("RUMBA_DEVICE", "soft")], test);
}

/// Keeps a stream busy until the result is dropped or sent to.
fn gate(stream: &Stream) -> rumba::Result<Sender<()>> {
    let (sender, receiver) = channel();
    stream.launch_host_fn(move || _ = receiver.recv_timeout(Duration::from_secs(20)))?;
    Ok(sender)
}

fn on(stream: &Stream) -> LaunchConfig<'_> {
    LaunchConfig::for_each(N).stream(stream)
}

/// Drops something in a host function of `stream`, and waits for that.
fn drop_in_host_fn<T: Send + 'static>(thing: T, stream: &Stream) -> rumba::Result<()> {
    let mut slot = Some(thing);
    stream.launch_host_fn(move || drop(slot.take()))?;
    stream.synchronize()
}

/// So many that the allocator gives their memory back to the system when it is freed: a copy to it would be a crash.
const MANY: usize = 1 << 20;

/// A page, so that vectors of pages come from where page-locked memory of the same size would have been freed to.
#[derive(Clone, Copy)]
#[repr(align(4096))]
struct Page([u8; 4096]);

/// That no memory the program allocates now is that at `place`, where a copy of `MANY` numbers is under way on a stream that
/// `open` lets go.
fn is_not_given_out(place: usize, stream: &Stream, open: Sender<()>) -> rumba::Result<()> {
    assert!(!stream.is_done()?, "the copy is under way");
    let vectors: Vec<Vec<Page>> = (0..8).map(|_| vec![Page([0x11; 4096]); MANY * 4 / 4096]).collect();
    let away = |vector: &Vec<Page>| vector.as_ptr().addr().abs_diff(place) >= MANY * 4;
    assert!(vectors.iter().all(away), "memory that a copy still writes to belongs to a vector");
    drop(open);
    stream.synchronize()?;
    let same = |vector: &Vec<Page>| vector.iter().all(|page| page.0 == [0x11; 4096]);
    assert!(vectors.iter().all(same), "a copy has written to a vector");
    Ok(())
}

#[test]
fn a_pending_copy_dropped_in_a_host_function_keeps_its_memory() {
    alone_on_soft(|| {
        let (device, _) = ready()?;
        let (a, b) = (device.stream()?, device.stream()?);
        let buffer = device.zeros::<f32>(MANY)?;
        let pinned = device.pinned::<f32>(MANY)?;
        let place = pinned.as_ptr().addr();
        let open = gate(&a)?;
        drop_in_host_fn(buffer.copy_to_pinned(pinned, &a)?, &b)?;
        Ok(is_not_given_out(place, &a, open)?)
    });
}

#[test]
fn a_copy_that_is_waited_for_in_a_host_function_keeps_its_memory() {
    alone_on_soft(|| {
        let (device, _) = ready()?;
        let (a, b) = (device.stream()?, device.stream()?);
        let buffer = device.zeros::<f32>(MANY)?;
        let pinned = device.pinned::<f32>(MANY)?;
        let place = pinned.as_ptr().addr();
        let open = gate(&a)?;
        let mut copy = Some(buffer.copy_to_pinned(pinned, &a)?);
        let (sender, receiver) = channel();
        b.launch_host_fn(move || {
            let waited = copy.take().expect("the function runs once").wait();
            sender.send(waited.map(drop)).expect("the test listens");
        })?;
        let waited = receiver.recv().expect("the function has run");
        assert!(matches!(waited, Err(Error::InHostFunction { .. })), "{waited:?}");
        Ok(is_not_given_out(place, &a, open)?)
    });
}

#[test]
fn a_future_keeps_its_outcome() {
    alone_on_soft(|| {
        let (device, _) = ready()?;
        let (a, b) = (device.stream()?, device.stream()?);
        let buffer = device.buffer_from(&[7.0_f32; N])?;
        let open = gate(&a)?;
        let mut slot = Some(buffer.copy_to_pinned(device.pinned::<f32>(N)?, &a)?);
        let (sender, receiver) = channel();
        b.launch_host_fn(move || {
            let mut future = pin!(slot.take().expect("the function runs once").into_future());
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..3 {
                let refused =
                    matches!(future.as_mut().poll(&mut context), Poll::Ready(Err(Error::InHostFunction { .. })));
                sender.send(refused).expect("the test listens");
            }
        })?;
        let refused: Vec<bool> = receiver.iter().take(3).collect();
        assert!(!a.is_done()?, "the copy is under way");
        drop(open);
        assert_eq!(refused, [true; 3], "memory was given back while the copy was under way");

        // A wait that went well is told again; memory that was given back is not there a second time.
        let mut done = pin!(a.done());
        pollster::block_on(done.as_mut())?;
        pollster::block_on(done.as_mut())?;
        let mut copy = pin!(buffer.copy_to_pinned(device.pinned::<f32>(N)?, &a)?.into_future());
        assert_eq!(pollster::block_on(copy.as_mut())?[..], [7.0; N]);
        let again = copy.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(again.is_pending(), "{again:?}");
        Ok(())
    });
}

/// Two kernels on two streams that share a buffer; the first one's stream goes by `drop_first` while the kernel waits.
/// `scale` and `saxpy` give 3 in this order, and 4 in the other.
fn in_order(drop_first: impl FnOnce(&Device, Stream) -> rumba::Result<()>) -> rumba::Result<()> {
    let (device, module) = ready()?;
    let (first, second) = (device.stream()?, device.stream()?);
    let mut y = device.buffer_from(&[1.0_f32; N])?;
    let x = device.buffer_from(&[1.0_f32; N])?;
    let open = gate(&first)?;
    module.launch(on(&first), scale(2.0, &mut y))?;
    drop_first(&device, first)?;
    module.launch(on(&second), saxpy(1.0, &x, &mut y))?;
    assert!(!second.is_done()?, "the second kernel has not waited for the first");
    drop(open);
    second.synchronize()?;
    assert_eq!(y.to_vec()?, [3.0; N]);
    Ok(())
}

#[test]
fn a_stream_dropped_in_a_host_function_is_still_waited_for() {
    alone_on_soft(|| Ok(in_order(|device, stream| drop_in_host_fn(stream, &device.stream()?))?));
}

#[test]
fn a_stream_that_another_thread_is_dropping_is_still_waited_for() {
    alone_on_soft(|| {
        Ok(in_order(|_, stream| {
            let (sender, receiver) = channel();
            thread::spawn(move || {
                sender.send(()).expect("the test listens");
                // Waits for the gate.
                drop(stream);
            });
            receiver.recv().expect("the thread runs");
            // The order must be right wherever the thread is by now: mostly within the drop.
            thread::sleep(Duration::from_millis(20));
            Ok(())
        })?)
    });
}

#[test]
fn the_host_waits_for_a_stream_that_is_being_dropped() {
    alone_on_soft(|| {
        let (device, module) = ready()?;
        let (a, b) = (device.stream()?, device.stream()?);
        let mut numbers: UnifiedBuffer<f32> = device.managed(N)?;
        numbers.host_mut()?.fill(1.0);
        let open = gate(&a)?;
        module.launch(on(&a), scale(2.0, &mut numbers))?;
        drop_in_host_fn(a, &b)?;
        let opener = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            drop(open);
        });
        assert_eq!(numbers.host()?[..], [2.0; N]);
        opener.join().expect("the thread does not panic");
        Ok(())
    });
}

#[test]
fn memory_of_a_pool_is_freed_after_the_work_of_a_dropped_stream() {
    alone_on_soft(|| {
        let (device, module) = ready()?;
        let (a, b) = (device.stream()?, device.stream()?);
        let pool = device.memory_pool()?;
        let mut scratch = pool.zeros::<f32>(N)?;
        device.synchronize()?;
        let open = gate(&a)?;
        module.launch(on(&a), scale(2.0, &mut scratch))?;
        drop_in_host_fn(a, &b)?;
        drop(scratch);
        // The release is on the default stream, behind the kernel.
        let freed = device.record()?;
        assert!(!freed.has_happened()?, "the memory is freed while a kernel uses it");
        drop(open);
        freed.synchronize()?;
        assert_eq!(pool.used()?, 0);
        Ok(())
    });
}

#[test]
fn pinned_memory_dropped_in_a_host_function_can_be_pinned_again() {
    alone_on_soft(|| {
        let (device, _) = ready()?;
        let stream = device.stream()?;
        for _ in 0..20 {
            drop_in_host_fn(device.pinned::<f32>(N)?, &stream)?;
        }
        Ok(())
    });
}

#[test]
fn everything_may_go_in_a_host_function() {
    alone_on_soft(|| {
        let (device, module) = ready()?;
        let stream = device.stream()?;
        let free = device.free_memory()?;
        for _ in 0..20 {
            let mut buffer = device.zeros::<f32>(1 << 20)?;
            let graph = device.capture(|stream| module.launch(on(stream), scale(2.0, buffer.slice_mut(..N))))?;
            graph.launch()?;
            let pool = device.memory_pool()?;
            let things = (device.load(PTX)?, graph, buffer, pool.zeros::<f32>(N)?, pool);
            drop_in_host_fn((things, device.record()?, device.mapped::<f32>(N)?), &stream)?;
        }
        // The memory is released elsewhere, not leaked: all of it is free again after a while.
        let all = |device: &Device| device.free_memory().map(|now| now + (1 << 20) > free);
        for _ in 0..1000 {
            if all(&device)? {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{} of {free} bytes are free", device.free_memory()?);
    });
}

#[test]
fn a_host_function_cannot_begin_copies_nor_reset() {
    alone_on_soft(|| {
        let (device, _) = ready()?;
        let (a, b) = (device.stream()?, device.stream()?);
        let buffer = device.zeros::<f32>(N)?;
        let (sender, receiver) = channel();
        let there = device.clone();
        b.launch_host_fn(move || {
            let mut host = vec![0.0_f32; N];
            let copied = there.scope(|scope| scope.copy_out(buffer.as_slice(), &mut host, &a));
            for refused in [copied, there.reset()] {
                sender.send(refused).expect("the test listens");
            }
        })?;
        for refused in receiver.iter().take(2) {
            assert!(matches!(refused, Err(Error::InHostFunction { .. })), "{refused:?}");
        }
        Ok(b.synchronize()?)
    });
}

/// Large, so that the copy is under way when the other stream's kernel fails.
const LARGE: usize = 64 << 20;

#[test]
fn a_scope_waits_for_its_copies_in_a_lost_context() {
    alone(&[], || {
        let device = Device::new()?;
        let (a, b) = (device.stream()?, device.stream()?);
        let source = device.zeros::<u8>(LARGE)?;
        let mut host: PinnedBuffer<u8> = device.pinned(LARGE)?;
        host.fill(1);
        let failing = PTX.replacen("st.global.f32 [%rd4], %f2;", "trap;", 1);
        // SAFETY: the kernels take what their launchers pass: nothing about their parameters was changed.
        let failing = unsafe { device.load_unchecked("a kernel that fails", &failing) }?;
        let mut values = device.zeros::<f32>(32)?;
        failing.info("scale")?;
        device.synchronize()?;
        let outcome = device.scope(|scope| {
            scope.copy_out(source.as_slice(), &mut host, &b)?;
            failing.launch(LaunchConfig::new(1, 32).stream(&a), scale(2.0, &mut values))?;
            a.synchronize()
        });
        assert!(matches!(outcome, Err(Error::Fault(_))), "{outcome:?}");
        // Whether the copy was done or given up: it is over, and not on its way through the slice.
        let seen = &host[..];
        let (first, last) = (seen[0], seen[LARGE - 1]);
        thread::sleep(Duration::from_millis(200));
        assert_eq!((first, last), (seen[0], seen[LARGE - 1]), "a shared slice has changed after the scope had ended");
        Ok(())
    });
}
