//! Streams, events, and where in their order work is enqueued.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::abi::CUstream;
use crate::code::Code;
use crate::error::Error;
use crate::soft::capture::{self, Session};
use crate::soft::context::Owner;
use crate::soft::driver::Driver;
use crate::soft::graph::Action;
use crate::soft::machine::{HostWaits, Machine};
use crate::soft::queue::{Point, Points, Queue};
use crate::soft::work::{KernelWork, Transfer, Work};

/// A stream.
pub(crate) struct Stream {
    pub(crate) context: Owner,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    pub(crate) id: u64,
    pub(crate) queue: Arc<Queue>,
}

impl Stream {
    /// `CU_STREAM_NON_BLOCKING`.
    pub(crate) const NON_BLOCKING: u32 = 1;

    pub(crate) fn new(context: Owner, flags: u32, priority: i32, id: u64) -> Self {
        let queue = context.new_queue(flags & Self::NON_BLOCKING == 0);
        Self { context, flags, priority, id, queue }
    }
}

/// A stream as a handle names it: where work is enqueued.
pub(crate) enum AnyStream {
    /// A stream that was made.
    Stream(Arc<Stream>),
    /// The default stream of a context, with which its blocking streams keep order.
    Default(Owner),
    /// The default stream of a thread in a context.
    Thread(Owner, Arc<Queue>),
}

thread_local! {
    /// This thread's default streams, by the life of their context.
    static OWN: RefCell<HashMap<u64, Arc<Queue>>> = RefCell::default();
}

impl AnyStream {
    /// The default stream of the calling thread.
    pub(crate) fn of_thread(context: Owner) -> Result<Self, Error> {
        let queue = OWN.try_with(|own| {
            let mut own = own.borrow_mut();
            let new = || context.new_queue(true);
            Arc::clone(own.entry(context.life).or_insert_with(new))
        });
        match queue {
            Ok(queue) => Ok(Self::Thread(context, queue)),
            Err(_) => Err(Error::ThreadEnding),
        }
    }

    pub(crate) fn context(&self) -> &Owner {
        match self {
            Self::Stream(stream) => &stream.context,
            Self::Default(context) | Self::Thread(context, _) => context,
        }
    }

    pub(crate) fn queue(&self) -> &Arc<Queue> {
        match self {
            Self::Stream(stream) => &stream.queue,
            Self::Default(context) => context.default_queue(),
            Self::Thread(_, queue) => queue,
        }
    }

    /// The points that work enqueued now waits for besides its own queue: the default stream waits for all blocking
    /// streams of the context, and they for it.
    fn before(&self) -> Points {
        let context = self.context();
        match self {
            Self::Default(_) => context.blocking_work(),
            _ if self.queue().blocking => context.default_queue().unreached().into_iter().collect(),
            _ => Points::new(),
        }
    }

    /// Adds a node to the capture that the stream takes part in; `false` if it takes part in none.
    pub(crate) fn captures(&self, action: impl FnOnce() -> Action) -> Result<bool, Error> {
        if !capture::is_any() {
            return Ok(false);
        }
        if let Self::Default(context) = self {
            context.refuse_captured(true, Code::STREAM_CAPTURE_IMPLICIT)?;
        }
        capture::add(self.queue(), action)
    }

