//! Several devices: identity, copies between devices, split work, collective operations. The tests use three software
//! devices, or all GPUs; a single GPU passes too.

use rumba::nccl::{Communicator, NcclError, ReduceOp};
use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Device, DeviceBuffer, Error, LaunchConfig, split, split_mut};
use test_processes::{Outcome, alone};

const N: usize = 1000;

/// A process of its own, which has three software devices or all GPUs.
#[track_caller]
fn with_devices(test: impl FnOnce() -> Outcome) {
    alone(&[("RUMBA_SOFT_DEVICES", "3")], test);
}

/// Whether the devices are GPUs for whose collective operations there is no NCCL here.
fn without_nccl(devices: &[Device]) -> bool {
    match Communicator::new(devices) {
        Err(Error::Nccl(error)) => {
            assert!(matches!(*error, NcclError::Missing { .. }), "{error}");
            true
        }
        _ => false,
    }
}

#[test]
fn devices_are_told_apart() {
    with_devices(|| {
        let devices = Device::all()?;
        for (ordinal, device) in devices.iter().enumerate() {
            assert_eq!(device.ordinal() as usize, ordinal);
            assert_eq!(Device::by_uuid(device.uuid()?)?.ordinal(), device.ordinal());
            assert_eq!(Device::by_pci_bus_id(&device.pci_bus_id()?)?.ordinal(), device.ordinal());
            assert!(!device.can_access_peer(device)?);
        }
        for wrong in [
            Device::by_pci_bus_id("ffff:ff:1f.0"),
            Device::by_pci_bus_id("no \0 id"),
            Device::by_uuid(rumba::device::Uuid([7; 16])),
        ] {
            assert!(matches!(wrong, Err(Error::NoDeviceWith { .. })), "{wrong:?}");
        }
        Ok(())
    });
}

#[test]
fn copies_between_devices_keep_the_order_of_both() {
    with_devices(|| {
        let devices = Device::all()?;
        for enabled in [false, true] {
            for (from, to) in devices.iter().zip(devices.iter().cycle().skip(1)) {
                if enabled && from.can_access_peer(to)? {
                    from.enable_peer_access(to)?;
                    from.enable_peer_access(to)?;
                    to.enable_peer_access(from)?;
                }
                let (module, there) = (from.load(PTX)?, to.load(PTX)?);
                let stream = from.stream()?;
                let mut source = from.buffer_from(&[1.0_f32; N])?;
                let mut target = to.zeros::<f32>(N)?;
                let threads = LaunchConfig::for_each(N).stream(&stream);
                module.launch(threads, scale(2.0, &mut source))?;
                target.copy_from_buffer(&source)?;
                // Must not overtake the copy.
                module.launch(threads, scale(100.0, &mut source))?;
                there.for_each(N, scale(3.0, &mut target))?;
                assert_eq!((source.to_vec()?, target.to_vec()?), (vec![200.0; N], vec![6.0; N]));
            }
        }
        Ok(())
    });
}

#[test]
fn memory_of_another_device_is_no_argument() {
    with_devices(|| {
        let devices = Device::all()?;
        let [one, two, ..] = &devices[..] else { return Ok(()) };
        let mut buffer = two.zeros::<f32>(N)?;
        let launched = one.load(PTX)?.for_each(N, scale(1.0, &mut buffer));
        assert!(matches!(launched, Err(Error::OtherDevice { .. })), "{launched:?}");
        Ok(())
    });
}

