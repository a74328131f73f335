//! Copies of boxes of tensors between global and shared memory: the addresses of the elements, and the copy itself.
//!
//! The access check runs when a copy is begun, on the spans of memory that this module computes.

use std::convert::Infallible;
use std::ops::Range;

use crate::mem::atomic::{Element, copy};
use crate::mem::tensor_map::{MAX_RANK, Shape, TensorElement, TensorMap};

/// Combines an element in memory with another one: their addresses, the former first.
pub(crate) type Reduction = unsafe fn(u64, u64);

/// The direction of a copy, and its operation at the destination.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Direction {
    /// From global to shared memory.
    Load,
    /// From shared to global memory.
    Store,
    /// From shared to global memory, combined with the elements there.
    Reduce(Reduction),
}

/// The first elements of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// The coordinates of a box, or of a column of pixels and its offsets.
    Box { at: [i32; MAX_RANK], offsets: [u16; 3] },
    /// A column and four rows of a matrix.
    Rows { column: i32, rows: [i32; 4] },
    /// The coordinates of a column of pixels along the width alone.
    Width { at: [i32; MAX_RANK], width: Width },
}

/// The parameters of `im2col::w` and `im2col::w::128` (manual, section 5.5.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width {
    /// Whether a column has 128 pixels, in four runs, instead of one run of as many as the map says.
    pub(crate) is_128: bool,
    /// Pixels of the same row of the image that follow each run.
    pub(crate) halo: u16,
    /// The offset added to all coordinates along the width.
    pub(crate) offset: u16,
}

impl Width {
    /// The number of runs, and of pixels in each run without the halo, for a map whose columns have `pixels` pixels.
    fn runs(self, pixels: u32) -> (u32, u32) {
        if self.is_128 { (4, 32) } else { (1, pixels) }
    }
}

/// A copy of a box of a tensor.
#[derive(Debug, Clone)]
pub(crate) struct TensorCopy {
    pub(crate) map: TensorMap,
    pub(crate) start: Start,
    pub(crate) direction: Direction,
    /// The host address of the box in shared memory, and its address in the window, which the swizzle goes by.
    pub(crate) shared: u64,
    pub(crate) window: u64,
}

/// Bytes of a row of the box that lie in the tensor: from one to another, and where the first of the tensor's row lies.
#[derive(Debug, Clone, Copy)]
struct Row {
    first: u64,
    last: u64,
    base: u64,
}

/// Bytes that are stored at once, and that the innermost coordinate is a multiple of.
const GRAIN: u64 = 16;

impl TensorCopy {
    /// Bytes of an element; of half a byte, of two.
    fn element_bytes(&self) -> u64 {
        u64::from(self.map.element.bits()).div_ceil(8)
    }

    /// Bytes of a slice, if the tensor is interleaved: its first dimension counts slices then.
    fn slice(&self) -> Option<u64> {
        (self.map.interleave != 0).then_some(16 * u64::from(self.map.interleave))
    }

    /// Bytes that elements of the first dimension take.
    fn width(&self, elements: i64) -> i64 {
        elements * i64::from(self.map.element.bits()) / 8
    }

    /// Bytes of a row of the box; a slice is a row of its own.
    fn row_bytes(&self) -> u64 {
        self.slice().unwrap_or_else(|| self.width(self.map.row().into()).cast_unsigned())
    }

    /// The axes of space in tensors of pixels. The last one is the number of the image; channels are the first, or, where
    /// they lie in slices, the last but one.
    fn space(&self) -> Range<usize> {
        match self.slice() {
            None => 1..self.map.rank - 1,
            Some(_) => 0..self.map.rank - 2,
        }
    }

    /// The number of elements of a tile along an axis. One copy takes only one slice of channels.
    fn count(&self, extent: &[u32; MAX_RANK], axis: usize) -> u64 {
        match self.slice() {
            Some(_) if axis + 2 == self.map.rank => 1,
            _ => extent[axis].div_ceil(self.map.steps[axis]).into(),
        }
    }

