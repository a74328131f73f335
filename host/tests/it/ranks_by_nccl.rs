//! Process groups that exchange data by NCCL: a stand-in for it, with a software device and a thread for each rank.

use crate::ranks::{each, graph_with_exchanges, in_place_and_not, of_ranks, places};
use rumba::ranks::{Choice, Place, ProcessGroup, RankError, ReduceOp, TcpReason, Transport};
use rumba::test_kernels::{PTX, scale};
use rumba::{Device, DeviceBuffer, Error, LaunchConfig, Stream};
use std::time::{Duration, Instant};
use test_processes::{Outcome, alone, stand_in_for_nccl};

const NCCL: Transport = Transport::Nccl { version: (2, 28, 9) };

/// A process of its own with three software devices and the stand-in, which is told how to fail.
#[track_caller]
fn by_stand_in(fails: &str, test: impl FnOnce() -> Outcome) {
    let library = stand_in_for_nccl();
    let library = library.to_str().expect("cargo's folders have names of text");
    let variables = [
        ("RUMBA_DEVICE", "soft"),
        ("RUMBA_SOFT_DEVICES", "3"),
        ("RUMBA_NCCL_LIBRARY", library),
        ("STAND_IN_NCCL", fails),
    ];
    alone(&variables, test);
}

/// The numbers of a rank: more than a vector has lanes.
fn numbers(rank: usize) -> Vec<f32> {
    (0..1000).map(|index| (index * (rank + 1)) as f32).collect()
}

#[test]
fn the_same_operations_by_nccl() {
    by_stand_in("", || {
        for size in [1, 3] {
            each(&places(size, 20_000), |place| {
                let device = place.device().unwrap();
                let group = ProcessGroup::join(place).unwrap();
                assert_eq!(*group.transport(), NCCL);
                assert_eq!(group.transport().to_string(), "NCCL 2.28.9");
                let rank = place.rank;

                // Behind what is on the stream already.
                let module = device.load(PTX).unwrap();
                let mut buffer = device.buffer_from(&numbers(rank)).unwrap();
                module.launch(LaunchConfig::for_each(1000), scale(2.0, &mut buffer)).unwrap();
                group.all_reduce(&mut buffer, ReduceOp::Sum).unwrap();
                let ranks = (size * (size + 1) / 2) as f32;
                let sums: Vec<f32> = numbers(0).iter().map(|number| 2.0 * ranks * number).collect();
                assert_eq!(buffer.to_vec().unwrap(), sums);

                let mut means = device.buffer_from(&[rank as i32 * 3; 3]).unwrap();
                group.all_reduce(&mut means, ReduceOp::Average).unwrap();
                assert_eq!(means.to_vec().unwrap(), [3 * (size as i32 - 1) / 2; 3]);
                let mut most = device.buffer_from(&[rank as u64]).unwrap();
                group.all_reduce(&mut most, ReduceOp::Max).unwrap();
                assert_eq!(most.to_vec().unwrap(), [size as u64 - 1]);
                let mut none: DeviceBuffer<f64> = device.zeros(0).unwrap();
                group.all_reduce(&mut none, ReduceOp::Min).unwrap();

                for root in 0..size {
                    let mut sent = device.buffer_from(&[10 * rank as u32 + 1]).unwrap();
                    group.broadcast(&mut sent, root).unwrap();
                    assert_eq!(sent.to_vec().unwrap(), [10 * root as u32 + 1]);
                }
                let (part, mut whole) =
                    (device.buffer_from(&[rank as u8; 2]).unwrap(), device.zeros(2 * size).unwrap());
                group.all_gather(&part, &mut whole).unwrap();
                let ranks: Vec<u8> = (0..2 * size as u8).map(|index| index / 2).collect();
                assert_eq!(whole.to_vec().unwrap(), ranks);
                if size > 1 {
                    in_place_and_not(&group, &device).unwrap();
                    graph_with_exchanges(&group, &device).unwrap();
                }
                group.barrier().unwrap();
            });
        }
        Ok(())
    });
}

