//! The software device as a Python wheel: both libraries, for users who do not build them.
//!
//! The wheel has nothing to import: `cargo rumba` installs the libraries, from the file or from where pip has unpacked it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use cargo_rumba::archive::{LIBRARIES, PACKAGE, RECORD, Record};
use cargo_rumba::{libcuda, soft};
use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{Dyn, FileHeader, SectionHeader};

use crate::shell;

/// Packs a wheel from a folder, with the standard library of Python.
const PACK: &str = include_str!("pack.py");

/// The libraries that each Linux of a wheel's platform has, by the beginning of their names: PEP 600 lists them.
const EXPECTED: [&str; 4] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux"];

/// Builds the libraries and the wheel.
pub(super) fn run() -> Result<()> {
    soft::build()?;
    let driver = libcuda::folder()?;
    let wheels = shell::target().join("wheels");
    let staging = tempfile::tempdir().context("a folder for the wheel")?;
    let package = staging.path().join(PACKAGE);
    fs::create_dir_all(&package)?;
    let mut glibc = 0;
    for (name, folder) in LIBRARIES.iter().zip([shell::target().join("release"), driver]) {
        let library = package.join(name);
        let built = folder.join(name);
        fs::copy(&built, &library).with_context(|| format!("could not copy {}", built.display()))?;
        shell::run(Command::new("strip").arg("--strip-unneeded").arg(&library))?;
        let needed = needed_glibc(&library).with_context(|| format!("{} is not fit for a wheel", built.display()))?;
        glibc = glibc.max(needed);
    }
    let platform = format!("manylinux_2_{glibc}_{}", std::env::consts::ARCH);
    let record = Record::new(&package, shell::workspace(), &platform)?;
    fs::write(package.join(RECORD), serde_json::to_vec_pretty(&record)?)?;
    fs::write(
        package.join("__init__.py"),
        "\"\"\"The software CUDA device of Rumba, which `cargo rumba` finds here.\"\"\"\n",
    )?;
    fs::create_dir_all(&wheels)?;
    let wheel = pack(staging.path(), &platform, &wheels)?;
    println!("{} ({} KiB)", wheel.display(), wheel.metadata()?.len().div_ceil(1024));
    Ok(())
}

/// Packs the wheel of a folder into another folder.
fn pack(folder: &Path, platform: &str, wheels: &Path) -> Result<PathBuf> {
    let mut python = Command::new("python3");
    python.args(["-I", "-c", PACK, env!("CARGO_PKG_VERSION"), platform]).args([folder, wheels]);
    Ok(wheels.join(shell::output(&mut python)?.trim()))
}

/// The number N of the oldest C library 2.N that has all symbols of a library.
fn needed_glibc(library: &Path) -> Result<u32> {
    let bytes = fs::read(library)?;
    let header = FileHeader64::<LittleEndian>::parse(&*bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, &*bytes)?;
    let (mut libraries, mut versions) = (BTreeSet::new(), BTreeSet::new());
    for section in sections.iter() {
        if let Some((entries, link)) = section.dynamic(endian, &*bytes)? {
            let strings = sections.strings(endian, &*bytes, link)?;
            for entry in entries.iter().filter(|entry| entry.tag32(endian) == Some(object::elf::DT_NEEDED)) {
                libraries.insert(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned());
            }
        }
        if let Some((mut needs, link)) = section.gnu_verneed(endian, &*bytes)? {
            let strings = sections.strings(endian, &*bytes, link)?;
            while let Some((_, mut names)) = needs.next()? {
                while let Some(name) = names.next()? {
                    versions.insert(String::from_utf8_lossy(name.name(endian, strings)?).into_owned());
                }
            }
        }
    }
    let unexpected: Vec<_> =
        libraries.iter().filter(|name| !EXPECTED.iter().any(|own| name.starts_with(own))).collect();
    ensure!(unexpected.is_empty(), "it needs {unexpected:?}, which a Linux may lack");
    let minor = |version: &String| version.strip_prefix("GLIBC_2.")?.split('.').next()?.parse::<u32>().ok();
    match versions.iter().filter_map(minor).max() {
        Some(minor) => Ok(minor),
        None => bail!("it names no version of the C library"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::{PACKAGE, needed_glibc, pack};
    use crate::shell;

    #[test]
    fn a_wheel_lists_its_files() {
        let (folder, wheels) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().join(PACKAGE)).unwrap();
        fs::write(folder.path().join(PACKAGE).join("device.so"), "abc").unwrap();
        let wheel = pack(folder.path(), "manylinux_2_34_x86_64", wheels.path()).unwrap();
        let info = format!("rumba_device-{}.dist-info", env!("CARGO_PKG_VERSION"));
        let name = format!("rumba_device-{}-py3-none-manylinux_2_34_x86_64.whl", env!("CARGO_PKG_VERSION"));
        assert_eq!(wheel.file_name().unwrap().to_str(), Some(&*name));
        let unpacked = folder.path().join("unpacked");
        shell::run(Command::new("python3").args(["-m", "zipfile", "-e"]).args([&wheel, &unpacked])).unwrap();
        assert_eq!(fs::read_to_string(unpacked.join(PACKAGE).join("device.so")).unwrap(), "abc");
        let record = fs::read_to_string(unpacked.join(&info).join("RECORD")).unwrap();
        // The example of the hash function's standard, in the wheel's notation.
        let line = format!("{PACKAGE}/device.so,sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3\n");
        assert!(record.contains(&line) && record.ends_with(&format!("{info}/RECORD,,\n")), "{record}");
        assert!(
            record.contains(&format!("{info}/METADATA,")) && record.contains(&format!("{info}/WHEEL,")),
            "{record}"
        );
    }

    #[test]
    fn a_program_of_this_machine_names_its_c_library() {
        let program = std::env::current_exe().unwrap();
        // Rust's standard library needs 2.17 at least; newer C libraries than this machine's would not run the test.
        let needed = needed_glibc(&program).unwrap();
        assert!((17..100).contains(&needed), "{needed}");
        let text = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(text.path(), "no ELF file").unwrap();
        assert!(needed_glibc(text.path()).is_err());
    }
}
