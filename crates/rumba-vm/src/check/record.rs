//! A record of an access by a warp to the 32 bytes of a cell: which lanes, which bytes, how, and when.
//!
//! [`crate::check::cells`] keeps the records.

use crate::base::lanes::{LANES, lanes_of};
use crate::base::report::AccessKind;
use crate::check::clock::{Thread, VectorClock};
use crate::check::launches::Launches;
use crate::check::order::{Order, Scope, Semantics};
use crate::check::proxy::{AGENT, Proxy};

/// Bytes of memory per cell.
pub(crate) const CELL: u64 = 32;

/// Words of a cell. A word is what one lane accesses at the most often.
pub(super) const WORDS: usize = 8;
pub(super) const WORD: u32 = 4;

/// An access of one thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadAccess {
    pub(crate) thread: Thread,
    pub(crate) bytes: u64,
    pub(crate) kind: AccessKind,
    /// The instruction.
    pub(crate) source: u32,
    /// The kind of asynchronous operation that makes the access, unless the thread makes it itself.
    pub(crate) asynchronous: Option<Asynchronous>,
}

/// The kinds of asynchronous operations that access memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asynchronous {
    Copy,
    /// A copy that writes global memory.
    Store,
    Product,
    /// A load from tensor memory, a store to it, or a product or copy there.
    TensorLoad,
    TensorStore,
    Tensor,
}

impl Asynchronous {
    /// Whether it accesses tensor memory.
    pub(crate) fn is_of_tensor(self) -> bool {
        matches!(self, Self::TensorLoad | Self::TensorStore | Self::Tensor)
    }

    /// Describes an access of the operation.
    pub(crate) fn describe(self, kind: AccessKind, space: &str) -> String {
        let what = match self {
            Self::Copy | Self::Store => "asynchronous copy",
            Self::Product => "product",
            Self::TensorLoad => "load",
            Self::TensorStore => "store",
            Self::Tensor => "product or copy",
        };
        match kind {
            AccessKind::Read => format!("{what} that reads {space} memory, begun"),
            AccessKind::Write | AccessKind::Atomic => format!("{what} that writes {space} memory, begun"),
        }
    }
}

/// Two accesses that nothing orders, or that are not in the order that they should be in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conflict {
    pub(crate) touch: ThreadAccess,
    pub(crate) earlier: ThreadAccess,
    /// For a lost update, the load of the access and the load of the earlier access, as far as these are updates.
    pub(crate) loads: [Option<ThreadAccess>; 2],
    /// The first byte that both touch.
    pub(crate) address: u64,
    pub(crate) kind: ConflictKind,
}

/// The kinds of conflicts between two accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConflictKind {
    /// They race.
    Race,
    /// They race although both are atomic: they are not for each other.
    Scoped,
    /// Nothing orders them, and both are volatile.
    Volatile,
    /// The later one may not see the earlier one, in whatever order they are.
    Stale,
    /// One access stores a value computed from an earlier value, which the other access has replaced meanwhile.
    LostUpdate {
        /// Whether nothing is lost if both write the same.
        is_idempotent: bool,
    },
    /// They are in order, but made by different proxies, and no fence of this one is between them.
    Unfenced(Proxy),
}

/// An access by lanes of a warp to bytes of a cell.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Record {
    /// A byte for each word: in its lower five bits the lane, above them how far behind `source` its instruction is. Or,
    /// if several lanes access the same bytes, their mask, then four bits for each word of the latter. In halves, so that
    /// nothing is between the fields.
    lanes: [u32; 2],
    pub(crate) block: u32,
    pub(crate) epoch: u32,
    /// The first of its instructions, which follow each other closely.
    pub(crate) source: u32,
    /// The mask of bytes in the cell.
    pub(super) bytes: u32,
    pub(crate) warp: u8,
    /// Kind, semantics, scope, and [`SET`].
    flags: u8,
    /// Logarithm of the bytes of a lane's whole access.
    width: u8,
    unused: u8,
}

/// In [`Record::flags`]: `lanes` is a mask.
const SET: u8 = 0x80;
const KIND: u8 = 3;
const SEMANTICS: u8 = 0x1c;
const VOLATILE: u8 = {
    let volatile = Order { semantics: Semantics::Volatile, scope: Scope::Block };
    volatile.packed() << 2
};

