//! From lowered functions to a program: blocks in order, slots in the register file, targets resolved.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use rumba_ptx::Diagnostic;
use rumba_ptx::ast::{self, FunctionDirective};

use crate::base::flow::{BasicBlock, components};
use crate::base::lanes::{SHARED_START, STACK_START};
use crate::exec::control;
use crate::exec::group_sync::register_cap;
use crate::load::cfg::Graph;
use crate::load::instrument::scatter::may_run_ahead;
use crate::load::liveness::{Assignment, LiveOp};
use crate::load::{cfg, choices, digest, function, instrument, liveness, survey};
use crate::lower::fixed::{Instruments, ProgramBuilder};
use crate::lower::lowering::{Function, Lowering};
use crate::lower::sources::SourceText;
use crate::lower::symbols;
use crate::lower::symbols::{FunctionId, Located, Symbols};
use crate::lower::virtual_op::{Control, FIXED, Node, VReg, VirtualOp};
use crate::machine::op::Op;
use crate::machine::program::{ChoicePoint, Class, Debug, Descriptor, Fixed, Flow, Parameter, Program, SaveRange};
use crate::machine::special::Special;

/// The largest shared memory that a kernel may declare, in bytes; larger sizes are requested at the launch.
const SHARED_BYTES: u64 = 48 << 10;
/// The largest number of slot units of a program: operations name slots in 16 bits.
const MAX_UNITS: u32 = 1 << 16;

/// The options of a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProgramOptions {
    /// The checks and counts whose operations are added to programs.
    pub(crate) instruments: Instruments,
    /// Whether the processor's vector instructions may be used.
    pub(crate) vector_instructions: bool,
}

/// Why a kernel has no program.
pub(crate) enum Refusal {
    /// The source is wrong.
    Wrong(Vec<Located>),
    /// The source is valid as far as checked, but has instructions that the machine does not execute.
    Unsupported(Vec<Located>),
}

