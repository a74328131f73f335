//! The product of two matrices and its sum with a third, in every arithmetic of PTX.
//!
//! The instruction's file has its syntax; this module only knows [`Product`]s. Where an H200 has no circuit for a
//! form, its compiler puts others in the place, and the results are those of the sequence: numbers of eight bits are
//! widened to halves and multiplied in two steps, before the accumulator is added; the `f16` form of `m8n8k4` is a chain of
//! fused multiplications and additions. Block-scaled forms exist on later processors only: they are summed in `f64` and
//! rounded once.

use std::cell::UnsafeCell;

use crate::arith::float::{NAN_F32, double_result, keep, to_odd_f32};
use crate::arith::{Rounding, native, soft};
use crate::base::lanes::LANES;
use crate::exec::body::{Body, handlers};
use crate::exec::lane::F16;
use crate::exec::processor::Processor;
use crate::isa::matrix::dot::{CHOICE, COLUMNS, DEPTH, ROWS, Terms};
use crate::isa::matrix::element::{ElementType, ue4m3, ue8m0};
use crate::isa::matrix::fragment::{Fragment, Quads};
use crate::isa::matrix::halves::Halves;
use crate::isa::matrix::interned::Interned;
use crate::isa::matrix::operands::{Slots, done, is_whole, wait};
use crate::isa::matrix::sparse::Sparsity;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// Elements of the largest factor.
const FACTOR: usize = 1024;

/// Elements of the largest accumulator.
const SUM: usize = 256;

/// The arithmetic of a product.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rule {
    /// Floating point, as the tensor cores do it.
    Float,
    /// The `f16` form of `m8n8k4`: the places of `a`, `b`, `c` and `d`.
    Quads([Quads; 4]),
    /// Double precision.
    Double(Rounding),
    /// Integers of eight and four bits.
    Integer { saturate: bool },
    /// Single bits: the number of bits set in both operands, or that differ.
    Bits { differ: bool },
    /// Small floating point numbers in groups with a factor each.
    Scaled(Scaling),
}

/// The factors of block-scaled products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scaling {
    /// Factors of a row.
    pub(crate) groups: usize,
    /// Whether a factor is `ue4m3` instead of `ue8m0`.
    pub(crate) fine: bool,
    /// The bytes of the registers that hold the first factor, and the threads of four whose registers count.
    pub(crate) byte: [usize; 2],
    pub(crate) thread: [usize; 2],
}

/// A matrix product: `d = a * b + c`. `b` is described transposed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Product {
    pub(crate) rule: Rule,
    pub(crate) m: usize,
    pub(crate) n: usize,
    /// Columns of `a`, were it not sparse.
    pub(crate) k: usize,
    /// The types of `d`, `a`, `b`, `c`.
    pub(crate) types: [ElementType; 4],
    /// The fragments of `d`, `a`, `b`, `c`.
    pub(crate) fragments: [Fragment; 4],
    pub(crate) sparsity: Option<Sparsity>,
}

impl Product {
    /// The product for a text, made once and never freed. The number of products is bounded by the number of forms.
    pub(crate) fn interned(text: String, product: Self) -> &'static Self {
        static KNOWN: Interned<Product> = Interned::new();
        KNOWN.of(text, product)
    }

    /// Registers of the sources, the metadata and scale factors included.
    fn sources(&self) -> usize {
        let [_, a, b, c] = &self.fragments;
        let scales = if matches!(self.rule, Rule::Scaled(_)) { 2 } else { 0 };
        a.registers + b.registers + c.registers + usize::from(self.sparsity.is_some()) + scales
    }

    /// Whether the factors are numbers of sixteen bits that lie in the registers row by row.
    fn has_plain_halves(&self) -> bool {
        let [_, a, b, _] = &self.fragments;
        matches!((&self.rule, self.types[1]), (Rule::Float, ElementType::F16 | ElementType::Bf16))
            && self.sparsity.is_none()
            && a.is_plain()
            && b.is_plain()
    }

    /// Whether its factors are such, and its sums one block of sixteen rows by eight columns of `f32`.
    pub(super) fn is_one_block(&self) -> bool {
        let [d, _, _, c] = &self.fragments;
        (self.m, self.n) == (ROWS, COLUMNS)
            && self.has_plain_halves()
            && self.types[0] == ElementType::F32
            && self.types[3] == ElementType::F32
            && d.is_column_of_blocks()
            && c.is_column_of_blocks()
    }

    /// Elements of a row of `a` that are in the registers.
    fn kept(&self) -> usize {
        Sparsity::kept_of(self.sparsity, self.k)
    }
}

