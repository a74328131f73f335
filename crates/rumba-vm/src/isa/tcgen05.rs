//! `tcgen05`: tensor memory of the fifth generation of tensor cores, and products whose sums lie there.
//!
//! [`crate::machine::tensor_memory`] has the memory, [`crate::isa::matrix::tensor_move`] loads, stores and copies,
//! [`crate::isa::matrix::tensor_product`] the products. All of them are executed where they begin; the waits and commits
//! are for the checks, and for mbarriers. Of a pair of blocks (`cta_group::2`) each block allocates its own columns. Sparse
//! and weight-stationary products are not executed (`unsupported.rs`).

use crate::base::lanes::{LANES, lanes_of};
use crate::base::report::AccessKind;
use crate::base::types::ScalarType;
use crate::check::agent::Completion;
use crate::check::order::Order;
use crate::check::products::ProductRegisters;
use crate::exec::memory::Space;
use crate::exec::range::{Range, observe_range, range};
use crate::isa::matrix::operands::{Slots, address, destinations, emit, emit_apart, emit_beside, sources, whole_warp};
use crate::isa::matrix::tensor_move::{
    COPIES, Movement, Owner, PAIR, SHAPES, copy, differs, load, observe_cells, store,
};
use crate::isa::matrix::tensor_product::{Form as Product, HANDLERS, KINDS};
use crate::isa::mbarrier::{choose_arrival, objects, update};
use crate::isa::memory;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handler, Handlers, Pc};
use crate::machine::tensor_memory::{Allocation, COLUMN, TensorAddress, TensorMemory};
use crate::machine::warp::{Wait, Warp};
use crate::mem::atomic::Element;
use crate::mem::mbarrier::Arrival;
use rumba_checks::Check;

