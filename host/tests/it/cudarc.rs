//! Memory that this runtime and the crate `cudarc` pass on to each other. Both use one driver, so the tests run in processes of their own.

use crate::common::{interop_error, ready};
use cudarc::driver::result::stream::launch_host_function;
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, LaunchConfig as TheirConfig, PushKernelArg, sys};
use cudarc::nvrtc::Ptx;
use rumba::error::GraphError;
use rumba::interop::InteropError;
use rumba::interop::cudarc::scope;
use rumba::test_kernels::{PTX, saxpy, scale, shared_driver};
use rumba::{Device, DeviceBuffer, Error, LaunchConfig, Module};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use test_processes::{Outcome, alone};

/// Runs a test where both libraries use one driver.
#[track_caller]
fn shared(test: impl FnOnce() -> Outcome) {
    let library = shared_driver().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    alone(&[("RUMBA_SOFT_LIBRARY", &library)], test);
}

/// A device whose kernels are loaded, and cudarc's context and a stream of it, with which no other stream synchronises.
fn both() -> rumba::Result<(Device, Module, Arc<CudaContext>, Arc<CudaStream>)> {
    let (device, module) = ready()?;
    let context = device.to_cudarc()?;
    let stream = context.new_stream().expect("a stream");
    Ok((device, module, context, stream))
}

/// Elements of memory that is seen in the device's free memory, which the driver takes in pieces of 2 MiB.
const N: usize = 4 << 20;

const PAUSE: Duration = Duration::from_millis(300);

unsafe extern "C" fn pause(_: *mut c_void) {
    std::thread::sleep(PAUSE);
}

/// Keeps a stream of cudarc's busy for a while.
fn occupy(stream: &CudaStream) -> Outcome {
    stream.context().bind_to_thread()?;
    // SAFETY: the function takes no argument.
    Ok(unsafe { launch_host_function(stream.cu_stream(), pause, std::ptr::null_mut()) }?)
}

fn address(slice: &cudarc::driver::CudaSlice<f32>) -> u64 {
    slice.device_ptr(slice.stream()).0
}

#[test]
fn a_slice_is_taken_over_and_given_back_where_it_is() {
    shared(|| {
        let (device, module, context, stream) = both()?;
        assert_eq!(Device::from_cudarc(&context)?.ordinal(), device.ordinal());
        let theirs = stream.clone_htod(&vec![3.0_f32; N])?;
        let place = address(&theirs);
        stream.synchronize()?;
        let free = device.memory_info()?.free;
        let mut buffer = DeviceBuffer::from_cudarc(&device, theirs)?;
        assert_eq!((buffer.as_device_pointer().address(), buffer.len()), (place, N));
        module.for_each(N, scale(2.0, &mut buffer))?;
        let theirs = buffer.into_cudarc(&stream)?;
        assert_eq!((address(&theirs), theirs.stream()), (place, &stream));
        assert!(device.memory_info()?.free + 2 * N > free, "a copy was allocated");
        assert_eq!(stream.clone_dtoh(&theirs)?, vec![6.0; N]);

        // Memory of this runtime, and back.
        let own = device.buffer_from(&[7.0_f32, 8.0])?;
        let place = own.as_device_pointer().address();
        let theirs = own.into_cudarc(&stream)?;
        assert_eq!((address(&theirs), theirs.len()), (place, 2));
        let own = DeviceBuffer::from_cudarc(&device, theirs)?;
        assert_eq!(own.as_device_pointer().address(), place);
        assert_eq!(own.to_vec()?, [7.0, 8.0]);
        drop(own);
        let before = device.memory_info()?.free;
        for _ in 0..20 {
            drop(device.zeros::<f32>(N)?.into_cudarc(&stream)?);
        }
        stream.synchronize()?;
        context.check_err()?;
        assert!(device.memory_info()?.free + 8 * N > before, "cudarc has not freed the memory");

        let empty = device.zeros::<f32>(0)?.into_cudarc(&stream)?;
        assert_eq!(empty.len(), 0);
        assert_eq!(DeviceBuffer::from_cudarc(&device, empty)?.len(), 0);
        context.check_err()?;
        Ok(())
    });
}

