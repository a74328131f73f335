//! What a wrong kernel's author reads: the whole report, for each kernel of tests/faulty.
//!
//! `UPDATE_EXPECT=1 cargo test -p rumba-tests --test faults` blesses the reports as they are.
//! Addresses differ from run to run; they appear here as `0x…`.

use expect_test::{Expect, expect};
use faulty_kernels as kernels;
use rumba::{Device, Error, Module};

const PTX: &str = include_str!(env!("FAULTY_PTX"));

/// A device of this test's own state: a fault makes the context unusable until it is reset.
fn with_module(launch: impl FnOnce(&Device, &Module) -> Result<(), Error>, report: Expect) {
    // SAFETY: every test of this file sets the same value before its first driver call.
    unsafe { std::env::set_var("RUMBA_DEVICE", "soft") };
    let device = Device::new().expect("the software device is always there");
    let module = device
        .load_named("faulty_kernels.ptx", PTX)
        .expect("the module is right, its kernels are not");
    let error = launch(&device, &module).expect_err("the kernel is wrong");
    report.assert_eq(&hide_addresses(&error.to_string()));
}

/// The text with every `0x…` number of eight digits and more hidden.
fn hide_addresses(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("0x") {
        let digits = rest[at + 2..].bytes().take_while(u8::is_ascii_hexdigit).count();
        out += &rest[..at + 2];
        out += if digits >= 8 {
            "…"
        } else {
            &rest[at + 2..at + 2 + digits]
        };
        rest = &rest[at + 2 + digits..];
    }
    out + rest
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
        expect![""],
    );
}

#[test]
fn read_misaligned() {
    with_module(
        |device, module| {
            let x = device.zeros::<u8>(100)?;
            let mut y = device.zeros::<f32>(4)?;
            // SAFETY: the kernel reads misaligned, which the software device catches.
            module.launch((1, 32), unsafe {
                kernels::read_misaligned(x.as_device_pointer(), &mut y)
            })?;
            device.synchronize()
        },
        expect![""],
    );
}

#[test]
fn index_behind_end() {
    let mut y = [0; 64];
    with_module(
        |_, module| module.for_each(64, kernels::index_behind_end(&[1, 2, 3], &mut y)),
        expect![""],
    );
}

#[test]
fn add_overflow() {
    let x: Vec<u32> = (0..64).map(|i| if i == 40 { u32::MAX } else { i }).collect();
    let mut y = [0; 64];
    with_module(
        |_, module| module.for_each(64, kernels::add_overflow(&x, &mut y)),
        expect![""],
    );
}

#[test]
fn failed_assert() {
    let x: Vec<u32> = (0..128).collect();
    let mut y = [0; 128];
    with_module(
        |_, module| module.for_each(128, kernels::failed_assert(&x, &mut y)),
        expect![""],
    );
}

#[test]
fn divide_by_zero() {
    let x = [5, 0, 1];
    let mut y = [0; 3];
    with_module(
        |_, module| module.for_each(3, kernels::divide_by_zero(&x, &mut y)),
        expect![""],
    );
}
