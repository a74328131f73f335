//! Products of warp groups: the part of one warp, which has sixteen of the sixty-four rows.
//!
//! The second factor lies in shared memory, the first there or in registers, the accumulator in registers. A program may
//! change none of them before it has waited for the product, so it is computed where it is begun, by each warp when it comes.
//! A wait is for the whole warp group: a warp goes on when the others have committed as many groups of products.
//! [`super::dot`] has the arithmetic; the instruction's file has its syntax.

use std::cell::UnsafeCell;

use crate::base::lanes::{FULL, GROUP, LANES};
use crate::check::agent::{Agent, Completion};
use crate::exec::body::{Body, handlers};
use crate::exec::lane::F16;
use crate::exec::processor::Processor;
use crate::isa::matrix::descriptor::{Descriptor, LINE, read_line};
use crate::isa::matrix::dot::{COLUMNS, Precision, ROWS, Terms};
use crate::isa::matrix::element::ElementType;
use crate::isa::matrix::fragment::Fragment;
use crate::isa::matrix::halves::widen;
use crate::isa::matrix::interned::Interned;
use crate::isa::matrix::operands::{Slots, done, is_whole, wait};
use crate::isa::matrix::sparse::Sparsity;
use crate::machine::block::GROUP_WARPS;
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// Warps of a group.
const WARPS: u32 = GROUP_WARPS as u32;

/// Columns of the largest second factor.
const MAX_N: usize = 256;

/// Elements of sixteen bytes of the smallest type, in a row of the first factor and of the second one.
const MAX_KEPT: usize = 32;
const MAX_DEPTH: usize = 64;

/// Words of a row of single bits.
const WORDS: usize = 8;

/// Whether the product is added to the contents of the registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accumulation {
    Always,
    Never,
    /// As the operation's predicate `c` says.
    Decided,
}

/// A product of a warp group: `d = a * b + d`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GroupProduct {
    pub(crate) n: usize,
    /// Columns of `a`, were it not sparse.
    pub(crate) k: usize,
    /// The types of `d`, `a`, `b`.
    pub(crate) types: [ElementType; 3],
    /// How `a` lies in registers, if it does.
    pub(crate) fragment: Option<Fragment>,
    pub(crate) sparsity: Option<Sparsity>,
    pub(crate) transposed: [bool; 2],
    pub(crate) negated: [bool; 2],
    pub(crate) saturates: bool,
    pub(crate) accumulation: Accumulation,
}

impl GroupProduct {
    /// The product for a text, made once and never freed. The number of products is bounded by the number of forms.
    pub(crate) fn interned(text: String, product: Self) -> &'static Self {
        static KNOWN: Interned<GroupProduct> = Interned::new();
        KNOWN.of(text, product)
    }

    /// Registers of the accumulator.
    pub(crate) fn results(&self) -> usize {
        self.n / 2 * self.types[0].bits() / 32
    }

    /// The number of kept elements in a row of `a`.
    fn kept(&self) -> usize {
        Sparsity::kept_of(self.sparsity, self.k)
    }
}

/// The handlers that execute a [`GroupProduct`], whose address is the operation's `imm`. `a` and `b` are the
/// descriptors. The sources are the registers of the first factor, then those that [`super::operands::emit_beside`]
/// puts beside them: the accumulator.
pub(crate) const HANDLERS: Handlers = handlers::<Multiply>();

struct Multiply;

impl Body for Multiply {
    #[inline(always)]
    unsafe fn run<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc {
        // SAFETY: as the caller promises.
        unsafe { execute::<X>(warp, pc) }
    }
}

thread_local! {
    static WORK: UnsafeCell<Box<Work>> = UnsafeCell::new(Box::new(Work::new()));
}

#[inline(always)]
unsafe fn execute<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc {
    if !is_whole(warp) {
        // SAFETY: the operation was made by `operands::emit_beside`.
        return unsafe { wait(warp, pc) };
    }
    if let Err(stop) = expect_group(warp, pc) {
        return stop;
    }
    // SAFETY: `imm` is the address of a product that lives for good.
    let product = unsafe { &*(pc.imm as *const GroupProduct) };
    let work = WORK.with(UnsafeCell::get);
    // SAFETY: this is the thread's own, and nothing that is called from here on comes back to this place.
    let work = unsafe { &mut *work };
    let further = product.fragment.as_ref().map_or(0, |fragment| fragment.registers);
    let first = further + usize::from(product.sparsity.is_some());
    let slots = Slots::beside(pc, first, product.results() * usize::from(product.accumulation != Accumulation::Never));
    // No closure around this: it would be compiled for any processor.
    // SAFETY: the processor is `X`.
    unsafe {
        let accumulates = match accumulates(warp, pc, product) {
            Ok(accumulates) => accumulates,
            Err(stop) => return stop,
        };
        work.agent = warp.begin_operation(0, Completion::Products);
        if let Err(stop) = work.load::<X>(warp, pc, slots, product) {
            return stop;
        }
        work.multiply::<X>(warp, slots, product, accumulates);
    }
    done(pc)
}

