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
//! * A shuffle takes along from each lane whether it has a value.
//! * Memory takes over from a store which bytes have none; see [`super::unwritten`]. Loads of the same function go on from
//!   there. What other functions of the program load counts as a value; in other kernels, such a load is the mistake.

use crate::cfg;
use crate::check::finding::FindingKind;
use crate::check::memory::Space;
use crate::cluster::RANK_SHIFT;
use crate::form::Form;
use crate::instrument::{Probe, Rewriter};
use crate::isa::instruction::{Extremes, Undefined};
use crate::lower::{Control, Draft, FIXED, Function, Node, Place};
use crate::op::{Handlers, Pc};
use crate::program::{Class, Pool};
use crate::warp::{FULL, Warp, lanes_of};

/// Registers that a function keeps track of at most: there are only so many predicates.
const MOST: usize = 1 << 14;

/// `dst` = the lanes of no value
const CLEAR: Handlers = Handlers::same(clear);
/// `dst` = all lanes
const SET: Handlers = Handlers::same(set);
/// `dst = a & b`
const BOTH: Handlers = Handlers::same(both);
/// `dst = a | b`
const EITHER: Handlers = Handlers::same(either);
/// `dst = a | !b`
const UNLESS: Handlers = Handlers::same(unless);
/// `dst` = the lanes of `c` for which the predicates `a` and `b` are equal
const ALIKE: Handlers = Handlers::same(alike);
/// `dst` = `a` in the lanes of `b`, `imm` in the others
const FILL: [Handlers; 2] = [Handlers::same(fill::<u32>), Handlers::same(fill::<u64>)];
/// `dst` = the lanes of `c` in which `a` and `b` are equal
const SAME: [Handlers; 2] = [Handlers::same(same::<u32>), Handlers::same(same::<u64>)];
/// What is in memory holds nothing in the lanes that are not in `b`: a [`Probe`].
const UNDEFINE: Handlers = Handlers::same(undefine);
/// `dst` = the lanes of which memory holds something: a [`Probe`].
const DEFINED: Handlers = Handlers::same(defined);
/// Looks whether all active lanes are in `a`; `imm` is the number of the register.
const LOOK: Handlers = Handlers::same(look);

unsafe fn clear(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the destination is a predicate of the program.
    unsafe { warp.set_predicate(pc.dst, 0) };
    pc.next()
}

unsafe fn set(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, FULL) };
    pc.next()
}

unsafe fn both(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operands are predicates of the program.
    unsafe { warp.set_predicate(pc.dst, warp.predicate(pc.a) & warp.predicate(pc.b)) };
    pc.next()
}

unsafe fn either(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, warp.predicate(pc.a) | warp.predicate(pc.b)) };
    pc.next()
}

unsafe fn unless(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, warp.predicate(pc.a) | !warp.predicate(pc.b)) };
    pc.next()
}

unsafe fn alike(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe {
        let equal = !(warp.predicate(pc.a) ^ warp.predicate(pc.b));
        warp.set_predicate(pc.dst, warp.predicate(pc.c) & equal);
    }
    pc.next()
}

/// What a slot holds of a lane.
trait Word: Copy + PartialEq {
    fn from_imm(imm: u64) -> Self;
}

impl Word for u32 {
    fn from_imm(imm: u64) -> Self {
        imm as u32
    }
}

impl Word for u64 {
    fn from_imm(imm: u64) -> Self {
        imm
    }
}

unsafe fn fill<T: Word>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    let defined = unsafe { warp.predicate(pc.b) };
    let (to, from) = (warp.lanes::<T>(pc.dst), warp.lanes::<T>(pc.a));
    for lane in lanes_of(warp.active) {
        // SAFETY: the slots are the operation's, with 32 lanes.
        unsafe {
            *to.add(lane) = if defined >> lane & 1 != 0 {
                *from.add(lane)
            } else {
                T::from_imm(pc.imm)
            };
        }
    }
    pc.next()
}

unsafe fn same<T: Word>(warp: &mut Warp, pc: Pc) -> Pc {
    let (a, b) = (warp.lanes::<T>(pc.a), warp.lanes::<T>(pc.b));
    // SAFETY: the slots are the operation's, with 32 lanes.
    let equal = |lane: &usize| unsafe { *a.add(*lane) == *b.add(*lane) };
    let equal = lanes_of(warp.active)
        .filter(equal)
        .fold(0, |lanes, lane| lanes | 1 << lane);
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, warp.predicate(pc.c) & equal) };
    pc.next()
}

/// The host address that a lane's access goes to, if it may be one of memory that is its block's or everybody's.
fn host(warp: &Warp, space: Space, address: u64, lane: usize) -> Option<u64> {
    match space {
        Space::Shared => (address >> RANK_SHIFT == 0).then(|| warp.shared_base.wrapping_add(address)),
        Space::Local => Some(warp.stack_base + lane as u64 * warp.stack_stride).map(|base| base.wrapping_add(address)),
        Space::Generic | Space::Global | Space::Const | Space::Param => Some(address),
    }
}

