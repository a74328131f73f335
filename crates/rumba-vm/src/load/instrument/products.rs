//! Registers of products: each ordinary access to a register that a product of the function uses is told of
//! ([`crate::exec::group_sync`]). Functions without products, and launches that are not checked, have no such operations.

use rustc_hash::FxHashSet;

use crate::check::products::ProductRegisters;
use crate::exec::group_sync::WRITES;
use crate::load::instrument::Rewriter;
use crate::lower::fixed::ProgramBuilder;
use crate::lower::instruction::Undefined;
use crate::lower::lowering::Function;
use crate::lower::virtual_op::{Node, VirtualOp};
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// Tells of an access to the register `imm`.
const ACCESS: Handlers = Handlers::same(access);

/// Puts what tells before each access.
pub(crate) fn watch(function: &mut Function<'_>, pool: &ProgramBuilder<'_>) {
    let all = pool.products.iter();
    let registers: FxHashSet<u64> =
        all.clone().flat_map(|product| product.accumulator.iter().chain(&product.factor)).copied().collect();
    if registers.is_empty() {
        return;
    }
    let products: FxHashSet<u32> = all.map(|product| product.source).collect();
    // Of a load, compilers move copies of its registers before the wait.
    let are_loads = pool.products.iter().all(|product| product.shape == ProductRegisters::LOAD);
    let is_copy = |function: &Function<'_>, source: u32| {
        matches!(function.occurrence(source).instruction.undefined, Undefined::Packs)
    };
    let mut out = Rewriter::default();
    for node in std::mem::take(&mut function.nodes) {
        out.expect(&node);
        if let Node::Op { virtual_op, source, .. } = &node
            && !products.contains(source)
            && !(are_loads && is_copy(function, *source))
        {
            for (index, place) in virtual_op.places().into_iter().enumerate() {
                let Some(register) = function.register_key(place).filter(|key| registers.contains(key)) else {
                    continue;
                };
                let tells = VirtualOp {
                    imm: register,
                    extra: if virtual_op.defines >> index & 1 != 0 { WRITES } else { 0 },
                    defines: 0,
                    ..VirtualOp::new(ACCESS)
                };
                out.insert(tells, *source);
            }
        }
        out.keep(node);
    }
    function.nodes = out.finish();
}

unsafe fn access(warp: &mut Warp, pc: Pc) -> Pc {
    warp.record_register(pc);
    pc.next()
}
