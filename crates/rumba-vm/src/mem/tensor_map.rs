//! Tensor maps: the 128 bytes that describe a tensor in global memory, and how boxes of it are copied.
//!
//! The bytes are opaque to programs. The fields lie where NVIDIA's driver puts them, as 52 maps of a device of compute
//! capability 9.0 show (`cargo run -p rumba-driver --example tensor_maps`); comments mark unknown fields. Callers that
//! make a map check its arguments.

use std::fmt;

/// Bytes of a tensor map.
pub const BYTES: usize = 128;

/// How many of these are the fields that instructions change.
pub(crate) const FIELD_BYTES: usize = 64;

/// Dimensions of the largest tensor.
pub const MAX_RANK: usize = 5;

/// Words of an image.
const WORDS: usize = BYTES / 4;

/// Word 18, by the swizzle that the map was made with.
const SWIZZLED: [u32; 4] = [0x10, 0x100, 0x200, 0x400];

/// Word 18 of a map that `tensormap.replace` made out of 128 zero bytes: no field lies in that word.
const REPLACED: u32 = 0;

/// The type of a tensor's elements, by the number that images and instructions know it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are those of the PTX manual")]
pub enum TensorElement {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F32Ftz,
    F64,
    Bf16,
    Tf32,
    Tf32Ftz,
    /// Sixteen numbers of four bits in eight bytes.
    B4x16,
    /// The same elements, followed by eight unused bytes in shared memory.
    B4x16P64,
    /// Sixteen numbers of six bits, followed by four bytes of nothing in shared memory.
    B6x16P32,
}

impl TensorElement {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 16] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F32Ftz,
        Self::F64,
        Self::Bf16,
        Self::Tf32,
        Self::Tf32Ftz,
        Self::B4x16,
        Self::B4x16P64,
        Self::B6x16P32,
    ];

    /// Bits of an element in global memory.
    pub fn bits(self) -> u32 {
        match self {
            Self::B4x16 | Self::B4x16P64 => 4,
            Self::B6x16P32 => 6,
            Self::U8 => 8,
            Self::U16 | Self::F16 | Self::Bf16 => 16,
            Self::U32 | Self::S32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => 32,
            Self::U64 | Self::S64 | Self::F64 => 64,
        }
    }

    /// Whether it is a floating point number of its own.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F32Ftz | Self::F64 | Self::Bf16 | Self::Tf32 | Self::Tf32Ftz)
    }

    /// The encoding in images: four bits, and whether numbers are rounded to `tf32`.
    fn code(self) -> (u32, bool) {
        match self {
            Self::Tf32 => (Self::F32 as u32, true),
            Self::Tf32Ftz => (Self::F32Ftz as u32, true),
            // Not known.
            Self::B4x16 | Self::B4x16P64 | Self::B6x16P32 => (self as u32 - 2, false),
            _ => (self as u32, false),
        }
    }
}

/// The shape of the elements that a copy accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A box: its extent in each dimension.
    Tile([u32; MAX_RANK]),
    /// Columns of pixels, for convolutions.
    Columns {
        /// Where the box of pixels begins in each dimension of space, the innermost first.
        lower: [i32; 3],
        /// Where it ends, counted from the end of the tensor.
        upper: [i32; 3],
        /// Channels of each pixel.
        channels: u32,
        /// Pixels of a column.
        pixels: u32,
    },
}

/// A tensor in global memory, and how it is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap {
    /// Where it starts.
    pub address: u64,
    /// How many dimensions it has.
    pub rank: usize,
    /// The type of its elements.
    pub element: TensorElement,
    /// Bytes of an interleaved slice: 0 (none), 1 (16 bytes), 2 (32 bytes).
    pub interleave: u32,
    /// Bytes of shared memory that are swizzled: 0 (none), 1 (32), 2 (64), 3 (128).
    pub swizzle: u32,
    /// The atom of the swizzle: 0 (16 bytes), 1 (32), 2 (32, with halves of 16 exchanged in every other row), 3 (64).
    pub atom: u32,
    /// Whether floating point numbers outside of the tensor read as NaN instead of 0.
    pub fills_nan: bool,
    /// The L2 promotion: 0 (no more than requested) to 3 (256 bytes).
    pub promotion: u32,
    /// Elements in each dimension.
    pub sizes: [u64; MAX_RANK],
    /// Bytes from an element to the next of all dimensions but the first.
    pub strides: [u64; MAX_RANK - 1],
    /// Every which element is copied.
    pub steps: [u32; MAX_RANK],
    /// The shape of the elements that a copy accesses.
    pub shape: Shape,
}

/// Bits of a corner of a box of pixels in each dimension of space, by their number.
fn corner_bits(dimensions: usize) -> u32 {
    match dimensions {
        1 => 16,
        2 => 8,
        _ => 5,
    }
}

