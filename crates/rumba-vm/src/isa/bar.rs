//! `bar`: barriers between the warps of a block, and `bar.warp.sync` between the lanes of a warp.

use rumba_checks::Check;

use crate::base::types::ScalarType;
use crate::exec::rendezvous;
use crate::isa::barrier;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{Control, VirtualOp};
use crate::machine::op::opcode::{Members, TogetherForm};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// `bar`
pub(super) static BAR: Instruction = Instruction {
    name: "bar",
    section: "9.7.13.1, 9.7.13.2",
    forms: &[
        Form { syntax: "bar{.cta}.sync!  a{, b};", lower: |l, _| barrier::lower_sync(l, true) },
        Form { syntax: "bar{.cta}.arrive!  a, b;", lower: |l, _| barrier::lower_arrive(l, true) },
        Form {
            syntax: "
                bar{.cta}.red!.op.pred   p, a, c;
                bar{.cta}.red!.op.pred   p, a, b, c;
                bar{.cta}.red!.popc.u32  d, a, c;
                bar{.cta}.red!.popc.u32  d, a, b, c;
                .op = { .and, .or };
            ",
            lower: |l, m| barrier::lower_red(l, m, true),
        },
        Form { syntax: "bar.warp.sync!  membermask;", lower: lower_warp_sync },
    ],
    availability: &[Availability::since((6, 0), 30).with(&[".warp"])],
    convergence: Convergence::Warp,
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

fn lower_warp_sync(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let a = l.source(0, ScalarType::U32)?;
    let form = FORM.filter(|_| !l.pool.instruments.checks.contains(Check::Race));
    let handlers = Handlers::same(warp_sync).together(Members::Operand(1), form);
    l.emit_control(VirtualOp { a, ..VirtualOp::new(handlers) }, Control::Park);
    Ok(())
}

/// Native code does nothing: the handler of lanes that are all there only reports to the check of races.
const FORM: Option<(TogetherForm, bool)> = Some((|_, _, lanes, _| (lanes.clone(), None), true));

unsafe fn warp_sync(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operation's members are in `a`.
    unsafe { rendezvous::anywhere(warp, pc, pc.a) }
}
