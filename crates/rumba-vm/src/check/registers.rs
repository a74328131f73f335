//! Registers that are read before they are written, which makes what they hold undefined.
//!
//! Most registers are written on every way to where they are read, which is seen when the module is loaded. Of the others,
//! and of what is computed from them, the program keeps in one predicate each which lanes have a value. Copying and
//! computing with a value that is none is no mistake yet, since compilers do so with values that they will not use:
//! accessing memory, branching, and giving it to other threads is.

use crate::cfg;
use crate::check::finding::FindingKind;
use crate::form::Form;
use crate::instrument::Rewriter;
use crate::lower::{Control, Draft, FIXED, Function, Node, Place};
use crate::op::{Handlers, Pc};
use crate::program::Pool;
use crate::warp::{FULL, Warp};

/// Instructions that do more than compute.
const SINKS: [&str; 24] = [
    "ld", "ldu", "st", "atom", "red", "bra", "brx", "call", "bar", "barrier", "shfl", "vote", "match", "redux",
    "elect", "mbarrier", "cp", "ldmatrix", "stmatrix", "wmma", "mma", "prefetch", "trap", "alloca",
];

/// Registers that a function keeps track of at most: there are only so many predicates.
const MOST: usize = 1 << 14;

/// `dst` = the lanes of no value
const CLEAR: Handlers = Handlers::same(clear);
/// `dst` = all lanes
const SET: Handlers = Handlers::same(set);
/// `dst = a & b`
const BOTH: Handlers = Handlers::same(both);
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
    let is_sink = |draft: &Draft, control: &Control, source: u32| match (draft.handlers.form, control) {
        (Form::GuardBegin, _) | (_, Control::Branch(_) | Control::Table(_)) => true,
        (Form::Lanes { .. } | Form::Test { .. }, _) => false,
        _ => function
            .mnemonics
            .get(&source)
            .is_some_and(|mnemonic| SINKS.contains(mnemonic)),
    };
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
            if !is_sink(draft, control, *source) && numbers.read(draft).any(|number| tracked[number]) {
                for number in numbers.written(draft) {
                    changed |= !std::mem::replace(&mut tracked[number], true);
                }
            }
        }
    }
    if tracked.iter().filter(|tracked| **tracked).count() > MOST {
        return;
    }
    let mut shadows = vec![None; numbers.count];
    let mut predicates = function.predicates;
    for (shadow, _) in shadows.iter_mut().zip(&tracked).filter(|(_, tracked)| **tracked) {
        *shadow = Some(Place::Predicate(predicates));
        predicates = predicates.saturating_add(1);
    }
    let shadow = |number: usize| shadows[number];
    let mut names = vec![u64::MAX; numbers.count];
    for register in &function.registers {
        if let Some(number) = numbers.of(register.place).filter(|number| tracked[*number]) {
            names[number] = pool.register_names.len() as u64;
            pool.register_names.push(register.name.to_owned());
        }
    }
    let mut out = Rewriter::default();
    let first = function.nodes.iter().find_map(|node| match node {
        Node::Op { source, .. } => Some(*source),
        Node::Label(_) => None,
    });
    for place in shadows.iter().flatten() {
        let draft = Draft {
            dst: *place,
            ..Draft::new(CLEAR)
        };
        out.insert(draft, first.unwrap_or(0));
    }
    let yes = Place::Predicate(1);
    for node in &function.nodes {
        let Node::Op {
            draft, control, source, ..
        } = node
        else {
            out.keep(node.clone());
            continue;
        };
        if is_sink(draft, control, *source) {
            let mut read: Vec<usize> = numbers.read(draft).collect();
            read.dedup();
            for (number, place) in read.into_iter().filter_map(|number| Some((number, shadow(number)?))) {
                let look = Draft {
                    a: place,
                    defines: 0,
                    imm: names[number],
                    ..Draft::new(LOOK)
                };
                out.insert(look, *source);
            }
            for place in numbers.written(draft).filter_map(shadow) {
                let set = Draft {
                    dst: place,
                    ..Draft::new(SET)
                };
                out.insert(set, *source);
            }
        } else {
            for result in numbers.written(draft).filter_map(shadow) {
                // What the result overwrites comes first.
                let mut sources: Vec<Place> = numbers.read(draft).filter_map(shadow).collect();
                sources.sort_by_key(|place| *place != result);
                let first = sources.first().copied().unwrap_or(yes);
                let second = sources.get(1).copied().unwrap_or(yes);
                out.insert(Draft::binary(BOTH, result, first, second), *source);
                for more in sources.iter().skip(2) {
                    out.insert(Draft::binary(BOTH, result, result, *more), *source);
                }
            }
        }
        out.keep(node.clone());
    }
    function.predicates = predicates;
    function.nodes = out.finish();
}