unsafe fn undefine(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above; the operation was made of a probe.
    let (defined, addresses) = unsafe { (warp.predicate(pc.b), Probe::addresses(warp, &pc)) };
    let Probe { space, bytes, .. } = Probe::of(&pc);
    let context = warp.context();
    let Some(map) = &context.allocations.unwritten else {
        return pc.next();
    };
    for lane in lanes_of(warp.active & !defined) {
        let Some(host) = host(warp, space, addresses[lane], lane) else {
            continue;
        };
        let allocation = || context.allocations.bounds(host, |allocation| allocation.start);
        map.undefine(host, bytes, allocation, || {
            let debug = &context.program.debug;
            let place = match debug.locations(pc.source).first() {
                Some(location) => location.to_string(),
                None => {
                    let (ptx, line) = debug.ptx(pc.source);
                    format!("{ptx}:{line}")
                }
            };
            format!(
                "kernel `{}` stored an uninitialised register there at {place}",
                context.program.name
            )
        });
    }
    pc.next()
}

unsafe fn defined(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operation was made of a probe.
    let addresses = unsafe { Probe::addresses(warp, &pc) };
    let Probe { space, bytes, .. } = Probe::of(&pc);
    let mut defined = FULL;
    if let Some(map) = &warp.context().allocations.unwritten {
        for lane in lanes_of(warp.active) {
            let host = host(warp, space, addresses[lane], lane);
            if host.is_some_and(|host| map.is_undefined(host, bytes)) {
                defined &= !(1 << lane);
            }
        }
    }
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, defined) };
    pc.next()
}

unsafe fn look(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    let without = warp.active & !unsafe { warp.predicate(pc.a) };
    if without != 0 {
        let actor = warp.actor(pc.source, without, "use");
        warp.note(FindingKind::UnwrittenRegister, actor, None, || {
            let names = &warp.context().program.debug.registers;
            match names.get(pc.imm as usize) {
                Some(name) => format!("`{name}` holds nothing in lanes {without:#010x}"),
                None => format!("a value that comes from a register without one, in lanes {without:#010x}"),
            }
        });
    }
    pc.next()
}

/// A number for each register: the slots, then the predicates.
struct Numbers {
    slots: usize,
    count: usize,
}

impl Numbers {
    fn of(&self, place: Place) -> Option<usize> {
        match place {
            Place::Slot(slot) if slot & FIXED == 0 => Some(slot as usize),
            Place::Predicate(index @ 2..) => Some(self.slots + usize::from(index) - 2),
            Place::None | Place::Slot(_) | Place::Predicate(_) => None,
        }
    }

    fn read<'a>(&'a self, draft: &'a Draft) -> impl Iterator<Item = usize> + 'a {
        self.some(draft, false)
    }

    fn written<'a>(&'a self, draft: &'a Draft) -> impl Iterator<Item = usize> + 'a {
        self.some(draft, true)
    }

    fn some<'a>(&'a self, draft: &'a Draft, written: bool) -> impl Iterator<Item = usize> + 'a {
        let places = draft.places().into_iter().enumerate();
        places
            .filter(move |(index, _)| (draft.defines >> index & 1 != 0) == written)
            .filter_map(|(_, place)| self.of(place))
    }
}

/// Registers that may be read before they are written.
fn doubtful(function: &Function<'_>, numbers: &Numbers) -> Vec<bool> {
    let graph = cfg::graph(function);
    let words = numbers.count.div_ceil(64);
    let mut at_end: Vec<Option<Vec<u64>>> = vec![None; graph.blocks.len()];
    let mut doubtful = vec![false; numbers.count];
    let walk = |index: usize, mut assigned: Vec<u64>, mut tell: Option<&mut Vec<bool>>| {
        for node in &function.nodes[graph.blocks[index].nodes.clone()] {
            let Node::Op { draft, conditional, .. } = node else {
                continue;
            };
            if let Some(doubtful) = tell.as_deref_mut() {
                for number in numbers.read(draft) {
                    doubtful[number] |= assigned[number / 64] >> (number % 64) & 1 == 0;
                }
            }
            if !conditional {
                for number in numbers.written(draft) {
                    assigned[number / 64] |= 1 << (number % 64);
                }
            }
        }
        assigned
    };
    let at_start = |index: usize, at_end: &[Option<Vec<u64>>]| {
        // The first block may also be jumped to; it is entered with nothing all the same.
        let mut assigned = vec![if index == 0 { 0 } else { u64::MAX }; words];
        for before in graph.blocks[index]
            .predecessors
            .iter()
            .filter_map(|block| at_end[*block].as_ref())
        {
            assigned.iter_mut().zip(before).for_each(|(all, one)| *all &= one);
        }
        assigned
    };
    let mut changed = true;
    while changed {
        changed = false;
        for index in graph.order.iter().copied() {
            let after = walk(index, at_start(index, &at_end), None);
            if at_end[index].as_ref() != Some(&after) {
                at_end[index] = Some(after);
                changed = true;
            }
        }
    }
    for index in graph.order.iter().copied() {
        walk(index, at_start(index, &at_end), Some(&mut doubtful));
    }
    doubtful
}

