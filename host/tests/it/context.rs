//! The life of a context: things dropped in any order, kernels that fail, and a reset.
//!
//! Each test has a process of its own, because a context is the process's one, and because after a
//! kernel's failure NVIDIA's driver does not start another.

use rumba::test_kernels::{PTX, scale};
use rumba::{Device, Error, LaunchConfig, error::Fault, memory::DevicePointer};
use test_processes::alone;

/// Launches `scale` from PTX in which something stands in for its store.
fn launch_instead(device: &Device, instead: &str) -> rumba::Result<()> {
    let ptx = PTX.replacen("st.global.f32 [%rd4], %f2;", instead, 1);
    // SAFETY: the parameters are unchanged; the replaced store faults, which is the point.
    let module = unsafe { device.load_unchecked("the PTX text", &ptx) }?;
    let mut values = [1.0_f32; 64];
    module.launch((2, 32), scale(2.0, &mut values))
}

/// As above, where that is a fault on every device.
#[track_caller]
fn fail(device: &Device, instead: &str) -> Box<Fault> {
    match launch_instead(device, instead) {
        Err(Error::Fault(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn everything_is_dropped_in_any_order() {
    alone(&[], || {
        let device = Device::new()?;
        // Things by number, dropped in the order of each permutation.
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [1, 0, 4, 2, 3], [2, 4, 0, 3, 1]] {
            let device = device.clone();
            let module = device.load(PTX)?;
            let mut buffer = device.zeros::<f32>(1 << 16)?;
            let stream = device.stream()?;
            module.launch(LaunchConfig::for_each(1 << 16).stream(&stream), scale(2.0, &mut buffer))?;
            let event = stream.record()?;
            let mut things: Vec<Option<Box<dyn std::any::Any>>> = vec![
                Some(Box::new(device)),
                Some(Box::new(module)),
                Some(Box::new(buffer)),
                Some(Box::new(stream)),
                Some(Box::new(event)),
            ];
            for index in order {
                things[index] = None;
            }
        }
        Ok(())
    });
}

#[test]
fn a_buffer_outlives_its_device() {
    alone(&[], || {
        let device = Device::new()?;
        let buffer = device.buffer_from(&[1_u8, 2, 3])?;
        drop(device);
        assert_eq!(buffer.to_vec()?, [1, 2, 3]);
        // A new handle to the device has the same context as the buffer.
        Ok(Device::new()?.zeros::<u8>(3)?.copy_from_buffer(&buffer)?)
    });
}

#[test]
fn after_a_reset_old_things_say_so() {
    alone(&[], || {
        let device = Device::new()?;
        let old_module = device.load(PTX)?;
        let mut old_buffer = device.zeros::<f32>(16)?;
        let old_stream = device.stream()?;
        let old_event = old_stream.record()?;
        let mut pinned = device.pinned::<f32>(16)?;
        device.reset()?;

        let destroyed = |result: rumba::Result<()>, parts: &[&str]| match result {
            Err(error @ Error::ContextDestroyed { .. }) => {
                let text = error.to_string();
                for part in parts.iter().chain(&["destroyed", "device.reset()"]) {
                    assert!(text.contains(part), "`{part}` is missing in: {text}");
                }
            }
            other => panic!("{other:?}"),
        };
        destroyed(old_buffer.to_vec().map(drop), &["copy from a DeviceBuffer<f32> of 64 bytes"]);
        destroyed(old_buffer.copy_from(&[0.0; 16]), &["copy to a DeviceBuffer<f32>"]);
        destroyed(old_buffer.clear(), &["clear a DeviceBuffer<f32>"]);
        destroyed(old_module.for_each(1, scale(1.0, &mut [1.0])), &["`scale`"]);
        destroyed(old_stream.synchronize(), &["stream"]);
        destroyed(old_event.synchronize(), &["event"]);

        let module = device.load(PTX)?;
        destroyed(module.for_each(16, scale(1.0, &mut old_buffer)), &["launch `scale` with", "DeviceBuffer<f32>"]);
        let mut buffer = device.buffer_from(&[1.0_f32; 16])?;
        destroyed(buffer.copy_from_buffer(&old_buffer), &["DeviceBuffer<f32>"]);
        let on_old_stream = LaunchConfig::for_each(16).stream(&old_stream);
        destroyed(module.launch(on_old_stream, scale(2.0, &mut buffer)), &["`scale`", "stream"]);
        module.for_each(16, scale(2.0, &mut buffer))?;
        assert_eq!(buffer.to_vec()?, [2.0; 16]);

        pinned.fill(3.0);
        assert_eq!(*pinned, [3.0; 16], "page-locked memory is the host's");
        Ok(())
    });
}

#[test]
fn access_out_of_bounds() {
    alone(&[], || {
        let device = Device::new()?;
        let mut buffer = device.buffer_from(&[1.0_f32; 8])?;
        let module = device.load(PTX)?;
        let fault = fail(&device, "st.global.f32 [%rd4+1099511627776], %f2;");
        assert_eq!((fault.error.code, fault.error.name.as_str()), (700, "CUDA_ERROR_ILLEGAL_ADDRESS"));
        let text = fault.to_string();
        for part in ["scale", "CUDA_ERROR_ILLEGAL_ADDRESS", "context is lost", "device.reset()"] {
            assert!(text.contains(part), "`{part}` is missing in: {text}");
        }

        // From here on everything says what happened, and a reset is the way on if there is one.
        assert!(!device.is_usable());
        for result in [
            module.for_each(8, scale(1.0, &mut buffer)),
            buffer.to_vec().map(drop),
            device.synchronize(),
            device.zeros::<u8>(1).map(drop),
        ] {
            let Err(error @ Error::ContextLost { .. }) = result else { panic!("{result:?}") };
            assert!(error.to_string().contains("device.reset()"), "{error}");
        }
        match device.reset() {
            Ok(()) => {
                assert!(device.is_usable());
                let mut values = [1.0; 8];
                device.load(PTX)?.for_each(8, scale(2.0, &mut values))?;
                assert_eq!(values, [2.0; 8]);
            }
            Err(error @ Error::NeedsRestart { .. }) => {
                assert!(error.to_string().contains("start the program again"), "{error}");
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    });
}

#[test]
fn misaligned_access() {
    alone(&[], || {
        let device = Device::new()?;
        let fault = fail(&device, "st.global.f32 [%rd4+2], %f2;");
        assert_eq!(fault.error.name, "CUDA_ERROR_MISALIGNED_ADDRESS", "{fault}");
        Ok(())
    });
}

#[test]
fn a_trap() {
    alone(&[], || {
        let device = Device::new()?;
        let fault = fail(&device, "trap;");
        assert!(fault.to_string().contains("scale"), "{fault}");
        Ok(())
    });
}

/// Reports that only a device can make that checks every access. A GPU may accept an address just behind a buffer, and
/// writes no report.
#[test]
fn the_report_names_thread_and_allocation() {
    alone(&[], || {
        let device = Device::new()?;
        let report = match launch_instead(&device, "st.global.f32 [%rd4+256], %f2;") {
            Err(Error::Fault(fault)) => fault.report,
            other => return Ok(other?),
        };
        let Some(report) = report else { return Ok(()) };
        for part in ["scale", "thread", "block", "256 bytes"] {
            assert!(report.contains(part), "`{part}` is missing in: {report}");
        }
        Ok(())
    });
}

/// A fault of a launch that was not waited for appears at the next call that does.
#[test]
fn a_fault_that_arrives_later() {
    alone(&[], || {
        let device = Device::new()?;
        let ptx = PTX.replacen("st.global.f32 [%rd4], %f2;", "trap;", 1);
        // SAFETY: the parameters are the same, and nothing is stored.
        let module = unsafe { device.load_unchecked("the PTX text", &ptx) }?;
        let mut buffer = device.zeros::<f32>(8)?;
        let launched = module.for_each(8, scale(1.0, &mut buffer));
        let result = launched.and_then(|()| device.synchronize());
        let Err(Error::Fault(fault)) = result else { panic!("{result:?}") };
        assert_eq!(fault.kernel, Some("scale"));
        Ok(())
    });
}

#[test]
fn device_pointers_are_plain_numbers() {
    alone(&[], || {
        let device = Device::new()?;
        let buffer = device.zeros::<f64>(4)?;
        let pointer = buffer.as_device_pointer();
        assert_eq!(DevicePointer::from_address(pointer.address()), pointer);
        assert_eq!(pointer.address() % 256, 0);
        Ok(())
    });
}
