//! Undefined values in registers: registers that are read before they are written.
//!
//! Most registers are written on every path to their reads, which is known when the module is loaded. For each other
//! register, and each register computed from these, the program keeps a predicate with the lanes that have a defined
//! value.
//!
//! As in MemorySanitizer (Stepanov and Serebryany, CGO 2015), an undefined value may be copied, combined, shuffled and
//! stored, since compilers do so with values that they will not use. It is a mistake where it decides something: as a
//! branch's or a guard's predicate, an address, a mask of lanes, an operand of a barrier, of an atomic operation, of a vote
//! or of a matrix product, an argument of a call, or in memory that the host reads.
//!
//! * What does not depend on an undefined operand has a value: `x & 0`, `true | x`, `x * 0`, the other operand of `selp`
//!   (see [`Absorption`]).
//! * Of a register that is packed of two values, each half has its own: compilers pass structures on in one register.
//! * A shuffle takes along from each lane whether it has a value.
//! * Memory takes over from a store which bytes have none; see [`crate::mem::unwritten`]. Loads of the same function go on from
//!   there. What other functions of the program load counts as a value; in other kernels, such a load is the mistake.
//! * A load of shared or local memory that was never written gives an undefined value, whose origin goes with it: what
//!   depends on it is told with the load and the memory. A store of it to global memory is a mistake, too: the value is there
//!   for others then. A load of global memory that was never written is a mistake itself, as for NVIDIA's initcheck.

use std::collections::HashMap;

use crate::exec::memory::Space;
use crate::load::instrument::{Probe, Rewriter};
use crate::lower::fixed::ProgramBuilder;
use crate::lower::instruction::{Occurrence, Undefined};
use crate::lower::lowering::Function;
use crate::lower::virtual_op::{FIXED, Node, VReg, VirtualOp};
use crate::machine::op::Handlers;
use crate::machine::program::Class;
use flow::{Absorption, Flow, Numbers, Packing, doubtful, flow};
use operations::{ALIKE, BOTH, CLEAR, DEFINED, EITHER, FILL, LOOK, Part, SAME, SET, UNDEFINE, UNLESS};

mod flow;
mod operations;

/// The largest number of predicates that a program uses to track registers: the number of predicates is limited.
const MOST: usize = 1 << 15;

/// A function that is written anew with operations that keep track.
struct Tracking<'a, 'm> {
    function: &'a mut Function<'m>,
    numbers: Numbers,
    /// The predicate of each register that is tracked.
    shadows: Vec<Option<VReg>>,
    /// Those of the lower and the upper half of each that two values are packed in.
    halves: Vec<Option<[VReg; 2]>>,
    names: Vec<u64>,
    /// Predicates for one operation only, and how many of them the present one has.
    scratch: Vec<VReg>,
    scratched: usize,
    predicates: u16,
    out: Rewriter,
}

/// The class of a slot of a function's own.
fn class(function: &Function<'_>, place: VReg) -> Option<Class> {
    match place {
        VReg::Slot(slot) if slot & FIXED == 0 => Some(function.classes[slot as usize]),
        VReg::Slot(_) | VReg::Predicate(_) | VReg::None => None,
    }
}

const YES: VReg = VReg::Predicate(1);

impl Tracking<'_, '_> {
    fn shadow(&self, place: VReg) -> Option<VReg> {
        self.numbers.of(place).and_then(|number| self.shadows[number])
    }

    fn halves(&self, place: VReg) -> Option<[VReg; 2]> {
        self.numbers.of(place).and_then(|number| self.halves[number])
    }

    /// A predicate of its own.
    fn predicate(&mut self) -> VReg {
        let place = VReg::Predicate(self.predicates);
        self.predicates = self.predicates.saturating_add(1);
        place
    }

    /// A predicate for the present operation.
    fn temporary(&mut self) -> VReg {
        if self.scratched == self.scratch.len() {
            let place = self.predicate();
            self.scratch.push(place);
        }
        self.scratched += 1;
        self.scratch[self.scratched - 1]
    }

    fn scratch(&mut self, class: Class) -> VReg {
        self.function.classes.push(class);
        VReg::Slot(self.function.classes.len() as u32 - 1)
    }

    /// The class of a slot of the function's own.
    fn class(&self, place: VReg) -> Option<Class> {
        class(self.function, place)
    }

