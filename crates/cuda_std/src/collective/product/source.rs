//! How tiles of an operand come to shared memory: asynchronous copies of each thread, in an order that suits the strides.

use crate::array::strided::View;
use crate::device::intrinsics;
use crate::device::thread::index_in_block;

/// Threads of a block.
pub(super) const BLOCK: usize = 256;

/// An operand of a tile of the product: lines (rows of the left operand, columns of the right one), of which tiles are taken one after
/// the other along the sum.
pub(super) struct Source<F: Form> {
    /// The first element of the next tile.
    next: *const F::Element,
    /// Elements from one line to the next, and from one term of the sum to the next.
    stride: isize,
    inner: isize,
    /// Lines and terms that are left. Beyond them are zeros.
    lines: u32,
    terms: u32,
    order: Order,
}

/// What neighbouring threads copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Neighbouring terms of a line, an element each.
    Terms,
    /// The same terms of neighbouring lines, an element each.
    Lines,
    /// Neighbouring terms of a line, 16 bytes each.
    TermVectors,
    /// The same terms of neighbouring lines, 16 bytes each.
    LineVectors,
}

/// A tile of an operand in shared memory.
pub trait Form {
    /// Its elements.
    type Element: Copy;
    /// Rows of the left operand, columns of the right one.
    const LINES: usize;
    /// Terms of the sum.
    const DEPTH: usize;
    /// Elements from one line to the next, where the terms of a line lie one after the other. 0: they never do.
    const LINE: usize;
    /// Elements from one term to the next, where the lines of a term lie one after the other. 0: they never do.
    const TERM: usize;
    /// Elements with the padding.
    const LENGTH: usize = {
        let (in_lines, in_terms) = (Self::LINE * Self::LINES, Self::TERM * Self::DEPTH);
        if in_lines > in_terms { in_lines } else { in_terms }
    };
}

impl<F: Form> Source<F> {
    /// The lines from `first` on of a matrix of a batch, `[batch, lines, terms]`.
    #[inline(always)]
    pub(super) fn new(view: &View<'_, F::Element, 3>, lines: usize, layer: u32, first: u32) -> Self {
        let ((start, dimensions), inner) = (view.parts(), 3 - lines);
        let [length, terms] = [lines, inner].map(|axis| dimensions.lengths[axis]);
        let [stride, step] = [lines, inner].map(|axis| dimensions.strides[axis] as isize);
        let offset =
            i64::from(layer as i32) * i64::from(dimensions.strides[0]) + i64::from(first as i32) * stride as i64;
        let start = start.wrapping_offset(offset as isize);
        assert!(
            intrinsics::is_global(start.cast()),
            "the operands of a product are in global memory"
        );
        let is_there = layer < dimensions.lengths[0];
        let vector = 16 / size_of::<F::Element>() as isize;
        let is_aligned = start.addr().is_multiple_of(16);
        // The stride of an axis of one element is 0.
        let order = if F::LINE > 0 && (step == 1 || terms <= 1) && stride % vector == 0 && is_aligned {
            Order::TermVectors
        } else if F::TERM > 0 && stride == 1 && step % vector == 0 && is_aligned {
            Order::LineVectors
        } else if step.unsigned_abs() < stride.unsigned_abs() {
            Order::Terms
        } else {
            Order::Lines
        };
        Self {
            next: start,
            stride,
            inner: step,
            lines: if is_there { length.saturating_sub(first) } else { 0 },
            terms,
            order,
        }
    }

    /// Whether the terms of a line lie one after the other in the tiles.
    #[inline(always)]
    pub(super) fn in_lines(&self) -> bool {
        in_lines::<F>(matches!(self.order, Order::TermVectors | Order::Terms))
    }

    /// Starts to copy the next tile.
    ///
    /// # Safety
    /// At `tile` there are the elements of a tile in shared memory, aligned to 16 bytes, of which the calling
    /// thread alone uses those that it copies, until it has waited for them and met the others. All threads of a block of [`BLOCK`]
    /// call this, and no others.
    #[inline(always)]
    pub(super) unsafe fn fetch(&mut self, tile: *mut F::Element) {
        // SAFETY: the caller's. Each way is a bijection of threads and passes to the elements of a tile.
        unsafe {
            match self.order {
                Order::TermVectors if F::LINE > 0 => self.copy::<TERM_VECTORS>(tile),
                Order::LineVectors if F::TERM > 0 => self.copy::<LINE_VECTORS>(tile),
                Order::Terms if size_of::<F::Element>() >= 4 => self.copy::<TERMS>(tile),
                Order::Lines if size_of::<F::Element>() >= 4 => self.copy::<LINES>(tile),
                _ => not_aligned(),
            }
        }
        self.next = self.next.wrapping_offset(F::DEPTH as isize * self.inner);
        self.terms = self.terms.saturating_sub(F::DEPTH as u32);
    }

