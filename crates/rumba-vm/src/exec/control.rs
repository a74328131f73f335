//! Operations that decide where a warp goes on: branches, guards, calls and their frames.
//!
//! Targets are relative: `imm` holds the distance to the target in operations, a branch's other target in its upper
//! half; `d` holds what has been executed since the last such operation.

use crate::base::lanes::{FULL, LANES, lanes_of};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::opcode::Opcode;
use crate::machine::op::{Handlers, Pc};
use crate::machine::program::SaveRange;
use crate::machine::warp::{Wait, Warp, same};

/// `goto imm`
pub(crate) const JUMP: Handlers = Handlers::same(jump);
/// `if a (negated if extra) goto imm`; `c` is not 0 if lanes that part may go either way first.
pub(crate) const BRANCH: Handlers = Handlers::same(branch);
/// A branch of an instruction with `.uni`, which promises that all lanes take the same path.
pub(crate) const UNIFORM_BRANCH: Handlers = Handlers::same(uniform_branch).with_opcode(Opcode::UniformBranch);
/// `goto table[a]`; `imm` is the index of the table. `extra` is not 0 if all lanes are to go one way.
pub(crate) const TABLE: Handlers = Handlers::same(table);
/// Restricts the active lanes to a predicate for the next operations, or skips `imm` of them.
pub(crate) const GUARD_BEGIN: Handlers = Handlers::same(guard_begin).with_opcode(Opcode::GuardBegin);
/// Ends what [`GUARD_BEGIN`] began.
pub(crate) const GUARD_END: Handlers = Handlers::same(guard_end).with_opcode(Opcode::GuardEnd);
/// Calls the function `imm` operations away.
pub(crate) const CALL: Handlers = Handlers::same(call);
/// Calls the function that `a` holds the address of, where the active lanes agree on it; `extra` is not 0 if they all have to.
pub(crate) const CALL_INDIRECT: Handlers = Handlers::same(call_indirect);
/// Returns from a function.
pub(crate) const RETURN: Handlers = Handlers::same(return_);
/// Ends the active lanes, wherever they are.
pub(crate) const EXIT: Handlers = Handlers::same(exit).with_opcode(Opcode::Exit { returns: false });
/// Ends the active lanes, where the kernel returns.
pub(crate) const RETURN_FROM_KERNEL: Handlers = Handlers::same(exit).with_opcode(Opcode::Exit { returns: true });
/// Saves the registers of a recursive function; `imm` is the index of the range.
pub(crate) const SAVE: Handlers = Handlers::same(save);
/// Restores them.
pub(crate) const RESTORE: Handlers = Handlers::same(restore);
/// `dst = stack pointer (b) aligned to extra; stack pointer = dst + imm`
pub(crate) const ENTER_FRAME: Handlers = Handlers::same(enter_frame);
/// `stack pointer (b) = a`
pub(crate) const LEAVE_FRAME: Handlers = Handlers::same(leave_frame);

/// Calls that a thread may be in at once.
const MAX_DEPTH: usize = 4096;

#[inline(always)]
fn relative(pc: Pc, distance: u32) -> Pc {
    Pc::new(pc.as_ptr().wrapping_offset(distance as i32 as isize))
}

unsafe fn jump(warp: &mut Warp, pc: Pc) -> Pc {
    warp.enter(pc.d, relative(pc, pc.imm as u32))
}

unsafe fn branch(warp: &mut Warp, pc: Pc) -> Pc {
    let flip = if pc.extra != 0 { FULL } else { 0 };
    // SAFETY: the caller promises that the operation's predicate is good.
    let taken = unsafe { warp.predicate(pc.a) ^ flip } & warp.active;
    let target = relative(pc, pc.imm as u32);
    let other = relative(pc, (pc.imm >> 32) as u32);
    if taken == warp.active {
        warp.enter(pc.d, target)
    } else if taken == 0 {
        warp.enter(pc.d, other)
    } else {
        warp.diverge(pc, taken, target, other)
    }
}

