//! NVIDIA's optional tools: libdevice (device maths), ptxas (assembler), nvdisasm (disassembler).
//!
//! Kernels build without any of them. They come with a CUDA toolkit, or as Python wheels that
//! `cargo xtask setup` unpacks into a folder of Rumba's own; nothing here downloads anything.

use std::env;
use std::path::{Path, PathBuf};

/// The variable that names the folder of the unpacked wheels.
pub const FOLDER: &str = "RUMBA_TOOLS";

/// The wheels that `cargo xtask setup` installs: libdevice, ptxas, nvdisasm.
pub const WHEELS: [&str; 3] = ["nvidia-nvvm", "nvidia-cuda-nvcc", "nvidia-cuda-nvdisasm"];

/// NVIDIA's tools, each where it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wheels {
    /// `libdevice.10.bc`: the mathematical functions of CUDA as bitcode.
    pub libdevice: Option<PathBuf>,
    /// The assembler: checks PTX and reports registers and spills.
    pub ptxas: Option<PathBuf>,
    /// The disassembler: shows the machine code that ptxas made.
    pub nvdisasm: Option<PathBuf>,
    /// The older disassembler, which reads whole object files.
    pub cuobjdump: Option<PathBuf>,
}

/// The folder that the wheels are unpacked into: [`FOLDER`], else one in the user's data directory.
pub fn folder() -> Option<PathBuf> {
    if let Some(folder) = env::var_os(FOLDER).filter(|value| !value.is_empty()) {
        return Some(folder.into());
    }
    env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(env::home_dir()?.join(".local/share")))
        .map(|data| data.join("rumba/tools"))
}

/// Looks in the folder of the wheels, then in the CUDA toolkit, then on the search path.
pub fn find() -> Wheels {
    let mut roots = Vec::new();
    if let Some(folder) = folder() {
        // NVIDIA's wheels unpack into a folder per major version of CUDA; the newest first.
        let mut versions: Vec<PathBuf> = std::fs::read_dir(folder.join("nvidia"))
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        versions.sort();
        versions.reverse();
        roots.extend(versions);
    }
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        roots.extend(env::var_os(variable).map(PathBuf::from));
    }
    roots.push("/usr/local/cuda".into());
    let within = |file: &str| roots.iter().map(|root| root.join(file)).find(|path| path.is_file());
    let program = |name: &str| within(&format!("bin/{name}")).or_else(|| on_path(name));
    Wheels {
        libdevice: within("nvvm/libdevice/libdevice.10.bc")
            .or_else(|| existing("/usr/lib/nvidia-cuda-toolkit/libdevice/libdevice.10.bc")),
        ptxas: program("ptxas"),
        nvdisasm: program("nvdisasm"),
        cuobjdump: program("cuobjdump"),
    }
}

fn existing(path: &str) -> Option<PathBuf> {
    Some(PathBuf::from(path)).filter(|path| path.is_file())
}

fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| Path::is_file(path))
}
