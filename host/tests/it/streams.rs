//! Streams: order without waiting, callbacks, futures on two executors, copies that borrow, graphs.

use crate::common::ready;
use futures_executor::ThreadPool;
use rumba::array::Array;
use rumba::prelude::*;
use rumba::test_kernels::{saxpy, scale};
use rumba::{Error, error::GraphError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use test_processes::alone;

const N: usize = 1000;

fn on(stream: &Stream) -> LaunchConfig<'_> {
    LaunchConfig::for_each(N).stream(stream)
}

/// Keeps a stream busy until the result is sent to, or dropped because the test has failed.
fn hold(stream: &Stream) -> rumba::Result<std::sync::mpsc::Sender<()>> {
    let (sender, receiver) = channel();
    stream.launch_host_fn(move || _ = receiver.recv())?;
    Ok(sender)
}

#[test]
fn parts_of_one_buffer_do_not_wait_for_each_other() {
    alone(&[], || {
        let (device, module) = ready()?;
        let (one, two) = (device.stream()?, device.stream()?);
        let mut buffer = device.buffer_from(&[1.0_f32; 2 * N])?;
        let release = hold(&one)?;
        let (mut left, mut right) = buffer.as_slice_mut().split_at_mut(N);
        module.launch(on(&one), scale(2.0, left.reborrow()))?;
        module.launch(on(&two), scale(3.0, right.reborrow()))?;
        // This returns although the other stream stands still.
        two.synchronize()?;
        assert!(two.is_done()? && !one.is_done()?);

        // The same part waits.
        module.launch(on(&two), scale(5.0, left.reborrow()))?;
        assert!(!two.is_done()?);
        release.send(()).expect("the stream waits");
        let expected = [[10.0; N], [3.0; N]].concat();
        assert_eq!(buffer.to_vec()?, expected);
        Ok(())
    });
}

#[test]
fn two_streams_read_at_once_and_a_writer_waits() {
    alone(&[], || {
        let (device, module) = ready()?;
        let (one, two, three) = (device.stream()?, device.stream()?, device.stream()?);
        let mut x = device.buffer_from(&[1.0_f32; N])?;
        let (mut a, mut b) = (device.zeros::<f32>(N)?, device.zeros::<f32>(N)?);
        let release = hold(&one)?;
        module.launch(on(&one), saxpy(2.0, &x, &mut a))?;
        module.launch(on(&two), saxpy(3.0, &x, &mut b))?;
        two.synchronize()?;
        module.launch(on(&three), scale(100.0, &mut x))?;
        assert!(!three.is_done()?, "the writer waits for the first reader");
        release.send(()).expect("the stream waits");
        three.synchronize()?;
        assert_eq!((a.to_vec()?, b.to_vec()?), (vec![2.0; N], vec![3.0; N]));
        Ok(())
    });
}

#[test]
fn priorities() {
    alone(&[], || {
        let (device, module) = ready()?;
        let range = device.stream_priorities()?;
        assert!(range.start() <= range.end());
        let urgent = device.stream_with_priority(*range.start())?;
        assert_eq!(urgent.priority()?, *range.start());
        assert_eq!(device.stream_with_priority(i32::MIN)?.priority()?, *range.start());
        assert_eq!(device.stream()?.priority()?, 0);
        let mut buffer = device.buffer_from(&[1.0_f32; N])?;
        module.launch(on(&urgent), scale(2.0, &mut buffer))?;
        assert_eq!(buffer.to_vec()?, [2.0; N]);
        Ok(())
    });
}

#[test]
fn callbacks_come_in_order_and_may_use_the_library() {
    alone(&[], || {
        let (device, module) = ready()?;
        let stream = device.stream()?;
        let mut buffer = device.buffer_from(&[1.0_f32; N])?;
        let (sender, receiver) = channel();
        for index in 0..10 {
            module.launch(on(&stream), scale(2.0, &mut buffer))?;
            let sender = sender.clone();
            stream.add_callback(move |outcome| sender.send((index, outcome.is_ok())).expect("the test listens"))?;
        }
        let last = receiver.iter().take(10).collect::<Vec<_>>();
        assert_eq!(last, (0..10).map(|index| (index, true)).collect::<Vec<_>>());

        // A callback reads and drops a buffer, panics, and the next one is called all the same.
        let (sender, receiver) = channel();
        stream.add_callback(move |_| {
            sender.send(buffer.to_vec().map(|values| values[0])).expect("the test listens");
        })?;
        assert_eq!(receiver.recv().expect("the callback runs")?, 1024.0);
        stream.add_callback(|_| panic!("this is part of the test"))?;
        Ok(pollster::block_on(stream.done())?)
    });
}

