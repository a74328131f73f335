//! A kernel as native code sees it: basic blocks, the registers that operations write, and which of them are live.

use std::ops::Range;

use crate::base::flow::{BasicBlock, Liveness, Set, basic_blocks, holding};
use crate::base::ir::Element;
use crate::base::lanes::LANES;
use crate::compile::bits;
use crate::compile::nan::is_arithmetic;
use crate::compile::shape::Shape;
use crate::machine::op::Op;
use crate::machine::op::opcode::Opcode;
use crate::machine::program::{Class, Descriptor, Fixed, Flow, Program};

/// A register that operations write, or its place in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Register {
    /// A slot, by its unit.
    Slot(u16, Class),
    /// A predicate.
    Predicate(u16),
}

/// Where an operand is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Location {
    /// The same number in each lane.
    Constant(u64),
    /// A slot that the launch fills and that no operation writes.
    Given { slot: u16, class: Class, shape: Shape },
    /// A register, by its number.
    Register(usize),
    /// The register file: what native code does not keep elsewhere.
    Memory(u16, Class),
}

/// An operand of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operand {
    /// 0 for `dst`, 1 for `a`, …
    pub(super) position: usize,
    pub(super) place: Location,
    pub(super) is_written: bool,
}

const NONE: u32 = u32::MAX;

/// Cells of the analysis, blocks times registers, beyond which a kernel stays interpreted.
const MAX_CELLS: usize = 1 << 22;

/// Addresses of this process: the lower half of the 48 bits that pointers have, less what 32 bits can say.
const ADDRESSES: Range<u128> = 1 << 32..1 << 47;

/// A kernel, for blocks whose rows have a multiple of some number of threads.
pub(super) struct Kernel<'a> {
    pub(super) program: &'a Program,
    /// Lanes of a group, which are neighbours in the first dimension of the block.
    pub(super) group: usize,
    /// In the order of the program, in which divergent lanes run: those first that are in an earlier block
    /// ([`crate::load::cfg`]).
    pub(super) blocks: Vec<BasicBlock>,
    /// The block of each operation.
    pub(super) block_of: Vec<usize>,
    pub(super) registers: Vec<Register>,
    slots: Vec<u32>,
    predicates: Vec<u32>,
    /// The slots that the launch fills, by unit.
    fixed: Vec<Option<Location>>,
    /// The bits of each unit that may be set: in some lane, and in the first lane of some group.
    pub(super) bits_of_fixed: Vec<[u64; 2]>,
    pub(super) liveness: Liveness,
    /// The operands of all operations, one operation after the other, and where those of each operation begin.
    operands: Vec<Operand>,
    operands_at: Vec<usize>,
    /// The operations that are arithmetic on `f32`.
    pub(super) is_arithmetic: Vec<bool>,
    /// The registers from which addresses are computed.
    pub(super) is_address: Vec<bool>,
    /// The blocks that a warp may come back to.
    pub(super) is_in_loop: Vec<bool>,
    /// The blocks from which all paths end the kernel early, and some with a `trap`, as those of a panic do: the interpreter executes these.
    /// LLVM's branch probabilities take such blocks for cold, too.
    pub(super) is_cold: Vec<bool>,
}

/// Whether threads of a kernel may wait for others by reading memory in a loop. Under [`Check::Race`](rumba_checks::Check::Race) such
/// a kernel has no native code.
pub(crate) fn polls(program: &Program) -> bool {
    *program.polls.get_or_init(|| program.kernel_ops > 0 && Kernel::new(program, LANES).polls())
}

/// Whether a slot's number may be the address of a variable. Such a number differs in the next process, which must find the code
/// on disk.
pub(super) fn is_address(class: Class, value: &Fixed) -> bool {
    matches!(value, Fixed::Constant(bits) if class == Class::W64 && ADDRESSES.contains(bits))
}

/// The lanes of a slot as integers.
pub(super) fn raw(class: Class) -> Element {
    match class {
        Class::W32 => Element::I32,
        // Wider registers are not kept here.
        Class::W64 | Class::W128 => Element::I64,
    }
}

