//! `cargo rumba setup`: installs what building and running kernels takes, and NVIDIA's optional tools.
//!
//! The command looks first, installs only missing tools, and prints each command that it runs. It asks before it uses
//! sudo. If it may not or cannot install a tool, it prints the command that would. `cuda_builder`, not this file,
//! decides whether a tool is present.

use std::ffi::OsStr;
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use cuda_builder::toolchain::{self, DEBIAN_PACKAGES, Lack, NotFound, Origin, Toolchain};
use cuda_builder::wheels::{self, Wheels};

use crate::quiet::run_quietly;
use crate::{archive, doctor, place, soft};

/// Install what kernels take: a Rust toolchain with library sources, the software device; NVIDIA's tools if possible
///
/// Tries `rustup component add rust-src` first, then the distribution's packages: as root, or through sudo if it
/// needs no password and you agree. NVIDIA's libdevice, ptxas and nvdisasm come as Python wheels, of fixed versions with
/// known hashes, and go into a folder of Rumba's own; kernels build without them. The software device is built from Rumba's sources,
/// or comes in a wheel that `--device` names or pip has installed, for all programs of this user. Running it again changes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cargo rumba setup                install what is missing
  cargo rumba setup --yes          and do not ask before sudo is used
  cargo rumba setup --no-wheels    only what is needed, nothing of NVIDIA's
  cargo rumba setup --device rumba_device-0.1.0-py3-none-manylinux_2_34_x86_64.whl
                                   the software device of this file, without a build
  RUMBA_TOOLS=tools cargo rumba setup
                                   NVIDIA's tools into another folder")]
pub struct Args {
    /// Leave out libdevice, ptxas and nvdisasm
    #[arg(long)]
    no_wheels: bool,
    /// Use sudo without asking
    #[arg(long)]
    yes: bool,
    /// Install the software device of a wheel, or of the folder that it was unpacked into, instead of building the device
    #[arg(long, value_name = "FILE")]
    device: Option<PathBuf>,
}

/// How long a download may take before the next way is tried.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);
const APT_LIMIT: Duration = Duration::from_secs(300);
/// The longest time of a download with pip.
pub const PIP_LIMIT: Duration = Duration::from_secs(240);

/// Runs the command.
///
/// # Errors
/// If something that kernels need is neither there nor can be installed.
pub fn run(args: Args) -> Result<()> {
    toolchain(args.yes)?;
    if !args.no_wheels {
        optional_wheels();
    }
    match args.device {
        Some(archive) => archive::install(&archive)?,
        // Programs that cargo alone starts in the workspace load the device that was built there.
        None if place::loads_build() => soft::build()?,
        None => soft::ensure()?,
    }
    println!("{}", doctor::table());
    Ok(())
}

/// Installs what the other commands need, if they lack it. NVIDIA's tools are tried once, not every time.
pub fn ensure() -> Result<()> {
    ensure_beside(|_| Ok(()))
}

/// The same; NVIDIA's tools are downloaded while work is done that does not need them.
///
/// # Errors
/// If something is neither there nor can be installed, and those of the work.
pub fn ensure_beside(work: impl FnOnce(&Download) -> Result<()>) -> Result<()> {
    toolchain(false)?;
    let is_tried = wheels::folder().is_none_or(|folder| folder.exists());
    let (under_way, ended) = mpsc::channel();
    std::thread::scope(|scope| {
        if is_tried {
            drop(under_way);
        } else {
            scope.spawn(move || {
                optional_wheels();
                drop(under_way);
            });
        }
        work(&Download(Mutex::new(ended)))
    })
}

/// The download of NVIDIA's tools. Kernels are built in another way with libdevice than without it.
pub struct Download(Mutex<Receiver<()>>);

impl Download {
    /// Waits until the tools are there, or are known not to come.
    pub fn wait(&self) {
        // Nothing is sent: the channel closes when the download ends, also by a panic.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).recv();
    }
}

/// Leaves NVIDIA's tools out, in later commands too: they are tried where their folder does not exist. `cargo rumba setup` installs them.
pub fn leave_out_wheels() -> Result<()> {
    let Some(folder) = wheels::folder() else { return Ok(()) };
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))
}

/// Finds a toolchain for kernels, or installs one.
fn toolchain(yes: bool) -> Result<Toolchain> {
    let mut missing = match toolchain::find() {
        Ok(toolchain) => return Ok(toolchain),
        Err(missing) => missing,
    };
    let mut tried = Vec::new();
    for way in [rustup_component, debian_packages] {
        match way(&missing, yes) {
            Ok(None) => {}
            Ok(Some(done)) => match toolchain::find() {
                Ok(toolchain) => {
                    eprintln!("{done}");
                    return Ok(toolchain);
                }
                Err(still) => {
                    tried.push(format!("{done}, which was not enough"));
                    missing = still;
                }
            },
            Err(error) => tried.push(format!("{error:#}")),
        }
    }
    let mut message = missing.to_string();
    if !tried.is_empty() {
        message.push_str("\n\nWhat setup tried:\n  ");
        message.push_str(&tried.join("\n  "));
    }
    Err(anyhow!(message))
}

