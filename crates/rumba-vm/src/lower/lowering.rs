//! From an instruction of the syntax tree to operations: the interface that instruction files use.
//!
//! Slots are virtual here; liveness, slot assignment and the order of blocks come afterwards. This module does not know
//! the semantics of instructions.

use rustc_hash::{FxHashMap, FxHashSet};

use rumba_checks::Check;
use rumba_ptx::ast::{self, Literal, OperandKind};

use crate::base::types::ScalarType;
use crate::exec::memory::Space;
use crate::exec::shape::function;
use crate::exec::{choice, shape};
use crate::lower::error::LowerError;
use crate::lower::fit;
use crate::lower::fixed::ProgramBuilder;
use crate::lower::instruction::{Names, Occurrence};
use crate::lower::scope::{Binding, NameScope, Register};
use crate::lower::symbols::Located;
use crate::lower::virtual_op::{Control, LabelId, Node, VReg, VirtualOp};
use crate::machine::op::Handlers;
use crate::machine::program::{ChoiceKind, ChoicePoint, Class, Fixed};
use crate::machine::special::Special;

/// A function being lowered.
#[derive(Default)]
pub(crate) struct Function<'m> {
    /// Index in the program.
    pub(crate) index: usize,
    pub(crate) is_entry: bool,
    pub(crate) name: &'m str,
    /// The index of its source.
    pub(crate) source: usize,
    pub(crate) nodes: Vec<Node>,
    /// Virtual slots.
    pub(crate) classes: Vec<Class>,
    /// Number of predicates; the first two are the constants.
    pub(crate) predicates: u16,
    pub(crate) scopes: Vec<NameScope<'m>>,
    pub(crate) registers: Vec<Register<'m>>,
    /// Labels: their names, and whether they stand in the body.
    pub(crate) labels: Vec<ast::Label<'m>>,
    /// The uses of names in its body.
    pub(crate) survey: Survey<'m>,
    /// Bytes of local memory, and the alignment that they want.
    pub(crate) frame_bytes: u64,
    pub(crate) frame_align: u64,
    /// The start of the frame, in functions that are not entries.
    pub(crate) frame: Option<VReg>,
    pub(crate) calls: Vec<usize>,
    pub(crate) calls_indirectly: bool,
    pub(crate) has_alloca: bool,
    /// Whether it begins copies of lanes, `cp.async`.
    pub(crate) begins_copies: bool,
    /// Whether the body had a label or a jump so far.
    pub(crate) branches: bool,
    /// Points of choice, if orders are explored.
    pub(crate) choices: Vec<ChoicePoint>,
    /// The instructions by their index in the program's table, if the checks want to know them.
    pub(crate) occurrences: std::collections::HashMap<u32, Occurrence>,
    /// Declared return and input parameters.
    pub(crate) returns: Vec<Binding<'m>>,
    pub(crate) parameters: Vec<Binding<'m>>,
}

impl Function<'_> {
    /// The key of a register in a program's list of products.
    pub(crate) fn register_key(&self, place: VReg) -> Option<u64> {
        match place {
            VReg::Slot(slot) if !place.is_fixed() => Some((self.index as u64) << 32 | u64::from(slot)),
            VReg::Slot(_) | VReg::Predicate(_) | VReg::None => None,
        }
    }

    /// The instruction of an index in the program's table.
    pub(crate) fn occurrence(&self, source: u32) -> Occurrence {
        self.occurrences.get(&source).copied().unwrap_or_default()
    }
}

/// A program being lowered, at one instruction.
pub struct Lowering<'m> {
    pub(crate) pool: ProgramBuilder<'m>,
    pub(crate) function: Function<'m>,
    pub(crate) instruction: Option<&'m ast::Instruction<'m>>,
    /// The names besides registers that its operands may have.
    pub(crate) names: Names,
    /// Index of the PTX instruction in the program's table.
    pub(crate) source: u32,
    /// Operations to emit after the instruction's own operations.
    pub(crate) fixups: Vec<VirtualOp>,
    /// The guard, until the instruction handles it itself.
    pub(crate) guard: Option<(VReg, bool)>,
    /// Instructions that the machine does not execute, with the source that they stand in.
    pub(crate) unsupported: Vec<Located>,
}

/// The meaning of an operand without a slot of its own.
pub(crate) enum Source {
    Register(usize),
    VReg(VReg, ScalarType),
}

impl<'m> Lowering<'m> {
    /// A program without functions.
    pub(crate) fn new(pool: ProgramBuilder<'m>) -> Self {
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
        self.instruction.map_or(&[], |instruction| &instruction.opcode.modifiers)
    }

