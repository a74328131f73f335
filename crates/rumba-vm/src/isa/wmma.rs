//! `wmma`: matrices in fragments that only this instruction loads, multiplies and stores.
//!
//! The manual leaves open which lane holds which element. The places here are those of an H200, where a fragment of `f16`
//! holds every element twice or more often.

use crate::base::lanes::LANES;
use crate::base::report::AccessKind;
use crate::base::types::ScalarType;
use crate::exec::memory::{Addresses, Space, at_addresses};
use crate::isa::emit;
use crate::isa::matrix::element::ElementType;
use crate::isa::matrix::fragment::{Fragment, Order};
use crate::isa::matrix::operands;
use crate::isa::matrix::operands::{Slots, address, destinations, sources, whole_warp};
use crate::isa::matrix::product::{Product, Rule};
use crate::isa::mma::shape;
use crate::isa::{memory, mma};
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::opcode::Members;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;
use crate::mem::atomic::Element;

/// `wmma`
pub(super) static WMMA: Instruction = Instruction {
    name: "wmma",
    section: "9.7.15.4",
    forms: &[
        Form {
            syntax: "
                wmma.load.operand!.sync.aligned.layout.shape{.ss}.type  r, [p]{, stride};
                wmma.load.operand!.sync.aligned.shape.layout{.ss}.type  r, [p]{, stride};
                .operand = { .a, .b, .c };
                .layout = { .row, .col };
                .shape = { .m16n16k16, .m8n32k16, .m32n8k16, .m16n16k8, .m8n8k4, .m8n8k32, .m8n8k128 };
                .ss = { .global, .shared{::cta} };
                .type = { .f16, .f32, .s32, .u8, .s8, .bf16, .tf32, .f64, .u4, .s4, .b1 };
            ",
            lower: |l, m| transfer(l, m, true),
        },
        Form {
            syntax: "
                wmma.store.d!.sync.aligned.layout.shape{.ss}.type  [p], r{, stride};
                wmma.store.d!.sync.aligned.shape.layout{.ss}.type  [p], r{, stride};
                .layout = { .row, .col };
                .shape = { .m16n16k16, .m8n32k16, .m32n8k16, .m16n16k8, .m8n8k4, .m8n8k32, .m8n8k128 };
                .ss = { .global, .shared{::cta} };
                .type = { .f16, .f32, .s32, .f64 };
            ",
            lower: |l, m| transfer(l, m, false),
        },
        Form {
            syntax: "
                wmma.mma!.sync.aligned.alayout.blayout.shape.dtype.ctype{.satfinite}  d, a, b, c;
                .alayout = { .row, .col };
                .blayout = { .row, .col };
                .shape = { .m16n16k16, .m8n32k16, .m32n8k16 };
                .dtype = { .f16, .f32 };
                .ctype = { .f16, .f32 };

                wmma.mma!.sync.aligned.alayout.blayout.shape.f32.bf16.bf16.f32  d, a, b, c;
                wmma.mma!.sync.aligned.alayout.blayout.m16n16k8.f32.tf32.tf32.f32  d, a, b, c;
                wmma.mma!.sync.aligned.alayout.blayout.m8n8k4{.rnd}.f64.f64.f64.f64  d, a, b, c;
                wmma.mma!.sync.aligned.alayout.blayout.shape.s32.atype.btype.s32{.satfinite}  d, a, b, c;
                .alayout = { .row, .col };
                .blayout = { .row, .col };
                .shape = { .m16n16k16, .m8n32k16, .m32n8k16 };
                .rnd = { .rn, .rz, .rm, .rp };
                .atype = { .s8, .u8 };
                .btype = { .s8, .u8 };

                wmma.mma!.sync.aligned.row.col.m8n8k32.s32.atype.btype.s32{.satfinite}  d, a, b, c;
                wmma.mma!.bitop.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32  d, a, b, c;
                .atype = { .s4, .u4 };
                .btype = { .s4, .u4 };
                .bitop = { .xor, .and };
            ",
            lower,
        },
    ],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

/// The fragment of an operand, `a`, `b`, `c` or `d`; that of `b` is one of the transposed matrix.
fn fragment(operand: char, element: ElementType, [m, n, k]: [usize; 3]) -> Option<Fragment> {
    let fits = match (operand, [m, n, k]) {
        ('a' | 'b', [16, 16, 16] | [8, 32, 16] | [32, 8, 16]) => {
            matches!(element, ElementType::F16 | ElementType::Bf16 | ElementType::S8 | ElementType::U8)
        }
        ('a' | 'b', [16, 16, 8]) => element == ElementType::Tf32,
        ('a' | 'b', [8, 8, 32]) => matches!(element, ElementType::S4 | ElementType::U4),
        ('a' | 'b', [8, 8, 128]) => element == ElementType::B1,
        (_, [16, 16, 16] | [8, 32, 16] | [32, 8, 16]) => {
            matches!(element, ElementType::F16 | ElementType::F32 | ElementType::S32)
        }
        (_, [16, 16, 8]) => element == ElementType::F32,
        (_, [8, 8, 4]) => element == ElementType::F64,
        (_, [8, 8, _]) => element == ElementType::S32,
        _ => false,
    };
    if !fits {
        return None;
    }
    let bits = element.bits();
    let fragment = match operand {
        'a' if m == 32 => Fragment::packed(bits, m, k, Order::Sixteens),
        'a' => Fragment::packed(bits, m, k, Order::Down),
        // The eight rows of `a` and the 32 columns of `b` change their roles.
        'b' if n == 32 => Fragment::packed(bits, n, k, Order::Sixteens),
        'b' => Fragment::packed(bits, n, k, Order::Right),
        _ if n == 32 => Fragment::accumulator(bits, n, m, Order::Down).transposed(),
        _ => Fragment::accumulator(bits, m, n, Order::Down),
    };
    Some(if element == ElementType::F16 && matches!(operand, 'a' | 'b') { fragment.repeated(8) } else { fragment })
}

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let modifiers = l.modifiers();
    let shape = shape_of(modifiers)?;
    let types: Vec<ElementType> = modifiers.iter().filter_map(|modifier| ElementType::from_name(modifier)).collect();
    let types = match types[..] {
        [d, c] => [d, ElementType::F16, ElementType::F16, c],
        [d, a, b, c] => [d, a, b, c],
        _ => return Err(LowerError::new("the types of this form are not understood")),
    };
    let rule = match types[1] {
        ElementType::F64 => Rule::Double(emit::rounding(m.get("rnd"))),
        ElementType::S8 | ElementType::U8 | ElementType::S4 | ElementType::U4 => {
            Rule::Integer { saturate: m.has(".satfinite") }
        }
        ElementType::B1 => Rule::Bits { differ: m.get("bitop") == Some(".xor") },
        _ => Rule::Float,
    };
    let mut fragments = Vec::new();
    for (operand, element) in ['d', 'a', 'b', 'c'].into_iter().zip(types) {
        fragments.push(fragment(operand, element, shape).ok_or_else(no_such_fragment)?);
    }
    let fragments = fragments.try_into().map_err(|_| no_such_fragment())?;
    let product = Product { rule, m: shape[0], n: shape[1], k: shape[2], types, fragments, sparsity: None };
    mma::emit(l, format!("wmma{}", modifiers.concat()), product, Vec::new())
}

