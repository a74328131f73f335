//! `shfl`: values from other lanes of the warp.

use crate::arith::{self, Arith, Bool, U32, V, native};
use crate::base::lanes::{FULL, LANES, lanes_of};
use crate::base::types::ScalarType;
use crate::exec::shape::function;
use crate::exec::{rendezvous, shape};
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{Control, DST_AND_C, VReg, VirtualOp};
use crate::machine::op::opcode::{Opcode, ShuffleForm};
use crate::machine::op::{Handler, Handlers, Pc};
use crate::machine::warp::Warp;

/// `shfl`
pub(super) static SHFL: Instruction = Instruction {
    name: "shfl",
    section: "9.7.9.6, 9.7.9.7",
    forms: &[
        Form {
            syntax: "
                shfl.sync.mode.b32  d[|p], a, b, c, membermask;
                .mode = { .up, .down, .bfly, .idx };
            ",
            lower: |l, m| {
                let virtual_op = VirtualOp { handlers: of_all(shfl::<false>), ..virtual_op(l, m)? };
                let d = l.source(4, ScalarType::U32)?;
                l.emit_control(VirtualOp { d, ..virtual_op }, Control::Park);
                Ok(())
            },
        },
        Form {
            syntax: "
                shfl.mode.b32  d[|p], a, b, c;
                .mode = { .up, .down, .bfly, .idx };
            ",
            lower: |l, m| {
                let virtual_op = virtual_op(l, m)?;
                l.emit(virtual_op);
                Ok(())
            },
        },
    ],
    availability: &[
        Availability::until((6, 4), 70).without(&[".sync"]),
        Availability::since((6, 0), 30).with(&[".sync"]),
    ],
    undefined: Undefined::Shuffles(follow),
    ..Instruction::NEW
};

const UP: u16 = 0;
const DOWN: u16 = 1;
const BUTTERFLY: u16 = 2;
const INDEX: u16 = 3;

/// The operation of a form without a mask.
fn virtual_op(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<VirtualOp, LowerError> {
    let ty = ScalarType::B32;
    let (dst, predicate) = l.destination_pair(0, ty)?;
    let dst = if dst == VReg::None { l.scratch(ty) } else { dst };
    // A predicate that is not used still needs a place.
    let predicate = if predicate == VReg::None { l.scratch(ScalarType::Pred) } else { predicate };
    if let rumba_ptx::ast::OperandKind::Pair(pair) = &l.operand(0)?.kind
        && pair[0].kind == rumba_ptx::ast::OperandKind::Name("_")
    {
        return Err(LowerError::new("the value needs a register, even if only the predicate is used").at(pair[0].span));
    }
    let a = l.source(1, ty)?;
    // Lane and clamp travel in one slot.
    let b = match (l.literal(2), l.literal(3)) {
        (Some(lane), Some(clamp)) => l.constant(ty, pack(native(lane as u32), native(clamp as u32)).0.into()),
        _ => {
            let (lane, clamp) = (l.source(2, ty)?, l.source(3, ty)?);
            let packed = l.scratch(ty);
            let handlers = shape::lanes(function!(|lane: u32, clamp: u32| -> u32 { pack(lane, clamp) }));
            l.emit(VirtualOp::binary(handlers, packed, lane, clamp));
            packed
        }
    };
    let modes = [(".up", UP), (".down", DOWN), (".bfly", BUTTERFLY), (".idx", INDEX)];
    Ok(VirtualOp {
        dst,
        a,
        b,
        c: predicate,
        defines: DST_AND_C,
        extra: m.choose("mode", &modes)?,
        ..VirtualOp::new(of_all(without_members::<false>))
    })
}

/// A shuffle, which is known if all lanes take part.
fn of_all(handler: Handler) -> Handlers {
    Handlers::same(handler).with_opcode(Opcode::Shuffle(ShuffleForm {
        lanes: |mode, packed| {
            let mut inside = 0;
            let sources = std::array::from_fn(|lane| {
                let (V(from), V(valid)) = source(mode, native(lane as u32), native(packed));
                inside |= u32::from(valid) << lane;
                if valid { from as usize % LANES } else { lane }
            });
            (sources, inside)
        },
        source: arith::Form::new(|builder, mode, values| {
            let (from, _) = source(mode, V(builder.input(&values[0])), V(builder.input(&values[1])));
            (from & 31).operand()
        }),
        is_inside: arith::Form::new(|builder, mode, values| {
            let (_, valid) = source(mode, V(builder.input(&values[0])), V(builder.input(&values[1])));
            valid.operand()
        }),
    }))
}

/// The lane that a lane reads, and whether it is one of its segment: the pseudocode of the manual.
#[inline(always)]
fn source<A: Arith>(mode: u16, own: U32<A>, packed: U32<A>) -> (U32<A>, Bool<A>) {
    let b = packed & 31;
    let (clamp, segment) = (packed >> 16 & 31, packed >> 24 & 31);
    let min = own & segment;
    let max = min | (clamp & !segment);
    match mode {
        UP => {
            let from = own - b;
            (from, from.reinterpret::<i32>().ge(max.reinterpret::<i32>()))
        }
        DOWN => (own + b, (own + b).le(max)),
        BUTTERFLY => (own ^ b, (own ^ b).le(max)),
        _ => {
            let from = min | (b & !segment);
            (from, from.le(max))
        }
    }
}

#[inline(always)]
fn pack<A: Arith>(lane: U32<A>, clamp: U32<A>) -> U32<A> {
    (lane & 31) | (clamp & 0x1f1f) << 16
}

/// The operation beside a shuffle that is followed: in `dst` and `a`, the predicates of the values in the shuffle's.
const BESIDE: Handlers = Handlers::same(beside).with_opcode(Opcode::ExtraOperands { optional: true });

unsafe fn beside(_: &mut Warp, pc: Pc) -> Pc {
    pc.next()
}

/// The same shuffle, which also copies the predicate `a` of the source lanes to the predicate `dst`, and the operation
/// that has to come right after it.
fn follow(shuffle: &VirtualOp, dst: VReg, a: VReg) -> (VirtualOp, VirtualOp) {
    let handler = if shuffle.d == VReg::None { without_members::<true> } else { shfl::<true> };
    (VirtualOp { handlers: of_all(handler), ..*shuffle }, VirtualOp::unary(BESIDE, dst, a))
}

unsafe fn shfl<const FOLLOWED: bool>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operation was made by `lower`.
    unsafe { rendezvous::together(warp, pc, pc.d, |warp, group| exchange::<FOLLOWED>(warp, pc, group)) }
}

