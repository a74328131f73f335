//! How warps enter native code and exit from it.
//!
//! Native code is a function for a whole kernel. A warp that has not parted, and that stands where the code has an entry,
//! executes an entry operation (an OSR entry): an operation outside of the program whose handler calls the function. The function
//! returns where the warp waits or exits, where it finds a fault and where its turn is over, with the operation at which the
//! interpreter continues; before that it spills its registers into the register file. Behind a barrier, a warp resumes from
//! registers of which it has spilled only the first lanes; the interpreter materialises the other lanes if it continues instead.
//!
//! A [`Runner`] calls the function without the interpreter's loop, for blocks whose warps do nothing but come to the same barriers
//! and exit. What is written in the code is decided in [`crate::compile`].

use std::sync::OnceLock;

use crate::base::engine::Code;
use crate::base::lanes::{BARRIERS, GROUPS, LANES};
use crate::base::report::AccessKind;
use crate::check::order::Order;
use crate::check::strided::Strided;
use crate::exec::lane::Raw;
use crate::exec::memory::{Space, describe};
use crate::machine::op::{Handler, Op, Pc};
use crate::machine::program::{Compilation, Descriptor, Fixed, Flow, NO_ENTRY, Native, NativeMetadata, Program};
use crate::machine::warp::{Wait, Warp};

/// The result of the function if registers do not have the shapes expected at an entry: nothing was executed.
pub(crate) const REFUSED: usize = 1;

/// The functions that the code calls.
#[repr(C)]
pub(crate) struct Helpers {
    /// Executes an operation by its handler.
    pub(crate) execute: unsafe extern "C" fn(*mut Warp, *const Op) -> *const Op,
    /// Executes an operation of lanes together, all of which are active.
    pub(crate) together: unsafe extern "C" fn(*mut Warp, *const Op) -> *const Op,
    /// Asks whether others should run, before the warp goes on with an operation.
    pub(crate) arrive: unsafe extern "C" fn(*mut Warp, *const Op) -> *const Op,
    /// Lets lanes wait that stand at an operation.
    pub(crate) put: unsafe extern "C" fn(*mut Warp, *const Op, u32),
    /// Goes on with an operation, or with what others do that stand further up.
    pub(crate) go_on: unsafe extern "C" fn(*mut Warp, *const Op) -> *const Op,
    /// Reports an access to monitored memory, by its host addresses: one for each group of lanes with this stride, or
    /// one for each lane if the stride is [`SCATTERED`].
    pub(crate) report: unsafe extern "C" fn(*mut Warp, *const Op, *const u64, i64, u32),
    /// Materialises the registers of a layout, for which the register file holds the first lanes only.
    pub(crate) materialise: unsafe extern "C" fn(*mut Warp, u32),
}

static HELPERS: Helpers = Helpers { execute, together: execute, arrive, put, go_on, report, materialise };

unsafe extern "C" fn execute(warp: *mut Warp, op: *const Op) -> *const Op {
    // SAFETY: the code passes on the warp that it was called with, and an operation of its program.
    unsafe { ((*op).handler)(&mut *warp, Pc::new(op)).as_ptr() }
}

unsafe extern "C" fn arrive(warp: *mut Warp, op: *const Op) -> *const Op {
    // SAFETY: as above.
    unsafe { (*warp).arrive(Pc::new(op)).as_ptr() }
}

unsafe extern "C" fn put(warp: *mut Warp, op: *const Op, mask: u32) {
    // SAFETY: as above.
    unsafe { (*warp).put(Pc::new(op), mask, Wait::Ready) };
}

unsafe extern "C" fn go_on(warp: *mut Warp, op: *const Op) -> *const Op {
    // SAFETY: as above.
    let warp = unsafe { &mut *warp };
    // Where the launch ends or nothing can run, there is nothing to go on with.
    if op.is_null() || warp.splits.is_empty() {
        return op;
    }
    warp.reschedule(Pc::new(op)).as_ptr()
}