unsafe fn uniform_branch(warp: &mut Warp, pc: Pc) -> Pc {
    let flip = if pc.extra != 0 { FULL } else { 0 };
    // SAFETY: the caller promises that the operation's predicate is good.
    let taken = unsafe { warp.predicate(pc.a) ^ flip } & warp.active;
    if taken != 0 && taken != warp.active {
        warp.check_uniform(pc.source, taken, warp.active & !taken);
    }
    // SAFETY: as the caller promises.
    unsafe { branch(warp, pc) }
}

unsafe fn table(warp: &mut Warp, pc: Pc) -> Pc {
    let program = warp.context().program;
    let targets = &program.tables[pc.imm as usize];
    let index = warp.lanes::<u32>(pc.a);
    let mut rest = warp.active;
    let mut first = None;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        // SAFETY: the slot has 32 lanes.
        let value = unsafe { *index.add(lane) };
        let Some(target) = targets.get(value as usize) else {
            let message = format!("brx.idx has {} targets, and the index is {value}", targets.len());
            return warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message));
        };
        // SAFETY: as above.
        let group = unsafe { same::<u32>(warp, pc.a, rest) };
        let target = Pc::new(program.ops.as_ptr().wrapping_add(*target as usize));
        rest &= !group;
        match first {
            None if rest == 0 => return warp.enter(pc.d, target),
            None => {
                if pc.extra != 0 {
                    warp.check_uniform(pc.source, group, rest);
                }
                first = Some((target, group));
            }
            Some(_) => warp.put(target, group, Wait::Ready),
        }
    }
    match first {
        Some((target, group)) => {
            warp.active = group;
            warp.fuel.left -= i32::from(pc.d);
            warp.arrive(target)
        }
        None => pc.next(),
    }
}

unsafe fn guard_begin(warp: &mut Warp, pc: Pc) -> Pc {
    let flip = if pc.extra != 0 { FULL } else { 0 };
    // SAFETY: the caller promises that the operation's predicate is good.
    let mask = unsafe { warp.predicate(pc.a) ^ flip } & warp.active;
    if mask == 0 {
        return pc.skip(pc.imm as usize + 1);
    }
    warp.outside_guard = warp.active;
    warp.active = mask;
    pc.next()
}

unsafe fn guard_end(warp: &mut Warp, pc: Pc) -> Pc {
    warp.active = warp.outside_guard;
    pc.next()
}

fn enter_function(warp: &mut Warp, pc: Pc, target: Pc) -> Pc {
    if warp.frames.len() >= MAX_DEPTH {
        let lane = warp.active.trailing_zeros() as usize;
        let message = format!("calls are nested more than {MAX_DEPTH} deep");
        return warp.raise(RawFault::new(FaultKind::StackOverflow, pc.source, lane, message));
    }
    warp.frames.push(pc.next());
    if warp.splits.is_empty() {
        return warp.enter(1, target);
    }
    warp.fuel.left -= 1;
    warp.arrive(target)
}

unsafe fn call(warp: &mut Warp, pc: Pc) -> Pc {
    enter_function(warp, pc, relative(pc, pc.imm as u32))
}

unsafe fn call_indirect(warp: &mut Warp, pc: Pc) -> Pc {
    let program = warp.context().program;
    let handles = warp.lanes::<u64>(pc.a);
    let lane = warp.active.trailing_zeros() as usize;
    // SAFETY: the slot has 32 lanes.
    let handle = unsafe { *handles.add(lane) };
    let Some(target) = program.handles.get(&handle) else {
        let message = format!("{handle:#x} is not the address of a function of this kernel's module");
        return warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message));
    };
    // SAFETY: as above.
    let group = unsafe { same::<u64>(warp, pc.a, warp.active) };
    if group != warp.active {
        // The other lanes execute the call in their own turn.
        let others = warp.active & !group;
        if pc.extra != 0 {
            warp.check_uniform(pc.source, group, others);
        }
        warp.put(pc, others, Wait::Ready);
        warp.active = group;
    }
    enter_function(warp, pc, Pc::new(program.ops.as_ptr().wrapping_add(*target as usize)))
}

unsafe fn return_(warp: &mut Warp, pc: Pc) -> Pc {
    let Some(target) = warp.frames.pop() else {
        return warp.exit_active(pc.source);
    };
    if warp.splits.is_empty() {
        return warp.enter(pc.d, target);
    }
    warp.fuel.left -= i32::from(pc.d);
    warp.arrive(target)
}

