//! A communicator of several processes; this process has one rank.
//!
//! The communicator is one that blocks: a communicator that does not block starts a thread for each operation, which takes longer than
//! a small operation. Ranks are joined on a thread of their own, so that [`ranks`](crate::ranks), which knows the other ranks, can give up.

use crate::base::error::Result;
use crate::buffers::view::DeviceSlice;
use crate::context::Context;
use crate::context::queue::Queue;
use crate::devices::nccl::library::{Calls, Comm, Library, parts};
use crate::devices::nccl::{Element, NcclError, ReduceOp};
use bytemuck::{Pod, Zeroable};
use libloading::os::unix::Library as Loaded;
use parking_lot::Mutex;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The identifier by which ranks find each other: `ncclUniqueId`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(in crate::devices) struct UniqueId(pub(in crate::devices) [u8; 128]);

/// `ncclConfig_t` of NCCL 2.14. Newer versions of NCCL learn the fields from `version`.
#[repr(C)]
struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
    /// Fills the space after the fields of NCCL 2.14; set to `NCCL_CONFIG_UNDEF_INT`.
    padding: c_int,
}

/// The functions that communicators of several processes need.
pub(super) struct Processes {
    unique_id: unsafe extern "C" fn(*mut UniqueId) -> c_int,
    init: unsafe extern "C" fn(*mut Comm, c_int, UniqueId, c_int, *mut Config) -> c_int,
    state: unsafe extern "C" fn(Comm, *mut c_int) -> c_int,
    finalize: unsafe extern "C" fn(Comm) -> c_int,
    abort: unsafe extern "C" fn(Comm) -> c_int,
}

impl Processes {
    pub(super) fn of(loaded: &Loaded) -> Option<Processes> {
        // SAFETY: the signatures are those of nccl.h.
        unsafe {
            Some(Processes {
                unique_id: *loaded.get(b"ncclGetUniqueId").ok()?,
                init: *loaded.get(b"ncclCommInitRankConfig").ok()?,
                state: *loaded.get(b"ncclCommGetAsyncError").ok()?,
                finalize: *loaded.get(b"ncclCommFinalize").ok()?,
                abort: *loaded.get(b"ncclCommAbort").ok()?,
            })
        }
    }
}

/// A library that can make communicators of several processes.
#[derive(Clone, Copy)]
pub(in crate::devices) struct Nccl {
    library: &'static Library,
    processes: &'static Processes,
}

impl Nccl {
    /// The library of this process, loaded at the first call.
    ///
    /// # Errors
    /// [`NcclError`] where it is missing, or too old to leave a rank that is gone.
    pub(in crate::devices) fn get() -> Result<Nccl, NcclError> {
        let library = Library::get()?;
        let processes = library.processes.as_ref().ok_or_else(|| NcclError::NoFunction {
            library: "NCCL".to_owned(),
            function: "ncclCommInitRankConfig".to_owned(),
        })?;
        Ok(Nccl { library, processes })
    }

    /// Its version, as `ncclGetVersion` counts.
    pub(in crate::devices) fn version(self) -> i32 {
        self.library.number
    }

    /// Its version: major, minor, patch.
    pub(in crate::devices) fn release(self) -> (u32, u32, u32) {
        parts(self.library.number)
    }

    /// Whether it works with the memory of the software device, as the stand-in of tests does.
    pub(in crate::devices) fn is_for_software(self) -> bool {
        self.library.on_software
    }

    /// The identifier that rank 0 sends to all other ranks, who then connect to its address.
    pub(in crate::devices) fn unique_id(self) -> Result<UniqueId, NcclError> {
        let mut id = UniqueId::zeroed();
        // SAFETY: `id` is a valid place.
        let answer = unsafe { (self.processes.unique_id)(&mut id) };
        self.library.check("make an identifier for the ranks", None, answer)?;
        Ok(id)
    }

