//! Products of numbers of sixteen bits, the fast path of most kernels: from registers to rows without matrices in
//! between.
//!
//! Kernels multiply the same rows by one column after the other, and one group of rows after the other by the same columns. So the
//! factors of the last products are kept, widened and with their exponents, and compared with the registers.

use crate::base::lanes::{GROUP, LANES};
use crate::exec::processor::Processor;
use crate::isa::matrix::dot::{COLUMNS, DEPTH, ROWS, Second, Terms};
use crate::isa::matrix::element::ElementType;
use crate::isa::matrix::product::{Product, Registers, set_least};

/// The factors of the last products.
pub(super) struct Halves {
    first: First,
    seconds: Seconds,
    /// The last product that was found to be one block.
    one_block: Option<&'static Product>,
}

impl Halves {
    /// No factors.
    pub(super) const NONE: Self =
        Self { first: First { product: None, bits: [[0; LANES]; FIRST] }, seconds: Seconds::NONE, one_block: None };

    /// Whether [`multiply_block`](Self::multiply_block) multiplies such a product: [`Product::is_one_block`], looked up.
    #[inline(always)]
    pub(super) fn is_one_block(&mut self, product: &'static Product) -> bool {
        if self.one_block.is_some_and(|known| std::ptr::eq(known, product)) {
            return true;
        }
        let is_one_block = product.is_one_block();
        if is_one_block {
            self.one_block = Some(product);
        }
        is_one_block
    }

    /// Forgets the first factor, which another product overwrites in the terms.
    pub(super) fn forget_first(&mut self) {
        self.first.product = None;
    }

    /// Begins a product: says to `terms` whether it has its first factor.
    #[inline(always)]
    pub(super) fn start(&mut self, terms: &mut Terms, registers: &Registers<'_>) {
        terms.has_same_a = self.first.replace(registers);
    }

    /// Adds the products of a block, whose first row and column are given, and its rows and the products of each sum.
    ///
    /// # Safety
    /// The processor is `X`.
    #[inline(always)]
    pub(super) unsafe fn multiply<X: Processor>(
        &mut self,
        terms: &mut Terms,
        registers: &Registers<'_>,
        place: (usize, usize),
        (rows, depth): (usize, usize),
        sum: &mut [[f32; COLUMNS]; ROWS],
        odd: bool,
    ) {
        let second = self.seconds.replace(registers);
        let has_second = second.as_ref().is_some_and(|(_, is_same)| *is_same);
        // SAFETY: as the caller promises.
        unsafe {
            match registers.product.types[1] {
                ElementType::F16 => load_halves::<X, false>(registers, place, has_second, terms),
                _ => load_halves::<X, true>(registers, place, has_second, terms),
            }
        }
        terms.chosen = None;
        if let Some((second, true)) = &second {
            terms.recall(second);
        }
        // SAFETY: as the caller promises.
        unsafe { terms.multiply::<X>(rows, depth, sum, odd) };
        if let Some((second, false)) = second {
            terms.keep(second);
        }
    }

    /// A product that [is one block](Product::is_one_block), from its registers to its registers.
    ///
    /// # Safety
    /// The processor is `X`.
    #[inline(always)]
    pub(super) unsafe fn multiply_block<X: Processor>(&mut self, terms: &mut Terms, registers: &Registers<'_>) {
        let first = registers.start(3);
        let mut sum = [[0.0; COLUMNS]; ROWS];
        for (half, rows) in sum.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
            let [even, odd] = [0, 1].map(|index| floats_of(registers.source(first + 2 * half + index)));
            let (rows, _) = rows.as_chunks_mut::<2>();
            for ([upper, lower], (even, odd)) in rows.iter_mut().zip(even.iter().zip(odd)) {
                // SAFETY: as the caller promises.
                unsafe {
                    let [first, second] = X::interleave(X::load(even), X::load(odd));
                    X::store(first, upper);
                    X::store(second, lower);
                }
            }
        }
        set_least(terms, registers.product, false);
        self.start(terms, registers);
        // SAFETY: as the caller promises.
        unsafe { self.multiply::<X>(terms, registers, (0, 0), (ROWS, registers.product.k), &mut sum, false) };
        for (half, rows) in sum.as_chunks::<GROUP>().0.iter().enumerate() {
            let mut parts = [[[0.0; GROUP]; LANES / GROUP]; 2];
            for (index, [upper, lower]) in rows.as_chunks::<2>().0.iter().enumerate() {
                // SAFETY: as the caller promises.
                unsafe {
                    let [even, odd] = X::part(X::load(upper), X::load(lower));
                    X::store(even, &mut parts[0][index]);
                    X::store(odd, &mut parts[1][index]);
                }
            }
            for (index, part) in parts.iter().enumerate() {
                registers.write(2 * half + index, bits_of(part));
            }
        }
    }
}

/// The product whose first factor `terms` has, and the bits of that factor: kernels multiply the same rows by one column after the
/// other.
struct First {
    product: Option<&'static Product>,
    bits: [[u32; LANES]; FIRST],
}

/// Registers of the largest first factor that is held.
const FIRST: usize = 4;

impl First {
    /// Whether `terms` already has the first factor of these registers; notes that it has it from now on.
    #[inline(always)]
    fn replace(&mut self, registers: &Registers<'_>) -> bool {
        let product = registers.product;
        let count = product.fragments[1].registers;
        if count > FIRST || product.m > ROWS {
            self.product = None;
            return false;
        }
        let mut is_same = self.product.is_some_and(|held| std::ptr::eq(held, product));
        for (index, held) in self.bits[..count].iter_mut().enumerate() {
            is_same &= take(held, registers.source(index));
        }
        self.product = Some(product);
        is_same
    }
}

