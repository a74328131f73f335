//! Products of matrices in tensor memory: one thread begins a product of 64 or 128 rows, whose sums lie in tensor memory. In
//! a product of a pair of blocks (`cta_group::2`) each block has half of the rows of the first factor and of the sums, and
//! half of the columns of the second factor.
//!
//! The second factor lies in shared memory, the first there or in tensor memory. [`KINDS`] has the types and the depth of
//! each kind, [`Instruction`] the instruction descriptor. In every kind a row of a factor has 32 bytes. Sums of floating
//! point numbers are formed as an H200 forms those of numbers of sixteen bits ([`super::dot`]), sixteen products at a
//! time; block-scaled sums are exact and rounded once. No GPU of this generation has been compared.

use std::cell::UnsafeCell;

use crate::base::lanes::lanes_of;
use crate::base::report::AccessKind;
use crate::check::agent::{Agent, Completion};
use crate::exec::body::{Body, handlers};
use crate::exec::lane::F16;
use crate::exec::processor::Processor;
use crate::isa::matrix::descriptor::{Descriptor, LINE, read_line};
use crate::isa::matrix::dot::{COLUMNS, DEPTH, ROWS, Terms};
use crate::isa::matrix::element::{ElementType, ue4m3, ue8m0};
use crate::isa::matrix::operands::{Slots, done};
use crate::isa::matrix::tensor_move::{Owner, TensorRange, expect_range, observe_cells};
use crate::isa::matrix::warpgroup::{quads, words};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handlers, Pc};
use crate::machine::tensor_memory::{QUARTER, TENSOR_LANES, TensorAddress};
use crate::machine::warp::Warp;
use crate::mem::atomic::Element;

/// Rows of the largest first factor, and columns of the largest second one.
const MAX_M: usize = 128;
const MAX_N: usize = 256;

/// Elements of a row of a factor: 32 bytes of the smallest type.
const MAX_DEPTH: usize = 64;

/// Lines of sixteen bytes in a row of a factor.
const LINES: usize = 2;

/// The types of elements by their number in the instruction descriptor.
type Types = &'static [(u32, ElementType)];

/// A kind of product.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Columns of the first factor.
    depth: usize,
    /// Types of the factors and of the sums.
    factors: Types,
    sums: Types,
}

const SMALL: Types = &[
    (0, ElementType::E4m3),
    (1, ElementType::E5m2),
    (3, ElementType::E2m3),
    (4, ElementType::E3m2),
    (5, ElementType::E2m1),
];
const FLOATS: Types = &[(0, ElementType::F16), (1, ElementType::F32)];
/// The sums of a block-scaled product, whose descriptor does not name their type.
const SCALED: Types = &[(0, ElementType::F32)];
const FOUR_BITS: Types = &[(1, ElementType::E2m1)];

/// The kinds of products.
pub(crate) static KINDS: [Kind; 7] = [
    Kind { name: ".kind::f16", depth: 16, factors: &[(0, ElementType::F16), (1, ElementType::Bf16)], sums: FLOATS },
    Kind { name: ".kind::tf32", depth: 8, factors: &[(2, ElementType::Tf32)], sums: &[(1, ElementType::F32)] },
    Kind { name: ".kind::f8f6f4", depth: 32, factors: SMALL, sums: FLOATS },
    Kind {
        name: ".kind::i8",
        depth: 32,
        factors: &[(0, ElementType::U8), (1, ElementType::S8)],
        sums: &[(2, ElementType::S32)],
    },
    Kind { name: ".kind::mxf8f6f4", depth: 32, factors: SMALL, sums: SCALED },
    Kind { name: ".kind::mxf4", depth: 64, factors: FOUR_BITS, sums: SCALED },
    Kind { name: ".kind::mxf4nvf4", depth: 64, factors: FOUR_BITS, sums: SCALED },
];

