//! Registers that are read before they are written, which makes what they hold undefined.
//!
//! Most registers are written on every way to where they are read, which is seen when the module is loaded. Of the others,
//! and of what is computed from them, the program keeps in one predicate each which lanes have a value.
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
//! * Memory takes over from a store which bytes have none; see [`super::unwritten`]. Loads of the same function go on from
//!   there. What other functions of the program load counts as a value; in other kernels, such a load is the mistake.
//! * A load of shared or local memory that was never written gives an undefined value, whose origin goes with it: what
//!   depends on it is told with the load and the memory. A store of it to global memory is a mistake, too: the value is there
//!   for others then. A load of global memory that was never written is a mistake itself, as for NVIDIA's initcheck.

use std::collections::HashMap;

use crate::check::memory::Space;
use crate::instrument::{Probe, Rewriter};
use crate::isa::instruction::{Occurrence, Undefined};
use crate::lower::{Draft, FIXED, Function, Node, Place};
use crate::op::Handlers;
use crate::program::{Class, Pool};
use flow::{Absorption, Flow, Numbers, Packing, doubtful, flow};
use operations::{ALIKE, BOTH, CLEAR, DEFINED, EITHER, FILL, LOOK, Part, SAME, SET, UNDEFINE, UNLESS};

mod flow;
mod operations;

pub(crate) use operations::Origin;

/// Predicates that a program has at most to keep track of registers: there are only so many.
const MOST: usize = 1 << 15;

/// A function that is written anew with operations that keep track.
struct Tracking<'a, 'm> {
    function: &'a mut Function<'m>,
    numbers: Numbers,
    /// The predicate of each register that is tracked.
    shadows: Vec<Option<Place>>,
    /// Those of the lower and the upper half of each that two values are packed in.
    halves: Vec<Option<[Place; 2]>>,
    names: Vec<u64>,
    /// Predicates for one operation only, and how many of them the present one has.
    scratch: Vec<Place>,
    scratched: usize,
    predicates: u16,
    out: Rewriter,
}

/// The class of a slot of a function's own.
fn class(function: &Function<'_>, place: Place) -> Option<Class> {
    match place {
        Place::Slot(slot) if slot & FIXED == 0 => Some(function.classes[slot as usize]),
        Place::Slot(_) | Place::Predicate(_) | Place::None => None,
    }
}

const YES: Place = Place::Predicate(1);

impl Tracking<'_, '_> {
    fn shadow(&self, place: Place) -> Option<Place> {
        self.numbers.of(place).and_then(|number| self.shadows[number])
    }

    fn halves(&self, place: Place) -> Option<[Place; 2]> {
        self.numbers.of(place).and_then(|number| self.halves[number])
    }

    /// A predicate of its own.
    fn predicate(&mut self) -> Place {
        let place = Place::Predicate(self.predicates);
        self.predicates = self.predicates.saturating_add(1);
        place
    }

    /// A predicate for the present operation.
    fn temporary(&mut self) -> Place {
        if self.scratched == self.scratch.len() {
            let place = self.predicate();
            self.scratch.push(place);
        }
        self.scratched += 1;
        self.scratch[self.scratched - 1]
    }

    fn scratch(&mut self, class: Class) -> Place {
        self.function.classes.push(class);
        Place::Slot(self.function.classes.len() as u32 - 1)
    }

    /// The class of a slot of the function's own.
    fn class(&self, place: Place) -> Option<Class> {
        class(self.function, place)
    }

    /// Looks at the operands that decide something.
    fn look(&mut self, draft: &Draft, decides: u8, source: u32) {
        let mut seen = Vec::new();
        for (index, place) in draft.places().into_iter().enumerate() {
            if (draft.defines >> index | !decides >> index) & 1 != 0 || seen.contains(&place) {
                continue;
            }
            seen.push(place);
            if let Some(number) = self.numbers.of(place)
                && let Some(shadow) = self.shadows[number]
            {
                let look = Draft {
                    a: shadow,
                    defines: 0,
                    imm: self.names[number],
                    ..Draft::new(LOOK)
                };
                self.out.insert(look, source);
            }
        }
    }

