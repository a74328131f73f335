//! From an instruction of the syntax tree to operations: the interface that instruction files use.
//!
//! Slots are virtual here; liveness and slot assignment come afterwards, and so does the order of blocks. Nothing here
//! knows what an instruction means.

use std::collections::HashMap;

use rumba_ptx::Diagnostic;
use rumba_ptx::ast::{self, Literal, OperandKind, Span};
use thiserror::Error;

use crate::fit;
use crate::isa::instruction::{Names, Occurrence};
use crate::isa::shape;
use crate::op::Handlers;
use crate::program::{Class, Fixed, Pool};
use crate::scope::{Binding, Register, Scope};
use crate::special::Special;
use crate::survey::Survey;
use crate::symbols::Located;
use crate::types::ScalarType;

/// Where an operand lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Not used.
    None,
    /// A virtual slot: a register, a constant, a scratch value.
    Slot(u32),
    /// A predicate.
    Predicate(u16),
}

/// Marks a virtual slot that belongs to the program and is filled by the launch.
pub(crate) const FIXED: u32 = 1 << 31;

impl Place {
    /// Whether it is a slot that the launch fills and that no operation writes.
    pub(crate) fn is_fixed(self) -> bool {
        matches!(self, Self::Slot(slot) if slot & FIXED != 0)
    }
}

/// An operation whose operands are places.
#[derive(Clone, Copy)]
pub struct Draft {
    /// What it does.
    pub handlers: Handlers,
    /// The destination.
    pub dst: Place,
    /// The first source.
    pub a: Place,
    /// The second source.
    pub b: Place,
    /// The third source.
    pub c: Place,
    /// The fourth source.
    pub d: Place,
    /// Which of `dst`, `a`, `b`, `c`, `d` are written instead of read: bits 0 to 4.
    pub defines: u8,
    /// See [`crate::op::Op::extra`].
    pub extra: u16,
    /// See [`crate::op::Op::imm`].
    pub imm: u64,
    /// Bytes of each of the values that a load or store moves between memory and its places other than `a`; 0 if it is none.
    pub moves: u8,
}

/// For [`Draft::defines`]: `dst` and `c`.
pub(crate) const DST_AND_C: u8 = 0b1001;

impl Draft {
    /// An operation without operands.
    pub const fn new(handlers: Handlers) -> Self {
        let none = Place::None;
        Self {
            handlers,
            dst: none,
            a: none,
            b: none,
            c: none,
            d: none,
            defines: 1,
            extra: 0,
            imm: 0,
            moves: 0,
        }
    }

    /// `dst = f(a)`
    pub const fn unary(handlers: Handlers, dst: Place, a: Place) -> Self {
        Self {
            dst,
            a,
            ..Self::new(handlers)
        }
    }

    /// `dst = f(a, b)`
    pub const fn binary(handlers: Handlers, dst: Place, a: Place, b: Place) -> Self {
        Self {
            dst,
            a,
            b,
            ..Self::new(handlers)
        }
    }

    /// `dst = f(a, b, c)`
    pub const fn ternary(handlers: Handlers, dst: Place, a: Place, b: Place, c: Place) -> Self {
        Self {
            dst,
            a,
            b,
            c,
            ..Self::new(handlers)
        }
    }

    /// Its places, in the order of the bits of `defines`.
    pub(crate) fn places(&self) -> [Place; 5] {
        [self.dst, self.a, self.b, self.c, self.d]
    }
}

/// Why an instruction cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct LowerError {
    /// A sentence that names the cause.
    pub message: String,
    /// The operand at fault, if it is one of them.
    pub(crate) span: Option<Span>,
    /// What to do about it.
    pub(crate) help: Option<String>,
}

impl LowerError {
    /// An error with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            span: None,
            help: None,
        }
    }

    /// The same with advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same about a place.
    #[must_use]
    pub(crate) fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
    }

    /// The same as a diagnostic, which stands at `span` if nothing closer is known.
    pub(crate) fn into_diagnostic(self, span: Span) -> Diagnostic {
        let diagnostic = Diagnostic::new(self.span.unwrap_or(span), self.message);
        match self.help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }
}

