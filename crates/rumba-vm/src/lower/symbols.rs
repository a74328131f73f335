//! The names of a set of PTX sources at module scope: functions and variables, linked across sources.
//!
//! Function bodies are ignored, except that their variables in `.global` and `.const` are collected, too: these
//! variables live as long as the module.

use std::sync::OnceLock;

use rumba_ptx::Diagnostic;
use rumba_ptx::ast::{self, FunctionKind, Item, Linkage, StateSpace, Statement};
use rustc_hash::FxHashMap;

use crate::base::types::ScalarType;

/// Index of a function in [`Symbols::functions`].
pub(crate) type FunctionId = usize;
/// Index of a variable in [`Symbols::variables`].
pub(crate) type VariableId = usize;

/// The meaning of a name at module scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Symbol {
    Function(FunctionId),
    Variable(VariableId),
}

/// A function, with its body if any source defines it.
#[derive(Debug)]
pub(crate) struct FunctionSymbol<'s> {
    pub(crate) ast: &'s ast::Function<'s>,
    pub(crate) source: usize,
    pub(crate) handle: u64,
}

/// A variable, with its defining declaration if it has one.
#[derive(Debug)]
pub(crate) struct VariableSymbol<'s> {
    pub(crate) ast: &'s ast::Variable<'s>,
    pub(crate) source: usize,
    /// The variable's address; 0 in shared memory, where each block has its own copy.
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

/// The names of all sources.
#[derive(Debug, Default)]
pub(crate) struct Symbols<'s> {
    pub(crate) functions: Vec<FunctionSymbol<'s>>,
    pub(crate) variables: Vec<VariableSymbol<'s>>,
    /// The names visible in each source.
    scopes: Vec<FxHashMap<&'s str, Symbol>>,
    /// The position of the first declaration of each name in each source.
    declared: FxHashMap<(usize, &'s str), u32>,
    /// Variables that are declared in function bodies, by the address of their declaration.
    inner: FxHashMap<usize, VariableId>,
    /// The functions whose address is taken, once they were looked for.
    pub(crate) addressed: OnceLock<Vec<FunctionId>>,
}

/// A diagnostic, and the source that contains the fault.
pub(crate) type Located = (usize, Diagnostic);

