//! Lowering a function: its parameters, its statements in order, guards.
//!
//! The order of blocks and the assignment of slots follow in [`crate::load::assemble`].

use rumba_checks::Check;
use rumba_ptx::Diagnostic;
use rumba_ptx::ast::{self, FunctionKind, OperandKind, Statement};

use crate::exec::control;
use crate::isa;
use crate::load::instrument::arithmetic;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Memory, Names, Occurrence};
use crate::lower::lowering::{Function, Lowering, Survey};
use crate::lower::scope::Binding;
use crate::lower::sources::SourceText;
use crate::lower::symbols::{FunctionId, Located};
use crate::lower::virtual_op::{Control, Node, VReg, VirtualOp};
use crate::lower::{notation, symbols};
use crate::machine::program::{ChoiceKind, ChoicePoint, Debug, NOWHERE, Point, SourceLocation};

/// Faults reported per function; the rest is usually a consequence.
const MAX_ERRORS: usize = 20;

/// Lowers the function at `index` of the program.
///
/// On failure the diagnostics come with the source that they are about.
pub(crate) fn lower<'m>(
    lowering: &mut Lowering<'m>,
    index: usize,
    id: FunctionId,
    sources: &[SourceText<'m>],
    debug: &mut Debug,
) -> Result<Function<'m>, Vec<Located>> {
    let symbol = &lowering.pool.symbols.functions[id];
    let (ast, source) = (symbol.ast, symbol.source);
    lowering.function = Function {
        index,
        is_entry: ast.kind == FunctionKind::Entry,
        name: ast.name,
        source,
        predicates: 2,
        frame_align: 1,
        ..Function::default()
    };
    debug.functions.push(ast.name.to_owned());
    let mut walk = Walk { lowering, text: &sources[source], debug, location: NOWHERE, errors: Vec::new() };
    walk.function(ast);
    let errors = std::mem::take(&mut walk.errors);
    if !errors.is_empty() {
        return Err(errors.into_iter().map(|error| (source, error)).collect());
    }
    Ok(std::mem::take(&mut lowering.function))
}

struct Walk<'w, 'm> {
    lowering: &'w mut Lowering<'m>,
    text: &'w SourceText<'m>,
    debug: &'w mut Debug,
    /// Index of the location of the following instructions.
    location: u32,
    errors: Vec<Diagnostic>,
}