/// Builds the program of a kernel. Adds all functions that the kernel may call to `reached`.
pub(crate) fn program<'m>(
    symbols: &'m Symbols<'m>,
    sources: &[SourceText<'m>],
    names: &[String],
    kernel: FunctionId,
    target: &ProgramOptions,
    reached: &mut Vec<FunctionId>,
) -> Result<Program, Refusal> {
    let mut debug = Debug { sources: names.to_vec(), ..Debug::default() };
    let mut lowering = Lowering::new(ProgramBuilder::new(symbols));
    lowering.pool.instruments = target.instruments;
    lowering.pool.function(kernel);
    let mut functions = Vec::new();
    let mut errors = Vec::new();
    let mut calls_indirectly = false;
    while functions.len() < lowering.pool.functions.len() {
        let index = functions.len();
        let id = lowering.pool.functions[index];
        match function::lower(&mut lowering, index, id, sources, &mut debug) {
            Ok(mut function) => {
                instrument::function(&mut function, &mut lowering.pool);
                if function.calls_indirectly && !std::mem::replace(&mut calls_indirectly, true) {
                    survey::addressed(symbols).iter().for_each(|id| lowering.pool.point_at(*id));
                }
                functions.push(function);
            }
            Err(found) => {
                errors.extend(found);
                functions.push(Function::default());
            }
        }
    }
    reached.extend(&lowering.pool.functions);
    if !errors.is_empty() {
        return Err(Refusal::Wrong(errors));
    }
    if !lowering.unsupported.is_empty() {
        return Err(Refusal::Unsupported(lowering.unsupported));
    }
    let ast = symbols.functions[kernel].ast;
    let source = symbols.functions[kernel].source;
    let fail = |message: String| Refusal::Wrong(vec![(source, Diagnostic::new(ast.name_span, message))]);
    let pool = lowering.pool;
    debug.shared_variables.clone_from(&pool.shared_variables);
    debug.registers.clone_from(&pool.register_names);
    let mut assembly = Assembly::new(&pool, &functions, target.vector_instructions);
    for function in &functions {
        assembly.function(function).map_err(fail)?;
    }
    let shared = pool.shared_end - SHARED_START;
    if shared > SHARED_BYTES {
        return Err(fail(format!(
            "`{}` declares {shared} bytes of shared memory; a kernel can declare {SHARED_BYTES}",
            ast.name
        )));
    }
    let (parameter_list, parameter_bytes) = parameter_list(ast).map_err(fail)?;
    let mut handles = HashMap::new();
    for (id, start) in pool.functions.iter().zip(&assembly.starts) {
        if pool.pointed_at.contains(id) {
            handles.insert(symbols.functions[*id].handle, *start as u32);
        }
    }
    let limits = limits(ast);
    let stack_bytes = assembly.stack_bytes();
    Ok(Program {
        name: ast.name.to_owned(),
        ptx: digest::of(symbols, sources, &pool.functions),
        entry: assembly.starts[0],
        units: assembly.next_unit as usize,
        predicates: assembly.next_predicate as usize,
        fixed: assembly.fixed_list(),
        tables: assembly.tables,
        handles,
        saves: assembly.saves,
        choices: assembly.choices,
        frame_bytes: functions[0].frame_bytes.next_multiple_of(16),
        stack_bytes,
        stack_align: functions.iter().map(|function| function.frame_align).max().unwrap_or(16).max(16),
        source,
        shared_start: if pool.fixed.iter().any(|(_, value)| is_reserved(*value)) { 0 } else { SHARED_START },
        shared_end: pool.shared_end,
        dynamic_align: pool.dynamic_align,
        parameters: parameter_list,
        parameter_bytes,
        max_threads: limits.threads,
        required_block: limits.block,
        required_cluster: limits.cluster,
        max_cluster: limits.max_cluster,
        explicit_cluster: limits.explicit_cluster,
        blocks_are_clusters: limits.blocks_are_clusters,
        checks: pool.instruments.checks,
        has_barriers: assembly.descriptors.iter().any(|descriptor| descriptor.opcode.attributes().is_barrier),
        undefines: pool.undefines,
        followed: pool.followed.clone(),
        updates: Arc::new(pool.updates.clone()),
        uses_proxies: pool.uses_proxies,
        products: pool.products.clone(),
        register_cap: limits.registers,
        registers: assembly.registers.clamp(8, 255),
        ops: assembly.ops.into_boxed_slice(),
        kernel_ops: assembly.descriptors.len(),
        descriptors: assembly.descriptors.into_boxed_slice(),
        native: Default::default(),
        polls: OnceLock::new(),
        debug,
    })
}

/// The errors of a function that no kernel calls.
pub(crate) fn check<'m>(symbols: &'m Symbols<'m>, sources: &[SourceText<'m>], function: FunctionId) -> Vec<Located> {
    let mut lowering = Lowering::new(ProgramBuilder::new(symbols));
    lowering.pool.function(function);
    let lowered = function::lower(&mut lowering, 0, function, sources, &mut Debug::default());
    lowered.err().unwrap_or_default()
}

fn parameter_list(ast: &ast::Function<'_>) -> Result<(Vec<Parameter>, usize), String> {
    let mut end = 0;
    let mut list = Vec::new();
    for variable in &ast.parameters {
        let (offset, bytes) = function::parameter_place(variable, end).map_err(|error| error.message)?;
        end = offset + bytes;
        list.push(Parameter {
            name: variable.name.to_owned(),
            offset: offset as usize,
            bytes: bytes as usize,
            align: symbols::variable_align(variable) as usize,
        });
    }
    Ok((list, end as usize))
}

/// The limits that a kernel's directives put on launches.
struct Limits {
    threads: u32,
    block: Option<[u32; 3]>,
    cluster: Option<[u32; 3]>,
    max_cluster: Option<u32>,
    explicit_cluster: bool,
    blocks_are_clusters: bool,
    /// Registers that threads start with.
    registers: Option<u32>,
}

/// Whether a fixed value is an offset into the reserved part of shared memory.
fn is_reserved(value: Fixed) -> bool {
    matches!(value, Fixed::Special(Special::ReservedShared(_)))
}