    /// The axes that rows of a tile are counted along, the fastest first.
    fn axes(&self) -> Range<usize> {
        usize::from(self.slice().is_none())..self.map.rank
    }

    /// Bytes from a row of the box to the next: with a swizzle, rows are as long as the swizzle is wide.
    fn pitch(&self) -> u64 {
        if self.map.swizzle == 0 || self.slice().is_some() {
            self.row_bytes()
        } else {
            (16 << self.map.swizzle).max(self.row_bytes())
        }
    }

    /// Rows of the box.
    fn rows(&self) -> u64 {
        match (self.start, self.map.shape) {
            (Start::Rows { .. }, _) => 4,
            (_, Shape::Tile(extent)) => self.axes().map(|axis| self.count(&extent, axis)).product(),
            (Start::Width { width, .. }, Shape::Columns { pixels, .. }) => {
                let (runs, run) = width.runs(pixels);
                u64::from(runs) * (u64::from(run) + u64::from(width.halo))
            }
            (_, Shape::Columns { pixels, .. }) => pixels.into(),
        }
    }

    /// Bytes that are copied.
    pub(crate) fn bytes(&self) -> u64 {
        self.rows() * self.row_bytes()
    }

    /// Bytes of shared memory from the first row to the last byte that is copied: a swizzle moves parts of the last row within
    /// its pitch, by the address in the window.
    pub(crate) fn shared_bytes(&self) -> u64 {
        let mut end = 0;
        self.each_piece(self.rows() - 1, |bytes, place| {
            end = end.max(place - self.shared + (bytes.end - bytes.start));
        });
        end
    }

    /// The error in the box's address, for which a device of compute capability 9.0 ends the kernel.
    pub(crate) fn mistake(&self) -> Option<String> {
        let map = &self.map;
        let at = match self.start {
            Start::Box { at, .. } | Start::Width { at, .. } => at,
            Start::Rows { column, .. } => [column, 0, 0, 0, 0],
        };
        let bytes = self.width(at[0].into());
        if self.slice().is_none() && bytes % GRAIN as i64 != 0 {
            return Some(format!(
                "the innermost coordinate {} is at byte {bytes} of its row: it has to be at a multiple of 16 bytes",
                at[0]
            ));
        }
        let is_load = matches!(self.direction, Direction::Load);
        if let Some(axis) = (0..map.rank).find(|axis| !is_load && at[*axis] < 0) {
            return Some(format!(
                "the coordinate {} of dimension {axis} is negative: tensor stores and reductions begin in the tensor",
                at[axis]
            ));
        }
        let outside = |axis: usize, from: i64, to: i64| {
            (!(from..=to).contains(&at[axis].into())).then(|| {
                format!(
                    "the coordinate {} of dimension {axis} lies outside of the box of pixels, from {from} to {to}",
                    at[axis]
                )
            })
        };
        if let Shape::Columns { lower, upper, .. } = map.shape
            && !is_load
            && (lower.iter().any(|corner| *corner < 0) || upper.iter().any(|corner| *corner > 0))
        {
            return Some("the box of pixels reaches beyond the tensor, where nothing can be stored".to_owned());
        }
        let last = |axis: usize, upper: i32| map.sizes[axis] as i64 - 1 + i64::from(upper);
        match (self.start, map.shape) {
            (_, Shape::Tile(_)) => None,
            // To the left of the box the column may begin.
            (Start::Width { .. }, Shape::Columns { upper, .. }) => outside(1, i32::MIN.into(), last(1, upper[0])),
            (_, Shape::Columns { lower, upper, .. }) => self
                .space()
                .zip(lower.into_iter().zip(upper))
                .find_map(|(axis, (lower, upper))| outside(axis, lower.into(), last(axis, upper))),
        }
    }

    /// The address of the row of elements that has these coordinates, if it lies in the tensor. The first is looked at if it
    /// counts slices.
    fn base(&self, at: &[i64; MAX_RANK]) -> Option<u64> {
        let map = &self.map;
        let mut base = map.address;
        for axis in self.axes() {
            let index = u64::try_from(at[axis]).ok().filter(|index| *index < map.sizes[axis])?;
            let stride = match axis {
                0 => self.slice().unwrap_or_default(),
                _ => map.strides[axis - 1],
            };
            base = base.wrapping_add(index.wrapping_mul(stride));
        }
        Some(base)
    }