impl<'m> Walk<'_, 'm> {
    fn fail(&mut self, error: LowerError, span: ast::Span) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error.into_diagnostic(span));
        }
    }

    fn function(&mut self, ast: &'m ast::Function<'m>) {
        let Some(body) = &ast.body else {
            let error = LowerError::new(format!("`{}` is called, but no source defines it", ast.name));
            return self.fail(error, ast.name_span);
        };
        self.lowering.function.survey = Survey::of(ast);
        self.source(ast.name_span);
        if let Err(error) = self.lowering.open_scope(&body.statements) {
            return self.fail(error, body.span);
        }
        let parameters =
            if ast.kind == FunctionKind::Entry { self.entry_parameters(ast) } else { self.function_parameters(ast) };
        if let Err(error) = parameters {
            self.fail(error, ast.span);
        }
        self.statements(&body.statements);
        // Falling off the end returns.
        self.source(ast::Span::new(body.span.end.saturating_sub(1), body.span.end));
        if let Err(error) = self.lowering.emit_return() {
            self.fail(error, ast.span);
        }
        if self.errors.is_empty() {
            self.check_labels();
        }
    }

    fn entry_parameters(&mut self, ast: &'m ast::Function<'m>) -> Result<(), LowerError> {
        let mut offset = 0;
        for variable in &ast.parameters {
            let (start, bytes) = parameter_place(variable, offset)?;
            let binding = Binding::EntryParameter { offset: start as u32, element: symbols::element_bytes(variable) };
            if !self.lowering.bind(variable.name, binding) {
                let message = format!("`{}` is declared twice", variable.name);
                return Err(LowerError::new(message).at(variable.name_span));
            }
            offset = start + bytes;
        }
        Ok(())
    }

    fn function_parameters(&mut self, ast: &'m ast::Function<'m>) -> Result<(), LowerError> {
        for variable in ast.returns.iter().chain(&ast.parameters) {
            self.lowering.declare(variable)?;
        }
        let binding = |lowering: &mut Lowering<'m>, variable: &ast::Variable<'m>| lowering.lookup(variable.name);
        for variable in &ast.returns {
            let binding = binding(self.lowering, variable);
            self.lowering.function.returns.extend(binding);
        }
        for variable in &ast.parameters {
            let binding = binding(self.lowering, variable);
            self.lowering.function.parameters.extend(binding);
        }
        self.lowering.emit_prologue(ast)
    }

    fn statements(&mut self, statements: &'m [Statement<'m>]) {
        for statement in statements {
            match statement {
                Statement::Instruction(instruction) => {
                    self.source(instruction.span);
                    if let Err(error) = self.instruction(instruction) {
                        self.fail(error, instruction.span);
                    }
                }
                Statement::Label(label) => {
                    if let Some(Binding::Label(id)) = self.lowering.lookup(label.name) {
                        self.lowering.function.branches = true;
                        self.lowering.function.nodes.push(Node::Label(id));
                    }
                }
                Statement::Declaration(variable) => {
                    if let Err(error) = self.lowering.declare(variable) {
                        self.fail(error, variable.span);
                    }
                }
                Statement::Block(block) => {
                    match self.lowering.open_scope(&block.statements) {
                        Ok(()) => self.statements(&block.statements),
                        Err(error) => self.fail(error, block.span),
                    }
                    self.lowering.function.scopes.pop();
                }
                Statement::Loc(loc) => self.location(loc),
                Statement::Pragma(_)
                | Statement::BranchTargets(_)
                | Statement::CallTargets(_)
                | Statement::CallPrototype(_) => {}
            }
        }
    }

    /// Starts a new row of the table of instructions.
    fn source(&mut self, span: ast::Span) {
        self.lowering.source = self.debug.points.len() as u32;
        self.debug.points.push(Point {
            line: self.text.line(span.start),
            source: self.lowering.function.source as u16,
            location: self.location,
        });
        if self.lowering.pool.instruments.profile {
            let words: Vec<&str> = self.text.text(span).split_whitespace().collect();
            self.debug.texts.push(words.join(" "));
        }
    }

    fn location(&mut self, loc: &ast::Loc<'m>) {
        let file = self.text.file(self.debug, loc.file);
        let inlined = loc.inlined_at.map(|[file, line, column]| {
            let file = self.text.file(self.debug, file);
            let known = self
                .debug
                .locations
                .iter()
                .rposition(|location| location.file == file && location.line == line && location.column == column);
            let parent = known.unwrap_or_else(|| {
                self.debug.locations.push(SourceLocation { file, line, column, inlined: None });
                self.debug.locations.len() - 1
            });
            let name = loc.function_name.and_then(|symbol| self.text.string(&symbol));
            (name, parent as u32)
        });
        let location = SourceLocation { file, line: loc.line, column: loc.column, inlined };
        self.debug.locations.push(location);
        self.location = (self.debug.locations.len() - 1) as u32;
    }

    fn instruction(&mut self, ast: &'m ast::Instruction<'m>) -> Result<(), LowerError> {
        let opcode = &ast.opcode;
        if let Some(reason) = isa::unsupported::reason(opcode.mnemonic, &opcode.modifiers) {
            let message = format!("`{opcode}` is not executed by this device: {reason}");
            let place = (self.lowering.function.source, Diagnostic::new(opcode.span, message));
            self.lowering.unsupported.push(place);
            return Ok(());
        }
        let Some(instruction) = isa::find(opcode.mnemonic) else {
            let message = format!("`{}` is not an instruction that this device executes", opcode.mnemonic);
            return Err(LowerError::new(message).at(opcode.span));
        };
        let matched = notation::match_forms(instruction.forms, instruction.name, &opcode.modifiers, ast.operands.len())
            .map_err(|error| LowerError::new(error.to_string()).at(opcode.span))?;
        if let Some(operand) = ast.operands.first()
            && operand.kind == OperandKind::Name("_")
            && !instruction.optional_result
        {
            let message = format!("`{}` needs a register for its result", opcode.mnemonic);
            return Err(LowerError::new(message).at(operand.span));
        }
        let lowering = &mut *self.lowering;
        lowering.guard = match &ast.guard {
            None => None,
            Some(guard) => {
                let place = match lowering.lookup(guard.register) {
                    Some(Binding::Register(register)) => {
                        let register = &mut lowering.function.registers[register];
                        register.used = true;
                        Some(register.place).filter(|place| matches!(place, VReg::Predicate(_)))
                    }
                    _ => None,
                };
                let Some(place) = place else {
                    let message = format!("`{}` is not a predicate register", guard.register);
                    return Err(LowerError::new(message).at(guard.span));
                };
                Some((place, guard.negated))
            }
        };
        lowering.instruction = Some(ast);
        lowering.names = instruction.names;
        let first = lowering.function.nodes.len();
        let instruments = lowering.pool.instruments;
        if instruments.want_instructions() {
            let convergence = matched.convergence.unwrap_or(instruction.convergence);
            let occurrence = Occurrence { instruction, convergence };
            lowering.function.occurrences.insert(lowering.source, occurrence);
        }
        if instruments.checks.contains(Check::Arith)
            && let Some(hazard) = instruction.hazard
        {
            arithmetic::probe(lowering, hazard, &matched);
        }
        let points = lowering.function.choices.len();
        if instruments.choices {
            if matched.convergence.unwrap_or(instruction.convergence) == Convergence::Warp {
                lowering.choose_nothing(ChoiceKind::Meet);
            }
            if instruction.memory == Memory::Copies {
                lowering.note_write();
            }
        }
        let outcome = (matched.lower)(lowering, &matched);
        lowering.instruction = None;
        lowering.names = Names::Values;
        let fixups = std::mem::take(&mut lowering.fixups);
        let guard = lowering.guard.take();
        outcome?;
        for virtual_op in fixups {
            lowering.emit(virtual_op);
        }
        let is_object =
            |point: &ChoicePoint| matches!(point.kind, ChoiceKind::Memory { .. } | ChoiceKind::Mbarrier { .. });
        if lowering.function.choices[points..].iter().any(is_object) {
            lowering.choose_nothing(ChoiceKind::Done);
        }
        if let Some((predicate, negated)) = guard {
            lowering.wrap_in_guard(first, predicate, negated, matched.has(".uni"));
        }
        Ok(())
    }

    fn check_labels(&mut self) {
        let function = &self.lowering.function;
        let mut defined = vec![false; function.labels.len()];
        for node in &function.nodes {
            if let Node::Label(id) = node {
                defined[*id as usize] = true;
            }
        }
        debug_assert!(defined.iter().all(|defined| *defined), "every label is entered where it stands");
    }
}

