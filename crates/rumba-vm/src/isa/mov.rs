//! `mov`: a copy; the address of a variable or function; packing and unpacking of vectors.

use rumba_ptx::ast::{Operand, OperandKind};

use crate::arith::{Arith, Integer, V};
use crate::base::lanes::lanes_of;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::memory;
use crate::isa::memory::copy;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Form, Instruction, Names, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::op::{Handlers, Pc};
use crate::machine::program::Class;
use crate::machine::warp::Warp;

/// `mov`
pub(super) static MOV: Instruction = Instruction {
    name: "mov",
    section: "9.7.9.3, 9.7.9.4",
    forms: &[Form {
        syntax: "
            mov.type d, a;
            .type = { .pred, .b16, .b32, .b64, .b128, .u16, .u32, .u64, .s16, .s32, .s64, .f16, .bf16, .f16x2, .bf16x2,
                      .f32, .f64 };

            mov.vec.type d, a;
            .vec = { .v2, .v4 };
            .type = { .b16, .b32, .b64, .u16, .u32, .u64, .s16, .s32, .s64, .f32, .f64 };
        ",
        lower,
    }],
    names: Names::Values,
    carries: Carries::ValueAndAddress,
    undefined: Undefined::Packs,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    if let Some(vector) = m.get("vec") {
        return elementwise(l, ty, if vector == ".v2" { 2 } else { 4 });
    }
    let (to, from) = (l.operand(0)?, l.operand(1)?);
    let is_vector = |operand: &Operand<'_>| matches!(operand.kind, OperandKind::Vector(_));
    if (is_vector(to) || is_vector(from)) && !ty.name().starts_with('b') {
        return Err(LowerError::new("vectors are packed and unpacked as bits: .b16, .b32, .b64, .b128"));
    }
    match (&to.kind, &from.kind) {
        (OperandKind::Vector(parts), _) => unpack(l, ty, parts),
        (_, OperandKind::Vector(parts)) => pack(l, ty, parts),
        _ if ty == ScalarType::Pred => {
            let from = l.source(1, ty)?;
            let to = l.destination(0, ty)?;
            let copy = shape::masks(function!(|a: u32, _b: u32| -> u32 { a }));
            l.emit(VirtualOp::unary(copy, to, from));
            Ok(())
        }
        _ => {
            let from = l.source(1, ty)?;
            if l.alias(0, from, ty) {
                return Ok(());
            }
            let to = l.destination(0, ty)?;
            l.emit(VirtualOp::unary(copy(Class::of(ty)), to, from));
            Ok(())
        }
    }
}

/// Copies the elements of a vector; all are read before any is written.
fn elementwise(l: &mut Lowering<'_>, ty: ScalarType, count: usize) -> Result<(), LowerError> {
    let mut values = Vec::with_capacity(count);
    for source in memory::elements(l, 1, count)? {
        let (value, source) = (l.scratch(ty), l.source_operand(source, ty, false)?);
        l.emit(VirtualOp::unary(copy(Class::of(ty)), value, source));
        values.push(value);
    }
    for (target, value) in memory::elements(l, 0, count)?.into_iter().zip(values) {
        if target.kind == OperandKind::Name("_") {
            continue;
        }
        let target = l.destination_operand(target, ty, false)?;
        l.emit(VirtualOp::unary(copy(Class::of(ty)), target, value));
    }
    Ok(())
}

/// The type of one of `count` parts of a value of type `ty`.
fn part_type(ty: ScalarType, count: usize) -> Result<ScalarType, LowerError> {
    Ok(match ty.bits() as usize / count.max(1) {
        8 => ScalarType::B8,
        16 => ScalarType::B16,
        32 => ScalarType::B32,
        64 => ScalarType::B64,
        _ => {
            return Err(LowerError::new(format!("a value of type {ty} does not have {count} parts")));
        }
    })
}

fn unpack<'m>(l: &mut Lowering<'m>, ty: ScalarType, parts: &'m [Operand<'m>]) -> Result<(), LowerError> {
    let part = part_type(ty, parts.len())?;
    let from = l.source(1, ty)?;
    for (index, operand) in parts.iter().enumerate() {
        if let OperandKind::Name("_") = operand.kind {
            continue;
        }
        let to = l.destination_operand(operand, part, false)?;
        let extra = (index as u32 * part.bits()) as u16;
        let handlers = match (ty.bits(), part.bits()) {
            (16, _) => shape::lanes(function!(shift; |value: u16| -> u8 { (value >> u32::from(shift)).cast() })),
            (32, 8) => shape::lanes(function!(shift; |value: u32| -> u8 { (value >> u32::from(shift)).cast() })),
            (32, _) => shape::lanes(function!(shift; |value: u32| -> u16 { (value >> u32::from(shift)).cast() })),
            (64, 8) => shape::lanes(function!(shift; |value: u64| -> u8 { (value >> u32::from(shift)).cast() })),
            (64, 16) => shape::lanes(function!(shift; |value: u64| -> u16 { (value >> u32::from(shift)).cast() })),
            (64, _) => shape::lanes(function!(shift; |value: u64| -> u32 { (value >> u32::from(shift)).cast() })),
            (128, 64) => Handlers::same(part_of_wide::<u64>),
            _ => Handlers::same(part_of_wide::<u32>),
        };
        l.emit(VirtualOp { extra, ..VirtualOp::unary(handlers, to, from) });
    }
    Ok(())
}

