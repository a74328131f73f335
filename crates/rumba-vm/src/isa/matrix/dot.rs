//! Sums of products as the tensor cores of an H200 form them.
//!
//! Up to sixteen products (thirty-two of numbers of eight bits) and an accumulator are added at once. The products are exact. All terms are aligned to the
//! largest exponent among them, where that of a product is the sum of its factors' exponents, and cut off (towards zero)
//! 25 bits below it; the cut terms are added exactly; the sum is cut to an `f32`, or rounded to nearest for an `f16`. That
//! is what random operands on an H200 show, without an exception; Fasi and others, "Numerical behavior of NVIDIA tensor
//! cores", describe the scheme for earlier ones. Where numbers of eight bits are multiplied as such, by warp groups, 13 bits
//! are kept instead of 25, and of the `f32` as many (Xie and others, "MMA-Sim", 2025).
//!
//! [`Terms::multiply`] does this for a block of sixteen rows by eight columns at once, a row of eight sums in a vector. It
//! needs terms that are not too far from one for `f32`; [`sum`] is the plain way, which serves the others, and the
//! reference.

use crate::arith::float::{NAN_F32, to_odd_f32};
use crate::arith::native;
use crate::base::lanes::GROUP;
use crate::exec::processor::{Processor, Work};

/// Rows of a block.
pub(super) const ROWS: usize = 16;

/// Columns of a block.
pub(super) const COLUMNS: usize = GROUP;

/// Products of a sum.
pub(super) const DEPTH: usize = 16;

/// Rows of the second factor that the products of a row can be chosen from.
pub(super) const CHOICE: usize = 2 * DEPTH;

/// The precision of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Precision {
    /// Bits that terms keep below the largest exponent.
    kept: i32,
    /// The bits of a result in `f32` that are not cut off.
    result: u32,
}

impl Precision {
    /// The precision of products of numbers of ten bits and more, and of narrower numbers that are widened first.
    pub(super) const FULL: Self = Self { kept: 25, result: u32::MAX };
    /// The precision of products of numbers of eight bits that are not widened.
    pub(super) const EIGHT_BITS: Self = Self { kept: 13, result: u32::MAX << (23 - 13) };
}

/// The exponent of zero: below all others, and so is the sum of two.
const ZERO: i32 = -100_000;

/// The exponent of infinities and NaN.
const SPECIAL: i32 = 128;

/// Largest sum of exponents, and smallest, that `f32` leaves room for.
const RANGE: i32 = 100;

/// The factors of a block: `D` products for each sum, of `C` rows of the second factor.
#[derive(Clone)]
pub(super) struct Terms<const D: usize = DEPTH, const C: usize = CHOICE> {
    /// The first factor, by rows.
    pub(super) a: [[f32; D]; ROWS],
    /// The second factor, by rows.
    pub(super) b: [[f32; COLUMNS]; C],
    /// The row of `b` that belongs to an element of `a`; without a choice, the row with the element's own index.
    pub(super) chosen: Option<[[u8; D]; ROWS]>,
    /// The exponents of subnormal numbers.
    pub(super) least: Least,
    pub(super) precision: Precision,
    /// Whether `a` and the exponents of its subnormal numbers are those of the last product, and have as many rows.
    pub(super) has_same_a: bool,
    /// Whether `b` and its exponents were [recalled](Self::recall) for the next product.
    has_recalled_b: bool,
    a_span: Span,
    b_span: Span,
    a_exponents: [[i32; D]; ROWS],
    b_exponents: [[i32; COLUMNS]; C],
}

/// A second factor with its exponents, for products that have it again.
pub(super) struct Second {
    b: [[f32; COLUMNS]; DEPTH],
    exponents: [[i32; COLUMNS]; DEPTH],
    span: Span,
}

impl Second {
    /// No factor.
    pub(super) const NONE: Self =
        Self { b: [[0.0; COLUMNS]; DEPTH], exponents: [[ZERO; COLUMNS]; DEPTH], span: Span(i32::MAX, ZERO) };
}

/// The exponents of subnormal numbers of the factors, and of the accumulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Least {
    pub(super) a: i32,
    pub(super) b: i32,
    pub(super) sum: i32,
}

/// The exponents of the elements of a matrix that are not zero: the smallest and the largest.
#[derive(Clone, Copy)]
struct Span(i32, i32);

