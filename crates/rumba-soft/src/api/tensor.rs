//! Tensor maps: the descriptions of tensors in global memory, for tensor copies.
//!
//! The rules are those of cuda.h; the need for a context is a rule of NVIDIA's driver. The machine defines the meaning
//! of the 128 bytes.

use std::ffi::{c_int, c_uint};

use rumba_vm::tensor_map::{BYTES, MAX_RANK, Shape, TensorElement, TensorMap};

use crate::abi::{In, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::table;

/// A `CUtensorMap`.
pub(crate) type Image = [u8; BYTES];

/// Bytes that a `CUtensorMap` is aligned to.
const ALIGN: u64 = 64;

/// The types of elements, in the order of `CUtensorMapDataType`.
const TYPES: [TensorElement; 16] = [
    TensorElement::U8,
    TensorElement::U16,
    TensorElement::U32,
    TensorElement::S32,
    TensorElement::U64,
    TensorElement::S64,
    TensorElement::F16,
    TensorElement::F32,
    TensorElement::F64,
    TensorElement::Bf16,
    TensorElement::F32Ftz,
    TensorElement::Tf32,
    TensorElement::Tf32Ftz,
    TensorElement::B4x16,
    TensorElement::B4x16P64,
    TensorElement::B6x16P32,
];

/// The values of `CUtensorMapSwizzle`, as the machine's numbers of the swizzle's width and of its atom.
const SWIZZLES: [(u32, u32); 7] = [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2), (3, 3)];

/// Refuses values that need compute capability 10.0 on older devices.
fn check_generation(name: &'static str, value: c_uint, is_newer: bool) -> Result<(), Error> {
    if is_newer && table::multiprocessor().capability < 100 {
        return Err(wrong(name, value, "devices before compute capability 10.0 do not have it"));
    }
    Ok(())
}

/// Refuses a start address that is not aligned for a tensor of this kind.
fn check_address(element: TensorElement, interleave: u32, address: u64) -> Result<(), Error> {
    let unit = unit(element, interleave);
    if address.is_multiple_of(unit) {
        return Ok(());
    }
    let rule = if unit == 32 { "it is a multiple of 32" } else { "it is a multiple of 16" };
    Err(wrong("globalAddress", format!("{address:#x}"), rule))
}

/// The alignment of addresses and strides, in bytes.
fn unit(element: TensorElement, interleave: u32) -> u64 {
    if interleave == 2 || has_gaps(element) { 32 } else { 16 }
}

/// Whether numbers in shared memory are followed by unused bytes.
fn has_gaps(element: TensorElement) -> bool {
    matches!(element, TensorElement::B4x16P64 | TensorElement::B6x16P32)
}

/// The arguments that all kinds of maps share.
#[derive(Clone, Copy)]
struct Common<'a> {
    element: c_uint,
    rank: c_uint,
    address: u64,
    sizes: In<'a, u64>,
    strides: In<'a, u64>,
    steps: In<'a, c_uint>,
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
}

