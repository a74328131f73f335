//! The common parts of native code for instructions: native code for the functions of `float`.

use crate::base::ir::{Element, Value, Writer};
use crate::isa::float::{Extremum, INVALID_F64, IS_INVALID_OF_PROCESSOR, Mode, NAN_F32, Rounding, SCALE};

const SIGN: u64 = 0x8000_0000;

/// As [`super::float::canonical`]: the last step of a form.
pub(super) fn canonical(w: &mut Writer, x: &Value) -> Value {
    w.canonical(x)
}

/// As [`super::float::flush`].
pub(super) fn flush(w: &mut Writer, x: &Value) -> Value {
    let bits = w.bits_as(x, Element::I32);
    let exponent = w.binary_with("and", &bits, 0x7f80_0000);
    let tiny = w.compare_with("icmp eq", &exponent, 0);
    let sign = w.binary_with("and", &bits, SIGN);
    let bits = w.select(&tiny, &sign, &bits);
    w.bits_as(&bits, Element::F32)
}

/// As [`super::float::saturate`].
pub(super) fn saturate(w: &mut Writer, x: &Value) -> Value {
    let (zero, one) = (w.number(x.element(), 0), one(w, x.element()));
    let positive = if IS_INVALID_OF_PROCESSOR {
        w.compare("fcmp ogt", x, &zero)
    } else {
        let infinity =
            if x.element() == Element::F64 { f64::INFINITY.to_bits() } else { f32::INFINITY.to_bits().into() };
        let bits = w.bits_as(x, x.element().integer());
        let below = w.binary_with("sub", &bits, 1);
        w.compare_with("icmp ult", &below, infinity)
    };
    let x = w.select(&positive, x, &zero);
    let small = w.compare("fcmp olt", &x, &one);
    w.select(&small, &x, &one)
}

fn one(w: &mut Writer, element: Element) -> Value {
    let bits = if element == Element::F64 { 1_f64.to_bits() } else { 1_f32.to_bits().into() };
    w.number(element, bits)
}

/// As [`Mode::input`].
pub(super) fn input(w: &mut Writer, mode: u16, x: &Value) -> Value {
    if mode & Mode::FTZ != 0 { flush(w, x) } else { x.clone() }
}

/// As [`Mode::output`].
pub(super) fn output(w: &mut Writer, mode: u16, x: &Value) -> Value {
    let x = input(w, mode, x);
    if mode & Mode::SAT != 0 { saturate(w, &x) } else { canonical(w, &x) }
}

/// As [`Mode::flushed`]; `scaled` writes the computation of the result times [`SCALE`]², if it is needed.
pub(super) fn flushed(w: &mut Writer, mode: u16, x: &Value, scaled: impl FnOnce(&mut Writer) -> Value) -> Value {
    let mut x = x.clone();
    if mode & Mode::FTZ != 0 {
        let scaled = scaled(w);
        let scaled = w.intrinsic("fabs", &[&scaled]);
        let least = w.number(Element::F32, (f32::MIN_POSITIVE * SCALE * SCALE).to_bits().into());
        let tiny = w.compare("fcmp olt", &scaled, &least);
        let bits = w.bits_as(&x, Element::I32);
        let sign = w.binary_with("and", &bits, SIGN);
        let sign = w.bits_as(&sign, Element::F32);
        x = w.select(&tiny, &sign, &x);
    }
    if mode & Mode::SAT != 0 { saturate(w, &x) } else { canonical(w, &x) }
}

/// `x` multiplied `times` times by [`SCALE`].
pub(super) fn scaled(w: &mut Writer, x: &Value, times: u32) -> Value {
    let scale = w.number(Element::F32, SCALE.to_bits().into());
    (0..times).fold(x.clone(), |x, _| w.binary("fmul", &x, &scale))
}

/// Whether the bits of an `f64` are those of a NaN.
pub(super) fn is_nan_f64(w: &mut Writer, bits: &Value) -> Value {
    let magnitude = w.binary_with("and", bits, u64::MAX >> 1);
    w.compare_with("icmp ugt", &magnitude, 0x7ff0_0000_0000_0000)
}

