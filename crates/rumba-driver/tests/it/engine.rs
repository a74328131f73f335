//! `RUMBA_ENGINE`, `RUMBA_LLVM_LIBRARY`, `RUMBA_CODEGEN_LEVEL`, `RUMBA_CACHE` and `RUMBA_COMPARE_JSON`: read once, so runs are processes.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use cust::prelude::*;
use rumba_driver as _;
use sha2::{Digest, Sha256};

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

/// In the environment of a process: its threads subtract their numbers.
const SUBTRACTS: &str = "RUMBA_TEST_SUBTRACTS";

/// In the environment of a process: its kernel is too long to be compiled.
const LONG: &str = "RUMBA_TEST_LONG";

/// The kernel that a process launches.
fn text_of_kernel() -> String {
    let is_set = |variable: &str| std::env::var_os(variable).is_some();
    if is_set(SUBTRACTS) {
        PTX.replace("add.u32 %value", "sub.u32 %value")
    } else if is_set(LONG) {
        // An even number of exclusive ors with one number gives the value back.
        let turns = "    xor.b32 %value, %value, %thread;\n".repeat(40_000);
        PTX.replacen("    add.u32", &format!("{turns}    add.u32"), 1)
    } else {
        PTX.to_owned()
    }
}

/// A run of three launches with these variables; `None` in its process.
fn run(variables: &[(&str, &str)]) -> Option<Output> {
    run_until(variables, |launches| launches == 3)
}

