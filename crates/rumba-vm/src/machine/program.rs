//! The program of a kernel: the operations of the kernel and of every function it can reach.
//!
//! [`crate::lower::lowering`] and [`crate::load::assemble`] make programs; [`crate::run::launch`] runs them.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rumba_checks::{Check, CheckSet};
use rustc_hash::FxHashSet;

use crate::base::engine::{Code, Compiler};
use crate::base::report::Location;
use crate::base::types::ScalarType;
use crate::check::products::ProductRegisters;
use crate::check::updates::UpdatePairs;
use crate::machine::op::Op;
use crate::machine::op::opcode::{Guard, Opcode};
use crate::machine::special::Special;

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

    /// A stride as one of values of this width.
    pub(crate) fn narrow(self, stride: i64) -> i64 {
        match self {
            Self::W32 => i64::from(stride as i32),
            Self::W64 | Self::W128 => stride,
        }
    }
}

/// A slot that the launch fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fixed {
    /// The same bits in every lane.
    Constant(u128),
    /// The offset of an array in shared memory, which checks distinguish from other numbers.
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

/// Where control goes after an operation, as far as native code is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// The descriptor of an operation: what is known of it beyond what running it needs, as in the instruction
/// descriptors of LLVM.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Descriptor {
    pub(crate) opcode: Opcode,
    pub(crate) flow: Flow,
    /// The operands that are written; see [`crate::lower::virtual_op::VirtualOp::defines`].
    pub(crate) defines: u8,
    /// Whether lanes may skip the operation.
    pub(crate) conditional: bool,
    /// The widths of those operands that are slots: `dst`, `a`, `b`, `c`, `d`.
    pub(crate) classes: [Option<Class>; 5],
    /// The operands that are predicates, in the order of `defines`.
    pub(crate) predicates: u8,
}

/// The choice before a synchronizing operation; see [`crate::explore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChoiceKind {
    /// Nothing: lanes wait for others of their warp that stand further up, because all are to execute the operation together.
    Meet,
    /// The operation has been executed.
    Done,
    /// An access of `bytes` bytes at the address in `a`, plus the offset.
    Memory { bytes: u8, access: ChoiceAccess },
    /// An operation on the mbarrier at this address, which counts as `b` arrivals, or as one.
    Mbarrier { operation: ChoiceMbarrier, counts: bool },
    /// An arrival at the barrier `a`, which expects `b` threads.
    Barrier,
    /// An operation whose result may depend on the order, which the exploration does not distinguish.
    Unexplored,
}

/// The kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChoiceAccess {
    Reads,
    Writes,
    /// Combines the value in memory with an operand without a result, by an operation of this number that commutes with
    /// itself.
    Combines(u8),
}

/// The effect of an operation on an mbarrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChoiceMbarrier {
    /// Initializes or invalidates the mbarrier.
    Whole,
    Expects,
    Arrives,
    /// Bytes come.
    Brings,
    Looks,
}

/// A point of choice of a program.
#[derive(Debug, Clone)]
pub(crate) struct ChoicePoint {
    pub(crate) kind: ChoiceKind,
    /// The state space of the address, as in an operation's `extra`, and the offset.
    pub(crate) space: u16,
    pub(crate) offset: u64,
    /// The instruction.
    pub(crate) text: String,
    /// The slots and predicates that are live after it.
    pub(crate) live: Vec<(u16, Class)>,
    pub(crate) predicates: Vec<u16>,
}