impl Common<'_> {
    /// The map without the shape of its box, which the caller adds.
    ///
    /// # Safety
    /// The number of elements of each array follows from the rank.
    unsafe fn map(self, least_rank: u32) -> Result<TensorMap, Error> {
        let choose = |name: &'static str, value: c_uint, count: usize| {
            if (value as usize) < count {
                return Ok(value as usize);
            }
            Err(wrong(name, value, "there is no such value"))
        };
        let element = TYPES[choose("tensorDataType", self.element, TYPES.len())?];
        check_generation("tensorDataType", self.element, element.bits() < 8)?;
        let interleave = choose("interleave", self.interleave, 3)?;
        let (swizzle, atom) = SWIZZLES[choose("swizzle", self.swizzle, SWIZZLES.len())?];
        check_generation("swizzle", self.swizzle, atom != 0)?;
        choose("l2Promotion", self.promotion, 4)?;
        choose("oobFill", self.fill, 2)?;
        let least_rank = if interleave == 0 { least_rank } else { 3 };
        if !(least_rank..=MAX_RANK as u32).contains(&self.rank) {
            let rule = match least_rank {
                1 => "a tensor has 1 to 5 dimensions",
                _ => "it has 3 to 5 dimensions",
            };
            return Err(wrong("tensorRank", self.rank, rule));
        }
        let rank = self.rank as usize;
        check_address(element, interleave as u32, self.address)?;
        let unit = unit(element, interleave as u32);
        let mut map = TensorMap {
            address: self.address,
            rank,
            element,
            interleave: interleave as u32,
            swizzle,
            atom,
            fills_nan: self.fill == 1,
            promotion: self.promotion,
            sizes: [1; MAX_RANK],
            strides: [0; MAX_RANK - 1],
            steps: [1; MAX_RANK],
            shape: Shape::Tile([1; MAX_RANK]),
        };
        for axis in 0..rank {
            // SAFETY: the caller's promise.
            let (size, step) =
                unsafe { (self.sizes.element("globalDim", axis)?, self.steps.element("elementStrides", axis)?) };
            if !(1..=1 << 32).contains(&size) {
                return Err(wrong("globalDim", size, "a dimension has 1 to 2^32 elements"));
            }
            if !(1..=8).contains(&step) {
                return Err(wrong("elementStrides", step, "they are from 1 to 8"));
            }
            (map.sizes[axis], map.steps[axis]) = (size, step);
            if axis == 0 {
                continue;
            }
            // SAFETY: as above; `globalStrides` has one element less than the rank.
            let stride = unsafe { self.strides.element("globalStrides", axis - 1)? };
            if !stride.is_multiple_of(unit) || stride >= 1 << 40 {
                return Err(wrong(
                    "globalStrides",
                    stride,
                    "they are multiples of 16, with slices of 32 bytes of 32, below 2^40",
                ));
            }
            map.strides[axis - 1] = stride;
        }
        let granularity = match element {
            TensorElement::B4x16 => 2,
            _ if has_gaps(element) => 128,
            _ => 1,
        };
        if !map.sizes[0].is_multiple_of(granularity) {
            return Err(wrong(
                "globalDim",
                map.sizes[0],
                "rows of packed numbers are whole bytes, those with gaps multiples of 128",
            ));
        }
        if map.fills_nan && !element.is_float() {
            return Err(wrong("oobFill", self.fill, "NaN is for floating point numbers"));
        }
        Ok(map)
    }
}

/// Checks the bytes of a row of the box.
fn check_row(map: &TensorMap, name: &'static str) -> Result<(), Error> {
    let bits = u64::from(map.row()) * u64::from(map.element.bits());
    if !bits.is_multiple_of(128) {
        return Err(wrong(name, map.row(), "the innermost dimension has a multiple of 16 bytes"));
    }
    if map.interleave == 0 && map.swizzle != 0 && bits / 8 > 16 << map.swizzle {
        return Err(wrong(name, map.row(), "the innermost dimension has no more bytes than are swizzled"));
    }
    Ok(())
}

fn put(image: Out<Image>, map: &TensorMap) -> Result<(), Error> {
    if !image.address().is_multiple_of(ALIGN) {
        return Err(wrong("tensorMap", format!("{:#x}", image.address()), "it is a multiple of 64"));
    }
    image.put("tensorMap", map.encode())
}

/// # Safety
/// As cuda.h says.
pub(crate) unsafe extern "C" fn cuTensorMapEncodeTiled(
    image: Out<Image>,
    element: c_uint,
    rank: c_uint,
    address: u64,
    sizes: In<u64>,
    strides: In<u64>,
    extent: In<c_uint>,
    steps: In<c_uint>,
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
) -> Code {
    answer(|| {
        Driver::current()?;
        image.required("tensorMap")?;
        let common = Common { element, rank, address, sizes, strides, steps, interleave, swizzle, promotion, fill };
        // SAFETY: the caller's promise.
        let mut map = unsafe { common.map(1)? };
        let mut all = [1; MAX_RANK];
        for (axis, to) in all[..map.rank].iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *to = unsafe { extent.element("boxDim", axis)? };
            if !(1..=256).contains(to) {
                return Err(wrong("boxDim", *to, "a box has 1 to 256 elements in each dimension"));
            }
        }
        if has_gaps(map.element) && all[0] != 128 {
            return Err(wrong("boxDim", all[0], "of packed numbers with gaps a box has 128"));
        }
        map.shape = Shape::Tile(all);
        check_row(&map, "boxDim")?;
        put(image, &map)
    })
}

