//! `tensormap`: changing a field of a tensor map in memory, and copying one.

use crate::base::lanes::lanes_of;
use crate::base::report::AccessKind;
use crate::base::types::ScalarType;
use crate::check::order::Order;
use crate::check::proxy::Proxy;
use crate::exec::memory::Space;
use crate::exec::range::{Range, range};
use crate::isa::cp::whole_address;
use crate::isa::tensor::read_map;
use crate::isa::{fence, memory};
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::fault::{FaultKind, RawFault};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;
use crate::mem::atomic::{copy, write};
use crate::mem::tensor_map::{BYTES, FIELD_BYTES, MAX_RANK, Shape, TensorElement, TensorMap};

/// `tensormap`
pub(super) static TENSORMAP: Instruction = Instruction {
    name: "tensormap",
    section: "9.7.9.28, 9.7.13.17",
    forms: &[
        Form {
            syntax: "
                tensormap.replace!.tile.field{.ss}.b1024.type  [addr], value;
                .field = { .global_address, .rank, .elemtype, .interleave_layout, .swizzle_mode, .fill_mode,
                    .swizzle_atomicity };
                .ss = { .global, .shared{::cta} };
                .type = { .b32, .b64 };
            ",
            lower: |l, m| lower_replace(l, m, None),
        },
        Form {
            syntax: "
                tensormap.replace!.tile.field{.ss}.b1024.type  [addr], ord, value;
                .field = { .box_dim, .global_dim, .global_stride, .element_stride };
                .ss = { .global, .shared{::cta} };
                .type = { .b32, .b64 };
            ",
            lower: |l, m| {
                let span = l.operand(1)?.span;
                match l.literal(1) {
                    Some(axis @ 0..=4) => lower_replace(l, m, Some(axis as u64)),
                    _ => Err(LowerError::new("the number of a dimension is needed here, from 0 to 4").at(span)),
                }
            },
        },
        Form {
            syntax: "
                tensormap.cp_fenceproxy!.global.shared::cta.tensormap::generic.release.scope.sync.aligned
                    [dst], [src], size;
                .scope = { .cta, .cluster, .gpu, .sys };
            ",
            lower: lower_copy,
        },
    ],
    availability: &[
        Availability::since((8, 3), 90),
        Availability::specific((8, 3), 90).with(&[".replace"]),
        Availability::specific((8, 6), 100).with(&[".swizzle_atomicity"]),
    ],
    convergence: Convergence::Warp,
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

/// The fields, by their numbers in an operation's `imm`.
const FIELDS: [&str; 11] = [
    ".global_address",
    ".rank",
    ".elemtype",
    ".interleave_layout",
    ".swizzle_mode",
    ".fill_mode",
    ".swizzle_atomicity",
    ".box_dim",
    ".global_dim",
    ".global_stride",
    ".element_stride",
];

/// Fields that are one of a few, by their numbers, and how many these are.
const CHOICES: [(&str, i128); 5] =
    [(".elemtype", 16), (".interleave_layout", 3), (".swizzle_mode", 4), (".fill_mode", 2), (".swizzle_atomicity", 4)];

/// Where in `imm` the dimension is.
const AXIS_SHIFT: u32 = 8;

fn lower_replace(l: &mut Lowering<'_>, m: &Matched<'_>, axis: Option<u64>) -> Result<(), LowerError> {
    let field = m.get("field").unwrap_or_default();
    let number = FIELDS.iter().position(|name| *name == field).unwrap_or_default() as u64;
    let is_wide = matches!(field, ".global_address" | ".global_stride");
    let ty = m.ty("type")?;
    if (ty == ScalarType::B64) != is_wide {
        let wanted = if is_wide { ScalarType::B64 } else { ScalarType::B32 };
        return Err(LowerError::new(format!("the field `{field}` has the type {wanted}")));
    }
    let space = memory::space(l, m, 0);
    let address = whole_address(l, 0, space)?;
    let at = 1 + usize::from(axis.is_some());
    if let Some((_, limit)) = CHOICES.iter().find(|(name, _)| *name == field) {
        let span = l.operand(at)?.span;
        if !l.literal(at).is_some_and(|value| (0..*limit).contains(&value)) {
            let message = format!("the field `{field}` is given as a constant from 0 to {}", limit - 1);
            return Err(LowerError::new(message).at(span));
        }
    }
    let value = l.source(at, ty)?;
    l.emit(VirtualOp {
        a: address,
        b: value,
        imm: number | axis.unwrap_or(0) << AXIS_SHIFT,
        extra: space as u16,
        defines: 0,
        ..VirtualOp::new(Handlers::same(if is_wide { replace::<true> } else { replace::<false> }))
    });
    Ok(())
}

unsafe fn replace<const WIDE: bool>(warp: &mut Warp, pc: Pc) -> Pc {
    for lane in lanes_of(warp.active) {
        // SAFETY: `b` is a slot of the field's width.
        let value = unsafe {
            if WIDE { *warp.lanes::<u64>(pc.b).add(lane) } else { u64::from(*warp.lanes::<u32>(pc.b).add(lane)) }
        };
        if let Err(stop) = replace_lane(warp, pc, lane, value) {
            return stop;
        }
    }
    pc.next()
}

fn replace_lane(warp: &mut Warp, pc: Pc, lane: usize, value: u64) -> Result<(), Pc> {
    // SAFETY: `a` is a slot of 64 bits.
    let address = unsafe { *warp.lanes::<u64>(pc.a).add(lane) };
    let space = Space::from_bits(pc.extra);
    let mut map = read_map(warp, pc, lane, (address, space), None)?;
    let (field, axis) = ((pc.imm & 0xff) as usize, (pc.imm >> AXIS_SHIFT) as usize);
    if let Err(rule) = set(&mut map, field, axis, value) {
        let message = format!("{value} as `{}` of a tensor map: {rule}", &FIELDS[field % FIELDS.len()][1..]);
        return Err(warp.raise(RawFault::new(FaultKind::InvalidInstruction, pc.source, lane, message)));
    }
    let wanted = Range { address, bytes: BYTES as u64, align: 1, kind: AccessKind::Write, space, agent: None };
    let host = range(warp, pc, lane, wanted)?;
    // The bytes behind the fields, which the driver computed from all fields, stay unchanged.
    // SAFETY: the range passed the access check.
    unsafe { write(host, &map.encode()[..FIELD_BYTES]) };
    Ok(())
}

/// Sets a field, or says why not.
fn set(map: &mut TensorMap, field: usize, axis: usize, value: u64) -> Result<(), &'static str> {
    let below = |limit: u64, rule| if value < limit { Ok(value as u32) } else { Err(rule) };
    let within = |last: u64, rule| {
        if (1..=last).contains(&value) { Ok(value as u32) } else { Err(rule) }
    };
    let axis = axis.min(MAX_RANK - 1);
    match FIELDS[field % FIELDS.len()] {
        ".global_address" if value.is_multiple_of(16) => map.address = value,
        ".global_address" => return Err("an address is a multiple of 16"),
        ".rank" => {
            let rank = 1 + below(MAX_RANK as u64, "it is the number of dimensions less one, from 0 to 4")? as usize;
            if rank < 3 && matches!(map.shape, Shape::Columns { .. }) {
                return Err("columns of pixels have at least three dimensions");
            }
            map.rank = rank;
        }
        ".elemtype" => map.element = TensorElement::ALL[below(16, "there are 16 types")? as usize],
        ".interleave_layout" => map.interleave = below(3, "there are 3 layouts")?,
        ".swizzle_mode" => map.swizzle = below(4, "there are 4 modes")?,
        ".fill_mode" => map.fills_nan = below(2, "there are 2 modes")? == 1,
        ".swizzle_atomicity" => map.atom = below(4, "there are 4 sizes")?,
        ".box_dim" => match &mut map.shape {
            Shape::Tile(extent) => extent[axis] = within(256, "a box has 1 to 256 elements in each dimension")?,
            Shape::Columns { .. } => return Err("the map is one for columns of pixels"),
        },
        ".global_dim" => {
            within(1 << 32, "a dimension has 1 to 2^32 elements")?;
            map.sizes[axis] = value;
        }
        ".global_stride" => match map.strides.get_mut(axis) {
            Some(stride) if value.is_multiple_of(16) && value < 1 << 40 => *stride = value,
            _ => return Err("a stride is a multiple of 16 below 2^40, and there are 4"),
        },
        _ => map.steps[axis] = within(8, "an element stride is from 1 to 8")?,
    }
    Ok(())
}

