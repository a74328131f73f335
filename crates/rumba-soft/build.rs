//! A number over the sources of the device and the compiler, by which a library, and code that it has compiled, can be told from
//! those of other sources. Native code has offsets of the machine's fields, which the compiler chooses.

use std::path::Path;
use std::process::Command;

/// The packages that the device is made of.
const PACKAGES: &[&str] =
    &["rumba-checks", "rumba-interface", "rumba-jit", "rumba-llvm", "rumba-ptx", "rumba-soft", "rumba-vm"];

fn main() {
    let mut number = Fnv(0xcbf2_9ce4_8422_2325);
    let compiler = std::env::var_os("RUSTC").expect("cargo names the compiler");
    let version = Command::new(compiler).arg("-vV").output().expect("the compiler says its version");
    number.write(&version.stdout);
    for package in PACKAGES {
        // A clone and a folder of vendored crates name the folder by the package, a registry also by the version. Elsewhere the packages
        // lie apart, and the release stands for the sources.
        let names = [package.to_string(), format!("{package}-{}", env!("CARGO_PKG_VERSION"))];
        let folders = names.map(|name| Path::new("..").join(name).join("src"));
        let Some(folder) = folders.iter().find(|folder| folder.is_dir()) else { continue };
        println!("cargo::rerun-if-changed={}", folder.display());
        add(folder, &mut number);
    }
    println!("cargo::rustc-env=RUMBA_SOFT_SOURCES={:016x}", number.0);
}

/// Adds the names and the contents of the files below a folder, in the order of their names.
fn add(folder: &Path, number: &mut Fnv) {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    for path in paths {
        number.write(path.as_os_str().as_encoded_bytes());
        if path.is_dir() {
            add(&path, number);
        } else {
            number.write(&std::fs::read(&path).expect("sources can be read"));
        }
    }
}

/// The hash of Fowler, Noll and Vo (FNV), which is the same in every release of Rust. It does not protect from forgery.
struct Fnv(u64);

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}
