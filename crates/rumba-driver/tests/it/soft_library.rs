//! What a program sees of the software device as a library: found, missing, damaged, of another release, older than its
//! sources.
//!
//! Each case runs in a process of its own.

use rumba_interface::VERSION;
use std::ffi::{c_int, c_uint};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use rumba_driver::{ChoiceError, DeviceKind, SoftLibraryError};

use test_processes::{alone, asked, run_copy, text};

unsafe extern "C" {
    fn cuInit(flags: c_uint) -> c_int;
    fn cuDeviceGetCount(count: *mut c_int) -> c_int;
}

/// The file name of the library.
const FILE: &str = "librumba_soft_device.so";

/// What a process with these variables says of its device, and what `cuInit` answers there. `None` in that process itself.
fn ask<'a>(variables: &[(&'a str, &'a Path)]) -> Option<String> {
    let mut asked = vec![("RUMBA_DEVICE", "soft")];
    // That of this workspace's configuration would be found before the usual place.
    if !variables.iter().any(|(name, _)| *name == "RUMBA_SOFT_LIBRARY") {
        asked.push(("RUMBA_SOFT_LIBRARY", ""));
    }
    let text = |path: &'a Path| path.to_str().expect("the folders of tests have UTF-8 names");
    asked.extend(variables.iter().map(|(name, path)| (*name, text(path))));
    let said = alone(&asked, || {
        // SAFETY: as cuda.h declares it.
        let code = unsafe { cuInit(0) };
        match rumba_driver::device_kind() {
            Ok(kind) => println!("{code}: {kind:?}"),
            Err(ChoiceError::SoftLibrary(error)) => {
                let name = format!("{error:?}");
                println!("{code}: {}: {error}", name.split([' ', '{']).next().unwrap_or_default());
            }
            Err(error) => println!("{code}: {error}"),
        }
        Ok(())
    })?;
    let line = said.lines().find(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    Some(line.unwrap_or_else(|| panic!("{said}")).to_owned())
}

/// The library that this process uses.
fn real() -> PathBuf {
    assert_eq!(rumba_driver::device_kind(), Ok(DeviceKind::Software));
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    let line = maps.lines().find(|line| line.ends_with(FILE)).expect("the device is a library");
    line[line.find('/').expect("a file has a path")..].into()
}

fn write(folder: &Path, bytes: &[u8]) -> PathBuf {
    let file = folder.join(FILE);
    std::fs::write(&file, bytes).expect("the folder is ours");
    file
}

#[test]
fn a_library_that_is_missing() {
    let named = Path::new("/nonexistent/device.so");
    let Some(said) = ask(&[("RUMBA_SOFT_LIBRARY", named)]) else {
        return;
    };
    assert_eq!(
        said,
        "100: Missing: there is no software device at `/nonexistent/device.so`, which RUMBA_SOFT_LIBRARY names: `cargo rumba \
         setup` builds it, or in a clone of Rumba `cargo xtask setup`. A program that uses the crate `rumba` with its feature `linked` has it in itself"
    );
}

#[test]
fn the_usual_place_is_the_folder_for_data() {
    let data = tempfile::tempdir().expect("a folder");
    let Some(said) = ask(&[("XDG_DATA_HOME", data.path())]) else {
        return;
    };
    let folder = data.path().join("rumba/soft").join(env!("CARGO_PKG_VERSION"));
    let place = folder.join(FILE);
    let expected = format!("100: Missing: there is no software device at `{}`, where programs", place.display());
    assert!(said.starts_with(&expected), "{said}");

    std::fs::create_dir_all(&folder).expect("the folder is ours");
    std::os::unix::fs::symlink(real(), &place).expect("the folder is ours");
    assert_eq!(ask(&[("XDG_DATA_HOME", data.path())]).as_deref(), Some("0: Software"));
}

/// A program that is carried to another machine has the library beside it, or in its folder `lib`.
#[test]
fn a_library_beside_the_program_comes_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    let test = "soft_library::the_usual_place_is_the_folder_for_data";
    if asked().is_some() {
        return;
    }
    std::fs::copy(std::env::current_exe().expect("a program"), &program).expect("the folder is ours");
    let said = |folder: &Path| {
        let data = folder.to_str().expect("the folders of tests have UTF-8 names");
        let variables = [("RUMBA_DEVICE", "soft"), ("RUMBA_SOFT_LIBRARY", ""), ("XDG_DATA_HOME", data)];
        let output = run_copy(&program, test, &variables).expect("the copy can be run");
        let said = text(&output);
        let line = said.lines().find(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        line.unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    let missing = said(folder.path());
    let own = folder.path().display();
    assert!(missing.contains(&format!("look, nor in `{own}`, nor in `{own}/lib`: ")), "{missing}");
    let lib = folder.path().join("lib");
    std::fs::create_dir(&lib).expect("the folder is ours");
    for place in [&lib, folder.path()] {
        std::os::unix::fs::symlink(real(), place.join(FILE)).expect("the folder is ours");
        assert_eq!(said(folder.path()), "0: Software");
        std::fs::remove_file(place.join(FILE)).expect("the folder is ours");
    }
}

#[test]
fn a_library_that_is_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let damaged = |bytes: &[u8]| {
        let file = write(folder.path(), bytes);
        let said = ask(&[("RUMBA_SOFT_LIBRARY", &file)])?;
        let start = format!("100: Damaged: `{}` is no software device, or a damaged one: ", file.display());
        let rest = said.strip_prefix(&start).unwrap_or_else(|| panic!("{said}"));
        let cause =
            rest.strip_suffix(". `cargo rumba setup` builds it anew, or in a clone of Rumba `cargo xtask setup`");
        Some(cause.unwrap_or_else(|| panic!("{said}")).to_owned())
    };
    let Some(cause) = damaged(b"") else { return };
    assert_eq!(cause, "failed to fill whole buffer");
    assert_eq!(damaged(&[b'x'; 100]).as_deref(), Some("it is no ELF file of 64 bits"));
    // Cut off anywhere, the loader would map pages that are not there.
    let whole = std::fs::read(real()).expect("it is there");
    for length in [64, 4096, whole.len() / 2, whole.len() - 1] {
        let cause = damaged(&whole[..length]).expect("the parent is here");
        let known = cause.contains("failed to fill whole buffer")
            || cause == format!("it has {length} bytes, and should have {}", whole.len());
        assert!(known, "{length}: {cause}");
    }
    // A library of something else.
    let own = std::fs::read_to_string("/proc/self/maps").expect("Linux has it");
    let libc = own.lines().find(|line| line.contains("libc.so")).expect("tests are linked to libc");
    let libc = std::fs::read(&libc[libc.find('/').expect("a file has a path")..]).expect("it is loaded");
    let cause = damaged(&libc).expect("the parent is here");
    assert!(cause.contains("undefined symbol: rumba_soft_device"), "{cause}");
}