/// The stride of accesses that are reported by an address for each lane.
pub(crate) const SCATTERED: i64 = -1;

const KINDS: [AccessKind; 3] = [AccessKind::Read, AccessKind::Write, AccessKind::Atomic];

/// The bytes of a lane's access and its kind, as the code passes them on.
pub(crate) fn report_bits(bytes: u64, kind: AccessKind) -> u32 {
    bytes as u32 * KINDS.len() as u32 + kind as u32
}

unsafe extern "C" fn report(warp: *mut Warp, op: *const Op, hosts: *const u64, stride: i64, what: u32) {
    // SAFETY: as above.
    let (warp, op) = unsafe { (&*warp, &*op) };
    let (bytes, kind) = (u64::from(what / KINDS.len() as u32), KINDS[what as usize % KINDS.len()]);
    let what = (bytes, kind, Order::from_bits(op.extra, kind));
    let place = |address| describe(warp, address, 1, Space::Generic);
    if stride == SCATTERED {
        // SAFETY: the code passes on an address for each lane.
        let host = |lane| unsafe { *hosts.add(lane) };
        warp.observe(op.source, warp.active, host, what, None, place);
    } else {
        // SAFETY: the code passes on an address for each group.
        let hosts = unsafe { *hosts.cast::<[u64; GROUPS]>() };
        warp.observe_strided(op.source, &Strided::new(warp.active, hosts, stride.cast_unsigned()), what, place);
    }
}

unsafe extern "C" fn materialise(warp: *mut Warp, layout: u32) {
    // SAFETY: as above, and the launch holds the code as long as its warps run.
    let (warp, native) = unsafe { (&*warp, &*(*warp).tier.native) };
    for spread in &native.metadata.layouts[layout as usize] {
        let (slot, group, stride) = (spread.slot, spread.group.into(), spread.stride);
        // SAFETY: the layout names slots of these widths.
        unsafe {
            if spread.is_wide {
                materialise_slot::<u64>(warp.lanes(slot), group, stride);
            } else {
                materialise_slot::<u32>(warp.lanes(slot), group, stride);
            }
        }
    }
}

/// Writes the lanes behind the first one of each group.
///
/// # Safety
/// There are 32 lanes.
unsafe fn materialise_slot<R: Raw>(lanes: *mut R, group: usize, stride: i64) {
    // SAFETY: as the caller promises.
    let lanes = unsafe { &mut *lanes.cast::<[R; LANES]>() };
    for group in lanes.chunks_mut(group) {
        let mut next = group[0];
        for value in group {
            *value = next;
            next = next.affine_lane(stride, 1);
        }
    }
}

/// The functions that the code calls in a block that was not started.
static HELPERS_ALONE: Helpers =
    Helpers { execute: execute_alone, together: execute, arrive, put, go_on, report, materialise };

/// Executes an operation that asks nothing of the block. Of another one it names the position: the code ends there.
unsafe extern "C" fn execute_alone(warp: *mut Warp, op: *const Op) -> *const Op {
    // SAFETY: as above.
    let program = unsafe { (*warp).context().program };
    let descriptor = program.descriptors.get(index_of(program, op));
    // What there is no shared memory for is not there; what may wait for others asks their block.
    let asks_nothing = descriptor.is_some_and(|descriptor| descriptor.flow == Flow::Next);
    if asks_nothing {
        // SAFETY: as above.
        unsafe { execute(warp, op) }
    } else {
        op
    }
}

/// The number of an operation of a program; for other positions, one that none has.
fn index_of(program: &Program, op: *const Op) -> usize {
    (op as usize).wrapping_sub(program.ops.as_ptr() as usize) / size_of::<Op>()
}

/// Native code of a launch, run without asking the scheduler as long as all lanes of a warp stay together.
pub(crate) struct Runner<'a> {
    program: &'a Program,
    function: Function,
    entry: u32,
    entries: u32,
    barriers: &'a [u8],
}