impl<'a> Kernel<'a> {
    pub(super) fn new(program: &'a Program, group: usize) -> Self {
        let mut kernel = Self {
            program,
            group,
            blocks: Vec::new(),
            block_of: Vec::new(),
            registers: Vec::new(),
            slots: vec![NONE; program.units],
            predicates: vec![NONE; program.predicates],
            fixed: vec![None; program.units],
            bits_of_fixed: vec![[u64::MAX; 2]; program.units],
            liveness: Liveness::new(&[], 0, |_, _| ()),
            operands: Vec::new(),
            operands_at: vec![0],
            is_arithmetic: (0..program.kernel_ops).map(|index| is_arithmetic(program, index)).collect(),
            is_address: Vec::new(),
            is_in_loop: Vec::new(),
            is_cold: Vec::new(),
        };
        for (slot, class, value) in &program.fixed {
            kernel.fixed[usize::from(*slot)] = Some(kernel.location_of_fixed(*slot, *class, value));
            kernel.bits_of_fixed[usize::from(*slot)] = bits::of_fixed(program, *class, value, group);
        }
        for index in 0..program.kernel_ops {
            kernel.number(index);
            let operands = kernel.find_operands(index);
            kernel.operands.extend(operands);
            kernel.operands_at.push(kernel.operands.len());
        }
        kernel.blocks = basic_blocks(program.kernel_ops, |index| kernel.targets(index));
        kernel.block_of = (0..program.kernel_ops).map(|index| holding(&kernel.blocks, index)).collect();
        kernel.liveness = Liveness::new(&kernel.blocks, kernel.registers.len(), |live, index| {
            kernel.before(live, index);
        });
        kernel.find_addresses();
        let traps = kernel
            .leading_to(|descriptor| descriptor.flow == Flow::End && !matches!(descriptor.opcode, Opcode::Exit { .. }));
        let returns = kernel.leading_to(|descriptor| matches!(descriptor.opcode, Opcode::Exit { returns: true }));
        // Of a kernel that never returns, all blocks would be cold.
        let is_ended = returns.first() == Some(&true);
        kernel.is_cold = traps.iter().zip(&returns).map(|(traps, returns)| is_ended && *traps && !returns).collect();
        kernel.is_in_loop = vec![false; kernel.blocks.len()];
        for (number, block) in kernel.blocks.iter().enumerate() {
            // In their order, the blocks of a loop are neighbours.
            for head in block.successors.iter().filter(|head| **head <= number) {
                kernel.is_in_loop[*head..=number].fill(true);
            }
        }
        kernel
    }

    /// The blocks from which some path leads to such an operation.
    fn leading_to(&self, is_wanted: impl Fn(&Descriptor) -> bool) -> Vec<bool> {
        let has = |block: &BasicBlock| block.ops.clone().any(|index| is_wanted(self.descriptor(index)));
        let mut found: Vec<bool> = self.blocks.iter().map(has).collect();
        let mut is_changed = true;
        while is_changed {
            is_changed = false;
            for block in (0..self.blocks.len()).rev() {
                let leads = self.blocks[block].successors.iter().any(|next| found[*next]);
                is_changed |= leads && !std::mem::replace(&mut found[block], true);
            }
        }
        found
    }

    /// Finds the registers from which addresses are computed: those that accesses name, and the terms and factors of
    /// these.
    fn find_addresses(&mut self) {
        let mut found = vec![false; self.registers.len()];
        let mut work = Vec::new();
        let mut makers: Vec<Vec<usize>> = vec![Vec::new(); self.registers.len()];
        let mut note = |place: Option<Location>, work: &mut Vec<usize>| {
            if let Some(Location::Register(number)) = place
                && !std::mem::replace(&mut found[number], true)
            {
                work.push(number);
            }
        };
        for index in 0..self.program.kernel_ops {
            match self.descriptor(index).opcode {
                Opcode::Load { .. } | Opcode::Store { .. } | Opcode::Local { .. } | Opcode::Atomic { .. } => {
                    note(self.operand(index, 1), &mut work);
                }
                Opcode::Lanes { form } if form.is_linear(self.op(index).extra) => {
                    self.written(index).for_each(|number| makers[number].push(index));
                }
                _ => {}
            }
        }
        while let Some(number) = work.pop() {
            for index in &makers[number] {
                for position in 1..=3 {
                    note(self.operand(*index, position), &mut work);
                }
            }
        }
        self.is_address = found;
    }

