//! Finds a compiler that can build kernels, or suggests what to install.
//!
//! A kernel needs `core` compiled for `nvptx64-nvidia-cuda`. No toolchain ships that, so the sources
//! of the standard library must be there; with them any stable or nightly rustc will do. This module
//! looks and never installs: that is `cargo xtask setup`'s business.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use rumba_llvm::find::rustup_home;

/// The oldest compiler whose kernels are tested.
pub const OLDEST: Version = Version { major: 1, minor: 95, patch: 0 };

/// The variable that names the rustc to use, before anything else is tried.
pub const OVERRIDE: &str = "RUMBA_KERNEL_RUSTC";

/// A compiler with everything that building kernels takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    /// The compiler itself, not a proxy of rustup.
    pub rustc: PathBuf,
    /// The cargo that belongs to it.
    pub cargo: PathBuf,
    /// The compiler's version, without the release channel.
    pub version: Version,
    /// The line that `rustc --version` prints.
    pub release: String,
    /// The folder `library` of the standard library's sources.
    pub library: PathBuf,
    /// The LLVM that the compiler uses, as a shared library.
    pub llvm: PathBuf,
    /// Where it was found.
    pub origin: Origin,
}

/// How a compiler was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Named by [`OVERRIDE`].
    Override,
    /// A toolchain of rustup, by name.
    Rustup(String),
    /// Installed by the distribution or by hand, on the search path.
    System,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Override => f.write_str(OVERRIDE),
            Self::Rustup(name) => write!(f, "rustup, {name}"),
            Self::System => f.write_str("system"),
        }
    }
}

/// A compiler's version number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// Reads `1.96.0` or `1.97.0-nightly`.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(['.', '-', '+']).map_while(|n| n.parse().ok());
        Some(Self { major: numbers.next()?, minor: numbers.next()?, patch: numbers.next()? })
    }
}

/// A compiler that was looked at and cannot build kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The compiler.
    pub rustc: PathBuf,
    /// The output of `rustc --version`, if it ran.
    pub release: Option<String>,
    /// How it was found.
    pub origin: Origin,
    /// The missing requirement.
    pub reason: Lack,
}

/// A requirement that a compiler does not meet.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lack {
    /// The compiler does not run.
    #[error("it does not run: {0}")]
    Broken(String),
    /// The compiler is older than [`OLDEST`].
    #[error("it is older than {OLDEST}")]
    Old,
    /// The standard library's sources are not there.
    #[error("the library sources are missing (looked in {})", .0.display())]
    Sources(PathBuf),
    /// The toolchain has no `cargo` next to `rustc`.
    #[error("there is no cargo beside it")]
    Cargo,
    /// The toolchain has no LLVM as a shared library.
    #[error("its LLVM {0} was not found as a shared library")]
    Llvm(String),
}

/// No compiler can build kernels.
#[derive(Clone, PartialEq, Eq)]
pub struct NotFound {
    /// The compilers that were looked at, in order.
    pub rejected: Vec<Rejected>,
    /// Commands that would change that, the likeliest first.
    pub remedies: Vec<String>,
}

impl std::error::Error for NotFound {}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "no Rust toolchain here can compile kernels: that takes rustc, cargo and the sources \
             of the standard library",
        )?;
        for rejected in &self.rejected {
            let release = rejected.release.as_deref().unwrap_or("rustc");
            let path = rejected.rustc.display();
            write!(f, "\n  {path} ({release}): {}", rejected.reason)?;
        }
        if self.rejected.is_empty() {
            f.write_str("\n  no rustc was found at all")?;
        }
        f.write_str("\nTo get one, run:")?;
        for remedy in &self.remedies {
            write!(f, "\n  {remedy}")?;
        }
        Ok(())
    }
}

