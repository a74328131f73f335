//! The meaning of names inside a function: registers, parameters, local variables, labels, in nested scopes.
//!
//! Names at module scope are found through [`crate::lower::symbols`].

use crate::lower::vectors::in_range;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

use rumba_ptx::ast::{self, StateSpace, Statement};
use smallvec::SmallVec;

use crate::base::types::ScalarType;
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::symbols;
use crate::lower::symbols::Symbol;
use crate::lower::virtual_op::{LabelId, VReg};
use crate::machine::program::Class;

/// The meaning of a name.
#[derive(Debug, Clone)]
pub(crate) enum Binding<'m> {
    /// A register, by its index in the function.
    Register(usize),
    /// A vector of registers.
    Vector(SmallVec<[usize; 4]>),
    /// A variable in the thread's frame: `.local`, or `.param` that needs an address.
    Local {
        offset: u64,
        space: StateSpace,
        /// Bytes of its scalars.
        element: u64,
        variable: &'m ast::Variable<'m>,
    },
    /// A variable in `.param` that is kept in a slot.
    Parameter { place: VReg, ty: ScalarType },
    /// A parameter of a kernel.
    EntryParameter {
        offset: u32,
        /// Bytes of its scalars.
        element: u64,
    },
    /// A variable in `.shared` declared in the function.
    Shared(&'m ast::Variable<'m>),
    /// A name at module scope.
    Symbol(Symbol),
    /// A label.
    Label(LabelId),
    /// A list of labels.
    Targets(&'m ast::NameList<'m>),
    /// A list of functions.
    CallTargets(&'m ast::NameList<'m>),
    /// The signature of an indirect call.
    Prototype(&'m ast::CallPrototype<'m>),
}

/// A register of a function.
#[derive(Debug)]
pub(crate) struct Register<'m> {
    pub(crate) name: &'m str,
    pub(crate) ty: ScalarType,
    pub(crate) place: VReg,
    /// Whether an operation read it already.
    pub(crate) used: bool,
}

/// `.v2 .u32 v<4>`: registers, or vectors of them, that are declared together.
#[derive(Debug, Clone, Copy)]
struct Range<'m> {
    prefix: &'m str,
    ty: ScalarType,
    /// The number of elements of a vector.
    vector: Option<u8>,
    count: u32,
}

impl Range<'_> {
    fn holds(&self, name: &str) -> bool {
        in_range(name, self.prefix, self.count)
    }
}

/// One level of braces.
#[derive(Debug, Default)]
pub(crate) struct NameScope<'m> {
    names: FxHashMap<&'m str, Binding<'m>>,
    /// `%r<100>`.
    ranges: Vec<Range<'m>>,
}

