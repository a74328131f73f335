//! Copies to global memory that threads have begun and not waited for: what they will write, for races of which both sides
//! write the same. It does not look for races.

use rustc_hash::FxHashMap as HashMap;

use crate::check::clock::Thread;
use crate::check::record::CELL;
use crate::mem::atomic::Element;
use crate::mem::copies::Delivery;

/// The copies under way, by the thread that began them, with their numbers.
#[derive(Default)]
pub(super) struct Stores {
    under_way: HashMap<Thread, Vec<(u32, Delivery)>>,
}

impl Stores {
    /// A thread begins a copy.
    pub(super) fn begin(&mut self, thread: Thread, number: u32, delivery: Delivery) {
        self.under_way.entry(thread).or_default().push((number, delivery));
    }

    /// A copy of a thread has arrived: memory holds the bytes that it wrote.
    pub(super) fn arrive(&mut self, thread: Thread, number: u32) {
        if let Some(copies) = self.under_way.get_mut(&thread) {
            copies.retain(|(other, _)| *other != number);
        }
    }

    /// A block has ended.
    pub(super) fn end(&mut self, block: u32) {
        self.under_way.retain(|thread, _| thread.block != block);
    }

    /// Whether the copy that a thread has begun last writes to the cell of an address what an earlier thread's copies write
    /// or have written there.
    pub(super) fn rewrites(&self, thread: Thread, earlier: Thread, address: u64) -> bool {
        let Some(((number, mine), _)) = self.under_way.get(&thread).and_then(|copies| copies.split_last()) else {
            return false;
        };
        let others = self.under_way.get(&earlier).into_iter().flatten();
        let others: Vec<&Delivery> =
            others.filter(|(other, _)| other != number).map(|(_, delivery)| delivery).collect();
        let start = address / CELL * CELL;
        (start..start + CELL).all(|byte| {
            let Some(from) = mine.source_of(byte) else { return true };
            let mut sources = others.iter().filter_map(|other| other.source_of(byte)).peekable();
            // SAFETY: both ends of a copy under way passed the access check in this launch.
            let same = |other: u64| unsafe { u8::read(from) == u8::read(other) };
            match sources.peek() {
                None => same(byte),
                Some(_) => sources.all(same),
            }
        })
    }
}
