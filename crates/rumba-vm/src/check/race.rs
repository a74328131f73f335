//! Data races by happens-before, in shared and in global memory, within a launch.
//!
//! Two accesses to a byte race if one of them writes, they are not both atomic for each other, and nothing orders them:
//! no barrier, no `bar.warp.sync`, no release that an acquire has seen (manual, chapter 8, "Memory Consistency Model").
//! The lockstep of a warp orders nothing. What threads know of each other is in [`super::clock`]; who tells this what
//! happens is [`super::monitor`].
//!
//! Copies that are under way (`cp.async`) count as accesses of the thread that begins them, when it begins them.

use std::sync::Arc;

use rustc_hash::FxHashMap as HashMap;
use smallvec::SmallVec;

use crate::check::clock::{Known, Thread};
use crate::check::order::{Order, Scope};
use crate::fault::AccessKind;

/// An access of one thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Touch {
    pub(crate) thread: Thread,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) kind: AccessKind,
    pub(crate) order: Order,
    /// The instruction.
    pub(crate) source: u32,
}

/// An earlier access that a later one did not know of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// Who made it.
    pub(crate) thread: Thread,
    pub(crate) kind: AccessKind,
    pub(crate) bytes: u64,
    pub(crate) source: u32,
    /// The first byte that both touch.
    pub(crate) address: u64,
    /// Whether both are atomic, but not for each other.
    pub(crate) scoped: bool,
}

/// What is remembered of an access to a word.
#[derive(Debug, Clone, Copy)]
struct Record {
    thread: Thread,
    epoch: u32,
    source: u32,
    kind: AccessKind,
    order: Order,
    /// Which bytes of the word.
    bytes: u8,
    /// Bytes of the whole access.
    width: u64,
}

/// Bytes that are remembered together.
const WORD: u64 = 4;
const WORDS_PER_PAGE: u64 = 1024;
/// Accesses to a word that are remembered; of more, the oldest reads are forgotten.
const RECORDS: usize = 64;

/// The accesses to a word; most words have one.
type Word = SmallVec<[Record; 1]>;

/// What a release at an address offers to those who acquire there.
struct Published {
    known: Arc<Known>,
    scope: Scope,
    by: Thread,
}

/// What one thread knows.
#[derive(Clone)]
struct State {
    epoch: u32,
    known: Arc<Known>,
    /// What the last fence published, and for whom: later atomic writes offer it.
    fenced: Option<(Arc<Known>, Scope)>,
    /// What atomic reads have seen: the next fence takes it in.
    seen: Option<Arc<Known>>,
}

impl State {
    fn fresh() -> Self {
        Self {
            epoch: 1,
            known: Arc::default(),
            fenced: None,
            seen: None,
        }
    }

    /// What the thread knows, with its own past; later accesses belong to a new epoch.
    fn publish(&mut self, thread: Thread) -> Arc<Known> {
        let mut known = Known::clone(&self.known);
        known.learn(thread, self.epoch);
        self.epoch += 1;
        Arc::new(known)
    }

    fn take_in(&mut self, known: &Arc<Known>) {
        if !Arc::ptr_eq(&self.known, known) {
            Arc::make_mut(&mut self.known).join(known);
        }
    }
}

/// Where threads meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Meeting {
    /// A barrier of a block.
    Block { block: u32, id: u8, phase: u32 },
    /// The barrier of a cluster, by its first block.
    Cluster { first: u32, phase: u32 },
    /// The barrier of the grid.
    Grid { phase: u32 },
}

impl Meeting {
    /// The same barrier's last meeting but one: nobody is there any more.
    fn last_but_one(mut self) -> Self {
        let (Self::Block { phase, .. } | Self::Cluster { phase, .. } | Self::Grid { phase }) = &mut self;
        *phase = phase.wrapping_sub(2);
        self
    }
}

/// What those who have come to a meeting bring with them.
#[derive(Default)]
struct Arrived {
    known: Arc<Known>,
    /// What the last one brought who brought something new.
    brought: Option<Arc<Known>>,
    /// The highest epoch of those who came.
    epoch: u32,
    /// How many came to wait.
    waiting: u32,
    /// Whether somebody came and did not wait.
    passing: bool,
}

/// Whether a scope around one thread has the other one in it, where clusters have this many blocks.
fn includes(scope: Scope, cluster: u32, a: Thread, b: Thread) -> bool {
    match scope {
        Scope::Block => a.block == b.block,
        Scope::Cluster => a.block / cluster == b.block / cluster,
        Scope::Device => true,
    }
}