fn exponent(x: f32, least: i32) -> i32 {
    ((x.to_bits() >> 23 & 0xff) as i32 - 127).max(least)
}

/// The exponents of eight numbers; [`ZERO`] for zeros.
#[inline(always)]
unsafe fn exponents_of<X: Processor>(x: X::Floats, least: X::Integers) -> (X::Integers, X::Integers) {
    // SAFETY: the caller promises that the processor is `X`.
    unsafe {
        let magnitude = X::shift_left::<1>(X::bits(x));
        let is_zero = X::equal(magnitude, X::splat_integer(0));
        let exponent = X::subtract(X::shift_right::<24>(magnitude), X::splat_integer(127));
        (X::blend(is_zero, X::splat_integer(ZERO), X::max(exponent, least)), is_zero)
    }
}

/// Writes the exponents of rows.
#[inline(always)]
unsafe fn exponents<X: Processor, const COUNT: usize>(
    from: &[[f32; COUNT]],
    to: &mut [[i32; COUNT]],
    least: i32,
) -> Span {
    // SAFETY: the caller promises that the processor is `X`.
    unsafe {
        let least = X::splat_integer(least);
        let (mut low, mut high) = (X::splat_integer(i32::MAX), X::splat_integer(ZERO));
        let (from, _) = from.as_flattened().as_chunks::<GROUP>();
        let (to, _) = to.as_flattened_mut().as_chunks_mut::<GROUP>();
        for (from, to) in from.iter().zip(to) {
            let (exponents, is_zero) = exponents_of::<X>(X::load(from), least);
            X::store_integers(exponents, to);
            high = X::max(high, exponents);
            low = X::min(low, X::blend(is_zero, low, exponents));
        }
        let (mut lows, mut highs) = ([0; GROUP], [0; GROUP]);
        X::store_integers(low, &mut lows);
        X::store_integers(high, &mut highs);
        Span(lows.into_iter().fold(i32::MAX, i32::min), highs.into_iter().fold(ZERO, i32::max))
    }
}

impl<const D: usize, const C: usize> Terms<D, C> {
    /// No terms.
    pub(super) const fn new() -> Self {
        Self {
            a: [[0.0; D]; ROWS],
            b: [[0.0; COLUMNS]; C],
            chosen: None,
            least: Least { a: -14, b: -14, sum: -126 },
            precision: Precision::FULL,
            has_same_a: false,
            has_recalled_b: false,
            a_span: Span(i32::MAX, ZERO),
            b_span: Span(i32::MAX, ZERO),
            a_exponents: [[0; D]; ROWS],
            b_exponents: [[0; COLUMNS]; C],
        }
    }

    /// Adds the products of `rows` rows, `depth` for each, to `c`. For results in `f16`, `c` becomes the sum rounded to
    /// odd, so that it can be rounded once more.
    ///
    /// # Safety
    /// The processor is `X`.
    #[inline(always)]
    pub(super) unsafe fn multiply<X: Processor>(
        &mut self,
        rows: usize,
        depth: usize,
        c: &mut [[f32; COLUMNS]; ROWS],
        odd: bool,
    ) {
        // SAFETY: as the caller promises.
        unsafe { X::call(Multiplication { terms: self, rows: rows.min(ROWS), depth, c, odd }) }
    }

    /// Keeps the second factor of the last product, which chose nothing.
    #[inline(always)]
    pub(super) fn keep(&self, to: &mut Second) {
        to.b.copy_from_slice(&self.b[..DEPTH]);
        to.exponents.copy_from_slice(&self.b_exponents[..DEPTH]);
        to.span = self.b_span;
    }

    /// Takes the second factor of the next product from one that was kept, with the same exponents of subnormal numbers and at
    /// most as many products for each sum.
    #[inline(always)]
    pub(super) fn recall(&mut self, from: &Second) {
        self.b[..DEPTH].copy_from_slice(&from.b);
        self.b_exponents[..DEPTH].copy_from_slice(&from.exponents);
        self.b_span = from.span;
        self.has_recalled_b = true;
    }

