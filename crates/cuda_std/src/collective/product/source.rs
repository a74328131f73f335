//! How tiles of an operand come to shared memory: asynchronous copies of each thread, in an order that suits the strides.

use crate::array::strided::View;
use crate::collective::mma::unrolled;
use crate::device::intrinsics;
use crate::number::vector::Vector4;

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
    /// The calling thread's index.
    pub(super) thread: usize,
}

/// The direction in which neighbouring threads copy.
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
    /// Threads of the block, which all copy.
    const THREADS: usize;
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
    /// Whether elements can be copied one by one, as `cp.async` does from 4 bytes on.
    const ONE_BY_ONE: bool = size_of::<Self::Element>() >= 4;
    /// Whether terms that lie one after the other in the operand are [turned](Source::turn): in the tiles the lines do.
    const TURNS: bool = Self::LINE == 0 && size_of::<Self::Element>() == 4;
    /// Elements behind the tile, where they are until they are turned.
    const UNTURNED: usize = if Self::TURNS { Self::LINES * Self::DEPTH } else { 0 };
}

/// How a [plain](Source::plain) operand is copied: along the terms of lines, or along the lines of terms.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Along {
    Terms,
    Lines,
}

impl<F: Form> Source<F> {
    /// The lines from `first` on of a matrix of a batch, `[batch, lines, terms]`.
    #[inline(always)]
    pub(super) fn new(view: &View<'_, F::Element, 3>, lines: usize, layer: u32, first: u32, thread: usize) -> Self {
        let ((start, dimensions), inner) = (view.parts(), 3 - lines);
        let [length, terms] = [lines, inner].map(|axis| dimensions.lengths[axis]);
        let [stride, step] = [lines, inner].map(|axis| dimensions.strides[axis] as isize);
        let offset =
            i64::from(layer as i32) * i64::from(dimensions.strides[0]) + i64::from(first as i32) * stride as i64;
        let start = start.wrapping_offset(offset as isize);
        assert!(intrinsics::is_global(start.cast()), "the operands of a product are in global memory");
        let is_there = layer < dimensions.lengths[0];
        let vector = 16 / size_of::<F::Element>() as isize;
        let is_aligned = start.addr().is_multiple_of(16);
        // The stride of an axis of one element is 0.
        let order = if (F::LINE > 0 || F::TURNS) && (step == 1 || terms <= 1) && stride % vector == 0 && is_aligned {
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
            thread: thread % F::THREADS,
        }
    }

    /// How tiles whose terms are all there are copied by [`fetch_plain`](Self::fetch_plain), if their lines are all there as well, and
    /// lie in one of the two usual ways.
    #[inline(always)]
    pub(super) fn plain(&self) -> Option<Along> {
        let whole = self.lines >= F::LINES as u32;
        match self.order {
            Order::TermVectors if whole => Some(Along::Terms),
            Order::LineVectors if F::TERM > 0 && whole => Some(Along::Lines),
            _ => None,
        }
    }

    /// Skips this many complete tiles.
    #[inline(always)]
    pub(super) fn skip(&mut self, tiles: u32) {
        let terms = tiles * F::DEPTH as u32;
        self.next = self.next.wrapping_offset(terms as isize * self.inner);
        self.terms -= terms;
    }

    /// Makes a [plain](Self::plain) operand ready for [`fetch_plain`](Self::fetch_plain): from here on the next element is the first
    /// that the calling thread copies.
    #[inline(always)]
    pub(super) fn begin_plain<const TERMS: bool>(&mut self) {
        let [line, term] = const { TiledCopy::plain::<F>(TERMS) }.own(self.thread);
        let [stride, inner] = self.plain_strides::<TERMS>();
        self.next = self.next.wrapping_offset(line as isize * stride + term as isize * inner);
    }

    /// The distances of a plain operand's lines and terms, one of which is 1.
    #[inline(always)]
    fn plain_strides<const TERMS: bool>(&self) -> [isize; 2] {
        if TERMS { [self.stride, 1] } else { [1, self.inner] }
    }

    /// Starts to copy the next tile of a [plain](Self::plain) operand, and advances to the following tile unless
    /// `is_last`. The function is branch-free, so that copies and multiplications form one basic block.
    ///
    /// # Safety
    /// As for [`fetch`](Self::fetch); [`plain`](Self::plain) returned `TERMS`, for which
    /// [`begin_plain`](Self::begin_plain) prepared the operand, and all terms of the tile exist.
    #[inline(always)]
    pub(super) unsafe fn fetch_plain<const TERMS: bool>(&mut self, tile: *mut F::Element, is_last: bool) {
        let tiled = const { TiledCopy::plain::<F>(TERMS) };
        let [stride, inner] = self.plain_strides::<TERMS>();
        let (to, to_step) = if TERMS && F::TURNS {
            // The thread reads its copies from here in `read_unturned`.
            (F::LENGTH + self.thread * VECTOR, F::THREADS * VECTOR)
        } else {
            let in_lines = TERMS && F::LINE > 0;
            (place::<F>(tiled.own(self.thread), in_lines), place::<F>(tiled.step, in_lines))
        };
        let from_step = tiled.step[0] as isize * stride + tiled.step[1] as isize * inner;
        for_each(tiled.passes, |pass| {
            let to = tile.wrapping_add(to + pass * to_step);
            let from = self.next.wrapping_offset(pass as isize * from_step);
            // SAFETY: elements of the operand, in global memory; the caller's for the destination. Both are aligned to 16 bytes.
            unsafe { intrinsics::cp_async_16(to.cast(), from.cast()) };
        });
        let step = if is_last { 0 } else { F::DEPTH as isize * inner };
        self.next = self.next.wrapping_offset(step);
    }

