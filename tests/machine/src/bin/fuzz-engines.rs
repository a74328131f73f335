//! `fuzz-engines`: runs programs made by chance on every engine, on many cores, and keeps those that engines disagree about.
//!
//! Each job is a process of its own, so that one that crashes or hangs is a finding and no end. Needs no toolchain: the `libLLVM`
//! may be named by `RUMBA_LLVM_LIBRARY`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Parser;
use machine::{Agreement, Case, Choices, Disagreement, Engines, library, program, reduce};

/// Seconds without a word of a job after which it hangs.
const SILENCE: Duration = Duration::from_secs(120);

/// How long jobs may take to come to their end.
const ENDING: Duration = Duration::from_secs(30);

/// How long a difference is made smaller, and how many of a job are.
const REDUCING: Duration = Duration::from_secs(20);
const REDUCED: usize = 4;

/// One of so many programs runs with checks, too.
const CHECKED: usize = 4;

/// Inputs after which a job's process is replaced: compilers keep memory.
const INPUTS: u64 = 2000;

/// Compare the engines of the machine on programs made by chance
#[derive(Parser)]
struct Args {
    /// How long
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Processes at a time; 0 for one per core
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds, at most
    #[arg(long)]
    count: Option<u64>,
    /// Where programs go that engines disagree about
    #[arg(long, default_value = "differences")]
    out: PathBuf,
    /// Leave native code out
    #[arg(long)]
    interpreters: bool,
    /// Write the texts of native code, and compile none: for reports of coverage in a short time
    #[arg(long)]
    uncompiled: bool,
    /// Choose instructions as for this processor of LLVM's names, of those that this one has; otherwise every other program is
    /// compiled as for `skylake-avx512`, where there is AVX-512
    #[arg(long)]
    processor: Option<String>,
    /// Print the program of the seed, and end
    #[arg(long)]
    print: bool,
    /// Run this program, which was kept, instead of others; with `--reduce` make it smaller
    #[arg(long)]
    replay: Option<PathBuf>,
    /// Make the program of `--replay` smaller, for so many seconds
    #[arg(long, requires = "replay")]
    reduce: Option<u64>,
    /// Be a job: take every n-th seed
    #[arg(long, hide = true)]
    step: Option<u64>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if args.print {
        print!("{}", program(Choices::of_seed(args.seed)).case);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = &args.replay {
        replay(file, &args)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(step) = args.step else {
        let findings = supervise(&args)?;
        return Ok(if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    };
    work(&args, step)?;
    Ok(ExitCode::SUCCESS)
}

/// LLVM's name of a processor whose gathers are thought to be fast: its backend takes other ways than for others with AVX-512.
const GATHERING: &str = "skylake-avx512";

/// Whether this processor has the instructions of that one.
fn gathers() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512cd")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("avx512vl");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

fn engines(args: &Args, processor: Option<&str>) -> Result<Engines> {
    if args.interpreters {
        return Ok(Engines::interpreters());
    }
    if args.uncompiled {
        return Ok(Engines::uncompiled());
    }
    Engines::all(processor).context("no libLLVM was found: name one in RUMBA_LLVM_LIBRARY, or pass --interpreters")
}

fn replay(file: &Path, args: &Args) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let case = Case::parse(&text)?;
    let engines = engines(args, args.processor.as_deref())?;
    if let Some(seconds) = args.reduce {
        print!("{}", reduce(&case, &engines, Duration::from_secs(seconds)));
        return Ok(());
    }
    let agreement = engines.compare(&case)?;
    println!("the engines agree: {agreement:?}");
    Ok(())
}

/// Whether the process that started a job wants its end: it closes the job's input.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Runs seeds, and says of each what came of it: a line `begin SEED`, and one `end SEED WORD`.
fn work(args: &Args, step: u64) -> Result<()> {
    let processors = match &args.processor {
        Some(processor) => vec![Some(processor.as_str())],
        None if gathers() && !args.interpreters && !args.uncompiled => vec![None, Some(GATHERING)],
        None => vec![None],
    };
    let mut ways = Vec::new();
    for processor in &processors {
        let all = engines(args, *processor)?;
        ways.push([all.clone(), all.unchecked()]);
    }
    let mut out = std::io::stdout().lock();
    std::thread::spawn(|| {
        let _ = std::io::stdin().lock().read(&mut [0]);
        IS_OVER.store(true, Ordering::Relaxed);
    });
    let mut reduced = 0;
    for number in 0..args.count.unwrap_or(INPUTS) {
        if IS_OVER.load(Ordering::Relaxed) {
            break;
        }
        let seed = args.seed + number * step;
        writeln!(out, "begin {seed}")?;
        out.flush()?;
        let program = program(Choices::of_seed(seed));
        // Jobs take every n-th seed: the number of the seed alone would choose the same for all of a job's.
        let (which, turn) = (number as usize % ways.len(), number as usize / ways.len());
        let processor = processors[which];
        let [checked, unchecked] = &ways[which];
        let engines = if turn % CHECKED == 0 { checked } else { unchecked };
        let word = match engines.compare(&program.case) {
            Ok(Agreement::Ended) => "ended".to_owned(),
            Ok(Agreement::Failed) => "failed".to_owned(),
            Ok(Agreement::Unknown) => "unknown".to_owned(),
            Err(error) => {
                let (word, smaller) = match &error {
                    Disagreement::Refused(_) => ("refused", None),
                    Disagreement::Text(_) => ("untranslated", None),
                    Disagreement::Differs { .. } if reduced < REDUCED => {
                        reduced += 1;
                        ("differs", Some(reduce(&program.case, engines, REDUCING)))
                    }
                    Disagreement::Differs { .. } => ("differs", None),
                };
                let processor = processor.map_or(String::new(), |processor| format!("--processor {processor}: "));
                let words = format!("{processor}{error}").replace('\n', "\n//@ difference ");
                keep(&args.out, &format!("{word}-{seed}"), &words, &program.case)?;
                if let Some(smaller) = smaller {
                    keep(&args.out, &format!("{word}-{seed}-reduced"), &words, &smaller)?;
                }
                word.to_owned()
            }
        };
        writeln!(out, "end {seed} {word}")?;
        out.flush()?;
    }
    Ok(())
}

fn keep(folder: &Path, name: &str, words: &str, case: &Case) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(format!("{name}.ptx"));
    std::fs::write(&path, format!("//@ difference {words}\n{case}")).with_context(|| path.display().to_string())
}

/// A process with its seeds.
struct Job {
    process: Child,
    /// The seed that it runs, and since when.
    seed: Option<u64>,
    heard: Instant,
    next: u64,
}

/// A line of a job, or its end.
type Said = (usize, Option<String>);

fn start(args: &Args, number: usize, first: u64, step: u64, count: u64, said: &Sender<Said>) -> Result<Job> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--seed", &first.to_string(), "--step", &step.to_string()]);
    command.args(["--count", &count.to_string()]).arg("--out").arg(&args.out);
    if args.interpreters {
        command.arg("--interpreters");
    }
    if args.uncompiled {
        command.arg("--uncompiled");
    }
    if let Some(processor) = &args.processor {
        command.args(["--processor", processor]);
    }
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (Some(output), Some(errors)) = (process.stdout.take(), process.stderr.take()) else {
        bail!("a job has no output");
    };
    let said = said.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if said.send((number, Some(line))).is_err() {
                return;
            }
        }
        // Behind the output's end, the words of a panic are complete.
        let words: Vec<String> = BufReader::new(errors).lines().map_while(Result::ok).take(40).collect();
        if !words.is_empty() {
            let _ = said.send((number, Some(format!("error {}", words.join(" | ")))));
        }
        let _ = said.send((number, None));
    });
    Ok(Job { process, seed: None, heard: Instant::now(), next: first })
}

