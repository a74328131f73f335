//! Builds small kernel crates and looks at the PTX. They stand in `fixtures/`, each a workspace of its
//! own with settings that a builder must cope with.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use cuda_builder::inspect::{self, Resources};
use cuda_builder::{BuildError, CudaBuilder, NvvmArch, Ptx, wheels};
use tempfile::TempDir;
use test_processes::alone;

/// The kernels of `fixtures/kernels`.
const KERNELS: [&str; 11] = [
    "add",
    "divide",
    "exact",
    "fast",
    "one_barrier",
    "remainder",
    "saxpy",
    "shared_dynamic",
    "shared_tile",
    "shared_word",
    "sine",
];

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The target directory of the kernels that the rest of the workspace uses too, so that `core` is
/// compiled once for all.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("cuda-builder")
}

/// Builds a crate with some settings, into a folder that nothing else uses.
pub fn try_build(path: &Path, configure: impl FnOnce(CudaBuilder) -> CudaBuilder) -> Result<Ptx, BuildError> {
    let folder = TempDir::new().expect("a temporary folder");
    let builder = CudaBuilder::new(path).target_dir(target()).copy_to(folder.path().join("out.ptx")).progress(false);
    configure(builder).build()
}

fn build(configure: impl FnOnce(CudaBuilder) -> CudaBuilder) -> Ptx {
    try_build(&fixture("kernels"), configure).expect("the fixture builds")
}

/// The text of one kernel, which must be there.
fn kernel<'a>(ptx: &'a Ptx, name: &str) -> &'a str {
    inspect::kernel(&ptx.text, name).unwrap_or_else(|| panic!("no kernel {name} in\n{}", ptx.text))
}

#[track_caller]
pub fn assert_has(text: &str, needles: &[&str]) {
    for needle in needles {
        assert!(text.contains(needle), "no `{needle}` in\n{text}");
    }
}

#[track_caller]
pub fn assert_lacks(text: &str, needles: &[&str]) {
    for needle in needles {
        assert!(!text.contains(needle), "`{needle}` in\n{text}");
    }
}

#[test]
fn every_kernel_is_there_for_old_drivers() {
    let ptx = build(|builder| builder);
    assert_eq!(ptx.kernels, KERNELS);
    let mut in_text = inspect::kernels(&ptx.text);
    in_text.sort_unstable();
    assert_eq!(in_text, KERNELS);
    assert_has(&ptx.text, &[".version 6.0", ".target sm_70\n"]);
    assert_eq!((ptx.arch, ptx.version()), (NvvmArch::Compute70, "6.0"));
}

#[test]
fn slices_are_read_through_the_constant_cache_and_products_are_fused() {
    let ptx = build(|builder| builder);
    assert_has(kernel(&ptx, "saxpy"), &["ld.global.nc.b32", "fma.rn.f32"]);
    let strict = build(|builder| builder.fma_contraction(false));
    assert_has(kernel(&strict, "saxpy"), &["mul.rn.f32", "add.rn.f32"]);
    assert_lacks(kernel(&strict, "saxpy"), &["fma"]);
}

#[test]
fn memory_spaces_are_where_the_sections_say() {
    let ptx = build(|builder| builder);
    for name in ["shared_tile", "shared_dynamic", "shared_word"] {
        assert_has(kernel(&ptx, name), &["ld.shared.", "st.shared.", "bar.sync"]);
        assert_lacks(kernel(&ptx, name), &["\tld.b", "\tst.b", "cvta.shared"]);
    }
    assert_has(&ptx.text, &[".extern .shared .align 8 .b8 fixture_kernels_DYNAMIC[]", ".const .align 4"]);
    assert_has(kernel(&ptx, "shared_tile"), &["ld.const.b32", "[SCALE]"]);
    assert_has(&ptx.text, &[".visible .global .align 4 .b8 SCALE[4]"]);
}

#[test]
fn the_panic_of_a_bounds_check_is_replaced() {
    let ptx = build(|builder| builder);
    // Inlined: a call would cost the kernel registers.
    assert_has(kernel(&ptx, "saxpy"), &["trap"]);
    assert_lacks(kernel(&ptx, "saxpy"), &["call"]);
    assert_lacks(&ptx.text, &["panic_fmt", "core_fmt"]);
}

#[test]
fn overflow_wraps_unless_it_is_checked() {
    let ptx = build(|builder| builder);
    assert_lacks(kernel(&ptx, "add"), &["call", "trap"]);
    let checked = build(|builder| builder.overflow_checks(true));
    assert_has(kernel(&checked, "add"), &["trap"]);
}

