//! What the forms of instructions have in common: how native code computes what the functions of `float` compute.

use crate::base::ir::{Element, Value, Writer};
use crate::isa::float::{Extremum, Mode, NAN_F32, SCALE};

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
    let positive = w.compare("fcmp ogt", x, &zero);
    let x = w.select(&positive, x, &zero);
    let small = w.compare("fcmp olt", &x, &one);
    w.select(&small, &x, &one)
}

fn one(w: &mut Writer, element: Element) -> Value {
    let bits = if element == Element::F64 {
        1_f64.to_bits()
    } else {
        1_f32.to_bits().into()
    };
    w.number(element, bits)
}

/// As [`Mode::input`].
pub(super) fn input(w: &mut Writer, mode: u16, x: &Value) -> Value {
    if mode & Mode::FTZ != 0 { flush(w, x) } else { x.clone() }
}

/// As [`Mode::output`].
pub(super) fn output(w: &mut Writer, mode: u16, x: &Value) -> Value {
    let x = input(w, mode, x);
    if mode & Mode::SAT != 0 {
        saturate(w, &x)
    } else {
        canonical(w, &x)
    }
}

/// As [`Mode::flushed`], given what computes the result times [`SCALE`]² where that is needed.
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
    if mode & Mode::SAT != 0 {
        saturate(w, &x)
    } else {
        canonical(w, &x)
    }
}

/// `x` times [`SCALE`], so many times.
pub(super) fn scaled(w: &mut Writer, x: &Value, times: u32) -> Value {
    let scale = w.number(Element::F32, SCALE.to_bits().into());
    (0..times).fold(x.clone(), |x, _| w.binary("fmul", &x, &scale))
}

/// Whether the bits of an `f64` are those of a NaN.
fn is_nan_f64(w: &mut Writer, bits: &Value) -> Value {
    let magnitude = w.binary_with("and", bits, u64::MAX >> 1);
    w.compare_with("icmp ugt", &magnitude, 0x7ff0_0000_0000_0000)
}

/// As [`super::float::propagate`].
pub(super) fn propagate(w: &mut Writer, r: &Value, a: &Value, b: &Value) -> Value {
    let mut bits = w.bits_as(r, Element::I64);
    for operand in [a, b] {
        let operand = w.bits_as(operand, Element::I64);
        let nan = is_nan_f64(w, &operand);
        let quiet = w.binary_with("or", &operand, 1 << 51);
        bits = w.select(&nan, &quiet, &bits);
    }
    w.bits_as(&bits, Element::F64)
}

/// As [`super::float::extremum`], of `f32`.
pub(super) fn extremum(w: &mut Writer, which: Extremum, a: &Value, b: &Value) -> Value {
    let nan = Value::integer(Element::I32, NAN_F32.to_bits().into());
    let [a_bits, b_bits] = [a, b].map(|x| w.bits_as(x, Element::I32));
    let (low, high) = if which.max {
        (&b_bits, &a_bits)
    } else {
        (&a_bits, &b_bits)
    };
    let equal = w.binary(if which.max { "and" } else { "or" }, &a_bits, &b_bits);
    let greater = w.compare("fcmp olt", b, a);
    let result = w.select(&greater, high, &equal);
    let less = w.compare("fcmp olt", a, b);
    let result = w.select(&less, low, &result);
    let (lone_a, lone_b) = if which.nan { (&nan, &nan) } else { (&a_bits, &b_bits) };
    let [a_nan, b_nan] = [&a_bits, &b_bits].map(|bits| {
        let magnitude = w.binary_with("and", bits, 0x7fff_ffff);
        w.compare_with("icmp ugt", &magnitude, 0x7f80_0000)
    });
    let result = w.select(&b_nan, lone_a, &result);
    let result = w.select(&a_nan, lone_b, &result);
    let both = w.binary("and", &a_nan, &b_nan);
    let result = w.select(&both, &nan, &result);
    w.bits_as(&result, Element::F32)
}

/// The smaller or the larger of two integers, such as by `icmp ult`.
pub(super) fn lesser(w: &mut Writer, less: &str, x: &[Value], max: bool) -> Value {
    let less = w.compare(less, &x[0], &x[1]);
    if max {
        w.select(&less, &x[1], &x[0])
    } else {
        w.select(&less, &x[0], &x[1])
    }
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
    let amount = if bits > 32 {
        w.convert("zext", &amount, a.element())
    } else {
        w.bits_as(&amount, a.element())
    };
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
    let wide = if x[0].element() == Element::I16 {
        Element::I32
    } else {
        Element::I64
    };
    let [a, b] = [&x[0], &x[1]].map(|x| w.convert(extension, x, wide));
    w.binary("mul", &a, &b)
}
