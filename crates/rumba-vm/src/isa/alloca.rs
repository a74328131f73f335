//! `alloca`: memory on the thread's stack, until the function returns or `stackrestore`.

use crate::base::lanes::lanes_of;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handlers, Pc};
use crate::machine::program::{Class, Fixed};
use crate::machine::warp::Warp;

/// `alloca`
pub(super) static ALLOCA: Instruction = Instruction {
    name: "alloca",
    section: "9.7.14.3",
    forms: &[Form {
        syntax: "
            alloca.type ptr, size{, align};
            .type = { .u32, .u64 };
        ",
        lower,
    }],
    availability: &[Availability::since((7, 3), 52)],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let align = match l.operand_count() {
        3 => l.literal(2).ok_or_else(|| LowerError::new("the alignment is a constant"))?,
        _ => 8,
    };
    let extra = u16::try_from(align)
        .ok()
        .filter(|align| align.is_power_of_two())
        .ok_or_else(|| LowerError::new("the alignment is a power of two below 65536"))?;
    let given = l.source(1, ty)?;
    let asked = l.destination(0, ty)?;
    let narrow = ty == ScalarType::U32;
    let (mut a, mut dst) = (given, asked);
    if narrow {
        (a, dst) = (l.scratch(ScalarType::U64), l.scratch(ScalarType::U64));
        l.emit(VirtualOp::unary(shape::lanes(function!(|size: u32| -> u64 { size.cast() })), a, given));
    }
    let b = l.pool.fixed(Class::W64, Fixed::StackPointer);
    l.function.has_alloca = true;
    l.emit(VirtualOp { dst, a, b, extra, ..VirtualOp::new(Handlers::same(alloca)) });
    if narrow {
        l.emit(VirtualOp::unary(shape::lanes(function!(|start: u64| -> u32 { start.cast() })), asked, dst));
    }
    Ok(())
}

unsafe fn alloca(warp: &mut Warp, pc: Pc) -> Pc {
    let (to, size, pointer) = (warp.lanes::<u64>(pc.dst), warp.lanes::<u64>(pc.a), warp.lanes::<u64>(pc.b));
    for lane in lanes_of(warp.active) {
        // SAFETY: the slots have 32 lanes of 64 bits.
        let (pointer_now, size) = unsafe { (*pointer.add(lane), *size.add(lane)) };
        let start = pointer_now.checked_next_multiple_of(u64::from(pc.extra)).unwrap_or(u64::MAX);
        let end = start.saturating_add(size).saturating_add(15) & !15;
        if end > warp.stack_stride {
            let message = format!("alloca of {size} bytes exceeds the {} bytes of a thread's stack", warp.stack_stride);
            return warp.raise(RawFault::new(FaultKind::StackOverflow, pc.source, lane, message));
        }
        // SAFETY: as above.
        unsafe {
            *to.add(lane) = start;
            *pointer.add(lane) = end;
        }
    }
    pc.next()
}