/// Kernels read and write memory of other devices, and the work of all devices keeps its order without a wait of the host.
#[test]
fn kernels_use_memory_of_peers() {
    with_devices(|| {
        let devices = Device::all()?;
        for (one, other) in devices.iter().zip(devices.iter().cycle().skip(1)) {
            if !one.can_access_peer(other)? {
                continue;
            }
            one.enable_peer_access(other)?;
            let (module, there) = (one.load(PTX)?, other.load(PTX)?);
            let (stream, streams) = (one.stream()?, [one.stream()?, other.stream()?]);
            let threads = LaunchConfig::for_each(N);
            let (mut ours, mut theirs) = (one.zeros::<f32>(N)?, other.buffer_from(&[1.0_f32; N])?);
            let mut sum = 0.0;
            for turn in 0..10 {
                // Written there, read and written here, and written there again, on streams that only the buffers order.
                there.launch(threads.stream(&streams[1]), scale(2.0, &mut theirs))?;
                module.launch(threads.stream(&stream), saxpy(1.0, &theirs, &mut ours))?;
                module.launch(threads.stream(&streams[0]), scale(0.5, &mut theirs))?;
                there.launch(threads, scale(2.0, &mut theirs))?;
                sum += 2.0_f32.powi(turn + 1);
            }
            assert_eq!((ours.to_vec()?, theirs.to_vec()?), (vec![sum; N], vec![1024.0; N]));
            // Parts of a buffer, and a buffer that is dropped behind the launch.
            let part = other.buffer_from(&[3.0_f32; 2 * N])?;
            module.launch(threads, saxpy(1.0, part.slice(N..), &mut ours))?;
            drop(part);
            assert_eq!(ours.to_vec()?, [sum + 3.0; N]);

            let recorded = one.capture(|stream| module.launch(threads.stream(stream), scale(1.0, &mut theirs)));
            assert!(matches!(recorded, Err(Error::OtherDevice { .. })), "{recorded:?}");
            let pool = other.memory_pool()?;
            let mut pooled = pool.zeros::<f32>(N)?;
            let launched = module.launch(threads, scale(1.0, &mut pooled));
            assert!(matches!(launched, Err(Error::OtherDevice { .. })), "{launched:?}");
        }
        Ok(())
    });
}

/// Two threads that launch kernels of two devices with memory of both do not wait for each other.
#[test]
fn launches_both_ways_do_not_wait_for_each_other() {
    with_devices(|| {
        let devices = Device::all()?;
        let [one, two, ..] = &devices[..] else { return Ok(()) };
        if !one.can_access_peer(two)? || !two.can_access_peer(one)? {
            return Ok(());
        }
        one.enable_peer_access(two)?;
        two.enable_peer_access(one)?;
        let (first, second) = (one.buffer_from(&[1.0_f32; N])?, two.buffer_from(&[2.0_f32; N])?);
        let add_both = |device: &Device| -> rumba::Result<Vec<f32>> {
            let (module, mut sum) = (device.load(PTX)?, device.zeros::<f32>(N)?);
            for _ in 0..100 {
                module.launch(LaunchConfig::for_each(N), saxpy(1.0, &first, &mut sum))?;
                module.launch(LaunchConfig::for_each(N), saxpy(1.0, &second, &mut sum))?;
            }
            sum.to_vec()
        };
        std::thread::scope(|scope| {
            let threads = [one, two].map(|device| scope.spawn(|| add_both(device)));
            for thread in threads {
                assert_eq!(thread.join().expect("no thread panics")?, [300.0; N]);
            }
            Ok(())
        })
    });
}

#[test]
fn work_is_shared_out() {
    with_devices(|| {
        let devices = Device::all()?;
        let mut values: Vec<f32> = (0..10 * N + 1).map(|i| i as f32).collect();
        let lengths = split_mut(&devices, &mut values, |device, start, part| {
            assert_eq!(part[0], start as f32);
            device.load(PTX)?.for_each(part.len(), scale(2.0, &mut *part))?;
            Ok(part.len())
        })?;
        assert_eq!(lengths.iter().sum::<usize>(), values.len());
        assert!(values.iter().enumerate().all(|(i, value)| *value == 2.0 * i as f32));

        let ordinals = split(&devices, 0, |device, part| {
            assert!(part.is_empty());
            Ok(device.ordinal())
        })?;
        assert_eq!(ordinals, (0..devices.len() as u32).collect::<Vec<_>>());

        let failed = split(&devices, N, |device, _| match device.ordinal() {
            0 => Err(Error::NoDevice("on purpose".to_owned())),
            _ => Ok(()),
        });
        assert!(failed.is_err() && split(&[], N, |_, _| Ok(())).is_err());
        Ok(())
    });
}

/// A buffer on each device: `value(rank, index)`.
fn buffers<T: bytemuck::Pod>(
    devices: &[Device],
    length: usize,
    value: impl Fn(usize, usize) -> T,
) -> rumba::Result<Vec<DeviceBuffer<T>>> {
    let values = |rank| (0..length).map(|index| value(rank, index)).collect::<Vec<T>>();
    devices.iter().enumerate().map(|(rank, device)| device.buffer_from(&values(rank))).collect()
}

