//! What the machine runs for one kernel: the operations of the kernel and of every function it can reach.
//!
//! How a program comes about is told in [`crate::lower`] and [`crate::assemble`]; who runs it in [`crate::launch`].

use std::collections::HashMap;
use std::sync::OnceLock;

use rumba_ptx::ast::{self, StateSpace};
use rustc_hash::FxHashSet;

use crate::form::Form;
use crate::instrument::Instruments;
use crate::lockstep::{self, Lockstep};
use crate::lower::{FIXED, LowerError, Place};
use crate::op::Op;
use crate::special::Special;
use crate::symbols::{self, FunctionId, Symbol, Symbols};
use crate::target::GROUP;
use crate::types::ScalarType;

/// The offset of the first byte that a block's shared memory has: what lies below is the system's, as on real devices.
pub(crate) const SHARED_START: u64 = 1024;

/// The offset of the first byte of a thread's stack, so that null is not a variable.
pub(crate) const STACK_START: u64 = 256;

/// How wide a slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    W32,
    W64,
    W128,
}

impl Class {
    /// The slot that holds a value of type `ty`.
    pub(crate) fn of(ty: ScalarType) -> Self {
        match ty.bits() {
            128 => Self::W128,
            64 => Self::W64,
            _ => Self::W32,
        }
    }

    /// Units of the register file.
    pub(crate) fn units(self) -> u32 {
        match self {
            Self::W32 => 1,
            Self::W64 => 2,
            Self::W128 => 4,
        }
    }
}

/// A slot that the launch fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fixed {
    /// The same bits in every lane.
    Constant(u128),
    /// The offset of an array in shared memory, which is told from other numbers.
    Array(u64),
    /// A special register.
    Special(Special),
    /// A kernel parameter, at this offset, of this type, extended to the slot.
    Parameter { offset: u32, ty: ScalarType },
    /// The address of a kernel parameter, at this offset.
    ParameterAddress(u32),
    /// Where dynamic shared memory starts.
    DynamicShared,
    /// An argument or a result on its way between functions.
    Transfer(u16),
    /// The end of the thread's stack; the one fixed slot that operations write.
    StackPointer,
}

/// Where a symbol lies.
pub(crate) enum Reference {
    /// At this address.
    Address(u64),
    /// At this offset in shared memory.
    Shared(Place),
}

/// What the functions of a program share while they are lowered.
pub(crate) struct Pool<'m> {
    pub(crate) symbols: &'m Symbols<'m>,
    pub(crate) fixed: Vec<(Class, Fixed)>,
    interned: HashMap<(Class, Fixed), u32>,
    shared: HashMap<*const ast::Variable<'m>, Place>,
    /// End of static shared memory, counted from offset 0.
    pub(crate) shared_end: u64,
    /// Alignment that dynamic shared memory wants.
    pub(crate) dynamic_align: u64,
    /// The functions of the program, the kernel first.
    pub(crate) functions: Vec<FunctionId>,
    /// Of those, the ones whose address was taken.
    pub(crate) pointed_at: Vec<FunctionId>,
    /// Variables in shared memory, for reports: name, offset, bytes.
    pub(crate) shared_variables: Vec<(String, u64, u64)>,
    /// What is put into the program besides its own operations.
    pub(crate) instruments: Instruments,
    /// Registers that may be read before they are written, for reports.
    pub(crate) register_names: Vec<String>,
    /// Whether the program may store registers that hold nothing, and keeps track of them.
    pub(crate) undefines: bool,
    /// Predicates that keep track of registers.
    pub(crate) shadows: usize,
    /// See [`Program::followed`].
    pub(crate) followed: FxHashSet<u32>,
}

impl<'m> Pool<'m> {
    pub(crate) fn new(symbols: &'m Symbols<'m>) -> Self {
        Self {
            symbols,
            fixed: Vec::new(),
            interned: HashMap::new(),
            shared: HashMap::new(),
            shared_end: SHARED_START,
            dynamic_align: 16,
            functions: Vec::new(),
            pointed_at: Vec::new(),
            shared_variables: Vec::new(),
            instruments: Instruments::default(),
            register_names: Vec::new(),
            undefines: false,
            shadows: 0,
            followed: FxHashSet::default(),
        }
    }