fn shape_of(modifiers: &[&str]) -> Result<[usize; 3], LowerError> {
    shape(modifiers).ok_or_else(|| LowerError::new("the shape of this form is not understood"))
}

fn no_such_fragment() -> LowerError {
    LowerError::new("there is no fragment of this shape and type")
}

/// A matrix in memory, packed into an operation's `imm`.
#[derive(Clone, Copy)]
struct Matrix {
    operand: char,
    element: ElementType,
    shape: [usize; 3],
    /// Whether the elements of a row are neighbours in memory. Of the transposed matrix for `b`.
    by_rows: bool,
    space: Space,
}

impl Matrix {
    fn fragment(&self) -> Option<Fragment> {
        fragment(self.operand, self.element, self.shape)
    }
}

/// The parameters of a load or store other than its address: made once per form, and never freed.
struct Transfer {
    matrix: Matrix,
    fragment: Fragment,
}

fn interned(text: String, matrix: Matrix, fragment: Fragment) -> &'static Transfer {
    use std::collections::HashMap;
    use std::sync::{LazyLock, Mutex, PoisonError};
    static KNOWN: LazyLock<Mutex<HashMap<String, &'static Transfer>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(text).or_insert_with(|| Box::leak(Box::new(Transfer { matrix, fragment })))
}

