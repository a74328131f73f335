//! Variables, parameters and functions as they are declared (manual, sections 5.1, 5.4, 11.2 to 11.4).

use std::collections::HashSet;

use rumba_ptx::ast::{
    self, Constant, FunctionDirective, FunctionKind, Initializer, Linkage, Literal, StateSpace, Type, Variable,
};

use super::{Errors, Target};
use crate::symbols::{variable_align, variable_bytes};

/// Bytes of parameters that a kernel may have: before PTX 8.1 or sm_70, and since.
const PARAMETER_BYTES: [u64; 2] = [4352, 32764];
/// Bytes of constants that a module may declare.
const CONSTANT_BYTES: u64 = 64 << 10;

/// Where a variable is declared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Outside of any function.
    Module,
    /// In a function's body.
    Body,
    /// In a function's list of parameters.
    Parameter(FunctionKind),
}

/// Checks one declaration.
pub(super) fn variable(variable: &Variable<'_>, level: Level, errors: &mut Errors) {
    let name = variable.name;
    let mut fail = |message: String| errors.add(variable.span, message);
    if let Some(align) = variable.align
        && !align.is_power_of_two()
    {
        fail(format!(
            "the alignment of `{name}` is {align}, which is not a power of two"
        ));
    }
    if variable.ty == Type::Pred && variable.space != StateSpace::Reg {
        fail(format!("the predicate `{name}` can only be a register"));
    }
    if variable.space == StateSpace::Reg && !variable.dimensions.is_empty() {
        fail(format!("`{name}` is an array, which a register cannot be"));
    }
    if let Level::Parameter(FunctionKind::Entry) = level
        && variable.space != StateSpace::Param
    {
        fail(format!("`{name}` is a kernel's parameter and must be in .param"));
    }
    let first_is_open = variable.dimensions.first() == Some(&None);
    let may_be_open = variable.initializer.is_some()
        || variable.linkage == Some(Linkage::Extern)
        || level != Level::Module && variable.space == StateSpace::Param;
    if first_is_open && !may_be_open {
        fail(format!("`{name}` has no size"));
    }
    if variable.space == StateSpace::Const && variable_bytes(variable).is_ok_and(|bytes| bytes > CONSTANT_BYTES) {
        fail(format!(
            "`{name}` is larger than the {CONSTANT_BYTES} bytes of constant memory"
        ));
    }
    if let Some(initializer) = &variable.initializer {
        if !matches!(variable.space, StateSpace::Global | StateSpace::Const) {
            fail(format!(
                "`{name}` lies in a state space whose variables have no initial value"
            ));
        } else if is_integer(variable.ty) && has(initializer, is_float_literal) {
            fail(format!("`{name}` is an integer and its initial value is not"));
        } else if matches!(variable.ty, Type::F16 | Type::F32 | Type::F64) && has(initializer, is_integer_literal) {
            fail(format!(
                "`{name}` is a floating point number and its initial value is not"
            ));
        }
    }
}

fn is_integer(ty: Type) -> bool {
    matches!(
        ty,
        Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::S8 | Type::S16 | Type::S32 | Type::S64
    )
}

fn has(initializer: &Initializer<'_>, kind: fn(&Literal) -> bool) -> bool {
    match initializer {
        Initializer::Constant(Constant::Literal(literal)) => kind(literal),
        Initializer::List(items) => items.iter().any(|item| has(item, kind)),
        Initializer::Constant(_) | Initializer::Fields(_) => false,
    }
}

fn is_float_literal(literal: &Literal) -> bool {
    matches!(literal, Literal::F32(_) | Literal::F64(_))
}

fn is_integer_literal(literal: &Literal) -> bool {
    matches!(literal, Literal::Integer { .. })
}

/// Checks a function's head.
pub(super) fn function(function: &ast::Function<'_>, target: Target, errors: &mut Errors) {
    let entry = function.kind == FunctionKind::Entry;
    let name = function.name;
    if entry && !function.returns.is_empty() {
        errors.add(function.name_span, format!("the kernel `{name}` cannot return a value"));
    }
    let mut names = HashSet::new();
    for parameter in function.returns.iter().chain(&function.parameters) {
        variable(parameter, Level::Parameter(function.kind), errors);
        if parameter.name != "_" && !names.insert(parameter.name) {
            errors.add(parameter.name_span, format!("`{}` is declared twice", parameter.name));
        }
    }
    if entry {
        let bytes = function.parameters.iter().fold(0_u64, |end, parameter| {
            end.next_multiple_of(variable_align(parameter)) + variable_bytes(parameter).unwrap_or(0)
        });
        let limit = PARAMETER_BYTES[usize::from(target.number >= 70)];
        if bytes > limit {
            errors.add(
                function.name_span,
                format!("`{name}` has {bytes} bytes of parameters; a kernel can have {limit}"),
            );
        }
    }
    directives(function, entry, target, errors);
}

fn directives(function: &ast::Function<'_>, entry: bool, target: Target, errors: &mut Errors) {
    let mut shapes = 0;
    for directive in &function.directives {
        let (text, only_entry, clusters) = match directive {
            FunctionDirective::MaxNTid(shape) | FunctionDirective::ReqNTid(shape) => {
                shapes += 1;
                if shape.contains(&0) {
                    errors.add(function.name_span, "the size of a block cannot be 0");
                }
                (".maxntid", true, false)
            }
            FunctionDirective::ReqNCtaPerCluster(_) | FunctionDirective::ExplicitCluster => {
                (".reqnctapercluster", true, true)
            }
            FunctionDirective::MaxClusterRank(_) | FunctionDirective::BlocksAreClusters => {
                (".maxclusterrank", true, true)
            }
            FunctionDirective::MinNCtaPerSm(_) | FunctionDirective::MaxNCtaPerSm(_) => (".minnctapersm", true, false),
            FunctionDirective::MaxNReg(_) => (".maxnreg", true, false),
            FunctionDirective::NoReturn
            | FunctionDirective::Pragma(_)
            | FunctionDirective::AbiPreserve(_)
            | FunctionDirective::AbiPreserveControl(_) => continue,
        };
        if only_entry && !entry {
            errors.add(function.name_span, format!("`{text}` and its like belong to kernels"));
        }
        if clusters && target.number < 90 {
            errors.add(function.name_span, format!("`{text}` needs .target sm_90 or later"));
        }
    }
    if shapes > 1 {
        errors.add(
            function.name_span,
            "a kernel has one of .maxntid and .reqntid, and once",
        );
    }
}
