//! Fragments: where the elements of a matrix lie in the registers of a warp.
//!
//! All figures of the manual follow one rule. A register of the 32 lanes is a block of eight rows: four neighbouring
//! lanes hold a row, each lane as many neighbouring elements as its register has room for. So the bytes of a register,
//! lane after lane, are the block, row after row; accumulators of 32 and 64 bits hold a row of eight in a pair of
//! registers. What differs from figure to figure is where the blocks lie in the matrix, which is what a [`Fragment`]
//! lists. The `B` operand is described as the transposed matrix: its rows are the columns of `B`.
//!
//! The `f16` form of `m8n8k4` has a layout of its own, [`Quads`]. This module does not know the arithmetic.

use smallvec::SmallVec;

use crate::base::lanes::LANES;

/// A register: 32 lanes of 32 bits.
pub(crate) type Register = [u32; LANES];

/// A pair of slots or one of 64 bits: 32 lanes of 64 bits.
pub(crate) type Wide = [u64; LANES];

/// Rows of a block.
const BLOCK: usize = 8;

/// Lanes that hold a row of a block.
const QUAD: usize = 4;

/// Where the elements of a matrix lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Bits of an element. Single bits are treated as words of 32 of them.
    pub(crate) bits: usize,
    /// Rows and columns.
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// The registers that the instruction names.
    pub(crate) registers: usize,
    /// The first row and column of each block. If there are more registers than blocks, the blocks repeat.
    blocks: SmallVec<[(u8, u8); 8]>,
    /// Whether a row of a block lies in two registers, which hold its even and its odd elements.
    paired: bool,
    /// Whether the rows of the blocks are columns of the matrix.
    transposed: bool,
}

/// How the blocks of a matrix follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Down first: the next block lies below.
    Down,
    /// To the right first.
    Right,
    /// Down within sixteen rows, then to the right, then the next sixteen rows.
    Sixteens,
}

impl Fragment {
    /// A matrix of `rows` by `columns` elements of `bits` bits that are neighbours in a register.
    pub(crate) fn packed(bits: usize, rows: usize, columns: usize, order: Order) -> Self {
        let (bits, columns) = if bits == 1 { (32, columns / 32) } else { (bits, columns) };
        let width = QUAD * (32 / bits).max(1);
        let blocks = blocks(rows, columns, width, order);
        Self { bits, rows, columns, registers: blocks.len(), blocks, paired: false, transposed: false }
    }

    /// An accumulator of `rows` by `columns`.
    pub(crate) fn accumulator(bits: usize, rows: usize, columns: usize, order: Order) -> Self {
        let blocks = blocks(rows, columns, BLOCK, order);
        let paired = bits >= 32;
        Self {
            bits,
            rows,
            columns,
            registers: blocks.len() * if paired { 2 } else { 1 },
            blocks,
            paired,
            transposed: false,
        }
    }

    /// The fragment of the transposed matrix.
    pub(crate) fn transposed(self) -> Self {
        Self { rows: self.columns, columns: self.rows, transposed: !self.transposed, ..self }
    }

    /// The fragment repeated to fill this many registers.
    pub(crate) fn repeated(self, registers: usize) -> Self {
        Self { registers, ..self }
    }

    /// Whether every register holds eight rows of eight numbers of sixteen bits, one behind the other.
    pub(crate) fn is_plain(&self) -> bool {
        self.bits == 16 && !self.paired && !self.transposed && self.registers == self.blocks.len()
    }

    /// Whether it is an accumulator of 32 bits whose blocks of eight by eight lie one below the other, each in a pair of registers.
    pub(crate) fn is_column_of_blocks(&self) -> bool {
        let is_below = |(index, (row, column)): (usize, (usize, usize))| row == BLOCK * index && column == 0;
        self.bits == 32
            && self.paired
            && !self.transposed
            && self.columns == BLOCK
            && self.registers == 2 * self.blocks.len()
            && self.places().enumerate().all(is_below)
    }