/// A form of the instruction, as it lies in an operation's `imm`. The sources are the addresses of the sums and of the first
/// factor, the second factor, the instruction descriptor, then the addresses of the scale factors or the lanes that are left
/// out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    /// The index of the kind.
    pub(crate) kind: usize,
    /// Whether a pair of blocks multiplies.
    pub(crate) is_pair: bool,
    /// Whether the first factor lies in tensor memory.
    pub(crate) in_tensor: bool,
    /// Whether each row but the last is the one behind it.
    pub(crate) shifts_rows: bool,
    /// Whether four sources, or eight for a pair, say which lanes are not written.
    pub(crate) leaves_out: bool,
    /// Whether the product is added if the predicate is false.
    pub(crate) negated: bool,
    /// Scale factors of a row: none in a product that is not block-scaled.
    pub(crate) groups: usize,
    /// The sums are divided by this power of two before the products are added.
    pub(crate) shift: u32,
}

impl Form {
    pub(crate) fn bits(self) -> u64 {
        self.kind as u64
            | u64::from(self.in_tensor) << 8
            | u64::from(self.leaves_out) << 9
            | u64::from(self.shifts_rows) << 10
            | u64::from(self.negated) << 11
            | u64::from(self.is_pair) << 12
            | (self.groups as u64) << 16
            | u64::from(self.shift) << 32
    }

    fn from_bits(bits: u64) -> Self {
        Self {
            kind: (bits & 0xff) as usize % KINDS.len(),
            in_tensor: bits >> 8 & 1 != 0,
            leaves_out: bits >> 9 & 1 != 0,
            shifts_rows: bits >> 10 & 1 != 0,
            negated: bits >> 11 & 1 != 0,
            is_pair: bits >> 12 & 1 != 0,
            groups: (bits >> 16 & 0xff) as usize,
            shift: (bits >> 32) as u32,
        }
    }

    fn sources(self) -> usize {
        4 + self.masks() + if self.groups > 0 { 2 } else { 0 }
    }

    /// Sources that say which lanes are not written.
    pub(crate) fn masks(self) -> usize {
        match (self.leaves_out, self.is_pair) {
            (false, _) => 0,
            (true, false) => 4,
            (true, true) => 8,
        }
    }
}

/// The fields of an instruction descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instruction {
    /// Rows of a block, and columns.
    m: usize,
    n: usize,
    is_pair: bool,
    /// The types of `d`, `a`, `b`.
    types: [ElementType; 3],
    transposed: [bool; 2],
    negated: [bool; 2],
    saturates: bool,
    /// Whether scale factors are `ue4m3`, and the first byte of those of `a` and of `b`.
    fine: bool,
    byte: [usize; 2],
}

