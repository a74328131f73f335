//! `cargo xtask nvcc`: makes the PTX of tests/nvcc anew from its CUDA C++. What the programs should compute is the
//! business of tests/nvcc.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// Make the PTX of tests/nvcc from its CUDA C++ (needs nvcc)
///
/// The first line of each source says with which options. nvcc is looked for on the search path; headers of cooperative
/// groups and halves need NVIDIA's CCCL, whose folders NVCC_APPEND_FLAGS can name (-I).
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask nvcc            all programs
  cargo xtask nvcc scan sort  these")]
pub(crate) struct Args {
    /// The programs [default: all]
    programs: Vec<String>,
}

/// How a source's first line begins.
const OPTIONS: &str = "// nvcc: ";

pub(crate) fn run(args: Args) -> Result<()> {
    let root = shell::workspace().join("tests/nvcc");
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(root.join("cuda"))? {
        let path = entry?.path();
        if let (Some("cu"), Some(name)) = (
            path.extension().and_then(|text| text.to_str()),
            path.file_stem().and_then(|text| text.to_str()),
        ) {
            names.push(name.to_owned());
        }
    }
    names.sort();
    if let Some(unknown) = args.programs.iter().find(|name| !names.contains(name)) {
        bail!(
            "there is no tests/nvcc/cuda/{unknown}.cu; there are: {}",
            names.join(", ")
        );
    }
    for name in names {
        if args.programs.is_empty() || args.programs.contains(&name) {
            compile(&root, &name)?;
            println!("tests/nvcc/ptx/{name}.ptx");
        }
    }
    Ok(())
}

/// Where sources are compiled: the path goes into debug information, so it is the same on every machine.
const NEUTRAL: &str = "/var/tmp/rumba-nvcc";

fn compile(root: &Path, name: &str) -> Result<()> {
    let source = std::fs::read_to_string(root.join(format!("cuda/{name}.cu")))?;
    let options = source
        .lines()
        .next()
        .and_then(|line| line.strip_prefix(OPTIONS))
        .with_context(|| format!("{name}.cu should begin with `{OPTIONS}` and its options"))?;
    std::fs::create_dir_all(NEUTRAL)?;
    let copy = Path::new(NEUTRAL).join(format!("{name}.cu"));
    std::fs::write(&copy, &source)?;
    let out = Path::new(NEUTRAL).join(format!("{name}.ptx"));
    let mut command = Command::new("nvcc");
    command
        .current_dir(NEUTRAL)
        .arg("-ptx")
        .args(options.split_whitespace());
    command.arg("-o").arg(&out).arg(&copy);
    shell::run(&mut command)?;
    let text = std::fs::read_to_string(&out)?.replace(&format!("{NEUTRAL}/"), "");
    let lines: String = text.lines().filter(|line| !line.is_empty()).map(portable).collect();
    std::fs::write(root.join(format!("ptx/{name}.ptx")), lines)?;
    Ok(())
}

/// The line without the folder that NVIDIA's headers were found in.
fn portable(line: &str) -> String {
    match (
        line.trim_start().starts_with(".file"),
        line.split_once('"'),
        line.rsplit_once("/include/"),
    ) {
        (true, Some((directive, _)), Some((_, header))) => format!("{directive}\"{header}\n"),
        _ => format!("{line}\n"),
    }
}
