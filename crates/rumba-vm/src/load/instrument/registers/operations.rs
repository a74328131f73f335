//! The operations that keep track of which registers hold something: put into programs by [`crate::load::instrument::registers::track`], one predicate
//! for each register.

use crate::base::ir::{Element, Value};
use crate::base::lanes::{FULL, LANES, lanes_of};
use crate::check::notes::Actor;
use crate::exec::memory::{Space, describe};
use crate::load::instrument::Probe;
use crate::machine::cluster::{Cluster, RANK_SHIFT};
use crate::machine::op::opcode::{CheckForm, Opcode};
use crate::machine::op::{Handler, Handlers, Pc};
use crate::machine::warp::{Origin, Warp};
use rumba_checks::FindingKind;

/// `dst` = the lanes of no value
pub(super) const CLEAR: Handlers = check(clear, CheckForm::Shadow(|_, _| Value::integer(Element::I32, 0)));
/// `dst` = all lanes
pub(super) const SET: Handlers = check(set, CheckForm::Shadow(|_, _| Value::integer(Element::I32, FULL.into())));
/// `dst = a & b`
pub(super) const BOTH: Handlers = check(both, CheckForm::Shadow(|w, x| w.and(&x[0], &x[1])));
/// `dst = a | b`
pub(super) const EITHER: Handlers = check(either, CheckForm::Shadow(|w, x| w.or(&x[0], &x[1])));
/// `dst = a | !b`
pub(super) const UNLESS: Handlers = Handlers::same(unless);
/// `dst` = the lanes of `c` for which the predicates `a` and `b` are equal
pub(super) const ALIKE: Handlers = Handlers::same(alike);
/// `dst` = `a` in the lanes of `b`, `imm` in the others; `extra` is the [`Part`] that `imm` replaces
pub(super) const FILL: [Handlers; 2] = [Handlers::same(fill::<u32>), Handlers::same(fill::<u64>)];
/// `dst` = the lanes of `c` in which `a` and `b` are equal
pub(super) const SAME: [Handlers; 2] = [Handlers::same(same::<u32>), Handlers::same(same::<u64>)];
/// Marks memory as undefined for the lanes outside of `b`: a [`Probe`].
pub(super) const UNDEFINE: Handlers = check(undefine, CheckForm::Defined(2));
/// `dst` = the lanes whose memory is defined: a [`Probe`].
pub(super) const DEFINED: Handlers = check(defined, CheckForm::ShadowOfMemory);
/// Looks whether all active lanes are in `a`; `imm` is the number of the register.
pub(super) const LOOK: Handlers = check(look, CheckForm::Defined(1));

const fn check(handler: Handler, form: CheckForm) -> Handlers {
    Handlers::same(handler).with_opcode(Opcode::Check(form))
}

unsafe fn clear(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the destination is a predicate of the program.
    unsafe { warp.set_predicate(pc.dst, 0) };
    warp.origins.remove(&pc.dst);
    pc.next()
}

unsafe fn set(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, FULL) };
    pc.next()
}

unsafe fn both(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operands are predicates of the program.
    unsafe {
        warp.set_predicate(pc.dst, warp.predicate(pc.a) & warp.predicate(pc.b));
        warp.carry_origin(pc.dst, [pc.a, pc.b]);
    }
    pc.next()
}

unsafe fn either(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe {
        warp.set_predicate(pc.dst, warp.predicate(pc.a) | warp.predicate(pc.b));
        warp.carry_origin(pc.dst, [pc.a, pc.b]);
    }
    pc.next()
}

unsafe fn unless(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, warp.predicate(pc.a) | !warp.predicate(pc.b)) };
    pc.next()
}

unsafe fn alike(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    unsafe {
        let equal = !(warp.predicate(pc.a) ^ warp.predicate(pc.b));
        warp.set_predicate(pc.dst, warp.predicate(pc.c) & equal);
    }
    pc.next()
}

/// A part of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Part {
    Whole,
    Low,
    High,
}

impl Part {
    /// Its bits, where an operation's `extra` holds it, of a word of so many.
    pub(super) fn bits(extra: u16, bits: u32) -> u64 {
        let low = u64::MAX >> (64 - bits / 2);
        match extra {
            1 => low,
            2 => !low,
            _ => u64::MAX,
        }
    }
}

/// The value of a lane in a slot.
trait Word: Copy + PartialEq {
    const BITS: u32;

    /// With these bits of `imm` instead of its own.
    fn with(self, imm: u64, bits: u64) -> Self;
}