impl<'s> Symbols<'s> {
    /// Collects and links the names of `modules`.
    pub(crate) fn collect(modules: &'s [ast::Module<'s>]) -> Result<Self, Vec<Located>> {
        let mut symbols = Self::default();
        let mut errors = Vec::new();
        let mut shared: FxHashMap<&'s str, Symbol> = FxHashMap::default();
        for (source, module) in modules.iter().enumerate() {
            symbols.scopes.push(FxHashMap::default());
            for item in &module.items {
                let outcome = match item {
                    Item::Function(function) => symbols.function(source, function, &mut shared),
                    Item::Variable(variable) => symbols.variable(source, variable, &mut shared),
                    Item::Alias(_) | Item::File(_) | Item::Section(_) | Item::Pragma(_) => Ok(()),
                };
                if let Err(error) = outcome {
                    errors.push((source, error));
                }
            }
        }
        for (source, module) in modules.iter().enumerate() {
            for item in &module.items {
                let Item::Alias(alias) = item else { continue };
                match symbols.aliased(source, alias) {
                    Ok(target) => {
                        shared.insert(alias.alias, target);
                        symbols.scopes[source].insert(alias.alias, target);
                    }
                    Err(message) => errors.push((source, Diagnostic::new(alias.span, message))),
                }
            }
        }
        if errors.is_empty() { Ok(symbols) } else { Err(errors) }
    }

    /// The target of an alias: a defined function, neither weak nor a kernel. The alias must be declared with the same
    /// parameters and not defined (manual, section 11.6).
    fn aliased(&self, source: usize, alias: &ast::Alias<'_>) -> Result<Symbol, String> {
        let function = |name: &str| match self.find_before(source, name, alias.span.start) {
            Some(Symbol::Function(id)) => Ok((id, self.functions[id].ast)),
            Some(Symbol::Variable(_)) => Err(format!("`{name}` is a variable, and functions have aliases")),
            None => Err(format!("`{name}` is not declared")),
        };
        let ((_, own), (id, target)) = (function(alias.alias)?, function(alias.target)?);
        let problem = if target.kind == FunctionKind::Entry {
            "is a kernel, which has no alias"
        } else if target.linkage == Some(Linkage::Weak) {
            "is .weak and has no alias"
        } else if target.body.is_none() {
            "is not defined here"
        } else if alias.alias == alias.target || own.body.is_some() && !std::ptr::eq(own, target) {
            "would be the alias of a name that is defined"
        } else if own.parameters.len() != target.parameters.len() || own.returns.len() != target.returns.len() {
            "has other parameters than its alias"
        } else {
            return Ok(Symbol::Function(id));
        };
        Err(format!("`{}` {problem}", alias.target))
    }

    /// The meaning of `name` at module scope in `source`.
    pub(crate) fn find(&self, source: usize, name: &str) -> Option<Symbol> {
        self.scopes[source].get(name).copied()
    }

    /// The meaning of `name` for a use at `position`, which the declaration has to precede.
    pub(crate) fn find_before(&self, source: usize, name: &str, position: u32) -> Option<Symbol> {
        let declared = self.declared.get(&(source, name)).copied().unwrap_or(0);
        self.find(source, name).filter(|_| declared < position)
    }

    /// The variable that a declaration inside a function body made.
    pub(crate) fn inner(&self, declaration: &ast::Variable<'s>) -> Option<VariableId> {
        self.inner.get(&std::ptr::from_ref(declaration).addr()).copied()
    }

    fn function(
        &mut self,
        source: usize,
        ast: &'s ast::Function<'s>,
        shared: &mut FxHashMap<&'s str, Symbol>,
    ) -> Result<(), Diagnostic> {
        let known = self.known(source, ast.name, ast.linkage.is_some(), shared);
        self.declared.entry((source, ast.name)).or_insert(ast.name_span.start);
        let id = match known {
            Some(Symbol::Variable(_)) => {
                return Err(Diagnostic::new(ast.name_span, format!("`{}` is already a variable", ast.name)));
            }
            Some(Symbol::Function(id)) => {
                let old = &mut self.functions[id];
                if old.ast.parameters.len() != ast.parameters.len() || old.ast.returns.len() != ast.returns.len() {
                    let message = format!("`{}` was declared before with other parameters", ast.name);
                    return Err(Diagnostic::new(ast.name_span, message));
                }
                if old.source == source {
                    if old.ast.body.is_some() {
                        let message = format!("`{}` is defined before", ast.name);
                        return Err(Diagnostic::new(ast.name_span, message));
                    }
                    for (before, now) in
                        old.ast.parameters.iter().chain(&old.ast.returns).zip(ast.parameters.iter().chain(&ast.returns))
                    {
                        let same = before.space == now.space
                            && before.ty == now.ty
                            && before.vector == now.vector
                            && variable_align(before) == variable_align(now)
                            && variable_bytes(before)? == variable_bytes(now)?;
                        if !same {
                            let message = format!("`{}` was declared before with another parameter", ast.name);
                            return Err(Diagnostic::new(now.span, message));
                        }
                    }
                }
                if ast.body.is_some() {
                    let weak = |function: &ast::Function<'_>| function.linkage == Some(Linkage::Weak);
                    if old.ast.body.is_some() && !weak(ast) && !weak(old.ast) {
                        let message = format!("`{}` is defined twice", ast.name);
                        return Err(Diagnostic::new(ast.name_span, message));
                    }
                    if old.ast.body.is_none() || (weak(old.ast) && !weak(ast)) {
                        *old = FunctionSymbol { ast, source, handle: old.handle };
                    }
                }
                id
            }
            None => {
                self.functions.push(FunctionSymbol { ast, source, handle: 0 });
                self.functions.len() - 1
            }
        };
        self.enter(source, ast.name, ast.linkage.is_some(), Symbol::Function(id), shared);
        if let Some(body) = &ast.body {
            self.walk(source, &body.statements)?;
        }
        Ok(())
    }

    fn walk(&mut self, source: usize, statements: &'s [Statement<'s>]) -> Result<(), Diagnostic> {
        for statement in statements {
            match statement {
                Statement::Block(block) => self.walk(source, &block.statements)?,
                Statement::Declaration(ast) if matches!(ast.space, StateSpace::Global | StateSpace::Const) => {
                    let bytes = variable_bytes(ast)?;
                    self.variables.push(VariableSymbol { ast, source, address: 0, bytes });
                    self.inner.insert(std::ptr::from_ref::<ast::Variable<'_>>(ast).addr(), self.variables.len() - 1);
                }
                Statement::Declaration(_)
                | Statement::Instruction(_)
                | Statement::Label(_)
                | Statement::Loc(_)
                | Statement::Pragma(_)
                | Statement::BranchTargets(_)
                | Statement::CallTargets(_)
                | Statement::CallPrototype(_) => {}
            }
        }
        Ok(())
    }

    fn variable(
        &mut self,
        source: usize,
        ast: &'s ast::Variable<'s>,
        shared: &mut FxHashMap<&'s str, Symbol>,
    ) -> Result<(), Diagnostic> {
        if !matches!(ast.space, StateSpace::Global | StateSpace::Const | StateSpace::Shared) {
            let message = format!("`{}` is declared in a state space that is not allowed at module scope", ast.name);
            return Err(Diagnostic::new(ast.span, message));
        }
        let bytes = variable_bytes(ast)?;
        self.declared.entry((source, ast.name)).or_insert(ast.name_span.start);
        let id = match self.known(source, ast.name, ast.linkage.is_some(), shared) {
            Some(Symbol::Function(_)) => {
                return Err(Diagnostic::new(ast.name_span, format!("`{}` is already a function", ast.name)));
            }
            Some(Symbol::Variable(id)) => {
                let old = &mut self.variables[id];
                if old.ast.space != ast.space {
                    let message = format!("`{}` was declared before in another state space", ast.name);
                    return Err(Diagnostic::new(ast.name_span, message));
                }
                let tentative = |variable: &ast::Variable<'_>| {
                    matches!(variable.linkage, Some(Linkage::Extern | Linkage::Weak | Linkage::Common))
                };
                if old.source == source {
                    let declares = |variable: &ast::Variable<'_>| variable.linkage == Some(Linkage::Extern);
                    let same = old.ast.ty == ast.ty && old.ast.vector == ast.vector;
                    if !same || !declares(old.ast) && !declares(ast) {
                        let message = format!("`{}` is defined twice, or declared otherwise before", ast.name);
                        return Err(Diagnostic::new(ast.name_span, message));
                    }
                }
                let is_extern = |variable: &ast::Variable<'_>| variable.linkage == Some(Linkage::Extern);
                if !tentative(ast) && !tentative(old.ast) {
                    let message = format!("`{}` is defined twice", ast.name);
                    return Err(Diagnostic::new(ast.name_span, message));
                }
                let replaces = (is_extern(old.ast) && !is_extern(ast))
                    || (tentative(old.ast) && !tentative(ast))
                    || (old.ast.initializer.is_none() && ast.initializer.is_some());
                let bytes = bytes.max(old.bytes);
                if replaces {
                    *old = VariableSymbol { ast, source, address: 0, bytes };
                } else {
                    old.bytes = bytes;
                }
                id
            }
            None => {
                self.variables.push(VariableSymbol { ast, source, address: 0, bytes });
                self.variables.len() - 1
            }
        };
        self.enter(source, ast.name, ast.linkage.is_some(), Symbol::Variable(id), shared);
        Ok(())
    }

    fn known(&self, source: usize, name: &str, linked: bool, shared: &FxHashMap<&'s str, Symbol>) -> Option<Symbol> {
        let own = self.scopes[source].get(name).copied();
        own.or_else(|| if linked { shared.get(name).copied() } else { None })
    }

    fn enter(
        &mut self,
        source: usize,
        name: &'s str,
        linked: bool,
        symbol: Symbol,
        shared: &mut FxHashMap<&'s str, Symbol>,
    ) {
        self.scopes[source].insert(name, symbol);
        if linked {
            shared.insert(name, symbol);
        }
    }
}

