//! Integer divisions by zero and shifts beyond the width: operations that look at a register before the instruction does.
//!
//! Compilers shift first and ask later: where the result is only one of those that a `selp` or an `and` of predicates
//! chooses from, or where the amount is compared with the width, nothing is looked at. Overflow is not found here: code
//! that was compiled with checks for it panics by itself.

use std::collections::HashMap;

use crate::base::lanes::lanes_of;
use crate::base::types::ScalarType;
use crate::load::instrument::Rewriter;
use crate::lower::fixed::ProgramBuilder;
use crate::lower::instruction::{Chooses, Hazard};
use crate::lower::lowering::{Function, Lowering};
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{FIXED, Node, VReg, VirtualOp};
use crate::machine::op::{Handlers, Pc};
use crate::machine::program::{Class, Fixed};
use crate::machine::warp::Warp;
use rumba_checks::FindingKind;

const DIVISOR: u16 = 0;
const AMOUNT: u16 = 1;

/// Emits what looks at the last operand of an integer instruction.
pub(crate) fn probe(l: &mut Lowering<'_>, hazard: Hazard, m: &Matched<'_>) {
    let Ok(ty) = m.ty("type") else { return };
    if ty.is_float() {
        return;
    }
    let (what, ty, imm) = match hazard {
        Hazard::ZeroDivisor => (DIVISOR, ty, 0),
        Hazard::ShiftBeyondWidth => (AMOUNT, ScalarType::U32, u64::from(ty.bits())),
    };
    let is_right = |value: i128| {
        if what == DIVISOR { value != 0 } else { (0..i128::from(imm)).contains(&value) }
    };
    if l.literal(2).is_some_and(is_right) {
        return;
    }
    // If the operand is wrong, the instruction says so.
    let Ok(a) = l.source(2, ty) else { return };
    let handlers = match Class::of(ty) {
        Class::W64 => DIVISOR_64,
        Class::W32 | Class::W128 => LOOK_32,
    };
    l.emit(VirtualOp {
        a,
        imm: if what == DIVISOR { u64::from(ty.bits()) } else { imm },
        extra: what,
        defines: 0,
        ..VirtualOp::new(handlers)
    });
}

const LOOK_32: Handlers = Handlers::same(look_32);
const DIVISOR_64: Handlers = Handlers::same(divisor_64);

fn is_probe(virtual_op: &VirtualOp) -> bool {
    let handler = virtual_op.handlers.baseline as usize;
    handler == LOOK_32.baseline as usize && virtual_op.extra == AMOUNT
}

unsafe fn look_32(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the slot has 32 lanes.
    let values = unsafe { &*warp.lanes::<[u32; 32]>(pc.a) };
    let bits = pc.imm as u32;
    let is_wrong = |value: u32| match pc.extra {
        DIVISOR => value << (32 - bits) == 0,
        _ => value >= bits,
    };
    let wrong = lanes_of(warp.active).filter(|lane| is_wrong(values[*lane])).fold(0, |lanes, lane| lanes | 1 << lane);
    if wrong != 0 {
        tell(warp, pc, wrong, values[u32::trailing_zeros(wrong) as usize]);
    }
    pc.next()
}

unsafe fn divisor_64(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the slot has 32 lanes of 64 bits.
    let values = unsafe { &*warp.lanes::<[u64; 32]>(pc.a) };
    let wrong = lanes_of(warp.active).filter(|lane| values[*lane] == 0).fold(0, |lanes, lane| lanes | 1 << lane);
    if wrong != 0 {
        tell(warp, pc, wrong, 0);
    }
    pc.next()
}

#[cold]
fn tell(warp: &Warp, pc: Pc, lanes: u32, value: u32) {
    let (kind, what) = match pc.extra {
        DIVISOR => (FindingKind::DivisionByZero, "division"),
        _ => (FindingKind::ShiftBeyondWidth, "shift"),
    };
    warp.note(kind, warp.actor(pc.source, lanes, what), None, || match pc.extra {
        DIVISOR => format!("the divisor of {} bits is 0", pc.imm),
        _ => format!("a value of {} bits is shifted by {value}", pc.imm),
    });
}

