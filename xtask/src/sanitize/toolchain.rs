//! The nightly toolchain that the tools come with, and its components.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use thiserror::Error;

use crate::quiet::run_quietly;
use crate::{setup, shell};

/// How long a component may take to download.
const LIMIT: Duration = Duration::from_secs(300);

/// Why the tools cannot run.
#[derive(Debug, Error)]
pub(super) enum Missing {
    #[error(
        "there is no rustup, which is how this command finds a nightly toolchain: Miri and the sanitizers come with nightly \
         compilers only. Install rustup (https://rustup.rs), then run `rustup toolchain install {name} --profile minimal`"
    )]
    Rustup { name: String },
    #[error(
        "there is no toolchain `{name}`: Miri and the sanitizers come with nightly compilers only. Run `rustup toolchain \
         install {name} --profile minimal`, or name another one with --toolchain"
    )]
    Toolchain { name: String },
    #[error(
        "the toolchain `{name}` lacks {component}, and installing it failed: {cause}. Run `rustup component add {component} \
         --toolchain {name}`; not every nightly has every component"
    )]
    Component { name: String, component: &'static str, cause: String },
}

/// A toolchain of rustup's.
pub(super) struct Nightly {
    rustup: PathBuf,
    name: String,
    /// The host's target triple.
    pub(super) host: String,
}

impl Nightly {
    pub(super) fn find(name: &str) -> Result<Self, Missing> {
        let name = name.to_owned();
        let Some(rustup) = setup::rustup() else {
            return Err(Missing::Rustup { name });
        };
        let mut version = run_in(&rustup, &name, "rustc");
        // rustup itself reports a missing toolchain; the error suggests what to do.
        let Ok(text) = version.arg("-vV").stderr(Stdio::null()).output() else {
            return Err(Missing::Rustup { name });
        };
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        match text.lines().find_map(|line| line.strip_prefix("host: ")) {
            Some(host) => Ok(Self { rustup, name, host: host.to_owned() }),
            None => Err(Missing::Toolchain { name }),
        }
    }

    /// Installs the missing components.
    pub(super) fn require(&self, components: &[&'static str]) -> Result<(), Missing> {
        let mut list = Command::new(&self.rustup);
        list.args(["component", "list", "--installed", "--toolchain", &self.name]);
        let installed = shell::output(&mut list).unwrap_or_default();
        for &component in components {
            let is_there =
                |line: &str| line.strip_prefix(component).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
            if installed.lines().any(is_there) {
                continue;
            }
            let mut add = Command::new(&self.rustup);
            add.args(["component", "add", component, "--toolchain", &self.name]);
            run_quietly(&mut add, "installing a component", LIMIT).map_err(|error| Missing::Component {
                name: self.name.clone(),
                component,
                cause: format!("{error:#}"),
            })?;
        }
        Ok(())
    }

    /// Its cargo.
    pub(super) fn cargo(&self) -> Command {
        let mut cargo = run_in(&self.rustup, &self.name, "cargo");
        // Variables of the cargo that runs this program.
        for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
            cargo.env_remove(variable);
        }
        cargo
    }
}

fn run_in(rustup: &PathBuf, name: &str, program: &str) -> Command {
    let mut command = Command::new(rustup);
    command.args(["run", name, program]);
    command
}
