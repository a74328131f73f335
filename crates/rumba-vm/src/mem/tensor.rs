//! Copies of boxes of tensors between global and shared memory: which elements lie where, and moving them.
//!
//! Whether the memory may be accessed is asked when a copy is begun, of the spans that it comes to here.

use crate::mem::atomic::{Element, copy};
use crate::mem::tensor_map::{MAX_RANK, Shape, TensorElement, TensorMap};

/// Combines an element in memory with another one: their addresses, the former first.
pub(crate) type Reduction = unsafe fn(u64, u64);

/// Where a copy goes, and what happens there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Direction {
    /// From global to shared memory.
    Load,
    /// From shared to global memory.
    Store,
    /// The same, to be combined with what is there.
    Reduce(Reduction),
}

/// Which elements a copy begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// The coordinates of a box, or of a column of pixels and its offsets.
    Box { at: [i32; MAX_RANK], offsets: [u16; 3] },
    /// A column and four rows of a matrix.
    Rows { column: i32, rows: [i32; 4] },
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

/// Elements of a row that lie in the tensor: from one to another, and where the first of the tensor's row lies.
#[derive(Debug, Clone, Copy)]
struct Row {
    first: i64,
    last: i64,
    base: u64,
}

impl TensorCopy {
    /// Bytes of an element, and how many elements of the map these are.
    fn unit(&self) -> (u64, i64) {
        match self.map.element.bits() {
            bits @ 8.. => (u64::from(bits) / 8, 1),
            _ => (1, 2),
        }
    }

    /// Bytes of a row of the box.
    fn row_bytes(&self) -> u64 {
        u64::from(self.map.row()) * u64::from(self.map.element.bits()) / 8
    }

    /// Bytes of shared memory.
    pub(crate) fn bytes(&self) -> u64 {
        match self.start {
            Start::Box { .. } => self.map.copied_bytes(),
            Start::Rows { .. } => 4 * self.row_bytes(),
        }
    }

    /// The address of the row of elements that has these coordinates, if it lies in the tensor. The first is not looked at.
    fn base(&self, at: &[i64; MAX_RANK]) -> Option<u64> {
        let mut base = self.map.address;
        let map = &self.map;
        for ((at, size), stride) in at[1..map.rank].iter().zip(&map.sizes[1..]).zip(&map.strides) {
            let index = u64::try_from(*at).ok().filter(|index| index < size)?;
            base = base.wrapping_add(index.wrapping_mul(*stride));
        }
        Some(base)
    }

    /// Calls `body` for each row of the box in the order in which they lie in shared memory, with its number and the
    /// address of the tensor's row; stops where it fails.
    fn each_row<E>(&self, mut body: impl FnMut(u64, Option<u64>) -> Result<(), E>) -> Result<(), E> {
        let map = &self.map;
        let (at, offsets) = match self.start {
            Start::Box { at, offsets } => (at.map(i64::from), offsets),
            Start::Rows { rows, .. } => {
                for (number, row) in (0..).zip(rows) {
                    body(number, self.base(&[0, row.into(), 0, 0, 0]))?;
                }
                return Ok(());
            }
        };
        match map.shape {
            Shape::Tile(extent) => {
                let count = |axis: usize| i64::from(extent[axis].div_ceil(map.steps[axis]));
                let rows: i64 = (1..map.rank).map(count).product();
                for number in 0..rows {
                    let (mut rest, mut place) = (number, at);
                    for (axis, place) in place.iter_mut().enumerate().take(map.rank).skip(1) {
                        *place += rest % count(axis) * i64::from(map.steps[axis]);
                        rest /= count(axis);
                    }
                    body(number as u64, self.base(&place))?;
                }
            }
            Shape::Columns {
                lower, upper, pixels, ..
            } => {
                // The filter's first pixel wanders through the box; the offsets say which of the filter's pixels is copied.
                let mut place = at;
                let last = map.rank - 1;
                for number in 0..pixels {
                    let mut pixel = place;
                    for axis in 1..last {
                        pixel[axis] += i64::from(offsets[axis - 1]);
                    }
                    body(number.into(), self.base(&pixel))?;
                    let mut axis = 1;
                    loop {
                        if axis == last {
                            place[last] += 1;
                            break;
                        }
                        place[axis] += i64::from(map.steps[axis]);
                        if place[axis] <= map.sizes[axis] as i64 - 1 + i64::from(upper[axis - 1]) {
                            break;
                        }
                        place[axis] = lower[axis - 1].into();
                        axis += 1;
                    }
                }
            }
        }
        Ok(())
    }