    /// Sets the predicates of all results.
    fn set_results(&mut self, draft: &Draft, source: u32) {
        for (index, place) in draft.places().into_iter().enumerate() {
            if draft.defines >> index & 1 != 0
                && let Some(dst) = self.shadow(place)
            {
                self.out.insert(Draft { dst, ..Draft::new(SET) }, source);
            }
        }
    }

    /// Which lanes of the halves of the result have a value, where two values are packed in it: after
    /// [`Tracking::shadow`] was set.
    fn set_halves(&mut self, draft: &Draft, packing: Packing, source: u32) {
        for (index, place) in draft.places().into_iter().enumerate() {
            if draft.defines >> index & 1 == 0 {
                continue;
            }
            let (Some(whole), Some(halves)) = (self.shadow(place), self.halves(place)) else {
                continue;
            };
            let from = match packing {
                Packing::Packs => [draft.b, draft.a].map(|part| self.shadow(part).unwrap_or(YES)),
                Packing::Copies => self.halves(draft.a).unwrap_or([whole; 2]),
                Packing::Other => [whole; 2],
            };
            for (half, from) in halves.into_iter().zip(from) {
                self.out.insert(Draft::binary(BOTH, half, from, YES), source);
            }
        }
    }

    /// The predicates of the operands that are tracked, each once, with the operands.
    fn operands(&self, draft: &Draft) -> Vec<(Place, Place)> {
        let mut operands: Vec<(Place, Place)> = Vec::new();
        for (index, place) in draft.places().into_iter().enumerate() {
            if draft.defines >> index & 1 == 0
                && let Some(shadow) = self.shadow(place)
                && operands.iter().all(|(known, _)| *known != place)
            {
                operands.push((place, shadow));
            }
        }
        operands
    }

    /// `dst` = the lanes that are in all predicates; one of them may be `dst`.
    fn all(&mut self, dst: Place, mut sources: Vec<Place>, source: u32) {
        // What the result overwrites comes first.
        sources.sort_by_key(|place| *place != dst);
        let first = sources.first().copied().unwrap_or(YES);
        let second = sources.get(1).copied().unwrap_or(YES);
        self.out.insert(Draft::binary(BOTH, dst, first, second), source);
        for more in sources.into_iter().skip(2) {
            self.out.insert(Draft::binary(BOTH, dst, dst, more), source);
        }
    }

    /// Which lanes of the results have a value.
    fn compute(&mut self, draft: &Draft, undefined: Undefined, packing: Packing, source: u32) {
        let operands = self.operands(draft);
        let written: Vec<Place> = (0..5)
            .filter(|index| draft.defines >> index & 1 != 0)
            .filter_map(|index| self.shadow(draft.places()[index]))
            .collect();
        let Some(first) = written.first() else { return };
        let is_part = packing == Packing::Other
            && matches!(undefined, Undefined::Selects | Undefined::Packs)
            && operands.iter().any(|(place, _)| self.halves(*place).is_some());
        if !(is_part || Absorption::is_known(draft, undefined)) || operands.is_empty() {
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
            let Some(mut same) = self.probe(draft, undefined, (*place, *shadow), source) else {
                continue;
            };
            for (_, other) in operands.iter().filter(|(other, _)| other != place) {
                let both = self.temporary();
                self.out.insert(Draft::binary(BOTH, both, same, *other), source);
                same = both;
            }
            self.out.insert(Draft::binary(EITHER, known, known, same), source);
        }
        if guards {
            self.out.end_guard(source);
        }
        self.out.insert(Draft::binary(BOTH, *first, known, YES), source);
    }

