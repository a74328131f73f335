//! Checked runs: a closure under every check of the software device, and what was found as values. For tests.
//!
//! The driver makes the checks and writes the reports; this module only runs a closure, and runs it again.

use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use rumba_driver::check::{Copied, Ended, Explored, Inputs, Options, Run, Tally, Turn};

use crate::base::driver;
use crate::base::error::{Error, KernelPanic, Result};
use crate::context::panics::heard;
use crate::devices::device::Device;

pub use rumba_driver::check::{Check, Finding, FindingKind, Location, Severity, Side};

/// Runs `program` on the software device under every check, and gives what was found: [`Checks::run`] with the defaults.
///
/// The closure is called up to 5 times, in as many orders of its threads, as long as that takes no more than a second in all and the
/// device does not change what the closure hands it in place. `Checks::default().schedules(1)` calls it once.
///
/// # Errors
/// The errors of `program`, except kernels' mistakes, which become findings. An error if the process uses a GPU.
///
/// # Examples
/// A test calls `check` in one line. The launch is an ordinary launch on the device that the closure receives:
/// ```
/// # mod kernels { pub use rumba::test_kernels::{PTX, saxpy}; }
/// # let (x, mut y) = ([1.0_f32; 100], [0.0; 100]);
/// rumba::check(|gpu| gpu.load(kernels::PTX)?.for_each(100, kernels::saxpy(2.0, &x, &mut y)))?.assert_none();
/// # assert_eq!(y, [2.0; 100]);
/// # Ok::<(), rumba::Error>(())
/// ```
pub fn check<T>(program: impl FnMut(&Device) -> Result<T>) -> Result<Findings> {
    Checks::default().run(program)
}

/// The checks of a run, and the number of orders of its threads.
///
/// `RUMBA_CHECK_SEED` and `RUMBA_CHECK_SCHEDULES` say otherwise for a whole process: that is how a report is replayed.
///
/// Most mistakes are found in any order of the threads: races and lost updates need not happen for that. Results that depend on the
/// order are found by comparing what the host reads in two orders, provided that it has written the same before.
///
/// # Examples
/// ```
/// use rumba::{Check, Checks, check::FindingKind};
///
/// // Every thread reads the element behind its own, which its neighbour may have written already.
/// const PTX: &str = "
///     .version 7.0 .target sm_70 .address_size 64
///     .visible .entry shift(.param .u64 x) {
///         .reg .b32 %r<4>; .reg .b64 %rd<4>;
///         ld.param.u64 %rd1, [x];
///         mov.u32 %r1, %tid.x;
///         mul.wide.u32 %rd2, %r1, 4;
///         add.s64 %rd3, %rd1, %rd2;
///         ld.global.u32 %r2, [%rd3+4];
///         st.global.u32 [%rd3], %r2;
///         ret;
///     }";
/// # fn launch(gpu: &rumba::Device) -> rumba::Result<()> {
/// #     use cuda_std::launch::{Call, Kernel, Parameter};
/// #     static SHIFT: Kernel = Kernel::new("shift", "", "", 0, &[Parameter::bound::<u64>("x", "u64")]);
/// #     let x = gpu.zeros::<u32>(65)?;
/// #     let mut call = unsafe { Call::new(&SHIFT) };
/// #     unsafe { call.arguments_mut() }.push_value(x.as_device_pointer().address());
/// #     unsafe { gpu.load_unchecked("shift.ptx", PTX) }?.launch((1, 64), call)?;
/// #     gpu.synchronize()
/// # }
/// let found = Checks::default().only([Check::Race]).schedules(3).run(launch)?;
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].kind, FindingKind::DataRace);
/// println!("{found}");
/// # Ok::<(), rumba::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checks {
    only: Vec<Check>,
    seed: u64,
    /// The number of orders; None: as many as are quick.
    schedules: Option<u32>,
}