fn limits(ast: &ast::Function<'_>) -> Limits {
    let mut limits = Limits {
        threads: 1024,
        block: None,
        cluster: None,
        max_cluster: None,
        explicit_cluster: false,
        blocks_are_clusters: false,
        registers: None,
    };
    let (mut registers, mut threads, mut blocks) = (None, None, 1);
    for directive in &ast.directives {
        match directive {
            FunctionDirective::MaxNTid([x, y, z]) => {
                limits.threads = x.saturating_mul(*y).saturating_mul(*z).clamp(1, 1024);
                threads = Some(limits.threads);
            }
            FunctionDirective::ReqNTid(shape) => {
                limits.block = Some(*shape);
                threads = Some(shape.iter().fold(1, |all: u32, size| all.saturating_mul(*size)).clamp(1, 1024));
            }
            FunctionDirective::MaxNReg(count) => registers = Some(*count),
            FunctionDirective::MinNCtaPerSm(count) => blocks = *count,
            FunctionDirective::ReqNCtaPerCluster(shape) => limits.cluster = Some(*shape),
            FunctionDirective::MaxClusterRank(blocks) => limits.max_cluster = Some(*blocks),
            FunctionDirective::ExplicitCluster => limits.explicit_cluster = true,
            FunctionDirective::BlocksAreClusters => limits.blocks_are_clusters = true,
            FunctionDirective::MaxNCtaPerSm(_)
            | FunctionDirective::NoReturn
            | FunctionDirective::Pragma(_)
            | FunctionDirective::AbiPreserve(_)
            | FunctionDirective::AbiPreserveControl(_) => {}
        }
    }
    limits.registers = register_cap(registers, threads, blocks);
    limits
}

/// The successor of an operation of the flat list.
enum Destination {
    None,
    Jump(usize),
    Branch { taken: usize, other: usize },
    Table(Vec<usize>),
    Call(usize),
}

/// An operation in its final order, with targets as blocks of the order.
struct Emitted {
    virtual_op: VirtualOp,
    target: Destination,
    source: u32,
    conditional: bool,
    flow: Flow,
    /// Whether the operation ends a block and counts the operations executed in it.
    ends: bool,
}

struct Assembly<'a, 'm> {
    pool: &'a ProgramBuilder<'m>,
    functions: &'a [Function<'m>],
    vector_instructions: bool,
    calls_among: CallGraph,
    ops: Vec<Op>,
    descriptors: Vec<Descriptor>,
    /// Index of the first operation of each function.
    starts: Vec<usize>,
    /// Calls to be resolved once all functions are in place: operation, function.
    calls: Vec<(usize, usize)>,
    tables: Vec<Vec<u32>>,
    saves: Vec<SaveRange>,
    choices: Vec<ChoicePoint>,
    fixed_units: Vec<u16>,
    next_unit: u32,
    next_predicate: u32,
    registers: u32,
}

