//! `cargo rumba doctor`: lists the tools for building and running kernels, installed and missing.
//!
//! The command changes nothing. `setup` has the same required and optional tools.

use std::env;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use comfy_table::{Attribute, Cell, Color, Table, presets};
use cuda_builder::toolchain::{self, Lack, Rejected, Toolchain};
use cuda_builder::wheels;
use rumba_interface::environment::{cache_folder, library_from_environment};
use rumba_jit::Cache;

use crate::{archive, place, soft};

/// Show the tools for building and running kernels, and the commands that install missing ones
///
/// Fails if kernels cannot be built. Everything else in the table is optional.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cargo rumba doctor
  RUMBA_KERNEL_RUSTC=/opt/rust/bin/rustc cargo rumba doctor    would this compiler do?")]
pub struct Args {}

/// Runs the command.
///
/// # Errors
/// If kernels cannot be built here.
pub fn run(_: Args) -> Result<()> {
    println!("{}", table());
    match toolchain::find() {
        Ok(_) => Ok(()),
        Err(missing) => bail!("{missing}\n\n`{} setup` does it for you.", place::program()),
    }
}

/// One line of the table.
struct Row {
    what: &'static str,
    state: State,
    version: String,
    place: String,
    note: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// There, and used.
    Used,
    /// There, and something else is preferred or needed besides.
    Unused,
    /// Not there, and needed.
    Missing,
    /// Not there, and not needed.
    Optional,
}

impl State {
    fn cell(self) -> Cell {
        match self {
            Self::Used => Cell::new("ok").fg(Color::Green),
            Self::Unused => Cell::new("not used").fg(Color::DarkGrey),
            Self::Missing => Cell::new("missing").fg(Color::Red),
            Self::Optional => Cell::new("none").fg(Color::Yellow),
        }
    }
}

/// The whole report.
pub fn table() -> Table {
    let mut rows = vec![host()];
    let survey = toolchain::survey();
    let found = survey.iter().any(Result::is_ok);
    let mut used = false;
    for candidate in &survey {
        match candidate {
            Ok(toolchain) => {
                rows.extend(compiler(toolchain, used));
                used = true;
            }
            Err(rejected) => rows.push(unfit(rejected)),
        }
    }
    if !found {
        rows.push(Row {
            what: "kernel toolchain",
            state: State::Missing,
            version: String::new(),
            place: String::new(),
            note: format!("{} setup", place::program()),
        });
    }
    rows.extend(tools());
    rows.push(soft_device());
    rows.extend(engine());
    rows.push(driver());

    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    if !std::io::stdout().is_terminal() || env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        table.force_no_tty();
    }
    table.set_header(
        ["what", "state", "version", "where", "note"].map(|title| Cell::new(title).add_attribute(Attribute::Bold)),
    );
    for row in rows {
        table.add_row([
            Cell::new(row.what),
            row.state.cell(),
            Cell::new(row.version),
            Cell::new(row.place),
            Cell::new(row.note),
        ]);
    }
    table
}

/// The compiler of the programs themselves.
fn host() -> Row {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = first_line(Command::new(&rustc).arg("--version"));
    Row {
        what: "host toolchain",
        state: if version.is_some() { State::Used } else { State::Missing },
        version: version.as_deref().map(number).unwrap_or_default(),
        place: env::var("RUSTUP_TOOLCHAIN").unwrap_or_default(),
        note: "compiles the programs".to_owned(),
    }
}

/// A compiler that can build kernels.
fn compiler(toolchain: &Toolchain, another_is_used: bool) -> Vec<Row> {
    let state = if another_is_used { State::Unused } else { State::Used };
    let mut rows = vec![Row {
        what: "kernel toolchain",
        state,
        version: number(&toolchain.release),
        place: short(&toolchain.rustc),
        note: if another_is_used { "would do as well" } else { "compiles the kernels" }.to_owned(),
    }];
    if !another_is_used {
        rows.push(Row {
            what: "  library sources",
            state,
            version: String::new(),
            place: short(&toolchain.library),
            note: "core, for the device".to_owned(),
        });
        rows.push(Row {
            what: "  LLVM",
            state,
            version: String::new(),
            place: short(&toolchain.llvm),
            note: "links, optimises, writes PTX".to_owned(),
        });
    }
    rows
}

/// A compiler that cannot.
fn unfit(rejected: &Rejected) -> Row {
    Row {
        what: "rustc",
        state: State::Unused,
        version: rejected.release.as_deref().map(number).unwrap_or_default(),
        place: short(&rejected.rustc),
        note: match rejected.reason {
            Lack::Sources(_) => "no library sources, so no kernels".to_owned(),
            ref other => other.to_string(),
        },
    }
}

/// NVIDIA's tools.
fn tools() -> Vec<Row> {
    let wheels = wheels::find();
    let row = |what, path: Option<&Path>, note| Row {
        what,
        state: if path.is_some() { State::Used } else { State::Optional },
        version: path.map(release).unwrap_or_default(),
        place: path.map(short).unwrap_or_default(),
        note: str::to_owned(note),
    };
    vec![
        row("libdevice", wheels.libdevice.as_deref(), "NVIDIA's maths; otherwise the crate libm"),
        row("ptxas", wheels.ptxas.as_deref(), "checks PTX, counts registers"),
        row("nvdisasm", wheels.nvdisasm.as_deref(), "shows machine code"),
    ]
}