/// The host does not wait for an operation, and other streams do not either.
#[test]
fn operations_are_put_on_streams() {
    by_stand_in("", || {
        let places = places(2, 20_000);
        let late = Duration::from_millis(400);
        each(&places, |place| {
            let device = place.device().unwrap();
            let group = ProcessGroup::join(place).unwrap();
            let stream = device.stream().unwrap();
            let beside = group.on(&stream);
            let mut buffer = device.buffer_from(&[place.rank as u32; 100]).unwrap();
            let mut other = device.zeros::<f32>(1000).unwrap();
            let module = device.load(PTX).unwrap();
            group.barrier().unwrap();
            let begin = Instant::now();
            if place.rank == 1 {
                std::thread::sleep(late);
            }
            for _ in 0..20 {
                beside.all_reduce(&mut buffer, ReduceOp::Max).unwrap();
            }
            module.launch(LaunchConfig::for_each(1000), scale(2.0, &mut other)).unwrap();
            if place.rank == 0 {
                assert!(!stream.is_done().unwrap(), "rank 1 has not come");
                assert!(begin.elapsed() < late, "{:?}", begin.elapsed());
            }
            stream.synchronize().unwrap();
            assert!(begin.elapsed() >= late);
            assert_eq!(buffer.to_vec().unwrap(), [1; 100]);
            // Dropped with operations on the stream, which are done nevertheless.
            beside.all_reduce(&mut buffer, ReduceOp::Sum).unwrap();
            drop((group, beside));
            assert_eq!(buffer.to_vec().unwrap(), [2; 100]);
        });
        Ok(())
    });
}

/// A rank that ends while operations of other ranks are on streams: their next wait says so, whatever is waited for.
#[test]
fn a_wait_says_that_a_rank_is_lost() {
    type Wait = fn(&Device, &Stream, &DeviceBuffer<f32>) -> rumba::Result<()>;
    const WAITS: [Wait; 4] = [
        |device, _, _| device.synchronize(),
        |_, stream, _| stream.synchronize(),
        |_, _, buffer| buffer.to_vec().map(drop),
        |_, stream, _| stream.record()?.synchronize(),
    ];
    by_stand_in("", || {
        for wait in WAITS {
            each(&places(3, 60_000), |place| {
                let device = place.device().unwrap();
                let group = ProcessGroup::join(place).unwrap();
                let stream = device.stream().unwrap();
                let mut buffer = device.buffer_from(&[1.0_f32; 8]).unwrap();
                group.on(&stream).all_reduce(&mut buffer, ReduceOp::Sum).unwrap();
                stream.synchronize().unwrap();
                if place.rank == 2 {
                    return;
                }
                let begin = Instant::now();
                for _ in 0..3 {
                    group.on(&stream).all_reduce(&mut buffer, ReduceOp::Sum).unwrap();
                }
                let error = of_ranks(wait(&device, &stream, &buffer));
                assert!(matches!(error, RankError::Lost { rank: 2, operation: "all_reduce" }), "{error}");
                assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
                // A wait says it once, operations again and again; the stream goes on.
                wait(&device, &stream, &buffer).unwrap();
                for _ in 0..2 {
                    let again = of_ranks(group.all_reduce(&mut buffer, ReduceOp::Sum));
                    assert_eq!(again.to_string(), error.to_string());
                }
            });
        }
        Ok(())
    });
}

/// A program that puts operations on streams and never waits: few are in progress, and the end of another rank ends the loop.
#[test]
fn a_rank_that_does_not_wait_is_told() {
    by_stand_in("", || {
        each(&places(3, 60_000), |place| {
            let device = place.device().unwrap();
            let group = ProcessGroup::join(place).unwrap();
            let (mut most, one) = (device.zeros::<u32>(1).unwrap(), device.stream().unwrap());
            for turn in 0..200 {
                let group = if turn % 3 == 0 { group.on(&one) } else { group.clone() };
                group.all_reduce(&mut most, ReduceOp::Max).unwrap();
            }
            assert_eq!(most.to_vec().unwrap(), [0]);
            group.barrier().unwrap();
            if place.rank == 2 {
                return;
            }
            let begin = Instant::now();
            let error = loop {
                let put = group.all_reduce(&mut most, ReduceOp::Max);
                if put.is_err() {
                    break of_ranks(put);
                }
            };
            assert!(matches!(error, RankError::Lost { rank: 2, operation: "all_reduce" }), "{error}");
            assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
        });
        Ok(())
    });
}