/// `tcgen05`
pub(super) static TCGEN05: Instruction = Instruction {
    name: "tcgen05",
    section: "9.7.16",
    forms: &[
        Form {
            syntax: "
                tcgen05.alloc!.cta.sync.aligned{.ss}.b32  [dst], nCols;
                .cta = { .cta_group::1, .cta_group::2 };
                .ss = { .shared::cta };
            ",
            lower: lower_alloc,
        },
        Form {
            syntax: "
                tcgen05.dealloc!.cta.sync.aligned.b32  taddr, nCols;
                .cta = { .cta_group::1, .cta_group::2 };
            ",
            lower: |l, _| {
                expect_size(l)?;
                let read = [l.source(0, ScalarType::U32)?, l.source(1, ScalarType::U32)?];
                lower_together(l, dealloc, &read)
            },
        },
        Form {
            syntax: "
                tcgen05.relinquish_alloc_permit!.cta.sync.aligned;
                .cta = { .cta_group::1, .cta_group::2 };
            ",
            lower: |l, _| lower_together(l, relinquish, &[]),
        },
        Form {
            syntax: "
                tcgen05.ld!.sync.aligned.shape.num{.pack::16b}.b32  r, [taddr];
                tcgen05.ld!.sync.aligned.16x32bx2.num{.pack::16b}.b32  r, [taddr], immHalfSplitoff;
                .shape = { .16x64b, .16x128b, .16x256b, .32x32b };
                .num = { .x1, .x2, .x4, .x8, .x16, .x32, .x64, .x128 };
            ",
            lower: lower_load,
        },
        Form {
            syntax: "
                tcgen05.st!.sync.aligned.shape.num{.unpack::16b}.b32  [taddr], r;
                tcgen05.st!.sync.aligned.16x32bx2.num{.unpack::16b}.b32  [taddr], immHalfSplitoff, r;
                .shape = { .16x64b, .16x128b, .16x256b, .32x32b };
                .num = { .x1, .x2, .x4, .x8, .x16, .x32, .x64, .x128 };
            ",
            lower: lower_store,
        },
        Form {
            syntax: "tcgen05.wait::ld!.sync.aligned;",
            lower: |l, _| lower_together(l, wait_loads, &[]),
        },
        Form {
            syntax: "tcgen05.wait::st!.sync.aligned;",
            lower: |l, _| lower_together(l, wait_stores, &[]),
        },
        Form {
            syntax: "
                tcgen05.cp!.cta.shape  [taddr], s_desc;
                tcgen05.cp!.cta.64x128b.multicast  [taddr], s_desc;
                tcgen05.cp!.cta.32x128b.warpx4  [taddr], s_desc;
                .cta = { .cta_group::1, .cta_group::2 };
                .shape = { .128x256b, .128x128b };
                .multicast = { .warpx2::02_13, .warpx2::01_23 };
            ",
            lower: lower_copy,
        },
        Form {
            syntax: "
                tcgen05.mma!.cta.kind{.ashift}{.collector}
                    [d], a, b_desc, idesc, enable_or_lanes{, enable_or_scale}{, scale_d};
                .cta = { .cta_group::1, .cta_group::2 };
                .kind = { .kind::f16, .kind::tf32, .kind::f8f6f4, .kind::i8 };
                .collector = { .collector::a::fill, .collector::a::use, .collector::a::lastuse, .collector::a::discard };
            ",
            lower: lower_product,
        },
        Form {
            syntax: "
                tcgen05.mma!.cta.kind.block_scale{.vector}{.collector}
                    [d], a, b_desc, idesc, [scale_a], [scale_b], enable_input_d;
                .cta = { .cta_group::1, .cta_group::2 };
                .kind = { .kind::mxf8f6f4, .kind::mxf4, .kind::mxf4nvf4 };
                .vector = { .scale_vec::1X, .scale_vec::2X, .scale_vec::4X, .block16, .block32 };
                .collector = { .collector::a::fill, .collector::a::use, .collector::a::lastuse, .collector::a::discard };
            ",
            lower: lower_product,
        },
        Form {
            syntax: "
                tcgen05.commit!.cta.mbarrier::arrive::one{.ss}{.multicast::cluster}.b64  [mbar]{, ctaMask};
                .cta = { .cta_group::1, .cta_group::2 };
                .ss = { .shared::cluster };
            ",
            lower: lower_commit,
        },
        Form {
            // The machine executes operations where they begin: barriers and mbarriers alone order them.
            syntax: "
                tcgen05.fence::before_thread_sync;
                tcgen05.fence::after_thread_sync;
            ",
            lower: |_, _| Ok(()),
        },
    ],
    availability: &[
        Availability::specific((8, 6), 100).below(120),
        Availability::specific((8, 7), 100).with(&[".kind::mxf4nvf4"]),
        Availability::specific((8, 7), 100).with(&[".scale_vec::4X"]),
        Availability::specific((8, 8), 100).with(&[".block16"]),
        Availability::specific((8, 8), 100).with(&[".block32"]),
    ],
    convergence: Convergence::Warp,
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

/// Whether the form is one for a pair of blocks.
fn is_pair(m: &Matched<'_>) -> bool {
    m.get("cta") == Some(".cta_group::2")
}

/// Lowers an operation that all lanes of a warp execute together.
fn lower_together(l: &mut Lowering<'_>, handler: Handler, read: &[VReg]) -> Result<(), LowerError> {
    l.pool.uses_proxies = true;
    emit(l, VirtualOp::new(Handlers::same(handler)), read, &[]);
    Ok(())
}

fn lower_alloc(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    expect_size(l)?;
    let space = if m.get("ss").is_some() { Space::Shared } else { Space::Generic };
    let read = [address(l, 0, space)?, l.source(1, ScalarType::U32)?];
    l.pool.uses_proxies = true;
    emit(l, VirtualOp { imm: space as u64, ..VirtualOp::new(Handlers::same(alloc)) }, &read, &[]);
    Ok(())
}

/// Whether operand 1, if it is a number, is one of columns of an allocation.
fn expect_size(l: &Lowering<'_>) -> Result<(), LowerError> {
    match l.literal(1) {
        Some(columns) if !u32::try_from(columns).is_ok_and(TensorMemory::is_size) => {
            Err(LowerError::new(SIZES).at(l.operand(1)?.span))
        }
        _ => Ok(()),
    }
}

const SIZES: &str = "the number of columns of an allocation is a power of two from 32 to 512";

/// The shape, the repetitions and the distance of the halves, which operand `split` has.
fn movement(l: &Lowering<'_>, m: &Matched<'_>, split: usize) -> Result<Movement, LowerError> {
    let name = m.get("shape").unwrap_or(".16x32bx2");
    let unknown = || LowerError::new("this shape is not known");
    let shape = SHAPES.iter().position(|shape| shape.name == name).ok_or_else(unknown)?;
    let repetitions: usize = m.get("num").and_then(|num| num[2..].parse().ok()).ok_or_else(unknown)?;
    let registers = SHAPES[shape].registers * repetitions;
    if registers > 128 {
        return Err(LowerError::new(format!("{name} has at most .x{}", 128 / SHAPES[shape].registers)));
    }
    let split = match (m.get("shape"), l.literal(split)) {
        (Some(_), _) => 0,
        (None, Some(split @ 0..512)) => split as u32,
        (None, _) => return Err(LowerError::new("a number of columns is needed here").at(l.operand(split)?.span)),
    };
    Ok(Movement { shape, registers, packed: m.has(".pack::16b") || m.has(".unpack::16b"), split })
}

/// The registers of a load or store, which are a vector, also if there is one only.
fn expect_vector(l: &Lowering<'_>, index: usize) -> Result<(), LowerError> {
    use rumba_ptx::ast::OperandKind;

    let operand = l.operand(index)?;
    match &operand.kind {
        OperandKind::Vector(items) if items.iter().all(|item| item.kind != OperandKind::Name("_")) => Ok(()),
        _ => Err(LowerError::new("a vector of registers is needed here").at(operand.span)),
    }
}

/// Operand `index` as an address in tensor memory, which a register of 32 bits holds.
fn tensor_address(l: &mut Lowering<'_>, index: usize) -> Result<VReg, LowerError> {
    let written = l.address(index)?;
    if !written.narrow || written.space.is_some() {
        let message = "an address of tensor memory is needed here, in a register of 32 bits";
        return Err(LowerError::new(message).at(l.operand(index)?.span));
    }
    address(l, index, Space::Shared)
}

fn lower_load(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let movement = movement(l, m, 2)?;
    expect_vector(l, 0)?;
    let read = [tensor_address(l, 1)?];
    let written = destinations(l, 0, movement.registers, 32)?;
    let accumulator = written.iter().filter_map(|place| l.function.register_key(*place)).collect();
    let registers =
        ProductRegisters { source: l.source, shape: ProductRegisters::LOAD, accumulator, factor: Vec::new() };
    l.pool.uses_proxies = true;
    emit(l, VirtualOp { imm: movement.bits(), ..VirtualOp::new(Handlers::same(load)) }, &read, &written);
    if l.pool.instruments.checks.contains(Check::Sync) {
        l.emit(VirtualOp { imm: l.pool.products.len() as u64, defines: 0, ..VirtualOp::new(Handlers::same(begun)) });
        l.pool.products.push(registers);
    }
    Ok(())
}

/// Behind a load that is checked.
unsafe fn begun(warp: &mut Warp, pc: Pc) -> Pc {
    warp.record_tensor_load(pc);
    pc.next()
}

fn lower_store(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let movement = movement(l, m, 1)?;
    let read = [tensor_address(l, 0)?];
    expect_vector(l, l.operand_count() - 1)?;
    let stored = sources(l, l.operand_count() - 1, movement.registers, 32)?;
    l.pool.uses_proxies = true;
    emit_beside(l, VirtualOp { imm: movement.bits(), ..VirtualOp::new(Handlers::same(store)) }, &read, &stored, &[]);
    Ok(())
}

fn lower_copy(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let name = m.get("shape").unwrap_or(if m.has(".32x128b") { ".32x128b" } else { ".64x128b" });
    let multicast = m.get("multicast").unwrap_or(if m.has(".warpx4") { ".warpx4" } else { "" });
    let index = COPIES.iter().position(|shape| (shape.name, shape.multicast) == (name, multicast));
    let index = index.ok_or_else(|| LowerError::new("this shape is not known"))?;
    let read = [tensor_address(l, 0)?, l.source(1, ScalarType::B64)?];
    l.pool.uses_proxies = true;
    let imm = index as u64 | if is_pair(m) { PAIR } else { 0 };
    emit_apart(l, VirtualOp { imm, defines: 0, ..VirtualOp::new(Handlers::same(copy)) }, &read);
    Ok(())
}

fn lower_product(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    use rumba_ptx::ast::OperandKind;

    let name = m.get("kind").unwrap_or_default();
    let unknown = || LowerError::new("this kind of product is not known");
    let kind = KINDS.iter().position(|kind| kind.name == name).ok_or_else(unknown)?;
    let groups = match (name, m.get("vector")) {
        _ if !m.has(".block_scale") => 0,
        (".kind::mxf8f6f4", None | Some(".scale_vec::1X" | ".block32")) => 1,
        (".kind::mxf4", None | Some(".scale_vec::2X" | ".block32")) => 2,
        (".kind::mxf4nvf4", Some(".scale_vec::2X" | ".block32")) => 2,
        (".kind::mxf4nvf4", Some(".scale_vec::4X" | ".block16")) => 4,
        _ => return Err(LowerError::new(format!("{name} has no such size of the groups of a scale factor"))),
    };
    let is_vector = |index: usize| l.operand(index).is_ok_and(|operand| matches!(operand.kind, OperandKind::Vector(_)));
    let in_tensor = matches!(l.operand(1)?.kind, OperandKind::Address(_));
    let leaves_out = groups == 0 && is_vector(4);
    let at = if groups > 0 { 6 } else { 4 + usize::from(leaves_out) };
    let last = l.operand_count() - 1;
    if m.has(".ashift") && !in_tensor {
        return Err(LowerError::new("`.ashift` is for a first factor in tensor memory"));
    }
    let shift = match (last.checked_sub(at), l.literal(last)) {
        (Some(0), _) => 0,
        (Some(1), Some(shift @ 0..16)) if matches!(name, ".kind::f16" | ".kind::tf32") => shift as u32,
        (Some(1), _) => {
            let message = "`scale-input-d` is a number below 16, for .kind::f16 and .kind::tf32";
            return Err(LowerError::new(message).at(l.operand(last)?.span));
        }
        _ => return Err(LowerError::new("the predicate `enable-input-d` is missing, or there are too many operands")),
    };
    let mut read = vec![tensor_address(l, 0)?];
    read.push(if in_tensor { tensor_address(l, 1)? } else { l.source(1, ScalarType::B64)? });
    read.push(l.source(2, ScalarType::B64)?);
    read.push(l.source(3, ScalarType::B32)?);
    let masks = match (leaves_out, is_pair(m)) {
        (false, _) => 0,
        (true, false) => 4,
        (true, true) => 8,
    };
    if masks > 0 {
        read.extend(sources(l, 4, masks, 32)?);
    }
    if groups > 0 {
        read.extend([tensor_address(l, 4)?, tensor_address(l, 5)?]);
    }
    let (c, negated) = match l.literal(at) {
        Some(adds) => (VReg::Predicate(u16::from(adds != 0)), false),
        None => l.predicate_source(at)?,
    };
    let form = Product {
        kind,
        is_pair: is_pair(m),
        in_tensor,
        shifts_rows: m.has(".ashift"),
        leaves_out,
        negated,
        groups,
        shift,
    };
    l.pool.uses_proxies = true;
    emit_apart(l, VirtualOp { c, imm: form.bits(), defines: 0, ..VirtualOp::new(HANDLERS) }, &read);
    Ok(())
}

fn lower_commit(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let multicast = m.has(".multicast::cluster");
    if multicast != (l.operand_count() == 2) {
        return Err(LowerError::new("`ctaMask` belongs to .multicast::cluster"));
    }
    let space = if m.get("ss").is_some() { Space::Shared } else { Space::Generic };
    let target = memory::address(l, 0, space)?;
    if space == Space::Shared {
        choose_arrival(l, target, true);
    }
    let b = if multicast { l.source(1, ScalarType::B16)? } else { VReg::None };
    l.pool.uses_proxies = true;
    l.emit(VirtualOp {
        a: target.base,
        b,
        imm: target.offset.cast_unsigned(),
        extra: space as u16 | Order::COMPLETION.bits() | if multicast { MULTICAST } else { 0 },
        defines: 0,
        ..VirtualOp::new(Handlers::same(commit))
    });
    Ok(())
}

/// In `extra`: `b` is a mask of blocks.
const MULTICAST: u16 = 0x100;

#[cold]
fn mistake(warp: &mut Warp, pc: Pc, message: String) -> Pc {
    warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, 0, message))
}

