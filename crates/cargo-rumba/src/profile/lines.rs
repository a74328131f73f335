//! The counts of the software device by source line, as tables.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use comfy_table::{CellAlignment, Table, presets};
use owo_colors::{OwoColorize, Stream};
use serde::Deserialize;

use super::page;
use crate::place;

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
pub(super) struct Work {
    requests: u64,
    pub(super) done: u64,
    ideal: u64,
}

impl Work {
    fn add(&mut self, requests: u64, done: u64, ideal: u64) {
        self.requests += requests;
        self.done += done;
        self.ideal += ideal;
    }

    /// "8.0 of 4.0": for each request, and at best.
    pub(super) fn per_request(self) -> String {
        if self.requests == 0 {
            return String::new();
        }
        let each = |count: u64| count as f64 / self.requests as f64;
        format!("{:.1} of {:.1}", each(self.done), each(self.ideal))
    }

    /// Whether there is a quarter more than would be needed.
    pub(super) fn is_wasteful(self) -> bool {
        4 * self.done > 5 * self.ideal
    }
}

/// The sums of a source line.
#[derive(Default, Clone, Copy)]
pub(super) struct Sums {
    executions: u64,
    threads: u64,
    pub(super) global: Work,
    pub(super) shared: Work,
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

    pub(super) fn lanes(&self) -> String {
        match self.executions {
            0 => String::new(),
            executions => format!("{:.1}", self.threads as f64 / executions as f64),
        }
    }

    pub(super) fn parted(&self) -> String {
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
pub(super) type Lines = BTreeMap<(String, u32), Sums>;

/// The kernels of a program, each with its number of launches.
pub(super) struct Kernels(BTreeMap<String, (u64, Lines)>);

impl Kernels {
    /// Reads the file that `RUMBA_PROFILE_JSON` names.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
        let mut kernels = BTreeMap::<String, (u64, Lines)>::new();
        for line in text.lines() {
            let launch: Launch =
                serde_json::from_str(line).with_context(|| format!("{} has another form", file.display()))?;
            let (times, lines) = kernels.entry(launch.kernel).or_default();
            *times += 1;
            for instruction in &launch.instructions {
                let place = match instruction.locations.first() {
                    Some(location) => (location.file.clone(), location.line),
                    None => (instruction.ptx.clone(), instruction.ptx_line),
                };
                lines.entry(place).or_default().add(instruction);
            }
        }
        Ok(Self(kernels))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps one kernel.
    pub(super) fn keep(&mut self, program: &str, wanted: &str) -> Result<()> {
        if !self.0.contains_key(wanted) {
            let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
            bail!("{program} launched no kernel `{wanted}`; it launched {}", names.join(", "));
        }
        self.0.retain(|kernel, _| kernel == wanted);
        Ok(())
    }

    /// Prints a table for each kernel.
    pub(super) fn print(&self) {
        for (kernel, (times, lines)) in &self.0 {
            print(kernel, *times, lines);
        }
    }

    /// The page with the sources.
    pub(super) fn page(&self, program: &str) -> String {
        page::document(program, &self.0)
    }
}

/// "saxpy, 2 launches: ..." in words.
pub(super) fn summary(times: u64, lines: &Lines) -> String {
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

/// The text of a source file. Kernels name files by their path from the root of their workspace.
pub(super) fn source(file: &str) -> Option<String> {
    let roots: Vec<PathBuf> = place::roots();
    roots.iter().find_map(|folder| std::fs::read_to_string(folder.join(file)).ok())
}