/// What an operation does with undefined values.
#[derive(Clone, Copy)]
enum Flow {
    /// Its results have a value if its operands do, or if they do not depend on those that do not.
    Computes,
    /// `dst` has a value where the lane that `a` is taken from has one; see [`Undefined::Shuffles`].
    Shuffles(fn(&Draft, Place, Place) -> (Draft, Draft)),
    /// Memory has what the values have.
    Stores,
    /// The results have what memory has.
    Loads,
    /// Its results have values.
    Decides,
}

/// What an operation does with undefined values, and which of its places decide something.
fn flow(draft: &Draft, control: &Control, undefined: Undefined) -> (Flow, u8) {
    const A: u8 = 0b00010;
    match (draft.handlers.form, control) {
        (Form::GuardBegin, _) | (_, Control::Branch(_) | Control::Table(_)) => (Flow::Decides, !0),
        (Form::Lanes { .. } | Form::Test { .. }, _) => (Flow::Computes, 0),
        _ if draft.moves != 0 && draft.defines == 0 => (Flow::Stores, A),
        _ if draft.moves != 0 => (Flow::Loads, A),
        _ => match undefined {
            // The lane that is read and the mask.
            Undefined::Shuffles(follow) => (Flow::Shuffles(follow), !A),
            Undefined::Decides => (Flow::Decides, !0),
            Undefined::Spreads | Undefined::Absorbs(_) => (Flow::Computes, 0),
        },
    }
}

/// Operations of which one operand can make another superfluous.
///
/// A result does not depend on an operand if it is the same whatever the operand holds. Of these operations it is enough to
/// try the extreme values, so the operation itself is executed once more with each of them in the lanes that have none.
/// Where two operands are undefined, the result counts as undefined.
struct Absorption;

impl Absorption {
    const BITS: [u64; 4] = [0, u64::MAX, i64::MIN as u64 | 1 << 31, i64::MAX as u64 & !(1 << 31)];
    const WORDS: [u64; 12] = [
        0,
        0xffff_ffff,
        0x8000_0000,
        0x7fff_ffff,
        0x8000_8000,
        0x7fff_7fff,
        // The infinities of `.f32`, `.f16`, `.bf16`.
        0x7f80_0000,
        0xff80_0000,
        0x7c00_7c00,
        0xfc00_fc00,
        0x7f80_7f80,
        0xff80_ff80,
    ];
    const DOUBLE_WORDS: [u64; 6] = [
        0,
        u64::MAX,
        i64::MIN as u64,
        i64::MAX as u64,
        f64::INFINITY.to_bits(),
        f64::NEG_INFINITY.to_bits(),
    ];

    /// The values to try for an operand of a class.
    fn probes(undefined: Undefined, class: Class) -> &'static [u64] {
        match (undefined, class) {
            (Undefined::Absorbs(Extremes::Numbers), Class::W32) => &Self::WORDS,
            (Undefined::Absorbs(Extremes::Numbers), Class::W64 | Class::W128) => &Self::DOUBLE_WORDS,
            _ => &Self::BITS,
        }
    }

    /// Whether an operation is one of them.
    fn is_known(draft: &Draft, undefined: Undefined) -> bool {
        let is_predicate = |place: &Place| matches!(place, Place::Predicate(_) | Place::None);
        draft.defines == 1 && (matches!(undefined, Undefined::Absorbs(_)) || draft.places().iter().all(is_predicate))
    }
}

/// A function that is written anew with operations that keep track.
struct Tracking<'a, 'm> {
    function: &'a mut Function<'m>,
    numbers: Numbers,
    /// The predicate of each register that is tracked.
    shadows: Vec<Option<Place>>,
    names: Vec<u64>,
    predicates: u16,
    out: Rewriter,
}

const YES: Place = Place::Predicate(1);

impl Tracking<'_, '_> {
    fn shadow(&self, place: Place) -> Option<Place> {
        self.numbers.of(place).and_then(|number| self.shadows[number])
    }

    fn predicate(&mut self) -> Place {
        let place = Place::Predicate(self.predicates);
        self.predicates = self.predicates.saturating_add(1);
        place
    }

    fn scratch(&mut self, class: Class) -> Place {
        self.function.classes.push(class);
        Place::Slot(self.function.classes.len() as u32 - 1)
    }

