//! Symmetric memory: kernels of several ranks that read and write each other's memory while they run, on three software devices, on all
//! GPUs, and with several ranks on one device.

use rumba::symmetric::{Get, MOST_RANKS, Put};
use rumba::{Device, DeviceBuffer, Error, LaunchConfig, Module, SymmetricBuffer, error::RankError};
use test_kernels::faulty::unordered_exchange;
use test_kernels::forms::symmetric::{add_ranks, all_to_all, exchange_or_panic, reach_rank};
use test_processes::{Outcome, alone};

const PTX: &str = include_str!(env!("FORMS_PTX"));

/// A process of its own, with three software devices or all GPUs.
#[track_caller]
fn with_devices(variables: &[(&str, &str)], test: impl FnOnce() -> Outcome) {
    alone(&[&[("RUMBA_SOFT_DEVICES", "3")], variables].concat(), test);
}

/// The devices of ranks: each device once, and one device for three ranks.
fn ranks() -> rumba::Result<[Vec<Device>; 2]> {
    let devices = Device::all()?;
    let one = vec![devices[0].clone(); 3];
    Ok([devices, one])
}

fn modules(devices: &[Device]) -> rumba::Result<Vec<Module>> {
    devices.iter().map(|device| device.load_named("forms.ptx", PTX)).collect()
}

/// The result of [`add_ranks`] on every rank.
fn added(turns: usize, x: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut values = x.to_vec();
    for turn in 0..turns {
        let length = values[0].len();
        let sum = |i: usize| values.iter().fold(0_u32, |sum, of| sum.wrapping_add(of[(i + turn) % length]));
        let sums: Vec<u32> = (0..length).map(sum).collect();
        for values in &mut values {
            values.iter_mut().zip(&sums).for_each(|(value, sum)| *value = value.wrapping_mul(3).wrapping_add(*sum));
        }
    }
    values
}

/// Many exchanges in one launch, and many launches without a wait of the host.
fn adds(devices: &[Device]) -> Outcome {
    let modules = modules(devices)?;
    for (blocks, threads) in [(1, 1), (1, 32), (3, 2), (4, 65), (7, 128)] {
        let length = (blocks * threads) as usize;
        let mut memories = SymmetricBuffer::<u32>::all(devices, length)?;
        let mut x: Vec<Vec<u32>> =
            (0..devices.len()).map(|rank| (0..length).map(|i| (rank * 1000 + i * i) as u32).collect()).collect();
        let buffers = |device: &Device, x: &Vec<u32>| Ok([device.buffer_from(x)?, device.zeros::<u32>(length)?]);
        let mut buffers: Vec<[DeviceBuffer<u32>; 2]> =
            devices.iter().zip(&x).map(|(device, x)| buffers(device, x)).collect::<rumba::Result<_>>()?;
        let streams: Vec<_> = devices.iter().map(Device::stream).collect::<rumba::Result<_>>()?;
        for turns in [0, 1, 2, 9] {
            for (rank, [x, y]) in buffers.iter_mut().enumerate() {
                let shape = LaunchConfig::new(blocks, threads).stream(&streams[rank]);
                modules[rank].launch(shape, add_ranks(turns, &*x, &mut *y, &mut memories[rank]))?;
                std::mem::swap(x, y);
            }
            x = added(turns as usize, &x);
        }
        for (rank, [result, _]) in buffers.iter().enumerate() {
            assert_eq!(result.to_vec()?, x[rank], "rank {rank}, {blocks} blocks of {threads} threads");
        }
    }
    Ok(())
}

#[test]
fn ranks_add_what_others_have() {
    with_devices(&[], || ranks()?.iter().try_for_each(|devices| adds(devices)));
}

#[test]
fn ranks_add_what_others_have_in_the_interpreter() {
    with_devices(&[("RUMBA_ENGINE", "interpreter")], || ranks()?.iter().try_for_each(|devices| adds(devices)));
}

/// No check finds anything in exchanges, between devices and on one device.
#[test]
fn exchanges_are_right_by_all_checks() {
    let variables = [("RUMBA_DEVICE", "soft"), ("RUMBA_CHECK", "all")];
    with_devices(&variables, || ranks()?.iter().try_for_each(|devices| adds(devices)));
}