/// As [`super::float::propagate`].
pub(super) fn propagate(w: &mut Writer, r: &Value, a: &Value, b: &Value) -> Value {
    let mut bits = w.bits_as(r, Element::I64);
    if !IS_INVALID_OF_PROCESSOR {
        let nan = is_nan_f64(w, &bits);
        bits = w.select(&nan, &Value::integer(Element::I64, INVALID_F64), &bits);
    }
    for operand in [a, b] {
        bits = keep_bits(w, &bits, operand);
    }
    w.bits_as(&bits, Element::F64)
}

/// As [`super::float::keep`].
pub(super) fn keep(w: &mut Writer, r: &Value, x: &Value) -> Value {
    let bits = w.bits_as(r, Element::I64);
    let bits = keep_bits(w, &bits, x);
    w.bits_as(&bits, Element::F64)
}

fn keep_bits(w: &mut Writer, bits: &Value, x: &Value) -> Value {
    let x = w.bits_as(x, Element::I64);
    let nan = is_nan_f64(w, &x);
    let quiet = w.binary_with("or", &x, 1 << 51);
    w.select(&nan, &quiet, bits)
}

/// Whether a number is NaN, by its bits.
pub(super) fn is_nan(w: &mut Writer, bits: &Value) -> Value {
    let (magnitude, infinity) = if bits.element().bits() == 64 {
        (u64::MAX >> 1, f64::INFINITY.to_bits())
    } else {
        (0x7fff_ffff, f32::INFINITY.to_bits().into())
    };
    let magnitude = w.and_with(bits, magnitude);
    w.compare_with("icmp ugt", &magnitude, infinity)
}

/// As [`super::float::extremum`].
pub(super) fn extremum(w: &mut Writer, which: Extremum, a: &Value, b: &Value) -> Value {
    let element = a.element();
    let [a_bits, b_bits] = [a, b].map(|x| w.bits_as(x, element.integer()));
    let nan = if element == Element::F64 {
        Value::integer(Element::I64, 0x7fff_ffff_ffff_ffff)
    } else {
        Value::integer(Element::I32, NAN_F32.to_bits().into())
    };
    let both_nan = if element == Element::F64 { w.or_with(&b_bits, 1 << 51) } else { nan.clone() };
    let (low, high) = if which.max { (&b_bits, &a_bits) } else { (&a_bits, &b_bits) };
    let equal = w.binary(if which.max { "and" } else { "or" }, &a_bits, &b_bits);
    let greater = w.compare("fcmp olt", b, a);
    let result = w.select(&greater, high, &equal);
    let less = w.compare("fcmp olt", a, b);
    let result = w.select(&less, low, &result);
    let (lone_a, lone_b) = if which.nan { (&nan, &nan) } else { (&a_bits, &b_bits) };
    let [a_nan, b_nan] = [&a_bits, &b_bits].map(|bits| is_nan(w, bits));
    let result = w.select(&b_nan, lone_a, &result);
    let result = w.select(&a_nan, lone_b, &result);
    let both = w.binary("and", &a_nan, &b_nan);
    let result = w.select(&both, &both_nan, &result);
    w.bits_as(&result, element)
}

/// The smaller or the larger of two integers, such as by `icmp ult`.
pub(super) fn lesser(w: &mut Writer, less: &str, x: &[Value], max: bool) -> Value {
    let less = w.compare(less, &x[0], &x[1]);
    if max { w.select(&less, &x[1], &x[0]) } else { w.select(&less, &x[0], &x[1]) }
}