#[test]
fn the_stream_waits_for_host_functions() {
    alone(&[], || {
        let (device, _) = ready()?;
        let stream = device.stream()?;
        let done = Arc::new(AtomicBool::new(false));
        let set = done.clone();
        stream.launch_host_fn(move || {
            thread::sleep(Duration::from_millis(20));
            set.store(true, Ordering::Release);
        })?;
        stream.synchronize()?;
        assert!(done.load(Ordering::Acquire));

        // In there, nothing of the library can be used; that is an error and no deadlock.
        let (sender, receiver) = channel();
        let there = device.clone();
        stream.launch_host_fn(move || sender.send(there.synchronize()).expect("the test listens"))?;
        stream.synchronize()?;
        match receiver.recv().expect("the function has run") {
            Err(error @ Error::InHostFunction { .. }) => assert!(error.to_string().contains("`Stream::add_callback`")),
            other => panic!("{other:?}"),
        }
        // The function panics: the driver does not notice.
        stream.launch_host_fn(|| panic!("this is part of the test"))?;
        Ok(stream.synchronize()?)
    });
}

async fn double(device: Device, module: Module, factor: f32) -> rumba::Result<f32> {
    let stream = device.stream()?;
    let mut host = device.pinned::<f32>(N)?;
    host.fill(1.0);
    let mut buffer = device.zeros::<f32>(N)?;
    let host = buffer.copy_from_pinned(host, &stream)?.await?;
    module.launch(on(&stream), scale(factor, &mut buffer))?;
    stream.record()?.done().await?;
    let host = buffer.copy_to_pinned(host, &stream)?.await?;
    stream.done().await?;
    assert!(host.iter().all(|value| *value == host[0]));
    Ok(host[0])
}

#[test]
fn futures_on_two_executors() {
    alone(&[], || {
        let (device, module) = ready()?;
        assert_eq!(pollster::block_on(double(device.clone(), module.clone(), 2.0))?, 2.0);

        let pool = ThreadPool::builder().pool_size(2).create().expect("threads can be made");
        let (sender, receiver) = channel();
        for factor in 0..20 {
            let (task, sender) = (double(device.clone(), module.clone(), factor as f32), sender.clone());
            pool.spawn_ok(async move { sender.send(task.await).expect("the test listens") });
        }
        drop(sender);
        let sum = receiver.iter().sum::<rumba::Result<f32>>()?;
        assert_eq!(sum, (0..20).sum::<i32>() as f32);
        Ok(())
    });
}

#[test]
fn a_future_that_is_not_awaited_changes_nothing() {
    alone(&[], || {
        let (device, _) = ready()?;
        let stream = device.stream()?;
        let release = hold(&stream)?;
        drop(stream.done());
        let done = stream.done();
        release.send(()).expect("the stream waits");
        Ok(pollster::block_on(done)?)
    });
}

#[test]
fn chunks_overlap_in_a_scope() {
    alone(&[], || {
        const CHUNK: usize = 300;
        let (device, module) = ready()?;
        let streams = [device.stream()?, device.stream()?, device.stream()?];
        let input: Vec<f32> = (0..10 * N).map(|i| i as f32).collect();
        let pinned = device.pinned_from(&input)?;
        let mut output = device.pinned::<f32>(input.len())?;
        let mut buffer = device.zeros::<f32>(input.len())?;
        device.scope(|scope| {
            let parts = pinned.chunks(CHUNK).zip(output.chunks_mut(CHUNK));
            for (index, (mut chunk, (source, destination))) in
                buffer.as_slice_mut().chunks_mut(CHUNK).zip(parts).enumerate()
            {
                let stream = &streams[index % streams.len()];
                scope.copy_in(source, chunk.reborrow(), stream)?;
                let threads = LaunchConfig::for_each(chunk.len()).stream(stream);
                module.launch(threads, scale(2.0, chunk.reborrow()))?;
                scope.copy_out(chunk.as_slice(), destination, stream)?;
            }
            Ok(())
        })?;
        assert!(output.iter().zip(&input).all(|(output, input)| *output == 2.0 * input));

        // Ordinary memory works as well, and a wrong length is an error that leaves the scope in order.
        let mut values = vec![0.0_f32; 10];
        let wrong = device.scope(|scope| {
            scope.copy_out(buffer.slice(..10), &mut values, &streams[0])?;
            scope.copy_in(&input[..3], buffer.slice_mut(..4), &streams[1])
        });
        assert!(matches!(wrong, Err(Error::LengthMismatch { .. })), "{wrong:?}");
        assert_eq!(values[9], 18.0);
        Ok(())
    });
}

