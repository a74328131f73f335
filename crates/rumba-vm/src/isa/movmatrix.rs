//! `movmatrix`: transposes a matrix in the registers of a warp.

use crate::base::lanes::LANES;
use crate::isa::matrix::operands;
use crate::isa::matrix::operands::{Slots, destinations, sources, whole_warp};
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::op::opcode::Members;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// `movmatrix`
pub(super) static MOVMATRIX: Instruction = Instruction {
    name: "movmatrix",
    section: "9.7.15.5.17",
    forms: &[Form {
        syntax: "
            movmatrix.sync.aligned.m8n8.trans.b16  d, a;
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let from = sources(l, 1, 1, 32)?;
    let to = destinations(l, 0, 1, 32)?;
    operands::emit(l, VirtualOp::new(Handlers::same(movmatrix).together(Members::Warp, None)), &from, &to);
    Ok(())
}

unsafe fn movmatrix(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        let slots = Slots::new(pc, 1);
        // SAFETY: `lower` made one source and one destination, of 32 lanes each.
        unsafe {
            let from = *slots.register(warp, 0);
            let element = |row: usize, column: usize| from[row * 4 + column / 2] >> (column % 2 * 16) & 0xffff;
            *warp.lanes::<[u32; LANES]>(slots.destination(0)) = std::array::from_fn(|lane| {
                let (row, column) = (lane / 4, lane % 4 * 2);
                element(column, row) | element(column + 1, row) << 16
            });
        }
        Ok(())
    };
    // SAFETY: the operation was made by `operands::emit`.
    unsafe { whole_warp(warp, pc, body) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn transposes() {
        let matrix: [[u16; 8]; 8] =
            std::array::from_fn(|row| std::array::from_fn(|column| (row * 100 + column) as u16));
        let pair = |row: usize, column: usize, transposed: bool| {
            let at = |column: usize| {
                if transposed { matrix[column][row] } else { matrix[row][column] }
            };
            u64::from(at(column)) | u64::from(at(column + 1)) << 16
        };
        let sources: Vec<[u64; 1]> = (0..32).map(|lane| [pair(lane / 4, lane % 4 * 2, false)]).collect();
        let cases: Vec<(&[u64], u64)> = sources
            .iter()
            .enumerate()
            .map(|(lane, source)| (source.as_slice(), pair(lane / 4, lane % 4 * 2, true)))
            .collect();
        crate::isa::testing::check_warp("movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1", &cases);
    }
}