unsafe fn without_members<const FOLLOWED: bool>(warp: &mut Warp, pc: Pc) -> Pc {
    let active = warp.active;
    // SAFETY: the operation was made by `lower`.
    unsafe { exchange::<FOLLOWED>(warp, pc, active) };
    pc.next()
}

/// Tells the checks of lanes that read others which take no part.
#[cold]
fn unanswered(warp: &Warp, pc: Pc, readers: u32, packed: &[u32; LANES]) {
    let source = |lane: usize| {
        let (b, segment) = (packed[lane] & 31, packed[lane] >> 24 & 31);
        let own = lane as u32;
        let from = match pc.extra {
            UP => own.wrapping_sub(b),
            DOWN => own + b,
            BUTTERFLY => own ^ b,
            _ => (own & segment) | (b & !segment),
        };
        1 << (from & 31)
    };
    let sources = lanes_of(readers).fold(0, |lanes, lane| lanes | source(lane));
    warp.check_shuffle_source(pc.source, readers, sources);
}

/// The pseudocode of the manual. A lane that is not in the group gives its own value back, which is one of the things
/// that undefined values can be.
#[inline(always)]
unsafe fn exchange<const FOLLOWED: bool>(warp: &mut Warp, pc: Pc, group: u32) {
    // SAFETY: the slots have 32 lanes.
    let (values, packed) = unsafe { (*warp.lanes::<[u32; LANES]>(pc.a), *warp.lanes::<[u32; LANES]>(pc.b)) };
    let mut sources = [0; LANES];
    let mut inside = 0;
    let mut strange = 0;
    for lane in 0..LANES {
        let own = lane as u32;
        let (V(from), V(valid)) = source(pc.extra, native(own), native(packed[lane]));
        inside |= u32::from(valid) << lane;
        let present = valid & (group >> (from & 31) & 1 != 0);
        strange |= u32::from(valid & !present) << lane;
        sources[lane] = if present { from & 31 } else { own };
    }
    if strange & group != 0 {
        unanswered(warp, pc, strange & group, &packed);
    }
    let to = warp.lanes::<u32>(pc.dst);
    if group == FULL {
        for (lane, from) in sources.into_iter().enumerate() {
            // SAFETY: as above.
            unsafe { *to.add(lane) = values[from as usize & (LANES - 1)] };
        }
    } else {
        for lane in lanes_of(group) {
            // SAFETY: as above.
            unsafe { *to.add(lane) = values[sources[lane] as usize & (LANES - 1)] };
        }
    }
    if FOLLOWED {
        let beside = pc.next();
        // SAFETY: `follow` has put that operation there, whose operands are predicates of the program.
        unsafe {
            let from = warp.predicate(beside.a);
            let taken = |lane: usize| (from >> (sources[lane] & 31) & 1) << lane;
            warp.set_predicate(beside.dst, lanes_of(group).map(taken).sum());
            warp.carry_origin(beside.dst, [beside.a; 2]);
        }
    }
    // SAFETY: `c` is a predicate of the program.
    unsafe { warp.set_predicate(pc.c, inside) };
}
