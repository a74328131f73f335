//! Process groups, with a thread for each rank; processes are started and killed by the tests of the training program.

use rumba::ranks::{Choice, Element, Place, ProcessGroup, RankError, ReduceOp};
use rumba::symmetric::{Get, Put};
use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Device, Error, LaunchConfig};
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// An address of this machine at which nothing listens. Its port is none that the system gives to programs that ask for any port: one of
/// those could be another program's before rank 0 listens there. To listen there as a trial would keep the port for longer: a process
/// that another test starts meanwhile inherits the listener until it executes its program.
fn free_address() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let mut addresses = (0..1000).map(|_| {
        let number = std::process::id().wrapping_mul(37).wrapping_add(NEXT.fetch_add(1, Relaxed).into());
        SocketAddr::from(([127, 0, 0, 1], (10_000 + number % 20_000) as u16))
    });
    let is_free = |address: &SocketAddr| {
        TcpStream::connect(address).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    addresses.find(is_free).expect("a port is free").to_string()
}

/// Places of so many ranks on this machine.
pub(crate) fn places(size: usize, timeout: u64) -> Vec<Place> {
    let address = free_address();
    let place = |rank| Place {
        rank,
        size,
        local_rank: rank,
        address: address.clone(),
        timeout: Duration::from_millis(timeout),
        transport: Choice::Automatic,
    };
    (0..size).map(place).collect()
}

/// Runs `work` for each of several ranks, all at the same time.
pub(crate) fn each<R: Send>(places: &[Place], work: impl Fn(&Place) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let threads: Vec<_> = places.iter().map(|place| scope.spawn(|| work(place))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("no rank panics"));
        joined.collect()
    })
}

/// The results of all ranks after an all-reduce of their own data.
fn all_reduce<T: Element>(size: usize, op: ReduceOp, own: impl Fn(usize) -> Vec<T> + Sync) -> Vec<Vec<T>> {
    let device = Device::new().expect("there is a device");
    each(&places(size, 20_000), |place| {
        let group = ProcessGroup::join(place).expect("all ranks come");
        let mut buffer = device.buffer_from(&own(place.rank)).expect("there is memory");
        group.all_reduce(&mut buffer, op).expect("all ranks call this");
        buffer.to_vec().expect("it is there")
    })
}

#[test]
fn all_ranks_have_the_same_result() {
    for size in [1, 2, 4] {
        let n = size as f32;
        let sums = all_reduce(size, ReduceOp::Sum, |rank| vec![rank as f32 + 1.0, 0.5]);
        assert_eq!(sums, vec![vec![n * (n + 1.0) / 2.0, 0.5 * n]; size]);
        let means = all_reduce(size, ReduceOp::Average, |rank| vec![rank as i32; 3]);
        assert_eq!(means, vec![vec![(size as i32 - 1) / 2; 3]; size]);
        let most = all_reduce(size, ReduceOp::Max, |rank| vec![rank as u64; 1000]);
        assert_eq!(most, vec![vec![size as u64 - 1; 1000]; size]);
        assert_eq!(all_reduce(size, ReduceOp::Min, |_| Vec::<i8>::new()), vec![Vec::<i8>::new(); size]);
    }
}

/// Ranks in one process, or on the software device, get no memory of each other from the driver: an error of all ranks.
#[test]
fn ranks_without_symmetric_memory_are_told() {
    let ask = |lengths: [usize; 2]| {
        each(&places(2, 20_000), |place| {
            let device = place.device().expect("there is a device");
            let group = ProcessGroup::join(place).expect("all ranks come");
            let refused = group.symmetric::<f32, Get>(&device, lengths[place.rank]);
            group.barrier().expect("the group goes on");
            match refused {
                Err(Error::Rank(error)) => *error,
                other => panic!("{other:?}"),
            }
        })
    };
    assert!(ask([10, 10]).iter().all(|error| matches!(error, RankError::NoPeerMemory { .. })));
    for error in ask([10, 11]) {
        assert!(
            matches!(&error, RankError::Disagreement { rank: 1, theirs, .. } if theirs.contains("11 elements")),
            "{error}"
        );
    }
    let alone = ProcessGroup::join(&Place::alone()).expect("a group of one rank waits for no other rank");
    let memory = alone.symmetric::<u64, Put>(&Device::new().expect("there is a device"), 7).expect("there is memory");
    assert_eq!((memory.rank(), memory.ranks(), memory.len()), (0, 1, 7));
}

