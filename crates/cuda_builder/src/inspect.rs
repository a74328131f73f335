//! Inspects finished PTX: lists its kernels and, with NVIDIA's tools, shows their machine code for a device. Of texts
//! for several architectures ([`rumba_ptx::set`]), inspects the text that the device runs.
//!
//! Works on text alone; no device is needed, and nothing here understands instructions.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rumba_ptx::{Target, set};

use crate::arch::NvvmArch;
use crate::wheels;

/// Why a look at PTX failed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The tool is not installed.
    #[error(
        "{tool} is not installed: `cargo rumba setup` or, in a clone of Rumba, `cargo xtask setup` gets it; so does the CUDA toolkit"
    )]
    Missing {
        /// Its name.
        tool: &'static str,
    },

    /// The tool could not be run, or its files not be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The program or file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },

    /// There is no text for the device.
    #[error(
        "no text of this PTX runs on a device of {arch}: there are texts for {}",
        texts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    NoText {
        /// The device's architecture.
        arch: NvvmArch,
        /// The architectures of the texts.
        texts: Vec<Target>,
    },

    /// The tool refused its input.
    #[error("{tool} refused the PTX: {message}")]
    Refused {
        /// Its name.
        tool: &'static str,
        /// The output of the tool.
        message: String,
    },
}

/// The names of the kernels, in the order of the texts; each once.
pub fn kernels(ptx: &str) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for text in set::texts(ptx) {
        let new: Vec<&str> = set::kernels(text).into_iter().filter(|name| !all.contains(name)).collect();
        all.extend(new);
    }
    all
}

/// The text for devices of an architecture, if the builder has made several texts. A single text is returned for every
/// architecture: NVIDIA's tools report whether a device accepts the text.
///
/// # Errors
/// If there are several texts, and a device of the architecture runs none of them.
pub fn text_for(ptx: &str, arch: NvvmArch) -> Result<&str, InspectError> {
    let texts = set::texts(ptx);
    if texts.len() == 1 || set::check(ptx).is_err() {
        return Ok(ptx);
    }
    let capability = (arch.capability() / 10, arch.capability() % 10);
    set::choose(ptx, capability)
        .ok_or_else(|| InspectError::NoText { arch, texts: texts.iter().filter_map(|text| Target::of(text)).collect() })
}

/// The part of a PTX text that defines one kernel, from its `.entry` to its closing brace; of several texts, the first that
/// has it.
pub fn kernel<'a>(ptx: &'a str, name: &str) -> Option<&'a str> {
    let start = ptx.match_indices(".entry").find_map(|(at, entry)| {
        let rest = ptx.get(at + entry.len()..)?.trim_start();
        let found = rest.split(['(', ' ', '\t', '\n']).next()?;
        (found == name).then_some(at)
    })?;
    let line = ptx.get(..start)?.rfind('\n').map_or(0, |newline| newline + 1);
    let text = ptx.get(line..)?;
    let mut depth = 0_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return text.get(..=at),
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The resources of a kernel on a device, as counted by ptxas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resources {
    /// The kernel.
    pub kernel: String,
    /// Registers of one thread.
    pub registers: u32,
    /// Bytes of local memory in a thread's frame.
    pub stack: u32,
    /// Bytes stored because registers ran out.
    pub spill_stores: u32,
    /// Bytes loaded again for the same reason.
    pub spill_loads: u32,
    /// Bytes of statically sized shared memory of a block.
    pub shared: u32,
    /// Barriers that the kernel uses.
    pub barriers: u32,
}

/// Assembles the PTX for a device and reports what each kernel costs.
///
/// # Errors
/// ptxas is not there, or refuses the text.
pub fn resources(ptx: &str, arch: NvvmArch) -> Result<Vec<Resources>, InspectError> {
    let (_, report) = assemble(ptx, arch)?;
    Ok(parse_report(&report))
}

/// The machine code (SASS) that ptxas makes of the PTX for a device, as nvdisasm prints it.
///
/// # Errors
/// One of the two tools is not there, or refuses its input.
pub fn sass(ptx: &str, arch: NvvmArch) -> Result<String, InspectError> {
    let nvdisasm = wheels::find().nvdisasm.ok_or(InspectError::Missing { tool: "nvdisasm" })?;
    let (binary, _) = assemble(ptx, arch)?;
    let folder = Scratch::new()?;
    let file = folder.write("kernels.cubin", &binary)?;
    let output = run(Command::new(&nvdisasm).arg("-c").arg(&file), &nvdisasm)?;
    if !output.status.success() {
        return Err(refused("nvdisasm", &output));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The part of nvdisasm's output that is one kernel's code: up to the next section.
pub fn kernel_sass<'a>(sass: &'a str, kernel: &str) -> Option<&'a str> {
    let start = sass.find(&format!("\t.section\t.text.{kernel},"))?;
    let rest = &sass[start..];
    let end = rest[1..].find("\t.section\t").map_or(rest.len(), |end| end + 1);
    Some(rest[..end].trim_end())
}

/// The part of LLVM's assembly ([`crate::CudaBuilder::emit_llvm_ir`]) that defines one kernel.
pub fn kernel_llvm<'a>(text: &'a str, kernel: &str) -> Option<&'a str> {
    let plain = format!(" @{kernel}(");
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with("define ") && line.contains(&plain) {
            let end = text[at..].find("\n}")?;
            return text.get(at..at + end + 2);
        }
        at += line.len();
    }
    None
}

