//! Calls of functions of numbers: the kernel that is the fastest for how the operands lie in memory.

use smallvec::SmallVec;

use super::map::{Axis, PlannedCall, broadcast, join, placed};
use super::operand::{Lengths, Region, RegionMemory, Strides};
use super::{Arguments, Call, Kernel, ShapeError, ViewError};
use crate::array::vectorize::{AXES, Axes, CHUNK};
use crate::device::intrinsics::WARP_SIZE;

/// A function of numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elementwise {
    pub(super) function: &'static str,
    /// For operands that lie one element after the other.
    pub(super) flat: &'static Kernel,
    /// For all others.
    pub(super) strided: &'static Kernel,
}

impl Elementwise {
    /// The shape of the result.
    pub(super) fn shape(&self, operands: &[Region<'_>]) -> Result<Lengths, ShapeError> {
        broadcast(operands.iter().map(Region::shape)).map_err(|(axis, first, second)| ShapeError::Operands {
            function: self.function,
            shapes: operands.iter().map(|operand| operand.shape.to_vec()).collect(),
            axis,
            first,
            second,
        })
    }

    pub(super) fn launch<'a>(
        &self,
        operands: SmallVec<[Region<'a>; 4]>,
        output: Region<'a>,
    ) -> Result<Option<PlannedCall<'a>>, ShapeError> {
        let function = self.function;
        let result = self.shape(&operands)?;
        if broadcast([&*result, &*output.shape]).ok().as_ref() != Some(&output.shape) {
            return Err(ShapeError::Output { function, result: result.to_vec(), output: output.shape.to_vec() });
        }
        let mut strides: SmallVec<[Strides; 4]> = SmallVec::new();
        strides.push(output.strides.clone());
        strides.extend(operands.iter().map(|operand| operand.strides_in(&output.shape)));
        let steps_of = strides.len();
        let numbers: SmallVec<[bool; 4]> = operands.iter().map(Region::is_number).collect();
        let Some(plan) = Plan::new(&output.shape, &strides, &numbers) else {
            return Ok(None);
        };
        let launch = match plan {
            Plan::Flat { elements } => {
                // SAFETY: what each parameter is made of is bound below, in order, for the operands of the map.
                let mut call = unsafe { Call::new(self.flat) };
                // SAFETY: as above.
                let arguments = unsafe { call.arguments_mut() };
                for operand in operands {
                    arguments.push_operand(operand, None);
                }
                arguments.push_place(output.place, output.align, elements);
                arguments.push_part(&(elements as u64).to_ne_bytes());
                let block = self.flat.contract.block.unwrap_or([256, 1, 1]);
                let blocks = elements.div_ceil(CHUNK * block[0] as usize);
                let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
                let grid = [blocks, 1, 1];
                PlannedCall { call, grid, block }
            }
            Plan::Strided(order) => {
                let axes = order.len();
                if axes > AXES {
                    let shape = output.shape.to_vec();
                    return Err(ShapeError::TooManyAxes { function, shape, axes });
                }
                let too_long = || ShapeError::View {
                    function,
                    error: ViewError::TooLong { shape: output.shape.to_vec(), strides: output.strides.to_vec() },
                };
                // A line is a column, of which a thread has several elements.
                let first = usize::from(axes == 1);
                let (mut axes, steps) = placed(&order, first, steps_of).ok_or_else(too_long)?;
                let of_arrays = || steps[1..].iter().zip(&numbers).filter(|(_, number)| !**number);
                // An operand that has nearer neighbours along the second axis than along the first.
                let is_tall =
                    of_arrays().any(|(steps, _)| (1..steps[0].unsigned_abs()).contains(&steps[1].unsigned_abs()));
                let (grid, block) = shape_of_launch(&axes, is_tall, output.size);
                // Elements side by side are read at once by a thread, where neighbouring threads have columns to read. Else
                // neighbouring threads had better have neighbouring rows.
                let side_by_side = of_arrays().any(|(steps, _)| steps[1] == 1);
                axes.down = if side_by_side && block[0] >= WARP_SIZE { 1 } else { block[1] };
                // SAFETY: as above.
                let mut call = unsafe { Call::new(self.strided) };
                // SAFETY: as above.
                let arguments = unsafe { call.arguments_mut() };
                for (operand, steps) in operands.into_iter().zip(&steps[1..]) {
                    arguments.push_operand(operand, Some(steps));
                }
                let elements = output.elements();
                arguments.push_place(output.place, output.align, elements);
                arguments.push_part(bytemuck::bytes_of(&steps[0]));
                arguments.push_part(bytemuck::bytes_of(&axes));
                PlannedCall { call, grid, block }
            }
        };
        Ok(Some(launch))
    }
}

