//! Tensor memory and the other places of numbers: loads to registers, stores from there, copies from shared memory.
//!
//! A warp loads and stores in the 32 lanes of tensor memory that belong to its place in the warp group; a copy reaches all
//! lanes. [`SHAPES`] and [`COPIES`] have the layouts of the manual's section "Data Movement Shape". The instructions are
//! asynchronous; the machine executes them where they begin, and the checks know when they may end.

use crate::base::lanes::{FULL, LANES, lanes_of};
use crate::base::report::AccessKind;
use crate::check::agent::{Agent, Completion};
use crate::check::order::Order;
use crate::exec::memory::{Space, describe};
use crate::isa::matrix::descriptor::{Descriptor, LINE, read_line};
use crate::isa::matrix::operands::{Slots, done, whole_warp};
use crate::isa::matrix::warpgroup::quads;
use crate::machine::block::{BlockState, GROUP_WARPS};
use crate::machine::cluster::Cluster;
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::Pc;
use crate::machine::tensor_memory::{COLUMN, QUARTER, TENSOR_COLUMNS, TENSOR_LANES, TensorAddress};
use crate::machine::warp::Warp;
use crate::mem::atomic::Element;

/// A shape of loads and stores.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Lanes of tensor memory.
    lanes: u32,
    /// Registers of a thread, and columns, of one repetition (`.x1`).
    pub(crate) registers: usize,
    columns: u32,
    /// The lane and the column of a register of a thread, counted from the address.
    place: fn(thread: u32, register: u32) -> (u32, u32),
}

/// The shapes. The second half of the threads of `.16x32bx2` accesses columns that are further on by an operand.
pub(crate) static SHAPES: [Shape; 5] = [
    Shape { name: ".32x32b", lanes: 32, registers: 1, columns: 1, place: |t, r| (t, r) },
    Shape {
        name: ".16x64b",
        lanes: 16,
        registers: 1,
        columns: 2,
        place: |t, r| (t / 4 + t % 2 * 8, t / 2 % 2 + r * 2),
    },
    Shape {
        name: ".16x128b",
        lanes: 16,
        registers: 2,
        columns: 4,
        place: |t, r| (t / 4 + r % 2 * 8, t % 4 + r / 2 * 4),
    },
    Shape {
        name: ".16x256b",
        lanes: 16,
        registers: 4,
        columns: 8,
        place: |t, r| (t / 4 + r / 2 % 2 * 8, t % 4 * 2 + r % 2 + r / 4 * 8),
    },
    Shape { name: ".16x32bx2", lanes: 16, registers: 1, columns: 1, place: |t, r| (t % 16, r) },
];

/// A load or store, as it lies in an operation's `imm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Movement {
    /// The index of the shape.
    pub(crate) shape: usize,
    /// Registers of a thread.
    pub(crate) registers: usize,
    /// Whether a register holds the lower halves of two columns.
    pub(crate) packed: bool,
    /// Columns between the halves of `.16x32bx2`.
    pub(crate) split: u32,
}

impl Movement {
    pub(crate) fn bits(self) -> u64 {
        self.shape as u64 | (self.registers as u64) << 8 | u64::from(self.packed) << 16 | u64::from(self.split) << 32
    }

    fn from_bits(bits: u64) -> Self {
        Self {
            shape: (bits & 0xff) as usize % SHAPES.len(),
            registers: (bits >> 8 & 0xff) as usize,
            packed: bits >> 16 & 1 != 0,
            split: (bits >> 32) as u32,
        }
    }

    /// The cells of a register of a thread, counted from the address.
    fn cells(self, thread: u32, register: u32) -> (u32, [u32; 2]) {
        let (lane, mut column) = (SHAPES[self.shape].place)(thread, register);
        if SHAPES[self.shape].name == ".16x32bx2" && thread >= 16 {
            column += self.split;
        }
        (lane, if self.packed { [2 * column, 2 * column + 1] } else { [column; 2] })
    }

    /// Columns from the first to the last.
    fn columns(self) -> u32 {
        let shape = &SHAPES[self.shape];
        let columns = (self.registers / shape.registers) as u32 * shape.columns + self.split;
        if self.packed { 2 * columns } else { columns }
    }
}

/// A block, and where its memory lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    state: *const BlockState,
    /// The host address of its shared memory.
    pub(crate) base: u64,
    /// The bits above the offset of an address in its shared memory.
    pub(crate) window: u64,
}

impl Owner {
    /// The block of a warp.
    pub(crate) fn of(warp: &Warp) -> Self {
        Self { state: warp.block, base: warp.shared_base, window: 0 }
    }

