//! Runs of scenarios in which a driver call fails, and what must be true behind each.
//!
//! After a run the device has no more objects than before, and a kernel on it computes the right numbers: at once, or, where the
//! context is lost, after a reset. A run that does not end is noticed by its time.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rumba::test_kernels::{PTX, scale};
use rumba::{Device, Error, Result};
use rumba_driver::code::Code;
use rumba_driver::errors::{errors_of, loses_context};
use rumba_driver::fault::{self, Fault, Seen};

use crate::{Scenario, World};

/// How long a run may take. The longest take a second.
const LIMIT: Duration = Duration::from_secs(60);

/// How long threads of the runtime may take to give back what a scenario dropped.
const RELEASE: Duration = Duration::from_secs(3);

/// The results of the runs of a scenario.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Driver calls of a run without a fault.
    pub calls: usize,
    /// Runs, with those without a fault.
    pub runs: usize,
    /// Runs that ended in an error.
    pub errors: usize,
    /// Runs whose results were right although a call had failed: how many by call.
    pub survived: BTreeMap<&'static str, usize>,
    /// A failure, with the command to repeat it.
    pub failures: Vec<String>,
}

/// Runs scenarios.
pub struct Runner {
    world: Arc<World>,
    /// The objects of the device in a new context.
    fresh: Vec<(String, u64)>,
    /// Objects that contexts keep after runs of the scenario without a fault: kernels loaded at their first use, memory
    /// that is reused.
    kept: Vec<(String, u64)>,
}

impl Runner {
    /// With the device of `RUMBA_DEVICE`.
    ///
    /// # Errors
    /// If `RUMBA_DEVICE` has no device.
    pub fn new() -> Result<Self> {
        let device = Device::new()?;
        let world = World { device };
        works(&world.device)?;
        let fresh = fault::objects();
        Ok(Self { world: Arc::new(world), kept: fresh.clone(), fresh })
    }

    /// Runs a scenario without a fault, and with a fault at every `stride`-th place, of which there is one for each call and each
    /// of its errors, from `offset` on. `told` is called after each run.
    pub fn all(&mut self, scenario: &Scenario, stride: usize, offset: usize, mut told: impl FnMut(&Tally)) -> Tally {
        let mut tally = Tally::default();
        let seen = self.warm_up(scenario, &mut tally);
        tally.calls = seen.calls.len();
        told(&tally);
        let places =
            (1..).zip(&seen.calls).flat_map(|(call, name)| errors_of(name).iter().map(move |error| (call, *error)));
        for (call, error) in places.skip(offset).step_by(stride) {
            self.one(scenario, Some(Fault { call, error }), &mut tally);
            told(&tally);
        }
        tally
    }

    /// Runs a scenario twice without a fault: the first run makes what contexts and the process keep, the second adds nothing.
    pub fn warm_up(&mut self, scenario: &Scenario, tally: &mut Tally) -> Seen {
        self.kept.clone_from(&self.fresh);
        let (seen, _) = self.run(scenario, None);
        self.kept = fault::objects();
        tally.runs += 1;
        drop(seen);
        self.one(scenario, None, tally)
    }

    /// Runs a scenario once, and notes what came of it.
    pub fn one(&mut self, scenario: &Scenario, fault: Option<Fault>, tally: &mut Tally) -> Seen {
        tally.runs += 1;
        let before = fault::objects();
        let (seen, outcome) = self.run(scenario, fault);
        let failed = seen.failed.map(|number| seen.calls[number as usize - 1]);
        let mut wrong = Vec::new();
        match (&outcome, failed) {
            (Ok(Ok(())), None) => {}
            (Ok(Ok(())), Some(call)) => *tally.survived.entry(call).or_default() += 1,
            (Ok(Err(error)), None) => wrong.push(format!("an error without a fault: {error}")),
            (Ok(Err(error)), Some(_)) => {
                tally.errors += 1;
                if let Some(fault) = fault
                    && let Some(message) = misnamed(error, fault.error)
                {
                    wrong.push(message);
                }
            }
            (Err(message), _) => wrong.push(format!("a panic: {message}")),
        }
        let is_lost = fault.is_some_and(|fault| failed.is_some() && loses_context(fault.error));
        wrong.extend(self.recover(is_lost, &before));
        let place = match fault {
            None => "without a fault".to_owned(),
            Some(Fault { call, error }) => {
                format!("call {call} ({}), error {} ({})", failed.unwrap_or("none"), error.number(), error.name())
            }
        };
        tally.failures.extend(wrong.into_iter().map(|wrong| format!("{}, {place}: {wrong}", scenario.name)));
        seen
    }