    /// Reads what the calling thread has copied behind a tile, some terms of some neighbouring lines.
    ///
    /// # Safety
    /// As for [`fetch_plain`](Self::fetch_plain) of a form that [`TURNS`](Form::TURNS), along terms. The thread has waited for
    /// its copies.
    #[inline(always)]
    pub(super) unsafe fn read_unturned(&self, tile: *const F::Element) -> Unturned<F::Element> {
        let copied = tile.wrapping_add(F::LENGTH).cast::<Vector4<F::Element>>();
        let passes = const { TiledCopy::plain::<F>(true).passes };
        let read = |pass: usize| {
            let pass = if pass < passes { pass } else { 0 };
            let place = self.thread + pass * F::THREADS;
            // SAFETY: what the thread has copied in this pass; the caller's.
            unsafe { *copied.wrapping_add(place) }
        };
        Unturned([read(0), read(1), read(2), read(3)])
    }

    /// Writes what was read to the tile: the neighbouring lines of each of the terms.
    ///
    /// # Safety
    /// As for [`read_unturned`](Self::read_unturned).
    #[inline(always)]
    pub(super) unsafe fn turn(&self, tile: *mut F::Element, Unturned(lines): &Unturned<F::Element>) {
        let tiled = const { TiledCopy::plain::<F>(true) };
        let [line, term] = tiled.own(self.thread);
        let to = tile.wrapping_add(term * F::TERM + line);
        unrolled::<VECTOR>(|i| {
            let to = to.wrapping_add(i * F::TERM);
            // SAFETY: elements of the same lines and terms, which no other thread writes. The vectors are aligned: the
            // first line is a multiple of `passes`, the number of neighbouring lines, and `TERM` is a multiple of 4.
            unsafe {
                match tiled.passes {
                    4 => to.cast::<Vector4<F::Element>>().write(Vector4([
                        lines[0][i],
                        lines[1][i],
                        lines[2][i],
                        lines[3][i],
                    ])),
                    2 => to.cast::<Pair<F::Element>>().write(Pair([lines[0][i], lines[1][i]])),
                    _ => to.write(lines[0][i]),
                }
            }
        });
    }