/// Runs ptxas: the machine code, and its report.
fn assemble(ptx: &str, arch: NvvmArch) -> Result<(Vec<u8>, String), InspectError> {
    let ptxas = wheels::find().ptxas.ok_or(InspectError::Missing { tool: "ptxas" })?;
    let ptx = text_for(ptx, arch)?;
    // The assembler takes a text of one generation by that name only.
    let specific = Target::of(ptx).filter(|target| target.is_specific() && target.number() == arch.capability());
    let arch = specific.unwrap_or(arch.target());
    let folder = Scratch::new()?;
    let source = folder.write("kernels.ptx", ptx.as_bytes())?;
    let binary = folder.0.join("kernels.cubin");
    let output =
        run(Command::new(&ptxas).arg("-v").arg(format!("-arch={arch}")).arg("-o").arg(&binary).arg(&source), &ptxas)?;
    if !output.status.success() {
        return Err(refused("ptxas", &output));
    }
    let bytes = std::fs::read(&binary).map_err(|source| InspectError::Io { path: binary, source })?;
    let mut report = String::from_utf8_lossy(&output.stderr).into_owned();
    report.push_str(&String::from_utf8_lossy(&output.stdout));
    Ok((bytes, report))
}

fn run(command: &mut Command, program: &Path) -> Result<Output, InspectError> {
    command.output().map_err(|source| InspectError::Io { path: program.to_owned(), source })
}

fn refused(tool: &'static str, output: &Output) -> InspectError {
    let mut message = String::from_utf8_lossy(&output.stderr).into_owned();
    message.push_str(&String::from_utf8_lossy(&output.stdout));
    InspectError::Refused { tool, message: message.trim().to_owned() }
}

/// Reads what `ptxas -v` prints: two or three lines for each kernel and device function.
fn parse_report(report: &str) -> Vec<Resources> {
    let mut all = Vec::new();
    let mut frame = Resources::default();
    // Device functions that a kernel calls are listed between its name and its registers.
    let mut own = false;
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let kernel = rest.split('\'').next().unwrap_or_default().to_owned();
            frame = Resources { kernel, ..Resources::default() };
        } else if let Some((_, function)) = line.split_once("Function properties for ") {
            own = function == frame.kernel;
        } else if own && line.contains("bytes stack frame") {
            frame.stack = number_before(line, " bytes stack frame");
            frame.spill_stores = number_before(line, " bytes spill stores");
            frame.spill_loads = number_before(line, " bytes spill loads");
        } else if line.contains(" registers") && !frame.kernel.is_empty() {
            frame.registers = number_before(line, " registers");
            frame.barriers = number_before(line, " barriers");
            frame.shared = number_before(line, " bytes smem");
            all.push(std::mem::take(&mut frame));
        }
    }
    all.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    all
}

/// The number that ends where `unit` begins.
fn number_before(line: &str, unit: &str) -> u32 {
    line.split_once(unit)
        .and_then(|(before, _)| before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok())
        .unwrap_or(0)
}

/// A temporary folder, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, InspectError> {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rumba-inspect-{}-{number}", std::process::id()));
        match std::fs::create_dir(&path) {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err(InspectError::Io { path, source }),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, InspectError> {
        let path = self.0.join(name);
        match std::fs::write(&path, bytes) {
            Ok(()) => Ok(path),
            Err(source) => Err(InspectError::Io { path, source }),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{Resources, kernel, kernel_llvm, kernel_sass, kernels, parse_report};

    const PTX: &str = "// .entry none\n.visible .entry first(\n)\n{\n{ exit; }\n}\n.weak .entry second()\n{\nret;\n}\n";

    #[test]
    fn kernels_are_listed_and_cut_out() {
        assert_eq!(kernels(PTX), ["first", "second"]);
        assert_eq!(kernel(PTX, "second"), Some(".weak .entry second()\n{\nret;\n}"));
        assert_eq!(kernel(PTX, "first"), Some(".visible .entry first(\n)\n{\n{ exit; }\n}"));
        assert_eq!(kernel(PTX, "third"), None);
    }

    #[test]
    fn one_kernel_s_machine_code_is_cut_out() {
        let sass = "\t.section\t.text.a,\"ax\"\n A\n\t.section\t.text.ab,\"ax\"\n B\n";
        assert_eq!(kernel_sass(sass, "a"), Some("\t.section\t.text.a,\"ax\"\n A"));
        assert_eq!(kernel_sass(sass, "ab"), Some("\t.section\t.text.ab,\"ax\"\n B"));
        assert_eq!(kernel_sass(sass, "b"), None);
    }

    #[test]
    fn one_kernel_s_llvm_assembly_is_cut_out() {
        let text = "declare void @a()\ndefine ptx_kernel void @ab(i32 %0) {\n  ret void\n}\ndefine void @a() #1 {\n  b:\n  ret void\n}\n";
        assert_eq!(kernel_llvm(text, "a"), Some("define void @a() #1 {\n  b:\n  ret void\n}"));
        assert_eq!(kernel_llvm(text, "ab"), Some("define ptx_kernel void @ab(i32 %0) {\n  ret void\n}"));
        assert_eq!(kernel_llvm(text, "b"), None);
    }

    #[test]
    fn the_report_of_ptxas_is_read() {
        let report = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'tile' for 'sm_90'
ptxas info    : Function properties for tile
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Function properties for helper
    32 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 1 barriers, 1024 bytes smem
ptxas info    : Compile time = 1.0 ms
";
        let expected = Resources {
            kernel: "tile".to_owned(),
            registers: 14,
            stack: 16,
            spill_stores: 4,
            spill_loads: 8,
            shared: 1024,
            barriers: 1,
        };
        assert_eq!(parse_report(report), [expected]);
    }
}