/// A shift by an amount of 32 bits, and zero, or the sign, where that is as large as the width.
pub(super) fn shift(w: &mut Writer, shift: &str, x: &[Value]) -> Value {
    let (a, amount) = (&x[0], &x[1]);
    let bits = u64::from(a.element().bits());
    let inside = w.compare_with("icmp ult", amount, bits);
    let amount = if shift == "ashr" {
        let most = Value::integer(Element::I32, bits - 1);
        w.select(&inside, amount, &most)
    } else {
        w.binary_with("and", amount, bits - 1)
    };
    let amount = if bits > 32 { w.convert("zext", &amount, a.element()) } else { w.bits_as(&amount, a.element()) };
    let shifted = w.binary(shift, a, &amount);
    if shift == "ashr" {
        return shifted;
    }
    let zero = Value::integer(a.element(), 0);
    w.select(&inside, &shifted, &zero)
}

/// The upper half of a product.
pub(super) fn high(w: &mut Writer, extension: &str, x: &[Value]) -> Value {
    let element = x[0].element();
    let wide = match element {
        Element::I16 => Element::I32,
        Element::I32 => Element::I64,
        // There is no wider type of number here: four products of halves.
        _ => return high_of_64(w, extension, x),
    };
    let [a, b] = [&x[0], &x[1]].map(|x| w.convert(extension, x, wide));
    let product = w.binary("mul", &a, &b);
    let high = w.binary_with("lshr", &product, element.bits().into());
    w.convert("trunc", &high, element)
}

fn high_of_64(w: &mut Writer, extension: &str, x: &[Value]) -> Value {
    let (a, b) = (&x[0], &x[1]);
    let [a_low, b_low] = [a, b].map(|x| w.binary_with("and", x, 0xffff_ffff));
    let [a_high, b_high] = [a, b].map(|x| w.binary_with("lshr", x, 32));
    let low = w.binary("mul", &a_low, &b_low);
    let one = w.binary("mul", &a_high, &b_low);
    let other = w.binary("mul", &a_low, &b_high);
    let carry = w.binary_with("lshr", &low, 32);
    let middle = w.binary("add", &one, &carry);
    let middle_low = w.binary_with("and", &middle, 0xffff_ffff);
    let middle_high = w.binary_with("lshr", &middle, 32);
    let other = w.binary("add", &other, &middle_low);
    let other = w.binary_with("lshr", &other, 32);
    let high = w.binary("mul", &a_high, &b_high);
    let high = w.binary("add", &high, &middle_high);
    let mut high = w.binary("add", &high, &other);
    if extension == "sext" {
        for (x, y) in [(a, b), (b, a)] {
            let sign = w.binary_with("ashr", x, 63);
            let less = w.binary("and", &sign, y);
            high = w.binary("sub", &high, &less);
        }
    }
    high
}

/// The product of two integers that are extended to twice their width.
pub(super) fn wide_product(w: &mut Writer, extension: &str, x: &[Value]) -> Value {
    let wide = if x[0].element() == Element::I16 { Element::I32 } else { Element::I64 };
    let [a, b] = [&x[0], &x[1]].map(|x| w.convert(extension, x, wide));
    w.binary("mul", &a, &b)
}

/// A quotient of integers towards zero: all ones for a divisor of zero, and as it wraps for the smallest number and -1. Numbers of
/// 32 bits are divided as [`super::div::divide_u32`] does it, which vectors can do.
pub(super) fn quotient(w: &mut Writer, signed: bool, x: &[Value]) -> Value {
    let (a, b, element) = (&x[0], &x[1], x[0].element());
    let zero = w.compare_with("icmp eq", b, 0);
    let (one, ones) = (Value::integer(element, 1), Value::integer(element, u64::MAX));
    let mut strange = zero.clone();
    let mut minus_one = None;
    if signed {
        // It is no quotient that a division can be trusted with.
        let found = w.compare("icmp eq", b, &ones);
        strange = w.or(&zero, &found);
        minus_one = Some(found);
    }
    let divisor = w.select(&strange, &one, b);
    let is_vector = a.is_vector() || b.is_vector();
    let quotient = if is_vector && !b.is_constant() && element.bits() <= 32 {
        let (to, from) = if signed { ("sitofp", "fptosi") } else { ("uitofp", "fptoui") };
        let [a, b] = [a, &divisor].map(|x| w.convert(to, x, Element::F64));
        let quotient = w.binary("fdiv", &a, &b);
        w.convert(from, &quotient, element)
    } else {
        w.binary(if signed { "sdiv" } else { "udiv" }, a, &divisor)
    };
    let quotient = match minus_one {
        Some(minus_one) => {
            let none = Value::integer(element, 0);
            let negated = w.sub(&none, a);
            w.select(&minus_one, &negated, &quotient)
        }
        None => quotient,
    };
    w.select(&zero, &ones, &quotient)
}