    /// The first row and column of each block.
    #[inline(always)]
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        self.blocks.iter().map(|(row, column)| (usize::from(*row), usize::from(*column)))
    }

    /// The row and column of an element.
    pub(crate) fn place(&self, register: usize, lane: usize, position: usize) -> (usize, usize) {
        let (block, minor) = if self.paired {
            (register / 2, lane % QUAD * 2 + register % 2)
        } else {
            (register, lane % QUAD * (32 / self.bits).max(1) + position)
        };
        let (row, column) = self.blocks[block % self.blocks.len()];
        let (row, column) = (usize::from(row) + lane / QUAD, usize::from(column) + minor);
        if self.transposed { (column, row) } else { (row, column) }
    }

    /// Copies the elements, zero-extended, to a matrix whose rows are `stride` elements apart.
    ///
    /// # Panics
    /// If `matrix` is too small.
    #[inline(always)]
    pub(crate) fn gather<'r>(&self, register: impl Fn(usize) -> &'r Register, matrix: &mut [u32], stride: usize) {
        let (across, down) = if self.transposed { (stride, 1) } else { (1, stride) };
        for (index, (row, column)) in self.blocks.iter().enumerate() {
            let (row, column) = (usize::from(*row), usize::from(*column));
            let start = row * down + column * across;
            if self.paired && across == 1 {
                // Both of one length that is known: the compiler makes vector instructions of it.
                let [(even, _), (odd, _)] = [2 * index, 2 * index + 1].map(|index| register(index).as_chunks::<QUAD>());
                for (group, (even, odd)) in even.iter().zip(odd).enumerate() {
                    let row = &mut matrix[start + group * down..][..BLOCK];
                    let pairs: [u32; BLOCK] = std::array::from_fn(|at| [even, odd][at % 2][at / 2]);
                    row.copy_from_slice(&pairs);
                }
                continue;
            }
            for group in 0..BLOCK {
                let to = start + group * down;
                let lanes = group * QUAD..(group + 1) * QUAD;
                if self.paired {
                    let (even, odd) = (&register(2 * index)[lanes.clone()], &register(2 * index + 1)[lanes]);
                    for lane in 0..QUAD {
                        matrix[to + 2 * lane * across] = even[lane];
                        matrix[to + (2 * lane + 1) * across] = odd[lane];
                    }
                    continue;
                }
                let lanes = &register(index)[lanes];
                match (self.bits, across) {
                    (4, 1) => unpack::<8, 32>(lanes, &mut matrix[to..]),
                    (8, 1) => unpack::<4, 16>(lanes, &mut matrix[to..]),
                    (16, 1) => unpack::<2, 8>(lanes, &mut matrix[to..]),
                    (32, 1) => matrix[to..to + QUAD].copy_from_slice(lanes),
                    _ => {
                        let packed = 32 / self.bits;
                        for minor in 0..QUAD * packed {
                            let shift = minor % packed * self.bits;
                            matrix[to + minor * across] = lanes[minor / packed] >> shift & mask(self.bits);
                        }
                    }
                }
            }
        }
    }

    /// Copies a matrix to the registers: the inverse of [`Self::gather`]. Writes registers with duplicate elements,
    /// too.
    ///
    /// # Panics
    /// If `matrix` is too small.
    #[inline(always)]
    pub(crate) fn scatter(&self, matrix: &[u32], stride: usize, mut register: impl FnMut(usize, &Register)) {
        let (across, down) = if self.transposed { (stride, 1) } else { (1, stride) };
        let packed = 32 / self.bits;
        for index in 0..self.registers {
            let (block, odd) = if self.paired { (index / 2, index % 2) } else { (index, 0) };
            let (row, column) = self.blocks[block % self.blocks.len()];
            let start = usize::from(row) * down + usize::from(column) * across;
            let mut values = [0; LANES];
            if self.paired && across == 1 {
                for (group, values) in values.as_chunks_mut::<QUAD>().0.iter_mut().enumerate() {
                    let (pairs, _) = matrix[start + group * down..][..BLOCK].as_chunks::<2>();
                    for (value, pair) in values.iter_mut().zip(pairs) {
                        *value = pair[odd];
                    }
                }
                register(index, &values);
                continue;
            }
            for (lane, value) in values.iter_mut().enumerate() {
                let from = start + lane / QUAD * down;
                if self.paired {
                    *value = matrix[from + (lane % QUAD * 2 + odd) * across];
                } else {
                    for position in 0..packed {
                        let bits = matrix[from + (lane % QUAD * packed + position) * across];
                        *value |= (bits & mask(self.bits)) << (position * self.bits);
                    }
                }
            }
            register(index, &values);
        }
    }

    /// [`Self::gather`] for elements of 64 bits.
    ///
    /// # Panics
    /// If `matrix` is too small.
    pub(crate) fn gather_wide<'r>(&self, register: impl Fn(usize) -> &'r Wide, matrix: &mut [u64], stride: usize) {
        for index in 0..self.registers {
            for (lane, value) in register(index).iter().enumerate() {
                let (row, column) = self.place(index, lane, 0);
                matrix[row * stride + column] = *value;
            }
        }
    }

    /// [`Self::scatter`] for elements of 64 bits.
    ///
    /// # Panics
    /// If `matrix` is too small.
    pub(crate) fn scatter_wide(&self, matrix: &[u64], stride: usize, mut register: impl FnMut(usize, &Wide)) {
        for index in 0..self.registers {
            let values = std::array::from_fn(|lane| {
                let (row, column) = self.place(index, lane, 0);
                matrix[row * stride + column]
            });
            register(index, &values);
        }
    }
}

