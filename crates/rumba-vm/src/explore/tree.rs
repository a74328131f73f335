//! The tree of orders: the next choice, and the choices made and still to be made.
//!
//! Source-DPOR of Abdulla, Aronis, Jonsson and Sagonas (Optimal dynamic partial order reduction, POPL 2014, algorithm 1), with sleep
//! sets: of two operations that do not commute and that nothing orders, the later one is also tried first. Runs start anew
//! from the beginning, as in Flanagan and Godefroid (POPL 2005); the choices up to the last node are repeated.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::base::flow::Set;
use crate::explore::event::{Access, Effect, Event, Left, Process, Role};
use crate::explore::past::Past;

/// A process that stands before an operation.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) process: Process,
    /// The effect that the operation would have.
    pub(crate) accesses: Vec<Access>,
    /// The position of the process and the values that it would read, as a hash; none for a copy.
    pub(crate) view: Option<View>,
}

/// The inputs of an operation besides its own object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    /// The operation.
    pub(crate) at: u64,
    /// A hash of the past of its lanes.
    pub(crate) past: u64,
    /// A hash of the contents of its object.
    pub(crate) found: u64,
}

impl Candidate {
    /// The identity of a wait that found nothing.
    fn vain(&self) -> Option<u64> {
        let View { at, past, found } = self.view?;
        Some(hash(&(self.process, at, past, found)))
    }
}

/// A state, as the choices before it left it.
#[derive(Debug)]
struct Node {
    candidates: Vec<Candidate>,
    /// Candidates that can continue.
    enabled: Set,
    /// Candidates to try, tried, tried to no effect, and those that need not be tried, because other orders are equivalent.
    wanted: Set,
    done: Set,
    vain: Set,
    asleep: Set,
    chosen: usize,
}

/// The next step of the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// This candidate continues.
    Step(usize),
    /// No candidate can continue.
    Stuck,
    /// All continuations are equivalent to explored orders.
    Explored,
    /// The program behaved differently from the last run.
    Changed,
}

