//! The warning about launches that copy the same host memory again and again.

use rumba::test_kernels::{PTX, saxpy};
use rumba::{Device, warning::Warning};
use std::sync::{Arc, Mutex};
use test_processes::alone;

#[test]
fn a_loop_that_copies_is_warned_about_once() {
    alone(&[], || {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        rumba::warning::set_warnings(move |warning| sink.lock().expect("no test panics").push(warning.clone()));

        let device = Device::new()?;
        let module = device.load(PTX)?;
        let n = 100_000;
        let (x, mut y) = (vec![1.0_f32; n], vec![0.0_f32; n]);
        // Few launches, little memory, or other memory each time: nothing to say.
        for _ in 0..10 {
            module.for_each(n, saxpy(1.0, &x, &mut y))?;
        }
        for _ in 0..50 {
            module.for_each(10, saxpy(1.0, &x[..10], &mut y[..10]))?;
        }
        for i in 0..50 {
            module.for_each(n - i, saxpy(1.0, &x[i..], &mut y[i..]))?;
        }
        // On the device: nothing is copied.
        let (dx, mut dy) = (device.buffer_from(&x)?, device.buffer_from(&y)?);
        for _ in 0..50 {
            module.for_each(n, saxpy(1.0, &dx, &mut dy))?;
        }
        assert!(seen.lock().expect("no test panics").is_empty());

        for _ in 0..100 {
            module.for_each(n, saxpy(1.0, &x, &mut y))?;
        }
        let line = line!() - 2;
        let seen = seen.lock().expect("no test panics");
        let [Warning::RepeatedCopies { file, line: at, kernel, bytes, .. }] = &seen[..] else {
            panic!("{seen:?}");
        };
        assert!(file.ends_with("warnings.rs"), "{file}");
        assert_eq!((*at, *kernel, *bytes), (line, "saxpy", 8 * n));
        assert!(seen[0].to_string().contains("help: keep it on the device"), "{}", seen[0]);
        Ok(())
    });
}