    /// Calls `body` for each row of the box in the order in which they lie in shared memory, with its number and the
    /// address of the tensor's row; stops where it fails.
    fn each_row<E>(&self, mut body: impl FnMut(u64, Option<u64>) -> Result<(), E>) -> Result<(), E> {
        let map = &self.map;
        let last = map.rank - 1;
        let step = |axis: usize| i64::from(map.steps[axis]);
        match (self.start, map.shape) {
            (Start::Rows { rows, .. }, _) => {
                for (number, row) in (0..).zip(rows) {
                    body(number, self.base(&[0, row.into(), 0, 0, 0]))?;
                }
            }
            (Start::Box { at, .. } | Start::Width { at, .. }, Shape::Tile(extent)) => {
                let rows: u64 = self.axes().map(|axis| self.count(&extent, axis)).product();
                for number in 0..rows {
                    let (mut rest, mut place) = (number, at.map(i64::from));
                    for axis in self.axes() {
                        let count = self.count(&extent, axis);
                        place[axis] += (rest % count) as i64 * step(axis);
                        rest /= count;
                    }
                    body(number, self.base(&place))?;
                }
            }
            (Start::Box { at, offsets }, Shape::Columns { lower, upper, pixels, .. }) => {
                // The filter's first pixel wanders through the box; the offsets say which of the filter's pixels is copied.
                let space = self.space();
                // Found on an H200: of two offsets the lower eight bits count.
                let mask = if space.len() == 2 { 0xff } else { 0xffff };
                let mut place = at.map(i64::from);
                for number in 0..pixels {
                    let mut pixel = place;
                    for (axis, offset) in space.clone().zip(offsets) {
                        pixel[axis] += i64::from(offset & mask);
                    }
                    body(number.into(), self.base(&pixel))?;
                    let mut ended = true;
                    for (axis, (lower, upper)) in space.clone().zip(lower.into_iter().zip(upper)) {
                        place[axis] += step(axis);
                        if place[axis] <= map.sizes[axis] as i64 - 1 + i64::from(upper) {
                            ended = false;
                            break;
                        }
                        place[axis] = lower.into();
                    }
                    if ended {
                        place[last] += step(last);
                    }
                }
            }
            (Start::Width { at, width }, Shape::Columns { lower, upper, pixels, .. }) => {
                let (runs, run) = width.runs(pixels);
                let offset = i64::from(width.offset);
                let mut place = at.map(i64::from);
                place[1] += offset;
                let mut number = 0;
                for pixel in 1..=runs * run {
                    body(number, self.base(&place))?;
                    number += 1;
                    // What a filter reaches behind the last pixel of a run. The manual's words leave open what follows the
                    // last pixel of a row: here it is what lies behind it in the same row.
                    if pixel % run == 0 {
                        for beyond in 1..=i64::from(width.halo) {
                            let mut pixel = place;
                            pixel[1] += beyond * step(1);
                            body(number, self.base(&pixel))?;
                            number += 1;
                        }
                    }
                    place[1] += step(1);
                    if place[1] > map.sizes[1] as i64 - 1 + i64::from(upper[0]) + offset {
                        place[1] = i64::from(lower[0]) + offset;
                        place[last] += step(last);
                    }
                }
            }
        }
        Ok(())
    }

    /// The unit that the end of a row of the tensor is rounded up to: stores write whole grains, of which the last may reach
    /// into what lies behind the row.
    fn grain(&self) -> u64 {
        match self.direction {
            Direction::Load => 1,
            Direction::Store | Direction::Reduce(_) => GRAIN,
        }
    }

