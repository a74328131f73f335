//! CUDA arrays: what their descriptors mean, and where their elements lie.
//!
//! An array is stored row after row in machine memory that only copies reach. Textures and surfaces, which
//! would read it in a kernel, are not served; neither are sparse arrays and block-compressed formats.

use crate::abi::wrong;
use crate::api::attributes::ATTRIBUTES;
use crate::error::Error;
use crate::soft::context::Owner;

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) format: i32,
    pub(crate) channels: u32,
    pub(crate) flags: u32,
}

/// `CUDA_ARRAY3D_LAYERED`.
const LAYERED: u32 = 0x01;
/// `CUDA_ARRAY3D_CUBEMAP`.
const CUBEMAP: u32 = 0x04;
/// `CUDA_ARRAY3D_TEXTURE_GATHER`.
const GATHER: u32 = 0x08;
/// `CUDA_ARRAY3D_SPARSE` and `CUDA_ARRAY3D_DEFERRED_MAPPING`: arrays without memory of their own.
const WITHOUT_MEMORY: u32 = 0x40 | 0x80;
/// All flags of CUDA.
const FLAGS: u32 = 0xff;

impl Descriptor {
    /// Refuses what no array can be.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.channel_bytes()?;
        if !matches!(self.channels, 1 | 2 | 4) {
            return Err(wrong("NumChannels", self.channels, "it must be 1, 2 or 4"));
        }
        if self.flags & !FLAGS != 0 {
            return Err(wrong("Flags", self.flags, "there is no such flag"));
        }
        if self.flags & WITHOUT_MEMORY != 0 {
            return Err(Error::Unserved { what: "an array that is sparse or mapped later" });
        }
        let has = |flag| self.flags & flag != 0;
        if self.width == 0 {
            return Err(wrong("Width", 0, "an array has at least one element"));
        }
        if has(CUBEMAP) {
            if self.width != self.height {
                return Err(wrong("Height", self.height, "the faces of a cube are squares"));
            }
            if self.depth == 0 || !self.depth.is_multiple_of(6) || !has(LAYERED) && self.depth != 6 {
                return Err(wrong("Depth", self.depth, "a cube has six faces"));
            }
        } else if has(LAYERED) {
            if self.depth == 0 {
                return Err(wrong("Depth", 0, "a layered array has at least one layer"));
            }
        } else if self.height == 0 && self.depth != 0 {
            return Err(wrong("Height", 0, "only a layered array has depth without height"));
        }
        let fits = |bounds: &[usize; 3]| self.width <= bounds[0] && self.height <= bounds[1] && self.depth <= bounds[2];
        if self.bounds().iter().any(fits) {
            Ok(())
        } else {
            let extent = format!("{} x {} x {}", self.width, self.height, self.depth);
            Err(wrong("pAllocateArray", extent, "it exceeds the device's largest array"))
        }
    }

    /// The largest extents of an array of this shape, which `cuDeviceGetAttribute` tells.
    fn bounds(&self) -> Vec<[usize; 3]> {
        let limit = |attribute: usize| ATTRIBUTES[attribute - 1] as usize;
        let has = |flag| self.flags & flag != 0;
        if has(CUBEMAP) && has(LAYERED) {
            vec![[limit(53), limit(53), limit(54)]]
        } else if has(CUBEMAP) {
            vec![[limit(52), limit(52), 6]]
        } else if has(LAYERED) && self.height == 0 {
            vec![[limit(42), 0, limit(43)]]
        } else if has(LAYERED) {
            vec![[limit(27), limit(28), limit(29)]]
        } else if self.depth != 0 {
            vec![[limit(24), limit(25), limit(26)], [limit(47), limit(48), limit(49)]]
        } else if has(GATHER) {
            vec![[limit(45), limit(46), 0]]
        } else if self.height != 0 {
            vec![[limit(22), limit(23), 0]]
        } else {
            vec![[limit(21), 0, 0]]
        }
    }

    fn channel_bytes(&self) -> Result<usize, Error> {
        match self.format {
            // Unsigned, then signed integers of 8, 16 and 32 bits.
            1 | 8 => Ok(1),
            2 | 9 => Ok(2),
            3 | 10 => Ok(4),
            // CU_AD_FORMAT_HALF and CU_AD_FORMAT_FLOAT.
            0x10 => Ok(2),
            0x20 => Ok(4),
            0x50..=0xff => Err(Error::Unserved { what: "an array of a compressed, planar or normalised format" }),
            other => Err(wrong("Format", other, "there is no such format")),
        }
    }
}

/// A CUDA array.
pub(crate) struct Array {
    pub(crate) context: Owner,
    pub(crate) descriptor: Descriptor,
    /// Its first byte.
    pub(crate) start: u64,
    /// Bytes of a row.
    pub(crate) row: usize,
    /// Rows of a slice.
    pub(crate) rows: usize,
    pub(crate) slices: usize,
}

/// How an array is laid out: bytes of a row, rows of a slice, slices.
pub(crate) fn layout(descriptor: &Descriptor) -> Result<[usize; 3], Error> {
    descriptor.check()?;
    // Within the bounds of a checked descriptor no product overflows.
    let element = descriptor.channel_bytes()? * descriptor.channels as usize;
    Ok([descriptor.width * element, descriptor.height.max(1), descriptor.depth.max(1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(dims: [usize; 3], flags: u32) -> Descriptor {
        let [width, height, depth] = dims;
        Descriptor { width, height, depth, format: 0x20, channels: 1, flags }
    }

    #[test]
    fn shapes_are_told_apart() {
        for (dims, flags) in [
            ([10, 0, 0], 0),
            ([10, 20, 0], 0),
            ([1, 2, 3], 0),
            ([10, 0, 20], LAYERED),
            ([10, 20, 30], LAYERED),
            ([4, 4, 6], CUBEMAP),
            ([4, 4, 24], CUBEMAP | LAYERED),
        ] {
            assert_eq!(array(dims, flags).check(), Ok(()), "{dims:?} {flags}");
        }
        for (dims, flags) in [
            ([0, 10, 20], 0),
            ([10, 0, 20], 0),
            ([10, 10, 0], LAYERED),
            ([2, 3, 6], CUBEMAP),
            ([4, 4, 5], CUBEMAP),
            ([4, 4, 12], CUBEMAP),
            ([4, 4, 10], CUBEMAP | LAYERED),
            ([200_000, 0, 0], 0),
            ([usize::MAX, usize::MAX, usize::MAX], 0),
            ([4, 4, 0], 0x100),
        ] {
            assert!(array(dims, flags).check().is_err(), "{dims:?} {flags}");
        }
    }

    #[test]
    fn elements_have_the_size_of_their_channels() {
        let mut descriptor = array([10, 20, 0], 0);
        assert_eq!(layout(&descriptor), Ok([40, 20, 1]));
        (descriptor.format, descriptor.channels) = (0x10, 4);
        assert_eq!(layout(&descriptor), Ok([80, 20, 1]));
        descriptor.channels = 3;
        assert!(layout(&descriptor).is_err());
        (descriptor.format, descriptor.channels) = (0, 1);
        assert!(layout(&descriptor).is_err());
    }
}
