//! Variables, parameters and functions as they are declared (manual, sections 5.1, 5.4, 11.2 to 11.4).

use std::collections::HashSet;

use rumba_ptx::ast::{
    self, Attribute, Constant, FunctionDirective, FunctionKind, Initializer, Linkage, Literal, StateSpace, Type,
    Variable,
};

use crate::load::verify::Errors;
use crate::lower::availability::Target;
use crate::lower::symbols::{variable_align, variable_bytes};
use crate::machine::special::Special;

/// Bytes of parameters that a kernel may have: before PTX 8.1 or sm_70, and since.
const PARAMETER_BYTES: [u64; 2] = [4352, 32764];
/// Bytes of constants that a module may declare.
pub(super) const CONSTANT_BYTES: u64 = 64 << 10;

/// Where a variable is declared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Outside of any function.
    Module,
    /// In a function's body.
    Body,
    /// In a function's list of parameters.
    Parameter(FunctionKind),
    /// In the list of a prototype, whose names mean nothing.
    Unnamed,
}

/// Checks one declaration.
pub(super) fn variable(variable: &Variable<'_>, level: Level, errors: &mut Errors) {
    let name = variable.name;
    let mut fail = |message: String| errors.add(variable.span, message);
    if let Some(align) = variable.align
        && !align.is_power_of_two()
    {
        fail(format!("the alignment of `{name}` is {align}, which is not a power of two"));
    }
    if variable.ty == Type::Pred && variable.space != StateSpace::Reg {
        fail(format!("the predicate `{name}` can only be a register"));
    }
    let is_parameter = matches!(level, Level::Parameter(_) | Level::Unnamed);
    if matches!(name, "_" | "$" | "WARP_SZ") && level != Level::Unnamed {
        fail(format!("`{name}` is not a name that can be declared"));
    }
    if level == Level::Module && Special::find(name, None).is_some() {
        fail(format!("`{name}` is a special register"));
    }
    if matches!(variable.ty, Type::Bf16 | Type::Bf16x2) {
        fail(format!("`{name}` is declared as {}, which is a type of operands only", variable.ty));
    }
    if variable.vector == Some(8) || variable.vector.is_some() && variable.ty == Type::Pred {
        fail(format!("there are no vectors such as `{name}`: of 2 or 4 elements, not of predicates"));
    }
    if variable.vector.is_some() && variable.space == StateSpace::Param {
        fail(format!("the vector `{name}` cannot be in .param; an array can"));
    }
    if is_parameter && !matches!(variable.space, StateSpace::Param | StateSpace::Reg) {
        fail(format!("the parameter `{name}` is in {}", variable.space));
    }
    if is_parameter && (variable.range.is_some() || variable.dimensions.len() > 1) {
        fail(format!("the parameter `{name}` is more than a scalar, a vector or an array of one dimension"));
    }
    if variable.linkage == Some(Linkage::Common) && variable.space != StateSpace::Global {
        fail(format!("`{name}` is .common and not in .global"));
    }
    if variable.attributes.contains(&Attribute::Managed) && variable.space != StateSpace::Global {
        fail(format!("`{name}` is .managed and not in .global"));
    }
    if variable.dimensions.contains(&Some(0)) && variable.linkage != Some(Linkage::Extern) {
        fail(format!("`{name}` has no elements"));
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
        || variable.space == StateSpace::Param
            && level != Level::Module
            && level != Level::Parameter(FunctionKind::Entry);
    if first_is_open && !may_be_open {
        fail(format!("`{name}` has no size"));
    }
    if variable.space == StateSpace::Const && variable_bytes(variable).is_ok_and(|bytes| bytes > CONSTANT_BYTES) {
        fail(format!("`{name}` is larger than the {CONSTANT_BYTES} bytes of constant memory"));
    }
    if let Some(initializer) = &variable.initializer {
        if variable.linkage == Some(Linkage::Extern) {
            fail(format!("`{name}` is .extern and has an initial value"));
        } else if let Some(message) = misshapen(initializer, &shape(variable)) {
            fail(format!("the initial value of `{name}` {message}"));
        } else if has_address(initializer) && !holds_address(variable.ty) {
            fail(format!("`{name}` has a type that holds no address"));
        } else if !matches!(variable.space, StateSpace::Global | StateSpace::Const) {
            fail(format!("`{name}` lies in a state space whose variables have no initial value"));
        } else if is_integer(variable.ty) && has(initializer, is_float_literal) {
            fail(format!("`{name}` is an integer and its initial value is not"));
        } else if matches!(variable.ty, Type::F16 | Type::F32 | Type::F64) && has(initializer, is_integer_literal) {
            fail(format!("`{name}` is a floating point number and its initial value is not"));
        }
    }
}

/// The numbers of elements that an initial value is nested by.
fn shape(variable: &Variable<'_>) -> Vec<Option<u64>> {
    let vector = variable.vector.map(|elements| Some(u64::from(elements)));
    variable.dimensions.iter().copied().chain(vector).collect()
}

/// The error in the shape of an initial value, as the end of a sentence.
fn misshapen(value: &Initializer<'_>, shape: &[Option<u64>]) -> Option<&'static str> {
    match (value, shape) {
        (Initializer::Fields(_), _) | (Initializer::Constant(_), []) => None,
        (Initializer::Constant(_), _) => Some("is a single one, for an array or a vector"),
        (Initializer::List(_), []) => Some("is a list, for a single element"),
        (Initializer::List(items), [count, inner @ ..]) => {
            if count.is_some_and(|count| items.len() as u64 > count) {
                return Some("has more elements than there are");
            }
            items.iter().find_map(|item| misshapen(item, inner))
        }
    }
}

/// Whether the address of a symbol, or a byte of it, is among the initial values.
fn has_address(initializer: &Initializer<'_>) -> bool {
    match initializer {
        Initializer::Constant(Constant::Symbol(_)) => true,
        Initializer::List(items) => items.iter().any(has_address),
        Initializer::Constant(_) | Initializer::Fields(_) => false,
    }
}

fn holds_address(ty: Type) -> bool {
    !matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64 | Type::F16 | Type::F16x2 | Type::F32 | Type::F64)
}

fn is_integer(ty: Type) -> bool {
    matches!(ty, Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::S8 | Type::S16 | Type::S32 | Type::S64)
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
    if matches!(name, "_" | "$") {
        errors.add(function.name_span, format!("`{name}` is not a name that can be declared"));
    }
    if function.linkage == Some(Linkage::Common) || function.linkage == Some(Linkage::Extern) && function.body.is_some()
    {
        errors.add(
            function.name_span,
            format!("the function `{name}` cannot be .common, nor .extern where it is defined"),
        );
    }
    if function.returns.len() > 1 && function.returns.iter().any(|result| result.space != StateSpace::Reg) {
        errors.add(function.name_span, format!("`{name}` has several results, which have to be registers"));
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
    let mut shapes = [false; 2];
    let has = |wanted: fn(&FunctionDirective<'_>) -> bool| function.directives.iter().any(wanted);
    let (cluster, required) = (
        has(|one| matches!(one, FunctionDirective::ReqNCtaPerCluster(_))),
        has(|one| matches!(one, FunctionDirective::ReqNTid(_))),
    );
    if has(|one| matches!(one, FunctionDirective::BlocksAreClusters)) && !(cluster && required) {
        errors.add(function.name_span, ".blocksareclusters needs .reqntid and .reqnctapercluster");
    }
    if cluster && has(|one| matches!(one, FunctionDirective::MaxClusterRank(_))) {
        errors.add(function.name_span, "a kernel has one of .reqnctapercluster and .maxclusterrank");
    }
    if has(|one| matches!(one, FunctionDirective::MaxNReg(0))) {
        errors.add(function.name_span, "the number of registers cannot be 0");
    }
    if has(|one| matches!(one, FunctionDirective::NoReturn)) && (entry || !function.returns.is_empty()) {
        errors.add(function.name_span, "only a function without results can be .noreturn");
    }
    for directive in &function.directives {
        let (text, only_entry, clusters) = match directive {
            FunctionDirective::MaxNTid(shape) | FunctionDirective::ReqNTid(shape) => {
                shapes[usize::from(matches!(directive, FunctionDirective::ReqNTid(_)))] = true;
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
    if shapes == [true; 2] {
        errors.add(function.name_span, "a kernel has one of .maxntid and .reqntid");
    }
}
