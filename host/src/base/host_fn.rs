//! Host functions: functions that the driver calls in a stream's order, from a thread of its own. In them the driver must not be
//! called. What is dropped there and must call the driver for it is handed on to a thread of the runtime: see [`OutsideHostFn`].

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
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
                // A task that panics has said so; the others are not concerned.
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

/// Runs a host function, and drops it where its drop may call the driver.
pub(crate) fn run<F: FnMut() + Send + 'static>(mut function: Box<F>) {
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
        // The thread has ended, with the process. What cannot be released is kept.
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
