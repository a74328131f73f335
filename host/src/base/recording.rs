//! Recording: what the runtime reports while a profile is taken, and reading it out at the end.
//!
//! A recording hears of what its own thread does, of what threads of this library do for that thread, and, if it was asked
//! to, of all threads. A thread reports to the recording that it belongs to and to the one of all threads. While no profile
//! is taken, a report costs one relaxed load.
//!
//! Work on a device is put between two events of its stream; the events are read when the profile ends, so that nothing
//! waits meanwhile. Work on a graph that is being captured is not recorded, since it does not run.

use crate::base::activity::{Activity, HostCall, Operation, RangeSpan};
use crate::base::error::{Code, answer};
use crate::cuda::Stream;
use crate::cuda::sys;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How many recordings are in progress.
static IN_PROGRESS: AtomicUsize = AtomicUsize::new(0);
/// Recordings in progress, each known to its profile as well.
static RECORDINGS: Mutex<Vec<Recorder>> = Mutex::new(Vec::new());
/// Launches, copies and fills of threads that belonged to no recording, made while there was one.
static UNHEARD: AtomicU64 = AtomicU64::new(0);
/// The default stream of each context, by its handle.
static DEFAULT_STREAMS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

thread_local! {
    /// The recording that this thread belongs to.
    static OWN: RefCell<Option<Recorder>> = const { RefCell::new(None) };
}

/// The threads whose work is recorded.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Scope {
    /// A recording of the thread that takes the profile, and of threads that work for it.
    Thread,
    /// A recording of all threads.
    Process,
}

/// A handle to a recording for the threads that report to it. After the end of the recording nothing is added.
#[derive(Clone)]
pub(crate) struct Recorder(Arc<Shared>);

struct Shared {
    scope: Scope,
    started: Instant,
    /// [`UNHEARD`] at the start.
    unheard: u64,
    /// None once it has ended.
    recording: Mutex<Option<Recording>>,
}

/// The recorded activities so far.
#[derive(Default)]
struct Recording {
    clocks: BTreeMap<usize, Clock>,
    activities: Vec<Recorded>,
    calls: Vec<HostCall>,
    ranges: Vec<RangeSpan>,
    /// Launches, copies and fills that no time is known of: the driver refused an event.
    untimed: u64,
}

/// The conversion of a context's time to the host's clock. Keeps the context alive, and with it the events.
struct Clock {
    context: sys::CUcontext,
    device: sys::CUdevice,
    event: sys::CUevent,
    /// Just before the event happened.
    at: Duration,
}

struct Recorded {
    context: usize,
    stream: usize,
    is_default: bool,
    what: Operation,
    before: sys::CUevent,
    after: sys::CUevent,
}

// SAFETY: events and contexts are names that the driver looks up; its calls may be made from any thread.
unsafe impl Send for Recording {}

/// The state of a recording.
pub(crate) struct Finished {
    pub(crate) wall: Duration,
    pub(crate) activities: Vec<Activity>,
    pub(crate) calls: Vec<HostCall>,
    pub(crate) ranges: Vec<RangeSpan>,
    /// Launches, copies and fills of other threads, which are not in it.
    pub(crate) unheard: u64,
    /// Launches, copies and fills that are not in it because no time is known of them.
    pub(crate) untimed: u64,
}

/// Whether any profile is being taken.
#[inline]
fn is_on() -> bool {
    IN_PROGRESS.load(Ordering::Relaxed) > 0
}

/// Whether a profile is being taken that hears of what this thread does.
#[inline]
pub(crate) fn is_heard() -> bool {
    is_on() && !listeners().is_empty()
}

/// Puts work on a stream, or on the null stream; `what` describes it and is called only while a profile is taken. The context
/// is current.
#[inline]
pub(crate) fn on_stream<T, E>(
    stream: Option<&Stream>,
    what: impl FnOnce() -> Operation,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    if is_on() { record_on_stream(stream, what(), work) } else { work() }
}

/// Makes a call of the driver that only the host sees, such as an allocation or a wait.
#[inline]
pub(crate) fn on_host<T>(name: &'static str, call: impl FnOnce() -> T) -> T {
    if is_on() { record_on_host(name, call) } else { call() }
}

/// Remembers the stream of work that names none, so that it can be called by that name.
pub(crate) fn is_default_stream(stream: sys::CUstream) {
    DEFAULT_STREAMS.lock().push(stream.addr());
}

/// Its handle may become another stream's from here on.
pub(crate) fn was_default_stream(stream: sys::CUstream) {
    let mut known = DEFAULT_STREAMS.lock();
    if let Some(index) = known.iter().position(|&known| known == stream.addr()) {
        known.swap_remove(index);
    }
}

