//! Comparisons, shared by `setp` and `set`.

use crate::base::ir::{Form, Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::lane::{Bf16, F16, Lane, Pair};
use crate::exec::shape;
use crate::isa::emit::by_type;
use crate::isa::float::flush;
use crate::isa::half::Half;
use crate::isa::{emit, form};
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;
use crate::machine::op::{Handlers, MaskForm, OpKind, Pc};
use crate::machine::warp::Warp;

/// A comparison of two operands.
#[derive(Clone, Copy)]
pub struct Comparison {
    /// The type of the operands.
    pub ty: ScalarType,
    handlers: Handlers,
    /// Compare `b` with `a`.
    swapped: bool,
    /// The opposite of what the handlers find.
    negated: bool,
    /// For packed types, the handlers for the upper halves.
    upper: Handlers,
}

/// The comparisons that have handlers; all other comparisons swap the operands or negate the result.
#[derive(Clone, Copy)]
enum Basic {
    Equal,
    Less,
    LessOrEqual,
    /// Less or greater: not equal, and not unordered.
    Apart,
    Ordered,
}

impl Comparison {
    /// The comparison of an instruction with placeholder `.CmpOp` whose operands have the type in `placeholder`.
    pub fn of(m: &Matched<'_>, placeholder: &str) -> Result<Self, LowerError> {
        use Basic::{Apart, Equal, Less, LessOrEqual, Ordered};
        let ty = m.ty(placeholder)?;
        let name = m.get("CmpOp").unwrap_or_default();
        let integer = !is_float(ty);
        let (basic, swapped, negated) = match (name, integer) {
            (".eq", _) => (Equal, false, false),
            (".ne", true) | (".neu", false) => (Equal, false, true),
            (".ne", false) => (Apart, false, false),
            (".equ", false) => (Apart, false, true),
            (".lt", _) | (".lo", true) => (Less, false, false),
            (".gt", _) | (".hi", true) => (Less, true, false),
            (".ge" | ".hs", true) | (".geu", false) => (Less, false, true),
            (".le" | ".ls", true) | (".leu", false) => (Less, true, true),
            (".le", false) => (LessOrEqual, false, false),
            (".ge", false) => (LessOrEqual, true, false),
            (".gtu", false) => (LessOrEqual, false, true),
            (".ltu", false) => (LessOrEqual, true, true),
            (".num", false) => (Ordered, false, false),
            (".nan", false) => (Ordered, false, true),
            _ => return Err(emit::no_such(format_args!("{name} of {ty}"))),
        };
        let untyped = matches!(ty, ScalarType::B16 | ScalarType::B32 | ScalarType::B64);
        let unsigned = matches!(name, ".lo" | ".ls" | ".hi" | ".hs");
        if (untyped && !matches!(basic, Equal)) || (unsigned && ty.is_signed()) {
            return Err(emit::no_such(format_args!("{name} of {ty}")));
        }
        let ftz = m.has(".ftz");
        let handlers = if integer { compare_integers(basic, ty)? } else { compare_floats(basic, ty, ftz)? };
        let upper = match ty {
            ScalarType::F16x2 => compare_upper::<F16>(basic, ftz),
            ScalarType::Bf16x2 => compare_upper::<Bf16>(basic, ftz),
            _ => handlers,
        };
        Ok(Self { ty, handlers, swapped, negated, upper })
    }

    /// The same comparison of the upper halves of packed operands.
    pub fn upper(self) -> Self {
        Self { handlers: self.upper, ..self }
    }

    /// Emits the comparison of two places.
    pub fn emit(self, l: &mut Lowering<'_>, dst: VReg, a: VReg, b: VReg) {
        let (a, b) = if self.swapped { (b, a) } else { (a, b) };
        emit::emit(l, self.handlers, u16::from(self.negated), dst, [a, b, VReg::None, VReg::None]);
    }

    /// Emits the comparison of operands `first` and `first + 1` to a new predicate.
    pub fn to_scratch(self, l: &mut Lowering<'_>, first: usize) -> Result<VReg, LowerError> {
        let (a, b) = (l.source(first, self.ty)?, l.source(first + 1, self.ty)?);
        let dst = l.scratch(ScalarType::Pred);
        self.emit(l, dst, a, b);
        Ok(dst)
    }
}

/// The type of the halves, if a type is packed.
pub fn halves(ty: ScalarType) -> Option<ScalarType> {
    match ty {
        ScalarType::F16x2 => Some(ScalarType::F16),
        ScalarType::Bf16x2 => Some(ScalarType::Bf16),
        _ => None,
    }
}

/// Emits the combination of a comparison with operand 3 by `.BoolOp`, if there is one, to both destinations.
///
/// Without a second comparison (of the upper halves), the second destination gets the opposite of the first comparison.
pub fn combine(
    l: &mut Lowering<'_>,
    m: &Matched<'_>,
    (p, q): (VReg, VReg),
    first: VReg,
    second: Option<VReg>,
) -> Result<(), LowerError> {
    let (c, negated) = match m.get("BoolOp") {
        Some(_) => l.predicate_source(3)?,
        None => (first, false),
    };
    let handlers = match m.get("BoolOp") {
        None => combined_by::<{ Operator::None as u8 }>(|w, extra, [a, _]| complement(w, extra & 1, a)),
        Some(_) => m.choose(
            "BoolOp",
            &[
                (".and", combined_by::<{ Operator::And as u8 }>(|w, extra, x| native(w, "and", extra, x))),
                (".or", combined_by::<{ Operator::Or as u8 }>(|w, extra, x| native(w, "or", extra, x))),
                (".xor", combined_by::<{ Operator::Xor as u8 }>(|w, extra, x| native(w, "xor", extra, x))),
            ],
        )?,
    };
    // `c` may be `p` or `q`: it is kept where one combination would overwrite it before the other reads it.
    let c = if p != VReg::None && q != VReg::None && (c == p || c == q) {
        let copy = l.scratch(ScalarType::Pred);
        emit::emit(l, shape::predicates(|a, _| a, |_, _, [a, _]| a.clone()), 0, copy, [c, c, VReg::None, VReg::None]);
        copy
    } else {
        c
    };
    let flags = |opposite: bool| u16::from(opposite) | u16::from(negated) << 1;
    if p != VReg::None {
        emit::emit(l, handlers, flags(false), p, [first, c, VReg::None, VReg::None]);
    }
    if q != VReg::None {
        let a = second.unwrap_or(first);
        emit::emit(l, handlers, flags(second.is_none()), q, [a, c, VReg::None, VReg::None]);
    }
    Ok(())
}

enum Operator {
    None,
    And,
    Or,
    Xor,
}

/// The handlers of [`combined`], and what native code does instead.
fn combined_by<const OPERATOR: u8>(form: MaskForm) -> Handlers {
    Handlers::same(combined::<OPERATOR>).with_kind(OpKind::Masks { form })
}

fn native(w: &mut Writer, operation: &str, extra: u16, [a, b]: [&Value; 2]) -> Value {
    let (a, b) = (complement(w, extra & 1, a), complement(w, extra & 2, b));
    w.binary(operation, &a, &b)
}

fn complement(w: &mut Writer, negates: u16, mask: &Value) -> Value {
    if negates == 0 { mask.clone() } else { w.binary_with("xor", mask, u64::MAX) }
}

/// `dst = a op b`; `extra` bit 0 negates `a`, bit 1 `b`.
unsafe fn combined<const OPERATOR: u8>(warp: &mut Warp, pc: Pc) -> Pc {
    let negate = |mask: u32, bit: u16| if pc.extra & bit != 0 { !mask } else { mask };
    // SAFETY: the caller promises that the operation's predicates are good.
    unsafe {
        let a = negate(warp.predicate(pc.a), 1);
        let b = negate(warp.predicate(pc.b), 2);
        let mask = match OPERATOR {
            x if x == Operator::And as u8 => a & b,
            x if x == Operator::Or as u8 => a | b,
            x if x == Operator::Xor as u8 => a ^ b,
            _ => a,
        };
        warp.set_predicate(pc.dst, mask);
    }
    pc.next()
}

fn is_float(ty: ScalarType) -> bool {
    ty.is_float() || halves(ty).is_some()
}

fn compare_integers(basic: Basic, ty: ScalarType) -> Result<Handlers, LowerError> {
    Ok(match basic {
        Basic::Equal => match ty.bits() {
            16 => shape::compare(|a: u16, b: u16| a == b),
            32 => shape::compare(|a: u32, b: u32| a == b),
            _ => shape::compare(|a: u64, b: u64| a == b),
        }
        .form(|w, _, x| w.compare("icmp eq", &x[0], &x[1])),
        _ => {
            let less = by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::compare(|a: T, b: T| a < b));
            if ty.is_signed() {
                less.form(|w, _, x| w.compare("icmp slt", &x[0], &x[1]))
            } else {
                less.form(|w, _, x| w.compare("icmp ult", &x[0], &x[1]))
            }
        }
    })
}