impl Word for u32 {
    const BITS: u32 = 32;

    fn with(self, imm: u64, bits: u64) -> Self {
        self & !bits as Self | (imm & bits) as Self
    }
}

impl Word for u64 {
    const BITS: u32 = 64;

    fn with(self, imm: u64, bits: u64) -> Self {
        self & !bits | imm & bits
    }
}

unsafe fn fill<T: Word>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    let defined = unsafe { warp.predicate(pc.b) };
    let (to, from) = (warp.lanes::<T>(pc.dst), warp.lanes::<T>(pc.a));
    let bits = Part::bits(pc.extra, T::BITS);
    for lane in lanes_of(warp.active) {
        // SAFETY: the slots are the operation's, with 32 lanes.
        unsafe {
            let value = *from.add(lane);
            *to.add(lane) = if defined >> lane & 1 != 0 { value } else { value.with(pc.imm, bits) };
        }
    }
    pc.next()
}

unsafe fn same<T: Word>(warp: &mut Warp, pc: Pc) -> Pc {
    let (a, b) = (warp.lanes::<T>(pc.a), warp.lanes::<T>(pc.b));
    // SAFETY: the slots are the operation's, with 32 lanes.
    let equal = |lane: &usize| unsafe { *a.add(*lane) == *b.add(*lane) };
    let equal = lanes_of(warp.active).filter(equal).fold(0, |lanes, lane| lanes | 1 << lane);
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, warp.predicate(pc.c) & equal) };
    pc.next()
}

impl Origin {
    /// The load, as one side of a finding.
    fn actor(self, warp: &Warp) -> Actor {
        let what = if warp.context().arena.local.contains(self.address) {
            "read of local memory"
        } else {
            "read of shared memory"
        };
        warp.actor(self.source, self.lanes, what)
    }

    /// A description of the memory.
    fn place(self, warp: &Warp) -> String {
        let place = describe(warp, self.address, 1, Space::Generic);
        match &warp.context().allocations.unwritten {
            Some(map) => map.explain(self.address, place),
            None => place,
        }
    }
}

impl Warp {
    /// Lets a predicate whose active lanes have no value all have the origin of one of those it was made of.
    ///
    /// # Safety
    /// They are predicates of the program.
    #[inline(always)]
    pub(crate) unsafe fn carry_origin(&mut self, dst: u16, from: [u16; 2]) {
        // SAFETY: as the caller promises.
        if self.active & !unsafe { self.predicate(dst) } != 0 && !self.origins.is_empty() {
            self.carry(dst, from);
        }
    }

    #[cold]
    fn carry(&mut self, dst: u16, from: [u16; 2]) {
        match from.iter().find_map(|from| self.origins.get(from).copied()) {
            Some(origin) => drop(self.origins.insert(dst, origin)),
            None => drop(self.origins.remove(&dst)),
        }
    }

    /// Whether memory at a host address is the thread's or its block's alone.
    fn is_private(&self, host: u64) -> bool {
        let arena = self.context().arena;
        arena.shared.contains(host) || arena.local.contains(host)
    }

    /// The host address that a lane's access goes to, unless the access is a fault.
    fn host_address(&self, space: Space, address: u64, lane: usize, bytes: u64) -> Option<u64> {
        match space {
            Space::Shared if address >> RANK_SHIFT == 0 => Some(self.shared_base.wrapping_add(address)),
            Space::Shared => {
                let (rank, offset) = Cluster::split(address, 0);
                // SAFETY: the block is not in use elsewhere while one of its warps runs.
                let cluster = unsafe { (*self.block).cluster() };
                cluster.resolve(rank, offset, bytes, self.shared_end).ok()
            }
            Space::Local => {
                let base = self.stack_base + lane as u64 * self.stack_stride;
                Some(base.wrapping_add(address))
            }
            Space::Generic | Space::Global | Space::Const | Space::Param => Some(address),
        }
    }

    /// The place of an instruction, for a description.
    fn location(&self, source: u32) -> String {
        let debug = &self.context().program.debug;
        match debug.locations(source).first() {
            Some(location) => location.to_string(),
            None => {
                let (ptx, line) = debug.ptx(source);
                format!("{ptx}:{line}")
            }
        }
    }
}

/// A value that was loaded from memory which was never written is stored: private memory takes it over, and in memory that
/// outlives the block it is a mistake.
unsafe fn undefine(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operation was made of a probe.
    let without = warp.active & !unsafe { warp.predicate(pc.b) };
    if without != 0 {
        // SAFETY: as above.
        unsafe { undefine_lanes(warp, pc, without) };
    }
    pc.next()
}

