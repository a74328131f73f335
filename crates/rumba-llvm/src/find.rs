//! Where a `libLLVM` is. Only files are looked at: no program is started and nothing is loaded.
//!
//! rustup puts the library of a toolchain's LLVM into its `lib`; distributions put theirs into a folder of the system.

use std::cmp::Reverse;
use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The oldest major version that works: the oldest LLVM that the oldest supported rustc can be built with.
pub const OLDEST: u32 = 21;

/// A `libLLVM` of this machine: of rustup's toolchains the newest of a release, else of a beta or nightly, else that of a
/// `rustc` on the search path, else one of the system. The answer is the same in every folder.
///
/// The answer depends on `RUSTUP_HOME`, `HOME` and `PATH`: a program with rights that its user lacks must not load this
/// library.
pub fn library() -> Option<PathBuf> {
    let toolchains = rustup_home().map(|home| folders_in(&home.join("toolchains"))).unwrap_or_default();
    newest(toolchains.iter().map(|toolchain| toolchain.join("lib")))
        .or_else(|| newest(on_search_path().iter().flat_map(|sysroot| folders_of(sysroot))))
        .or_else(|| newest(system_folders()))
}

/// The library of a compiler's LLVM, by the compiler's sysroot and the major version of the LLVM: only the same major version reads
/// the compiler's bitcode for sure.
pub fn of_compiler(sysroot: &Path, major: u32) -> Option<PathBuf> {
    let folders = folders_of(sysroot).into_iter().chain(system_folders());
    folders.into_iter().find_map(|folder| {
        let mut found = libraries(&folder);
        found.retain(|library| library.version.0 == major);
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found.into_iter().next().map(|library| library.path)
    })
}

/// The folder that rustup keeps its toolchains in.
pub fn rustup_home() -> Option<PathBuf> {
    env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".rustup")))
        .filter(|home| home.is_dir())
}

/// A library by its name.
#[derive(Debug)]
struct Library {
    path: PathBuf,
    version: (u32, u32),
    /// Whether the library belongs to a nightly or beta compiler.
    is_preview: bool,
}

/// The newest library that is new enough.
fn newest(folders: impl IntoIterator<Item = PathBuf>) -> Option<PathBuf> {
    let all = folders.into_iter().flat_map(|folder| libraries(&folder));
    let fit = all.filter(|library| library.version.0 >= OLDEST);
    let key = |library: &Library| (library.is_preview, Reverse(library.version), library.path.clone());
    fit.min_by_key(key).map(|library| library.path)
}

/// The libraries in a folder.
fn libraries(folder: &Path) -> Vec<Library> {
    let paths = std::fs::read_dir(folder).into_iter().flatten();
    paths
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            let version = version(name)?;
            let is_preview = name.contains("-nightly") || name.contains("-beta");
            is_shared_object(&path).then_some(Library { path, version, is_preview })
        })
        .collect()
}

/// Major and minor version in a name such as `libLLVM.so.22.1-rust-1.95.0-stable`, `libLLVM-19.so.1` or `libLLVM-19.so`.
fn version(name: &str) -> Option<(u32, u32)> {
    let rest = name.strip_prefix("libLLVM.so.").or_else(|| name.strip_prefix("libLLVM-"))?;
    let mut numbers = rest.split(['.', '-']);
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0);
    Some((major, minor))
}

/// Whether a file is a library for this processor: not a linker script, and not that of a toolchain for another one.
fn is_shared_object(path: &Path) -> bool {
    let mut header = [0; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header.starts_with(b"\x7fELF") && header[18..] == MACHINE.to_le_bytes()
}

/// ELF's number of the processor.
const MACHINE: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };

/// Where the libraries of a sysroot are.
fn folders_of(sysroot: &Path) -> Vec<PathBuf> {
    let triplet = format!("lib/{}-linux-gnu", env::consts::ARCH);
    ["lib", "lib64", &triplet].map(|folder| sysroot.join(folder)).into()
}