fn compare_floats(basic: Basic, ty: ScalarType, ftz: bool) -> Result<Handlers, LowerError> {
    Ok(match (ty, ftz) {
        (ScalarType::F32, false) => compare(basic, |a: f32| a).form(form_of_floats(basic)),
        (ScalarType::F32, true) => compare(basic, flush).form(flushed_form(basic)),
        (ScalarType::F64, _) => compare(basic, |a: f64| a).form(form_of_floats(basic)),
        (ScalarType::F16, false) => compare(basic, |a: F16| a.widen()).form(form_of_halves::<false>(basic)),
        (ScalarType::F16, true) => compare(basic, flush_half::<F16>),
        (ScalarType::Bf16, false) => compare(basic, |a: Bf16| a.widen()).form(form_of_halves::<true>(basic)),
        (ScalarType::Bf16, true) => compare(basic, flush_half::<Bf16>),
        (ScalarType::F16x2, false) => compare(basic, |a: Pair<F16>| a.0.widen()),
        (ScalarType::F16x2, true) => compare(basic, |a: Pair<F16>| flush_half(a.0)),
        (ScalarType::Bf16x2, false) => compare(basic, |a: Pair<Bf16>| a.0.widen()),
        (ScalarType::Bf16x2, true) => compare(basic, |a: Pair<Bf16>| flush_half(a.0)),
        (other, _) => return Err(emit::no_such(other)),
    })
}

