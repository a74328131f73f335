//! Programs whose environment asks for a missing device.
//!
//! Each case runs in a process of its own.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::os::unix::fs::PermissionsExt;

use test_processes::{Outcome, alone, run_copy, text};

use crate::driver::abi::cuTexObjectCreate;

unsafe extern "C" {
    fn cuInit(flags: c_uint) -> c_int;
    fn cuDeviceGetCount(count: *mut c_int) -> c_int;
    fn cuDeviceGetAttribute(value: *mut c_int, number: c_int, device: c_int) -> c_int;
    fn cuGetErrorString(code: c_int, text: *mut *const c_char) -> c_int;
}

/// The driver has no device, says so in NVIDIA's words, and gives the reason to Rust callers.
fn there_is_no_device(parts: &[&str]) -> Outcome {
    let (mut count, mut text) = (9, std::ptr::null());
    // SAFETY: as cuda.h declares them.
    unsafe {
        assert_eq!(cuInit(0), 100);
        assert_eq!(cuDeviceGetCount(&raw mut count), 3);
        assert_eq!(cuGetErrorString(100, &raw mut text), 0);
        assert_eq!(CStr::from_ptr(text), c"no CUDA-capable device is detected");
    }
    let error = rumba_driver::device_kind().expect_err("no device").to_string();
    for part in parts {
        assert!(error.contains(part), "{error}");
    }
    Ok(())
}

#[test]
fn a_device_that_does_not_exist() {
    let said = alone(&[("RUMBA_DEVICE", "tpu"), ("RUMBA_LOG", "errors")], || {
        there_is_no_device(&["RUMBA_DEVICE=tpu", "`auto`", "`gpu`", "`soft`"])
    });
    if let Some(said) = said {
        assert!(said.contains("rumba: cuInit -> CUDA_ERROR_NO_DEVICE"), "{said}");
    }
}

#[test]
fn a_library_that_does_not_exist() {
    let library = "/nonexistent/libcuda.so.1";
    alone(&[("RUMBA_DEVICE", "gpu"), ("RUMBA_CUDA_LIBRARY", library)], || {
        there_is_no_device(&[library, "No such file", "RUMBA_DEVICE=soft"])
    });
}

#[test]
fn a_number_of_software_devices_that_is_none() {
    for asked in ["garbage", "0"] {
        let variables = [("RUMBA_DEVICE", "soft"), ("RUMBA_SOFT_DEVICES", asked)];
        let parts = ["RUMBA_SOFT_DEVICES=", "is no number of software devices", "from 1 to 64"];
        if alone(&variables, || there_is_no_device(&parts)).is_none() {
            return;
        }
    }
}

#[test]
fn a_compute_capability_that_is_none() {
    alone(&[("RUMBA_DEVICE", "soft"), ("RUMBA_SOFT_ARCH", "9.5")], || {
        there_is_no_device(&["RUMBA_SOFT_ARCH=9.5 ", "8.0, 8.6", "9.0"])
    });
}

#[test]
fn the_software_device_logs_what_it_is_asked_to() {
    let said = alone(&[("RUMBA_DEVICE", "soft"), ("RUMBA_LOG", "calls")], || {
        // SAFETY: as cuda.h declares them.
        unsafe {
            assert_eq!(cuInit(0), 0);
            assert_eq!(cuDeviceGetCount(std::ptr::null_mut()), 1);
        }
        assert_eq!(rumba_driver::device_kind(), Ok(rumba_driver::DeviceKind::Software));
        Ok(())
    });
    if let Some(said) = said {
        assert!(said.contains("rumba: cuInit -> CUDA_SUCCESS\n"), "{said}");
        assert!(said.contains("rumba: cuDeviceGetCount -> CUDA_ERROR_INVALID_VALUE: the argument `count` is null\n"));
    }
}

