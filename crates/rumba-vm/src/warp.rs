//! The state of 32 threads that execute together, as instructions see it.
//!
//! How warps are scheduled, diverge and meet again is not decided here.

/// Threads in a warp.
pub const LANES: usize = 32;

/// The mask of a warp of which every lane is active.
pub const FULL: u32 = u32::MAX;

/// Bytes of one slot unit of the register file: 32 lanes of 32 bits.
pub const UNIT: usize = LANES * 4;

/// A warp.
///
/// The register file is structure-of-arrays. A slot is an index in units of [`UNIT`] bytes: registers of 8, 16 and 32
/// bits are one unit (`[u32; 32]`, small values zero-extended), 64-bit registers two (`[u64; 32]`), 128-bit registers
/// four (`[u128; 32]`). A predicate is one `u32` mask in an array of its own. Every slot is aligned to 64 bytes.
///
/// Handlers write active lanes only: the others belong to threads that are elsewhere, and the same slot may mean
/// another register there.
#[repr(C, align(64))]
pub struct Warp {
    /// Lanes that execute the current operation.
    pub active: u32,
    /// The carry flag `CC.CF`, one bit per lane.
    pub carry: u32,
    registers: *mut u8,
    predicates: *mut u32,
}

impl Warp {
    /// The lanes of a slot.
    ///
    /// The result points to 32 values and is aligned to 64 bytes.
    #[inline(always)]
    pub fn lanes<T>(&self, slot: u16) -> *mut T {
        self.registers.wrapping_add(slot as usize * UNIT).cast()
    }

    /// The mask of a predicate.
    ///
    /// # Safety
    /// `index` is a predicate of the program that this warp was set up for.
    #[inline(always)]
    pub unsafe fn predicate(&self, index: u16) -> u32 {
        // SAFETY: as the caller promises.
        unsafe { *self.predicates.add(index as usize) }
    }

    /// Sets a predicate to `mask` in the active lanes.
    ///
    /// # Safety
    /// `index` is a predicate of the program that this warp was set up for.
    #[inline(always)]
    pub unsafe fn set_predicate(&mut self, index: u16, mask: u32) {
        // SAFETY: as the caller promises.
        unsafe {
            let place = self.predicates.add(index as usize);
            *place = (*place & !self.active) | (mask & self.active);
        }
    }

    /// Sets the carry flag to `mask` in the active lanes.
    #[inline(always)]
    pub fn set_carry(&mut self, mask: u32) {
        self.carry = (self.carry & !self.active) | (mask & self.active);
    }
}