    /// Looks at the operands that decide something.
    fn look(&mut self, virtual_op: &VirtualOp, decides: u8, source: u32) {
        let mut seen = Vec::new();
        for (index, place) in virtual_op.places().into_iter().enumerate() {
            if (virtual_op.defines >> index | !decides >> index) & 1 != 0 || seen.contains(&place) {
                continue;
            }
            seen.push(place);
            if let Some(number) = self.numbers.of(place)
                && let Some(shadow) = self.shadows[number]
            {
                let look = VirtualOp { a: shadow, defines: 0, imm: self.names[number], ..VirtualOp::new(LOOK) };
                self.out.insert(look, source);
            }
        }
    }

    /// Sets the predicates of all results.
    fn set_results(&mut self, virtual_op: &VirtualOp, source: u32) {
        for (index, place) in virtual_op.places().into_iter().enumerate() {
            if virtual_op.defines >> index & 1 != 0
                && let Some(dst) = self.shadow(place)
            {
                self.out.insert(VirtualOp { dst, ..VirtualOp::new(SET) }, source);
            }
        }
    }

    /// Which lanes of the halves of the result have a value, where two values are packed in it: after
    /// [`Tracking::shadow`] was set.
    fn set_halves(&mut self, virtual_op: &VirtualOp, packing: Packing, source: u32) {
        for (index, place) in virtual_op.places().into_iter().enumerate() {
            if virtual_op.defines >> index & 1 == 0 {
                continue;
            }
            let (Some(whole), Some(halves)) = (self.shadow(place), self.halves(place)) else {
                continue;
            };
            let from = match packing {
                Packing::Packs => [virtual_op.b, virtual_op.a].map(|part| self.shadow(part).unwrap_or(YES)),
                Packing::Copies => self.halves(virtual_op.a).unwrap_or([whole; 2]),
                Packing::Other => [whole; 2],
            };
            for (half, from) in halves.into_iter().zip(from) {
                self.out.insert(VirtualOp::binary(BOTH, half, from, YES), source);
            }
        }
    }

    /// The predicates of the operands that are tracked, each once, with the operands.
    fn operands(&self, virtual_op: &VirtualOp) -> Vec<(VReg, VReg)> {
        let mut operands: Vec<(VReg, VReg)> = Vec::new();
        for (index, place) in virtual_op.places().into_iter().enumerate() {
            if virtual_op.defines >> index & 1 == 0
                && let Some(shadow) = self.shadow(place)
                && operands.iter().all(|(known, _)| *known != place)
            {
                operands.push((place, shadow));
            }
        }
        operands
    }

    /// `dst` = the lanes that are in all predicates; one of them may be `dst`.
    fn all(&mut self, dst: VReg, mut sources: Vec<VReg>, source: u32) {
        // The source that the result overwrites comes first.
        sources.sort_by_key(|place| *place != dst);
        let first = sources.first().copied().unwrap_or(YES);
        let second = sources.get(1).copied().unwrap_or(YES);
        self.out.insert(VirtualOp::binary(BOTH, dst, first, second), source);
        for more in sources.into_iter().skip(2) {
            self.out.insert(VirtualOp::binary(BOTH, dst, dst, more), source);
        }
    }

    /// Computes the lanes in which the results are defined.
    fn compute(&mut self, virtual_op: &VirtualOp, undefined: Undefined, packing: Packing, source: u32) {
        let operands = self.operands(virtual_op);
        let written: Vec<VReg> = (0..5)
            .filter(|index| virtual_op.defines >> index & 1 != 0)
            .filter_map(|index| self.shadow(virtual_op.places()[index]))
            .collect();
        let Some(first) = written.first() else { return };
        let is_part = packing == Packing::Other
            && matches!(undefined, Undefined::Selects | Undefined::Packs)
            && operands.iter().any(|(place, _)| self.halves(*place).is_some());
        if !(is_part || Absorption::is_known(virtual_op, undefined)) || operands.is_empty() {
            for dst in written {
                let sources = operands.iter().map(|(_, shadow)| *shadow).collect();
                self.all(dst, sources, source);
            }
            return;
        }
        let known = self.temporary();
        self.all(known, operands.iter().map(|(_, shadow)| *shadow).collect(), source);
        // Mostly every lane has a value, and nothing is to be tried.
        let guards = !self.out.is_guarded();
        if guards {
            self.out.begin_guard(known, source);
        }
        for (place, shadow) in &operands {
            let Some(mut same) = self.probe(virtual_op, undefined, (*place, *shadow), source) else {
                continue;
            };
            for (_, other) in operands.iter().filter(|(other, _)| other != place) {
                let both = self.temporary();
                self.out.insert(VirtualOp::binary(BOTH, both, same, *other), source);
                same = both;
            }
            self.out.insert(VirtualOp::binary(EITHER, known, known, same), source);
        }
        if guards {
            self.out.end_guard(source);
        }
        self.out.insert(VirtualOp::binary(BOTH, *first, known, YES), source);
    }

