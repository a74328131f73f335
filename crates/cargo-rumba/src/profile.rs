//! `cargo rumba profile`: where a program's time goes, and what each source line of its kernels asks of memory.
//!
//! The program runs twice, unchanged. On the software device each instruction is counted; `lines` makes the tables and the page
//! of source lines from the counts. Then the program runs on the chosen device, and the runtime in it takes the times, because
//! `RUMBA_PROFILE` asks for a profile: what its page, its trace and its roofline look like is `rumba::Profile`'s business.

mod lines;
mod page;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::device::Device;
use crate::{place, program, project, setup, shell, soft};
use lines::Kernels;

/// Time kernels and copies, and count memory traffic, bank conflicts and divergence by source line
///
/// The program runs twice, unchanged: on the software device, which counts, and on the chosen device for the times. Without a
/// program, the project's is built in release, or with the profile that `--profile` names, and run.
#[derive(Debug, clap::Args)]
#[command(after_help = help("Examples:
  cargo rumba profile                           the project's program
  cargo rumba profile --device gpu              with the times of the GPU
  cargo rumba profile --kernel saxpy            with the counts of one kernel
  cargo rumba profile -- --bin heat -- -n 100   with options of `cargo run`, and arguments of the program
  cargo rumba profile -- python3 script.py      a script with Numba: the counts alone"))]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// The cargo profile that the project's program is built with
    #[arg(long, value_name = "NAME", default_value = "release")]
    profile: String,
    /// A program and its arguments, or options of `cargo run`
    #[arg(last = true, value_name = "PROGRAM")]
    words: Vec<String>,
}

/// The kernels, the device and the files.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Count one kernel [default: all that the program launches]
    #[arg(long)]
    kernel: Option<String>,
    /// The device for the times; the software device counts in any case
    #[arg(long, value_enum, default_value = "auto")]
    pub device: Device,
    /// The folder of the files [default: target/rumba/profile]
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// The examples of a command, and the explanations that all have.
pub fn help(examples: &str) -> String {
    format!(
        "{examples}

The tables have a row for each source line:
  lanes       the mean number of the warp's 32 lanes that took part
  sectors     32-byte pieces of global memory for each request of a warp, and at best
  wavefronts  steps in which shared memory serves a request, and without bank conflicts
  parted      branches where some lanes went one way and some the other

The counts are those of NVIDIA's profiler; caches are not modelled. The command prints the paths of its files: pages with the source \
lines, the timeline and the roofline, a trace for a browser's viewer, pictures. Times are those of programs on the crate rumba."
    )
}

/// A program to profile.
pub struct Program<'a> {
    /// The name for messages.
    pub name: &'a str,
    /// The files' folder in `target/rumba/profile`; empty for this folder itself.
    pub folder: &'a str,
    /// Returns a run of the program.
    pub command: &'a dyn Fn(Run) -> Command,
}

/// The purpose of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// On the software device, which counts instructions.
    Counts,
    /// On the device whose times are of interest.
    Times,
}

/// Runs `cargo rumba profile`.
///
/// # Errors
/// If the program fails or launches no kernel, or if a file cannot be written.
pub fn run(args: Args) -> Result<()> {
    args.options.device.ensure()?;
    setup::ensure()?;
    let Args { options, profile, words } = args;
    match words.split_first() {
        Some((name, rest)) if !name.starts_with('-') => {
            let driver = program::Driver::new()?;
            let command = |run| match run {
                Run::Counts => driver.command(name, rest),
                Run::Times => {
                    let mut command = Command::new(name);
                    command.args(rest);
                    command
                }
            };
            profiled(&options, &Program { name: &words.join(" "), folder: "", command: &command })
        }
        _ => {
            soft::ensure()?;
            let metadata = project::metadata(Path::new("."))
                .context("there is no project here; `cargo rumba profile -- PROGRAM` profiles any program")?;
            let features: Vec<String> =
                metadata.report()?.into_iter().flat_map(|feature| ["--features".to_owned(), feature]).collect();
            let command = |run| {
                let mut cargo = shell::cargo();
                cargo.args(of_project(&profile, &features, &words));
                if run == Run::Counts {
                    // Its times would be those of a device that counts.
                    cargo.stdout(std::process::Stdio::null());
                }
                cargo
            };
            let name = match (metadata.current()?, words.as_slice()) {
                (Some(package), []) => package.name.clone(),
                _ => ["cargo run"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" "),
            };
            profiled(&options, &Program { name: &name, folder: "", command: &command })
        }
    }
}

