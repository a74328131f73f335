//! Running other programs, with errors that show the command. Knows nothing of what the commands are for.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::place;

/// The cargo that runs this program, or the first of the path.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The same cargo, which builds packages of Rumba's sources. Flags of the project at hand do not reach them.
///
/// # Errors
/// If the package that names those of a registry cannot be written.
pub fn cargo_of_sources() -> Result<Command> {
    let mut command = cargo();
    command.current_dir(sources()?);
    for folder in ["CARGO_TARGET_DIR", "CARGO_BUILD_BUILD_DIR"] {
        command.env(folder, place::build());
    }
    for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_MANIFEST_PATH"] {
        command.env_remove(variable);
    }
    for (variable, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"CARGO_PROFILE_"))
    {
        command.env_remove(variable);
    }
    Ok(command)
}

/// The folder of a workspace that has Rumba's packages: its sources, or a package that depends on those of a registry.
fn sources() -> Result<PathBuf> {
    if !place::is_from_registry() {
        return Ok(place::sources().to_owned());
    }
    let folder = place::build().join("libraries");
    let write = || {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("Cargo.toml"), LIBRARIES.replace("VERSION", env!("CARGO_PKG_VERSION")))?;
        std::fs::write(folder.join("lib.rs"), "")
    };
    write().with_context(|| format!("could not write {}", folder.display()))?;
    Ok(folder)
}

/// The manifest of this package, with the profiles of Rumba's workspace.
const LIBRARIES: &str = r#"[workspace]

[package]
name = "libraries"
edition = "2024"

[lib]
path = "lib.rs"

[dependencies]
rumba-libcuda = "=VERSION"
rumba-soft-library = "=VERSION"

[profile.release.package]
annotate-snippets = { opt-level = 1 }
cpp_demangle = { opt-level = 1 }
rumba-driver = { codegen-units = 256 }
rumba-soft = { opt-level = 1 }
"#;

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
