//! What can be said of a source before anything is lowered: versions and targets, declarations, and which forms a target
//! has. Operands and their types are checked where instructions are lowered.

mod declarations;
mod floors;
mod header;

use rumba_ptx::Diagnostic;
use rumba_ptx::ast::{self, Item, Span, Statement};

pub(crate) use header::Target;

/// Everything that is wrong with a source by itself.
pub(crate) fn module(module: &ast::Module<'_>) -> Vec<Diagnostic> {
    let mut errors = Errors::default();
    let target = header::check(module, &mut errors);
    for item in &module.items {
        match item {
            Item::Function(function) => {
                declarations::function(function, target, &mut errors);
                if let Some(body) = &function.body {
                    statements(&body.statements, module.version, target, &mut errors);
                }
            }
            Item::Variable(variable) => declarations::variable(variable, declarations::Level::Module, &mut errors),
            Item::Alias(_) | Item::File(_) | Item::Section(_) | Item::Pragma(_) => {}
        }
    }
    errors.list
}

fn statements(list: &[Statement<'_>], version: ast::Version, target: Target, errors: &mut Errors) {
    for statement in list {
        match statement {
            Statement::Declaration(variable) => {
                declarations::variable(variable, declarations::Level::Body, errors);
            }
            Statement::Instruction(instruction) => {
                if let Some(message) = floors::missing(instruction, version, target) {
                    errors.add(instruction.opcode.span, message);
                }
            }
            Statement::Block(block) => statements(&block.statements, version, target, errors),
            Statement::Label(_)
            | Statement::Loc(_)
            | Statement::Pragma(_)
            | Statement::BranchTargets(_)
            | Statement::CallTargets(_)
            | Statement::CallPrototype(_) => {}
        }
    }
}

/// What was found so far.
#[derive(Default)]
struct Errors {
    list: Vec<Diagnostic>,
}

impl Errors {
    fn add(&mut self, span: Span, message: impl Into<String>) {
        self.list.push(Diagnostic::new(span, message.into()));
    }
}