impl Region<'_> {
    fn is_number(&self) -> bool {
        matches!(self.place, RegionMemory::Number(_))
    }
}

impl<'a> Arguments<'a> {
    /// Binds a [`Flat`](crate::vectorize::Flat) (without steps) or a [`Strided`](crate::vectorize::Strided).
    fn push_operand(&mut self, operand: Region<'a>, steps: Option<&[i32; AXES]>) {
        let (elements, mut number) = (operand.elements(), SmallVec::<[u8; 16]>::from_elem(0, operand.size));
        let is_number = match &operand.place {
            RegionMemory::Number(bytes) => {
                number.copy_from_slice(bytes);
                true
            }
            RegionMemory::Device(..) | RegionMemory::Host(_) => false,
        };
        self.push_place(operand.place, operand.align, elements);
        if let Some(steps) = steps {
            self.push_part(bytemuck::bytes_of(steps));
        }
        self.push_part(&number);
        self.push_part(&u32::from(is_number).to_ne_bytes());
    }
}

/// How a result is computed.
#[derive(Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "it lives for a launch, on the stack: a launch allocates nothing")]
enum Plan {
    /// All are one element after the other, or numbers.
    Flat { elements: usize },
    /// Along these axes, the fastest first. There may be none.
    Strided(SmallVec<[Axis; 6]>),
}

impl Plan {
    /// `strides`: of the result, then of each operand. `None`: there are no elements.
    fn new(shape: &[usize], strides: &[Strides], numbers: &[bool]) -> Option<Plan> {
        if shape.contains(&0) {
            return None;
        }
        let mut joined = join(shape, strides);
        let flat = match &*joined {
            [] => numbers.iter().all(|number| *number),
            [axis] => {
                let mut operands = axis.strides[1..].iter().zip(numbers);
                axis.strides[0] == 1 && operands.all(|(&stride, &number)| number || stride == 1)
            }
            _ => false,
        };
        if flat {
            let elements = joined.first().map_or(1, |axis| axis.length);
            return Some(Plan::Flat { elements });
        }
        // Along the second axis goes an operand that has its neighbours there, if the first is no neighbour to it.
        if let Some(second) =
            (1..joined.len()).find(|&axis| joined[axis].strides[1..].iter().any(|stride| stride.unsigned_abs() == 1))
        {
            joined[1..=second].rotate_right(1);
        }
        Some(Plan::Strided(joined))
    }
}

/// Grid and block for the axes of a strided result of elements of `size` bytes: blocks of 256 threads as wide as there are
/// columns, so that what a warp leaves of a sector is written next to it; for an operand that is tall, tiles of 32 by 32
/// elements, so that what a warp leaves of a sector is read below it.
///
/// The work of a thread before its first element costs a few accesses, so blocks compute several tiles if elements are
/// small or there are more than two axes, and if there are more blocks than any device runs at a time.
fn shape_of_launch(axes: &Axes, is_tall: bool, size: usize) -> ([u32; 3], [u32; 3]) {
    const THREADS: u32 = 256;
    const ENOUGH: u64 = 1 << 13;
    // If the tiles exceed the largest grid, each block computes several tiles in turn.
    const TALLEST: u32 = 65_535;
    let [columns, rows, ..] = axes.lengths;
    let chunk = CHUNK as u32;
    let widest = if is_tall { WARP_SIZE } else { THREADS };
    let down = (THREADS / columns.min(widest).next_power_of_two()).min(rows.div_ceil(chunk).next_power_of_two());
    let right = THREADS / down;
    let (across, layers) = (columns.div_ceil(right), axes.outer.min(TALLEST));
    let tiles = rows.div_ceil(down * chunk);
    let blocks = u64::from(across) * u64::from(layers) * u64::from(tiles);
    let worth = (4 / size.max(1)).max(1) as u64 * if axes.count > 2 { 2 } else { 1 };
    let each = (blocks / ENOUGH).clamp(1, worth) as u32;
    let grid = [across, tiles.div_ceil(each).min(TALLEST), layers];
    (grid, [right, down, 1])
}