#[cold]
unsafe fn undefine_lanes(warp: &Warp, pc: Pc, without: u32) {
    // SAFETY: the operation was made of a probe.
    let addresses = unsafe { Probe::addresses(warp, &pc) };
    let Probe { space, bytes, .. } = Probe::of(&pc);
    let context = warp.context();
    let Some(map) = &context.allocations.unwritten else {
        return;
    };
    let origin = warp.origins.get(&pc.b).copied();
    let mut observable = 0;
    for lane in lanes_of(without) {
        let Some(host) = warp.host_address(space, addresses[lane], lane, bytes) else {
            continue;
        };
        // Memory with an undefined byte is monitored in any case.
        let was_written = !map.any(host, bytes);
        let kernel = &context.program.name;
        let place = || warp.location(pc.source);
        match origin {
            Some(origin) if warp.is_private(host) => map.take_over(host, bytes, || {
                let read = warp.location(origin.source);
                format!("kernel `{kernel}` stored there at {} what it had read at {read}, uninitialised", place())
            }),
            Some(_) => observable |= 1 << lane,
            None => {
                let allocation = || context.allocations.bounds(host, |allocation| allocation.start);
                map.undefine(host, bytes, allocation, || {
                    format!("kernel `{kernel}` stored an uninitialised register there at {}", place())
                });
            }
        }
        if was_written {
            warp.monitor_again(host);
        }
    }
    if let Some(origin) = origin.filter(|_| observable != 0) {
        let store = warp.actor(pc.source, observable, "store of it to global memory");
        warp.note(FindingKind::UnwrittenRead, origin.actor(warp), Some(store), || origin.place(warp));
    }
}

/// Bytes between the first and the last lane's access that are looked at together.
const NEARBY: u64 = 4096;

unsafe fn defined(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operation was made of a probe.
    let addresses = unsafe { Probe::addresses(warp, &pc) };
    let Probe { space, bytes, .. } = Probe::of(&pc);
    let context = warp.context();
    let mut without = 0;
    let mut origin = None;
    if let Some(map) = &context.allocations.unwritten {
        let mut hosts = [0; LANES];
        let (mut low, mut high) = (u64::MAX, 0);
        for lane in lanes_of(warp.active) {
            if let Some(host) = warp.host_address(space, addresses[lane], lane, bytes) {
                hosts[lane] = host;
                (low, high) = (low.min(host), high.max(host));
            }
        }
        let span = high.wrapping_sub(low);
        if span > NEARBY || map.any(low, span + bytes) {
            for lane in lanes_of(warp.active).filter(|lane| map.any(hosts[*lane], bytes)) {
                let host = hosts[lane];
                if let Some(address) = map.met(host, bytes).filter(|_| warp.is_private(host))
                    && !map.is_undefined(address, 1)
                {
                    without |= 1 << lane;
                    origin = origin.or(Some(address));
                } else if map.is_undefined(host, bytes) {
                    without |= 1 << lane;
                }
            }
        }
    }
    // SAFETY: as above.
    unsafe { warp.set_predicate(pc.dst, !without) };
    if without != 0 {
        let source = pc.source;
        match origin {
            Some(address) => drop(warp.origins.insert(pc.dst, Origin { source, lanes: without, address })),
            None => drop(warp.origins.remove(&pc.dst)),
        }
    }
    pc.next()
}

unsafe fn look(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as above.
    let without = warp.active & !unsafe { warp.predicate(pc.a) };
    if without != 0 {
        note_use(warp, pc, without);
    }
    pc.next()
}

#[cold]
fn note_use(warp: &Warp, pc: Pc, without: u32) {
    if let Some(origin) = warp.origins.get(&pc.a) {
        let user = warp.actor(pc.source, without, "use of it");
        warp.note(FindingKind::UnwrittenRead, origin.actor(warp), Some(user), || origin.place(warp));
        return;
    }
    let actor = warp.actor(pc.source, without, "use");
    warp.note(FindingKind::UnwrittenRegister, actor, None, || {
        let names = &warp.context().program.debug.registers;
        match names.get(pc.imm as usize) {
            Some(name) => format!("`{name}` holds nothing in lanes {without:#010x}"),
            None => format!("a value that comes from a register without one, in lanes {without:#010x}"),
        }
    });
}
