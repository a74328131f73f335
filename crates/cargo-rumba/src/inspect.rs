//! `cargo rumba inspect`: what a kernel became. PTX and LLVM's assembly need nothing; registers and machine code need NVIDIA's
//! assembler and disassembler, which `cargo rumba setup` fetches where it can.

use anyhow::{Context, Result, bail};
use comfy_table::{CellAlignment, Table, presets};
use cuda_builder::inspect::{self, Resources};
use cuda_builder::{CudaBuilder, NvvmArch, Target, set};
use std::path::PathBuf;

use crate::{place, setup};

/// Show what a kernel became: its PTX, its machine code, its registers and memory
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cargo rumba inspect                          registers, shared memory and spills of every kernel
  cargo rumba inspect saxpy                    of one, for several architectures
  cargo rumba inspect saxpy --ptx
  cargo rumba inspect saxpy --sass --arch sm_90
  cargo rumba inspect product --arch sm_80     the variant that such a device runs, of a kernel that has several
  cargo rumba inspect saxpy --llvm
  cargo rumba inspect --panics                 registers with messages of panics and without")]
pub struct Args {
    /// The kernel [default: a table of all]
    kernel: Option<String>,
    /// Print its PTX
    #[arg(long, group = "what")]
    ptx: bool,
    /// Print its machine code (SASS)
    #[arg(long, group = "what")]
    sass: bool,
    /// Print its assembly of LLVM, optimised, from which the PTX is made
    #[arg(long, group = "what")]
    llvm: bool,
    /// Print its registers, shared memory, stack and spills (the default)
    #[arg(long, group = "what")]
    stats: bool,
    /// Print the registers of every kernel with messages of panics and without
    #[arg(long, group = "what", conflicts_with = "kernel")]
    panics: bool,
    /// The device's architecture, such as sm_90 [default: sm_90; for one kernel's statistics several]
    #[arg(long)]
    arch: Option<NvvmArch>,
    /// Directory of the kernel crate [default: the project's]
    #[arg(long = "crate", value_name = "PATH")]
    path: Option<PathBuf>,
}

/// The architectures compared, those among them that the kernels run on: Turing, Ampere, Hopper, Blackwell for data
/// centres and for desks.
const ARCHITECTURES: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"];

/// Runs the command.
///
/// # Errors
/// If the kernels do not compile, there is no kernel of this name, or a tool of NVIDIA's is missing.
pub fn run(args: Args) -> Result<()> {
    setup::ensure()?;
    let path = place::kernels(args.path.as_deref())?;
    let hopper: NvvmArch = "sm_90".parse().expect("the name of an architecture");
    if args.panics {
        return panics(CudaBuilder::new(path), args.arch.unwrap_or(hopper));
    }
    if args.llvm {
        return llvm(CudaBuilder::new(path), args.kernel.as_deref(), args.arch);
    }
    let built = CudaBuilder::new(path).build()?;
    let ptx = built.text;
    let kernels = inspect::kernels(&ptx);
    let Some(name) = args.kernel else {
        if args.ptx {
            let text = match args.arch {
                Some(arch) => inspect::text_for(&ptx, arch)?,
                None => &ptx,
            };
            print!("{text}");
            return Ok(());
        }
        let arch = args.arch.unwrap_or(hopper);
        if args.sass {
            print!("{}", inspect::sass(&ptx, arch)?);
            return Ok(());
        }
        println!("{}", table(&ptx, inspect::resources(&ptx, arch)?.into_iter().map(|row| (arch, row))));
        return Ok(());
    };
    let floors = set::floors(&ptx, &name);
    if floors.is_empty() {
        bail!("there is no kernel `{name}`; there are: {}", kernels.join(", "));
    }
    let several = set::texts(&ptx).len() > 1;
    if several {
        // Not where the text goes that may be wanted alone.
        eprintln!("{name} is compiled for {}", names(&floors));
    }
    let shown = args.arch.unwrap_or(if several { newest(&floors)? } else { hopper });
    if args.ptx {
        let text = inspect::text_for(&ptx, shown)?;
        let text = inspect::kernel(text, &name)
            .with_context(|| format!("a device of {shown} does not run `{name}`, which is for {}", names(&floors)))?;
        println!("{text}");
    } else if args.sass {
        let sass = inspect::sass(&ptx, shown)?;
        println!(
            "{}",
            inspect::kernel_sass(&sass, &name)
                .with_context(|| format!("the machine code for {shown} has no section for `{name}`"))?
        );
    } else {
        let architectures: Vec<NvvmArch> = match args.arch {
            Some(arch) => vec![arch],
            None => ARCHITECTURES
                .iter()
                .map(|arch| arch.parse().expect("the name of an architecture"))
                .filter(|arch: &NvvmArch| floors.iter().any(|floor| floor.runs_on(capability(*arch))))
                .collect(),
        };
        let mut rows = Vec::new();
        for arch in architectures {
            let all = inspect::resources(&ptx, arch)?;
            rows.extend(all.into_iter().filter(|row| row.kernel == name).map(|row| (arch, row)));
        }
        if rows.is_empty() {
            bail!("a device of {shown} does not run `{name}`, which is for {}", names(&floors));
        }
        println!("{}", table(&ptx, rows));
    }
    Ok(())
}