    /// Executes an operation with several values of an operand in the lanes where it is undefined: the lanes in which the
    /// result is always the same.
    fn probe(
        &mut self,
        draft: &Draft,
        undefined: Undefined,
        (operand, shadow): (Place, Place),
        source: u32,
    ) -> Option<Place> {
        let width = |class: Class| match class {
            Class::W32 => Some(0),
            Class::W64 => Some(1),
            Class::W128 => None,
        };
        let probes: &[u64] = match operand {
            Place::Predicate(_) => &[0, 1],
            _ => Absorption::probes(undefined, self.class(operand)?),
        };
        let same = self.temporary();
        let mut first = None;
        for (index, value) in probes.iter().enumerate() {
            let filled = match operand {
                Place::Predicate(_) => {
                    let filled = self.temporary();
                    let handlers = if *value == 0 { BOTH } else { UNLESS };
                    self.out
                        .insert(Draft::binary(handlers, filled, operand, shadow), source);
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
                        let fill = Draft {
                            imm: *value,
                            extra: part as u16,
                            ..Draft::binary(handlers, filled, from, shadow)
                        };
                        self.out.insert(fill, source);
                    }
                    filled
                }
            };
            let (result, compare) = match draft.dst {
                Place::Predicate(_) => (self.temporary(), ALIKE),
                place => {
                    let class = self.class(place)?;
                    (self.scratch(class), SAME[width(class)?])
                }
            };
            let instead = |place: Place| if place == operand { filled } else { place };
            let again = Draft {
                dst: result,
                a: instead(draft.a),
                b: instead(draft.b),
                c: instead(draft.c),
                d: instead(draft.d),
                ..*draft
            };
            self.out.insert(again, source);
            match first {
                None => first = Some(result),
                Some(first) => {
                    let before = if index == 1 { YES } else { same };
                    self.out
                        .insert(Draft::ternary(compare, same, first, result, before), source);
                }
            }
        }
        Some(same)
    }

    /// The part of a load's or store's memory that each of its values has, as a probe of it.
    fn parts(draft: &Draft, handlers: Handlers) -> Vec<(Place, Draft)> {
        let values = [draft.dst, draft.b, draft.c, draft.d];
        let values = values.into_iter().filter(|place| *place != Place::None);
        let parts = (0..).zip(values).map(|(index, place)| {
            let part = Draft {
                imm: draft.imm.wrapping_add(index * u64::from(draft.moves)),
                ..Probe::of_bytes(draft, draft.moves, handlers)
            };
            (place, part)
        });
        parts.collect()
    }

    /// The predicates of a value that is stored, with the memory of each: of the value's `bytes`, or of each half of them.
    fn stored(&self, place: Place, part: Draft, bytes: u8) -> Vec<(Place, Draft)> {
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
                    let half = Probe::of_bytes(&Draft { imm, ..part }, bytes / 2, UNDEFINE);
                    (shadow, half)
                })
                .collect(),
            None => self.shadow(place).map(|shadow| (shadow, part)).into_iter().collect(),
        }
    }
}

/// What the instruction of an index in the program's table does with undefined operands.
fn undefined(occurrences: &HashMap<u32, Occurrence>, source: u32) -> Undefined {
    occurrences
        .get(&source)
        .copied()
        .unwrap_or_default()
        .instruction
        .undefined
}

/// The tracked registers of which the two halves are tracked, too.
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
            let Node::Op { draft, source, .. } = node else {
                continue;
            };
            let Some(number) = numbers.of(draft.dst).filter(|number| tracked[*number]) else {
                continue;
            };
            let undefined = undefined(occurrences, *source);
            let is_packed = match Packing::of(draft, undefined, |place| class(function, place)) {
                Packing::Packs => true,
                Packing::Copies => numbers.of(draft.a).is_some_and(|number| packed[number]),
                Packing::Other => false,
            };
            changed |= is_packed && !std::mem::replace(&mut packed[number], true);
        }
    }
    packed
}

