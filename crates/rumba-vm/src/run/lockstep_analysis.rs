//! The analysis of affine values while the lanes of a warp are in lockstep, and the plan of each operation.
//!
//! A forward analysis over the blocks of the kernel itself finds the strides, a backward analysis finds the live
//! values. Both work on the slots of the decoded program. [`crate::run::lockstep_build`] writes the program.

use crate::base::flow::{BasicBlock, Liveness, Set, basic_blocks};
use crate::machine::op::opcode::{Linear, Opcode};
use crate::machine::program::{Affine, Class, Facts, Fixed, Flow, Program};

/// The largest number of cells of the analysis (blocks times slots); larger programs get no lockstep program.
const MAX_CELLS: usize = 1 << 23;

/// The largest number of rounds in which loads may turn out to be needed as lanes.
const MAX_ROUNDS: usize = 8;

/// The plan of an operation in lockstep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// Runs its ordinary handler.
    Whole,
    /// Computes bases, once the operands of this mask (bit 0 for `a`) are checked to wrap nowhere.
    Bases { stride: i64, checks: u8 },
    /// Compares operands given by their bases, with these strides.
    Test { strides: [i64; 2] },
    /// Accesses one address per group.
    Uniform,
    /// Loads the bases of a value.
    LoadBases,
    /// Accesses bytes one behind the other.
    Contiguous,
}

/// The contents of a slot that the launch fills.
#[derive(Clone, Copy)]
struct Given {
    stride: Option<i64>,
    constant: Option<u64>,
}

/// The stride of each slot, or none for values that are not affine.
pub(super) type State = Vec<Option<i64>>;

/// The results of the analysis of a program.
pub(super) struct Analysis<'a> {
    program: &'a Program,
    pub(super) blocks: Vec<BasicBlock>,
    /// Slots that operations of the kernel use, by unit; [`NONE`] for the others.
    number: Vec<u32>,
    /// Slot and width by number.
    slots: Vec<(u16, Class)>,
    given: Vec<Option<Given>>,
    /// At the start of each block that is reached in lockstep.
    states: Vec<Option<State>>,
    liveness: Liveness,
    /// Slots whose lanes are read while they are affine.
    whole: Set,
    /// Slots whose bases are read.
    bases: Set,
    /// Loads whose result is not needed as bases.
    lanes_only: Vec<bool>,
}

const NONE: u32 = u32::MAX;

/// One operand: its position (bit of `Facts::defines`), its slot and width.
type Operand = (usize, u16, Class);

impl<'a> Analysis<'a> {
    /// Analyses the kernel; in rows, lanes of a group are neighbours in the first dimension of the block.
    pub(super) fn new(program: &'a Program, rows: bool) -> Option<Self> {
        let mut analysis = Self {
            program,
            blocks: Vec::new(),
            number: vec![NONE; program.units],
            slots: Vec::new(),
            given: vec![None; program.units],
            states: Vec::new(),
            liveness: Liveness::new(&[], 0, |_, _| ()),
            whole: Set::none(0),
            bases: Set::none(0),
            lanes_only: vec![false; program.kernel_ops],
        };
        analysis.number_slots(rows);
        analysis.blocks = basic_blocks(program.kernel_ops, |index| program.targets(index));
        if analysis.blocks.len() * analysis.slots.len() > MAX_CELLS {
            return None;
        }
        analysis.liveness = Liveness::new(&analysis.blocks, analysis.slots.len(), |live, index| {
            analysis.before(live, index);
        });
        for round in 0.. {
            analysis.find_states();
            analysis.find_uses();
            let mut stable = true;
            for index in 0..program.kernel_ops {
                if let Opcode::Load { .. } = program.facts[index].opcode
                    && !analysis.lanes_only[index]
                {
                    let wanted = analysis.number(program.ops[index].dst).is_some_and(|slot| analysis.bases.has(slot));
                    if !wanted || round >= MAX_ROUNDS {
                        analysis.lanes_only[index] = true;
                        stable = false;
                    }
                }
            }
            if stable {
                break;
            }
        }
        Some(analysis)
    }

    fn number_slots(&mut self, rows: bool) {
        for (slot, _, value) in &self.program.fixed {
            let (stride, constant) = match value {
                Fixed::Constant(bits) => (Some(0), u64::try_from(*bits).ok()),
                Fixed::Array(offset) => (Some(0), Some(*offset)),
                Fixed::Parameter { .. } | Fixed::ParameterAddress(_) | Fixed::DynamicShared => (Some(0), None),
                Fixed::Special(special) => (special.stride(rows), None),
                Fixed::Transfer(_) | Fixed::StackPointer => (None, None),
            };
            self.given[usize::from(*slot)] = Some(Given { stride, constant });
        }
        for index in 0..self.program.kernel_ops {
            for (_, slot, class) in self.operands(index) {
                let unit = usize::from(slot);
                if self.given[unit].is_none() && self.number[unit] == NONE {
                    self.number[unit] = self.slots.len() as u32;
                    self.slots.push((slot, class));
                }
            }
        }
        self.whole = Set::none(self.slots.len());
        self.bases = Set::none(self.slots.len());
    }

