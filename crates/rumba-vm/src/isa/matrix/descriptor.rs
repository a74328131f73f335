//! Matrices in shared memory that a descriptor of 64 bits describes: factors of `wgmma` and `tcgen05`.
//!
//! A matrix consists of core matrices, eight lines of sixteen bytes each; a line goes along the depth of the product, or
//! across it where the matrix is transposed. How the lines follow each other is told by two strides and the swizzle, as in
//! the manual's section "Shared Memory Matrix Layout"; what the bytes mean is the business of [`super::warpgroup`] and
//! [`super::tensor_product`].

use crate::base::report::AccessKind;
use crate::check::agent::Agent;
use crate::exec::memory::Space;
use crate::exec::range::{Range, observe_range, translate};
use crate::machine::op::Pc;
use crate::machine::warp::Warp;
use crate::mem::atomic::Element;

/// Bytes of a line of a core matrix.
pub(crate) const LINE: usize = 16;

/// Bits of an address that a descriptor has room for.
const ADDRESS: u64 = (1 << 18) - 1;

/// How a matrix lies in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// Where the pattern of the swizzle starts, in rows of 128 bytes.
    base: u64,
    /// The width of the swizzle, in bytes: 32, 64 or 128; 16 means no swizzle.
    width: u64,
    /// The logarithm of the bytes that a swizzle keeps together, and the mask of the rows that it depends on.
    unit: u32,
    rows: u64,
}

/// The widths and units of the swizzles of `tcgen05`, by their number; [`WRONG`] where there is none.
const SWIZZLES: [(u64, u32); 8] = [(16, 4), (128, 5), (128, 4), WRONG, (64, 4), WRONG, (32, 4), WRONG];
const WRONG: (u64, u32) = (0, 0);

impl Descriptor {
    /// Decodes the bits.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self::with_swizzle(bits, [16, 128, 64, 32][(bits >> 62) as usize], 4)
    }

    #[inline(always)]
    fn with_swizzle(bits: u64, width: u64, unit: u32) -> Self {
        let field = |shift: u32| (bits >> shift & 0x3fff) << 4;
        let rows = (width >> unit) - 1;
        Self { start: field(0), leading: field(16), stride: field(32), base: bits >> 49 & 7, width, unit, rows }
    }

    /// Decodes the bits of a descriptor of `tcgen05`, which has fixed bits and more swizzles.
    pub(crate) fn from_tensor_bits(bits: u64) -> Result<Self, String> {
        let wrong = |what: &str| Err(format!("the matrix descriptor {bits:#018x} {what}"));
        if bits >> 46 & 7 != 1 {
            return wrong("has no 0b001 in bits 46 to 48");
        }
        if bits >> 53 & 0xff != 0 {
            return wrong("has bits set among bits 53 to 60, which are 0");
        }
        if bits >> 52 & 1 != 0 {
            return wrong("gives the leading dimension as an absolute address (bit 52), which only sm_103a has");
        }
        match SWIZZLES[(bits >> 61) as usize] {
            WRONG => wrong("has no valid swizzling mode in bits 61 to 63"),
            (width, unit) => Ok(Self::with_swizzle(bits, width, unit)),
        }
    }

    /// The address of line `line`: row or column `index`, and sixteen bytes of the depth after the other.
    pub(crate) fn along(&self, index: usize, line: usize) -> u64 {
        let (index, line) = (index as u64, line as u64);
        let step = if self.width == 16 { self.leading } else { 16 };
        self.swizzled(index % 8 * self.width + index / 8 * self.stride + line * step)
    }

    /// The same of a transposed matrix: line `line`, sixteen bytes of rows or columns after the other, at a depth.
    pub(crate) fn across(&self, depth: usize, line: usize) -> u64 {
        self.across_by(depth, line, 8)
    }

    /// The same of a matrix whose pattern repeats after fewer rows, if the swizzle has units of 32 bytes.
    pub(crate) fn across_tensor(&self, depth: usize, line: usize) -> u64 {
        self.across_by(depth, line, if self.unit == 4 { 8 } else { 4 })
    }

    #[inline(always)]
    fn across_by(&self, depth: usize, line: usize, rows: u64) -> u64 {
        let (depth, line, lines) = (depth as u64, line as u64, self.width / 16);
        let (outer, deeper) = if lines == 1 { (self.stride, self.leading) } else { (self.leading, self.stride) };
        self.swizzled(line % lines * 16 + line / lines * outer + depth % rows * self.width + depth / rows * deeper)
    }

    fn swizzled(&self, offset: u64) -> u64 {
        let address = self.start.wrapping_add(offset) & ADDRESS;
        let row = (address >> 7).wrapping_sub(self.base) & self.rows;
        address ^ row << self.unit
    }
}