/// A build script is a process that cargo tells its profile: here this test, run again by itself.
#[test]
fn in_a_build_script_overflow_checks_follow_the_profile() {
    let folder = env::temp_dir();
    let folder = folder.to_str().expect("its name is UTF-8");
    for profile in ["debug", "release"] {
        let built = alone(&[("PROFILE", profile), ("OUT_DIR", folder)], || {
            let profile = env::var("PROFILE")?;
            let ptx = build(|builder| builder);
            match profile.as_str() {
                "debug" => assert_has(kernel(&ptx, "add"), &["trap"]),
                _ => assert_lacks(kernel(&ptx, "add"), &["trap"]),
            }
            let stated = build(|builder| builder.overflow_checks(profile != "debug"));
            assert_ne!(ptx.text, stated.text, "what the script states counts for more");
            Ok(())
        });
        if built.is_none() {
            return;
        }
    }
}

#[test]
fn arithmetic_follows_the_switches() {
    let exact = build(|builder| builder);
    assert_has(kernel(&exact, "divide"), &["div.rn.f32"]);
    let fast = build(|builder| builder.fast_div(true).ftz(true));
    assert_has(kernel(&fast, "divide"), &[".ftz.f32"]);
    assert_lacks(kernel(&fast, "divide"), &["div.rn"]);
}

#[test]
fn fast_mathematics_are_a_kernel_s_own() {
    let ptx = build(|builder| builder);
    // `counted` occurs twice, its variable once.
    let [exact, fast] = ["counted(", "counted1("].map(|name| function(&ptx.text, name));
    assert_has(exact, &["div.rn.f32", "atom.relaxed.sys.global.add.u32", "fixture_kernels_COUNT;"]);
    assert_lacks(exact, &["approx", "ftz"]);
    assert_has(fast, &["div.approx.ftz.f32", "atom.relaxed.sys.global.add.u32", "fixture_kernels_COUNT;"]);
    assert_has(kernel(&ptx, "exact"), &["fixture_kernels_counted,"]);
    assert_has(kernel(&ptx, "fast"), &["fixture_kernels_counted1,"]);
    assert_eq!(ptx.text.matches("fixture_kernels_COUNT[").count(), 1, "{}", ptx.text);
    if ptx.libdevice.is_some() {
        assert_has(fast, &["sin.approx.ftz.f32"]);
        assert_lacks(exact, &["sin.approx"]);
    }

    let all = build(|builder| builder.fast_math(true));
    assert_has(function(&all.text, "counted("), &["div.approx.ftz.f32"]);
    assert_lacks(&all.text, &["counted1", "div.rn"]);
}

#[test]
fn remainders_are_the_device_library_s() {
    let ptx = build(|builder| builder);
    assert_has(kernel(&ptx, "remainder"), &["cvt.rzi.s64.f32"]);
}

/// The text of a function that is no kernel, by the end of its name.
fn function<'a>(text: &'a str, name: &str) -> &'a str {
    let start = text.rfind(name).unwrap_or_else(|| panic!("no function {name} in\n{text}"));
    let end = text[start..].find("\n}").map_or(text.len(), |end| start + end);
    &text[start..end]
}

#[test]
fn kernels_build_with_and_without_libdevice() {
    let without = build(|builder| builder.libdevice(false));
    assert_eq!(without.libdevice, None);
    assert_lacks(kernel(&without, "sine"), &["__nv_"]);
    if wheels::find().libdevice.is_some() {
        let with = build(|builder| builder);
        assert!(with.libdevice.is_some());
        assert_has(kernel(&with, "sine"), &["fma.rn.f32"]);
        assert_lacks(&with.text, &["__nvvm_reflect", "__nv_"]);
    }
}

#[test]
fn the_text_names_source_lines_and_no_machine() {
    let ptx = build(|builder| builder);
    assert_has(&ptx.text, &["\"src/lib.rs\"", "\t.loc\t"]);
    let home = std::env::home_dir().unwrap_or_default();
    for place in [env!("CARGO_MANIFEST_DIR"), "/rustlib/", "/src/rustc", &home.display().to_string()] {
        assert_lacks(&ptx.text, &[place]);
    }
    let bare = build(|builder| builder.debug(cuda_builder::DebugInfo::None));
    assert_lacks(&bare.text, &["\t.loc\t", "\t.file\t"]);
}