fn transfer(l: &mut Lowering<'_>, m: &Matched<'_>, load: bool) -> Result<(), LowerError> {
    let shape = shape_of(l.modifiers())?;
    let space = memory::space(l, m, usize::from(load));
    let element = m.get("type").and_then(ElementType::from_name).ok_or_else(no_such_fragment)?;
    let operand = if load { m.choose("operand", &[(".a", 'a'), (".b", 'b'), (".c", 'c')])? } else { 'c' };
    let by_rows = (m.get("layout") == Some(".row")) != (operand == 'b');
    let matrix = Matrix { operand, element, shape, by_rows, space };
    let fragment = matrix.fragment().ok_or_else(no_such_fragment)?;
    if element.bits() < 8 && !by_rows {
        return Err(LowerError::new("numbers of fewer than eight bits are only in rows of `a` and columns of `b`"));
    }
    let bits = element.bits();
    let place = address(l, usize::from(load), space)?;
    let line = if by_rows { fragment.columns } else { fragment.rows };
    // Single bits are counted in words by their fragment.
    let line = if element == ElementType::B1 { line * 32 } else { line };
    let stride =
        if l.operand_count() > 2 { l.source(2, ScalarType::U32)? } else { l.constant(ScalarType::U32, line as u128) };
    let mut read = vec![place, stride];
    let mut written = Vec::new();
    if load {
        written = destinations(l, 0, fragment.registers, bits)?;
    } else {
        read.extend(sources(l, 1, fragment.registers, bits)?);
    }
    let text = format!("{} {space:?}", l.modifiers().concat());
    let transfer = interned(text, matrix, fragment);
    let handlers = if load { Handlers::same(wmma_load) } else { Handlers::same(wmma_store) };
    let virtual_op = VirtualOp {
        imm: std::ptr::from_ref(transfer) as u64,
        ..VirtualOp::new(handlers.together(Members::Warp, None))
    };
    operands::emit(l, virtual_op, &read, &written);
    Ok(())
}

/// Bytes of the largest matrix: 16 by 16 numbers of 32 bits.
const BYTES: usize = 1024;

/// Lets `copy` see the pieces of a matrix in memory: for each its host address, its offset in a matrix without gaps, and
/// its size.
fn pieces(
    warp: &mut Warp,
    pc: Pc,
    slots: Slots,
    transfer: &Transfer,
    kind: AccessKind,
    mut copy: impl FnMut(u64, usize, usize),
) -> Result<(), Pc> {
    let Transfer { matrix, fragment } = transfer;
    // SAFETY: `transfer` made these sources.
    let (given, strides) = unsafe { (*slots.wide(warp, 0), *slots.register(warp, 1)) };
    if let Some(lane) = (0..LANES).find(|lane| given[*lane] != given[0] || strides[*lane] != strides[0]) {
        let message = "the lanes of the warp give different addresses or strides for one matrix";
        return Err(warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message)));
    }
    let bits = if matrix.element == ElementType::B1 { 1 } else { fragment.bits };
    let columns = if bits == 1 { fragment.columns * 32 } else { fragment.columns };
    let (lines, length) = if matrix.by_rows { (fragment.rows, columns) } else { (columns, fragment.rows) };
    let line = length * bits / 8;
    let stride = u64::from(strides[0]) * bits as u64 / 8;
    // As much at once as the addresses are multiples of; four bytes, or an element, they must be.
    let whole = (given[0] | stride | line as u64 | 16).trailing_zeros();
    let piece = (1_usize << whole).max(4.max(bits / 8));
    let per_line = line / piece;
    let mut first = 0;
    while first < lines * per_line {
        let count = (lines * per_line - first).min(LANES);
        let at = |index: usize| {
            let (line, part) = ((first + index) / per_line, (first + index) % per_line);
            given[0].wrapping_add(line as u64 * stride).wrapping_add((part * piece) as u64)
        };
        let addresses = std::array::from_fn(|lane| at(lane.min(count - 1)));
        let mut out = Addresses::new();
        let lanes = u32::MAX >> (LANES - count);
        at_addresses(warp, pc, &addresses, lanes, (piece as u64, kind), matrix.space, &mut out)?;
        for index in 0..count {
            // SAFETY: the access check has set the addresses of these lanes.
            copy(unsafe { out.get(index) }, (first + index) * piece, piece);
        }
        first += count;
    }
    Ok(())
}

