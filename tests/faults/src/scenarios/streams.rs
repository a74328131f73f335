//! Streams, events, callbacks, futures.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Event, LaunchConfig, Result, Stream};

use crate::World;

/// How long a function of a stream may take to come: longer than a thread waits for a core on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Receives the value of a callback, which runs in any case.
fn received<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(PATIENCE).expect("callbacks are called")
}

pub(super) fn order(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let (one, two) = (world.device.stream()?, world.device.stream()?);
    let (mut x, mut y) = (world.device.buffer_from(&[1.0_f32; 64])?, world.device.zeros::<f32>(64)?);
    module.launch(LaunchConfig::for_each(64).stream(&one), scale(2.0, &mut x))?;
    module.launch(LaunchConfig::for_each(64).stream(&two), saxpy(10.0, &x, &mut y))?;
    module.launch(LaunchConfig::for_each(64).stream(&one), scale(0.0, &mut x))?;
    module.for_each(64, saxpy(1.0, &x, &mut y))?;
    one.synchronize()?;
    assert_eq!((x.to_vec()?, y.to_vec()?), (vec![0.0; 64], vec![20.0; 64]));
    Ok(())
}

pub(super) fn priorities(world: &World) -> Result<()> {
    let range = world.device.stream_priorities()?;
    let stream = world.device.stream_with_priority(*range.start())?;
    assert_eq!(stream.priority()?, *range.start());
    stream.synchronize()
}

pub(super) fn events(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    let start = stream.record()?;
    let end = stream.record()?;
    end.synchronize()?;
    while !(start.has_happened()? && end.has_happened()?) {}
    end.since(&start)?;
    world.device.record()?.synchronize()
}

pub(super) fn events_across_streams(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let (one, two) = (world.device.stream()?, world.device.stream()?);
    let mut x = world.device.buffer_from(&[1.0_f32; 64])?;
    module.launch(LaunchConfig::for_each(64).stream(&one), scale(2.0, &mut x))?;
    let event: Event = one.record()?;
    two.wait(&event)?;
    drop(event);
    two.synchronize()?;
    while !one.is_done()? {}
    assert_eq!(x.to_vec()?, [2.0; 64]);
    Ok(())
}

pub(super) fn callbacks(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    let (sender, receiver) = channel();
    let mut added = Vec::new();
    for index in 0..3 {
        let sender = sender.clone();
        added.push(stream.add_callback(move |outcome| sender.send((index, outcome)).expect("the scenario waits")));
    }
    let (added, failed): (Vec<_>, Vec<_>) = added.into_iter().partition(Result::is_ok);
    // Callbacks that were added run, whatever became of the others.
    let outcomes: Vec<_> = added.iter().map(|_| received(&receiver)).collect();
    failed.into_iter().collect::<Result<()>>()?;
    for (place, (index, outcome)) in outcomes.into_iter().enumerate() {
        assert_eq!(place, index);
        outcome?;
    }
    Ok(())
}

pub(super) fn host_functions(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    let (sender, receiver) = channel();
    stream.launch_host_fn(move || sender.send(1).expect("the scenario waits"))?;
    stream.synchronize()?;
    assert_eq!(received(&receiver), 1);
    Ok(())
}

/// A function that owns memory, which is given back also if the function is not called.
pub(super) fn host_functions_that_own(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    let (buffer, event) = (world.device.buffer_from(&[1_u8; 100])?, stream.record()?);
    let mut owned = Some((buffer, event, stream.clone()));
    stream.launch_host_fn(move || drop(owned.take()))?;
    stream.synchronize()
}

pub(super) fn callbacks_that_own(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    let buffer = world.device.buffer_from(&[3_u8; 100])?;
    let (sender, receiver) = channel();
    stream.add_callback(move |outcome| {
        let read = outcome.and_then(|()| buffer.to_vec());
        drop(buffer);
        sender.send(read).expect("the scenario waits");
    })?;
    assert_eq!(received(&receiver)?, [3; 100]);
    Ok(())
}

pub(super) fn futures(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let stream = world.device.stream()?;
    let mut x = world.device.buffer_from(&[1.0_f32; 64])?;
    module.launch(LaunchConfig::for_each(64).stream(&stream), scale(4.0, &mut x))?;
    pollster::block_on(stream.done())?;
    assert_eq!(x.to_vec()?, [4.0; 64]);
    Ok(())
}

pub(super) fn futures_of_copies(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    let mut x = world.device.zeros::<u16>(64)?;
    let host = world.device.pinned_from(&[5_u16; 64])?;
    let host = pollster::block_on(x.copy_from_pinned(host, &stream)?)?;
    let host = pollster::block_on(x.copy_to_pinned(host, &stream)?)?;
    assert_eq!(host[..], [5; 64]);
    Ok(())
}

pub(super) fn futures_of_events(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    pollster::block_on(stream.record()?.done())
}

pub(super) fn futures_dropped(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    drop(stream.done());
    drop(stream.record()?.done());
    stream.synchronize()
}

pub(super) fn many_streams(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let streams: Vec<Stream> = (0..5).map(|_| world.device.stream()).collect::<Result<_>>()?;
    let mut buffers: Vec<_> =
        (0..5).map(|index| world.device.buffer_from(&[index as f32; 32])).collect::<Result<_>>()?;
    for (stream, buffer) in streams.iter().zip(&mut buffers) {
        module.launch(LaunchConfig::for_each(32).stream(stream), scale(2.0, buffer))?;
    }
    drop(streams);
    for (index, buffer) in buffers.iter().enumerate() {
        assert_eq!(buffer.to_vec()?, [2.0 * index as f32; 32]);
    }
    Ok(())
}

pub(super) fn questions(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    let event = stream.record()?;
    let begin = std::time::Instant::now();
    while !(stream.is_done()? && event.has_happened()?) {
        assert!(begin.elapsed() < PATIENCE, "a stream without work is done");
    }
    Ok(())
}

pub(super) fn streams_dropped_at_work(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let mut x = world.device.buffer_from(&[1.0_f32; 4096])?;
    for _ in 0..3 {
        let stream = world.device.stream()?;
        module.launch(LaunchConfig::for_each(4096).stream(&stream), scale(2.0, &mut x))?;
    }
    drop(module);
    assert_eq!(x.to_vec()?, [8.0; 4096]);
    Ok(())
}
