//! Instructions with more operands than an operation has room for, executed by all lanes of a warp together.
//!
//! The operation that does the work is followed by others that only have operands, five each: first the sources, then
//! the destinations. All of them belong to one instruction, and nothing comes between them. The first reads every source
//! before it writes the first destination, so that a destination may lie where a source did.

use rumba_ptx::ast::{Operand, OperandKind};

use crate::base::lanes::FULL;
use crate::base::types::ScalarType;
use crate::exec::memory::Space;
use crate::exec::shape::function;
use crate::exec::{rendezvous, shape};
use crate::isa::matrix::fragment::{Register, Wide};
use crate::isa::memory;
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::virtual_op::{Control, VReg, VirtualOp};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::opcode::Opcode;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// Operands of an operation.
const OPERANDS: usize = 5;

/// Does nothing: its operands belong to an operation before.
const EXTRA: Handlers = Handlers::same(extra).with_opcode(Opcode::ExtraOperands { optional: false });

unsafe fn extra(_: &mut Warp, pc: Pc) -> Pc {
    pc.next()
}

/// As [`EXTRA`], for operands that may be undefined.
const OPTIONAL: Handlers = EXTRA.with_opcode(Opcode::ExtraOperands { optional: true });

/// Appends an operation with any number of operands, which all lanes of the warp execute together. Its `d` and `extra`
/// are taken.
pub(crate) fn emit(l: &mut Lowering<'_>, virtual_op: VirtualOp, sources: &[VReg], destinations: &[VReg]) {
    emit_beside(l, virtual_op, sources, &[], destinations);
}

/// Emits an operation with additional sources, which may be undefined.
pub(crate) fn emit_beside(
    l: &mut Lowering<'_>,
    virtual_op: VirtualOp,
    sources: &[VReg],
    beside: &[VReg],
    destinations: &[VReg],
) {
    let all = [sources, beside, destinations];
    let operations: usize = all.iter().map(|places| places.len().div_ceil(OPERANDS)).sum();
    let members = l.constant(ScalarType::U32, FULL.into());
    let first = VirtualOp { d: members, extra: operations as u16, ..virtual_op };
    l.emit_control(first, Control::Park);
    append(l, sources, 0, EXTRA);
    append(l, beside, 0, OPTIONAL);
    append(l, destinations, 0b11111, EXTRA);
}

/// Emits an operation that each lane executes by itself. Its `d` is free.
pub(crate) fn emit_apart(l: &mut Lowering<'_>, virtual_op: VirtualOp, sources: &[VReg]) {
    l.emit(VirtualOp { extra: sources.len().div_ceil(OPERANDS) as u16, ..virtual_op });
    append(l, sources, 0, EXTRA);
}

/// Appends operations with further operands.
fn append(l: &mut Lowering<'_>, places: &[VReg], defines: u8, handlers: Handlers) {
    for part in places.chunks(OPERANDS) {
        let place = |index: usize| part.get(index).copied().unwrap_or(VReg::None);
        l.emit(VirtualOp {
            dst: place(0),
            a: place(1),
            b: place(2),
            c: place(3),
            d: place(4),
            defines,
            ..VirtualOp::new(handlers)
        });
    }
}

/// The slots of an operation that [`emit`] has made.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    pc: Pc,
    sources: usize,
    beside: usize,
}

impl Slots {
    /// The operands of an operation with this many sources.
    pub(crate) fn new(pc: Pc, sources: usize) -> Self {
        Self::beside(pc, sources, 0)
    }

    /// The operands of an operation with this many sources, and this many additional ones.
    pub(crate) fn beside(pc: Pc, sources: usize, beside: usize) -> Self {
        Self { pc, sources, beside }
    }

    #[inline(always)]
    fn at(self, operation: usize, index: usize) -> u16 {
        let op = self.pc.skip(1 + operation);
        match index {
            0 => op.dst,
            1 => op.a,
            2 => op.b,
            3 => op.c,
            _ => op.d,
        }
    }

    /// The slot of a source.
    #[inline(always)]
    pub(crate) fn source(self, index: usize) -> u16 {
        debug_assert!(index < self.sources);
        self.at(index / OPERANDS, index % OPERANDS)
    }

    /// The slot of a destination.
    #[inline(always)]
    pub(crate) fn destination(self, index: usize) -> u16 {
        let operations = self.sources.div_ceil(OPERANDS) + self.beside.div_ceil(OPERANDS);
        self.at(operations + index / OPERANDS, index % OPERANDS)
    }

    /// The lanes of a source of 32 bits.
    ///
    /// # Safety
    /// The operation is one of the warp's program, and has such a source.
    #[inline(always)]
    pub(crate) unsafe fn register(self, warp: &Warp, index: usize) -> &Register {
        // SAFETY: a slot has 32 lanes; it is not written as long as the operation reads.
        unsafe { &*warp.lanes::<Register>(self.source(index)) }
    }

