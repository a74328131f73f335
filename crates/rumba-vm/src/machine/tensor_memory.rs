//! Tensor memory: 128 lanes of 512 columns of 32 bits, beside the shared memory of each resident block.
//!
//! Each block has all columns to itself, as if it were alone on its multiprocessor: an allocation waits for columns that
//! other warps of the block free, never for another block. The contents lie column by column behind the block's shared
//! memory, at host addresses, so that the checks of memory know them like any other memory.

use crate::check::notes::Actor;
use crate::mem::arena::SHARED_STRIDE;

/// Lanes of the memory, and lanes that a warp of a warp group can access.
pub(crate) const TENSOR_LANES: u32 = 128;
pub(crate) const QUARTER: u32 = 32;

/// Columns of the memory, and the smallest allocation.
pub(crate) const TENSOR_COLUMNS: u32 = 512;
const LEAST: u32 = 32;

/// Bytes of a column.
pub(crate) const COLUMN: u64 = TENSOR_LANES as u64 * 4;

/// The start of the memory, counted from the block's shared memory.
pub(crate) const TENSOR_START: u64 = SHARED_STRIDE as u64;

/// An address of tensor memory: the lane in the upper half, the column in the lower half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TensorAddress {
    pub(crate) lane: u32,
    pub(crate) column: u32,
}

impl TensorAddress {
    pub(crate) fn from_bits(bits: u32) -> Self {
        Self { lane: bits >> 16, column: bits & 0xffff }
    }

    /// Where the cell lies, counted from the block's shared memory.
    pub(crate) fn offset(self) -> u64 {
        TENSOR_START + u64::from(self.column) * COLUMN + u64::from(self.lane) * 4
    }

    /// The cell at such an offset.
    pub(crate) fn at(offset: u64) -> Option<Self> {
        let cell = offset.checked_sub(TENSOR_START)? / 4;
        Some(Self { lane: cell as u32 % TENSOR_LANES, column: cell as u32 / TENSOR_LANES })
    }
}

impl std::fmt::Display for TensorAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "lane {}, column {} of tensor memory", self.lane, self.column)
    }
}

/// Columns that a warp has allocated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allocation {
    pub(crate) first: u32,
    pub(crate) columns: u32,
    /// The warp that has allocated or, later, freed the columns.
    pub(crate) actor: Actor,
}

impl Allocation {
    fn contains(&self, column: u32) -> bool {
        column.wrapping_sub(self.first) < self.columns
    }
}

/// The columns of a block.
#[derive(Debug, Default)]
pub(crate) struct TensorMemory {
    pub(crate) allocated: Vec<Allocation>,
    pub(crate) freed: Vec<Allocation>,
    /// The warp that has given up the right to allocate.
    pub(crate) relinquished: Option<Actor>,
}

impl TensorMemory {
    pub(crate) fn clear(&mut self) {
        if !(self.allocated.is_empty() && self.freed.is_empty() && self.relinquished.is_none()) {
            *self = Self::default();
        }
    }

    /// Whether an allocation can have this number of columns.
    pub(crate) fn is_size(columns: u32) -> bool {
        columns.is_power_of_two() && (LEAST..=TENSOR_COLUMNS).contains(&columns)
    }

    /// The first free columns, if there are as many in a row.
    pub(crate) fn fit(&self, columns: u32) -> Option<u32> {
        let is_free = |first: u32| {
            self.allocated.iter().all(|one| first + columns <= one.first || one.first + one.columns <= first)
        };
        (0..=TENSOR_COLUMNS.checked_sub(columns)?).step_by(LEAST as usize).find(|first| is_free(*first))
    }

    pub(crate) fn allocate(&mut self, allocation: Allocation) {
        self.freed.retain(|one| !allocation.contains(one.first) && !one.contains(allocation.first));
        self.allocated.push(allocation);
    }

    /// Frees an allocation, which has to be given as it was made.
    pub(crate) fn free(&mut self, first: u32, columns: u32, actor: Actor) -> Result<(), String> {
        let Some(index) = self.allocated.iter().position(|one| one.first == first) else {
            return Err(format!("no allocation of tensor memory starts at column {first}"));
        };
        let known = self.allocated[index].columns;
        if known != columns {
            return Err(format!("{columns} columns are freed of an allocation that has {known}"));
        }
        let freed = self.allocated.swap_remove(index);
        self.freed.push(Allocation { actor, ..freed });
        Ok(())
    }

    /// The first of the columns that is not allocated.
    pub(crate) fn missing(&self, first: u32, columns: u32) -> Option<u32> {
        let is_allocated = |column: &u32| self.allocated.iter().any(|one| one.contains(*column));
        (first..first.saturating_add(columns)).find(|column| !is_allocated(column))
    }

    /// The warp that has freed a column.
    pub(crate) fn freed_by(&self, column: u32) -> Option<Actor> {
        self.freed.iter().find(|one| one.contains(column)).map(|one| one.actor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACTOR: Actor = Actor { block: [0; 3], warp: 0, lanes: 1, source: 0, what: "" };

    #[test]
    fn columns_are_given_out_once() {
        let mut memory = TensorMemory::default();
        let take = |memory: &mut TensorMemory, columns| {
            let first = memory.fit(columns)?;
            memory.allocate(Allocation { first, columns, actor: ACTOR });
            Some(first)
        };
        assert_eq!(
            [256, 128, 256, 128].map(|columns| take(&mut memory, columns)),
            [Some(0), Some(256), None, Some(384)]
        );
        assert_eq!(memory.free(256, 64, ACTOR), Err("64 columns are freed of an allocation that has 128".into()));
        memory.free(256, 128, ACTOR).unwrap();
        assert_eq!((memory.missing(0, 256), memory.missing(200, 100)), (None, Some(256)));
        assert!(memory.freed_by(256).is_some() && memory.freed_by(0).is_none());
        assert_eq!([32, 64].map(|columns| take(&mut memory, columns)), [Some(256), Some(288)]);
        assert!(memory.missing(500, 20).is_some());
    }

    #[test]
    fn sizes_are_powers_of_two() {
        let sizes = [0, 16, 32, 48, 64, 512, 1024].map(TensorMemory::is_size);
        assert_eq!(sizes, [false, false, true, false, true, true, false]);
    }

    #[test]
    fn addresses_have_an_offset() {
        let address = TensorAddress::from_bits(0x0021_0103);
        assert_eq!(address, TensorAddress { lane: 33, column: 259 });
        assert_eq!(TensorAddress::at(address.offset()), Some(address));
        assert_eq!(TensorAddress::at(100), None);
    }
}
