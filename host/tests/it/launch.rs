//! Launches and copies that work, in the variations that the types allow.

use crate::common::ready;
use rumba::prelude::*;
use rumba::test_kernels::{saxpy, scale};

#[test]
fn host_memory_goes_there_and_back() -> rumba::Result<()> {
    let (_, module) = ready()?;
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let mut y = vec![1.0_f32; 1000];
    for _ in 0..3 {
        module.for_each(1000, saxpy(2.0, &x, &mut y))?;
    }
    assert!(y.iter().zip(&x).all(|(y, x)| *y == 6.0 * x + 1.0));

    // The kinds of host argument, spelt out.
    let mut y = [0.0_f32; 4];
    module.for_each(4, saxpy(1.0, In(&[1.0; 4]), InOut(&mut y)))?;
    module.for_each(4, saxpy(1.0, &[1.0; 4], &mut y[..]))?;
    assert_eq!(y, [2.0; 4]);
    Ok(())
}

#[test]
fn device_memory_stays_there() -> rumba::Result<()> {
    let (device, module) = ready()?;
    let x = device.buffer_from(&[1.0_f32, 2.0, 3.0])?;
    let mut y = device.zeros::<f32>(3)?;
    for _ in 0..10 {
        module.for_each(3, saxpy(1.0, &x, &mut y))?;
    }
    assert_eq!(y.to_vec()?, [10.0, 20.0, 30.0]);
    let copy = y.try_clone()?;
    y.clear()?;
    assert_eq!((copy.to_vec()?, y.to_vec()?), (vec![10.0, 20.0, 30.0], vec![0.0; 3]));
    Ok(())
}

#[test]
fn host_and_device_memory_together() -> rumba::Result<()> {
    let (device, module) = ready()?;
    let x = device.buffer_from(&[1.0_f32; 64])?;
    let mut y = [0.5_f32; 64];
    module.launch((2, 32), saxpy(4.0, &x, &mut y))?;
    assert_eq!(y, [4.5; 64]);
    Ok(())
}

#[test]
fn parts_of_a_buffer() -> rumba::Result<()> {
    let (device, module) = ready()?;
    let mut buffer = device.buffer_from(&[1.0_f32; 10])?;
    module.for_each(3, scale(5.0, buffer.slice_mut(2..5)))?;
    let (left, mut right) = buffer.as_slice_mut().split_at_mut(5);
    module.for_each(5, saxpy(1.0, left.as_slice(), right.reborrow()))?;
    assert_eq!(right.as_slice().to_vec()?, [2.0, 2.0, 6.0, 6.0, 6.0]);
    assert_eq!(buffer.slice(2..=5).to_vec()?, [5.0, 5.0, 5.0, 2.0]);
    assert_eq!(buffer.slice(8..).len(), 2);
    Ok(())
}

#[test]
fn nothing_at_all() -> rumba::Result<()> {
    let (device, module) = ready()?;
    let mut empty = device.zeros::<f32>(0)?;
    assert!(empty.is_empty() && empty.to_vec()?.is_empty());
    empty.copy_from(&[])?;
    module.launch((1, 32), scale(2.0, &mut empty))?;
    let mut none: [f32; 0] = [];
    module.launch((1, 32), scale(2.0, &mut none))?;
    module.for_each(0, scale(2.0, &mut none))?;
    assert!(device.pinned::<f32>(0)?.is_empty());
    Ok(())
}

/// Each use of a buffer on another stream waits for the last one.
#[test]
fn one_buffer_on_many_streams() -> rumba::Result<()> {
    let (device, module) = ready()?;
    let streams = [device.stream()?, device.stream()?, device.stream()?];
    let one = device.buffer_from(&[1.0_f32; 4096])?;
    let mut sum = device.zeros::<f32>(4096)?;
    for round in 0..30 {
        let config = LaunchConfig::for_each(4096).stream(&streams[round % 3]);
        module.launch(config, saxpy(1.0, &one, &mut sum))?;
        module.for_each(4096, saxpy(1.0, &one, &mut sum))?;
    }
    drop(streams);
    assert_eq!(sum.to_vec()?, [60.0; 4096]);
    Ok(())
}