    /// Whether the program asks where the state of its grid's barrier is.
    pub(crate) fn knows_grid(&self) -> bool {
        let is_workspace = |value: &Fixed| matches!(value, Fixed::Special(Special::GridWorkspace(_)));
        self.fixed.iter().any(|(_, value)| is_workspace(value))
    }

    /// The slot of a fixed value.
    pub(crate) fn fixed(&mut self, class: Class, value: Fixed) -> Place {
        let next = self.fixed.len() as u32;
        let index = *self.interned.entry((class, value)).or_insert(next);
        if index == next {
            self.fixed.push((class, value));
        }
        Place::Slot(FIXED | index)
    }

    /// The offset of a shared variable, as a slot.
    pub(crate) fn shared(&mut self, variable: &'m ast::Variable<'m>) -> Place {
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
        self.functions.iter().position(|known| *known == id).unwrap_or_else(|| {
            self.functions.push(id);
            self.functions.len() - 1
        })
    }

    /// Lets a function be called by its address.
    pub(crate) fn point_at(&mut self, id: FunctionId) {
        self.function(id);
        if !self.pointed_at.contains(&id) {
            self.pointed_at.push(id);
        }
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
                    let message = format!(
                        "the address of `{}` is taken, which no source defines",
                        function.ast.name
                    );
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

/// Where an operation comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    /// Line in the PTX source.
    pub(crate) line: u32,
    /// Index in [`Debug::sources`].
    pub(crate) source: u16,
    /// Index in [`Debug::locations`], or [`NOWHERE`].
    pub(crate) location: u32,
}

/// No location.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A position in the language that the PTX was made from.
#[derive(Debug, Clone)]
pub(crate) struct SourceLocation {
    pub(crate) file: usize,
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// The function that was inlined, and where.
    pub(crate) inlined: Option<(Option<String>, u32)>,
}

/// Tables for reports.
#[derive(Debug, Default, Clone)]
pub(crate) struct Debug {
    pub(crate) sources: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) points: Vec<Point>,
    pub(crate) locations: Vec<SourceLocation>,
    pub(crate) functions: Vec<String>,
    pub(crate) shared_variables: Vec<(String, u64, u64)>,
    /// Registers that may be read before they are written.
    pub(crate) registers: Vec<String>,
    /// The text of each instruction, if it is profiled.
    pub(crate) texts: Vec<String>,
}

/// The part of the register file that a function uses: slots of each width, the narrow ones first.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SaveRange {
    pub(crate) first_unit: u16,
    pub(crate) narrow: u16,
    pub(crate) wide: u16,
    pub(crate) widest: u16,
    pub(crate) first_predicate: u16,
    pub(crate) predicates: u16,
}

impl SaveRange {
    /// Units of the register file.
    pub(crate) fn units(&self) -> usize {
        usize::from(self.narrow) + 2 * usize::from(self.wide) + 4 * usize::from(self.widest)
    }
}

/// A kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in the PTX.
    pub name: String,
    /// Where it lies in the parameter block.
    pub offset: usize,
    /// Its size.
    pub bytes: usize,
    /// Its alignment.
    pub align: usize,
}

/// Where control goes after an operation, as far as programs for lanes in lockstep are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// On.
    Next,
    /// On, but lanes may have to wait for others.
    Park,
    /// To the target in `imm`.
    Jump,
    /// To one of the targets in `imm`.
    Branch,
    /// To one of the targets of a table.
    Table,
    /// On, by way of another function or with another frame.
    Leave,
    /// Nowhere within the function.
    End,
}

/// What is known of an operation besides what it needs to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) form: Form,
    pub(crate) flow: Flow,
    /// Which operands are written; see [`crate::lower::Draft::defines`].
    pub(crate) defines: u8,
    /// Whether lanes may pass it without executing it.
    pub(crate) conditional: bool,
    /// The widths of those operands that are slots: `dst`, `a`, `b`, `c`, `d`.
    pub(crate) classes: [Option<Class>; 5],
}