    pub(crate) fn operand(&self, index: usize) -> Result<&'m ast::Operand<'m>, LowerError> {
        self.instruction
            .and_then(|instruction| instruction.operands.get(index))
            .ok_or_else(|| LowerError::new(format!("operand {} is missing", index + 1)))
    }

    /// Operand `index` as destination of a value of type `ty`; the register has exactly that width.
    pub fn destination(&mut self, index: usize, ty: ScalarType) -> Result<VReg, LowerError> {
        let operand = self.operand(index)?;
        self.destination_operand(operand, ty, false)
    }

    /// Operand `index` as destination of a value of type `ty`; the register may be wider (`cvt`, `ld`): the value is
    /// then sign- or zero-extended as `ty` says.
    pub fn wide_destination(&mut self, index: usize, ty: ScalarType) -> Result<VReg, LowerError> {
        let operand = self.operand(index)?;
        self.destination_operand(operand, ty, true)
    }

    /// The two halves of an operand written `p|q`; a half that is missing or `_` is [`VReg::None`].
    /// Either half may be a predicate or, for type `ty`, a register.
    pub fn destination_pair(&mut self, index: usize, ty: ScalarType) -> Result<(VReg, VReg), LowerError> {
        let operand = self.operand(index)?;
        let OperandKind::Pair(pair) = &operand.kind else {
            return Ok((self.half(operand, ty)?, VReg::None));
        };
        Ok((self.half(&pair[0], ty)?, self.half(&pair[1], ty)?))
    }