/// A run that launches the kernel until `is_enough` accepts the number of launches.
fn run_until(variables: &[(&str, &str)], is_enough: impl Fn(u32) -> bool) -> Option<Output> {
    let mut all = vec![("RUMBA_DEVICE", "soft"), ("RUMBA_LOG", "errors")];
    all.extend(variables);
    child(&all, || {
        let _context = cust::quick_init()?;
        let module = Module::from_ptx(&*text_of_kernel(), &[])?;
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

/// The output of a run, which must succeed.
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
    for part in ["RUMBA_ENGINE=fast is not", "`auto`", "`compiled`", "`interpreter`", "`compare`"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn code_of_each_level_is_compiled_and_kept_apart() {
    // The processes of this test make no folder of their own.
    let folder = asked().is_none().then(|| tempfile::tempdir().expect("a temporary folder"));
    let cache = folder.as_ref().map_or(Path::new("/nonexistent"), |folder| folder.path());
    let cache = cache.to_str().expect("a folder of tests has a UTF-8 name");
    for level in ["0", "3"] {
        let variables = [("RUMBA_ENGINE", "compiled"), ("RUMBA_CODEGEN_LEVEL", level), ("RUMBA_CACHE", cache)];
        let Some(output) = run(&variables) else { return };
        assert!(said(&output).contains("kernel `numbers`: compiled in "), "{}", text(&output));
    }
    for engine in ["compiled", "interpreter"] {
        let Some(output) = run(&[("RUMBA_ENGINE", engine), ("RUMBA_CODEGEN_LEVEL", "4")]) else { return };
        let said = text(&output);
        assert!(!output.status.success());
        assert!(said.contains("RUMBA_CODEGEN_LEVEL=4 is not a level of LLVM's code generator, 0 to 3"), "{said}");
    }
}

#[test]
fn what_is_asked_for_has_to_be_there() {
    let nowhere = ("RUMBA_LLVM_LIBRARY", "/nonexistent/libLLVM.so.22");
    for engine in ["compiled", "compare"] {
        let Some(output) = run(&[("RUMBA_ENGINE", engine), nowhere]) else {
            return;
        };
        let said = text(&output);
        assert!(!output.status.success());
        assert!(said.contains(&format!("RUMBA_ENGINE={engine} asks for LLVM")), "{said}");
        assert!(said.contains("RUMBA_LLVM_LIBRARY"), "{said}");
    }
}

#[test]
fn a_kernel_that_is_interpreted_all_the_same_is_named() {
    let Some(output) = run(&[("RUMBA_ENGINE", "compiled"), ("RUMBA_LOG", "off"), (LONG, "1")]) else { return };
    let said = said(&output);
    assert!(
        said.contains("kernel `numbers` is interpreted, although RUMBA_ENGINE=compiled: its code would be too long"),
        "{said}"
    );
}

#[test]
fn without_llvm_kernels_are_interpreted() {
    let variables =
        [("RUMBA_ENGINE", "auto"), ("RUMBA_LLVM_LIBRARY", "/nonexistent/libLLVM.so.22"), ("RUMBA_CACHE", "off")];
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
    let folder = asked().is_none().then(|| tempfile::tempdir().expect("a temporary folder"));
    let cache = folder.as_ref().map_or(Path::new("/nonexistent"), |folder| folder.path());
    let run = || {
        let cache = cache.to_str().expect("a folder of tests has a UTF-8 name");
        run(&[("RUMBA_ENGINE", "compiled"), ("RUMBA_CACHE", cache)])
    };
    let Some(first) = run() else { return };
    let first = said(&first);
    assert!(first.contains("kernel `numbers`: compiled in "), "{first}");
    let Some(second) = run() else { return };
    let second = said(&second);
    assert!(second.contains("kernel `numbers`: compiled code from the cache"), "{second}");
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
    let folder = asked().is_none().then(|| tempfile::tempdir().expect("a temporary folder"));
    let cache = folder.as_ref().and_then(|folder| folder.path().to_str()).unwrap_or_default();
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

/// The only file of a cache's folder with compiled kernels.
fn only_file(cache: &Path) -> PathBuf {
    let files = std::fs::read_dir(cache.join("kernels")).expect("the cache has a folder");
    let mut files = files.filter_map(|file| {
        Some(file.ok()?.path()).filter(|path| path.extension().is_some_and(|ending| ending == "code"))
    });
    files.next().expect("the cache has a file")
}

/// Puts the code of another kernel in the place of that of the only kernel in a cache, with its record or without.
fn exchange(cache: &Path, other: &Path, with_record: bool) {
    /// The magic number and the length, the key, the hash of what follows.
    const HEADER: [usize; 3] = [16, 32, 32];
    let (path, other) = (only_file(cache), only_file(other));
    let [own, foreign] = [&path, &other].map(|path| std::fs::read(path).expect("the file is ours"));
    // What follows is the length of the record, the record, and the code.
    let kept = |file: &[u8]| file[HEADER.iter().sum()..].to_vec();
    let record = |kept: &[u8]| 8 + u64::from_le_bytes(*kept.first_chunk().expect("the file is whole")) as usize;
    let (own_kept, foreign_kept) = (kept(&own), kept(&foreign));
    let kept = if with_record {
        foreign_kept
    } else {
        [&own_kept[..record(&own_kept)], &foreign_kept[record(&foreign_kept)..]].concat()
    };
    let length = (kept.len() as u64).to_le_bytes();
    let header = [&own[..8], &length, &own[HEADER[0]..][..HEADER[1]], &Sha256::digest(&kept)];
    std::fs::write(&path, [&header.concat()[..], &kept].concat()).expect("the file is ours");
}

#[test]
fn launches_on_both_engines_are_counted() {
    let compare = ("RUMBA_ENGINE", "compare");
    // The counts go to standard error, also where a command above collects them in a file.
    let no_file = ("RUMBA_COMPARE_JSON", "");
    let Some(output) = run(&[compare, no_file, ("RUMBA_CACHE", "off")]) else {
        return;
    };
    let said = said(&output);
    let line = "RUMBA_ENGINE=compare: 3 launches compared, 0 of them differ\n";
    assert!(said.contains(line), "{said}");
    // A launch that a seed has interpreted is none.
    let Some(output) = run(&[compare, no_file, ("RUMBA_CACHE", "off"), ("RUMBA_CHECK_SEED", "7")]) else {
        return;
    };
    let said = self::said(&output);
    let line = "0 launches compared, 0 of them differ; 3 left out: interpreted because of a seed";
    assert!(said.contains(line), "{said}");
}

#[test]
fn wrong_code_is_a_failed_launch() {
    // The processes of this test make no folders of their own.
    let folders = asked().is_none().then(|| {
        let folder = || tempfile::tempdir().expect("a temporary folder");
        [folder(), folder()]
    });
    let [right, wrong] = [0, 1].map(|index| match &folders {
        Some(folders) => folders[index].path().to_owned(),
        None => PathBuf::from("/nonexistent"),
    });
    let folder = |path: &'_ Path| path.to_str().expect("a folder of tests has a UTF-8 name").to_owned();
    let compiled = ("RUMBA_ENGINE", "compiled");
    if run(&[compiled, ("RUMBA_CACHE", &folder(&right))]).is_none() {
        return;
    }
    // This process fails: the kernel's results differ from the expected values.
    if run(&[compiled, ("RUMBA_CACHE", &folder(&wrong)), (SUBTRACTS, "1")]).is_none() {
        return;
    }
    let cache = folder(&right);
    let compare = [("RUMBA_ENGINE", "compare"), ("RUMBA_CACHE", cache.as_str()), ("RUMBA_LOG", "off")];
    // Code of another text is found out, and the kernel compiled again.
    exchange(&right, &wrong, true);
    let Some(output) = run(&compare) else { return };
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("rumba: kernel `numbers`: the cache has code of another text"), "{said}");
    exchange(&right, &wrong, false);
    let counts = wrong.join("counts.json");
    let json = folder(&counts);
    for json in ["", &json] {
        let mut all = compare.to_vec();
        all.push(("RUMBA_COMPARE_JSON", json));
        let Some(output) = run(&all) else { return };
        let said = text(&output);
        assert!(!output.status.success(), "{said}");
        for part in [
            "rumba: difference between the engines: 4 bytes of memory at ",
            " differ: 4 bytes into a block of 1024 bytes",
            "the interpreter left 0x00000001, stored by block (0, 0, 0), thread (1, 0, 0)",
            "the compiled code left 0xffffffff, stored by block (0, 0, 0), warp 0",
            "in kernel `numbers`, block (0, 0, 0), thread (1, 0, 0)",
            "unspecified launch failure",
        ] {
            assert!(said.contains(part), "{said}\nlacks: {part}");
        }
        let line = "RUMBA_ENGINE=compare: 1 launches compared, 1 of them differ";
        assert_eq!(said.contains(line), json.is_empty(), "{said}");
    }
    let written = std::fs::read_to_string(counts).expect("the file was written");
    let lines: Vec<&str> = written.lines().collect();
    assert!(lines[0].starts_with(r#"{"difference":"difference between the engines: 4 bytes"#), "{written}");
    assert_eq!(lines[1..], [r#"{"compared":1,"left_out":{}}"#]);
}