/// The words of the command with which cargo builds and runs the project's program.
fn of_project<'a>(profile: &'a str, features: &'a [String], words: &'a [String]) -> impl Iterator<Item = &'a str> {
    ["run", "--profile", profile].into_iter().chain(features.iter().chain(words).map(String::as_str))
}

/// Profiles a program.
///
/// # Errors
/// As [`run`].
pub fn profiled(options: &Options, program: &Program<'_>) -> Result<()> {
    let name = program.name;
    let folder = match &options.folder {
        Some(folder) => folder.clone(),
        None => place::output().join("rumba/profile").join(program.folder).components().collect(),
    };
    let folder = std::path::absolute(&folder).with_context(|| format!("could not find {}", folder.display()))?;
    let files = Files { folder };
    files.clear()?;
    let counts = files.path(COUNTS);
    std::fs::write(&counts, "").with_context(|| format!("could not write {}", counts.display()))?;
    eprintln!("counting: {name} on the software device");
    let mut command = (program.command)(Run::Counts);
    command.env("RUMBA_DEVICE", "soft").env("RUMBA_PROFILE_JSON", &counts).env("RUMBA_PROFILE", files.processes());
    shell::run(&mut command)
        .context("the program failed on the software device, which counts; its output stands above")?;
    let mut kernels = Kernels::read(&counts)?;
    if kernels.is_empty() {
        bail!(
            "{name} launched no kernel on the software device, so nothing was counted. A package gets kernels by `cargo rumba init`; a \
             program without the crate rumba must load `libcuda.so.1` by LD_LIBRARY_PATH"
        );
    }
    if let Some(wanted) = &options.kernel {
        kernels.keep(name, wanted)?;
    }
    kernels.print();
    let page = files.path(LINES);
    std::fs::write(&page, kernels.page(name)).with_context(|| format!("could not write {}", page.display()))?;

    let has_runtime = !files.of_processes()?.is_empty();
    files.clear_processes()?;
    if has_runtime {
        eprintln!("\ntiming: {name} on {}", options.device.description());
        let mut command = (program.command)(Run::Times);
        command.env("RUMBA_DEVICE", options.device.name());
        command.env("RUMBA_PROFILE", files.processes()).env("RUMBA_PROFILE_COUNTS", &counts);
        shell::run(&mut command).context("the program failed; its output stands above")?;
        files.collect()?;
    }
    let is_timed = files.print_profiles()?;
    println!("\nfiles in {}:", files.folder.display());
    for (file, contents) in FILES.iter().filter(|(file, _)| files.path(file).exists()) {
        println!("  {file:14} {contents}");
    }
    for process in files.of_processes()? {
        println!("  {:14} the times of one process", process.file_name().unwrap_or_default().display());
    }
    if !has_runtime {
        println!(
            "times: none, because the program does not use the crate rumba; NVIDIA's Nsight Systems takes times of any program: `nsys \
             profile`"
        );
    } else if !is_timed {
        println!(
            "times: none, because the program ended by a signal or by `_exit`, or found no device in the second run: a profile is \
             written when a process ends"
        );
    } else if !files.has_pages()? {
        println!(
            "page, trace and roofline: none, because the program is built without the feature `report` of the crate rumba; `--features \
             rumba/report` on cargo's command line, or `rumba = {{ .., features = [\"report\"] }}` in Cargo.toml, adds it"
        );
    }
    Ok(())
}

