//! The tensor forms of `cp.async.bulk` and `cp.reduce.async.bulk`, and bulk reductions: their operands, and the access
//! checks.
//!
//! [`crate::mem::tensor`] says which elements a copy accesses, [`crate::mem::copies`] when the copy arrives.

use std::convert::Infallible;

use rumba_ptx::ast::OperandKind;

use crate::base::lanes::lanes_of;
use crate::base::report::AccessKind;
use crate::base::types::ScalarType;
use crate::check::agent::{Agent, Completion};
use crate::exec::memory::{Space, flat};
use crate::exec::range::{Range, observe_range, range, translate};
use crate::isa::atomic::reduction;
use crate::isa::cp::{begin_group, deliver_to, outside_of_clusters, whole_address};
use crate::isa::matrix::operands::{Slots, done, emit_apart};
use crate::isa::memory;
use crate::lower::error::LowerError;
use crate::lower::instruction::Form;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;
use crate::mem::atomic::read;
use crate::mem::copies::{Delivery, Reduce};
use crate::mem::tensor::{Direction, Reduction, Start, TensorCopy, Width};
use crate::mem::tensor_map::{BYTES, MAX_RANK, Shape, TensorElement, TensorMap};

/// Bytes that a tensor map and a box in shared memory are aligned to.
const MAP_ALIGN: u64 = 64;
const BOX_ALIGN: u64 = 128;

/// From global to shared memory.
pub(super) const LOAD: Form = Form {
    syntax: "
        cp.async.bulk.tensor!.dim.to.global{.mode}.mbarrier::complete_tx::bytes{.multicast::cluster}{.hint}
            [dst], [map], [mbar]{, offsets}{, mask}{, policy};
        .dim = { .1d, .2d, .3d, .4d, .5d };
        .to = { .shared::cluster, .shared::cta };
        .mode = { .tile, .tile::gather4, .im2col, .im2col::w, .im2col::w::128 };
        .hint = { .L2::cache_hint };
    ",
    lower: lower_load,
};

/// From shared to global memory.
pub(super) const STORE: Form = Form {
    syntax: "
        cp.async.bulk.tensor!.dim.global.shared::cta{.mode}.bulk_group{.hint}  [map], [src]{, policy};
        .dim = { .1d, .2d, .3d, .4d, .5d };
        .mode = { .tile, .tile::scatter4, .im2col_no_offs };
        .hint = { .L2::cache_hint };
    ",
    lower: |l, m| lower_store(l, m, STORES, 0),
};

/// From shared to global memory, combined with the elements in global memory.
pub(super) const REDUCE: Form = Form {
    syntax: "
        cp.reduce.async.bulk.tensor!.dim.global.shared::cta.op{.mode}.bulk_group{.hint}  [map], [src]{, policy};
        .dim = { .1d, .2d, .3d, .4d, .5d };
        .op = { .add, .min, .max, .inc, .dec, .and, .or, .xor };
        .mode = { .tile, .im2col_no_offs };
        .hint = { .L2::cache_hint };
    ",
    lower: |l, m| {
        let op = OPERATIONS.iter().position(|name| Some(*name) == m.get("op"));
        lower_store(l, m, REDUCES, op.unwrap_or_default() as u64)
    },
};

/// Into the cache: it changes nothing that a program can observe.
pub(super) const PREFETCH: Form = Form {
    syntax: "
        cp.async.bulk.prefetch.tensor!.dim.L2.global{.mode}{.hint}  [map]{, offsets}{, policy};
        .dim = { .1d, .2d, .3d, .4d, .5d };
        .mode = { .tile, .tile::gather4, .im2col, .im2col::w, .im2col::w::128 };
        .hint = { .L2::cache_hint };
    ",
    lower: |l, m| {
        let mode = mode(m);
        tensor(l, m, 0, mode)?;
        if offset_count(mode, rank(m)) > 0 {
            offsets(l, m, mode, 1)?;
        }
        Ok(())
    },
};