    /// Executes an operation with several values of an operand in the lanes where it is undefined: the lanes in which the
    /// result is always the same.
    fn probe(
        &mut self,
        virtual_op: &VirtualOp,
        undefined: Undefined,
        (operand, shadow): (VReg, VReg),
        source: u32,
    ) -> Option<VReg> {
        let width = |class: Class| match class {
            Class::W32 => Some(0),
            Class::W64 => Some(1),
            Class::W128 => None,
        };
        let probes: &[u64] = match operand {
            VReg::Predicate(_) => &[0, 1],
            _ => Absorption::probes(undefined, self.class(operand)?),
        };
        let same = self.temporary();
        let mut first = None;
        for (index, value) in probes.iter().enumerate() {
            let filled = match operand {
                VReg::Predicate(_) => {
                    let filled = self.temporary();
                    let handlers = if *value == 0 { BOTH } else { UNLESS };
                    self.out.insert(VirtualOp::binary(handlers, filled, operand, shadow), source);
                    filled
                }
                _ => {
                    let class = self.class(operand)?;
                    let handlers = FILL[width(class)?];
                    let filled = self.scratch(class);
                    let parts = match self.halves(operand) {
                        Some([low, high]) => vec![(operand, low, Part::Low), (filled, high, Part::High)],
                        None => vec![(operand, shadow, Part::Whole)],
                    };
                    for (from, shadow, part) in parts {
                        let fill = VirtualOp {
                            imm: *value,
                            extra: part as u16,
                            ..VirtualOp::binary(handlers, filled, from, shadow)
                        };
                        self.out.insert(fill, source);
                    }
                    filled
                }
            };
            let (result, compare) = match virtual_op.dst {
                VReg::Predicate(_) => (self.temporary(), ALIKE),
                place => {
                    let class = self.class(place)?;
                    (self.scratch(class), SAME[width(class)?])
                }
            };
            let instead = |place: VReg| if place == operand { filled } else { place };
            let again = VirtualOp {
                dst: result,
                a: instead(virtual_op.a),
                b: instead(virtual_op.b),
                c: instead(virtual_op.c),
                d: instead(virtual_op.d),
                ..*virtual_op
            };
            self.out.insert(again, source);
            match first {
                None => first = Some(result),
                Some(first) => {
                    let before = if index == 1 { YES } else { same };
                    self.out.insert(VirtualOp::ternary(compare, same, first, result, before), source);
                }
            }
        }
        Some(same)
    }

    /// The part of a load's or store's memory that each of its values has, as a probe of it.
    fn parts(virtual_op: &VirtualOp, handlers: Handlers) -> Vec<(VReg, VirtualOp)> {
        let values = [virtual_op.dst, virtual_op.b, virtual_op.c, virtual_op.d];
        let values = values.into_iter().filter(|place| *place != VReg::None);
        let parts = (0..).zip(values).map(|(index, place)| {
            let part = VirtualOp {
                imm: virtual_op.imm.wrapping_add(index * u64::from(virtual_op.moves)),
                ..Probe::of_bytes(virtual_op, virtual_op.moves, handlers)
            };
            (place, part)
        });
        parts.collect()
    }

    /// The predicates of a value that is stored, with the memory of each: of the value's `bytes`, or of each half of them.
    fn stored(&self, place: VReg, part: VirtualOp, bytes: u8) -> Vec<(VReg, VirtualOp)> {
        let is_whole = match self.class(place) {
            Some(Class::W32) => bytes == 4,
            Some(Class::W64) => bytes == 8,
            Some(Class::W128) | None => false,
        };
        let half = u64::from(bytes / 2);
        match self.halves(place).filter(|_| is_whole) {
            Some(halves) => (0..)
                .zip(halves)
                .map(|(index, shadow)| {
                    let imm = part.imm.wrapping_add(index * half);
                    let half = Probe::of_bytes(&VirtualOp { imm, ..part }, bytes / 2, UNDEFINE);
                    (shadow, half)
                })
                .collect(),
            None => self.shadow(place).map(|shadow| (shadow, part)).into_iter().collect(),
        }
    }
}

