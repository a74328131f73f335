//! Registers that are vectors: where an operand names one as a whole, its elements take its place.
//!
//! `mov.b64 %rd1, v` becomes `mov.b64 %rd1, {v.x, v.y}` right behind the parser, so that whatever reads operands knows lists
//! of registers only. What an element stands for is found in [`crate::lower::scope`].

use rumba_ptx::ast::{
    Block, Function, Instruction, Item, Module, Operand, OperandKind, StateSpace, Statement, Variable,
};

/// The names of elements, in order.
const MEMBERS: [&str; 4] = [".x", ".y", ".z", ".w"];

/// Special registers of four elements.
const SPECIAL: [&str; 8] =
    ["%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"];

/// Writes vectors as their elements in all functions of a module.
pub(crate) fn expand(module: &mut Module<'_>) {
    for item in &mut module.items {
        if let Item::Function(function) = item {
            let Function { returns, parameters, body: Some(body), .. } = &mut **function else {
                continue;
            };
            let mut scopes = Scopes::default();
            scopes.levels.push(Vec::new());
            returns.iter().chain(parameters.iter()).for_each(|variable| scopes.declare(variable));
            scopes.block(body);
        }
    }
}

/// A name that was declared: how many elements it has if it is a vector, and for how many registers it stands.
struct Declared<'s> {
    name: &'s str,
    range: Option<u32>,
    elements: Option<u8>,
}

/// The declarations in each open level of braces.
#[derive(Default)]
struct Scopes<'s> {
    levels: Vec<Vec<Declared<'s>>>,
}

impl<'s> Scopes<'s> {
    fn declare(&mut self, variable: &Variable<'s>) {
        if let Some(level) = self.levels.last_mut() {
            level.push(Declared {
                name: variable.name,
                range: variable.range,
                elements: variable.vector.filter(|_| variable.space == StateSpace::Reg),
            });
        }
    }

    /// How many elements a name has if it is a vector.
    fn elements(&self, name: &str) -> Option<u8> {
        let is_it = |declared: &&Declared<'_>| match declared.range {
            None => declared.name == name,
            Some(count) => in_range(name, declared.name, count),
        };
        let found = self.levels.iter().rev().find_map(|level| level.iter().find(is_it));
        match found {
            Some(declared) => declared.elements,
            None => SPECIAL.contains(&name).then_some(4),
        }
    }

    fn block(&mut self, block: &mut Block<'s>) {
        self.levels.push(Vec::new());
        for statement in &mut block.statements {
            match statement {
                Statement::Declaration(variable) => self.declare(variable),
                Statement::Block(block) => self.block(block),
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Label(_)
                | Statement::Loc(_)
                | Statement::Pragma(_)
                | Statement::BranchTargets(_)
                | Statement::CallTargets(_)
                | Statement::CallPrototype(_) => {}
            }
        }
        self.levels.pop();
    }

    fn instruction(&self, instruction: &mut Instruction<'s>) {
        for operand in &mut instruction.operands {
            match &mut operand.kind {
                OperandKind::List(items) => items.iter_mut().for_each(|item| self.operand(item)),
                _ => self.operand(operand),
            }
        }
    }

    fn operand(&self, operand: &mut Operand<'s>) {
        if let OperandKind::Name(name) = operand.kind
            && let Some(count) = self.elements(name)
        {
            let members = MEMBERS.iter().take(usize::from(count));
            operand.kind = OperandKind::Vector(
                members.map(|member| Operand { kind: OperandKind::Member(name, member), span: operand.span }).collect(),
            );
        }
    }
}

/// Whether `name` is one of the registers that `prefix<count>` declares.
pub(crate) fn in_range(name: &str, prefix: &str, count: u32) -> bool {
    name.strip_prefix(prefix).is_some_and(|number| {
        number.parse::<u32>().is_ok_and(|n| n < count)
            && number.starts_with(|c: char| c.is_ascii_digit())
            && (number == "0" || !number.starts_with('0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The instructions of a body, printed after vectors were expanded.
    fn expanded(body: &str) -> String {
        let source = format!(".version 9.0 .target sm_90 .entry k() {{ {body} }}");
        let mut module = rumba_ptx::parse(&source).unwrap();
        expand(&mut module);
        let Some(Item::Function(function)) = module.items.first() else {
            panic!("a function was written");
        };
        let statements = &function.body.as_ref().unwrap().statements;
        let instructions = statements.iter().filter(|statement| matches!(statement, Statement::Instruction(_)));
        instructions.map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_name_is_its_elements() {
        assert_eq!(
            expanded(".reg .v2 .u32 v; mov.b64 %rd1, v; mov.u32 %r1, v.y; call (v), f, (v, %r1);"),
            "mov.b64 %rd1, {v.x, v.y}; mov.u32 %r1, v.y; call ({v.x, v.y}), f, ({v.x, v.y}, %r1);"
        );
        assert_eq!(
            expanded(".reg .v4 .f32 v<3>; ld.global.v4.f32 v2, [v0];"),
            "ld.global.v4.f32 {v2.x, v2.y, v2.z, v2.w}, [v0];"
        );
        assert_eq!(
            expanded("mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid; mov.u32 %r1, %tid.x;"),
            "mov.v4.u32 {%r1, %r2, %r3, %r4}, {%tid.x, %tid.y, %tid.z, %tid.w}; mov.u32 %r1, %tid.x;"
        );
    }

    #[test]
    fn what_is_no_vector_stays() {
        assert_eq!(
            expanded(".reg .u32 a; .local .v2 .u32 b; mov.u32 a, c; mov.u64 %rd1, b;"),
            "mov.u32 a, c; mov.u64 %rd1, b;"
        );
        // A scalar hides a vector from its declaration on.
        assert_eq!(
            expanded(".reg .v2 .u32 v; mov.b64 a, v; .reg .u32 %tid; mov.u32 %tid, 1;"),
            "mov.b64 a, {v.x, v.y}; mov.u32 %tid, 1;"
        );
    }
}