/// Only the fields that all releases share are read from a library of another release.
#[test]
fn a_library_of_another_release() {
    if asked().is_some() {
        ask(&[]);
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (source, library) = (folder.path().join("other.rs"), folder.path().join(FILE));
    let own = env!("CARGO_PKG_VERSION");
    for (version, release) in [(VERSION + 1, "7.1.0"), (VERSION, "0.0.9"), (VERSION + 1, own)] {
        let text = format!(
            "#[repr(C)] pub struct Head {{ version: u32, size: u32, release: &'static [u8; {}], length: usize }}\n\
             static HEAD: Head = Head {{ version: {version}, size: 24, release: b\"{release}\", length: {} }};\n\
             #[unsafe(no_mangle)] pub extern \"C\" fn rumba_soft_device() -> *const Head {{ &HEAD }}\n",
            release.len(),
            release.len()
        );
        std::fs::write(&source, text).expect("the folder is ours");
        let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition", "2024", "--crate-type", "cdylib", "-o"]).arg(&library).arg(&source);
        let built = rustc.output().expect("there is a compiler where there is a test");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let said = ask(&[("RUMBA_SOFT_LIBRARY", &library)]).expect("the parent is here");
        let expected = format!(
            "100: Version: `{}` is the software device of Rumba {release} (interface {version}), and this program is of Rumba \
             {own} (interface {VERSION}): the `cargo rumba setup` of Rumba {own} (interface {VERSION}) builds the one that it needs, or \
             `cargo xtask setup` in a clone of this release",
            library.display()
        );
        assert_eq!(said, expected);
    }
}

/// Cargo writes the list of a library's sources next to the library.
#[test]
fn a_library_that_is_older_than_its_sources() {
    if asked().is_some() {
        ask(&[]);
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let library = folder.path().join(FILE);
    std::fs::copy(real(), &library).expect("the folder is ours");
    let [old, new] = ["of old.rs", "of today.rs"].map(|name| folder.path().join(name));
    let built = SystemTime::now();
    for (file, time) in
        [(&library, built), (&old, built - Duration::from_secs(9)), (&new, built + Duration::from_secs(9))]
    {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(file).expect("the folder is ours");
        file.set_modified(time).expect("the file is ours");
    }
    let list = |sources: &[&PathBuf]| {
        let names = sources.iter().map(|source| source.display().to_string().replace(' ', "\\ "));
        let text = format!("{}: {}\n", library.display(), names.collect::<Vec<_>>().join(" "));
        std::fs::write(library.with_extension("d"), text).expect("the folder is ours");
        ask(&[("RUMBA_SOFT_LIBRARY", &library)]).expect("the parent is here")
    };
    assert_eq!(list(&[&old]), "0: Software");
    assert_eq!(list(&[&old, &folder.path().join("gone.rs")]), "0: Software");
    let said = list(&[&old, &new]);
    let expected =
        format!("is older than `{}`, from which it is built: `cargo xtask setup` builds it again", new.display());
    assert!(said.starts_with("100: Outdated: ") && said.contains(&expected), "{said}");
}

/// Before any call, a program without a device can query the error; and calls that need no device are served.
#[test]
fn without_a_device_calls_are_refused_and_nothing_else() {
    let variables = [("RUMBA_SOFT_LIBRARY", Path::new("/nonexistent/device.so"))];
    let Some(said) = ask(&variables) else {
        let mut count = 9;
        // SAFETY: as cuda.h declares it.
        assert_eq!(unsafe { cuDeviceGetCount(&raw mut count) }, 3);
        assert_eq!(count, 9);
        let Err(ChoiceError::SoftLibrary(SoftLibraryError::Missing { path, .. })) = rumba_driver::device_kind() else {
            panic!("the library is missing");
        };
        assert_eq!(path, "/nonexistent/device.so");
        assert_eq!(rumba_driver::last_report(), None);
        return;
    };
    assert!(said.starts_with("100: Missing"), "{said}");
}