/// Checks that the warp, all of whose lanes are active, belongs to a complete warp group.
pub(crate) fn expect_group(warp: &mut Warp, pc: Pc) -> Result<(), Pc> {
    let (first, threads) = (warp.index / WARPS * WARPS, warp.context().threads());
    if (first + WARPS) * LANES as u32 <= threads {
        warp.record_together(pc);
        return Ok(());
    }
    let message = format!(
        "a warp group is four whole warps, the first of which has a number that is a multiple of four: warp {} is in none, as \
         the block has {threads} threads",
        warp.index
    );
    Err(warp.raise(RawFault::new(FaultKind::Synchronisation, pc.source, 0, message)))
}

#[cold]
fn differs(warp: &mut Warp, pc: Pc, what: &str) -> Pc {
    let message = format!("{what} differs between the lanes of a warp");
    warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, 0, message))
}

/// Whether the product is added to the accumulator.
fn accumulates(warp: &mut Warp, pc: Pc, product: &GroupProduct) -> Result<bool, Pc> {
    match product.accumulation {
        Accumulation::Always => Ok(true),
        Accumulation::Never => Ok(false),
        // SAFETY: `c` is a predicate of the program.
        Accumulation::Decided => match unsafe { warp.predicate(pc.c) } {
            0 => Ok(false),
            FULL => Ok(true),
            _ => Err(differs(warp, pc, "the predicate scale-d")),
        },
    }
}

/// The descriptor in a slot, which all lanes have to agree on.
fn descriptor(warp: &mut Warp, pc: Pc, slot: u16) -> Result<Descriptor, Pc> {
    // SAFETY: the slot has 32 lanes of 64 bits.
    let lanes = unsafe { *warp.lanes::<[u64; LANES]>(slot) };
    if lanes.iter().any(|lane| *lane != lanes[0]) {
        return Err(differs(warp, pc, "the descriptor of a matrix"));
    }
    Ok(Descriptor::from_bits(lanes[0]))
}

/// Room for the factors of one product.
struct Work {
    /// Rows of the first factor, of as many elements as are kept.
    a: [[f32; MAX_KEPT]; ROWS],
    /// Blocks of eight columns of the second factor, one behind the other, by rows.
    b: [[f32; COLUMNS]; MAX_DEPTH * MAX_N / COLUMNS],
    /// The elements of a row that were kept.
    chosen: [[u8; MAX_KEPT]; ROWS],
    /// Single bits: rows of the first factor and columns of the second one.
    bits_a: [[u32; WORDS]; ROWS],
    bits_b: [[u32; WORDS]; MAX_N],
    terms: Terms,
    small: Terms<MAX_KEPT, MAX_DEPTH>,
    /// The agent that reads shared memory, for the checks.
    agent: Option<Agent>,
}

impl Work {
    const fn new() -> Self {
        Self {
            a: [[0.0; MAX_KEPT]; ROWS],
            b: [[0.0; COLUMNS]; MAX_DEPTH * MAX_N / COLUMNS],
            chosen: [[0; MAX_KEPT]; ROWS],
            bits_a: [[0; WORDS]; ROWS],
            bits_b: [[0; WORDS]; MAX_N],
            terms: Terms::new(),
            small: Terms::new(),
            agent: None,
        }
    }

