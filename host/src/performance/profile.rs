//! Profiles: what ran on the devices while a part of a program did, when, for how long, and how well.
//!
//! [`profile`] takes one of a closure: of what its thread does, whatever others do meanwhile. Kernels and copies are timed by events on their streams, calls of the driver on the
//! host's clock. What a kernel does inside is the business of `cargo rumba profile`, which counts on the software device,
//! and of NVIDIA's profilers; ranges of [`crate::nvtx::range`] show there as well. With the variable `RUMBA_PROFILE`, the runtime takes
//! a profile of the whole process, without a change of the program.

#[cfg(feature = "report")]
mod counts;
#[cfg(feature = "report")]
mod page;
pub(crate) mod process;
#[cfg(feature = "report")]
mod roofline;
mod table;
#[cfg(feature = "report")]
mod trace;

pub use crate::base::activity::{Activity, HostCall, Launched, Operation, RangeSpan};

use crate::base::error::{Error, Result};
use crate::base::recording::{self, Recorder, Scope};
use crate::context::limits::Limits;
use crate::performance::capacity::{Bus, Capacity};
use crate::performance::estimate::Cost;
use crate::performance::hints;
use crate::performance::hints::Hint;
use crate::performance::occupancy::Occupancy;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::time::Duration;

/// Runs `program` and says what ran on the devices for it.
///
/// The profile has what `program` does on its own thread, in callbacks that it adds to streams and in the parts of
/// [`split`](crate::split()), and nothing else: several threads may take profiles at the same time, of one device too. Work of
/// threads that `program` starts by itself is in the profile of [`Profiler::start_for_all_threads`]; this one counts it, and
/// says so when it is printed.
///
/// Between its events a kernel takes a few microseconds longer than alone, and programs that launch very many small
/// kernels run slower while they are profiled. What other threads run on the device at the same time makes it slower too.
///
/// # Errors
/// [`Error::NestedProfile`] within a program that is being profiled. The result of `program` is returned unchanged.
///
/// # Examples
/// ```
/// # use rumba::test_kernels::{PTX, scale};
/// let module = rumba::Device::new()?.load(PTX)?;
/// let mut values = vec![1.0_f32; 100_000];
/// let (result, profile) = rumba::profile(|| {
///     let _phase = rumba::nvtx::range("double twice");
///     module.for_each(values.len(), scale(2.0, &mut values))?;
///     module.for_each(values.len(), scale(2.0, &mut values))
/// })?;
/// result?;
///
/// let [row] = &profile.kernels()[..] else { panic!("one kernel") };
/// assert_eq!((row.name.as_str(), row.calls), ("scale", 2));
/// assert_eq!(profile.copies()[0].bytes, Some(2 * 400_000));
/// println!("{profile}");
/// # Ok::<(), rumba::Error>(())
/// ```
pub fn profile<T>(program: impl FnOnce() -> T) -> Result<(T, Profile)> {
    let profiler = Profiler::start()?;
    let result = program();
    Ok((result, profiler.finish()))
}

thread_local! {
    static PROFILING: Cell<bool> = const { Cell::new(false) };
}

/// A profile that is being taken, where a closure does not fit: see [`profile`].
#[must_use = "a profile ends when this is dropped"]
pub struct Profiler {
    recorder: Recorder,
    /// Not `Send`: a profile ends on the thread that began it.
    thread: PhantomData<*const ()>,
}

impl Profiler {
    /// Begins a profile of this thread's work, as [`profile`] does.
    ///
    /// # Errors
    /// [`Error::NestedProfile`] if this thread is taking one.
    pub fn start() -> Result<Profiler> {
        Profiler::of(Scope::Thread)
    }

