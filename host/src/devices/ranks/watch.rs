//! Operations by NCCL on streams, and the thread of a group that watches them.
//!
//! The caller of an operation notes the call, and puts the operation on a stream. The watcher sends the calls of its rank to rank 0, whose
//! watcher compares them with its own, and looks for lost, late and failed ranks until marks on the streams, which a thread of the
//! watcher's puts there, say that all operations are done. The first error ends the group: the watcher keeps the error for the next wait,
//! and aborts what is on the streams.
//!
//! Memory is safe before calls are compared: a kernel of NCCL writes to the buffers of its own rank, by the length that its own rank
//! has passed, and to NCCL's buffers of other ranks. So ranks with different lengths get wrong elements, or wait.

use super::wire::{Call, Operation, Wire, Words};
use crate::base::error::{Error, RankError, Result};
use crate::base::host_fn::outside_host_fn;
use crate::buffers::view::DeviceSlice;
use crate::context::failures::Failure;
use crate::context::{Context, same_context};
use crate::devices::nccl::Element;
use crate::devices::nccl::marks::Marks;
use crate::devices::nccl::processes::{Collective, Rank};
use crate::streams::stream::Stream;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at the operations and ranks: while the host waits for the other ranks, while operations are on streams or were
/// there a moment ago, and else.
const PAUSES: [Duration; 3] = [Duration::from_micros(50), Duration::from_millis(1), Duration::from_millis(20)];

/// How long after the last operation the watcher looks as often as during one.
const MOMENT: Duration = Duration::from_millis(100);

/// How long the end of a group may take after its operations: other ranks may have ended without it.
const END: Duration = Duration::from_secs(2);

/// The operations of a rank that may be on streams and not done. The driver lets a call wait when about a thousand pieces of work are
/// on a stream, and the host does better to wait here.
const IN_PROGRESS: u64 = 64;

/// After as many operations, the caller marks the stream itself.
const MARKED: u64 = 16;

/// The operations of a rank by NCCL.
pub(super) struct Exchanges {
    shared: Arc<Shared>,
}

/// What the callers of operations and the watcher share.
struct Shared {
    rank: Rank,
    failure: Arc<Failure>,
    marks: Mutex<Marks>,
    /// Held from the note of a call until the operation is on its stream, so that both have one order.
    calling: Mutex<()>,
    log: Mutex<Log>,
    changed: Condvar,
}

#[derive(Default)]
struct Log {
    /// The number of calls.
    begun: u64,
    /// The number of calls that are done.
    done: u64,
    /// The calls that the watcher has yet to see.
    calls: Vec<Call>,
    /// The streams that operations were put on since the watcher looked, with the last operation of each.
    put: Vec<Put>,
    /// An operation that this rank could not put on its stream, and why.
    broken: Option<(Operation, Error)>,
    /// Whether the host waits for the other ranks.
    is_awaited: bool,
    /// Whether the last handle to the group is gone.
    is_closing: bool,
    /// Whether the watcher has ended.
    is_over: bool,
}

/// The last operation on a stream, or on the default stream.
struct Put {
    stream: Option<Stream>,
    number: u64,
    operation: Operation,
}

impl Exchanges {
    pub(super) fn new(rank: Rank, wire: Wire) -> Result<Exchanges> {
        let marks = Mutex::new(Marks::new(rank.context())?);
        let failure = Arc::new(Failure::default());
        rank.context().failures.attach(&failure);
        let shared = Arc::new(Shared {
            rank,
            failure,
            marks,
            calling: Mutex::default(),
            log: Mutex::default(),
            changed: Condvar::new(),
        });
        let (to_mark, marks) = channel();
        let watcher = Watcher::new(shared.clone(), wire, to_mark);
        let marked = shared.clone();
        start("rumba-marks", move || marks.iter().for_each(|put| marked.mark(&put)));
        start("rumba-ranks", || watcher.run());
        Ok(Exchanges { shared })
    }

    /// The context of the rank's device.
    pub(super) fn context(&self) -> &Arc<Context> {
        self.shared.rank.context()
    }