/// Where distributions have them.
fn system_folders() -> Vec<PathBuf> {
    let mut folders = folders_in("/usr/lib".as_ref());
    folders.extend(folders_in("/usr/lib64".as_ref()));
    folders.extend(folders_in("/usr/lib/llvm".as_ref()));
    let is_llvm = |path: &PathBuf| {
        path.ancestors().take(2).filter_map(|folder| folder.file_name()?.to_str()).any(|name| name.starts_with("llvm"))
    };
    folders.retain(is_llvm);
    let mut all: Vec<PathBuf> = folders.iter().flat_map(|folder| [folder.join("lib"), folder.join("lib64")]).collect();
    all.extend(folders_of("/usr".as_ref()));
    all
}

/// The folders in a folder, in the order of their names.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut all: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
    all.sort();
    all
}

/// The sysroots of the compilers on the search path.
fn on_search_path() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .filter_map(|folder| folder.join("rustc").canonicalize().ok())
        .filter_map(|rustc| Some(rustc.parent()?.parent()?.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{MACHINE, library, newest, of_compiler, version};
    use std::path::Path;

    #[test]
    fn names_have_versions() {
        for (name, expected) in [
            ("libLLVM.so.22.1-rust-1.95.0-stable", Some((22, 1))),
            ("libLLVM.so.21.1", Some((21, 1))),
            ("libLLVM-19.so.1", Some((19, 0))),
            ("libLLVM-20.so", Some((20, 0))),
            ("libLLVM.so", None),
            ("libLLVMSupport.a", None),
            ("libLLVM-C.so", None),
        ] {
            assert_eq!(version(name), expected, "{name}");
        }
    }

    /// The first bytes of a library for a processor.
    fn header(machine: u16) -> Vec<u8> {
        [&b"\x7fELF"[..], &[0; 14], &machine.to_le_bytes()].concat()
    }

    #[test]
    fn the_newest_release_is_taken() {
        let root = tempfile::tempdir().unwrap();
        let put = |toolchain: &str, name: &str, text: &[u8]| {
            let folder = root.path().join(toolchain);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), text).unwrap();
            folder
        };
        let elf = header(MACHINE);
        let old = put("1.90", "libLLVM.so.20.1-rust-1.90.0-stable", &elf);
        let foreign = put("foreign", "libLLVM.so.30.1-rust-1.99.0-stable", &header(MACHINE + 1));
        let script = put("1.99", "libLLVM.so.29.1-rust-1.99.0-stable", b"INPUT(libLLVM.so)");
        let nightly = put("nightly", "libLLVM.so.23.1-rust-1.98.0-nightly", &elf);
        let release = put("1.95", "libLLVM.so.22.1-rust-1.95.0-stable", &elf);
        let find = |folders: &[&Path]| newest(folders.iter().map(|folder| folder.to_path_buf()));
        assert_eq!(find(&[&old, &script, &foreign]), None);
        assert_eq!(find(&[&old, &nightly]), Some(nightly.join("libLLVM.so.23.1-rust-1.98.0-nightly")));
        let all = find(&[&old, &script, &foreign, &nightly, &release]);
        assert_eq!(all, Some(release.join("libLLVM.so.22.1-rust-1.95.0-stable")));
    }

    #[test]
    fn the_library_of_a_compiler_is_of_its_version() {
        let root = tempfile::tempdir().unwrap();
        let lib = root.path().join("lib");
        std::fs::create_dir(&lib).unwrap();
        for name in ["libLLVM.so.77.1", "libLLVM.so.78.1"] {
            std::fs::write(lib.join(name), header(MACHINE)).unwrap();
        }
        assert_eq!(of_compiler(root.path(), 78), Some(lib.join("libLLVM.so.78.1")));
        assert_eq!(of_compiler(root.path(), 79), None);
    }

    #[test]
    fn there_is_one_here() {
        // The toolchain that compiled this test has a libLLVM; if the test is emulated, it is a library for another
        // processor.
        assert!(library().is_some() || cfg!(not(target_arch = "x86_64")));
    }
}