#[test]
fn graphs_run_what_was_recorded() {
    alone(&[], || {
        let (device, module) = ready()?;
        let stream = device.stream()?;
        let mut x = device.buffer_from(&[1.0_f32; N])?;
        let mut y = device.zeros::<f32>(N)?;
        let graph = device.capture(|stream| {
            module.launch(on(stream), scale(2.0, &mut x))?;
            module.launch(on(stream), saxpy(1.0, &x, &mut y))
        })?;
        assert_eq!(graph.kernels().collect::<Vec<_>>(), ["scale", "saxpy"]);
        assert_eq!((x.to_vec()?, y.to_vec()?), (vec![1.0; N], vec![0.0; N]), "nothing has run yet");
        for _ in 0..3 {
            graph.launch_on(&stream)?;
        }
        // On another stream, and in order with what uses the same buffers.
        module.launch(on(&device.stream()?), scale(0.0, &mut x))?;
        assert_eq!((x.to_vec()?, y.to_vec()?), (vec![0.0; N], vec![14.0; N]));

        // The graph keeps the memory.
        drop(x);
        drop(module);
        graph.launch()?;
        device.synchronize()?;
        assert_eq!(y.to_vec()?, [14.0; N]);
        Ok(())
    });
}

#[test]
fn graphs_take_new_arguments() {
    alone(&[], || {
        let (device, module) = ready()?;
        let mut a = device.buffer_from(&[1.0_f32; N])?;
        let mut b = device.buffer_from(&[1.0_f32; N])?;
        let mut graph = device.capture(|stream| module.launch(on(stream), scale(2.0, &mut a)))?;
        graph.launch()?;
        graph.update(|stream| module.launch(on(stream), scale(3.0, &mut b)))?;
        graph.launch()?;
        assert_eq!((a.to_vec()?, b.to_vec()?), (vec![2.0; N], vec![3.0; N]));

        // Other kernels make a new graph; an error leaves the graph unchanged.
        let wrong = graph.update(|_| Err(Error::NoDevice("nothing".to_owned())));
        assert!(wrong.is_err() && graph.len() == 1);
        graph.update(|stream| {
            module.launch(on(stream), saxpy(1.0, &a, &mut b))?;
            module.launch(on(stream), scale(2.0, &mut a))
        })?;
        graph.launch()?;
        assert_eq!((a.to_vec()?, b.to_vec()?), (vec![4.0; N], vec![5.0; N]));
        Ok(())
    });
}

/// Forty launches on parts of five buffers, in a graph of the one or the other order. Returns the contents of the buffers.
fn forty_launches(device: &Device, concurrent: bool) -> rumba::Result<Vec<Vec<f32>>> {
    let module = device.load(rumba::test_kernels::PTX)?;
    let mut buffers: Vec<_> =
        (0..5).map(|k| device.buffer_from(&[1.0 + k as f32; 96])).collect::<rumba::Result<_>>()?;
    let mut seed = 3_u32;
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as usize % limit
    };
    let record = |stream: &Stream| {
        for _ in 0..40 {
            let (target, source, start) = (below(5), below(5), below(2) * 32);
            let (part, threads) = (start..start + 64, LaunchConfig::for_each(64).stream(stream));
            if source == target {
                module.launch(threads, scale(0.5, buffers[target].slice_mut(part)))?;
            } else {
                let [y, x] = buffers.get_disjoint_mut([target, source]).expect("two buffers");
                module.launch(threads, saxpy(0.5, x.slice(part.clone()), y.slice_mut(part)))?;
            }
        }
        Ok(())
    };
    let graph = if concurrent { device.capture_concurrent(record) } else { device.capture(record) }?;
    for _ in 0..2 {
        graph.launch()?;
    }
    buffers.iter().map(DeviceBuffer::to_vec).collect()
}

/// Launches of a graph that run at the same time wait for each other where one of them writes what the other one uses.
#[test]
fn concurrent_graphs_keep_the_order_of_memory() {
    let (mut in_order, mut concurrent) = (Vec::new(), Vec::new());
    let findings = rumba::check(|device| {
        in_order = forty_launches(device, false)?;
        concurrent = forty_launches(device, true)?;
        Ok(())
    });
    findings.expect("the launches are in order").assert_none();
    assert_eq!(in_order, concurrent);
    assert!(in_order.iter().flatten().any(|x| *x > 10.0), "{in_order:?}");
}

/// An update of a concurrent graph finds the order of its launches again.
#[test]
fn concurrent_graphs_take_new_arguments() {
    alone(&[], || {
        let (device, module) = ready()?;
        let (mut a, mut b) = (device.buffer_from(&[1.0_f32; N])?, device.buffer_from(&[1.0_f32; N])?);
        let mut graph = device.capture_concurrent(|stream| {
            module.launch(on(stream), scale(2.0, &mut a))?;
            module.launch(on(stream), scale(3.0, &mut b))
        })?;
        graph.launch()?;
        // Now the second launch has to wait for the first one.
        graph.update(|stream| {
            module.launch(on(stream), scale(5.0, &mut a))?;
            module.launch(on(stream), saxpy(1.0, &a, &mut b))
        })?;
        graph.launch()?;
        assert_eq!((a.to_vec()?, b.to_vec()?), (vec![10.0; N], vec![13.0; N]));
        Ok(())
    });
}