fn mask(bits: usize) -> u32 {
    u32::MAX >> (32 - bits)
}

/// The elements of four lanes, `PACKED` in each.
#[inline(always)]
fn unpack<const PACKED: usize, const WIDTH: usize>(lanes: &[u32], to: &mut [u32]) {
    let to = &mut to[..WIDTH];
    let bits = 32 / PACKED;
    for lane in 0..QUAD {
        for position in 0..PACKED {
            to[lane * PACKED + position] = lanes[lane] >> (position * bits) & mask(bits);
        }
    }
}

/// The first rows and columns of blocks of eight by `width` that cover a matrix.
fn blocks(rows: usize, columns: usize, width: usize, order: Order) -> SmallVec<[(u8, u8); 8]> {
    let mut blocks = SmallVec::new();
    let mut push = |row: usize, column: usize| blocks.push((row as u8, column as u8));
    match order {
        Order::Down => {
            for column in (0..columns).step_by(width) {
                (0..rows).step_by(BLOCK).for_each(|row| push(row, column));
            }
        }
        Order::Right => {
            for row in (0..rows).step_by(BLOCK) {
                (0..columns).step_by(width).for_each(|column| push(row, column));
            }
        }
        Order::Sixteens => {
            for upper in (0..rows).step_by(2 * BLOCK) {
                for column in (0..columns).step_by(width) {
                    let rows = upper..(upper + 2 * BLOCK).min(rows);
                    rows.step_by(BLOCK).for_each(|row| push(row, column));
                }
            }
        }
    }
    blocks
}

/// The operands of the `f16` form of `mma.m8n8k4`, which multiplies four pairs of matrices: lanes 4q to 4q+3 and those
/// sixteen further on hold those of number q, the former the upper rows of `A` and left columns of `B`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quads {
    /// `A` by rows, or `B` by columns: a lane holds a row of four.
    Along,
    /// `A` by columns, or `B` by rows: a lane holds four of a column.
    Across,
    /// An accumulator of `f16`: a lane holds a row of eight.
    Halves,
    /// An accumulator of `f32`.
    Floats,
}

impl Quads {
    /// The number of the matrix, the row and the column of element `index` of a lane. `B` is described transposed.
    pub(crate) fn place(self, lane: usize, index: usize) -> (usize, usize, usize) {
        let (matrix, low) = (lane % 16 / QUAD, lane % QUAD);
        let upper = lane / 16 * QUAD;
        let (row, column) = match self {
            Self::Along | Self::Halves => (low, index),
            Self::Across => (index, low),
            Self::Floats => ((lane & 1) + (index & 2), (index & 4) + (lane & 2) + (index & 1)),
        };
        (matrix, row + upper, column)
    }
}