    /// Refuses a stream that is being captured, or that is ordered with a captured stream, for calls that cannot be
    /// captured.
    pub(crate) fn refuse_captured(&self) -> Result<(), Error> {
        if let Self::Default(context) = self {
            context.refuse_captured(true, Code::STREAM_CAPTURE_IMPLICIT)?;
        }
        capture::refuse(self.queue(), Code::STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Enqueues work.
    pub(crate) fn submit(&self, work: Work) -> Result<Point, Error> {
        if self.captures(|| Action::Work(work.clone()))? {
            return Ok(self.queue().end());
        }
        if let Work::Kernel(kernel) = &work
            && let machine = &Driver::get()?.machine
            && machine.compares()
        {
            return Ok(self.submit_and_wait(kernel, machine));
        }
        let quick = work.is_quick();
        Ok(self.queue().push(work, self.before(), quick))
    }

    /// Enqueues a kernel that runs on both engines. The caller waits for it, so that it does not write to memory that kernels see, such
    /// as pinned memory, which the second run has to find as the first one did. If no block ends for some time, the caller goes on: the
    /// kernel may be waiting for it, and is not compared.
    fn submit_and_wait(&self, kernel: &KernelWork, machine: &Machine) -> Point {
        let host = Arc::new(HostWaits::default());
        let kernel = KernelWork { host: Some(Arc::clone(&host)), ..kernel.clone() };
        let mut ended = machine.ended_blocks();
        let point = self.queue().push(Work::Kernel(Arc::new(kernel)), self.before(), false);
        while !point.wait_for(HostWaits::PATIENCE) {
            let now = machine.ended_blocks();
            if std::mem::replace(&mut ended, now) == now && host.go_on() {
                break;
            }
        }
        point
    }

    /// Enqueues work that the caller will wait for at once, so that it may as well do it.
    pub(crate) fn submit_now(&self, work: Work) -> Result<Point, Error> {
        if self.captures(|| Action::Work(work.clone()))? {
            return Ok(self.queue().end());
        }
        let quick = !work.needs_driver_thread();
        Ok(self.queue().push(work, self.before(), quick))
    }

    /// Makes what is enqueued later wait for a point in another queue.
    pub(crate) fn wait_for(&self, point: Point) {
        let mut before = self.before();
        before.push(point);
        self.queue().push(Work::Nothing, before, true);
    }

    /// Makes what is enqueued later wait for the last record of an event.
    pub(crate) fn wait_for_event(&self, event: &Event) -> Result<(), Error> {
        let part = capture::part(self.queue());
        match (event.last(), part) {
            (Some(Record::Captured { session, nodes }), _) if session.is_valid() => {
                if matches!(self, Self::Default(_)) {
                    session.invalidate();
                    return Err(Error::Capture(Code::STREAM_CAPTURE_IMPLICIT));
                }
                capture::join(self.queue(), &session, &nodes)
            }
            (Some(Record::Captured { .. }), _) => Err(Error::Capture(Code::CAPTURED_EVENT)),
            (Some(Record::Real { .. }), Some(_)) => capture::refuse(self.queue(), Code::STREAM_CAPTURE_ISOLATION),
            (Some(Record::Real { point, .. }), None) if !point.is_reached() => {
                self.wait_for(point);
                Ok(())
            }
            (Some(Record::Real { .. }) | None, _) => Ok(()),
        }
    }

    /// Waits for everything enqueued so far.
    pub(crate) fn synchronize(&self) -> Result<(), Error> {
        self.refuse_captured()?;
        for point in self.before().into_iter().chain(self.queue().unreached()) {
            point.wait();
        }
        self.context().outcome()
    }

    /// Whether everything enqueued so far is done.
    pub(crate) fn query(&self) -> Result<bool, Error> {
        self.refuse_captured()?;
        Ok(self.is_done())
    }

    fn is_done(&self) -> bool {
        self.queue().end().is_reached() && self.before().is_empty()
    }

    /// Enqueues a copy as NVIDIA's driver does: memory of the host's own is read before the call returns, and written
    /// before it returns too.
    pub(crate) fn copy(&self, mut transfer: Transfer, waits: bool) -> Result<(), Error> {
        if self.captures(|| Action::Work(Work::Transfer(Arc::new(transfer.clone()))))? {
            return Ok(());
        }
        let waits = waits || !transfer.target().is_device;
        if waits {
            self.submit_now(Work::Transfer(Arc::new(transfer)))?.wait();
            return self.context().outcome();
        }
        if !transfer.source().is_device {
            if self.is_done() {
                self.submit_now(Work::Transfer(Arc::new(transfer)))?.wait();
                return Ok(());
            }
            transfer.stage();
        }
        self.submit(Work::Transfer(Arc::new(transfer))).map(drop)
    }
}

/// When an event was reached.
#[derive(Default)]
pub(crate) struct Stamp {
    /// Nanoseconds since the first stamp of the process; 0 before the event is reached.
    time: AtomicU64,
}

impl Stamp {
    pub(crate) fn set(&self) {
        self.time.store(now(), Ordering::Release);
    }
}

/// The last record of an event.
#[derive(Clone)]
enum Record {
    /// In the order of a stream.
    Real { point: Point, stamp: Arc<Stamp> },
    /// In a capture, behind these nodes.
    Captured { session: Arc<Session>, nodes: Vec<usize> },
}

/// An event.
pub(crate) struct Event {
    pub(crate) context: Owner,
    pub(crate) flags: u32,
    record: Mutex<Option<Record>>,
}

impl Event {
    /// `CU_EVENT_DISABLE_TIMING`.
    pub(crate) const DISABLE_TIMING: u32 = 2;

    pub(crate) fn new(context: Owner, flags: u32) -> Self {
        Self { context, flags, record: Mutex::default() }
    }

    /// Records the event behind everything in a stream.
    pub(crate) fn record(&self, stream: &AnyStream) -> Result<(), Error> {
        let record = match capture::part(stream.queue()) {
            Some(part) => {
                if !part.session.is_valid() {
                    return Err(Error::Capture(Code::STREAM_CAPTURE_INVALIDATED));
                }
                Record::Captured { session: part.session, nodes: part.tail }
            }
            None => {
                let stamp = Arc::new(Stamp::default());
                let point = stream.submit(Work::Record(Arc::clone(&stamp)))?;
                Record::Real { point, stamp }
            }
        };
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
        Ok(())
    }

    fn last(&self) -> Option<Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where the event was recorded last. That cannot be asked of an event in a capture, which is then invalid.
    pub(crate) fn point(&self) -> Result<Option<Point>, Error> {
        match self.last() {
            None => Ok(None),
            Some(Record::Real { point, .. }) => Ok(Some(point)),
            Some(Record::Captured { session, .. }) => {
                session.invalidate();
                Err(Error::Capture(Code::CAPTURED_EVENT))
            }
        }
    }

    /// When the event was reached: refused if it keeps no time, or was not recorded, or is not reached yet.
    pub(crate) fn time(&self) -> Result<u64, Error> {
        let refused = Error::EventWithoutTime("the event was not recorded, or was made with CU_EVENT_DISABLE_TIMING");
        if self.flags & Self::DISABLE_TIMING != 0 {
            return Err(refused);
        }
        match self.last() {
            Some(Record::Real { point, .. }) if !point.is_reached() => Err(Error::NotReady),
            Some(Record::Real { stamp, .. }) => Ok(stamp.time.load(Ordering::Acquire)),
            Some(Record::Captured { .. }) => Err(Error::Capture(Code::CAPTURED_EVENT)),
            None => Err(refused),
        }
    }
}

/// The names of the two default streams: of the context, and of the thread.
pub(crate) const LEGACY: CUstream = 1;
pub(crate) const PER_THREAD: CUstream = 2;

/// Nanoseconds on a clock that never shows the same time twice, so that one record after another has a
/// positive distance.
fn now() -> u64 {
    static START: Mutex<Option<Instant>> = Mutex::new(None);
    static LAST: AtomicU64 = AtomicU64::new(0);
    let start = *START.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
    let time = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX - 1);
    let last = LAST
        .fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| Some(time.max(last + 1)))
        .unwrap_or_else(|last| last);
    time.max(last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_stands_still() {
        let times: Vec<u64> = (0..1000).map(|_| now()).collect();
        assert!(times.is_sorted_by(|earlier, later| earlier < later));
        assert!(times[0] > 0);
    }
}