    /// Says whether the results are good; they are unless a sum is too large or too small for the way they are found here.
    #[inline(always)]
    unsafe fn rows<X: Processor, const K: usize>(
        &self,
        rows: usize,
        chosen: impl Fn(usize, usize) -> usize,
        c: &mut [[f32; COLUMNS]; ROWS],
        odd: bool,
    ) -> bool {
        // SAFETY: the caller promises that the processor is `X`.
        unsafe {
            let (kept, result_bits) = (self.precision.kept, self.precision.result.cast_signed());
            let mut bad = X::splat_integer(0);
            for (row, c) in c[..rows].iter_mut().enumerate() {
                let accumulator = X::load(c);
                let (mut top, empty) = exponents_of::<X>(accumulator, X::splat_integer(self.least.sum));
                for k in 0..K {
                    let k = X::index(k) % K;
                    let a = X::splat_integer(self.a_exponents[row][k]);
                    let b = X::load_integers(&self.b_exponents[chosen(row, k)]);
                    top = X::max(top, X::add(a, b));
                }
                // Too small is only a sum of an accumulator; what is below otherwise is a sum of zeros.
                let small = X::blend(empty, X::splat_integer(0), X::greater(X::splat_integer(-RANGE), top));
                let large = X::subtract(X::splat_integer(RANGE), top);
                bad = X::or(bad, X::or(small, large));
                top = X::max(top, X::splat_integer(-RANGE - 1));
                let scale = X::from_bits(X::shift_left::<23>(X::subtract(X::splat_integer(kept + 127), top)));
                let mut sum = X::splat_integer(0);
                for k in 0..K {
                    let k = X::index(k) % K;
                    let product = X::multiply(X::splat(self.a[row][k]), X::load(&self.b[chosen(row, k)]));
                    // A product is less than four times the power of two that `top` stands for, which `scale` makes 2 to
                    // the 25th; sixteen of them do not reach the 31st. With fewer bits there is room for more.
                    sum = X::add(sum, X::cut(X::multiply(product, scale)));
                }
                // With the accumulator, which is less than 2 to the 26th, they might: if they reach half of that.
                bad = X::or(bad, X::xor(sum, X::add(sum, sum)));
                let total = X::add(sum, X::cut(X::multiply(accumulator, scale)));
                let magnitude = X::abs(total);
                let near = X::to_floats(magnitude);
                // Cut instead of rounded: one place less where it was rounded up.
                let up = X::greater(X::cut(near), magnitude);
                let mut bits = X::add(X::bits(near), up);
                if odd {
                    let exact = X::equal(X::cut(X::from_bits(bits)), magnitude);
                    bits = X::or(bits, X::add(X::splat_integer(1), exact));
                }
                let down = X::from_bits(X::shift_left::<23>(X::add(top, X::splat_integer(127 - kept))));
                let mut result = X::bits(X::multiply(X::from_bits(bits), down));
                if !odd {
                    result = X::and(result, X::splat_integer(result_bits));
                }
                let sign = X::and(total, X::splat_integer(i32::MIN));
                X::store(X::from_bits(X::or(result, sign)), c);
            }
            !X::any_negative(bad)
        }
    }

    /// The same of any numbers.
    #[cold]
    #[inline(never)]
    fn multiply_any(&self, rows: usize, depth: usize, c: &mut [[f32; COLUMNS]; ROWS], odd: bool) {
        for (row, c) in c[..rows].iter_mut().enumerate() {
            for (column, c) in c.iter_mut().enumerate() {
                let factors = (0..depth).map(|k| {
                    let from = self.chosen.as_ref().map_or(k, |chosen| usize::from(chosen[row][k]) % C);
                    (self.a[row][k], self.b[from][column])
                });
                *c = sum(factors, *c, self.least, self.precision, odd);
            }
        }
    }
}

/// The arguments of [`Terms::multiply`].
struct Multiplication<'t, const D: usize, const C: usize> {
    terms: &'t mut Terms<D, C>,
    rows: usize,
    depth: usize,
    c: &'t mut [[f32; COLUMNS]; ROWS],
    odd: bool,
}