impl<'m> Lowering<'m> {
    /// Opens a scope in which the labels of `statements` are known from the start.
    pub(crate) fn open_scope(&mut self, statements: &'m [Statement<'m>]) -> Result<(), LowerError> {
        let mut scope = NameScope::default();
        for statement in statements {
            let (label, binding) = match statement {
                Statement::Label(label) => {
                    self.function.labels.push(*label);
                    (label, Binding::Label((self.function.labels.len() - 1) as LabelId))
                }
                Statement::BranchTargets(list) => (&list.label, Binding::Targets(list)),
                Statement::CallTargets(list) => (&list.label, Binding::CallTargets(list)),
                Statement::CallPrototype(prototype) => (&prototype.label, Binding::Prototype(prototype)),
                Statement::Instruction(_)
                | Statement::Declaration(_)
                | Statement::Block(_)
                | Statement::Loc(_)
                | Statement::Pragma(_) => continue,
            };
            if scope.names.insert(label.name, binding).is_some() {
                let message = format!("the label `{}` is defined twice", label.name);
                return Err(LowerError::new(message).at(label.span));
            }
        }
        self.function.scopes.push(scope);
        Ok(())
    }

    /// The meaning of `name` in the current scope.
    pub(crate) fn lookup(&mut self, name: &'m str) -> Option<Binding<'m>> {
        for level in (0..self.function.scopes.len()).rev() {
            let scope = &self.function.scopes[level];
            if let Some(binding) = scope.names.get(name) {
                return Some(binding.clone());
            }
            if let Some(range) = scope.ranges.iter().find(|range| range.holds(name)) {
                let Range { ty, vector, .. } = *range;
                let binding = self.registers(name, ty, vector);
                self.function.scopes[level].names.insert(name, binding.clone());
                return Some(binding);
            }
        }
        let position = self.instruction.map_or(u32::MAX, |instruction| instruction.span.start);
        let symbols = self.pool.symbols;
        symbols.find_before(self.function.source, name, position).map(Binding::Symbol)
    }

    fn new_register(&mut self, name: &'m str, ty: ScalarType) -> usize {
        let place = match ty {
            ScalarType::Pred => self.new_predicate(),
            _ => self.new_slot(Class::of(ty)),
        };
        self.function.registers.push(Register { name, ty, place, used: false });
        self.function.registers.len() - 1
    }

    /// A register, or a vector of them.
    fn registers(&mut self, name: &'m str, ty: ScalarType, vector: Option<u8>) -> Binding<'m> {
        match vector {
            None => Binding::Register(self.new_register(name, ty)),
            Some(elements) => Binding::Vector((0..elements).map(|_| self.new_register(name, ty)).collect()),
        }
    }

    /// Enters a declaration into the innermost scope.
    pub(crate) fn declare(&mut self, variable: &'m ast::Variable<'m>) -> Result<(), LowerError> {
        let fail = |message: String| Err(LowerError::new(message).at(variable.span));
        let scalar = ScalarType::try_from(variable.ty);
        let binding = match variable.space {
            StateSpace::Reg => {
                let Ok(ty) = scalar else {
                    return fail(format!("a register cannot have the type of `{}`", variable.name));
                };
                if let Some(count) = variable.range {
                    let scope = self.innermost();
                    if scope.ranges.iter().any(|range| range.prefix == variable.name)
                        || scope.names.keys().any(|name| in_range(name, variable.name, count))
                    {
                        return fail(format!("registers of `{}<{count}>` are declared twice", variable.name));
                    }
                    scope.ranges.push(Range { prefix: variable.name, ty, vector: variable.vector, count });
                    return Ok(());
                }
                self.registers(variable.name, ty, variable.vector)
            }
            StateSpace::Local => self.in_frame(variable)?,
            StateSpace::Param => self.parameter(variable)?,
            StateSpace::Shared => Binding::Shared(variable),
            StateSpace::Global | StateSpace::Const => match self.pool.symbols.inner(variable) {
                Some(id) => Binding::Symbol(Symbol::Variable(id)),
                None => return fail(format!("`{}` cannot be declared here", variable.name)),
            },
            StateSpace::Sreg | StateSpace::Tex => {
                return fail(format!("`{}` is declared in a state space that is not supported", variable.name));
            }
        };
        let ranges = &self.innermost().ranges;
        let in_a_range = ranges.iter().any(|range| range.holds(variable.name));
        if in_a_range || !self.bind(variable.name, binding) {
            return fail(format!("`{}` is declared twice", variable.name));
        }
        Ok(())
    }

    /// Enters a binding into the innermost scope, unless that has one of the name.
    pub(crate) fn bind(&mut self, name: &'m str, binding: Binding<'m>) -> bool {
        match self.innermost().names.entry(name) {
            Entry::Occupied(_) => false,
            Entry::Vacant(place) => {
                place.insert(binding);
                true
            }
        }
    }

    fn innermost(&mut self) -> &mut NameScope<'m> {
        if self.function.scopes.is_empty() {
            self.function.scopes.push(NameScope::default());
        }
        let last = self.function.scopes.len() - 1;
        &mut self.function.scopes[last]
    }

    /// A place in the thread's frame.
    fn in_frame(&mut self, variable: &'m ast::Variable<'m>) -> Result<Binding<'m>, LowerError> {
        let bytes = symbols::variable_bytes(variable).map_err(|error| LowerError::new(error.message))?;
        let align = symbols::variable_align(variable);
        let offset = self.function.frame_bytes.next_multiple_of(align);
        self.function.frame_bytes = offset + bytes;
        self.function.frame_align = self.function.frame_align.max(align);
        Ok(Binding::Local { offset, space: variable.space, element: symbols::element_bytes(variable), variable })
    }

    /// A variable in `.param` other than a kernel's parameter.
    pub(crate) fn parameter(&mut self, variable: &'m ast::Variable<'m>) -> Result<Binding<'m>, LowerError> {
        let scalar = ScalarType::try_from(variable.ty).ok();
        match scalar {
            Some(ty)
                if variable.dimensions.is_empty()
                    && variable.vector.is_none()
                    && ty.bits() <= 64
                    && !self.function.survey.in_memory.contains(&std::ptr::from_ref(variable)) =>
            {
                Ok(Binding::Parameter { place: self.new_slot(Class::of(ty)), ty })
            }
            _ => self.in_frame(variable),
        }
    }
}