/// The sixteen bytes at an address in the shared memory of the warp's block, which a lane's operation reads; behind the first
/// `used` of them is padding.
#[inline(always)]
pub(crate) fn read_line(
    warp: &mut Warp,
    pc: Pc,
    lane: usize,
    (address, used): (u64, usize),
    agent: Option<Agent>,
) -> Result<[u8; LINE], Pc> {
    let is_inside = address >= warp.context().program.shared_start && address + LINE as u64 <= warp.shared_known();
    let host = if is_inside {
        warp.shared_base + address
    } else {
        let wanted = Range {
            address,
            bytes: LINE as u64,
            align: LINE as u64,
            kind: AccessKind::Read,
            space: Space::Shared,
            agent,
        };
        let host = translate(warp, pc, lane, wanted)?;
        observe_range(warp, pc, lane, host, (used as u64, wanted.kind), wanted.agent);
        host
    };
    // SAFETY: the address is that of sixteen live, aligned bytes.
    Ok(unsafe { u128::read(host) }.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::Descriptor;

    fn descriptor(start: u64, leading: u64, stride: u64, base: u64, swizzle: u64) -> Descriptor {
        Descriptor::from_bits(start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | swizzle << 62)
    }

    #[test]
    fn without_a_swizzle_lines_follow_the_strides() {
        let plain = descriptor(0x400, 256, 512, 0, 0);
        let lines = [(0, 0), (3, 0), (8, 0), (0, 1), (9, 1)].map(|(row, line)| plain.along(row, line));
        assert_eq!(lines, [0x400, 0x430, 0x600, 0x500, 0x710]);
        // Transposed, the leading offset leads to the next eight of the depth.
        let lines = [(0, 0), (3, 0), (8, 0), (0, 1)].map(|(depth, line)| plain.across(depth, line));
        assert_eq!(lines, [0x400, 0x430, 0x500, 0x600]);
    }

    #[test]
    fn a_swizzle_moves_lines_within_its_width() {
        let wide = descriptor(0x400, 16, 1024, 0, 1);
        let lines = [(0, 0), (1, 0), (1, 1), (7, 0), (8, 1), (9, 1)].map(|(row, line)| wide.along(row, line));
        assert_eq!(lines, [0x400, 0x490, 0x480, 0x7f0, 0x810, 0x880]);
        // The next sixteen of the depth start 32 bytes behind, and are swizzled by the same rows.
        let next = descriptor(0x420, 16, 1024, 0, 1);
        assert_eq!((next.along(0, 0), next.along(1, 0), next.along(2, 1)), (0x420, 0x4b0, 0x510));
        let (half, quarter) = (descriptor(0x400, 16, 512, 0, 2), descriptor(0x400, 16, 256, 0, 3));
        assert_eq!((half.along(1, 0), half.along(2, 0), half.along(7, 1)), (0x440, 0x490, 0x5e0));
        assert_eq!((quarter.along(3, 0), quarter.along(4, 0), quarter.along(7, 1)), (0x460, 0x490, 0x4e0));
        // A pattern that starts in the second row of 128 bytes.
        let moved = descriptor(0x480, 16, 1024, 1, 1);
        assert_eq!((moved.along(0, 0), moved.along(1, 0)), (0x480, 0x510));
    }

    #[test]
    fn descriptors_of_tensor_memory_have_fixed_bits() {
        let bits = |fixed: u64, swizzle: u64| 0x40 | 1 << 16 | 64 << 32 | fixed << 46 | swizzle << 61;
        assert_eq!(Descriptor::from_tensor_bits(bits(1, 2)), Ok(descriptor(0x400, 16, 1024, 0, 1)));
        assert_eq!(Descriptor::from_tensor_bits(bits(1, 6)), Ok(descriptor(0x400, 16, 1024, 0, 3)));
        for (wrong, what) in [(bits(0, 2), "0b001"), (bits(1, 3), "swizzling mode"), (bits(1, 2) | 1 << 53, "53 to 60")]
        {
            assert!(Descriptor::from_tensor_bits(wrong).is_err_and(|message| message.contains(what)), "{wrong:#x}");
        }
        // Units of 32 bytes, and a pattern of four rows.
        let wide = Descriptor::from_tensor_bits(bits(1, 1)).unwrap();
        let lines = [(0, 0), (1, 0), (1, 1), (3, 2), (4, 0)].map(|(depth, line)| wide.across_tensor(depth, line));
        assert_eq!(lines, [0x400, 0x4a0, 0x4b0, 0x5c0, 0x800]);
    }

    #[test]
    fn a_transposed_swizzle_is_as_wide_as_its_rows() {
        let wide = descriptor(0x400, 2048, 1024, 0, 1);
        let lines = [(0, 0), (0, 1), (1, 0), (0, 8), (8, 0), (9, 9)].map(|(depth, line)| wide.across(depth, line));
        assert_eq!(lines, [0x400, 0x410, 0x490, 0xc00, 0x800, 0x1080]);
    }
}