/// Orders that are run where no number is asked for, and how long they may take.
const QUICK: u64 = 5;
const QUICK_TIME: Duration = Duration::from_secs(1);

impl Default for Checks {
    /// Every check but those that are made only where they are named ([`Check::in_checked_runs`]), in up to 5 orders of the threads,
    /// if these are quick.
    fn default() -> Self {
        Self { only: Check::in_checked_runs().collect(), seed: 0, schedules: None }
    }
}

impl Checks {
    /// Makes these checks only.
    #[must_use]
    pub fn only(self, checks: impl IntoIterator<Item = Check>) -> Self {
        Self { only: checks.into_iter().collect(), ..self }
    }

    /// Begins with this order of the threads.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Runs the program this many times, in as many orders of the threads.
    #[must_use]
    pub fn schedules(self, schedules: u32) -> Self {
        let schedules = Some(schedules);
        Self { schedules, ..self }
    }

    /// The checks of the run.
    pub(crate) fn checks(&self) -> &[Check] {
        &self.only
    }

    /// Runs `program` with a device of its own for each order of the threads, and gives what was found in any of them.
    /// Within `program`, also [`Device::new`] gives this device. Checks of a process take turns, and explorations with them.
    ///
    /// If no number of orders is asked for, the program runs in up to 5 orders: until something is found, until it takes more than a
    /// second in all, or until it is seen that another call would not do the same. That is so if the device writes to host memory
    /// that was copied to it before, as `&mut` arguments of kernels are, or if the second call copies something else to the device.
    ///
    /// # Errors
    /// The errors of `program`, except kernels' mistakes, which become findings. An error if the process uses a GPU, and within the
    /// closure of another check.
    ///
    /// # Panics
    /// If `program` panics; the findings until then are printed.
    pub fn run<T>(&self, mut program: impl FnMut(&Device) -> Result<T>) -> Result<Findings> {
        let (first, schedules) = (
            from_environment("RUMBA_CHECK_SEED").unwrap_or(self.seed),
            from_environment("RUMBA_CHECK_SCHEDULES").or(self.schedules.map(u64::from)),
        );
        let mut turn = turn()?;
        let (started, orders) = (Instant::now(), schedules.unwrap_or(QUICK).max(1));
        let mut findings = Findings { found: Vec::new() };
        let (mut known, mut natural, mut first_hash) = (HashSet::new(), None, None);
        for (number, seed) in (1..).zip(first..first.saturating_add(orders)) {
            let options = Options { checks: self.only.clone(), seed, order: None };
            let panics = heard();
            let RunOnce { mut found, copies, outcome, inputs, .. } = run_once(&mut turn, options, &mut program)?;
            // A mistake explains another result, information does not.
            let is_right = found.iter().all(|finding| finding.severity == Severity::Info);
            // The first of several panicking threads varies.
            let panicked = heard() != panics;
            let repeats = inputs.hash == *first_hash.get_or_insert(inputs.hash) && !panicked;
            if self.only.contains(&Check::Portability) && is_right && repeats {
                let natural = natural.get_or_insert_with(|| copies.clone());
                found.extend(rumba_driver::check::compare(natural, &copies, seed));
            }
            let new = found.into_iter().filter(|finding| known.insert(finding.key()));
            findings.found.extend(new);
            match outcome {
                Ok(Ok(_)) => {}
                // The kernel's, and among the findings.
                Ok(Err(Error::Fault(_) | Error::ContextLost { .. } | Error::Panic(_))) if !findings.is_empty() => {}
                Ok(Err(error)) => return Err(error),
                Err(panic) => {
                    if !findings.is_empty() {
                        eprintln!("{findings}");
                    }
                    resume_unwind(panic);
                }
            }
            let is_slow = started.elapsed() * (number + 1) > QUICK_TIME * number;
            let is_wrong = findings.iter().any(|finding| finding.severity > Severity::Info);
            if schedules.is_none() && (is_slow || inputs.are_changed || !repeats || is_wrong) {
                break;
            }
        }
        Ok(findings)
    }
}

