//! `cargo rumba build-ptx`: kernels to PTX, from the command line.
//!
//! How PTX is made is `cuda_builder`'s business; this chooses the crate and the file and reports.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cuda_builder::inspect::{self, Resources};
use cuda_builder::{CudaBuilder, DebugInfo, NvvmArch, OptLevel, Ptx, set};

use crate::place;

/// Build a crate of kernels to PTX; print the file, its hash and the kernels in it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cargo rumba build-ptx                            the project's kernels, to target/ptx/CRATE.ptx
  cargo rumba build-ptx --arch sm_90               for compute capability 9.0 and later
  cargo rumba build-ptx --crate ../mine -o k.ptx   another crate, to another file
  cargo rumba build-ptx --stats                    registers, spills and shared memory of each kernel")]
pub struct Args {
    /// Virtual architecture of kernels that state none, such as sm_80 [default: what the crate states, or the oldest that the kernels allow]
    #[arg(long, value_name = "sm_NN")]
    arch: Option<NvvmArch>,

    /// Directory of the kernel crate [default: the project's]
    #[arg(long = "crate", value_name = "PATH")]
    path: Option<PathBuf>,

    /// File to write [default: target/ptx/CRATE.ptx]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Features of the kernel crate
    #[arg(long, value_name = "LIST")]
    features: Option<OsString>,

    /// Flush denormal f32 to zero
    #[arg(long)]
    ftz: bool,

    /// Fast mathematics, as nvcc's -use_fast_math: approximate f32 functions, subnormals flushed
    #[arg(long)]
    fast_math: bool,

    /// Round products and sums separately instead of fusing them
    #[arg(long)]
    no_fma: bool,

    /// Panic on integer overflow
    #[arg(long)]
    overflow_checks: bool,

    /// Use the crate libm even where libdevice is installed
    #[arg(long)]
    no_libdevice: bool,

    /// Leave out the lines that name the source
    #[arg(long)]
    no_lines: bool,

    /// How much LLVM optimises, 0 to 3
    #[arg(long, value_name = "LEVEL", default_value = "3", value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: u8,

    /// Also write the optimised LLVM assembly, beside the PTX
    #[arg(long)]
    emit_llvm_ir: bool,

    /// Show what each kernel costs on a device (needs ptxas)
    #[arg(long)]
    stats: bool,
}

/// Runs the command.
///
/// # Errors
/// If the kernels do not compile or a file cannot be written.
pub fn run(args: Args) -> Result<()> {
    let path = place::kernels(args.path.as_deref())?;
    let path = path.canonicalize().with_context(|| format!("there is no directory {}", path.display()))?;
    let output = args.output.clone().unwrap_or_else(|| default_output(&path));
    let mut builder = CudaBuilder::new(&path)
        .target_dir(place::output().join("cuda-builder"))
        .copy_to(output)
        .ftz(args.ftz)
        .fast_math(args.fast_math)
        .fma_contraction(!args.no_fma)
        .overflow_checks(args.overflow_checks)
        .libdevice(!args.no_libdevice)
        .emit_llvm_ir(args.emit_llvm_ir)
        .opt_level(match args.opt_level {
            0 => OptLevel::O0,
            1 => OptLevel::O1,
            2 => OptLevel::O2,
            _ => OptLevel::O3,
        });
    if let Some(arch) = args.arch {
        builder = builder.arch(arch);
    }
    if let Some(features) = &args.features {
        builder = builder.build_arg("--features").build_arg(features);
    }
    if args.no_lines {
        builder = builder.debug(DebugInfo::None);
    }
    let ptx = builder.build()?;
    report(&ptx, args.stats)
}

/// The file of a crate's PTX.
pub fn default_output(crate_dir: &Path) -> PathBuf {
    let name = crate_dir.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
    place::output().join("ptx").join(name).with_extension("ptx")
}

fn report(ptx: &Ptx, stats: bool) -> Result<()> {
    // Relative where possible: short, and the same in every report of a run.
    let current = std::env::current_dir().unwrap_or_default();
    let path = ptx.path.strip_prefix(&current).unwrap_or(&ptx.path);
    let maths = if ptx.libdevice.is_some() { "libdevice" } else { "libm" };
    println!("{}", path.display());
    let texts = ptx.texts();
    let several = texts.len() > 1;
    let made = match texts.as_slice() {
        [only] => format!("{}, PTX {}", only.target, only.version),
        texts => format!("{} texts", texts.len()),
    };
    println!("sha256:{}  {made}, maths from {maths}", &ptx.hash()[..16]);
    let width = ptx.kernels.iter().map(String::len).max().unwrap_or(0);
    for text in &texts {
        // Each of several texts has the kernels of older architectures, too.
        let all = set::kernels(text.text);
        let own = |kernel: &str| !several || set::floors(text.text, kernel).contains(&text.target);
        if several {
            let older = all.iter().filter(|kernel| !own(kernel)).count();
            let older = match older {
                0 => String::new(),
                1 => ", with 1 kernel for older devices".to_owned(),
                many => format!(", with {many} kernels for older devices"),
            };
            println!("{}, PTX {}{older}", text.target, text.version);
        }
        if !stats {
            for kernel in all.into_iter().filter(|kernel| own(kernel)) {
                println!("  {kernel}");
            }
            continue;
        }
        // ptxas knows no device older than 7.5 any more.
        let device = text.target.to_string().parse::<NvvmArch>()?.max(NvvmArch::Compute75);
        for Resources { kernel, registers, stack, spill_stores, spill_loads, shared, .. } in
            inspect::resources(text.text, device)?
        {
            if own(&kernel) {
                println!(
                    "  {kernel:width$}  {registers:3} registers, {shared:5} B shared, {stack:4} B stack, \
                     {spill_stores} B spilled, {spill_loads} B reloaded"
                );
            }
        }
    }
    Ok(())
}