fn lower_copy(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    if l.literal(2) != Some(BYTES as i128) {
        return Err(LowerError::new("a tensor map has 128 bytes").at(l.operand(2)?.span));
    }
    let to = whole_address(l, 0, Space::Global)?;
    let from = whole_address(l, 1, Space::Shared)?;
    l.emit(VirtualOp { dst: VReg::None, a: to, b: from, defines: 0, ..VirtualOp::new(Handlers::same(copy_map)) });
    fence::emit(l, false, Order::of_fence(Some(".release"), m.get("scope")));
    fence::emit_proxy(l, None, Proxy::MapReleased);
    Ok(())
}

unsafe fn copy_map(warp: &mut Warp, pc: Pc) -> Pc {
    let mut last = None;
    for lane in lanes_of(warp.active) {
        // SAFETY: `a` and `b` are slots of 64 bits.
        let places = unsafe { (*warp.lanes::<u64>(pc.a).add(lane), *warp.lanes::<u64>(pc.b).add(lane)) };
        // The lanes of a warp copy one map together.
        if last.replace(places) == Some(places) {
            continue;
        }
        let side = |address, kind, space| Range { address, bytes: BYTES as u64, align: 16, kind, space, agent: None };
        let mut reach = |address, kind, space| range(warp, pc, lane, side(address, kind, space));
        let from = match reach(places.1, AccessKind::Read, Space::Shared) {
            Ok(from) => from,
            Err(stop) => return stop,
        };
        match reach(places.0, AccessKind::Write, Space::Global) {
            // SAFETY: both ranges passed the access check.
            Ok(to) => unsafe { copy(from, to, BYTES as u64) },
            Err(stop) => return stop,
        }
    }
    pc.next()
}
