//! The function that a warp runs: its entries, its blocks, its exits, and the operations in between.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::mem::offset_of;

use rumba_checks::Check;

use crate::base::engine::{ENTRY_POINT, NoText};
use crate::base::flow::Set;
use crate::base::ir::{Element, Value, Writer};
use crate::base::lanes::FULL;
use crate::compile::bits::Bits;
use crate::compile::bounds::Extent;
use crate::compile::groups;
use crate::compile::kernel::{Kernel, Location, polls};
use crate::compile::memory::Memory;
use crate::compile::nan::Nans;
use crate::compile::registers::Written;
use crate::compile::shape::{Masked, Shape, Shapes, States, Version};
use crate::compile::variables::Variable;
use crate::exec::native::{Helpers, REFUSED};
use crate::machine::op::Op;
use crate::machine::op::opcode::Opcode;
use crate::machine::program::{Flow, Layout, NO_ENTRY, NativeMetadata, Program};
use crate::machine::warp::Warp;

/// Operations of a kernel beyond which there is no version for warps that have parted: the interpreter runs those.
const MAX_MASKED: usize = 4000;

/// Text of a usual length: LLVM compiles it in less than a second.
const SHORT: usize = 960 << 10;

/// Text of the longest kernels: LLVM compiles it in three seconds or four, in which the interpreter runs them.
const LONG: usize = 3 << 20;

/// How a kernel is written: for which lanes there are masked versions, whether registers are stored when they are written, instead of
/// at each exit, and how long the text may be. The first attempt whose text is short enough counts; without one, the kernel
/// stays interpreted. The code of later attempts is shorter, and exits to the interpreter more often.
const ATTEMPTS: [(Masked, bool, usize); 6] = [
    (Masked::Any, false, SHORT),
    (Masked::Any, true, SHORT),
    (Masked::Waiting, false, SHORT),
    (Masked::Waiting, true, LONG),
    (Masked::Never, false, SHORT),
    (Masked::Never, true, SHORT),
];

/// The helpers by which the function ends.
pub(super) const GO_ON: &str = "go_on";
const ARRIVE: &str = "arrive";

/// A kernel as text.
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) metadata: NativeMetadata,
}

/// Whether a kernel may have a text.
pub(crate) fn is_wanted(program: &Program) -> bool {
    program.entry == 0 && program.kernel_ops > 0
}

/// Writes the code of a kernel for blocks in which so many lanes are neighbours.
pub(crate) fn write(program: &Program, neighbours: usize) -> Result<Text, NoText> {
    let kernel = groups::cheapest(program, neighbours);
    if kernel.is_too_large() {
        return Err(NoText::Long);
    }
    // How often a thread polls depends on the engine, and on that what the check of races finds.
    if program.checks.contains(Check::Race) && polls(program) {
        return Err(NoText::Polls);
    }
    let mut states: Option<(Masked, States)> = None;
    let mut attempts =
        ATTEMPTS.into_iter().filter(|(masked, ..)| *masked == Masked::Never || program.kernel_ops <= MAX_MASKED);
    let text = attempts.find_map(|(masked, stores_early, most)| {
        // Neighbours in the list have the same versions of blocks.
        let known = states.take().filter(|(of, _)| *of == masked);
        let (_, states) = states.insert(known.unwrap_or_else(|| (masked, kernel.states(masked))));
        write_versions(&kernel, states, masked, stores_early, most)
    });
    text.ok_or(NoText::Long)
}

