//! One device's context, shared by everything that was made in it and released with the last of it.
//!
//! Every call of the driver is made between [`Context::enter`] and the drop of what it returns. That
//! makes the context current on the thread, and keeps `Device::reset` out until the call is over, so
//! a handle that the driver has forgotten is never passed to it.

mod builtin;
pub(crate) mod capture;
pub(crate) mod failures;
pub(crate) mod function;
pub(crate) mod limits;
mod order;
pub(crate) mod panics;
mod pool;
pub(crate) mod queue;
pub(crate) mod raw;
pub(crate) mod staging;
pub(crate) mod users;
pub(crate) mod uses;
mod wait;

use crate::base::error::{Code, DriverError, Error, Fault, Result};
use crate::base::host_fn;
use crate::base::{driver, recording};
use crate::context::builtin::Builtin;
use crate::context::failures::Failures;
use crate::context::limits::Limits;
use crate::context::panics::Panics;
use crate::context::pool::Pool;
use crate::context::queue::Queues;
use crate::context::staging::Staging;
use crate::cuda::{self, Primary};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// How often each device was reset. The driver's context is one per device, so a reset also ends a
/// [`Context`] that is just being dropped while its successor is reset.
static RESETS: Mutex<BTreeMap<u32, u64>> = Mutex::new(BTreeMap::new());

/// A device's primary context, from the first [`crate::Device`] to the last thing made on it.
pub(crate) struct Context {
    /// A number that no other context of the process has.
    pub(crate) id: u64,
    pub(crate) ordinal: u32,
    /// "device 0 (NVIDIA H200)", for messages.
    pub(crate) label: String,
    pub(crate) limits: Limits,
    /// The device memory that launches with host slices use again and again.
    pub(crate) pool: Mutex<Pool>,
    /// Staging buffers for large copies of ordinary host memory.
    pub(crate) staging: Staging,
    /// The streams of this context.
    pub(crate) queues: ManuallyDrop<Queues>,
    /// The records of threads that panicked.
    pub(crate) panics: Panics,
    /// The errors of groups of ranks with work in this context.
    pub(crate) failures: Failures,
    /// The contexts whose memory kernels of this context can use, by number.
    peers: Mutex<Vec<u64>>,
    /// The runtime's own kernels that were launched.
    pub(crate) builtin: Builtin,
    /// The kernel that was launched last, for reports of faults that arrive later.
    last_kernel: AtomicPtr<cuda_std::launch::Kernel>,
    /// The fault that ended the context, if any.
    lost: OnceLock<String>,
    /// False once `Device::reset` has destroyed the driver's context.
    alive: RwLock<bool>,
    /// How often the device had been reset when this context began.
    resets: u64,
    handle: ManuallyDrop<Primary>,
}

impl Context {
    /// Retains the device's primary context.
    pub(crate) fn new(ordinal: u32, device: crate::cuda::Device) -> Result<Arc<Context>> {
        let failed = |operation: &str, error| Error::from(DriverError::new(operation.to_owned(), error));
        let handle = Primary::retain(device).map_err(|error| {
            let error = DriverError::new("start a context on the device".to_owned(), error);
            // The fault of a context that is gone: this driver keeps it.
            if error.code().loses_context() {
                Error::NeedsRestart { device: ordinal, error: Box::new(error) }
            } else {
                error.into()
            }
        })?;
        handle.make_current().map_err(|error| failed("make the context current", error))?;
        let limits = Limits::of(device).map_err(|error| failed("read the device's limits", error))?;
        let name = device.name().map_err(|error| failed("read the device's name", error))?;
        let queues = Queues::new().map_err(|error| failed("create the default stream", error))?;
        static IDS: AtomicU64 = AtomicU64::new(1);
        Ok(Arc::new(Context {
            id: IDS.fetch_add(1, Ordering::Relaxed),
            ordinal,
            label: format!("device {ordinal} ({name})"),
            limits,
            pool: Mutex::default(),
            staging: Staging::default(),
            queues: ManuallyDrop::new(queues),
            panics: Panics::default(),
            failures: Failures::default(),
            peers: Mutex::default(),
            builtin: Builtin::default(),
            last_kernel: AtomicPtr::default(),
            lost: OnceLock::new(),
            alive: RwLock::new(true),
            resets: RESETS.lock().get(&ordinal).copied().unwrap_or(0),
            handle: ManuallyDrop::new(handle),
        }))
    }

