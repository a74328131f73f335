//! Memory of other kinds than `cuMemAlloc`'s: managed, mapped, and of a pool, as kernel arguments and on the host.

use crate::common::device;
use rumba::array::Array;
use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Device, Error, LaunchConfig, UnifiedBuffer};

/// Checks that managed and mapped memory share.
fn host_and_device_take_turns(device: &Device, mut x: UnifiedBuffer<f32>) -> rumba::Result<()> {
    let module = device.load(PTX)?;
    let n = x.len();
    assert!(x.host()?.iter().all(|x| *x == 0.0));
    for (i, x) in x.host_mut()?.iter_mut().enumerate() {
        *x = i as f32;
    }
    let stream = device.stream()?;
    for step in 0..10 {
        // Not waited for: the view on the host waits.
        module.launch(LaunchConfig::for_each(n).stream(&stream), scale(2.0, &mut x))?;
        module.for_each(n, scale(0.5, &mut x))?;
        let mut host = x.host_mut()?;
        assert!(host.iter().enumerate().all(|(i, x)| *x == (i + step) as f32), "step {step}");
        host.iter_mut().for_each(|x| *x += 1.0);
    }
    // As an input, as a part, as an operand of copies, beside ordinary memory.
    let mut y = Array::<f32, 1>::zeros(device, [n])?;
    module.for_each(n, saxpy(1.0, &x, y.view_mut().into_slice().expect("it is whole")))?;
    module.for_each(3, scale(0.0, x.as_slice_mut().slice_mut(2..5)))?;
    assert_eq!((y.to_vec()?[n - 1], x.host()?[1..6].to_vec()), ((n + 9) as f32, vec![11.0, 0.0, 0.0, 0.0, 15.0]));
    x.as_slice_mut().copy_from(&vec![7.0; n])?;
    assert_eq!(*x.host()?, vec![7.0; n]);
    assert_eq!(x.as_slice().to_vec()?, vec![7.0; n]);
    Ok(())
}

#[test]
fn managed_memory() -> rumba::Result<()> {
    let device = device();
    let buffer = device.managed(10_000)?;
    assert_eq!(format!("{buffer:?}"), "UnifiedBuffer<f32>(10000 elements, managed)");
    host_and_device_take_turns(&device, buffer)?;
    assert!(device.managed::<u64>(0)?.host()?.is_empty());
    Ok(())
}

#[test]
fn mapped_memory() -> rumba::Result<()> {
    let device = device();
    let buffer = device.mapped(10_000)?;
    assert_eq!(format!("{buffer:?}"), "UnifiedBuffer<f32>(10000 elements, mapped)");
    host_and_device_take_turns(&device, buffer)?;
    assert!(device.mapped::<u64>(0)?.host_mut()?.is_empty());
    Ok(())
}

/// Readers on the host and on the device at the same time.
#[test]
fn shared_views_read_together() -> rumba::Result<()> {
    let device = device();
    let module = device.load(PTX)?;
    let mut x = device.managed::<f32>(100)?;
    x.host_mut()?.fill(3.0);
    let seen = x.host()?;
    let mut y = vec![0.0; 100];
    module.for_each(100, saxpy(2.0, &x, &mut y))?;
    assert_eq!((y[99], seen[99]), (6.0, 3.0));
    Ok(())
}

#[test]
fn pools_reuse_what_is_free() -> rumba::Result<()> {
    let device = device();
    let module = device.load(PTX)?;
    let pool = device.memory_pool()?;
    let stream = device.stream()?;
    let n = 50_000;
    for step in 1..20 {
        let x = pool.buffer_from(&vec![step as f32; n])?;
        let mut y = pool.zeros::<f32>(n)?;
        // On another stream than the allocation, and freed before anyone waited.
        module.launch(LaunchConfig::for_each(n).stream(&stream), saxpy(2.0, &x, &mut y))?;
        drop(x);
        assert_eq!(y.to_vec()?, vec![2.0 * step as f32; n], "step {step}");
    }
    assert_eq!(pool.used()?, 0);
    assert!(pool.reserved()? <= 64 << 20, "{}", pool.reserved()?);
    pool.trim(0)?;
    // A buffer outlives the pool's handle, and a pool its device's.
    let left = pool.buffer_from(&[1_u8, 2, 3])?;
    assert!(pool.used()? > 0);
    drop((pool, device));
    assert_eq!(left.to_vec()?, [1, 2, 3]);
    Ok(())
}

#[test]
fn what_cannot_be_had_says_so() -> rumba::Result<()> {
    let device = device();
    let pool = device.memory_pool()?;
    let info = device.memory_info()?;
    assert!(info.free <= info.total);
    let error = pool.zeros::<u64>(1 << 44).expect_err("no device has it");
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    let error = device.managed::<u64>(usize::MAX).expect_err("no address has it");
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    Ok(())
}

/// A graph would use it while the host looks.
#[test]
fn graphs_do_not_record_it() -> rumba::Result<()> {
    let device = device();
    let module = device.load(PTX)?;
    let mut x = device.managed::<f32>(8)?;
    let graph = device.capture(|stream| module.launch(LaunchConfig::for_each(8).stream(stream), scale(2.0, &mut x)));
    assert!(graph.expect_err("it is refused").to_string().contains("managed or mapped memory"));
    Ok(())
}