impl Instruction {
    fn from_bits(bits: u32, kind: &Kind, groups: usize, is_pair: bool) -> Result<Self, String> {
        let wrong = |what: String| Err(format!("the instruction descriptor {bits:#010x} {what}"));
        let field = |shift: u32, width: u32| bits >> shift & ((1 << width) - 1);
        let of = |types: Types, code: u32| types.iter().find(|(known, _)| *known == code).map(|(_, element)| *element);
        let is_scaled = groups > 0;
        if field(2, 1) != 0 {
            return wrong("is one of a sparse product (bit 2)".into());
        }
        let is_unused = if is_scaled { field(3, 1) | field(6, 1) } else { field(6, 1) | field(23, 1) | field(29, 3) };
        if is_unused != 0 || is_scaled && field(31, 1) != 0 {
            return wrong("has bits set that have no meaning here".into());
        }
        let (a, b) = (field(7, 3), field(10, 3));
        let (Some(a), Some(b)) = (of(kind.factors, a), of(kind.factors, b)) else {
            return wrong(format!("names types {a} and {b} of the factors, which {} does not have", kind.name));
        };
        let d = if is_scaled { 0 } else { field(4, 2) };
        let Some(d) = of(kind.sums, d) else {
            return wrong(format!("names type {d} of the sums, which {} does not have", kind.name));
        };
        let (m, n) = ((field(24, 5) << 4) as usize, (field(17, 6) << 3) as usize);
        let whole = if is_pair { 256 } else { 128 };
        let unit = match (is_pair, m == whole || is_scaled) {
            (true, _) => 32,
            (false, true) => 16,
            (false, false) => 8,
        };
        let has_rows = m == whole || 2 * m == whole && !is_scaled;
        if !has_rows || n == 0 || n > MAX_N || !n.is_multiple_of(unit) {
            let other = if is_scaled { String::new() } else { format!(" or {}", whole / 2) };
            return wrong(format!(
                "has M = {m} and N = {n}: M is {whole}{other}, and N a multiple of {unit} up to {MAX_N}"
            ));
        }
        let transposed = [field(15, 1) != 0, field(16, 1) != 0];
        let is_narrow =
            |element: ElementType| matches!(element, ElementType::E2m3 | ElementType::E3m2 | ElementType::E2m1);
        if transposed[0] && is_narrow(a) || transposed[1] && is_narrow(b) {
            return wrong("transposes a factor whose elements have fewer than eight bits".into());
        }
        let is_integer = d == ElementType::S32;
        if field(13, 2) != 0 && is_integer || field(3, 1) != 0 && !is_integer {
            return wrong("negates integers, or saturates floating point numbers".into());
        }
        let byte = [field(29, 2) as usize, field(4, 2) as usize];
        if is_scaled && byte.iter().any(|byte| byte % groups != 0) {
            return wrong(format!("begins {groups} scale factors at byte {} or {}", byte[0], byte[1]));
        }
        Ok(Self {
            m: if is_pair { m / 2 } else { m },
            n,
            is_pair,
            types: [d, a, b],
            transposed,
            negated: [field(13, 1) != 0, field(14, 1) != 0],
            saturates: field(3, 1) != 0,
            fine: is_scaled && field(23, 1) == 0,
            byte,
        })
    }

    /// The cell of a sum, counted from the address. 64 rows are sixteen rows of each warp; of a pair they are in half of the
    /// lanes, and the other half has half of the columns.
    fn cell(&self, row: usize, column: usize) -> (u32, u32) {
        let (row, column, half) = (row as u32, column as u32, self.n as u32 / 2);
        match (self.m, self.is_pair) {
            (64, false) => (row / 16 * QUARTER + row % 16, column),
            (64, true) => (row + column / half * (TENSOR_LANES / 2), column % half),
            _ => (row, column),
        }
    }

    /// Columns of tensor memory that the sums take.
    fn columns(&self) -> usize {
        if self.is_halved() { self.n / 2 } else { self.n }
    }

    /// Whether the other half of the lanes has half of the columns.
    fn is_halved(&self) -> bool {
        self.is_pair && self.m == 64
    }

    /// Whether rows are in the first sixteen of each 32 lanes.
    fn is_scattered(&self) -> bool {
        !self.is_pair && self.m == 64
    }

    /// The lanes from the first to the last.
    fn lanes(&self) -> u32 {
        if self.is_scattered() { 3 * QUARTER + 16 } else { TENSOR_LANES }
    }
}

/// The handlers that execute a product for each active lane, whose [`Form`] is the operation's `imm`. `c` says whether the
/// product is added to the sums in tensor memory.
pub(crate) const HANDLERS: Handlers = handlers::<Multiply>();

struct Multiply;

impl Body for Multiply {
    #[inline(always)]
    unsafe fn run<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc {
        for lane in lanes_of(warp.active) {
            // SAFETY: as the caller promises.
            if let Err(stop) = unsafe { product::<X>(warp, pc, lane) } {
                return stop;
            }
        }
        done(pc)
    }
}

thread_local! {
    static WORK: UnsafeCell<Box<Work>> = UnsafeCell::new(Box::new(Work::new()));
}

#[cold]
fn mistake(warp: &mut Warp, pc: Pc, lane: usize, message: String) -> Pc {
    warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message))
}