/// Bulk reductions of memory that lies in a row.
pub(super) const BULK_REDUCE: Form = Form {
    syntax: "
        cp.reduce.async.bulk!.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.op.type  [dst], [src], size, [mbar];
        .op = { .and, .or, .xor, .add, .inc, .dec, .min, .max };
        .type = { .s32, .u32, .s64, .u64, .b32, .b64 };
        cp.reduce.async.bulk!.global.shared::cta.bulk_group{.hint}.op{.noftz}.type  [dst], [src], size{, policy};
        .op = { .and, .or, .xor, .add, .inc, .dec, .min, .max };
        .type = { .f16, .bf16, .b32, .u32, .s32, .b64, .u64, .s64, .f32, .f64 };
        .noftz = { .noftz };
        .hint = { .L2::cache_hint };
    ",
    lower: lower_bulk_reduce,
};

/// The operations of reductions.
const OPERATIONS: [&str; 8] = [".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"];

/// In an operation's `imm`: the direction of the copy, in two bits.
const LOADS: u64 = 0;
const STORES: u64 = 1;
const REDUCES: u64 = 2;
/// The kind of elements, in two bits.
const TILE: u64 = 0;
const FOUR_ROWS: u64 = 1;
const COLUMNS: u64 = 2;
const WIDTH: u64 = 3;
const MODE_SHIFT: u32 = 2;
/// Whether there is a mask of blocks.
const MASKED: u64 = 1 << 4;
/// How many dimensions.
const RANK_SHIFT: u32 = 5;
/// The reduction.
const OPERATION_SHIFT: u32 = 8;
/// Whether columns along the width are those of `im2col::w::128`.
const WIDTH_128: u64 = 1 << 11;

fn mode(m: &Matched<'_>) -> u64 {
    match m.get("mode") {
        Some(".tile::gather4" | ".tile::scatter4") => FOUR_ROWS,
        Some(".im2col" | ".im2col_no_offs") => COLUMNS,
        Some(".im2col::w" | ".im2col::w::128") => WIDTH,
        _ => TILE,
    }
}

/// How many numbers the operand `im2colInfo` of a load has: offsets of the filter, or halo and offset along the width.
fn offset_count(mode: u64, rank: usize) -> usize {
    match mode {
        COLUMNS => rank.saturating_sub(2),
        WIDTH => 2,
        _ => 0,
    }
}

/// How many dimensions the tensor has.
fn rank(m: &Matched<'_>) -> usize {
    match m.get("dim") {
        Some(".1d") => 1,
        Some(".2d") => 2,
        Some(".3d") => 3,
        Some(".4d") => 4,
        _ => 5,
    }
}

/// The map and the coordinates at operand `index`.
fn tensor(l: &mut Lowering<'_>, m: &Matched<'_>, index: usize, mode: u64) -> Result<(VReg, Vec<VReg>), LowerError> {
    let operand = l.operand(index)?;
    let rank = rank(m);
    let count = match mode {
        FOUR_ROWS if rank == 2 => 5,
        COLUMNS | WIDTH if rank >= 3 => rank,
        TILE => rank,
        _ => {
            return Err(LowerError::new(format!("this mode does not exist for {rank} dimension(s)")));
        }
    };
    let OperandKind::Address(address) = &operand.kind else {
        return Err(LowerError::new("a tensor map and coordinates are needed here: [map, {x, y}]").at(operand.span));
    };
    let coordinates: Vec<_> = match &address.coordinates[..] {
        [one] => match &one.kind {
            OperandKind::Vector(items) => items.iter().collect(),
            _ => vec![one],
        },
        _ => Vec::new(),
    };
    if coordinates.len() != count {
        let message = format!("{count} coordinate(s) are needed here, not {}", coordinates.len());
        return Err(LowerError::new(message).at(operand.span));
    }
    let mut places = Vec::with_capacity(count);
    for coordinate in coordinates {
        places.push(l.source_operand(coordinate, ScalarType::S32, false)?);
    }
    Ok((whole_address(l, index, Space::Generic)?, places))
}

/// The offsets of a filter at operand `index`.
fn offsets(l: &mut Lowering<'_>, m: &Matched<'_>, mode: u64, index: usize) -> Result<Vec<VReg>, LowerError> {
    let elements = memory::elements(l, index, offset_count(mode, rank(m)))?;
    elements.into_iter().map(|element| l.source_operand(element, ScalarType::U16, false)).collect()
}