/// A kernel ready to run.
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) ops: Box<[Op]>,
    /// For each of the kernel's own operations, which come first.
    pub(crate) facts: Box<[Facts]>,
    /// Number of the kernel's own operations.
    pub(crate) kernel_ops: usize,
    /// The same for warps in lockstep, made when it is first wanted: for blocks of any shape, and of rows.
    pub(crate) lockstep: [OnceLock<Option<Lockstep>>; 2],
    /// Index of the first operation of the kernel.
    pub(crate) entry: usize,
    /// Units of the register file of a warp, and number of predicates.
    pub(crate) units: usize,
    pub(crate) predicates: usize,
    /// What the launch fills: slot, width, value.
    pub(crate) fixed: Vec<(u16, Class, Fixed)>,
    /// Targets of `brx.idx`, as indices of operations.
    pub(crate) tables: Vec<Vec<u32>>,
    /// Addresses of functions, to indices of operations.
    pub(crate) handles: HashMap<u64, u32>,
    pub(crate) saves: Vec<SaveRange>,
    /// Bytes of a kernel's own frame.
    pub(crate) frame_bytes: u64,
    /// Bytes of stack that every thread may need, if that is known.
    pub(crate) stack_bytes: Option<u64>,
    pub(crate) stack_align: u64,
    /// The index of the source that defines the kernel.
    pub(crate) source: usize,
    /// Where shared memory begins that the kernel may access: before its own if it asks for the reserved part.
    pub(crate) shared_start: u64,
    /// End of static shared memory, counted from offset 0.
    pub(crate) shared_end: u64,
    pub(crate) dynamic_align: u64,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) parameter_bytes: usize,
    pub(crate) max_threads: u32,
    pub(crate) required_block: Option<[u32; 3]>,
    /// `.reqnctapercluster`
    pub(crate) required_cluster: Option<[u32; 3]>,
    /// `.maxclusterrank`
    pub(crate) max_cluster: Option<u32>,
    /// `.explicitcluster`: launches have to say how large clusters are.
    pub(crate) explicit_cluster: bool,
    /// `.blocksareclusters`: the grid that a launch asks for is one of clusters.
    pub(crate) blocks_are_clusters: bool,
    /// Whether memory may be given values that are undefined, and loads go on from there; see [`crate::check::registers`].
    pub(crate) undefines: bool,
    /// The loads after which it is known whether their values are undefined.
    pub(crate) followed: FxHashSet<u32>,
    /// Registers as a GPU would count them, for occupancy.
    pub(crate) registers: u32,
    pub(crate) debug: Debug,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("name", &self.name)
            .field("ops", &self.ops.len())
            .finish_non_exhaustive()
    }
}

impl Program {
    /// The fixed slots that hold another value in each block.
    pub(crate) fn of_block(&self) -> impl Iterator<Item = (u16, Class, Special)> {
        self.fixed.iter().filter_map(|(slot, class, value)| match value {
            Fixed::Special(special) if special.is_of_block() => Some((*slot, *class, *special)),
            Fixed::Special(_)
            | Fixed::Constant(_)
            | Fixed::Array(_)
            | Fixed::Parameter { .. }
            | Fixed::ParameterAddress(_)
            | Fixed::DynamicShared
            | Fixed::Transfer(_)
            | Fixed::StackPointer => None,
        })
    }

    /// No program for warps in lockstep yet.
    pub(crate) fn no_lockstep() -> [OnceLock<Option<Lockstep>>; 2] {
        [OnceLock::new(), OnceLock::new()]
    }

    /// The program for warps in lockstep, if there is one for blocks of this shape.
    pub(crate) fn lockstep(&self, block: [u32; 3]) -> Option<&Lockstep> {
        let [x, y, z] = block;
        let rows = x.is_multiple_of(GROUP as u32) || y * z == 1;
        self.lockstep[usize::from(rows)]
            .get_or_init(|| lockstep::build(self, rows))
            .as_ref()
    }
}