#[test]
fn memory_of_another_device_is_refused() {
    by_stand_in("", || {
        let group = ProcessGroup::join_on(&Place::alone(), &Device::get(2)?)?;
        let mut buffer = Device::get(1)?.zeros::<f32>(4)?;
        let error = group.all_reduce(&mut buffer, ReduceOp::Sum).unwrap_err();
        assert!(matches!(error, Error::OtherDevice { ours: 2, theirs: 1, .. }), "{error}");
        // Nothing was asked of the other ranks.
        group.barrier()?;
        Ok(())
    });
}

/// All ranks get the same transport, also where one has asked for it.
#[test]
fn a_rank_may_ask_for_a_transport() {
    by_stand_in("", || {
        let mut places = places(3, 20_000);
        places[1].transport = Choice::Tcp;
        for group in each(&places, |place| ProcessGroup::join(place).map(|group| group.transport().clone())) {
            let reason = TcpReason::Chosen { rank: 1 };
            assert_eq!(group?, Transport::Tcp { reason });
        }
        places[2].transport = Choice::Nccl;
        for error in each(&places, |place| of_ranks(ProcessGroup::join(place))) {
            let reason = TcpReason::Chosen { rank: 1 };
            assert!(matches!(&error, RankError::NoNccl { reason: why, .. } if *why == reason), "{error}");
        }
        Ok(())
    });
}

#[test]
fn without_nccl_ranks_take_tcp() {
    let cases = [
        ("", TcpReason::NoGpu { rank: 0 }, ""),
        // A library that is NCCL by its functions, but not for this device, is not here: the C library has none of them.
        ("libc.so.6", TcpReason::NoLibrary { rank: 0 }, "`ncclGetVersion`"),
        ("/no/such/libnccl.so", TcpReason::NoLibrary { rank: 0 }, "No such file"),
    ];
    let case: usize = std::env::var("CASE").map_or(0, |case| case.parse().expect("a number"));
    for (number, (library, reason, cause)) in cases.into_iter().enumerate() {
        let number_text = number.to_string();
        let variables = [("RUMBA_DEVICE", "soft"), ("RUMBA_NCCL_LIBRARY", library), ("CASE", &number_text)];
        if test_processes::asked().is_some() && number != case {
            continue;
        }
        alone(&variables, || {
            let mut places = places(2, 20_000);
            let joined = each(&places, |place| {
                let group = ProcessGroup::join(place)?;
                let mut buffer = place.device()?.buffer_from(&[1.0_f64])?;
                group.all_reduce(&mut buffer, ReduceOp::Sum)?;
                Ok((group.transport().clone(), buffer.to_vec()?))
            });
            for result in joined {
                let result: rumba::Result<_> = result;
                assert_eq!(result?, (Transport::Tcp { reason }, vec![2.0]));
            }
            places[1].transport = Choice::Nccl;
            for error in each(&places, |place| of_ranks(ProcessGroup::join(place))) {
                let text = error.to_string();
                assert!(matches!(error, RankError::NoNccl { .. }), "{text}");
                assert!(text.contains(&reason.to_string()) && text.contains(cause), "{text}");
            }
            Ok(())
        });
    }
}

/// The error of each rank, and how long it took.
fn errors(timeout: u64) -> Vec<(RankError, Duration)> {
    each(&places(3, timeout), |place| {
        let group = ProcessGroup::join(place).expect("all ranks come");
        let mut buffer = place.device().unwrap().buffer_from(&[1.0_f32; 8]).unwrap();
        let begin = Instant::now();
        let device = place.device().unwrap();
        let error = of_ranks(group.all_reduce(&mut buffer, ReduceOp::Sum).and_then(|()| device.synchronize()));
        let waited = begin.elapsed();
        let again = of_ranks(group.all_reduce(&mut buffer, ReduceOp::Sum));
        assert_eq!(error.to_string(), again.to_string(), "an error ends the group");
        // The stream goes on: nothing on it waits for the other ranks any more.
        buffer.to_vec().unwrap();
        (error, waited)
    })
}