unsafe fn exit(warp: &mut Warp, pc: Pc) -> Pc {
    warp.fuel.left -= i32::from(pc.d);
    warp.exit_active(pc.source)
}

/// The words of a range that belong to the lanes of a mask.
fn words_of(range: SaveRange, mask: u32) -> impl Iterator<Item = usize> {
    let sections =
        [(0, range.narrow, 1), (range.narrow, range.wide, 2), (range.narrow + 2 * range.wide, range.widest, 4)];
    sections.into_iter().flat_map(move |(first_unit, slots, width)| {
        let (first_unit, width) = (usize::from(first_unit), usize::from(width as u16));
        (0..usize::from(slots)).flat_map(move |slot| {
            let start = (first_unit + slot * width) * LANES;
            lanes_of(mask).flat_map(move |lane| (0..width).map(move |word| start + lane * width + word))
        })
    })
}

unsafe fn save(warp: &mut Warp, pc: Pc) -> Pc {
    let range = warp.context().program.saves[pc.imm as usize];
    let depth = warp.frames.len();
    let (words, predicates) = (range.units() * LANES, usize::from(range.predicates));
    if warp.saves.len() <= depth {
        warp.saves.resize_with(depth + 1, Vec::new);
    }
    let mut saved = std::mem::take(&mut warp.saves[depth]);
    if saved.len() < words + predicates {
        saved.resize(words + predicates, 0);
    }
    let registers = warp.lanes::<u32>(range.first_unit);
    for word in words_of(range, warp.active) {
        // SAFETY: the range lies in the register file.
        saved[word] = unsafe { *registers.add(word) };
    }
    for (index, word) in saved[words..words + predicates].iter_mut().enumerate() {
        // SAFETY: the range lies in the array of predicates.
        let mask = unsafe { warp.predicate(range.first_predicate + index as u16) };
        *word = (*word & !warp.active) | (mask & warp.active);
    }
    warp.saves[depth] = saved;
    pc.next()
}

unsafe fn restore(warp: &mut Warp, pc: Pc) -> Pc {
    let range = warp.context().program.saves[pc.imm as usize];
    let depth = warp.frames.len();
    let saved = std::mem::take(&mut warp.saves[depth]);
    let registers = warp.lanes::<u32>(range.first_unit);
    for word in words_of(range, warp.active) {
        // SAFETY: the range lies in the register file.
        unsafe { *registers.add(word) = saved[word] };
    }
    for index in 0..range.predicates {
        let mask = saved[range.units() * LANES + usize::from(index)];
        // SAFETY: the range lies in the array of predicates.
        unsafe { warp.set_predicate(range.first_predicate + index, mask) };
    }
    warp.saves[depth] = saved;
    pc.next()
}

unsafe fn enter_frame(warp: &mut Warp, pc: Pc) -> Pc {
    let frame = warp.lanes::<u64>(pc.dst);
    let pointer = warp.lanes::<u64>(pc.b);
    for lane in lanes_of(warp.active) {
        // SAFETY: the slots have 32 lanes of 64 bits.
        let start = unsafe { *pointer.add(lane) }.checked_next_multiple_of(u64::from(pc.extra)).unwrap_or(u64::MAX);
        let end = start.saturating_add(pc.imm);
        if end > warp.stack_stride {
            let message = format!(
                "a thread's stack has {} bytes, and this call needs {} more",
                warp.stack_stride,
                end - warp.stack_stride
            );
            return warp.raise(RawFault::new(FaultKind::StackOverflow, pc.source, lane, message));
        }
        // SAFETY: as above.
        unsafe {
            *frame.add(lane) = start;
            *pointer.add(lane) = end;
        }
    }
    pc.next()
}

unsafe fn leave_frame(warp: &mut Warp, pc: Pc) -> Pc {
    let frame = warp.lanes::<u64>(pc.a);
    let pointer = warp.lanes::<u64>(pc.b);
    for lane in lanes_of(warp.active) {
        // SAFETY: the slots have 32 lanes of 64 bits.
        unsafe { *pointer.add(lane) = *frame.add(lane) };
    }
    pc.next()
}
