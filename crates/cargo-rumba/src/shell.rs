//! Running other programs, with errors that show the command. Knows nothing of what the commands are for.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::place;

/// The cargo that runs this program, or the first of the path.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The same cargo, which builds packages of Rumba's sources. Flags of the project at hand do not reach them.
pub fn cargo_of_sources() -> Command {
    let mut command = cargo();
    command.current_dir(place::sources()).env("CARGO_TARGET_DIR", place::build());
    for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_MANIFEST_PATH"] {
        command.env_remove(variable);
    }
    command
}

/// Runs a command whose output the user sees; a failure names the command.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {}", describe(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", describe(command));
    }
    Ok(())
}

/// Runs a command and returns what it printed to standard output; errors stay visible.
pub fn output(command: &mut Command) -> Result<String> {
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("could not start {}", describe(command)))?;
    if !output.status.success() {
        bail!("{} failed ({})", describe(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} printed no UTF-8", describe(command)))
}

/// The command line, for messages.
pub fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|arg| {
        let arg = arg.to_string_lossy();
        if arg.contains(' ') { format!("'{arg}'") } else { arg.into_owned() }
    }));
    format!("`{}`", words.join(" "))
}