impl TensorMap {
    /// Elements of the innermost dimension that a copy comes to.
    pub fn row(&self) -> u32 {
        match self.shape {
            Shape::Tile(extent) => extent[0],
            Shape::Columns { channels, .. } => channels,
        }
    }

    /// Bytes of the box as images state them. Of slices, of steps that do not divide it, and with halos, copies come to others.
    fn box_bytes(&self) -> u64 {
        let elements: u64 = match self.shape {
            Shape::Tile(extent) => (0..self.rank).map(|axis| u64::from(extent[axis] / self.steps[axis])).product(),
            Shape::Columns { channels, pixels, .. } => u64::from(channels) * u64::from(pixels),
        };
        elements * u64::from(self.element.bits()) / 8
    }

    /// The 128 bytes.
    pub fn encode(&self) -> [u8; BYTES] {
        let mut words = [0_u32; WORDS];
        words[0] = self.address as u32;
        words[1] = (self.address >> 32) as u32;
        let (code, rounds) = self.element.code();
        words[2] = u32::from(matches!(self.shape, Shape::Columns { .. }))
            | (self.rank as u32 - 1) << 4
            | code << 7
            | self.interleave << 11
            | self.swizzle << 13
            | u32::from(self.fills_nan) << 15
            | u32::from(rounds) << 16
            | self.promotion << 17
            | self.atom << 19;
        // Fields beyond the rank are written, too: `tensormap.replace` may change them before the rank.
        for axis in 0..MAX_RANK {
            if axis > 0 {
                let stride = self.strides[axis - 1] >> 4;
                words[2 + axis] = stride as u32;
                words[7] |= ((stride >> 32) as u32 & 15) << (4 * (axis - 1));
            }
            words[8 + axis] = self.sizes[axis].wrapping_sub(1) as u32;
            words[13] |= (self.steps[axis].wrapping_sub(1) & 7) << (3 * axis);
        }
        words[13] |= self.row().wrapping_sub(1) << 24;
        match self.shape {
            Shape::Tile(extent) => {
                for (axis, extent) in extent[1..].iter().enumerate() {
                    words[14] |= (extent.wrapping_sub(1) & 0xff) << (8 * axis);
                }
            }
            Shape::Columns { lower, upper, pixels, .. } => {
                let dimensions = self.rank - 2;
                let bits = corner_bits(dimensions);
                for axis in 0..dimensions {
                    let corner = |corner: i32| (corner as u32 & ((1 << bits) - 1)) << (bits * axis as u32);
                    words[14] |= corner(lower[axis]) | corner(upper[axis]) << 16;
                }
                words[15] = pixels.wrapping_sub(1) & 0x3ff;
            }
        }
        words[16] = self.box_bytes() as u32;
        words[18] = SWIZZLED[self.swizzle as usize & 3];
        let mut bytes = [0; BYTES];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Decodes 128 bytes.
    ///
    /// # Errors
    /// A sentence if they are no tensor map.
    pub fn decode(bytes: &[u8; BYTES]) -> Result<Self, NoTensorMap> {
        let word = |index: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[4 * index + byte]));
        let flags = word(2);
        let rank = (flags >> 4 & 7) as usize + 1;
        let code = flags >> 7 & 15;
        let rounds = flags >> 16 & 1 != 0;
        let element = TensorElement::ALL.into_iter().find(|element| element.code() == (code, rounds));
        let is_columns = flags & 1 != 0;
        let address = u64::from(word(0)) | u64::from(word(1)) << 32;
        let swizzle = flags >> 13 & 3;
        let is_of_map = word(18) == REPLACED || SWIZZLED.contains(&word(18));
        let is_wrong = is_columns && rank < 3 || !address.is_multiple_of(16) || !is_of_map;
        let (Some(element), 1..=MAX_RANK, false) = (element, rank, is_wrong) else {
            return Err(NoTensorMap);
        };
        let mut map = Self {
            address,
            rank,
            element,
            interleave: flags >> 11 & 3,
            swizzle,
            atom: flags >> 19 & 3,
            fills_nan: flags >> 15 & 1 != 0,
            promotion: flags >> 17 & 3,
            sizes: [1; MAX_RANK],
            strides: [0; MAX_RANK - 1],
            steps: [1; MAX_RANK],
            shape: Shape::Tile([1; MAX_RANK]),
        };
        for axis in 0..MAX_RANK {
            if axis > 0 {
                let upper = u64::from(word(7) >> (4 * (axis - 1)) & 15);
                map.strides[axis - 1] = (u64::from(word(2 + axis)) | upper << 32) << 4;
            }
            map.sizes[axis] = u64::from(word(8 + axis)) + 1;
            map.steps[axis] = (word(13) >> (3 * axis) & 7) + 1;
        }
        let row = (word(13) >> 24) + 1;
        map.shape = if is_columns {
            let bits = corner_bits(rank - 2);
            let corner = |from: u32| {
                std::array::from_fn(|axis| {
                    if axis < rank - 2 {
                        ((word(14) >> (from + bits * axis as u32)) << (32 - bits)) as i32 >> (32 - bits)
                    } else {
                        0
                    }
                })
            };
            Shape::Columns { lower: corner(0), upper: corner(16), channels: row, pixels: (word(15) & 0x3ff) + 1 }
        } else {
            let mut extent = [1; MAX_RANK];
            extent[0] = row;
            for (axis, extent) in extent[1..].iter_mut().enumerate() {
                *extent = (word(14) >> (8 * axis) & 0xff) + 1;
            }
            Shape::Tile(extent)
        };
        Ok(map)
    }
}