#[test]
fn the_text_is_the_same_wherever_the_crate_lies() {
    let elsewhere = TempDir::new().expect("a temporary folder");
    copy(&fixture("kernels"), elsewhere.path());
    let here = build(|builder| builder);
    let there = try_build(elsewhere.path(), |builder| builder).expect("the copy builds");
    assert_eq!(here.hash(), there.hash());
    let again = build(|builder| builder);
    assert_eq!(here.text, again.text);
}

#[test]
fn core_is_compiled_for_the_first_target_folder_only() {
    let folder = TempDir::new().expect("a temporary folder");
    let build = |folder_name: &str, overflow_checks| {
        let target = folder.path().join(folder_name);
        let built =
            try_build(&fixture("kernels"), |builder| builder.target_dir(&target).overflow_checks(overflow_checks));
        let ptx = built.expect("the fixture builds");
        let core = find(&target, "libcore-");
        let times = core.iter().map(|core| core.metadata().and_then(|metadata| metadata.modified()).expect("a time"));
        (ptx.hash(), times.collect::<Vec<_>>())
    };
    // Mostly `core` was compiled for another folder before, by which the user's cache has it.
    let built = build("first", false);
    assert_eq!((&built, built.1.len()), (&build("second", false), 1), "the PTX, and when its `core` was compiled");
    let checked = build("second", true);
    assert!(checked.0 != built.0 && checked.1 == built.1, "`core` was compiled again for overflow checks");
}

/// The libraries below a folder whose names begin so.
fn find(folder: &Path, start: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let found = entries.flat_map(|entry| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8");
        match path.is_dir() {
            true => find(&path, start),
            false if name.starts_with(start) && name.ends_with(".rlib") => vec![path],
            false => Vec::new(),
        }
    });
    found.collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a fixture") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("a copy");
        }
    }
}

#[test]
fn newer_instructions_raise_the_floor_and_nothing_else_does() {
    let ptx = build(|builder| builder.build_arg("--features=redux"));
    assert_eq!((ptx.arch, ptx.version()), (NvvmArch::Compute80, "7.0"));
    let ptx = build(|builder| builder.build_arg("--features=redux-intrinsic"));
    assert_eq!((ptx.arch, ptx.version()), (NvvmArch::Compute80, "7.0"));
    let asked = build(|builder| builder.arch(NvvmArch::Compute90));
    assert_has(&asked.text, &[".target sm_90\n", ".version 7.8"]);
}

#[test]
fn an_instruction_that_the_architecture_lacks_is_an_error() {
    let error = try_build(&fixture("kernels"), |builder| {
        builder.build_arg("--features=redux-intrinsic").arch(NvvmArch::Compute75)
    })
    .expect_err("sm_75 has no redux");
    assert_has(&error.to_string(), &["sm_75", "Cannot select", "redux"]);
}

#[test]
fn an_unchanged_build_is_not_repeated() {
    let folder = TempDir::new().expect("a temporary folder");
    let file = folder.path().join("out.ptx");
    let build = || {
        let builder = CudaBuilder::new(fixture("kernels")).target_dir(target()).copy_to(&file);
        builder.progress(false).build().expect("the fixture builds")
    };
    let first = build();
    let modified = || std::fs::metadata(&file).and_then(|metadata| metadata.modified()).expect("a time");
    let time = modified();
    let second = build();
    assert_eq!((first.text, first.kernels, time), (second.text, second.kernels, modified()));
    // A file that was changed is made again.
    std::fs::write(&file, "changed").expect("a file");
    let text = build().text;
    assert_eq!(std::fs::read_to_string(&file).expect("the file"), text);
}

#[test]
fn barriers_are_not_copied() {
    let ptx = build(|builder| builder);
    assert_eq!(kernel(&ptx, "one_barrier").matches("bar.sync").count(), 1, "{}", ptx.text);
}