#[inline(always)]
unsafe fn product<X: Processor>(warp: &mut Warp, pc: Pc, lane: usize) -> Result<(), Pc> {
    let form = Form::from_bits(pc.imm);
    let (kind, slots) = (&KINDS[form.kind], Slots::new(pc, form.sources()));
    // SAFETY: the operation has these sources, of 64 bits but for the instruction descriptor.
    let (wide, bits) = unsafe {
        let wide = |index: usize| slots.wide(warp, index)[lane];
        ([wide(0), wide(1), wide(2)], slots.register(warp, 3)[lane])
    };
    let instruction = Instruction::from_bits(bits, kind, form.groups, form.is_pair);
    let instruction = instruction.map_err(|message| mistake(warp, pc, lane, message))?;
    let sums = TensorAddress::from_bits(wide[0] as u32);
    let first = if form.in_tensor { None } else { Some(Descriptor::from_tensor_bits(wide[1])) };
    let first = first.transpose().map_err(|message| mistake(warp, pc, lane, message))?;
    let second = Descriptor::from_tensor_bits(wide[2]).map_err(|message| mistake(warp, pc, lane, message))?;
    if form.in_tensor && instruction.transposed[0] {
        return Err(mistake(warp, pc, lane, "a first factor in tensor memory cannot be transposed".into()));
    }
    if form.in_tensor && instruction.is_halved() {
        let message = "a first factor of 128 rows of a pair of blocks in tensor memory is not executed by this device";
        return Err(mistake(warp, pc, lane, message.into()));
    }
    if sums.lane != 0 && !(instruction.is_scattered() && sums.lane == 16) {
        let message = format!("the sums of a product begin at lane {} of tensor memory instead of lane 0", sums.lane);
        return Err(mistake(warp, pc, lane, message));
    }
    let own = Owner::of(warp);
    let owners = if form.is_pair { Owner::pair(warp, pc, lane)?.to_vec() } else { vec![own] };
    // SAFETY: `c` is a predicate of the program.
    let accumulates = (unsafe { warp.predicate(pc.c) } >> lane & 1 != 0) != form.negated;
    let mut left_out = [0; 8];
    for (index, mask) in left_out[..form.masks()].iter_mut().enumerate() {
        // SAFETY: the operation has these sources, of 32 bits.
        *mask = unsafe { slots.register(warp, 4 + index)[lane] };
    }
    let agent = warp.begin_operation(lane, Completion::TensorCommit);
    let work = WORK.with(UnsafeCell::get);
    // SAFETY: this is the thread's own, and nothing that is called from here on comes back to this place.
    let work = unsafe { &mut *work };
    let place = |owner: Owner| Place { pc, lane, agent, owner };
    let columns = instruction.n / owners.len();
    for (owner, rows) in owners.iter().zip(work.b[..instruction.n].chunks_mut(columns)) {
        place(*owner).load(warp, second, (kind, instruction.types[2], instruction.transposed[1]), rows)?;
    }
    negate(&mut work.b, instruction.negated[1]);
    for (owner, left_out) in owners.iter().zip(left_out.chunks(4)) {
        let place = place(*owner);
        let (first_sum, columns) = (sums, instruction.columns() as u32);
        let lanes = instruction.lanes();
        let range = TensorRange { owner: *owner, first: first_sum, lanes, columns, kind: AccessKind::Write };
        expect_range(warp, pc, lane, range)?;
        match first {
            Some(first) => {
                let (element, rows) = (instruction.types[1], &mut work.a[..instruction.m]);
                place.load(warp, first, (kind, element, instruction.transposed[0]), rows)?;
            }
            None => {
                let from = TensorAddress::from_bits(wide[1] as u32);
                place.load_tensor(warp, from, (kind, &instruction), &mut work.a)?;
                if form.shifts_rows {
                    work.a.copy_within(1..instruction.m, 0);
                }
            }
        }
        negate(&mut work.a, instruction.negated[0]);
        if form.groups > 0 {
            for operand in 0..2 {
                // SAFETY: the operation has these sources, of 64 bits.
                let from = unsafe { slots.wide(warp, form.sources() - 2 + operand)[lane] };
                let rows = if operand == 0 { instruction.m } else { instruction.n };
                let (from, scales) = (TensorAddress::from_bits(from as u32), &mut work.scales[operand][..rows]);
                place.load_scales(warp, from, (&instruction, operand, form.groups), scales)?;
            }
        }
        if accumulates {
            place.observe(warp, sums, (&instruction, instruction.columns()), AccessKind::Read);
        }
        place.observe(warp, sums, (&instruction, instruction.columns()), AccessKind::Write);
        // SAFETY: the caller promises that the processor is `X`, and the cells are those of allocated columns.
        unsafe { work.multiply::<X>((kind, form, &instruction), (owner.base, sums), accumulates, left_out) };
    }
    Ok(())
}