impl<const D: usize, const C: usize> Work for Multiplication<'_, D, C> {
    #[inline(always)]
    unsafe fn run<X: Processor>(self) {
        let Self { terms, rows, depth, c, odd } = self;
        let choice = if terms.chosen.is_some() { 2 * depth } else { depth };
        // SAFETY: as the caller promises.
        unsafe {
            if !terms.has_same_a {
                terms.a_span = exponents::<X, D>(&terms.a[..rows], &mut terms.a_exponents[..rows], terms.least.a);
            }
            if !std::mem::take(&mut terms.has_recalled_b) {
                let b = &terms.b[..choice.min(C)];
                terms.b_span = exponents::<X, COLUMNS>(b, &mut terms.b_exponents, terms.least.b);
            }
        }
        let (a, b) = (terms.a_span, terms.b_span);
        let special = a.1 == SPECIAL || b.1 == SPECIAL;
        let near = a.1 + b.1 <= RANGE && a.0.saturating_add(b.0) >= -RANGE;
        let before = *c;
        // SAFETY: as the caller promises.
        let done = !special
            && near
            && unsafe {
                match (&terms.chosen, depth) {
                    (None, 4) => terms.rows::<X, 4>(rows, |_, k| k, c, odd),
                    (None, 8) => terms.rows::<X, 8>(rows, |_, k| k, c, odd),
                    (None, _) => terms.rows::<X, D>(rows, |_, k| k, c, odd),
                    (Some(chosen), 4) => terms.rows::<X, 4>(rows, |row, k| usize::from(chosen[row][k]) % C, c, odd),
                    (Some(chosen), 8) => terms.rows::<X, 8>(rows, |row, k| usize::from(chosen[row][k]) % C, c, odd),
                    (Some(chosen), _) => terms.rows::<X, D>(rows, |row, k| usize::from(chosen[row][k]) % C, c, odd),
                }
            };
        if !done {
            *c = before;
            terms.multiply_any(rows, depth, c, odd);
        }
    }
}

/// `x` as `f32`, rounded towards zero; zero has no sign.
fn cut(x: f64) -> f32 {
    let unit = f64::from(f32::from_bits(1));
    if x.abs() < f64::from(f32::MIN_POSITIVE) {
        ((x / unit).trunc() * unit + 0.0) as f32
    } else {
        f64::from_bits(x.to_bits() & !0x1fff_ffff) as f32
    }
}

/// The significand of a number as an integer, and the power of two that it counts.
fn parts(x: f32, least: i32) -> (i64, i32) {
    let exponent = exponent(x, least);
    // Exact: halves below their smallest normal number are multiples of 2 to the -24th.
    let significand = f64::from(x) * f64::from_bits(((23 - exponent + 1023) as u64) << 52);
    (significand as i64, exponent - 23)
}

/// The sum of products and an accumulator, term by term.
pub(super) fn sum(
    factors: impl Iterator<Item = (f32, f32)> + Clone,
    c: f32,
    least: Least,
    precision: Precision,
    odd: bool,
) -> f32 {
    let products = factors.clone().map(|(a, b)| f64::from(a) * f64::from(b));
    if c.is_nan() || products.clone().any(f64::is_nan) {
        return NAN_F32;
    }
    let infinite = products.chain([f64::from(c)]).filter(|x| x.is_infinite());
    let (mut up, mut down) = (false, false);
    for x in infinite {
        up |= x > 0.0;
        down |= x < 0.0;
    }
    match (up, down) {
        (true, true) => return NAN_F32,
        (true, false) => return f32::INFINITY,
        (false, true) => return f32::NEG_INFINITY,
        (false, false) => {}
    }
    let product = |(a, b): (f32, f32)| {
        let ((x, i), (y, j)) = (parts(a, least.a), parts(b, least.b));
        (i128::from(x) * i128::from(y), i + j, exponent(a, least.a) + exponent(b, least.b))
    };
    let (x, i) = parts(c, least.sum);
    let accumulator = (i128::from(x), i, exponent(c, least.sum));
    let terms = factors.map(product).chain([accumulator]).filter(|(x, ..)| *x != 0);
    let Some(top) = terms.clone().map(|(.., exponent)| exponent).max() else {
        return 0.0;
    };
    let unit = top - precision.kept;
    let total: i128 = terms
        .map(|(x, power, _)| match power - unit {
            up @ 0.. => x << up.min(63),
            down => {
                let magnitude = x.abs() >> (-down).min(127);
                if x < 0 { -magnitude } else { magnitude }
            }
        })
        .sum();
    // The sum has at most 32 bits, and the power is that of an `f64`.
    let total = total as f64 * f64::from_bits(((unit + 1023) as u64) << 52);
    if odd { to_odd_f32(native(total)).0 } else { f32::from_bits(cut(total).to_bits() & precision.result) }
}