/// The outcomes of the inputs.
#[derive(Default)]
struct Counts {
    words: BTreeMap<String, u64>,
    inputs: u64,
}

impl Counts {
    fn note(&mut self, word: &str) {
        *self.words.entry(word.to_owned()).or_default() += 1;
        self.inputs += 1;
    }

    fn line(&self, since: Instant) -> String {
        let words: Vec<String> = self.words.iter().map(|(word, count)| format!("{count} {word}")).collect();
        format!("{:6.0} s: {} programs: {}", since.elapsed().as_secs_f64(), self.inputs, words.join(", "))
    }

    /// The number of inputs that are findings.
    fn bad(&self) -> u64 {
        let good = ["ended", "failed", "unknown"];
        self.words.iter().filter(|(word, _)| !good.contains(&word.as_str())).map(|(_, count)| *count).sum()
    }
}

/// Lets jobs run until the time is over: how many findings there are.
fn supervise(args: &Args) -> Result<u64> {
    if !args.interpreters && !args.uncompiled {
        let library =
            library().context("no libLLVM was found: name one in RUMBA_LLVM_LIBRARY, or pass --interpreters")?;
        println!("native code by {}", library.display());
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = if args.jobs == 0 { cores } else { args.jobs };
    let step = jobs as u64;
    let (began, mut shown) = (Instant::now(), Instant::now());
    let end = began + Duration::from_secs(args.seconds);
    let (said, heard): (Sender<Said>, Receiver<Said>) = channel();
    let mut counts = Counts::default();
    let left = |next: u64| {
        let last = args.count.map_or(u64::MAX, |count| args.seed + count);
        INPUTS.min(last.saturating_sub(next).div_ceil(step))
    };
    let mut running: Vec<Option<Job>> = Vec::new();
    for number in 0..jobs {
        let first = args.seed + number as u64;
        let count = left(first);
        running.push(if count > 0 { Some(start(args, number, first, step, count, &said)?) } else { None });
    }
    while Instant::now() < end && running.iter().any(Option::is_some) {
        match heard.recv_timeout(Duration::from_secs(1)) {
            Ok((number, Some(line))) => {
                let Some(job) = &mut running[number] else { continue };
                job.heard = Instant::now();
                match line.split(' ').collect::<Vec<_>>()[..] {
                    ["begin", seed] => job.seed = seed.parse().ok(),
                    ["end", seed, word] => {
                        job.seed = None;
                        job.next = seed.parse::<u64>().unwrap_or(job.next) + step;
                        counts.note(word);
                        if !["ended", "failed", "unknown"].contains(&word) {
                            println!("seed {seed} {word}, after {:.1} s", began.elapsed().as_secs_f64());
                        }
                    }
                    _ => println!("job {number}, seed {:?}: {line}", job.seed),
                }
            }
            Ok((number, None)) => {
                let Some(mut job) = running[number].take() else {
                    continue;
                };
                let status = job.process.wait()?;
                if let Some(seed) = job.seed {
                    println!("seed {seed} ends its process: {status}");
                    counts.note("crashed");
                    keep(
                        &args.out,
                        &format!("crashed-{seed}"),
                        &status.to_string(),
                        &program(Choices::of_seed(seed)).case,
                    )?;
                    job.next = seed + step;
                } else if !status.success() {
                    bail!("a job ended: {status}");
                }
                let count = left(job.next);
                if count > 0 {
                    running[number] = Some(start(args, number, job.next, step, count, &said)?);
                }
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        for job in running.iter_mut().flatten() {
            if job.heard.elapsed() > SILENCE {
                println!("seed {:?} says nothing for {} s", job.seed, SILENCE.as_secs());
                job.process.kill()?;
                job.heard = Instant::now();
            }
        }
        if shown.elapsed() > Duration::from_secs(10) {
            println!("{}", counts.line(began));
            shown = Instant::now();
        }
    }
    // The jobs come to the end of their programs: their profiles of coverage are written then.
    let over = Instant::now();
    for mut job in running.into_iter().flatten() {
        drop(job.process.stdin.take());
        while job.process.try_wait()?.is_none() {
            if over.elapsed() > ENDING {
                job.process.kill()?;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    println!("{}", counts.line(began));
    let findings = counts.bad();
    if findings > 0 {
        println!("{findings} programs are findings: see {}", args.out.display());
    }
    Ok(findings)
}
