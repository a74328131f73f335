//! Which blocks of a run with a seed have native code.
//!
//! Native code follows a seed in the order of blocks and warps and in the length of turns, but its lanes diverge only at
//! branches, and in one order. The interpreter also lets lanes diverge by chance before accesses to memory. So the first
//! blocks of a launch are interpreted, and later blocks by chance. The choice depends on the seed and on how much the
//! launch has executed, not on when the code is ready: a run with the same seed makes the same choices.

use crate::base::engine::OPERATIONS_PER_BYTE;
use crate::base::seed::Chance;
use crate::machine::context::Context;
use crate::machine::program::Native;
use crate::run::native;

/// Operations of a launch that are interpreted before a block has native code, at least.
const FIRST: u64 = 1 << 16;
/// The same for each byte of the text where accesses are monitored, which the interpreter is slower with; elsewhere it is
/// [`OPERATIONS_PER_BYTE`].
const MONITORED_PER_BYTE: u64 = OPERATIONS_PER_BYTE / 4;

/// One of so many of the blocks that follow is interpreted.
const RARITY: u64 = 16;

/// Distinguishes the choice from other chances of the cluster.
const CHOICE: u64 = 1;

/// The native code of the cluster that begins as number `cluster`, after the launch has executed so many operations.
/// Waits until the code is compiled.
pub(crate) fn code<'a>(context: &Context<'a>, seed: u64, cluster: u64, executed: u64) -> Option<&'a Native> {
    let (program, compiler) = context.compilable.filter(|_| executed >= FIRST)?;
    // The first call writes the text.
    let tier_up = native::of(program, context.block, compiler);
    let per_byte = if context.monitor.is_some() { MONITORED_PER_BYTE } else { OPERATIONS_PER_BYTE };
    if executed < FIRST + per_byte * tier_up.bytes() {
        return None;
    }
    let is_interpreted = Chance::new(seed, &[context.number, cluster, CHOICE]).below(RARITY) == 0;
    if is_interpreted { None } else { tier_up.wait() }
}