fn expect_operands(l: &Lowering<'_>, expected: usize) -> Result<(), LowerError> {
    if l.operand_count() == expected {
        return Ok(());
    }
    Err(LowerError::new(format!("these modifiers ask for {expected} operands, and {} are given", l.operand_count())))
}

fn lower_load(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = mode(m);
    let to = whole_address(l, 0, Space::Shared)?;
    let (map, mut further) = tensor(l, m, 1, mode)?;
    let barrier = whole_address(l, 2, Space::Shared)?;
    let mut next = 3;
    if offset_count(mode, rank(m)) > 0 {
        further.extend(offsets(l, m, mode, next)?);
        next += 1;
    }
    let width_128 = if m.get("mode") == Some(".im2col::w::128") { WIDTH_128 } else { 0 };
    let (mut mask, mut flags) = (VReg::None, 0);
    if m.has(".multicast::cluster") {
        (mask, flags) = (l.source(next, ScalarType::B16)?, MASKED);
        next += 1;
    }
    expect_operands(l, next + usize::from(m.get("hint").is_some()))?;
    let virtual_op = VirtualOp {
        a: to,
        b: map,
        c: barrier,
        d: mask,
        imm: LOADS | mode << MODE_SHIFT | flags | width_128 | (rank(m) as u64) << RANK_SHIFT,
        defines: 0,
        ..VirtualOp::new(Handlers::same(begin))
    };
    l.pool.uses_proxies = true;
    emit_apart(l, virtual_op, &further);
    Ok(())
}

fn lower_store(l: &mut Lowering<'_>, m: &Matched<'_>, kind: u64, operation: u64) -> Result<(), LowerError> {
    let mode = mode(m);
    let (map, further) = tensor(l, m, 0, mode)?;
    let from = whole_address(l, 1, Space::Shared)?;
    expect_operands(l, 2 + usize::from(m.get("hint").is_some()))?;
    let virtual_op = VirtualOp {
        a: from,
        b: map,
        imm: kind | mode << MODE_SHIFT | (rank(m) as u64) << RANK_SHIFT | operation << OPERATION_SHIFT,
        defines: 0,
        ..VirtualOp::new(Handlers::same(begin))
    };
    l.pool.uses_proxies = true;
    emit_apart(l, virtual_op, &further);
    Ok(())
}

/// Begins a copy for each lane.
unsafe fn begin(warp: &mut Warp, pc: Pc) -> Pc {
    for lane in lanes_of(warp.active) {
        if let Err(stop) = begin_lane(warp, pc, lane) {
            return stop;
        }
    }
    done(pc)
}

fn mistake<T>(warp: &mut Warp, pc: Pc, lane: usize, message: String) -> Result<T, Pc> {
    Err(warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message)))
}

/// Reads the map at an address.
pub(super) fn read_map(
    warp: &mut Warp,
    pc: Pc,
    lane: usize,
    (address, space): (u64, Space),
    agent: Option<Agent>,
) -> Result<TensorMap, Pc> {
    let wanted = Range {
        address,
        bytes: BYTES as u64,
        align: MAP_ALIGN,
        kind: AccessKind::Read,
        space,
        agent: agent.map(Agent::reading_map),
    };
    let host = range(warp, pc, lane, wanted)?;
    let mut bytes = [0; BYTES];
    // SAFETY: the range passed the access check.
    unsafe { read(host, &mut bytes) };
    match TensorMap::decode(&bytes) {
        Ok(map) => Ok(map),
        Err(error) => mistake(warp, pc, lane, format!("a tensor map was expected at {address:#x}: {error}")),
    }
}

