//! Whole reports of faults, for each kernel of tests/kernels/src/faulty.rs.
//!
//! `UPDATE_EXPECT=1 cargo test -p rumba-tests --test it faults` blesses the reports as they are.
//! Addresses differ from run to run, and lines of PTX from compiler to compiler; they appear here as `0x…` and `line …`.

use expect_test::{Expect, expect};
use rumba::{Device, Error, Module};
use test_kernels::faulty as kernels;

use test_processes::alone;

use crate::common::hide_addresses;

const PTX: &str = include_str!(env!("FAULTY_PTX"));

/// Launches in a process of the test's own, whose context a fault makes unusable.
fn with_module(launch: impl FnOnce(&Device, &Module) -> Result<(), Error>, report: Expect) {
    /// Around the report in what the process prints.
    const REPORT: &str = "-- report --\n";
    let printed = alone(&[("RUMBA_DEVICE", "soft")], || {
        let device = Device::new().expect("the software device is always there");
        let module = device.load_named("faulty.ptx", PTX).expect("the module is right, its kernels are not");
        let error = launch(&device, &module).expect_err("the kernel is wrong");
        println!("\n{REPORT}{error}{REPORT}");
        Ok(())
    });
    if let Some(printed) = printed {
        let said = printed.split(REPORT).nth(1).expect("the process printed it");
        report.assert_eq(&hide_numbers(said));
    }
}

/// The text without what is not the same everywhere: `0x…` numbers of eight digits and more, lines of PTX.
fn hide_numbers(text: &str) -> String {
    const LINE: &str = "PTX line ";
    let (before, line) = text.split_once(LINE).unwrap_or((text, ""));
    let text = match line.is_empty() {
        true => before.to_owned(),
        false => format!("{before}{LINE}…{}", line.trim_start_matches(|c: char| c.is_ascii_digit())),
    };
    hide_addresses(&text)
}

#[test]
fn write_behind_end() {
    with_module(
        |device, module| {
            let x = device.zeros::<f32>(100)?;
            // SAFETY: the kernel writes out of bounds, which the software device catches.
            module.launch((1, 128), unsafe { kernels::write_behind_end(x.as_device_pointer()) })?;
            device.synchronize()
        },
        expect![[r#"
            illegal memory access: write of 4 bytes of global memory at 0x…: 0 bytes after the end of a block of 400 bytes allocated at tests/tests/it/faults.rs:48:28
              in kernel `write_behind_end`, block (0, 0, 0), thread (100, 0, 0)
              at tests/kernels/src/faulty.rs:15:14
              PTX line …
            The driver calls it: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)
            The context is lost. `device.reset()` starts a new one where the driver can; modules, buffers and streams must be made anew."#]],
    );
}

#[test]
fn read_misaligned() {
    with_module(
        |device, module| {
            let x = device.zeros::<u8>(100)?;
            let mut y = device.zeros::<f32>(4)?;
            // SAFETY: the kernel reads misaligned, which the software device catches.
            module.launch((1, 32), unsafe { kernels::read_misaligned(x.as_device_pointer(), &mut y) })?;
            device.synchronize()
        },
        expect![[r#"
            misaligned memory access: read of 4 bytes of global memory at 0x…, which is not a multiple of 4: 1 bytes into a block of 100 bytes allocated at tests/tests/it/faults.rs:67:28
              in kernel `read_misaligned`, block (0, 0, 0), thread (0, 0, 0)
              at tests/kernels/src/faulty.rs:26:23
              PTX line …
            The driver calls it: misaligned address (CUDA_ERROR_MISALIGNED_ADDRESS, 716)
            The context is lost. `device.reset()` starts a new one where the driver can; modules, buffers and streams must be made anew."#]],
    );
}

#[test]
fn index_behind_end() {
    let mut y = [0; 64];
    with_module(
        |_, module| module.for_each(64, kernels::index_behind_end(&[1, 2, 3], &mut y)),
        expect![[r#"
            the kernel `index_behind_end` panicked at tests/kernels/src/faulty.rs:34:14: index out of bounds: the len is 3 but the index is 5
              in block (0, 0, 0), thread (0, 0, 0), and in 63 more threads
            The other threads ran on without it, so the results are incomplete. The device can be used as before."#]],
    );
}

#[test]
fn add_overflow() {
    let x: Vec<u32> = (0..64).map(|i| if i == 40 { u32::MAX } else { i }).collect();
    let mut y = [0; 64];
    with_module(
        |_, module| module.for_each(64, kernels::add_overflow(&x, &mut y)),
        expect![[r#"
            the kernel `add_overflow` panicked at tests/kernels/src/faulty.rs:43:14: attempt to add with overflow
              in block (0, 0, 0), thread (40, 0, 0)
            The other threads ran on without it, so the results are incomplete. The device can be used as before."#]],
    );
}

#[test]
fn failed_assert() {
    let x: Vec<u32> = (0..128).collect();
    let mut y = [0; 128];
    with_module(
        |_, module| module.for_each(128, kernels::failed_assert(&x, &mut y)),
        expect![[r#"
            the kernel `failed_assert` panicked at tests/kernels/src/faulty.rs:52:9: x must be below 100
              in block (0, 0, 0), thread (100, 0, 0), and in 27 more threads
            The other threads ran on without it, so the results are incomplete. The device can be used as before."#]],
    );
}

#[test]
fn divide_by_zero() {
    let x = [5, 0, 1];
    let mut y = [0; 3];
    with_module(
        |_, module| module.for_each(3, kernels::divide_by_zero(&x, &mut y)),
        expect![[r#"
            the kernel `divide_by_zero` panicked at tests/kernels/src/faulty.rs:62:14: attempt to divide by zero
              in block (0, 0, 0), thread (1, 0, 0)
            The other threads ran on without it, so the results are incomplete. The device can be used as before."#]],
    );
}