/// A kernel ready to run.
pub(crate) struct Program {
    pub(crate) name: String,
    /// The hash of the PTX of all functions that operations were made from.
    pub(crate) ptx: [u8; 32],
    pub(crate) ops: Box<[Op]>,
    /// For each of the kernel's own operations, which come first.
    pub(crate) descriptors: Box<[Descriptor]>,
    /// Number of the kernel's own operations.
    pub(crate) kernel_ops: usize,
    /// Native code, from when it is first wanted: for each size of groups of lanes.
    pub(crate) native: [OnceLock<Compilation>; 4],
    /// Index of the first operation of the kernel.
    pub(crate) entry: usize,
    /// Units of the register file of a warp, and number of predicates.
    pub(crate) units: usize,
    pub(crate) predicates: usize,
    /// The slots that the launch fills: slot, width, value.
    pub(crate) fixed: Vec<(u16, Class, Fixed)>,
    /// Targets of `brx.idx`, as indices of operations.
    pub(crate) tables: Vec<Vec<u32>>,
    /// Addresses of functions, to indices of operations.
    pub(crate) handles: HashMap<u64, u32>,
    pub(crate) saves: Vec<SaveRange>,
    /// Points of choice, if orders are explored.
    pub(crate) choices: Vec<ChoicePoint>,
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
    /// The checks whose operations are among the program's.
    pub(crate) checks: CheckSet,
    /// Whether threads may wait for others by reading memory in a loop, once it was asked.
    pub(crate) polls: OnceLock<bool>,
    /// Whether there are barriers of any kind.
    pub(crate) has_barriers: bool,
    /// Whether memory may be given values that are undefined, and loads go on from there; see [`crate::load::instrument::registers`].
    pub(crate) undefines: bool,
    /// The loads after which it is known whether their values are undefined.
    pub(crate) followed: FxHashSet<u32>,
    /// The stores whose values are computed from loads, if races are looked for.
    pub(crate) updates: Arc<UpdatePairs>,
    /// Whether there are mbarriers, or operations or fences of proxies other than the generic proxy.
    pub(crate) uses_proxies: bool,
    /// The registers of products, if these are checked.
    pub(crate) products: Vec<ProductRegisters>,
    /// Registers that threads start with, if the kernel limits them.
    pub(crate) register_cap: Option<u32>,
    /// Registers as a GPU would count them, for occupancy.
    pub(crate) registers: u32,
    pub(crate) debug: Debug,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("name", &self.name).field("ops", &self.ops.len()).finish_non_exhaustive()
    }
}

impl Program {
    /// Whether launches report accesses and synchronisation to a monitor.
    pub(crate) fn is_monitored(&self) -> bool {
        self.checks.contains(Check::Race) || self.checks.contains(Check::Init)
    }

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

    /// The operation `distance` away from another, if it is one of the kernel's.
    fn relative(&self, index: usize, distance: u32) -> Option<usize> {
        let target = index as i64 + i64::from(distance as i32);
        usize::try_from(target).ok().filter(|target| *target < self.kernel_ops)
    }

    /// Where control may go after an operation that ends a block; nothing for the others.
    pub(crate) fn targets(&self, index: usize) -> Option<Vec<usize>> {
        let (op, descriptor) = (&self.ops[index], &self.descriptors[index]);
        let found: Vec<Option<usize>> = match (descriptor.flow, descriptor.opcode.attributes().guard) {
            (Flow::Jump, _) => vec![self.relative(index, op.imm as u32)],
            (Flow::Branch, _) => vec![self.relative(index, op.imm as u32), self.relative(index, (op.imm >> 32) as u32)],
            (Flow::End, _) => Vec::new(),
            (Flow::Table, _) => {
                let targets = self.tables.get(op.imm as usize);
                let targets = targets.into_iter().flatten().map(|target| Some(*target as usize));
                targets.collect()
            }
            (Flow::Leave, _) => vec![self.relative(index, 1)],
            (Flow::Next | Flow::Park, Some(Guard::Begins)) => {
                vec![self.relative(index, 1), self.relative(index, op.imm as u32 + 1)]
            }
            (Flow::Next | Flow::Park, _) => return None,
        };
        Some(found.into_iter().flatten().collect())
    }
}

/// No entry.
pub(crate) const NO_ENTRY: u32 = u32::MAX;

/// The native code of a program.
#[derive(Debug)]
pub(crate) struct Native {
    pub(crate) code: Code,
    /// For each entry, the operation whose handler calls the code: an OSR entry.
    pub(crate) entry_ops: Box<[Op]>,
    /// For each of the kernel's operations, the number of the barrier at which whole blocks wait there, plus one; otherwise 0.
    pub(crate) barriers: Box<[u8]>,
    pub(crate) metadata: NativeMetadata,
}

/// The metadata of native code: what is known of it from its text.
#[derive(Debug, PartialEq)]
pub(crate) struct NativeMetadata {
    /// For each of the kernel's operations, the number of its entry or [`NO_ENTRY`].
    pub(crate) entry_at: Box<[u32]>,
    /// The layouts in which the code leaves registers to be completed in the register file, by numbers that the code
    /// returns.
    pub(crate) layouts: Box<[Layout]>,
    /// The sites of the code: for each, the bytes that a warp accesses there. See [`crate::run::ahead`].
    pub(crate) sites: Box<[u32]>,
    /// Whether loops load from memory in an order, as threads do that wait for other blocks.
    pub(crate) waits: bool,
}

/// The most sites at which the code of a kernel notes addresses.
pub(crate) const SITES: usize = 16;

/// Requests the native code of a program from a compiler.
pub(crate) type Request = Box<dyn FnOnce(&Arc<Program>, &dyn Compiler) + Send>;