#[test]
fn a_rank_that_fails_ends_the_group() {
    by_stand_in("operation:1", one_fails);
}

#[test]
fn a_rank_that_cannot_put_an_operation_on_a_stream_ends_the_group() {
    by_stand_in("put:1", one_fails);
}

fn one_fails() -> Outcome {
    {
        for (rank, (error, waited)) in errors(60_000).into_iter().enumerate() {
            assert!(waited < Duration::from_secs(20), "rank {rank} waited for {waited:?}");
            let text = error.to_string();
            match rank {
                1 => assert!(
                    matches!(error, RankError::Failed { rank: 1, operation: "all_reduce", .. })
                        && text.contains("remote process exited")
                        && text.contains("told to fail"),
                    "{text}"
                ),
                _ => assert!(matches!(error, RankError::Lost { rank: 1, operation: "all_reduce" }), "{text}"),
            }
        }
        Ok(())
    }
}

#[test]
fn an_operation_that_does_not_end_is_ended() {
    by_stand_in("hang:2", || {
        for (error, waited) in errors(500) {
            assert!(waited < Duration::from_secs(20), "{waited:?}");
            assert!(
                matches!(error, RankError::Stalled { operation: "all_reduce", after } if after.as_millis() == 500),
                "{error}"
            );
        }
        Ok(())
    });
}

#[test]
fn a_rank_that_cannot_join_is_named() {
    by_stand_in("join:1", || {
        let errors = each(&places(3, 60_000), |place| of_ranks(ProcessGroup::join(place)));
        assert!(
            matches!(&errors[1], RankError::Failed { rank: 1, operation, .. } if operation.ends_with("by NCCL")),
            "{}",
            errors[1]
        );
        for error in [&errors[0], &errors[2]] {
            assert!(matches!(error, RankError::Lost { rank: 1, .. }), "{error}");
        }
        Ok(())
    });
}

#[test]
fn a_late_rank_is_named() {
    by_stand_in("", || {
        let errors = each(&places(3, 1500), |place| {
            let group = ProcessGroup::join(place).expect("all ranks come");
            let device = place.device().unwrap();
            let mut buffer = device.zeros::<f32>(4).unwrap();
            if place.rank == 1 {
                std::thread::sleep(Duration::from_millis(4000));
            }
            of_ranks(group.all_reduce(&mut buffer, ReduceOp::Sum).and_then(|()| group.barrier()))
        });
        for error in errors {
            assert!(matches!(error, RankError::Late { rank: 1, .. }), "{error}");
        }
        Ok(())
    });
}

/// The other ranks have joined and say so while rank 0 still joins.
#[test]
fn rank_0_may_join_last() {
    by_stand_in("slow:0", || {
        each(&places(3, 20_000), |place| {
            let group = ProcessGroup::join(place).unwrap();
            let mut buffer = place.device().unwrap().buffer_from(&[1_u32]).unwrap();
            group.all_reduce(&mut buffer, ReduceOp::Sum).unwrap();
            assert_eq!(buffer.to_vec().unwrap(), [3]);
            group.barrier().unwrap();
        });
        Ok(())
    });
}

/// A rank that comes to another operation is noticed although NCCL waits.
#[test]
fn ranks_at_different_operations_are_told() {
    by_stand_in("", || {
        let errors = each(&places(3, 60_000), |place| {
            let group = ProcessGroup::join(place).expect("all ranks come");
            let device = place.device().unwrap();
            let mut buffer = device.zeros::<f32>(if place.rank == 2 { 5 } else { 4 }).unwrap();
            of_ranks(group.all_reduce(&mut buffer, ReduceOp::Sum).and_then(|()| device.synchronize()))
        });
        for error in errors {
            assert!(matches!(error, RankError::Disagreement { rank: 2, .. }), "{error}");
        }
        Ok(())
    });
}