fn negate(rows: &mut [[f32; MAX_DEPTH]], negated: bool) {
    if negated {
        rows.as_flattened_mut().iter_mut().for_each(|x| *x = -*x);
    }
}

/// The operation of a thread.
struct Place {
    pc: Pc,
    lane: usize,
    agent: Option<Agent>,
    /// The block whose memory it accesses.
    owner: Owner,
}

impl Place {
    /// A factor in shared memory.
    fn load(
        &self,
        warp: &mut Warp,
        matrix: Descriptor,
        (kind, element, transposed): (&Kind, ElementType, bool),
        rows: &mut [[f32; MAX_DEPTH]],
    ) -> Result<(), Pc> {
        if !transposed {
            for (index, row) in rows.iter_mut().enumerate() {
                for (line, to) in row.chunks_mut(kind.depth / LINES).take(LINES).enumerate() {
                    let used = to.len() * width(element) / 8;
                    let place = (self.owner.window | matrix.along(index, line), used);
                    numbers(element, read_line(warp, self.pc, self.lane, place, self.agent)?, to);
                }
            }
            return Ok(());
        }
        let count = 8 * LINE / element.bits();
        let mut line = [0.0; LINE];
        for depth in 0..kind.depth {
            for (index, rows) in rows.chunks_mut(count).enumerate() {
                let place = (self.owner.window | matrix.across_tensor(depth, index), LINE);
                numbers(element, read_line(warp, self.pc, self.lane, place, self.agent)?, &mut line[..count]);
                rows.iter_mut().zip(line).for_each(|(row, x)| row[depth] = x);
            }
        }
        Ok(())
    }

    /// A first factor in tensor memory: eight columns of each lane.
    fn load_tensor(
        &self,
        warp: &mut Warp,
        first: TensorAddress,
        (kind, instruction): (&Kind, &Instruction),
        rows: &mut [[f32; MAX_DEPTH]],
    ) -> Result<(), Pc> {
        let lanes = instruction.lanes();
        let range = TensorRange { owner: self.owner, first, lanes, columns: 8, kind: AccessKind::Read };
        expect_range(warp, self.pc, self.lane, range)?;
        self.observe(warp, first, (instruction, 8), AccessKind::Read);
        for (index, row) in rows[..instruction.m].iter_mut().enumerate() {
            for (line, to) in row.chunks_mut(kind.depth / LINES).take(LINES).enumerate() {
                let mut bytes = [0; LINE];
                for (word, bytes) in bytes.chunks_mut(4).enumerate() {
                    let column = first.column + (4 * line + word) as u32;
                    let cell = TensorAddress { lane: first.lane + instruction.cell(index, 0).0, column };
                    // SAFETY: the cells are those of allocated columns.
                    bytes.copy_from_slice(&unsafe { u32::read(self.owner.base + cell.offset()) }.to_le_bytes());
                }
                let element = instruction.types[1];
                if kind.depth < MAX_DEPTH && width(element) < 8 {
                    // In tensor memory each element takes a byte, four bits in its middle.
                    let shift = if element == ElementType::E2m1 { 2 } else { 0 };
                    element.numbers(&bytes.map(|byte| u32::from(byte) >> shift), to);
                } else {
                    numbers(element, bytes, to);
                }
            }
        }
        Ok(())
    }

