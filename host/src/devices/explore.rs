//! Checked runs in every order in which threads may synchronise: [`Checks::explore`].
//!
//! The software device chooses the orders; this module runs a closure once for each order, and keeps each finding with
//! the order that shows it.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::panic::resume_unwind;

use rumba_driver::check::{Explored, Options, Order, Tally, counted};

use crate::base::error::{Error, Result};
use crate::devices::check::{Check, Checks, Finding, RunOnce, Severity, Side, run_once, turn};
use crate::devices::device::Device;

pub use rumba_driver::check::Schedule;

/// The variable that names an order to run again.
const REPLAY: &str = "RUMBA_CHECK_ORDER";
/// The variable that says how many orders are run at most.
const ORDERS: &str = "RUMBA_CHECK_ORDERS";

/// Synchronising operations of an order at most.
const STEPS: u64 = 10_000;

/// Operations of an order that a report lists at most: the last ones.
const SHOWN: usize = 32;

impl Checks {
    /// Runs `program` in every order of the operations by which its threads synchronise, `orders` of them at most, and gives what was
    /// found in any of them, with the order that shows it.
    ///
    /// Points of choice are operations on mbarriers, arrivals at barriers for a number of threads, copies that an mbarrier keeps
    /// track of, and atomic, volatile, relaxed, acquiring and releasing accesses. Of orders that differ only in operations that commute, one is
    /// run (dynamic partial-order reduction). A failed wait is retried after a change of the memory it reads. The
    /// closure is called for each order, and has to do the same in each: what it asserts holds in every order.
    ///
    /// What is not explored is named in [`Exploration::limits`]: launches of more than 32 blocks, orders that are too
    /// long, programs that do not repeat. Memory is sequentially consistent here; a program whose accesses could show
    /// something else has a race, which is found. Lanes of a warp that stand at one place run together.
    ///
    /// `RUMBA_CHECK_ORDERS` says otherwise how many orders are run, and `RUMBA_CHECK_ORDER` names one that is run again alone,
    /// as reports give it.
    ///
    /// # Errors
    /// The errors of `program`, except kernels' mistakes, which become findings. An error if the process uses a GPU, and within the
    /// closure of another check.
    ///
    /// # Panics
    /// If `program` panics; the order in which it panicked is printed.
    ///
    /// # Examples
    /// One warp writes a value and then a flag, and the other waits for the flag. The store to the flag does not release:
    /// ```
    /// use rumba::{Checks, check::FindingKind};
    ///
    /// const PTX: &str = "
    ///     .version 7.0 .target sm_70 .address_size 64
    ///     .visible .entry pass(.param .u64 x) {
    ///         .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<2>;
    ///         ld.param.u64 %rd1, [x];
    ///         mov.u32 %r1, %tid.x;
    ///         setp.ne.u32 %p1, %r1, 0;
    ///         @%p1 bra WAIT;
    ///         st.global.u32 [%rd1], 7;
    ///         st.relaxed.gpu.global.u32 [%rd1+4], 1;
    ///         ret;
    ///     WAIT:
    ///         ld.acquire.gpu.global.u32 %r2, [%rd1+4];
    ///         setp.eq.u32 %p2, %r2, 0;
    ///         @%p2 bra WAIT;
    ///         ld.global.u32 %r3, [%rd1];
    ///         ret;
    ///     }";
    /// # use cuda_std::launch::{Call, Kernel, Parameter};
    /// # static PASS: Kernel = Kernel::new("pass", "", "", 0, &[Parameter::bound::<u64>("x", "u64")]);
    /// # fn launch(gpu: &rumba::Device, ptx: &str) -> rumba::Result<()> {
    /// #     let x = gpu.zeros::<u32>(2)?;
    /// #     let mut call = unsafe { Call::new(&PASS) };
    /// #     unsafe { call.arguments_mut() }.push_value(x.as_device_pointer().address());
    /// #     unsafe { gpu.load_unchecked("pass.ptx", ptx) }?.launch((1, 33), call)?;
    /// #     gpu.synchronize()
    /// # }
    /// let explored = Checks::default().explore(100, |gpu| launch(gpu, PTX))?;
    /// assert!(explored.is_complete());
    /// assert_eq!(explored.found()[0].finding.kind, FindingKind::DataRace);
    ///
    /// let right = PTX.replace("st.relaxed", "st.release");
    /// Checks::default().explore(100, |gpu| launch(gpu, &right))?.assert_complete();
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn explore<T>(&self, orders: u64, mut program: impl FnMut(&Device) -> Result<T>) -> Result<Exploration> {
        let set = |name| std::env::var(name).ok();
        let orders = set(ORDERS).and_then(|text| text.trim().parse().ok()).unwrap_or(orders);
        let replay = set(REPLAY);
        let mut turn = turn()?;
        let mut exploration = Exploration::default();
        let (mut known, mut first) = (HashSet::new(), None);
        let mut is_first = true;
        loop {
            let order = match &replay {
                Some(schedule) => Order::Replay { schedule: schedule.clone(), steps: STEPS },
                None => Order::Next { is_first, orders: orders.max(1), steps: STEPS },
            };
            is_first = false;
            let options = Options { checks: self.checks().to_vec(), seed: 0, order: Some(order) };
            let RunOnce { mut found, copies, explored, outcome, .. } = run_once(&mut turn, options, &mut program)?;
            let Explored { schedule, is_left, has_more, orders, redundant, limits } = explored.unwrap_or_default();
            (exploration.orders, exploration.redundant, exploration.limits) = (orders, redundant, limits);
            if !is_left {
                let is_right = found.iter().all(|finding| finding.severity == Severity::Info);
                if self.checks().contains(&Check::Portability) && is_right && outcome.is_ok() {
                    let first = first.get_or_insert_with(|| copies.clone());
                    found.extend(rumba_driver::check::compare(first, &copies, 0));
                }
                let is_silent = found.is_empty();
                for mut finding in found {
                    finding.seed = None;
                    if known.insert(finding.key()) {
                        let schedule = schedule.clone();
                        exploration.found.push(Found { finding, schedule });
                    }
                }
                match outcome {
                    Ok(Ok(_)) => {}
                    // The kernel's, and among the findings.
                    Ok(Err(Error::Fault(_) | Error::ContextLost { .. } | Error::Panic(_))) if !is_silent => {}
                    Ok(Err(error)) => return Err(error),
                    Err(panic) => {
                        eprintln!("{}", told(&schedule));
                        resume_unwind(panic);
                    }
                }
            }
            if replay.is_some() {
                exploration.limits = vec![format!("{REPLAY} asks for one order")];
                return Ok(exploration);
            }
            if !has_more {
                return Ok(exploration);
            }
        }
    }
}