    /// The pair of blocks in the cluster that a warp's block belongs to, the block with the even rank first.
    pub(crate) fn pair(warp: &mut Warp, pc: Pc, lane: usize) -> Result<[Self; 2], Pc> {
        // SAFETY: the block is not in use elsewhere while one of its warps runs.
        let (cluster, own) = unsafe { ((*warp.block).cluster(), (*warp.block).rank) };
        let member = |rank: u32| {
            let (state, base) = (cluster.state(rank)?, cluster.base(rank)?);
            Some(if rank == own { Self::of(warp) } else { Self { state, base, window: Cluster::address(rank, 0) } })
        };
        if let (Some(even), Some(odd)) = (member(own & !1), member(own | 1)) {
            warp.check_block(pc.source, 1 << lane, cluster, own ^ 1);
            return Ok([even, odd]);
        }
        let message = format!("block {own} of the cluster has no other block that it is a pair with (cta_group::2)");
        Err(warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message)))
    }
}

/// An access to a range of tensor memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TensorRange {
    pub(crate) owner: Owner,
    pub(crate) first: TensorAddress,
    pub(crate) lanes: u32,
    pub(crate) columns: u32,
    pub(crate) kind: AccessKind,
}

/// Checks that a range of tensor memory exists and is allocated.
pub(crate) fn expect_range(warp: &mut Warp, pc: Pc, lane: usize, range: TensorRange) -> Result<(), Pc> {
    let TensorRange { owner, first, lanes, columns, kind } = range;
    let (last_lane, last_column) = (first.lane + lanes.max(1) - 1, first.column + columns.max(1) - 1);
    // SAFETY: all blocks of the cluster belong to this worker, and none of them is in use elsewhere.
    let memory = unsafe { &(*owner.state).tensor };
    let is_inside = last_lane < TENSOR_LANES && last_column < TENSOR_COLUMNS;
    let reason = match memory.missing(first.column, columns) {
        _ if !is_inside => format!("which has {TENSOR_LANES} lanes and {TENSOR_COLUMNS} columns"),
        None => return Ok(()),
        Some(column) => match memory.freed_by(column) {
            Some(actor) => match warp.context().program.debug.locations(actor.source).first() {
                Some(location) => format!("of which column {column} was freed at {location}"),
                None => format!("of which column {column} was freed"),
            },
            None => format!("of which column {column} is not allocated"),
        },
    };
    let what = if kind == AccessKind::Read { "read" } else { "write" };
    let message = format!(
        "{what} of lanes {} to {last_lane} and columns {} to {last_column} of tensor memory, {reason}",
        first.lane, first.column
    );
    Err(warp.raise(RawFault::new(FaultKind::IllegalAddress, pc.source, lane, message)))
}

/// Tells the checks of an agent's access to cells of one column in a row, from a cell on.
pub(crate) fn observe_cells(
    warp: &Warp,
    pc: Pc,
    lane: usize,
    (owner, first, bytes): (Owner, TensorAddress, u64),
    kind: AccessKind,
    agent: Option<Agent>,
) {
    if warp.is_monitored() {
        let host = owner.base + first.offset();
        let place = |address| describe(warp, address, 1, Space::Generic);
        let agent = agent.map(Agent::in_any_proxy);
        warp.observe(pc.source, 1 << lane, |_| host, (bytes, kind, Order::usual(kind)), agent, place);
    }
}

/// The fault of a warp whose lanes give different values where one is needed.
#[cold]
pub(crate) fn differs(warp: &mut Warp, pc: Pc, what: &str) -> Pc {
    let message = format!("{what} differs between the lanes of the warp");
    warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, 0, message))
}

/// The address of tensor memory among the sources, which all lanes have to agree on.
pub(crate) fn uniform_address(warp: &mut Warp, pc: Pc, slots: Slots, index: usize) -> Result<TensorAddress, Pc> {
    // SAFETY: the operation has this source, of 64 bits.
    let lanes = unsafe { *slots.wide(warp, index) };
    if lanes.iter().any(|address| *address != lanes[0]) {
        return Err(differs(warp, pc, "the address of tensor memory"));
    }
    Ok(TensorAddress::from_bits(lanes[0] as u32))
}

/// The first cell of a load or store, whose lanes have to be those of the warp.
fn start(warp: &mut Warp, pc: Pc, slots: Slots, movement: Movement, kind: AccessKind) -> Result<TensorAddress, Pc> {
    let first = uniform_address(warp, pc, slots, 0)?;
    let lanes = SHAPES[movement.shape].lanes;
    let own = warp.index % GROUP_WARPS as u32 * QUARTER;
    if first.lane < own || first.lane + lanes > own + QUARTER || !first.lane.is_multiple_of(lanes) {
        let message = format!(
            "warp {} can access lanes {own} to {} of tensor memory, and the instruction names lanes {} to {}",
            warp.index,
            own + QUARTER - 1,
            first.lane,
            first.lane + lanes - 1
        );
        return Err(warp.raise(RawFault::new(FaultKind::IllegalAddress, pc.source, 0, message)));
    }
    let owner = Owner::of(warp);
    expect_range(warp, pc, 0, TensorRange { owner, first, lanes, columns: movement.columns(), kind })?;
    Ok(first)
}

