//! Copies of rectangles and boxes between host memory, device memory and arrays.
//!
//! A rectangle is a box of depth 1, so there is one copy for both. Levels of mipmapped arrays are not served.

use crate::abi::{CUarray, CUdeviceptr, CUstream, In, answer, wrong};
use crate::api::array::array;
use crate::api::memcpy::CopySide;
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::work::{Grid, Transfer};

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Copy2d {
    source: Side2d,
    target: Side2d,
    width: usize,
    height: usize,
}

/// One side of a [`Copy2d`].
#[repr(C)]
#[derive(Clone, Copy)]
struct Side2d {
    x: usize,
    y: usize,
    memory: u32,
    host: u64,
    device: CUdeviceptr,
    array: CUarray,
    pitch: usize,
}

/// `CUDA_MEMCPY3D` and `CUDA_MEMCPY3D_PEER`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Copy3d {
    source: Side3d,
    target: Side3d,
    width: usize,
    height: usize,
    depth: usize,
}

/// One side of a [`Copy3d`].
#[repr(C)]
#[derive(Clone, Copy)]
struct Side3d {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    memory: u32,
    host: u64,
    device: CUdeviceptr,
    array: CUarray,
    /// The context of a copy between peers, which addresses tell already.
    context: usize,
    pitch: usize,
    height: usize,
}

impl From<Side2d> for Side3d {
    fn from(side: Side2d) -> Self {
        Self {
            x: side.x,
            y: side.y,
            z: 0,
            level: 0,
            memory: side.memory,
            host: side.host,
            device: side.device,
            array: side.array,
            context: 0,
            pitch: side.pitch,
            height: 0,
        }
    }
}

impl From<Copy2d> for Copy3d {
    fn from(copy: Copy2d) -> Self {
        Self {
            source: copy.source.into(),
            target: copy.target.into(),
            width: copy.width,
            height: copy.height,
            depth: 1,
        }
    }
}

impl Copy3d {
    /// The copy as a caller would have described it.
    pub(super) fn of(transfer: &Transfer) -> Self {
        let side = |grid: &Grid| Side3d {
            x: 0,
            y: 0,
            z: 0,
            level: 0,
            memory: if grid.is_device { 2 } else { 1 },
            host: if grid.is_device { 0 } else { grid.start },
            device: if grid.is_device { grid.start } else { 0 },
            array: 0,
            context: 0,
            pitch: grid.row,
            height: grid.slice.checked_div(grid.row).unwrap_or(0),
        };
        let [width, height, depth] = transfer.extents();
        Self { source: side(transfer.source()), target: side(transfer.target()), width, height, depth }
    }

    /// Checks one side and finds its memory.
    fn grid(&self, driver: &Driver, side: &Side3d, name: &'static str) -> Result<Grid, Error> {
        if side.level != 0 {
            return Err(wrong("LOD", side.level, "it must be 0"));
        }
        let (base, row, rows, slices) = self.base(side)?;
        let fits =
            |offset: usize, extent: usize, whole: usize| offset.checked_add(extent).is_some_and(|end| end <= whole);
        if !fits(side.x, self.width, row) {
            return Err(wrong("pitch", row, "a row with its offset must fit into the pitch"));
        }
        if (slices.is_some() || self.depth > 1) && !fits(side.y, self.height, rows) {
            return Err(wrong("Height", rows, "the rows with their offset must fit into a slice"));
        }
        if slices.is_some_and(|slices| !fits(side.z, self.depth, slices)) {
            return Err(wrong("Depth", self.depth, "the slices with their offset must fit into the array"));
        }
        let span = |x: usize, y: usize, z: usize| {
            let slice = rows.checked_mul(row)?;
            let offset = z.checked_mul(slice)?.checked_add(y.checked_mul(row)?)?;
            Some((offset.checked_add(x)?, slice))
        };
        let too_large = || wrong("Height", self.height, "the copy exceeds the address space");
        let (offset, slice) = span(side.x, side.y, side.z).ok_or_else(too_large)?;
        let (bytes, _) = span(self.width, self.height - 1, self.depth - 1).ok_or_else(too_large)?;
        let (start, is_device) = base.offset(offset).resolve(driver, bytes as u64, name)?;
        Ok(Grid { start, is_device, row, slice })
    }

