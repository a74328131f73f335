//! `stmatrix`: matrices from the registers of a warp into shared memory, a row to each address.
//!
//! The form of sixteen rows does not exist on an H200; its places are those of the manual's figure.

use crate::base::lanes::LANES;
use crate::isa::ldmatrix::matrices;
use crate::isa::matrix::operands::{Slots, address, sources, whole_warp};
use crate::isa::matrix::rows::{ROW, Rows, encode};
use crate::isa::matrix::{operands, rows};
use crate::isa::memory;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::op::opcode::Members;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// `stmatrix`
pub(super) static STMATRIX: Instruction = Instruction {
    name: "stmatrix",
    section: "9.7.15.5.16",
    forms: &[
        Form {
            syntax: "
                stmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16  [p], r;
                .num = { .x1, .x2, .x4 };
                .ss = { .shared{::cta} };
            ",
            lower: |l, m| {
                if m.has(".trans") {
                    lower(l, m, Handlers::same(stmatrix::<1>))
                } else {
                    lower(l, m, Handlers::same(stmatrix::<0>))
                }
            },
        },
        Form {
            syntax: "
                stmatrix.sync.aligned.m16n8.num.trans{.ss}.b8  [p], r;
                .num = { .x1, .x2, .x4 };
                .ss = { .shared{::cta} };
            ",
            lower: |l, m| lower(l, m, Handlers::same(stmatrix::<2>)),
        },
    ],
    availability: &[Availability::since((7, 8), 90), Availability::specific((8, 6), 100).with(&[".m16n8"])],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>, handlers: Handlers) -> Result<(), LowerError> {
    let space = memory::space(l, m, 0);
    let count = matrices(m)?;
    let mut read = vec![address(l, 0, space)?];
    read.extend(sources(l, 1, count, 32)?);
    let virtual_op = VirtualOp {
        imm: encode(space) | (count as u64) << 8,
        ..VirtualOp::new(handlers.together(Members::Warp, None))
    };
    operands::emit(l, virtual_op, &read, &[]);
    Ok(())
}

/// The row and the byte in it where byte `index` of a lane's register belongs.
#[inline(always)]
fn place<const KIND: u32>(lane: usize, index: usize) -> (usize, usize) {
    match KIND {
        0 => (lane / 4, lane % 4 * 4 + index),
        // Elements of 16 bits in columns.
        1 => (lane % 4 * 2 + index / 2, lane / 4 * 2 + index % 2),
        // Bytes in columns of sixteen.
        _ => (lane % 4 * 2 + index % 2, lane / 4 + index / 2 * 8),
    }
}

unsafe fn stmatrix<const KIND: u32>(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        let count = (pc.imm >> 8) as usize;
        let slots = Slots::new(pc, 1 + count);
        let mut to: Rows = [[0; ROW]; LANES];
        for matrix in 0..count {
            // SAFETY: `lower` made as many sources.
            let values = unsafe { slots.register(warp, 1 + matrix) };
            for (lane, value) in values.iter().enumerate() {
                for (index, byte) in value.to_le_bytes().into_iter().enumerate() {
                    let (row, column) = place::<KIND>(lane, index);
                    to[(matrix * 8 + row) % LANES][column] = byte;
                }
            }
        }
        rows::write(warp, pc, slots, 8 * count, &to)
    };
    // SAFETY: the operation was made by `operands::emit`.
    unsafe { whole_warp(warp, pc, body) }
}