/// Which registers of a function may hold nothing.
struct Reach {
    tracked: Vec<bool>,
    /// Whether the function may store something undefined.
    stores: bool,
    /// Whether loads of memory of the block or the thread may give what was never written.
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
                let Node::Op {
                    draft, control, source, ..
                } = node
                else {
                    continue;
                };
                let is_tracked = |place: Place| numbers.of(place).is_some_and(|number| tracked[number]);
                let kind = flow(draft, control, undefined(occurrences, *source)).0;
                let is_undefined = match kind {
                    Flow::Computes => numbers.read(draft).any(|number| tracked[number]),
                    Flow::Shuffles(_) => is_tracked(draft.a),
                    Flow::Stores => {
                        let is_first = !stores && [draft.dst, draft.b, draft.c, draft.d].into_iter().any(is_tracked);
                        changed |= is_first;
                        stores |= is_first;
                        false
                    }
                    Flow::Loads => stores || (follows && may_be_private(draft)),
                    Flow::Decides => false,
                };
                if is_undefined {
                    let is_value =
                        |number: &usize| !matches!(kind, Flow::Shuffles(_)) || Some(*number) == numbers.of(draft.dst);
                    for number in numbers.written(draft).filter(is_value) {
                        changed |= !std::mem::replace(&mut tracked[number], true);
                    }
                }
            }
        }
        Self {
            tracked,
            stores,
            follows,
        }
    }

    fn count(&self) -> usize {
        self.tracked.iter().filter(|tracked| **tracked).count()
    }
}

/// Whether a load may be one of shared or local memory.
fn may_be_private(load: &Draft) -> bool {
    matches!(
        Space::from_bits(load.extra),
        Space::Shared | Space::Local | Space::Generic
    )
}

/// Lets a function keep track of the registers that may hold nothing, if it has such.
pub(crate) fn track<'m>(function: &mut Function<'m>, pool: &mut Pool<'m>) {
    let slots = function.classes.len();
    let numbers = Numbers {
        slots,
        count: slots + usize::from(function.predicates) - 2,
    };
    let occurrences = std::mem::take(&mut function.occurrences);
    let doubtful = doubtful(function, &numbers);
    let room = MOST.saturating_sub(pool.shadows);
    let found = [true, false].into_iter().find_map(|follows| {
        let found = Reach::of(function, &numbers, &occurrences, doubtful.clone(), follows);
        (found.count() <= room).then_some(found)
    });
    let Some(Reach {
        tracked,
        stores,
        follows,
    }) = found.filter(|found| found.count() != 0)
    else {
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
            let clear = Draft {
                dst,
                ..Draft::new(CLEAR)
            };
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
        let Node::Op {
            draft, control, source, ..
        } = &node
        else {
            tracking.out.keep(node);
            continue;
        };
        tracking.scratched = 0;
        let (draft, source) = (*draft, *source);
        let undefined = undefined(&occurrences, source);
        let (flow, decides) = flow(&draft, control, undefined);
        let packing = Packing::of(&draft, undefined, |place| tracking.class(place));
        tracking.look(&draft, decides, source);
        match flow {
            Flow::Computes => tracking.compute(&draft, undefined, packing, source),
            Flow::Decides => tracking.set_results(&draft, source),
            Flow::Loads if stores || (follows && may_be_private(&draft)) => {
                pool.followed.extend(follows.then_some(source));
                for (place, part) in Tracking::parts(&draft, DEFINED) {
                    if let Some(dst) = tracking.shadow(place) {
                        tracking.out.insert(Draft { dst, ..part }, source);
                    }
                }
            }
            Flow::Loads => tracking.set_results(&draft, source),
            Flow::Shuffles(follow) => {
                // Whether the lane is in range is known.
                if let Some(dst) = tracking.shadow(draft.c) {
                    tracking.out.insert(Draft { dst, ..Draft::new(SET) }, source);
                }
                let shadows = tracking
                    .shadow(draft.dst)
                    .map(|dst| (dst, tracking.shadow(draft.a).unwrap_or(YES)));
                if let Some((dst, a)) = shadows {
                    let (shuffle, beside) = follow(&draft, dst, a);
                    let mut node = node;
                    if let Node::Op { draft, .. } = &mut node {
                        *draft = shuffle;
                    }
                    tracking.out.keep(node);
                    tracking.out.insert(beside, source);
                    tracking.set_halves(&draft, packing, source);
                    continue;
                }
            }
            Flow::Stores => {}
        }
        tracking.set_halves(&draft, packing, source);
        tracking.out.keep(node);
        if matches!(flow, Flow::Stores) {
            for (place, part) in Tracking::parts(&draft, UNDEFINE) {
                for (shadow, part) in tracking.stored(place, part, draft.moves) {
                    let undefine = Draft {
                        b: shadow,
                        defines: 0,
                        ..part
                    };
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