impl Record {
    /// A record of no bytes.
    pub(crate) fn new(
        block: u32,
        warp: u8,
        epoch: u32,
        source: u32,
        (bytes, kind, order): (u64, AccessKind, Order),
    ) -> Self {
        let kind = match kind {
            AccessKind::Read => 0,
            AccessKind::Write => 1,
            AccessKind::Atomic => 2,
        };
        let width = bytes.max(1).next_power_of_two().trailing_zeros() as u8;
        Self::of_flags((block, warp, epoch), source, (kind | order.packed() << 2, width))
    }

    /// A record of no bytes, with the flags and the width of another one.
    #[inline(always)]
    pub(super) fn of_flags((block, warp, epoch): (u32, u8, u32), source: u32, (flags, width): (u8, u8)) -> Self {
        Self { lanes: [0; 2], block, epoch, source, bytes: 0, warp, flags, width, unused: 0 }
    }

    /// Kind and order, and the width of a lane's access.
    #[inline(always)]
    pub(super) fn flags(&self) -> (u8, u8) {
        (self.flags, self.width)
    }

    /// The same access, to bytes that each lane of a mask accesses.
    pub(crate) fn by_set(self, bytes: u32, lanes: u32) -> Self {
        let (lanes, flags) = ([lanes, 0], self.flags | SET);
        Self { lanes, bytes, flags, ..self }
    }

    /// The same access, to bytes of words that one lane each accesses.
    pub(crate) fn by_word(self, bytes: u32, lanes: u64) -> Self {
        let (lanes, flags) = ([lanes as u32, (lanes >> 32) as u32], self.flags & !SET);
        Self { lanes, bytes, flags, ..self }
    }

    fn kind(&self) -> AccessKind {
        match self.flags & KIND {
            0 => AccessKind::Read,
            1 => AccessKind::Write,
            _ => AccessKind::Atomic,
        }
    }

    pub(super) fn order(&self) -> Order {
        Order::from_packed(self.flags >> 2 & 0x1f)
    }

    #[inline(always)]
    pub(super) fn is_strong(&self) -> bool {
        const PLAIN: [u8; 2] = [Order::WEAK.packed() << 2, Order::NON_COHERENT.packed() << 2];
        !PLAIN.contains(&(self.flags & SEMANTICS))
    }

    fn is_volatile(&self) -> bool {
        self.flags & SEMANTICS == VOLATILE
    }

    /// The kind of conflict of two unordered accesses; none if each is atomic for the other (morally strong; manual,
    /// section 8.7).
    pub(super) fn conflict_with(&self, later: &Self, launches: &Launches) -> Option<ConflictKind> {
        if !self.is_strong() || !later.is_strong() {
            return Some(ConflictKind::Race);
        }
        let scope = self.order().scope.min(later.order().scope);
        if !launches.includes(scope, self.block, later.block) {
            return Some(ConflictKind::Scoped);
        }
        (self.is_volatile() && later.is_volatile()).then_some(ConflictKind::Volatile)
    }

    fn table(&self) -> u64 {
        u64::from(self.lanes[0]) | u64::from(self.lanes[1]) << 32
    }

    /// The lanes that access a word.
    pub(super) fn lanes_at(&self, word: usize) -> u32 {
        if self.flags & SET != 0 { self.lanes[0] } else { 1 << (self.table() >> (8 * word) & 31) }
    }

    pub(super) fn thread(&self, lane: u32) -> Thread {
        Thread { block: self.block, index: (u32::from(self.warp) * LANES as u32 + lane) as u16 }
    }

    /// The access of a lane to a word.
    pub(super) fn touch(&self, lane: u32, word: usize) -> ThreadAccess {
        let behind = if self.flags & SET != 0 {
            self.lanes[1] >> (4 * word) & 15
        } else {
            (self.table() >> (8 * word + 5)) as u32 & 7
        };
        ThreadAccess {
            thread: self.thread(lane),
            bytes: 1 << self.width,
            kind: self.kind(),
            source: self.source + behind,
            asynchronous: None,
        }
    }

    /// Whether the access is a non-coherent load, which need not see writes of the running kernel.
    #[inline(always)]
    pub(super) fn is_non_coherent(&self) -> bool {
        self.flags & (SEMANTICS | KIND) == Order::NON_COHERENT.packed() << 2
    }