/// The software device, as all programs of the user find it.
fn soft_device() -> Row {
    let place = soft::place();
    let installed = place.as_deref().filter(|place| place.is_file());
    Row {
        what: "software device",
        state: if installed.is_some() { State::Used } else { State::Missing },
        version: installed.map_or_else(String::new, |_| env!("CARGO_PKG_VERSION").to_owned()),
        place: installed.map(short).unwrap_or_default(),
        note: match installed {
            Some(_) if archive::has_record() => "of an archive; runs kernels where there is no GPU".to_owned(),
            Some(_) => "runs kernels where there is no GPU".to_owned(),
            None => format!("{} setup", place::program()),
        },
    }
}

/// The libLLVM that the software device compiles kernels with, if there is one.
fn llvm_library() -> Option<PathBuf> {
    let named = library_from_environment("RUMBA_LLVM_LIBRARY").map(PathBuf::from);
    named.or_else(rumba_llvm::find::library)
}

/// Whether the software device can compile kernels.
pub fn compiles() -> bool {
    llvm_library().is_some_and(|library| rumba_llvm::load_isolated(&library).is_ok())
}

/// The compiler of the software device, and its cache.
fn engine() -> Vec<Row> {
    const ENGINE: &str = "RUMBA_ENGINE";
    let asked = env::var(ENGINE).unwrap_or_default();
    let library = llvm_library();
    let loaded = library.as_deref().map(rumba_llvm::load_isolated);
    let (state, version, note) = match (asked.as_str(), loaded) {
        ("interpreter", _) => (State::Unused, String::new(), format!("interpreted: {ENGINE}={asked}")),
        ("compare", Some(Ok(llvm))) => {
            (State::Used, llvm.to_string(), format!("interpreted and compiled, and compared: {ENGINE}={asked}"))
        }
        ("compiled", Some(Ok(llvm))) => {
            (State::Used, llvm.to_string(), format!("compiled before they run: {ENGINE}={asked}"))
        }
        ("auto" | "", Some(Ok(llvm))) => {
            let note = "interpreted until they are compiled, in the background";
            (State::Used, llvm.to_string(), note.to_owned())
        }
        ("compiled" | "compare", None) => (State::Missing, String::new(), format!("{ENGINE}={asked} needs a libLLVM")),
        ("auto" | "", None) => {
            let note = "interpreted: there is no libLLVM, which a Rust toolchain of rustup has";
            (State::Optional, String::new(), note.to_owned())
        }
        ("auto" | "compiled" | "compare" | "", Some(Err(error))) => {
            (State::Missing, String::new(), format!("interpreted: {error}"))
        }
        _ => {
            let note = format!("{ENGINE}={asked} is none of auto, compiled, interpreter, compare: programs stop");
            (State::Missing, String::new(), note)
        }
    };
    let cache = cache_folder().map(|folder| Cache::new(folder.join("kernels")));
    let (cache_state, place, cache_note) = match &cache {
        None => (State::Unused, String::new(), "compiled again in each process: RUMBA_CACHE=off".to_owned()),
        Some(cache) => match cache.size() {
            Ok((files, bytes)) => {
                let note = format!("{files} functions, {:.1} MiB", bytes as f64 / f64::from(1 << 20));
                (State::Used, short(cache.folder()), note)
            }
            Err(error) => (State::Unused, short(cache.folder()), error.to_string()),
        },
    };
    vec![
        Row { what: "  its kernels", state, version, place: library.as_deref().map(short).unwrap_or_default(), note },
        Row { what: "  compiled code", state: cache_state, version: String::new(), place, note: cache_note },
    ]
}

/// A tool's release number; a bitcode file has none.
fn release(path: &Path) -> String {
    if path.extension().is_some() {
        return String::new();
    }
    let output = Command::new(path).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.split("release ").nth(1).and_then(|rest| rest.split([',', '\n']).next()).unwrap_or_default().to_owned()
}

/// NVIDIA's driver, as the kernel reports it.
fn driver() -> Row {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let version = text.split_whitespace().find(|word| {
        word.contains('.') && word.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    });
    Row {
        what: "NVIDIA driver",
        state: if version.is_some() { State::Used } else { State::Optional },
        version: version.unwrap_or_default().to_owned(),
        place: String::new(),
        note: if version.is_some() { "kernels can run on it" } else { "kernels run on the software device" }.to_owned(),
    }
}

/// The number in `rustc 1.95.0 (59807616e 2026-04-14)`.
fn number(release: &str) -> String {
    release.split(' ').nth(1).unwrap_or(release).to_owned()
}

/// A path, with `~` for the home directory.
fn short(path: &Path) -> String {
    match env::home_dir().and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(inside) => format!("~/{}", inside.display()),
        None => path.display().to_string(),
    }
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}