/// The scalar type of elements that reductions combine.
fn scalar(element: TensorElement) -> Option<ScalarType> {
    Some(match element {
        TensorElement::U32 => ScalarType::U32,
        TensorElement::S32 => ScalarType::S32,
        TensorElement::U64 => ScalarType::U64,
        TensorElement::S64 => ScalarType::S64,
        TensorElement::F16 => ScalarType::F16,
        TensorElement::Bf16 => ScalarType::Bf16,
        TensorElement::F32 | TensorElement::F32Ftz | TensorElement::Tf32 | TensorElement::Tf32Ftz => ScalarType::F32,
        TensorElement::F64 => ScalarType::F64,
        TensorElement::U8
        | TensorElement::U16
        | TensorElement::B4x16
        | TensorElement::B4x16P64
        | TensorElement::B6x16P32 => return None,
    })
}

/// Whether sums of the type turn subnormal numbers to zero.
fn flushes(element: TensorElement) -> bool {
    matches!(element, TensorElement::F32Ftz | TensorElement::Tf32Ftz)
}

/// A reduction in global memory. Unlike `red`, sums of numbers of 32 bits keep subnormal ones, unless the type flushes them.
fn bulk_reduction(name: &str, ty: ScalarType, flushes: bool) -> Option<Reduction> {
    let space = if ty == ScalarType::F32 && !flushes { Space::Shared } else { Space::Global };
    reduction(name, ty, space)
}

