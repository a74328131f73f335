//! `cargo xtask profile NAME`: where a program's time goes, and what each source line of its kernels asks of memory.
//!
//! The program runs twice. On the software device each instruction is counted; this file makes the table and the page of source
//! lines from that. Then it runs on the chosen device under the library's profiler, which knows the counts and writes times,
//! timeline and roofline: what those look like is `rumba::Profile`'s business.

use crate::gallery::{self, Device};
use crate::{setup, shell};
use anyhow::{Context, Result, bail};
use comfy_table::{CellAlignment, Table, presets};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use owo_colors::{OwoColorize, Stream};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Stdio;

/// Time kernels and copies, and count memory traffic, bank conflicts and divergence by source line
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask profile transpose
  cargo xtask profile transpose --device gpu
  cargo xtask profile matmul --kernel matmul_tiled -- --n 256
  cargo xtask profile scan --html scan.html

Into target/profile/NAME: profile.html (timeline, tables, roofline), trace.json (for a browser's trace viewer),
roofline.svg, timeline.svg, lines.html (the source with its counts). Times are those of the chosen device.

sectors    32-byte pieces of global memory for each request of a warp; beyond the ideal the lanes lie too far apart
wavefronts steps in which shared memory serves a request; beyond the ideal there are bank conflicts
lanes      of the 32 lanes of a warp, how many took part on average
parted     branches where some lanes went one way and some the other

The counts are those of NVIDIA's profiler (tests/traffic.txt); caches are not modelled. Any program that uses
libcuda.so.1 writes them down with RUMBA_DEVICE=soft RUMBA_PROFILE_JSON=FILE.")]
pub(crate) struct Args {
    /// The program: a file in host/gallery/src/bin
    name: String,
    /// One kernel [default: all that the program launches]
    #[arg(long)]
    kernel: Option<String>,
    /// The device that is timed; the software device counts in any case
    #[arg(long, value_enum, default_value = "auto")]
    device: Device,
    /// The page of source lines [default: target/profile/NAME/lines.html]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Arguments for the program, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

/// A launch, as the driver writes it down.
#[derive(Deserialize)]
struct Launch {
    kernel: String,
    instructions: Vec<Instruction>,
}

#[derive(Deserialize)]
struct Instruction {
    ptx: String,
    ptx_line: u32,
    locations: Vec<Location>,
    executions: u64,
    threads: u64,
    global: Option<Global>,
    shared: Option<Shared>,
    branch: Option<Branch>,
}

#[derive(Deserialize)]
struct Location {
    file: String,
    line: u32,
}

#[derive(Deserialize)]
struct Global {
    requests: u64,
    sectors: u64,
    ideal_sectors: u64,
}

#[derive(Deserialize)]
struct Shared {
    requests: u64,
    wavefronts: u64,
    ideal_wavefronts: u64,
}

#[derive(Deserialize)]
struct Branch {
    executions: u64,
    divergent: u64,
}

/// A count, and its minimum.
#[derive(Default, Clone, Copy)]
struct Work {
    requests: u64,
    done: u64,
    ideal: u64,
}

impl Work {
    fn add(&mut self, requests: u64, done: u64, ideal: u64) {
        self.requests += requests;
        self.done += done;
        self.ideal += ideal;
    }

    /// "8.0 of 4.0": for each request, and at best.
    fn per_request(self) -> String {
        if self.requests == 0 {
            return String::new();
        }
        let each = |count: u64| count as f64 / self.requests as f64;
        format!("{:.1} of {:.1}", each(self.done), each(self.ideal))
    }

    /// Whether there is a quarter more than would be needed.
    fn is_wasteful(self) -> bool {
        4 * self.done > 5 * self.ideal
    }
}

/// The sums of a source line.
#[derive(Default, Clone, Copy)]
struct Sums {
    executions: u64,
    threads: u64,
    global: Work,
    shared: Work,
    branches: u64,
    divergent: u64,
}

impl Sums {
    fn add(&mut self, instruction: &Instruction) {
        // A line is executed as often as its most executed instruction.
        if instruction.executions > self.executions {
            (self.executions, self.threads) = (instruction.executions, instruction.threads);
        }
        if let Some(global) = &instruction.global {
            self.global.add(global.requests, global.sectors, global.ideal_sectors);
        }
        if let Some(shared) = &instruction.shared {
            self.shared.add(shared.requests, shared.wavefronts, shared.ideal_wavefronts);
        }
        if let Some(branch) = &instruction.branch {
            self.branches += branch.executions;
            self.divergent += branch.divergent;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.global.add(other.global.requests, other.global.done, other.global.ideal);
        self.shared.add(other.shared.requests, other.shared.done, other.shared.ideal);
        self.branches += other.branches;
        self.divergent += other.divergent;
    }

    fn lanes(&self) -> String {
        match self.executions {
            0 => String::new(),
            executions => format!("{:.1}", self.threads as f64 / executions as f64),
        }
    }

    fn parted(&self) -> String {
        match self.branches {
            0 => String::new(),
            branches => format!("{:.0} %", 100.0 * self.divergent as f64 / branches as f64),
        }
    }

    fn is_interesting(&self) -> bool {
        self.global.requests + self.shared.requests + self.divergent > 0
    }
}

/// A kernel's lines, by file and number.
type Lines = BTreeMap<(String, u32), Sums>;

pub(crate) fn run(args: Args) -> Result<()> {
    let name = gallery::find(&args.name)?;
    setup::ensure()?;
    gallery::build(std::slice::from_ref(&name), gallery::Profile::Release)?;
    let folder = shell::target().join("profile").join(&name);
    std::fs::create_dir_all(&folder).with_context(|| format!("could not make {}", folder.display()))?;
    let file = folder.join("counts.json");
    std::fs::write(&file, "").with_context(|| format!("could not write {}", file.display()))?;
    let mut command = gallery::command(&name, gallery::Profile::Release, Some(Device::Soft));
    // Its own table would show times of a device that counts.
    command.stdout(Stdio::null());
    shell::run(command.env("RUMBA_PROFILE_JSON", &file).args(&args.args))?;
    let text = std::fs::read_to_string(&file)?;
    let launches: Vec<Launch> = text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .with_context(|| format!("{} has another form", file.display()))?;

    let mut kernels = BTreeMap::<&str, (u64, Lines)>::new();
    for launch in &launches {
        let (times, lines) = kernels.entry(&launch.kernel).or_default();
        *times += 1;
        for instruction in &launch.instructions {
            let place = match instruction.locations.first() {
                Some(location) => (location.file.clone(), location.line),
                None => (instruction.ptx.clone(), instruction.ptx_line),
            };
            lines.entry(place).or_default().add(instruction);
        }
    }
    if let Some(wanted) = &args.kernel {
        let names = kernels.keys().copied().collect::<Vec<_>>().join(", ");
        kernels.retain(|kernel, _| kernel == wanted);
        if kernels.is_empty() {
            bail!("{name} launched no kernel `{wanted}`; it launched {names}");
        }
    }
    for (kernel, (times, lines)) in &kernels {
        print(kernel, *times, lines);
    }
    let page = args.html.unwrap_or_else(|| folder.join("lines.html"));
    std::fs::write(&page, document(&name, &kernels).into_string())
        .with_context(|| format!("could not write {}", page.display()))?;
    println!("the whole source with these numbers: {}\n", page.display());
    let mut timed = gallery::command(&name, gallery::Profile::Release, Some(args.device));
    timed.args(&args.args).arg("--profile").arg(&folder).arg("--counts").arg(&file);
    shell::run(&mut timed)
}

/// "saxpy, 2 launches: ..." in words.
fn summary(times: u64, lines: &Lines) -> String {
    let mut all = Sums::default();
    lines.values().for_each(|sums| all.merge(sums));
    let mut parts = vec![format!("{times} {}", if times == 1 { "launch" } else { "launches" })];
    if all.global.requests > 0 {
        let share = 100.0 * all.global.ideal as f64 / all.global.done as f64;
        parts.push(format!("{} sectors of global memory, of which {share:.0} % would do", all.global.done));
    }
    if all.shared.requests > 0 {
        parts.push(format!(
            "{} wavefronts of shared memory, {} of them bank conflicts",
            all.shared.done,
            all.shared.done.saturating_sub(all.shared.ideal)
        ));
    }
    if all.branches > 0 {
        parts.push(format!("{} of {} branches parted", all.divergent, all.branches));
    }
    parts.join("; ")
}

fn print(kernel: &str, times: u64, lines: &Lines) {
    println!("\n{}: {}", kernel.if_supports_color(Stream::Stdout, |text| text.bold()), summary(times, lines));
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    if !std::io::stdout().is_terminal() {
        table.force_no_tty();
    }
    table.set_header(["line", "lanes", "sectors", "wavefronts", "parted", "source"]);
    let mut sources = BTreeMap::new();
    for ((file, line), sums) in lines.iter().filter(|(_, sums)| sums.is_interesting()) {
        let text = sources.entry(file).or_insert_with(|| source(file));
        let text = text.as_ref().and_then(|text| text.lines().nth(line.saturating_sub(1) as usize));
        let marked = |work: Work| {
            let text = work.per_request();
            match work.is_wasteful() {
                true => text.if_supports_color(Stream::Stdout, |text| text.yellow()).to_string(),
                false => text,
            }
        };
        table.add_row([
            format!("{file}:{line}"),
            sums.lanes(),
            marked(sums.global),
            marked(sums.shared),
            sums.parted(),
            text.unwrap_or_default().trim().chars().take(60).collect(),
        ]);
    }
    for column in table.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
}

/// The text of a source file of the workspace, or of the applications.
fn source(file: &str) -> Option<String> {
    let folders = [shell::workspace().to_owned(), shell::apps()];
    folders.iter().find_map(|folder| std::fs::read_to_string(folder.join(file)).ok())
}

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --warn: light-dark(#9a3412, #fdba74); --hot: 217,119,6; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; font: 13px/1.45 ui-monospace, monospace; }
th { position: sticky; top: 0; background: Canvas; text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
th:last-child { text-align: left; }
td { text-align: right; padding: 0 .6rem; white-space: pre; }
td:last-child { text-align: left; width: 99%; }
td.number { color: GrayText; }
.warn { color: var(--warn); font-weight: 600; }
details { margin: 1rem 0; } summary { cursor: pointer; }
";

/// The page: every kernel with the files that it comes from.
fn document(name: &str, kernels: &BTreeMap<&str, (u64, Lines)>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Profile of " (name) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Profile of " (name) }
                p {
                    "Counts of the software device. Sectors: 32-byte pieces of global memory for each request of a warp, and "
                    "as many as would do. Wavefronts: steps in which shared memory serves a request, and as many as it would "
                    "take without bank conflicts. Lanes: of a warp's 32, how many took part. Parted: branches where lanes "
                    "went both ways. The darker a line, the larger its share of the kernel's memory traffic; what exceeds the "
                    "ideal by a quarter is " span.warn { "marked" } "."
                }
                @for (kernel, (times, lines)) in kernels {
                    h2 { (kernel) }
                    p { (summary(*times, lines)) }
                    @for file in lines.keys().map(|(file, _)| file).collect::<BTreeSet<_>>() {
                        (listing(file, lines))
                    }
                }
            }
        }
    }
}

/// A file with the numbers of its lines; files of libraries are folded.
fn listing(file: &str, lines: &Lines) -> Markup {
    let traffic = |sums: &Sums| 8 * sums.global.done + sums.shared.done;
    let whole: u64 = lines.values().map(traffic).sum::<u64>().max(1);
    let of_file: BTreeMap<u32, &Sums> =
        lines.iter().filter(|((name, _), _)| name == file).map(|((_, line), sums)| (*line, sums)).collect();
    let text = source(file);
    let rows: Vec<(u32, &str)> = match &text {
        Some(text) => (1..).zip(text.lines()).collect(),
        None => of_file.keys().map(|line| (*line, "")).collect(),
    };
    let is_open = file.starts_with("kernels");
    html! {
        details open[is_open] {
            summary { (file) }
            table {
                thead { tr {
                    th { "lanes" } th { "sectors" } th { "wavefronts" } th { "parted" } th { "line" } th { "source" }
                } }
                tbody {
                    @for (number, text) in rows {
                        @let sums = of_file.get(&number).copied().copied().unwrap_or_default();
                        @let heat = (traffic(&sums) as f64 / whole as f64).sqrt() * 0.5;
                        tr style=[(heat > 0.0).then(|| format!("background: rgba(var(--hot),{heat:.2})"))] {
                            td { (sums.lanes()) }
                            td.warn[sums.global.is_wasteful()] { (sums.global.per_request()) }
                            td.warn[sums.shared.is_wasteful()] { (sums.shared.per_request()) }
                            td { (sums.parted()) }
                            td.number { (number) }
                            td { (text) }
                        }
                    }
                }
            }
        }
    }
}