    /// Brings the factors into the form of matrices.
    #[inline(always)]
    unsafe fn load<X: Processor>(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        slots: Slots,
        product: &GroupProduct,
    ) -> Result<(), Pc> {
        let kept = product.kept();
        match &product.fragment {
            Some(fragment) => self.load_registers(warp, slots, product, fragment),
            None => {
                let matrix = descriptor(warp, pc, pc.a)?;
                let row = (warp.index % WARPS) as usize * ROWS;
                // SAFETY: the caller promises that the processor is `X`.
                unsafe { self.load_a::<X>(warp, pc, matrix, row, product)? };
            }
        }
        if product.negated[0] {
            for row in &mut self.a {
                row[..kept].iter_mut().for_each(|x| *x = -*x);
            }
        }
        if let Some(sparsity) = &product.sparsity {
            let at = product.fragment.as_ref().map_or(0, |fragment| fragment.registers);
            // SAFETY: the operation has the metadata behind the registers of the first factor.
            let metadata = unsafe { slots.register(warp, at) };
            for (row, chosen) in self.chosen.iter_mut().enumerate() {
                sparsity.kept(metadata, row, |index, column| chosen[index % MAX_KEPT] = column as u8);
            }
        }
        let matrix = descriptor(warp, pc, pc.b)?;
        // SAFETY: the caller promises that the processor is `X`.
        unsafe { self.load_b::<X>(warp, pc, matrix, product)? };
        if product.negated[1] {
            let used = product.n / COLUMNS * product.k;
            self.b[..used].as_flattened_mut().iter_mut().for_each(|x| *x = -*x);
        }
        Ok(())
    }

    /// The first factor from registers.
    fn load_registers(&mut self, warp: &Warp, slots: Slots, product: &GroupProduct, fragment: &Fragment) {
        // SAFETY: the operation has these registers as its first sources.
        let register = |index: usize| unsafe { slots.register(warp, index) };
        let mut bits = [0; ROWS * MAX_KEPT];
        fragment.gather(register, &mut bits, fragment.columns);
        for (row, bits) in bits.chunks(fragment.columns).take(ROWS).enumerate() {
            if product.types[1] == ElementType::B1 {
                self.bits_a[row][..bits.len()].copy_from_slice(bits);
            } else {
                product.types[1].numbers(bits, &mut self.a[row][..bits.len()]);
            }
        }
    }

    /// The first factor from shared memory, from a row on.
    #[inline(always)]
    unsafe fn load_a<X: Processor>(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        matrix: Descriptor,
        first: usize,
        product: &GroupProduct,
    ) -> Result<(), Pc> {
        let element = product.types[1];
        if product.transposed[0] {
            for depth in 0..product.kept() {
                for half in 0..ROWS / GROUP {
                    let line = read_line(warp, pc, 0, (matrix.across(depth, first / GROUP + half), LINE), self.agent)?;
                    let mut numbers = [0.0; GROUP];
                    // SAFETY: the caller promises that the processor is `X`.
                    unsafe { halves::<X>(element, &words(line), &mut numbers) };
                    for (row, x) in self.a[half * GROUP..].iter_mut().zip(numbers) {
                        row[depth] = x;
                    }
                }
            }
            return Ok(());
        }
        for row in 0..ROWS {
            for index in 0..2 {
                let line = read_line(warp, pc, 0, (matrix.along(first + row, index), LINE), self.agent)?;
                match element {
                    ElementType::B1 => self.bits_a[row][4 * index..][..4].copy_from_slice(&quads(line)),
                    _ => {
                        let (numbers, count) = numbers(element, line);
                        self.a[row][count * index..][..count].copy_from_slice(&numbers[..count]);
                    }
                }
            }
        }
        Ok(())
    }

