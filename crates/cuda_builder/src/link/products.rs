//! Asynchronous products, `wgmma`, and the functions that they are in.
//!
//! From a product to the wait for it, its sums are registers that nothing else may touch, and a call may touch all: where one
//! lies between, the driver's compiler waits for each product at once (`ptxas` says so, as C7510). LLVM inlines by size, and a
//! product has as many operands as a large function has instructions. So whatever leads to one is inlined: a closure of the
//! kernel's author, too, on which the language has no attribute for that.

use std::collections::{BTreeMap, BTreeSet};

use crate::llvm::{LlvmError, Machine, Module};

/// The prefix of the instructions.
const PRODUCT: &str = "wgmma.";

/// Has functions inlined from which a product is reached, up to the kernel, before anything is optimised: on the way up LLVM would
/// optimise each of them, with the operands of the products in it, at each level.
pub(super) fn inline<'c>(module: &Module<'c>, machine: &Machine<'c>) -> Result<(), LlvmError> {
    let mut callers: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let mut reached = Vec::new();
    for function in module.functions() {
        let mut has_product = false;
        for instruction in function.instructions() {
            if let Some(callee) = instruction.callee() {
                callers.entry(callee.name()).or_default().push(function);
            } else if !has_product {
                has_product = instruction.assembly().is_some_and(|text| text.contains(PRODUCT));
            }
        }
        if has_product {
            reached.push(function);
        }
    }
    if reached.is_empty() {
        return Ok(());
    }
    let mut seen = BTreeSet::new();
    while let Some(function) = reached.pop() {
        let name = function.name();
        if function.is_kernel() || !seen.insert(name.clone()) {
            continue;
        }
        function.always_inline();
        reached.extend(callers.get(&name).into_iter().flatten().copied());
    }
    machine.run(module, c"always-inline,globaldce")
}