#[test]
fn floats_are_added_in_the_order_of_ranks() {
    let own = [1e8_f32, 1.0, -1e8, 1.0];
    let sums = all_reduce(4, ReduceOp::Sum, |rank| vec![own[rank]]);
    assert_eq!(sums, vec![vec![((own[0] + own[1]) + own[2]) + own[3]]; 4]);
}

#[test]
fn values_are_broadcast_and_gathered() {
    let device = Device::new().expect("there is a device");
    let results = each(&places(3, 20_000), |place| -> rumba::Result<_> {
        let group = ProcessGroup::join(place)?;
        assert_eq!((group.rank(), group.size()), (place.rank, 3));
        group.barrier()?;
        let mut gathered = device.zeros(6)?;
        group.all_gather(&device.buffer_from(&[place.rank as u32; 2])?, &mut gathered)?;
        let mut sent = Vec::new();
        for root in 0..3 {
            let mut buffer = device.buffer_from(&[10 * place.rank as u16 as i32 + 1])?;
            group.broadcast(&mut buffer, root)?;
            sent.extend(buffer.to_vec()?);
        }
        let (few, mut many) = (device.zeros::<u8>(2)?, device.zeros(5)?);
        let wrong = [
            group.all_gather(&few, &mut many),
            group.all_gather_in_place(&mut many),
            group.all_reduce_into(&few, &mut many, ReduceOp::Sum),
            group.reduce_scatter(&few, &mut many, ReduceOp::Sum),
            group.reduce_scatter_in_place(&mut many, ReduceOp::Sum),
            group.broadcast(&mut many, 3),
        ];
        let [mismatches @ .., no_rank] = wrong.map(|result| result.expect_err("none is possible"));
        for error in mismatches {
            assert!(matches!(error, Error::LengthMismatch { .. }), "{error:?}");
        }
        assert_eq!(no_rank.to_string(), "there is no rank 3 in a group of 3: ranks are counted from 0");
        group.barrier()?;
        Ok((gathered.to_vec()?, sent))
    });
    for result in results {
        assert_eq!(result.expect("all is in order"), (vec![0, 0, 1, 1, 2, 2], vec![1, 11, 21]));
    }
}

/// The same operations with results in other buffers, in place, and in parts of a buffer.
pub(crate) fn in_place_and_not(group: &ProcessGroup, device: &Device) -> rumba::Result<()> {
    let (rank, size) = (group.rank(), group.size());
    let sum = (size * (size + 1) / 2) as i32;
    let own: Vec<i32> = (0..2 * size as i32).map(|index| index * (rank as i32 + 1)).collect();
    let sums: Vec<i32> = (0..2 * size as i32).map(|index| index * sum).collect();
    let part = 2 * rank..2 * rank + 2;

    let (source, mut target) = (device.buffer_from(&own)?, device.zeros(own.len())?);
    group.all_reduce_into(&source, &mut target, ReduceOp::Sum)?;
    assert_eq!((source.to_vec()?, target.to_vec()?), (own.clone(), sums.clone()));

    let mut scattered = device.zeros(2)?;
    group.reduce_scatter(&source, &mut scattered, ReduceOp::Sum)?;
    assert_eq!(scattered.to_vec()?, sums[part.clone()]);
    group.reduce_scatter_in_place(&mut target, ReduceOp::Max)?;
    let most: Vec<i32> = sums[part.clone()].to_vec();
    assert_eq!(target.slice(part.clone()).to_vec()?, most);

    let mut gathered = device.zeros(own.len())?;
    gathered.slice_mut(part).copy_from(&most)?;
    group.all_gather_in_place(&mut gathered)?;
    assert_eq!(gathered.to_vec()?, sums);

    let mut whole = device.buffer_from(&own)?;
    group.all_reduce(whole.slice_mut(1..3), ReduceOp::Sum)?;
    assert_eq!(whole.to_vec()?, [&own[..1], &sums[1..3], &own[3..]].concat());
    Ok(())
}

