//! Functions that PTX calls by name and the machine itself provides: `vprintf`, `__assertfail`, `malloc`, `free`.
//!
//! Arguments arrive in the transfer slots that `a`, `b`, `c` and `d` name; the result goes to `dst`.

use crate::base::lanes::lanes_of;
use crate::base::report::Location;
use crate::isa::cooperative;
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handlers, Pc};
use crate::machine::printf;
use crate::machine::printf::Arguments;
use crate::machine::warp::Warp;
use crate::mem::allocations::{Allocation, AllocationKind};

/// Bytes of a string that are read at most.
const MAX_STRING: usize = 1 << 16;

/// The operation behind a name, and whether it may have to wait for other threads.
pub(crate) fn find(name: &str) -> Option<(Handlers, bool)> {
    let handlers = match name {
        "vprintf" => Handlers::same(vprintf),
        "__assertfail" => Handlers::same(assertfail),
        "malloc" => Handlers::same(malloc),
        "free" => Handlers::same(free),
        _ => return cooperative::find(name),
    };
    Some((handlers, false))
}

/// Bytes that a lane may read from `address` on, at most `limit`.
fn readable(warp: &Warp, lane: usize, address: u64, limit: usize) -> usize {
    room(warp, lane, address, |_| true).min(limit)
}

/// Bytes that a lane may write from `address` on.
pub(crate) fn writable(warp: &Warp, lane: usize, address: u64) -> usize {
    room(warp, lane, address, Allocation::is_writable)
}

/// Bytes from `address` on that are a lane's to use, in memory that suits it.
fn room(warp: &Warp, lane: usize, address: u64, suits: impl Fn(&Allocation) -> bool) -> usize {
    let context = warp.context();
    let room = |start: u64, end: u64| {
        if (start..end).contains(&address) { (end - address) as usize } else { 0 }
    };
    if context.arena.local.contains(address) {
        let stack = warp.stack_base + lane as u64 * warp.stack_stride;
        room(stack, stack + warp.stack_stride)
    } else if context.arena.shared.contains(address) {
        room(warp.shared_base, warp.shared_base + warp.shared_end)
    } else {
        context
            .allocations
            .bounds(address, |allocation| if suits(allocation) { (allocation.end() - address) as usize } else { 0 })
            .unwrap_or(0)
    }
}

/// Copies what a lane may read from `address` on, at most `limit` bytes.
fn bytes_at(warp: &Warp, lane: usize, address: u64, limit: usize) -> Vec<u8> {
    let length = readable(warp, lane, address, limit);
    let mut bytes = vec![0_u8; length];
    // SAFETY: that many bytes were just found to be the device's; a race with a kernel's writes yields old or new bytes.
    unsafe { crate::mem::atomic::copy(address, bytes.as_mut_ptr() as u64, length as u64) };
    bytes
}

fn string_at(warp: &Warp, lane: usize, address: u64, limit: usize) -> Vec<u8> {
    let mut bytes = bytes_at(warp, lane, address, limit);
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    bytes
}

struct Packed<'a> {
    warp: &'a Warp,
    lane: usize,
    address: u64,
}

impl Arguments for Packed<'_> {
    fn next(&mut self, bytes: usize) -> u64 {
        self.address = self.address.wrapping_add(bytes as u64 - 1) & !(bytes as u64 - 1);
        let mut raw = [0; 8];
        let found = bytes_at(self.warp, self.lane, self.address, bytes);
        raw[..found.len()].copy_from_slice(&found);
        self.address = self.address.wrapping_add(bytes as u64);
        u64::from_le_bytes(raw)
    }

    fn string(&mut self, address: u64, limit: Option<usize>) -> Vec<u8> {
        string_at(self.warp, self.lane, address, limit.unwrap_or(MAX_STRING))
    }
}

/// The value of a transfer slot in a lane.
pub(crate) fn argument(warp: &Warp, slot: u16, lane: usize) -> u64 {
    // SAFETY: a transfer slot has 32 lanes of 64 bits.
    unsafe { *warp.lanes::<u64>(slot).add(lane) }
}

pub(crate) fn set_result(warp: &Warp, pc: Pc, lane: usize, value: u64) {
    // SAFETY: a transfer slot has 32 lanes of 64 bits.
    unsafe { *warp.lanes::<u64>(pc.dst).add(lane) = value };
}

unsafe fn vprintf(warp: &mut Warp, pc: Pc) -> Pc {
    for lane in lanes_of(warp.active) {
        let format = argument(warp, pc.a, lane);
        if readable(warp, lane, format, 1) == 0 {
            let place = warp.context().allocations.describe(format, 1);
            let message = format!("the format of vprintf is at {format:#x}: {place}");
            return warp.raise(RawFault::new(FaultKind::IllegalAddress, pc.source, lane, message));
        }
        let text = string_at(warp, lane, format, MAX_STRING);
        let address = argument(warp, pc.b, lane);
        let mut out = Vec::new();
        let used = printf::format(&text, &mut Packed { warp, lane, address }, &mut out);
        warp.context().output.print(&out);
        set_result(warp, pc, lane, u64::from(used as u32));
    }
    pc.next()
}

unsafe fn assertfail(warp: &mut Warp, pc: Pc) -> Pc {
    let lane = warp.active.trailing_zeros() as usize;
    let text =
        |slot| String::from_utf8_lossy(&string_at(warp, lane, argument(warp, slot, lane), MAX_STRING)).into_owned();
    let (message, file, function) = (text(pc.a), text(pc.b), text(pc.d));
    let line = argument(warp, pc.c, lane) as u32;
    // `kernel` is what the device library says: a panic does not know its function.
    let message = if ["", "unknown", "kernel"].contains(&function.as_str()) {
        message
    } else {
        format!("{message} (in `{function}`)")
    };
    let location = (!file.is_empty()).then_some(Location { file, line, column: 0, function: None });
    let fault = RawFault { location, ..RawFault::new(FaultKind::Assert, pc.source, lane, message) };
    warp.raise(fault)
}

unsafe fn malloc(warp: &mut Warp, pc: Pc) -> Pc {
    for lane in lanes_of(warp.active) {
        let bytes = argument(warp, pc.a, lane) as usize;
        let context = warp.context();
        let origin = context.program.debug.locations(pc.source).first().map(ToString::to_string);
        // As on a GPU, an allocation of nothing is one.
        let bytes = bytes.max(1);
        let address = if context.heap.take(bytes) {
            let allocated = context.allocations.allocate(context.arena, bytes, AllocationKind::Device, origin);
            allocated.unwrap_or_else(|_| {
                context.heap.give_back(bytes);
                0
            })
        } else {
            0
        };
        set_result(warp, pc, lane, address);
    }
    pc.next()
}

unsafe fn free(warp: &mut Warp, pc: Pc) -> Pc {
    for lane in lanes_of(warp.active) {
        let address = argument(warp, pc.a, lane);
        if address == 0 {
            continue;
        }
        let context = warp.context();
        let bytes = context.allocations.bounds(address, |allocation| allocation.bytes);
        if let Err(error) = context.allocations.free(context.arena, address, &[AllocationKind::Device]) {
            return warp.raise(RawFault::new(FaultKind::IllegalAddress, pc.source, lane, error.to_string()));
        }
        context.heap.give_back(bytes.unwrap_or(0));
        warp.forget_bounds();
    }
    pc.next()
}
