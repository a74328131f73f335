//! The error of a kernel that panicked: what Rust's panics are on the host, for threads of a device.

use std::fmt;

/// A thread of a kernel panicked: an index out of bounds, a failed assertion, an overflow where it is checked, an `unwrap` of nothing.
///
/// The thread ended there; the other threads ran on, and the launch completed. The output of the kernel is incomplete.
/// Unlike after a [`crate::error::Fault`], the context remains usable.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelPanic {
    /// The message, as Rust words it.
    pub message: String,
    /// The source file, as the compiler was told of it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The kernel, where it is known: a launch that is not waited for may be any of those before the wait.
    pub kernel: Option<&'static str>,
    /// Index of the thread's block in the grid.
    pub block: [u32; 3],
    /// Index of the thread in its block.
    pub thread: [u32; 3],
    /// The number of threads that panicked. The other fields describe the first of them.
    pub threads: u32,
}

impl fmt::Display for KernelPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.thread;
        let [block_x, block_y, block_z] = self.block;
        match self.kernel {
            Some(kernel) => write!(f, "the kernel `{kernel}` panicked")?,
            None => write!(f, "a kernel panicked")?,
        }
        write!(f, " at {}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        write!(f, "\n  in block ({block_x}, {block_y}, {block_z}), thread ({x}, {y}, {z})")?;
        match self.threads.saturating_sub(1) {
            0 => {}
            1 => write!(f, ", and in 1 more thread")?,
            more => write!(f, ", and in {more} more threads")?,
        }
        write!(
            f,
            "\nThe other threads ran on without it, so the results are incomplete. The device can be used as before."
        )
    }
}

impl std::error::Error for KernelPanic {}