    /// # Safety
    /// As for [`fetch`](Self::fetch).
    #[inline(always)]
    unsafe fn copy<const ORDER: u8>(&self, tile: *mut F::Element) {
        let way = const { Way::new(ORDER, [F::LINES, F::DEPTH], size_of::<F::Element>()) };
        let in_lines = in_lines::<F>(way.along_terms);
        let [line, term] = way.own();
        let place = |line: usize, term: usize| {
            if in_lines {
                line * F::LINE + term
            } else {
                term * F::TERM + line
            }
        };
        let to = tile.wrapping_add(place(line, term));
        let from = self
            .next
            .wrapping_offset(line as isize * self.stride + term as isize * self.inner);
        let step = way.step[0] as isize * self.stride + way.step[1] as isize * self.inner;
        if self.lines >= F::LINES as u32 && self.terms >= F::DEPTH as u32 {
            way.each(|pass| {
                let to = to.wrapping_add(pass * place(way.step[0], way.step[1]));
                // SAFETY: elements of the operand, in global memory; the caller's for the destination. Both are aligned to an
                // element, and for vectors to 16 bytes.
                unsafe {
                    copy(
                        to.cast(),
                        from.wrapping_offset(pass as isize * step).cast(),
                        way.width,
                        way.width as u32,
                    );
                };
            });
            return;
        }
        way.each(|pass| {
            let to = to.wrapping_add(pass * place(way.step[0], way.step[1]));
            // Of the line or the term that the elements lie along, how many are left; of the other, whether it is there.
            let left = |all: u32, at: usize| all.saturating_sub(at as u32);
            let line = left(self.lines, line + pass * way.step[0]);
            let term = left(self.terms, term + pass * way.step[1]);
            let (along, across) = if way.along_terms { (term, line) } else { (line, term) };
            let bytes = along
                .saturating_mul(size_of::<F::Element>() as u32)
                .min(way.width as u32);
            let bytes = if across == 0 { 0 } else { bytes };
            // SAFETY: as above, of as many elements as there are. If none is, nothing is read.
            unsafe {
                copy(
                    to.cast(),
                    from.wrapping_offset(pass as isize * step).cast(),
                    way.width,
                    bytes,
                );
            };
        });
    }
}

const TERM_VECTORS: u8 = 0;
const LINE_VECTORS: u8 = 1;
const TERMS: u8 = 2;
const LINES: u8 = 3;

/// Whether the terms of a line lie one after the other in tiles, where copies do or do not go along them.
#[inline(always)]
const fn in_lines<F: Form>(along_terms: bool) -> bool {
    F::TERM == 0 || F::LINE > 0 && along_terms
}

/// Which elements of a tile a thread copies.
#[derive(Clone, Copy)]
struct Way {
    /// Threads that are side by side along terms, or along lines, and how many elements each has there.
    side: usize,
    elements: usize,
    along_terms: bool,
    /// Lines and terms from one pass to the next.
    step: [usize; 2],
    passes: usize,
    /// Bytes of a copy.
    width: usize,
}

impl Way {
    const fn new(order: u8, [lines, terms]: [usize; 2], size: usize) -> Self {
        let elements = if order == TERM_VECTORS || order == LINE_VECTORS {
            16 / size
        } else {
            1
        };
        let along_terms = order == TERM_VECTORS || order == TERMS;
        let side = if along_terms { terms } else { lines } / elements;
        assert!(BLOCK.is_multiple_of(side), "whole lines or terms in a pass");
        let across = BLOCK / side;
        Self {
            side,
            elements,
            along_terms,
            step: if along_terms { [across, 0] } else { [0, across] },
            passes: lines * terms / (BLOCK * elements),
            width: elements * size,
        }
    }

    /// Line and term of the calling thread's first element.
    #[inline(always)]
    fn own(&self) -> [usize; 2] {
        let thread = index_in_block() as usize % BLOCK;
        let (along, across) = (thread % self.side * self.elements, thread / self.side);
        if self.along_terms {
            [across, along]
        } else {
            [along, across]
        }
    }

    #[inline(always)]
    fn each(&self, mut work: impl FnMut(usize)) {
        let mut pass = 0;
        while pass < self.passes {
            work(pass);
            pass += 1;
        }
    }
}

#[cold]
fn not_aligned() -> ! {
    panic!("rows of operands of 8 and 16 bits are aligned to 16 bytes, and their elements lie one after the other")
}

/// # Safety
/// As for `cp.async` of `width` bytes, of which `bytes` are read.
#[inline(always)]
unsafe fn copy(to: *mut u8, from: *const u8, width: usize, bytes: u32) {
    // SAFETY: the caller's.
    unsafe {
        match width {
            4 => intrinsics::cp_async_4_of(to, from, bytes),
            8 => intrinsics::cp_async_8_of(to, from, bytes),
            _ => intrinsics::cp_async_16_of(to, from, bytes),
        }
    }
}
