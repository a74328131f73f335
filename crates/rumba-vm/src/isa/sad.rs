//! `sad`: `|a - b| + c`.

use std::hint::select_unpredictable as select;

use crate::base::ir::{Value, Writer};
use crate::exec::shape;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `sad`
pub(super) static SAD: Instruction = Instruction {
    name: "sad",
    section: "9.7.1.7",
    forms: &[Form {
        syntax: "
            sad.type  d, a, b, c;
            .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
        ",
        lower,
    }],
    ..Instruction::NEW
};

/// Writes the native code.
fn form_of_sum(w: &mut Writer, less: &str, x: &[Value]) -> Value {
    let less = w.compare(less, &x[0], &x[1]);
    let (down, up) = (w.sub(&x[0], &x[1]), w.sub(&x[1], &x[0]));
    let difference = w.select(&less, &up, &down);
    w.add(&difference, &x[2])
}

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let sum = by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::ternary(|a: T, b: T, c: T| {
        let difference = select(a < b, b.wrapping_sub(a), a.wrapping_sub(b));
        difference.wrapping_add(c)
    }));
    let sum = if ty.is_signed() {
        sum.form(|w, _, x| form_of_sum(w, "icmp slt", x))
    } else {
        sum.form(|w, _, x| form_of_sum(w, "icmp ult", x))
    };
    emit::lanes(l, sum, 0, ty, &[ty, ty, ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn differences() {
        check("sad.u32 %r0, %r1, %r2, %r3", &[(&[1, 0xffff_ffff, 1], 0xffff_ffff)]);
        check("sad.s32 %r0, %r1, %r2, %r3", &[(&[1, 0xffff_ffff, 1], 3)]);
    }
}