/// The handlers that execute a [`Product`], whose address is the operation's `imm`.
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
        // SAFETY: the operation was made by `operands::emit`.
        return unsafe { wait(warp, pc) };
    }
    // SAFETY: `imm` is the address of a product that lives for good.
    let product: &'static Product = unsafe { &*(pc.imm as *const Product) };
    let work = WORK.with(UnsafeCell::get);
    // SAFETY: this is the thread's own, and nothing that is called from here on comes back to this place.
    let work = unsafe { &mut *work };
    let registers = Registers { warp, operands: Slots::new(pc, product.sources()), product };
    // No closure around this: it would be compiled for any processor.
    // SAFETY: the processor is `X`.
    unsafe { multiply::<X>(work, &registers) };
    done(pc)
}

#[inline(always)]
unsafe fn multiply<X: Processor>(work: &mut Work, registers: &Registers<'_>) {
    match &registers.product.rule {
        Rule::Double(rounding) => return double(registers, *rounding),
        Rule::Quads(places) => return quads(work, registers, places),
        Rule::Float | Rule::Integer { .. } | Rule::Bits { .. } | Rule::Scaled(_) => {}
    }
    if work.halves.is_one_block(registers.product) {
        // SAFETY: the caller promises that the processor is `X`.
        return unsafe { work.halves.multiply_block::<X>(&mut work.terms, registers) };
    }
    work.load(registers);
    match &registers.product.rule {
        // SAFETY: the caller promises that the processor is `X`.
        Rule::Float => unsafe { float::<X>(work, registers) },
        Rule::Integer { saturate } => integer(work, registers, *saturate),
        Rule::Bits { differ } => bits(work, registers.product, *differ),
        Rule::Scaled(scaling) => scaled(work, registers, scaling),
        Rule::Double(_) | Rule::Quads(_) => {}
    }
    work.store(registers);
}

/// The registers of a product.
pub(super) struct Registers<'w> {
    warp: &'w Warp,
    operands: Slots,
    pub(super) product: &'static Product,
}

impl Registers<'_> {
    /// The first source register of `a`, `b`, `c` or what follows: 1 to 4.
    #[inline(always)]
    pub(super) fn start(&self, operand: usize) -> usize {
        self.product.fragments[1..operand].iter().map(|fragment| fragment.registers).sum()
    }

    #[inline(always)]
    pub(super) fn source(&self, index: usize) -> &[u32; LANES] {
        // SAFETY: the product's operation has as many sources.
        unsafe { self.operands.register(self.warp, index) }
    }

    #[inline(always)]
    pub(super) fn write(&self, index: usize, values: &[u32; LANES]) {
        let slot = self.operands.destination(index);
        // SAFETY: the product's operation has as many destinations; a slot has 32 lanes, and no source is read any more.
        unsafe { *self.warp.lanes::<[u32; LANES]>(slot) = *values };
    }

    /// The positions of the kept elements of a row.
    fn chosen(&self, row: usize) -> [u8; 64] {
        let mut chosen = [0; 64];
        if let Some(sparsity) = &self.product.sparsity {
            let metadata = self.source(self.start(4));
            sparsity.kept(metadata, row, |index, column| chosen[index % 64] = column as u8);
        }
        chosen
    }
}

/// Room for the matrices of one product.
struct Work {
    bits: [[u32; FACTOR]; 2],
    a: [f32; FACTOR],
    b: [f32; FACTOR],
    /// Bits of the accumulator, then of the result.
    c: [u32; SUM],
    terms: Terms,
    halves: Halves,
}

impl Work {
    const fn new() -> Self {
        Self {
            bits: [[0; FACTOR]; 2],
            a: [0.0; FACTOR],
            b: [0.0; FACTOR],
            c: [0; SUM],
            terms: Terms::new(),
            halves: Halves::NONE,
        }
    }

