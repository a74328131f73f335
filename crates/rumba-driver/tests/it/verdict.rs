//! What a process under `RUMBA_CHECK` says at its end, and the exit code that it ends with; and what a process says that cannot use
//! the device.

use std::process::Output;

use cust::prelude::*;
use rumba_driver as _;

use test_processes::{child, text};

/// A counter whose name a compiler of C++ has mangled.
const PTX: &str = r#"
.version 7.0
.target sm_70
.address_size 64

.visible .entry _ZN5tools5countILi4EEEvPj(.param .u64 x)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [x];
    ld.global.u32 %r1, [%rd1];
    add.u32 %r2, %r1, 1;
    st.global.u32 [%rd1], %r2;
    ret;
}
"#;

/// Launches a kernel with this number of blocks twice.
fn count(blocks: u32) -> cust::error::CudaResult<()> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(PTX, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let x = DeviceBuffer::<u32>::zeroed(1)?;
    let function = module.get_function("_ZN5tools5countILi4EEEvPj")?;
    for _ in 0..2 {
        // SAFETY: the parameter is as declared, and the race does no harm on the software device.
        unsafe {
            launch!(function<<<blocks, 1, 0, stream>>>(x.as_device_ptr()))?;
        }
    }
    stream.synchronize()
}

/// A process that launches this number of blocks and ends with a code; `None` in that process.
fn run(variables: &[(&str, &str)], blocks: u32, code: i32) -> Option<Output> {
    let mut all = vec![("RUMBA_DEVICE", "soft")];
    all.extend(variables);
    child(&all, || {
        count(blocks)?;
        std::process::exit(code);
    })
}

/// The line that the process ends with.
fn last(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut lines = said.lines().filter(|line| line.starts_with("rumba: "));
    lines.next_back().unwrap_or_default().to_owned()
}

const RACE: (&str, &str) = ("RUMBA_CHECK", "race");

#[test]
fn errors_make_the_exit_code() {
    let Some(output) = run(&[RACE], 2, 0) else { return };
    let said = text(&output);
    assert_eq!(output.status.code(), Some(66), "{said}");
    assert!(said.contains("kernel `tools::count<4>`: data race"), "{said}");
    assert_eq!(
        last(&output),
        "rumba: 2 errors in 1 kernel, 2 launches (RUMBA_CHECK=race); exit code 66, which RUMBA_CHECK_EXIT=0 turns off"
    );
}

#[test]
fn without_errors_the_exit_code_stays() {
    let Some(output) = run(&[RACE], 1, 0) else { return };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(last(&output), "rumba: no findings in 2 launches (RUMBA_CHECK=race)");
}

#[test]
fn an_exit_code_of_the_program_stays() {
    let Some(output) = run(&[RACE], 2, 3) else { return };
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert_eq!(last(&output), "rumba: 2 errors in 1 kernel, 2 launches (RUMBA_CHECK=race)");
}

#[test]
fn the_exit_code_can_be_chosen() {
    let Some(output) = run(&[RACE, ("RUMBA_CHECK_EXIT", "5")], 2, 0) else {
        return;
    };
    assert_eq!(output.status.code(), Some(5), "{}", text(&output));
}

#[test]
fn the_exit_code_can_be_left() {
    let Some(output) = run(&[RACE, ("RUMBA_CHECK_EXIT", "0")], 2, 0) else {
        return;
    };
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(last(&output), "rumba: 2 errors in 1 kernel, 2 launches (RUMBA_CHECK=race)");
}

#[test]
fn without_checks_nothing_is_said() {
    let Some(output) = run(&[], 2, 0) else { return };
    assert_eq!((output.status.code(), &*last(&output)), (Some(0), ""));
}

#[test]
fn a_check_that_does_not_exist_is_told_once() {
    let variables = [("RUMBA_CHECK", "rcae"), ("RUMBA_LOG", "reports"), ("RUMBA_DEVICE", "soft")];
    let output = child(&variables, || {
        assert!(count(1).is_err() && count(1).is_err());
        Ok(())
    });
    let Some(output) = output else { return };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("there is no check `rcae`").count(), 1, "{said}");
}

#[test]
fn a_forked_process_says_why_it_cannot_use_the_device() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn exit(code: i32) -> !;
    }
    let output = child(&[("RUMBA_DEVICE", "soft"), ("RUMBA_LOG", "reports"), RACE], || {
        count(1)?;
        // SAFETY: the child calls the driver, which knows that it was forked, and ends.
        unsafe {
            let process = fork();
            if process == 0 {
                exit(i32::from(count(1).is_ok()));
            }
            let mut status = -1;
            assert_eq!(waitpid(process, &raw mut status, 0), process);
            assert_eq!(status, 0);
        }
        std::process::exit(0);
    });
    let Some(output) = output else { return };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("this process was forked after the first call").count(), 1, "{said}");
    // The line of counts is the parent's.
    assert_eq!(said.matches("no findings in 2 launches").count(), 1, "{said}");
}
