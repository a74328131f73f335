//! Divergence analysis: which registers are uniform or affine over the lanes, and at which blocks lanes may wait for
//! others.
//!
//! A forward analysis over both versions of the blocks of a kernel: one version for warps with all lanes active, one for
//! warps with some lanes active while others wait at blocks further down. Only active lanes count: a register that no
//! waiting lane needs has the shape of the value written. Entries from the interpreter test that the registers have the
//! expected shapes.
//!
//! Where diverged lanes reconverge to a full warp, registers from which addresses are computed are assumed to be
//! uniform or affine: usually they are, or the lanes never diverge. The code tests the assumption at this point, and
//! stays in the version for some of the lanes if it fails. So accesses keep contiguous addresses in loops in which lanes
//! might diverge.

use std::collections::BTreeSet;

use crate::arith::{LaneForm, Steps, Stride};
use crate::base::flow::Set;
use crate::compile::bits::Bits;
use crate::compile::kernel::{Kernel, Location, Register};
use crate::compile::nan::Nans;
use crate::machine::op::opcode::{CheckForm, Opcode};
use crate::machine::program::{Class, Flow};

/// The largest distance between the first and the last lane of a group for which only these two lanes are compared with
/// bounds.
const MOST_STRIDES: u64 = 1 << 40;

/// How the lanes of a register differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// All lanes hold the same number.
    Uniform,
    /// Within each group, the lanes differ by this stride from lane to lane; the groups may differ in any way.
    Affine(i64),
    /// The lanes differ in any way.
    Varying,
}

impl Shape {
    /// A stride within each of `groups` groups.
    pub(super) fn affine(stride: i64, groups: usize) -> Self {
        if stride == 0 && groups == 1 { Self::Uniform } else { Self::Affine(stride) }
    }

    /// The stride of a uniform or affine register.
    pub(super) fn stride(self) -> Option<i64> {
        match self {
            Self::Uniform => Some(0),
            Self::Affine(stride) => Some(stride),
            Self::Varying => None,
        }
    }

    /// The distance from the first of `group` lanes to the last, if the values of the lanes between lie between these
    /// two.
    pub(super) fn way(self, group: usize) -> Option<i64> {
        way(self.stride()?, if self == Self::Uniform { 1 } else { group })
    }

    /// The shape of a register that has one of two shapes.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Uniform, Self::Affine(0)) | (Self::Affine(0), Self::Uniform) => Self::Affine(0),
            _ => Self::Varying,
        }
    }
}

/// The distance from the first of `lanes` lanes to the last, given that between neighbouring lanes, if the lanes between lie between these two.
pub(super) fn way(stride: i64, lanes: usize) -> Option<i64> {
    let way = stride.checked_mul(lanes as i64 - 1)?;
    (way.unsigned_abs() <= MOST_STRIDES).then_some(way)
}

/// The shape of each register.
pub(super) type Shapes = Vec<Shape>;

/// How an operation over lanes is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LanePlan {
    pub(super) result: Shape,
    /// The steps of the operands of an affine result.
    pub(super) steps: [i64; 4],
    /// What must hold for an affine result.
    pub(super) stride: Stride,
}

impl LanePlan {
    /// A plan for which the operands have no steps.
    fn without_steps(result: Shape) -> Self {
        Self { result, steps: [0; 4], stride: Stride::default() }
    }
}

/// For which lanes there are masked versions of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Masked {
    /// None: the interpreter runs warps that have parted.
    Never,
    /// For lanes while others of the warp wait: the versions of what lies between a branch and where all lanes are together again.
    Waiting,
    /// For any, and so also for warps of fewer than 32 lanes.
    Any,
}

/// A version of a block: for warps whose 32 lanes are all there, or for some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    Full,
    Masked,
}

/// The facts at the start of a version of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) shapes: Shapes,
    pub(super) bits: Bits,
    pub(super) nans: Nans,
    /// The blocks at which other lanes of the warp may wait: all lie behind this one.
    pub(super) pending: Set,
}

/// The facts at the start of each version of each reachable block.
pub(super) struct States {
    full: Vec<Option<State>>,
    masked: Vec<Option<State>>,
}