/// Index of a label of the function.
pub(crate) type LabelId = u32;

/// Where control goes after an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Control {
    /// To the next operation.
    Next,
    /// To the next operation, but the operation may have to wait for other lanes and then runs again.
    Park,
    /// To a label.
    Jump(LabelId),
    /// To a label for the lanes of the predicate in `a`, negated if `extra` is not 0; on for the others.
    Branch(LabelId),
    /// To one of the labels, by the index in `a`.
    Table(Vec<LabelId>),
    /// To a function of the program, and then on.
    Call(usize),
    /// To a function that is found at run time, and then on.
    CallIndirect,
    /// On, having made or given back the function's frame.
    Frame,
    /// Nowhere within this function.
    End,
}

/// What a function is made of before its blocks are ordered.
#[derive(Clone)]
pub(crate) enum Node {
    /// A label.
    Label(LabelId),
    /// An operation.
    Op {
        draft: Draft,
        control: Control,
        /// Index of the PTX instruction.
        source: u32,
        /// Whether lanes may pass it without executing it, so that it does not end what was in `dst` before.
        conditional: bool,
    },
}

/// A function being lowered.
#[derive(Default)]
pub(crate) struct Function<'m> {
    /// Index in the program.
    pub(crate) index: usize,
    pub(crate) is_entry: bool,
    pub(crate) name: &'m str,
    /// Which source it stands in.
    pub(crate) source: usize,
    pub(crate) nodes: Vec<Node>,
    /// Virtual slots.
    pub(crate) classes: Vec<Class>,
    /// Number of predicates; the first two are the constants.
    pub(crate) predicates: u16,
    pub(crate) scopes: Vec<Scope<'m>>,
    pub(crate) registers: Vec<Register<'m>>,
    /// Labels: their names, and whether they stand in the body.
    pub(crate) labels: Vec<ast::Label<'m>>,
    /// What its body does with names.
    pub(crate) survey: Survey<'m>,
    /// Bytes of local memory, and the alignment that they want.
    pub(crate) frame_bytes: u64,
    pub(crate) frame_align: u64,
    /// The start of the frame, in functions that are not entries.
    pub(crate) frame: Option<Place>,
    pub(crate) calls: Vec<usize>,
    pub(crate) calls_indirectly: bool,
    pub(crate) has_alloca: bool,
    /// Whether there is a label or a jump so far.
    pub(crate) branches: bool,
    /// The instructions by their index in the program's table, if the checks want to know them.
    pub(crate) occurrences: HashMap<u32, Occurrence>,
    /// Declared return and input parameters.
    pub(crate) returns: Vec<Binding<'m>>,
    pub(crate) parameters: Vec<Binding<'m>>,
}

impl Function<'_> {
    /// The instruction of an index in the program's table.
    pub(crate) fn occurrence(&self, source: u32) -> Occurrence {
        self.occurrences.get(&source).copied().unwrap_or_default()
    }
}

/// A program being lowered, at one instruction.
pub struct Lowering<'m> {
    pub(crate) pool: Pool<'m>,
    pub(crate) function: Function<'m>,
    pub(crate) instruction: Option<&'m ast::Instruction<'m>>,
    /// What its operands may name besides registers.
    pub(crate) names: Names,
    /// Index of the PTX instruction in the program's table.
    pub(crate) source: u32,
    /// What follows the instruction's own operations.
    pub(crate) fixups: Vec<Draft>,
    /// The guard, until the instruction takes care of it itself.
    pub(crate) guard: Option<(Place, bool)>,
    /// Instructions that the machine does not execute, with the source that they stand in.
    pub(crate) unsupported: Vec<Located>,
}

