//! Errors of loading PTX and of finding kernels in it.

use crate::base::error::DriverError;
use std::path::PathBuf;
use std::sync::Arc;

/// Why PTX could not be loaded, or a kernel could not be taken from it.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// The file could not be read.
    #[error(
        "could not read the PTX file {}: {source}{}",
        path.display(),
        if source.kind() == std::io::ErrorKind::NotFound { "\nhelp: `cargo xtask build-ptx` builds the kernels and prints where their PTX is" } else { "" }
    )]
    File {
        /// The file's path.
        path: PathBuf,
        /// The system's error.
        source: Arc<std::io::Error>,
    },

    /// The text cannot be PTX at all.
    #[error("{module} is not PTX: {reason}")]
    NotPtx {
        /// Where the text came from.
        module: String,
        /// The reason for the conclusion.
        reason: String,
    },

    /// The text was not written by `cuda_builder`, or has changed since.
    #[error(
        "{module} {}\n\
         help: build it anew with `cuda_builder` or `cargo xtask build-ptx`; PTX from nvcc or written by hand is loaded by \
         `Device::load_unchecked` or `Linker::add_unchecked`, which are unsafe: nothing tells whether its kernels are those \
         of their launchers",
        if *changed { "has changed since `cuda_builder` wrote it" } else { "was not written by `cuda_builder`, or its end is missing" }
    )]
    ForeignPtx {
        /// Where the text came from.
        module: String,
        /// Whether it was once.
        changed: bool,
    },

    /// The driver could not compile or link the PTX.
    #[error("could not load {module}: {} ({})\n{}", error.text, error.name, log.trim_end())]
    Ptx {
        /// Where the text came from.
        module: String,
        /// The driver's error.
        error: Box<DriverError>,
        /// The compiler's messages, with line and column where it gives them.
        log: String,
    },

    /// The module has no kernel of that name.
    #[error("there is no kernel `{kernel}` in {module}: {}\nhelp: {}", has(.available, .near), absent(.defined_at))]
    MissingKernel {
        /// The kernel asked for.
        kernel: String,
        /// Where the module came from.
        module: String,
        /// The kernels that are in the module.
        available: Vec<String>,
        /// Kernels with similar names.
        near: Vec<String>,
        /// File and line of the kernel's source, where it is known.
        defined_at: Option<String>,
    },

    /// The kernel is compiled for other devices only.
    #[error(
        "the kernel `{kernel}` in {module} is compiled for {}, none of which runs on this device of compute capability {}.{}\n\
         help: {}add one that does, `#[kernel(arch = [{}])]`, and tell the variants apart with `cfg_arch!`; what kernels are \
         compiled for that state nothing, `CudaBuilder::arch` and their own instructions decide",
        architectures.join(" and "), compute_capability.0, compute_capability.1, specific(architectures),
        with_own(architectures, *compute_capability)
    )]
    NoImage {
        /// The kernel asked for.
        kernel: String,
        /// Where the module came from.
        module: String,
        /// The architectures that the kernel is compiled for.
        architectures: Vec<String>,
        /// The device's compute capability, major and minor.
        compute_capability: (u32, u32),
    },

    /// The kernel in the module is not its launcher's: a parameter differs, or what they state.
    #[error(
        "the kernel `{kernel}` in {module} {found}, but its launcher {expected}\n\
         help: build the PTX and the launcher, which is defined at {defined_at}, from the same source, and without conditions \
         (`cfg`, features, `debug_assertions`) on what kernels and hosts share: the two compilations may differ in them"
    )]
    StaleKernel {
        /// The kernel.
        kernel: String,
        /// Where the module came from.
        module: String,
        /// The launcher's parameter, if the difference concerns a parameter.
        parameter: Option<&'static str>,
        /// The behaviour of the kernel in the PTX: `takes ..`.
        found: String,
        /// The behaviour of the launcher: `passes ..`.
        expected: String,
        /// File and line of the kernel's source.
        defined_at: String,
    },

    /// The PTX does not say what the kernel takes, and so not whether it is the launcher's.
    #[error(
        "the kernel `{kernel}` in {module} was not written with `#[kernel]`, so it cannot be the launcher's from {defined_at}\n\
         help: build the PTX from the launcher's crate; a kernel of another origin is launched from PTX that \
         `Device::load_unchecked` loads"
    )]
    UndescribedKernel {
        /// The kernel.
        kernel: String,
        /// Where the module came from.
        module: String,
        /// File and line of the launcher's source.
        defined_at: String,
    },

    /// The module lacks the variable in constant memory, or the variable has another size.
    #[error(
        "there is no constant `{constant}` of {expected} bytes in {module}{}\n\
         help: constants that no kernel uses are not in the PTX; otherwise it is older or newer than the program: build both \
         from the same source",
        found.map_or(String::new(), |found| format!(", but one of {found} bytes"))
    )]
    MissingConstant {
        /// The variable.
        constant: &'static str,
        /// Where the module came from.
        module: String,
        /// Bytes of the type that the program uses.
        expected: usize,
        /// Bytes of the variable in the module, if the module has the variable.
        found: Option<usize>,
    },
}

fn has(available: &[String], near: &[String]) -> String {
    const SHOWN: usize = 12;
    let quote = |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if !near.is_empty() {
        return format!("did you mean {}?", quote(near));
    }
    match available {
        [] => "it has no kernels".to_owned(),
        names if names.len() <= SHOWN => format!("it has {}", quote(names)),
        names => format!("it has {} and {} more", quote(&names[..SHOWN]), names.len() - SHOWN),
    }
}

/// A note about architectures that later devices do not run.
fn specific(architectures: &[String]) -> String {
    let specific = architectures.iter().find(|name| name.ends_with(['a', 'f']));
    specific.map_or_else(String::new, |name| {
        let those = if name.ends_with('a') { "that generation" } else { "that family" };
        format!("`{name}` runs on {those} alone; ")
    })
}

/// The architectures with the device's own behind them, as they are written in an attribute.
fn with_own(architectures: &[String], (major, minor): (u32, u32)) -> String {
    let own = format!("sm_{major}{minor}");
    let all = architectures.iter().chain([&own]).map(|name| format!("{name:?}"));
    all.collect::<Vec<_>>().join(", ")
}

fn absent(defined_at: &Option<String>) -> String {
    match defined_at {
        Some(place) => {
            format!("the kernel is defined at {place}; its crate must be the one that the PTX was built from")
        }
        None => "names are case-sensitive; a kernel keeps its Rust function's name".to_owned(),
    }
}