    /// The integers that the lanes of an operand are: 32 bits of a predicate's mask.
    pub(super) fn element(&self, index: usize, position: usize) -> Element {
        self.class(index, position).map_or(Element::I32, raw)
    }

    /// Whether threads may wait for others by reading memory in a loop, with an order or by atomic operations.
    pub(super) fn polls(&self) -> bool {
        let is_wanted = |index: usize| match self.operand(index, 0) {
            Some(Location::Register(result)) => self.live_before(self.block_of[index], index + 1).has(result),
            _ => true,
        };
        let polls =
            |index| matches!(self.descriptor(index).opcode, Opcode::Atomic { keeps: true, .. }) && is_wanted(index);
        self.waits() || self.in_loops().any(polls)
    }

    /// Whether loops load from memory in an order.
    pub(super) fn waits(&self) -> bool {
        self.in_loops().any(|index| matches!(self.descriptor(index).opcode, Opcode::Fence { polls: true }))
    }

    /// The operations of blocks that a warp may come back to.
    fn in_loops(&self) -> impl Iterator<Item = usize> {
        (0..self.program.kernel_ops).filter(|index| self.is_in_loop[self.block_of[*index]])
    }

    /// Whether the analysis would take too long, so that the kernel stays interpreted.
    pub(super) fn is_too_large(&self) -> bool {
        self.blocks.len() * self.registers.len() > MAX_CELLS
    }

    /// Groups of a warp.
    pub(super) fn groups(&self) -> usize {
        LANES / self.group
    }

    fn location_of_fixed(&self, slot: u16, class: Class, value: &Fixed) -> Location {
        let given = |shape| Location::Given { slot, class, shape };
        if class == Class::W128 {
            return Location::Memory(slot, class);
        }
        match value {
            Fixed::Constant(_) if is_address(class, value) => given(Shape::Uniform),
            Fixed::Constant(bits) => Location::Constant(*bits as u64),
            Fixed::Array(offset) => Location::Constant(*offset),
            Fixed::Parameter { .. } | Fixed::ParameterAddress(_) | Fixed::DynamicShared => given(Shape::Uniform),
            Fixed::Special(special) => given(match special.stride(self.group > 1) {
                _ if special.is_of_lane() && self.group == 1 => Shape::Varying,
                Some(stride) if special.is_of_lane() => Shape::affine(stride, self.groups()),
                Some(_) => Shape::Uniform,
                None => Shape::Varying,
            }),
            Fixed::Transfer(_) | Fixed::StackPointer => Location::Memory(slot, class),
        }
    }

    /// Gives the registers of an operation numbers.
    fn number(&mut self, index: usize) {
        let (op, descriptor) = (self.op(index), self.descriptor(index));
        for (position, slot) in [op.dst, op.a, op.b, op.c, op.d].into_iter().enumerate() {
            if let Some(class) = descriptor.classes[position] {
                let unit = usize::from(slot);
                if self.fixed[unit].is_none() && class != Class::W128 && self.slots[unit] == NONE {
                    self.slots[unit] = self.registers.len() as u32;
                    self.registers.push(Register::Slot(slot, class));
                }
            } else if descriptor.predicates >> position & 1 != 0 && slot > 1 {
                let number = &mut self.predicates[usize::from(slot)];
                if *number == NONE {
                    *number = self.registers.len() as u32;
                    self.registers.push(Register::Predicate(slot));
                }
            }
        }
    }

    pub(super) fn op(&self, index: usize) -> Op {
        self.program.ops[index]
    }

