//! Programs in all orders of their synchronising operations, through the runtime and through the environment.

use cuda_std::launch::{Call, Kernel, Parameter};
use rumba::check::FindingKind;
use rumba::{Check, Checks, Device, Error};
use test_processes::alone;

/// Counters that count in two steps and at once, and a thread that traps where it comes before another.
const PTX: &str = "
    .version 7.0
    .target sm_70
    .address_size 64
    .visible .entry step(.param .u64 x)
    {
        .reg .pred %p<2>;
        .reg .b32 %r<4>;
        .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [x];
        ld.relaxed.gpu.global.u32 %r1, [%rd1];
        add.u32 %r2, %r1, 1;
        st.relaxed.gpu.global.u32 [%rd1], %r2;
        red.relaxed.gpu.global.add.u32 [%rd1+4], 1;
        ret;
    }
    .visible .entry at_once(.param .u64 x)
    {
        .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [x];
        red.relaxed.gpu.global.add.u32 [%rd1], 1;
        ret;
    }
    .visible .entry ticket(.param .u64 x)
    {
        .reg .pred %p<2>;
        .reg .b32 %r<4>;
        .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [x];
        mov.u32 %r1, %ctaid.x;
        setp.ne.u32 %p1, %r1, 0;
        atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1;
        @%p1 st.global.u32 [%rd1+4], %r2;
        ret;
    }
    .visible .entry comes_first(.param .u64 x)
    {
        .reg .pred %p<3>;
        .reg .b32 %r<4>;
        .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [x];
        mov.u32 %r1, %ctaid.x;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1;
        atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1;
        setp.eq.u32 %p2, %r2, 0;
        setp.ne.and.u32 %p2, %r1, 0, %p2;
        @%p2 trap;
        ret;
    }";

/// Launches one of these kernels with two blocks of one thread, and gives the counters.
fn launch(gpu: &Device, name: &'static str) -> rumba::Result<Vec<u32>> {
    static X: [Parameter; 1] = [Parameter::bound::<u64>("x", "u64")];
    static KERNELS: [Kernel; 4] = [
        Kernel::new("step", "", "", 0, &X),
        Kernel::new("at_once", "", "", 0, &X),
        Kernel::new("ticket", "", "", 0, &X),
        Kernel::new("comes_first", "", "", 0, &X),
    ];
    let kernel = KERNELS.iter().find(|kernel| kernel.name == name).unwrap();
    let x = gpu.zeros::<u32>(2)?;
    // SAFETY: the kernel takes the address of two words, which exist until it has ended.
    let module = unsafe { gpu.load_unchecked("explore.ptx", PTX) }?;
    // SAFETY: as above.
    let mut call = unsafe { Call::new(kernel) };
    // SAFETY: as above.
    unsafe { call.arguments_mut() }.push_value(x.as_device_pointer().address());
    module.launch((2, 1), call)?;
    gpu.synchronize()?;
    x.to_vec()
}

#[test]
fn what_the_host_sees_is_compared() {
    let only = Checks::default().only([Check::Portability]);
    let explored = only.explore(100, |gpu| launch(gpu, "step")).unwrap();
    assert!(explored.is_complete(), "{explored}");
    // One after the other, or both load before either of them stores.
    assert_eq!((explored.orders(), explored.redundant()), (4, 0));
    let [found] = explored.found() else { panic!("{explored}") };
    assert_eq!(found.finding.kind, FindingKind::ScheduleDependent);
    let text = explored.to_string();
    assert!(text.contains("1. thread (0, 0, 0) of block"), "{text}");
    assert!(text.contains(&format!("RUMBA_CHECK_ORDER={}", found.schedule.replay)), "{text}");
    assert!(text.ends_with("1 warning; complete: 4 orders"), "{text}");
    Checks::default().explore(100, |gpu| launch(gpu, "at_once")).unwrap().assert_complete();
}

#[test]
fn the_bound_is_kept_and_told() {
    let explored = Checks::default().explore(2, |gpu| launch(gpu, "step")).unwrap();
    assert_eq!((explored.orders(), explored.is_complete()), (2, false));
    assert!(explored.to_string().contains("not complete, 2 orders: stopped after the bound of 2 orders"));
}

/// The orders of an exploration follow one another, whatever other threads explore or check meanwhile.
#[test]
fn threads_explore_and_check_at_the_same_time() {
    std::thread::scope(|scope| {
        let explorations = [100, 100, 2, 100, 2].map(|bound| {
            let explore = move || Checks::default().explore(bound, |gpu| launch(gpu, "step")).unwrap();
            (bound, scope.spawn(explore))
        });
        let check = scope.spawn(|| Checks::default().schedules(20).run(|gpu| launch(gpu, "at_once")).unwrap());
        for (bound, exploration) in explorations {
            let explored = exploration.join().unwrap();
            assert_eq!((explored.orders(), explored.is_complete()), (bound.min(4), bound > 4));
        }
        check.join().unwrap().assert_none();
    });
}

