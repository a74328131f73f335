//! Mixed work in many threads for a given time: launches, copies, streams, graphs, allocations, kernels that panic, resets of a second
//! device. At the end the process has what it had after the first minute.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rumba::{Device, Result};
use rumba_driver::fault;

use crate::scenarios::SCENARIOS;
use crate::{Scenario, World};

/// Scenarios that concern others of the process: they lose the context, watch all threads, or reset a device.
const ALONE: [&str; 6] = [
    "launches::a_fault",
    "modules::checked",
    "modules::in_all_orders",
    "modules::profiled_in_threads",
    "devices::reset",
    "memory::too_much",
];

/// The resources of a process at a moment.
#[derive(Debug, Clone)]
pub struct State {
    /// Bytes of memory that are resident.
    pub resident: u64,
    /// Open files.
    pub files: usize,
    /// Threads.
    pub threads: usize,
    /// Objects of the software device, by kind.
    pub objects: Vec<(String, u64)>,
}

impl State {
    fn now() -> Self {
        let count = |folder| std::fs::read_dir(folder).map_or(0, Iterator::count);
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let pages: u64 = statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
        Self {
            resident: pages * 4096,
            files: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            objects: fault::objects(),
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} MiB resident, {} files, {} threads", self.resident >> 20, self.files, self.threads)?;
        let objects = self.objects.iter().filter(|(_, count)| *count > 0);
        let objects: Vec<String> = objects.map(|(kind, count)| format!("{kind} {count}")).collect();
        write!(f, "; {}", objects.join(", "))
    }
}

/// The result of a soak.
#[derive(Debug, Clone)]
pub struct Soaked {
    /// Runs of scenarios, by name.
    pub runs: BTreeMap<&'static str, u64>,
    /// Errors and panics.
    pub failures: Vec<String>,
    /// After the first part, with nothing in progress.
    pub early: State,
    /// At the end.
    pub late: State,
}

impl Soaked {
    /// The resources that grew between the beginning and the end.
    pub fn grown(&self) -> Option<String> {
        let mut grown = String::new();
        // Allocators and the caches of compiled kernels settle for a while.
        if self.late.resident > self.early.resident + self.early.resident / 10 + (64 << 20) {
            let _ = write!(grown, "resident memory from {} to {} bytes; ", self.early.resident, self.late.resident);
        }
        if self.late.files > self.early.files {
            let _ = write!(grown, "open files from {} to {}; ", self.early.files, self.late.files);
        }
        for ((kind, late), (_, early)) in self.late.objects.iter().zip(&self.early.objects) {
            // Contexts keep some memory of launches with host slices, of sizes that come by chance.
            let chance = match kind.as_str() {
                "allocation" => 100,
                kind if kind.contains("byte") => 16 << 20,
                _ => 0,
            };
            if *late > early + chance {
                let _ = write!(grown, "{kind} from {early} to {late}; ");
            }
        }
        (!grown.is_empty()).then_some(grown)
    }
}

/// Lets `threads` threads run scenarios at random for `time`, of which `first` passes before the process is looked at for the first
/// time. `told` is called now and then with the time that has passed and the number of runs.
///
/// # Errors
/// If there is no device.
pub fn soak(
    threads: usize,
    time: Duration,
    first: Duration,
    mut told: impl FnMut(Duration, u64, &State),
) -> Result<Soaked> {
    let world = Arc::new(World { device: Device::new()? });
    // The contexts of the other devices would end with their last users: they are kept, as the first one's.
    let devices = Device::all()?;
    let is_gpu = rumba_driver::device_kind() == Ok(rumba_driver::DeviceKind::Nvidia);
    let mixed: Vec<Scenario> =
        SCENARIOS.iter().copied().filter(|one| !ALONE.contains(&one.name) && (one.on_gpu || !is_gpu)).collect();
    // The first run of a scenario makes what contexts and the process keep.
    let mut failures = Vec::new();
    let mut runs: BTreeMap<&'static str, u64> = BTreeMap::new();
    for scenario in &mixed {
        if let Err(error) = (scenario.run)(&world) {
            failures.push(format!("{}: {error}", scenario.name));
        }
    }
    let begin = Instant::now();
    let mut early = None;
    while failures.len() < 10 && (early.is_none() || begin.elapsed() < time) {
        // In parts, between which nothing is in progress.
        let part = match early {
            None => first,
            Some(_) => (time.saturating_sub(begin.elapsed())).min(Duration::from_secs(60)),
        };
        let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
        let (end, seed) = (Instant::now() + part, begin.elapsed().as_nanos() as u64);
        let results: Vec<(BTreeMap<&'static str, u64>, Vec<String>)> = std::thread::scope(|scope| {
            let work = |number: u64| {
                let mut random = fastrand::Rng::with_seed(seed.wrapping_add(number));
                let (mut runs, mut failures) = (BTreeMap::new(), Vec::new());
                while Instant::now() < end && !stop.load(Ordering::Relaxed) {
                    let scenario = mixed[random.usize(..mixed.len())];
                    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (scenario.run)(&world)));
                    *runs.entry(scenario.name).or_default() += 1;
                    count.fetch_add(1, Ordering::Relaxed);
                    match outcome {
                        Ok(Ok(())) => continue,
                        Ok(Err(error)) => failures.push(format!("{}: {error}", scenario.name)),
                        Err(_) => failures.push(format!("{}: a panic", scenario.name)),
                    }
                    if failures.len() >= 10 {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                (runs, failures)
            };
            let threads: Vec<_> = (0..threads as u64).map(|number| scope.spawn(move || work(number))).collect();
            threads.into_iter().map(|thread| thread.join().expect("panics are caught")).collect()
        });
        for (part, failed) in results {
            part.into_iter().for_each(|(name, count)| *runs.entry(name).or_default() += count);
            failures.extend(failed);
        }
        world.device.synchronize()?;
        let state = settled(early.as_ref());
        told(begin.elapsed(), runs.values().sum(), &state);
        early.get_or_insert(state);
    }
    let late = settled(early.as_ref());
    drop(devices);
    Ok(Soaked { runs, failures, early: early.unwrap_or_else(State::now), late })
}

/// The state once threads of the runtime have given back what they were handed.
fn settled(early: Option<&State>) -> State {
    let begin = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let state = State::now();
        let is_more =
            early.is_some_and(|early| state.objects.iter().zip(&early.objects).any(|(now, before)| now.1 > before.1));
        let waited = if early.is_none() { Duration::from_millis(500) } else { Duration::from_secs(5) };
        if begin.elapsed() >= waited || early.is_some() && !is_more {
            return state;
        }
    }
}