    /// Begins an operation of the driver. `operation` names it and the thing it concerns, as the end
    /// of "cannot …"; it is called only when something is wrong.
    #[inline]
    pub(crate) fn enter(&self, operation: impl Fn() -> String) -> Result<Entered<'_>> {
        self.try_enter().map_err(|refusal| self.refused(refusal, operation()))
    }

    /// The common path of every operation, in one function that stays in the processor's cache.
    fn try_enter(&self) -> Result<Entered<'_>, Refusal> {
        if host_fn::in_host_fn() {
            return Err(Refusal::InHostFunction);
        }
        let alive = self.alive.read_recursive();
        if !*alive {
            return Err(Refusal::Destroyed);
        }
        if self.lost.get().is_some() {
            return Err(Refusal::Lost);
        }
        match self.make_current() {
            Ok(()) => Ok(Entered { context: self, _alive: alive }),
            Err(code) => Err(Refusal::Driver(code)),
        }
    }

    #[cold]
    fn refused(&self, refusal: Refusal, operation: String) -> Error {
        let device = self.ordinal;
        match refusal {
            Refusal::InHostFunction => Error::InHostFunction { operation },
            Refusal::Destroyed => Error::ContextDestroyed { operation, device },
            Refusal::Lost => {
                Error::ContextLost { operation, device, cause: self.lost.get().cloned().unwrap_or_default() }
            }
            Refusal::Driver(code) => self.error(code, operation),
        }
    }

    /// The driver's answer as an error of this library; a fault ends the context.
    #[cold]
    fn error(&self, code: Code, operation: String) -> Error {
        let driver_error = DriverError::new(operation, code);
        if !code.loses_context() {
            return driver_error.into();
        }
        let fault = Fault { error: driver_error, kernel: self.last_kernel(), report: driver::last_report() };
        let first_line = fault.to_string().lines().next().unwrap_or_default().to_owned();
        self.lost.get_or_init(|| first_line);
        host_fn::forget(self.id);
        Error::Fault(Box::new(fault))
    }

    /// Makes the context current on the calling thread, for as long as an [`Entered`] keeps it alive. It mostly is already, and
    /// asking takes the driver less time than setting.
    pub(crate) fn make_current(&self) -> Result<(), Code> {
        self.handle.make_current()
    }

    /// Keeps this context alive during an operation of another one, which stays current.
    pub(crate) fn enter_beside(&self, operation: impl Fn() -> String) -> Result<RwLockReadGuard<'_, bool>> {
        let alive = self.alive.read_recursive();
        if *alive {
            return Ok(alive);
        }
        Err(Error::ContextDestroyed { operation: operation(), device: self.ordinal })
    }

    /// Notes that kernels of this context can use the memory of another one.
    pub(crate) fn reaches_from_now(&self, other: &Context) {
        self.peers.lock().push(other.id);
    }

    /// Whether kernels of this context can use the memory of another one.
    pub(crate) fn reaches(&self, other: &Context) -> bool {
        self.peers.lock().contains(&other.id)
    }

    /// The driver's name of it.
    pub(crate) fn handle(&self) -> &Primary {
        &self.handle
    }

    /// Begins the release of something, also in a context that a fault has ended. None: the driver has released it already,
    /// with the context. Not for host functions, in which the driver must not be called: see [`host_fn::OutsideHostFn`].
    pub(crate) fn enter_to_release(&self) -> Option<Entered<'_>> {
        debug_assert!(!host_fn::in_host_fn(), "a release in a host function");
        let alive = self.alive.read_recursive();
        if !*alive || self.make_current().is_err() {
            return None;
        }
        Some(Entered { context: self, _alive: alive })
    }

    /// Waits for operations in progress, destroys the driver's context and all that is in it. The driver's context of one that was
    /// destroyed before is what a successor left that could not be made.
    pub(crate) fn destroy(&self, device: crate::cuda::Device) -> Result<()> {
        let mut alive = self.alive.write();
        recording::forget(self.ordinal);
        if *alive {
            recording::was_default_stream(self.queues.default.raw.raw());
        }
        // Nothing may write to the host's memory any more when the context is gone. Whatever comes back, it ends below.
        let _ = self.make_current().map(|()| cuda::synchronize());
        let reset = {
            let mut resets = RESETS.lock();
            *resets.entry(self.ordinal).or_default() += 1;
            // SAFETY: the lock is held for writing, so no operation of this library is in progress
            // on the context, and with `alive` false none will begin; handles into it are leaked.
            unsafe { device.reset() }
        };
        *alive = false;
        self.pool.lock().forget();
        host_fn::forget(self.id);
        reset.map_err(|error| DriverError::new("reset the device".to_owned(), error).into())
    }

    /// Whether the context can still be used.
    pub(crate) fn is_usable(&self) -> bool {
        *self.alive.read_recursive() && self.lost.get().is_none()
    }

    /// Notes the kernel that is about to be launched.
    pub(crate) fn launching(&self, kernel: &'static cuda_std::launch::Kernel) {
        self.last_kernel.store(std::ptr::from_ref(kernel).cast_mut(), Ordering::Relaxed);
    }

    fn last_kernel(&self) -> Option<&'static str> {
        // SAFETY: the pointer is null or came from a `&'static Kernel`.
        unsafe { self.last_kernel.load(Ordering::Relaxed).as_ref() }.map(|kernel| kernel.name)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if *self.alive.get_mut() {
            recording::was_default_stream(self.queues.default.raw.raw());
        }
        let (ordinal, alive, began) = (self.ordinal, *self.alive.get_mut(), self.resets);
        let mut pool = std::mem::take(self.pool.get_mut());
        let mut staging = std::mem::take(&mut self.staging);
        let builtin = std::mem::take(&mut self.builtin);
        // SAFETY: both are taken once, here; not used afterwards.
        let (queues, handle) = unsafe { (ManuallyDrop::take(&mut self.queues), ManuallyDrop::take(&mut self.handle)) };
        host_fn::outside_host_fn(move || {
            // Held to the end, so that no reset comes in between.
            let resets = RESETS.lock();
            if alive && resets.get(&ordinal).copied().unwrap_or(0) == began && handle.make_current().is_ok() {
                pool.release();
                staging.release();
                builtin.unload();
                queues.release();
            }
            // Releasing is right after a reset too: the driver counts retains and releases of the primary context apart
            // from what a reset does to it.
            drop(handle);
        });
    }
}

/// Why an operation cannot begin.
enum Refusal {
    InHostFunction,
    Destroyed,
    Lost,
    Driver(Code),
}

/// The proof that a context is alive and current on this thread.
pub(crate) struct Entered<'a> {
    pub(crate) context: &'a Context,
    _alive: RwLockReadGuard<'a, bool>,
}

impl Entered<'_> {
    /// Turns the driver's answer into this library's. `operation` is called only on failure.
    pub(crate) fn check<T>(&self, result: Result<T, Code>, operation: impl FnOnce() -> String) -> Result<T> {
        result.map_err(|error| self.context.error(error, operation()))
    }
}

/// An error unless both are one context. A context that was reset is told apart from another device.
pub(crate) fn same_context(ours: &Arc<Context>, theirs: &Arc<Context>, operation: impl Fn() -> String) -> Result<()> {
    if Arc::ptr_eq(ours, theirs) {
        return Ok(());
    }
    ours.enter(&operation)?;
    theirs.enter(&operation)?;
    Err(Error::OtherDevice { operation: operation(), ours: ours.ordinal, theirs: theirs.ordinal })
}
