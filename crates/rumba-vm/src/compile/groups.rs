//! The size of the groups of lanes that share a number and a stride.
//!
//! A block's rows say which lanes are neighbours, so how large groups can be. Smaller groups cost a number each, and pay where
//! eight or sixteen lanes work together on a row, a tile or a reduction of their own: their addresses lie one behind the other,
//! and those of the warp do not.

use std::ops::Range;

use crate::base::lanes::{GROUP, LANES};
use crate::compile::kernel::Kernel;
use crate::compile::shape::{Masked, Shape, Version};
use crate::machine::op::opcode::Opcode;
use crate::machine::program::Program;

/// What an access costs whose lanes' addresses have nothing to do with each other, if one by a single address costs 1.
const SCATTERED: usize = 32;

/// What an operation costs on vectors of 32 lanes.
const VECTOR: usize = 4;

/// How often a loop is taken to run.
const ITERATIONS: usize = 8;

/// Lanes that are neighbours in the first dimension of blocks of this shape: a power of two that divides the warp.
pub(crate) fn group_of(block: [u32; 3]) -> usize {
    let [x, y, z] = block;
    if y * z == 1 {
        return LANES;
    }
    let group = 1 << x.trailing_zeros().min(LANES.ilog2());
    // Shorter rows are not worth a number for each.
    if group < GROUP { 1 } else { group }
}

/// A kernel with the size of groups, up to that of neighbouring lanes, for which its operations cost least.
pub(super) fn cheapest(program: &Program, neighbours: usize) -> Kernel<'_> {
    let largest = Kernel::new(program, neighbours);
    if neighbours <= GROUP || largest.is_too_large() {
        return largest;
    }
    let (cost, is_scattered) = largest.cost();
    if !is_scattered {
        return largest;
    }
    let mut best = (cost, largest);
    let mut group = neighbours / 2;
    while group >= GROUP {
        let kernel = Kernel::new(program, group);
        let (cost, _) = kernel.cost();
        if cost < best.0 {
            best = (cost, kernel);
        }
        group /= 2;
    }
    best.1
}

impl Kernel<'_> {
    /// What the operations cost in full warps, and whether some access has unrelated addresses.
    fn cost(&self) -> (usize, bool) {
        let states = self.states(Masked::Never);
        let (mut cost, mut is_scattered) = (0, false);
        for block in 0..self.blocks.len() {
            let Some(state) = states.at(Version::Full, block) else { continue };
            let times = if self.is_in_loop[block] { ITERATIONS } else { 1 };
            let (mut shapes, mut bits) = (state.shapes.clone(), state.bits.clone());
            let ops: Range<usize> = self.blocks[block].ops.clone();
            for index in ops {
                let address = match self.descriptor(index).opcode {
                    Opcode::Load { .. } | Opcode::Store { .. } => self.operand(index, 1),
                    _ => None,
                };
                let shape = address.map(|place| self.shape(place, &shapes));
                self.transfer(index, &mut shapes, &bits, Version::Full, &state.pending);
                self.transfer_bits(index, &mut bits, &state.pending);
                is_scattered |= shape == Some(Shape::Varying);
                let written = self.written(index).map(|number| shapes[number]);
                cost += times
                    * match shape {
                        Some(shape) => self.numbers(shape, SCATTERED),
                        None => written.map(|shape| self.numbers(shape, VECTOR)).sum(),
                    };
            }
        }
        (cost, is_scattered)
    }

    /// The numbers that stand for lanes of a shape; for lanes that differ in any way, `varying`.
    fn numbers(&self, shape: Shape, varying: usize) -> usize {
        match shape {
            Shape::Uniform => 1,
            Shape::Affine(_) => self.groups(),
            Shape::Varying => varying,
        }
    }
}