    /// The bytes of a row of the box that lie in the tensor, whose rows end at multiples of `grain` bytes.
    fn row(&self, base: Option<u64>, grain: u64) -> Row {
        let length = self.row_bytes() as i64;
        let (column, size) = match (self.start, base) {
            (_, None) => (0, 0),
            _ if self.slice().is_some() => (0, length),
            (
                Start::Box { at: [column, ..], .. }
                | Start::Width { at: [column, ..], .. }
                | Start::Rows { column, .. },
                Some(_),
            ) => (self.width(column.into()), self.width(self.map.sizes[0] as i64)),
        };
        let size = size.cast_unsigned().next_multiple_of(grain).cast_signed();
        Row {
            first: (-column).clamp(0, length).cast_unsigned(),
            last: (size - column).clamp(0, length).cast_unsigned(),
            base: base.unwrap_or_default().wrapping_add(column.cast_unsigned()),
        }
    }

    /// Calls `body` with the address and the length of each part of global memory that the copy comes to; stops where it fails.
    pub(crate) fn each_span<E>(&self, mut body: impl FnMut(u64, u64) -> Result<(), E>) -> Result<(), E> {
        self.each_row(|_, base| {
            let row = self.row(base, self.grain());
            if row.first >= row.last {
                return Ok(());
            }
            body(row.base.wrapping_add(row.first), row.last - row.first)
        })
    }

    /// Where eight bytes of the box lie in shared memory.
    fn place(&self, offset: u64) -> u64 {
        let address = self.window.wrapping_add(offset);
        let row = address >> 7;
        let moved = match (self.map.swizzle, self.map.atom) {
            (0, _) => 0,
            (1, _) => (row & 1) << 4,
            (2, _) => (row & 3) << 4,
            (_, 0) => (row & 7) << 4,
            (_, 1) => (row & 3) << 5,
            (_, 2) => (row & 3) << 5 | (row & 1) << 3,
            (_, _) => (row & 1) << 6,
        };
        self.shared + ((address ^ moved) - self.window)
    }

    /// Calls `body` for each piece of a row of the box that the swizzle does not part: its bytes of the row, and where these lie
    /// in shared memory.
    fn each_piece(&self, row: u64, mut body: impl FnMut(Range<u64>, u64)) {
        let (row_bytes, pitch, piece) = (self.row_bytes(), self.pitch(), self.piece());
        let mut offset = 0;
        while offset < row_bytes {
            let end = (offset + piece).min(row_bytes);
            body(offset..end, self.place(row * pitch + offset));
            offset = end;
        }
    }

    /// Bytes of a piece.
    fn piece(&self) -> u64 {
        if self.map.atom == 2 { 8 } else { 16 }
    }

    /// Where in shared memory the byte comes from that a store writes to an address, if it writes one.
    pub(crate) fn source_of(&self, address: u64) -> Option<u64> {
        let found = self.each_row(|number, base| {
            let row = self.row(base, self.grain());
            let offset = address.wrapping_sub(row.base);
            if (row.first..row.last).contains(&offset) {
                return Err((number, offset));
            }
            Ok(())
        });
        let (number, offset) = found.err()?;
        let within = offset % self.piece();
        Some(self.place(number * self.pitch() + offset - within) + within)
    }

    /// Calls `body` with the address and the length of each part of shared memory that the copy accesses. A load writes whole
    /// rows of the box; a store and a reduction read the elements that lie in the tensor.
    pub(crate) fn each_shared_part(&self, mut body: impl FnMut(u64, u64)) {
        let is_load = matches!(self.direction, Direction::Load);
        let mut part = 0..0;
        let Ok(()) = self.each_row(|number, base| {
            let row = self.row(base, 1);
            let accessed = if is_load { 0..self.row_bytes() } else { row.first..row.last };
            self.each_piece(number, |bytes, place| {
                let (first, last) = (bytes.start.max(accessed.start), bytes.end.min(accessed.end));
                if first >= last {
                    return;
                }
                let start = place + (first - bytes.start);
                if part.end != start {
                    if !part.is_empty() {
                        body(part.start, part.end - part.start);
                    }
                    part.start = start;
                }
                part.end = start + (last - first);
            });
            Ok::<(), Infallible>(())
        });
        if !part.is_empty() {
            body(part.start, part.end - part.start);
        }
    }

