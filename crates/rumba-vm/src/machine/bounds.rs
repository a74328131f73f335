//! What operations have learnt about the memory that they access, kept by each worker.

/// What an operation learnt about the memory that it accesses: a range that holds no surprises.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Bounds {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

/// Number of [`Bounds`] in each of a worker's tables; operations share them modulo this.
pub(crate) const CACHES: usize = 4096;

/// A worker's tables: for reads and for writes, each of memory that holds no surprises and of memory that is [`watched`].
pub(crate) const TABLES: usize = 4;