#[test]
fn the_device_orders_the_work_and_the_host_does_not_wait() {
    shared(|| {
        let (device, module, context, stream) = both()?;
        let other = context.new_stream()?;
        let mut theirs = stream.clone_htod(&[0.0_f32; 4])?;
        let ones = stream.clone_htod(&[1.0_f32; 4])?;
        let mut copy = stream.clone_htod(&[0.0_f32; 4])?;
        stream.synchronize()?;
        let start = Instant::now();
        // On another stream than the slice's own, whose event cudarc has recorded.
        occupy(&other)?;
        other.memcpy_dtod(&ones, &mut theirs)?;
        let mut buffer = DeviceBuffer::from_cudarc(&device, theirs)?;
        let launches = device.stream()?;
        module.launch(LaunchConfig::new(1, 32).stream(&launches), scale(3.0, &mut buffer))?;
        launches.launch_host_fn(|| std::thread::sleep(PAUSE))?;
        module.launch(LaunchConfig::new(1, 32).stream(&launches), scale(5.0, &mut buffer))?;
        let theirs = buffer.into_cudarc(&stream)?;
        other.memcpy_dtod(&theirs, &mut copy)?;
        assert!(start.elapsed() < PAUSE, "the host has waited");
        assert_eq!(stream.clone_dtoh(&theirs)?, [15.0; 4]);
        assert!(start.elapsed() >= 2 * PAUSE, "the streams have not waited");
        assert_eq!(stream.clone_dtoh(&copy)?, [15.0; 4]);

        // Slices of the streams that cudarc does not make.
        for stream in [context.default_stream(), context.per_thread_stream()] {
            let theirs = stream.clone_htod(&[1.0_f32, 2.0])?;
            let mut buffer = DeviceBuffer::from_cudarc(&device, theirs)?;
            module.for_each(2, scale(2.0, &mut buffer))?;
            assert_eq!(stream.clone_dtoh(&buffer.into_cudarc(&stream)?)?, [2.0, 4.0]);
        }
        // Without events, by the slice's own stream alone.
        // SAFETY: each slice is used on its own stream.
        unsafe { context.disable_event_tracking() };
        let mut theirs = stream.clone_htod(&[0.0_f32; 4])?;
        occupy(&stream)?;
        stream.memcpy_dtod(&ones, &mut theirs)?;
        let mut buffer = DeviceBuffer::from_cudarc(&device, theirs)?;
        launches.launch_host_fn(|| std::thread::sleep(PAUSE))?;
        module.launch(LaunchConfig::new(1, 32).stream(&launches), scale(7.0, &mut buffer))?;
        assert_eq!(stream.clone_dtoh(&buffer.into_cudarc(&stream)?)?, [7.0; 4]);
        Ok(())
    });
}