    /// The scale factors of rows: those of row `r` are in lane `r % 32` of column `r / 32`.
    fn load_scales(
        &self,
        warp: &mut Warp,
        first: TensorAddress,
        (instruction, operand, groups): (&Instruction, usize, usize),
        scales: &mut [[f64; 4]],
    ) -> Result<(), Pc> {
        // The upper bits of the address may repeat the first byte.
        let first = TensorAddress { lane: first.lane & 0x3fff, ..first };
        let columns = (scales.len() as u32).div_ceil(QUARTER);
        let range = TensorRange { owner: self.owner, first, lanes: QUARTER, columns, kind: AccessKind::Read };
        expect_range(warp, self.pc, self.lane, range)?;
        for column in 0..columns {
            let cell = TensorAddress { column: first.column + column, ..first };
            let cells = (self.owner, cell, u64::from(QUARTER) * 4);
            observe_cells(warp, self.pc, self.lane, cells, AccessKind::Read, self.agent);
        }
        for (row, scales) in scales.iter_mut().enumerate() {
            let (lane, column) = (row as u32 % QUARTER, row as u32 / QUARTER);
            let cell = TensorAddress { lane: first.lane + lane, column: first.column + column };
            // SAFETY: the cells are those of allocated columns.
            let bytes = unsafe { u32::read(self.owner.base + cell.offset()) }.to_le_bytes();
            for (group, scale) in scales[..groups].iter_mut().enumerate() {
                let code = bytes[(instruction.byte[operand] + group) % 4];
                *scale = if instruction.fine { ue4m3(code) } else { ue8m0(code) };
            }
        }
        Ok(())
    }

    /// Tells the checks that the product reads or writes the lanes of its rows in columns from a cell on.
    fn observe(&self, warp: &Warp, first: TensorAddress, (of, columns): (&Instruction, usize), kind: AccessKind) {
        if !warp.is_monitored() {
            return;
        }
        for column in 0..columns as u32 {
            let cells = |row: u32, lanes: u64| {
                let cell = TensorAddress { lane: first.lane + row, column: first.column + column };
                observe_cells(warp, self.pc, self.lane, (self.owner, cell, 4 * lanes), kind, self.agent);
            };
            if of.is_scattered() {
                (0..4).for_each(|quarter| cells(quarter * QUARTER, 16));
            } else {
                cells(0, u64::from(TENSOR_LANES));
            }
        }
    }
}

/// Bits of an element where elements are packed.
fn width(element: ElementType) -> usize {
    match element {
        ElementType::E2m1 => 4,
        ElementType::E2m3 | ElementType::E3m2 => 6,
        _ => element.bits(),
    }
}

/// The numbers of a line of sixteen bytes. Elements of four and six bits are packed; where a line has fewer of them than
/// there is room for, padding follows.
fn numbers(element: ElementType, line: [u8; LINE], numbers: &mut [f32]) {
    let mut bits = [0; 2 * LINE];
    let width = width(element);
    match width {
        8 => bits.iter_mut().zip(line).for_each(|(bits, byte)| *bits = byte.into()),
        16 => bits.iter_mut().zip(words(line)).for_each(|(bits, word)| *bits = word.into()),
        32 => bits.iter_mut().zip(quads(line)).for_each(|(bits, word)| *bits = word),
        _ => {
            let line = u128::from_le_bytes(line);
            for (index, bits) in bits.iter_mut().enumerate().take(numbers.len()) {
                *bits = (line >> (index * width)) as u32 & ((1 << width) - 1);
            }
        }
    }
    element.numbers(&bits[..numbers.len()], numbers);
}

/// Room for the factors of one product, by rows and by columns.
struct Work {
    a: [[f32; MAX_DEPTH]; MAX_M],
    b: [[f32; MAX_DEPTH]; MAX_N],
    scales: [[[f64; 4]; MAX_N]; 2],
    terms: Terms,
}

