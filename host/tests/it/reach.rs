//! Launches with fewer threads than an output has elements: refused where garbage would come back, warned of elsewhere, and
//! silent where the kernel goes around or a number of elements was asked for.

use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Device, Error, InOut, LaunchConfig, Out, error::LaunchError, warning::Warning};
use std::sync::{Arc, Mutex};
use test_processes::alone;

const N: usize = 1000;

#[test]
fn elements_that_a_launch_does_not_reach() {
    alone(&[], || {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        rumba::warning::set_warnings(move |warning| sink.lock().expect("no test panics").push(warning.clone()));
        let told = || std::mem::take(&mut *seen.lock().expect("no test panics"));

        let device = Device::new()?;
        let module = device.load(PTX)?;
        let mut host = vec![1.0_f32; N];

        // Host memory that only comes back: refused, and left as it is.
        for config in [LaunchConfig::new(1, 64), LaunchConfig::for_each(64)] {
            match module.launch(config, scale(2.0, Out(&mut host))) {
                Err(Error::Launch(error)) => {
                    assert!(
                        matches!(
                            *error,
                            LaunchError::Unreached { elements: N, reached: 64, parameter: "values", .. }
                                | LaunchError::Unreached { elements: N, reached: 256, .. }
                        ),
                        "{error}"
                    );
                    assert!(error.to_string().contains("of the 1000 elements of `values`"), "{error}");
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(host, [1.0; N]);
        module.launch((1, 64), scale(2.0, Out(&mut host[..64])))?;
        module.launch((4, 256), scale(2.0, Out(&mut host)))?;
        assert!(told().is_empty());

        // A kernel that asks for the size of the grid goes around.
        let strided = PTX.replace("mov.u32 %r2, %tid.x;", "mov.u32 %r2, %nctaid.x; mov.u32 %r2, %tid.x;");
        // SAFETY: the kernels take what their launchers pass: nothing about their parameters was changed.
        let strided = unsafe { device.load_unchecked("the kernels, striding", &strided) }?;
        strided.launch((1, 64), scale(2.0, Out(&mut host)))?;
        strided.launch((1, 64), scale(2.0, &mut host))?;

        // So many elements are meant, or a part, or there are threads for all.
        let mut buffer = device.buffer_from(&[1.0_f32; N])?;
        module.for_each(64, scale(2.0, &mut buffer))?;
        module.launch((1, 64), scale(2.0, buffer.slice_mut(..64)))?;
        module.launch((8, 128), scale(2.0, InOut(&mut host)))?;
        // Inputs may be of any length.
        module.launch((1, 64), saxpy(2.0, &host, buffer.slice_mut(..64)))?;
        assert!(told().is_empty());

        // Neither: a warning, and no second one for the same kernel.
        buffer.clear()?;
        for _ in 0..3 {
            module.launch((1, 64), scale(2.0, &mut buffer))?;
            module.launch((2, 64), scale(2.0, &mut host))?;
        }
        let line = line!() - 3;
        match &told()[..] {
            [
                warning @ Warning::Unreached {
                    file,
                    line: at,
                    kernel: "scale",
                    parameter: "values",
                    reached: 64,
                    elements: N,
                    ..
                },
            ] => {
                assert!(file.ends_with("reach.rs") && *at == line, "{file}:{at}");
                let text = warning.to_string();
                assert!(text.contains("1 block of 64 threads of `scale` reach 64 of the 1000 elements"), "{text}");
                assert!(text.contains("values.grid_stride()"), "{text}");
            }
            other => panic!("{other:?}"),
        }
        Ok(())
    });
}