/// The compiler to use: the one named by [`OVERRIDE`], else a rustup toolchain with the library
/// sources, else the distribution's.
///
/// # Errors
/// Lists the compilers found, what each lacks, and the command that would help.
pub fn find() -> Result<Toolchain, NotFound> {
    let candidates = candidates();
    // Asking a compiler takes longer than looking at its files.
    let promising = candidates.iter().filter(|candidate| candidate.may_have_sources());
    if let Some(toolchain) = promising.filter_map(|candidate| inspect(candidate).ok()).next() {
        return Ok(toolchain);
    }
    let rejected: Vec<Rejected> = candidates.iter().filter_map(|candidate| inspect(candidate).err()).collect();
    let remedies = remedies(&rejected);
    Err(NotFound { rejected, remedies })
}

/// Looks at every compiler, usable or not, in the order in which [`find`] would try them.
pub fn survey() -> Vec<Result<Toolchain, Rejected>> {
    candidates().iter().map(inspect).collect()
}

impl Toolchain {
    /// Whether a directory belongs to the standard library's sources.
    pub(crate) fn owns_source(&self, directory: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        directory.starts_with(&self.library) || real(directory).starts_with(real(&self.library))
    }
}

struct Candidate {
    rustc: PathBuf,
    origin: Origin,
}

impl Candidate {
    /// Whether the sources of the standard library are in place, or where they would be is not known.
    fn may_have_sources(&self) -> bool {
        let sysroot = match self.origin {
            Origin::Rustup(_) => self.rustc.ancestors().nth(2),
            Origin::Override | Origin::System => None,
        };
        sysroot.is_none_or(|sysroot| library(sysroot).is_dir())
    }
}

/// Where the sources of the standard library are in a sysroot.
fn library(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib/src/rust/library")
}

fn candidates() -> Vec<Candidate> {
    if let Some(rustc) = env::var_os(OVERRIDE).filter(|value| !value.is_empty()) {
        // An explicit choice is the only one: falling back would hide a mistake in it.
        return vec![Candidate { rustc: rustc.into(), origin: Origin::Override }];
    }
    let mut all = rustup_candidates();
    all.extend(system_candidates());
    all
}

/// The folder of cargo's registry and of the programs that cargo and rustup install.
#[must_use]
pub fn cargo_home() -> Option<PathBuf> {
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")))
}

/// Rustup's toolchains: the active one, then released ones, then nightlies, newest first.
fn rustup_candidates() -> Vec<Candidate> {
    let Some(folder) = rustup_home().map(|home| home.join("toolchains")) else {
        return Vec::new();
    };
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| folder.join(name).join("bin/rustc").is_file())
        .collect();
    let active = env::var("RUSTUP_TOOLCHAIN").unwrap_or_default();
    names.sort_by_key(|name| {
        let channel = name.split('-').next().unwrap_or_default();
        let rank = match channel {
            "stable" => 1,
            "beta" => 2,
            "nightly" => 3,
            _ => 0,
        };
        let version = Version::parse(channel);
        (*name != active, rank, std::cmp::Reverse(version), name.clone())
    });
    let mut seen = Vec::new();
    names.retain(|name| {
        // A toolchain may be a link to another one.
        let real = folder.join(name).canonicalize().ok();
        let new = !seen.contains(&real);
        seen.push(real);
        new
    });
    names
        .into_iter()
        .map(|name| Candidate { rustc: folder.join(&name).join("bin/rustc"), origin: Origin::Rustup(name) })
        .collect()
}