fn begin_lane(warp: &mut Warp, pc: Pc, lane: usize) -> Result<(), Pc> {
    let (kind, mode) = (pc.imm & 3, pc.imm >> MODE_SHIFT & 3);
    let rank = (pc.imm >> RANK_SHIFT & 7) as usize;
    // SAFETY: the slots are the operation's, with 32 lanes of 64 bits.
    let (address, at) = unsafe { (*warp.lanes::<u64>(pc.a).add(lane), *warp.lanes::<u64>(pc.b).add(lane)) };
    let completion = match kind {
        // SAFETY: `c` is a slot of 64 bits then.
        LOADS => Completion::Barrier(unsafe { *warp.lanes::<u64>(pc.c).add(lane) }),
        _ => Completion::Group,
    };
    let agent = warp.begin_operation(lane, completion);
    let map = read_map(warp, pc, lane, (at, Space::Generic), agent)?;
    if map.address == 0 {
        let message = format!("the tensor map at {at:#x} has no address: nothing has set its field `global_address`");
        return mistake(warp, pc, lane, message);
    }
    let is_columns = matches!(map.shape, Shape::Columns { .. });
    if map.rank != rank || is_columns != matches!(mode, COLUMNS | WIDTH) {
        let shape = if is_columns { "columns of pixels" } else { "boxes" };
        let message =
            format!("the tensor map is one for {shape} of {} dimension(s), which the instruction is not", map.rank);
        return mistake(warp, pc, lane, message);
    }
    if matches!(map.element, TensorElement::B4x16P64 | TensorElement::B6x16P32) {
        let message = "tensors whose elements lie with gaps are not supported".to_owned();
        return mistake(warp, pc, lane, message);
    }
    if map.interleave != 0 && (rank < 3 || matches!(mode, WIDTH | FOUR_ROWS)) {
        let message =
            "tensors in interleaved slices have 3 to 5 dimensions, and are copied as boxes or by `im2col`".to_owned();
        return mistake(warp, pc, lane, message);
    }
    let further = if kind == LOADS { offset_count(mode, rank) } else { 0 };
    let coordinates = if mode == FOUR_ROWS { 5 } else { rank };
    let slots = Slots::new(pc, coordinates + further);
    // SAFETY: the operation has as many sources, of 32 bits.
    let word = |warp: &Warp, index: usize| unsafe { slots.register(warp, index) }[lane];
    let at: [i32; MAX_RANK] = std::array::from_fn(|axis| if axis < coordinates { word(warp, axis) as i32 } else { 0 });
    let offsets: [u16; 3] =
        std::array::from_fn(|axis| if axis < further { word(warp, coordinates + axis) as u16 } else { 0 });
    let start = match mode {
        FOUR_ROWS => Start::Rows { column: at[0], rows: std::array::from_fn(|row| at[1 + row]) },
        WIDTH => {
            let is_128 = pc.imm & WIDTH_128 != 0;
            let [halo, offset, _] = offsets;
            let most = if is_128 { 32 } else { 512 };
            if halo >= most || offset >= 32 {
                let message =
                    format!("a halo of {halo} pixels and an offset of {offset}: they are below {most} and 32");
                return mistake(warp, pc, lane, message);
            }
            if map.swizzle == 0 || map.atom == 2 {
                let message =
                    "columns along the width are swizzled, and not with halves of 16 bytes exchanged".to_owned();
                return mistake(warp, pc, lane, message);
            }
            let width = Width { is_128, halo, offset };
            Start::Width { at, width }
        }
        _ => Start::Box { at, offsets },
    };
    let name = OPERATIONS[(pc.imm >> OPERATION_SHIFT) as usize % OPERATIONS.len()];
    let direction = match kind {
        LOADS => Direction::Load,
        STORES => Direction::Store,
        _ => match scalar(map.element).and_then(|ty| bulk_reduction(name, ty, flushes(map.element))) {
            Some(reduction) => Direction::Reduce(reduction),
            None => {
                let message = format!("the reduction `{name}` does not exist for elements of type {:?}", map.element);
                return mistake(warp, pc, lane, message);
            }
        },
    };
    let mut copy = TensorCopy {
        map,
        start,
        direction,
        shared: 0,
        // The swizzle goes by bits that all addresses of the box have: blocks lie at multiples of `SHARED_STRIDE`. A box that is not
        // aligned is refused below.
        window: address - address % BOX_ALIGN,
    };
    if let Some(message) = copy.mistake() {
        return mistake(warp, pc, lane, message);
    }
    let bytes = copy.shared_bytes();
    let (here, there) = match direction {
        Direction::Load => (AccessKind::Write, AccessKind::Read),
        Direction::Store => (AccessKind::Read, AccessKind::Write),
        Direction::Reduce(_) => (AccessKind::Read, AccessKind::Atomic),
    };
    let wanted = Range { address, bytes, align: BOX_ALIGN, kind: here, space: Space::Shared, agent };
    copy.shared = translate(warp, pc, lane, wanted)?;
    // A box that lies in shared memory has no more rows than can be looked at.
    check_spans(warp, pc, lane, &copy, there)?;
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let cluster = unsafe { (*warp.block).cluster() };
    let Some((_, window)) = cluster.owner(copy.shared) else {
        return mistake(warp, pc, lane, "the box lies in shared memory of the cluster".into());
    };
    copy.window = window;
    if matches!(completion, Completion::Group) {
        // The report of a race depends on the bytes that the copy writes.
        begin_group(warp, pc, lane, Delivery::Tensor(Box::new(copy.clone())), agent);
    }
    if warp.is_monitored() {
        copy.each_shared_part(|start, bytes| observe_range(warp, pc, lane, start, (bytes, here), agent));
        let agent = agent.map(|agent| agent.accessing(false).of_kind(there));
        let Ok(()) = copy.each_span(|start, bytes| {
            observe_range(warp, pc, lane, start, (bytes, there), agent);
            Ok::<(), Infallible>(())
        });
    }
    let Completion::Barrier(barrier) = completion else {
        return Ok(());
    };
    // SAFETY: `d` is a slot of 32 bits, if there is a mask.
    let mask = (pc.imm & MASKED != 0).then(|| unsafe { *warp.lanes::<u32>(pc.d).add(lane) as u16 });
    deliver_to(warp, pc, lane, (copy.shared, barrier, mask), agent, |to| {
        Delivery::Tensor(Box::new(TensorCopy { shared: to, ..copy.clone() }))
    })?;
    Ok(())
}

/// Checks what a copy accesses of global memory: as a whole, where that may be accessed.
fn check_spans(warp: &mut Warp, pc: Pc, lane: usize, copy: &TensorCopy, kind: AccessKind) -> Result<(), Pc> {
    let (mut first, mut last) = (u64::MAX, 0);
    let Ok(()) = copy.each_span(|address, bytes| {
        first = first.min(address);
        last = last.max(address.saturating_add(bytes));
        Ok::<(), Infallible>(())
    });
    if first >= last || flat(warp, lane, first, last - first, kind, Space::Global).is_ok() {
        return Ok(());
    }
    copy.each_span(|address, bytes| {
        let wanted = Range { address, bytes, align: 1, kind, space: Space::Global, agent: None };
        translate(warp, pc, lane, wanted).map(|_| ())
    })
}

