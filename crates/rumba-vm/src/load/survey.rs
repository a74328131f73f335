//! Facts about functions before they are lowered: how often names are written, which variables in `.param` need an
//! address, and which functions have their address taken.
//!
//! The survey checks nothing: lowering finds the errors.

use crate::lower::lowering::Survey;

use rustc_hash::FxHashSet;

use rumba_ptx::ast::{self, Constant, FunctionKind, Initializer, OperandKind, StateSpace, Statement};

use crate::isa;
use crate::lower::instruction::Names;
use crate::lower::symbols::{FunctionId, Symbol, Symbols};

impl<'m> Survey<'m> {
    /// Surveys a function that has a body.
    pub(crate) fn of(function: &'m ast::Function<'m>) -> Self {
        let mut survey = Self::default();
        let own = function.returns.iter().chain(&function.parameters);
        survey.scopes.push(own.map(|variable| (variable.name, std::ptr::from_ref(variable))).collect());
        if let Some(body) = &function.body {
            survey.block(&body.statements);
        }
        survey
    }

    fn block(&mut self, statements: &'m [Statement<'m>]) {
        let declared = statements.iter().filter_map(|statement| match statement {
            Statement::Declaration(variable) if variable.space == StateSpace::Param => {
                Some((variable.name, std::ptr::from_ref::<ast::Variable<'m>>(variable)))
            }
            _ => None,
        });
        self.scopes.push(declared.collect());
        for statement in statements {
            match statement {
                Statement::Block(block) => self.block(&block.statements),
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Label(_)
                | Statement::Declaration(_)
                | Statement::Loc(_)
                | Statement::Pragma(_)
                | Statement::BranchTargets(_)
                | Statement::CallTargets(_)
                | Statement::CallPrototype(_) => {}
            }
        }
        self.scopes.pop();
    }

    fn instruction(&mut self, instruction: &'m ast::Instruction<'m>) {
        let modifiers = &instruction.opcode.modifiers;
        let vector = modifiers.iter().any(|text| matches!(*text, ".v2" | ".v4" | ".v8" | ".b128"));
        let is_call = names_callee(instruction);
        for (position, operand) in instruction.operands.iter().enumerate() {
            self.operand(operand, position == 0 || is_call, vector, is_call);
        }
    }

    fn operand(&mut self, operand: &'m ast::Operand<'m>, written: bool, vector: bool, call: bool) {
        match &operand.kind {
            OperandKind::Name(name) => {
                *self.definitions.entry(name).or_default() += u32::from(written);
                if !call {
                    self.needs_address(name);
                }
            }
            OperandKind::Offset(name, _) => self.needs_address(name),
            OperandKind::Address(address) => {
                if let OperandKind::Name(name) = address.base.kind
                    && (address.offset != 0 || vector)
                {
                    self.needs_address(name);
                }
            }
            OperandKind::Vector(items) | OperandKind::List(items) => {
                for item in items {
                    self.operand(item, written, vector, call);
                }
            }
            OperandKind::Pair(pair) => {
                for item in pair.iter() {
                    self.operand(item, written, vector, call);
                }
            }
            OperandKind::Member(name, _) => *self.definitions.entry(name).or_default() += u32::from(written),
            OperandKind::Element(element) => self.needs_address(element.name),
            OperandKind::Literal(_) | OperandKind::Not(_) | OperandKind::Negative(_) => {}
        }
    }

    fn needs_address(&mut self, name: &str) {
        if let Some(variable) = self.scopes.iter().rev().find_map(|scope| scope.get(name)) {
            self.in_memory.insert(*variable);
        }
    }
}

/// Whether the names that are operands of an instruction are a function and its parameters.
fn names_callee(instruction: &ast::Instruction<'_>) -> bool {
    isa::find(instruction.opcode.mnemonic).is_some_and(|instruction| instruction.names == Names::Callee)
}

/// The functions whose address is taken anywhere, by code or by the initial value of a variable: what a call through a
/// pointer may reach, whichever kernel makes it. They are looked for once, when a kernel has such a call.
pub(crate) fn addressed<'s>(symbols: &'s Symbols<'_>) -> &'s [FunctionId] {
    symbols.addressed.get_or_init(|| all_addressed(symbols))
}

fn all_addressed(symbols: &Symbols<'_>) -> Vec<FunctionId> {
    let mut found = Found { symbols, functions: Vec::new(), known: FxHashSet::default() };
    for variable in &symbols.variables {
        if let Some(initializer) = &variable.ast.initializer {
            found.initializer(variable.source, initializer);
        }
    }
    for function in &symbols.functions {
        if let Some(body) = &function.ast.body {
            found.statements(function.source, &body.statements);
        }
    }
    found.functions
}

struct Found<'a, 's> {
    symbols: &'a Symbols<'s>,
    functions: Vec<FunctionId>,
    known: FxHashSet<FunctionId>,
}

impl Found<'_, '_> {
    fn name(&mut self, source: usize, name: &str) {
        if let Some(Symbol::Function(id)) = self.symbols.find(source, name)
            && self.symbols.functions[id].ast.kind == FunctionKind::Func
            && self.symbols.functions[id].ast.body.is_some()
            && self.known.insert(id)
        {
            self.functions.push(id);
        }
    }

    fn initializer(&mut self, source: usize, initializer: &Initializer<'_>) {
        match initializer {
            Initializer::Constant(Constant::Symbol(symbol)) => self.name(source, symbol.name),
            Initializer::List(items) => items.iter().for_each(|item| self.initializer(source, item)),
            Initializer::Constant(_) | Initializer::Fields(_) => {}
        }
    }

    fn statements(&mut self, source: usize, statements: &[Statement<'_>]) {
        for statement in statements {
            match statement {
                Statement::Block(block) => self.statements(source, &block.statements),
                Statement::Instruction(instruction) if !names_callee(instruction) => {
                    for operand in &instruction.operands {
                        if let OperandKind::Name(name) | OperandKind::Offset(name, _) = operand.kind {
                            self.name(source, name);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