/// Where a warp stops that a [`Runner`] has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Before the exit of all its lanes, at its position.
    AtExit,
    /// Before such a barrier of all its lanes, at its position.
    AtBarrier(usize),
    /// Elsewhere: it goes on there.
    At(Pc),
}

impl<'a> Runner<'a> {
    /// The runner of a program.
    pub(crate) fn of(program: &'a Program, native: &'a Native) -> Option<Self> {
        let entry = native.metadata.entry_at.first().copied().filter(|entry| *entry != NO_ENTRY)?;
        // SAFETY: the compiler promises that the code is what the text says.
        let function = unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(native.code.entry.as_ptr()) };
        Some(Self { program, function, entry, entries: native.entry_ops.len() as u32, barriers: &native.barriers })
    }

    /// Runs a warp from the start of the kernel, or from behind the barrier at which it has stopped, for so many operations at
    /// most. `is_alone` says that its block was not started.
    ///
    /// # Safety
    /// The warp was set up for the program, has not parted, and its launch holds the code.
    pub(crate) unsafe fn run(&self, warp: &mut Warp, turn: i32, is_alone: bool) -> Stopped {
        warp.fuel.grant_all(turn);
        warp.active = warp.live;
        let ops = self.program.ops.as_ptr();
        let entry = match std::mem::take(&mut warp.tier.resume_at) {
            0 => self.entry,
            entry => entry - 1 + self.entries,
        };
        let helpers = if is_alone { &raw const HELPERS_ALONE } else { &raw const HELPERS };
        // SAFETY: as the caller promises.
        let next = unsafe { (self.function)(warp, entry, ops, helpers) };
        let index = index_of(self.program, next);
        if let Some(descriptor) = self.program.descriptors.get(index)
            && warp.active == warp.live
            && warp.splits.is_empty()
        {
            if descriptor.opcode.attributes().is_exit {
                warp.pc = Pc::new(next);
                return Stopped::AtExit;
            }
            if warp.tier.resume_at != 0
                && let Some(id) = self.barriers[index].checked_sub(1)
            {
                warp.pc = Pc::new(next);
                return Stopped::AtBarrier(id.into());
            }
        }
        Stopped::At(match next as usize {
            0 => Pc::STOP,
            REFUSED => Pc::new(ops),
            _ => Pc::new(next),
        })
    }
}

/// The function of native code.
type Function = unsafe extern "C" fn(*mut Warp, u32, *const Op, *const Helpers) -> *const Op;

/// The code of a program with its entry operations: entry `n` has the `n`th, since entries have numbers in the order of the
/// program.
pub(crate) fn native(program: &Program, metadata: NativeMetadata, code: Code) -> Native {
    let entries = metadata.entry_at.iter().enumerate().filter(|(_, entry)| **entry != NO_ENTRY);
    let entry_op = |(index, entry): (usize, &u32)| Op {
        handler: enter as Handler,
        imm: u64::from(*entry) | (index as u64) << 32,
        ..program.ops[index]
    };
    let barriers = (0..program.descriptors.len()).map(|index| barrier(program, index).map_or(0, |id| id + 1));
    Native { entry_ops: entries.map(entry_op).collect(), barriers: barriers.collect(), metadata, code }
}

/// The number of the barrier at an operation if whole blocks wait there.
fn barrier(program: &Program, index: usize) -> Option<u8> {
    let op = program.ops[index];
    let constant = |slot: u16| {
        let (.., value) = program.fixed.iter().find(|(known, ..)| *known == slot)?;
        match value {
            Fixed::Constant(bits) => Some(*bits),
            _ => None,
        }
    };
    let is_whole =
        program.descriptors[index].opcode.attributes().is_barrier && op.imm == 0 && constant(op.b) == Some(0);
    if !is_whole {
        return None;
    }
    constant(op.a).filter(|id| *id < BARRIERS as u128).map(|id| id as u8)
}

