//! Recording: what the runtime reports while a profile is taken, and reading it out at the end.
//!
//! Work on a device is put between two events of its stream; the events are read when the profile ends, so that nothing
//! waits meanwhile. While no profile is taken, a report costs one relaxed load. What a graph that is being captured
//! would do is not recorded, since it does not run.

use super::{Activity, HostCall, Operation, RangeSpan};
use crate::error::{Code, answer};
use cust::sys;
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

static ON: AtomicBool = AtomicBool::new(false);
static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);
/// The default stream of each context, by its handle.
static DEFAULT_STREAMS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// What was recorded so far.
pub(super) struct Recording {
    started: Instant,
    clocks: BTreeMap<usize, Clock>,
    activities: Vec<Recorded>,
    calls: Vec<HostCall>,
    ranges: Vec<RangeSpan>,
}

/// How a context's time is told on the host's clock. It keeps the context alive, and with it the events.
struct Clock {
    context: sys::CUcontext,
    device: sys::CUdevice,
    event: sys::CUevent,
    /// When the event happened.
    at: Duration,
}

struct Recorded {
    context: usize,
    stream: usize,
    what: Operation,
    before: sys::CUevent,
    after: sys::CUevent,
}

// SAFETY: events and contexts are names that the driver looks up; its calls may be made from any thread.
unsafe impl Send for Recording {}

/// What a recording has become.
pub(super) struct Finished {
    pub(super) wall: Duration,
    pub(super) activities: Vec<Activity>,
    pub(super) calls: Vec<HostCall>,
    pub(super) ranges: Vec<RangeSpan>,
}

/// Whether a profile is being taken.
#[inline]
pub(crate) fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Puts work on a stream; `what` describes it and is called only while a profile is taken. The context is current.
#[inline]
pub(crate) fn on_stream<T, E>(
    stream: sys::CUstream,
    what: impl FnOnce() -> Operation,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    if is_on() {
        record_on_stream(stream, what(), work)
    } else {
        work()
    }
}

/// Makes a call of the driver that only the host sees, such as an allocation or a wait.
#[inline]
pub(crate) fn on_host<T>(name: &'static str, call: impl FnOnce() -> T) -> T {
    if is_on() { record_on_host(name, call) } else { call() }
}

/// Remembers the stream of work that names none, so that it can be called by that name.
pub(crate) fn is_default_stream(stream: sys::CUstream) {
    let mut known = DEFAULT_STREAMS.lock();
    if !known.contains(&stream.addr()) {
        known.push(stream.addr());
    }
}

/// Notes a range of the program that has ended.
pub(crate) fn range(name: String, from: Instant, to: Instant) {
    with(|recording| {
        let span = RangeSpan {
            name,
            thread: thread(),
            start: from.saturating_duration_since(recording.started),
            duration: to - from.max(recording.started),
        };
        recording.ranges.push(span);
    });
}