/// # Safety
/// As cuda.h says.
pub(crate) unsafe extern "C" fn cuTensorMapEncodeIm2col(
    image: Out<Image>,
    element: c_uint,
    rank: c_uint,
    address: u64,
    sizes: In<u64>,
    strides: In<u64>,
    lower: In<c_int>,
    upper: In<c_int>,
    channels: c_uint,
    pixels: c_uint,
    steps: In<c_uint>,
    interleave: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
) -> Code {
    answer(|| {
        Driver::current()?;
        image.required("tensorMap")?;
        let common = Common { element, rank, address, sizes, strides, steps, interleave, swizzle, promotion, fill };
        let corner = |name: &'static str, from: In<c_int>| {
            let mut corner = [0; 3];
            for (axis, to) in corner.iter_mut().enumerate().take((rank as usize).saturating_sub(2)) {
                // SAFETY: the caller's promise.
                *to = unsafe { from.element(name, axis)? };
            }
            Ok(corner)
        };
        let (lower, upper) = (corner("pixelBoxLowerCorner", lower)?, corner("pixelBoxUpperCorner", upper)?);
        // SAFETY: the caller's promise.
        let map = unsafe { columns(common, (lower, upper), channels, pixels)? };
        put(image, &map)
    })
}

/// A map of pixels: the corners of the box, channels of a pixel, pixels of a column.
///
/// # Safety
/// As for [`Common::map`].
unsafe fn columns(
    common: Common<'_>,
    (lower, upper): ([c_int; 3], [c_int; 3]),
    channels: c_uint,
    pixels: c_uint,
) -> Result<TensorMap, Error> {
    // SAFETY: the caller's promise.
    let mut map = unsafe { common.map(3)? };
    let limit = [1 << 15, 1 << 7, 1 << 4][map.rank - 3];
    for (name, corner) in [("pixelBoxLowerCorner", lower), ("pixelBoxUpperCorner", upper)] {
        if let Some(wide) = corner.into_iter().find(|at| !(-limit..limit).contains(at)) {
            return Err(wrong(name, wide, "corners have 16, 8 or 5 bits, by the number of dimensions"));
        }
    }
    // Channels lie in slices, or are the first dimension.
    let space = usize::from(map.interleave == 0);
    for axis in 0..map.rank - 2 {
        let pixels = map.sizes[space + axis] as i64 + i64::from(upper[axis]) - i64::from(lower[axis]);
        if pixels <= 0 {
            return Err(wrong("pixelBoxUpperCorner", upper[axis], "the box of pixels is not empty"));
        }
    }
    if !(1..=256).contains(&channels) {
        return Err(wrong("channelsPerPixel", channels, "there are 1 to 256 of them"));
    }
    if !(1..=1024).contains(&pixels) {
        return Err(wrong("pixelsPerColumn", pixels, "there are 1 to 1024 of them"));
    }
    map.shape = Shape::Columns { lower, upper, channels, pixels };
    check_row(&map, "channelsPerPixel")?;
    Ok(map)
}

/// A map for columns along the width. NVIDIA's driver makes it on devices of compute capability 9.0 too, where no instruction
/// takes it, and says the mode nowhere in it.
///
/// # Safety
/// As cuda.h says.
pub(crate) unsafe extern "C" fn cuTensorMapEncodeIm2colWide(
    image: Out<Image>,
    element: c_uint,
    rank: c_uint,
    address: u64,
    sizes: In<u64>,
    strides: In<u64>,
    lower: c_int,
    upper: c_int,
    channels: c_uint,
    pixels: c_uint,
    steps: In<c_uint>,
    interleave: c_uint,
    mode: c_uint,
    swizzle: c_uint,
    promotion: c_uint,
    fill: c_uint,
) -> Code {
    answer(|| {
        Driver::current()?;
        image.required("tensorMap")?;
        let common = Common { element, rank, address, sizes, strides, steps, interleave, swizzle, promotion, fill };
        if mode > 1 {
            return Err(wrong("mode", mode, "there is no such value"));
        }
        // SAFETY: the caller's promise.
        let map = unsafe { columns(common, ([lower, 0, 0], [upper, 0, 0]), channels, pixels)? };
        put(image, &map)
    })
}

/// # Safety
/// As cuda.h says.
pub(crate) unsafe extern "C" fn cuTensorMapReplaceAddress(image: Out<Image>, address: u64) -> Code {
    answer(|| {
        Driver::current()?;
        image.required("tensorMap")?;
        // SAFETY: the caller's promise.
        let before = unsafe { image.given("tensorMap")? };
        let mut map = TensorMap::decode(&before)
            .map_err(|_| wrong("tensorMap", format!("{:#x}", image.address()), "these bytes are no tensor map"))?;
        if address == 0 {
            return Err(wrong("globalAddress", "0x0", "it is not null"));
        }
        check_address(map.element, map.interleave, address)?;
        map.address = address;
        put(image, &map)
    })
}
