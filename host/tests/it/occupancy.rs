//! Occupancy, block sizes and hints, on any device.

use rumba::test_kernels::{PTX, scale};
use rumba::{Device, LaunchConfig, occupancy::Hint, occupancy::Resource};

/// Takes much of a multiprocessor: 40,000 bytes of shared memory.
const HUNGRY: &str = ".version 7.0 .target sm_70 .address_size 64
    .visible .entry hungry(.param .u64 out) {
        .shared .align 4 .b8 tile[40000];
        .reg .b32 %r; .reg .b64 %a;
        mov.u64 %a, tile; cvt.u32.u64 %r, %a; st.shared.u32 [tile], %r;
        ret;
    }";

#[test]
fn the_calculator_agrees_with_the_driver() -> rumba::Result<()> {
    let device = Device::new()?;
    for (ptx, kernel) in [(PTX, "scale"), (PTX, "saxpy"), (HUNGRY, "hungry")] {
        // SAFETY: nothing is launched.
        let module = unsafe { device.load_unchecked(kernel, ptx) }?;
        let info = module.info(kernel)?;
        for threads in [1, 31, 32, 33, 64, 96, 128, 192, 256, 384, 512, 768, 1000, 1024] {
            for shared in [0, 1, 1000, 8 << 10, 40 << 10] {
                let asked = module.occupancy(kernel, threads, shared)?;
                let computed = device.limits().occupancy(&info, threads, shared);
                assert_eq!(asked, computed, "{kernel}, {threads} threads, {shared} bytes");
            }
        }
    }
    Ok(())
}

/// Above 48 KiB the driver wants to be told before it is asked, and what it is told last counts.
#[test]
fn much_shared_memory() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    assert!(module.occupancy("scale", 256, 60 << 10)?.blocks >= 1);
    let mut values = device.buffer_from(&[1.0_f32; 256])?;
    for (asked, launched) in [(64, 96), (56, 96), (96, 64)] {
        assert!(module.occupancy("scale", 256, asked << 10)?.blocks >= 1);
        module.launch(LaunchConfig::new(1, 256).shared(launched << 10), scale(2.0, &mut values))?;
    }
    // As many blocks as run at once.
    let module = device.load(PTX)?;
    module.launch(LaunchConfig::at_once().block(256).shared(96 << 10), scale(2.0, &mut values))?;
    assert_eq!(values.to_vec()?, [16.0; 256]);
    Ok(())
}

#[test]
fn what_limits_is_named() -> rumba::Result<()> {
    // SAFETY: nothing is launched.
    let module = unsafe { Device::new()?.load_unchecked("hungry.ptx", HUNGRY) }?;
    let occupancy = module.occupancy("hungry", (16, 16), 0)?;
    assert_eq!(occupancy.threads, 256);
    assert_eq!(occupancy.limited_by().collect::<Vec<_>>(), [Resource::SharedMemory]);
    assert!(occupancy.to_string().ends_with("limited by shared memory"), "{occupancy}");
    // Larger blocks make more of the same shared memory.
    let best = module.suggest_block("hungry", |_| 0)?;
    assert!(best.fraction() > occupancy.fraction(), "{best}");
    assert!(module.occupancy("missing", 32, 0).is_err());
    Ok(())
}

#[test]
fn hints_tell_what_may_be_slow() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let limits = device.limits();
    let wave = limits.multiprocessors * module.occupancy("scale", 256, 0)?.blocks;

    assert_eq!(module.hints("scale", 20 * wave, 256, 0)?, [], "a usual launch");
    let hints = module.hints("scale", wave + 1, 256, 0)?;
    assert!(matches!(hints[..], [Hint::Tail { used, .. }] if used < 0.6), "{hints:?}");
    assert!(hints[0].to_string().contains("the last of 1 blocks"), "{}", hints[0]);
    let hints = module.hints("scale", 20 * wave, 32, 32 << 10)?;
    assert!(matches!(hints[..], [Hint::LowOccupancy { .. }]), "{hints:?}");
    assert!(hints[0].to_string().contains("blocks of"), "{}", hints[0]);
    if limits.multiprocessors > 1 {
        let hints = module.hints("scale", 1, 256, 0)?;
        assert!(matches!(hints[..], [Hint::FewBlocks { blocks: 1, .. }]), "{hints:?}");
    }
    Ok(())
}