    /// Starts to copy the next tile of any operand. In tiles of elements that can be copied one by one, the lines of a term lie
    /// one after the other.
    ///
    /// # Safety
    /// At `tile` there are the elements of a tile in shared memory, aligned to 16 bytes, of which the calling
    /// thread alone uses those that it copies, until it has waited for them and met the others. All threads of a block of
    /// [`Form::THREADS`] call this, and no others.
    #[inline(always)]
    pub(super) unsafe fn fetch(&mut self, tile: *mut F::Element) {
        // SAFETY: the caller's. Each tiled copy is a bijection of threads and passes to the elements of a tile.
        unsafe {
            match self.order {
                Order::TermVectors if !F::ONE_BY_ONE => self.copy::<TERM_VECTORS>(tile),
                Order::TermVectors | Order::Terms if F::ONE_BY_ONE => self.copy::<SINGLE_TERMS>(tile),
                Order::LineVectors | Order::Lines if F::ONE_BY_ONE => self.copy::<SINGLE_LINES>(tile),
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
        let tiled = const { TiledCopy::new(ORDER, F::THREADS, [F::LINES, F::DEPTH], size_of::<F::Element>()) };
        let in_lines = ORDER == TERM_VECTORS;
        let [line, term] = tiled.own(self.thread);
        let to = tile.wrapping_add(place::<F>([line, term], in_lines));
        let from = self.next.wrapping_offset(line as isize * self.stride + term as isize * self.inner);
        let step = tiled.step[0] as isize * self.stride + tiled.step[1] as isize * self.inner;
        for_each(tiled.passes, |pass| {
            let to = to.wrapping_add(pass * place::<F>(tiled.step, in_lines));
            let from = from.wrapping_offset(pass as isize * step);
            // Remaining elements along their direction; in the other direction, whether the line or term exists.
            let left = |all: u32, at: usize| all.saturating_sub(at as u32);
            let line = left(self.lines, line + pass * tiled.step[0]);
            let term = left(self.terms, term + pass * tiled.step[1]);
            let (along, across) = if tiled.along_terms { (term, line) } else { (line, term) };
            let bytes = along.saturating_mul(size_of::<F::Element>() as u32).min(tiled.width as u32);
            let bytes = if across == 0 { 0 } else { bytes };
            // SAFETY: elements of the operand, as many as there are, in global memory; the caller's for the destination. Both are
            // aligned to an element, and for vectors to 16 bytes. With `bytes` of 0, nothing is read.
            unsafe { copy_of(to.cast(), from.cast(), tiled.width, bytes) };
        });
    }
}

/// Where an element is in a tile.
#[inline(always)]
fn place<F: Form>([line, term]: [usize; 2], in_lines: bool) -> usize {
    if in_lines { line * F::LINE + term } else { term * F::TERM + line }
}

const TERM_VECTORS: u8 = 0;
const LINE_VECTORS: u8 = 1;
const SINGLE_TERMS: u8 = 2;
const SINGLE_LINES: u8 = 3;
const TURNED: u8 = 4;

/// Elements of 4 bytes in 16.
const VECTOR: usize = 4;

/// Terms of neighbouring lines before they are turned, one vector for each pass.
pub(super) struct Unturned<T>([Vector4<T>; 4]);

/// Two elements of 4 bytes that are written with one instruction.
#[repr(C, align(8))]
struct Pair<T>([T; 2]);

/// The elements of a tile that each thread copies: what `TiledCopy` is in CUTLASS.
#[derive(Clone, Copy)]
struct TiledCopy {
    threads: usize,
    /// Threads that are side by side along terms, or along lines, and how many elements each has there.
    side: usize,
    elements: usize,
    along_terms: bool,
    is_turned: bool,
    /// Lines and terms from one pass to the next.
    step: [usize; 2],
    passes: usize,
    /// Bytes of a copy.
    width: usize,
}

impl TiledCopy {
    const fn new(order: u8, threads: usize, [lines, terms]: [usize; 2], size: usize) -> Self {
        let is_single = order == SINGLE_TERMS || order == SINGLE_LINES;
        let elements = if is_single { 1 } else { 16 / size };
        let along_terms = order == TERM_VECTORS || order == SINGLE_TERMS || order == TURNED;
        let side = if along_terms { terms } else { lines } / elements;
        assert!(threads.is_multiple_of(side), "whole lines or terms in a pass");
        let (across, passes) = (threads / side, lines * terms / (threads * elements));
        Self {
            threads,
            side,
            elements,
            along_terms,
            is_turned: order == TURNED,
            step: if order == TURNED {
                [1, 0]
            } else if along_terms {
                [across, 0]
            } else {
                [0, across]
            },
            passes,
            width: elements * size,
        }
    }

    /// The copy pattern of plain operands, along the terms or not.
    const fn plain<F: Form>(along_terms: bool) -> Self {
        let order = match (along_terms, F::TURNS) {
            (false, _) => LINE_VECTORS,
            (true, false) => TERM_VECTORS,
            (true, true) => TURNED,
        };
        let tiled = Self::new(order, F::THREADS, [F::LINES, F::DEPTH], size_of::<F::Element>());
        assert!(!tiled.is_turned || matches!(tiled.passes, 1 | 2 | 4) && F::TERM.is_multiple_of(VECTOR));
        tiled
    }

    /// Line and term of a thread's first element.
    #[inline(always)]
    fn own(&self, thread: usize) -> [usize; 2] {
        if self.is_turned {
            // Two neighbouring threads copy 32 bytes of a line, the unit of caches, and 16 of them write to all memory banks.
            let (pair, groups) = (thread / 2, self.threads / self.side);
            let term = thread % 2 + pair / groups * 2;
            return [pair % groups * self.passes, term * self.elements];
        }
        let (along, across) = (thread % self.side * self.elements, thread / self.side);
        if self.along_terms { [across, along] } else { [along, across] }
    }
}

#[inline(always)]
fn for_each(passes: usize, mut work: impl FnMut(usize)) {
    let mut pass = 0;
    while pass < passes {
        work(pass);
        pass += 1;
    }
}

#[cold]
fn not_aligned() -> ! {
    panic!("rows of operands of 8 and 16 bits are aligned to 16 bytes, and their elements lie one after the other")
}

/// # Safety
/// The conditions of `cp.async` with `width` bytes to write, `bytes` of which are read.
#[inline(always)]
unsafe fn copy_of(to: *mut u8, from: *const u8, width: usize, bytes: u32) {
    // SAFETY: the caller's.
    unsafe {
        match width {
            4 => intrinsics::cp_async_4_of(to, from, bytes),
            8 => intrinsics::cp_async_8_of(to, from, bytes),
            _ => intrinsics::cp_async_16_of(to, from, bytes),
        }
    }
}