    pub(super) fn descriptor(&self, index: usize) -> &'a Descriptor {
        &self.program.descriptors[index]
    }

    /// Whether the operands of an operation are further operands of the operation before it.
    pub(super) fn has_extra_operands(&self, index: usize) -> bool {
        index < self.program.kernel_ops && matches!(self.descriptor(index).opcode, Opcode::ExtraOperands { .. })
    }

    /// Finds the operands of an operation. The constant predicates are the numbers 0 and all ones.
    fn find_operands(&self, index: usize) -> Vec<Operand> {
        let (op, descriptor) = (self.op(index), self.descriptor(index));
        let places = [op.dst, op.a, op.b, op.c, op.d].into_iter().enumerate();
        let operand = |(position, slot): (usize, u16)| {
            let place = match descriptor.classes[position] {
                Some(class) => match self.fixed[usize::from(slot)] {
                    Some(place) => place,
                    None if class == Class::W128 => Location::Memory(slot, class),
                    None => Location::Register(self.slots[usize::from(slot)] as usize),
                },
                None if descriptor.predicates >> position & 1 == 0 => return None,
                None if slot < 2 => Location::Constant(if slot == 0 { 0 } else { u64::from(u32::MAX) }),
                None => Location::Register(self.predicates[usize::from(slot)] as usize),
            };
            Some(Operand { position, place, is_written: descriptor.defines >> position & 1 != 0 })
        };
        places.filter_map(operand).collect()
    }

    /// The operands of an operation.
    pub(super) fn operands(&self, index: usize) -> &[Operand] {
        &self.operands[self.operands_at[index]..self.operands_at[index + 1]]
    }

    /// The operand at a position.
    pub(super) fn operand(&self, index: usize, position: usize) -> Option<Location> {
        let found = self.operands(index).iter().find(|operand| operand.position == position);
        found.map(|operand| operand.place)
    }

    /// The registers that an operation writes.
    pub(super) fn written(&self, index: usize) -> impl Iterator<Item = usize> {
        self.registers_of(index, true)
    }

    /// The registers that an operation reads.
    pub(super) fn read(&self, index: usize) -> impl Iterator<Item = usize> {
        self.registers_of(index, false)
    }

    fn registers_of(&self, index: usize, are_written: bool) -> impl Iterator<Item = usize> {
        let operands = self.operands(index).iter();
        operands.filter(move |operand| operand.is_written == are_written).filter_map(|operand| match operand.place {
            Location::Register(number) => Some(number),
            Location::Constant(_) | Location::Given { .. } | Location::Memory(..) => None,
        })
    }

    /// Where control may go after an operation that ends a block; nothing for the others. Warps leave at barriers.
    pub(super) fn targets(&self, index: usize) -> Option<Vec<usize>> {
        let targets = self.program.targets(index);
        match self.descriptor(index).opcode {
            Opcode::Barrier if targets.is_none() => Some(vec![index + 1]),
            _ => targets,
        }
    }

    /// Transfers liveness backwards over an operation.
    pub(super) fn before(&self, live: &mut Set, index: usize) {
        let is_conditional = self.descriptor(index).conditional;
        for number in self.written(index) {
            if is_conditional {
                live.insert(number);
            } else {
                live.remove(number);
            }
        }
        self.read(index).for_each(|number| live.insert(number));
    }

    /// The live registers before an operation of a block.
    pub(super) fn live_before(&self, block: usize, index: usize) -> Set {
        let mut live = self.liveness.after(&self.blocks[block]);
        for later in (index..self.blocks[block].ops.end).rev() {
            self.before(&mut live, later);
        }
        live
    }

    /// The blocks at which warps may come in: the first, the heads of loops, and those behind barriers.
    pub(super) fn entries(&self) -> Vec<usize> {
        let mut is_entry = vec![false; self.blocks.len()];
        is_entry[0] = true;
        for (number, block) in self.blocks.iter().enumerate() {
            let last = block.ops.end - 1;
            for successor in &block.successors {
                // In the program, or in the order of blocks: the code asks there whether the warp's turn is over.
                let is_backward = self.blocks[*successor].ops.start <= last || *successor <= number;
                is_entry[*successor] |= is_backward || matches!(self.descriptor(last).opcode, Opcode::Barrier);
            }
        }
        (0..self.blocks.len()).filter(|block| is_entry[*block]).collect()
    }
}