/// A source of 32 bits, which all lanes have to agree on.
fn uniform(warp: &mut Warp, pc: Pc, (slots, index): (Slots, usize), what: &str) -> Result<u32, Pc> {
    // SAFETY: the operation has this source.
    let lanes: [u32; LANES] = unsafe { *slots.register(warp, index) };
    if lanes.iter().all(|lane| *lane == lanes[0]) { Ok(lanes[0]) } else { Err(differs(warp, pc, what)) }
}

unsafe fn alloc(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        let slots = Slots::new(pc, 2);
        let columns = uniform(warp, pc, (slots, 1), "the number of columns")?;
        if !TensorMemory::is_size(columns) {
            return Err(mistake(warp, pc, format!("{SIZES}, not {columns}")));
        }
        let actor = warp.actor(pc.source, warp.active, "allocation");
        // SAFETY: the block is not in use elsewhere while one of its warps runs.
        let memory = unsafe { &mut (*warp.block).tensor };
        if let Some(relinquished) = memory.relinquished {
            let at = warp.context().program.debug.locations(relinquished.source);
            let at = at.first().map(|at| format!(" at {at}")).unwrap_or_default();
            return Err(mistake(warp, pc, format!("the block has given up the right to allocate tensor memory{at}")));
        }
        let Some(first) = memory.fit(columns) else {
            return Err(warp.park(pc, Wait::Columns { columns }));
        };
        memory.allocate(Allocation { first, columns, actor });
        let start = warp.shared_base + TensorAddress { lane: 0, column: first }.offset();
        warp.observe_tensor_allocation(start, u64::from(columns) * COLUMN);
        let wanted = Range {
            // SAFETY: the operation has this source, of 64 bits.
            address: unsafe { slots.wide(warp, 0)[0] },
            bytes: 4,
            align: 4,
            kind: AccessKind::Write,
            space: Space::from_bits(pc.imm as u16),
            agent: None,
        };
        let host = range(warp, pc, 0, wanted)?;
        // SAFETY: the address passed the access check.
        unsafe { u32::write(host, first) };
        Ok(())
    };
    // SAFETY: the operation was made by `operands::emit`.
    unsafe { whole_warp(warp, pc, body) }
}