    /// Whether an earlier access need not be remembered, now that this one is.
    #[inline(always)]
    pub(super) fn supersedes(&self, earlier: &Self, view: &View<'_>) -> bool {
        earlier.bytes & !self.bytes == 0
            && (self.is_read() || !earlier.is_non_coherent())
            && self.hides(earlier)
            && (self.repeats(earlier) || earlier.block == self.block && earlier.epoch <= view.block)
    }

    /// Takes in another access to other words by the same warp in the same epoch, if its instruction is close behind.
    #[inline(always)]
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        self.block == other.block && self.epoch == other.epoch && self.warp == other.warp && self.merge_words(other)
    }

    #[inline(never)]
    fn merge_words(&mut self, other: &Self) -> bool {
        let (words, others) = (words_of(self.bytes), words_of(other.bytes));
        let behind = other.source.wrapping_sub(self.source);
        if (self.flags, self.width) != (other.flags, other.width) || words & others != 0 || words == 0 {
            return false;
        }
        if self.flags & SET != 0 {
            if behind > 15 || self.lanes[0] != other.lanes[0] {
                return false;
            }
            self.lanes[1] = self.lanes[1] & bytes_of(words) | (behind * 0x1111_1111) & bytes_of(others);
        } else {
            if behind > 7 {
                return false;
            }
            let lanes = other.table() | (u64::from(behind << 5) * 0x0101_0101_0101_0101);
            let table = self.table() & whole_bytes(words) | lanes & whole_bytes(others);
            self.lanes = [table as u32, (table >> 32) as u32];
        }
        self.bytes |= other.bytes;
        true
    }

    /// Whether what races with an earlier access that it knows of races with this one, too, if only one of the two only
    /// reads or both do: an atomic access races with less than others.
    #[inline(always)]
    pub(super) fn hides(&self, earlier: &Self) -> bool {
        !self.is_strong() || earlier.is_strong() && self.order().scope <= earlier.order().scope
    }

    /// Whether both belong to one instruction of one block in one epoch.
    #[inline(always)]
    pub(super) fn is_of_instruction(&self, other: &Self) -> bool {
        (self.source, self.epoch, self.block, self.flags, self.width)
            == (other.source, other.epoch, other.block, other.flags, other.width)
    }

    /// Whether both accesses are by the same lanes of the same warp, and each lane accesses the same bytes where both
    /// have any.
    #[inline(always)]
    pub(super) fn repeats(&self, earlier: &Self) -> bool {
        self.lanes == earlier.lanes
            && self.block == earlier.block
            && self.warp == earlier.warp
            && (self.flags ^ earlier.flags) & SET == 0
    }

    /// Whether one thread alone accesses a word, here and in another record.
    pub(super) fn is_of_one_thread(&self, other: &Self, word: usize) -> bool {
        let lanes = self.lanes_at(word);
        lanes.is_power_of_two() && (lanes, self.block, self.warp) == (other.lanes_at(word), other.block, other.warp)
    }

    /// The bytes of ordinary writes that a proxy does not know of.
    pub(super) fn unknown_to(&self, proxy: Proxy, overlap: u32, view: &View<'_>) -> u32 {
        if self.is_read() || self.block & AGENT != 0 {
            return 0;
        }
        let mut unknown = 0;
        for word in 0..WORDS {
            let bytes = bytes_of(1 << word) & overlap;
            let is_known = |lane: usize| {
                let Thread { block, index } = self.thread(lane as u32);
                let block = block | proxy as u32;
                view.known.epoch(Thread { block, index }) >= self.epoch
            };
            if bytes != 0 && !lanes_of(self.lanes_at(word)).all(is_known) {
                unknown |= bytes;
            }
        }
        unknown
    }

    /// Whether it only reads.
    #[inline(always)]
    pub(super) fn is_read(&self) -> bool {
        self.flags & KIND == 0
    }

    /// Kind, semantics and scope, in one.
    #[inline(always)]
    pub(super) fn nature(&self) -> u8 {
        self.flags & !SET
    }

    /// Whether accesses like this one never race with each other, if `whole` includes all threads that may make them.
    pub(super) fn is_harmless(&self, whole: Scope) -> bool {
        self.is_strong() && !self.is_volatile() && self.order().scope >= whole
    }

    /// The bytes of an overlap that are accessed in order: the later access knows of this one, or is by the same
    /// thread.
    #[inline(always)]
    pub(super) fn ordered_before(&self, later: &Self, overlap: u32, view: &View<'_>) -> u32 {
        if self.block == later.block && (self.epoch <= view.block || self.warp == later.warp && self.epoch <= view.warp)
        {
            return overlap;
        }
        self.ordered_by_thread(later, overlap, view)
    }

    #[inline(never)]
    fn ordered_by_thread(&self, later: &Self, overlap: u32, view: &View<'_>) -> u32 {
        let mut ordered = 0;
        // Asynchronous operations of a thread are not in its program order.
        if self.block == later.block && self.warp == later.warp && self.block & AGENT == 0 {
            if (self.flags | later.flags) & SET == 0 {
                ordered = equal_words(self.table(), later.table()) & overlap;
            } else {
                for word in 0..WORDS {
                    let (earlier, later) = (self.lanes_at(word), later.lanes_at(word));
                    if earlier == later && earlier.is_power_of_two() {
                        ordered |= bytes_of(1 << word) & overlap;
                    }
                }
            }
        }
        if ordered == overlap || view.plain {
            return ordered;
        }
        for word in 0..WORDS {
            let bytes = bytes_of(1 << word) & overlap & !ordered;
            if bytes != 0
                && lanes_of(self.lanes_at(word)).all(|lane| view.known.epoch(self.thread(lane as u32)) >= self.epoch)
            {
                ordered |= bytes;
            }
        }
        ordered
    }
}

