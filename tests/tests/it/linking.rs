//! Kernels of two Rust crates in one module, and what became of them. `RUMBA_DEVICE=gpu` runs them on the GPU.

use cuda_builder::wheels;
use kernels_gpu::saxpy::saxpy;
use rumba::{Device, Error, error::InspectError};
use rumba_tests::PTX;
use test_kernels::faulty::{add_overflow, index_behind_end};

const OTHER: &str = include_str!(env!("FAULTY_PTX"));

#[test]
fn two_crates_are_one_module() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.linker().add("the gallery", PTX).add("faulty", OTHER).load()?;
    let kernels = module.kernels();
    assert!(kernels.contains(&"saxpy") && kernels.contains(&"add_overflow"), "{kernels:?}");

    let mut y = vec![1.0_f32; 1000];
    module.for_each(1000, saxpy(2.0, &vec![3.0; 1000], &mut y))?;
    assert_eq!(y, [7.0; 1000]);

    // Both crates have panics, which arrive by one record.
    let mut out = [0_u32; 8];
    for _ in 0..2 {
        let error = module.for_each(8, index_behind_end(&[1; 8], &mut out)).expect_err("it panics");
        let Error::Panic(panic) = error else { panic!("{error}") };
        assert!(panic.message.contains("index out of bounds"), "{panic}");
        let error = module.for_each(8, add_overflow(&[u32::MAX; 8], &mut out)).expect_err("it panics");
        assert!(matches!(error, Error::Panic(_)), "{error}");
    }
    Ok(())
}

#[test]
fn what_is_there_twice_is_refused() -> rumba::Result<()> {
    let device = Device::new()?;
    let error = device.linker().add("one", OTHER).add("two", OTHER).load().expect_err("all kernels twice");
    let text = error.to_string();
    assert!(text.contains("the link of one and two"), "{text}");
    assert!(device.linker().load().is_err(), "nothing is no module");
    let error = device.linker().add("words", "hello").load().expect_err("no PTX");
    assert!(error.to_string().contains("words is not PTX"), "{error}");
    Ok(())
}

#[test]
fn a_kernel_shows_what_it_became() -> rumba::Result<()> {
    let module = Device::new()?.load(PTX)?;
    let ptx = module.kernel_ptx("saxpy").expect("it is in the gallery");
    assert!(ptx.starts_with(".visible .entry saxpy(") && ptx.contains("fma.rn.f32"), "{ptx}");
    assert_eq!(module.kernel_ptx("nothing"), None);
    let tools = wheels::find();
    match module.kernel_sass("saxpy") {
        Ok(Some(sass)) => assert!(sass.contains("FFMA") && sass.contains("EXIT"), "{sass}"),
        Err(InspectError::Missing { .. }) => assert!(tools.ptxas.is_none() || tools.nvdisasm.is_none()),
        other => panic!("{other:?}"),
    }
    Ok(())
}