    /// The lanes of a source of 32 bits among those beside the others.
    ///
    /// # Safety
    /// The operation is one of the warp's program, and has such a source.
    #[inline(always)]
    pub(crate) unsafe fn register_beside(self, warp: &Warp, index: usize) -> &Register {
        debug_assert!(index < self.beside);
        let slot = self.at(self.sources.div_ceil(OPERANDS) + index / OPERANDS, index % OPERANDS);
        // SAFETY: as above.
        unsafe { &*warp.lanes::<Register>(slot) }
    }

    /// The lanes of a source of 64 bits.
    ///
    /// # Safety
    /// The operation is one of the warp's program, and has such a source.
    #[inline(always)]
    pub(crate) unsafe fn wide(self, warp: &Warp, index: usize) -> &Wide {
        // SAFETY: as above.
        unsafe { &*warp.lanes::<Wide>(self.source(index)) }
    }
}

/// Lets `body` execute an operation that [`emit`] has made, once all lanes of the warp have come.
///
/// # Safety
/// `pc` is such an operation of the warp's program.
#[inline(always)]
pub(crate) unsafe fn whole_warp(warp: &mut Warp, pc: Pc, body: impl FnOnce(&mut Warp) -> Result<(), Pc>) -> Pc {
    if is_whole(warp) {
        return match body(warp) {
            Ok(()) => done(pc),
            Err(stop) => stop,
        };
    }
    // SAFETY: as the caller promises.
    unsafe { wait(warp, pc) }
}

/// Whether all lanes of the warp are here.
#[inline(always)]
pub(crate) fn is_whole(warp: &Warp) -> bool {
    warp.active == FULL
}

/// Where a warp goes on that has executed an operation that [`emit`] has made.
#[inline(always)]
pub(crate) fn done(pc: Pc) -> Pc {
    pc.skip(1 + usize::from(pc.extra))
}

/// Lets the active lanes wait for the other lanes of their warp, some of which are not active.
///
/// # Safety
/// `pc` is an operation of the warp's program that [`emit`] has made.
#[cold]
pub(crate) unsafe fn wait(warp: &mut Warp, pc: Pc) -> Pc {
    if warp.live != FULL {
        let message =
            format!("a matrix instruction needs all 32 lanes of the warp, of which only {:#010x} are left", warp.live);
        let lane = warp.active.trailing_zeros() as usize;
        return warp.raise(RawFault::new(FaultKind::Synchronisation, pc.source, lane, message));
    }
    // All lanes live and not all are here, so there is nothing to be done yet.
    // SAFETY: `emit` has put the members into `d`.
    unsafe { rendezvous::together(warp, pc, pc.d, |_, _| {}) }
}

/// The `count` elements of a vector operand.
fn elements<'m>(l: &Lowering<'m>, index: usize, count: usize) -> Result<Vec<&'m Operand<'m>>, LowerError> {
    let operand = l.operand(index)?;
    let list: Vec<_> = match &operand.kind {
        OperandKind::Vector(items) => items.iter().collect(),
        _ => vec![operand],
    };
    if list.len() != count {
        let message = format!("{count} register(s) are needed here, not {}", list.len());
        return Err(LowerError::new(message).at(operand.span));
    }
    Ok(list)
}

/// Operand `index` as an address that includes its offset.
pub(crate) fn address(l: &mut Lowering<'_>, index: usize, space: Space) -> Result<VReg, LowerError> {
    let address = memory::address(l, index, space)?;
    if address.offset == 0 {
        return Ok(address.base);
    }
    let offset = l.constant(ScalarType::U64, u128::from(address.offset.cast_unsigned()));
    let sum = l.scratch(ScalarType::U64);
    let add = shape::lanes(function!(|a: u64, b: u64| -> u64 { a + b }));
    l.emit(VirtualOp::binary(add, sum, address.base, offset));
    Ok(sum)
}

/// The registers of a source, of `bits` bits each.
pub(crate) fn sources(l: &mut Lowering<'_>, index: usize, count: usize, bits: usize) -> Result<Vec<VReg>, LowerError> {
    let list = elements(l, index, count)?;
    list.into_iter().map(|operand| l.source_operand(operand, register_type(bits), false)).collect()
}

/// The registers of a destination, of `bits` bits each.
pub(crate) fn destinations(
    l: &mut Lowering<'_>,
    index: usize,
    count: usize,
    bits: usize,
) -> Result<Vec<VReg>, LowerError> {
    let list = elements(l, index, count)?;
    list.into_iter().map(|operand| l.destination_operand(operand, register_type(bits), false)).collect()
}

fn register_type(bits: usize) -> ScalarType {
    if bits == 64 { ScalarType::B64 } else { ScalarType::B32 }
}

/// Whether all registers of a source are written as numbers below `limit`; gives them.
pub(crate) fn numbers(l: &Lowering<'_>, index: usize, count: usize, limit: u64) -> Result<Vec<u64>, LowerError> {
    use rumba_ptx::ast::Literal;
    let operand = l.operand(index)?;
    let list = elements(l, index, count)?;
    list.into_iter()
        .map(|element| match element.kind {
            OperandKind::Literal(Literal::Integer { value, .. }) if value < limit => Ok(value),
            _ => Err(LowerError::new(format!("a number below {limit} is needed here")).at(operand.span)),
        })
        .collect()
}
