//! A communicator of several processes; this process has one rank. Calls never block, so that a lost rank is noticed.
//!
//! [`ranks`](crate::ranks) knows the other ranks, and how long to wait for them.

use crate::base::error::Result;
use crate::base::host_fn::outside_host_fn;
use crate::buffers::view::DeviceSlice;
use crate::context::Context;
use crate::context::panics::Waited;
use crate::devices::nccl::library::{Calls, Comm, IN_PROGRESS, Library, parts};
use crate::devices::nccl::{Element, NcclError, ReduceOp};
use bytemuck::{Pod, Zeroable};
use libloading::os::unix::Library as Loaded;
use std::ffi::c_int;
use std::sync::Arc;
use std::time::{Duration, Instant};

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

    /// Begins to join the ranks; [`Rank::is_idle`] reports when all ranks have joined.
    pub(in crate::devices) fn join(
        self,
        context: &Arc<Context>,
        id: UniqueId,
        rank: usize,
        size: usize,
    ) -> Result<Rank> {
        let _entered = context.enter(|| "join the ranks by NCCL".to_owned())?;
        let mut config =
            Config { size: size_of::<Config>(), magic: 0xcafe_beef, version: 21_400, blocking: 0, padding: c_int::MIN };
        let mut comm = Comm(std::ptr::null_mut());
        // SAFETY: the places are valid during the call, and the device of the context that is current is this rank's.
        let answer = unsafe { (self.processes.init)(&mut comm, size as c_int, id, rank as c_int, &mut config) };
        self.library.check("join the ranks", None, answer)?;
        Ok(Rank { nccl: self, context: context.clone(), comm: Some(comm) })
    }
}

/// A collective operation of several ranks.
#[derive(Clone, Copy)]
pub(in crate::devices) enum Collective {
    AllReduce(ReduceOp),
    Broadcast { root: usize },
    AllGather,
}

/// This process's rank in a communicator.
pub(in crate::devices) struct Rank {
    nccl: Nccl,
    context: Arc<Context>,
    /// None after an abort.
    comm: Option<Comm>,
}

/// How long the end of a communicator may take: other ranks may have ended without it.
const END: Duration = Duration::from_secs(2);

/// Between two questions of what takes longer.
const PAUSE: Duration = Duration::from_micros(50);

/// How long the first questions follow each other without a pause: most operations take less.
const NO_PAUSE: Duration = Duration::from_micros(200);

/// Between two looks at the other ranks.
const WATCH: Duration = Duration::from_millis(2);

/// Asks until it is so; `watch` says when to give up.
fn until(mut is_so: impl FnMut() -> Result<bool>, watch: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    let begin = Instant::now();
    let mut watched = begin;
    while !is_so()? {
        if begin.elapsed() < NO_PAUSE {
            std::thread::yield_now();
            continue;
        }
        if watched.elapsed() >= WATCH {
            watch()?;
            watched = Instant::now();
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

impl Rank {
    pub(in crate::devices) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Whether all that was asked for is begun, or the ranks are joined.
    fn is_idle(&self, operation: &'static str) -> Result<bool> {
        let library = self.nccl.library;
        let comm = self.comm.ok_or_else(|| aborted(operation))?;
        let mut state = 0;
        // SAFETY: the communicator is alive, and `state` a valid place.
        let answer = unsafe { (self.nccl.processes.state)(comm, &mut state) };
        library.check(operation, Some(comm), answer)?;
        library.check(operation, Some(comm), state)?;
        Ok(state != IN_PROGRESS)
    }

    /// Waits until all ranks have joined.
    pub(in crate::devices) fn joined(&self, watch: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        until(|| self.is_idle("join the ranks"), watch)
    }

    /// Puts an operation on the default stream behind the other uses of its memory, and waits until it is done.
    ///
    /// All ranks come to the same operation, with as many elements: `source` is as long on all of them.
    pub(in crate::devices) fn run<T: Element>(
        &self,
        what: Collective,
        operation: &'static str,
        source: &DeviceSlice<'_, T>,
        target: &DeviceSlice<'_, T>,
        watch: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let comm = self.comm.ok_or_else(|| aborted(operation))?;
        let text = || format!("{operation} with other ranks");
        let queue = &self.context.queues.default;
        let mark = {
            let mut order = self.context.queues.order.lock();
            let entered = self.context.enter(text)?;
            for (view, writes) in [(source, false), (target, true)] {
                queue.next_to_use(&view.memory().uses, &view.access(writes), &mut order, &entered)?;
            }
            let calls = Calls { library: self.nccl.library, operation };
            let (from, to, count, stream) = (source.address(), target.address(), source.len(), queue.raw.raw());
            // SAFETY: all ranks come to this with as many elements, which both parts have. They are borrowed until the
            // stream has done the work, which is waited for below, and no other communicator of this rank is in use.
            unsafe {
                match what {
                    Collective::AllReduce(op) => calls.all_reduce::<T>(from, to, count, op, comm, stream),
                    Collective::Broadcast { root } => calls.broadcast::<T>(to, count, root, comm, stream),
                    Collective::AllGather => calls.all_gather::<T>(from, to, count, comm, stream),
                }
            }?;
            // A communicator that does not block may put its work on the stream later.
            until(|| self.is_idle(operation), watch)?;
            entered.check(queue.mark(), text)?
        };
        let mut asked = Instant::now();
        until(
            || {
                let entered = self.context.enter(text)?;
                let is_done = entered.check(mark.is_done(), text)?;
                // The stream does not report errors on the way to another machine.
                if !is_done && asked.elapsed() >= WATCH {
                    asked = Instant::now();
                    self.is_idle(operation)?;
                }
                Ok(is_done)
            },
            watch,
        )?;
        let entered = self.context.enter(text)?;
        entered.check_wait(Waited::Device, Ok::<_, crate::base::error::Code>(()), text)
    }

    /// Ends the communicator, and with it what waits for other ranks on the stream.
    pub(in crate::devices) fn abort(&mut self) {
        let Some(comm) = self.comm.take() else { return };
        if let Some(_entered) = self.context.enter_to_release() {
            // SAFETY: it is alive, and is not used any more. An error has no consequence but a leak.
            let _ = unsafe { (self.nccl.processes.abort)(comm) };
        }
    }
}

/// After an error that has ended the communicator.
fn aborted(operation: &'static str) -> NcclError {
    NcclError::Refused { operation, text: "the communicator was ended by an earlier error".to_owned(), detail: None }
}

impl Drop for Rank {
    fn drop(&mut self) {
        let Some(comm) = self.comm.take() else { return };
        let (nccl, context) = (self.nccl, self.context.clone());
        outside_host_fn(move || {
            let mut rank = Rank { nccl, context: context.clone(), comm: Some(comm) };
            let Some(_entered) = context.enter_to_release() else {
                rank.comm = None;
                return;
            };
            let begin = Instant::now();
            // SAFETY: the communicator is alive; each operation has waited for its end, so all are done.
            let answer = unsafe { (nccl.processes.finalize)(comm) };
            let ended = nccl.library.check("end a communicator", Some(comm), answer).is_ok()
                && loop {
                    match rank.is_idle("end a communicator") {
                        Ok(true) => break true,
                        Ok(false) if begin.elapsed() < END => std::thread::sleep(PAUSE),
                        _ => break false,
                    }
                };
            if ended {
                rank.comm = None;
                // SAFETY: made by `join`, destroyed once, in a living context.
                unsafe { nccl.library.leave(comm) };
            } else {
                rank.abort();
            }
        });
    }
}