/// These 128 bytes are no tensor map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoTensorMap;

impl fmt::Display for NoTensorMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the 128 bytes are no tensor map")
    }
}

impl std::error::Error for NoTensorMap {}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(element: TensorElement, rank: usize, shape: Shape) -> TensorMap {
        let mut map = TensorMap {
            address: 0x1234_5678_9ab0,
            rank,
            element,
            interleave: 0,
            swizzle: 3,
            atom: 1,
            fills_nan: true,
            promotion: 2,
            sizes: [1; MAX_RANK],
            strides: [0; MAX_RANK - 1],
            steps: [1; MAX_RANK],
            shape,
        };
        for axis in 0..rank {
            map.sizes[axis] = 1 << (8 * axis);
            map.steps[axis] = axis as u32 + 1;
            if axis > 0 {
                map.strides[axis - 1] = 0x10_0000_0010 * axis as u64;
            }
        }
        map
    }

    #[test]
    fn maps_come_back() {
        for element in TensorElement::ALL {
            for rank in 1..=MAX_RANK {
                let mut extent = [1; MAX_RANK];
                (0..rank).for_each(|axis| extent[axis] = 256 - axis as u32);
                let tile = map(element, rank, Shape::Tile(extent));
                assert_eq!(TensorMap::decode(&tile.encode()), Ok(tile));
                if rank < 3 {
                    continue;
                }
                let corner = |x: i32| std::array::from_fn(|axis| if axis < rank - 2 { x - axis as i32 } else { 0 });
                let columns = Shape::Columns { lower: corner(-3), upper: corner(15), channels: 64, pixels: 1024 };
                let columns = map(element, rank, columns);
                assert_eq!(TensorMap::decode(&columns.encode()), Ok(columns));
            }
        }
        assert_eq!(TensorMap::decode(&[0xff; BYTES]), Err(NoTensorMap));
        let mut image = map(TensorElement::F32, 2, Shape::Tile([4; MAX_RANK])).encode();
        image[0] += 4;
        assert_eq!(TensorMap::decode(&image), Err(NoTensorMap));
    }

    #[test]
    fn zeros_become_a_map_field_by_field() {
        let zeros = TensorMap::decode(&[0; BYTES]).expect("zeros are a map without an address");
        assert_eq!((zeros.address, zeros.rank, zeros.element), (0, 1, TensorElement::U8));
        assert_eq!((zeros.sizes, zeros.steps), ([1; MAX_RANK], [1; MAX_RANK]));
        let wanted = map(TensorElement::Bf16, 2, Shape::Tile([64, 128, 1, 1, 1]));
        let mut image = [0; BYTES];
        image[..FIELD_BYTES].copy_from_slice(&wanted.encode()[..FIELD_BYTES]);
        assert_eq!(TensorMap::decode(&image), Ok(wanted));
        // The word behind the fields has one of few values.
        image[4 * 18] = 1;
        assert_eq!(TensorMap::decode(&image), Err(NoTensorMap));
    }

    #[test]
    fn fields_lie_where_they_are_known_to_lie() {
        let tile = map(TensorElement::Bf16, 2, Shape::Tile([64, 128, 1, 1, 1])).encode();
        let word = |index: usize| u32::from_le_bytes(std::array::from_fn(|byte| tile[4 * index + byte]));
        assert_eq!((word(0), word(1)), (0x5678_9ab0, 0x1234));
        assert_eq!(word(2), 1 << 4 | 10 << 7 | 3 << 13 | 1 << 15 | 2 << 17 | 1 << 19);
        assert_eq!((word(3), word(7), word(8), word(9)), (1, 1, 0, 255));
        assert_eq!((word(13), word(14), word(16), word(18)), (1 << 3 | 63 << 24, 127, 64 * 64 * 2, 0x400));
    }
}