    /// The second factor.
    #[inline(always)]
    unsafe fn load_b<X: Processor>(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        matrix: Descriptor,
        product: &GroupProduct,
    ) -> Result<(), Pc> {
        let (element, k) = (product.types[2], product.k);
        for block in 0..product.n / COLUMNS {
            let to = &mut self.b[block * k..];
            if product.transposed[1] {
                for (depth, to) in to[..k].iter_mut().enumerate() {
                    let line = read_line(warp, pc, 0, (matrix.across(depth, block), LINE), self.agent)?;
                    // SAFETY: the caller promises that the processor is `X`.
                    unsafe { halves::<X>(element, &words(line), to) };
                }
                continue;
            }
            for index in 0..k * element.bits() / (8 * LINE) {
                let mut lines = [[0; LINE]; GROUP];
                for (column, line) in lines.iter_mut().enumerate() {
                    *line = read_line(warp, pc, 0, (matrix.along(block * COLUMNS + column, index), LINE), self.agent)?;
                }
                match element {
                    ElementType::F16 | ElementType::Bf16 => {
                        // SAFETY: the caller promises that the processor is `X`.
                        let rows = unsafe { X::transpose(&lines.map(words)) };
                        for (row, to) in rows.iter().zip(&mut to[index * GROUP..]) {
                            // SAFETY: as above.
                            unsafe { halves::<X>(element, row, to) };
                        }
                    }
                    ElementType::B1 => {
                        for (column, line) in lines.into_iter().enumerate() {
                            self.bits_b[block * COLUMNS + column][4 * index..][..4].copy_from_slice(&quads(line));
                        }
                    }
                    _ => {
                        for (column, line) in lines.into_iter().enumerate() {
                            let (numbers, count) = numbers(element, line);
                            for (row, x) in to[count * index..].iter_mut().zip(&numbers[..count]) {
                                row[column] = *x;
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Multiplies block by block and writes the results.
    #[inline(always)]
    unsafe fn multiply<X: Processor>(&mut self, warp: &Warp, slots: Slots, product: &GroupProduct, accumulates: bool) {
        let [d, a, b] = product.types;
        let is_small = a.is_small_float();
        let odd = d == ElementType::F16;
        let (least_a, least_b) =
            if is_small { (native_least(a), native_least(b)) } else { (a.least_exponent(), b.least_exponent()) };
        let least_sum = if odd { d } else { ElementType::F32 }.least_exponent();
        let Self { a: rows, b: lines, chosen, small, terms, bits_a, bits_b, .. } = self;
        if is_small {
            (small.least.a, small.least.b, small.least.sum) = (least_a, least_b, least_sum);
            small.precision = Precision::EIGHT_BITS;
            small.a = *rows;
            small.chosen = product.sparsity.is_some().then_some(*chosen);
        } else if !matches!(a, ElementType::B1 | ElementType::S8 | ElementType::U8) {
            (terms.least.a, terms.least.b, terms.least.sum) = (least_a, least_b, least_sum);
            for (to, from) in terms.a.iter_mut().zip(&*rows) {
                let (from, _) = from.split_at(to.len());
                to.copy_from_slice(from);
                to[product.kept()..].fill(0.0);
            }
            terms.chosen = product.sparsity.is_some().then(|| chosen.map(|row| *row.first_chunk().unwrap_or(&[0; 16])));
        }
        for block in 0..product.n / COLUMNS {
            let mut c = block_of(warp, slots, product, accumulates, block);
            match a {
                ElementType::B1 => {
                    for (row, c) in bits_a.iter().zip(&mut c) {
                        for (column, c) in bits_b[block * COLUMNS..].iter().zip(c) {
                            let both = row.iter().zip(column).map(|(a, b)| (a & b).count_ones());
                            *c = c.wrapping_add(both.sum());
                        }
                    }
                }
                ElementType::S8 | ElementType::U8 => {
                    integers(product, (rows, chosen), &lines[block * product.k..][..product.k], &mut c);
                }
                _ => {
                    let b = &lines[block * product.k..][..product.k];
                    // SAFETY: the caller promises that the processor is `X`.
                    unsafe {
                        if is_small {
                            floats::<X, MAX_KEPT, MAX_DEPTH>(small, b, product, &mut c, odd);
                        } else {
                            floats::<X, 16, 32>(terms, b, product, &mut c, odd);
                        }
                    }
                }
            }
            set_block(warp, slots, product, block, &c);
        }
    }
}

/// The exponent of the smallest normal number of a type of eight bits.
fn native_least(element: ElementType) -> i32 {
    if element == ElementType::E4m3 { -6 } else { -14 }
}

/// The numbers of sixteen bits in a line.
#[inline(always)]
pub(super) fn words(line: [u8; LINE]) -> [u16; GROUP] {
    std::array::from_fn(|index| u16::from_le_bytes([line[2 * index], line[2 * index + 1]]))
}

/// The words of 32 bits in a line.
#[inline(always)]
pub(super) fn quads(line: [u8; LINE]) -> [u32; LINE / 4] {
    std::array::from_fn(|index| u32::from_le_bytes(std::array::from_fn(|byte| line[4 * index + byte])))
}

/// The numbers of a line, and how many there are.
#[inline(always)]
fn numbers(element: ElementType, line: [u8; LINE]) -> ([f32; LINE], usize) {
    let (mut bits, mut numbers) = ([0; LINE], [0.0; LINE]);
    let count = match element.bits() {
        8 => {
            bits = line.map(u32::from);
            16
        }
        16 => {
            bits[..8].copy_from_slice(&words(line).map(u32::from));
            8
        }
        _ => {
            bits[..4].copy_from_slice(&quads(line));
            4
        }
    };
    element.numbers(&bits[..count], &mut numbers[..count]);
    (numbers, count)
}

/// The numbers of sixteen bits.
#[inline(always)]
unsafe fn halves<X: Processor>(element: ElementType, bits: &[u16; GROUP], to: &mut [f32; GROUP]) {
    // SAFETY: the caller promises that the processor is `X`.
    unsafe {
        let numbers = match element {
            ElementType::F16 => widen::<X, false>(bits),
            _ => widen::<X, true>(bits),
        };
        X::store(numbers, to);
    }
}

/// A block of eight columns of the accumulator as bits, those of `f32` if it is one of numbers.
///
/// A block is read, changed and written in a loop, and not by a closure: a closure is not inlined into what is compiled for the
/// processor, and each vector instruction in it becomes a call.
#[inline(always)]
fn block_of(
    warp: &Warp,
    slots: Slots,
    product: &GroupProduct,
    accumulates: bool,
    block: usize,
) -> [[u32; COLUMNS]; ROWS] {
    let halves = product.types[0] == ElementType::F16;
    let registers = if halves { 2 } else { 4 };
    let mut c = [[0; COLUMNS]; ROWS];
    if !accumulates {
        return c;
    }
    for index in 0..registers {
        // SAFETY: the operation has the accumulator among its sources, as it may be added to.
        let lanes = unsafe { slots.register_beside(warp, block * registers + index) };
        for (lane, bits) in lanes.iter().enumerate() {
            let (row, column) = (lane / 4, lane % 4 * 2);
            if halves {
                let half = |bits: u32| F16(bits as u16).to_f32().to_bits();
                c[row + 8 * index][column] = half(*bits);
                c[row + 8 * index][column + 1] = half(bits >> 16);
            } else {
                c[row + index / 2 * 8][column + index % 2] = *bits;
            }
        }
    }
    c
}

/// Writes a block of results.
#[inline(always)]
fn set_block(warp: &Warp, slots: Slots, product: &GroupProduct, block: usize, c: &[[u32; COLUMNS]; ROWS]) {
    let halves = product.types[0] == ElementType::F16;
    let registers = if halves { 2 } else { 4 };
    for index in 0..registers {
        let values: [u32; LANES] = std::array::from_fn(|lane| {
            let (row, column) = (lane / 4, lane % 4 * 2);
            if halves {
                // Zero has no sign.
                let half = |bits: u32| u32::from(F16::nearest(f32::from_bits(bits)).0);
                let half = |bits: u32| half(bits) * u32::from(half(bits) != 0x8000);
                let row = c[row + 8 * index];
                half(row[column]) | half(row[column + 1]) << 16
            } else {
                c[row + index / 2 * 8][column + index % 2]
            }
        });
        let slot = slots.destination(block * registers + index);
        // SAFETY: the operation has as many destinations; a slot has 32 lanes. Of the sources only accumulators are
        // still to be read, each of which lies where its result does.
        unsafe { *warp.lanes::<[u32; LANES]>(slot) = values };
    }
}

/// Adds the products of a block of floating point numbers.
#[inline(always)]
unsafe fn floats<X: Processor, const D: usize, const C: usize>(
    terms: &mut Terms<D, C>,
    b: &[[f32; COLUMNS]],
    product: &GroupProduct,
    c: &mut [[u32; COLUMNS]; ROWS],
    odd: bool,
) {
    terms.b[..b.len()].copy_from_slice(b);
    let mut sum = c.map(|row| row.map(f32::from_bits));
    // SAFETY: the caller promises that the processor is `X`.
    unsafe { terms.multiply::<X>(ROWS, product.kept(), &mut sum, odd) };
    *c = sum.map(|row| row.map(f32::to_bits));
}

/// Adds the products of a block of integers. They and their sums are exact in `f32`: the largest is 32 times 255 squared.
#[inline(always)]
fn integers(
    product: &GroupProduct,
    (a, chosen): (&[[f32; MAX_KEPT]; ROWS], &[[u8; MAX_KEPT]; ROWS]),
    b: &[[f32; COLUMNS]],
    c: &mut [[u32; COLUMNS]; ROWS],
) {
    for row in 0..ROWS {
        let mut sum = [0.0_f32; COLUMNS];
        for index in 0..product.kept() {
            let from = if product.sparsity.is_some() { usize::from(chosen[row][index]) } else { index };
            for column in 0..COLUMNS {
                sum[column] += a[row][index] * b[from % MAX_DEPTH][column];
            }
        }
        for (c, sum) in c[row].iter_mut().zip(sum) {
            *c = if product.saturates {
                (*c as i32).saturating_add(sum as i32) as u32
            } else {
                c.wrapping_add(sum as i32 as u32)
            };
        }
    }
}