/// A finding, and the first order that showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The findings.
    pub finding: Finding,
    /// Where it was.
    pub schedule: Schedule,
}

/// The result of [`Checks::explore`].
#[must_use = "what was found is in here: `assert_complete` fails a test if there is anything"]
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Exploration {
    orders: u64,
    redundant: u64,
    limits: Vec<String>,
    found: Vec<Found>,
}

impl Exploration {
    /// Orders that were run to their end. No two of them are equivalent.
    pub fn orders(&self) -> u64 {
        self.orders
    }

    /// Orders that were begun and left, because they turned out to be equivalent to others.
    pub fn redundant(&self) -> u64 {
        self.redundant
    }

    /// Whether all orders were run.
    pub fn is_complete(&self) -> bool {
        self.limits.is_empty()
    }

    /// Why not all orders were run, if so.
    pub fn limits(&self) -> &[String] {
        &self.limits
    }

    /// The findings, without duplicates.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Fails a test if not all orders were run, or if there is anything but information in any of them.
    ///
    /// # Panics
    /// With the whole report, if so.
    #[track_caller]
    pub fn assert_complete(&self) {
        let mut found = self.found.iter();
        let is_right = found.all(|found| found.finding.severity == Severity::Info);
        assert!(is_right && self.is_complete(), "{self}");
    }
}

/// An operation of an order.
fn step(side: &Side) -> String {
    let ([x, y, z], [bx, by, bz]) = (side.thread, side.block);
    let who = match side.threads {
        0 => format!("in block ({bx}, {by}, {bz})"),
        1 => format!("thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz})"),
        many => format!("thread ({x}, {y}, {z}) of block ({bx}, {by}, {bz}) and {} more of its warp", many - 1),
    };
    match side.line() {
        ("", _) => format!("{who}: {}", side.action),
        (file, line) => format!("{who}: {} at {file}:{line}", side.action),
    }
}

/// An order as text.
fn told(schedule: &Schedule) -> String {
    let mut text = String::from("the operations of this order:");
    let left_out = schedule.steps.len().saturating_sub(SHOWN);
    if left_out > 0 {
        // Writing to a string does not fail.
        let _ = write!(text, "\n      ({left_out} before these)");
    }
    for (number, side) in schedule.steps.iter().enumerate().skip(left_out) {
        let _ = write!(text, "\n  {number:4}. {}", step(side));
    }
    let _ = write!(text, "\nto run it again: {REPLAY}={}", schedule.replay);
    text
}

impl fmt::Display for Exploration {
    /// All reports with their orders, and how far the exploration went.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Found { finding, schedule } in &self.found {
            writeln!(f, "{finding}\n{}\n", told(schedule))?;
        }
        let orders = counted(self.orders, "order");
        let found: Tally = self.found.iter().map(|found| found.finding.severity).collect();
        if self.is_complete() {
            return write!(f, "{found}; complete: {orders}");
        }
        write!(f, "{found}; not complete, {orders}: {}", self.limits.join("; "))
    }
}

impl fmt::Debug for Exploration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