/// Notes a range of the program that has ended.
pub(crate) fn range(name: &str, from: Instant, to: Instant) {
    for recorder in listeners() {
        recorder.with(|recording| {
            let started = recorder.0.started;
            let span = RangeSpan {
                name: name.to_owned(),
                thread: thread(),
                start: from.saturating_duration_since(started),
                duration: to.saturating_duration_since(from.max(started)),
            };
            recording.ranges.push(span);
        });
    }
}

/// The recording that this thread belongs to, for a thread that is about to work for it.
pub(crate) fn own() -> Option<Recorder> {
    if is_on() { belongs_to() } else { None }
}

fn belongs_to() -> Option<Recorder> {
    // Work that a thread drops at its very end belongs to no recording.
    OWN.try_with(|own| own.borrow().clone()).ok().flatten()
}

/// Does work that belongs to the recording of another thread.
pub(crate) fn within<T>(recorder: Option<Recorder>, work: impl FnOnce() -> T) -> T {
    /// Gives the thread back what it belonged to, also after a panic.
    struct Back(Option<Recorder>);
    impl Drop for Back {
        fn drop(&mut self) {
            OWN.set(self.0.take());
        }
    }

    let Some(recorder) = recorder else { return work() };
    let _back = Back(OWN.replace(Some(recorder)));
    work()
}

/// Drops what was recorded on a device whose context is about to be destroyed, with the events in it.
pub(crate) fn forget(ordinal: u32) {
    let recorders = RECORDINGS.lock().clone();
    for recorder in recorders {
        recorder.with(|recording| {
            let gone: Vec<usize> = recording
                .clocks
                .iter()
                .filter(|(_, clock)| clock.ordinal() == ordinal)
                .map(|(context, _)| *context)
                .collect();
            for context in gone {
                if let Some(clock) = recording.clocks.remove(&context) {
                    clock.release();
                }
                recording.activities.retain(|recorded| recorded.context != context);
            }
        });
    }
}

/// The recordings that this thread reports to.
fn listeners() -> SmallVec<[Recorder; 2]> {
    let all = RECORDINGS.lock();
    let all = all.iter().filter(|recorder| recorder.0.scope == Scope::Process);
    belongs_to().into_iter().chain(all.cloned()).collect()
}

#[cold]
fn record_on_stream<T, E>(
    stream: Option<&Stream>,
    what: Operation,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let stream = stream.map_or(std::ptr::null_mut(), Stream::raw);
    // SAFETY: the stream is borrowed, or the null stream.
    let captured = unsafe { is_captured(stream) };
    if captured != Ok(false) {
        let result = record_on_host(what.call(), work);
        if captured.is_err() && result.is_ok() {
            for recorder in listeners() {
                recorder.with(|recording| recording.untimed += 1);
            }
        }
        return result;
    }
    if belongs_to().is_none() {
        UNHEARD.fetch_add(1, Ordering::Relaxed);
    }
    let begun: SmallVec<[_; 2]> = listeners()
        .into_iter()
        .filter_map(|recorder| {
            // SAFETY: as above.
            let marked = recorder.clock().and_then(|context| Some((context, unsafe { mark(stream) }.ok()?)));
            match marked {
                Some((context, before)) => Some((recorder, context, before)),
                None => {
                    recorder.with(|recording| recording.untimed += 1);
                    None
                }
            }
        })
        .collect();
    let result = record_on_host(what.call(), work);
    for (recorder, context, before) in begun.into_iter().rev() {
        let after = match &result {
            // SAFETY: as above.
            Ok(_) => unsafe { mark(stream) }.ok(),
            Err(_) => None,
        };
        let Some(after) = after else {
            // SAFETY: made above, and noted nowhere.
            unsafe { destroy(before) };
            recorder.with(|recording| recording.untimed += u64::from(result.is_ok()));
            continue;
        };
        let recorded = Recorded {
            context,
            stream: stream.addr(),
            is_default: DEFAULT_STREAMS.lock().contains(&stream.addr()),
            what: what.clone(),
            before,
            after,
        };
        recorder.with(|recording| recording.activities.push(recorded));
    }
    result
}

#[cold]
fn record_on_host<T>(name: &'static str, call: impl FnOnce() -> T) -> T {
    let from = Instant::now();
    let result = call();
    let duration = from.elapsed();
    for recorder in listeners() {
        recorder.with(|recording| {
            let call = HostCall {
                name,
                thread: thread(),
                start: from.saturating_duration_since(recorder.0.started),
                duration,
            };
            recording.calls.push(call);
        });
    }
    result
}