/// The races of one launch.
pub(crate) struct Races {
    /// Threads of a block.
    threads: u32,
    /// Blocks of a cluster.
    cluster: u32,
    /// The threads of the blocks that run.
    blocks: HashMap<u32, Vec<State>>,
    /// Records by word, page by page.
    pages: HashMap<u64, Vec<Word>>,
    published: HashMap<u64, Published>,
    meetings: HashMap<Meeting, Arrived>,
}

impl Races {
    pub(crate) fn new(threads: u32, cluster: u32) -> Self {
        Self {
            threads,
            cluster,
            blocks: HashMap::default(),
            pages: HashMap::default(),
            published: HashMap::default(),
            meetings: HashMap::default(),
        }
    }

    /// A block begins, with shared memory that was somebody else's before.
    pub(crate) fn begin(&mut self, block: u32, shared: std::ops::Range<u64>) {
        self.blocks.insert(block, vec![State::fresh(); self.threads as usize]);
        let page = WORD * WORDS_PER_PAGE;
        for page in shared.start / page..shared.end.div_ceil(page) {
            self.pages.remove(&page);
        }
        self.published.retain(|address, _| !shared.contains(address));
    }

    /// A block has ended: others may still learn of what it did, but it learns nothing more.
    pub(crate) fn end(&mut self, block: u32) {
        self.blocks.remove(&block);
        self.meetings.retain(|meeting, _| match meeting {
            Meeting::Block { block: of, .. } => *of != block,
            Meeting::Cluster { .. } | Meeting::Grid { .. } => true,
        });
    }

    fn state(&mut self, thread: Thread) -> &mut State {
        let threads = self.threads as usize;
        let block = self
            .blocks
            .entry(thread.block)
            .or_insert_with(|| vec![State::fresh(); threads]);
        &mut block[usize::from(thread.index)]
    }

    /// An access. Says what it races with, for the first byte that does.
    pub(crate) fn touch(&mut self, touch: Touch) -> Option<Conflict> {
        let Touch { thread, order, .. } = touch;
        if order.is_strong() && touch.kind != AccessKind::Write {
            self.see(touch);
        }
        let state = self.state(thread);
        let (known, epoch) = (Arc::clone(&state.known), state.epoch);
        let mut conflict = None;
        let (first, last) = (touch.address / WORD, (touch.address + touch.bytes.max(1) - 1) / WORD);
        for word in first..=last {
            let start = word * WORD;
            let mut bytes = 0;
            for byte in 0..WORD {
                let inside = (touch.address..touch.address + touch.bytes).contains(&(start + byte));
                bytes |= u8::from(inside) << byte;
            }
            let mine = Record {
                thread,
                epoch,
                source: touch.source,
                kind: touch.kind,
                order,
                bytes,
                width: touch.bytes,
            };
            let found = self.examine(word, mine, &known);
            conflict = conflict.or(found);
        }
        if order.is_strong() && touch.kind != AccessKind::Read {
            self.offer(touch);
        }
        conflict
    }

    /// Compares an access to a word with those before, and remembers it.
    fn examine(&mut self, word: u64, mine: Record, known: &Known) -> Option<Conflict> {
        let cluster = self.cluster;
        let page = self
            .pages
            .entry(word / WORDS_PER_PAGE)
            .or_insert_with(|| vec![Word::new(); WORDS_PER_PAGE as usize]);
        let records = &mut page[(word % WORDS_PER_PAGE) as usize];
        let mut conflict = None;
        records.retain_mut(|record| {
            let overlap = record.bytes & mine.bytes;
            if overlap == 0 {
                return true;
            }
            let is_ordered = record.thread == mine.thread || known.epoch(record.thread) >= record.epoch;
            let conflicts = record.kind != AccessKind::Read || mine.kind != AccessKind::Read;
            let both_strong = record.order.is_strong() && mine.order.is_strong();
            let scope = record.order.scope.min(mine.order.scope);
            let for_each_other = includes(scope, cluster, record.thread, mine.thread);
            if conflicts && !is_ordered && !(both_strong && for_each_other) && conflict.is_none() {
                conflict = Some(Conflict {
                    thread: record.thread,
                    kind: record.kind,
                    bytes: record.width,
                    source: record.source,
                    address: word * WORD + u64::from(overlap.trailing_zeros()),
                    scoped: both_strong,
                });
            }
            // What is known is covered by a write; a read covers only reads.
            let covered = is_ordered && (mine.kind != AccessKind::Read || record.kind == AccessKind::Read);
            if covered {
                record.bytes &= !mine.bytes;
            }
            record.bytes != 0
        });
        if records.len() >= RECORDS {
            let oldest = records.iter().position(|record| record.kind == AccessKind::Read);
            records.remove(oldest.unwrap_or(0));
        }
        records.push(mine);
        conflict
    }