unsafe fn dealloc(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        let slots = Slots::new(pc, 2);
        let first = TensorAddress::from_bits(uniform(warp, pc, (slots, 0), "the address of tensor memory")?);
        let columns = uniform(warp, pc, (slots, 1), "the number of columns")?;
        let actor = warp.actor(pc.source, warp.active, "release");
        // SAFETY: the block is not in use elsewhere while one of its warps runs.
        let freed = unsafe { (*warp.block).free_columns(first.column, columns, actor) };
        freed.map_err(|message| mistake(warp, pc, message))?;
        // For the checks, the columns are written and that is waited for: no operation there may be under way.
        let agent = warp.begin_operation(0, Completion::TensorStores);
        let cells = (Owner::of(warp), TensorAddress { lane: 0, column: first.column }, u64::from(columns) * COLUMN);
        observe_cells(warp, pc, 0, cells, AccessKind::Write, agent);
        warp.observe_tensor_wait(Completion::TensorStores);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { whole_warp(warp, pc, body) }
}

unsafe fn relinquish(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        let actor = warp.actor(pc.source, warp.active, "release of the right to allocate");
        // SAFETY: the block is not in use elsewhere while one of its warps runs.
        unsafe { (*warp.block).tensor.relinquished = Some(actor) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { whole_warp(warp, pc, body) }
}

unsafe fn wait_loads(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        warp.products.wait_loads();
        warp.observe_tensor_wait(Completion::TensorLoads);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { whole_warp(warp, pc, body) }
}

unsafe fn wait_stores(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        warp.observe_tensor_wait(Completion::TensorStores);
        Ok(())
    };
    // SAFETY: as above.
    unsafe { whole_warp(warp, pc, body) }
}

