//! What waits for barriers in shared memory need where they may be in vain: notes that the blocks of a cluster leave in each other's
//! shared memory, and how a thread gives up. Floors and duties are those of [`wgmma`](super::wgmma).

use super::wgmma::{instructions, questions};

instructions! {
    /// Eight notes to the block's shared memory, before other threads use them.
    fn clear_notes(address: u32 => reg32) "st.shared::cta.u64 [{address}], 0;";
    /// A note to the block's shared memory.
    fn leave_note(address: u32 => reg32, note: u32 => reg32) "st.relaxed.cluster.shared::cta.u8 [{address}], {note};";
    /// The same to that of a block of the cluster.
    fn leave_note_to(address: u32 => reg32, block: u32 => reg32, note: u32 => reg32)
        "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {address}, {block}; st.relaxed.cluster.shared::cluster.u8 [remote], {note}; }}";
    /// Until all products of the warp group are over, whose sums are not used.
    fn wgmma_abandon() "wgmma.wait_group.sync.aligned 0;";
}

questions! {
    /// Whether the phase of this parity is over, without waiting.
    fn mbarrier_test(barrier: u32 => reg32, parity: u32 => reg32)
        "{{ .reg .pred done; mbarrier.test_wait.parity.shared::cta.b64 done, [{barrier}], {parity}; selp.u32 {result}, 1, 0, done; }}";
    /// One more, of which the compiler does not know that: it unrolls no loop that ends by it.
    fn add_one(number: u32 => reg32) "add.u32 {result}, {number}, 1;";
    /// The note at an address of the block's shared memory.
    fn note(address: u32 => reg32) "ld.relaxed.cluster.shared::cta.u8 {result}, [{address}];";
}