#[test]
fn collective_operations() {
    with_devices(|| {
        let devices = Device::all()?;
        if without_nccl(&devices) {
            return Ok(());
        }
        let n = devices.len();
        let together = Communicator::new(&devices)?;
        assert_eq!(together.len(), n);

        let mut sums = buffers(&devices, N, |rank, index| (rank + 1) as f32 * index as f32)?;
        // Work before and after it, on the same buffers.
        for (device, buffer) in devices.iter().zip(&mut sums) {
            device.load(PTX)?.for_each(N, scale(2.0, buffer))?;
        }
        together.all_reduce(&mut sums, ReduceOp::Sum)?;
        for (device, buffer) in devices.iter().zip(&mut sums) {
            device.load(PTX)?.for_each(N, scale(0.5, &mut *buffer))?;
            let expected: Vec<f32> = (0..N).map(|index| (n * (n + 1) / 2 * index) as f32).collect();
            assert_eq!(buffer.to_vec()?, expected);
        }

        let ops = [
            (ReduceOp::Sum, (1..=n as i64).sum::<i64>()),
            (ReduceOp::Product, (1..=n as i64).product()),
            (ReduceOp::Max, n as i64),
            (ReduceOp::Min, 1),
            (ReduceOp::Average, (1..=n as i64).sum::<i64>() / n as i64),
        ];
        for (op, expected) in ops {
            let mut values = buffers(&devices, N, |rank, _| rank as i64 + 1)?;
            together.all_reduce(&mut values, op)?;
            for buffer in values {
                assert_eq!(buffer.to_vec()?, [expected; N], "{op:?}");
            }
        }

        let mut values = buffers(&devices, N, |rank, index| (rank * N + index) as u32)?;
        together.broadcast(&mut values, n - 1)?;
        for buffer in &values {
            assert_eq!(buffer.to_vec()?[0], ((n - 1) * N) as u32);
        }

        let parts = buffers(&devices, N, |rank, index| (rank * N + index) as f64)?;
        let mut wholes = buffers(&devices, N * n, |_, _| 0.0_f64)?;
        together.all_gather(&parts, &mut wholes)?;
        let all: Vec<f64> = (0..N * n).map(|index| index as f64).collect();
        for whole in &wholes {
            assert_eq!(whole.to_vec()?, all);
        }

        let mut parts = buffers(&devices, N, |_, _| 0.0_f64)?;
        together.reduce_scatter(&wholes, &mut parts, ReduceOp::Sum)?;
        for (rank, part) in parts.iter().enumerate() {
            assert_eq!(part.to_vec()?[1], (n * (rank * N + 1)) as f64);
        }

        let (first, rest) = parts.split_first_mut().expect("there is a device");
        if let Some(last) = rest.last_mut() {
            together.send(first.slice(..10), last.slice_mut(N - 10..))?;
            assert_eq!(last.to_vec()?[N - 9], n as f64);
        }
        Ok(())
    });
}

#[test]
fn wrong_collective_operations_say_what_is_wrong() {
    with_devices(|| {
        fn is(wrong: rumba::Result<()>, part: &str) {
            let text = wrong.expect_err("it is wrong").to_string();
            assert!(text.contains(part), "`{part}` is missing in: {text}");
        }

        let devices = Device::all()?;
        is(Communicator::new(&[]).map(drop), "at least one device");
        is(Communicator::new(&[devices[0].clone(), devices[0].clone()]).map(drop), "device 0 is in the list twice");
        if without_nccl(&devices) {
            return Ok(());
        }
        let together = Communicator::new(&devices)?;
        let mut values = buffers(&devices, N, |_, _| 0_i32)?;
        let mut longer = buffers(&devices, N + 1, |_, _| 0_i32)?;
        is(together.broadcast(&mut values, devices.len()), "there is no device");
        is(
            together.all_gather(&values, &mut longer).and_then(|()| together.all_gather(&longer, &mut values)),
            "elements",
        );
        let one_more = devices[0].zeros::<i32>(N)?;
        values.push(one_more);
        is(together.all_reduce(&mut values, ReduceOp::Max), "one buffer for each");
        values.pop();
        if devices.len() > 1 {
            values.reverse();
            is(together.all_reduce(&mut values, ReduceOp::Max), "device");
            let two = Communicator::new(&devices[..1])?;
            is(two.send(values[0].as_slice(), longer[0].as_slice_mut().slice_mut(..N)), "not one of this");
        }
        Ok(())
    });
}