    /// Brings the operands into the form of matrices; the factors only if [`float`] does not do that itself.
    #[inline(always)]
    fn load(&mut self, registers: &Registers<'_>) {
        let product = registers.product;
        let [_, a, b, c] = &product.fragments;
        let [of_a, of_b] = &mut self.bits;
        let first = registers.start(3);
        c.gather(|index| registers.source(first + index), &mut self.c, c.columns);
        if product.types[3] == ElementType::F16 {
            for bits in &mut self.c {
                *bits = F16(*bits as u16).to_f32().to_bits();
            }
        }
        if product.has_plain_halves() {
            return;
        }
        a.gather(|index| registers.source(index), of_a, a.columns);
        let first = registers.start(2);
        b.gather(|index| registers.source(first + index), of_b, b.columns);
        let (in_a, in_b) = (a.rows * a.columns, b.rows * b.columns);
        for (element, fragment, bits) in
            [(product.types[1], a, &mut of_a[..in_a]), (product.types[2], b, &mut of_b[..in_b])]
        {
            // In a byte, a number of four bits stands in the middle.
            if element == ElementType::E2m1 && fragment.bits == 8 {
                bits.iter_mut().for_each(|bits| *bits >>= 2);
            }
        }
        product.types[1].numbers(&of_a[..in_a], &mut self.a[..in_a]);
        product.types[2].numbers(&of_b[..in_b], &mut self.b[..in_b]);
    }

    /// Writes the result.
    #[inline(always)]
    fn store(&self, registers: &Registers<'_>) {
        let d = &registers.product.fragments[0];
        d.scatter(&self.c, d.columns, |index, values| registers.write(index, values));
    }
}

/// A number rounded to odd as `f16`; zero has no sign.
#[inline(always)]
fn half(x: f32) -> f32 {
    F16::nearest(x).to_f32() + 0.0
}

/// Says to the terms which exponents subnormal numbers of a product have.
#[inline(always)]
pub(super) fn set_least(terms: &mut Terms, product: &Product, odd: bool) {
    let [_, a, _, c] = product.types;
    (terms.least.a, terms.least.b) = (a.least_exponent(), a.least_exponent());
    // Where the result has 32 bits, the accumulator is widened first.
    terms.least.sum = if odd { c.least_exponent() } else { ElementType::F32.least_exponent() };
}

/// Floating point.
#[inline(always)]
unsafe fn float<X: Processor>(work: &mut Work, registers: &Registers<'_>) {
    let product = registers.product;
    let (kept, k) = (product.kept(), product.k);
    let [d, a, _, c] = product.types;
    let small = a.is_small_float();
    let odd = d == ElementType::F16 && c == ElementType::F16;
    let terms = &mut work.terms;
    set_least(terms, product, odd);
    let plain = product.has_plain_halves();
    if plain {
        work.halves.start(terms, registers);
    } else {
        terms.has_same_a = false;
        work.halves.forget_first();
    }
    // A wide product of `tf32` is one of four columns after the other.
    let halves = a == ElementType::Tf32 && product.n == 2 * COLUMNS;
    let steps = if small || halves { 2 } else { 1 };
    let depth = kept / steps;
    // The column of `a` that a step multiplies.
    let column_of = |step: usize, index: usize| {
        if small { index / 2 * 4 + step * 2 + index % 2 } else { step * depth + index }
    };
    for top in (0..product.m).step_by(ROWS) {
        let rows = ROWS.min(product.m - top);
        for left in (0..product.n).step_by(COLUMNS) {
            let mut sum = [[0.0_f32; COLUMNS]; ROWS];
            if !small {
                for (row, sum) in sum[..rows].iter_mut().enumerate() {
                    let from = &work.c[(top + row) * product.n + left..][..COLUMNS];
                    for column in 0..COLUMNS {
                        sum[column] = f32::from_bits(from[column]);
                    }
                }
            }
            for step in 0..steps {
                if plain {
                    // SAFETY: the caller promises that the processor is `X`.
                    unsafe {
                        work.halves.multiply::<X>(terms, registers, (top, left), (rows, depth), &mut sum, odd);
                    }
                } else {
                    for row in 0..rows {
                        let (from, to) = (&work.a[(top + row) * kept..][..kept], &mut terms.a[row]);
                        if small {
                            for (index, x) in to[..depth].iter_mut().enumerate() {
                                *x = from[column_of(step, index)];
                            }
                        } else {
                            to[..depth].copy_from_slice(&from[step * depth..][..depth]);
                        }
                        to[depth..].fill(0.0);
                    }
                    terms.chosen = None;
                    if product.sparsity.is_some() {
                        let mut chosen = [[0; DEPTH]; ROWS];
                        for (row, chosen) in chosen[..rows].iter_mut().enumerate() {
                            let columns = registers.chosen(top + row);
                            for (index, chosen) in chosen[..depth].iter_mut().enumerate() {
                                let column = columns[column_of(step, index)];
                                *chosen = if small { column / 8 * 4 + column % 4 } else { column };
                            }
                        }
                        terms.chosen = Some(chosen);
                    }
                    // The rows of `b` that this step multiplies, or may multiply.
                    let choice = (k / steps).min(CHOICE);
                    for column in 0..COLUMNS {
                        let from = &work.b[(left + column) * k..][..k];
                        for row in 0..choice {
                            terms.b[row][column] = if product.sparsity.is_none() {
                                from[column_of(step, row)]
                            } else if small {
                                from[row / 4 * 8 + step * 4 + row % 4]
                            } else {
                                from[row]
                            };
                        }
                    }
                    // SAFETY: the caller promises that the processor is `X`.
                    unsafe { terms.multiply::<X>(rows, depth, &mut sum, odd) };
                }
                if odd {
                    sum.as_flattened_mut().iter_mut().for_each(|x| *x = half(*x));
                }
            }
            for (row, sum) in sum[..rows].iter().enumerate() {
                let to = &mut work.c[(top + row) * product.n + left..][..COLUMNS];
                if !small && d != ElementType::F16 {
                    to.copy_from_slice(&sum.map(f32::to_bits));
                    continue;
                }
                for column in 0..COLUMNS {
                    let mut x = sum[column];
                    if small {
                        let c = f32::from_bits(to[column]);
                        x = if odd { to_odd_f32(native(f64::from(x) + f64::from(c))).0 } else { canonical(x + c) };
                    }
                    to[column] = if d == ElementType::F16 { u32::from(F16::nearest(x).0) } else { x.to_bits() };
                }
            }
        }
    }
}

