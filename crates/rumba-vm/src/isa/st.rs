//! `st`: a store, to any state space that can be written, of one element or a vector.
//!
//! Cache hints and eviction priorities change nothing that a program can observe and are ignored.

use crate::base::lanes::lanes_of;
use crate::base::types::ScalarType;
use crate::exec::memory::Space;
use crate::exec::range::written_range;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::{mbarrier, memory};
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Memory, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// `st`
pub(super) static ST: Instruction = Instruction {
    name: "st",
    section: "9.7.9.11, 9.7.9.13",
    forms: &[
        Form {
            syntax: "
                st{.mmio}{.sem}{.scope}{.ss}{.cop}{.evict1}{.evict2}{.hint}{.vec}.type [a], b{, policy};
                .sem = { .weak, .volatile, .relaxed, .release };
                .scope = { .cta, .cluster, .gpu, .sys };
                .ss = { .global, .local, .param{::func}, .shared{::cta, ::cluster} };
                .cop = { .wb, .cg, .cs, .wt };
                .evict1 = { .L1::evict_normal, .L1::evict_unchanged, .L1::evict_first, .L1::evict_last, .L1::no_allocate };
                .evict2 = { .L2::evict_normal, .L2::evict_first, .L2::evict_last };
                .hint = { .L2::cache_hint };
                .vec = { .v2, .v4, .v8 };
                .type = { .b8, .b16, .b32, .b64, .b128, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 };
            ",
            lower: |l, m| {
                memory::check_policy(l, m, 2)?;
                memory::lower_store(l, m)
            },
        },
        Form {
            syntax: "st.bulk!{.weak}{.shared::cta} [a], size, initval;",
            lower: lower_bulk,
        },
        Form {
            syntax: "
                st.async!{.weak}{.ss}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar];
                .ss = { .shared::cluster };
                .vec = { .v2, .v4 };
                .type = { .b32, .b64, .u32, .u64, .s32, .s64, .f32, .f64 };
            ",
            lower: lower_async,
        },
    ],
    availability: &[
        Availability::since((9, 1), 0).with(&[".volatile", ".local"]),
        Availability::since((6, 0), 70).with(&[".release"]),
        Availability::since((6, 0), 70).with(&[".relaxed"]),
        Availability::since((7, 8), 90).with(&[".cluster"]),
        Availability::since((8, 3), 70).with(&[".b128"]),
        Availability::since((8, 8), 100).with(&[".v8"]),
    ],
    memory: Memory::Accesses,
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower_async(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    memory::lower_store(l, m)?;
    // It may come at any time up to the wait that asks for it: here it comes at once.
    let count = match m.get("vec") {
        Some(".v2") => 2,
        Some(".v4") => 4,
        _ => 1,
    };
    let bytes = m.ty("type")?.bytes();
    mbarrier::lower_complete(l, 2, count * bytes)
}

fn lower_bulk(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let space = if m.has(".shared::cta") { Space::Shared } else { Space::Generic };
    let address = memory::address(l, 0, space)?;
    let ty = match l.register_type(l.operand(1)?)? {
        Some(ty) if ty.bits() == 32 => ScalarType::U32,
        _ => ScalarType::U64,
    };
    let mut size = l.source(1, ty)?;
    if ty == ScalarType::U32 {
        let wide = l.scratch(ScalarType::U64);
        l.emit(VirtualOp::unary(shape::lanes(function!(|size: u32| -> u64 { size.cast() })), wide, size));
        size = wide;
    }
    if l.literal(2) != Some(0) {
        return Err(LowerError::new("memory can only be filled with the number 0").at(l.operand(2)?.span));
    }
    l.emit(VirtualOp {
        a: address.base,
        b: size,
        imm: address.offset.cast_unsigned(),
        extra: space as u16,
        defines: 0,
        ..VirtualOp::new(Handlers::same(fill))
    });
    Ok(())
}

/// Fills `b` bytes at `[a + imm]` with zeros.
unsafe fn fill(warp: &mut Warp, pc: Pc) -> Pc {
    let (addresses, sizes) = (warp.lanes::<u64>(pc.a), warp.lanes::<u64>(pc.b));
    for lane in lanes_of(warp.active) {
        // SAFETY: both slots have 32 lanes of 64 bits.
        let (address, bytes) = unsafe { ((*addresses.add(lane)).wrapping_add(pc.imm), *sizes.add(lane)) };
        match written_range(warp, pc, lane, address, bytes) {
            // SAFETY: the access check has found that `bytes` bytes may be written there.
            Ok(host) => unsafe { std::ptr::write_bytes(host as *mut u8, 0, bytes as usize) },
            Err(stop) => return stop,
        }
    }
    pc.next()
}
