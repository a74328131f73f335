//! Stream capture: streams that gather a graph instead of doing work.
//!
//! A capture begins in one stream and spreads to streams that wait for its events. A call that cannot be captured
//! invalidates it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::ThreadId;

use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::graph::{Action, Graph};
use crate::soft::queue::Queue;

/// How many captures there are in the process: mostly none, and then nothing else here is looked at.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);

/// The captures that were begun and not ended.
static SESSIONS: Mutex<Vec<Weak<Session>>> = Mutex::new(Vec::new());

/// `CU_STREAM_CAPTURE_MODE_GLOBAL`, `…_THREAD_LOCAL` and `…_RELAXED`.
const GLOBAL: i32 = 0;
const RELAXED: i32 = 2;

thread_local! {
    static MODE: Cell<i32> = const { Cell::new(GLOBAL) };
}

/// Sets what this thread may do beside captures, and gives what it was.
pub(crate) fn exchange_mode(mode: i32) -> i32 {
    MODE.replace(mode)
}

/// One capture.
pub(crate) struct Session {
    pub(crate) id: u64,
    pub(crate) graph: Arc<Graph>,
    pub(crate) handle: usize,
    /// Whether the caller gave the graph.
    is_given: bool,
    mode: i32,
    thread: ThreadId,
    origin: Weak<Queue>,
    queues: Mutex<Vec<Weak<Queue>>>,
    invalid: AtomicBool,
}

/// A queue's part in a capture.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) session: Arc<Session>,
    /// The nodes that what comes next depends on.
    pub(crate) tail: Vec<usize>,
}

impl Session {
    pub(crate) fn invalidate(&self) {
        self.invalid.store(true, Ordering::Release);
    }

    pub(crate) fn is_valid(&self) -> bool {
        !self.invalid.load(Ordering::Acquire)
    }

    fn check(&self) -> Result<(), Error> {
        if self.is_valid() { Ok(()) } else { Err(Error::Capture(Code::STREAM_CAPTURE_INVALIDATED)) }
    }
}

/// Whether any stream is being captured.
pub(crate) fn is_any() -> bool {
    ACTIVE.load(Ordering::Relaxed) > 0
}

/// The queue's part, if the queue is being captured.
pub(crate) fn part(queue: &Queue) -> Option<Part> {
    if !is_any() {
        return None;
    }
    queue.capture.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Invalidates a capture and gives the error for what did it.
fn spoil(session: &Session, code: Code) -> Error {
    session.invalidate();
    Error::Capture(code)
}

/// Begins a capture in a queue, into a new graph or into `given`, behind some of its nodes.
pub(crate) fn begin(
    driver: &Driver,
    queue: &Arc<Queue>,
    mode: i32,
    given: Option<(usize, Arc<Graph>, Vec<usize>)>,
) -> Result<(), Error> {
    static IDS: AtomicU64 = AtomicU64::new(1);
    if part(queue).is_some() {
        return Err(Error::Capture(Code::ILLEGAL_STATE));
    }
    let is_given = given.is_some();
    let (handle, graph, tail) = given.unwrap_or_else(|| {
        let (handle, graph) = driver.graphs.insert(|_| Graph::default());
        (handle, graph, Vec::new())
    });
    let session = Arc::new(Session {
        id: IDS.fetch_add(1, Ordering::Relaxed),
        graph,
        handle,
        is_given,
        mode,
        thread: std::thread::current().id(),
        origin: Arc::downgrade(queue),
        queues: Mutex::new(vec![Arc::downgrade(queue)]),
        invalid: AtomicBool::new(false),
    });
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&session));
    ACTIVE.fetch_add(1, Ordering::Relaxed);
    *queue.capture.lock().unwrap_or_else(PoisonError::into_inner) = Some(Part { session, tail });
    Ok(())
}

