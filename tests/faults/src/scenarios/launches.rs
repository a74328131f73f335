//! Launches: arguments of every kind, panics, faults, graphs.

use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Error, In, InOut, LaunchConfig, Module, Out, Result};
use test_kernels::faults::{add, below};

use crate::World;

fn own(world: &World) -> Result<Module> {
    world.device.load(crate::PTX)
}

pub(super) fn buffers(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let (x, mut y) = (world.device.buffer_from(&[1.0_f32; 100])?, world.device.buffer_from(&[2.0_f32; 100])?);
    module.for_each(100, saxpy(3.0, &x, &mut y))?;
    module.launch((4, 32), scale(2.0, &mut y))?;
    assert_eq!(y.to_vec()?, [10.0; 100]);
    Ok(())
}

pub(super) fn host_slices(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let (x, mut y) = ([1.0_f32; 100], [2.0_f32; 100]);
    for round in 1..=2 {
        module.for_each(100, saxpy(3.0, &x, &mut y))?;
        assert_eq!(y, [2.0 + 3.0 * round as f32; 100]);
    }
    Ok(())
}

pub(super) fn host_slices_of_many_kinds(world: &World) -> Result<()> {
    let module = own(world)?;
    let (x, mut y) = (vec![1_u32; 64], vec![5_u32; 64]);
    module.for_each(64, add(In(&x), InOut(&mut y)))?;
    assert_eq!(y, [6; 64]);
    module.for_each(64, below(In(&x), 10, Out(&mut y)))?;
    assert_eq!(y, [2; 64]);
    let buffer = world.device.buffer_from(&y)?;
    module.for_each(64, add(&buffer, &mut y))?;
    assert_eq!(y, [4; 64]);
    Ok(())
}

pub(super) fn on_a_stream(world: &World) -> Result<()> {
    let module = own(world)?;
    let stream = world.device.stream()?;
    let (x, mut y) = (world.device.buffer_from(&[1_u32; 64])?, [1_u32; 64]);
    module.launch(LaunchConfig::for_each(64).stream(&stream), add(&x, &mut y))?;
    assert_eq!(y, [2; 64]);
    Ok(())
}

pub(super) fn timed(world: &World) -> Result<()> {
    let module = own(world)?;
    let (x, mut y) = ([1_u32; 64], [1_u32; 64]);
    let timings = module.for_each_timed(64, add(&x, &mut y))?;
    assert!(timings.total() >= timings.kernel);
    assert_eq!(y, [2; 64]);
    Ok(())
}

/// Threads that panic end their launch and nothing else.
pub(super) fn panics(world: &World) -> Result<()> {
    let module = own(world)?;
    let mut x = [1_u32; 64];
    x[40] = 100;
    let mut y = [0; 64];
    match module.for_each(64, below(&x, 100, &mut y)) {
        Err(Error::Panic(panic)) => assert!(panic.to_string().contains("a number is too large"), "{panic}"),
        Err(error) => return Err(error),
        Ok(()) => panic!("a thread panicked, and no word of it"),
    }
    module.for_each(64, below(&x, 101, &mut y))?;
    assert_eq!((y[39], y[40]), (2, 200));
    Ok(())
}

pub(super) fn panics_on_a_stream(world: &World) -> Result<()> {
    let module = own(world)?;
    let stream = world.device.stream()?;
    let (x, mut y) = (world.device.buffer_from(&[9_u32; 64])?, world.device.zeros(64)?);
    module.launch(LaunchConfig::for_each(64).stream(&stream), below(&x, 5, &mut y))?;
    match stream.synchronize() {
        Err(Error::Panic(_)) => {}
        Err(error) => return Err(error),
        Ok(()) => panic!("threads panicked, and no word of it"),
    }
    module.launch(LaunchConfig::for_each(64).stream(&stream), below(&x, 50, &mut y))?;
    stream.synchronize()?;
    assert_eq!(y.to_vec()?, [18; 64]);
    Ok(())
}

/// A kernel that fails: the context is lost, and a reset begins a new one.
pub(super) fn a_fault(world: &World) -> Result<()> {
    let ptx = PTX.replacen("st.global.f32 [%rd4], %f2;", "trap;", 1);
    // SAFETY: the parameters are the same, and nothing is stored.
    let module = unsafe { world.device.load_unchecked("a trap", &ptx) }?;
    let mut x = [1.0_f32; 32];
    match module.for_each(32, scale(1.0, &mut x)) {
        Err(Error::Fault(_)) => {}
        Err(error) => return Err(error),
        Ok(()) => panic!("a trap ends a kernel"),
    }
    assert!(!world.device.is_usable());
    world.device.reset()?;
    world.device.load(PTX)?.for_each(32, scale(2.0, &mut x))?;
    assert_eq!(x, [2.0; 32]);
    Ok(())
}

