//! Structured sparsity: which elements of a row the kept ones are.
//!
//! Of every four elements of the first factor two are kept (of two `tf32` one; numbers of four bits are kept in pairs). A
//! field of four bits says which: two positions of two bits each. The manual's figures place the fields of a row in the
//! lanes that hold the row, as many of them as are needed, from the one that the selector names.

use crate::isa::matrix::element::ElementType;
use crate::isa::matrix::fragment::Register;

/// The encoding of the kept elements of a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sparsity {
    /// Fields of a row.
    fields: usize,
    /// The first lane of four that hold the fields of a row.
    first: usize,
    /// Elements that a position stands for.
    width: usize,
    /// Whether a register holds the fields of one row instead of two.
    whole: bool,
    /// Positions in a field: two, or for `tf32` one of twice the width.
    positions: usize,
}

impl Sparsity {
    /// The number of kept elements in a row of `k`.
    pub(crate) fn kept_of(sparsity: Option<Self>, k: usize) -> usize {
        if sparsity.is_some() { k / 2 } else { k }
    }

    /// That of a factor of `k` elements a row; nothing if there is no such selector.
    pub(crate) fn new(element: ElementType, k: usize, selector: u64) -> Option<Self> {
        // Elements that a field stands for.
        let (span, width, positions) = match element {
            ElementType::Tf32 => (2, 1, 1),
            ElementType::S4 | ElementType::U4 => (8, 2, 2),
            ElementType::E2m1 if k == 128 => (8, 2, 2),
            _ => (4, 1, 2),
        };
        let fields = k / span;
        // A lane holds eight fields: four each of two rows, or eight of one.
        let lanes = (fields / 4).max(1);
        let first = usize::try_from(selector).ok()? * lanes;
        (first + lanes <= 4).then_some(Self { fields, first, width, whole: element.bits() <= 8, positions })
    }

    /// The elements of a row of sixteen that were kept, in their order.
    pub(crate) fn kept(&self, metadata: &Register, row: usize, mut keep: impl FnMut(usize, usize)) {
        let quad = row % 8 * 4 + self.first;
        let mut count = 0;
        for field in 0..self.fields {
            let (lane, shift) = if self.whole {
                // Eight fields of a row fill a lane's register.
                (quad + field / 8 * 2 + row / 8, field % 8 * 4)
            } else {
                (quad + field / 4, row / 8 * 16 + field % 4 * 4)
            };
            let bits = metadata[lane] >> shift & 15;
            for position in 0..self.positions {
                let chosen = if self.positions == 1 {
                    // One of two, written as the positions of its halves among four.
                    bits as usize >> 1 & 1
                } else {
                    (bits >> (2 * position)) as usize & 3
                };
                for part in 0..self.width {
                    keep(count, (field * if self.positions == 1 { 2 } else { 4 } + chosen) * self.width + part);
                    count += 1;
                }
            }
        }
    }
}