/// The remainder of such a division; all ones for a divisor of zero.
pub(super) fn remainder(w: &mut Writer, signed: bool, x: &[Value]) -> Value {
    let quotient = quotient(w, signed, x);
    let product = w.mul(&quotient, &x[1]);
    let rest = w.sub(&x[0], &product);
    let zero = w.compare_with("icmp eq", &x[1], 0);
    let ones = Value::integer(x[0].element(), u64::MAX);
    w.select(&zero, &ones, &rest)
}

/// A number of 32 bits as one of 64.
pub(super) fn wide(w: &mut Writer, x: &Value) -> Value {
    w.convert("fpext", x, Element::F64)
}

/// As [`Mode::round`].
pub(super) fn round(w: &mut Writer, mode: u16, x: &Value) -> Value {
    let near = w.convert("fptrunc", x, Element::F32);
    let rounding = Mode(mode).get_rounding();
    if rounding == Rounding::Nearest {
        return near;
    }
    let back = wide(w, &near);
    let bits = w.bits_as(&near, Element::I32);
    let (up, down) = (w.add_with(&bits, 1), w.sub_with(&bits, 1));
    let (beyond, stepped) = match rounding {
        Rounding::Zero => {
            let [far, exact] = [&back, x].map(|x| w.intrinsic("fabs", &[x]));
            (w.compare("fcmp ogt", &far, &exact), down)
        }
        _ => {
            let is_down = rounding == Rounding::Down;
            let beyond = w.compare(if is_down { "fcmp ogt" } else { "fcmp olt" }, &back, x);
            let negative = w.compare_with("icmp slt", &bits, 0);
            let (of_negative, of_others) = if is_down { (&up, &down) } else { (&down, &up) };
            (beyond, w.select(&negative, of_negative, of_others))
        }
    };
    let bits = w.select(&beyond, &stepped, &bits);
    w.bits_as(&bits, Element::F32)
}

/// [`SCALE`]² times a number of 64 bits.
fn scaled_wide(w: &mut Writer, x: &Value) -> Value {
    let scale = w.number(Element::F64, f64::from(SCALE * SCALE).to_bits());
    w.binary("fmul", x, &scale)
}

/// As [`Mode::narrow`].
pub(super) fn narrow(w: &mut Writer, mode: u16, x: &Value) -> Value {
    let near = round(w, mode, x);
    flushed(w, mode, &near, |w| {
        let scaled = scaled_wide(w, x);
        round(w, mode, &scaled)
    })
}

/// As [`super::float::sum_to_odd`].
pub(super) fn sum_to_odd(w: &mut Writer, a: &Value, b: &Value) -> Value {
    let zero = w.number(Element::F64, 0);
    let sum = w.binary("fadd", a, b);
    let other = w.binary("fsub", &sum, a);
    let first = w.binary("fsub", &sum, &other);
    let first = w.binary("fsub", a, &first);
    let second = w.binary("fsub", b, &other);
    let error = w.binary("fadd", &first, &second);
    let inexact = w.compare("fcmp one", &error, &zero);
    let [above, positive] = [&error, &sum].map(|x| w.compare("fcmp ogt", x, &zero));
    let differs = w.xor(&above, &positive);
    let bits = w.bits_as(&sum, Element::I64);
    let low = w.and_with(&bits, 1);
    let even = w.compare_with("icmp eq", &low, 0);
    let steps = w.and(&inexact, &even);
    let (one, minus_one) = (Value::integer(Element::I64, 1), Value::integer(Element::I64, u64::MAX));
    let step = w.select(&differs, &minus_one, &one);
    let moved = w.add(&bits, &step);
    let bits = w.select(&steps, &moved, &bits);
    w.bits_as(&bits, Element::F64)
}

