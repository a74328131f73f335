//! `cargo xtask fuzz programs`: `fuzz-engines` of the package `machine`, and which code of the machine's fast paths its
//! programs reach.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use serde::Deserialize;

use crate::shell;

/// Sources, below crates/rumba-vm/src, whose code distinguishes engines: scalar functions, the analyses of patterns, the interpreter's
/// fast paths, and native code.
const FAST_PATHS: [&str; 9] = [
    "arith/",
    "compile/",
    "exec/access.rs",
    "exec/body.rs",
    "exec/lane.rs",
    "exec/memory.rs",
    "exec/native.rs",
    "exec/shape.rs",
    "run/native.rs",
];

/// How programs are run.
pub(super) struct Run {
    pub(super) seconds: u32,
    pub(super) jobs: usize,
    pub(super) seed: u64,
    pub(super) coverage: bool,
    /// Programs that were kept, to run instead.
    pub(super) inputs: Vec<PathBuf>,
}

/// Builds the program, and runs it.
pub(super) fn run(run: &Run) -> Result<()> {
    let folder = shell::target().join("fuzz").join("programs");
    let program = build(run.coverage)?;
    for input in &run.inputs {
        shell::run(Command::new(&program).arg("--replay").arg(input))?;
    }
    if !run.inputs.is_empty() {
        return Ok(());
    }
    let profiles = folder.join("profiles");
    if run.coverage && profiles.exists() {
        std::fs::remove_dir_all(&profiles)?;
    }
    let mut fuzzer = Command::new(&program);
    fuzzer.args(["--seconds", &run.seconds.to_string(), "--jobs", &run.jobs.to_string()]);
    fuzzer.args(["--seed", &run.seed.to_string()]);
    fuzzer.arg("--out").arg(folder.join("findings"));
    let outcome = shell::run(fuzzer.env("LLVM_PROFILE_FILE", profiles.join("%p.profraw")));
    if run.coverage {
        report(&program, &profiles, &folder.join("never.txt"))?;
    }
    outcome
}

/// Builds `fuzz-engines`, with counters if the report of coverage is wanted; the path of the program.
fn build(coverage: bool) -> Result<PathBuf> {
    let mut build = shell::cargo();
    build.args(["build", "--package", "machine", "--features", "fuzz", "--bin", "fuzz-engines"]);
    // As fast as the machine is with debug assertions: for its unit tests it is not optimized.
    build.args(["--config", "profile.dev.package.rumba-vm.opt-level=2"]);
    let folder = if coverage {
        // Naming a target keeps build scripts and macros free of the counters.
        let (host, target) = (super::host()?, shell::target().join("coverage"));
        build.args(["--target", &host]).arg("--target-dir").arg(&target);
        build.env("CARGO_ENCODED_RUSTFLAGS", "-Cinstrument-coverage");
        target.join(host).join("debug")
    } else {
        // Failed debug assertions are findings, too.
        shell::target().join("debug")
    };
    shell::run(&mut build)?;
    Ok(folder.join("fuzz-engines"))
}

/// The parts of the output of `llvm-cov export` that the report needs.
#[derive(Deserialize)]
struct Export {
    data: Vec<Data>,
}

#[derive(Deserialize)]
struct Data {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    filename: String,
    /// Line, column, count, whether there is a count, whether a region begins here, whether it is a gap.
    segments: Vec<(u32, u32, u64, bool, bool, bool)>,
}

/// A tool of the compiler's LLVM.
fn tool(name: &str) -> Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let folder = shell::output(Command::new(rustc).args(["--print", "target-libdir"]))?;
    let path = Path::new(folder.trim()).with_file_name("bin").join(name);
    if !path.exists() {
        bail!("{} is missing: `rustup component add llvm-tools` installs it", path.display());
    }
    Ok(path)
}

/// Prints how much of each file was reached, and writes the places that never were.
fn report(program: &Path, profiles: &Path, never: &Path) -> Result<()> {
    let merged = profiles.join("all.profdata");
    let mut raw = Vec::new();
    for entry in std::fs::read_dir(profiles).with_context(|| profiles.display().to_string())? {
        raw.push(entry?.path());
    }
    raw.retain(|path| path.extension().is_some_and(|extension| extension == "profraw"));
    let mut merge = Command::new(tool("llvm-profdata")?);
    shell::run(merge.args(["merge", "--sparse", "--failure-mode=warn", "-o"]).arg(&merged).args(&raw))?;
    let sources = shell::workspace().join("crates/rumba-vm/src");
    let mut export = Command::new(tool("llvm-cov")?);
    export.arg("export").arg("--instr-profile").arg(&merged).arg(program);
    export.args(FAST_PATHS.map(|path| sources.join(path)));
    let export: Export = serde_json::from_str(&shell::output(&mut export)?).context("llvm-cov prints no JSON")?;

    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(["file", "regions", "never", "reached"]);
    let (mut words, mut all) = (String::new(), [0, 0]);
    let files = export.data.iter().flat_map(|data| &data.files);
    for file in files {
        let regions: Vec<_> =
            file.segments.iter().filter(|(.., counted, entry, gap)| *counted && *entry && !gap).collect();
        let lines: BTreeSet<u32> =
            regions.iter().filter(|(_, _, count, ..)| *count == 0).map(|(line, ..)| *line).collect();
        let missed = regions.iter().filter(|(_, _, count, ..)| *count == 0).count();
        let name = Path::new(&file.filename).strip_prefix(&sources).unwrap_or(Path::new(&file.filename));
        all = [all[0] + regions.len(), all[1] + missed];
        row(&mut table, &name.display().to_string(), regions.len(), missed);
        let text = std::fs::read_to_string(&file.filename).unwrap_or_default();
        let text: Vec<&str> = text.lines().collect();
        for line in lines {
            let source = text.get(line as usize - 1).map_or("", |line| line.trim());
            writeln!(words, "{}:{line}: {source}", name.display())?;
        }
    }
    row(&mut table, "all", all[0], all[1]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    std::fs::write(never, words).with_context(|| never.display().to_string())?;
    println!("what no program reaches is listed in {}", never.display());
    Ok(())
}

fn row(table: &mut Table, name: &str, regions: usize, missed: usize) {
    let percent = 100.0 * (regions - missed) as f64 / regions.max(1) as f64;
    table.add_row([name, &regions.to_string(), &missed.to_string(), &format!("{percent:.1} %")]);
}
