//! Calls from a stream to the host: when its work is done, and in the order of its work.
//!
//! The driver calls from a thread of its own, in which nothing may call the driver. So what [`Stream::add_callback`] was given
//! is handed on to a thread of the runtime, where everything is allowed. What [`Stream::launch_host_fn`] was given runs in the
//! driver's thread, because the stream waits for it, and calls of this library from there are refused: see [`host_fn`].

use crate::base::error::{Result, answer};
use crate::base::host_fn::{self, Task, worker};
use crate::base::recording::{self, Recorder};
use crate::context::users::Waited;
use crate::cuda::sys;
use crate::streams::stream::Stream;
use std::ffi::c_void;
use std::sync::LazyLock;
use std::sync::mpsc::Sender;

/// Where callbacks go. They run one after the other.
static CALLBACKS: LazyLock<Sender<Task>> = LazyLock::new(|| worker("rumba-callbacks"));

/// The argument that the driver passes to the callback.
struct Callback {
    stream: Stream,
    /// The number of the stream.
    queue: u64,
    /// The recorder of the profile that the function belongs to.
    recorder: Option<Recorder>,
    function: Box<dyn FnOnce(Result<()>) + Send>,
}

impl Stream {
    /// Calls `function` once all work is done that is on the stream so far, with an error if that failed.
    ///
    /// It runs on a thread that belongs to this library and runs one callback after the other; it may use this library
    /// freely, and should not take long. Later work on the stream does not wait for it; see
    /// [`Stream::launch_host_fn`] for that.
    ///
    /// # Errors
    /// The driver's, or that the context is lost; `function` is then not called.
    ///
    /// # Examples
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let stream = rumba::Device::new()?.stream()?;
    /// let (sender, receiver) = channel();
    /// stream.add_callback(move |outcome| sender.send(outcome.is_ok()).expect("the receiver is alive"))?;
    /// assert_eq!(receiver.recv(), Ok(true));
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn add_callback(&self, function: impl FnOnce(Result<()>) + Send + 'static) -> Result<()> {
        LazyLock::force(&CALLBACKS);
        let operation = || "add a callback to a stream".to_owned();
        let queue = self.queue(operation)?;
        let entered = self.context().enter(operation)?;
        let callback = Box::into_raw(Box::new(Callback {
            stream: self.clone(),
            queue: queue.id(),
            recorder: recording::own(),
            function: Box::new(function),
        }));
        // SAFETY: the stream is alive, its context current; the callback is the driver's until it calls `reached`.
        let added = answer(unsafe { sys::cuStreamAddCallback(queue.raw.raw(), Some(reached), callback.cast(), 0) });
        if added.is_err() {
            // SAFETY: made above, and the driver did not take it.
            drop(unsafe { Box::from_raw(callback) });
        }
        entered.check(added, operation)
    }

    /// Calls `function` once, in the order of the stream's work: after what is on the stream so far, and before what
    /// follows, which waits for it. CUDA's `cuLaunchHostFunc`.
    ///
    /// It runs on a thread of the driver's. There every call of this library fails with
    /// [`Error::InHostFunction`](crate::Error::InHostFunction), since the device may be waiting for that very function; what
    /// it drops of this library's is released a little later, by another thread. After a fault on the device the driver does
    /// not call it; it is dropped then.
    ///
    /// # Errors
    /// The driver's, or that the context is lost.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let stream = rumba::Device::new()?.stream()?;
    /// let counter = Arc::new(AtomicU32::new(0));
    /// for _ in 0..10 {
    ///     let counter = counter.clone();
    ///     stream.launch_host_fn(move || _ = counter.fetch_add(1, Ordering::Relaxed))?;
    /// }
    /// stream.synchronize()?;
    /// assert_eq!(counter.load(Ordering::Relaxed), 10);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn launch_host_fn(&self, function: impl FnMut() + Send + 'static) -> Result<()> {
        host_fn::prepare();
        let operation = || "launch a host function".to_owned();
        let queue = self.queue(operation)?;
        let entered = self.context().enter(operation)?;
        let number = host_fn::keep(self.context().id, Box::new(function));
        let argument = std::ptr::without_provenance_mut(number);
        // SAFETY: the stream is alive, its context current; the driver passes the number on to `call`.
        let launched = answer(unsafe { sys::cuLaunchHostFunc(queue.raw.raw(), Some(call), argument) });
        if launched.is_err() {
            drop(host_fn::take(number));
        }
        entered.check(launched, operation)
    }
}

/// Hands a callback on to the thread where it may call the driver.
unsafe extern "C" fn reached(_: sys::CUstream, status: sys::CUresult, callback: *mut c_void) {
    // SAFETY: `add_callback` made it, and the driver calls once.
    let callback = *unsafe { Box::from_raw(callback.cast::<Callback>()) };
    let Callback { stream, queue, recorder, function } = callback;
    let task = move || {
        let operation = || "finish the work of a stream".to_owned();
        let outcome = stream
            .context()
            .enter(operation)
            .and_then(|entered| entered.check_wait(Waited::on(queue), answer(status), operation));
        recording::within(recorder, || function(outcome));
    };
    // The receiver lives as long as the process.
    let _ = CALLBACKS.send(Box::new(task));
}

unsafe extern "C" fn call(number: *mut c_void) {
    if let Some(function) = host_fn::take(number.addr()) {
        host_fn::run(function);
    }
}