#[cfg(test)]
mod tests {
    use super::{Plan, Strides, placed, shape_of_launch};
    use smallvec::SmallVec;
    use std::vec::Vec;

    fn plan(shape: &[usize], strides: &[&[isize]]) -> Option<Plan> {
        let strides: Vec<Strides> = strides.iter().map(|strides| SmallVec::from_slice(strides)).collect();
        Plan::new(shape, &strides, &std::vec![false; strides.len() - 1])
    }

    /// Lengths and strides of the axes of a strided plan.
    fn axes(shape: &[usize], strides: &[&[isize]]) -> Vec<(usize, Vec<isize>)> {
        match plan(shape, strides) {
            Some(Plan::Strided(axes)) => axes.iter().map(|axis| (axis.length, axis.strides.to_vec())).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_lies_like_one_axis_is_one() {
        assert_eq!(plan(&[2, 3, 4], &[&[12, 4, 1], &[12, 4, 1]]), Some(Plan::Flat { elements: 24 }));
        // Both transposed: as good as neither.
        assert_eq!(plan(&[3, 2], &[&[1, 3], &[1, 3]]), Some(Plan::Flat { elements: 6 }));
        assert_eq!(plan(&[2, 0], &[&[0, 1]]), None);
        // A row for all rows.
        assert_eq!(axes(&[5, 3], &[&[3, 1], &[0, 1]]), [(3, std::vec![1, 1]), (5, std::vec![3, 0])]);
        // Columns of a wider matrix, in layers.
        assert_eq!(axes(&[4, 5, 3], &[&[15, 3, 1], &[50, 10, 1]]), [(3, std::vec![1, 1]), (20, std::vec![3, 10])]);
        // One element for all.
        assert_eq!(axes(&[4], &[&[1], &[0]]), [(4, std::vec![1, 0])]);
        assert_eq!(axes(&[1], &[&[1], &[0]]), []);
    }

    #[test]
    fn a_transposed_operand_goes_along_the_second_axis() {
        assert_eq!(
            axes(&[2, 3, 4], &[&[12, 4, 1], &[1, 2, 6]]),
            [(4, std::vec![1, 6]), (2, std::vec![12, 1]), (3, std::vec![4, 2])]
        );
    }

    #[test]
    fn launches_cover_their_axes() {
        for (lengths, is_tall, expected) in [
            ([1000, 1000], true, ([32, 32, 1], [32, 8, 1])),
            ([1000, 1000], false, ([4, 250, 1], [256, 1, 1])),
            ([1000, 1], true, ([4, 1, 1], [256, 1, 1])),
            ([3, 1000], false, ([1, 4, 1], [4, 64, 1])),
            ([1, 1], true, ([1, 1, 1], [256, 1, 1])),
            ([40, 9], true, ([1, 1, 1], [64, 4, 1])),
            ([40, 9], false, ([1, 1, 1], [64, 4, 1])),
        ] {
            let strides: Strides = SmallVec::from_slice(&[1]);
            let order = lengths.map(|length| super::Axis { length, strides: strides.clone() });
            let (axes, _) = placed(&order, 0, 1).expect("they are short");
            assert_eq!(shape_of_launch(&axes, is_tall, 4), expected, "{lengths:?}");
        }
    }
}
