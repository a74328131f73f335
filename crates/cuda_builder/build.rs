//! A number over the sources of the link stage, by which PTX that it has made can be told from PTX of other sources.

use std::path::Path;

/// The packages that the link stage is made of.
const PACKAGES: &[&str] = &["cuda_builder", "rumba-llvm", "rumba-ptx"];

fn main() {
    let mut number = Fnv(0xcbf2_9ce4_8422_2325);
    for package in PACKAGES {
        // A clone and a folder of vendored crates name the folder by the package, a registry also by the version. Elsewhere the packages
        // lie apart, and the release stands for the sources.
        let names = [package.to_string(), format!("{package}-{}", env!("CARGO_PKG_VERSION"))];
        let folders = names.map(|name| Path::new("..").join(name).join("src"));
        let Some(folder) = folders.iter().find(|folder| folder.is_dir()) else { continue };
        println!("cargo::rerun-if-changed={}", folder.display());
        add(folder, &mut number);
    }
    println!("cargo::rustc-env=CUDA_BUILDER_SOURCES={} {:016x}", env!("CARGO_PKG_VERSION"), number.0);
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