    /// Puts an operation on a stream, or on the default stream.
    pub(super) fn put<T: Element>(
        &self,
        call: Call,
        what: Collective,
        source: &DeviceSlice<'_, T>,
        target: &DeviceSlice<'_, T>,
        stream: Option<&Stream>,
    ) -> Result<()> {
        let (shared, operation) = (&*self.shared, call.operation.name());
        let context = shared.rank.context();
        for view in [source, target] {
            let memory = view.memory();
            same_context(context, &memory.context, || memory.operation(&format!("{operation} with")))?;
        }
        let text = || format!("{operation} with other ranks");
        let queue = match stream {
            Some(stream) => {
                stream.belongs_to(context, text)?;
                stream.queue(text)?
            }
            None => {
                context.enter(text)?.not_captured(text)?;
                &context.queues.default
            }
        };
        let _calling = shared.calling.lock();
        shared.wait_for_room()?;
        let number = shared.begin(call)?;
        shared.failure.users.note(queue.id());
        if call.length > 0
            && let Err(error) = shared.rank.put(what, operation, source, target, queue)
        {
            return Err(shared.broken(call.operation, error));
        }
        if number.is_multiple_of(MARKED) {
            let marked = shared.marks.lock().put(stream, number);
            marked.map_err(|error| shared.broken(call.operation, error))?;
        }
        shared.log.lock().put(stream, number, call.operation);
        Ok(())
    }

    /// Waits until all ranks have come to a barrier, with all earlier operations done.
    pub(super) fn barrier(&self, call: Call) -> Result<(), RankError> {
        let _calling = self.shared.calling.lock();
        let before = self.shared.log.lock().begun;
        self.shared.wait_for(before)?;
        let number = self.shared.begin(call)?;
        self.shared.wait_for(number)
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.expect("the system has room for one more thread");
}

impl Shared {
    /// Notes a call. Returns its number, from 1.
    fn begin(&self, call: Call) -> Result<u64, RankError> {
        if let Some(error) = self.failure.tell() {
            return Err(error);
        }
        let mut log = self.log.lock();
        log.begun += 1;
        log.calls.push(call);
        Ok(log.begun)
    }

    /// Waits until few enough operations are in progress. When the group has ended, the next call says so.
    fn wait_for_room(&self) -> Result<(), RankError> {
        let begun = self.log.lock().begun;
        let is_full = || {
            let done = self.marks.try_lock().map(|marks| marks.look());
            done.unwrap_or(0).max(self.log.lock().done) + IN_PROGRESS <= begun
        };
        let begin = Instant::now();
        while begun >= IN_PROGRESS && is_full() {
            if let Some(error) = self.failure.tell() {
                return Err(error);
            }
            // Most operations take less.
            if begin.elapsed() < PAUSES[1] { thread::yield_now() } else { thread::sleep(PAUSES[0]) }
        }
        Ok(())
    }

    /// Waits until a call is done, or the group has ended.
    fn wait_for(&self, number: u64) -> Result<(), RankError> {
        let mut log = self.log.lock();
        while log.done < number && !log.is_over {
            log.is_awaited = true;
            self.changed.notify_all();
            self.changed.wait_for(&mut log, PAUSES[1]);
        }
        log.is_awaited = false;
        let is_done = log.done >= number;
        drop(log);
        match self.failure.tell() {
            Some(error) if !is_done => Err(error),
            _ => Ok(()),
        }
    }

    /// Marks a stream behind an operation.
    fn mark(&self, put: &Put) {
        let marked = self.marks.lock().put(put.stream.as_ref(), put.number);
        if let Err(error) = marked {
            self.log.lock().broken.get_or_insert((put.operation, error));
        }
    }

