//! The proxies of memory accesses, as bits of the blocks' numbers by which vector clocks know threads; their use is
//! described in [`crate::check::agent`].

/// In the block of a thread: it is an agent of that block.
pub(crate) const AGENT: u32 = 1 << 31;

/// A proxy other than the generic one, or a part of its memory: what is known of writes there is kept by a bit of a
/// thread's block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Proxy {
    /// The asynchronous proxy, as to shared memory.
    Shared = 1 << 30,
    /// The asynchronous proxy, as to global memory.
    Global = 1 << 29,
    /// The proxy of tensor maps: what was released to it, and what of that was acquired.
    MapReleased = 1 << 28,
    MapAcquired = 1 << 27,
}

impl Proxy {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Shared, Self::Global, Self::MapReleased, Self::MapAcquired];
}

/// The bits of a block's number that say what it is the number of. Blocks beyond are confused with others, of which some
/// mistakes are then not found.
pub(super) const ROLES: u32 = !((Proxy::MapAcquired as u32) - 1);