/// Bytes of a variable; 0 for an array without a size, such as dynamic shared memory.
pub(crate) fn variable_bytes(variable: &ast::Variable<'_>) -> Result<u64, Diagnostic> {
    let mut bytes = element_bytes(variable) * u64::from(variable.vector.unwrap_or(1));
    for (position, dimension) in variable.dimensions.iter().enumerate() {
        let count = match (dimension, &variable.initializer) {
            (Some(count), _) => *count,
            (None, Some(ast::Initializer::List(items))) if position == 0 => items.len() as u64,
            (None, _) => 0,
        };
        bytes = bytes
            .checked_mul(count)
            .filter(|bytes| *bytes < 1 << 40)
            .ok_or_else(|| Diagnostic::new(variable.span, format!("`{}` is too large", variable.name)))?;
    }
    Ok(bytes)
}

/// Bytes of one scalar of a variable.
pub(crate) fn element_bytes(variable: &ast::Variable<'_>) -> u64 {
    ScalarType::try_from(variable.ty).map_or(8, |ty| u64::from(ty.bytes()))
}

/// The alignment of a variable in bytes.
pub(crate) fn variable_align(variable: &ast::Variable<'_>) -> u64 {
    let natural = match ScalarType::try_from(variable.ty) {
        Ok(ty) => u64::from(ty.bytes()) * u64::from(variable.vector.unwrap_or(1)),
        Err(_) => 8,
    };
    u64::from(variable.align.unwrap_or(0)).max(natural).next_power_of_two()
}

/// The type of a declared parameter that fits a slot.
pub(crate) fn slot_type(variable: &ast::Variable<'_>) -> Option<ScalarType> {
    let scalar = variable.dimensions.is_empty() && variable.vector.is_none();
    ScalarType::try_from(variable.ty).ok().filter(|ty| scalar && ty.bits() <= 64)
}