/// The effect of undefined operands of the instruction with an index in the program's table.
fn undefined(occurrences: &HashMap<u32, Occurrence>, source: u32) -> Undefined {
    occurrences.get(&source).copied().unwrap_or_default().instruction.undefined
}

/// The tracked registers whose two halves are tracked, too.
fn packed(
    function: &Function<'_>,
    numbers: &Numbers,
    tracked: &[bool],
    occurrences: &HashMap<u32, Occurrence>,
) -> Vec<bool> {
    let mut packed = vec![false; numbers.count];
    let mut changed = true;
    while changed {
        changed = false;
        for node in &function.nodes {
            let Node::Op { virtual_op, source, .. } = node else {
                continue;
            };
            let Some(number) = numbers.of(virtual_op.dst).filter(|number| tracked[*number]) else {
                continue;
            };
            let undefined = undefined(occurrences, *source);
            let is_packed = match Packing::of(virtual_op, undefined, |place| class(function, place)) {
                Packing::Packs => true,
                Packing::Copies => numbers.of(virtual_op.a).is_some_and(|number| packed[number]),
                Packing::Other => false,
            };
            changed |= is_packed && !std::mem::replace(&mut packed[number], true);
        }
    }
    packed
}

/// The registers of a function that may be undefined.
struct Reach {
    tracked: Vec<bool>,
    /// Whether the function may store something undefined.
    stores: bool,
    /// Whether loads of memory of the block or the thread may return unwritten bytes.
    follows: bool,
}

impl Reach {
    /// What comes from registers that may be read before they are written and, if it `follows` them, from loads.
    fn of(
        function: &Function<'_>,
        numbers: &Numbers,
        occurrences: &HashMap<u32, Occurrence>,
        mut tracked: Vec<bool>,
        follows: bool,
    ) -> Self {
        let mut stores = false;
        let mut changed = true;
        while changed {
            changed = false;
            for node in &function.nodes {
                let Node::Op { virtual_op, control, source, .. } = node else {
                    continue;
                };
                let is_tracked = |place: VReg| numbers.of(place).is_some_and(|number| tracked[number]);
                let kind = flow(virtual_op, control, undefined(occurrences, *source)).0;
                let is_undefined = match kind {
                    Flow::Computes => numbers.read(virtual_op).any(|number| tracked[number]),
                    Flow::Shuffles(_) => is_tracked(virtual_op.a),
                    Flow::Stores => {
                        let is_first = !stores
                            && [virtual_op.dst, virtual_op.b, virtual_op.c, virtual_op.d].into_iter().any(is_tracked);
                        changed |= is_first;
                        stores |= is_first;
                        false
                    }
                    Flow::Loads => stores || (follows && may_be_private(virtual_op)),
                    Flow::Decides => false,
                };
                if is_undefined {
                    let is_value = |number: &usize| {
                        !matches!(kind, Flow::Shuffles(_)) || Some(*number) == numbers.of(virtual_op.dst)
                    };
                    for number in numbers.written(virtual_op).filter(is_value) {
                        changed |= !std::mem::replace(&mut tracked[number], true);
                    }
                }
            }
        }
        Self { tracked, stores, follows }
    }

    fn count(&self) -> usize {
        self.tracked.iter().filter(|tracked| **tracked).count()
    }
}

/// Whether a load may be one of shared or local memory.
fn may_be_private(load: &VirtualOp) -> bool {
    matches!(Space::from_bits(load.extra), Space::Shared | Space::Local | Space::Generic)
}