impl<'a, 'm> Assembly<'a, 'm> {
    fn new(pool: &'a ProgramBuilder<'m>, functions: &'a [Function<'m>], vector_instructions: bool) -> Self {
        let mut next_unit = 0;
        let mut fixed_units = vec![0; pool.fixed.len()];
        for (index, (class, _)) in pool.fixed.iter().enumerate() {
            fixed_units[index] = next_unit as u16;
            next_unit += class.units();
        }
        Self {
            pool,
            functions,
            vector_instructions,
            calls_among: CallGraph::of(pool, functions),
            ops: Vec::new(),
            descriptors: Vec::new(),
            starts: Vec::new(),
            calls: Vec::new(),
            tables: Vec::new(),
            saves: Vec::new(),
            choices: Vec::new(),
            fixed_units,
            next_unit,
            next_predicate: 2,
            registers: 0,
        }
    }

    fn fixed_list(&self) -> Vec<(u16, Class, crate::machine::program::Fixed)> {
        let units = self.fixed_units.iter().copied();
        units.zip(&self.pool.fixed).map(|(unit, (class, value))| (unit, *class, *value)).collect()
    }

    fn function(&mut self, function: &Function<'m>) -> Result<(), String> {
        let graph = cfg::graph(function);
        let (flat, blocks) = self.flatten(function, &graph);
        let live_ops: Vec<LiveOp<'_>> =
            flat.iter().map(|op| LiveOp { virtual_op: &op.virtual_op, conditional: op.conditional }).collect();
        let assignment = liveness::assign(&function.classes, &blocks, &live_ops);
        let live = choices::live(function.classes.len(), function.predicates, &blocks, &live_ops);
        let [narrow, wide, widest] = assignment.counts;
        self.registers = self.registers.max(narrow + 2 * wide + 4 * widest + 4);
        let range = SaveRange {
            first_unit: self.next_unit as u16,
            narrow: narrow as u16,
            wide: wide as u16,
            widest: widest as u16,
            first_predicate: self.next_predicate as u16,
            predicates: function.predicates - 2,
        };
        self.next_unit += range.units() as u32;
        self.next_predicate += u32::from(range.predicates);
        if self.next_unit >= MAX_UNITS || self.next_predicate >= 1 << 16 || function.predicates == u16::MAX {
            return Err(format!("`{}` and what it calls need more registers than this device has", function.name));
        }
        self.saves.push(range);
        self.starts.push(self.ops.len());
        let base = self.choices.len();
        for choice in &function.choices {
            self.choices.push(choice.clone());
        }
        for (index, places) in live {
            let choice = base + flat[index].virtual_op.imm as usize;
            for place in places {
                let unit = self.place(place, function, &assignment, range);
                match place {
                    VReg::Slot(slot) => self.choices[choice].live.push((unit, function.classes[slot as usize])),
                    VReg::Predicate(_) => self.choices[choice].predicates.push(unit),
                    VReg::None => {}
                }
            }
        }
        self.encode(function, &flat, &blocks, &assignment, range)
    }

    /// Puts the blocks in order, with operations between them where control does not fall through.
    fn flatten(&self, function: &Function<'m>, graph: &Graph) -> (Vec<Emitted>, Vec<BasicBlock>) {
        let mut rank = vec![usize::MAX; graph.blocks.len()];
        for (position, block) in graph.order.iter().enumerate() {
            rank[*block] = position;
        }
        let mut flat: Vec<Emitted> = Vec::new();
        let mut blocks = Vec::new();
        let recursive = self.calls_among.recursive[function.index];
        let needs_frame = function.frame_bytes > 0 || function.has_alloca;
        for (position, index) in graph.order.iter().enumerate() {
            let block = &graph.blocks[*index];
            let start = flat.len();
            let following = graph.order.get(position + 1).copied();
            let mut last_source = 0;
            let mut falls = graph.falls_into[*index];
            for node in &function.nodes[block.ops.clone()] {
                let Node::Op { virtual_op, control, source, conditional } = node else {
                    continue;
                };
                last_source = *source;
                let flow = match control {
                    Control::Next => Flow::Next,
                    Control::Park => Flow::Park,
                    Control::Jump(_) => Flow::Jump,
                    Control::Branch(_) => Flow::Branch,
                    Control::Table(_) => Flow::Table,
                    Control::Call(_) | Control::CallIndirect | Control::Frame => Flow::Leave,
                    Control::End => Flow::End,
                };
                let mut push = |virtual_op: VirtualOp, target: Destination, ends: bool| {
                    flat.push(Emitted { virtual_op, target, source: *source, conditional: *conditional, flow, ends });
                };
                match control {
                    Control::Next | Control::Park => push(*virtual_op, Destination::None, false),
                    Control::Frame if needs_frame => {
                        let align = function.frame_align.max(16) as u16;
                        let imm = function.frame_bytes.next_multiple_of(16);
                        push(VirtualOp { extra: align, imm, ..*virtual_op }, Destination::None, false);
                    }
                    Control::Frame => {}
                    Control::Call(_) | Control::CallIndirect => {
                        let target = match control {
                            Control::Call(callee) => Destination::Call(*callee),
                            _ => Destination::None,
                        };
                        let imm = function.index as u64;
                        if recursive {
                            push(VirtualOp { imm, ..VirtualOp::new(control::SAVE) }, Destination::None, false);
                        }
                        push(*virtual_op, target, false);
                        if recursive {
                            push(VirtualOp { imm, ..VirtualOp::new(control::RESTORE) }, Destination::None, false);
                        }
                    }
                    Control::Jump(label) => falls = Some(graph.labels[*label as usize]),
                    Control::Branch(label) => {
                        let taken_block = graph.labels[*label as usize];
                        let taken = rank[taken_block];
                        if let Some(other) = graph.falls_into[*index] {
                            let alone = |block: usize| graph.predecessors[block].len() == 1;
                            let second = if taken < rank[other] { other } else { taken_block };
                            let either_first =
                                alone(other) && alone(taken_block) || may_run_ahead(function, &graph.blocks[second]);
                            push(
                                VirtualOp { c: VReg::Predicate(u16::from(either_first)), ..*virtual_op },
                                Destination::Branch { taken, other: rank[other] },
                                true,
                            );
                            falls = None;
                        }
                    }
                    Control::Table(labels) => {
                        let targets = labels.iter().map(|label| rank[graph.labels[*label as usize]]).collect();
                        push(*virtual_op, Destination::Table(targets), true);
                    }
                    Control::End => push(*virtual_op, Destination::None, true),
                }
            }
            if let Some(next) = falls {
                let merges = graph.predecessors[next].len() > 1;
                if following != Some(next) || merges {
                    flat.push(Emitted {
                        virtual_op: VirtualOp::new(control::JUMP),
                        target: Destination::Jump(rank[next]),
                        source: last_source,
                        conditional: false,
                        flow: Flow::Jump,
                        ends: true,
                    });
                }
            }
            let successors = block.successors.iter().map(|block| rank[*block]).collect();
            blocks.push(BasicBlock { ops: start..flat.len(), successors });
        }
        (flat, blocks)
    }

    fn encode(
        &mut self,
        function: &Function<'m>,
        flat: &[Emitted],
        blocks: &[BasicBlock],
        assignment: &Assignment,
        range: SaveRange,
    ) -> Result<(), String> {
        let base = self.ops.len();
        let mut count: u16 = 0;
        for (index, emitted) in flat.iter().enumerate() {
            let virtual_op = &emitted.virtual_op;
            let place = |place: VReg| self.place(place, function, assignment, range);
            let [dst, a, b, c, mut d] = virtual_op.places().map(place);
            count = count.saturating_add(1);
            if emitted.ends {
                d = std::mem::take(&mut count);
            }
            let distance =
                |block: usize| -> u64 { u64::from((blocks[block].ops.start as i64 - index as i64) as i32 as u32) };
            let imm = match &emitted.target {
                Destination::None if choices::is_choice(virtual_op) => {
                    (self.choices.len() - function.choices.len()) as u64 + virtual_op.imm
                }
                Destination::None => virtual_op.imm,
                Destination::Jump(block) => distance(*block),
                Destination::Branch { taken, other } => distance(*taken) | distance(*other) << 32,
                Destination::Table(targets) => {
                    let table = targets.iter().map(|block| (base + blocks[*block].ops.start) as u32).collect();
                    self.tables.push(table);
                    self.tables.len() as u64 - 1
                }
                Destination::Call(callee) => {
                    self.calls.push((base + index, *callee));
                    0
                }
            };
            if function.is_entry {
                let class = |place: VReg| match place {
                    VReg::None | VReg::Predicate(_) => None,
                    VReg::Slot(slot) if slot & FIXED != 0 => Some(self.pool.fixed[(slot & !FIXED) as usize].0),
                    VReg::Slot(slot) => Some(function.classes[slot as usize]),
                };
                self.descriptors.push(Descriptor {
                    opcode: virtual_op.handlers.opcode,
                    flow: emitted.flow,
                    defines: virtual_op.defines,
                    conditional: emitted.conditional,
                    classes: virtual_op.places().map(class),
                    predicates: predicates(virtual_op.places()),
                });
            }
            self.ops.push(Op {
                handler: if self.vector_instructions {
                    virtual_op.handlers.select()
                } else {
                    virtual_op.handlers.baseline
                },
                dst,
                a,
                b,
                c,
                d,
                extra: virtual_op.extra,
                source: emitted.source,
                imm,
            });
        }
        if flat.is_empty() {
            return Err(format!("`{}` has no instructions", function.name));
        }
        if function.index + 1 == self.functions.len() {
            self.resolve_calls();
        }
        Ok(())
    }

    fn resolve_calls(&mut self) {
        for (op, callee) in std::mem::take(&mut self.calls) {
            let distance = self.starts[callee] as i64 - op as i64;
            self.ops[op].imm = u64::from(distance as i32 as u32);
        }
    }

    fn place(&self, place: VReg, function: &Function<'m>, assignment: &Assignment, range: SaveRange) -> u16 {
        match place {
            VReg::None => 0,
            VReg::Predicate(index @ 0..2) => index,
            VReg::Predicate(index) => range.first_predicate + index - 2,
            VReg::Slot(slot) if slot & FIXED != 0 => self.fixed_units[(slot & !FIXED) as usize],
            VReg::Slot(slot) => {
                let index = assignment.index[slot as usize];
                range.first_unit
                    + match function.classes[slot as usize] {
                        Class::W32 => index,
                        Class::W64 => range.narrow + 2 * index,
                        Class::W128 => range.narrow + 2 * range.wide + 4 * index,
                    }
            }
        }
    }

    /// Bytes of stack that a thread needs, unless the number depends on the run.
    fn stack_bytes(&self) -> Option<u64> {
        let unbounded = |function: &Function<'_>| function.has_alloca || function.calls_indirectly;
        if self.calls_among.recursive.contains(&true) || self.functions.iter().any(unbounded) {
            return None;
        }
        let mut deepest = vec![0; self.functions.len()];
        for function in self.calls_among.callees_first.iter().map(|index| &self.functions[*index]) {
            let own = function.frame_bytes.next_multiple_of(16) + function.frame_align;
            let called = function.calls.iter().map(|callee| deepest[*callee]).max().unwrap_or(0);
            deepest[function.index] = own + called;
        }
        let any_frame = self.functions.iter().any(|function| function.frame_bytes > 0);
        Some(if any_frame { deepest[0] + STACK_START } else { 0 })
    }
}

