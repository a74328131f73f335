//! Kernels that were compiled from Rust, with device memory for their arguments: shapes, sums of
//! blocks, and what happens when a kernel panics.

use kernels_gpu::matmul::{TILE, matmul_tiled};
use kernels_gpu::reduce::reduce;
use kernels_gpu::saxpy::saxpy;
use rumba::Error;
use rumba::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time: a panic of a launch that was not waited for is reported to the thread that waits next.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start() -> rumba::Result<(Device, Module)> {
    let device = Device::new()?;
    let module = device.load_named("the gallery's PTX", gallery::PTX)?;
    Ok((device, module))
}

#[test]
fn matrices_in_device_memory() -> rumba::Result<()> {
    let _alone = alone();
    // 5 × 40 times 40 × 7: smaller and larger than a tile, and no multiple of it.
    const ROWS: usize = 5;
    const INNER: usize = 40;
    const COLUMNS: usize = 7;
    let (device, module) = start()?;
    let a = device.buffer_from(&[1.0_f32; ROWS * INNER])?;
    let b = device.buffer_from(&[0.5_f32; INNER * COLUMNS])?;
    let mut c = device.zeros::<f32>(ROWS * COLUMNS)?;
    let tile = TILE as u32;
    let threads = LaunchConfig::covering((COLUMNS as u32, ROWS as u32)).block((tile, tile));
    module.launch(threads, matmul_tiled(&a, &b, INNER as u32, (&mut c, [ROWS, COLUMNS])))?;
    assert_eq!(c.to_vec()?, [20.0; ROWS * COLUMNS]);

    let wrong_shape = module.launch(threads, matmul_tiled(&a, &b, INNER as u32, (&mut c, [ROWS, ROWS])));
    let text = wrong_shape.expect_err("5 × 5 is not 35").to_string();
    assert!(text.contains("`c`") && text.contains("35 elements"), "{text}");

    let too_large = LaunchConfig::new(1, (2 * tile, tile));
    let launched = module.launch(too_large, matmul_tiled(&a, &b, INNER as u32, (&mut c, [ROWS, COLUMNS])));
    let text = launched.expect_err("a block has 16 by 16 threads").to_string();
    assert!(text.contains("`matmul_tiled`") && text.contains("[16, 16, 1]"), "{text}");
    Ok(())
}

#[test]
fn one_sum_for_each_block() -> rumba::Result<()> {
    let _alone = alone();
    let (device, module) = start()?;
    let x = device.buffer_from(&[1.0_f32; 10_000])?;
    let mut sums = device.zeros::<f32>(8)?;
    module.launch((8, 128), reduce(&x, &mut sums))?;
    assert_eq!(sums.to_vec()?.iter().sum::<f32>(), 10_000.0);

    let text = module.launch((9, 128), reduce(&x, &mut sums)).expect_err("the ninth block has no element").to_string();
    assert!(text.contains("`sums`") && text.contains("8 elements"), "{text}");
    Ok(())
}

#[test]
fn one_of_a_million_threads_panics_and_the_context_stays_usable() -> rumba::Result<()> {
    let _alone = alone();
    const N: usize = 1_000_000;
    let (_, module) = start()?;
    let mut y = vec![0.0; N];
    let Err(Error::Panic(panic)) = module.for_each(N, saxpy(1.0, &vec![1.0; N - 1], &mut y)) else {
        panic!("the last thread has no element of x");
    };
    assert_eq!(panic.message, "index out of bounds: the len is 999999 but the index is 999999");
    assert!(panic.file.ends_with("saxpy.rs") && panic.line > 1 && panic.column > 1, "{panic}");
    assert_eq!((panic.kernel, panic.threads), (Some("saxpy"), 1), "{panic}");
    assert_eq!((panic.block, panic.thread), ([976, 0, 0], [63, 0, 0]), "{panic}");

    module.for_each(N, saxpy(1.0, &vec![1.0; N], &mut y))?;
    assert_eq!(y, vec![1.0; N]);
    Ok(())
}