/// A small number for the calling thread.
fn thread() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local! { static OWN: Cell<u32> = const { Cell::new(0) } }
    if OWN.get() == 0 {
        OWN.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    OWN.get()
}

/// Whether what is put on the stream does not run, but becomes a part of a graph.
///
/// # Safety
/// The stream is alive, or null.
unsafe fn is_captured(stream: sys::CUstream) -> Result<bool, Code> {
    let mut capture = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the caller's promise; the place is valid. The work itself finds out what is wrong.
    answer(unsafe { sys::cuStreamIsCapturing(stream, &mut capture) })?;
    Ok(capture != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}

impl Recorder {
    fn with(&self, note: impl FnOnce(&mut Recording)) {
        if let Some(recording) = &mut *self.0.recording.lock() {
            note(recording);
        }
    }

    /// The current context, with a clock. None: the recording is over, or something is wrong, which the work itself will
    /// find out.
    fn clock(&self) -> Option<usize> {
        let mut context = std::ptr::null_mut();
        // SAFETY: a valid place.
        answer(unsafe { sys::cuCtxGetCurrent(&mut context) }).ok()?;
        let mut recording = self.0.recording.lock();
        let clocks = &mut recording.as_mut()?.clocks;
        if let Entry::Vacant(place) = clocks.entry(context.addr()) {
            place.insert(Clock::new(self.0.started).ok()?);
        }
        Some(context.addr())
    }

    /// Begins a recording, to which this thread belongs if it is that of a thread.
    pub(crate) fn start(scope: Scope) -> Recorder {
        let recorder = Recorder(Arc::new(Shared {
            scope,
            started: Instant::now(),
            unheard: UNHEARD.load(Ordering::Relaxed),
            recording: Mutex::new(Some(Recording::default())),
        }));
        if scope == Scope::Thread {
            OWN.set(Some(recorder.clone()));
        }
        RECORDINGS.lock().push(recorder.clone());
        if IN_PROGRESS.fetch_add(1, Ordering::Relaxed) == 0 {
            // SAFETY: takes nothing. It tells NVIDIA's profilers where to begin; without them it does nothing, and without
            // a context it is refused, which does not matter.
            let _ = unsafe { sys::cuProfilerStart() };
        }
        recorder
    }

    /// Ends the recording, on the thread that began it: waits for what was recorded, and reads the times. None: it has
    /// ended already.
    pub(crate) fn finish(&self) -> Option<Finished> {
        let recording = self.0.recording.lock().take()?;
        RECORDINGS.lock().retain(|other| !Arc::ptr_eq(&other.0, &self.0));
        if self.0.scope == Scope::Thread {
            OWN.set(None);
        }
        if IN_PROGRESS.fetch_sub(1, Ordering::Relaxed) == 1 {
            // SAFETY: as for its counterpart.
            let _ = unsafe { sys::cuProfilerStop() };
        }
        let mut own = std::ptr::null_mut();
        // SAFETY: a valid place.
        let has_own = answer(unsafe { sys::cuCtxGetCurrent(&mut own) }).is_ok();
        for clock in recording.clocks.values() {
            clock.wait(&recording.activities);
        }
        let wall = self.0.started.elapsed();
        let (mut activities, mut untimed) = (Vec::new(), recording.untimed);
        for recorded in &recording.activities {
            let clock = recording.clocks.get(&recorded.context);
            match clock.and_then(|clock| recorded.times(clock).ok()) {
                Some((start, duration)) => activities.push(Activity {
                    operation: recorded.what.clone(),
                    device: clock.map_or(0, Clock::ordinal),
                    stream: recorded.stream,
                    is_default: recorded.is_default,
                    // Events are read with seven digits.
                    start: start.min(wall.saturating_sub(duration)),
                    duration,
                }),
                None => untimed += 1,
            }
            // SAFETY: made by `mark`, and the recording ends here.
            unsafe {
                destroy(recorded.before);
                destroy(recorded.after);
            }
        }
        for clock in recording.clocks.values() {
            // SAFETY: as above.
            unsafe { destroy(clock.event) };
            clock.release();
        }
        if has_own {
            // SAFETY: the context was current before, and its owner keeps it alive. An error shows at the next call.
            let _ = unsafe { sys::cuCtxSetCurrent(own) };
        }
        activities.sort_by_key(|activity| activity.start);
        Some(Finished {
            wall,
            activities,
            calls: recording.calls,
            ranges: recording.ranges,
            unheard: match self.0.scope {
                Scope::Thread => UNHEARD.load(Ordering::Relaxed) - self.0.unheard,
                Scope::Process => 0,
            },
            untimed,
        })
    }
}

impl Recorded {
    /// When it began and how long it took.
    fn times(&self, clock: &Clock) -> Result<(Duration, Duration), Code> {
        // SAFETY: all three were made by `mark` in the context that the clock keeps, and live as long as the recording.
        let (start, duration) = unsafe { (between(clock.event, self.before)?, between(self.before, self.after)?) };
        Ok((clock.at + start, duration))
    }
}

impl Clock {
    /// The clock of the current context. Its event is on its own stream, so work of other threads is not waited for.
    fn new(started: Instant) -> Result<Clock, Code> {
        const NON_BLOCKING: u32 = sys::CU_STREAM_NON_BLOCKING;
        let (mut device, mut context, mut stream) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: all pointers are valid; `release` releases everything retained here.
        unsafe {
            answer(sys::cuCtxGetDevice(&mut device))?;
            answer(sys::cuStreamCreate(&mut stream, NON_BLOCKING))?;
        }
        let at = started.elapsed();
        // SAFETY: event and stream were made just now, in the current context; destroyed once.
        let event = unsafe {
            let event = mark(stream);
            let event = event.and_then(|event| {
                let waited = answer(sys::cuEventSynchronize(event)).inspect_err(|_| destroy(event));
                waited.map(|()| event)
            });
            let _ = sys::cuStreamDestroy_v2(stream);
            event?
        };
        // SAFETY: as above.
        unsafe {
            answer(sys::cuDevicePrimaryCtxRetain(&mut context, device)).inspect_err(|_| destroy(event))?;
        }
        Ok(Clock { context, device, event, at })
    }

    fn ordinal(&self) -> u32 {
        u32::try_from(self.device).unwrap_or(0)
    }

    /// Waits for what was recorded in its context, which becomes current. An event of a stream that failed has no time.
    fn wait(&self, activities: &[Recorded]) {
        // SAFETY: the clock keeps the context alive.
        let _ = unsafe { sys::cuCtxSetCurrent(self.context) };
        let mut streams = BTreeSet::new();
        let own = activities.iter().rev().filter(|recorded| recorded.context == self.context.addr());
        for last in own.filter(|recorded| streams.insert(recorded.stream)) {
            // SAFETY: the event was made by `mark` in this context.
            let _ = unsafe { sys::cuEventSynchronize(last.after) };
        }
    }

    /// Releases the context, in which the recording uses nothing any more.
    fn release(&self) {
        // SAFETY: retained by `Clock::new`, released once.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Records a new event on a stream of the current context.
///
/// # Safety
/// The stream is alive, or null.
unsafe fn mark(stream: sys::CUstream) -> Result<sys::CUevent, Code> {
    let mut event = std::ptr::null_mut();
    // SAFETY: the context is current, `event` a valid place; the caller's promise.
    unsafe {
        answer(sys::cuEventCreate(&mut event, 0))?;
        answer(sys::cuEventRecord(event, stream)).inspect_err(|_| destroy(event))?;
    }
    Ok(event)
}

/// # Safety
/// The event was made by [`mark`], is destroyed once, and not used afterwards.
unsafe fn destroy(event: sys::CUevent) {
    // SAFETY: the caller's promise. An error is a fault that later calls report.
    let _ = unsafe { sys::cuEventDestroy_v2(event) };
}

/// # Safety
/// Both events are alive.
unsafe fn between(from: sys::CUevent, to: sys::CUevent) -> Result<Duration, Code> {
    let mut milliseconds = 0.0_f32;
    // SAFETY: the caller's promise; the place is valid.
    answer(unsafe { sys::cuEventElapsedTime(&mut milliseconds, from, to) })?;
    Ok(Duration::from_secs_f64(f64::from(milliseconds).max(0.0) / 1e3))
}

/// The names of streams: numbered by their first work; default streams have that name.
pub(crate) fn stream_names(activities: &[Activity]) -> BTreeMap<(u32, usize), String> {
    let (mut names, mut next) = (BTreeMap::new(), BTreeMap::<u32, u32>::new());
    for activity in activities {
        let key = (activity.device, activity.stream);
        if names.contains_key(&key) {
            continue;
        }
        let name = match activity.stream {
            0 => "null stream (plain copies)".to_owned(),
            _ if activity.is_default => "default stream".to_owned(),
            _ => {
                let number = next.entry(activity.device).or_default();
                *number += 1;
                format!("stream {number}")
            }
        };
        names.insert(key, name);
    }
    names
}