    /// Joins the ranks. Until all ranks have joined, `watch` is called again and again, and its error gives up.
    pub(in crate::devices) fn join(
        self,
        context: &Arc<Context>,
        id: UniqueId,
        rank: usize,
        size: usize,
        watch: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Rank> {
        let (sender, joined) = channel();
        let of_thread = context.clone();
        let join = move || {
            // If the caller has given up, the rank leaves.
            let _ = sender.send(self.join_blocking(of_thread, id, rank, size));
        };
        let started = thread::Builder::new().name("rumba-join".to_owned()).spawn(join);
        started.expect("the system has room for one more thread");
        loop {
            match joined.recv_timeout(WATCH) {
                Ok(joined) => return joined,
                Err(RecvTimeoutError::Timeout) => watch()?,
                Err(RecvTimeoutError::Disconnected) => return Err(aborted(JOIN).into()),
            }
        }
    }

    fn join_blocking(self, context: Arc<Context>, id: UniqueId, rank: usize, size: usize) -> Result<Rank> {
        let entered = context.enter(|| format!("{JOIN} by NCCL"))?;
        let mut config =
            Config { size: size_of::<Config>(), magic: 0xcafe_beef, version: 21_400, blocking: 1, padding: c_int::MIN };
        let mut comm = Comm(std::ptr::null_mut());
        // SAFETY: the places are valid during the call, and the device of the context that is current is this rank's.
        let answer = unsafe { (self.processes.init)(&mut comm, size as c_int, id, rank as c_int, &mut config) };
        self.library.check(JOIN, None, answer)?;
        drop(entered);
        Ok(Rank { nccl: self, context, comm: Mutex::new(Some(comm)), raw: comm, was_torn: AtomicBool::new(false) })
    }
}

/// A collective operation of several ranks.
#[derive(Clone, Copy)]
pub(in crate::devices) enum Collective {
    AllReduce(ReduceOp),
    Broadcast { root: usize },
    AllGather,
    ReduceScatter(ReduceOp),
}

/// This process's rank in a communicator.
pub(in crate::devices) struct Rank {
    nccl: Nccl,
    context: Arc<Context>,
    /// None after the communicator's end. Held during calls of NCCL, which it allows from one thread at a time.
    comm: Mutex<Option<Comm>>,
    /// The communicator, for an abort while a call is in progress, and whether there was one.
    raw: Comm,
    was_torn: AtomicBool,
}

/// The operation that joins ranks, for messages.
const JOIN: &str = "join the ranks";

/// Between two looks at the other ranks while this rank joins them.
const WATCH: Duration = Duration::from_millis(2);

/// How long an abort waits for a call of NCCL in progress.
const ABORT: Duration = Duration::from_secs(2);

impl Rank {
    pub(in crate::devices) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Puts an operation on a queue behind the other uses of its memory.
    ///
    /// All ranks come to the same operation, with as many elements: the shorter one of both views is as long on all of them.
    pub(in crate::devices) fn put<T: Element>(
        &self,
        what: Collective,
        operation: &'static str,
        source: &DeviceSlice<'_, T>,
        target: &DeviceSlice<'_, T>,
        queue: &Queue,
    ) -> Result<()> {
        let comm = self.comm.lock();
        let comm = comm.filter(|_| !self.was_torn.load(Ordering::SeqCst)).ok_or_else(|| aborted(operation))?;
        let mut order = self.context.queues.order.lock();
        let entered = self.context.enter(|| format!("{operation} with other ranks"))?;
        for (view, writes) in [(source, false), (target, true)] {
            queue.next_to_use(&view.memory().uses, &view.access(writes), &mut order, &entered)?;
        }
        let calls = Calls { library: self.nccl.library, operation };
        let (from, to, stream) = (source.address(), target.address(), queue.raw.raw());
        // SAFETY: all ranks come to this with as many elements, which both views have. The order that was noted above keeps
        // their memory until the stream has done the work. With the lock held, no other call uses the communicator.
        let put = unsafe {
            match what {
                Collective::AllReduce(op) => calls.all_reduce::<T>(from, to, target.len(), op, comm, stream),
                Collective::Broadcast { root } => calls.broadcast::<T>(to, target.len(), root, comm, stream),
                Collective::AllGather => calls.all_gather::<T>(from, to, source.len(), comm, stream),
                Collective::ReduceScatter(op) => calls.reduce_scatter::<T>(from, to, target.len(), op, comm, stream),
            }
        };
        Ok(put?)
    }

    /// An error that NCCL has noticed since, as that of a connection to another machine, which no stream reports.
    pub(in crate::devices) fn check(&self, operation: &'static str) -> Result<(), NcclError> {
        // A call in progress returns its own error.
        let Some(comm) = self.comm.try_lock() else { return Ok(()) };
        let Some(comm) = *comm else { return Ok(()) };
        let mut state = 0;
        // SAFETY: the communicator is alive, and `state` a valid place.
        let answer = unsafe { (self.nccl.processes.state)(comm, &mut state) };
        self.nccl.library.check(operation, Some(comm), answer)?;
        self.nccl.library.check(operation, Some(comm), state)
    }

    /// Ends the communicator, and with it what waits for other ranks on streams.
    ///
    /// A call of NCCL may be in progress that only the abort ends: the driver lets the call wait for room on a stream, or NCCL lets it wait
    /// for a rank that hangs while it connects. After [`ABORT`] the communicator is aborted under the call.
    pub(in crate::devices) fn abort(&self) {
        let comm = match self.comm.try_lock_for(ABORT) {
            Some(mut comm) => comm.take().filter(|_| !self.was_torn.load(Ordering::SeqCst)),
            None => (!self.was_torn.swap(true, Ordering::SeqCst)).then_some(self.raw),
        };
        let Some(comm) = comm else { return };
        if let Some(_entered) = self.context.enter_to_release() {
            // SAFETY: it is alive: only an abort and `leave` end it, once. No call begins any more. A call in progress ends first: the
            // abort sets the flag for which kernels and connections of NCCL look, and frees the communicator when its streams are idle
            // and its threads have ended, as PyTorch's watchdog relies on too. An error has no consequence but a leak.
            let _ = unsafe { (self.nccl.processes.abort)(comm) };
        }
    }

    /// Leaves the other ranks, when all operations are done. Waits for ranks that have not left.
    pub(in crate::devices) fn leave(&self) {
        let Some(comm) = self.comm.lock().take() else { return };
        if let Some(_entered) = self.context.enter_to_release() {
            // SAFETY: the communicator is alive, and all its operations are done.
            let answer = unsafe { (self.nccl.processes.finalize)(comm) };
            if self.nccl.library.check("end a communicator", Some(comm), answer).is_ok() {
                // SAFETY: made by `join`, destroyed once, in a living context.
                unsafe { self.nccl.library.leave(comm) };
            } else {
                // SAFETY: as above. An error has no consequence but a leak.
                let _ = unsafe { (self.nccl.processes.abort)(comm) };
            }
        }
    }
}

/// After an error that has ended the communicator.
fn aborted(operation: &'static str) -> NcclError {
    NcclError::Refused { operation, text: "the communicator was ended by an earlier error".to_owned(), detail: None }
}

impl Drop for Rank {
    fn drop(&mut self) {
        self.abort();
    }
}