/// Tells the checks of the access of all threads to a register's cells.
fn observe(warp: &Warp, pc: Pc, hosts: &[[u64; 2]; LANES], movement: Movement, kind: AccessKind, agent: Option<Agent>) {
    if !warp.is_monitored() {
        return;
    }
    let place = |address| describe(warp, address, 1, Space::Generic);
    let agent = agent.map(Agent::in_any_proxy);
    for half in [0, 1].into_iter().take(1 + usize::from(movement.packed)) {
        warp.observe(pc.source, FULL, |lane| hosts[lane][half], (4, kind, Order::usual(kind)), agent, place);
    }
}

/// The host addresses of the cells of a register.
fn hosts(warp: &Warp, first: TensorAddress, movement: Movement, register: usize) -> [[u64; 2]; LANES] {
    std::array::from_fn(|thread| {
        let (lane, columns) = movement.cells(thread as u32, register as u32);
        columns.map(|column| {
            let cell = TensorAddress { lane: first.lane + lane, column: first.column + column };
            warp.shared_base + cell.offset()
        })
    })
}

/// Loads the registers of all threads of the warp.
pub(crate) unsafe fn load(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        let (movement, slots) = (Movement::from_bits(pc.imm), Slots::new(pc, 1));
        let first = start(warp, pc, slots, movement, AccessKind::Read)?;
        let agent = warp.begin_operation(0, Completion::TensorLoads);
        for register in 0..movement.registers {
            let hosts = hosts(warp, first, movement, register);
            observe(warp, pc, &hosts, movement, AccessKind::Read, agent);
            // SAFETY: the cells are those of allocated columns.
            let values = hosts.map(|[low, high]| unsafe {
                if movement.packed { u32::read(low) & 0xffff | u32::read(high) << 16 } else { u32::read(low) }
            });
            // SAFETY: the operation has as many destinations; a slot has 32 lanes.
            unsafe { *warp.lanes::<[u32; LANES]>(slots.destination(register)) = values };
        }
        Ok(())
    };
    // SAFETY: the operation was made by `operands::emit`.
    unsafe { whole_warp(warp, pc, body) }
}

/// Stores the registers of all threads of the warp.
pub(crate) unsafe fn store(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        let movement = Movement::from_bits(pc.imm);
        let slots = Slots::beside(pc, 1, movement.registers);
        let first = start(warp, pc, slots, movement, AccessKind::Write)?;
        let agent = warp.begin_operation(0, Completion::TensorStores);
        for register in 0..movement.registers {
            let hosts = hosts(warp, first, movement, register);
            observe(warp, pc, &hosts, movement, AccessKind::Write, agent);
            // SAFETY: the operation has as many further sources.
            let values = unsafe { *slots.register_beside(warp, register) };
            for (value, [low, high]) in values.into_iter().zip(hosts) {
                // SAFETY: the cells are those of allocated columns.
                unsafe {
                    if movement.packed {
                        u32::write(low, value & 0xffff);
                        u32::write(high, value >> 16);
                    } else {
                        u32::write(low, value);
                    }
                }
            }
        }
        Ok(())
    };
    // SAFETY: the operation was made by `operands::emit_beside`.
    unsafe { whole_warp(warp, pc, body) }
}

