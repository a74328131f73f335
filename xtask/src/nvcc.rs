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

fn compile(root: &Path, name: &str) -> Result<()> {
    let source = std::fs::read_to_string(root.join(format!("cuda/{name}.cu")))?;
    let options = source
        .lines()
        .next()
        .and_then(|line| line.strip_prefix(OPTIONS))
        .with_context(|| format!("{name}.cu should begin with `{OPTIONS}` and its options"))?;
    let folder = std::env::temp_dir().join("rumba-nvcc");
    std::fs::create_dir_all(&folder)?;
    let (from, to) = (format!("{name}.cu"), format!("{name}.ptx"));
    std::fs::write(folder.join(&from), &source)?;
    let mut command = Command::new("nvcc");
    command
        .current_dir(&folder)
        .arg("-ptx")
        .args(options.split_whitespace());
    shell::run(command.args(["-o", &to, &from]))?;
    let text = std::fs::read_to_string(folder.join(&to))?;
    let text = without_folder(&text, &folder.to_string_lossy());
    let lines: String = text.lines().filter(|line| !line.is_empty()).map(portable).collect();
    std::fs::write(root.join(format!("ptx/{to}")), lines)?;
    Ok(())
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
