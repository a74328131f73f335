//! Runs cargo for the kernel crate and collects the bitcode that it leaves behind.
//!
//! # How the bitcode arrives
//!
//! The kernel crate and everything below it are compiled as ordinary libraries
//! (`cargo rustc --lib --crate-type rlib`), and the object files inside an rlib for
//! `nvptx64-nvidia-cuda` *are* LLVM bitcode. Cargo names each rlib in its JSON messages, so nothing
//! has to stand in for a linker. The alternatives were worse:
//!
//! * `-C linker=PROGRAM` needs an executable on disk that understands rustc's linker arguments. A
//!   library in another project's build script has none; the build script itself is not one (it cannot know
//!   that it was started as a linker before its own `main` runs), and a shell script would have to
//!   outlive temporary object files.
//! * `--emit=llvm-bc` covers only the crate at the top, and `-C linker-plugin-lto` changes what the
//!   rlibs hold without changing who links them.
//!
//! With rlibs no process runs besides cargo and rustc, the compiler stays incremental per crate, and
//! a kernel crate needs no `crate-type` of its own: the library that the host links for its typed
//! launchers is the one that becomes PTX.
//!
//! `-C no-prepopulate-passes` keeps LLVM's optimiser out of the single crates. That is not only
//! faster (each function is optimised once, after linking): the rules about memory spaces must be
//! applied before any pass looks at a shared variable, because a pass may otherwise treat it as a
//! variable that one thread alone can see.
//!
//! The nested cargo has a target directory of its own, so it never waits for the lock of a cargo that
//! waits for it, and an environment without what the outer cargo says to its build scripts. The
//! kernel crate's profile does not matter: everything is passed by flags, which win, but for overflow checks. These are a setting
//! of the profile with an exception for the standard library, whose generic functions have them where the calling crate has them:
//! so `core` is compiled once for kernels with overflow checks and for kernels without.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use serde::Deserialize;

use crate::advice::{self, Advice};
use crate::shared::Crates;
use crate::toolchain::Toolchain;
use crate::{BuildError, terminal};

/// The target of every kernel crate.
pub(crate) const TARGET: &str = "nvptx64-nvidia-cuda";

/// Settings that override the crate's own profile. All kernel crates share these settings, so `core` is built once.
const PROFILE: [&str; 11] = [
    "profile.release.codegen-units=1",
    "profile.release.debug=0",
    "profile.release.debug-assertions=false",
    "profile.release.incremental=false",
    "profile.release.lto=\"off\"",
    "profile.release.opt-level=3",
    "profile.release.package.alloc.overflow-checks=false",
    "profile.release.package.compiler_builtins.overflow-checks=false",
    "profile.release.package.core.overflow-checks=false",
    "profile.release.panic=\"abort\"",
    "profile.release.strip=\"none\"",
];

/// One run of cargo.
pub(crate) struct Request<'a> {
    pub(crate) toolchain: &'a Toolchain,
    /// The directory of the kernel crate's `Cargo.toml`.
    pub(crate) crate_dir: &'a Path,
    pub(crate) target_dir: &'a Path,
    /// Flags for every crate compiled for the device.
    pub(crate) rustflags: Vec<String>,
    /// Whether integer overflow panics, in all crates but the standard library.
    pub(crate) overflow_checks: bool,
    /// Flags for the kernel crate alone.
    pub(crate) crate_flags: Vec<String>,
    /// Standard library crates to build: `core`, perhaps `alloc`.
    pub(crate) build_std: &'a str,
    /// More arguments, such as `--features`.
    pub(crate) arguments: Vec<OsString>,
    /// Whether cargo's progress is shown.
    pub(crate) progress: bool,
}

/// The result of a successful run.
pub(crate) struct Built {
    /// The libraries, the kernel crate first, then the others by name, then the standard library.
    pub(crate) libraries: Vec<Library>,
    /// The name of the kernel crate as symbols and files spell it.
    pub(crate) crate_name: String,
    /// The dependency list that cargo wrote for the kernel crate.
    pub(crate) dep_info: PathBuf,
    /// The crates of the build that projects share.
    pub(crate) shared: Crates,
}

/// One crate compiled for the device.
pub(crate) struct Library {
    pub(crate) name: String,
    pub(crate) rlib: PathBuf,
    /// The directory of its `Cargo.toml`.
    pub(crate) directory: PathBuf,
    /// Whether it is part of the standard library.
    pub(crate) standard: bool,
    /// Whether it is a working copy, and not from a registry or repository.
    pub(crate) local: bool,
}

