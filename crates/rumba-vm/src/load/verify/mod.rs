//! What can be said of a source before anything is lowered: versions and targets, declarations, and which forms a target
//! has. Operands and their types are checked where instructions are lowered.

mod declarations;
mod header;

use std::collections::HashSet;

use rumba_ptx::Diagnostic;
use rumba_ptx::ast::{self, Item, SectionEntry, Span, StateSpace, Statement, Type};

use crate::lower::symbols::variable_bytes;

use crate::lower::availability::Target;

/// The version that introduced `.alias`.
const ALIAS_SINCE: (u32, u32) = (6, 3);

/// Everything that is wrong with a source by itself.
pub(crate) fn module(module: &ast::Module<'_>) -> Vec<Diagnostic> {
    let mut errors = Errors::default();
    let target = header::check(module, &mut errors);
    let mut files = HashSet::new();
    let mut constants = 0_u64;
    for item in &module.items {
        match item {
            Item::Function(function) => {
                declarations::function(function, target, &mut errors);
                if let Some(body) = &function.body {
                    statements(&body.statements, module.version, target, &mut errors);
                }
            }
            Item::Variable(variable) => {
                let before = errors.list.len();
                declarations::variable(variable, declarations::Level::Module, &mut errors);
                if variable.space == StateSpace::Const && before == errors.list.len() {
                    constants += variable_bytes(variable).unwrap_or(0);
                    if constants > declarations::CONSTANT_BYTES {
                        errors.add(
                            variable.span,
                            format!("constants take {constants} bytes, and there is room for 65536"),
                        );
                    }
                }
            }
            Item::File(file) => {
                if !files.insert(file.index) {
                    errors.add(file.span, format!("there are two files of the number {}", file.index));
                }
            }
            Item::Section(section) => debug_data(section, &mut errors),
            Item::Alias(alias) => {
                if (module.version.major, module.version.minor) < ALIAS_SINCE {
                    let (major, minor) = ALIAS_SINCE;
                    errors.add(alias.span, format!("`.alias` needs .version {major}.{minor} or later"));
                }
            }
            Item::Pragma(_) => {}
        }
    }
    errors.list
}

/// The number of the architecture that a source is compiled for.
pub(crate) fn target(module: &ast::Module<'_>) -> u32 {
    header::check(module, &mut Errors::default()).number
}

fn statements(list: &[Statement<'_>], version: ast::Version, target: Target, errors: &mut Errors) {
    for statement in list {
        match statement {
            Statement::Declaration(variable) => {
                declarations::variable(variable, declarations::Level::Body, errors);
            }
            Statement::Instruction(instruction) => {
                if let Some(message) = crate::isa::missing(instruction, version, target) {
                    errors.add(instruction.opcode.span, message);
                }
            }
            Statement::Block(block) => statements(&block.statements, version, target, errors),
            Statement::Loc(loc) => {
                if loc.inlined_at.is_some() && loc.function_name.is_none() {
                    errors.add(loc.span, "`inlined_at` goes with `function_name`");
                }
            }
            Statement::CallPrototype(prototype) => {
                if prototype.name != "_" {
                    errors.add(prototype.span, format!("a prototype is called `_`, not `{}`", prototype.name));
                }
                for parameter in prototype.returns.iter().chain(&prototype.parameters) {
                    declarations::variable(parameter, declarations::Level::Unnamed, errors);
                }
            }
            Statement::Label(_) | Statement::Pragma(_) | Statement::BranchTargets(_) | Statement::CallTargets(_) => {}
        }
    }
}

/// Debug information is data of 1, 2, 4 or 8 bytes (section 11.5.2).
fn debug_data(section: &ast::Section<'_>, errors: &mut Errors) {
    for entry in &section.contents {
        if let SectionEntry::Data { ty, .. } = entry
            && !matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64)
        {
            errors.add(section.span, format!("`{}` has data of type {ty}", section.name));
        }
    }
}

/// The errors found so far.
#[derive(Default)]
struct Errors {
    list: Vec<Diagnostic>,
}

impl Errors {
    fn add(&mut self, span: Span, message: impl Into<String>) {
        self.list.push(Diagnostic::new(span, message.into()));
    }
}