/// What an operand without a slot of its own turns out to be.
pub(crate) enum Source {
    Register(usize),
    Place(Place, ScalarType),
}

impl<'m> Lowering<'m> {
    /// A program without functions.
    pub(crate) fn new(pool: Pool<'m>) -> Self {
        Self {
            pool,
            function: Function::default(),
            instruction: None,
            names: Names::Values,
            source: 0,
            fixups: Vec::new(),
            guard: None,
            unsupported: Vec::new(),
        }
    }

    /// How many operands the instruction has, as written, destinations included.
    pub fn operand_count(&self) -> usize {
        self.instruction.map_or(0, |instruction| instruction.operands.len())
    }

    /// The instruction's modifiers as written, each with its dot.
    pub(crate) fn modifiers(&self) -> &'m [&'m str] {
        self.instruction
            .map_or(&[], |instruction| &instruction.opcode.modifiers)
    }

    pub(crate) fn operand(&self, index: usize) -> Result<&'m ast::Operand<'m>, LowerError> {
        self.instruction
            .and_then(|instruction| instruction.operands.get(index))
            .ok_or_else(|| LowerError::new(format!("operand {} is missing", index + 1)))
    }

    /// Operand `index` as destination of a value of type `ty`; the register has exactly that width.
    pub fn destination(&mut self, index: usize, ty: ScalarType) -> Result<Place, LowerError> {
        let operand = self.operand(index)?;
        self.destination_operand(operand, ty, false)
    }

    /// Operand `index` as destination of a value of type `ty`; the register may be wider (`cvt`, `ld`): the value is
    /// then sign- or zero-extended as `ty` says.
    pub fn wide_destination(&mut self, index: usize, ty: ScalarType) -> Result<Place, LowerError> {
        let operand = self.operand(index)?;
        self.destination_operand(operand, ty, true)
    }

    /// The two halves of an operand written `p|q`; a half that is missing or `_` is [`Place::None`].
    /// Either half may be a predicate or, for type `ty`, a register.
    pub fn destination_pair(&mut self, index: usize, ty: ScalarType) -> Result<(Place, Place), LowerError> {
        let operand = self.operand(index)?;
        let OperandKind::Pair(pair) = &operand.kind else {
            return Ok((self.half(operand, ty)?, Place::None));
        };
        Ok((self.half(&pair[0], ty)?, self.half(&pair[1], ty)?))
    }

    fn half(&mut self, operand: &'m ast::Operand<'m>, ty: ScalarType) -> Result<Place, LowerError> {
        if let OperandKind::Name("_") = operand.kind {
            return Ok(Place::None);
        }
        match self.register_of(operand)? {
            Some(register) if self.function.registers[register].ty == ScalarType::Pred => {
                Ok(self.function.registers[register].place)
            }
            _ => self.destination_operand(operand, ty, false),
        }
    }

    /// Operand `index` as source of type `ty`: a register of that width or an immediate (which becomes a constant).
    /// For [`ScalarType::Pred`] a predicate that is not negated, or 0/1.
    pub fn source(&mut self, index: usize, ty: ScalarType) -> Result<Place, LowerError> {
        let operand = self.operand(index)?;
        self.source_operand(operand, ty, false)
    }

    /// Like [`Self::source`], but the register may be wider (`cvt`, `st`): the low bits count.
    pub fn wide_source(&mut self, index: usize, ty: ScalarType) -> Result<Place, LowerError> {
        let operand = self.operand(index)?;
        self.source_operand(operand, ty, true)
    }

    /// Operand `index` as predicate source that may be written `!p`: the predicate, and whether it is negated.
    pub fn predicate_source(&mut self, index: usize) -> Result<(Place, bool), LowerError> {
        let operand = self.operand(index)?;
        match &operand.kind {
            OperandKind::Not(inner) => Ok((self.source_operand(inner, ScalarType::Pred, false)?, true)),
            _ => Ok((self.source_operand(operand, ScalarType::Pred, false)?, false)),
        }
    }

    /// The value of operand `index` if it is an integer literal.
    pub fn literal(&self, index: usize) -> Option<i128> {
        match self.operand(index).ok()?.kind {
            OperandKind::Literal(Literal::Integer { value, unsigned }) => Some(if unsigned {
                i128::from(value)
            } else {
                i128::from(value.cast_signed())
            }),
            _ => None,
        }
    }

    /// An error if operand `index` is an integer literal beyond `last`.
    pub(crate) fn expect_at_most(&self, index: usize, last: i128) -> Result<(), LowerError> {
        match self.literal(index) {
            Some(value) if !(0..=last).contains(&value) => {
                let message = format!("{value} is out of range: from 0 to {last} is possible here");
                Err(LowerError::new(message).at(self.operand(index)?.span))
            }
            _ => Ok(()),
        }
    }

    /// A constant of type `ty` with these bits in every lane.
    pub fn constant(&mut self, ty: ScalarType, bits: u128) -> Place {
        if ty == ScalarType::Pred {
            return self.constant_predicate(bits & 1 != 0);
        }
        let mask = if ty.bits() == 128 {
            u128::MAX
        } else {
            (1 << ty.bits()) - 1
        };
        self.pool.fixed(Class::of(ty), Fixed::Constant(bits & mask))
    }

    /// The predicate that is always `value`.
    pub fn constant_predicate(&mut self, value: bool) -> Place {
        Place::Predicate(u16::from(value))
    }

    /// A value that lives within this instruction only.
    pub fn scratch(&mut self, ty: ScalarType) -> Place {
        if ty == ScalarType::Pred {
            return self.new_predicate();
        }
        self.new_slot(Class::of(ty))
    }

    /// Appends an operation.
    pub fn emit(&mut self, draft: Draft) {
        self.emit_control(draft, Control::Next);
    }

    /// Appends an operation that decides where control goes.
    pub(crate) fn emit_control(&mut self, draft: Draft, control: Control) {
        self.function.branches |= !matches!(control, Control::Next | Control::Park | Control::Frame);
        self.function.nodes.push(Node::Op {
            draft,
            control,
            source: self.source,
            conditional: false,
        });
    }

    /// Takes the guard over: the instruction deals with it.
    pub(crate) fn take_guard(&mut self) -> Option<(Place, bool)> {
        self.guard.take()
    }

    /// Places a label that no one but the caller knows.
    pub(crate) fn new_label(&mut self) -> LabelId {
        let span = self.instruction.map(|instruction| instruction.span).unwrap_or_default();
        self.function.labels.push(ast::Label { name: "", span });
        (self.function.labels.len() - 1) as LabelId
    }

    pub(crate) fn new_slot(&mut self, class: Class) -> Place {
        self.function.classes.push(class);
        Place::Slot((self.function.classes.len() - 1) as u32)
    }

    pub(crate) fn new_predicate(&mut self) -> Place {
        let index = self.function.predicates;
        self.function.predicates = self.function.predicates.saturating_add(1);
        Place::Predicate(index)
    }

    /// Lets the register of operand `index` stand for `place` instead of being written, where that is possible: the
    /// register has no other definition and was not used yet.
    pub(crate) fn alias(&mut self, index: usize, place: Place, ty: ScalarType) -> bool {
        let Ok(operand) = self.operand(index) else { return false };
        let OperandKind::Name(name) = operand.kind else {
            return false;
        };
        let Ok(Some(register)) = self.register_of(operand) else {
            return false;
        };
        let register = &mut self.function.registers[register];
        if fit::register(name, register.ty, ty, false).is_err() {
            return false;
        }
        let once = self.function.survey.definitions.get(name) == Some(&1);
        // Where it may not come by here, the register may hold nothing.
        let skipped = self.pool.instruments.registers && self.function.branches;
        if skipped || self.guard.is_some() || !once || register.used || !place.is_fixed() {
            return false;
        }
        register.place = place;
        true
    }

    /// The register that an operand names.
    pub(crate) fn register_of(&mut self, operand: &'m ast::Operand<'m>) -> Result<Option<usize>, LowerError> {
        match operand.kind {
            OperandKind::Name(name) => match self.lookup(name) {
                Some(Binding::Register(register)) => Ok(Some(register)),
                Some(_) => Ok(None),
                None if Special::find(name, None).is_some() => Ok(None),
                None => Err(self.unknown(name).at(operand.span)),
            },
            OperandKind::Member(name, member) => match self.lookup(name) {
                Some(Binding::Vector(registers)) => {
                    let lane = match member {
                        ".x" | ".r" => 0,
                        ".y" | ".g" => 1,
                        ".z" | ".b" => 2,
                        _ => 3,
                    };
                    registers.get(lane).map(|register| Some(*register)).ok_or_else(|| {
                        LowerError::new(format!("`{name}` has no component `{member}`")).at(operand.span)
                    })
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The type of the register that an operand names.
    pub(crate) fn register_type(&mut self, operand: &'m ast::Operand<'m>) -> Result<Option<ScalarType>, LowerError> {
        Ok(self
            .register_of(operand)?
            .map(|register| self.function.registers[register].ty))
    }

    pub(crate) fn unknown(&self, name: &str) -> LowerError {
        LowerError::new(format!("`{name}` is not declared"))
    }

    pub(crate) fn destination_operand(
        &mut self,
        operand: &'m ast::Operand<'m>,
        ty: ScalarType,
        wide: bool,
    ) -> Result<Place, LowerError> {
        if let OperandKind::Name("_") = operand.kind {
            return Ok(self.scratch(ty));
        }
        let Some(register) = self.register_of(operand)? else {
            return Err(LowerError::new("a register is needed here, for the result").at(operand.span));
        };
        let register = &self.function.registers[register];
        let (place, declared) = (register.place, register.ty);
        if place.is_fixed() {
            let message = format!("`{}` is written twice, in a way that was not foreseen", register.name);
            return Err(LowerError::new(message).at(operand.span));
        }
        fit::register(register.name, declared, ty, wide).map_err(|error| error.at(operand.span))?;
        if declared.bits() == ty.bits() || (Class::of(declared) == Class::of(ty) && !ty.is_signed()) {
            return Ok(place);
        }
        let (from, to) = (Class::of(ty), Class::of(declared));
        let value = if from == to { place } else { self.new_slot(from) };
        let extend = extension(ty, declared).ok_or_else(|| {
            LowerError::new(format!("a value of type {ty} cannot be extended to {declared}")).at(operand.span)
        })?;
        self.fixups.push(Draft::unary(extend, place, value));
        Ok(value)
    }

    pub(crate) fn source_operand(
        &mut self,
        operand: &'m ast::Operand<'m>,
        ty: ScalarType,
        wide: bool,
    ) -> Result<Place, LowerError> {
        let source = self.resolve(operand, ty).map_err(|error| error.at(operand.span))?;
        let (place, declared) = match source {
            Source::Register(register) => {
                let register = &mut self.function.registers[register];
                register.used = true;
                let name = register.name;
                let (place, declared) = (register.place, register.ty);
                fit::register(name, declared, ty, wide).map_err(|error| error.at(operand.span))?;
                (place, declared)
            }
            Source::Place(place, declared) => (place, declared),
        };
        self.narrow(place, declared, ty).map_err(|error| error.at(operand.span))
    }

    /// A value of type `declared` read as `ty`, which is not wider, or as the address of something.
    fn narrow(&mut self, place: Place, declared: ScalarType, ty: ScalarType) -> Result<Place, LowerError> {
        let (from, to) = (Class::of(declared), Class::of(ty));
        if from == to || declared == ScalarType::Pred {
            return Ok(place);
        }
        let handlers = match (from, to) {
            (Class::W64, Class::W32) => shape::unary(|value: u64| value as u32),
            (Class::W32, Class::W64) => shape::unary(|value: u32| u64::from(value)),
            _ => {
                return Err(LowerError::new(format!(
                    "a value of type {declared} cannot be read as {ty}"
                )));
            }
        };
        let value = self.new_slot(to);
        self.emit(Draft::unary(handlers, value, place));
        Ok(value)
    }

    fn resolve(&mut self, operand: &'m ast::Operand<'m>, ty: ScalarType) -> Result<Source, LowerError> {
        match &operand.kind {
            OperandKind::Literal(literal) => {
                let bits = fit::literal(*literal, ty)?;
                Ok(Source::Place(self.constant(ty, bits), ty))
            }
            OperandKind::Name(_) | OperandKind::Member(..) => {
                if let Some(register) = self.register_of(operand)? {
                    return Ok(Source::Register(register));
                }
                let (name, member) = match operand.kind {
                    OperandKind::Member(name, member) => (name, Some(member)),
                    OperandKind::Name(name) => (name, None),
                    _ => return Err(LowerError::new("a name is needed here")),
                };
                if let Some((special, declared)) = Special::find(name, member) {
                    self.check_special(name, declared, ty)?;
                    return Ok(Source::Place(self.special(special, declared), declared));
                }
                if member.is_some() {
                    return Err(LowerError::new(format!("`{name}` is not known")));
                }
                self.address_operand(name, 0, ty)
            }
            OperandKind::Offset(name, addend) => self.address_operand(name, *addend, ty),
            OperandKind::Not(inner) if ty == ScalarType::Pred => {
                let value = self.source_operand(inner, ty, false)?;
                let not = self.new_predicate();
                self.emit(Draft::unary(shape::predicates(|value, _| !value), not, value));
                Ok(Source::Place(not, ty))
            }
            OperandKind::Not(_) | OperandKind::Negative(_) => Err(LowerError::new("this cannot be negated")),
            OperandKind::Vector(_) => Err(LowerError::new("a vector cannot be used here")),
            OperandKind::Element(element) => {
                let address = self.element(element)?;
                Ok(Source::Place(self.sum(address), ScalarType::U64))
            }
            OperandKind::Address(_) | OperandKind::Pair(_) | OperandKind::List(_) => {
                Err(LowerError::new("a register or an immediate value is needed here"))
            }
        }
    }

    /// A special register is read as what it is, by instructions that can.
    fn check_special(&self, name: &str, declared: ScalarType, ty: ScalarType) -> Result<(), LowerError> {
        if !self.names.has_specials() {
            return Err(LowerError::new(format!(
                "the special register `{name}` can only be read by mov"
            )));
        }
        fit::register(name, declared, ty, false)
    }

    fn special(&mut self, special: Special, ty: ScalarType) -> Place {
        if !special.is_dynamic() {
            return self.pool.fixed(Class::of(ty), Fixed::Special(special));
        }
        let value = self.scratch(ty);
        self.emit(Draft {
            dst: value,
            ..crate::clock::read(special)
        });
        value
    }
}

/// How a value of type `ty` becomes one of the width of `declared`.
fn extension(ty: ScalarType, declared: ScalarType) -> Option<Handlers> {
    let handlers = match (ty.bits(), declared.bits(), ty.is_signed()) {
        (8, 16, true) => shape::unary(|value: u32| u32::from(value as i8 as u16)),
        (8, 32, true) => shape::unary(|value: u32| value as i8 as u32),
        (8, 64, true) => shape::unary(|value: u32| value as i8 as u64),
        (16, 32, true) => shape::unary(|value: u32| value as i16 as u32),
        (16, 64, true) => shape::unary(|value: u32| value as i16 as u64),
        (32, 64, true) => shape::unary(|value: u32| value as i32 as u64),
        (8 | 16 | 32, 64, false) => shape::unary(|value: u32| u64::from(value)),
        _ => return None,
    };
    Some(handlers)
}
