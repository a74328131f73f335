//! `ldmatrix`: matrices from shared memory into the registers of a warp, a row from each address.
//!
//! The forms of sixteen rows and those that widen numbers of six and four bits do not exist on an H200; their places are
//! those of the manual's figures.

use crate::base::lanes::LANES;
use crate::isa::matrix::operands::{Slots, address, destinations, whole_warp};
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

/// `ldmatrix`
pub(super) static LDMATRIX: Instruction = Instruction {
    name: "ldmatrix",
    section: "9.7.15.5.15",
    forms: &[
        Form {
            syntax: "
                ldmatrix.sync.aligned.m8n8.num{.trans}{.ss}.b16  r, [p];
                .num = { .x1, .x2, .x4 };
                .ss = { .shared{::cta} };
            ",
            lower: |l, m| {
                let by_columns = m.has(".trans");
                let handlers = Handlers::same(if by_columns { columns_of_pairs } else { load::<0> });
                lower(l, m, 1, handlers)
            },
        },
        Form {
            syntax: "
                ldmatrix.sync.aligned.m8n16.num{.ss}.b8x16.fmt  r, [p];
                .num = { .x1, .x2, .x4 };
                .ss = { .shared{::cta} };
                .fmt = { .b6x16_p32, .b4x16_p64 };
            ",
            lower: |l, m| {
                let (six, four) = (Handlers::same(load::<6>), Handlers::same(load::<4>));
                let handlers = m.choose("fmt", &[(".b6x16_p32", six), (".b4x16_p64", four)])?;
                lower(l, m, 1, handlers)
            },
        },
        Form {
            syntax: "
                ldmatrix.sync.aligned.m16n16.num.trans{.ss}.b8  r, [p];
                .num = { .x1, .x2 };
                .ss = { .shared{::cta} };
            ",
            lower: |l, m| lower(l, m, 2, Handlers::same(columns_of_bytes::<0>)),
        },
        Form {
            syntax: "
                ldmatrix.sync.aligned.m16n16.num.trans{.ss}.b8x16.fmt  r, [p];
                .num = { .x1, .x2 };
                .ss = { .shared{::cta} };
                .fmt = { .b6x16_p32, .b4x16_p64 };
            ",
            lower: |l, m| {
                let (six, four) = (Handlers::same(columns_of_bytes::<6>), Handlers::same(columns_of_bytes::<4>));
                let handlers = m.choose("fmt", &[(".b6x16_p32", six), (".b4x16_p64", four)])?;
                lower(l, m, 2, handlers)
            },
        },
    ],
    availability: &[
        Availability::since((6, 5), 75),
        Availability::specific((8, 6), 100).with(&[".m16n16"]),
        Availability::specific((8, 6), 100).with(&[".m8n16"]),
    ],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

/// How many matrices `.x4` and its like stand for.
pub(super) fn matrices(m: &Matched<'_>) -> Result<usize, LowerError> {
    m.choose("num", &[(".x1", 1), (".x2", 2), (".x4", 4)])
}

/// Lowers loads of matrices that take `registers` registers each.
fn lower(l: &mut Lowering<'_>, m: &Matched<'_>, registers: usize, handlers: Handlers) -> Result<(), LowerError> {
    let space = memory::space(l, m, 1);
    let count = matrices(m)?;
    let from = address(l, 1, space)?;
    let to = destinations(l, 0, registers * count, 32)?;
    let virtual_op = VirtualOp {
        imm: encode(space) | (count as u64) << 8,
        ..VirtualOp::new(handlers.together(Members::Warp, None))
    };
    operands::emit(l, virtual_op, &[from], &to);
    Ok(())
}

/// A row whose elements of `BITS` bits become bytes; one of bytes if `BITS` is 0.
#[inline(always)]
fn widened<const BITS: u32>(row: [u8; ROW]) -> [u8; ROW] {
    if BITS == 0 {
        return row;
    }
    let bits = u128::from_le_bytes(row);
    std::array::from_fn(|index| (bits >> (index as u32 * BITS)) as u8 & ((1 << BITS) - 1))
}

unsafe fn store(warp: &Warp, slots: Slots, index: usize, values: &[u32; LANES]) {
    // SAFETY: the operation has as many destinations; a slot has 32 lanes.
    unsafe { *warp.lanes::<[u32; LANES]>(slots.destination(index)) = *values };
}

/// Four lanes get a row, four bytes each.
unsafe fn load<const BITS: u32>(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        let (slots, count) = (Slots::new(pc, 1), (pc.imm >> 8) as usize);
        let mut from: Rows = [[0; ROW]; LANES];
        rows::read(warp, pc, slots, 8 * count, &mut from)?;
        for matrix in 0..count {
            let values = std::array::from_fn(|lane| {
                let row = widened::<BITS>(from[(matrix * 8 + lane / 4) % LANES]);
                let at = lane % 4 * 4;
                u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]])
            });
            // SAFETY: `lower` made as many destinations.
            unsafe { store(warp, slots, matrix, &values) };
        }
        Ok(())
    };
    // SAFETY: the operation was made by `operands::emit`.
    unsafe { whole_warp(warp, pc, body) }
}

/// Four lanes get a column of elements of 16 bits, two each.
unsafe fn columns_of_pairs(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        let (slots, count) = (Slots::new(pc, 1), (pc.imm >> 8) as usize);
        let mut from: Rows = [[0; ROW]; LANES];
        rows::read(warp, pc, slots, 8 * count, &mut from)?;
        for matrix in 0..count {
            let values = std::array::from_fn(|lane| {
                let (column, row) = (lane / 4, (matrix * 8 + lane % 4 * 2) % LANES);
                let (upper, lower) = (&from[row], &from[row + 1]);
                let at = 2 * column;
                u32::from_le_bytes([upper[at], upper[at + 1], lower[at], lower[at + 1]])
            });
            // SAFETY: `lower` made as many destinations.
            unsafe { store(warp, slots, matrix, &values) };
        }
        Ok(())
    };
    // SAFETY: the operation was made by `operands::emit`.
    unsafe { whole_warp(warp, pc, body) }
}

/// Four lanes get two columns of bytes, of sixteen rows: each lane four of both, two of them in each of two registers.
unsafe fn columns_of_bytes<const BITS: u32>(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        let (slots, count) = (Slots::new(pc, 1), (pc.imm >> 8) as usize);
        let mut from: Rows = [[0; ROW]; LANES];
        rows::read(warp, pc, slots, 16 * count, &mut from)?;
        let from = from.map(widened::<BITS>);
        for register in 0..2 * count {
            let values = std::array::from_fn(|lane| {
                let row = (register / 2 * 16 + lane % 4 * 4 + register % 2 * 2) % LANES;
                let column = lane / 4;
                let (upper, lower) = (&from[row], &from[row + 1]);
                u32::from_le_bytes([upper[column], lower[column], upper[column + 8], lower[column + 8]])
            });
            // SAFETY: `lower` made as many destinations.
            unsafe { store(warp, slots, register, &values) };
        }
        Ok(())
    };
    // SAFETY: the operation was made by `operands::emit`.
    unsafe { whole_warp(warp, pc, body) }
}