    /// Moves the elements.
    ///
    /// # Safety
    /// The spans and the box passed the access check in this launch.
    pub(crate) unsafe fn run(&self) {
        let Ok(()) = self.each_row(|number, base| {
            let row = self.row(base, self.grain());
            self.each_piece(number, |bytes, place| {
                let from = row.first.clamp(bytes.start, bytes.end);
                let to = row.last.clamp(bytes.start, bytes.end).max(from);
                // SAFETY: as the caller promises.
                unsafe {
                    self.move_piece(
                        row.base.wrapping_add(from),
                        (place + (from - bytes.start), to - from),
                        (place, bytes.end - bytes.start),
                    );
                }
            });
            Ok::<(), Infallible>(())
        });
    }

    /// Moves a part of a piece, whose other elements lie outside of the tensor.
    unsafe fn move_piece(&self, global: u64, (shared, bytes): (u64, u64), (piece, length): (u64, u64)) {
        let unit = self.element_bytes();
        // SAFETY: as the caller of `run` promises.
        unsafe {
            match self.direction {
                Direction::Load => {
                    if bytes != length {
                        for offset in (0..length).step_by(unit as usize) {
                            fill(self.map.element, self.map.fills_nan, piece + offset, unit);
                        }
                    }
                    copy(global, shared, bytes);
                    convert(self.map.element, shared, bytes);
                }
                Direction::Store => copy(shared, global, bytes),
                Direction::Reduce(reduction) => {
                    for offset in (0..bytes).step_by(unit as usize) {
                        reduction(global + offset, shared + offset);
                    }
                }
            }
        }
    }
}

/// The fill value of numbers outside of a tensor: this pattern in each 16 bits.
const NAN: u64 = 0x7ff7_7ff7_7ff7_7ff7;

/// Writes the fill value of elements outside of a tensor.
unsafe fn fill(element: TensorElement, nan: bool, to: u64, bytes: u64) {
    let bits = if nan && element.is_float() { NAN } else { 0 };
    // SAFETY: as the caller of `run` promises.
    unsafe {
        match bytes {
            1 => u8::write(to, (bits as u8).into()),
            2 => u16::write(to, (bits as u16).into()),
            4 => u32::write(to, bits as u32),
            _ => u64::write(to, bits),
        }
    }
}

