//! `cargo xtask nvcc`: makes the PTX of tests/nvcc, tests/ui and tests/baseline anew from their CUDA C++. What the programs
//! should compute is the business of tests/nvcc, what is found in the kernels of tests/ui that of rumba-tests, and what the
//! baselines are measured against that of the gallery's cases.

use std::borrow::Cow;
use std::fmt::Write;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// Make the PTX of tests/nvcc, tests/ui and tests/baseline from their CUDA C++ (needs nvcc)
///
/// The first line of each source says with which options, and for which architectures. nvcc is looked for on the search path;
/// headers of libcu++, CUB, cooperative groups and halves need NVIDIA's CCCL, whose folders NVCC_APPEND_FLAGS can name (-I).
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask nvcc            all programs
  cargo xtask nvcc scan sort  these
  cargo xtask nvcc barriers   kernels of tests/ui, with their mutations
  cargo xtask nvcc gallery    what `cargo xtask bench --against nvcc` measures the gallery against")]
pub(crate) struct Args {
    /// The programs [default: all]
    programs: Vec<String>,
}

/// A folder of sources, and where what nvcc makes of one is kept.
struct SourceFolder {
    sources: &'static str,
    /// `NAME` and `ARCH` stand for themselves.
    ptx: &'static str,
    /// The only source, if the others are parts of it.
    only: Option<&'static str>,
}

const PLACES: [SourceFolder; 3] = [
    SourceFolder { sources: "tests/nvcc/cuda", ptx: "tests/nvcc/ptx/NAME.ptx", only: None },
    SourceFolder { sources: "tests/ui/cuda", ptx: "tests/ui/cuda/ARCH/NAME.ptx", only: None },
    SourceFolder { sources: "tests/baseline/cuda", ptx: "tests/baseline/NAME.ptx", only: Some("gallery") },
];

/// The version of PTX that all say they are of: the oldest that has what they use, since drivers older than the nvcc that
/// made them shall load them. A source that uses more says so in its second line.
const VERSION: &str = "8.0";
const OTHER_VERSION: &str = "// PTX version: ";

/// How a source's first line begins.
const OPTIONS: &str = "// nvcc: ";