/// Removes what looks at shifts whose results the program may not want.
pub(crate) fn keep_real<'m>(function: &mut Function<'m>, pool: &ProgramBuilder<'m>) {
    let is_probed = |node: &Node| matches!(node, Node::Op { virtual_op, .. } if is_probe(virtual_op));
    if !function.nodes.iter().any(is_probed) {
        return;
    }
    let uses = Uses::of(function);
    let mut dropped = Vec::new();
    for (index, node) in function.nodes.iter().enumerate() {
        let Node::Op { virtual_op, source, .. } = node else {
            continue;
        };
        if is_probe(virtual_op)
            && (uses.is_tested(function, pool, virtual_op) || uses.is_chosen_from(function, *source))
        {
            dropped.push(index);
        }
    }
    let mut out = Rewriter::default();
    for (index, node) in std::mem::take(&mut function.nodes).into_iter().enumerate() {
        if dropped.binary_search(&index).is_ok() {
            out.skip();
        } else {
            out.keep(node);
        }
    }
    function.nodes = out.finish();
}

/// The operations that read each place.
struct Uses(HashMap<VReg, Vec<usize>>);

/// The places that an operation reads, or writes.
fn places(virtual_op: &VirtualOp, written: bool) -> impl Iterator<Item = VReg> + use<> {
    let defines = virtual_op.defines;
    let places = virtual_op.places().into_iter().enumerate();
    places
        .filter(move |(index, place)| (defines >> index & 1 != 0) == written && *place != VReg::None)
        .map(|(_, place)| place)
}

impl Uses {
    fn of(function: &Function<'_>) -> Self {
        let mut uses: HashMap<VReg, Vec<usize>> = HashMap::new();
        for (index, node) in function.nodes.iter().enumerate() {
            if let Node::Op { virtual_op, .. } = node {
                places(virtual_op, false).for_each(|place| uses.entry(place).or_default().push(index));
            }
        }
        Self(uses)
    }

    /// Whether the amount is compared with the width somewhere.
    fn is_tested(&self, function: &Function<'_>, pool: &ProgramBuilder<'_>, probe: &VirtualOp) -> bool {
        let is_width = |place: VReg| match place {
            VReg::Slot(slot) if slot & FIXED != 0 => {
                let (_, value) = pool.fixed[(slot & !FIXED) as usize];
                let widths = [probe.imm, probe.imm - 1].map(|width| Fixed::Constant(width.into()));
                widths.contains(&value)
            }
            _ => false,
        };
        let readers = self.0.get(&probe.a).into_iter().flatten();
        readers.copied().any(|reader| match &function.nodes[reader] {
            Node::Op { virtual_op, source, .. } => {
                function.occurrence(*source).instruction.compares && places(virtual_op, false).any(is_width)
            }
            Node::Label(_) => false,
        })
    }

    /// Whether all that becomes of an instruction's result is that something chooses between it and another.
    fn is_chosen_from(&self, function: &Function<'_>, source: u32) -> bool {
        let own = function.nodes.iter().filter_map(|node| match node {
            Node::Op { virtual_op, source: of, .. } if *of == source => Some(virtual_op),
            _ => None,
        });
        let mut work: Vec<VReg> = own.flat_map(|virtual_op| places(virtual_op, true)).collect();
        let mut seen = work.clone();
        while let Some(place) = work.pop() {
            for reader in self.0.get(&place).into_iter().flatten() {
                let Node::Op { virtual_op, source: at, .. } = &function.nodes[*reader] else {
                    continue;
                };
                if *at == source || is_probe(virtual_op) {
                    continue;
                }
                let instruction = function.occurrence(*at).instruction;
                let chooses = match instruction.chooses {
                    Chooses::Nothing => false,
                    Chooses::ByPredicate => virtual_op.c != place,
                    Chooses::OfPredicates => matches!(place, VReg::Predicate(_)),
                };
                if chooses {
                    continue;
                }
                if !instruction.carries.has_value() {
                    return false;
                }
                for result in places(virtual_op, true).filter(|result| !seen.contains(result)).collect::<Vec<_>>() {
                    seen.push(result);
                    work.push(result);
                }
            }
        }
        true
    }
}