/// The native code of a program, or the pending request for it.
#[derive(Default)]
pub(crate) struct Compilation {
    /// The result of the request: without code, the program is always interpreted.
    code: OnceLock<Option<Native>>,
    /// The request, until it is made.
    request: Mutex<Option<Request>>,
    /// The estimated length of the text, in bytes.
    bytes: u64,
    /// The number of operations that are interpreted before the request is made.
    threshold: u64,
    /// The number of operations interpreted so far.
    interpreted: AtomicU64,
}

impl Compilation {
    /// A program for which no text is written.
    pub(crate) fn without_text() -> Self {
        Self { code: OnceLock::from(None), ..Self::default() }
    }

    /// Code that the compiler already has, and the estimated length of its text in bytes.
    pub(crate) fn found(bytes: u64, code: Native) -> Self {
        Self { code: OnceLock::from(Some(code)), bytes, ..Self::default() }
    }

    /// Code of a text of this estimated length, in bytes, that is requested after `threshold` operations were interpreted.
    pub(crate) fn after(bytes: u64, threshold: u64, request: Request) -> Self {
        Self { request: Mutex::new(Some(request)), bytes, threshold, ..Self::default() }
    }

    /// Keeps the result of the request, unless there is one already.
    pub(crate) fn settle(&self, code: Option<Native>) {
        let _ = self.code.set(code);
    }
}

impl fmt::Debug for Compilation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compilation")
            .field("code", &self.code)
            .field("threshold", &self.threshold)
            .field("interpreted", &self.interpreted)
            .finish_non_exhaustive()
    }
}

/// Counts the operations of a launch that is still interpreted, and requests the native code when the program is hot.
#[derive(Clone, Copy)]
pub(crate) struct TierUp<'a> {
    program: &'a Arc<Program>,
    compiler: &'a dyn Compiler,
    compilation: &'a Compilation,
}

impl<'a> TierUp<'a> {
    /// The counter of a launch that begins. If the threshold is 0, the code is requested at once.
    pub(crate) fn new(program: &'a Arc<Program>, compiler: &'a dyn Compiler, compilation: &'a Compilation) -> Self {
        let tier_up = Self { program, compiler, compilation };
        if compilation.threshold == 0 {
            tier_up.request();
        }
        tier_up
    }

    /// The native code, if it is compiled.
    pub(crate) fn code(&self) -> Option<&'a Native> {
        self.compilation.code.get()?.as_ref()
    }

    /// The native code, for which the calling thread waits; `None` if the program cannot be compiled.
    pub(crate) fn wait(&self) -> Option<&'a Native> {
        self.request();
        self.compilation.code.wait().as_ref()
    }

    /// The estimated length of the text that is compiled, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.compilation.bytes
    }

    /// Counts interpreted operations, and makes the request when the threshold is reached.
    pub(crate) fn add(&self, operations: u64) {
        let compilation = self.compilation;
        let before = compilation.interpreted.fetch_add(operations, Ordering::Relaxed);
        if before <= compilation.threshold && before.saturating_add(operations) >= compilation.threshold {
            self.request();
        }
    }

    /// Makes the request, unless it was made.
    fn request(&self) {
        if self.compilation.code.get().is_some() {
            return;
        }
        let request = self.compilation.request.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(request) = request {
            request(self.program, self.compiler);
        }
    }
}

/// Registers for which the register file holds the first lanes of groups only.
pub(crate) type Layout = Box<[Spread]>;

/// A register for which the register file holds the first lane of each group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spread {
    pub(crate) slot: u16,
    pub(crate) is_wide: bool,
    /// Lanes of a group.
    pub(crate) group: u8,
    /// From lane to lane.
    pub(crate) stride: i64,
}

impl Debug {
    /// Where an instruction comes from, innermost first.
    pub(crate) fn locations(&self, source: u32) -> Vec<Location> {
        let mut locations = Vec::new();
        let mut index = self.points.get(source as usize).map_or(NOWHERE, |point| point.location);
        while let Some(known) = self.locations.get(index as usize) {
            let (function, parent) = match &known.inlined {
                Some((function, parent)) => (function.clone(), *parent),
                None => (None, NOWHERE),
            };
            locations.push(Location {
                file: self.files.get(known.file).cloned().unwrap_or_default(),
                line: known.line,
                column: known.column,
                function,
            });
            // Parents precede their children, so this ends.
            index = parent.min(if parent < index { parent } else { NOWHERE });
        }
        locations
    }

    /// The source and line of an instruction.
    pub(crate) fn ptx(&self, source: u32) -> (String, u32) {
        match self.points.get(source as usize) {
            Some(point) => (self.sources.get(usize::from(point.source)).cloned().unwrap_or_default(), point.line),
            None => (String::new(), 0),
        }
    }
}