impl States {
    pub(super) fn at(&self, version: Version, block: usize) -> Option<&State> {
        match version {
            Version::Full => self.full[block].as_ref(),
            Version::Masked => self.masked[block].as_ref(),
        }
    }

    /// Joins facts to those at the start of a block, and says whether these changed.
    fn join(&mut self, version: Version, block: usize, state: &State) -> bool {
        let there = match version {
            Version::Full => &mut self.full[block],
            Version::Masked => &mut self.masked[block],
        };
        let Some(known) = there else {
            *there = Some(state.clone());
            return true;
        };
        let mut is_changed = false;
        for (known, shape) in known.shapes.iter_mut().zip(&state.shapes) {
            let before = std::mem::replace(known, known.join(*shape));
            is_changed |= before != *known;
        }
        is_changed |= known.bits.join(&state.bits);
        is_changed |= known.nans.join(&state.nans);
        is_changed | known.pending.unite(&state.pending)
    }
}

/// The target of a jump to a block in a warp with waiting lanes: the version, and the blocks with waiting lanes
/// afterwards.
pub(super) fn ways(target: usize, is_backward: bool, pending: &Set) -> Vec<(Version, usize, Set)> {
    let mut ways = Vec::new();
    let mut rest = pending.clone();
    if !is_backward {
        // Lanes that stand further up run first.
        for other in pending.members().take_while(|other| *other < target) {
            rest.remove(other);
            let mut waiting = rest.clone();
            waiting.insert(target);
            ways.push((Version::Masked, other, waiting));
        }
    }
    if rest.has(target) {
        rest.remove(target);
        ways.push((Version::Full, target, Set::none_like(&rest)));
    }
    ways.push((Version::Masked, target, rest));
    ways
}