#[derive(Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-artifact")]
    Artifact(Artifact),
    #[serde(rename = "compiler-message")]
    Diagnostic { message: Diagnostic },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Artifact {
    package_id: String,
    manifest_path: PathBuf,
    target: Target,
    filenames: Vec<PathBuf>,
    /// Whether cargo had it from an earlier build.
    fresh: bool,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// A message of the compiler.
#[derive(Deserialize)]
pub(crate) struct Diagnostic {
    rendered: Option<String>,
    level: String,
    pub(crate) message: String,
    pub(crate) code: Option<Code>,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    children: Vec<Note>,
}

/// The code of an error, such as `E0277`.
#[derive(Deserialize)]
pub(crate) struct Code {
    pub(crate) code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: PathBuf,
    line_start: usize,
    label: Option<String>,
    is_primary: bool,
    #[serde(default)]
    text: Vec<Line>,
}

/// A line of source code.
#[derive(Deserialize)]
struct Line {
    text: String,
}

#[derive(Deserialize)]
struct Note {
    message: String,
}

impl Diagnostic {
    /// The message, its labels and its notes.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let labels = self.spans.iter().filter_map(|span| span.label.as_deref());
        let notes = self.children.iter().map(|note| note.message.as_str());
        [self.message.as_str()].into_iter().chain(labels).chain(notes)
    }

    /// The lines of source code that the message's subject is in.
    pub(crate) fn source(&self) -> impl Iterator<Item = &str> {
        let primary = self.spans.iter().filter(|span| span.is_primary);
        primary.flat_map(|span| &span.text).map(|line| line.text.as_str())
    }

    /// File and line of the message's subject.
    pub(crate) fn place(&self) -> Option<(&Path, usize)> {
        let span = self.spans.iter().find(|span| span.is_primary)?;
        Some((&span.file_name, span.line_start))
    }

    /// The text as the compiler prints it, with advice.
    fn text(&self, advice: Option<Advice>, colour: bool) -> String {
        let text = self.rendered.as_deref().unwrap_or(&self.message);
        let Some(Advice { sentence, help: advice, replaces_crate }) = advice else {
            return text.to_owned();
        };
        let mut text = match sentence {
            Some(sentence) => text.replacen(&self.message, &sentence, 1),
            None => text.to_owned(),
        };
        if replaces_crate {
            let kept = text.split_inclusive('\n').filter(|line| !line.contains("if you wanted to use a crate named"));
            text = kept.collect();
        }
        // Notes are indented by what line numbers take.
        let numbers = text.lines().find(|line| line.contains("--> "));
        let indent = numbers.map_or(0, |line| line.len() - line.trim_start().len()) + 1;
        let help = if colour { "\x1b[1m\x1b[94m= \x1b[0m\x1b[1mhelp\x1b[0m" } else { "= help" };
        let body = text.trim_end_matches('\n');
        let end = &text[body.len()..];
        format!("{body}\n{:indent$}{help}: {advice}{}", "", if end.is_empty() { "\n" } else { end })
    }

    /// Whether rustc only counts the errors before it.
    fn is_summary(&self) -> bool {
        self.level == "failure-note"
            || (self.code.is_none()
                && (self.message.starts_with("aborting due to ")
                    || self.message.ends_with(" warning emitted")
                    || self.message.ends_with(" warnings emitted")))
    }
}

/// Variables that speak to the outer cargo's own children, or that would change the flags.
fn is_foreign(name: &str) -> bool {
    const KEPT: [&str; 7] = [
        "CARGO_HOME",
        "CARGO_HTTP_",
        "CARGO_NET_",
        "CARGO_REGISTRIES_",
        "CARGO_REGISTRY_",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
    ];
    const BUILD_SCRIPT: [&str; 9] =
        ["DEBUG", "HOST", "MAKEFLAGS", "MFLAGS", "NUM_JOBS", "OPT_LEVEL", "OUT_DIR", "PROFILE", "TARGET"];
    if name.starts_with("CARGO") {
        return !KEPT.iter().any(|kept| name.starts_with(kept));
    }
    name.starts_with("RUSTC")
        || name.starts_with("RUSTUP_TOOLCHAIN")
        || name.starts_with("RUST_RECURSION_COUNT")
        || name.starts_with("DEP_")
        || name == "RUSTFLAGS"
        || name == "RUSTDOCFLAGS"
        || BUILD_SCRIPT.contains(&name)
}