    /// The class of a slot of the function's own.
    fn class(&self, place: Place) -> Option<Class> {
        match place {
            Place::Slot(slot) if slot & FIXED == 0 => Some(self.function.classes[slot as usize]),
            Place::Slot(_) | Place::Predicate(_) | Place::None => None,
        }
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
    fn compute(&mut self, draft: &Draft, undefined: Undefined, source: u32) {
        let operands = self.operands(draft);
        let written: Vec<Place> = (0..5)
            .filter(|index| draft.defines >> index & 1 != 0)
            .filter_map(|index| self.shadow(draft.places()[index]))
            .collect();
        let Some(first) = written.first() else { return };
        if !Absorption::is_known(draft, undefined) || operands.is_empty() {
            for dst in written {
                let sources = operands.iter().map(|(_, shadow)| *shadow).collect();
                self.all(dst, sources, source);
            }
            return;
        }
        let known = self.predicate();
        self.all(known, operands.iter().map(|(_, shadow)| *shadow).collect(), source);
        for (place, shadow) in &operands {
            let Some(mut same) = self.probe(draft, undefined, (*place, *shadow), source) else {
                continue;
            };
            for (_, other) in operands.iter().filter(|(other, _)| other != place) {
                let both = self.predicate();
                self.out.insert(Draft::binary(BOTH, both, same, *other), source);
                same = both;
            }
            self.out.insert(Draft::binary(EITHER, known, known, same), source);
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
        let same = self.predicate();
        let mut first = None;
        for (index, value) in probes.iter().enumerate() {
            let filled = match operand {
                Place::Predicate(_) => {
                    let filled = self.predicate();
                    let handlers = if *value == 0 { BOTH } else { UNLESS };
                    self.out
                        .insert(Draft::binary(handlers, filled, operand, shadow), source);
                    filled
                }
                _ => {
                    let class = self.class(operand)?;
                    let handlers = FILL[width(class)?];
                    let filled = self.scratch(class);
                    let fill = Draft {
                        imm: *value,
                        ..Draft::binary(handlers, filled, operand, shadow)
                    };
                    self.out.insert(fill, source);
                    filled
                }
            };
            let (result, compare) = match draft.dst {
                Place::Predicate(_) => (self.predicate(), ALIKE),
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
}

/// Lets a function keep track of the registers that may hold nothing, if it has such.
pub(crate) fn track<'m>(function: &mut Function<'m>, pool: &mut Pool<'m>) {
    let slots = function.classes.len();
    let numbers = Numbers {
        slots,
        count: slots + usize::from(function.predicates) - 2,
    };
    let mut tracked = doubtful(function, &numbers);
    if !tracked.contains(&true) {
        return;
    }
    let occurrences = std::mem::take(&mut function.occurrences);
    let undefined = |source: u32| {
        let occurrence = occurrences.get(&source).copied().unwrap_or_default();
        occurrence.instruction.undefined
    };
    // Whether memory may have been given something undefined.
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
            let kind = flow(draft, control, undefined(*source)).0;
            let is_undefined = match kind {
                Flow::Computes => numbers.read(draft).any(|number| tracked[number]),
                Flow::Shuffles(_) => is_tracked(draft.a),
                Flow::Stores => {
                    let is_first = !stores && [draft.dst, draft.b, draft.c, draft.d].into_iter().any(is_tracked);
                    changed |= is_first;
                    stores |= is_first;
                    false
                }
                Flow::Loads => stores,
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
    if tracked.iter().filter(|tracked| **tracked).count() > MOST {
        function.occurrences = occurrences;
        return;
    }
    pool.undefines |= stores;
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
        predicates: function.predicates,
        out: Rewriter::default(),
        function,
        numbers,
        names,
    };
    for number in (0..tracked.len()).filter(|number| tracked[*number]) {
        let dst = tracking.predicate();
        tracking.shadows[number] = Some(dst);
        let clear = Draft {
            dst,
            ..Draft::new(CLEAR)
        };
        tracking.out.insert(clear, first.unwrap_or(0));
    }
    for node in nodes {
        let Node::Op {
            draft, control, source, ..
        } = &node
        else {
            tracking.out.keep(node);
            continue;
        };
        let (draft, source) = (*draft, *source);
        let (flow, decides) = flow(&draft, control, undefined(source));
        tracking.look(&draft, decides, source);
        match flow {
            Flow::Computes => tracking.compute(&draft, undefined(source), source),
            Flow::Decides => tracking.set_results(&draft, source),
            Flow::Loads if stores => {
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
                    continue;
                }
            }
            Flow::Stores => {}
        }
        tracking.out.keep(node);
        if matches!(flow, Flow::Stores) {
            for (place, part) in Tracking::parts(&draft, UNDEFINE) {
                if let Some(shadow) = tracking.shadow(place) {
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