    /// Runs a scenario in a thread of its own: its result, or what it panicked with.
    fn run(&self, scenario: &Scenario, fault: Option<Fault>) -> (Seen, std::result::Result<Result<()>, String>) {
        let (sender, receiver) = channel();
        let (world, run) = (Arc::clone(&self.world), scenario.run);
        let thread = std::thread::Builder::new().name(scenario.name.to_owned());
        let spawned = thread.spawn(move || {
            fault::begin(fault);
            let outcome = catch_unwind(AssertUnwindSafe(|| run(&world)));
            let seen = fault::end();
            drop(world);
            let outcome = outcome.map_err(|panic| {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text").to_owned()
            });
            // The receiver waits, unless this took too long.
            let _ = sender.send((seen, outcome));
        });
        spawned.expect("the system has room for a thread");
        match receiver.recv_timeout(LIMIT) {
            Ok(done) => done,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                // Threads of the scenario may hold anything: there is no way on.
                eprintln!("{} hangs with {fault:?}: {:?}", scenario.name, fault::end().calls);
                std::process::abort();
            }
        }
    }

    /// Problems of the device and its objects after a run.
    fn recover(&mut self, is_lost: bool, before: &[(String, u64)]) -> Vec<String> {
        let mut wrong = Vec::new();
        let device = &self.world.device;
        // A panic that the scenario was not told of, because a call failed that reads it, is told at the next wait.
        let mut worked = match works(device) {
            Err(Error::Panic(_)) => works(device),
            other => other,
        };
        if is_lost || !device.is_usable() {
            worked = device.reset().and_then(|()| works(device));
            if let Some(more) = released(&self.fresh) {
                wrong.push(format!("left behind after a reset: {more}"));
                // It is reported once.
                self.fresh = fault::objects();
            }
        } else {
            let most = before.iter().zip(&self.kept).map(|((kind, one), (_, other))| (kind.clone(), *one.max(other)));
            let most: Vec<_> = most.collect();
            wrong.extend(released(&most).map(|more| format!("left behind: {more}")));
        }
        if let Err(error) = worked {
            wrong.push(format!("the device does not work on: {error}"));
        }
        wrong
    }
}

/// Runs a kernel.
fn works(device: &Device) -> Result<()> {
    let module = device.load(PTX)?;
    let mut numbers = device.buffer_from(&[1.0_f32; 64])?;
    module.for_each(64, scale(2.0, &mut numbers))?;
    assert_eq!(numbers.to_vec()?, [2.0; 64], "the device computes wrong numbers");
    Ok(())
}

/// The kinds of objects whose number has grown.
fn grown(before: &[(String, u64)]) -> Option<String> {
    let now = fault::objects();
    let more = now.iter().zip(before).filter(|((_, now), (_, before))| now > before);
    let more: Vec<String> = more.map(|((kind, now), (_, before))| format!("{} of {kind}", now - before)).collect();
    (!more.is_empty()).then(|| more.join(", "))
}

/// The same, once the threads of the runtime have given back what they were handed.
fn released(before: &[(String, u64)]) -> Option<String> {
    let begin = Instant::now();
    loop {
        let more = grown(before)?;
        if begin.elapsed() >= RELEASE {
            return Some(more);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The problem of an error that names another cause than the call's.
fn misnamed(error: &Error, code: Code) -> Option<String> {
    let text = error.to_string();
    // Some errors have the number alone.
    let number = format!("CUDA error {}", code.number());
    let is_named = matches!((error, code), (Error::OutOfMemory { .. }, Code::OUT_OF_MEMORY));
    (!is_named && !text.contains(code.name()) && !text.contains(&number))
        .then(|| format!("the error names another cause: {text}"))
}
