//! `RUMBA_ENGINE`, `RUMBA_LLVM_LIBRARY` and `RUMBA_CACHE`. They are read once per process, so each run is one.

use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use cust::prelude::*;
use rumba_driver as _;

use test_processes::{asked, child, text};

/// Each thread adds its number to its element.
const PTX: &str = r#"
.version 7.0
.target sm_70
.address_size 64

.visible .entry numbers(.param .u64 y)
{
    .reg .b32 %thread, %block, %size, %value;
    .reg .b64 %y, %offset;
    ld.param.u64 %y, [y];
    mov.u32 %block, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %thread, %block, %size, %thread;
    mul.wide.u32 %offset, %thread, 4;
    add.s64 %y, %y, %offset;
    ld.global.u32 %value, [%y];
    add.u32 %value, %value, %thread;
    st.global.u32 [%y], %value;
    ret;
}
"#;

/// A run of three launches with these variables; `None` in its process.
fn run(variables: &[(&str, &str)]) -> Option<Output> {
    run_until(variables, |launches| launches == 3)
}

/// A run that launches the kernel until so many launches are enough.
fn run_until(variables: &[(&str, &str)], is_enough: impl Fn(u32) -> bool) -> Option<Output> {
    let mut all = vec![("RUMBA_DEVICE", "soft"), ("RUMBA_LOG", "errors")];
    all.extend(variables);
    child(&all, || {
        let _context = cust::quick_init()?;
        let module = Module::from_ptx(PTX, &[])?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
        let y = DeviceBuffer::<u32>::zeroed(4 * 64)?;
        let mut launches = 0;
        while !is_enough(launches) {
            // SAFETY: the parameter as declared; 4 blocks of 64 threads have 256 elements.
            unsafe {
                launch!(module.numbers<<<4, 64, 0, stream>>>(y.as_device_ptr()))?;
            }
            stream.synchronize()?;
            launches += 1;
        }
        let values = y.as_host_vec()?;
        assert!((0..).zip(values).all(|(thread, value)| value == launches * thread));
        Ok(())
    })
}

/// What a run says that succeeds.
#[track_caller]
fn said(output: &Output) -> String {
    let said = text(output);
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn engines_that_there_are_not_are_refused() {
    let Some(output) = run(&[("RUMBA_ENGINE", "fast")]) else {
        return;
    };
    let said = text(&output);
    assert!(!output.status.success());
    for part in ["RUMBA_ENGINE=fast is not", "`auto`", "`compiled`", "`interpreter`"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn what_is_asked_for_has_to_be_there() {
    let nowhere = ("RUMBA_LLVM_LIBRARY", "/nonexistent/libLLVM.so.22");
    let Some(output) = run(&[("RUMBA_ENGINE", "compiled"), nowhere]) else {
        return;
    };
    let said = text(&output);
    assert!(!output.status.success());
    assert!(said.contains("RUMBA_ENGINE=compiled asks for LLVM"), "{said}");
    assert!(said.contains("RUMBA_LLVM_LIBRARY"), "{said}");
}

#[test]
fn without_llvm_kernels_are_interpreted() {
    let variables = [
        ("RUMBA_ENGINE", "auto"),
        ("RUMBA_LLVM_LIBRARY", "/nonexistent/libLLVM.so.22"),
        ("RUMBA_CACHE", "off"),
    ];
    let Some(output) = run(&variables) else { return };
    assert!(!said(&output).contains("compiled"));
    let Some(output) = run(&[("RUMBA_ENGINE", "interpreter")]) else {
        return;
    };
    assert!(!said(&output).contains("compiled"));
}

#[test]
fn what_is_compiled_is_kept_for_later_processes() {
    // The processes of this test make no folder of their own.
    let folder = asked()
        .is_none()
        .then(|| tempfile::tempdir().expect("a temporary folder"));
    let cache = folder
        .as_ref()
        .map_or(Path::new("/nonexistent"), |folder| folder.path());
    let run = || {
        let cache = cache.to_str().expect("a folder of tests has a UTF-8 name");
        run(&[("RUMBA_ENGINE", "compiled"), ("RUMBA_CACHE", cache)])
    };
    let Some(first) = run() else { return };
    let first = said(&first);
    assert!(first.contains("kernel `numbers`: compiled in "), "{first}");
    let Some(second) = run() else { return };
    let second = said(&second);
    assert!(
        second.contains("kernel `numbers`: compiled code from the cache"),
        "{second}"
    );
    assert!(!second.contains("compiled in"), "{second}");
    // A damaged file is as none, and replaced.
    let file = std::fs::read_dir(cache.join("kernels")).expect("the cache has a folder");
    let file = file.map(|entry| entry.expect("the folder can be read").path());
    let file = file.into_iter().next().expect("the cache has a file");
    std::fs::write(&file, b"\x7fELF").expect("the file is ours");
    let Some(third) = run() else { return };
    assert!(said(&third).contains("compiled in "));
    let Some(fourth) = run() else { return };
    assert!(said(&fourth).contains("from the cache"));
}

#[test]
fn without_a_cache_nothing_is_kept() {
    let variables = [("RUMBA_ENGINE", "compiled"), ("RUMBA_CACHE", "off")];
    for _ in 0..2 {
        let Some(output) = run(&variables) else { return };
        let said = said(&output);
        assert!(said.contains("kernel `numbers`: compiled in "), "{said}");
    }
}

/// Files that a cache has.
fn files(cache: &Path) -> usize {
    std::fs::read_dir(cache.join("kernels")).map_or(0, |files| {
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        names.filter(|name| name.ends_with(".code")).count()
    })
}

#[test]
fn kernels_are_compiled_while_they_run() {
    let folder = asked()
        .is_none()
        .then(|| tempfile::tempdir().expect("a temporary folder"));
    let cache = folder
        .as_ref()
        .and_then(|folder| folder.path().to_str())
        .unwrap_or_default();
    let begun = Instant::now();
    // The process of the test knows the folder by its environment.
    let is_compiled = |launches: u32| {
        let cache = std::env::var_os("RUMBA_CACHE").unwrap_or_default();
        launches >= 10 && files(cache.as_ref()) > 0 || begun.elapsed() > Duration::from_secs(60)
    };
    let variables = [("RUMBA_ENGINE", "auto"), ("RUMBA_CACHE", cache)];
    let Some(output) = run_until(&variables, is_compiled) else {
        return;
    };
    assert!(said(&output).contains("kernel `numbers`: compiled in "));
    // Then it is there from the first launch.
    let Some(output) = run(&variables) else {
        return;
    };
    assert!(said(&output).contains("kernel `numbers`: compiled code from the cache"));
}

#[test]
fn a_process_may_end_before_its_kernels_are_compiled() {
    // The process of the test knows by its environment how long it runs.
    const AFTER: &str = "RUMBA_TEST_ENDS_AFTER";
    let begun = Instant::now();
    let after = std::env::var(AFTER).ok().and_then(|after| after.parse().ok());
    let is_enough = |_| begun.elapsed() > Duration::from_millis(after.unwrap_or(0));
    // Before LLVM is needed, while it is loaded, and at work.
    for milliseconds in [0, 14, 18, 22, 26, 30, 35, 60].map(|milliseconds| milliseconds.to_string()) {
        let variables = [("RUMBA_ENGINE", "auto"), ("RUMBA_CACHE", "off"), (AFTER, &milliseconds)];
        let Some(output) = run_until(&variables, is_enough) else {
            return;
        };
        said(&output);
    }
}