/// Whatever other threads wait for meanwhile, with kernels of another module, of the same one, or none.
#[test]
fn the_panic_of_a_launch_that_waits_is_told_to_that_launch() -> rumba::Result<()> {
    let _alone = alone();
    let (device, module) = start()?;
    let (_, other) = start()?;
    let panics = || {
        let mut y = [0.0; 8];
        match module.for_each(8, saxpy(1.0, &[1.0; 3], &mut y)) {
            Err(Error::Panic(panic)) => assert_eq!((panic.kernel, panic.threads), (Some("saxpy"), 5), "{panic}"),
            other => panic!("five threads have no element of x: {other:?}"),
        }
    };
    let works = || other.for_each(8, saxpy(1.0, &[1.0; 8], &mut [0.0; 8]));
    let waits = || device.buffer_from(&[1.0_f32; 8])?.to_vec().map(drop);
    std::thread::scope(|scope| {
        let others =
            [scope.spawn(|| (0..200).try_for_each(|_| works())), scope.spawn(|| (0..200).try_for_each(|_| waits()))];
        (0..100).for_each(|_| panics());
        others.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    // Of two concurrent launches of one module, the panicking launch gets the error.
    std::thread::scope(|scope| {
        let threads = [scope.spawn(|| (0..50).for_each(|_| panics_at_least(&module)))];
        (0..50).for_each(|_| panics_at_least(&module));
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
    });
    Ok(())
}

/// A panic of a launch that does not wait, for the next wait of its thread or for its stream. Threads that use the device for
/// something else do not see it.
#[test]
fn the_panic_of_a_launch_that_does_not_wait_is_told_where_it_belongs() -> rumba::Result<()> {
    let _alone = alone();
    let (device, module) = start()?;
    let (_, other) = start()?;
    let (x, mut y) = (device.zeros::<f32>(3)?, device.zeros::<f32>(8)?);
    let is_panic = |result: rumba::Result<()>| assert!(matches!(result, Err(Error::Panic(_))), "{result:?}");
    // A thread of its own, which launches and waits for other kernels only.
    let uninvolved = |work: &(dyn Fn() -> rumba::Result<()> + Sync)| {
        std::thread::scope(|scope| scope.spawn(work).join().expect("it does not panic"))
    };
    for _ in 0..20 {
        module.launch((1, 8), saxpy(1.0, &x, &mut y))?;
        uninvolved(&|| {
            let (ones, mut sums) = (device.buffer_from(&[1.0_f32; 8])?, device.zeros::<f32>(8)?);
            other.launch((1, 8), saxpy(1.0, &ones, &mut sums))?;
            assert_eq!(sums.to_vec()?, [1.0; 8]);
            device.synchronize()
        })?;
        is_panic(device.synchronize());
    }
    // Any thread that waits for the stream of the launch, which is the one that has its results.
    let stream = device.stream()?;
    let config = rumba::LaunchConfig::new(1, 8).stream(&stream);
    module.launch(config, saxpy(1.0, &x, &mut y))?;
    is_panic(uninvolved(&|| stream.synchronize()));
    device.synchronize()?;
    // A thread that launched and ended leaves it to the others.
    let (_, short) = start()?;
    let (shared_x, shared_y) = (&x, std::sync::Mutex::new(&mut y));
    uninvolved(&|| short.launch((1, 8), saxpy(1.0, shared_x, &mut **shared_y.lock().expect("it is alone"))))?;
    is_panic(device.synchronize());
    device.synchronize()
}

/// Launches a kernel that panics, beside others of the module: the record counts the threads of all.
fn panics_at_least(module: &Module) {
    let launched = module.for_each(8, saxpy(1.0, &[1.0; 3], &mut [0.0; 8]));
    assert!(matches!(&launched, Err(Error::Panic(panic)) if panic.threads <= 10), "{launched:?}");
}

#[test]
fn panics_of_launches_in_the_background_are_reported_at_the_next_wait() -> rumba::Result<()> {
    let _alone = alone();
    fn is_panic_of(threads: u32, result: rumba::Result<()>) {
        match result {
            Err(Error::Panic(panic)) => assert_eq!(panic.threads, threads, "{panic}"),
            other => panic!("{other:?}"),
        }
    }

    let (device, module) = start()?;
    let x = device.buffer_from(&[1.0_f32; 3])?;
    let mut y = device.zeros::<f32>(8)?;
    module.for_each(8, saxpy(1.0, &x, &mut y))?;
    is_panic_of(5, device.synchronize());
    device.synchronize()?;

    // Two launches, one panic, which counts the threads of both. In the second each of four threads has two elements of y.
    module.for_each(8, saxpy(1.0, &x, &mut y))?;
    module.launch((1, 4), saxpy(1.0, &x, &mut y))?;
    is_panic_of(9, y.copy_to(&mut [0.0; 8]));
    // The threads that had an element of x have done their work each time.
    assert_eq!(y.to_vec()?, [3.0, 3.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0]);

    // A panic is reported even if the module was dropped.
    module.for_each(8, saxpy(1.0, &x, &mut y))?;
    drop(module);
    is_panic_of(5, device.stream()?.synchronize());
    Ok(())
}