/// As [`Mode::sum`].
pub(super) fn sum(w: &mut Writer, mode: u16, a: &Value, b: &Value) -> Value {
    let odd = sum_to_odd(w, a, b);
    let mut near = round(w, mode, &odd);
    if Mode(mode).get_rounding() == Rounding::Down {
        // As [`Mode::zero_sum`].
        let zero = w.number(Element::F32, 0);
        let is_zero = w.compare("fcmp oeq", &near, &zero);
        let opposite = w.negated(b);
        let cancels = w.compare("fcmp oeq", a, &opposite);
        let fixes = w.and(&is_zero, &cancels);
        let [a, b] = [a, b].map(|x| w.bits_as(x, Element::I64));
        let both = w.or(&a, &b);
        let high = w.binary_with("lshr", &both, 32);
        let high = w.bits_as(&high, Element::I32);
        let sign = w.and_with(&high, SIGN);
        let bits = w.bits_as(&near, Element::I32);
        let signed = w.or(&bits, &sign);
        let bits = w.select(&fixes, &signed, &bits);
        near = w.bits_as(&bits, Element::F32);
    }
    flushed(w, mode, &near, |w| {
        let scaled = scaled_wide(w, &odd);
        round(w, mode, &scaled)
    })
}

/// The result of an operation on `f64` as the processor leaves it: the first operand that is NaN, made quiet, and the negative NaN
/// for an operation that is not valid.
pub(super) fn processor_nan(w: &mut Writer, r: &Value, operands: &[&Value]) -> Value {
    let mut bits = w.bits_as(r, Element::I64);
    let nan = is_nan_f64(w, &bits);
    let invalid = Value::integer(Element::I64, INVALID_F64);
    bits = w.select(&nan, &invalid, &bits);
    for operand in operands.iter().rev() {
        let operand = w.bits_as(operand, Element::I64);
        let nan = is_nan_f64(w, &operand);
        let quiet = w.or_with(&operand, 1 << 51);
        bits = w.select(&nan, &quiet, &bits);
    }
    w.bits_as(&bits, Element::F64)
}

/// The formats of 16 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    /// `f16`
    F16,
    /// `bf16`
    Bf16,
}

impl Half {
    pub(super) const fn of(is_bf16: bool) -> Self {
        if is_bf16 { Self::Bf16 } else { Self::F16 }
    }

    /// As [`super::half::Half::widen`], of the low half of 32 bits.
    pub(super) fn widen(self, w: &mut Writer, x: &Value) -> Value {
        let bits = w.extended(x, Element::I32);
        if self == Self::Bf16 {
            let bits = w.binary_with("shl", &bits, 16);
            return w.bits_as(&bits, Element::F32);
        }
        let size = w.and_with(&bits, 0x7fff);
        let size = w.binary_with("shl", &size, 13);
        let scale = w.number(Element::F32, 0x7780_0000);
        let finite = w.bits_as(&size, Element::F32);
        let finite = w.binary("fmul", &finite, &scale);
        let finite = w.bits_as(&finite, Element::I32);
        let special = w.or_with(&size, 0x7f80_0000);
        let is_finite = w.compare_with("icmp ult", &size, 0x7c00 << 13);
        let value = w.select(&is_finite, &finite, &special);
        let sign = w.and_with(&bits, 0x8000);
        let sign = w.binary_with("shl", &sign, 16);
        let bits = w.or(&value, &sign);
        w.bits_as(&bits, Element::F32)
    }