/// Two parts as one value.
#[inline(always)]
fn joined<A: Arith, H: Integer, L: Integer, W: Integer>(shift: u16, high: V<A, H>, low: V<A, L>) -> V<A, W> {
    high.cast::<W>() << u32::from(shift) | low.cast()
}

trait Narrow: Copy {
    fn cut(value: u128) -> Self;
}

impl Narrow for u64 {
    fn cut(value: u128) -> Self {
        value as u64
    }
}

impl Narrow for u32 {
    fn cut(value: u128) -> Self {
        value as u32
    }
}

unsafe fn part_of_wide<T: Narrow>(warp: &mut Warp, pc: Pc) -> Pc {
    let (to, from) = (warp.lanes::<T>(pc.dst), warp.lanes::<u128>(pc.a));
    for lane in lanes_of(warp.active) {
        // SAFETY: both slots have 32 lanes.
        unsafe { *to.add(lane) = T::cut(*from.add(lane) >> pc.extra) };
    }
    pc.next()
}

fn pack<'m>(l: &mut Lowering<'m>, ty: ScalarType, parts: &'m [Operand<'m>]) -> Result<(), LowerError> {
    let part = part_type(ty, parts.len())?;
    let mut values = Vec::with_capacity(parts.len());
    for operand in parts {
        values.push(l.source_operand(operand, part, false)?);
    }
    let to = l.destination(0, ty)?;
    let shift = part.bits() as u16;
    let mut value = values.pop().unwrap_or(VReg::None);
    // From the last part to the first: shift up, and put the next one below.
    let mut first = true;
    while let Some(below) = values.pop() {
        let sum = if values.is_empty() { to } else { l.scratch(ty) };
        let handlers = match (ty.bits(), part.bits(), first) {
            (16, ..) => shape::lanes(function!(shift; |high: u16, low: u8| -> u16 { joined(shift, high, low) })),
            (32, 8, _) => shape::lanes(function!(shift; |high: u32, low: u8| -> u32 { joined(shift, high, low) })),
            (32, ..) => shape::lanes(function!(shift; |high: u32, low: u16| -> u32 { joined(shift, high, low) })),
            (64, 16, true) => shape::lanes(function!(shift; |high: u16, low: u16| -> u64 { joined(shift, high, low) })),
            (64, 16, false) => {
                shape::lanes(function!(shift; |high: u64, low: u16| -> u64 { joined(shift, high, low) }))
            }
            (64, 8, true) => shape::lanes(function!(shift; |high: u8, low: u8| -> u64 { joined(shift, high, low) })),
            (64, 8, false) => shape::lanes(function!(shift; |high: u64, low: u8| -> u64 { joined(shift, high, low) })),
            (64, ..) => shape::lanes(function!(shift; |high: u32, low: u32| -> u64 { joined(shift, high, low) })),
            (_, 64, _) => Handlers::same(pack_wide::<u64, u64>),
            (_, _, true) => Handlers::same(pack_wide::<u32, u32>),
            _ => Handlers::same(pack_wide::<u128, u32>),
        };
        l.emit(VirtualOp { extra: shift, ..VirtualOp::binary(handlers, sum, value, below) });
        value = sum;
        first = false;
    }
    Ok(())
}

unsafe fn pack_wide<H: Copy + Into<u128>, L: Copy + Into<u128>>(warp: &mut Warp, pc: Pc) -> Pc {
    let (to, high, low) = (warp.lanes::<u128>(pc.dst), warp.lanes::<H>(pc.a), warp.lanes::<L>(pc.b));
    for lane in lanes_of(warp.active) {
        // SAFETY: the slots have 32 lanes.
        unsafe {
            let (high, low): (u128, u128) = ((*high.add(lane)).into(), (*low.add(lane)).into());
            *to.add(lane) = high << pc.extra | low;
        }
    }
    pc.next()
}
