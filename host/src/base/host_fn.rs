//! Host functions: functions that the driver calls in a stream's order, from its own thread. A host function must not
//! call the driver. If a drop in a host function needs the driver, another thread does it: see [`OutsideHostFn`].

use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Something for a thread of the runtime to do.
pub(crate) type Task = Box<dyn FnOnce() + Send>;

/// Where releases go: a thread of their own, because a release may wait for a stream whose work waits for a callback.
static RELEASES: LazyLock<Sender<Task>> = LazyLock::new(|| worker("rumba-releases"));

/// Starts a thread that runs tasks one after the other, as long as the process lives.
pub(crate) fn worker(name: &str) -> Sender<Task> {
    let (sender, tasks) = channel::<Task>();
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            for task in tasks {
                // The panic hook has reported the panic; later tasks still run.
                let _ = catch_unwind(AssertUnwindSafe(task));
            }
        })
        .expect("the system has room for one more thread");
    sender
}

thread_local! {
    static IN_HOST_FN: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs a function that a stream waits for, and that must not call the driver.
pub(crate) fn in_host_fn() -> bool {
    IN_HOST_FN.get()
}

/// Starts the thread of releases, which cannot be started in a host function.
pub(crate) fn prepare() {
    LazyLock::force(&RELEASES);
}

/// A function that the driver calls in a stream's order.
pub(crate) type HostFn = Box<dyn FnMut() + Send>;

/// The functions that streams are to call, by number, each with the number of its context. The driver has the number alone: after a
/// fault it calls no function of the context any more, and the runtime gives back what these own.
static KEPT: Mutex<BTreeMap<usize, (u64, HostFn)>> = Mutex::new(BTreeMap::new());

/// Keeps a function for the driver, until [`take`] or [`forget`]. Gives its number.
pub(crate) fn keep(context: u64, function: HostFn) -> usize {
    static NUMBERS: AtomicUsize = AtomicUsize::new(1);
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
    KEPT.lock().insert(number, (context, function));
    number
}

/// The function of a number, unless it was forgotten.
pub(crate) fn take(number: usize) -> Option<HostFn> {
    KEPT.lock().remove(&number).map(|(_, function)| function)
}

/// Drops the functions of a context that is lost or gone, on the releases' thread: their drop may call the driver.
pub(crate) fn forget(context: u64) {
    let forgotten: Vec<_> = KEPT.lock().extract_if(.., |_, (of, _)| *of == context).collect();
    if !forgotten.is_empty()
        && let Err(unsent) = RELEASES.send(Box::new(move || drop(forgotten)))
    {
        // As in `outside_host_fn`.
        std::mem::forget(unsent);
    }
}

/// Runs a host function, and drops it where its drop may call the driver.
pub(crate) fn run(mut function: HostFn) {
    IN_HOST_FN.set(true);
    // Nothing may unwind into the driver. The panic has been reported where it happened.
    let _ = catch_unwind(AssertUnwindSafe(&mut *function));
    outside_host_fn(move || drop(function));
    IN_HOST_FN.set(false);
}

/// Runs a release, which may wait for the device: at once, or in a host function on the releases' thread.
pub(crate) fn outside_host_fn(release: impl FnOnce() + Send + 'static) {
    if !in_host_fn() {
        release();
    } else if let Err(unsent) = RELEASES.send(Box::new(release)) {
        // The thread has ended, with the process. Objects that cannot be released are leaked.
        std::mem::forget(unsent);
    }
}

/// A value whose drop calls the driver, and so never runs in a host function: see [`outside_host_fn`].
#[derive(Clone)]
pub(crate) struct OutsideHostFn<T: Send + 'static>(ManuallyDrop<T>);

impl<T: Send + 'static> OutsideHostFn<T> {
    pub(crate) fn new(value: T) -> OutsideHostFn<T> {
        OutsideHostFn(ManuallyDrop::new(value))
    }

    /// The value, of whose drop the caller takes care.
    #[cfg(any(feature = "cudarc", feature = "cust"))]
    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: taken once, here; `this` is not dropped.
        unsafe { ManuallyDrop::take(&mut this.0) }
    }
}

impl<T: Send + 'static> Deref for OutsideHostFn<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + 'static> DerefMut for OutsideHostFn<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Send + 'static> Drop for OutsideHostFn<T> {
    fn drop(&mut self) {
        // SAFETY: taken once, here; not used afterwards.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        outside_host_fn(move || drop(value));
    }
}