pub(crate) fn run(args: Args) -> Result<()> {
    let mut all: Vec<(String, &SourceFolder)> = Vec::new();
    for place in &PLACES {
        for entry in std::fs::read_dir(shell::workspace().join(place.sources))? {
            let path = entry?.path();
            if let (Some("cu"), Some(name)) =
                (path.extension().and_then(|text| text.to_str()), path.file_stem().and_then(|text| text.to_str()))
                && place.only.is_none_or(|only| only == name)
            {
                all.push((name.to_owned(), place));
            }
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    let names: Vec<&str> = all.iter().map(|(name, _)| &**name).collect();
    if let Some(unknown) = args.programs.iter().find(|name| !names.contains(&&***name)) {
        bail!("there is no program `{unknown}`; there are: {}", names.join(", "));
    }
    for (name, place) in &all {
        if args.programs.is_empty() || args.programs.contains(name) {
            compile(name, place)?;
        }
    }
    Ok(())
}

/// Compiles a source for each of its architectures, and says which files came out.
fn compile(name: &str, place: &SourceFolder) -> Result<()> {
    let sources = shell::workspace().join(place.sources);
    let source = std::fs::read_to_string(sources.join(format!("{name}.cu")))?;
    let options = source.lines().next().and_then(|line| line.strip_prefix(OPTIONS));
    let version = source.lines().nth(1).and_then(|line| line.strip_prefix(OTHER_VERSION));
    let version = version.unwrap_or(VERSION);
    let options = options.with_context(|| format!("{name}.cu should begin with `{OPTIONS}` and its options"))?;
    let options = || options.split_whitespace();
    let architectures = options().filter_map(|option| option.strip_prefix("-arch="));
    let options = options().filter(|option| !option.starts_with("-arch="));
    let folder = tempfile::Builder::new().prefix("rumba-").rand_bytes(4).tempdir()?;
    let folder = folder.path();
    std::fs::create_dir(folder.join("cuda"))?;
    let from = format!("cuda/{name}.cu");
    std::fs::write(folder.join(&from), with_mutations(&source, &from))?;
    for architecture in architectures.flat_map(|names| names.split(',')) {
        let to = format!("{name}.ptx");
        let mut command = Command::new("nvcc");
        command.current_dir(folder).arg("-ptx").args(options.clone());
        command.arg(format!("-arch={architecture}")).arg("-I").arg(&sources);
        shell::run(command.args(["-o", &to, &from]))?;
        let text = std::fs::read_to_string(folder.join(&to))?;
        let text = without_folder(&text, &folder.to_string_lossy());
        let lines: String = without_names(&text)
            .filter(|line| !line.is_empty() && !line.trim_start().starts_with("//"))
            .map(|line| match line.starts_with(".version") {
                true => format!(".version {version}\n"),
                false => portable(&line),
            })
            .collect();
        let file = place.ptx.replace("NAME", name).replace("ARCH", architecture);
        let path = shell::workspace().join(&file);
        std::fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
        std::fs::write(path, lines)?;
        println!("{file}");
    }
    Ok(())
}

/// The source, and behind it each kernel once more for every line `//@ wrong, NAME: CODE` within it: with that name, and that
/// code instead of the line above. The copies' lines are numbered as the original's.
fn with_mutations(source: &str, file: &str) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let mut out = source.to_owned();
    for (index, line) in lines.iter().enumerate() {
        let Some((words, code)) = line.trim().strip_prefix("//@ wrong,").and_then(|mutation| mutation.split_once(':'))
        else {
            continue;
        };
        let Some(begin) = lines[..index].iter().rposition(|line| line.contains(ENTRY)) else {
            continue;
        };
        let Some(rest) = lines[index..].iter().position(|line| *line == "}") else {
            continue;
        };
        let name = words.rsplit(',').next().unwrap_or_default().trim();
        // Lines with further mutations of the same line stand in between.
        let replaced = lines[..index].iter().rposition(|line| !line.trim().starts_with("//@"));
        let _ = writeln!(out, "#line {} \"{file}\"", begin + 1);
        for (at, line) in lines.iter().enumerate().take(index + rest + 1).skip(begin) {
            let _ = match line.split_once(ENTRY) {
                Some((before, after)) => {
                    let parameters = after.find('(').unwrap_or_default();
                    writeln!(out, "{before}{ENTRY}{name}{}", &after[parameters..])
                }
                None if Some(at) == replaced => writeln!(out, "{code}"),
                None => writeln!(out, "{line}"),
            };
        }
    }
    out
}

/// The text before a kernel's name.
const ENTRY: &str = "__global__ void ";

/// The text without the folder that it was made in. Debug information has that as bytes, and counts them: a path of the same
/// length takes their place.
fn without_folder(text: &str, folder: &str) -> String {
    let bytes = |path: &str| path.bytes().map(|byte| byte.to_string()).collect::<Vec<_>>().join(",");
    let nowhere: String = "./".chars().cycle().take(folder.len()).collect();
    text.replace(&format!("{folder}/"), "")
        .replace(&format!(".b8 {}\n", bytes(folder)), &format!(".b8 {}\n", bytes(&nowhere)))
}

/// The lines without the names of inlined functions: names of templates, byte for byte in decimal, are longer than the
/// code. Line information needs a label for each name: all use the first label, for a function `f`. PTX for debuggers
/// keeps its names.
fn without_names(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let (mut in_name, is_for_debuggers) = (false, text.contains(".debug_info"));
    text.lines().filter_map(move |line| {
        if is_for_debuggers {
            return Some(line.into());
        }
        let is_label = line.starts_with("$L__info_string");
        in_name = is_label || (in_name && line.starts_with(".b8 "));
        if in_name {
            return match line == format!("{NAME}:") {
                true => Some(format!("{NAME}:\n.b8 102,0").into()),
                false => None,
            };
        }
        let inlined =
            line.split_once("function_name ").and_then(|(before, name)| Some((before, name.split_once(',')?.1)));
        Some(match inlined {
            Some((before, behind)) => format!("{before}function_name {NAME},{behind}").into(),
            None => line.into(),
        })
    })
}

/// The label of the first name.
const NAME: &str = "$L__info_string0";

/// The line without the folder that NVIDIA's headers were found in.
fn portable(line: &str) -> String {
    match (line.trim_start().starts_with(".file"), line.split_once('"'), line.rsplit_once("/include/")) {
        (true, Some((directive, _)), Some((_, header))) => format!("{directive}\"{header}\n"),
        _ => format!("{line}\n"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_mutation_is_its_kernel_with_another_line() {
        let source = "int x;\n//@ right\n__global__ void k(int *y) {\n    a();\n    //@ wrong, m: b();\n    //@ wrong, sometimes, n:\n}\n";
        let expected = "#line 3 \"k.cu\"\n__global__ void m(int *y) {\n b();\n    //@ wrong, m: b();\n    //@ wrong, sometimes, n:\n}\n\
                        #line 3 \"k.cu\"\n__global__ void n(int *y) {\n\n    //@ wrong, m: b();\n    //@ wrong, sometimes, n:\n}\n";
        assert_eq!(super::with_mutations(source, "k.cu"), format!("{source}{expected}"));
    }

    #[test]
    fn names_are_left_out() {
        let text = ".loc 1 2 3, function_name $L__info_string1, inlined_at 1 5 6\n.b8 1\n{\n$L__info_string0:\n.b8 95,90\n.b8 7,0\n\
                    $L__info_string1:\n.b8 9,0\n}\n.b8 2";
        let expected = [
            ".loc 1 2 3, function_name $L__info_string0, inlined_at 1 5 6",
            ".b8 1",
            "{",
            "$L__info_string0:\n.b8 102,0",
            "}",
            ".b8 2",
        ];
        assert_eq!(super::without_names(text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn no_folder_stays() {
        let text = ".file 1 \"/x/y/a.cu\"\n.b8 47,120,47,121\n.b8 47,120,47,121,47\n";
        let expected = ".file 1 \"a.cu\"\n.b8 46,47,46,47\n.b8 47,120,47,121,47\n";
        assert_eq!(super::without_folder(text, "/x/y"), expected);
    }
}