const COUNTS: &str = "counts.json";
const LINES: &str = "lines.html";
const TABLES: &str = "profile.txt";
const PAGE: &str = "profile.html";

/// The files of a profile.
const FILES: [(&str, &str); 8] = [
    (LINES, "the source with its counts"),
    (COUNTS, "the counts of each launch and instruction"),
    (PAGE, "timeline, tables, roofline"),
    (TABLES, "the tables"),
    ("trace.json", "for a trace viewer: chrome://tracing, Perfetto"),
    ("roofline.svg", "the operations of each kernel against the limits of the device"),
    ("roofline.png", "the same"),
    ("timeline.svg", "the timeline as a picture"),
];

/// The beginning of the name of a process's folder.
const PROCESS: &str = "process-";

/// The folder of a profile.
struct Files {
    folder: PathBuf,
}

impl Files {
    fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// The folder of each process, for the runtime: `%p` is the number of the process.
    fn processes(&self) -> PathBuf {
        self.path(&format!("{PROCESS}%p"))
    }

    /// The folders that processes have written.
    fn of_processes(&self) -> Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(&self.folder);
        let entries = entries.with_context(|| format!("could not list {}", self.folder.display()))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut found: Vec<_> = paths
            .filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PROCESS.as_bytes())))
            .collect();
        found.sort();
        Ok(found)
    }

    /// Makes the folder, without files of an earlier profile.
    fn clear(&self) -> Result<()> {
        std::fs::create_dir_all(&self.folder).with_context(|| format!("could not make {}", self.folder.display()))?;
        for file in FILES.iter().map(|(file, _)| self.path(file)).filter(|file| file.exists()) {
            std::fs::remove_file(&file).with_context(|| format!("could not remove {}", file.display()))?;
        }
        self.clear_processes()
    }

    fn clear_processes(&self) -> Result<()> {
        for folder in self.of_processes()? {
            std::fs::remove_dir_all(&folder).with_context(|| format!("could not remove {}", folder.display()))?;
        }
        Ok(())
    }

    /// Puts the files of an only process beside the others.
    fn collect(&self) -> Result<()> {
        let processes = self.of_processes()?;
        let [only] = processes.as_slice() else { return Ok(()) };
        for (file, _) in FILES.iter().filter(|(file, _)| only.join(file).exists()) {
            let moved = std::fs::rename(only.join(file), self.path(file));
            moved.with_context(|| format!("could not move {file} into {}", self.folder.display()))?;
        }
        std::fs::remove_dir_all(only).with_context(|| format!("could not remove {}", only.display()))
    }

    /// The folders with times: this folder, or one for each process.
    fn with_times(&self) -> Result<Vec<PathBuf>> {
        let mut folders = self.of_processes()?;
        folders.push(self.folder.clone());
        folders.retain(|folder| folder.join(TABLES).exists());
        Ok(folders)
    }

    /// Prints the tables; whether there are any.
    fn print_profiles(&self) -> Result<bool> {
        let folders = self.with_times()?;
        for file in folders.iter().map(|folder| folder.join(TABLES)) {
            let text = std::fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
            println!("\n{}", text.trim_end());
        }
        Ok(!folders.is_empty())
    }

    /// Whether all profiles have pages.
    fn has_pages(&self) -> Result<bool> {
        Ok(self.with_times()?.iter().all(|folder| folder.join(PAGE).exists()))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: super::Args,
    }

    #[test]
    fn a_program_is_built_in_release_unless_another_profile_is_named() {
        let cargo = |words: &[&str]| {
            let Cli { args } = Cli::parse_from(words);
            super::of_project(&args.profile, &[], &args.words).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(cargo(&["profile"]), "run --profile release");
        assert_eq!(cargo(&["profile", "--profile", "dev", "--", "--bin", "heat"]), "run --profile dev --bin heat");
    }
}