    /// Ends the group because an operation could not be put on its stream. Returns the error of the group, or the driver's own error.
    fn broken(&self, operation: Operation, error: Error) -> Error {
        let is_of_nccl = matches!(error, Error::Nccl(_));
        let mut log = self.log.lock();
        log.broken = Some((operation, error.clone()));
        while !log.is_over {
            self.changed.notify_all();
            self.changed.wait_for(&mut log, PAUSES[1]);
        }
        drop(log);
        match self.failure.tell() {
            Some(of_group) if is_of_nccl => of_group.into(),
            _ => error,
        }
    }
}

impl Log {
    fn put(&mut self, stream: Option<&Stream>, number: u64, operation: Operation) {
        match self.put.last_mut() {
            Some(last) if last.stream.as_ref() == stream => (last.number, last.operation) = (number, operation),
            _ => self.put.push(Put { stream: stream.cloned(), number, operation }),
        }
    }
}

impl Drop for Exchanges {
    /// Waits until the operations are done or aborted, as the drop of a stream does.
    fn drop(&mut self) {
        let shared = self.shared.clone();
        outside_host_fn(move || {
            if let Some(entered) = shared.rank.context().enter_to_release() {
                // A fault of the device ends the operations, too, and this wait notices it.
                let _ = entered.check(crate::cuda::synchronize(), || "wait for a group of ranks".to_owned());
            }
            let mut log = shared.log.lock();
            log.is_closing = true;
            shared.changed.notify_all();
            let is_leaving = |log: &MutexGuard<'_, Log>| log.is_over || log.done == log.begun;
            while !is_leaving(&log) {
                shared.changed.wait_for(&mut log, PAUSES[1]);
            }
            let end = Instant::now() + END;
            while !log.is_over && Instant::now() < end {
                shared.changed.wait_until(&mut log, end);
            }
            drop(log);
            shared.rank.context().failures.detach(&shared.failure);
        });
    }
}

/// The calls of another rank, as rank 0 knows them.
#[derive(Default)]
struct Come {
    /// The number of calls that were compared.
    number: u64,
    /// The calls that rank 0 has yet to come to.
    ahead: VecDeque<Words>,
}

struct Watcher {
    shared: Arc<Shared>,
    wire: Wire,
    /// Streams to be marked.
    to_mark: Sender<Put>,
    /// The calls that are not done, or that some rank has not come to. The last one has the number `begun`.
    calls: VecDeque<Call>,
    begun: u64,
    done: u64,
    /// At rank 0, the calls of the other ranks, from rank 1.
    come: Vec<Come>,
    /// When a call was done last, or begun with no other in progress.
    progress: Instant,
    /// When a call was seen last.
    used: Instant,
    /// Whether the host waits for the other ranks.
    is_awaited: bool,
}

impl Watcher {
    fn new(shared: Arc<Shared>, wire: Wire, to_mark: Sender<Put>) -> Watcher {
        let others = if wire.place().rank == 0 { wire.place().size - 1 } else { 0 };
        let now = Instant::now();
        Watcher {
            shared,
            wire,
            to_mark,
            calls: VecDeque::new(),
            begun: 0,
            done: 0,
            come: (0..others).map(|_| Come::default()).collect(),
            progress: now,
            used: now,
            is_awaited: false,
        }
    }

    fn run(mut self) {
        loop {
            match self.look() {
                Ok(true) => self.shared.rank.leave(),
                Ok(false) => {
                    let pause = match () {
                        () if self.is_awaited => PAUSES[0],
                        () if self.done < self.begun || self.used.elapsed() < MOMENT => PAUSES[1],
                        () => PAUSES[2],
                    };
                    let mut log = self.shared.log.lock();
                    if log.broken.is_none() && !log.is_closing && log.is_awaited == self.is_awaited {
                        self.shared.changed.wait_for(&mut log, pause);
                    } else {
                        drop(log);
                        thread::sleep(PAUSES[0]);
                    }
                    continue;
                }
                Err(error) => {
                    // In this order: a wait that the abort ends finds the error.
                    self.shared.failure.set(error);
                    self.shared.rank.abort();
                }
            }
            self.shared.log.lock().is_over = true;
            self.shared.changed.notify_all();
            return;
        }
    }

    /// The operation in progress, for messages.
    fn operation(&self) -> Operation {
        let open = (self.begun - self.done) as usize;
        let call = self.calls.len().checked_sub(open).and_then(|index| self.calls.get(index));
        call.or(self.calls.back()).map_or(Operation::Barrier, |call| call.operation)
    }

