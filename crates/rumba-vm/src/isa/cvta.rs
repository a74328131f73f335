//! `cvta`: from an address in a state space to a generic one, and back.
//!
//! Addresses of 32 bits are the low half of those of 64: they hold all of an address in shared or local memory, and not
//! all of a generic one.
//!
//! Global, constant and parameter addresses are generic addresses already.

use crate::base::lanes::lanes_of;
use crate::base::types::ScalarType;
use crate::exec::memory::Space;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::memory::{copy, in_space, modifier_space, named_space};
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Form, Instruction, Names};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::cluster::Cluster;
use crate::machine::op::opcode::Opcode;
use crate::machine::op::{Handlers, Pc};
use crate::machine::program::Class;
use crate::machine::warp::Warp;
use crate::mem::arena::SHARED_STRIDE;

/// `cvta`
pub(super) static CVTA: Instruction = Instruction {
    name: "cvta",
    section: "9.7.9.20",
    forms: &[Form {
        syntax: "
            cvta{.to!}.ss.size p, a;
            .ss = { .const, .global, .local, .shared{::cta, ::cluster}, .param{::entry} };
            .size = { .u32, .u64 };
        ",
        lower,
    }],
    names: Names::Addresses,
    carries: Carries::Address,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let back = m.has(".to");
    let size = m.ty("size")?;
    let narrow = size == ScalarType::U32;
    if let Some(named) = named_space(l, 1)
        && !back
        && !in_space(modifier_space(m), named)
    {
        return Err(LowerError::new("the variable lies in another state space").at(l.operand(1)?.span));
    }
    let mut from = l.source(1, size)?;
    if narrow {
        let wide = l.scratch(ScalarType::U64);
        let extend = shape::lanes(function!(|address: u32| -> u64 { address.cast() }));
        l.emit(VirtualOp::unary(extend, wide, from));
        from = wide;
    }
    let of_local = Handlers::same(if back { local::<true> } else { local::<false> })
        .with_opcode(Opcode::Window { local: true, back });
    let handlers = match modifier_space(m) {
        Space::Shared => Handlers::same(if back { shared::<true> } else { shared::<false> })
            .with_opcode(Opcode::Window { local: false, back }),
        Space::Local => of_local,
        // A function's own parameters lie on its stack.
        Space::Param if !l.function.is_entry => of_local,
        Space::Generic | Space::Global | Space::Const | Space::Param => {
            if !narrow && l.alias(0, from, size) {
                return Ok(());
            }
            copy(Class::W64)
        }
    };
    let to = l.destination(0, size)?;
    if narrow {
        let wide = l.scratch(ScalarType::U64);
        l.emit(VirtualOp::unary(handlers, wide, from));
        let cut = shape::lanes(function!(|address: u64| -> u32 { address.cast() }));
        l.emit(VirtualOp::unary(cut, to, wide));
    } else {
        l.emit(VirtualOp::unary(handlers, to, from));
    }
    Ok(())
}

unsafe fn shared<const BACK: bool>(warp: &mut Warp, pc: Pc) -> Pc {
    let (to, from) = (warp.lanes::<u64>(pc.dst), warp.lanes::<u64>(pc.a));
    let base = if BACK { warp.shared_base.wrapping_neg() } else { warp.shared_base };
    for lane in lanes_of(warp.active) {
        // SAFETY: both slots have 32 lanes of 64 bits.
        unsafe {
            let address = *from.add(lane);
            let (offset, converted) = if BACK {
                (address.wrapping_add(base), address.wrapping_add(base))
            } else {
                (address, address.wrapping_add(base))
            };
            *to.add(lane) = if offset < SHARED_STRIDE as u64 {
                converted
            } else {
                elsewhere::<BACK>(warp, address).unwrap_or(converted)
            };
        }
    }
    pc.next()
}

/// Converts an address in the shared memory of another block of the cluster.
#[cold]
fn elsewhere<const BACK: bool>(warp: &Warp, address: u64) -> Option<u64> {
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let block = unsafe { &*warp.block };
    let cluster = block.cluster();
    if BACK {
        let (rank, offset) = cluster.owner(address)?;
        Some(Cluster::address(rank, offset))
    } else {
        let (rank, offset) = Cluster::split(address, block.rank);
        Some(cluster.base(rank)?.wrapping_add(offset))
    }
}

unsafe fn local<const BACK: bool>(warp: &mut Warp, pc: Pc) -> Pc {
    let (to, from) = (warp.lanes::<u64>(pc.dst), warp.lanes::<u64>(pc.a));
    for lane in lanes_of(warp.active) {
        let stack = warp.stack_base + lane as u64 * warp.stack_stride;
        let base = if BACK { stack.wrapping_neg() } else { stack };
        // SAFETY: both slots have 32 lanes of 64 bits.
        unsafe { *to.add(lane) = (*from.add(lane)).wrapping_add(base) };
    }
    pc.next()
}