    /// Where a side begins, the bytes of its rows, the rows of its slices, and for an array its slices.
    fn base(&self, side: &Side3d) -> Result<(CopySide, usize, usize, Option<usize>), Error> {
        let pitch = if side.pitch == 0 { self.width } else { side.pitch };
        let height = if side.height == 0 { self.height } else { side.height };
        match side.memory {
            // SAFETY: the rows and slices of the box are read or written there; only C callers describe copies.
            1 => Ok((unsafe { CopySide::any(side.host) }, pitch, height, None)),
            2 => Ok((CopySide::device(side.device), pitch, height, None)),
            // SAFETY: as above.
            4 => Ok((unsafe { CopySide::any(side.device) }, pitch, height, None)),
            3 => {
                if side.array == 0 {
                    return Err(wrong("Array", 0, "there is no such array"));
                }
                let (_, array) = array(side.array)?;
                Ok((CopySide::device(array.start), array.row, array.rows, Some(array.slices)))
            }
            other => Err(wrong("memoryType", other, "there is no such memory type")),
        }
    }
}

/// Checks a copy and finds its memory; `None` where there is nothing to copy.
pub(super) fn transfer(driver: &Driver, copy: Copy3d) -> Result<Option<Transfer>, Error> {
    if copy.width == 0 || copy.height == 0 || copy.depth == 0 {
        return Ok(None);
    }
    let target = copy.grid(driver, &copy.target, "dst")?;
    let source = copy.grid(driver, &copy.source, "src")?;
    // SAFETY: both sides were checked for the whole box; the host's are the caller's to copy (the promise of `CopySide::any`).
    Ok(Some(unsafe { Transfer::new(target, source, [copy.width, copy.height, copy.depth]) }))
}

/// Copies a box in the order of a stream.
fn copy<T: Copy + Into<Copy3d>>(copy: In<T>, stream: CUstream, waits: bool) -> Result<(), Error> {
    let (driver, stream) = Driver::stream(stream)?;
    match transfer(driver, copy.get("pCopy")?.into())? {
        Some(transfer) => stream.copy(transfer, waits),
        None => Ok(()),
    }
}

pub(crate) extern "C" fn cuMemcpy2D_v2(pair: In<Copy2d>) -> Code {
    answer(|| copy(pair, 0, true))
}

pub(crate) extern "C" fn cuMemcpy2DAsync_v2(pair: In<Copy2d>, stream: CUstream) -> Code {
    answer(|| copy(pair, stream, false))
}

pub(crate) extern "C" fn cuMemcpy3D_v2(pair: In<Copy3d>) -> Code {
    answer(|| copy(pair, 0, true))
}

pub(crate) extern "C" fn cuMemcpy3DAsync_v2(pair: In<Copy3d>, stream: CUstream) -> Code {
    answer(|| copy(pair, stream, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_the_layout_of_cuda_h() {
        assert_eq!(size_of::<Copy2d>(), 128);
        assert_eq!(std::mem::offset_of!(Copy2d, target), 56);
        assert_eq!(std::mem::offset_of!(Copy2d, width), 112);
        assert_eq!(std::mem::offset_of!(Side2d, pitch), 48);
        assert_eq!(size_of::<Copy3d>(), 200);
        assert_eq!(std::mem::offset_of!(Copy3d, target), 88);
        assert_eq!(std::mem::offset_of!(Copy3d, width), 176);
        assert_eq!(std::mem::offset_of!(Side3d, pitch), 72);
    }
}