/// Lets a function keep track of the registers that may hold nothing, if it has such.
pub(crate) fn track<'m>(function: &mut Function<'m>, pool: &mut ProgramBuilder<'m>) {
    let slots = function.classes.len();
    let numbers = Numbers { slots, count: slots + usize::from(function.predicates) - 2 };
    let occurrences = std::mem::take(&mut function.occurrences);
    let doubtful = doubtful(function, &numbers);
    let room = MOST.saturating_sub(pool.shadows);
    let found = [true, false].into_iter().find_map(|follows| {
        let found = Reach::of(function, &numbers, &occurrences, doubtful.clone(), follows);
        (found.count() <= room).then_some(found)
    });
    let Some(Reach { tracked, stores, follows }) = found.filter(|found| found.count() != 0) else {
        function.occurrences = occurrences;
        return;
    };
    pool.undefines |= stores;
    let packed = packed(function, &numbers, &tracked, &occurrences);
    let mut names = vec![u64::MAX; numbers.count];
    for register in &function.registers {
        if let Some(number) = numbers.of(register.place).filter(|number| tracked[*number]) {
            names[number] = pool.register_names.len() as u64;
            pool.register_names.push(register.name.to_owned());
        }
    }
    let first = function.nodes.iter().find_map(|node| match node {
        Node::Op { source, .. } => Some(*source),
        Node::Label(_) => None,
    });
    let nodes = std::mem::take(&mut function.nodes);
    let mut tracking = Tracking {
        shadows: vec![None; numbers.count],
        halves: vec![None; numbers.count],
        predicates: function.predicates,
        out: Rewriter::default(),
        function,
        numbers,
        names,
        scratch: Vec::new(),
        scratched: 0,
    };
    let predicates = tracking.predicates;
    for number in (0..tracked.len()).filter(|number| tracked[*number]) {
        let mut begin = || {
            let dst = tracking.predicate();
            let clear = VirtualOp { dst, ..VirtualOp::new(CLEAR) };
            if doubtful[number] {
                tracking.out.insert(clear, first.unwrap_or(0));
            }
            dst
        };
        let shadow = begin();
        let halves = packed[number].then(|| [begin(), begin()]);
        tracking.shadows[number] = Some(shadow);
        tracking.halves[number] = halves;
    }
    pool.shadows += usize::from(tracking.predicates - predicates);
    for node in nodes {
        tracking.out.expect(&node);
        let Node::Op { virtual_op, control, source, .. } = &node else {
            tracking.out.keep(node);
            continue;
        };
        tracking.scratched = 0;
        let (virtual_op, source) = (*virtual_op, *source);
        let undefined = undefined(&occurrences, source);
        let (flow, decides) = flow(&virtual_op, control, undefined);
        let packing = Packing::of(&virtual_op, undefined, |place| tracking.class(place));
        tracking.look(&virtual_op, decides, source);
        match flow {
            Flow::Computes => tracking.compute(&virtual_op, undefined, packing, source),
            Flow::Decides => tracking.set_results(&virtual_op, source),
            Flow::Loads if stores || (follows && may_be_private(&virtual_op)) => {
                pool.followed.extend(follows.then_some(source));
                for (place, part) in Tracking::parts(&virtual_op, DEFINED) {
                    if let Some(dst) = tracking.shadow(place) {
                        tracking.out.insert(VirtualOp { dst, ..part }, source);
                    }
                }
            }
            Flow::Loads => tracking.set_results(&virtual_op, source),
            Flow::Shuffles(follow) => {
                // Whether the lane is in range is known.
                if let Some(dst) = tracking.shadow(virtual_op.c) {
                    tracking.out.insert(VirtualOp { dst, ..VirtualOp::new(SET) }, source);
                }
                let shadows =
                    tracking.shadow(virtual_op.dst).map(|dst| (dst, tracking.shadow(virtual_op.a).unwrap_or(YES)));
                if let Some((dst, a)) = shadows {
                    let (shuffle, beside) = follow(&virtual_op, dst, a);
                    let mut node = node;
                    if let Node::Op { virtual_op, .. } = &mut node {
                        *virtual_op = shuffle;
                    }
                    tracking.out.keep(node);
                    tracking.out.insert(beside, source);
                    tracking.set_halves(&virtual_op, packing, source);
                    continue;
                }
            }
            Flow::Stores => {}
        }
        tracking.set_halves(&virtual_op, packing, source);
        tracking.out.keep(node);
        if matches!(flow, Flow::Stores) {
            for (place, part) in Tracking::parts(&virtual_op, UNDEFINE) {
                for (shadow, part) in tracking.stored(place, part, virtual_op.moves) {
                    let undefine = VirtualOp { b: shadow, defines: 0, ..part };
                    tracking.out.insert(undefine, source);
                }
            }
        }
    }
    let Tracking { predicates, out, .. } = tracking;
    function.predicates = predicates;
    function.nodes = out.finish();
    function.occurrences = occurrences;
}