/// Arrives at an mbarrier for the products and copies that a thread has begun, which are over.
unsafe fn commit(warp: &mut Warp, pc: Pc) -> Pc {
    let objects = match objects(warp, pc, AccessKind::Atomic) {
        Ok(objects) => objects,
        Err(stop) => return stop,
    };
    for lane in lanes_of(warp.active) {
        // SAFETY: the lane is active; with a mask, `b` is a slot of 32 bits.
        let (object, mask) = unsafe {
            let mask = (pc.extra & MULTICAST != 0).then(|| *warp.lanes::<u32>(pc.b).add(lane) as u16);
            (objects.get(lane), mask)
        };
        if let Err(stop) = commit_lane(warp, pc, lane, object, mask) {
            return stop;
        }
    }
    pc.next()
}

fn commit_lane(warp: &mut Warp, pc: Pc, lane: usize, object: u64, mask: Option<u16>) -> Result<(), Pc> {
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let cluster = unsafe { (*warp.block).cluster() };
    let Some((own, offset)) = cluster.owner(object) else {
        return Err(mistake(warp, pc, "the mbarrier of a commit lies in shared memory of the cluster".into()));
    };
    let ranks = match mask {
        Some(mask) => lanes_of(u32::from(mask)).map(|rank| rank as u32).collect(),
        None => vec![own],
    };
    for rank in ranks {
        let (Some(base), Some(state)) = (cluster.base(rank), cluster.state(rank)) else {
            let message = format!("the cluster has {} blocks, and the commit is for block {rank}", cluster.size());
            return Err(mistake(warp, pc, message));
        };
        warp.check_block(pc.source, 1 << lane, cluster, rank);
        let object = base + offset;
        if rank != own {
            observe_range(warp, pc, lane, object, (8, AccessKind::Atomic), None);
        }
        // SAFETY: all blocks of the cluster belong to this worker, and none of them is in use elsewhere.
        let owner = unsafe { (*state).number };
        warp.observe_tensor_commit(lane, (owner, object));
        let arrival = Arrival { count: 1, drops: false, no_complete: false, expect: 0 };
        update(warp, pc, lane, object, |state| state.arrive(arrival))?;
    }
    Ok(())
}