/// Rounds numbers to `tf32`, if they are of that type. Loads turn no subnormal number to zero, whatever the type.
unsafe fn convert(element: TensorElement, at: u64, bytes: u64) {
    if !matches!(element, TensorElement::Tf32 | TensorElement::Tf32Ftz) {
        return;
    }
    for at in (at..at + bytes).step_by(4) {
        // SAFETY: as the caller of `run` promises.
        let x = unsafe { u32::read(at) };
        let rounded = match x & 0x7fff_ffff {
            // To nearest, to even in the middle.
            ..0x7f80_0000 => x.wrapping_add(0xfff + (x >> 13 & 1)) & 0xffff_e000,
            0x7f80_0000 => x,
            _ => 0x7fff_e000,
        };
        // SAFETY: as above.
        unsafe { u32::write(at, rounded) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(element: TensorElement, sizes: &[u64], steps: &[u32], shape: Shape) -> TensorMap {
        let mut map = TensorMap {
            address: 0,
            rank: sizes.len(),
            element,
            interleave: 0,
            swizzle: 0,
            atom: 0,
            fills_nan: false,
            promotion: 0,
            sizes: [1; MAX_RANK],
            strides: [0; MAX_RANK - 1],
            steps: [1; MAX_RANK],
            shape,
        };
        map.sizes[..sizes.len()].copy_from_slice(sizes);
        map.steps[..steps.len()].copy_from_slice(steps);
        let mut stride = u64::from(element.bits()) / 8;
        for axis in 1..sizes.len() {
            stride *= sizes[axis - 1];
            map.strides[axis - 1] = stride;
        }
        map
    }

    fn spans(map: TensorMap, at: &[i32], offsets: [u16; 3]) -> Vec<(u64, u64)> {
        let mut start = [0; MAX_RANK];
        start[..at.len()].copy_from_slice(at);
        let copy = TensorCopy {
            map,
            start: Start::Box { at: start, offsets },
            direction: Direction::Load,
            shared: 0,
            window: 1024,
        };
        let mut spans = Vec::new();
        let done: Result<(), ()> = copy.each_span(|address, bytes| {
            spans.push((address, bytes));
            Ok(())
        });
        assert!(done.is_ok());
        spans
    }

    #[test]
    fn boxes_end_where_the_tensor_does() {
        let tile = Shape::Tile([4, 3, 1, 1, 1]);
        let matrix = map(TensorElement::U32, &[8, 5], &[1, 1], tile);
        assert_eq!(spans(matrix, &[0, 0], [0; 3]), [(0, 16), (32, 16), (64, 16)]);
        assert_eq!(spans(matrix, &[6, 3], [0; 3]), [(120, 8), (152, 8)]);
        assert_eq!(spans(matrix, &[-3, -1], [0; 3]), [(0, 4), (32, 4)]);
        assert_eq!(spans(matrix, &[8, 0], [0; 3]), []);
        assert_eq!(spans(matrix, &[-4, 0], [0; 3]), []);
        // Every second row.
        let matrix = map(TensorElement::U32, &[8, 5], &[1, 2], tile);
        assert_eq!(spans(matrix, &[0, 0], [0; 3]), [(0, 16), (64, 16)]);
    }

    #[test]
    fn columns_of_pixels_wander_through_their_box() {
        // The manual's first example, made small: two images of 4 by 3 pixels, a filter of 3 by 3 with a margin of 1.
        let shape = Shape::Columns { lower: [-1, -1, 0], upper: [-1, -1, 0], channels: 4, pixels: 6 };
        let images = map(TensorElement::U32, &[4, 4, 3, 2], &[1, 1, 1, 1], shape);
        let pixel = |w: u64, h: u64, n: u64| ((w + 4 * h + 12 * n) * 16, 16);
        // The base goes from -1 to 2 in each row, and the middle of the filter with it.
        let expected = [pixel(2, 0, 0), pixel(3, 0, 0), pixel(0, 1, 0), pixel(1, 1, 0), pixel(2, 1, 0), pixel(3, 1, 0)];
        assert_eq!(spans(images, &[0, 1, -1, 0], [1, 1, 0]), expected);
        // From the last row on to the next image; the filter's first pixel lies outside at its edges.
        let expected = [pixel(1, 1, 0), pixel(2, 1, 0)];
        assert_eq!(spans(images, &[0, 1, 1, 0], [0, 0, 0]), expected);
        let expected = [pixel(2, 2, 0), pixel(3, 2, 0), pixel(0, 0, 1), pixel(1, 0, 1), pixel(2, 0, 1), pixel(3, 0, 1)];
        assert_eq!(spans(images, &[0, 1, 1, 0], [1, 1, 0]), expected);
        // Every second pixel.
        let images = map(TensorElement::U32, &[4, 4, 3, 2], &[1, 2, 2, 1], shape);
        let expected = [pixel(0, 0, 0), pixel(2, 0, 0), pixel(0, 2, 0), pixel(2, 2, 0), pixel(0, 0, 1), pixel(2, 0, 1)];
        assert_eq!(spans(images, &[0, -1, -1, 0], [1, 1, 0]), expected);
    }

    #[test]
    fn pieces_are_swizzled_by_their_rows() {
        let place = |swizzle, atom, offset| {
            let mut map = map(TensorElement::U32, &[8, 5], &[1, 1], Shape::Tile([4, 3, 1, 1, 1]));
            (map.swizzle, map.atom) = (swizzle, atom);
            let copy = TensorCopy {
                map,
                start: Start::Rows { column: 0, rows: [0; 4] },
                direction: Direction::Load,
                shared: 0x10_0400,
                window: 0x400,
            };
            copy.place(offset) - 0x10_0400
        };
        assert_eq!([0, 0x90, 0x3f0].map(|offset| place(0, 0, offset)), [0, 0x90, 0x3f0]);
        assert_eq!([0, 0x80, 0x3f0].map(|offset| place(3, 0, offset)), [0, 0x90, 0x380]);
        assert_eq!([0x80, 0x190].map(|offset| place(2, 0, offset)), [0x90, 0x1a0]);
        assert_eq!([0x80, 0x100].map(|offset| place(1, 0, offset)), [0x90, 0x100]);
        assert_eq!([0x80, 0x188].map(|offset| place(3, 1, offset)), [0xa0, 0x1e8]);
        assert_eq!([0x80, 0x108].map(|offset| place(3, 2, offset)), [0xa8, 0x148]);
        assert_eq!([0x80, 0x100].map(|offset| place(3, 3, offset)), [0xc0, 0x100]);
    }

    /// Rows that are narrower than the swizzle: the first byte behind all that a copy writes.
    #[test]
    fn narrow_rows_end_where_the_swizzle_moves_them() {
        for (swizzle, atom, width, rows, bytes) in [
            (0, 0, 16, 8, 128),
            // The last row, number 7, is moved to the end of its 128 bytes; number 8 begins a new pattern.
            (3, 0, 16, 8, 1024),
            (3, 0, 16, 9, 8 * 128 + 16),
            (3, 0, 16, 1, 16),
            (3, 0, 16, 2, 128 + 32),
            (3, 0, 32, 3, 2 * 128 + 64),
            (3, 0, 112, 2, 256),
            (3, 0, 128, 5, 640),
            (3, 1, 16, 4, 3 * 128 + 112),
            (3, 2, 16, 4, 3 * 128 + 112),
            (3, 3, 16, 2, 128 + 80),
            (2, 0, 16, 2, 64 + 16),
            (2, 0, 16, 8, 7 * 64 + 64),
            (1, 0, 16, 8, 7 * 32 + 32),
            (1, 0, 16, 4, 3 * 32 + 16),
        ] {
            let shape = Shape::Tile([width / 4, rows, 1, 1, 1]);
            let mut map = map(TensorElement::U32, &[32, 32], &[1, 1], shape);
            (map.swizzle, map.atom) = (swizzle, atom);
            let copy = TensorCopy {
                map,
                start: Start::Box { at: [0; MAX_RANK], offsets: [0; 3] },
                direction: Direction::Load,
                shared: 0x10_0400,
                window: 0x400,
            };
            let place = format!("swizzle {swizzle}, {atom}: {rows} rows of {width} bytes");
            assert_eq!(copy.shared_bytes(), bytes, "{place}");
            let pieces = (0..u64::from(rows)).flat_map(|row| (0..u64::from(width) / 8).map(move |piece| (row, piece)));
            let ends = pieces.map(|(row, piece)| copy.place(row * copy.pitch() + 8 * piece) + 8 - copy.shared);
            assert_eq!(ends.max(), Some(bytes), "{place}");
        }
    }

    #[test]
    fn numbers_are_converted_on_their_way() {
        let of = |element, bits: u32| {
            let mut x = bits;
            // SAFETY: the variable is alive.
            unsafe { convert(element, (&raw mut x) as u64, 4) };
            x
        };
        assert_eq!(of(TensorElement::F32, 0x0000_1234), 0x0000_1234);
        assert_eq!(of(TensorElement::F32Ftz, 0x8000_1234), 0x8000_1234);
        for tf32 in [TensorElement::Tf32, TensorElement::Tf32Ftz] {
            assert_eq!(of(tf32, 0x3f80_1000), 0x3f80_0000);
            assert_eq!(of(tf32, 0x3f80_3000), 0x3f80_4000);
            assert_eq!(of(tf32, 0x3f80_0fff), 0x3f80_0000);
            assert_eq!(of(tf32, 0xff80_0000), 0xff80_0000);
            assert_eq!(of(tf32, 0xffc0_1234), 0x7fff_e000);
            assert_eq!(of(tf32, 0x0000_1fff), 0x0000_2000);
        }
    }
}
