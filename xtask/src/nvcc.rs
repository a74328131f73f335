//! `cargo xtask nvcc`: makes the PTX of tests/nvcc and of tests/baseline anew from their CUDA C++. What the programs should
//! compute is the business of tests/nvcc, and what the baselines are measured against that of the gallery's cases.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// Make the PTX of tests/nvcc and tests/baseline from their CUDA C++ (needs nvcc)
///
/// The first line of each source says with which options. nvcc is looked for on the search path; headers of cooperative
/// groups and halves need NVIDIA's CCCL, whose folders NVCC_APPEND_FLAGS can name (-I).
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask nvcc            all programs
  cargo xtask nvcc scan sort  these
  cargo xtask nvcc gallery    what `cargo xtask bench --against nvcc` measures the gallery against")]
pub(crate) struct Args {
    /// The programs [default: all]
    programs: Vec<String>,
}

/// Where the programs are, and the baselines.
const PROGRAMS: &str = "tests/nvcc";
const BASELINES: &str = "tests/baseline";
/// The baselines' one module.
const BASELINE: &str = "gallery";
/// The version of PTX that all say they are of. They use nothing newer, and drivers older than the nvcc that made them
/// shall load them.
const VERSION: &str = ".version 8.0\n";

/// How a source's first line begins.
const OPTIONS: &str = "// nvcc: ";

pub(crate) fn run(args: Args) -> Result<()> {
    let root = shell::workspace().join(PROGRAMS);
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
    names.push(BASELINE.to_owned());
    if let Some(unknown) = args.programs.iter().find(|name| !names.contains(name)) {
        bail!(
            "there is no tests/nvcc/cuda/{unknown}.cu; there are: {}",
            names.join(", ")
        );
    }
    for name in names {
        if args.programs.is_empty() || args.programs.contains(&name) {
            println!("{}", compile(&name)?);
        }
    }
    Ok(())
}

/// Compiles a program, or the baselines, and returns the file.
fn compile(name: &str) -> Result<String> {
    let (place, file) = match name == BASELINE {
        true => (BASELINES, format!("{BASELINES}/{name}.ptx")),
        false => (PROGRAMS, format!("{PROGRAMS}/ptx/{name}.ptx")),
    };
    let sources = shell::workspace().join(place).join("cuda");
    let source = std::fs::read_to_string(sources.join(format!("{name}.cu")))?;
    let options = source
        .lines()
        .next()
        .and_then(|line| line.strip_prefix(OPTIONS))
        .with_context(|| format!("{name}.cu should begin with `{OPTIONS}` and its options"))?;
    let folder = tempfile::Builder::new().prefix("rumba-").rand_bytes(4).tempdir()?;
    let folder = folder.path();
    let (from, to) = (format!("{name}.cu"), format!("{name}.ptx"));
    std::fs::write(folder.join(&from), &source)?;
    let mut command = Command::new("nvcc");
    command.current_dir(folder).arg("-ptx").args(options.split_whitespace());
    command.arg("-I").arg(&sources);
    shell::run(command.args(["-o", &to, &from]))?;
    let text = std::fs::read_to_string(folder.join(&to))?;
    let text = without_folder(&text, &folder.to_string_lossy());
    let lines: String = text
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| match line.starts_with(".version") {
            true => VERSION.to_owned(),
            false => portable(line),
        })
        .collect();
    std::fs::write(shell::workspace().join(&file), lines)?;
    Ok(file)
}

/// The text without the folder that it was made in. Debug information has that as bytes, and counts them: a path of the same
/// length takes their place.
fn without_folder(text: &str, folder: &str) -> String {
    let bytes = |path: &str| path.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(",");
    let nowhere: String = "./".chars().cycle().take(folder.len()).collect();
    text.replace(&format!("{folder}/"), "").replace(
        &format!(".b8 {}\n", bytes(folder)),
        &format!(".b8 {}\n", bytes(&nowhere)),
    )
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

#[cfg(test)]
mod tests {
    #[test]
    fn no_folder_stays() {
        let text = ".file 1 \"/x/y/a.cu\"\n.b8 47,120,47,121\n.b8 47,120,47,121,47\n";
        let expected = ".file 1 \"a.cu\"\n.b8 46,47,46,47\n.b8 47,120,47,121,47\n";
        assert_eq!(super::without_folder(text, "/x/y"), expected);
    }
}