/// Writes the code with these versions of blocks, unless it is longer than `most`.
fn write_versions(
    kernel: &Kernel<'_>,
    states: &States,
    masked: Masked,
    stores_early: bool,
    most: usize,
) -> Option<Text> {
    let program = kernel.program;
    let entries: Vec<usize> =
        kernel.entries().into_iter().filter(|block| states.at(Version::Full, *block).is_some()).collect();
    let mut entry_at = vec![NO_ENTRY; program.kernel_ops].into_boxed_slice();
    for (number, block) in entries.iter().enumerate() {
        entry_at[kernel.blocks[*block].ops.start] = number as u32;
    }
    let mut function = Function {
        kernel,
        states,
        masked,
        stores_early,
        w: Writer::new(),
        prologue: String::new(),
        variables: BTreeMap::new(),
        waits: BTreeSet::new(),
        entries: &entries,
        barriers: BTreeSet::new(),
        ends: BTreeMap::new(),
        layouts: BTreeMap::new(),
        sites: Vec::new(),
        known: HashSet::new(),
        shapes: Shapes::new(),
        bits: Bits::default(),
        nans: Nans::unknown(kernel.registers.len()),
        version: Version::Full,
        pending: Set::none(kernel.blocks.len()),
        block: 0,
        together: HashMap::new(),
        is_wrong: false,
    };
    function.enter_warp();
    for version in [Version::Full, Version::Masked] {
        for block in 0..kernel.blocks.len() {
            function.write_block(version, block);
            if function.w.text().len() > most {
                return None;
            }
        }
    }
    function.resume_warp();
    function.write_ends();
    if function.is_wrong {
        return None;
    }
    let mut layouts: Vec<_> = std::mem::take(&mut function.layouts).into_iter().collect();
    layouts.sort_by_key(|(_, number)| *number);
    let metadata = NativeMetadata {
        entry_at,
        layouts: layouts.into_iter().map(|(layout, _)| layout).collect(),
        sites: function.sites.iter().map(|(_, bytes)| *bytes).collect(),
        waits: kernel.waits(),
    };
    Some(Text { text: function.finish(), metadata })
}

/// A function that is being written.
pub(super) struct Function<'a> {
    pub(super) kernel: &'a Kernel<'a>,
    pub(super) states: &'a States,
    masked: Masked,
    /// Registers are stored when they are written: the register file always has them, or their first lanes.
    pub(super) stores_early: bool,
    pub(super) w: Writer,
    /// The text before the entries.
    prologue: String,
    pub(super) variables: BTreeMap<String, String>,
    /// The entries, as blocks, and the numbers of those behind barriers.
    entries: &'a [usize],
    barriers: BTreeSet<usize>,
    /// The ends of the function, by the blocks at which lanes may wait and the helper that is called.
    ends: BTreeMap<(Vec<usize>, &'static str), usize>,
    /// The layouts of registers to be materialised in the register file, and their numbers.
    pub(super) layouts: BTreeMap<Layout, usize>,
    /// The sites: the operation of each, and the bytes that a warp accesses.
    pub(super) sites: Vec<(usize, u32)>,
    /// Blocks at which lanes may wait.
    waits: BTreeSet<usize>,
    /// Values of the prologue.
    pub(super) known: HashSet<String>,
    /// The shapes of registers where something is being written.
    pub(super) shapes: Shapes,
    pub(super) bits: Bits,
    pub(super) nans: Nans,
    /// The version of the block that is being written, and the blocks at which lanes may wait meanwhile.
    pub(super) version: Version,
    pub(super) pending: Set,
    pub(super) block: usize,
    /// Accesses of the block that is being written which are compared with bounds together.
    pub(super) together: HashMap<usize, Option<Extent>>,
    /// The text is not to be compiled.
    pub(super) is_wrong: bool,
}