/// The outcome of a closure: its result, or its panic.
pub(crate) type Outcome<T> = std::thread::Result<Result<T>>;

/// The outcome of one run.
pub(crate) struct RunOnce<T> {
    pub(crate) found: Vec<Finding>,
    /// The data that the host has read.
    pub(crate) copies: Vec<Copied>,
    pub(crate) inputs: Inputs,
    /// The state of the exploration, if the run belongs to an exploration.
    pub(crate) explored: Option<Explored>,
    pub(crate) outcome: Outcome<T>,
}

/// Waits for the turn to make checked runs.
pub(crate) fn turn() -> Result<Turn> {
    Turn::wait().map_err(|error| Error::NoDevice(error.to_string()))
}

/// Runs a closure once, with a device of its own.
pub(crate) fn run_once<T>(
    turn: &mut Turn,
    options: Options,
    program: &mut impl FnMut(&Device) -> Result<T>,
) -> Result<RunOnce<T>> {
    let seed = options.order.is_none().then_some(options.seed);
    let run = Run::begin(turn, &options).map_err(|error| Error::NoDevice(error.to_string()))?;
    driver::start()?;
    let device = Device::checked(run.device().unsigned_abs())?;
    // The closure is not called again after a panic.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let _current = device.for_this_thread();
        let result = program(&device)?;
        // Work that was not waited for, and panics that were not reported.
        device.synchronize()?;
        Ok(result)
    }));
    device.end();
    let Ended { findings: mut found, copies, explored, inputs } = run.end();
    if let Ok(Err(Error::Panic(panic))) = &outcome {
        found.push(of_panic(panic, seed));
    }
    Ok(RunOnce { found, copies, inputs, explored, outcome })
}

fn of_panic(panic: &KernelPanic, seed: Option<u64>) -> Finding {
    let place = (&*panic.file, panic.line, panic.column);
    let threads = [panic.block, panic.thread];
    Finding::of_panic(panic.kernel, &panic.message, place, threads, panic.threads, seed)
}

/// Reads a number from the environment. An invalid value is ignored: replays, which set the variable, print valid
/// numbers.
fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

/// The findings of a checked run.
#[must_use = "what was found is in here: `assert_none` fails a test if there is anything"]
#[derive(Clone, PartialEq, Eq)]
pub struct Findings {
    found: Vec<Finding>,
}

impl Findings {
    /// Fails a test if there is anything but information.
    ///
    /// # Panics
    /// With the whole report, if anything is a warning or an error.
    #[track_caller]
    pub fn assert_none(&self) {
        let is_right = self.iter().all(|finding| finding.severity == Severity::Info);
        assert!(is_right, "{self}");
    }
}

impl Deref for Findings {
    type Target = [Finding];

    fn deref(&self) -> &[Finding] {
        &self.found
    }
}

impl IntoIterator for Findings {
    type Item = Finding;
    type IntoIter = std::vec::IntoIter<Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.found.into_iter()
    }
}

impl fmt::Display for Findings {
    /// All reports, how many there are, and how to see the first one again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.found.first() else {
            return f.write_str("no findings");
        };
        for finding in &self.found {
            writeln!(f, "{finding}\n")?;
        }
        let count: Tally = self.found.iter().map(|finding| finding.severity).collect();
        let thread = std::thread::current();
        let command = match thread.name().filter(|name| *name != "main") {
            Some(test) => format!("cargo test -- --exact {test}"),
            None => std::env::args().collect::<Vec<_>>().join(" "),
        };
        write!(
            f,
            "{count}; to see the first again: RUMBA_CHECK_SEED={} RUMBA_CHECK_SCHEDULES=1 {command}",
            first.seed.unwrap_or_default()
        )
    }
}

impl fmt::Debug for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