#[test]
fn the_libraries_borrow_memory_of_each_other() {
    shared(|| {
        let (device, module, context, stream) = both()?;
        let x = stream.clone_htod(&(0..100).map(|i| i as f32).collect::<Vec<_>>())?;
        let mut y = stream.clone_htod(&[1.0_f32; 100])?;
        stream.synchronize()?;
        // From any element on: the address is not aligned as allocations are.
        for first in [0, 1, 67] {
            occupy(&stream)?;
            stream.memset_zeros(&mut y)?;
            let start = Instant::now();
            let (read, written) = (x.slice(first..first + 20), y.slice_mut(first + 2..first + 22));
            let place = written.device_ptr(&stream).0;
            let sum = scope(&device, |scope| {
                let (read, mut written) = (scope.read(read)?, scope.write(written)?);
                assert_eq!((read.len(), written.len()), (20, 20));
                module.for_each(20, saxpy(2.0, read, written.reborrow()))?;
                module.for_each(20, scale(3.0, written))?;
                Ok(first)
            })?;
            assert!(sum == first && start.elapsed() < PAUSE, "the host has waited");
            assert_eq!(place, address(&y) + 4 * (first as u64 + 2));
            let values = stream.clone_dtoh(&y)?;
            let expected = (0..100).map(|i: usize| match i.checked_sub(first + 2) {
                Some(of) if of < 20 => 6.0 * (first + of) as f32,
                _ => 0.0,
            });
            assert!(values.iter().copied().eq(expected), "{values:?}");
        }

        // Memory of this runtime for cudarc: read on one stream, written on another.
        let other = context.new_stream()?;
        let mut buffer = device.buffer_from(&[1.0_f32, 2.0, 3.0, 4.0])?;
        let place = buffer.as_device_pointer().address();
        let launches = device.stream()?;
        launches.launch_host_fn(|| std::thread::sleep(PAUSE))?;
        module.launch(LaunchConfig::new(1, 32).stream(&launches), scale(10.0, &mut buffer))?;
        let (left, right) = buffer.as_slice_mut().split_at_mut(2);
        let start = Instant::now();
        scope(&device, |scope| {
            let (left, mut right) = (scope.lend_mut(left, &stream)?, scope.lend_mut(right, &stream)?);
            assert_eq!((left.device_ptr(&stream).0, right.len()), (place, 2));
            occupy(&other).expect("the stream is alive");
            other.memcpy_dtod(&left, &mut right).expect("both have two elements");
            Ok(())
        })?;
        module.launch(LaunchConfig::new(1, 32).stream(&launches), scale(2.0, &mut buffer))?;
        assert!(start.elapsed() < PAUSE, "the host has waited");
        assert_eq!(buffer.to_vec()?, [20.0, 40.0, 20.0, 40.0]);
        let read = scope(&device, |scope| {
            let view = scope.lend(buffer.slice(1..3), &stream)?;
            assert_eq!(view.len(), 2);
            Ok(stream.clone_dtoh(&view).expect("memory of the device"))
        })?;
        assert_eq!(read, [40.0, 20.0]);
        drop(buffer);
        context.check_err()?;
        Ok(())
    });
}

#[test]
fn loans_end_however_their_scope_does() {
    shared(|| {
        let (device, module, _, stream) = &both()?;
        let mut numbers = stream.clone_htod(&[1.0_f32; 4])?;
        let launches = device.stream()?;
        for failure in [None, Some("a panic")] {
            let view = numbers.as_view_mut();
            let work = || {
                scope(device, |scope| {
                    launches.launch_host_fn(|| std::thread::sleep(PAUSE))?;
                    let config = LaunchConfig::new(1, 32).stream(&launches);
                    module.launch(config, scale(2.0, scope.write(view)?))?;
                    match failure {
                        Some(message) => std::panic::panic_any(message),
                        None => Err::<(), _>(InteropError::ReadOnly.into()),
                    }
                })
            };
            match (catch_unwind(AssertUnwindSafe(work)), failure) {
                (Ok(ended), None) => assert!(matches!(interop_error(ended), InteropError::ReadOnly)),
                (Err(payload), Some(message)) => assert_eq!(payload.downcast_ref(), Some(&message)),
                (other, _) => panic!("{other:?}"),
            }
        }
        assert_eq!(stream.clone_dtoh(&numbers)?, [4.0; 4]);

        // A graph would keep the memory.
        let view = numbers.as_view_mut();
        let refused = scope(device, |scope| {
            let numbers = scope.write(view)?;
            device.capture(|stream| module.launch(LaunchConfig::new(1, 32).stream(stream), scale(2.0, numbers)))
        });
        assert!(
            matches!(&refused, Err(Error::Graph(error)) if matches!(**error, GraphError::Lent { kernel: "scale" })),
            "{refused:?}"
        );
        Ok(())
    });
}