/// Compiles the kernel crate. Diagnostics go to standard error as they arrive.
pub(crate) fn build(request: &Request<'_>) -> Result<Built, BuildError> {
    let toolchain = request.toolchain;
    let colour = terminal::colour();
    let mut command = Command::new(&toolchain.cargo);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_foreign) {
            command.env_remove(name);
        }
    }
    command
        .current_dir(request.crate_dir)
        // No empty `RUSTC_WRAPPER` beside it: with one, cargo asks rustc six times at each start what it could remember.
        .env("RUSTC", &toolchain.rustc)
        // The library sources build with the released compiler that they belong to.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", request.rustflags.join("\x1f"))
        .args(["rustc", "--release", "--lib", "--crate-type", "rlib"])
        .args(["--target", TARGET])
        .arg(format!("-Zbuild-std={}", request.build_std))
        .arg("--target-dir")
        .arg(request.target_dir)
        .arg(if colour { "--message-format=json-diagnostic-rendered-ansi" } else { "--message-format=json" })
        .args(["--color", if colour { "always" } else { "never" }])
        .args(PROFILE.iter().flat_map(|setting| ["--config", setting]))
        .args(["--config", &format!("profile.release.overflow-checks={}", request.overflow_checks)])
        .args(&request.arguments)
        .args(if request.progress { None } else { Some("--quiet") })
        .arg("--")
        .args(&request.crate_flags)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // A terminal has cargo's progress bar. Elsewhere lines are passed on whole: cargo prints an error in pieces, and the
        // compiler's messages would come between them.
        .stderr(match std::io::stderr().is_terminal() {
            true => Stdio::inherit(),
            false => Stdio::piped(),
        });

    let started = |source| BuildError::Start { program: toolchain.cargo.clone(), source };
    let mut child = command.spawn().map_err(started)?;
    let forwarded = child.stderr.take().map(|stderr| thread::spawn(|| terminal::forward(stderr)));
    let mut output = Output::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            output.take(&line.map_err(started)?, request.crate_dir, colour);
        }
    }
    if let Some(forwarded) = forwarded {
        let _ = forwarded.join();
    }
    let status = child.wait().map_err(started)?;
    if !status.success() {
        return Err(if output.errors > 0 {
            BuildError::Compile {
                directory: request.crate_dir.to_owned(),
                errors: output.errors,
                diagnostics: output.diagnostics,
            }
        } else {
            BuildError::Cargo { directory: request.crate_dir.to_owned(), status }
        });
    }
    output.finish(request)
}

#[derive(Default)]
struct Output {
    artifacts: Vec<Artifact>,
    errors: usize,
    diagnostics: String,
}

impl Output {
    /// Takes one line of cargo's standard output.
    fn take(&mut self, line: &[u8], crate_dir: &Path, colour: bool) {
        match serde_json::from_slice(line) {
            Ok(Message::Artifact(artifact)) => self.artifacts.push(artifact),
            Ok(Message::Diagnostic { message }) => {
                if message.is_summary() {
                    return;
                }
                self.errors += usize::from(message.level.starts_with("error"));
                let text = message.text(advice::find(&message, crate_dir), colour);
                terminal::diagnostic(&text);
                self.diagnostics.push_str(&text);
            }
            Ok(Message::Other) => {}
            // Not a message of cargo: a build script or procedural macro printed it.
            Err(_) => {
                let mut stderr = std::io::stderr().lock();
                let _ = stderr.write_all(line).and_then(|()| stderr.write_all(b"\n"));
            }
        }
    }

    fn finish(self, request: &Request<'_>) -> Result<Built, BuildError> {
        let mut libraries = Vec::new();
        let mut kernel_crate = None;
        let mut shared = Crates::default();
        for artifact in self.artifacts {
            let directory = artifact.manifest_path.parent().unwrap_or(Path::new("/")).to_owned();
            let standard = request.toolchain.owns_source(&directory);
            let local = !standard && artifact.package_id.starts_with("path+");
            let name = artifact.target.name.replace('-', "_");
            if !local {
                shared.names.extend([package_name(&artifact.package_id).replace('-', "_"), name.clone()]);
                shared.compiled |= !artifact.fresh;
            }
            let Some(file) = artifact.filenames.iter().find(|file| {
                file.extension().is_some_and(|e| e == "rlib") && file.components().any(|c| c.as_os_str() == TARGET)
            }) else {
                continue;
            };
            // Cargo names the copy of the top crate that another crate of the same name would
            // overwrite; the original lies beside its metadata.
            let rlib = artifact
                .filenames
                .iter()
                .find(|file| file.extension().is_some_and(|e| e == "rmeta"))
                .map(|file| file.with_extension("rlib"))
                .filter(|file| file.exists())
                .unwrap_or_else(|| file.clone());
            let library = Library { name, rlib, directory, standard, local };
            if library.directory == request.crate_dir {
                kernel_crate = Some((library, file.with_extension("d")));
            } else {
                libraries.push(library);
            }
        }
        let Some((kernel_crate, dep_info)) = kernel_crate else {
            return Err(BuildError::NoLibrary { directory: request.crate_dir.to_owned() });
        };
        let crate_name = kernel_crate.name.clone();
        libraries.sort_by(|a, b| (a.standard, &a.name, &a.rlib).cmp(&(b.standard, &b.name, &b.rlib)));
        libraries.insert(0, kernel_crate);
        Ok(Built { libraries, crate_name, dep_info, shared })
    }
}

/// The name of a package in cargo's identifier: `registry+https://…#glam@0.30.10`, or `path+file:///…/core#0.0.0` if the folder has the
/// package's name.
fn package_name(id: &str) -> &str {
    let (source, fragment) = id.split_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None => source.rsplit('/').next().unwrap_or(source),
    }
}

#[cfg(test)]
mod tests {
    use super::package_name;

    #[test]
    fn an_identifier_has_the_name_of_its_package() {
        assert_eq!(
            package_name("registry+https://github.com/rust-lang/crates.io-index#num-traits@0.2.19"),
            "num-traits"
        );
        assert_eq!(package_name("path+file:///rust/library/core#0.0.0"), "core");
        assert_eq!(
            package_name("path+file:///rust/library/compiler-builtins/compiler-builtins#compiler_builtins@0.1.160"),
            "compiler_builtins"
        );
    }
}