#[test]
fn an_edit_makes_one_kernel_again() {
    let folder = TempDir::new().expect("a temporary folder");
    let write = |file: &str, text: &str| std::fs::write(folder.path().join(file), text).expect("a file");
    std::fs::create_dir(folder.path().join("src")).expect("a folder");
    write("Cargo.toml", "[package]\nname = \"one-two\"\nedition = \"2024\"\n[workspace]\n");
    write("src/lib.rs", "#![no_std]\n#![feature(abi_ptx)]\npub mod one;\npub mod two;\n");
    let kernel = |name: &str, value: u32| {
        let text = format!(
            "#[unsafe(no_mangle)]\npub unsafe extern \"ptx-kernel\" fn part_{name}(x: *mut u32) {{ unsafe {{ *x = {value} }} }}\n"
        );
        write(&format!("src/{name}.rs"), &text);
    };
    let build = || {
        let builder = CudaBuilder::new(folder.path()).target_dir(target());
        builder.progress(false).build().expect("it builds").text
    };
    // The texts of the two kernels that the builder keeps, wherever it keeps them.
    let parts = || {
        let mut paths = vec![target()];
        let mut parts = BTreeSet::new();
        while let Some(path) = paths.pop() {
            match std::fs::read_dir(&path) {
                Ok(entries) => paths.extend(entries.flatten().map(|entry| entry.path())),
                Err(_) if !path.components().any(|part| part.as_os_str() == "parts") => {}
                Err(_) => {
                    if std::fs::read_to_string(&path).is_ok_and(|text| text.contains(".entry part_")) {
                        parts.insert(path);
                    }
                }
            }
        }
        parts
    };
    let before = parts();
    kernel("one", 1001);
    kernel("two", 2002);
    assert_has(&build(), &["1001", "2002"]);
    let first = parts();
    assert_eq!(first.difference(&before).count(), 2);
    kernel("two", 3003);
    assert_has(&build(), &["1001", "3003"]);
    let second = parts();
    assert_eq!(second.len(), first.len());
    assert_eq!(second.difference(&first).count(), 1);
}

#[test]
fn compiler_errors_name_the_line() {
    let error = try_build(&fixture("broken"), |builder| builder).expect_err("it is broken");
    let text = error.to_string();
    let BuildError::Compile { errors, diagnostics, .. } = error else {
        panic!("another error: {text}");
    };
    assert_eq!(errors, 1);
    assert_has(&diagnostics, &["src/lib.rs:7:19", "expected `f32`, found `u64`"]);
    assert_lacks(&diagnostics, &["aborting due to"]);
    assert_has(&text, &["do not compile: 1 error reported above"]);
}

#[test]
fn a_missing_function_is_named() {
    let error = try_build(&fixture("undefined"), |builder| builder).expect_err("it cannot link");
    assert_has(&error.to_string(), &["`no_such_function`"]);
    // The output of a build script that returns the error from `main`.
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn a_variable_that_calls_would_reach_is_refused() {
    let error = try_build(&fixture("clash"), |builder| builder).expect_err("`vprintf` is taken");
    match &error {
        BuildError::Clash { symbol, what, .. } => assert_eq!((symbol.as_str(), *what), ("vprintf", "variable")),
        other => panic!("{other}"),
    }
    assert_has(&error.to_string(), &["a variable of fixture_clash", "the runtime of the device"]);
}

#[test]
fn the_text_ends_in_a_hash_of_it() {
    let ptx = build(|builder| builder);
    assert_eq!(rumba_ptx::foot::check(&ptx.text), Ok(()));
    assert!(rumba_ptx::foot::check(&ptx.text.replacen(".visible", "", 1)).is_err());
    // Its kernels are written without `#[kernel]`, and say nothing of themselves.
    assert_lacks(&ptx.text, &["//@kernel"]);
}

#[test]
fn a_folder_without_a_crate_is_named() {
    let error = try_build(&fixture("nothing"), |builder| builder).expect_err("there is no crate");
    assert_has(&error.to_string(), &["Cargo.toml", "fixtures/nothing"]);
}

#[test]
fn ptxas_accepts_every_kernel_without_spills() {
    if wheels::find().ptxas.is_none() {
        eprintln!("ptxas is not installed: the PTX was not assembled");
        return;
    }
    let ptx = build(|builder| builder);
    for arch in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
        let arch: NvvmArch = arch.parse().expect("a known architecture");
        let all = inspect::resources(&ptx.text, arch).expect("ptxas accepts it");
        let names: Vec<&str> = all.iter().map(|resources| resources.kernel.as_str()).collect();
        assert!(KERNELS.iter().all(|name| names.contains(name)), "{arch}: {names:?}");
        for Resources { kernel, spill_stores, spill_loads, registers, .. } in all {
            assert_eq!((spill_stores, spill_loads), (0, 0), "{kernel} for {arch}");
            assert!(registers > 0, "{kernel} for {arch}");
        }
    }
    let broken = inspect::resources("not PTX", NvvmArch::Compute90).expect_err("it is not PTX");
    assert_has(&broken.to_string(), &["ptxas refused the PTX"]);
}