impl Work {
    const fn new() -> Self {
        Self {
            a: [[0.0; MAX_DEPTH]; MAX_M],
            b: [[0.0; MAX_DEPTH]; MAX_N],
            scales: [[[1.0; 4]; MAX_N]; 2],
            terms: Terms::new(),
        }
    }

    /// Adds the products to the sums in the tensor memory of a block, whose shared memory lies at `base`.
    ///
    /// # Safety
    /// The processor is `X`, and the columns of the sums are allocated.
    #[inline(always)]
    unsafe fn multiply<X: Processor>(
        &mut self,
        of: (&Kind, Form, &Instruction),
        (base, sums): (u64, TensorAddress),
        accumulates: bool,
        left_out: &[u32],
    ) {
        let instruction = of.2;
        for top in (0..instruction.m).step_by(ROWS) {
            for left in (0..instruction.n).step_by(COLUMNS) {
                let cell = |row: usize, column: usize| {
                    let (lane, column) = instruction.cell(top + row, left + column);
                    TensorAddress { lane: sums.lane + lane, column: sums.column + column }
                };
                let mut c = [[0_u32; COLUMNS]; ROWS];
                if accumulates {
                    for (row, c) in c.iter_mut().enumerate() {
                        for (column, c) in c.iter_mut().enumerate() {
                            // SAFETY: the caller promises that the cell is one of an allocated column.
                            *c = unsafe { u32::read(base + cell(row, column).offset()) };
                        }
                    }
                }
                // SAFETY: the caller promises that the processor is `X`.
                unsafe { self.block::<X>(of, (top, left), &mut c) };
                for (row, c) in c.iter().enumerate() {
                    let lane = cell(row, 0).lane as usize;
                    if left_out[lane / 32] >> (lane % 32) & 1 != 0 {
                        continue;
                    }
                    for (column, c) in c.iter().enumerate() {
                        // SAFETY: as above.
                        unsafe { u32::write(base + cell(row, column).offset(), *c) };
                    }
                }
            }
        }
    }

    /// Adds the products of a block of sixteen rows by eight columns.
    #[inline(always)]
    unsafe fn block<X: Processor>(
        &mut self,
        (kind, form, instruction): (&Kind, Form, &Instruction),
        (top, left): (usize, usize),
        c: &mut [[u32; COLUMNS]; ROWS],
    ) {
        let [d, a, b] = instruction.types;
        if d == ElementType::S32 {
            return self.integers(kind.depth, instruction.saturates, (top, left), c);
        }
        let odd = d == ElementType::F16;
        let scale = f32::from_bits((127 - form.shift.min(126)) << 23);
        let number = |bits: u32| if odd { F16(bits as u16).to_f32() } else { f32::from_bits(bits) };
        let mut sums = c.map(|row| row.map(|bits| number(bits) * scale));
        if form.groups > 0 {
            self.scaled(kind.depth, form.groups, (top, left), &mut sums);
        } else {
            let terms = &mut self.terms;
            (terms.least.a, terms.least.b) = (a.least_exponent(), b.least_exponent());
            terms.least.sum = if odd { d } else { ElementType::F32 }.least_exponent();
            let depth = kind.depth.min(DEPTH);
            for from in (0..kind.depth).step_by(DEPTH) {
                // The next columns are multiplied by the same rows.
                terms.has_same_a = left > 0 && kind.depth <= DEPTH;
                if !terms.has_same_a {
                    for (to, row) in terms.a.iter_mut().zip(&self.a[top..]) {
                        to[..depth].copy_from_slice(&row[from..from + depth]);
                    }
                }
                for (column, row) in self.b[left..left + COLUMNS].iter().enumerate() {
                    terms.b.iter_mut().zip(&row[from..from + depth]).for_each(|(to, x)| to[column] = *x);
                }
                // SAFETY: the caller promises that the processor is `X`.
                unsafe { terms.multiply::<X>(ROWS, depth, &mut sums, odd) };
            }
        }
        *c = sums.map(|row| {
            row.map(|sum| {
                let half = u32::from(F16::nearest(sum).0);
                // Zero has no sign.
                if odd { half * u32::from(half != 0x8000) } else { sum.to_bits() }
            })
        });
    }

