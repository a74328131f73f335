//! Support for waits at barriers in shared memory that may never end: notes that the blocks of a cluster leave in each
//! other's shared memory, and exits of threads. Floors and duties are those of [`wgmma`](super::wgmma).

use core::sync::atomic::Ordering::AcqRel;

use super::intrinsics;
use super::scope::Device;
use super::sync::fence;
use super::wgmma::{instructions, questions};

/// Ends the thread as a return does: its own copies are complete, and its writes are visible to threads that pass a
/// barrier without it, of other blocks too. See `cuda_std::shared`.
#[inline(always)]
pub(crate) fn exit() -> ! {
    // Older devices have no asynchronous copies.
    if intrinsics::arch() >= 800 {
        intrinsics::cp_async_wait_all();
    }
    fence::<Device>(AcqRel);
    #[cfg(target_arch = "nvptx64")]
    intrinsics::exit();
    #[cfg(not(target_arch = "nvptx64"))]
    intrinsics::device_only("exit")
}

instructions! {
    /// Eight notes to the block's shared memory, before other threads use them.
    fn clear_notes(address: u32 => reg32) "st.shared::cta.u64 [{address}], 0;";
    /// A note to the block's shared memory.
    fn leave_note(address: u32 => reg32, note: u32 => reg32) "st.relaxed.cluster.shared::cta.u8 [{address}], {note};";
    /// Leaves a note for a block of the cluster.
    fn leave_note_to(address: u32 => reg32, block: u32 => reg32, note: u32 => reg32)
        "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {address}, {block}; st.relaxed.cluster.shared::cluster.u8 [remote], {note}; }}";
    /// A word to the block's shared memory, which threads of the cluster read that no barrier orders.
    fn store_word(address: u32 => reg32, word: u32 => reg32) "st.relaxed.cluster.shared::cta.u32 [{address}], {word};";
    /// Adds one to the word that another block of the cluster has at the same address.
    fn count_one_of(address: u32 => reg32, block: u32 => reg32)
        "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {address}, {block}; red.relaxed.cluster.shared::cluster.add.u32 [remote], 1; }}";
    /// Until all products of the warp group are over, whose sums are not used.
    fn wgmma_abandon() "wgmma.wait_group.sync.aligned 0;";
}

questions! {
    /// Whether the phase of this parity is over, without waiting.
    fn mbarrier_test(barrier: u32 => reg32, parity: u32 => reg32)
        "{{ .reg .pred done; mbarrier.test_wait.parity.shared::cta.b64 done, [{barrier}], {parity}; selp.u32 {result}, 1, 0, done; }}";
    /// Adds 1, opaque to the compiler: it unrolls no loop that ends by this count.
    fn add_one(number: u32 => reg32) "add.u32 {result}, {number}, 1;";
    /// The note at an address of the block's shared memory.
    fn note(address: u32 => reg32) "ld.relaxed.cluster.shared::cta.u8 {result}, [{address}];";
    /// The word at an address of the block's shared memory, which a thread may be writing.
    fn word(address: u32 => reg32) "ld.relaxed.cluster.shared::cta.u32 {result}, [{address}];";
    /// The word that another block of the cluster has at the same address, whose threads may have exited since they wrote it.
    fn word_of(address: u32 => reg32, block: u32 => reg32)
        "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {address}, {block}; ld.relaxed.cluster.shared::cluster.u32 {result}, [remote]; }}";
    /// Adds one to a word of the block's shared memory: what was there before.
    fn count_one(address: u32 => reg32) "atom.relaxed.cta.shared::cta.add.u32 {result}, [{address}], 1;";
}