/// The compute capability of an architecture, major and minor.
fn capability(arch: NvvmArch) -> (u32, u32) {
    (arch.capability() / 10, arch.capability() % 10)
}

fn names(floors: &[Target]) -> String {
    floors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

/// The newest of architectures, oldest first.
fn newest(floors: &[Target]) -> Result<NvvmArch> {
    let newest = floors.last().context("a kernel is compiled for something")?;
    Ok(newest.to_string().parse()?)
}

/// Prints LLVM's assembly, of one kernel or of all; of several architectures, of those that a device runs the newest.
fn llvm(builder: CudaBuilder, kernel: Option<&str>, arch: Option<NvvmArch>) -> Result<()> {
    let ptx = place::output().join("ptx/llvm.ptx");
    let built = builder.emit_llvm_ir(true).copy_to(ptx).build()?;
    let file = built.path.with_extension("ll");
    let text = std::fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
    match kernel {
        None => print!("{text}"),
        Some(name) => {
            let all = built.kernels.join(", ");
            let mut variants: Vec<(Option<Target>, &str)> = text
                .split("; for sm_")
                .filter_map(|part| {
                    let target = part.lines().next().and_then(|line| format!("sm_{line}").parse().ok());
                    Some((target, inspect::kernel_llvm(part, name)?))
                })
                .collect();
            if let Some(arch) = arch {
                variants.retain(|(target, _)| target.is_none_or(|target| target.runs_on(capability(arch))));
            }
            let text = variants.into_iter().max_by_key(|&(target, _)| target);
            let (_, text) = text.with_context(|| format!("there is no kernel `{name}`; there are: {all}"))?;
            println!("{text}");
        }
    }
    Ok(())
}

/// Compares registers with those of the same kernels, whose threads exit without a message where they would panic.
fn panics(builder: CudaBuilder, arch: NvvmArch) -> Result<()> {
    let resources = |builder: CudaBuilder| anyhow::Ok(inspect::resources(&builder.build()?.text, arch)?);
    let loud = resources(builder.clone())?;
    let silent_ptx = place::output().join("ptx/silent.ptx");
    let silent = resources(builder.panic_messages(false).copy_to(silent_ptx))?;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["kernel", "registers", "without messages", "more"]);
    let mut free = 0;
    for (loud, silent) in loud.iter().zip(&silent) {
        let more = i64::from(loud.registers) - i64::from(silent.registers);
        free += usize::from(more <= 0);
        table.add_row([
            loud.kernel.clone(),
            loud.registers.to_string(),
            silent.registers.to_string(),
            more.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    println!("messages of panics cost no registers in {free} of {} kernels, for {arch}", loud.len());
    Ok(())
}

/// The resources of kernels on devices; where there are several texts, with the architecture of the variant that runs there.
fn table(ptx: &str, rows: impl IntoIterator<Item = (NvvmArch, Resources)>) -> Table {
    let several = set::texts(ptx).len() > 1;
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    let mut header = vec!["kernel", "for", "registers", "shared", "stack", "spills", "barriers"];
    if several {
        header.insert(2, "variant");
    }
    table.set_header(header);
    for (arch, row) in rows {
        let floors = set::floors(ptx, &row.kernel).into_iter().rev();
        let variant = floors.into_iter().find(|floor| floor.runs_on(capability(arch)));
        let mut cells = vec![
            row.kernel,
            arch.to_string(),
            row.registers.to_string(),
            format!("{} B", row.shared),
            format!("{} B", row.stack),
            format!("{} B", row.spill_stores + row.spill_loads),
            row.barriers.to_string(),
        ];
        if several {
            cells.insert(2, variant.map(|floor| floor.to_string()).unwrap_or_default());
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(if several { 3 } else { 2 }) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