#[test]
fn copies_in_the_background() -> rumba::Result<()> {
    let (device, module) = ready()?;
    let stream = device.stream()?;
    let mut host = device.pinned::<f32>(1000)?;
    host.iter_mut().enumerate().for_each(|(i, value)| *value = i as f32);
    let mut buffer = device.zeros::<f32>(1000)?;
    let sent = buffer.copy_from_pinned(host, &stream)?;
    module.launch(LaunchConfig::for_each(1000).stream(&stream), scale(2.0, &mut buffer))?;
    let host = sent.wait()?;
    let received = buffer.copy_to_pinned(host, &stream)?.wait()?;
    assert!(received.iter().enumerate().all(|(i, value)| *value == 2.0 * i as f32));
    // A copy whose result is dropped without a wait.
    drop(buffer.copy_to_pinned(received, &stream)?);
    Ok(())
}

#[test]
fn events_order_and_measure() -> rumba::Result<()> {
    let (device, module) = ready()?;
    let (first, second) = (device.stream()?, device.stream()?);
    let mut buffer = device.buffer_from(&[1.0_f32; 100_000])?;
    let start = first.record()?;
    module.launch(LaunchConfig::for_each(100_000).stream(&first), scale(2.0, &mut buffer))?;
    let end = first.record()?;
    second.wait(&end)?;
    second.synchronize()?;
    assert!(end.has_happened()? && start.has_happened()?);
    assert!(end.since(&start)? > std::time::Duration::ZERO, "a kernel lies between them");
    device.record()?.synchronize()
}

#[test]
fn time_is_split() -> rumba::Result<()> {
    let (device, module) = ready()?;
    let mut values = vec![1.0_f32; 1 << 20];
    let timings = module.for_each_timed(values.len(), scale(2.0, &mut values))?;
    assert!(!timings.copy_in.is_zero() && !timings.kernel.is_zero() && !timings.copy_out.is_zero(), "{timings}");
    assert_eq!(timings.total(), timings.copy_in + timings.kernel + timings.copy_out);
    assert!(values.iter().all(|value| *value == 2.0));

    let mut buffer = device.buffer_from(&values)?;
    let (timings, profile) = rumba::profile(|| module.launch_timed((4096, 256), scale(2.0, &mut buffer)))?;
    assert!(!timings?.kernel.is_zero());
    assert!(profile.copies().is_empty(), "device memory is not copied: {profile}");
    Ok(())
}

#[test]
fn any_thread_may_use_anything() -> rumba::Result<()> {
    let (device, module) = ready()?;
    let x = device.buffer_from(&[1.0_f32; 1000])?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=4)
            .map(|a| {
                let (device, module, x) = (&device, &module, &x);
                scope.spawn(move || -> rumba::Result<f32> {
                    let stream = device.stream()?;
                    let mut y = device.zeros::<f32>(1000)?;
                    for _ in 0..5 {
                        let config = LaunchConfig::for_each(1000).stream(&stream);
                        module.launch(config, saxpy(a as f32, x, &mut y))?;
                        let mut host = [1.0_f32; 100];
                        module.for_each(100, scale(2.0, &mut host))?;
                        assert_eq!(host, [2.0; 100]);
                    }
                    Ok(y.to_vec()?.iter().sum())
                })
            })
            .collect();
        for (thread, a) in threads.into_iter().zip(1..) {
            assert_eq!(thread.join().expect("no thread panics")?, 5000.0 * a as f32);
        }
        Ok(())
    })
}

#[test]
fn kernels_are_described() -> rumba::Result<()> {
    let (device, module) = ready()?;
    assert_eq!(module.kernels(), ["scale", "saxpy"]);
    let info = module.info("saxpy")?;
    assert!(info.registers > 0 && info.threads_per_block >= 256 && info.shared_memory == 0, "{info:?}");
    let limits = device.limits();
    assert!(limits.warp == 32 && limits.threads_per_block >= 1024 && limits.multiprocessors > 0, "{limits:?}");
    assert!(device.total_memory()? >= device.free_memory()? && !device.name().is_empty());
    Ok(())
}