    /// The number of a slot that operations write.
    fn number(&self, slot: u16) -> Option<usize> {
        let number = self.number[usize::from(slot)];
        (number != NONE).then_some(number as usize)
    }

    pub(super) fn facts(&self, index: usize) -> &'a Facts {
        &self.program.facts[index]
    }

    fn operands(&self, index: usize) -> impl Iterator<Item = Operand> + use<> {
        let (op, facts) = (self.program.ops[index], &self.program.facts[index]);
        let slots = [op.dst, op.a, op.b, op.c, op.d];
        let classes = facts.classes;
        (0..5).filter_map(move |position| classes[position].map(|class| (position, slots[position], class)))
    }

    fn sources(&self, index: usize) -> impl Iterator<Item = Operand> + use<> {
        let defines = self.program.facts[index].defines;
        self.operands(index).filter(move |(position, ..)| defines >> position & 1 == 0)
    }

    fn destinations(&self, index: usize) -> impl Iterator<Item = Operand> + use<> {
        let defines = self.program.facts[index].defines;
        self.operands(index).filter(move |(position, ..)| defines >> position & 1 != 0)
    }

    /// Transfers liveness backwards over an operation.
    fn before(&self, live: &mut Set, index: usize) {
        if !self.facts(index).conditional {
            for slot in self.destinations(index).filter_map(|(_, slot, _)| self.number(slot)) {
                live.remove(slot);
            }
        }
        for slot in self.sources(index).filter_map(|(_, slot, _)| self.number(slot)) {
            live.insert(slot);
        }
        if self.facts(index).conditional {
            for slot in self.destinations(index).filter_map(|(_, slot, _)| self.number(slot)) {
                live.insert(slot);
            }
        }
    }

    fn find_states(&mut self) {
        self.states = vec![None; self.blocks.len()];
        self.states[0] = Some(vec![None; self.slots.len()]);
        let mut changed = vec![false; self.blocks.len()];
        changed[0] = true;
        while changed.contains(&true) {
            for block in 0..self.blocks.len() {
                if !std::mem::take(&mut changed[block]) {
                    continue;
                }
                let Some(mut state) = self.states[block].clone() else {
                    continue;
                };
                for index in self.blocks[block].ops.clone() {
                    self.transfer(index, &mut state);
                }
                for successor in self.blocks[block].successors.clone() {
                    match &mut self.states[successor] {
                        None => {
                            self.states[successor] = Some(state.clone());
                            changed[successor] = true;
                        }
                        Some(joined) => {
                            for (joined, value) in joined.iter_mut().zip(&state) {
                                if joined.is_some() && joined != value {
                                    *joined = None;
                                    changed[successor] = true;
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// The state at the start of a block, if the block is reachable.
    pub(super) fn state(&self, block: usize) -> Option<State> {
        self.states[block].clone()
    }

    /// The transfer function of an operation: updates the state for its results.
    pub(super) fn transfer(&self, index: usize, state: &mut State) -> Plan {
        let plan = self.plan(index, state);
        let result = match plan {
            Plan::Bases { stride, .. } => Some(stride),
            Plan::LoadBases => Some(0),
            Plan::Whole | Plan::Test { .. } | Plan::Uniform | Plan::Contiguous => None,
        };
        for slot in self.destinations(index).filter_map(|(_, slot, _)| self.number(slot)) {
            state[slot] = result;
        }
        plan
    }

    /// The stride of a slot that is affine.
    pub(super) fn stride_of(&self, slot: u16, state: &State) -> i64 {
        self.stride(slot, state).unwrap_or(0)
    }

    /// The stride of a slot if it is affine.
    fn stride(&self, slot: u16, state: &State) -> Option<i64> {
        match self.given[usize::from(slot)] {
            Some(given) => given.stride,
            None => self.number(slot).and_then(|number| state[number]),
        }
    }

    fn constant(&self, slot: u16) -> Option<u64> {
        self.given[usize::from(slot)].and_then(|given| given.constant)
    }

    fn plan(&self, index: usize, state: &State) -> Plan {
        let (op, facts) = (&self.program.ops[index], self.facts(index));
        // Operations outside of the analysis read transfer slots between functions.
        let given = |slot: u16| self.given[usize::from(slot)].is_some();
        if facts.flow != Flow::Next || self.destinations(index).any(|(_, slot, _)| given(slot)) {
            return Plan::Whole;
        }
        match facts.opcode {
            Opcode::Lanes { linear, .. } => self.plan_lanes(index, linear, state).unwrap_or(Plan::Whole),
            Opcode::Test { .. } => {
                let mut strides = [0; 2];
                for (position, slot, class) in self.sources(index) {
                    match self.stride(slot, state).map(|stride| class.narrow(stride)) {
                        Some(stride) if (1..=2).contains(&position) && i32::try_from(stride).is_ok() => {
                            strides[position - 1] = stride;
                        }
                        _ => return Plan::Whole,
                    }
                }
                Plan::Test { strides }
            }
            Opcode::Load { bytes, bases, .. } => match self.stride(op.a, state) {
                Some(0) if bases.is_some() && !self.lanes_only[index] => Plan::LoadBases,
                Some(0) => Plan::Uniform,
                Some(stride) if stride == i64::from(bytes) => Plan::Contiguous,
                _ => Plan::Whole,
            },
            Opcode::Store { bytes, .. } => match self.stride(op.a, state) {
                Some(0) => Plan::Uniform,
                Some(stride) if stride == i64::from(bytes) => Plan::Contiguous,
                _ => Plan::Whole,
            },
            _ => Plan::Whole,
        }
    }

    fn plan_lanes(&self, index: usize, linear: Linear, state: &State) -> Option<Plan> {
        let op = &self.program.ops[index];
        let mut strides = [0; 4];
        for (position, slot, class) in self.sources(index) {
            *strides.get_mut(position.checked_sub(1)?)? = class.narrow(self.stride(slot, state)?);
        }
        let class = self.facts(index).classes[0]?;
        if class == Class::W128 {
            return None;
        }
        if strides == [0; 4] {
            return Some(Plan::Bases { stride: 0, checks: 0 });
        }
        let [a, b, c, _] = strides;
        let constant = |position| self.constant([op.a, op.b][position]);
        let (stride, checks) = linear.stride([a, b, c], constant)?;
        Some(Plan::Bases { stride: class.narrow(stride), checks })
    }

    /// Finds the values that operations read as lanes, and those that they read as bases.
    fn find_uses(&mut self) {
        let (mut whole, mut bases) = (Set::none(self.slots.len()), Set::none(self.slots.len()));
        for block in 0..self.blocks.len() {
            let Some(mut state) = self.state(block) else { continue };
            for index in self.blocks[block].ops.clone() {
                let before = state.clone();
                let plan = self.transfer(index, &mut state);
                for (position, slot, _) in self.sources(index) {
                    let Some(number) = self.number(slot) else { continue };
                    if by_bases(plan, position) {
                        bases.insert(number);
                    } else if before[number].is_some() {
                        whole.insert(number);
                    }
                }
            }
            // A value that is affine here but not at the start of the successor must be written out as lanes.
            for successor in &self.blocks[block].successors {
                let Some(there) = &self.states[*successor] else {
                    continue;
                };
                for slot in 0..self.slots.len() {
                    if state[slot].is_some() && there[slot].is_none() && self.liveness.before(*successor).has(slot) {
                        whole.insert(slot);
                    }
                }
            }
        }
        (self.whole, self.bases) = (whole, bases);
    }

    /// Whether an operation reads lanes of a value that differs from block to block.
    pub(super) fn reads_of_block(&self) -> bool {
        let of_block: Vec<u16> = self.program.of_block().map(|(slot, ..)| slot).collect();
        (0..self.blocks.len()).any(|block| {
            let Some(mut state) = self.state(block) else {
                return false;
            };
            self.blocks[block].ops.clone().any(|index| {
                let plan = self.transfer(index, &mut state);
                self.sources(index).any(|(position, slot, _)| !by_bases(plan, position) && of_block.contains(&slot))
            })
        })
    }

    /// Whether lanes of a slot are read somewhere while it is affine.
    pub(super) fn needs_lanes(&self, slot: u16) -> bool {
        self.number(slot).is_some_and(|number| self.whole.has(number))
    }

    /// The values that must be gathered at the start of a block.
    pub(super) fn entering(&self, block: usize) -> Box<[Affine]> {
        match &self.states[block] {
            Some(state) => self.affine(state, self.liveness.before(block), |_| true),
            None => Box::new([]),
        }
    }

    /// The live values before an operation of a block, and the subset that exists as bases only.
    pub(super) fn leaving(&self, block: usize, index: usize, state: &State) -> Box<[Affine]> {
        let mut live = self.liveness.after(&self.blocks[block]);
        for later in (index..self.blocks[block].ops.end).rev() {
            self.before(&mut live, later);
        }
        self.affine(state, &live, |slot| !self.whole.has(slot))
    }

    fn affine(&self, state: &State, live: &Set, wanted: impl Fn(usize) -> bool) -> Box<[Affine]> {
        let affine = state.iter().enumerate().filter_map(|(number, stride)| {
            let (slot, class) = self.slots[number];
            stride.filter(|_| live.has(number) && wanted(number)).map(|stride| Affine { slot, class, stride })
        });
        affine.collect()
    }
}

/// Whether an operation reads the source at a position by its bases.
fn by_bases(plan: Plan, position: usize) -> bool {
    match plan {
        Plan::Bases { .. } | Plan::Test { .. } => true,
        Plan::Uniform | Plan::LoadBases | Plan::Contiguous => position == 1,
        Plan::Whole => false,
    }
}