/// The clock of lanes with the same past.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    /// The epoch of all threads of the own block, and of all of the own warp, that is known.
    pub(crate) block: u32,
    pub(crate) warp: u32,
    /// Whether nothing else is known.
    pub(crate) plain: bool,
    pub(crate) known: &'a VectorClock,
    /// The proxy that has to know of ordinary writes, if it is not that of ordinary accesses.
    pub(crate) proxy: Option<Proxy>,
}

/// The bytes of the words of a mask of words.
#[inline(always)]
pub(super) fn bytes_of(words: u32) -> u32 {
    let mut spread = words & 0xff;
    spread = (spread | spread << 12) & 0x000f_000f;
    spread = (spread | spread << 6) & 0x0303_0303;
    spread = (spread | spread << 3) & 0x1111_1111;
    spread * 15
}

/// The words that bytes of a cell lie in.
#[inline(always)]
pub(crate) fn words_of(bytes: u32) -> u32 {
    let any = (bytes | bytes >> 1 | bytes >> 2 | bytes >> 3) & 0x1111_1111;
    let pairs = (any | any >> 3) & 0x0303_0303;
    let fours = (pairs | pairs >> 6) & 0x000f_000f;
    (fours | fours >> 12) & 0xff
}

/// A byte of ones for each word of a mask.
#[inline(always)]
fn whole_bytes(words: u32) -> u64 {
    let mut spread = u64::from(words & 0xff);
    spread = (spread | spread << 28) & 0x0000_000f_0000_000f;
    spread = (spread | spread << 14) & 0x0003_0003_0003_0003;
    spread = (spread | spread << 7) & 0x0101_0101_0101_0101;
    spread * 255
}

/// The words in which two tables have the same lane, as bytes.
#[inline(always)]
fn equal_words(a: u64, b: u64) -> u32 {
    // Lanes are less than 128, so that the sums of bytes do not touch each other.
    let other = ((a ^ b) & 0x1f1f_1f1f_1f1f_1f1f) + 0x7f7f_7f7f_7f7f_7f7f;
    let equal = (!other & 0x8080_8080_8080_8080) >> 7;
    bytes_of((equal.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32)
}

/// A lane of each of two masks: different lanes, if possible.
pub(super) fn lanes_apart(mine: u32, others: u32) -> (u32, u32) {
    let lane = mine.trailing_zeros();
    match (others & !(1 << lane), mine & !(1 << lane)) {
        (0, 0) => (lane, lane),
        (0, rest) => (rest.trailing_zeros(), lane),
        (rest, _) => (lane, rest.trailing_zeros()),
    }
}
