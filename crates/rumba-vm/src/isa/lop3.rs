//! `lop3`: any function of three operands, bit by bit, by its truth table; optionally whether the result is not zero, combined
//! with a predicate.

use crate::arith::{Arith, U32};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;
use crate::machine::op::Handlers;

/// `lop3`
pub(super) static LOP3: Instruction = Instruction {
    name: "lop3",
    section: "9.7.8.6",
    forms: &[
        Form {
            syntax: "lop3.b32  d, a, b, c, immLut;",
            lower: |l, _| {
                let bitwise = Bitwise::of(l)?;
                let dst = l.destination(0, B32)?;
                bitwise.emit(l, dst);
                Ok(())
            },
        },
        Form {
            syntax: "
                lop3.BoolOp.b32  d|p, a, b, c, immLut, q;
                .BoolOp = { .or, .and };
            ",
            lower: lower_with_predicate,
        },
    ],
    availability: &[Availability::since((4, 3), 50)],
    undefined: Undefined::Absorbs(Extremes::Bits),
    ..Instruction::NEW
};

const B32: ScalarType = ScalarType::B32;

/// A truth table with its operands.
struct Bitwise {
    function: Handlers,
    table: u16,
    sources: [VReg; 4],
}

impl Bitwise {
    fn of(l: &mut Lowering<'_>) -> Result<Self, LowerError> {
        // The assembler takes the low byte of a larger number.
        let table = l
            .literal(4)
            .map(|value| value as u8)
            .ok_or_else(|| LowerError::new("the truth table of `lop3` has to be a constant"))?;
        let (a, b, c) = (l.source(1, B32)?, l.source(2, B32)?, l.source(3, B32)?);
        let function = match table {
            0x96 => shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { a ^ b ^ c })),
            0xe8 => shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { (a & b) | (c & (a | b)) })),
            0xca => shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { (a & b) | (!a & c) })),
            _ => shape::lanes(function!(table; |a: u32, b: u32, c: u32| -> u32 { by_table(table, a, b, c) })),
        };
        Ok(Self { function, table: table.into(), sources: [a, b, c, VReg::None] })
    }

    fn emit(self, l: &mut Lowering<'_>, dst: VReg) {
        emit::emit(l, self.function, self.table, dst, self.sources);
    }
}

fn lower_with_predicate(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let bitwise = Bitwise::of(l)?;
    let (dst, p) = l.destination_pair(0, B32)?;
    let q = l.source(5, ScalarType::Pred)?;
    let dst = if dst == VReg::None { l.scratch(B32) } else { dst };
    bitwise.emit(l, dst);
    let some = l.scratch(ScalarType::Pred);
    emit::emit(
        l,
        shape::test(function!(|a: u32| -> bool { a.ne(0) })),
        0,
        some,
        [dst, VReg::None, VReg::None, VReg::None],
    );
    let or = shape::masks(function!(|a: u32, b: u32| -> u32 { a | b }));
    let and = shape::masks(function!(|a: u32, b: u32| -> u32 { a & b }));
    let combine = m.choose("BoolOp", &[(".or", or), (".and", and)])?;
    if p == VReg::None && !matches!(l.operand(0)?.kind, rumba_ptx::ast::OperandKind::Pair(_)) {
        let message = "a predicate is needed here besides the register: `d|p`";
        return Err(LowerError::new(message).at(l.operand(0)?.span));
    }
    if p != VReg::None {
        emit::emit(l, combine, 0, p, [some, q, VReg::None, VReg::None]);
    }
    Ok(())
}

/// Bit `4 a + 2 b + c` of the table is the result for bits `a`, `b` and `c`.
#[inline(always)]
fn by_table<A: Arith>(table: u16, a: U32<A>, b: U32<A>, c: U32<A>) -> U32<A> {
    let bit = |index: u16| 0_u32.wrapping_sub(u32::from(table >> index & 1));
    let by_c = |index: u16| (c & (bit(index) ^ bit(index + 1))) ^ bit(index);
    let by_b = |index: u16| by_c(index) ^ (b & (by_c(index) ^ by_c(index + 2)));
    by_b(0) ^ (a & (by_b(0) ^ by_b(4)))
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn tables() {
        check("lop3.b32 %r0, %r1, %r2, %r3, 0x96", &[(&[0xc, 0xa, 6], 0)]);
        check("lop3.b32 %r0, %r1, %r2, %r3, 0x80", &[(&[0xf0, 0xcc, 0xaa], 0x80)]);
        check("lop3.b32 %r0, %r1, %r2, %r3, 0x6b", &[(&[0xf0, 0xcc, 0xaa], 0xffff_ff6b)]);
        check("lop3.b32 %r0, %r1, %r2, %r3, 0xca", &[(&[0xf0, 0xcc, 0xaa], 0xca)]);
        check("lop3.b32 %r0, %r1, %r2, %r3, 0xe8", &[(&[0xf0, 0xcc, 0xaa], 0xe8)]);
    }
}
