//! Memory that is shared out among threads: an area has a cell for each owner, and how the cells lie decides how addresses
//! differ from lane to lane.

use std::fmt::Write as _;

use crate::choices::Choices;

/// The state space of an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Shared,
}

/// The assignment of cells to threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// In the order of the threads.
    Forward,
    /// In the opposite order.
    Reverse,
    /// Threads of a column lie one behind the other.
    Transposed,
    /// Pairs of threads change places.
    Swapped,
    /// In the order of the threads, which eight lanes of a warp find with the first of them.
    Grouped,
    /// One cell for each eight lanes of a warp: that of the first one.
    Eight,
    /// One cell for each row of threads, which is no longer than a warp.
    Row,
    /// One cell for each warp.
    Warp,
}

/// Cells.
#[derive(Debug, Clone)]
pub(crate) struct Area {
    /// The number in the names of its registers.
    pub(crate) number: usize,
    pub(crate) space: Space,
    pub(crate) owner: Owner,
    /// Bytes from cell to cell; all of them are used.
    pub(crate) stride: usize,
    /// Where it begins in the buffer for results.
    pub(crate) offset: usize,
}

/// The kinds of areas, as features.
pub(crate) const KINDS: &[(&str, Space, Owner)] = &[
    ("global cells in the order of threads", Space::Global, Owner::Forward),
    ("global cells in the opposite order", Space::Global, Owner::Reverse),
    ("global cells by columns", Space::Global, Owner::Transposed),
    ("global cells of pairs that change places", Space::Global, Owner::Swapped),
    ("global cells of eight lanes that begin with the first", Space::Global, Owner::Grouped),
    ("global cells of eight lanes together", Space::Global, Owner::Eight),
    ("global cells of rows", Space::Global, Owner::Row),
    ("global cells of warps", Space::Global, Owner::Warp),
    ("shared cells in the order of threads", Space::Shared, Owner::Forward),
    ("shared cells in the opposite order", Space::Shared, Owner::Reverse),
    ("shared cells by columns", Space::Shared, Owner::Transposed),
    ("shared cells of pairs that change places", Space::Shared, Owner::Swapped),
    ("shared cells of eight lanes that begin with the first", Space::Shared, Owner::Grouped),
    ("shared cells of eight lanes together", Space::Shared, Owner::Eight),
    ("shared cells of rows", Space::Shared, Owner::Row),
    ("shared cells of warps", Space::Shared, Owner::Warp),
];

/// Bytes of cells.
pub(crate) const STRIDES: &[usize] = &[1, 2, 4, 8, 8, 8, 12, 16, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64];

/// An access to a part of a cell: the type, the elements and where the part begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) element: usize,
    pub(crate) count: usize,
    pub(crate) offset: usize,
}

impl Area {
    /// Whether several threads own a cell, which are all of one warp.
    pub(crate) fn is_of_several(&self) -> bool {
        matches!(self.owner, Owner::Row | Owner::Warp | Owner::Eight)
    }

    /// A part of a cell that is aligned.
    pub(crate) fn part(&self, choices: &mut Choices) -> Part {
        let align = 1 << self.stride.trailing_zeros();
        let element = choices.of(&[4, 4, 4, 4, 8, 1, 2, 16]).min(align);
        let most = (align.min(32) / element).min(if element == 16 { 1 } else { 4 });
        let count = choices.of(&[1, 1, 1, 1, 2, 4]).min(most);
        let bytes = element * count;
        Part { element, count, offset: bytes * choices.below(self.stride / bytes) }
    }

    /// Computes the registers of the area: the address in its space (64 bits, `%g`; of shared memory in 32 bits, too, `%s`), and the
    /// generic address, `%v`.
    pub(crate) fn addresses(&self) -> String {
        let (n, stride) = (self.number, self.stride);
        let mut out = String::new();
        let index = match self.owner {
            Owner::Forward => "mov.u32 %t0, %ltid;",
            Owner::Reverse => "sub.u32 %t0, %nt, %ltid; sub.u32 %t0, %t0, 1;",
            Owner::Transposed => {
                "mov.u32 %t1, %ntid.y; mov.u32 %t2, %ntid.z; mul.lo.u32 %t3, %t1, %t2; \
                 mad.lo.u32 %t0, %tz, %t1, %ty; mad.lo.u32 %t0, %tx, %t3, %t0;"
            }
            // The cells are one more where the number of threads is odd.
            Owner::Swapped => "xor.b32 %t0, %ltid, 1;",
            Owner::Grouped => {
                "shr.u32 %t1, %lane, 3; shl.b32 %t1, %t1, 3; and.b32 %t2, %lane, 7; \
                 shfl.sync.idx.b32 %t0, %ltid, %t1, 31, -1; add.u32 %t0, %t0, %t2;"
            }
            Owner::Eight => "shr.u32 %t1, %lane, 3; mul.lo.u32 %t1, %t1, 8; shfl.sync.idx.b32 %t0, %ltid, %t1, 31, -1;",
            Owner::Row => "mov.u32 %t0, %row;",
            Owner::Warp => "mov.u32 %t0, %warpid;",
        };
        // The interface of `fmt::Write`: a string takes everything.
        let _ = match self.space {
            Space::Global => writeln!(
                out,
                "{index} add.u32 %t1, %nt, 1; mad.lo.u32 %t0, %block, %t1, %t0; mad.wide.u32 %g{n}, %t0, {stride}, %out; \
                 add.s64 %g{n}, %g{n}, {}; mov.b64 %v{n}, %g{n};",
                self.offset
            ),
            Space::Shared => writeln!(
                out,
                "{index} mov.u32 %s{n}, cells{n}; mad.lo.u32 %s{n}, %t0, {stride}, %s{n}; mov.u64 %g{n}, cells{n}; \
                 mad.wide.u32 %g{n}, %t0, {stride}, %g{n}; cvta.shared.u64 %v{n}, %g{n};"
            ),
        };
        out
    }

    /// Writes numbers to a cell of shared memory.
    pub(crate) fn initialize(&self) -> String {
        let mut out = String::new();
        let step = 1 << self.stride.trailing_zeros().min(4);
        for offset in (0..self.stride).step_by(step) {
            let stored = match step {
                // All owners of a cell write the same.
                1 | 2 | 4 | 8 | 16 if self.is_of_several() => match step {
                    16 => "v4.u32 [X], {%n, 1, 2, %full}",
                    8 => "v2.u32 [X], {%n, 1}",
                    4 => "u32 [X], %n",
                    2 => "u16 [X], 2",
                    _ => "u8 [X], 1",
                },
                1 => "u8 [X], %ltid",
                2 => "u16 [X], 300",
                4 => "u32 [X], %ltid",
                8 => "v2.u32 [X], {%ltid, %lane}",
                _ => "v4.u32 [X], {%ltid, %lane, %tx, %ty}",
            };
            let place = format!("%s{}+{offset}", self.number);
            let _ = writeln!(out, "st.shared.{}; // keep", stored.replace('X', &place));
        }
        out
    }

    /// Adds the numbers of a cell of shared memory to a register.
    pub(crate) fn collect(&self) -> String {
        let mut out = String::new();
        let step = 1 << self.stride.trailing_zeros().min(2);
        for offset in (0..self.stride).step_by(step) {
            let place = format!("%s{}+{offset}", self.number);
            let _ = writeln!(out, "ld.shared.u{} %t0, [{place}]; mad.lo.u32 %t9, %t9, 31, %t0; // keep", 8 * step);
        }
        out
    }
}