    fn half(&mut self, operand: &'m ast::Operand<'m>, ty: ScalarType) -> Result<VReg, LowerError> {
        if let OperandKind::Name("_") = operand.kind {
            return Ok(VReg::None);
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
    pub fn source(&mut self, index: usize, ty: ScalarType) -> Result<VReg, LowerError> {
        let operand = self.operand(index)?;
        self.source_operand(operand, ty, false)
    }

    /// Like [`Self::source`], but the register may be wider (`cvt`, `st`): the low bits count.
    pub fn wide_source(&mut self, index: usize, ty: ScalarType) -> Result<VReg, LowerError> {
        let operand = self.operand(index)?;
        self.source_operand(operand, ty, true)
    }

    /// Operand `index` as predicate source that may be written `!p`: the predicate, and whether it is negated.
    pub fn predicate_source(&mut self, index: usize) -> Result<(VReg, bool), LowerError> {
        let operand = self.operand(index)?;
        match &operand.kind {
            OperandKind::Not(inner) => Ok((self.source_operand(inner, ScalarType::Pred, false)?, true)),
            _ => Ok((self.source_operand(operand, ScalarType::Pred, false)?, false)),
        }
    }

    /// The value of operand `index` if it is an integer literal.
    pub fn literal(&self, index: usize) -> Option<i128> {
        match self.operand(index).ok()?.kind {
            OperandKind::Literal(Literal::Integer { value, unsigned }) => {
                Some(if unsigned { i128::from(value) } else { i128::from(value.cast_signed()) })
            }
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
    pub fn constant(&mut self, ty: ScalarType, bits: u128) -> VReg {
        if ty == ScalarType::Pred {
            return self.constant_predicate(bits & 1 != 0);
        }
        let mask = if ty.bits() == 128 { u128::MAX } else { (1 << ty.bits()) - 1 };
        self.pool.fixed(Class::of(ty), Fixed::Constant(bits & mask))
    }

    /// The predicate that is always `value`.
    pub fn constant_predicate(&mut self, value: bool) -> VReg {
        VReg::Predicate(u16::from(value))
    }

    /// A value that lives within this instruction only.
    pub fn scratch(&mut self, ty: ScalarType) -> VReg {
        if ty == ScalarType::Pred {
            return self.new_predicate();
        }
        self.new_slot(Class::of(ty))
    }

    /// Appends an operation.
    pub fn emit(&mut self, virtual_op: VirtualOp) {
        self.emit_control(virtual_op, Control::Next);
    }

    /// Appends an operation that decides where control goes.
    pub(crate) fn emit_control(&mut self, virtual_op: VirtualOp, control: Control) {
        self.function.branches |= !matches!(control, Control::Next | Control::Park | Control::Frame);
        self.function.nodes.push(Node::Op { virtual_op, control, source: self.source, conditional: false });
    }

    /// Places a point of choice before the instruction's next operation, if orders are explored. `a` and `b` name the
    /// object; if the object is in memory, `a` is an address with an offset in a state space.
    pub(crate) fn choose(&mut self, kind: ChoiceKind, (a, b): (VReg, VReg), (space, offset): (Space, i64)) {
        if !self.pool.instruments.choices {
            return;
        }
        let text = self.instruction.map_or_else(String::new, |instruction| instruction.opcode.to_string());
        let index = self.function.choices.len() as u64;
        self.function.choices.push(ChoicePoint {
            kind,
            space: space as u16,
            offset: offset.cast_unsigned(),
            text,
            live: Vec::new(),
            predicates: Vec::new(),
        });
        let point = VirtualOp { a, b, imm: index, defines: 0, ..VirtualOp::new(choice::CHOICE) };
        self.emit_control(point, Control::Park);
    }

    /// Places a point of choice without an object.
    pub(crate) fn choose_nothing(&mut self, kind: ChoiceKind) {
        self.choose(kind, (VReg::None, VReg::None), (Space::Generic, 0));
    }

    /// Notes that the instruction writes to memory, if orders are explored.
    pub(crate) fn note_write(&mut self) {
        if self.pool.instruments.choices {
            self.emit(VirtualOp { defines: 0, ..VirtualOp::new(choice::WRITE) });
        }
    }

    /// Takes the guard: the instruction handles it itself.
    pub(crate) fn take_guard(&mut self) -> Option<(VReg, bool)> {
        self.guard.take()
    }

    /// Places a label that only the caller knows.
    pub(crate) fn new_label(&mut self) -> LabelId {
        let span = self.instruction.map(|instruction| instruction.span).unwrap_or_default();
        self.function.labels.push(ast::Label { name: "", span });
        (self.function.labels.len() - 1) as LabelId
    }

    pub(crate) fn new_slot(&mut self, class: Class) -> VReg {
        self.function.classes.push(class);
        VReg::Slot((self.function.classes.len() - 1) as u32)
    }

    pub(crate) fn new_predicate(&mut self) -> VReg {
        let index = self.function.predicates;
        self.function.predicates = self.function.predicates.saturating_add(1);
        VReg::Predicate(index)
    }

    /// Lets the register of operand `index` stand for `place` instead of being written, where that is possible: the
    /// register has no other definition and was not used yet.
    pub(crate) fn alias(&mut self, index: usize, place: VReg, ty: ScalarType) -> bool {
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
        // If control may bypass this instruction, the register may be unset.
        let skipped = self.pool.instruments.checks.contains(Check::Init) && self.function.branches;
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
        Ok(self.register_of(operand)?.map(|register| self.function.registers[register].ty))
    }

    pub(crate) fn unknown(&self, name: &str) -> LowerError {
        LowerError::new(format!("`{name}` is not declared"))
    }

    pub(crate) fn destination_operand(
        &mut self,
        operand: &'m ast::Operand<'m>,
        ty: ScalarType,
        wide: bool,
    ) -> Result<VReg, LowerError> {
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
        self.fixups.push(VirtualOp::unary(extend, place, value));
        Ok(value)
    }

    pub(crate) fn source_operand(
        &mut self,
        operand: &'m ast::Operand<'m>,
        ty: ScalarType,
        wide: bool,
    ) -> Result<VReg, LowerError> {
        let source = self.resolve(operand, ty, wide).map_err(|error| error.at(operand.span))?;
        let (place, declared) = match source {
            Source::Register(register) => {
                let register = &mut self.function.registers[register];
                register.used = true;
                let name = register.name;
                let (place, declared) = (register.place, register.ty);
                fit::register(name, declared, ty, wide).map_err(|error| error.at(operand.span))?;
                (place, declared)
            }
            Source::VReg(place, declared) => (place, declared),
        };
        self.narrow(place, declared, ty).map_err(|error| error.at(operand.span))
    }

    /// A value of type `declared` read as `ty`, which is not wider, or as the address of something.
    fn narrow(&mut self, place: VReg, declared: ScalarType, ty: ScalarType) -> Result<VReg, LowerError> {
        let (from, to) = (Class::of(declared), Class::of(ty));
        if from == to || declared == ScalarType::Pred {
            return Ok(place);
        }
        let handlers = match (from, to) {
            (Class::W64, Class::W32) => shape::lanes(function!(|value: u64| -> u32 { value.cast() })),
            (Class::W32, Class::W64) => shape::lanes(function!(|value: u32| -> u64 { value.cast() })),
            _ => {
                return Err(LowerError::new(format!("a value of type {declared} cannot be read as {ty}")));
            }
        };
        let value = self.new_slot(to);
        self.emit(VirtualOp::unary(handlers, value, place));
        Ok(value)
    }

    fn resolve(&mut self, operand: &'m ast::Operand<'m>, ty: ScalarType, wide: bool) -> Result<Source, LowerError> {
        match &operand.kind {
            OperandKind::Literal(literal) => {
                let bits = fit::literal(*literal, ty)?;
                Ok(Source::VReg(self.constant(ty, bits), ty))
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
                    return Ok(Source::VReg(self.special(special, declared), declared));
                }
                if member.is_some() {
                    return Err(LowerError::new(format!("`{name}` is not known")));
                }
                self.address_operand(name, ty)
            }
            OperandKind::Offset(name, addend) => match self.lookup(name) {
                Some(Binding::Register(register)) => self.register_sum(register, *addend, (ty, wide)),
                _ => self.address_sum(name, *addend, ty),
            },
            OperandKind::Not(inner) if ty == ScalarType::Pred => {
                let value = self.source_operand(inner, ty, false)?;
                let not = self.new_predicate();
                self.emit(VirtualOp::unary(
                    shape::masks(function!(|value: u32, _b: u32| -> u32 { !value })),
                    not,
                    value,
                ));
                Ok(Source::VReg(not, ty))
            }
            OperandKind::Not(_) | OperandKind::Negative(_) => Err(LowerError::new("this cannot be negated")),
            OperandKind::Vector(_) => Err(LowerError::new("a vector cannot be used here")),
            OperandKind::Element(element) => {
                let address = self.element(element)?;
                Ok(Source::VReg(self.sum(address), ScalarType::U64))
            }
            OperandKind::Address(_) | OperandKind::Pair(_) | OperandKind::List(_) => {
                Err(LowerError::new("a register or an immediate value is needed here"))
            }
        }
    }

    /// A register with a number added, which NVIDIA's assembler takes as an operand of any instruction.
    fn register_sum(
        &mut self,
        register: usize,
        addend: i64,
        (ty, wide): (ScalarType, bool),
    ) -> Result<Source, LowerError> {
        let register = &mut self.function.registers[register];
        let (name, place, declared) = (register.name, register.place, register.ty);
        fit::integer(name, declared)?;
        fit::register(name, declared, ty, wide)?;
        register.used = true;
        let handlers = match declared.bits() {
            64 => shape::lanes(function!(|a: u64, b: u64| -> u64 { a + b })),
            32 => shape::lanes(function!(|a: u32, b: u32| -> u32 { a + b })),
            _ => shape::lanes(function!(|a: u16, b: u16| -> u16 { a + b })),
        };
        let sum = self.scratch(declared);
        let addend = self.constant(declared, u128::from(addend.cast_unsigned()));
        self.emit(VirtualOp::binary(handlers, sum, place, addend));
        Ok(Source::VReg(sum, declared))
    }

    /// Checks that the instruction may read special registers, and that it reads this one with the register's type.
    fn check_special(&self, name: &str, declared: ScalarType, ty: ScalarType) -> Result<(), LowerError> {
        if !self.names.has_specials() {
            return Err(LowerError::new(format!("the special register `{name}` can only be read by mov")));
        }
        fit::register(name, declared, ty, false)
    }

    fn special(&mut self, special: Special, ty: ScalarType) -> VReg {
        if !special.is_dynamic() {
            return self.pool.fixed(Class::of(ty), Fixed::Special(special));
        }
        let value = self.scratch(ty);
        self.emit(VirtualOp { dst: value, ..VirtualOp::new(crate::exec::clock::read(special)) });
        value
    }
}

/// How a value of type `ty` becomes one of the width of `declared`.
fn extension(ty: ScalarType, declared: ScalarType) -> Option<Handlers> {
    // The low bits of the slot are the value.
    let handlers = match (ty.bits(), declared.bits(), ty.is_signed()) {
        (8, 16, true) => shape::lanes(function!(|value: i8| -> u16 { value.cast() })),
        (8, 32, true) => shape::lanes(function!(|value: i8| -> u32 { value.cast() })),
        (8, 64, true) => shape::lanes(function!(|value: i8| -> u64 { value.cast() })),
        (16, 32, true) => shape::lanes(function!(|value: i16| -> u32 { value.cast() })),
        (16, 64, true) => shape::lanes(function!(|value: i16| -> u64 { value.cast() })),
        (32, 64, true) => shape::lanes(function!(|value: i32| -> u64 { value.cast() })),
        (8 | 16 | 32, 64, false) => shape::lanes(function!(|value: u32| -> u64 { value.cast() })),
        _ => return None,
    };
    Some(handlers)
}

/// The uses of names in the body of a function.
#[derive(Debug, Default)]
pub(crate) struct Survey<'m> {
    /// How often the body seems to write each name.
    pub(crate) definitions: FxHashMap<&'m str, u32>,
    /// Variables in `.param` that need an address.
    pub(crate) in_memory: FxHashSet<*const ast::Variable<'m>>,
    /// The variables in `.param` of each level of braces that is open.
    pub(crate) scopes: Vec<FxHashMap<&'m str, *const ast::Variable<'m>>>,
}