fn lower_bulk_reduce(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let name = m.get("op").unwrap_or_default();
    let ty = m.ty("type")?;
    let is_global = m.has(".global");
    let space = if is_global { Space::Global } else { Space::Shared };
    let refused = || LowerError::new(format!("the reduction `{name}` does not exist for values of type {ty}"));
    if (m.get("noftz").is_some()) != (name == ".add" && matches!(ty, ScalarType::F16 | ScalarType::Bf16)) {
        return Err(LowerError::new("`.noftz` belongs to `.add` of .f16 and .bf16"));
    }
    let reduction = bulk_reduction(name, ty, false).ok_or_else(refused)?;
    let a = whole_address(l, 0, space)?;
    let b = whole_address(l, 1, Space::Shared)?;
    let c = l.source(2, ScalarType::U32)?;
    let d = if is_global { VReg::None } else { whole_address(l, 3, Space::Shared)? };
    expect_operands(l, if is_global { 3 + usize::from(m.get("hint").is_some()) } else { 4 })?;
    l.pool.uses_proxies = true;
    l.emit(VirtualOp {
        a,
        b,
        c,
        d,
        imm: reduction as usize as u64,
        extra: ty.bytes() as u16 | if is_global { GLOBAL } else { 0 },
        defines: 0,
        ..VirtualOp::new(Handlers::same(begin_reduce))
    });
    Ok(())
}

/// In `extra` of a bulk reduction: it goes to global memory.
const GLOBAL: u16 = 0x100;

unsafe fn begin_reduce(warp: &mut Warp, pc: Pc) -> Pc {
    for lane in lanes_of(warp.active) {
        // SAFETY: `lower_bulk_reduce` put the address of such a function there.
        let reduction = unsafe { std::mem::transmute::<usize, Reduction>(pc.imm as usize) };
        if let Err(stop) = reduce_lane(warp, pc, lane, reduction) {
            return stop;
        }
    }
    pc.next()
}

fn reduce_lane(warp: &mut Warp, pc: Pc, lane: usize, reduction: Reduction) -> Result<(), Pc> {
    let (unit, is_global) = (u32::from(pc.extra & 0xff), pc.extra & GLOBAL != 0);
    // SAFETY: the slots are the operation's, with 32 lanes of 64, 64 and 32 bits.
    let (to, from, bytes) = unsafe {
        (*warp.lanes::<u64>(pc.a).add(lane), *warp.lanes::<u64>(pc.b).add(lane), *warp.lanes::<u32>(pc.c).add(lane))
    };
    if bytes % 16 != 0 {
        let message = format!("a bulk reduction of {bytes} bytes: only multiples of 16 can be reduced");
        return mistake(warp, pc, lane, message);
    }
    if !is_global && let Some(message) = outside_of_clusters(warp) {
        return mistake(warp, pc, lane, message);
    }
    let completion = match is_global {
        true => Completion::Group,
        // SAFETY: `d` is a slot of 64 bits then.
        false => Completion::Barrier(unsafe { *warp.lanes::<u64>(pc.d).add(lane) }),
    };
    let agent = warp.begin_operation(lane, completion);
    let side = |address, space, kind| Range {
        address,
        bytes: u64::from(bytes),
        align: 16,
        kind,
        space,
        agent: agent.map(|agent| agent.accessing(space == Space::Shared).of_kind(kind)),
    };
    let from = range(warp, pc, lane, side(from, Space::Shared, AccessKind::Read))?;
    let space = if is_global { Space::Global } else { Space::Shared };
    let to = range(warp, pc, lane, side(to, space, AccessKind::Atomic))?;
    let reduce = Reduce { from, to, bytes, unit, reduction };
    let Completion::Barrier(barrier) = completion else {
        begin_group(warp, pc, lane, Delivery::Reduce(reduce), agent);
        return Ok(());
    };
    deliver_to(warp, pc, lane, (to, barrier, None), agent, |to| Delivery::Reduce(Reduce { to, ..reduce }))
}