/// The library sources of a rustup toolchain that has everything else.
fn rustup_component(missing: &NotFound, _: bool) -> Result<Option<String>> {
    let Some(name) = missing.rejected.iter().find_map(|rejected| match (&rejected.origin, &rejected.reason) {
        (Origin::Rustup(name), Lack::Sources(_)) => Some(name),
        _ => None,
    }) else {
        return Ok(None);
    };
    let Some(rustup) = rustup() else {
        return Ok(None);
    };
    let mut command = Command::new(rustup);
    command.args(["component", "add", "rust-src", "--toolchain", name]).env("RUSTUP_MAX_RETRIES", "1");
    run_quietly(&mut command, "installing the library sources", RUSTUP_LIMIT)?;
    Ok(Some(format!("installed the library sources of {name} (rustup component rust-src)")))
}

/// The program that manages toolchains, if it is installed.
pub fn rustup() -> Option<PathBuf> {
    let home = toolchain::cargo_home().map(|home| home.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    home.into_iter().chain(std::env::split_paths(&path)).map(|folder| folder.join("rustup")).find(|file| file.is_file())
}

/// Debian's newer Rust, which lies beside rustup's without touching it.
fn debian_packages(missing: &NotFound, yes: bool) -> Result<Option<String>> {
    let overridden = missing.rejected.iter().any(|rejected| rejected.origin == Origin::Override);
    if overridden {
        return Ok(None);
    }
    let reason = "The sources of Rust's library are missing, and kernels are compiled with them.";
    apt_install(&DEBIAN_PACKAGES, reason, yes)
}

/// Installs packages of the distribution, if it is one of Debian's kind; says what was installed.
pub fn apt_install(packages: &[&str], reason: &str, yes: bool) -> Result<Option<String>> {
    let apt = Path::new("/usr/bin/apt-get");
    if !apt.exists() {
        return Ok(None);
    }
    let install = format!("apt-get install {}", packages.join(" "));
    let Some(privilege) = privilege() else {
        bail!("{install}: this needs root, and sudo asks for a password");
    };
    if let Privilege::Sudo = privilege {
        eprintln!(
            "{reason}\n\
             The distribution has them. As root, through sudo, which needs no password here, this would be run:\n  \
             sudo {install}"
        );
        let input = std::io::stdin();
        if !(yes || input.is_terminal() && agrees(&mut input.lock())?) {
            bail!(
                "sudo {install}: you have not agreed to this; `{} setup --yes` does it without asking",
                place::program()
            );
        }
    }
    let apt_get = |arguments: &[&str]| {
        let mut command = match privilege {
            Privilege::Root => Command::new(apt),
            Privilege::Sudo => {
                let mut command = Command::new("sudo");
                command.args(["-n", "DEBIAN_FRONTEND=noninteractive"]).arg(apt);
                command
            }
        };
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    if !has_candidate(packages[0]) {
        run_quietly(&mut apt_get(&["update", "--quiet"]), "reading the lists of packages", APT_LIMIT)?;
        if !has_candidate(packages[0]) {
            bail!("{install}: this distribution does not have these packages");
        }
    }
    // No installed package may be removed: the machine's own rustc stays unchanged.
    let mut command = apt_get(&["install", "--yes", "--no-install-recommends", "--no-remove"]);
    command.args(packages);
    run_quietly(&mut command, "installing packages of the distribution", APT_LIMIT)?;
    Ok(Some(format!("installed {} with apt-get", packages.join(" "))))
}

#[derive(Clone, Copy)]
enum Privilege {
    Root,
    Sudo,
}

/// How packages can be installed without asking anyone.
fn privilege() -> Option<Privilege> {
    if output("id", &["-u"]).is_some_and(|id| id.trim() == "0") {
        return Some(Privilege::Root);
    }
    output("sudo", &["-n", "true"]).map(|_| Privilege::Sudo)
}

/// Asks whether to go on. Only a yes is one.
fn agrees(input: &mut impl BufRead) -> Result<bool> {
    eprint!("Run it? [y/N] ");
    let mut answer = String::new();
    input.read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Whether apt knows a version of a package that it could install.
fn has_candidate(package: &str) -> bool {
    output("apt-cache", &["policy", package]).is_some_and(|policy| {
        policy
            .lines()
            .any(|line| line.trim_start().strip_prefix("Candidate: ").is_some_and(|version| version != "(none)"))
    })
}

/// The output of a program, if it succeeds.
pub fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).env("LC_ALL", "C").stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Installs NVIDIA's tools if they are missing. They are a help, so a failure is a note.
fn optional_wheels() {
    let Wheels { libdevice, ptxas, nvdisasm, .. } = wheels::find();
    if libdevice.is_some() && ptxas.is_some() && nvdisasm.is_some() {
        return;
    }
    if let Err(error) = install_wheels() {
        eprintln!("note: NVIDIA's libdevice, ptxas and nvdisasm were not installed: {error:#}");
        eprintln!("      Kernels build and run without them; `{} doctor` says what each is for.", place::program());
    }
}

/// The wheels, as pip reads them: each of one version, with the hashes of its files for x86-64 and aarch64.
const REQUIREMENTS: &str = include_str!("setup/wheels.txt");

/// What is about to be downloaded.
const ANNOUNCEMENT: &str = "NVIDIA's libdevice, ptxas and nvdisasm (127 MB through pip, of which 55 MB are kept; NVIDIA's licence \
                            agreement for CUDA) are optional: `setup --no-wheels` and `demo --no-wheels` leave them out";

/// The files kept of the wheels; the rest of them is several times as large and not used.
const KEPT: [&str; 3] = ["nvvm/libdevice/libdevice.10.bc", "bin/ptxas", "bin/nvdisasm"];

fn install_wheels() -> Result<()> {
    let folder = wheels::folder().context("there is no home directory to put them in")?;
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let incoming = tempfile::tempdir_in(&folder).with_context(|| format!("could not write to {}", folder.display()))?;
    let staging = incoming.path().join("wheels");
    eprintln!("{ANNOUNCEMENT}");
    install_requirements(REQUIREMENTS, &staging, "downloading libdevice, ptxas and nvdisasm")?;
    keep(&staging, &folder)?;
    incoming.close().with_context(|| format!("could not clean up {}", folder.display()))?;
    eprintln!("installed libdevice, ptxas and nvdisasm in {}", folder.display());
    Ok(())
}

/// Unpacks wheels into a new folder, each of one version, whose hash pip verifies.
pub fn install_requirements(requirements: &str, folder: &Path, what: &str) -> Result<()> {
    if output("python3", &["-m", "pip", "--version"]).is_none() {
        bail!("they come through pip, and `python3 -m pip` does not run here (apt-get install python3-pip)");
    }
    let file = folder.with_extension("txt");
    std::fs::write(&file, requirements)?;
    let mut command = Command::new("python3");
    command
        .args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"])
        .args(["--no-deps", "--only-binary=:all:", "--require-hashes", "--retries=1", "--timeout=20", "--target"])
        .arg(folder)
        .arg("--requirement")
        .arg(&file);
    run_quietly(&mut command, what, PIP_LIMIT)
}

/// Moves what is used, and the licences, from the unpacked wheels to their place.
fn keep(staging: &Path, folder: &Path) -> Result<()> {
    let moved = |from: PathBuf, to: PathBuf| -> Result<()> {
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent)?;
        }
        if to.is_dir() {
            std::fs::remove_dir_all(&to)?;
        }
        std::fs::rename(&from, &to).with_context(|| format!("could not move {}", from.display()))
    };
    for entry in std::fs::read_dir(staging)? {
        let entry = entry?;
        if entry.path().extension() == Some(OsStr::new("dist-info")) {
            moved(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    for entry in std::fs::read_dir(staging.join("nvidia"))? {
        let entry = entry?;
        for file in KEPT.iter().filter(|file| entry.path().join(file).exists()) {
            moved(entry.path().join(file), folder.join("nvidia").join(entry.file_name()).join(file))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Download, REQUIREMENTS, agrees};
    use cuda_builder::wheels::WHEELS;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, mpsc};

    #[test]
    fn a_download_is_waited_for_until_it_ends() {
        let (under_way, ended) = mpsc::channel::<()>();
        let (download, is_done) = (Download(Mutex::new(ended)), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _under_way = under_way;
                is_done.store(true, Ordering::Relaxed);
            });
            download.wait();
            assert!(is_done.load(Ordering::Relaxed));
        });
        // Once more, when nothing is under way.
        download.wait();
    }

    #[test]
    fn wheels_have_one_version_and_hashes_for_both_architectures() {
        let lines = REQUIREMENTS.replace("\\\n", " ");
        let wheels: Vec<&str> = lines.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
        assert_eq!(wheels.len(), WHEELS.len(), "{wheels:?}");
        for (line, name) in wheels.iter().zip(WHEELS) {
            let mut words = line.split_whitespace();
            let version = words.next().and_then(|wheel| wheel.strip_prefix(name)?.strip_prefix("=="));
            let version = version.unwrap_or_else(|| panic!("{name} of one version: {line}"));
            assert!(version.split('.').all(|part| part.parse::<u32>().is_ok()), "{line}");
            let hashes: Vec<&str> = words.map(|word| word.strip_prefix("--hash=sha256:").expect(line)).collect();
            assert_eq!(hashes.len(), 2, "{line}");
            let is_hash = |hash: &&str| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(hashes.iter().all(is_hash) && hashes[0] != hashes[1], "{line}");
        }
    }

    #[test]
    fn only_a_yes_is_one() {
        for (answer, expected) in
            [("y\n", true), ("Yes\n", true), ("\n", false), ("n\n", false), ("", false), ("yesterday", false)]
        {
            assert_eq!(agrees(&mut answer.as_bytes()).unwrap(), expected, "{answer:?}");
        }
    }
}