/// A graph with launches and exchanges, launched several times.
pub(crate) fn graph_with_exchanges(group: &ProcessGroup, device: &Device) -> rumba::Result<()> {
    let (rank, size) = (group.rank(), group.size());
    let module = device.load(PTX)?;
    let mut first = device.buffer_from(&vec![1.0 + rank as f32; 100])?;
    let mut second = device.buffer_from(&[1.0_f32; 50])?;
    let half = LaunchConfig::for_each(50);
    let graph = device.capture(|stream| {
        module.launch(LaunchConfig::for_each(100).stream(stream), scale(2.0, &mut first))?;
        group.on(stream).all_reduce(first.slice_mut(50..), ReduceOp::Max)?;
        module.launch(half.stream(stream), scale(3.0, &mut second))?;
        group.on(stream).all_reduce(&mut second, ReduceOp::Sum)?;
        module.launch(half.stream(stream), saxpy(1.0, &second, first.slice_mut(..50)))
    })?;
    assert_eq!((graph.len(), graph.exchanges()), (3, 2));
    assert_eq!(graph.kernels().collect::<Vec<_>>(), ["scale", "scale", "saxpy"]);
    let (mut own, mut most, mut sum) = (1.0 + rank as f32, size as f32, 1.0);
    for _ in 0..3 {
        graph.launch()?;
        sum *= 3.0 * size as f32;
        (own, most) = (2.0 * own + sum, 2.0 * most);
    }
    assert_eq!(first.to_vec()?, [vec![own; 50], vec![most; 50]].concat());
    // The graph keeps the group.
    group.barrier()
}

#[test]
fn graphs_have_exchanges() {
    let device = Device::new().expect("there is a device");
    for size in [1, 2] {
        for result in each(&places(size, 20_000), |place| graph_with_exchanges(&ProcessGroup::join(place)?, &device)) {
            result.expect("all is in order");
        }
    }
}

#[test]
fn results_go_to_other_buffers_and_in_place() {
    let device = Device::new().expect("there is a device");
    for size in [2, 3] {
        for result in each(&places(size, 20_000), |place| in_place_and_not(&ProcessGroup::join(place)?, &device)) {
            result.expect("all is in order");
        }
    }
}

/// The error of each rank that joined and then did its work.
fn errors(places: &[Place], work: impl Fn(usize, &ProcessGroup) -> rumba::Result<()> + Sync) -> Vec<RankError> {
    each(places, |place| {
        let group = ProcessGroup::join(place).expect("all ranks come");
        let error = of_ranks(work(place.rank, &group));
        let again = of_ranks(group.barrier());
        assert_eq!(error.to_string(), again.to_string(), "an error ends the group");
        error
    })
}

