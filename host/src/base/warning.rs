//! Warnings about programs that work, but perhaps not as meant: launches that copy the same host memory again and again
//! (Numba's `NumbaPerformanceWarning`), and launches with fewer threads than an output has elements.
//!
//! A warning is printed to stderr once for each place in the program, or for each kernel. `RUMBA_WARNINGS=off` or [`set_warnings`] silence all;
//! stderr rather than a logging crate, because the program that needs it most has no logger. Tests capture it.

use crate::base::error::threads;
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, LazyLock};

/// Something that costs time for nothing, or is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// Launches at one place that copy the same host memory to the device, each time.
    RepeatedCopies {
        /// The file of the program that launches.
        file: &'static str,
        /// The line there, from 1.
        line: u32,
        /// The kernel.
        kernel: &'static str,
        /// Launches so far.
        launches: u32,
        /// Bytes of host memory that each of them copies.
        bytes: usize,
    },
    /// A launch that leaves elements of an output as they are, because it has too few threads or blocks. Told once for each
    /// kernel. [`Module::for_each`](crate::Module::for_each), which is told how many elements are meant, gives none.
    Unreached {
        /// The file of the program that launches.
        file: &'static str,
        /// The line there, from 1.
        line: u32,
        /// The kernel.
        kernel: &'static str,
        /// The output.
        parameter: &'static str,
        /// Blocks of the launch.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
        /// Elements that the threads have.
        reached: usize,
        /// The number of elements.
        elements: usize,
    },
    /// A file of measured choices of kernels that cannot be used: they are measured again.
    TuningFile {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        problem: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::RepeatedCopies { file, line, kernel, launches, bytes } => write!(
                f,
                "{file}:{line}: `{kernel}` was launched {launches} times with the same host memory, {bytes} bytes of which are \
                 copied each time\n\
                 help: keep it on the device: `let x = device.buffer_from(&x)?`, and pass `&x`; {SILENCED}"
            ),
            Warning::Unreached { file, line, kernel, parameter, grid, block, reached, elements } => write!(
                f,
                "{file}:{line}: {} of `{kernel}` reach {reached} of the {elements} elements of `{parameter}`, and leave the \
                 others as they are\n\
                 help: launch more, or with `for_each(n, ..)`, which has a thread for each of n elements; pass only the part that \
                 is meant, or let the kernel go around with `{parameter}.grid_stride()`; {SILENCED}",
                threads(grid, block)
            ),
            Warning::TuningFile { path, problem } => write!(
                f,
                "the file {} of measured choices of kernels is not used: {problem}\n\
                 help: it is replaced when a choice is measured; where the folder cannot be written, `RUMBA_CACHE` names another; \
                 {SILENCED}",
                path.display()
            ),
        }
    }
}

const SILENCED: &str = "`RUMBA_WARNINGS=off` or `rumba::warning::set_warnings(|_| ())` silences this";

/// Calls `handler` with each warning from now on, instead of printing it.
///
/// # Examples
/// ```
/// rumba::warning::set_warnings(|warning| println!("slow: {warning}"));
/// ```
pub fn set_warnings(handler: impl Fn(&Warning) + Send + Sync + 'static) {
    *HANDLER.lock() = Arc::new(handler);
}

type Handler = Arc<dyn Fn(&Warning) + Send + Sync>;

static HANDLER: LazyLock<Mutex<Handler>> = LazyLock::new(|| {
    let silent = std::env::var_os("RUMBA_WARNINGS").is_some_and(|value| value == "off");
    Mutex::new(if silent {
        Arc::new(|_: &Warning| ())
    } else {
        Arc::new(|warning: &Warning| eprintln!("warning: {warning}"))
    })
});

/// The record of a location that launches with host memory.
#[derive(Default)]
struct LocationRecord {
    /// Addresses and lengths of the host memory of the last launch, as one number.
    memory: u64,
    launches: u32,
}

static PLACES: LazyLock<Mutex<Places>> = LazyLock::new(Mutex::default);

/// By file, line and column.
type Places = HashMap<(&'static str, u32, u32), LocationRecord>;

/// Launches with the same memory that a warning takes: fewer are no loop.
const LAUNCHES: u32 = 16;
/// Bytes of a launch that a warning takes: copying fewer costs no more than launching.
const BYTES: usize = 256 << 10;

thread_local! {
    /// Whether launches of this thread repeat copies on purpose.
    static ON_PURPOSE: Cell<bool> = const { Cell::new(false) };
}

/// Runs work whose launches repeat copies on purpose, to measure them.
pub(crate) fn repeating_on_purpose<T>(work: impl FnOnce() -> T) -> T {
    /// Takes back the purpose, also after a panic.
    struct Back(bool);
    impl Drop for Back {
        fn drop(&mut self) {
            ON_PURPOSE.set(self.0);
        }
    }
    let _back = Back(ON_PURPOSE.replace(true));
    work()
}

/// Notes a launch at a place of the program that copies host memory: where each piece begins, and its bytes.
pub(crate) fn copied(
    at: &'static Location<'static>,
    kernel: &'static str,
    memory: impl Iterator<Item = (usize, usize)>,
) {
    let (mut bytes, mut key) = (0, 0xcbf2_9ce4_8422_2325_u64);
    for (address, length) in memory {
        bytes += length;
        for word in [address, length] {
            key = (key ^ word as u64).wrapping_mul(0x0100_0000_01b3);
        }
    }
    if bytes < BYTES || ON_PURPOSE.get() {
        return;
    }
    let launches = {
        let mut places = PLACES.lock();
        let place = places.entry((at.file(), at.line(), at.column())).or_default();
        if place.memory != key && place.launches < LAUNCHES {
            *place = LocationRecord { memory: key, launches: 0 };
        }
        place.launches = place.launches.saturating_add(1);
        place.launches
    };
    // Once for each place: later launches only count on.
    if launches == LAUNCHES {
        let warning = Warning::RepeatedCopies { file: at.file(), line: at.line(), kernel, launches, bytes };
        warn(&warning);
    }
}

/// Tells the program.
pub(crate) fn warn(warning: &Warning) {
    let handler = HANDLER.lock().clone();
    handler(warning);
}