    /// Begins a profile of what all threads of the process do.
    ///
    /// # Errors
    /// [`Error::NestedProfile`] if this thread is taking a profile.
    ///
    /// # Examples
    /// ```
    /// # use rumba::test_kernels::{PTX, scale};
    /// let module = rumba::Device::new()?.load(PTX)?;
    /// let profiler = rumba::Profiler::start_for_all_threads()?;
    /// std::thread::scope(|scope| {
    ///     for _ in 0..4 {
    ///         scope.spawn(|| module.for_each(1000, scale(2.0, &mut [1.0; 1000])));
    ///     }
    /// });
    /// let profile = profiler.finish();
    /// assert_eq!(profile.kernels()[0].calls, 4);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn start_for_all_threads() -> Result<Profiler> {
        Profiler::of(Scope::Process)
    }

    fn of(scope: Scope) -> Result<Profiler> {
        if PROFILING.replace(true) {
            return Err(Error::NestedProfile);
        }
        Ok(Profiler { recorder: Recorder::start(scope), thread: PhantomData })
    }

    /// Waits for what was recorded and ends the profile.
    pub fn finish(self) -> Profile {
        self.recorder.finish().map(Profile::new).unwrap_or_default()
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        // Without `finish` after a panic, or because the profile is not wanted any more.
        drop(self.recorder.finish());
        PROFILING.set(false);
    }
}

/// The activities and their times: the result of [`profile`]. Prints as tables.
///
/// [`Profile::kernels`] and [`Profile::copies`] sum it up; [`Profile::activities`] has each launch and copy by itself.
/// With the feature `report`, `Profile::save` writes a page with a timeline, and a trace for a browser's viewer.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    wall: Duration,
    devices: Vec<ProfiledDevice>,
    activities: Vec<Activity>,
    stream_names: BTreeMap<(u32, usize), String>,
    calls: Vec<HostCall>,
    ranges: Vec<RangeSpan>,
    /// Launches and copies of other threads, which are in no profile.
    unheard: u64,
    /// Launches and copies that are not in the profile because the driver gave no events for their times.
    untimed: u64,
    costs: BTreeMap<String, Cost>,
}

/// A device that something ran on.
#[derive(Clone, Debug)]
struct ProfiledDevice {
    ordinal: u32,
    capacity: Capacity,
    limits: Limits,
}

/// All launches of a kernel, or all copies of a kind, on one device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// The kernel, or the kind of copy.
    pub name: String,
    /// The number of the device.
    pub device: u32,
    /// How many there were.
    pub calls: u64,
    /// How long all took together.
    pub total: Duration,
    /// The shortest.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
    /// Bytes moved: those of copies, and those that the kernel's [`Cost`] has, if it was stated or counted.
    pub bytes: Option<u64>,
    /// Floating-point operations, if they were stated or counted.
    pub flops: Option<u64>,
    /// Bytes per second that the device could move at best: of its memory, or of the bus for copies from and to the host.
    pub peak: Option<f64>,
    /// The last launch: the kernel's registers and shared memory, its occupancy, and possible reasons why it was slow.
    pub launch: Option<LaunchProperties>,
}

/// The details of a launch besides its time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LaunchProperties {
    /// The launch.
    pub launched: Launched,
    /// How full it keeps a multiprocessor.
    pub occupancy: Occupancy,
    /// Possible reasons for its slowness.
    pub hints: Vec<Hint>,
}

impl Row {
    /// How long one took on average.
    pub fn mean(&self) -> Duration {
        self.total.div_f64(self.calls.max(1) as f64)
    }

    /// Bytes per second.
    pub fn rate(&self) -> Option<f64> {
        let seconds = self.total.as_secs_f64();
        self.bytes.filter(|_| seconds > 0.0).map(|bytes| bytes as f64 / seconds)
    }

    /// The share of the peak that [`Row::rate`] is, from 0 to 1; beyond 1 where caches serve what was counted.
    pub fn of_peak(&self) -> Option<f64> {
        Some(self.rate()? / self.peak?)
    }
}

impl Profile {
    fn new(finished: recording::Finished) -> Profile {
        let stream_names = recording::stream_names(&finished.activities);
        let mut ordinals: Vec<u32> = finished.activities.iter().map(|activity| activity.device).collect();
        ordinals.sort_unstable();
        ordinals.dedup();
        let devices = ordinals.into_iter().filter_map(|ordinal| {
            let raw = crate::cuda::Device::get(ordinal).ok()?;
            Some(ProfiledDevice { ordinal, capacity: Capacity::of_raw(raw).ok()?, limits: Limits::of(raw).ok()? })
        });
        Profile {
            wall: finished.wall,
            devices: devices.collect(),
            stream_names,
            activities: finished.activities,
            calls: finished.calls,
            ranges: finished.ranges,
            unheard: finished.unheard,
            untimed: finished.untimed,
            costs: BTreeMap::new(),
        }
    }

