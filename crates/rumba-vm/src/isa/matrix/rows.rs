//! Matrices in shared memory whose rows of sixteen bytes have an address each: what `ldmatrix` and `stmatrix` share.
//!
//! How the bytes of a row become elements is the instructions' business.

use crate::base::lanes::LANES;
use crate::base::report::AccessKind;
use crate::exec::memory::{Addresses, Space, at_addresses};
use crate::isa::matrix::operands::Slots;
use crate::machine::op::Pc;
use crate::machine::warp::Warp;
use crate::mem::atomic::Element;

/// Bytes of a row.
pub(crate) const ROW: usize = 16;

/// Rows, in the order of the lanes that name them.
pub(crate) type Rows = [[u8; ROW]; LANES];

/// The space in an operation's `imm`, whose upper bits are the instruction's.
fn space(pc: Pc) -> Space {
    if pc.imm & 1 == 0 { Space::Generic } else { Space::Shared }
}

/// The bits of `imm` for a space.
pub(crate) fn encode(space: Space) -> u64 {
    u64::from(space == Space::Shared)
}

/// The host addresses of the first `count` rows; their own are in the first source.
fn addresses(warp: &mut Warp, pc: Pc, slots: Slots, count: usize, kind: AccessKind) -> Result<Addresses, Pc> {
    // SAFETY: the first source has 64 bits.
    let given = *unsafe { slots.wide(warp, 0) };
    let lanes = u32::MAX >> (LANES - count.clamp(1, LANES));
    let mut out = Addresses::new();
    at_addresses(warp, pc, &given, lanes, (ROW as u64, kind), space(pc), &mut out)?;
    Ok(out)
}

/// Reads rows.
pub(crate) fn read(warp: &mut Warp, pc: Pc, slots: Slots, count: usize, rows: &mut Rows) -> Result<(), Pc> {
    let addresses = addresses(warp, pc, slots, count, AccessKind::Read)?;
    for (lane, row) in rows.iter_mut().take(count).enumerate() {
        // SAFETY: the access check has found that this is the address of sixteen live, aligned bytes.
        *row = unsafe { u128::read(addresses.get(lane)) }.to_le_bytes();
    }
    Ok(())
}

/// Writes rows.
pub(crate) fn write(warp: &mut Warp, pc: Pc, slots: Slots, count: usize, rows: &Rows) -> Result<(), Pc> {
    let addresses = addresses(warp, pc, slots, count, AccessKind::Write)?;
    for (lane, row) in rows.iter().take(count).enumerate() {
        // SAFETY: as in `read`.
        unsafe { u128::write(addresses.get(lane), u128::from_le_bytes(*row)) };
    }
    Ok(())
}