impl Kernel<'_> {
    /// The facts at the start of each block, in the wanted versions.
    pub(super) fn states(&self, masked: Masked) -> States {
        let none = || vec![None; self.blocks.len()];
        let mut states = States { full: none(), masked: none() };
        // The interpreter leaves the same values in registers as the code, but in any shape.
        let unknown = State {
            shapes: vec![Shape::Varying; self.registers.len()],
            bits: Bits::unknown(self.registers.len()),
            nans: Nans::unknown(self.registers.len()),
            pending: Set::none(self.blocks.len()),
        };
        states.join(Version::Full, 0, &unknown);
        self.propagate(&mut states, [(0, Version::Full)].into(), Masked::Never);
        if masked != Masked::Never {
            // Every reachable block now has a state for lanes that have never diverged.
            let mut work: BTreeSet<_> = (0..self.blocks.len()).map(|block| (block, Version::Full)).collect();
            if masked == Masked::Any {
                states.join(Version::Masked, 0, &unknown);
                work.insert((0, Version::Masked));
            }
            self.propagate(&mut states, work, masked);
        }
        states
    }

    /// Propagates facts along the edges of control flow until nothing changes, in the order of the blocks: those that lead to a block
    /// are mostly done before the block.
    fn propagate(&self, states: &mut States, mut work: BTreeSet<(usize, Version)>, masked: Masked) {
        let nothing = Set::none(self.blocks.len());
        while let Some((block, version)) = work.pop_first() {
            let Some(mut state) = states.at(version, block).cloned() else {
                continue;
            };
            let pending = std::mem::replace(&mut state.pending, nothing.clone());
            let ops = self.blocks[block].ops.clone();
            for index in ops.clone() {
                self.transfer(index, &mut state.shapes, &state.bits, version, &pending);
                self.transfer_bits(index, &mut state.bits, &pending);
                self.transfer_nans(index, &mut state.nans, &pending);
            }
            let last = ops.end - 1;
            let mut next: Vec<(Version, usize, Set)> = Vec::new();
            for successor in self.blocks[block].successors.iter().filter(|block| !self.is_cold[**block]) {
                match version {
                    Version::Full => next.push((Version::Full, *successor, nothing.clone())),
                    Version::Masked => next.extend(ways(*successor, *successor <= block, &pending)),
                }
            }
            if masked != Masked::Never
                && let Some((near, far)) = self.parts(block, last, &state.shapes)
            {
                let mut pending = pending.clone();
                pending.insert(far);
                next.extend(ways(near, near <= block, &pending));
            }
            for (to, block, pending) in next {
                if (to, masked) == (Version::Masked, Masked::Waiting) && pending.is_empty() {
                    continue;
                }
                state.pending = pending;
                let assumed = match (version, to, states.at(to, block)) {
                    (Version::Masked, Version::Full, Some(there)) => Some(self.with_shapes_of_addresses(&state, there)),
                    _ => None,
                };
                if states.join(to, block, assumed.as_ref().unwrap_or(&state)) {
                    work.insert((block, to));
                }
            }
        }
    }

    /// Facts with the shapes that registers from which addresses are computed have elsewhere.
    fn with_shapes_of_addresses(&self, state: &State, there: &State) -> State {
        let mut state = state.clone();
        for (number, shape) in state.shapes.iter_mut().enumerate().filter(|(number, _)| self.is_address[*number]) {
            *shape = there.shapes[number];
        }
        state
    }

    /// The targets of lanes that diverge at the end of a block, if they can in native code: the nearer block and the other block.
    pub(super) fn parts(&self, block: usize, last: usize, shapes: &Shapes) -> Option<(usize, usize)> {
        let descriptor = self.descriptor(last);
        // The interpreter reports lanes that diverge at a branch declared `.uni`.
        let is_branch = match descriptor.opcode {
            Opcode::UniformBranch => false,
            Opcode::GuardBegin => true,
            _ => descriptor.flow == Flow::Branch,
        };
        let &[a, b] = &self.blocks[block].successors[..] else {
            return None;
        };
        let predicate = self.operand(last, 1).filter(|_| is_branch)?;
        let is_left = self.is_cold[a] || self.is_cold[b];
        let can_part = a != b && !is_left && self.shape(predicate, shapes) != Shape::Uniform;
        can_part.then_some((a.min(b), a.max(b)))
    }

    /// Updates the shapes for an operation, while lanes wait at some blocks.
    pub(super) fn transfer(&self, index: usize, shapes: &mut Shapes, bits: &Bits, version: Version, pending: &Set) {
        let result = self.result(index, shapes, bits, version);
        for number in self.written(index) {
            let has_lanes = matches!(self.registers[number], Register::Slot(..)) || result == Shape::Uniform;
            shapes[number] = if has_lanes && !self.is_kept(number, pending) { result } else { Shape::Varying };
        }
    }

    /// Whether waiting lanes still need a register.
    pub(super) fn is_kept(&self, number: usize, pending: &Set) -> bool {
        pending.members().any(|block| self.liveness.before(block).has(number))
    }

    /// The shape of an operand.
    pub(super) fn shape(&self, place: Location, shapes: &Shapes) -> Shape {
        match place {
            Location::Constant(_) => Shape::Uniform,
            Location::Given { shape, .. } => shape,
            Location::Register(number) => shapes[number],
            Location::Memory(..) => Shape::Varying,
        }
    }

    /// The shape of an operation's result.
    fn result(&self, index: usize, shapes: &Shapes, bits: &Bits, version: Version) -> Shape {
        let descriptor = self.descriptor(index);
        match descriptor.opcode {
            Opcode::Together { members, form } => self.result_of_together(index, members, form, shapes, version),
            Opcode::Shuffle(shuffle) => self.result_of_shuffle(index, shuffle, shapes, bits, version),
            _ if descriptor.flow != Flow::Next => Shape::Varying,
            // The base of the window, which is added, is uniform.
            Opcode::Window { local: false, .. } => {
                let address = self.operand(index, 1);
                address.map_or(Shape::Varying, |place| self.shape(place, shapes))
            }
            Opcode::Lanes { form } => self.plan_lanes(index, form, shapes, bits, version).result,
            Opcode::Test { .. } | Opcode::Masks { .. } | Opcode::Check(CheckForm::Shadow(_)) => {
                self.uniform_if_all_are(index, shapes)
            }
            Opcode::Select => self.plan_select(index, shapes),
            Opcode::Load { .. } => match self.operand(index, 1).map(|place| self.shape(place, shapes)) {
                Some(shape @ (Shape::Uniform | Shape::Affine(0))) => shape,
                Some(Shape::Affine(_) | Shape::Varying) | None => Shape::Varying,
            },
            Opcode::Opaque
            | Opcode::UniformBranch
            | Opcode::Barrier
            | Opcode::Window { .. }
            | Opcode::Atomic { .. }
            | Opcode::Local { .. }
            | Opcode::Fence { .. }
            | Opcode::ExtraOperands { .. }
            | Opcode::Store { .. }
            | Opcode::Check(
                CheckForm::ShadowOfMemory | CheckForm::Defined(_) | CheckForm::Bounds | CheckForm::Copies,
            )
            | Opcode::GuardBegin
            | Opcode::GuardEnd
            | Opcode::Scatter
            | Opcode::Exit { .. } => Shape::Varying,
        }
    }

    /// The positions and the shapes of the operands that an operation reads.
    fn sources(&self, index: usize, shapes: &Shapes) -> impl Iterator<Item = (usize, Shape)> {
        let operands = self.operands(index).iter();
        operands
            .filter(|operand| !operand.is_written)
            .map(|operand| (operand.position, self.shape(operand.place, shapes)))
    }

    fn uniform_if_all_are(&self, index: usize, shapes: &Shapes) -> Shape {
        let mut sources = self.sources(index, shapes);
        if sources.all(|(.., shape)| shape == Shape::Uniform) { Shape::Uniform } else { Shape::Varying }
    }

    /// How a selection is computed.
    pub(super) fn plan_select(&self, index: usize, shapes: &Shapes) -> Shape {
        let shape = |position| self.operand(index, position).map_or(Shape::Varying, |place| self.shape(place, shapes));
        match (shape(3), shape(1).stride(), shape(2).stride()) {
            (Shape::Uniform, Some(a), Some(b)) if a == b => {
                if shape(1) == shape(2) {
                    shape(1)
                } else {
                    Shape::Affine(a)
                }
            }
            _ => Shape::Varying,
        }
    }

    /// How an operation over lanes is computed.
    pub(super) fn plan_lanes(
        &self,
        index: usize,
        form: LaneForm,
        shapes: &Shapes,
        bits: &Bits,
        version: Version,
    ) -> LanePlan {
        self.affine(index, form, shapes, bits, version).unwrap_or(LanePlan::without_steps(Shape::Varying))
    }

    fn affine(&self, index: usize, form: LaneForm, shapes: &Shapes, bits: &Bits, version: Version) -> Option<LanePlan> {
        let class = self.descriptor(index).classes[0]?;
        // Registers that another function reads lie in the register file.
        let Some(Location::Register(_)) = self.operand(index, 0) else {
            return None;
        };
        if self.sources(index, shapes).all(|(.., shape)| shape == Shape::Uniform) {
            return Some(LanePlan::without_steps(Shape::Uniform));
        }
        // The other registers are computed from stored lanes.
        let function = form.form?;
        let mut steps = [0; 4];
        for (position, shape) in self.sources(index, shapes) {
            steps[position - 1] = self.class(index, position)?.narrow(shape.stride()?);
        }
        if steps == [0; 4] {
            return Some(LanePlan::without_steps(Shape::Affine(0)));
        }
        let count = form.operands.len();
        let known = self.known(index, count, bits);
        let firsts = self.firsts_in(version, index, count, bits);
        let of_operands = Steps { steps: &steps[..count], firsts: &firsts, others: self.group as u64 - 1 };
        let stride = function.stride(self.op(index).extra, &known, &of_operands)?;
        Some(LanePlan { result: Shape::affine(class.narrow(stride.step), self.groups()), steps, stride })
    }

    /// The bits of the first operands that may be set in what is kept as the number of a group's first lane. While that lane may be
    /// inactive, a register's number may come from other lanes, and have any bits.
    pub(super) fn firsts_in(&self, version: Version, index: usize, count: usize, bits: &Bits) -> Vec<u64> {
        let mut firsts = self.firsts(index, count, bits);
        for (position, first) in (1..).zip(&mut firsts) {
            let is_register = matches!(self.operand(index, position), Some(Location::Register(_)));
            if is_register && version == Version::Masked {
                *first = u64::MAX;
            }
        }
        firsts
    }

    /// The width of an operand; `None` for predicates. The bits of a constant do not tell its width, but its class
    /// does.
    pub(super) fn class(&self, index: usize, position: usize) -> Option<Class> {
        self.descriptor(index).classes[position]
    }
}
