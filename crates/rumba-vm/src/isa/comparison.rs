//! Comparisons, shared by `setp` and `set`.

use crate::arith::float::{Mode, flush};
use crate::arith::{Arith, U32};
use crate::base::types::ScalarType;
use crate::exec::lane::{Bf16, F16};
use crate::exec::shape;
use crate::exec::shape::{function, half};
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;
use crate::machine::op::Handlers;

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
            ScalarType::F16x2 | ScalarType::Bf16x2 => compare_upper(basic, ty, ftz),
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
        None => shape::masks(function!(extra; |a: u32, _b: u32| -> u32 { complement(extra & 1, a) })),
        Some(_) => {
            let and = function!(extra; |a: u32, b: u32| -> u32 { complement(extra & 1, a) & complement(extra & 2, b) });
            let or = function!(extra; |a: u32, b: u32| -> u32 { complement(extra & 1, a) | complement(extra & 2, b) });
            let xor = function!(extra; |a: u32, b: u32| -> u32 { complement(extra & 1, a) ^ complement(extra & 2, b) });
            m.choose("BoolOp", &[(".and", shape::masks(and)), (".or", shape::masks(or)), (".xor", shape::masks(xor))])?
        }
    };
    // `c` may be `p` or `q`: it is kept where one combination would overwrite it before the other reads it.
    let c = if p != VReg::None && q != VReg::None && (c == p || c == q) {
        let copy = l.scratch(ScalarType::Pred);
        let whole = shape::masks(function!(|a: u32, _b: u32| -> u32 { a }));
        emit::emit(l, whole, 0, copy, [c, c, VReg::None, VReg::None]);
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

/// A mask, or its complement.
#[inline(always)]
fn complement<A: Arith>(negates: u16, mask: U32<A>) -> U32<A> {
    if negates == 0 { mask } else { !mask }
}

fn is_float(ty: ScalarType) -> bool {
    ty.is_float() || halves(ty).is_some()
}

fn compare_integers(basic: Basic, ty: ScalarType) -> Result<Handlers, LowerError> {
    Ok(match basic {
        Basic::Equal => match ty.bits() {
            16 => shape::test(function!(|a: u16, b: u16| -> bool { a.eq(b) })),
            32 => shape::test(function!(|a: u32, b: u32| -> bool { a.eq(b) })),
            _ => shape::test(function!(|a: u64, b: u64| -> bool { a.eq(b) })),
        },
        _ => by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::test(function!(|a: T, b: T| -> bool { a.lt(b) }))),
    })
}

/// The handlers of a comparison of floating-point numbers, to which an expression converts operands of a type:
/// `compare!(basic, |x: type| expression)`.
macro_rules! compare {
    ($basic:expr, |$x:ident: $T:ty| $number:expr) => {{
        macro_rules! test {
            ($a:ident, $b:ident, $result:expr) => {
                shape::test(function!(|a: $T, b: $T| -> bool {
                    let $a = {
                        let $x = a;
                        $number
                    };
                    let $b = {
                        let $x = b;
                        $number
                    };
                    $result
                }))
            };
        }
        match $basic {
            Basic::Equal => test!(a, b, a.eq(b)),
            Basic::Less => test!(a, b, a.lt(b)),
            Basic::LessOrEqual => test!(a, b, a.le(b)),
            Basic::Apart => test!(a, b, a.lt(b) | b.lt(a)),
            Basic::Ordered => test!(a, b, !(a.is_nan() | b.is_nan())),
        }
    }};
}

fn compare_floats(basic: Basic, ty: ScalarType, ftz: bool) -> Result<Handlers, LowerError> {
    Ok(match (ty, ftz) {
        (ScalarType::F32, false) => compare!(basic, |x: f32| x),
        (ScalarType::F32, true) => compare!(basic, |x: f32| flush(x)),
        (ScalarType::F64, _) => compare!(basic, |x: f64| x),
        (ScalarType::F16, false) => compare!(basic, |x: F16| x.single()),
        (ScalarType::F16, true) => compare!(basic, |x: F16| x.input(FTZ)),
        (ScalarType::Bf16, false) => compare!(basic, |x: Bf16| x.single()),
        (ScalarType::Bf16, true) => compare!(basic, |x: Bf16| x.input(FTZ)),
        (ScalarType::F16x2, false) => compare!(basic, |x: u32| half::<_, F16>(x, false).single()),
        (ScalarType::F16x2, true) => compare!(basic, |x: u32| half::<_, F16>(x, false).input(FTZ)),
        (ScalarType::Bf16x2, false) => compare!(basic, |x: u32| half::<_, Bf16>(x, false).single()),
        (ScalarType::Bf16x2, true) => compare!(basic, |x: u32| half::<_, Bf16>(x, false).input(FTZ)),
        (other, _) => return Err(emit::no_such(other)),
    })
}

/// The handlers for the upper halves of a packed type.
fn compare_upper(basic: Basic, ty: ScalarType, ftz: bool) -> Handlers {
    match (ty, ftz) {
        (ScalarType::F16x2, false) => compare!(basic, |x: u32| half::<_, F16>(x, true).single()),
        (ScalarType::F16x2, true) => compare!(basic, |x: u32| half::<_, F16>(x, true).input(FTZ)),
        (_, false) => compare!(basic, |x: u32| half::<_, Bf16>(x, true).single()),
        (_, true) => compare!(basic, |x: u32| half::<_, Bf16>(x, true).input(FTZ)),
    }
}

/// The mode of operands that are flushed.
const FTZ: Mode = Mode(Mode::FTZ);
