//! `bar`: barriers between the warps of a block, and `bar.warp.sync` between the lanes of a warp.

use super::notation::Matched;
use super::{Instruction, barrier};
use crate::lower::{Control, Draft, LowerError, Lowering};
use crate::op::{Handlers, Pc};
use crate::rendezvous;
use crate::types::ScalarType;
use crate::warp::Warp;

/// `bar`
pub(super) static BAR: Instruction = Instruction {
    name: "bar",
    section: "9.7.13.1, 9.7.13.2",
    syntax: "
        bar{.cta}.sync! a{, b};
        bar{.cta}.arrive! a, b;
        bar{.cta}.red!.op.pred p, a, c;
        bar{.cta}.red!.op.pred p, a, b, c;
        bar{.cta}.red!.popc.u32 d, a, c;
        bar{.cta}.red!.popc.u32 d, a, b, c;
        bar.warp.sync! membermask;
        .op = { .and, .or };
    ",
    lower,
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    if m.form() < 6 {
        return barrier::lower(l, m);
    }
    let a = l.source(0, ScalarType::U32)?;
    l.emit_control(
        Draft {
            a,
            ..Draft::new(Handlers::same(warp_sync))
        },
        Control::Park,
    );
    Ok(())
}

unsafe fn warp_sync(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operation's members are in `a`.
    unsafe { rendezvous::anywhere(warp, pc, pc.a) }
}