pub(super) fn wrong_launches(world: &World) -> Result<()> {
    let module = own(world)?;
    let (x, mut y) = (world.device.zeros::<u32>(8)?, world.device.zeros::<u32>(8)?);
    for config in [(1, 5000), (1, 2000)] {
        match module.launch(config, add(&x, &mut y)) {
            Err(Error::Launch(_)) => {}
            Err(error) => return Err(error),
            Ok(()) => panic!("{config:?} is no launch"),
        }
    }
    module.for_each(8, add(&x, &mut y))?;
    assert_eq!(y.to_vec()?, [0; 8]);
    Ok(())
}

pub(super) fn graphs(world: &World) -> Result<()> {
    let module = own(world)?;
    let (x, mut y) = (world.device.buffer_from(&[1_u32; 64])?, world.device.zeros::<u32>(64)?);
    let graph = world.device.capture(|stream| {
        let threads = LaunchConfig::for_each(64).stream(stream);
        module.launch(threads, add(&x, &mut y))?;
        module.launch(threads, add(&x, &mut y))
    })?;
    let stream = world.device.stream()?;
    graph.launch()?;
    graph.launch_on(&stream)?;
    assert_eq!((graph.len(), y.to_vec()?), (2, vec![4; 64]));
    Ok(())
}

pub(super) fn graph_updates(world: &World) -> Result<()> {
    let module = own(world)?;
    let (one, five) = (world.device.buffer_from(&[1_u32; 64])?, world.device.buffer_from(&[5_u32; 64])?);
    let mut y = world.device.zeros::<u32>(64)?;
    let mut graph =
        world.device.capture(|stream| module.launch(LaunchConfig::for_each(64).stream(stream), add(&one, &mut y)))?;
    graph.launch()?;
    graph.update(|stream| module.launch(LaunchConfig::for_each(64).stream(stream), add(&five, &mut y)))?;
    graph.launch()?;
    // Another kernel makes another graph.
    graph.update(|stream| module.launch(LaunchConfig::for_each(64).stream(stream), below(&five, 9, &mut y)))?;
    graph.launch()?;
    assert_eq!(y.to_vec()?, [10; 64]);
    Ok(())
}

/// A failed update leaves the graph as it was, or without launches.
pub(super) fn graphs_that_fail(world: &World) -> Result<()> {
    let module = own(world)?;
    let (x, mut y) = (world.device.buffer_from(&[1_u32; 64])?, world.device.zeros::<u32>(64)?);
    let mut graph =
        world.device.capture(|stream| module.launch(LaunchConfig::for_each(64).stream(stream), add(&x, &mut y)))?;
    let updated = graph.update(|stream| {
        module.launch(LaunchConfig::for_each(64).stream(stream), add(&x, &mut y))?;
        Err(Error::NoDevice("on purpose".to_owned()))
    });
    match updated {
        Err(Error::NoDevice(_)) => {}
        other => return other,
    }
    let before = y.to_vec()?;
    graph.launch()?;
    let after = y.to_vec()?;
    assert!(before.iter().zip(&after).all(|(before, after)| before + 1 == *after));
    Ok(())
}

pub(super) fn graphs_of_dropped_buffers(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    let graph = {
        let module = own(world)?;
        let (x, mut y) = (world.device.buffer_from(&[1_u32; 64])?, world.device.zeros::<u32>(64)?);
        world.device.capture(|stream| module.launch(LaunchConfig::for_each(64).stream(stream), add(&x, &mut y)))?
    };
    for _ in 0..3 {
        graph.launch_on(&stream)?;
    }
    drop(graph);
    stream.synchronize()
}

pub(super) fn occupancy(world: &World) -> Result<()> {
    let module = own(world)?;
    let info = module.info("add")?;
    assert!(info.registers > 0);
    assert!(module.occupancy("add", 128, 0)?.fraction() > 0.0);
    module.suggest_block("add", |_| 0)?;
    Ok(())
}

pub(super) fn parts_of_buffers(world: &World) -> Result<()> {
    let module = own(world)?;
    let (one, two) = (world.device.stream()?, world.device.stream()?);
    let x = world.device.buffer_from(&[1_u32; 64])?;
    let mut y = world.device.zeros::<u32>(128)?;
    let (left, right) = y.as_slice_mut().split_at_mut(64);
    module.launch(LaunchConfig::for_each(64).stream(&one), add(&x, left))?;
    module.launch(LaunchConfig::for_each(32).stream(&two), add(x.slice(..32), right.slice_mut(..32)))?;
    assert_eq!(y.to_vec()?[60..100], [[1; 36].as_slice(), &[0; 4]].concat());
    Ok(())
}

pub(super) fn threads(world: &World) -> Result<()> {
    let module = own(world)?;
    let results: Vec<Result<Vec<u32>>> = std::thread::scope(|scope| {
        let work = |number: u32| {
            let mut y = world.device.buffer_from(&[number; 64])?;
            module.for_each(64, add(&world.device.buffer_from(&[1_u32; 64])?, &mut y))?;
            y.to_vec()
        };
        let threads: Vec<_> = (0..3).map(|number| scope.spawn(move || work(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    for (number, result) in (1..).zip(results) {
        assert_eq!(result?, [number; 64]);
    }
    Ok(())
}
