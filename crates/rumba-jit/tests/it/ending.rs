//! Processes that end while LLVM works.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{Settings, llvm, settings};
use rumba_jit::{Jit, Source};

/// The variables of the process that ends: the number of operations that it compiles, and after how many microseconds
/// it ends.
const OPERATIONS: &str = "RUMBA_JIT_TEST_ENDS";
const AFTER: &str = "RUMBA_JIT_TEST_ENDS_AFTER";

/// Assembly that takes LLVM long: a function of `operations` dependent operations.
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

/// A program's own exit function. Registered before the first compilation, it runs after the wait for compilations.
extern "C" fn later() {
    println!("{}", if IS_DONE.load(Ordering::SeqCst) { "done" } else { "not done" });
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
    let Ok(operations) = std::env::var(OPERATIONS) else {
        return;
    };
    // SAFETY: the function stays.
    unsafe { libc::atexit(later) };
    let folder = tempfile::tempdir().unwrap();
    let jit = Jit::new(Settings { cache: None, ..settings(folder.path()) });
    let done = Box::new(|_| IS_DONE.store(true, Ordering::SeqCst));
    jit.compile(Source::of_text("long", &long(operations.parse().unwrap())), done);
    let begun = Instant::now();
    if let Ok(after) = std::env::var(AFTER) {
        std::thread::sleep(Duration::from_micros(after.parse().unwrap()));
    } else {
        while !is_compiling() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing is compiled");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    drop(folder);
    std::process::exit(7);
}

/// Ends a process while LLVM works, or after a time. Returns its output at the end, and the time that it took.
fn run(operations: usize, after: Option<Duration>) -> (String, Duration) {
    let begun = Instant::now();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["ending::ends", "--exact", "--nocapture"])
        .env(OPERATIONS, operations.to_string())
        .envs(after.map(|after| (AFTER, after.as_micros().to_string())))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(7), "{after:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    (text.lines().last().unwrap_or_default().to_owned(), begun.elapsed())
}

#[test]
fn a_process_ends_when_llvm_is_done() {
    let Some(_) = llvm() else { return };
    // Where the machine has much else to do, it takes longer than the end waits.
    let done = (0..20).filter(|_| run(50, None).0 == "done").count();
    assert!(done > 0, "nothing that was begun is done");
}

/// In the middle of LLVM's constructors, too.
#[test]
fn a_process_ends_while_llvm_is_loaded() {
    let Some(_) = llvm() else { return };
    // Before it is loaded, 10 ms and a microsecond for each byte of the text pass.
    let begin = 8_000 + long(200).len() as u64;
    for step in 0..64 {
        run(200, Some(Duration::from_micros(begin + 300 * step)));
    }
}

#[test]
fn a_process_does_not_wait_long_for_llvm() {
    let Some(_) = llvm() else { return };
    for _ in 0..4 {
        let (text, time) = run(15_000, None);
        assert_eq!(text, "not done");
        assert!(time < Duration::from_secs(5), "{time:?}");
    }
}