/// All orders, and the present one.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    events: Vec<Event>,
    /// The events at each object.
    objects: HashMap<(u8, u64), Vec<usize>>,
    /// Events of each warp.
    turns: HashMap<(u32, u32, u32), u32>,
    /// The number of nodes from earlier orders.
    known: usize,
    /// Waits that are known to find nothing.
    vain: HashSet<u64>,
    /// Whether every order is run, not one order of each class.
    plain: bool,
    /// The choices to make, if they are given: by the number of the event.
    given: Option<BTreeMap<usize, usize>>,
    /// The choices that were made and differ from the natural order.
    made: BTreeMap<usize, usize>,
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Tree {
    /// A tree; if `plain`, all of its orders are explored, also equivalent ones.
    pub(crate) fn plain(plain: bool) -> Self {
        Self { plain, ..Self::default() }
    }

    /// A tree of one given order.
    pub(crate) fn given(choices: BTreeMap<usize, usize>) -> Self {
        Self { given: Some(choices), ..Self::default() }
    }

    /// The same tree before the first order.
    pub(crate) fn anew(&self) -> Self {
        Self { plain: self.plain, given: self.given.clone(), ..Self::default() }
    }

    /// Begins an order.
    pub(crate) fn begin(&mut self) {
        self.known = self.nodes.len();
        self.events.clear();
        self.objects.clear();
        self.turns.clear();
        self.made.clear();
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }

    /// The choices that were made and differ from the natural order.
    pub(crate) fn made(&self) -> &BTreeMap<usize, usize> {
        &self.made
    }

    /// A hash of a past.
    pub(crate) fn hash_of(&self, past: &Past) -> u64 {
        past.members().fold(0, |sum, event| sum.wrapping_add(self.events[event].hash))
    }

    /// Whether the operation is known to be a wait that finds nothing.
    pub(crate) fn is_vain(&self, candidate: &Candidate) -> bool {
        candidate.vain().is_some_and(|vain| self.vain.contains(&vain))
    }

    fn turns_of(&self, process: &Process) -> u32 {
        match process {
            Process::Lanes { launch, block, warp, .. } => {
                self.turns.get(&(*launch, *block, *warp)).copied().unwrap_or(0)
            }
            Process::Copy { .. } => 0,
        }
    }

    /// Chooses the candidate that continues, among those in `enabled`.
    pub(crate) fn choose(&mut self, candidates: Vec<Candidate>, enabled: Set) -> Next {
        let at = self.events.len();
        let turn = |index: &usize| (self.turns_of(&candidates[*index].process), *index);
        let Some(natural) = enabled.members().min_by_key(turn) else {
            return Next::Stuck;
        };
        if let Some(given) = &self.given {
            let choice = *given.get(&at).unwrap_or(&natural);
            if choice >= candidates.len() || !enabled.has(choice) {
                return Next::Changed;
            }
            self.note(at, choice, natural);
            self.nodes.truncate(at);
            self.nodes.push(Node::new(candidates, enabled, Set::none(0), choice));
            return Next::Step(choice);
        }
        if let Some(node) = self.nodes.get(at) {
            let is_same = node.candidates.len() == candidates.len()
                && (node.candidates.iter().zip(&candidates)).all(|(one, two)| one.process == two.process);
            if !is_same {
                return Next::Changed;
            }
            let node = &mut self.nodes[at];
            node.enabled = enabled;
            node.candidates = candidates;
            if !node.enabled.has(node.chosen) {
                // The wait is now known to find nothing.
                node.done.insert(node.chosen);
                node.vain.insert(node.chosen);
            }
            if !node.vain.has(node.chosen) {
                let choice = node.chosen;
                self.note(at, choice, natural);
                return Next::Step(choice);
            }
            // The wait found nothing: the state is unchanged, and another candidate continues.
            let was_explored = node.done.members().any(|one| !node.vain.has(one));
            let left = |one: &usize| node.enabled.has(*one) && !node.done.has(*one) && !node.asleep.has(*one);
            let next = node.wanted.members().find(left);
            let next = next.or_else(|| (!was_explored && left(&natural)).then_some(natural));
            let next = next.or_else(|| (0..node.candidates.len()).find(|one| !was_explored && left(one)));
            let Some(next) = next else { return Next::Explored };
            node.wanted.insert(next);
            node.chosen = next;
            self.note(at, next, natural);
            return Next::Step(next);
        }
        let asleep = self.sleeping(&candidates);
        let awake = enabled.members().filter(|one| !asleep.has(*one)).min_by_key(turn);
        let Some(choice) = awake else {
            return Next::Explored;
        };
        let mut node = Node::new(candidates, enabled, asleep, choice);
        if self.plain {
            node.wanted = node.enabled.clone();
        }
        self.nodes.push(node);
        self.note(at, choice, natural);
        Next::Step(choice)
    }

    fn note(&mut self, at: usize, choice: usize, natural: usize) {
        if choice == natural {
            self.made.remove(&at);
        } else {
            self.made.insert(at, choice);
        }
    }

    /// The candidates that need not go first behind the last event: an order in which they come before it was explored, and they
    /// commute with it.
    fn sleeping(&self, candidates: &[Candidate]) -> Set {
        let mut asleep = Set::none(candidates.len());
        let (Some(event), Some(before)) = (self.events.last(), self.nodes.last()) else {
            return asleep;
        };
        if self.plain {
            return asleep;
        }
        for (index, other) in before.candidates.iter().enumerate() {
            if index == before.chosen || !before.asleep.has(index) && !before.done.has(index) || before.vain.has(index)
            {
                continue;
            }
            let is_disturbed = event
                .accesses
                .iter()
                .any(|(access, left)| other.accesses.iter().any(|next| access.disturbs(*left, next)));
            let here = candidates.iter().position(|one| one.process == other.process);
            if let Some(here) = here.filter(|_| !is_disturbed) {
                asleep.insert(here);
            }
        }
        asleep
    }

    /// Adds the operation that was chosen last, with its effect. `own` is the past of its lanes. Returns the past of
    /// later operations.
    pub(crate) fn add(&mut self, process: Process, at: u64, accesses: Vec<(Access, Left)>, own: Past) -> Arc<Past> {
        let index = self.events.len();
        let what: Vec<Access> = accesses.iter().map(|(access, _)| *access).collect();
        let (direct, mut past) = self.related(&what, own);
        let overtaken = self.overtaken(&accesses, &past);
        for event in &overtaken {
            past.unite(&self.events[*event].past);
            past.insert(*event);
        }
        let id = match process {
            Process::Lanes { launch, block, warp, mask } => {
                *self.turns.entry((launch, block, warp)).or_default() += 1;
                (launch, block, warp, mask.trailing_zeros())
            }
            Process::Copy { number } => (u32::MAX, number, 0, 0),
        };
        let hash = hash(&(id, at, self.hash_of(&past)));
        for (access, _) in &accesses {
            let list = self.objects.entry(access.object.cell()).or_default();
            if list.last() != Some(&index) {
                list.push(index);
            }
        }
        let mut behind = past.clone();
        behind.insert(index);
        self.events.push(Event { process, accesses, past: Arc::new(past), hash });
        // Events of the last order already had their alternatives added.
        if !self.plain && self.given.is_none() && index + 1 >= self.known {
            let past = Arc::clone(&self.events[index].past);
            for event in direct.into_iter().chain(overtaken) {
                self.reverse(event, index, &process, &past);
            }
        }
        Arc::new(behind)
    }

    /// The events that an operation does not commute with, and that come right before it; and its past, given that of its lanes.
    fn related(&self, accesses: &[Access], own: Past) -> (Vec<usize>, Past) {
        let mut related: Vec<usize> = Vec::new();
        for access in accesses {
            let earlier = self.objects.get(&access.object.cell()).into_iter().flatten();
            related.extend(earlier.filter(|event| {
                let mut theirs = self.events[**event].accesses.iter();
                theirs.any(|(other, _)| access.depends(other))
            }));
        }
        related.sort_unstable();
        related.dedup();
        related.retain(|event| !own.has(*event));
        let is_direct = |event: &&usize| !related.iter().any(|other| self.events[*other].past.has(**event));
        let direct: Vec<usize> = related.iter().filter(is_direct).copied().collect();
        let mut past = own;
        for event in &related {
            past.unite(&self.events[*event].past);
            past.insert(*event);
        }
        (direct, past)
    }

    /// Wants orders in which waits that find nothing here, and are not executed again for that, come before what they would have
    /// to come before to find something else. `own` gives the past of a candidate's lanes.
    pub(crate) fn look_back(&mut self, candidates: &[Candidate], own: impl Fn(&Candidate) -> Past) {
        if self.plain || self.given.is_some() || self.events.len() + 1 < self.known {
            return;
        }
        for candidate in candidates {
            if !self.is_vain(candidate) {
                continue;
            }
            let reads = |access: &Access| Access {
                effect: match access.effect {
                    Effect::Writes | Effect::Combines(_) => Effect::Reads,
                    effect => effect,
                },
                ..*access
            };
            let accesses: Vec<Access> = candidate.accesses.iter().map(reads).collect();
            let (direct, past) = self.related(&accesses, own(candidate));
            for event in direct {
                self.reverse(event, self.events.len(), &candidate.process, &past);
            }
        }
    }

    /// The events that another order could put behind the end of the phase that an operation ends.
    fn overtaken(&self, accesses: &[(Access, Left)], past: &Past) -> Vec<usize> {
        let mut found = Vec::new();
        for (access, left) in accesses {
            let Effect::Phase { phase, .. } = access.effect else {
                continue;
            };
            if !left.ended && left.arrivals > 0 {
                continue;
            }
            let in_phase = |event: &&usize, wanted: fn(Role) -> bool| {
                self.events[**event].accesses.iter().any(|(other, _)| {
                    let is_of =
                        matches!(other.effect, Effect::Phase { role, phase: of, .. } if of == phase && wanted(role));
                    is_of && other.object == access.object
                })
            };
            let earlier = || self.objects.get(&access.object.cell()).into_iter().flatten();
            for event in earlier().filter(|event| in_phase(event, Role::is_overtaken) && !past.has(**event)) {
                let mut arrivals = earlier().filter(|event| in_phase(event, |role| role == Role::Arrives));
                if !arrivals.any(|arrival| self.events[*arrival].past.has(*event)) {
                    found.push(*event);
                }
            }
        }
        found
    }

    /// Takes back the last event, which changed nothing: its process waits until the object that it read changes.
    pub(crate) fn take_back(&mut self) {
        let Some(event) = self.events.pop() else { return };
        let index = self.events.len();
        for (access, _) in &event.accesses {
            if let Some(list) = self.objects.get_mut(&access.object.cell()) {
                list.retain(|one| *one != index);
            }
        }
        if let Process::Lanes { launch, block, warp, .. } = event.process
            && let Some(turns) = self.turns.get_mut(&(launch, block, warp))
        {
            *turns -= 1;
        }
        let node = &mut self.nodes[index];
        node.done.insert(node.chosen);
        node.vain.insert(node.chosen);
        if let Some(vain) = node.candidates[node.chosen].vain() {
            self.vain.insert(vain);
        }
        if self.given.is_some() {
            self.nodes.truncate(index);
        }
    }

    /// Wants an order in which an operation, which comes as event `late` and has this past, comes before the event `early`.
    fn reverse(&mut self, early: usize, late: usize, process: &Process, past: &Past) {
        let behind: Vec<usize> = (early + 1..late).filter(|event| !self.events[*event].past.has(early)).collect();
        let is_first = |past: &Past| !behind.iter().any(|other| past.has(*other));
        let first = behind.iter().filter(|event| is_first(&self.events[**event].past));
        let mut first: Vec<Process> = first.map(|event| self.events[*event].process).collect();
        let is_alone = first.is_empty();
        if is_first(past) {
            first.push(*process);
        }
        let node = &mut self.nodes[early];
        let find = |process: &Process| {
            let mut candidates = node.candidates.iter();
            candidates.position(|candidate| candidate.process.holds(process))
        };
        let found: Vec<usize> = first.iter().filter_map(find).collect();
        if found.iter().any(|one| node.wanted.has(*one) || node.asleep.has(*one)) {
            return;
        }
        match found.iter().find(|one| node.enabled.has(**one)) {
            Some(one) => node.wanted.insert(*one),
            // The operation waits for the early event.
            None if is_alone && found.len() == 1 => {}
            None => {
                let enabled = node.enabled.clone();
                node.wanted.unite(&enabled);
            }
        }
    }

    /// Prepares the next order. Returns whether there is one.
    pub(crate) fn advance(&mut self) -> bool {
        if self.given.is_some() {
            return false;
        }
        while let Some(node) = self.nodes.last_mut() {
            node.done.insert(node.chosen);
            let left = |one: &usize| !node.done.has(*one) && !node.asleep.has(*one);
            if let Some(next) = node.wanted.members().find(left) {
                node.chosen = next;
                return true;
            }
            self.nodes.pop();
        }
        false
    }
}

impl Node {
    fn new(candidates: Vec<Candidate>, enabled: Set, asleep: Set, chosen: usize) -> Self {
        let none = || Set::none(candidates.len());
        let mut wanted = none();
        wanted.insert(chosen);
        Self { enabled, wanted, done: none(), vain: none(), asleep, chosen, candidates }
    }
}