/// Drops what was recorded on a device whose context is about to be destroyed, with the events in it.
pub(crate) fn forget(ordinal: u32) {
    with(|recording| {
        let gone: Vec<usize> = recording
            .clocks
            .iter()
            .filter(|(_, clock)| u32::try_from(clock.device) == Ok(ordinal))
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

#[cold]
fn record_on_stream<T, E>(stream: sys::CUstream, what: Operation, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let call = what.call();
    let Some(context) = clock(stream) else {
        return record_on_host(call, work);
    };
    let before = mark(stream);
    let result = record_on_host(call, work);
    let after = mark(stream);
    if let (Ok(before), Ok(after), true) = (before, after, result.is_ok()) {
        let recorded = Recorded {
            context,
            stream: stream.addr(),
            what,
            before,
            after,
        };
        with(|recording| recording.activities.push(recorded));
    }
    result
}

#[cold]
fn record_on_host<T>(name: &'static str, call: impl FnOnce() -> T) -> T {
    let from = Instant::now();
    let result = call();
    let duration = from.elapsed();
    with(|recording| {
        let call = HostCall {
            name,
            thread: thread(),
            start: from.saturating_duration_since(recording.started),
            duration,
        };
        recording.calls.push(call);
    });
    result
}

fn with(note: impl FnOnce(&mut Recording)) {
    if let Some(recording) = &mut *RECORDING.lock() {
        note(recording);
    }
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

/// The current context, with a clock. None: the stream is being captured, or something is wrong, which the work itself
/// will find out.
fn clock(stream: sys::CUstream) -> Option<usize> {
    let mut capture = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream is alive, the place valid.
    answer(unsafe { sys::cuStreamIsCapturing(stream, &mut capture) }).ok()?;
    if capture != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE {
        return None;
    }
    let mut context = std::ptr::null_mut();
    // SAFETY: a valid place.
    answer(unsafe { sys::cuCtxGetCurrent(&mut context) }).ok()?;
    let started = {
        let recording = RECORDING.lock();
        let recording = recording.as_ref()?;
        if recording.clocks.contains_key(&context.addr()) {
            return Some(context.addr());
        }
        recording.started
    };
    let clock = Clock::new(started).ok()?;
    with(|recording| {
        recording.clocks.insert(context.addr(), clock);
    });
    Some(context.addr())
}

impl Clock {
    /// Of the current context, once it is idle.
    fn new(started: Instant) -> Result<Clock, Code> {
        let (mut device, mut context) = (0, std::ptr::null_mut());
        // SAFETY: both are valid places; what is retained is released by `release`.
        unsafe {
            answer(sys::cuCtxGetDevice(&mut device))?;
            answer(sys::cuCtxSynchronize())?;
            answer(sys::cuDevicePrimaryCtxRetain(&mut context, device))?;
        }
        let event = mark(std::ptr::null_mut())?;
        // SAFETY: the event was made just now, in the current context.
        answer(unsafe { sys::cuEventSynchronize(event) })?;
        Ok(Clock {
            context,
            device,
            event,
            at: started.elapsed(),
        })
    }

    /// Lets go of the context, in which nothing of ours is used any more.
    fn release(&self) {
        // SAFETY: retained by `Clock::new`, released once.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// Records a new event on a stream of the current context.
fn mark(stream: sys::CUstream) -> Result<sys::CUevent, Code> {
    let mut event = std::ptr::null_mut();
    // SAFETY: the context is current, `event` a valid place, the stream alive.
    unsafe {
        answer(sys::cuEventCreate(&mut event, 0))?;
        answer(sys::cuEventRecord(event, stream)).inspect_err(|_| destroy(event))?;
    }
    Ok(event)
}

fn destroy(event: sys::CUevent) {
    // SAFETY: made by `mark`, destroyed once, in its context. An error is a fault that later calls report.
    let _ = unsafe { sys::cuEventDestroy_v2(event) };
}

fn between(from: sys::CUevent, to: sys::CUevent) -> Result<Duration, Code> {
    let mut milliseconds = 0.0_f32;
    // SAFETY: both events are alive, their context is current, the place valid.
    answer(unsafe { sys::cuEventElapsedTime(&mut milliseconds, from, to) })?;
    Ok(Duration::from_secs_f64(f64::from(milliseconds).max(0.0) / 1e3))
}

/// Begins a recording. The caller sees to it that there is one at a time.
pub(super) fn start() {
    *RECORDING.lock() = Some(Recording {
        started: Instant::now(),
        clocks: BTreeMap::new(),
        activities: Vec::new(),
        calls: Vec::new(),
        ranges: Vec::new(),
    });
    // SAFETY: takes nothing. It tells NVIDIA's profilers where to begin; without them it does nothing, and without a
    // context it is refused, which does not matter.
    let _ = unsafe { sys::cuProfilerStart() };
    ON.store(true, Ordering::Relaxed);
}

/// Ends the recording: waits for the devices, and reads the times.
pub(super) fn finish() -> Option<Finished> {
    ON.store(false, Ordering::Relaxed);
    // SAFETY: as for its counterpart.
    let _ = unsafe { sys::cuProfilerStop() };
    let recording = RECORDING.lock().take()?;
    let mut own = std::ptr::null_mut();
    // SAFETY: a valid place.
    let has_own = answer(unsafe { sys::cuCtxGetCurrent(&mut own) }).is_ok();
    let mut wall = recording.started.elapsed();
    let mut activities = Vec::new();
    for (&context, clock) in &recording.clocks {
        // SAFETY: the clock keeps the context alive.
        let ready =
            unsafe { answer(sys::cuCtxSetCurrent(clock.context)).and_then(|()| answer(sys::cuCtxSynchronize())) };
        wall = recording.started.elapsed();
        let own = recording
            .activities
            .iter()
            .filter(|recorded| recorded.context == context);
        for recorded in own {
            let times = ready.and_then(|()| {
                let start = clock.at + between(clock.event, recorded.before)?;
                Ok((start, between(recorded.before, recorded.after)?))
            });
            if let Ok((start, duration)) = times {
                activities.push(Activity {
                    operation: recorded.what.clone(),
                    device: u32::try_from(clock.device).unwrap_or(0),
                    stream: recorded.stream,
                    start,
                    duration,
                });
            }
            destroy(recorded.before);
            destroy(recorded.after);
        }
        destroy(clock.event);
        clock.release();
    }
    if has_own {
        // SAFETY: it was current before, and whoever made it so keeps it alive. An error shows at the next call.
        let _ = unsafe { sys::cuCtxSetCurrent(own) };
    }
    activities.sort_by_key(|activity| activity.start);
    Some(Finished {
        wall,
        activities,
        calls: recording.calls,
        ranges: recording.ranges,
    })
}

/// What streams are called: by the order of their first work, the default ones by that name.
pub(super) fn stream_names(activities: &[Activity]) -> BTreeMap<(u32, usize), String> {
    let defaults = DEFAULT_STREAMS.lock();
    let (mut names, mut next) = (BTreeMap::new(), BTreeMap::<u32, u32>::new());
    for activity in activities {
        let key = (activity.device, activity.stream);
        if names.contains_key(&key) {
            continue;
        }
        let name = match activity.stream {
            0 => "null stream (plain copies)".to_owned(),
            stream if defaults.contains(&stream) => "default stream".to_owned(),
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