/// Offset and size of a parameter that follows `end` bytes of others.
pub(crate) fn parameter_place(variable: &ast::Variable<'_>, end: u64) -> Result<(u64, u64), LowerError> {
    let bytes = symbols::variable_bytes(variable).map_err(|error| LowerError::new(error.message).at(error.span))?;
    Ok((end.next_multiple_of(symbols::variable_align(variable)), bytes))
}

impl Lowering<'_> {
    /// Lets only the lanes of a predicate execute the operations emitted since `first`.
    fn wrap_in_guard(&mut self, first: usize, predicate: VReg, negated: bool, uniform: bool) {
        let body = self.function.nodes.split_off(first);
        let simple = body.iter().all(|node| matches!(node, Node::Op { control: Control::Next, .. }));
        let extra = u16::from(negated);
        if simple {
            if body.is_empty() {
                return;
            }
            let begin =
                VirtualOp { a: predicate, extra, imm: body.len() as u64 + 1, ..VirtualOp::new(control::GUARD_BEGIN) };
            self.emit(begin);
            for node in body {
                let node = match node {
                    Node::Op { virtual_op, control, source, .. } => {
                        Node::Op { virtual_op, control, source, conditional: true }
                    }
                    Node::Label(label) => Node::Label(label),
                };
                self.function.nodes.push(node);
            }
            self.emit(VirtualOp::new(control::GUARD_END));
            return;
        }
        let over = self.new_label();
        let skip = VirtualOp {
            a: predicate,
            extra: 1 - extra,
            ..VirtualOp::new(if uniform { control::UNIFORM_BRANCH } else { control::BRANCH })
        };
        self.emit_control(skip, Control::Branch(over));
        self.function.nodes.extend(body);
        self.function.nodes.push(Node::Label(over));
    }
}