#[cfg(test)]
mod tests {
    use super::{Fragment, Order, Quads, Register};

    /// The figures' formulas for row and column, as the manual prints them.
    #[test]
    fn places_are_those_of_the_figures() {
        for lane in 0..32 {
            let (group, thread) = (lane >> 2, lane % 4);
            let a = Fragment::packed(16, 16, 16, Order::Down);
            let b = Fragment::packed(16, 8, 16, Order::Down);
            let c = Fragment::accumulator(32, 16, 8, Order::Down);
            for i in 0..8 {
                let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
                let column = thread * 2 + (i & 1) + if i < 4 { 0 } else { 8 };
                assert_eq!(a.place(i / 2, lane, i % 2), (row, column));
            }
            for i in 0..4 {
                let k = thread * 2 + (i & 1) + if i < 2 { 0 } else { 8 };
                assert_eq!(b.place(i / 2, lane, i % 2), (group, k));
                let row = if i < 2 { group } else { group + 8 };
                assert_eq!(c.place(i, lane, 0), (row, thread * 2 + (i & 1)));
            }
            let a = Fragment::packed(4, 16, 64, Order::Down);
            for i in 0..32 {
                let row = if i < 8 || (16..24).contains(&i) { group } else { group + 8 };
                let column = thread * 8 + (i & 7) + if i < 16 { 0 } else { 32 };
                assert_eq!(a.place(i / 8, lane, i % 8), (row, column));
            }
            let a = Fragment::packed(64, 16, 16, Order::Down);
            for i in 0..8 {
                let row = if i % 2 == 0 { group } else { group + 8 };
                assert_eq!(a.place(i, lane, 0), (row, thread + i / 2 * 4));
            }
            for i in 0..8 {
                let (x, y) = ((lane & 1) + (i & 2), (i & 4) + (lane & 2) + (i & 1));
                let x = if lane < 16 { x } else { x + 4 };
                assert_eq!(Quads::Floats.place(lane, i), (lane % 16 / 4, x, y));
            }
        }
    }

    /// Every element once, where `place` says; and back.
    fn check(fragment: &Fragment) {
        let packed = 32 / fragment.bits;
        let registers: Vec<Register> = (0..fragment.registers)
            .map(|register| {
                std::array::from_fn(|lane| {
                    (0..packed).fold(0, |value, position| {
                        let (row, column) = fragment.place(register, lane, position);
                        let bits = (row * 7 + column * 3) as u32 & super::mask(fragment.bits);
                        value | bits << (position * fragment.bits)
                    })
                })
            })
            .collect();
        let mut matrix = vec![u32::MAX; fragment.rows * fragment.columns];
        fragment.gather(|register| &registers[register], &mut matrix, fragment.columns);
        for (index, bits) in matrix.iter().enumerate() {
            let (row, column) = (index / fragment.columns, index % fragment.columns);
            assert_eq!(*bits, (row * 7 + column * 3) as u32 & super::mask(fragment.bits), "{row} {column}");
        }
        let mut count = 0;
        fragment.scatter(&matrix, fragment.columns, |register, values| {
            assert_eq!(values, &registers[register]);
            count += 1;
        });
        assert_eq!(count, fragment.registers);
    }

    #[test]
    fn gather_and_scatter_follow_the_places() {
        for bits in [4, 8, 16, 32] {
            for order in [Order::Down, Order::Right, Order::Sixteens] {
                check(&Fragment::packed(bits, 32, 128 / bits * 2, order));
                check(&Fragment::packed(bits, 8, 128 / bits, order).repeated(4));
                check(&Fragment::accumulator(bits.max(16), 16, 16, order));
                check(&Fragment::accumulator(bits.max(16), 32, 8, order).transposed());
            }
        }
    }
}
