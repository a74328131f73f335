//! Modules, linked texts, constants; checked runs and profiles.

use cuda_std::launch::{Call, Kernel, Parameter};
use rumba::test_kernels::{PTX, scale};
use rumba::{Checks, Device, Error, Profile, Profiler, Result};
use test_kernels::faults::{GAIN, add, gain};

use crate::World;

pub(super) fn loaded_twice(world: &World) -> Result<()> {
    let (one, two) = (world.device.load(PTX)?, world.device.load(PTX)?);
    let mut x = [1.0_f32; 32];
    one.for_each(32, scale(2.0, &mut x))?;
    drop(one);
    two.for_each(32, scale(2.0, &mut x))?;
    assert_eq!((x, two.kernels().len()), ([4.0; 32], 2));
    Ok(())
}

pub(super) fn linked(world: &World) -> Result<()> {
    let module = world.device.linker().add("one", PTX).add("two", crate::PTX).load()?;
    let mut x = [1.0_f32; 32];
    module.for_each(32, scale(2.0, &mut x))?;
    let mut y = [1_u32; 32];
    module.for_each(32, add(&[1; 32], &mut y))?;
    assert_eq!((x, y), ([2.0; 32], [2; 32]));
    Ok(())
}

pub(super) fn constants(world: &World) -> Result<()> {
    let module = world.device.load(crate::PTX)?;
    assert_eq!(module.constant(&GAIN)?, 3);
    let mut y = [0; 32];
    module.for_each(32, gain(&[2; 32], &mut y))?;
    assert_eq!(y, [6; 32]);
    module.set_constant(&GAIN, &10)?;
    assert_eq!(module.constant(&GAIN)?, 10);
    module.for_each(32, gain(&[2; 32], &mut y))?;
    assert_eq!(y, [20; 32]);
    Ok(())
}

/// Texts that no device takes: an error also without a fault.
pub(super) fn wrong_texts(world: &World) -> Result<()> {
    let mut refused = 0;
    let foreign = PTX.replace("mul.f32", "div.rn.f32");
    // SAFETY: nothing is launched.
    let loaded = unsafe { world.device.load_unchecked("no PTX", ".version 7.0 .target sm_70 nonsense") };
    for loaded in [world.device.load(&foreign), world.device.load("nothing"), loaded] {
        match loaded {
            Err(Error::Module(_)) => refused += 1,
            Err(error) => return Err(error),
            Ok(_) => panic!("that is no module"),
        }
    }
    assert_eq!(refused, 3);
    Ok(())
}

pub(super) fn by_hand(world: &World) -> Result<()> {
    static PARAMETERS: [Parameter; 1] = [Parameter::bound::<u64>("words", "u64")];
    static KERNEL: Kernel = Kernel::new("store", "", "", 0, &PARAMETERS);
    let ptx = ".version 7.0 .target sm_70 .address_size 64 .visible .entry store(.param .u64 words)
        { .reg .b64 %rd<2>; ld.param.u64 %rd1, [words]; st.global.u32 [%rd1], 77; ret; }";
    // SAFETY: the kernel stores one word at the address that it is passed.
    let module = unsafe { world.device.load_unchecked("by hand", ptx) }?;
    let words = world.device.zeros::<u32>(1)?;
    // SAFETY: the one parameter is bound below.
    let mut call = unsafe { Call::new(&KERNEL) };
    // SAFETY: as above; the word exists until the kernel has ended.
    unsafe { call.arguments_mut() }.push_value(words.as_device_pointer().address());
    module.launch((1, 1), call)?;
    assert_eq!(words.to_vec()?, [77]);
    Ok(())
}

fn doubled(device: &Device) -> Result<Vec<f32>> {
    let module = device.load(PTX)?;
    let mut x = device.buffer_from(&[1.0_f32; 64])?;
    module.for_each(64, scale(2.0, &mut x))?;
    x.to_vec()
}

pub(super) fn checked(_: &World) -> Result<()> {
    let mut results = Vec::new();
    let findings = Checks::default().run(|device| {
        results = doubled(device)?;
        Ok(())
    })?;
    findings.assert_none();
    assert_eq!(results, [2.0; 64]);
    Ok(())
}

pub(super) fn in_all_orders(_: &World) -> Result<()> {
    let explored = Checks::default().explore(2, |device| doubled(device).map(drop))?;
    explored.assert_complete();
    Ok(())
}

/// A profile has the kernel, or says that no time is known of it.
fn assert_has_kernel(profile: &Profile) {
    let text = profile.to_string();
    assert!(profile.kernels().len() == 1 || text.contains("have no time"), "{text}");
}

pub(super) fn profiled(world: &World) -> Result<()> {
    let (result, profile) = rumba::profile(|| doubled(&world.device))?;
    assert_eq!(result?, [2.0; 64]);
    assert_has_kernel(&profile);
    Ok(())
}

pub(super) fn profiled_in_threads(world: &World) -> Result<()> {
    let profiler = Profiler::start_for_all_threads()?;
    let result = std::thread::scope(|scope| scope.spawn(|| doubled(&world.device)).join().expect("no thread panics"));
    let profile = profiler.finish();
    assert_eq!(result?, [2.0; 64]);
    assert_has_kernel(&profile);
    Ok(())
}