    fn integers(&self, depth: usize, saturates: bool, (top, left): (usize, usize), c: &mut [[u32; COLUMNS]; ROWS]) {
        for (row, c) in self.a[top..].iter().zip(c) {
            for (column, c) in self.b[left..].iter().zip(c) {
                // Products and their sum are exact in `f32`.
                let sum: f32 = row[..depth].iter().zip(column).map(|(a, b)| a * b).sum();
                let (before, sum) = (c.cast_signed(), sum as i32);
                *c = if saturates { before.saturating_add(sum) } else { before.wrapping_add(sum) }.cast_unsigned();
            }
        }
    }

    fn scaled(&self, depth: usize, groups: usize, (top, left): (usize, usize), c: &mut [[f32; COLUMNS]; ROWS]) {
        let span = depth / groups;
        for (row, c) in c.iter_mut().enumerate() {
            for (column, c) in c.iter_mut().enumerate() {
                let (a, b) = (&self.a[top + row], &self.b[left + column]);
                let mut sum = f64::from(*c);
                for group in 0..groups {
                    let range = group * span..(group + 1) * span;
                    let products = a[range.clone()].iter().zip(&b[range]).map(|(a, b)| f64::from(*a) * f64::from(*b));
                    sum +=
                        products.sum::<f64>() * self.scales[0][top + row][group] * self.scales[1][left + column][group];
                }
                *c = sum as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F16: &Kind = &KINDS[0];

    #[test]
    fn instruction_descriptors_are_checked() {
        let bits = |m: u32, n: u32, more: u32| m >> 4 << 24 | n >> 3 << 17 | 1 << 4 | more;
        let known = Instruction::from_bits(bits(128, 64, 1 << 7 | 1 << 16), F16, 0, false).unwrap();
        assert_eq!((known.m, known.n, known.transposed), (128, 64, [false, true]));
        assert_eq!(known.types, [ElementType::F32, ElementType::Bf16, ElementType::F16]);
        let scattered = Instruction { m: 64, ..known };
        assert_eq!((known.cell(70, 9), scattered.cell(37, 9)), ((70, 9), (69, 9)));
        let pair = Instruction { is_pair: true, ..scattered };
        assert_eq!((pair.cell(37, 9), pair.cell(37, 40), pair.columns()), ((37, 9), (101, 8), 32));
        for (wrong, what) in [
            (bits(128, 24, 0), "N = 24"),
            (bits(96, 64, 0), "M = 96"),
            (bits(128, 0, 0), "N = 0"),
            (bits(128, 64, 2 << 7), "types 2 and 0"),
            (bits(128, 64, 1 << 5), "type 3"),
            (bits(128, 64, 1 << 2), "sparse"),
            (bits(128, 64, 1 << 30), "no meaning"),
            (bits(128, 64, 1 << 3), "saturates"),
        ] {
            let message = Instruction::from_bits(wrong, F16, 0, false).unwrap_err();
            assert!(message.contains(what), "{message}");
        }
    }

    #[test]
    fn forms_lie_in_a_word() {
        let form = Form {
            kind: 6,
            is_pair: true,
            in_tensor: true,
            shifts_rows: true,
            leaves_out: false,
            negated: true,
            groups: 4,
            shift: 3,
        };
        assert_eq!(Form::from_bits(form.bits()), form);
    }

    #[test]
    fn narrow_elements_are_packed() {
        let mut found = [0.0; 32];
        numbers(ElementType::E2m1, [0x42; LINE], &mut found);
        assert_eq!((found[0], found[1], found[31]), (1.0, 2.0, 2.0));
        // 0b001000 is one of e2m3: six bits each.
        let line = (0..16).fold(0_u128, |line, index| line | 0b00_1000 << (6 * index));
        numbers(ElementType::E2m3, line.to_le_bytes(), &mut found[..16]);
        assert_eq!(found[..16], [1.0; 16]);
    }
}