#[inline(always)]
fn canonical(x: f32) -> f32 {
    if x.is_nan() { NAN_F32 } else { x }
}

/// Integers. Products and their sums are exact in `f32`: the largest is 32 times 255 squared.
#[inline(always)]
fn integer(work: &mut Work, registers: &Registers<'_>, saturate: bool) {
    let product = registers.product;
    let (kept, k) = (product.kept(), product.k);
    let mut columns = [[0.0_f32; COLUMNS]; 128];
    for left in (0..product.n).step_by(COLUMNS) {
        for column in 0..COLUMNS {
            let from = &work.b[(left + column) * k..][..k];
            for (row, x) in columns.iter_mut().zip(from) {
                row[column] = *x;
            }
        }
        for row in 0..product.m {
            let a = &work.a[row * kept..][..kept];
            let mut sum = [0.0_f32; COLUMNS];
            let mut add = |a: f32, b: &[f32; COLUMNS]| {
                for column in 0..COLUMNS {
                    sum[column] += a * b[column];
                }
            };
            if product.sparsity.is_some() {
                let chosen = registers.chosen(row);
                for (a, chosen) in a.iter().zip(chosen) {
                    add(*a, &columns[usize::from(chosen) % 128]);
                }
            } else {
                for (a, b) in a.iter().zip(&columns) {
                    add(*a, b);
                }
            }
            let c = &mut work.c[row * product.n + left..][..COLUMNS];
            for column in 0..COLUMNS {
                let (sum, c) = (sum[column] as i32, &mut c[column]);
                *c = if saturate { (*c as i32).saturating_add(sum) as u32 } else { c.wrapping_add(sum as u32) };
            }
        }
    }
}

/// Single bits, in words of 32.
#[inline(always)]
fn bits(work: &mut Work, product: &Product, differ: bool) {
    let words = product.k / 32;
    let [a, b] = &work.bits;
    for row in 0..product.m {
        for column in 0..product.n {
            let pairs = a[row * words..][..words].iter().zip(&b[column * words..][..words]);
            let count: u32 = pairs.map(|(a, b)| if differ { a ^ b } else { a & b }.count_ones()).sum();
            let c = &mut work.c[row * product.n + column];
            *c = c.wrapping_add(count);
        }
    }
}

/// Double precision: one fused multiplication and addition after the other.
fn double(registers: &Registers<'_>, rounding: Rounding) {
    let product = registers.product;
    let [d, a, b, c] = &product.fragments;
    let mut matrices = [[0_u64; 256]; 3];
    for (index, fragment) in [a, b, c].into_iter().enumerate() {
        let first = registers.start(index + 1);
        let register = |register: usize| {
            // SAFETY: the product's operation has as many sources, of 64 bits each.
            unsafe { registers.operands.wide(registers.warp, first + register) }
        };
        fragment.gather_wide(register, &mut matrices[index], fragment.columns);
    }
    let [a, b, c] = &mut matrices;
    for row in 0..product.m {
        for column in 0..product.n {
            let sum = &mut c[row * product.n + column];
            for k in 0..product.k {
                let (x, y) = (a[row * product.k + k], b[column * product.k + k]);
                let (x, y, z) = (f64::from_bits(x), f64::from_bits(y), f64::from_bits(*sum));
                let total = match rounding {
                    Rounding::Nearest => x.mul_add(y, z),
                    Rounding::Zero | Rounding::Down | Rounding::Up => soft::fma(x, y, z, rounding, soft::Format::F64),
                };
                *sum = keep(native(double_result(total, x, z)), native(y)).0.to_bits();
            }
        }
    }
    d.scatter_wide(c, product.n, |index, values| {
        let slot = registers.operands.destination(index);
        // SAFETY: as in `Registers::write`, for slots of 64 bits.
        unsafe { *registers.warp.lanes::<[u64; LANES]>(slot) = *values };
    });
}