/// A bit for each place that is a predicate.
fn predicates(places: [VReg; 5]) -> u8 {
    let bits = places.iter().enumerate();
    bits.filter(|(_, place)| matches!(place, VReg::Predicate(_))).fold(0, |bits, (position, _)| bits | 1 << position)
}

/// The call graph of a program.
struct CallGraph {
    /// All functions, callees before callers, except in cycles.
    callees_first: Vec<usize>,
    /// Whether a function can call itself, directly or through others.
    recursive: Vec<bool>,
}

impl CallGraph {
    fn of(pool: &ProgramBuilder<'_>, functions: &[Function<'_>]) -> Self {
        // A call by address is an edge to an extra node behind the functions, with edges to all functions that the call
        // may reach.
        let by_address = functions.len();
        let mut callees: Vec<Vec<usize>> = functions.iter().map(|function| function.calls.clone()).collect();
        for function in functions.iter().filter(|function| function.calls_indirectly) {
            callees[function.index].push(by_address);
        }
        let reached = (0..functions.len()).filter(|index| pool.pointed_at.contains(&pool.functions[*index]));
        callees.push(reached.collect());
        let mut callees_first = Vec::with_capacity(functions.len());
        let mut recursive = vec![false; callees.len()];
        for component in components(&callees) {
            let is_cycle = component.len() > 1 || callees[component[0]].contains(&component[0]);
            for member in component {
                recursive[member] = is_cycle;
                if member != by_address {
                    callees_first.push(member);
                }
            }
        }
        recursive.pop();
        Self { callees_first, recursive }
    }
}
