//! The state that the functions of a program share while they are lowered: fixed slots, shared variables, references.

use rumba_checks::CheckSet;

use rumba_ptx::ast::{self, StateSpace};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::lanes::SHARED_START;
use crate::check::products::ProductRegisters;
use crate::check::updates::UpdatePairs;
use crate::lower::error::LowerError;
use crate::lower::symbols;
use crate::lower::symbols::{FunctionId, Symbol, Symbols};
use crate::lower::virtual_op::{FIXED, VReg};
use crate::machine::program::{Class, Fixed};
use crate::machine::special::Special;

/// Where a symbol lies.
pub(crate) enum Reference {
    /// At this address.
    Address(u64),
    /// At this offset in shared memory.
    Shared(VReg),
}

/// The state that the functions of a program share while they are lowered.
pub(crate) struct ProgramBuilder<'m> {
    pub(crate) symbols: &'m Symbols<'m>,
    pub(crate) fixed: Vec<(Class, Fixed)>,
    interned: FxHashMap<(Class, Fixed), u32>,
    shared: FxHashMap<*const ast::Variable<'m>, VReg>,
    /// End of static shared memory, counted from offset 0.
    pub(crate) shared_end: u64,
    /// Alignment that dynamic shared memory wants.
    pub(crate) dynamic_align: u64,
    /// The functions of the program, the kernel first.
    pub(crate) functions: Vec<FunctionId>,
    /// Their indices.
    numbers: FxHashMap<FunctionId, usize>,
    /// Of those, the ones whose address was taken.
    pub(crate) pointed_at: FxHashSet<FunctionId>,
    /// Variables in shared memory, for reports: name, offset, bytes.
    pub(crate) shared_variables: Vec<(String, u64, u64)>,
    /// The instrumentation of the program.
    pub(crate) instruments: Instruments,
    /// Registers that may be read before they are written, for reports.
    pub(crate) register_names: Vec<String>,
    /// Whether the program may store registers that hold nothing, and keeps track of them.
    pub(crate) undefines: bool,
    /// Predicates that keep track of registers.
    pub(crate) shadows: usize,
    /// See [`Program::followed`].
    pub(crate) followed: FxHashSet<u32>,
    /// See [`Program::updates`].
    pub(crate) updates: UpdatePairs,
    /// See [`Program::uses_proxies`].
    pub(crate) uses_proxies: bool,
    /// See [`Program::products`].
    pub(crate) products: Vec<ProductRegisters>,
}

impl<'m> ProgramBuilder<'m> {
    pub(crate) fn new(symbols: &'m Symbols<'m>) -> Self {
        Self {
            symbols,
            fixed: Vec::new(),
            interned: FxHashMap::default(),
            shared: FxHashMap::default(),
            shared_end: SHARED_START,
            dynamic_align: 16,
            functions: Vec::new(),
            numbers: FxHashMap::default(),
            pointed_at: FxHashSet::default(),
            shared_variables: Vec::new(),
            instruments: Instruments::default(),
            register_names: Vec::new(),
            undefines: false,
            shadows: 0,
            followed: FxHashSet::default(),
            updates: UpdatePairs::default(),
            uses_proxies: false,
            products: Vec::new(),
        }
    }

    /// Whether the program asks where the state of its grid's barrier is.
    pub(crate) fn knows_grid(&self) -> bool {
        let is_workspace = |value: &Fixed| matches!(value, Fixed::Special(Special::GridWorkspace(_)));
        self.fixed.iter().any(|(_, value)| is_workspace(value))
    }

    /// The slot of a fixed value.
    pub(crate) fn fixed(&mut self, class: Class, value: Fixed) -> VReg {
        let next = self.fixed.len() as u32;
        let index = *self.interned.entry((class, value)).or_insert(next);
        if index == next {
            self.fixed.push((class, value));
        }
        VReg::Slot(FIXED | index)
    }

    /// The offset of a shared variable, as a slot.
    pub(crate) fn shared(&mut self, variable: &'m ast::Variable<'m>) -> VReg {
        let key = std::ptr::from_ref(variable);
        if let Some(place) = self.shared.get(&key) {
            return *place;
        }
        let bytes = symbols::variable_bytes(variable).unwrap_or(0);
        let align = symbols::variable_align(variable);
        let place = if bytes == 0 {
            self.dynamic_align = self.dynamic_align.max(align);
            self.fixed(Class::W64, Fixed::DynamicShared)
        } else {
            let offset = self.shared_end.next_multiple_of(align);
            self.shared_end = offset + bytes;
            self.shared_variables.push((variable.name.to_owned(), offset, bytes));
            self.fixed(Class::W64, Fixed::Array(offset))
        };
        self.shared.insert(key, place);
        place
    }

    /// The index of a function in the program, which it joins if it is new.
    pub(crate) fn function(&mut self, id: FunctionId) -> usize {
        *self.numbers.entry(id).or_insert_with(|| {
            self.functions.push(id);
            self.functions.len() - 1
        })
    }

    /// Lets a function be called by its address.
    pub(crate) fn point_at(&mut self, id: FunctionId) {
        self.function(id);
        self.pointed_at.insert(id);
    }

    /// Where a symbol lies.
    pub(crate) fn reference(
        &mut self,
        _source: usize,
        symbol: Symbol,
    ) -> Result<(Reference, Option<StateSpace>), LowerError> {
        match symbol {
            Symbol::Function(id) => {
                let function = &self.symbols.functions[id];
                if function.ast.body.is_none() {
                    let message = format!("the address of `{}` is taken, which no source defines", function.ast.name);
                    return Err(LowerError::new(message));
                }
                let handle = function.handle;
                if function.ast.kind == ast::FunctionKind::Func {
                    self.point_at(id);
                }
                Ok((Reference::Address(handle), None))
            }
            Symbol::Variable(id) => {
                let variable = &self.symbols.variables[id];
                let space = variable.ast.space;
                if space == StateSpace::Shared {
                    return Ok((Reference::Shared(self.shared(variable.ast)), Some(space)));
                }
                if variable.address == 0 {
                    let message = format!("`{}` is .extern, and no source defines it", variable.ast.name);
                    return Err(
                        LowerError::new(message).with_help("load the source that defines it together with this one")
                    );
                }
                Ok((Reference::Address(variable.address), Some(space)))
            }
        }
    }
}

/// The instrumentation of programs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Instruments {
    /// The checks that add operations.
    pub(crate) checks: CheckSet,
    /// Whether instructions are counted.
    pub(crate) profile: bool,
    /// Whether programs get points where the lanes of a warp diverge at random.
    pub(crate) scatter: bool,
    /// Points of choice before what synchronises.
    pub(crate) choices: bool,
}

impl Instruments {
    /// Whether they want to know which instructions operations belong to.
    pub(crate) fn want_instructions(self) -> bool {
        self.checks.finds() || self.scatter
    }
}
