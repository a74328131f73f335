//! The value that a store is about to write, for races in which both sides write the same value.

use crate::base::lanes::LANES;
use crate::base::report::AccessKind;
use crate::check::record::Conflict;
use crate::machine::program::Class;
use crate::machine::warp::Warp;
use crate::mem::atomic::Element;

/// Bytes of the widest store of a lane.
const WIDEST: usize = 32;

impl Warp {
    /// Whether a store writes the value already in memory, or the value that the other lane of the same instruction
    /// writes. The lanes `lanes` execute the instruction, each at its host address.
    #[cold]
    pub(crate) fn rewrites(&self, conflict: &Conflict, lanes: u32, host: impl Fn(usize) -> u64) -> bool {
        let Conflict { touch, earlier, .. } = conflict;
        let lane = usize::from(touch.thread.index) % LANES;
        let source = touch.source - self.context().place_in_session.first_source;
        let Some(value) = self.stored(source, lane, touch.bytes as usize) else {
            return false;
        };
        let is_of_warp = earlier.thread.block == touch.thread.block
            && usize::from(earlier.thread.index) / LANES == self.index as usize;
        let other = usize::from(earlier.thread.index) % LANES;
        let bytes = touch.bytes as usize;
        // In a loop, the earlier write may be one of another turn: then it is in memory already.
        let is_now = || lanes >> other & 1 != 0 && host(other) == host(lane);
        if is_of_warp && earlier.source == touch.source && is_now() {
            return earlier.bytes == touch.bytes && self.stored(source, other, bytes) == Some(value);
        }
        let address = conflict.address & !(touch.bytes - 1);
        value
            .iter()
            .take(bytes)
            .enumerate()
            // SAFETY: the address passed the access check.
            .all(|(byte, value)| unsafe { u8::read(address + byte as u64) } == u32::from(*value))
    }

    /// The bytes that the store of an instruction writes for a lane.
    fn stored(&self, source: u32, lane: usize, bytes: usize) -> Option<[u8; WIDEST]> {
        let program = self.context().program;
        let mut ops = program.ops.iter().zip(&program.descriptors);
        let (op, descriptor) = ops.find(|(op, descriptor)| {
            op.source == source && descriptor.opcode.attributes().access == Some((AccessKind::Write, bytes as u8))
        })?;
        let [dst, _, b, c, d] = descriptor.classes;
        let parts: Vec<(u16, Class)> = [(op.dst, dst), (op.b, b), (op.c, c), (op.d, d)]
            .into_iter()
            .filter_map(|(slot, class)| Some((slot, class?)))
            .collect();
        let size = bytes.checked_div(parts.len())?;
        let mut value = [0; WIDEST];
        for (part, (slot, class)) in parts.into_iter().enumerate() {
            // SAFETY: the slots are the operation's, with 32 lanes of their class.
            let whole = unsafe {
                match class {
                    Class::W32 => u128::from(*self.lanes::<u32>(slot).add(lane)),
                    Class::W64 => u128::from(*self.lanes::<u64>(slot).add(lane)),
                    Class::W128 => *self.lanes::<u128>(slot).add(lane),
                }
            };
            let place = value.get_mut(part * size..(part + 1) * size)?;
            place.copy_from_slice(whole.to_le_bytes().get(..size)?);
        }
        Some(value)
    }
}