/// The check of races finds that the kernels of two devices read what the other one writes, and names both.
#[test]
fn a_race_between_devices_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("findings.json");
    let variables = [
        ("RUMBA_DEVICE", "soft"),
        ("RUMBA_SOFT_DEVICES", "2"),
        ("RUMBA_CHECK", "race"),
        ("RUMBA_CHECK_EXIT", "0"),
        ("RUMBA_CHECK_JSON", file.to_str().expect("the folder's name is UTF-8")),
    ];
    let launched = alone(&variables, || {
        let devices = Device::all()?;
        let (mut memory, mut flags, mut y, mut modules) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for device in &devices {
            memory.push(device.zeros::<u32>(64)?);
            flags.push(device.zeros::<u32>(1)?);
            y.push(device.zeros::<u32>(64)?);
            modules.push(device.load_named("faulty.ptx", include_str!(env!("FAULTY_PTX")))?);
        }
        devices.iter().try_for_each(Device::synchronize)?;
        let pointers: Vec<_> =
            memory.iter().zip(&flags).map(|(of, flag)| (of.as_device_pointer(), flag.as_device_pointer())).collect();
        for (rank, module) in modules.iter().enumerate() {
            let (theirs, their_flag) = pointers[1 - rank];
            // SAFETY: the memory lives until the kernels have ended. Their race does no harm on the software device.
            let call =
                unsafe { unordered_exchange(&mut memory[rank], &mut flags[rank], theirs, their_flag, &mut y[rank]) };
            module.launch((1, 64), call)?;
        }
        for y in &y {
            assert_eq!(y.to_vec()?, [7; 64]);
        }
        Ok(())
    });
    if launched.is_none() {
        return;
    }
    let text = std::fs::read_to_string(&file).expect("there are findings");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    let races: Vec<_> = lines.iter().filter(|line| line["kind"] == "DataRace").collect();
    assert!(!races.is_empty(), "{text}");
    for race in races {
        let sides = race["sides"].as_array().expect("a list");
        let device = |side: &serde_json::Value| {
            let what = side["action"].as_str().unwrap_or_default().to_owned();
            (0..2).find(|device| what.contains(&format!("in kernel `unordered_exchange` on device {device}")))
        };
        let mut devices: Vec<_> = sides.iter().map(|side| device(side).unwrap_or_else(|| panic!("{text}"))).collect();
        devices.sort_unstable();
        assert_eq!(devices, [0, 1], "{text}");
    }
}

#[test]
fn ranks_put_parts_into_the_memory_of_others() {
    with_devices(&[], || {
        for devices in ranks()? {
            let (size, modules) = (devices.len(), modules(&devices)?);
            for (length, blocks) in [(1, 1), (5, 2), (100, 3), (1000, 5)] {
                let all = size * length;
                // The elements behind the last whole part belong to no rank.
                let mut memories = SymmetricBuffer::<u64, Put>::all(&devices, all + size - 1)?;
                let of = |rank: usize| -> Vec<u64> { (0..all).map(|i| (rank * 1_000_000 + i) as u64).collect() };
                let mut y = Vec::new();
                let streams: Vec<_> = devices.iter().map(Device::stream).collect::<rumba::Result<_>>()?;
                let x = (0..size).map(|rank| devices[rank].buffer_from(&of(rank)));
                let x: Vec<_> = x.collect::<rumba::Result<_>>()?;
                for device in &devices {
                    y.push(device.zeros::<u64>(all)?);
                }
                for (rank, memory) in memories.iter_mut().enumerate() {
                    let shape = LaunchConfig::new(blocks, 32).stream(&streams[rank]);
                    modules[rank].launch(shape, all_to_all(&x[rank], &mut y[rank], memory))?;
                }
                for (rank, y) in y.iter().enumerate() {
                    let expected: Vec<u64> =
                        (0..size).flat_map(|other| of(other)[rank * length..][..length].to_vec()).collect();
                    assert_eq!(y.to_vec()?, expected, "rank {rank} of {size}, parts of {length}");
                }
            }
        }
        Ok(())
    });
}

/// Exchanges of several launches of one graph, which each rank launches again and again.
#[test]
fn graphs_have_exchanges_of_kernels() {
    with_devices(&[], || {
        for devices in ranks()? {
            let modules = modules(&devices)?;
            let mut memories = SymmetricBuffer::<u32>::all(&devices, 64)?;
            let mut x: Vec<Vec<u32>> = (0..devices.len()).map(|rank| vec![rank as u32; 64]).collect();
            let (mut buffers, mut graphs, mut streams) = (Vec::new(), Vec::new(), Vec::new());
            for (device, x) in devices.iter().zip(&x) {
                buffers.push([device.buffer_from(x)?, device.zeros::<u32>(64)?]);
                streams.push(device.stream()?);
            }
            for (rank, [x, y]) in buffers.iter_mut().enumerate() {
                graphs.push(devices[rank].capture(|stream| {
                    let shape = LaunchConfig::new(2, 32).stream(stream);
                    modules[rank].launch(shape, add_ranks(2, &*x, &mut *y, &mut memories[rank]))?;
                    modules[rank].launch(shape, add_ranks(3, &*y, &mut *x, &mut memories[rank]))
                })?);
            }
            for _ in 0..5 {
                for (graph, stream) in graphs.iter().zip(&streams) {
                    graph.launch_on(stream)?;
                }
                x = added(3, &added(2, &x));
            }
            for (rank, [result, _]) in buffers.iter().enumerate() {
                assert_eq!(result.to_vec()?, x[rank], "rank {rank}");
            }
        }
        Ok(())
    });
}