/// The second factors of the last products, in a ring: kernels multiply one group of rows after the other by the same
/// columns, in the same order. So only the factor at the ring's position is compared with the next factor.
struct Seconds {
    all: [(HeldSecond, Second); SECONDS],
    next: usize,
}

/// Second factors that are held: a power of two, as are the numbers of columns in most kernels.
const SECONDS: usize = 8;

/// The product of a second factor, and the bits of that factor.
struct HeldSecond {
    product: Option<&'static Product>,
    bits: [[u32; LANES]; SECOND],
}

/// Registers of the largest second factor that is held.
const SECOND: usize = 2;

impl Seconds {
    const NONE: Self = Self {
        all: [const {
            let bits = [[0; LANES]; SECOND];
            (HeldSecond { product: None, bits }, Second::NONE)
        }; SECONDS],
        next: 0,
    };

    /// The factor at the ring's position, and whether its bits equal those of these registers, which replace them. None
    /// if the factor is too large to be held.
    #[inline(always)]
    fn replace(&mut self, registers: &Registers<'_>) -> Option<(&mut Second, bool)> {
        let product = registers.product;
        let count = product.fragments[2].registers;
        if count > SECOND || product.n > COLUMNS {
            return None;
        }
        let (held, second) = &mut self.all[self.next % SECONDS];
        self.next = (self.next + 1) % SECONDS;
        let first = registers.start(2);
        let mut is_same = held.product.is_some_and(|held| std::ptr::eq(held, product));
        for (index, held) in held.bits[..count].iter_mut().enumerate() {
            is_same &= take(held, registers.source(first + index));
        }
        held.product = Some(product);
        Some((second, is_same))
    }
}

/// Takes a register's bits, and says whether they were held before.
#[inline(always)]
fn take(held: &mut [u32; LANES], given: &[u32; LANES]) -> bool {
    // A comparison of the whole array compiles to vector instructions.
    let (given, before) = (*given, *held);
    *held = given;
    let differ = before.iter().zip(&given).fold(0, |differ, (a, b)| differ | (a ^ b));
    differ == 0
}

/// Brings the factors of a block, whose first row and column are given, from the registers to `terms`; the second one only if it
/// is not held.
#[inline(always)]
unsafe fn load_halves<X: Processor, const BRAIN: bool>(
    registers: &Registers<'_>,
    (top, left): (usize, usize),
    has_second: bool,
    terms: &mut Terms,
) {
    if !terms.has_same_a {
        // SAFETY: the caller promises that the processor is `X`.
        unsafe { load_rows::<X, BRAIN>(registers, top, terms) };
    }
    if has_second {
        return;
    }
    let b = &registers.product.fragments[2];
    let first = registers.start(2);
    for (index, (row, column)) in b.places().enumerate() {
        if row != left {
            continue;
        }
        // SAFETY: the caller promises that the processor is `X`.
        let lines = unsafe { X::transpose(rows_of(registers.source(first + index))) };
        for (bits, to) in lines.iter().zip(&mut terms.b[column..]) {
            // SAFETY: as above.
            unsafe { X::store(widen::<X, BRAIN>(bits), to) };
        }
    }
}

/// Brings the first factor alone to `terms`.
#[inline(always)]
unsafe fn load_rows<X: Processor, const BRAIN: bool>(registers: &Registers<'_>, top: usize, terms: &mut Terms) {
    let a = &registers.product.fragments[1];
    if a.columns < DEPTH {
        for row in &mut terms.a {
            row[a.columns..].fill(0.0);
        }
    }
    for (index, (row, column)) in a.places().enumerate() {
        let Some(row) = row.checked_sub(top).filter(|row| *row < ROWS) else {
            continue;
        };
        for (line, bits) in rows_of(registers.source(index)).iter().enumerate() {
            if let Some(to) = terms.a[row + line].get_mut(column..column + GROUP).and_then(|to| to.as_mut_array()) {
                // SAFETY: the caller promises that the processor is `X`.
                unsafe { X::store(widen::<X, BRAIN>(bits), to) };
            }
        }
    }
}

/// The numbers that bits stand for, as `bf16` or as `f16`.
#[inline(always)]
pub(super) unsafe fn widen<X: Processor, const BRAIN: bool>(bits: &[u16; GROUP]) -> X::Floats {
    // SAFETY: the caller promises that the processor is `X`.
    unsafe { if BRAIN { X::brain_floats(bits) } else { X::halves(bits) } }
}

/// The numbers of sixteen bits in a register: eight rows of eight.
#[inline(always)]
fn rows_of(register: &[u32; LANES]) -> &[[u16; GROUP]; GROUP] {
    const { assert!(size_of::<[u32; LANES]>() == size_of::<[[u16; GROUP]; GROUP]>()) };
    // SAFETY: the types have the same size, every value is one of both, and the former is aligned for the latter. Lower
    // halves come first on every processor that this is built for.
    unsafe { &*std::ptr::from_ref(register).cast() }
}

/// The numbers of 32 bits in a register.
#[inline(always)]
fn floats_of(register: &[u32; LANES]) -> &[[f32; GROUP]; LANES / GROUP] {
    // SAFETY: both are as many words, with one alignment, and every word is a number.
    unsafe { &*std::ptr::from_ref(register).cast() }
}

/// The inverse: the bits of the numbers, as a register.
#[inline(always)]
fn bits_of(numbers: &[[f32; GROUP]; LANES / GROUP]) -> &[u32; LANES] {
    // SAFETY: as above.
    unsafe { &*std::ptr::from_ref(numbers).cast() }
}
