//! `membar`: the old name of `fence.sc`.

use crate::check::order::Order;
use crate::isa::fence;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `membar`
pub(super) static MEMBAR: Instruction = Instruction {
    name: "membar",
    section: "9.7.13.4",
    forms: &[Form {
        syntax: "
            membar.level;
            membar.proxy!.proxykind;
            membar.proxy!.async.space;
            .level = { .cta, .gl, .sys };
            .proxykind = { .alias, .async };
            .space = { .global, .shared{::cta, ::cluster} };
        ",
        lower,
    }],
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    fence::emit(l, true, Order::of_fence(Some(".sc"), m.get("level")));
    Ok(())
}