/// The `f16` form of `m8n8k4`.
fn quads(work: &mut Work, registers: &Registers<'_>, places: &[Quads; 4]) {
    let product = registers.product;
    let mut matrices = [[0.0_f32; SUM]; 3];
    for (operand, matrix) in matrices.iter_mut().enumerate() {
        let wide = product.types[operand + 1] == ElementType::F32;
        let fragment = &product.fragments[operand + 1];
        let (first, columns) = (registers.start(operand + 1), if operand == 2 { 8 } else { 4 });
        for index in 0..fragment.registers * if wide { 1 } else { 2 } {
            for lane in 0..LANES {
                let (number, row, column) = places[operand + 1].place(lane, index);
                let x = if wide {
                    f32::from_bits(registers.source(first + index)[lane])
                } else {
                    F16((registers.source(first + index / 2)[lane] >> (index % 2 * 16)) as u16).to_f32()
                };
                matrix[(number * 8 + row) * columns + column] = x;
            }
        }
    }
    let [a, b, c] = &matrices;
    let wide = product.types[0] == ElementType::F32;
    for (index, to) in work.c.iter_mut().enumerate() {
        let (number, row, column) = (index / 64, index / 8 % 8, index % 8);
        let (a, b) = (&a[(number * 8 + row) * 4..][..4], &b[(number * 8 + column) * 4..][..4]);
        let sum = if !wide {
            // The order was found on an H200.
            let pair = |k: usize| a[k + 1].mul_add(b[k + 1], a[k] * b[k]);
            c[index] + pair(0) + pair(2)
        } else {
            a.iter().zip(b).fold(0.0_f32, |sum, (a, b)| a.mul_add(*b, sum)) + c[index]
        };
        *to = canonical(sum).to_bits();
    }
    for register in 0..product.fragments[0].registers {
        let values = std::array::from_fn(|lane| {
            let at = |index: usize| {
                let (number, row, column) = places[0].place(lane, index);
                work.c[(number * 8 + row) * 8 + column]
            };
            if wide {
                return at(register);
            }
            let part = |index: usize| u32::from(F16::nearest(f32::from_bits(at(index))).0);
            part(2 * register) | part(2 * register + 1) << 16
        });
        registers.write(register, &values);
    }
}

/// Block-scaled products.
fn scaled(work: &mut Work, registers: &Registers<'_>, scaling: &Scaling) {
    let product = registers.product;
    let (kept, k) = (product.kept(), product.k);
    let first = registers.start(4) + usize::from(product.sparsity.is_some());
    // The factor of a group of a row of `a` or a column of `b`: a thread of each four, or a pair, holds those of a row.
    let factor = |operand: usize, line: usize, group: usize| {
        let thread = match operand {
            0 => scaling.thread[0] * 2 + line / 8,
            _ => scaling.thread[1],
        };
        let lane = line % 8 * 4 + thread % 4;
        let word = registers.source(first + operand)[lane];
        let code = (word >> ((scaling.byte[operand] + group) % 4 * 8)) as u8;
        if scaling.fine { ue4m3(code) } else { ue8m0(code) }
    };
    let span = k / scaling.groups;
    for row in 0..product.m {
        let chosen = registers.chosen(row);
        for column in 0..product.n {
            let mut groups = [0.0_f64; 4];
            for index in 0..kept {
                let from = if product.sparsity.is_some() { usize::from(chosen[index % 64]) } else { index };
                let (a, b) = (work.a[row * kept + index], work.b[column * k + from]);
                groups[from / span % 4] += f64::from(a) * f64::from(b);
            }
            let c = &mut work.c[row * product.n + column];
            let mut sum = f64::from(f32::from_bits(*c));
            for (group, products) in groups[..scaling.groups.min(4)].iter().enumerate() {
                sum += products * factor(0, row, group) * factor(1, column, group);
            }
            *c = canonical(sum as f32).to_bits();
        }
    }
}