/// Compilers on the search path and in the usual folders, rustup's proxies aside.
fn system_candidates() -> Vec<Candidate> {
    let proxies = cargo_home().map(|home| home.join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut seen = Vec::new();
    env::split_paths(&path)
        .chain(["/usr/local/bin", "/usr/bin"].map(PathBuf::from))
        .filter(|folder| Some(folder) != proxies.as_ref() && !folder.join("rustup").exists())
        .map(|folder| folder.join("rustc"))
        .filter(|rustc| {
            let real = rustc.canonicalize().ok();
            let new = real.is_some() && !seen.contains(&real);
            seen.push(real);
            new
        })
        .filter(|rustc| !rustc.components().any(|c| c.as_os_str() == "toolchains"))
        .map(|rustc| Candidate { rustc, origin: Origin::System })
        .collect()
}

/// Checks that a compiler has everything.
fn inspect(candidate: &Candidate) -> Result<Toolchain, Rejected> {
    let Candidate { rustc, origin } = candidate;
    let reject = |release: Option<&str>, reason| Rejected {
        rustc: rustc.clone(),
        release: release.map(str::to_owned),
        origin: origin.clone(),
        reason,
    };
    let ask = |arguments: &[&str]| {
        let output = Command::new(rustc)
            .args(arguments)
            // A proxy of rustup named by the override should print, not install.
            .env("RUSTUP_AUTO_INSTALL", "0")
            .output()
            .map_err(|error| reject(None, Lack::Broken(error.to_string())))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or_default().to_owned();
            Err(reject(None, Lack::Broken(said)))
        }
    };
    let text = ask(&["-vV"])?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let (Some(release), Some(version), Some(llvm)) = (
        text.lines().find(|line| line.starts_with("rustc ")),
        field("release: ").and_then(Version::parse),
        field("LLVM version: "),
    ) else {
        let said = "its -vV names no version and no LLVM".to_owned();
        return Err(reject(None, Lack::Broken(said)));
    };
    let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim_end());
    let reject = |reason| reject(Some(release), reason);
    if version < OLDEST {
        return Err(reject(Lack::Old));
    }
    let library = library(&sysroot);
    if !library.join("core/src/lib.rs").is_file() || !library.join("Cargo.lock").is_file() {
        return Err(reject(Lack::Sources(library)));
    }
    // Through a proxy of rustup the real programs are in the sysroot.
    let own = sysroot.join("bin/rustc");
    let rustc = if own.is_file() { &own } else { rustc };
    let cargo = rustc.with_file_name("cargo");
    if !cargo.is_file() {
        return Err(reject(Lack::Cargo));
    }
    let major = llvm.split('.').next().and_then(|major| major.parse().ok());
    let Some(llvm_library) = major.and_then(|major| rumba_llvm::find::of_compiler(&sysroot, major)) else {
        return Err(reject(Lack::Llvm(llvm.to_owned())));
    };
    Ok(Toolchain {
        rustc: rustc.clone(),
        cargo,
        version,
        release: release.to_owned(),
        library,
        llvm: llvm_library,
        origin: origin.clone(),
    })
}

/// The packages that Debian 12 and its relatives have for building kernels.
pub const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// Suggests commands that complete or install a toolchain.
fn remedies(rejected: &[Rejected]) -> Vec<String> {
    let mut remedies = Vec::new();
    if rejected.iter().any(|r| r.origin == Origin::Override) {
        return vec![format!("unset {OVERRIDE}   (or point it at a rustc that has the sources in its sysroot)")];
    }
    let rustup = rejected.iter().find_map(|r| match (&r.origin, &r.reason) {
        (Origin::Rustup(name), Lack::Sources(_)) => Some(name),
        _ => None,
    });
    match rustup {
        Some(name) => remedies.push(format!("rustup component add rust-src --toolchain {name}")),
        None if rustup_home().is_some() => {
            remedies.push("rustup toolchain install stable --component rust-src".to_owned());
        }
        None => {}
    }
    if Path::new("/usr/bin/apt-get").exists() {
        remedies.push(format!("sudo apt-get install {}   (Debian 12)", DEBIAN_PACKAGES.join(" ")));
    } else if Path::new("/usr/bin/dnf").exists() {
        remedies.push("sudo dnf install rust cargo rust-src".to_owned());
    }
    if remedies.is_empty() {
        remedies.push("curl --proto =https https://sh.rustup.rs -sSf | sh -s -- --component rust-src".to_owned());
    }
    remedies
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions() {
        let version = |text| Version::parse(text).map(|v| (v.major, v.minor, v.patch));
        assert_eq!(version("1.96.0"), Some((1, 96, 0)));
        assert_eq!(version("1.97.0-nightly"), Some((1, 97, 0)));
        assert_eq!(version("stable"), None);
    }
}
