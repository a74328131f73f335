//! `isspacep`: whether a generic address lies in a state space.

use crate::base::lanes::lanes_of;
use crate::base::types::ScalarType;
use crate::exec::memory::Space;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::memory::modifier_space;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;
use crate::mem::arena::SHARED_STRIDE;

/// `isspacep`
pub(super) static ISSPACEP: Instruction = Instruction {
    name: "isspacep",
    section: "9.7.9.19",
    forms: &[Form {
        syntax: "
            isspacep.ss p, a;
            .ss = { .const, .global, .local, .shared{::cta, ::cluster}, .param{::entry} };
        ",
        lower,
    }],
    ..Instruction::NEW
};

/// Set in an operation's `extra` for the shared memory of all blocks of the cluster.
const CLUSTER: u16 = 0x100;

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let operand = l.operand(1)?;
    let narrow = l.register_type(operand)?.is_some_and(|ty| ty.bits() == 32);
    let mut address = l.source(1, if narrow { ScalarType::U32 } else { ScalarType::U64 })?;
    if narrow {
        let wide = l.scratch(ScalarType::U64);
        l.emit(VirtualOp::unary(shape::lanes(function!(|address: u32| -> u64 { address.cast() })), wide, address));
        address = wide;
    }
    let to = l.destination(0, ScalarType::Pred)?;
    let cluster = m.get("ss") == Some(".shared::cluster");
    let extra = modifier_space(m) as u16 | if cluster { CLUSTER } else { 0 };
    l.emit(VirtualOp { extra, ..VirtualOp::unary(Handlers::same(isspacep), to, address) });
    Ok(())
}

unsafe fn isspacep(warp: &mut Warp, pc: Pc) -> Pc {
    let from = warp.lanes::<u64>(pc.a);
    let arena = warp.context().arena;
    let mut mask = 0;
    for lane in lanes_of(warp.active) {
        // SAFETY: the slot has 32 lanes of 64 bits.
        let address = unsafe { *from.add(lane) };
        let inside = match pc.extra {
            extra if extra == Space::Const as u16 => arena.constants.contains(address),
            extra if extra == Space::Param as u16 => arena.parameters.contains(address),
            extra if extra == Space::Shared as u16 => address.wrapping_sub(warp.shared_base) < SHARED_STRIDE as u64,
            extra if extra == Space::Shared as u16 | CLUSTER => {
                // SAFETY: the block is not in use elsewhere while one of its warps runs.
                unsafe { (*warp.block).cluster().owner(address).is_some() }
            }
            extra if extra == Space::Local as u16 => arena.local.contains(address),
            _ => {
                let others = [arena.constants, arena.parameters, arena.shared, arena.local];
                !others.iter().any(|window| window.contains(address))
            }
        };
        mask |= u32::from(inside) << lane;
    }
    // SAFETY: the destination is a predicate.
    unsafe { warp.set_predicate(pc.dst, mask) };
    pc.next()
}
