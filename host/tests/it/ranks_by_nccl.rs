//! Process groups that exchange data by NCCL: a stand-in for it, with a software device and a thread for each rank.

use crate::ranks::{each, of_ranks, places};
use rumba::ranks::{Choice, Place, ProcessGroup, RankError, ReduceOp, TcpReason, Transport};
use rumba::test_kernels::{PTX, scale};
use rumba::{Device, DeviceBuffer, Error, LaunchConfig};
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
                let mut group = ProcessGroup::join(place).unwrap();
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
                group.barrier().unwrap();
            });
        }
        Ok(())
    });
}

#[test]
fn memory_of_another_device_is_refused() {
    by_stand_in("", || {
        let mut group = ProcessGroup::join_on(&Place::alone(), &Device::get(2)?)?;
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
                let mut group = ProcessGroup::join(place)?;
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
        let mut group = ProcessGroup::join(place).expect("all ranks come");
        let mut buffer = place.device().unwrap().buffer_from(&[1.0_f32; 8]).unwrap();
        let begin = Instant::now();
        let error = of_ranks(group.all_reduce(&mut buffer, ReduceOp::Sum));
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
    by_stand_in("operation:1", || {
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
    });
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

/// A rank that comes to another operation is noticed before NCCL is asked for anything.
#[test]
fn ranks_at_different_operations_are_told_before_nccl_waits() {
    by_stand_in("", || {
        let errors = each(&places(3, 60_000), |place| {
            let mut group = ProcessGroup::join(place).expect("all ranks come");
            let device = place.device().unwrap();
            let mut buffer = device.zeros::<f32>(if place.rank == 2 { 5 } else { 4 }).unwrap();
            of_ranks(group.all_reduce(&mut buffer, ReduceOp::Sum))
        });
        for error in errors {
            assert!(matches!(error, RankError::Disagreement { rank: 2, .. }), "{error}");
        }
        Ok(())
    });
}