#[test]
fn what_a_graph_cannot_hold_is_an_error() {
    alone(&[], || {
        let (device, module) = ready()?;
        let mut host = vec![1.0_f32; N];
        let mut kept = None;
        let recorded = device.capture(|stream| {
            kept = Some(stream.clone());
            module.launch(on(stream), scale(2.0, &mut host))
        });
        let Err(Error::Graph(error)) = recorded else { panic!("{recorded:?}") };
        assert!(matches!(*error, GraphError::HostMemory { kernel: "scale", parameter: 1 }), "{error}");

        let stream = kept.expect("the closure ran");
        let mut buffer = device.zeros::<f32>(N)?;
        match module.launch(on(&stream), scale(2.0, &mut buffer)) {
            Err(Error::Graph(error)) => assert!(error.to_string().contains("the capture is over"), "{error}"),
            other => panic!("{other:?}"),
        }
        for wrong in [stream.synchronize(), stream.record().map(drop), stream.add_callback(drop)] {
            match wrong {
                Err(Error::Graph(error)) => assert!(matches!(*error, GraphError::NotALaunch { .. }), "{error}"),
                other => panic!("{other:?}"),
            }
        }
        assert!(device.capture(|_| Ok(()))?.is_empty());
        Ok(())
    });
}

/// Work that a graph would silently miss.
#[test]
fn the_default_stream_is_refused_while_a_graph_is_recorded() {
    alone(&[], || {
        let (device, module) = ready()?;
        let mut x = device.buffer_from(&[1.0_f32; N])?;
        let mut y = device.zeros::<f32>(N)?;
        let mut array = Array::<f32, 2>::zeros(&device, [4, 5])?;
        let other = device.stream()?;
        let graph = device.capture(|_| Ok(()))?;
        let threads = LaunchConfig::for_each(N);
        let (mut words, ten) = (Vec::new(), [10.0; N]);
        let recorded = device.capture(|stream| {
            for wrong in [
                module.launch(threads, scale(2.0, &mut x)),
                array.view_mut().fill(7.0),
                array.transpose().to_array().map(drop),
                y.copy_from_buffer(&x),
                y.slice_mut(..).clear(),
                graph.launch(),
            ] {
                match wrong {
                    Err(Error::Graph(error)) => {
                        assert!(matches!(*error, GraphError::DefaultStream { .. }), "{error}");
                        words.push(error.to_string());
                    }
                    other => panic!("{other:?}"),
                }
            }
            // Copies that wait for their result, and launches that name another stream, are allowed.
            y.copy_from(&ten)?;
            module.launch(on(&other), scale(3.0, &mut x))?;
            module.launch(on(stream), saxpy(1.0, &x, &mut y))
        })?;
        assert!(words[0].starts_with("cannot launch `scale` on the default stream"), "{}", words[0]);
        assert_eq!(recorded.len(), 1);
        assert_eq!(array.to_vec()?, [0.0; 20], "nothing of it was done");
        recorded.launch()?;
        assert_eq!(y.to_vec()?, [13.0; N]);

        // Only that thread, and only until its capture ends, also by a panic.
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = device.capture(|_| {
                thread::scope(|scope| scope.spawn(|| array.view_mut().fill(7.0)).join()).expect("it does not panic")?;
                panic!("on purpose")
            });
        }));
        assert!(panicked.is_err());
        assert_eq!(array.to_vec()?, [7.0; 20]);
        array.view_mut().fill(8.0)?;
        assert_eq!(array.to_vec()?, [8.0; 20]);
        Ok(())
    });
}

#[test]
fn many_threads_on_one_device() {
    alone(&[], || {
        let (device, module) = ready()?;
        let runs = AtomicU32::new(0);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let stream = device.stream()?;
                        let mut buffer = device.buffer_from(&[1.0_f32; N])?;
                        let graph = device.capture(|stream| module.launch(on(stream), scale(2.0, &mut buffer)))?;
                        for _ in 0..5 {
                            graph.launch_on(&stream)?;
                            module.launch(on(&stream), scale(0.5, &mut buffer))?;
                        }
                        assert_eq!(buffer.to_vec()?, [1.0; N]);
                        runs.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
        })
        .inspect(|()| assert_eq!(runs.load(Ordering::Relaxed), 4))
    });
}