#[cfg(test)]
mod tests {
    use super::{CHOICE, COLUMNS, DEPTH, Least, Precision, ROWS, Second, Terms, sum};
    use crate::exec::processor::{Avx2, Baseline};
    use crate::machine::op::has_avx2;

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ x >> 31
    }

    /// A number of the precision of a tf32, of an exponent in a range, sometimes zero.
    fn number(state: &mut u64, range: u64) -> f32 {
        let bits = random(state);
        if bits.is_multiple_of(11) {
            return 0.0;
        }
        let exponent = (bits >> 40) % (2 * range + 1) + 127 - range;
        f32::from_bits((bits as u32 & 0x807f_e000) | (exponent as u32) << 23)
    }

    fn check_block<const D: usize, const C: usize>(
        terms: &mut Terms<D, C>,
        depth: usize,
        c: [[f32; COLUMNS]; ROWS],
        odd: bool,
    ) {
        let mut results = vec![c];
        // SAFETY: every processor has the baseline instructions.
        unsafe { terms.multiply::<Baseline>(ROWS, depth, &mut results[0], odd) };
        if has_avx2() {
            let mut result = c;
            // SAFETY: the processor has AVX2, as was just tested.
            unsafe { terms.multiply::<Avx2>(ROWS, depth, &mut result, odd) };
            results.push(result);
        }
        for (row, c) in c.iter().enumerate() {
            for column in 0..COLUMNS {
                let factors = (0..depth).map(|k| {
                    let from = terms.chosen.map_or(k, |chosen| usize::from(chosen[row][k]));
                    (terms.a[row][k], terms.b[from][column])
                });
                let expected = sum(factors, c[column], terms.least, terms.precision, odd);
                for result in &results {
                    let found = result[row][column];
                    assert_eq!(found.to_bits(), expected.to_bits(), "row {row}, column {column}");
                }
            }
        }
    }

    #[test]
    fn accumulators_may_be_tiny_and_sums_large() {
        let mut terms = Terms::<DEPTH, CHOICE>::new();
        let edges = [0.0, f32::from_bits(1), 2f32.powi(-101), -2f32.powi(-100), 2f32.powi(101), f32::NAN, -0.0, 1.0];
        for odd in [false, true] {
            for scale in [0.0, 2f32.powi(-14), 1.0] {
                terms.a = [[scale * 1.9990234; DEPTH]; ROWS];
                terms.b = [[1.9990234; COLUMNS]; 2 * DEPTH];
                check_block(&mut terms, DEPTH, [edges; ROWS], odd);
                terms.b = [[-1.9990234; COLUMNS]; 2 * DEPTH];
                check_block(&mut terms, DEPTH, [[-1.9999999; COLUMNS]; ROWS], odd);
            }
        }
    }

    #[test]
    fn blocks_are_the_sums_of_their_rows() {
        let mut state = 7;
        for round in 0..60 {
            let range = [0, 3, 14, 30, 60][round % 5];
            let mut terms = Terms::<DEPTH, CHOICE>::new();
            (terms.least.a, terms.least.b) = (-126, -126);
            terms.a.as_flattened_mut().iter_mut().for_each(|x| *x = number(&mut state, range));
            terms.b.as_flattened_mut().iter_mut().for_each(|x| *x = number(&mut state, range));
            let depth = [4, 8, 16][round / 5 % 3];
            if round % 3 == 0 {
                let mut any = || (random(&mut state) as usize % (2 * depth)) as u8;
                terms.chosen = Some([[0; DEPTH]; ROWS].map(|row| row.map(|_| any())));
            }
            let c = [[0.0; COLUMNS]; ROWS].map(|row| row.map(|_: f32| number(&mut state, 2 * range)));
            for odd in [false, true] {
                check_block(&mut terms, depth, c, odd);
            }
            // Another second factor, and the first one as it was.
            terms.has_same_a = true;
            terms.b.as_flattened_mut().iter_mut().for_each(|x| *x = number(&mut state, range));
            check_block(&mut terms, depth, c, false);
            if terms.chosen.is_some() {
                continue;
            }
            // Another first factor, and the second one as it was kept, after a product with none.
            let mut second = Second::NONE;
            terms.keep(&mut second);
            let b = terms.b;
            terms.has_same_a = false;
            terms.b = [[0.0; COLUMNS]; CHOICE];
            check_block(&mut terms, depth, c, false);
            terms.a.as_flattened_mut().iter_mut().for_each(|x| *x = number(&mut state, range));
            terms.recall(&second);
            assert_eq!(terms.b[..depth], b[..depth]);
            let mut result = c;
            // SAFETY: every processor has the baseline instructions.
            unsafe { terms.multiply::<Baseline>(ROWS, depth, &mut result, false) };
            let mut plain = terms.clone();
            let mut expected = c;
            // SAFETY: as above.
            unsafe { plain.multiply::<Baseline>(ROWS, depth, &mut expected, false) };
            assert_eq!(result.map(|row| row.map(f32::to_bits)), expected.map(|row| row.map(f32::to_bits)));
        }
    }

    #[test]
    fn blocks_of_eight_bits_are_the_sums_of_their_rows() {
        let mut state = 9;
        for round in 0..40 {
            let mut terms = Terms::<32, 64>::new();
            terms.precision = Precision::EIGHT_BITS;
            terms.least = Least { a: -6, b: -14, sum: -126 };
            let range = [2, 7, 14][round % 3];
            let mut any = |x: &mut f32| *x = f32::from_bits(number(&mut state, range).to_bits() & 0xfff0_0000);
            terms.a.as_flattened_mut().iter_mut().for_each(&mut any);
            terms.b.as_flattened_mut().iter_mut().for_each(&mut any);
            if round % 2 == 0 {
                let mut any = || (random(&mut state) % 64) as u8;
                terms.chosen = Some([[0; 32]; ROWS].map(|row| row.map(|_| any())));
            }
            let c = [[0.0; COLUMNS]; ROWS].map(|row| row.map(|_: f32| number(&mut state, 2 * range)));
            for odd in [false, true] {
                check_block(&mut terms, 32, c, odd);
            }
        }
    }

    const LEAST: Least = Least { a: -14, b: -14, sum: -126 };

    #[test]
    fn sums_of_eight_bits_keep_thirteen() {
        let small = 2f32.powi(-13);
        let sum = |factors: &[(f32, f32)], c| sum(factors.iter().copied(), c, LEAST, Precision::EIGHT_BITS, false);
        assert_eq!(sum(&[(1.0, 1.0), (small, 1.0)], 0.0), 1.0 + small);
        assert_eq!(sum(&[(1.0, 1.0), (small / 2.0, 1.0)], small / 2.0), 1.0);
        assert_eq!(sum(&[(1.0, 1.0), (1.0, 1.0), (small, 1.0)], 0.0), 2.0);
        assert_eq!(sum(&[(0.0, 1.0)], 1.9999999), 2.0 - small);
    }

    #[track_caller]
    fn check(factors: &[(f32, f32)], c: f32, expected: f32) {
        let result = sum(factors.iter().copied(), c, LEAST, Precision::FULL, false);
        assert_eq!(result.to_bits(), expected.to_bits(), "{result} instead of {expected}");
    }

    #[test]
    fn sums_at_the_edges() {
        let tiny = 2f32.powi(-24);
        check(&[(1.0, 1.0)], tiny, 1.0);
        // Bits beyond the 25 kept bits do not count: terms are truncated, not rounded.
        check(&[(1.0, 1.0), (-tiny, 0.25)], 0.0, 1.0);
        check(&[(1.0, 1.0), (-tiny, 0.5)], 0.0, 1.0 - tiny);
        check(&[(-1.0, 1.0)], -1.5 * tiny, -1.0);
        // The exponent of 1.5 times 1.5 is 0, though the product is more than two.
        check(&[(1.5, 1.5), (tiny, 0.5)], 0.0, 2.25);
        check(&[(1.0, -1.0), (1.0, 1.0)], 0.0, 0.0);
        check(&[(f32::INFINITY, 0.0)], 1.0, f32::from_bits(0x7fff_ffff));
        check(&[(f32::INFINITY, 1.0)], f32::NEG_INFINITY, f32::from_bits(0x7fff_ffff));
        check(&[(f32::INFINITY, -1.0)], 1.0, f32::NEG_INFINITY);
        check(&[(0.0, 1.0)], f32::from_bits(3), f32::from_bits(3));
    }
}