/// A shape of copies from shared memory.
pub(crate) struct CopyShape {
    pub(crate) name: &'static str,
    /// How the copy reaches further lanes.
    pub(crate) multicast: &'static str,
    /// Rows of the matrix in shared memory, and lines of sixteen bytes of a row.
    rows: u32,
    lines: usize,
    /// The first lanes of the 32 lanes, or more, that rows from 0 on go to, and those that rows from 32 on go to.
    targets: [&'static [u32]; 2],
}

/// The shapes of copies.
pub(crate) static COPIES: [CopyShape; 5] = [
    CopyShape { name: ".128x256b", multicast: "", rows: 128, lines: 2, targets: [&[0], &[32]] },
    CopyShape { name: ".128x128b", multicast: "", rows: 128, lines: 1, targets: [&[0], &[32]] },
    CopyShape { name: ".64x128b", multicast: ".warpx2::02_13", rows: 64, lines: 1, targets: [&[0, 64], &[32, 96]] },
    CopyShape { name: ".64x128b", multicast: ".warpx2::01_23", rows: 64, lines: 1, targets: [&[0, 32], &[64, 96]] },
    CopyShape { name: ".32x128b", multicast: ".warpx4", rows: 32, lines: 1, targets: [&[0, 32, 64, 96], &[]] },
];

/// In `imm`: each block of a pair copies from its own shared memory.
pub(crate) const PAIR: u64 = 1 << 8;

/// Copies a matrix from shared memory, for each active lane.
pub(crate) unsafe fn copy(warp: &mut Warp, pc: Pc) -> Pc {
    for lane in lanes_of(warp.active) {
        if let Err(stop) = copy_of_lane(warp, pc, lane) {
            return stop;
        }
    }
    done(pc)
}

fn copy_of_lane(warp: &mut Warp, pc: Pc, lane: usize) -> Result<(), Pc> {
    let (shape, slots) = (&COPIES[(pc.imm & 0xff) as usize % COPIES.len()], Slots::new(pc, 2));
    // SAFETY: the operation has two sources of 64 bits.
    let (to, matrix) = unsafe { (slots.wide(warp, 0)[lane], slots.wide(warp, 1)[lane]) };
    let first = TensorAddress::from_bits(to as u32);
    let matrix = Descriptor::from_tensor_bits(matrix)
        .map_err(|message| warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message)))?;
    let own = Owner::of(warp);
    let owners = if pc.imm & PAIR != 0 { Owner::pair(warp, pc, lane)?.to_vec() } else { vec![own] };
    let agent = warp.begin_operation(lane, Completion::TensorCommit);
    owners.into_iter().try_for_each(|owner| copy_in_block(warp, pc, (lane, agent), shape, (owner, first, matrix)))
}

/// Copies a matrix within a block.
fn copy_in_block(
    warp: &mut Warp,
    pc: Pc,
    (lane, agent): (usize, Option<Agent>),
    shape: &CopyShape,
    (owner, first, matrix): (Owner, TensorAddress, Descriptor),
) -> Result<(), Pc> {
    let columns = (shape.lines * LINE / 4) as u32;
    let range = TensorRange { owner, first, lanes: TENSOR_LANES, columns, kind: AccessKind::Write };
    expect_range(warp, pc, lane, range)?;
    for row in 0..shape.rows {
        let (targets, offset) = if row < QUARTER { (shape.targets[0], row) } else { (shape.targets[1], row - QUARTER) };
        for line in 0..shape.lines {
            let address = owner.window | matrix.along(row as usize, line);
            let words = quads(read_line(warp, pc, lane, (address, LINE), agent)?);
            for (index, word) in words.into_iter().enumerate() {
                for target in targets {
                    let column = first.column + (line * words.len() + index) as u32;
                    let cell = TensorAddress { lane: target + offset, column };
                    // SAFETY: the cells are those of allocated columns.
                    unsafe { u32::write(owner.base + cell.offset(), word) };
                }
            }
        }
    }
    for column in first.column..first.column + columns {
        let cell = TensorAddress { lane: 0, column };
        observe_cells(warp, pc, lane, (owner, cell, COLUMN), AccessKind::Write, agent);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each shape reaches each cell of its lanes and columns once.
    #[test]
    fn shapes_cover_their_cells() {
        for (index, shape) in SHAPES.iter().enumerate() {
            for repetitions in [1, 2, 4] {
                let registers = shape.registers * repetitions;
                let split = if shape.name == ".16x32bx2" { repetitions as u32 } else { 0 };
                let movement = Movement { shape: index, registers, packed: false, split };
                assert_eq!(Movement::from_bits(movement.bits()), movement);
                let mut cells: Vec<_> = (0..32)
                    .flat_map(|thread| (0..registers as u32).map(move |register| movement.cells(thread, register)))
                    .map(|(lane, [column, _])| (lane, column))
                    .collect();
                cells.sort_unstable();
                cells.dedup();
                assert_eq!(cells.len() as u32, shape.lanes * movement.columns(), "{}", shape.name);
                assert!(cells.iter().all(|(lane, column)| *lane < shape.lanes && *column < movement.columns()));
                let packed = Movement { packed: true, ..movement };
                assert_eq!((packed.columns(), packed.cells(0, 0)), (2 * movement.columns(), (0, [0, 1])));
            }
        }
    }

    #[test]
    fn threads_hold_the_cells_of_the_figures() {
        let place = |shape: usize, thread, register| (SHAPES[shape].place)(thread, register);
        assert_eq!((place(1, 1, 0), place(1, 2, 0), place(1, 4, 3)), ((8, 0), (0, 1), (1, 6)));
        assert_eq!((place(2, 3, 0), place(2, 5, 1), place(2, 0, 2)), ((0, 3), (9, 1), (0, 4)));
        assert_eq!((place(3, 3, 1), place(3, 4, 2), place(3, 1, 4)), ((0, 7), (9, 0), (0, 10)));
    }
}