pub(crate) fn of_ranks<R>(result: rumba::Result<R>) -> RankError {
    match result {
        Err(Error::Rank(error)) => *error,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn ranks_at_different_operations_are_all_told() {
    let device = Device::new().expect("there is a device");
    let errors = errors(&places(3, 20_000), |rank, group| {
        let mut buffer = device.zeros::<f32>(if rank == 2 { 5 } else { 4 })?;
        group.all_reduce(&mut buffer, ReduceOp::Sum)
    });
    for error in errors {
        assert!(matches!(error, RankError::Disagreement { rank: 2, .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("5 elements of type 7") && text.contains("operation 1, 4 elements"), "{text}");
    }
}

#[test]
fn a_late_rank_is_named_on_all_ranks() {
    let begin = Instant::now();
    let errors = errors(&places(3, 500), |rank, group| {
        if rank == 1 {
            thread::sleep(Duration::from_millis(1500));
        }
        group.barrier()
    });
    assert!(begin.elapsed() < Duration::from_secs(15));
    for error in errors {
        assert!(
            matches!(error, RankError::Late { rank: 1, operation: "a barrier", after } if after.as_millis() == 500),
            "{error}"
        );
    }
}

#[test]
fn a_late_rank_0_is_named_too() {
    let errors = errors(&places(2, 200), |rank, group| {
        if rank == 0 {
            thread::sleep(Duration::from_millis(1000));
            // Rank 1 has come to this one before it went.
            group.barrier()?;
        }
        group.barrier()
    });
    assert!(matches!(errors[1], RankError::Late { rank: 0, .. }), "{}", errors[1]);
    assert!(matches!(errors[0], RankError::Lost { rank: 1, .. }), "{}", errors[0]);
}

#[test]
fn a_rank_that_ends_is_named_on_all_others() {
    let results = each(&places(4, 20_000), |place| {
        let group = ProcessGroup::join(place).expect("all ranks come");
        (place.rank != 2).then(|| of_ranks(group.barrier()))
    });
    for error in results.into_iter().flatten() {
        assert!(matches!(error, RankError::Lost { rank: 2, .. }), "{error}");
    }
}

#[test]
fn ranks_that_do_not_come_are_named() {
    let errors = each(&places(4, 500)[..2], |place| of_ranks(ProcessGroup::join(place)));
    for error in errors {
        assert!(matches!(&error, RankError::Absent { ranks, size: 4, .. } if ranks[..] == [2, 3]), "{error}");
    }
}

#[test]
fn a_rank_is_there_once() {
    let places = places(3, 1000);
    let twice = [places[0].clone(), places[1].clone(), places[1].clone()];
    let errors = each(&twice, |place| of_ranks(ProcessGroup::join(place)));
    let count = |is: fn(&RankError) -> bool| errors.iter().filter(|error| is(error)).count();
    assert_eq!(count(|error| matches!(error, RankError::Twice { rank: 1 })), 1, "{errors:?}");
    assert_eq!(count(|error| matches!(error, RankError::Absent { ranks, .. } if ranks[..] == [2])), 2, "{errors:?}");
}

#[test]
fn strangers_at_the_port_are_let_go() {
    let places = places(2, 20_000);
    let address = places[0].address.clone();
    let begin = Instant::now();
    thread::scope(|scope| {
        let rank_0 = scope.spawn(|| ProcessGroup::join(&places[0]).and_then(|group| group.barrier()));
        let stranger = || loop {
            if let Ok(stream) = TcpStream::connect(&address) {
                return stream;
            }
        };
        let silent: Vec<TcpStream> = (0..40).map(|_| stranger()).collect();
        let mut slow = stranger();
        let _ = slow.write_all(b"rumba");
        let mut rude = stranger();
        let _ = rude.write_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n");
        let other = ProcessGroup::join(&places[1]).and_then(|group| group.barrier());
        other.expect("rank 0 waits for rank 1");
        rank_0.join().expect("it does not panic").expect("rank 1 comes");
        assert!(begin.elapsed() < Duration::from_secs(10), "strangers are not waited for");
        drop((silent, slow, rude));
    });
}

/// A program may make a place itself: sums with its timeout do not overflow, and no table is made for ranks that cannot be.
#[test]
fn places_beyond_all_bounds() {
    let mut patient = places(2, 0);
    patient.iter_mut().for_each(|place| place.timeout = Duration::MAX);
    for met in each(&patient, |place| ProcessGroup::join(place).and_then(|group| group.barrier())) {
        met.expect("both ranks come");
    }
    for size in [usize::MAX, 1 << 60, (1 << 16) + 1] {
        let place = Place { size, ..patient[0].clone() };
        let error = of_ranks(ProcessGroup::join(&place));
        assert!(matches!(error, RankError::TooManyRanks { size: found, .. } if found == size), "{error}");
    }
}

#[test]
fn a_place_where_no_rank_can_meet() {
    let [first, second] = <[Place; 2]>::try_from(places(2, 200)).expect("there are two");
    let error = of_ranks(ProcessGroup::join(&second));
    assert!(matches!(error, RankError::Unreachable { rank: 1, .. }), "{error}");
    let taken = TcpListener::bind(&first.address).expect("it was free");
    let error = of_ranks(ProcessGroup::join(&first));
    assert!(matches!(error, RankError::Address { .. }), "{error}");
    drop(taken);
    let beyond = Place { rank: 2, ..first.clone() };
    assert!(matches!(of_ranks(ProcessGroup::join(&beyond)), RankError::NoSuchRank { rank: 2, size: 2 }));
}

/// A machine's own name may be an address of its own there, so rank 0 listens on all.
#[test]
fn ranks_meet_by_any_address_of_the_machine() {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    for (named, reached) in [("0.0.0.0", "127.0.0.1"), ("localhost", "localhost"), (name.trim(), "127.0.0.1")] {
        let mut places = places(2, 20_000);
        let port = places[0].address.rsplit(':').next().expect("it has a port").to_owned();
        let address = format!("{named}:{port}");
        // A machine need not know its own name.
        if named.is_empty() || std::net::ToSocketAddrs::to_socket_addrs(&address).is_err() {
            continue;
        }
        places[0].address = address;
        places[1].address = format!("{reached}:{port}");
        let met = each(&places, |place| ProcessGroup::join(place).and_then(|group| group.barrier()));
        for result in met {
            result.unwrap_or_else(|error| panic!("{named}: {error}"));
        }
    }
}
