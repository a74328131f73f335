//! Copies of device memory: what a launch changes can be found out and taken back.
//!
//! A snapshot holds the bytes of some ranges in pieces of a page. Pieces of zeros take no memory. What the ranges are for, and
//! who else may write to them, is not known here.

use std::collections::BTreeMap;
use std::io;
use std::slice;

use crate::mem::arena::Window;
use crate::mem::pages::Pages;

/// Bytes that are compared and copied at once.
const PIECE: usize = 4096;

/// A piece of zeros.
static ZEROS: [u8; PIECE] = [0; PIECE];

/// The contents of ranges of memory.
#[derive(Debug)]
pub(crate) struct Snapshot {
    windows: Vec<Window>,
    /// The contents, one range behind the other.
    held: Pages,
}

/// The contents of the pieces that differ from a snapshot, by their addresses.
pub(crate) type Changes = BTreeMap<u64, Box<[u8]>>;

/// A piece of a range.
#[derive(Clone, Copy)]
struct Piece {
    address: u64,
    bytes: usize,
    /// Its place in the snapshot.
    at: usize,
}

impl Snapshot {
    /// Copies the contents of ranges.
    ///
    /// # Errors
    /// If the system refuses memory.
    ///
    /// # Safety
    /// The ranges are readable memory, and nothing writes to them meanwhile.
    pub(crate) unsafe fn take(windows: Vec<Window>) -> io::Result<Self> {
        let bytes = windows.iter().map(|window| window.bytes()).sum();
        let snapshot = Self { windows, held: Pages::usable(bytes)? };
        for piece in snapshot.pieces() {
            // SAFETY: as the caller promises.
            let live = unsafe { piece.live() };
            if *live != ZEROS[..piece.bytes] {
                // SAFETY: the piece lies within the pages, which are this function's own.
                unsafe { std::ptr::copy_nonoverlapping(live.as_ptr(), snapshot.place(piece), piece.bytes) };
            }
        }
        Ok(snapshot)
    }

    /// The ranges.
    pub(crate) fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// Writes the contents back to memory. Returns the changed contents that it replaced.
    ///
    /// # Safety
    /// The ranges are still memory, writable where anything has changed, and nothing else uses them meanwhile.
    pub(crate) unsafe fn restore(&self) -> Changes {
        let mut changes = Changes::new();
        for piece in self.pieces() {
            // SAFETY: as the caller promises.
            let live = unsafe { piece.live() };
            let held = self.contents(piece);
            if live != held {
                changes.insert(piece.address, live.into());
                // SAFETY: as the caller promises; the reference to the live bytes is not used any more.
                unsafe { (piece.address as *mut u8).copy_from_nonoverlapping(held.as_ptr(), piece.bytes) };
            }
        }
        changes
    }

    /// The address of the first byte that differs from the snapshot with these changes.
    ///
    /// # Safety
    /// The ranges are readable memory, and nothing writes to them meanwhile.
    pub(crate) unsafe fn first_difference(&self, changes: &Changes) -> Option<u64> {
        self.pieces().find_map(|piece| {
            // SAFETY: as the caller promises.
            let live = unsafe { piece.live() };
            let expected = self.expected(piece, changes);
            if live == expected {
                return None;
            }
            let offset = live.iter().zip(expected).position(|(a, b)| a != b)?;
            Some(piece.address + offset as u64)
        })
    }

    /// A byte of the snapshot with these changes.
    pub(crate) fn byte(&self, changes: &Changes, address: u64) -> Option<u8> {
        let (window, at) = self.places().find(|(window, _)| window.contains(address))?;
        let offset = (address - window.start) as usize;
        let piece = Piece::of(window, at, offset / PIECE * PIECE);
        self.expected(piece, changes).get(offset % PIECE).copied()
    }

    /// The ranges, each with its place in the snapshot.
    fn places(&self) -> impl Iterator<Item = (Window, usize)> + '_ {
        let mut next = 0;
        self.windows.iter().map(move |window| {
            let at = next;
            next += window.bytes();
            (*window, at)
        })
    }

    fn pieces(&self) -> impl Iterator<Item = Piece> + '_ {
        self.places().flat_map(|(window, at)| {
            let offsets = (0..window.bytes()).step_by(PIECE);
            offsets.map(move |offset| Piece::of(window, at, offset))
        })
    }

    fn place(&self, piece: Piece) -> *mut u8 {
        self.held.base::<u8>().wrapping_add(piece.at)
    }

    fn contents(&self, piece: Piece) -> &[u8] {
        // SAFETY: the piece lies within the pages, which are written by `take` only.
        unsafe { slice::from_raw_parts(self.place(piece), piece.bytes) }
    }

    fn expected<'a>(&'a self, piece: Piece, changes: &'a Changes) -> &'a [u8] {
        match changes.get(&piece.address) {
            Some(changed) => changed,
            None => self.contents(piece),
        }
    }
}

impl Piece {
    /// The piece at an offset of a range that lies at some place in the snapshot.
    fn of(window: Window, at: usize, offset: usize) -> Self {
        Self { address: window.start + offset as u64, bytes: PIECE.min(window.bytes() - offset), at: at + offset }
    }

    /// The bytes in memory.
    ///
    /// # Safety
    /// The piece is readable memory, and nothing writes to it as long as the bytes are used.
    unsafe fn live<'a>(self) -> &'a [u8] {
        // SAFETY: as the caller promises.
        unsafe { slice::from_raw_parts(self.address as *const u8, self.bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::{PIECE, Snapshot, Window};

    fn window(of: &mut [u8]) -> Window {
        let start = of.as_mut_ptr().expose_provenance() as u64;
        Window { start, end: start + of.len() as u64 }
    }

    #[test]
    fn what_changed_is_taken_back_and_compared() {
        let (mut small, mut large) = (vec![1_u8; 7], vec![0_u8; 3 * PIECE + 5]);
        large[PIECE] = 9;
        let windows = vec![window(&mut small), window(&mut large)];
        let (low, high) = (windows[0].start, windows[1].start);
        // SAFETY: the vectors live, and are written here only.
        let put = |address: u64, value: u8| unsafe { (address as *mut u8).write(value) };
        // SAFETY: as above.
        let get = |address: u64| unsafe { (address as *const u8).read() };
        // SAFETY: as above.
        let snapshot = unsafe { Snapshot::take(windows) }.expect("there is memory");
        let write = |last: u8| {
            put(low + 6, 2);
            put(high + 3 * PIECE as u64 + 4, last);
        };
        write(7);
        // SAFETY: as above.
        let changes = unsafe { snapshot.restore() };
        assert_eq!(changes.keys().copied().collect::<Vec<_>>(), {
            let mut pieces = vec![low, high + 3 * PIECE as u64];
            pieces.sort_unstable();
            pieces
        });
        assert_eq!((get(low + 6), get(high + 3 * PIECE as u64 + 4)), (1, 0));
        // SAFETY: as above.
        let difference = || unsafe { snapshot.first_difference(&changes) };
        // Equal stores of both runs are no difference; a missing store is one, and so is a store of another value.
        assert_eq!(difference(), Some(low + 6));
        write(7);
        assert_eq!(difference(), None);
        write(8);
        assert_eq!(difference(), Some(high + 3 * PIECE as u64 + 4));
        assert_eq!(snapshot.byte(&changes, high + 3 * PIECE as u64 + 4), Some(7));
        assert_eq!(snapshot.byte(&changes, high + PIECE as u64), Some(9));
        assert_eq!(snapshot.byte(&changes, low), Some(1));
        assert_eq!(snapshot.byte(&changes, low + 7), None);
    }
}