/// Ends the capture that a queue began, and gives the graph's handle.
pub(crate) fn end(driver: &Driver, queue: &Arc<Queue>) -> Result<usize, Error> {
    let Some(part) = part(queue) else {
        return Err(Error::Capture(Code::ILLEGAL_STATE));
    };
    let session = &part.session;
    if !std::ptr::eq(session.origin.as_ptr(), Arc::as_ptr(queue)) {
        return Err(spoil(session, Code::STREAM_CAPTURE_UNMATCHED));
    }
    if session.mode != RELAXED && session.thread != std::thread::current().id() {
        return Err(Error::Capture(Code::STREAM_CAPTURE_WRONG_THREAD));
    }
    let queues: Vec<_> = {
        let queues = session.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.iter().filter_map(Weak::upgrade).collect()
    };
    let mut unjoined = false;
    for other in &queues {
        let ended = other.capture.lock().unwrap_or_else(PoisonError::into_inner).take();
        let tail = ended.map(|part| part.tail).unwrap_or_default();
        unjoined |= tail.iter().any(|node| !session.graph.precedes(*node, &part.tail));
    }
    ACTIVE.fetch_sub(1, Ordering::Relaxed);
    let outcome = if !session.is_valid() {
        Err(Error::Capture(Code::STREAM_CAPTURE_INVALIDATED))
    } else if unjoined {
        Err(Error::Capture(Code::STREAM_CAPTURE_UNJOINED))
    } else {
        Ok(session.handle)
    };
    session.invalidate();
    if outcome.is_err() && !session.is_given {
        // The graph is not known elsewhere.
        let _ = driver.graphs.remove(session.handle);
    }
    outcome
}

/// Adds a node to the capture of a queue. `false` if the queue is not being captured.
pub(crate) fn add(queue: &Queue, action: impl FnOnce() -> Action) -> Result<bool, Error> {
    if !is_any() {
        return Ok(false);
    }
    let mut capture = queue.capture.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(part) = capture.as_mut() else {
        return Ok(false);
    };
    part.session.check()?;
    let session = &part.session;
    let node = session.graph.add(Driver::get()?, session.handle, action(), 0, &part.tail)?;
    part.tail = vec![node];
    Ok(true)
}

/// Makes a queue wait for nodes of a capture, whether it takes part in it already or not.
pub(crate) fn join(queue: &Arc<Queue>, session: &Arc<Session>, nodes: &[usize]) -> Result<(), Error> {
    session.check()?;
    let mut capture = queue.capture.lock().unwrap_or_else(PoisonError::into_inner);
    match capture.as_mut() {
        None => {
            session.queues.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(queue));
            *capture = Some(Part { session: Arc::clone(session), tail: nodes.to_vec() });
        }
        Some(part) if Arc::ptr_eq(&part.session, session) => {
            for node in nodes {
                if !part.tail.contains(node) {
                    part.tail.push(*node);
                }
            }
        }
        Some(part) => {
            part.session.invalidate();
            return Err(spoil(session, Code::STREAM_CAPTURE_MERGE));
        }
    }
    Ok(())
}

/// Refuses what cannot be done with a queue that is being captured, and invalidates its capture.
pub(crate) fn refuse(queue: &Queue, code: Code) -> Result<(), Error> {
    match part(queue) {
        None => Ok(()),
        Some(part) => {
            part.session.check()?;
            Err(spoil(&part.session, code))
        }
    }
}

/// Refuses a call that may disturb captures of other streams: with one in global mode anywhere, or with one of this
/// thread that is not relaxed.
pub(crate) fn refuse_unsafe() -> Result<(), Error> {
    if !is_any() || MODE.get() == RELAXED {
        return Ok(());
    }
    let thread = std::thread::current().id();
    let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    sessions.retain(|session| session.strong_count() > 0);
    let mut refused = Ok(());
    for session in sessions.iter().filter_map(Weak::upgrade) {
        let is_disturbed = match session.mode {
            GLOBAL => MODE.get() == GLOBAL || session.thread == thread,
            RELAXED => false,
            _ => session.thread == thread,
        };
        if session.is_valid() && is_disturbed {
            refused = Err(spoil(&session, Code::STREAM_CAPTURE_UNSUPPORTED));
        }
    }
    refused
}