#[test]
fn what_cannot_be_passed_on_is_told() {
    shared(|| {
        let (device, module, context, stream) = both()?;
        let mut numbers = DeviceBuffer::from_cudarc(&device, stream.clone_htod(&[1.0_f32])?)?;
        let graph = device
            .capture(|stream| module.launch(LaunchConfig::new(1, 32).stream(stream), scale(2.0, &mut numbers)))?;
        assert!(matches!(interop_error(numbers.into_cudarc(&stream)), InteropError::Shared));
        graph.launch()?;
        drop(graph);
        let pooled = device.memory_pool()?.zeros::<f32>(4)?;
        assert!(matches!(interop_error(pooled.into_cudarc(&stream)), InteropError::NotAllocated));

        let whole = stream.clone_htod(&[1.0_f32; 8])?;
        let place = whole.leak();
        // SAFETY: a part of the allocation, which is not freed.
        let part = unsafe { stream.upgrade_device_ptr::<f32>(place + 4, 4) };
        let part = std::mem::ManuallyDrop::new(part);
        // SAFETY: the copy is dropped nowhere: cudarc notes an error of the driver instead.
        let refused = interop_error(DeviceBuffer::from_cudarc(&device, unsafe { std::ptr::read(&raw const *part) }));
        assert!(matches!(refused, InteropError::Misaligned { alignment: 256, .. }), "{refused}");
        let _ = context.check_err();
        // SAFETY: from `leak`.
        drop(unsafe { stream.upgrade_device_ptr::<f32>(place, 8) });

        // SAFETY: the context is destroyed with the last handle.
        let other = unsafe {
            let mut raw = std::ptr::null_mut();
            sys::cuCtxCreate_v4(&raw mut raw, std::ptr::null_mut(), 0, context.cu_device()).result()?;
            CudaContext::from_raw_context(0, context.cu_device(), raw)?
        };
        let theirs = other.new_stream()?.clone_htod(&[1.0_f32])?;
        assert!(matches!(interop_error(Device::from_cudarc(&other)), InteropError::OtherPrimary { ordinal: 0 }));
        let refused = scope(&device, |scope| scope.read(theirs.as_view()).map(|_| ()));
        assert!(matches!(interop_error(refused), InteropError::OtherPrimary { ordinal: 0 }));
        assert!(matches!(
            interop_error(DeviceBuffer::from_cudarc(&device, theirs)),
            InteropError::OtherPrimary { ordinal: 0 }
        ));
        let own = device.zeros::<f32>(4)?;
        assert!(matches!(
            interop_error(own.into_cudarc(&other.default_stream())),
            InteropError::OtherPrimary { ordinal: 0 }
        ));
        Ok(())
    });
}

#[test]
fn two_drivers_in_one_process_are_told() {
    // Cudarc loads NVIDIA's driver, if there is one, and not the software device.
    alone(&[("RUMBA_DEVICE", "soft"), ("LD_LIBRARY_PATH", "")], || {
        let refused = interop_error(Device::new()?.to_cudarc());
        assert!(matches!(refused, InteropError::NoDriver | InteropError::OtherPrimary { ordinal: 0 }), "{refused}");
        assert!(refused.to_string().contains("cargo rumba check"), "{refused}");
        Ok(())
    });
}

#[test]
fn cudarc_launches_a_kernel_of_ours() {
    shared(|| {
        let (device, _, context, stream) = both()?;
        let kernel = context.load_module(Ptx::from_src(PTX))?.load_function("scale")?;
        let mut numbers = device.buffer_from(&[1.0_f32, 2.0])?.into_cudarc(&stream)?;
        let length = numbers.len();
        let mut launch = stream.launch_builder(&kernel);
        launch.arg(&3.0_f32).arg(&mut numbers).arg(&length);
        // SAFETY: the parameters of `scale` are a factor and a slice, which is an address and a length.
        unsafe { launch.launch(TheirConfig::for_num_elems(2)) }?;
        assert_eq!(DeviceBuffer::from_cudarc(&device, numbers)?.to_vec()?, [3.0, 6.0]);
        Ok(())
    });
}