    /// Which elements of a row lie in the tensor, in units.
    fn row(&self, base: Option<u64>) -> Row {
        let (bytes, unit) = self.unit();
        let (Start::Box { at: [column, ..], .. } | Start::Rows { column, .. }) = self.start;
        let (column, length) = (i64::from(column) / unit, (self.row_bytes() / bytes) as i64);
        let (size, base) = match base {
            Some(base) => (self.map.sizes[0] as i64 / unit, base),
            None => (0, 0),
        };
        Row {
            first: (-column).clamp(0, length),
            last: (size - column).clamp(0, length),
            base: base.wrapping_add((column * bytes as i64).cast_unsigned()),
        }
    }

    /// Calls `body` with the address and the length of each part of global memory that the copy comes to; stops where it fails.
    pub(crate) fn each_span<E>(&self, mut body: impl FnMut(u64, u64) -> Result<(), E>) -> Result<(), E> {
        let (bytes, _) = self.unit();
        self.each_row(|_, base| {
            let row = self.row(base);
            if row.first >= row.last {
                return Ok(());
            }
            body(
                row.base.wrapping_add(row.first as u64 * bytes),
                (row.last - row.first) as u64 * bytes,
            )
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

    /// Moves the elements.
    ///
    /// # Safety
    /// The spans and the box passed the access check in this launch.
    pub(crate) unsafe fn run(&self) {
        const PIECE: u64 = 8;
        let (unit, _) = self.unit();
        let row_bytes = self.row_bytes();
        let done: Result<(), std::convert::Infallible> = self.each_row(|number, base| {
            let row = self.row(base);
            let (first, last) = (row.first as u64 * unit, row.last as u64 * unit);
            let mut offset = 0;
            while offset < row_bytes {
                // Sixteen bytes at once, unless these are parted.
                let piece = if self.map.atom == 2 { PIECE } else { 2 * PIECE };
                let end = (offset + piece).min(row_bytes);
                let place = self.place(number * row_bytes + offset);
                let (from, to) = (
                    first.clamp(offset, end),
                    last.clamp(offset, end).max(first.clamp(offset, end)),
                );
                // SAFETY: as the caller promises.
                unsafe {
                    self.move_piece(
                        row.base.wrapping_add(from),
                        (place + (from - offset), to - from),
                        (place, end - offset),
                    );
                }
                offset = end;
            }
            Ok(())
        });
        match done {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    /// Moves a part of a piece, whose other elements lie outside of the tensor.
    unsafe fn move_piece(&self, global: u64, (shared, bytes): (u64, u64), (piece, length): (u64, u64)) {
        let (unit, _) = self.unit();
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

/// Writes what an element outside of a tensor reads as.
unsafe fn fill(element: TensorElement, nan: bool, to: u64, bytes: u64) {
    let nan = nan && element.is_float();
    // SAFETY: as the caller of `run` promises.
    unsafe {
        match bytes {
            1 => u8::write(to, 0),
            2 => u16::write(to, if nan { 0x7fff } else { 0 }),
            4 => u32::write(to, if nan { 0x7fff_ffff } else { 0 }),
            _ => u64::write(to, if nan { 0x7fff_ffff_ffff_ffff } else { 0 }),
        }
    }
}

/// Rounds numbers to `tf32`, and turns subnormal ones to zero, if the type asks for it.
unsafe fn convert(element: TensorElement, at: u64, bytes: u64) {
    let (rounds, flushes) = match element {
        TensorElement::Tf32 => (true, false),
        TensorElement::Tf32Ftz => (true, true),
        TensorElement::F32Ftz => (false, true),
        _ => return,
    };
    for at in (at..at + bytes).step_by(4) {
        // SAFETY: as the caller of `run` promises.
        let mut x = unsafe { u32::read(at) };
        let magnitude = x & 0x7fff_ffff;
        if flushes && magnitude < 0x80_0000 {
            x &= 0x8000_0000;
        }
        if rounds && magnitude < 0x7f80_0000 {
            // To nearest, away from zero in the middle.
            x = x.wrapping_add(0x1000) & 0xffff_e000;
        }
        // SAFETY: as above.
        unsafe { u32::write(at, x) };
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
        let shape = Shape::Columns {
            lower: [-1, -1, 0],
            upper: [-1, -1, 0],
            channels: 4,
            pixels: 6,
        };
        let images = map(TensorElement::U32, &[4, 4, 3, 2], &[1, 1, 1, 1], shape);
        let pixel = |w: u64, h: u64, n: u64| ((w + 4 * h + 12 * n) * 16, 16);
        // The base goes from -1 to 2 in each row, and the middle of the filter with it.
        let expected = [
            pixel(2, 0, 0),
            pixel(3, 0, 0),
            pixel(0, 1, 0),
            pixel(1, 1, 0),
            pixel(2, 1, 0),
            pixel(3, 1, 0),
        ];
        assert_eq!(spans(images, &[0, 1, -1, 0], [1, 1, 0]), expected);
        // From the last row on to the next image; the filter's first pixel lies outside at its edges.
        let expected = [pixel(1, 1, 0), pixel(2, 1, 0)];
        assert_eq!(spans(images, &[0, 1, 1, 0], [0, 0, 0]), expected);
        let expected = [
            pixel(2, 2, 0),
            pixel(3, 2, 0),
            pixel(0, 0, 1),
            pixel(1, 0, 1),
            pixel(2, 0, 1),
            pixel(3, 0, 1),
        ];
        assert_eq!(spans(images, &[0, 1, 1, 0], [1, 1, 0]), expected);
        // Every second pixel.
        let images = map(TensorElement::U32, &[4, 4, 3, 2], &[1, 2, 2, 1], shape);
        let expected = [
            pixel(0, 0, 0),
            pixel(2, 0, 0),
            pixel(0, 2, 0),
            pixel(2, 2, 0),
            pixel(0, 0, 1),
            pixel(2, 0, 1),
        ];
        assert_eq!(spans(images, &[0, -1, -1, 0], [1, 1, 0]), expected);
    }

    #[test]
    fn pieces_are_swizzled_by_their_rows() {
        let place = |swizzle, atom, offset| {
            let mut map = map(TensorElement::U32, &[8, 5], &[1, 1], Shape::Tile([4, 3, 1, 1, 1]));
            (map.swizzle, map.atom) = (swizzle, atom);
            let copy = TensorCopy {
                map,
                start: Start::Rows {
                    column: 0,
                    rows: [0; 4],
                },
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

    #[test]
    fn numbers_are_converted_on_their_way() {
        let of = |element, bits: u32| {
            let mut x = bits;
            // SAFETY: the variable is alive.
            unsafe { convert(element, (&raw mut x) as u64, 4) };
            x
        };
        assert_eq!(of(TensorElement::F32, 0x0000_1234), 0x0000_1234);
        assert_eq!(of(TensorElement::F32Ftz, 0x8000_1234), 0x8000_0000);
        assert_eq!(of(TensorElement::Tf32, 0x3f80_1000), 0x3f80_2000);
        assert_eq!(of(TensorElement::Tf32, 0x3f80_0fff), 0x3f80_0000);
        assert_eq!(of(TensorElement::Tf32, 0x7fc0_1234), 0x7fc0_1234);
        assert_eq!(of(TensorElement::Tf32Ftz, 0x0000_1fff), 0);
    }
}