/// ElementType `index` of a matrix without gaps.
#[inline(always)]
fn element(bytes: &[u8; BYTES], bits: usize, index: usize) -> u64 {
    let at = index * bits / 8;
    match bits {
        4 => u64::from(bytes[at] >> (index % 2 * 4) & 15),
        8 => u64::from(bytes[at]),
        16 => u64::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])),
        32 => u64::from(u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])),
        _ => (0..8).fold(0, |value, byte| value | u64::from(bytes[at + byte]) << (8 * byte)),
    }
}

unsafe fn wmma_load(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: `transfer` put the address of something there that lives for good.
    let transfer = unsafe { &*(pc.imm as *const Transfer) };
    let body = |warp: &mut Warp| {
        let slots = Slots::new(pc, 2);
        let mut bytes = [0; BYTES];
        pieces(warp, pc, slots, transfer, AccessKind::Read, |host, at, size| {
            // SAFETY: the access check has found that this is the address of as many live, aligned bytes.
            unsafe {
                match size {
                    16 => bytes[at..at + 16].copy_from_slice(&u128::read(host).to_le_bytes()),
                    8 => bytes[at..at + 8].copy_from_slice(&u64::read(host).to_le_bytes()),
                    _ => bytes[at..at + 4].copy_from_slice(&u32::read(host).to_le_bytes()),
                }
            }
        })?;
        let Transfer { matrix, fragment } = transfer;
        let packed = (32 / fragment.bits).max(1);
        for register in 0..fragment.registers {
            let slot = slots.destination(register);
            for lane in 0..LANES {
                let mut value = 0;
                for position in 0..packed {
                    let (row, column) = fragment.place(register, lane, position);
                    let index =
                        if matrix.by_rows { row * fragment.columns + column } else { column * fragment.rows + row };
                    value |= element(&bytes, fragment.bits, index) << (position * fragment.bits);
                }
                // SAFETY: the slot has 32 lanes of that width.
                unsafe {
                    if fragment.bits == 64 {
                        *warp.lanes::<u64>(slot).add(lane) = value;
                    } else {
                        *warp.lanes::<u32>(slot).add(lane) = value as u32;
                    }
                }
            }
        }
        Ok(())
    };
    // SAFETY: the operation was made by `operands::emit`.
    unsafe { whole_warp(warp, pc, body) }
}

unsafe fn wmma_store(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as in `wmma_load`.
    let transfer = unsafe { &*(pc.imm as *const Transfer) };
    let body = |warp: &mut Warp| {
        let Transfer { matrix, fragment } = transfer;
        let slots = Slots::new(pc, 2 + fragment.registers);
        let mut bytes = [0; BYTES];
        let packed = (32 / fragment.bits).max(1);
        for register in 0..fragment.registers {
            for lane in 0..LANES {
                // SAFETY: `transfer` made as many sources, of that width.
                let value = unsafe {
                    if fragment.bits == 64 {
                        slots.wide(warp, 2 + register)[lane]
                    } else {
                        u64::from(slots.register(warp, 2 + register)[lane])
                    }
                };
                for position in 0..packed {
                    let (row, column) = fragment.place(register, lane, position);
                    let index =
                        if matrix.by_rows { row * fragment.columns + column } else { column * fragment.rows + row };
                    let (at, width) = (index * fragment.bits / 8, fragment.bits / 8);
                    let value = value >> (position * fragment.bits);
                    bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                }
            }
        }
        pieces(warp, pc, slots, transfer, AccessKind::Write, |host, at, size| {
            let part = &bytes[at..at + size];
            let value = part.iter().rev().fold(0_u128, |value, byte| value << 8 | u128::from(*byte));
            // SAFETY: as in `wmma_load`.
            unsafe {
                match size {
                    16 => u128::write(host, value),
                    8 => u64::write(host, value as u64),
                    _ => u32::write(host, value as u32),
                }
            }
        })
    };
    // SAFETY: the operation was made by `operands::emit`.
    unsafe { whole_warp(warp, pc, body) }
}