/// Calls the function; `imm` is the entry, and in its upper half the operation that it stands for.
unsafe fn enter(warp: &mut Warp, pc: Pc) -> Pc {
    let program = warp.context().program;
    // SAFETY: the launch holds the code as long as its warps run.
    let native = unsafe { &*warp.tier.native };
    // SAFETY: the compiler promises that the code is what the text says.
    let function: Function = unsafe { std::mem::transmute(native.code.entry.as_ptr()) };
    let whole = program.ops.as_ptr();
    let before = warp.executed();
    let entries = native.entry_ops.len() as u32;
    let entry = pc.imm as u32;
    let entry = if std::mem::take(&mut warp.tier.resume_at) == entry + 1 { entry + entries } else { entry };
    // SAFETY: the warp was set up for the program that the code was made of.
    let next = unsafe { function(warp, entry, whole, &raw const HELPERS) };
    if next.is_null() {
        return Pc::STOP;
    }
    if next as usize == REFUSED {
        warp.note_exit(0);
        return Pc::new(whole.wrapping_add((pc.imm >> 32) as usize));
    }
    let index = index_of(program, next);
    let goes_on = |descriptor: &Descriptor| descriptor.flow == Flow::End || descriptor.opcode.attributes().is_barrier;
    if warp.splits.is_empty() && !program.descriptors.get(index).is_some_and(goes_on) {
        warp.note_exit(warp.executed().saturating_sub(before));
    }
    Pc::new(next)
}

/// The number of operations in native code from which an entry was worth its cost.
const WORTHWHILE: u64 = 64;

/// The number of entries in a row that did not pay beyond which the back-off does not grow.
const MAX_FAILURES: u32 = 6;

impl Warp {
    /// Enters native code, if the lanes are converged and there is an entry at `target`.
    #[inline]
    pub(crate) fn join_native(&mut self, target: Pc) -> Pc {
        // SAFETY: the launch holds the code as long as its warps run.
        let native = unsafe { &*self.tier.native };
        if !self.splits.is_empty() || !self.frames.is_empty() {
            self.materialise();
            return target;
        }
        // The warp asks again at the next block.
        self.merge_at = std::ptr::null();
        let program = self.context().program;
        let index = index_of(program, target.as_ptr());
        let entry = native.metadata.entry_at.get(index).copied().filter(|entry| *entry != NO_ENTRY);
        let Some((entry, entry_op)) = entry.and_then(|entry| Some((entry, native.entry_ops.get(entry as usize)?)))
        else {
            self.materialise();
            return target;
        };
        if self.tier.resume_at == entry + 1 {
            return Pc::new(entry_op);
        }
        self.materialise();
        if self.tier.back_off.skips() {
            return target;
        }
        Pc::new(entry_op)
    }

    /// Writes the lanes that the native code did not spill at a barrier, for the interpreter.
    #[inline]
    fn materialise(&mut self) {
        if self.tier.resume_at != 0 {
            self.materialise_registers();
        }
    }

    #[cold]
    fn materialise_registers(&mut self) {
        // SAFETY: the launch holds the code as long as its warps run.
        let native = unsafe { &*self.tier.native };
        let entry = std::mem::take(&mut self.tier.resume_at) - 1 + 2 * native.entry_ops.len() as u32;
        // SAFETY: the compiler promises that the code is what the text says.
        let function: Function = unsafe { std::mem::transmute(native.code.entry.as_ptr()) };
        let whole = self.context().program.ops.as_ptr();
        // SAFETY: the warp was set up for the program that the code was made of.
        let _ = unsafe { function(self, entry, whole, &raw const HELPERS) };
    }

    /// Counts an exit for the back-off.
    fn note_exit(&mut self, executed: u64) {
        self.tier.back_off.record(executed > WORTHWHILE, MAX_FAILURES);
    }
}

/// The place of a program's code for a size of groups of lanes.
pub(crate) fn place(program: &Program, group: usize) -> &OnceLock<Compilation> {
    &program.native[match group {
        32 => 0,
        16 => 1,
        8 => 2,
        _ => 3,
    }]
}