    /// An atomic read has seen what was published at its address.
    fn see(&mut self, touch: Touch) {
        let Some(published) = self.published.get(&touch.address) else {
            return;
        };
        let (known, by) = (Arc::clone(&published.known), published.by);
        let scope = published.scope.min(touch.order.scope);
        if !includes(scope, self.cluster, by, touch.thread) {
            return;
        }
        let state = self.state(touch.thread);
        if touch.order.acquires() {
            state.take_in(&known);
        } else {
            let seen = match state.seen.take() {
                Some(mut before) => {
                    if !Arc::ptr_eq(&before, &known) {
                        Arc::make_mut(&mut before).join(&known);
                    }
                    before
                }
                None => known,
            };
            state.seen = Some(seen);
        }
    }

    /// An atomic write offers what its thread has released. A read-modify-write hands on what was there.
    fn offer(&mut self, touch: Touch) {
        let state = self.state(touch.thread);
        let mut offer = if touch.order.releases() {
            Some((state.publish(touch.thread), touch.order.scope))
        } else {
            state
                .fenced
                .as_ref()
                .map(|(known, scope)| (Arc::clone(known), (*scope).min(touch.order.scope)))
        };
        if touch.kind == AccessKind::Atomic
            && let Some(before) = self.published.get(&touch.address)
        {
            let scope = before.scope;
            offer = match offer {
                Some((mut known, mine)) => {
                    Arc::make_mut(&mut known).join(&before.known);
                    Some((known, mine.max(scope)))
                }
                None => return,
            };
        }
        match offer {
            Some((known, scope)) => {
                let by = touch.thread;
                self.published.insert(touch.address, Published { known, scope, by });
            }
            None => drop(self.published.remove(&touch.address)),
        }
    }

    /// A fence.
    pub(crate) fn fence(&mut self, thread: Thread, order: Order) {
        let state = self.state(thread);
        if order.acquires()
            && let Some(known) = state.seen.take()
        {
            state.take_in(&known);
        }
        if order.releases() {
            state.fenced = Some((state.publish(thread), order.scope));
        }
    }

    /// Threads of a warp synchronise with each other: all that are given, at once.
    pub(crate) fn warp_sync(&mut self, threads: &[Thread], whole_warp: bool) {
        let Some(first) = threads.first().copied() else { return };
        let mut known = Arc::clone(&self.state(first).known);
        let mut latest = 0;
        for thread in threads {
            let state = self.state(*thread);
            let (epoch, theirs) = (state.epoch, Arc::clone(&state.known));
            latest = latest.max(epoch);
            if !Arc::ptr_eq(&known, &theirs) {
                Arc::make_mut(&mut known).join(&theirs);
            }
        }
        // All of them go on in one epoch, so that one entry is enough for them.
        if whole_warp {
            Arc::make_mut(&mut known).learn_warp(first, latest);
        } else {
            for thread in threads {
                Arc::make_mut(&mut known).learn(*thread, latest);
            }
        }
        for thread in threads {
            let state = self.state(*thread);
            state.known = Arc::clone(&known);
            state.epoch = latest + 1;
        }
    }

    /// A thread arrives where others will learn of it, and waits there unless it is `passing`.
    pub(crate) fn arrive(&mut self, meeting: Meeting, thread: Thread, passing: bool) {
        let state = self.state(thread);
        let (epoch, known) = (state.epoch, Arc::clone(&state.known));
        state.epoch += 1;
        if !self.meetings.contains_key(&meeting) {
            self.meetings.remove(&meeting.last_but_one());
        }
        let arrived = self.meetings.entry(meeting).or_default();
        // Threads that met before mostly know the same.
        if !arrived
            .brought
            .as_ref()
            .is_some_and(|brought| Arc::ptr_eq(brought, &known))
        {
            Arc::make_mut(&mut arrived.known).join(&known);
            arrived.brought = Some(known);
        }
        Arc::make_mut(&mut arrived.known).learn(thread, epoch);
        arrived.epoch = arrived.epoch.max(epoch);
        arrived.passing |= passing;
        arrived.waiting += u32::from(!passing);
    }

    /// Everybody has come: a thread that waited goes on, knowing of all.
    pub(crate) fn leave(&mut self, meeting: Meeting, thread: Thread) {
        let threads = self.threads;
        let Some(arrived) = self.meetings.get_mut(&meeting) else {
            return;
        };
        let whole_block = matches!(meeting, Meeting::Block { .. }) && arrived.waiting == threads && !arrived.passing;
        if whole_block && arrived.epoch != 0 {
            Arc::make_mut(&mut arrived.known).learn_block(thread.block, arrived.epoch);
        }
        let (known, epoch) = (Arc::clone(&arrived.known), arrived.epoch);
        let state = self.state(thread);
        state.known = known;
        if whole_block {
            state.epoch = state.epoch.max(epoch + 1);
        }
    }
}
