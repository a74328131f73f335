//! Builds that need no kernels, of documentation and of lints: such a build leaves the PTX of an earlier build, or a text that says
//! why it holds no kernels.

use std::env;
use std::path::Path;

use crate::error::BuildError;
use crate::toolchain::NotFound;

/// The variable by which users leave kernels out.
const VARIABLE: &str = "RUMBA_KERNELS";

/// Variables of the programs that compile no kernels: docs.rs, clippy, and rust-analyzer when it runs build scripts.
const DOCS_RS: &str = "DOCS_RS";
const CLIPPY: &str = "RUSTC_WORKSPACE_WRAPPER";
const RUST_ANALYZER: &str = "RA_RUSTC_WRAPPER";

/// The variables of [`asked`].
pub(crate) const ASKED: [&str; 2] = [VARIABLE, DOCS_RS];

/// The variables of [`without_toolchain`].
pub(crate) const BY: [&str; 2] = [CLIPPY, RUST_ANALYZER];

/// The reason to build no kernels in a build script, whatever toolchains there are.
///
/// # Errors
/// If `RUMBA_KERNELS` has another value than `build` and `skip`.
pub(crate) fn asked() -> Result<Option<String>, BuildError> {
    asked_by(|name| env::var(name).ok())
}

fn asked_by(variable: impl Fn(&str) -> Option<String>) -> Result<Option<String>, BuildError> {
    match variable(VARIABLE).as_deref() {
        Some("skip") => return Ok(Some(format!("{VARIABLE}=skip was set when the program was compiled"))),
        None | Some("" | "build") => {}
        Some(value) => return Err(BuildError::Variable { value: value.to_owned() }),
    }
    Ok(variable(DOCS_RS).map(|_| "docs.rs builds no kernels".to_owned()))
}

/// The reason to build no kernels where no toolchain can: the program that runs this build script does not run kernels.
pub(crate) fn without_toolchain(missing: &NotFound) -> Option<String> {
    without_toolchain_by(|name| env::var(name).ok()).map(|who| {
        let first = missing.to_string();
        format!("{who} compiled the program, and {}", first.lines().next().unwrap_or_default().trim_end_matches(':'))
    })
}

fn without_toolchain_by(variable: impl Fn(&str) -> Option<String>) -> Option<&'static str> {
    let is_clippy = |wrapper: String| Path::new(&wrapper).file_stem().is_some_and(|name| name == "clippy-driver");
    if variable(CLIPPY).is_some_and(is_clippy) {
        return Some("clippy");
    }
    variable(RUST_ANALYZER).map(|_| "rust-analyzer")
}

#[cfg(test)]
mod tests {
    use super::{asked_by, without_toolchain_by};
    use crate::error::BuildError;

    /// The variables of a process with one variable.
    fn only(name: &'static str, value: &'static str) -> impl Fn(&str) -> Option<String> {
        move |asked| (asked == name).then(|| value.to_owned())
    }

    #[test]
    fn kernels_are_left_out_on_request_and_by_docs_rs() {
        for (name, value) in [("RUMBA_KERNELS", "skip"), ("DOCS_RS", "1")] {
            assert!(asked_by(only(name, value)).is_ok_and(|reason| reason.is_some()), "{name}");
        }
        for (name, value) in
            [("RUMBA_KERNELS", "build"), ("RUMBA_KERNELS", ""), ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")]
        {
            assert!(asked_by(only(name, value)).is_ok_and(|reason| reason.is_none()), "{name}");
        }
        let Err(BuildError::Variable { value }) = asked_by(only("RUMBA_KERNELS", "no")) else {
            panic!("no such value");
        };
        assert_eq!(value, "no");
    }

    #[test]
    fn lints_and_editors_need_no_toolchain() {
        assert_eq!(
            without_toolchain_by(only("RUSTC_WORKSPACE_WRAPPER", "/toolchain/bin/clippy-driver")),
            Some("clippy")
        );
        assert_eq!(without_toolchain_by(only("RA_RUSTC_WRAPPER", "1")), Some("rust-analyzer"));
        for (name, value) in [("RUSTC_WORKSPACE_WRAPPER", "sccache"), ("RUSTC_WRAPPER", "clippy-driver")] {
            assert_eq!(without_toolchain_by(only(name, value)), None, "{name}");
        }
    }
}