    /// From the start of the profile to the moment when all work was done.
    pub fn wall(&self) -> Duration {
        self.wall
    }

    /// Everything that devices did, by the time when it began.
    pub fn activities(&self) -> &[Activity] {
        &self.activities
    }

    /// The calls of the driver that took the host's time.
    pub fn calls(&self) -> &[HostCall] {
        &self.calls
    }

    /// The ranges that were given names.
    pub fn ranges(&self) -> &[RangeSpan] {
        &self.ranges
    }

    /// The name of an activity's stream: "default stream", "stream 2".
    pub fn stream(&self, activity: &Activity) -> &str {
        let name = self.stream_names.get(&(activity.device, activity.stream));
        name.map_or("stream", String::as_str)
    }

    /// States what one launch of a kernel costs, for its GB/s and for the roofline.
    pub fn set_cost(&mut self, kernel: &str, cost: Cost) {
        self.costs.insert(kernel.to_owned(), cost);
    }

    /// The stated cost of one launch of a kernel.
    pub fn cost(&self, kernel: &str) -> Option<Cost> {
        self.costs.get(kernel).copied()
    }

    /// The kernels, those first that took longest.
    pub fn kernels(&self) -> Vec<Row> {
        self.rows(|operation| matches!(operation, Operation::Kernel(_) | Operation::Graph))
    }

    /// The kinds of copies, those first that took longest.
    pub fn copies(&self) -> Vec<Row> {
        self.rows(|operation| !matches!(operation, Operation::Kernel(_) | Operation::Graph))
    }

    /// How long at least one thing was running on a device.
    pub fn busy(&self) -> Duration {
        let (mut busy, mut until) = (Duration::ZERO, Duration::ZERO);
        for activity in &self.activities {
            let end = activity.start + activity.duration;
            busy += end.saturating_sub(until.max(activity.start));
            until = until.max(end);
        }
        busy
    }

    fn rows(&self, wanted: impl Fn(&Operation) -> bool) -> Vec<Row> {
        let mut rows = BTreeMap::<(&str, u32), Row>::new();
        for activity in self.activities.iter().filter(|activity| wanted(&activity.operation)) {
            let name = activity.operation.name();
            let device = self.devices.iter().find(|device| device.ordinal == activity.device);
            let cost = self.costs.get(name).copied();
            let row = rows.entry((name, activity.device)).or_insert_with(|| Row {
                name: name.to_owned(),
                device: activity.device,
                calls: 0,
                total: Duration::ZERO,
                min: Duration::MAX,
                max: Duration::ZERO,
                bytes: None,
                flops: None,
                peak: device.and_then(|device| device.peak(&activity.operation)),
                launch: None,
            });
            row.calls += 1;
            row.total += activity.duration;
            row.min = row.min.min(activity.duration);
            row.max = row.max.max(activity.duration);
            if let Some(bytes) = activity.operation.bytes().or(cost.map(|cost| cost.bytes)) {
                row.bytes = Some(row.bytes.unwrap_or(0) + bytes);
            }
            if let Some(cost) = cost {
                row.flops = Some(row.flops.unwrap_or(0) + cost.flops);
            }
            if let (Operation::Kernel(launched), Some(device)) = (&activity.operation, device) {
                row.launch = Some(device.properties(launched));
            }
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.total));
        rows
    }
}

impl ProfiledDevice {
    /// Bytes per second of what the operation is bound by, if it is bound by memory at all.
    fn peak(&self, operation: &Operation) -> Option<f64> {
        let memory = self.capacity.memory_bandwidth();
        match operation {
            Operation::Kernel(_) | Operation::Graph | Operation::Fill { .. } => memory,
            // Each byte is read and written.
            Operation::Copy { .. } => memory.map(|rate| rate / 2.0),
            Operation::CopyIn { .. } | Operation::CopyOut { .. } => self.capacity.bus().map(Bus::bandwidth),
        }
    }

    fn properties(&self, launched: &Launched) -> LaunchProperties {
        let occupancy = self.limits.occupancy(&launched.info, launched.block.iter().product(), launched.dynamic_shared);
        let hints =
            hints::of_launch(&self.limits, &launched.info, &occupancy, launched.blocks(), launched.dynamic_shared);
        LaunchProperties { launched: launched.clone(), occupancy, hints }
    }
}