/// Whether an error is the panic of a rank that has waited in vain.
fn is_late(outcome: &rumba::Result<()>) -> bool {
    matches!(outcome, Err(Error::Panic(panic)) if panic.to_string().contains("a rank has not come"))
}

/// A rank whose kernel is not launched does not keep the others for ever, and what it left is used no more.
#[test]
fn a_rank_that_does_not_come_is_told_of() {
    with_devices(&[("RUMBA_RANK_TIMEOUT", "1")], || {
        let device = Device::new()?;
        let module = device.load_named("forms.ptx", PTX)?;
        let mut memories = SymmetricBuffer::<u32>::all(&[device.clone(), device.clone()], 64)?;
        let [one, other] = &mut memories[..] else { unreachable!("there are two ranks") };
        module.launch((2, 32), exchange_or_panic(0, &mut *one))?;
        assert!(is_late(&device.synchronize()));
        // Rank 1 finds that rank 0 has come, and goes on; the next exchange of rank 0 does not begin.
        module.launch((2, 32), exchange_or_panic(0, &mut *other))?;
        device.synchronize()?;
        module.launch((2, 32), exchange_or_panic(0, &mut *one))?;
        assert!(is_late(&device.synchronize()));
        Ok(())
    });
}

/// The panic of a thread is what its rank is told; the other rank ends, with or without it.
#[test]
fn a_thread_that_panics_is_told_of() {
    with_devices(&[("RUMBA_RANK_TIMEOUT", "1")], || {
        let device = Device::new()?;
        let module = device.load_named("forms.ptx", PTX)?;
        let streams = [device.stream()?, device.stream()?];
        let mut memories = SymmetricBuffer::<u32>::all(&[device.clone(), device.clone()], 66)?;
        for (rank, memory) in memories.iter_mut().enumerate() {
            let shape = LaunchConfig::new(2, 33).stream(&streams[rank]);
            module.launch(shape, exchange_or_panic(u32::from(rank == 0), memory))?;
        }
        let told = device.synchronize();
        assert!(matches!(&told, Err(Error::Panic(panic)) if panic.to_string().contains("on purpose")), "{told:?}");
        Ok(())
    });
}

/// No number reaches beyond the ranks.
#[test]
fn a_rank_that_does_not_exist_is_a_panic() {
    with_devices(&[], || {
        let device = Device::new()?;
        let module = device.load_named("forms.ptx", PTX)?;
        for rank in [1, 2, 15, 16, 1 << 29, 1 << 32, 1 << 61, 1 << 63, u64::MAX] {
            for reads in [0, 1] {
                let mut alone = SymmetricBuffer::<u32, Put>::all(std::slice::from_ref(&device), 8)?;
                module.launch((1, 32), reach_rank(0, reads, &mut alone[0]))?;
                device.synchronize()?;
                module.launch((1, 32), reach_rank(rank, reads, &mut alone[0]))?;
                let told = device.synchronize();
                let is_told = matches!(&told, Err(Error::Panic(panic)) if panic.to_string().contains("no such rank"));
                assert!(is_told, "{rank:#x}: {told:?}");
            }
        }
        Ok(())
    });
}

#[test]
fn memory_may_be_dropped_in_any_order() {
    with_devices(&[], || {
        let devices = Device::all()?;
        let modules = modules(&devices)?;
        for turn in 0..4 {
            let mut memories = SymmetricBuffer::<u32>::all(&devices, 64)?;
            for (rank, memory) in memories.iter_mut().enumerate() {
                modules[rank].launch((2, 32), exchange_or_panic(0, memory))?;
            }
            if turn % 2 == 0 {
                memories.reverse();
            }
            memories.into_iter().for_each(drop);
        }
        devices.iter().try_for_each(Device::synchronize)?;
        Ok(())
    });
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    with_devices(&[], || {
        let device = Device::new()?;
        let many = vec![device.clone(); MOST_RANKS + 1];
        let refused = SymmetricBuffer::<u32>::all(&many, 1).err();
        let is_rank_error = |error: &Error| matches!(error, Error::Rank(error) if matches!(**error, RankError::TooManyRanks { size: 17, most: 16 }));
        assert!(refused.as_ref().is_some_and(is_rank_error), "{refused:?}");
        let refused = SymmetricBuffer::<u32>::all(std::slice::from_ref(&device), usize::MAX / 2).err();
        assert!(matches!(refused, Some(Error::TooLarge { .. })), "{refused:?}");
        // Without elements there is nothing to exchange but the barrier.
        let module = device.load_named("forms.ptx", PTX)?;
        let mut memories = SymmetricBuffer::<u32, Get>::all(&[device], 1)?;
        assert_eq!((memories[0].rank(), memories[0].ranks(), memories[0].len()), (0, 1, 1));
        module.launch((1, 1), exchange_or_panic(0, &mut memories[0]))?;
        assert!(SymmetricBuffer::<u32>::all(&[], 5)?.is_empty());
        Ok(())
    });
}