    /// As [`super::half::Half::nearest`], as the low half of 32 bits.
    pub(super) fn nearest(self, w: &mut Writer, x: &Value) -> Value {
        let bits = w.bits_as(x, Element::I32);
        let size = w.and_with(&bits, 0x7fff_ffff);
        let is_nan = w.compare_with("icmp ugt", &size, 0x7f80_0000);
        let nan = Value::integer(Element::I32, 0x7fff);
        if self == Self::Bf16 {
            let last = w.binary_with("lshr", &bits, 16);
            let last = w.and_with(&last, 1);
            let rounded = w.add_with(&bits, 0x7fff);
            let rounded = w.add(&rounded, &last);
            let rounded = w.binary_with("lshr", &rounded, 16);
            return w.select(&is_nan, &nan, &rounded);
        }
        let half = w.number(Element::F32, 0.5_f32.to_bits().into());
        let subnormal = w.bits_as(&size, Element::F32);
        let subnormal = w.binary("fadd", &subnormal, &half);
        let subnormal = w.bits_as(&subnormal, Element::I32);
        let subnormal = w.sub_with(&subnormal, 0x3f00_0000);
        let last = w.binary_with("lshr", &size, 13);
        let last = w.and_with(&last, 1);
        let normal = w.add_with(&size, 0xc800_0fff);
        let normal = w.add(&normal, &last);
        let normal = w.binary_with("lshr", &normal, 13);
        let is_subnormal = w.compare_with("icmp ult", &size, 0x3880_0000);
        let result = w.select(&is_subnormal, &subnormal, &normal);
        let overflows = w.compare_with("icmp uge", &size, 0x477f_f000);
        let infinity = Value::integer(Element::I32, 0x7c00);
        let result = w.select(&overflows, &infinity, &result);
        let sign = w.binary_with("lshr", &bits, 16);
        let sign = w.and_with(&sign, 0x8000);
        let result = w.or(&result, &sign);
        w.select(&is_nan, &nan, &result)
    }

    fn one(self) -> u64 {
        if self == Self::Bf16 { 0x3f80 } else { 0x3c00 }
    }

    /// The smallest normal number.
    fn least(self) -> f32 {
        if self == Self::Bf16 { f32::MIN_POSITIVE } else { 6.103_515_6e-5 }
    }

    /// As [`super::half::Half::round`].
    pub(super) fn round(self, w: &mut Writer, mode: u16, x: &Value) -> Value {
        let near = self.nearest(w, x);
        let rounding = Mode(mode).get_rounding();
        if rounding == Rounding::Nearest {
            return near;
        }
        let back = self.widen(w, &near);
        let [far, exact] = [&back, x].map(|x| w.intrinsic("fabs", &[x]));
        let (short, beyond) = (w.compare("fcmp olt", &far, &exact), w.compare("fcmp ogt", &far, &exact));
        let bits = w.bits_as(x, Element::I32);
        let negative = w.compare_with("icmp slt", &bits, 0);
        let up = Value::integer(Element::I1, 1);
        let outwards = match rounding {
            Rounding::Up => w.xor(&negative, &up),
            Rounding::Down => negative,
            Rounding::Zero | Rounding::Nearest => Value::integer(Element::I1, 0),
        };
        let (more, less) = (w.add_with(&near, 1), w.sub_with(&near, 1));
        let outer = w.select(&short, &more, &near);
        let inner = w.select(&beyond, &less, &near);
        let result = w.select(&outwards, &outer, &inner);
        w.and_with(&result, 0xffff)
    }

    /// As [`super::half::Half::finish`].
    pub(super) fn finish(self, w: &mut Writer, mode: u16, bits: &Value) -> Value {
        let mut result = bits.clone();
        if mode & (Mode::SAT | Mode::RELU) == 0 {
            return result;
        }
        let value = self.widen(w, bits);
        let (zero, one) = (w.number(Element::F32, 0), w.number(Element::F32, 1_f32.to_bits().into()));
        let nothing = Value::integer(Element::I32, 0);
        if mode & Mode::SAT != 0 {
            let (positive, small) = (w.compare("fcmp ogt", &value, &zero), w.compare("fcmp olt", &value, &one));
            let most = Value::integer(Element::I32, self.one());
            let cut = w.select(&small, bits, &most);
            result = w.select(&positive, &cut, &nothing);
        }
        if mode & Mode::RELU != 0 {
            let negative = w.compare("fcmp ole", &value, &zero);
            result = w.select(&negative, &nothing, &result);
        }
        result
    }

