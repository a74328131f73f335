//! LLVM's fatal errors ("cannot select …") as values.
//!
//! LLVM aborts the process after such an error, and its frames must not be unwound. So LLVM runs on
//! threads of its own; when it gives up, that thread hands over the message and sleeps for the rest
//! of the process. The thread's memory and locks are leaked, which is the price of reporting the error properly.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::{Llvm, LlvmError};

/// LLVM recurses over the expressions and the dominator tree of a function.
const STACK_BYTES: usize = 64 << 20;

thread_local! {
    static REPORT: RefCell<Option<Sender<String>>> = const { RefCell::new(None) };
}

/// The handler given to LLVM.
extern "C" fn handler(reason: *const c_char) {
    // SAFETY: LLVM passes a NUL-terminated string.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    let sender = REPORT.with_borrow_mut(Option::take);
    let Some(sender) = sender else {
        eprintln!("LLVM gave up: {reason}");
        return;
    };
    // The receiver waits until the sender is gone.
    let _ = sender.send(reason.into_owned());
    drop(sender);
    loop {
        thread::park();
    }
}

impl Llvm {
    /// Runs `work` on a thread of LLVM's, where a fatal error of this LLVM becomes an `Err`.
    ///
    /// # Errors
    /// The errors of `work`, and LLVM's fatal errors.
    ///
    /// # Panics
    /// If `work` does.
    pub fn guarded<T, E>(&'static self, work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<LlvmError> + Send + 'static,
    {
        // Installed each time: a program that builds kernels and loads the software device has this code twice, and LLVM keeps
        // one handler.
        // SAFETY: the handler is a function of this signature, which stays.
        unsafe { (self.api().LLVMInstallFatalErrorHandler)(handler) };
        on_thread(work)
    }
}

/// Work for a thread of LLVM's.
struct Job(Box<Work>);

/// Work, given the way to send its thread more.
type Work = dyn FnOnce(&Sender<Job>) + Send;

/// Threads that wait for work. They are kept: what C libraries and LLVM remember for each thread is not all freed when it ends. A thread
/// that LLVM gave up on does not come back.
static IDLE: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<Sender<Job>>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a thread do some work.
fn give(job: Job) -> Result<(), LlvmError> {
    let waiting = idle().pop();
    let jobs = match waiting {
        Some(jobs) => jobs,
        None => start().map_err(|error| LlvmError(format!("no thread could be started for LLVM: {error}")))?,
    };
    jobs.send(job).map_err(|_| LlvmError("the thread that runs LLVM has ended".into()))
}

/// Starts a thread.
fn start() -> std::io::Result<Sender<Job>> {
    let (sender, jobs) = channel::<Job>();
    let own = sender.clone();
    thread::Builder::new()
        .name("llvm".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || jobs.iter().for_each(|job| (job.0)(&own)))?;
    Ok(sender)
}

fn on_thread<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<LlvmError> + Send + 'static,
{
    enum Outcome<T> {
        Returned(T),
        Panicked(Box<dyn std::any::Any + Send>),
    }
    let (done, result) = channel();
    let (fatal, reason) = channel();
    let job = Box::new(move |jobs: &Sender<Job>| {
        REPORT.set(Some(fatal));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let _ = done.send(match outcome {
            Ok(value) => Outcome::Returned(value),
            Err(panic) => Outcome::Panicked(panic),
        });
        idle().push(jobs.clone());
        // The caller goes on, and finds this thread idle.
        REPORT.set(None);
    });
    give(Job(job))?;
    // Either the sender is dropped unused (the work returned) or it carries LLVM's last words.
    if let Ok(reason) = reason.recv() {
        return Err(LlvmError(reason).into());
    }
    match result.recv() {
        Ok(Outcome::Returned(value)) => value,
        Ok(Outcome::Panicked(panic)) => std::panic::resume_unwind(panic),
        Err(_) => Err(LlvmError("the thread that ran LLVM ended without a result".into()).into()),
    }
}