#[test]
fn a_check_within_a_check_is_refused() {
    let mut refused = Vec::new();
    let found = Checks::default().schedules(1).run(|gpu| {
        refused.push(rumba::check(|gpu| launch(gpu, "at_once")).unwrap_err());
        refused.push(Checks::default().explore(2, |gpu| launch(gpu, "at_once")).unwrap_err());
        launch(gpu, "at_once")
    });
    found.unwrap().assert_none();
    for error in refused {
        assert!(error.to_string().contains("within the closure of another check"), "{error}");
    }
    rumba::check(|gpu| launch(gpu, "at_once")).unwrap().assert_none();
}

#[test]
fn a_mistake_of_one_order_is_found() {
    let explored = Checks::default().explore(100, |gpu| launch(gpu, "comes_first")).unwrap();
    assert!(explored.is_complete(), "{explored}");
    let [found] = explored.found() else { panic!("{explored}") };
    assert_eq!(found.finding.kind, FindingKind::Trap);
    assert_eq!(found.schedule.replay, REPLAY);
}

/// The order in which the second block adds before the first.
const REPLAY: &str = "0:1";

#[test]
fn an_order_is_run_again() {
    alone(&[("RUMBA_DEVICE", "soft"), ("RUMBA_CHECK_ORDER", REPLAY)], || {
        let explored = Checks::default().explore(100, |gpu| launch(gpu, "comes_first")).unwrap();
        assert_eq!((explored.orders(), explored.found().len()), (1, 1), "{explored}");
        assert!(!explored.is_complete());
        Ok(())
    });
}

#[test]
fn each_launch_of_a_process_is_explored() {
    let environment =
        [("RUMBA_DEVICE", "soft"), ("RUMBA_CHECK", "all"), ("RUMBA_CHECK_EXIT", "0"), ("RUMBA_CHECK_ORDERS", "100")];
    alone(&environment, || {
        let gpu = Device::new().unwrap();
        // Each order begins with the same memory.
        assert_eq!(launch(&gpu, "at_once").unwrap(), [2, 0]);
        assert_eq!(launch(&gpu, "step").unwrap()[1], 2);
        assert!(matches!(launch(&gpu, "comes_first"), Err(Error::Fault(_))));
        Ok(())
    });
}

#[test]
fn quick_programs_are_checked_in_several_orders() {
    let mut calls = 0_u32;
    let found = rumba::check(|gpu| {
        calls += 1;
        launch(gpu, "at_once")
    });
    found.unwrap().assert_none();
    // Fewer than 5 on a machine that is busy.
    assert!((2..=5).contains(&calls), "{calls}");
    // The block that gets the first ticket differs between orders, and the host reads it.
    let found = rumba::check(|gpu| launch(gpu, "ticket")).unwrap();
    let kinds: Vec<FindingKind> = found.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::ScheduleDependent], "{found}");
    // A lost update is found in each order, so the first one is enough.
    calls = 0;
    let found = rumba::check(|gpu| {
        calls += 1;
        launch(gpu, "step")
    });
    let found = found.unwrap();
    assert_eq!((found[0].kind, found.len(), calls), (FindingKind::LostUpdate, 1, 1), "{found}");
    assert!(found.to_string().contains("1 error; to see the first again: "), "{found}");
}

#[test]
fn a_program_that_would_not_do_the_same_again_is_not_compared() {
    // Each call hands the device something else, and the results differ for that reason.
    let mut calls = 0_u32;
    let found = Checks::default().schedules(3).run(|gpu| {
        calls += 1;
        gpu.buffer_from(&[calls])?.to_vec()
    });
    found.unwrap().assert_none();
    assert_eq!(calls, 3);
    // Without a number of orders, a second call shows it.
    let mut calls = 0_u32;
    let found = rumba::check(|gpu| {
        calls += 1;
        gpu.buffer_from(&[calls])?.to_vec()
    });
    found.unwrap().assert_none();
    assert_eq!(calls, 2);
    // A second call would repeat the device's changes in place.
    let (mut calls, mut values) = (0, [1_u32, 2, 3]);
    let found = rumba::check(|gpu| {
        calls += 1;
        gpu.buffer_from(&values)?.copy_to(&mut values)
    });
    found.unwrap().assert_none();
    assert_eq!(calls, 1);
}