    /// As [`super::half::Half::input`].
    pub(super) fn input(self, w: &mut Writer, mode: u16, x: &Value) -> Value {
        let x = self.widen(w, x);
        if mode & Mode::FTZ == 0 {
            return x;
        }
        let size = w.intrinsic("fabs", &[&x]);
        let least = w.number(Element::F32, self.least().to_bits().into());
        let tiny = w.compare("fcmp olt", &size, &least);
        let bits = w.bits_as(&x, Element::I32);
        let sign = w.and_with(&bits, SIGN);
        let bits = w.select(&tiny, &sign, &bits);
        w.bits_as(&bits, Element::F32)
    }

    /// As [`super::half::Half::output`].
    pub(super) fn output(self, w: &mut Writer, mode: u16, x: &Value) -> Value {
        let mut bits = self.nearest(w, x);
        if mode & Mode::FTZ != 0 {
            let scale = w.number(Element::F32, 4096_f32.to_bits().into());
            let scaled = w.binary("fmul", x, &scale);
            let scaled = self.nearest(w, &scaled);
            let scaled = self.widen(w, &scaled);
            let size = w.intrinsic("fabs", &[&scaled]);
            let least = w.number(Element::F32, (self.least() * 4096.0).to_bits().into());
            let tiny = w.compare("fcmp olt", &size, &least);
            let sign = w.and_with(&bits, 0x8000);
            bits = w.select(&tiny, &sign, &bits);
        }
        self.finish(w, mode, &bits)
    }

    /// As [`super::half::Half::output_f64`].
    pub(super) fn output_wide(self, w: &mut Writer, mode: u16, x: &Value) -> Value {
        let odd = to_odd_single(w, x);
        self.output(w, mode, &odd)
    }
}

/// As [`super::float::to_odd_f32`].
pub(super) fn to_odd_single(w: &mut Writer, x: &Value) -> Value {
    let near = w.convert("fptrunc", x, Element::F32);
    let back = wide(w, &near);
    let inexact = w.compare("fcmp one", &back, x);
    let [far, exact] = [&back, x].map(|x| w.intrinsic("fabs", &[x]));
    let short = w.compare("fcmp olt", &far, &exact);
    let bits = w.bits_as(&near, Element::I32);
    let low = w.and_with(&bits, 1);
    let even = w.compare_with("icmp eq", &low, 0);
    let steps = w.and(&inexact, &even);
    let (more, less) = (w.add_with(&bits, 1), w.sub_with(&bits, 1));
    let moved = w.select(&short, &more, &less);
    let bits = w.select(&steps, &moved, &bits);
    w.bits_as(&bits, Element::F32)
}

/// The results for the halves of registers, in one.
pub(super) fn by_halves(w: &mut Writer, x: &[Value], write: impl Fn(&mut Writer, &[Value]) -> Value) -> Value {
    let low: Vec<_> = x.iter().map(|x| w.and_with(x, 0xffff)).collect();
    let high: Vec<_> = x.iter().map(|x| w.binary_with("lshr", x, 16)).collect();
    let (low, high) = (write(w, &low), write(w, &high));
    packed(w, &low, &high)
}

/// Two halves in one register.
pub(super) fn packed(w: &mut Writer, low: &Value, high: &Value) -> Value {
    let high = w.binary_with("shl", high, 16);
    w.or(low, &high)
}

/// A number rounded to an integer as the mode says.
pub(super) fn integral(w: &mut Writer, mode: u16, x: &Value) -> Value {
    let name = match Mode(mode).get_rounding() {
        Rounding::Nearest => "roundeven",
        Rounding::Zero => "trunc",
        Rounding::Down => "floor",
        Rounding::Up => "ceil",
    };
    w.intrinsic(name, &[x])
}