    /// Looks once at the operations and the other ranks. True: the group is closed, and its operations are done.
    fn look(&mut self) -> Result<bool, RankError> {
        let (calls, put, broken, is_closing) = {
            let mut log = self.shared.log.lock();
            self.is_awaited = log.is_awaited;
            (std::mem::take(&mut log.calls), std::mem::take(&mut log.put), log.broken.take(), log.is_closing)
        };
        for put in put {
            // The receiver lives as long as this sender.
            let _ = self.to_mark.send(put);
        }
        let now = Instant::now();
        if !calls.is_empty() {
            self.used = now;
            if self.done == self.begun {
                self.progressed(self.done, now);
            }
            self.wire.tell_calls(&calls, self.begun)?;
            self.begun += calls.len() as u64;
            self.calls.extend(calls);
        }
        self.compare()?;
        if let Some((operation, error)) = broken {
            return Err(match error {
                Error::Nccl(error) => self.wire.fail(operation, &*error),
                error => self.failed(operation, &error),
            });
        }
        self.take_marks(now);
        self.pass_barrier(now)?;
        if self.done == self.begun {
            return Ok(is_closing);
        }
        self.find_lost(now)?;
        Ok(false)
    }

    fn progressed(&mut self, done: u64, now: Instant) {
        self.done = done;
        self.progress = now;
        self.wire.begin_watch(now);
        let mut log = self.shared.log.lock();
        if log.done != done {
            log.done = done;
            self.shared.changed.notify_all();
        }
    }

    /// At rank 0: compares the calls of the other ranks with its own. Forgets calls that are done on all ranks.
    fn compare(&mut self) -> Result<(), RankError> {
        let first = self.begun - self.calls.len() as u64 + 1;
        for (index, come) in self.come.iter_mut().enumerate() {
            let rank = index + 1;
            while let Some(words) = self.wire.come(rank) {
                come.ahead.push_back(words);
            }
            while come.number < self.begun
                && let Some(theirs) = come.ahead.pop_front()
            {
                come.number += 1;
                let ours = self.calls[(come.number - first) as usize];
                self.wire.compare(rank, theirs, ours, come.number)?;
            }
        }
        let known = self.come.iter().map(|come| come.number).fold(self.done, u64::min);
        self.calls.drain(..((known + 1).saturating_sub(first) as usize).min(self.calls.len()));
        Ok(())
    }

    /// Notes the operations that are done.
    fn take_marks(&mut self, now: Instant) {
        // The thread that holds the marks may wait for the driver.
        let Some(done) = self.shared.marks.try_lock().map(|marks| marks.look()) else { return };
        if done > self.done {
            self.progressed(done, now);
        }
    }

    /// Rank 0 lets all ranks go on when all have come to a barrier; the others hear that.
    fn pass_barrier(&mut self, now: Instant) -> Result<(), RankError> {
        let is_at_barrier =
            self.done + 1 == self.begun && self.calls.back().is_some_and(|call| call.operation == Operation::Barrier);
        let has_passed = if self.wire.place().rank == 0 {
            let has_passed = is_at_barrier && self.come.iter().all(|come| come.number >= self.begun);
            if has_passed {
                self.wire.deliver(Operation::Barrier, &mut [])?;
            }
            has_passed
        } else {
            self.wire.heard(self.operation())? && is_at_barrier
        };
        if has_passed {
            self.progressed(self.begun, now);
        }
        Ok(())
    }

    /// Looks for a reason why operations in progress do not end.
    fn find_lost(&mut self, now: Instant) -> Result<(), RankError> {
        let (operation, timeout) = (self.operation(), self.wire.place().timeout);
        let context = self.shared.rank.context().clone();
        if !context.is_usable()
            && let Err(error) = context.enter(|| format!("{} with other ranks", operation.name()))
        {
            return Err(self.failed(operation, &error));
        }
        if let Err(error) = self.shared.rank.check(operation.name()) {
            return Err(self.wire.fail(operation, &error));
        }
        let waited = now - self.progress;
        let late = |rank, after| RankError::Late { rank, operation: operation.name(), after };
        if self.wire.place().rank > 0 {
            // Rank 0 would have said by then that another rank is late.
            if waited >= 2 * timeout {
                return Err(self.wire.end(late(0, 2 * timeout)));
            }
        } else if waited >= timeout
            && let Some(index) = self.come.iter().position(|come| come.number <= self.done)
        {
            return Err(self.wire.end(late(index + 1, timeout)));
        }
        self.wire.watch(operation, now)
    }

    /// Ends the group by an error of the driver, which concerns this rank alone.
    fn failed(&mut self, operation: Operation, error: &Error) -> RankError {
        let rank = self.wire.place().rank;
        self.wire.end(RankError::Failed { rank, operation: operation.name(), cause: error.to_string() })
    }
}
