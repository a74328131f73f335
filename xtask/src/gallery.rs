//! The gallery's programs as commands: lists, builds and runs programs, and reads their records.
//! A program is a file in host/gallery/src/bin; nothing else registers it. Larger programs are packages in apps.

use crate::{libcuda, shell, soft};
use anyhow::{Context, Result, bail};
pub(crate) use cargo_rumba::device::Device;
use serde::Deserialize;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// One row that a program prints with `--json`: times are in seconds.
#[derive(Deserialize)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) n: u64,
    pub(crate) ok: bool,
    pub(crate) device: String,
    pub(crate) ptx_hash: String,
    pub(crate) cpu_s: f64,
    pub(crate) copy_in_s: f64,
    pub(crate) kernel_s: f64,
    pub(crate) copy_out_s: f64,
}

/// The programs' names, in alphabetical order.
pub(crate) fn programs() -> Result<Vec<String>> {
    let folder = shell::workspace().join("host/gallery/src/bin");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .with_context(|| format!("could not list {}", folder.display()))?
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let is_program = path.extension()? == "rs";
            is_program.then(|| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))?
        })
        .collect();
    names.sort();
    Ok(names)
}

/// The programs of apps.
const APPS: [&str; 5] = ["diffusion", "sentences", "training", "upscale", WITH_DRIVER];

/// The program whose other library looks for the driver by itself, and finds the software device in the library that the program loads.
const WITH_DRIVER: &str = "with_cudarc";

/// Whether a program belongs to apps, and not to the gallery.
fn is_app(name: &str) -> bool {
    APPS.contains(&name)
}

/// The program of a name, or an error that lists all programs.
pub(crate) fn find(name: &str) -> Result<String> {
    let mut names = programs()?;
    names.extend(APPS.map(str::to_owned));
    names.sort();
    if names.iter().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    bail!(
        "there is no program `{name}` in the gallery; there are: {}.\nTo add one: cargo xtask new kernel {name}",
        names.join(", ")
    )
}

/// Cargo's profile for the programs. The software device is optimised in both, and so are the programs' own loops.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    /// As tests build them and their dependencies, which are compiled once for both.
    Dev,
    /// For measurements of the runtime.
    Release,
}

impl Profile {
    /// Its folder in cargo's target folder.
    fn folder(self) -> &'static str {
        match self {
            Profile::Dev => "debug",
            Profile::Release => "release",
        }
    }
}

/// Whether cargo shows its progress, or errors only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Cargo shows it.
    Shown,
    /// Another build beside this one shows its own.
    Hidden,
}

/// Builds the programs, and the software device that they load.
pub(crate) fn build(names: &[String], profile: Profile) -> Result<()> {
    soft::ensure()?;
    if names.iter().any(|name| name == WITH_DRIVER) {
        libcuda::folder()?;
    }
    compile(names, profile, Progress::Shown)
}

/// Builds the programs only, without the software device. The programs of the gallery are one file.
pub(crate) fn compile(names: &[String], profile: Profile, progress: Progress) -> Result<()> {
    let build = |mut cargo: Command, arguments: &[&str]| {
        cargo.arg("build").args(arguments);
        if let Profile::Release = profile {
            cargo.arg("--release");
        }
        if progress == Progress::Hidden {
            cargo.arg("--quiet");
        }
        shell::run(&mut cargo)
    };
    for name in names {
        if is_app(name) {
            // All packages are named: dependencies then have the same features as in the tests.
            build(shell::apps_cargo(), &["--workspace", "--bin", name])?;
        }
    }
    if names.iter().all(|name| is_app(name)) {
        return Ok(());
    }
    // With xtask, which is built already: both then have the same dependencies, with the same features and line tables. The builder of
    // kernels for a build script alone would have no line tables, and would be compiled once more.
    build(shell::cargo(), &["--package", "gallery-all", "--package", "xtask", "--bin", GALLERY, "--bin", "xtask"])
}

/// The program that has all programs of the gallery.
const GALLERY: &str = "gallery";

/// A built program, ready to be given arguments.
pub(crate) fn command(name: &str, profile: Profile, device: Option<Device>) -> Command {
    let file = if is_app(name) { name } else { GALLERY };
    let program: PathBuf = shell::target().join(profile.folder()).join(file);
    let mut command = Command::new(program);
    command.arg0(name).current_dir(shell::workspace());
    if name == WITH_DRIVER {
        command.env("RUMBA_SOFT_LIBRARY", shell::target().join("driver").join(libcuda::FILE));
    }
    if let Some(device) = device {
        command.env("RUMBA_DEVICE", device.name());
    }
    command
}

/// Runs a program with `--json` and returns its records; what it says on standard error stays visible.
pub(crate) fn records(name: &str, device: Option<Device>) -> Result<Vec<Record>> {
    let text = shell::output(command(name, Profile::Dev, device).arg("--json"))?;
    text.lines()
        .map(|line| {
            serde_json::from_str(line).with_context(|| format!("{name} printed a line that is no record: {line}"))
        })
        .collect()
}