/// C has one code for whatever the device lacks, so it is named without being asked for, once.
#[test]
fn what_is_not_served_is_named() {
    let ask = || {
        let null = std::ptr::null();
        // SAFETY: as cuda.h declares them; a call that is not served reads no argument.
        unsafe {
            assert_eq!(cuInit(0), 0);
            for _ in 0..2 {
                assert_eq!(cuTexObjectCreate(std::ptr::null_mut(), null, null, null), 801);
            }
        }
        let report = rumba_driver::last_report();
        assert!(report.is_some_and(|report| report.contains("textures are left out")));
        Ok(())
    };
    const SENTENCE: &str = "rumba: cuTexObjectCreate -> CUDA_ERROR_NOT_SUPPORTED: cuTexObjectCreate is not served by the software device yet: textures are left out\n";
    for (level, times) in [("", 1), ("off", 0), ("errors", 2)] {
        let Some(said) = alone(&[("RUMBA_DEVICE", "soft"), ("RUMBA_LOG", level)], ask) else {
            return;
        };
        assert_eq!(said.matches(SENTENCE).count(), times, "RUMBA_LOG={level}: {said}");
    }
}

/// The number has nothing to do with the threads that run blocks.
#[test]
fn multiprocessors_are_as_many_as_asked_for() {
    for (asked, expected) in [("", 132), ("8", 8)] {
        let variables = [("RUMBA_DEVICE", "soft"), ("RUMBA_WORKERS", "1"), ("RUMBA_MULTIPROCESSORS", asked)];
        let said = alone(&variables, || {
            let mut count = 0;
            // SAFETY: as cuda.h declares them.
            unsafe {
                assert_eq!(cuInit(0), 0);
                assert_eq!(cuDeviceGetAttribute(&mut count, 16, 0), 0);
            }
            println!("there are {count}");
            Ok(())
        });
        let Some(said) = said else { return };
        assert!(said.contains(&format!("there are {expected}\n")), "{said}");
    }
}

#[test]
fn a_number_of_multiprocessors_that_is_none() {
    for asked in ["0", "1025", "many"] {
        let variables = [("RUMBA_DEVICE", "soft"), ("RUMBA_LOG", "errors"), ("RUMBA_MULTIPROCESSORS", asked)];
        let said = alone(&variables, || {
            // SAFETY: as cuda.h declares it.
            assert_ne!(unsafe { cuInit(0) }, 0);
            Ok(())
        });
        let Some(said) = said else { return };
        assert!(said.contains("is not a number of multiprocessors from 1 to 1024"), "{said}");
    }
}

/// A program with more rights than its user loads no library that the user names.
#[test]
fn set_uid_programs_ignore_libraries_of_the_environment() {
    const NAME: &str = "choice::set_uid_programs_ignore_libraries_of_the_environment";
    const VARIABLE: &str = "RUMBA_CUDA_LIBRARY";
    let variables = [(VARIABLE, "/nonexistent/libcuda.so.1"), ("RUMBA_DEVICE", "soft")];
    let said = alone(&variables, || {
        let named = rumba_driver::library_from_environment(VARIABLE);
        // SAFETY: the call reads a value that the kernel passed to the process.
        let secure = unsafe { libc::getauxval(libc::AT_SECURE) };
        println!("secure {secure}: {named:?}");
        println!("device: {:?}", rumba_driver::device_kind());
        Ok(())
    });
    let Some(said) = said else { return };
    assert!(said.contains("secure 0: Some(\"/nonexistent/libcuda.so.1\")"), "{said}");
    // SAFETY: the call has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        // Only root can give a program to another user.
        return;
    }
    let folder = std::env::temp_dir().join(format!("rumba-set-uid-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a temporary folder");
    let program = folder.join("program");
    std::fs::copy(std::env::current_exe().expect("the test knows its file"), &program).expect("a copy");
    std::os::unix::fs::chown(&program, Some(65534), None).expect("root may");
    let readable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&folder, readable).expect("the folder is ours");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).expect("root may");
    let output = run_copy(&program, NAME, &variables);
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    // Where the file system is mounted without set-uid programs, this one is none.
    let said = text(&output.expect("the copy can be run"));
    assert!(said.contains("secure 1: None") || said.contains("secure 0: Some"), "{said}");
    if said.contains("secure 1") && cfg!(not(feature = "linked")) {
        assert!(said.contains("device: Err(SoftLibrary(Privileged))"), "{said}");
    }
}
