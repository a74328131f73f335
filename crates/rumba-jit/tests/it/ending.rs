//! Processes that end while LLVM works.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Settings, llvm, settings};
use rumba_jit::Jit;

/// Says to a process that it is the one that ends.
const VARIABLE: &str = "RUMBA_JIT_TEST_ENDS";

/// Assembly that takes LLVM long: a function of so many dependent operations.
fn long(operations: usize) -> String {
    let mut text = "define <32 x i32> @f(<32 x i32> %v0, <32 x i32> %w) {\n".to_owned();
    for number in 0..operations {
        let next = number + 1;
        let operation = ["add", "mul", "xor", "lshr"][number % 4];
        text.push_str(&format!(" %v{next} = {operation} <32 x i32> %v{number}, %w\n"));
    }
    text.push_str(&format!(" ret <32 x i32> %v{operations}\n}}\n"));
    text
}

static IS_DONE: AtomicBool = AtomicBool::new(false);

/// Registered before LLVM is loaded, so it runs after what waits for LLVM, as LLVM's own destructors do.
extern "C" fn later() {
    if !IS_DONE.load(Ordering::SeqCst) {
        // SAFETY: it ends the process.
        unsafe { libc::_exit(8) };
    }
}

/// Whether a thread is in LLVM.
fn is_compiling() -> bool {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.into_iter().any(|name| name.trim() == "llvm")
}

/// Runs in a process of its own.
#[test]
fn ends() {
    let Ok(operations) = std::env::var(VARIABLE) else {
        return;
    };
    // SAFETY: the function stays.
    unsafe { libc::atexit(later) };
    let folder = tempfile::tempdir().unwrap();
    let jit = Jit::new(Settings {
        cache: None,
        ..settings(folder.path())
    });
    let done = Box::new(|_| IS_DONE.store(true, Ordering::SeqCst));
    jit.compile("long".to_owned(), long(operations.parse().unwrap()), done);
    let begun = Instant::now();
    while !is_compiling() {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is compiled");
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(folder);
    std::process::exit(7);
}

/// Ends a process while LLVM works, and gives the time that it took.
fn run(operations: usize) -> Duration {
    let begun = Instant::now();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["ending::ends", "--exact", "--nocapture"])
        .env(VARIABLE, operations.to_string())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    begun.elapsed()
}

#[test]
fn a_process_ends_when_llvm_is_done() {
    let Some(_) = llvm() else { return };
    for _ in 0..20 {
        run(200);
    }
}

#[test]
fn a_process_does_not_wait_long_for_llvm() {
    let Some(_) = llvm() else { return };
    let time = run(15_000);
    assert!(time < Duration::from_secs(5), "{time:?}");
}
