//! `fns`: the position of the n-th one bit from a base, upwards or downwards; all ones if there is none.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::emit;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `fns`
pub(super) static FNS: Instruction = Instruction {
    name: "fns",
    section: "9.7.1.17",
    forms: &[Form {
        syntax: "
            fns.b32  d, mask, base, offset;
        ",
        lower,
    }],
    availability: &[Availability::since((6, 0), 30)],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    use ScalarType::{B32, S32, U32};
    emit::lanes(l, shape::called(find), 0, B32, &[B32, U32, S32])
}

/// The manual's procedure; a base beyond 31 is undefined there and finds nothing here.
fn find(_: u16, mask: u32, base: u32, offset: i32) -> u32 {
    if offset == i32::MIN {
        // As on an H200.
        return 0;
    }
    if base > 31 {
        return u32::MAX;
    }
    let (mut position, step, mut left) = match offset {
        0 => (i64::from(base), 1, 1),
        1.. => (i64::from(base), 1, offset.unsigned_abs()),
        _ => (i64::from(base), -1, offset.unsigned_abs()),
    };
    if offset == 0 {
        return if mask >> base & 1 == 1 { base } else { u32::MAX };
    }
    while (0..32).contains(&position) {
        if mask >> position & 1 == 1 {
            left -= 1;
            if left == 0 {
                return position as u32;
            }
        }
        position += step;
    }
    u32::MAX
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn directions() {
        check(
            "fns.b32 %r0, %r1, %r2, %r3",
            &[
                (&[0x16, 1, 0], 1),
                (&[0x16, 0, 0], 0xffff_ffff),
                (&[0x16, 0, 2], 2),
                (&[0x16, 4, 0xffff_fffe], 2),
                (&[0x16, 0, 4], 0xffff_ffff),
            ],
        );
    }
}