fn flushed_form(basic: Basic) -> Form {
    fn flushed(w: &mut Writer, comparison: &str, x: &[Value]) -> Value {
        let [a, b] = [&x[0], &x[1]].map(|x| form::flush(w, x));
        w.compare(comparison, &a, &b)
    }
    match basic {
        Basic::Equal => |w, _, x| flushed(w, "fcmp oeq", x),
        Basic::Less => |w, _, x| flushed(w, "fcmp olt", x),
        Basic::LessOrEqual => |w, _, x| flushed(w, "fcmp ole", x),
        Basic::Apart => |w, _, x| flushed(w, "fcmp one", x),
        Basic::Ordered => |w, _, x| flushed(w, "fcmp ord", x),
    }
}

fn form_of_halves<const BF16: bool>(basic: Basic) -> Form {
    fn widened<const BF16: bool>(w: &mut Writer, comparison: &str, x: &[Value]) -> Value {
        let [a, b] = [&x[0], &x[1]].map(|x| form::Half::of(BF16).widen(w, x));
        w.compare(comparison, &a, &b)
    }
    match basic {
        Basic::Equal => |w, _, x| widened::<BF16>(w, "fcmp oeq", x),
        Basic::Less => |w, _, x| widened::<BF16>(w, "fcmp olt", x),
        Basic::LessOrEqual => |w, _, x| widened::<BF16>(w, "fcmp ole", x),
        Basic::Apart => |w, _, x| widened::<BF16>(w, "fcmp one", x),
        Basic::Ordered => |w, _, x| widened::<BF16>(w, "fcmp ord", x),
    }
}

fn form_of_floats(basic: Basic) -> Form {
    match basic {
        Basic::Equal => |w, _, x| w.compare("fcmp oeq", &x[0], &x[1]),
        Basic::Less => |w, _, x| w.compare("fcmp olt", &x[0], &x[1]),
        Basic::LessOrEqual => |w, _, x| w.compare("fcmp ole", &x[0], &x[1]),
        Basic::Apart => |w, _, x| w.compare("fcmp one", &x[0], &x[1]),
        Basic::Ordered => |w, _, x| w.compare("fcmp ord", &x[0], &x[1]),
    }
}

fn compare_upper<T: Half>(basic: Basic, ftz: bool) -> Handlers {
    if ftz { compare(basic, |a: Pair<T>| flush_half(a.1)) } else { compare(basic, |a: Pair<T>| a.1.widen()) }
}

#[inline(always)]
fn flush_half<T: Half>(a: T) -> f32 {
    a.input(crate::isa::float::Mode(crate::isa::float::Mode::FTZ))
}

/// The handlers of a comparison of floating point numbers, after a conversion.
fn compare<A: Lane, N: PartialOrd + Copy, F: Fn(A) -> N + Copy + 'static>(basic: Basic, number: F) -> Handlers {
    match basic {
        Basic::Equal => shape::compare(move |a: A, b: A| number(a) == number(b)),
        Basic::Less => shape::compare(move |a: A, b: A| number(a) < number(b)),
        Basic::LessOrEqual => shape::compare(move |a: A, b: A| number(a) <= number(b)),
        Basic::Apart => shape::compare(move |a: A, b: A| {
            let (a, b) = (number(a), number(b));
            (a < b) | (b < a)
        }),
        // Only NaN is not equal to itself.
        Basic::Ordered => shape::compare(move |a: A, b: A| {
            let (a, b) = (number(a), number(b));
            #[allow(clippy::eq_op, reason = "this is the test for NaN that every format has")]
            ((a == a) & (b == b))
        }),
    }
}
