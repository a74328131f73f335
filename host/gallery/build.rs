//! Builds the kernels to PTX and tells the library where the text is; lists the programs, for the library to have them as modules.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = list_programs() {
        eprintln!("error: the programs of the gallery were not listed: {error}");
        return ExitCode::FAILURE;
    }
    match cuda_builder::CudaBuilder::new("../../kernels-gpu").overflow_checks(false).build() {
        Ok(ptx) => {
            println!("cargo::rustc-env=GALLERY_PTX={}", ptx.path.display());
            println!("cargo::rustc-env=GALLERY_PTX_HASH=sha256:{}", &ptx.hash()[..16]);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: the kernels of the gallery were not built\n\n{error}\n");
            eprintln!(
                "help: `cargo xtask setup` installs what a kernel build needs, `cargo xtask doctor` shows what is there"
            );
            ExitCode::FAILURE
        }
    }
}

/// Writes a module for each file of `src/bin`, and the list of them, in alphabetical order.
fn list_programs() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=src/bin");
    let mut names = Vec::new();
    for entry in std::fs::read_dir("src/bin")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    let folder = std::env::current_dir()?.join("src/bin");
    let (mut modules, mut list) = (String::new(), String::new());
    for name in names {
        let _ = writeln!(modules, "#[path = {:?}]\nmod {name};", folder.join(format!("{name}.rs")));
        let _ = writeln!(list, "    ({name:?}, {name}::main),");
    }
    let text = format!(
        "{modules}\n/// The main function of a program.\npub type Main = fn() -> anyhow::Result<()>;\n\n\
         /// Names and main functions.\npub const ALL: &[(&str, Main)] = &[\n{list}];\n"
    );
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("programs.rs"), text)
}