impl Function<'_> {
    /// Writes to the prologue.
    pub(super) fn in_prologue(&mut self, write: impl FnOnce(&mut Self)) {
        let mut prologue = std::mem::take(&mut self.prologue);
        self.w.exchange(&mut prologue);
        write(self);
        self.w.exchange(&mut prologue);
        self.prologue = prologue;
    }

    /// An address, `bytes` bytes behind another.
    pub(super) fn offset(&mut self, base: &str, bytes: usize) -> String {
        let name = self.w.name("%t");
        self.w.line(format_args!("{name} = getelementptr i8, ptr {base}, i64 {bytes}"));
        name
    }

    /// A field of the warp that does not change while it is here.
    pub(super) fn field(&mut self, name: &str, offset: usize, element: Element) -> Value {
        let name = format!("%field.{name}");
        if self.known.insert(name.clone()) {
            self.in_prologue(|function| {
                let place = function.offset("%warp", offset);
                function.w.line(format_args!("{name} = load {}, ptr {place}", element.name()));
            });
        }
        Value::named(name, element, false)
    }

    /// The shapes behind some operations; in them, what lanes that wait hold does not count.
    pub(super) fn shapes_after(&self, operations: &[usize]) -> Shapes {
        let (mut shapes, mut bits) = (self.shapes.clone(), self.bits.clone());
        let none = Set::none(self.kernel.blocks.len());
        for index in operations {
            self.kernel.transfer(*index, &mut shapes, &bits, self.version, &none);
            self.kernel.transfer_bits(*index, &mut bits, &none);
        }
        shapes
    }

    /// The active lanes.
    pub(super) fn mask_of_active(&mut self) -> Value {
        match self.version {
            Version::Full => Value::integer(Element::I32, FULL.into()),
            Version::Masked => self.get(&Variable::word("%mask")),
        }
    }

    /// Where the lanes are kept that wait at a block.
    pub(super) fn wait(&mut self, block: usize) -> Variable {
        self.waits.insert(block);
        Variable::word(format!("%wait{block}"))
    }

    /// The address of an operation.
    pub(super) fn position(&mut self, index: usize) -> String {
        self.offset("%ops", index * size_of::<Op>())
    }

    /// The whole text.
    fn finish(self) -> String {
        let entries = self.entries.len();
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ =
            writeln!(text, "define ptr @{ENTRY_POINT}(ptr %warp, i32 %entry, ptr %ops, ptr %helpers) #0 {{\nstart:");
        for (name, ty) in &self.variables {
            let _ = writeln!(text, "  {name} = alloca {ty}, align 64");
        }
        let pointers = [
            ("registers", "%warp", Warp::REGISTERS),
            ("predicates", "%warp", Warp::PREDICATES),
            ("caches", "%warp", offset_of!(Warp, caches)),
            ("sites", "%warp", offset_of!(Warp, sites)),
            ("execute", "%helpers", offset_of!(Helpers, execute)),
            ("together", "%helpers", offset_of!(Helpers, together)),
            ("arrive", "%helpers", offset_of!(Helpers, arrive)),
            ("put", "%helpers", offset_of!(Helpers, put)),
            ("go_on", "%helpers", offset_of!(Helpers, go_on)),
            ("report", "%helpers", offset_of!(Helpers, report)),
            ("materialise", "%helpers", offset_of!(Helpers, materialise)),
        ];
        for (name, base, offset) in pointers {
            let _ = writeln!(text, "  %{name}.place = getelementptr i8, ptr {base}, i64 {offset}");
            let _ = writeln!(text, "  %{name} = load ptr, ptr %{name}.place");
        }
        let fields = [
            ("active", offset_of!(Warp, active)),
            ("fuel", offset_of!(Warp, fuel.left)),
            ("outside_guard", offset_of!(Warp, outside_guard)),
            ("resume_at", offset_of!(Warp, tier.resume_at)),
        ];
        for (name, offset) in fields {
            let _ = writeln!(text, "  %{name}.place = getelementptr i8, ptr %warp, i64 {offset}");
        }
        for (variable, field) in [("mask", "active"), ("fuel", "fuel")] {
            let _ = writeln!(text, "  %{variable} = alloca i32");
            let _ = writeln!(text, "  %given.{variable} = load i32, ptr %{field}.place");
            let _ = writeln!(text, "  store i32 %given.{variable}, ptr %{variable}");
        }
        let _ = writeln!(text, "  %position = alloca ptr");
        for block in &self.waits {
            let _ = writeln!(text, "  %wait{block} = alloca i32\n  store i32 0, ptr %wait{block}");
        }
        text.push_str(&self.prologue);
        let _ = write!(text, "  switch i32 %entry, label %refused [");
        for entry in 0..entries {
            let _ = write!(text, " i32 {entry}, label %entry{entry}");
        }
        for entry in &self.barriers {
            let (resumed, materialised) = (entries + entry, 2 * entries + entry);
            let _ = write!(text, " i32 {resumed}, label %resume{entry} i32 {materialised}, label %materialise{entry}");
        }
        let _ = writeln!(text, " ]\nrefused:\n  ret ptr inttoptr (i64 {REFUSED} to ptr)");
        text.push_str(self.w.text());
        text.push_str("}\n");
        for declaration in self.w.declarations() {
            let _ = writeln!(text, "{declaration}");
        }
        // LLVM's superword-level vectoriser leaves functions with `noimplicitfloat` alone: the text has its vectors already, and
        // the vectoriser takes up to half of the time of all passes. The stack size is the frame of a worker; larger ones are
        // not compiled.
        text.push_str(
            "attributes #0 = { nounwind noimplicitfloat \"prefer-vector-width\"=\"512\" \"min-legal-vector-width\"=\"512\" \
             \"warn-stack-size\"=\"524288\" }\n",
        );
        text.push_str(
            "!0 = !{!\"branch_weights\", i32 1048576, i32 1}\n!1 = !{!\"branch_weights\", i32 1, i32 1048576}\n",
        );
        text
    }

    /// Writes the entries: loads the live registers, and tests those that are expected to be uniform or affine.
    fn enter_warp(&mut self) {
        for (number, block) in self.entries.iter().enumerate() {
            self.w.label(&format!("entry{number}"));
            let given = Value::named("%given.mask", Element::I32, false);
            let full = self.w.compare_with("icmp eq", &given, FULL.into());
            let masked = if self.states.at(Version::Masked, *block).is_some() {
                format!("entry{number}.Masked")
            } else {
                "refused".to_owned()
            };
            self.w.line(format_args!("br {full}, label %entry{number}.Full, label %{masked}"));
            for version in [Version::Full, Version::Masked] {
                self.enter_version(number, version, *block);
            }
        }
    }

    fn enter_version(&mut self, number: usize, version: Version, block: usize) {
        let Some(state) = self.states.at(version, block) else {
            return;
        };
        self.w.label(&format!("entry{number}.{version:?}"));
        self.version = version;
        self.nans = Nans::unknown(self.kernel.registers.len());
        self.shapes.clone_from(&state.shapes);
        let registers: Vec<_> = self.kernel.liveness.before(block).members().collect();
        let wrong = self.enter(&registers, &state.shapes);
        let target = label(version, block);
        match wrong {
            None => self.w.line(format_args!("br label %{target}")),
            Some(wrong) => {
                let active = self.mask_of_active();
                let wrong = self.w.and(&wrong, &active);
                let good = self.w.compare_with("icmp eq", &wrong, 0);
                self.w.line(format_args!("br {good}, label %{target}, label %refused, !prof !0"));
            }
        }
    }

    fn write_block(&mut self, version: Version, block: usize) {
        let Some(state) = self.states.at(version, block) else {
            return;
        };
        self.block = block;
        self.together = self.accesses_together(block);
        self.version = version;
        self.shapes.clone_from(&state.shapes);
        self.bits.clone_from(&state.bits);
        self.nans.clone_from(&state.nans);
        self.pending.clone_from(&state.pending);
        self.w.label(&label(version, block));
        let ops = self.kernel.blocks[block].ops.clone();
        for index in ops.clone() {
            self.make_canonical(index);
            self.write_operation(index);
            self.kernel.transfer_bits(index, &mut self.bits, &self.pending);
            self.kernel.transfer_nans(index, &mut self.nans, &self.pending);
            // If an operation ends the block, the interpreter writes its results, and warps enter with them.
            if self.stores_early && self.kernel.targets(index).is_none() {
                for number in self.kernel.written(index) {
                    self.store_bases(number);
                }
            }
        }
        if self.kernel.targets(ops.end - 1).is_none() {
            self.go(ops.end);
        }
    }

    fn write_operation(&mut self, index: usize) {
        let (op, descriptor) = (self.kernel.op(index), self.kernel.descriptor(index));
        match (descriptor.flow, descriptor.opcode) {
            (Flow::Jump, _) => {
                self.spend(op.d);
                let targets = self.kernel.targets(index).unwrap_or_default();
                match targets.first() {
                    Some(target) => self.go(*target),
                    None => self.exit(index),
                }
            }
            (Flow::Branch, _) => self.branch(index, op.d),
            (_, Opcode::Barrier) => self.exit_at_barrier(index),
            (Flow::Leave | Flow::Table | Flow::End, _) | (_, Opcode::Exit { .. }) => self.exit(index),
            (_, Opcode::GuardBegin) => self.branch(index, 0),
            (_, Opcode::GuardEnd | Opcode::Scatter | Opcode::ExtraOperands { .. }) => {}
            (_, Opcode::Shuffle(shuffle)) => self.write_shuffle(index, shuffle),
            (_, Opcode::Together { members, form }) => self.write_together(index, members, form),
            (Flow::Park, _) | (_, Opcode::Opaque | Opcode::UniformBranch) => self.call(index),
            (Flow::Next, Opcode::Window { local, back }) => self.write_window(index, local, back),
            (Flow::Next, Opcode::Local { bytes, count, stores }) => {
                if stores {
                    self.write_store(index, bytes, count, Memory::Local);
                } else {
                    self.write_load(index, bytes, count, Memory::Local);
                }
            }
            (Flow::Next, Opcode::Fence { polls }) => self.write_fence(index, polls),
            (Flow::Next, Opcode::Atomic { shared, keeps, form }) => self.write_atomic(index, shared, keeps, form),
            (Flow::Next, Opcode::Lanes { form }) => self.write_lanes(index, form),
            (Flow::Next, Opcode::Test { form, .. }) => self.write_test(index, form),
            (Flow::Next, Opcode::Select) => self.write_select(index),
            (Flow::Next, Opcode::Check(form)) => self.write_check(index, form),
            (Flow::Next, Opcode::Masks { form }) => {
                let masks = [1, 2].map(|position| match self.kernel.operand(index, position) {
                    Some(place) => self.lanes(place, Element::I32),
                    None => Value::integer(Element::I32, 0),
                });
                let mask = form.write(&mut self.w, op.extra, &masks);
                self.finish_operation(index, Written::Lanes(mask));
            }
            (Flow::Next, Opcode::Load { bytes, count, shared, .. }) => {
                self.write_load(index, bytes, count, Memory::of(shared));
            }
            (Flow::Next, Opcode::Store { bytes, count, shared, .. }) => {
                self.write_store(index, bytes, count, Memory::of(shared));
            }
        }
    }

    /// Goes on if a value is true, as it nearly always is; `out` ends the function otherwise.
    pub(super) fn unless(&mut self, good: &Value, out: impl FnOnce(&mut Self)) {
        let (on, other) = (self.w.name("l"), self.w.name("l"));
        self.w.line(format_args!("br {good}, label %{on}, label %{other}, !prof !0"));
        self.w.label(&other);
        out(self);
        self.w.label(&on);
    }

    /// Takes from what may still be executed.
    fn spend(&mut self, cost: u16) {
        if cost != 0 {
            let left = Variable::word("%fuel");
            let fuel = self.get(&left);
            let rest = self.w.sub_with(&fuel, u64::from(cost));
            self.set(&left, &rest);
        }
    }

    /// Goes to an operation, the first of its block.
    fn go(&mut self, target: usize) {
        let Some(block) = self.kernel.block_of.get(target).copied() else {
            self.w.line("unreachable");
            return;
        };
        if self.kernel.is_cold[block] {
            let live = self.kernel.liveness.before(block).clone();
            self.spill(&live, &[], true);
            let position = self.position(target);
            self.return_at(&position, if self.pending.is_empty() { GO_ON } else { ARRIVE });
            return;
        }
        match self.version {
            Version::Full => {
                if block <= self.block {
                    self.ask(block);
                }
                let live = self.kernel.liveness.before(block).clone();
                self.reach(Version::Full, block, &live);
            }
            Version::Masked => {
                let pending = self.pending.clone();
                self.go_masked(block, &pending);
            }
        }
    }

    /// Goes to a block while lanes may wait at others: those run first that are in an earlier one.
    fn go_masked(&mut self, block: usize, pending: &Set) {
        let count = self.kernel.registers.len();
        let all = Set::of(0..count, count);
        if block <= self.block {
            self.ask(block);
            self.reach(Version::Masked, block, &all);
            return;
        }
        for other in pending.members().take_while(|other| *other < block) {
            let (there, here) = (self.wait(other), self.wait(block));
            let waiting = self.get(&there);
            let any = self.w.compare_with("icmp ne", &waiting, 0);
            let (pop, on) = (self.w.name("l"), self.w.name("l"));
            self.w.line(format_args!("br {any}, label %{pop}, label %{on}"));
            self.w.label(&pop);
            let mine = self.mask_of_active();
            let known = self.get(&here);
            let both = self.w.or(&known, &mine);
            self.set(&here, &both);
            self.set(&Variable::word("%mask"), &waiting);
            self.set(&there, &Value::integer(Element::I32, 0));
            self.reach(Version::Masked, other, &all);
            self.w.label(&on);
        }
        if pending.has(block) {
            let here = self.wait(block);
            let waiting = self.get(&here);
            let mine = self.mask_of_active();
            let both = self.w.or(&waiting, &mine);
            self.set(&here, &Value::integer(Element::I32, 0));
            self.set(&Variable::word("%mask"), &both);
            let full = self.w.compare_with("icmp eq", &both, FULL.into());
            let (whole, some) = (self.w.name("l"), self.w.name("l"));
            self.w.line(format_args!("br {full}, label %{whole}, label %{some}"));
            self.w.label(&whole);
            let before = self.shapes.clone();
            self.test_shapes(block, &some);
            self.set(&Variable::word("%active.place"), &both);
            let live = self.kernel.liveness.before(block).clone();
            self.reach(Version::Full, block, &live);
            self.shapes = before;
            self.w.label(&some);
        }
        let none_waits = pending.members().all(|other| other <= block);
        if none_waits && self.masked == Masked::Waiting {
            self.exit_before(block);
        } else {
            self.reach(Version::Masked, block, &all);
        }
    }

    /// Goes to a version of a block, with registers in the shapes that they have there.
    fn reach(&mut self, version: Version, block: usize, registers: &Set) {
        let Some(state) = self.states.at(version, block) else {
            self.w.line("unreachable");
            return;
        };
        let mut live = self.kernel.liveness.before(block).clone();
        for waiting in state.pending.members() {
            live.unite(self.kernel.liveness.before(waiting));
        }
        let before = self.shapes.clone();
        for register in registers.members() {
            if live.has(register) {
                self.make_canonical_for(register, &state.nans);
            }
            self.reshape(register, state.shapes[register]);
        }
        self.shapes = before;
        self.w.line(format_args!("br label %{}", label(version, block)));
    }

    /// Exits before a block that has no masked version: the interpreter continues there. No lane waits any more.
    fn exit_before(&mut self, block: usize) {
        let nothing = Set::none_like(&self.pending);
        let pending = std::mem::replace(&mut self.pending, nothing);
        let live = self.kernel.liveness.before(block).clone();
        self.spill(&live, &[], true);
        let position = self.position(self.kernel.blocks[block].ops.start);
        self.return_at(&position, GO_ON);
        self.pending = pending;
    }

    /// Before the warp goes back to a block: exits if its turn is over.
    fn ask(&mut self, block: usize) {
        let fuel = self.get(&Variable::word("%fuel"));
        let good = self.w.compare_with("icmp sge", &fuel, 0);
        self.unless(&good, |function| {
            let live = function.kernel.liveness.before(block).clone();
            function.spill(&live, &[], true);
            let position = function.position(function.kernel.blocks[block].ops.start);
            function.return_at(&position, ARRIVE);
        });
    }

    /// Spills the state that the interpreter needs to continue: the live registers of active and waiting lanes, the mask of active
    /// lanes, and the fuel.
    pub(super) fn spill(&mut self, live: &Set, without: &[usize], fuel: bool) {
        let mut live = live.clone();
        for block in self.pending.members() {
            live.unite(self.kernel.liveness.before(block));
        }
        let live: Vec<_> = live.members().filter(|number| !without.contains(number)).collect();
        self.store_all(&live);
        if fuel {
            self.store_fuel();
        }
        let mask = self.mask_of_active();
        self.set(&Variable::word("%outside_guard.place"), &mask);
        if self.version == Version::Masked && fuel {
            self.set(&Variable::word("%active.place"), &mask);
        }
    }

    /// Returns the position at which the interpreter continues, through a helper where lanes wait.
    pub(super) fn return_at(&mut self, position: &str, helper: &'static str) {
        let waits: Vec<usize> = self.pending.members().collect();
        if waits.is_empty() && helper == GO_ON {
            self.w.line(format_args!("ret ptr {position}"));
            return;
        }
        let next = self.ends.len();
        let number = *self.ends.entry((waits, helper)).or_insert(next);
        self.w.line(format_args!("store ptr {position}, ptr %position"));
        self.w.line(format_args!("br label %end{number}"));
    }

    /// Writes the ends of the function: passes the waiting lanes to the interpreter.
    fn write_ends(&mut self) {
        for ((waits, helper), number) in std::mem::take(&mut self.ends) {
            self.w.label(&format!("end{number}"));
            for block in waits {
                let place = self.wait(block);
                let waiting = self.get(&place);
                let any = self.w.compare_with("icmp ne", &waiting, 0);
                let (put, on) = (self.w.name("l"), self.w.name("l"));
                self.w.line(format_args!("br {any}, label %{put}, label %{on}"));
                self.w.label(&put);
                let position = self.position(self.kernel.blocks[block].ops.start);
                self.w.line(format_args!("call void %put(ptr %warp, ptr {position}, {waiting})"));
                self.w.line(format_args!("br label %{on}"));
                self.w.label(&on);
            }
            let (position, next) = (self.w.name("%t"), self.w.name("%t"));
            self.w.line(format_args!("{position} = load ptr, ptr %position"));
            self.w.line(format_args!("{next} = call ptr %{helper}(ptr %warp, ptr {position})"));
            self.w.line(format_args!("ret ptr {next}"));
        }
    }

    /// Goes one of two ways, or lets some lanes wait.
    fn branch(&mut self, index: usize, cost: u16) {
        let op = self.kernel.op(index);
        let targets = self.kernel.targets(index).unwrap_or_default();
        let (Some(place), &[target, other]) = (self.kernel.operand(index, 1), &targets[..]) else {
            self.exit(index);
            return;
        };
        let is_uniform = self.kernel.shape(place, &self.shapes) == Shape::Uniform;
        let mask = self.lanes(place, Element::I32);
        let mask = if op.extra == 0 { mask } else { self.w.xor_with(&mask, u64::MAX) };
        let (taken, passed) = (self.w.name("l"), self.w.name("l"));
        if is_uniform {
            let all = self.w.convert("trunc", &mask, Element::I1);
            self.w.line(format_args!("br {all}, label %{taken}, label %{passed}"));
        } else {
            let active = self.mask_of_active();
            let going = self.w.and(&mask, &active);
            let all = self.w.compare("icmp eq", &going, &active);
            let (some, out) = (self.w.name("l"), self.w.name("l"));
            self.w.line(format_args!("br {all}, label %{taken}, label %{some}"));
            self.w.label(&some);
            let none = self.w.compare_with("icmp eq", &going, 0);
            self.w.line(format_args!("br {none}, label %{passed}, label %{out}"));
            self.w.label(&out);
            match self.kernel.parts(self.block, index, &self.shapes) {
                Some((near, far)) if self.masked != Masked::Never => {
                    let staying = self.w.xor(&going, &active);
                    let goes_far = self.kernel.block_of[target] == far;
                    let (near_mask, far_mask) = if goes_far { (staying, going) } else { (going, staying) };
                    self.part(cost, (near, near_mask), (far, far_mask));
                }
                _ => self.exit(index),
            }
        }
        for (label, target) in [(taken, target), (passed, other)] {
            self.w.label(&label);
            self.spend(cost);
            self.go(target);
        }
    }

    /// Lets some lanes wait at one block, and the others go to another.
    fn part(&mut self, cost: u16, (near, near_mask): (usize, Value), (far, far_mask): (usize, Value)) {
        let (version, pending) = (self.version, self.pending.clone());
        self.version = Version::Masked;
        self.spend(cost);
        let place = self.wait(far);
        let waiting = self.get(&place);
        let waiting = self.w.or(&waiting, &far_mask);
        self.set(&place, &waiting);
        self.set(&Variable::word("%mask"), &near_mask);
        self.pending.insert(far);
        let all = self.pending.clone();
        self.go_masked(near, &all);
        (self.version, self.pending) = (version, pending);
    }

    /// Stores registers for the interpreter.
    pub(super) fn store_all(&mut self, registers: &[usize]) {
        if !self.stores_early {
            registers.iter().for_each(|number| self.store_bases(*number));
        }
        self.materialise(registers.iter().copied());
    }

    pub(super) fn store_fuel(&mut self) {
        let fuel = self.get(&Variable::word("%fuel"));
        self.set(&Variable::word("%fuel.place"), &fuel);
    }

    /// Exits: the interpreter continues with an operation.
    pub(super) fn exit(&mut self, index: usize) {
        let live = if self.kernel.blocks[self.block].ops.contains(&index) {
            self.kernel.live_before(self.block, index)
        } else {
            self.kernel.liveness.before(self.kernel.block_of[index]).clone()
        };
        self.spill(&live, &[], true);
        let position = self.position(index);
        self.return_at(&position, GO_ON);
    }

    /// Exits at an operation at which the warp waits for other warps, and resumes behind it. Meanwhile the register file holds only
    /// the first lanes of uniform and affine registers.
    fn exit_at_barrier(&mut self, index: usize) {
        let Some(block) = self.kernel.block_of.get(index + 1).copied() else {
            self.exit(index);
            return;
        };
        let entry = self.entries.iter().position(|entry| *entry == block);
        let is_written = self.kernel.operands(index).iter().any(|operand| operand.is_written);
        let (Version::Full, Some(entry), Some(state), false) =
            (self.version, entry, self.states.at(Version::Full, block), is_written)
        else {
            self.exit(index);
            return;
        };
        self.barriers.insert(entry);
        self.store_operands(&[index]);
        let before = self.shapes.clone();
        for number in self.kernel.liveness.before(block).members() {
            let is_stored = self.stores_early && self.shapes[number] == state.shapes[number];
            self.reshape(number, state.shapes[number]);
            self.shapes[number] = state.shapes[number];
            if !is_stored {
                self.store_bases(number);
            }
        }
        self.shapes = before;
        self.store_fuel();
        let mask = self.mask_of_active();
        self.set(&Variable::word("%outside_guard.place"), &mask);
        let number = Value::integer(Element::I32, entry as u64 + 1);
        self.set(&Variable::word("%resume_at.place"), &number);
        let position = self.position(index);
        self.w.line(format_args!("ret ptr {position}"));
    }

    /// Writes the entries behind barriers for warps that waited there, and the code that materialises their registers for the interpreter.
    fn resume_warp(&mut self) {
        self.version = Version::Full;
        self.pending = Set::none(self.kernel.blocks.len());
        self.nans = Nans::unknown(self.kernel.registers.len());
        for entry in self.barriers.clone() {
            let block = self.entries[entry];
            let Some(state) = self.states.at(Version::Full, block) else {
                continue;
            };
            let live = self.kernel.liveness.before(block).clone();
            self.shapes.clone_from(&state.shapes);
            self.w.label(&format!("materialise{entry}"));
            self.materialise(live.members());
            self.w.line("ret ptr null");
            self.w.label(&format!("resume{entry}"));
            for (place, number) in live.members().enumerate() {
                self.end_chain(place);
                let loaded = self.load(number, state.shapes[number]);
                self.write(Location::Register(number), state.shapes[number], loaded);
            }
            self.w.line(format_args!("br label %b{block}"));
        }
    }
}

fn label(version: Version, block: usize) -> String {
    match version {
        Version::Full => format!("b{block}"),
        Version::Masked => format!("m{block}"),
    }
}
