//! The contracts of kernels as PTX directives (PTX ISA, "Performance-Tuning Directives", "Cluster Dimension
//! Directives").
//!
//! rustc has no attribute for them. A device library states them in a static `__rumba_contract_NAME`
//! for the kernel `NAME`: 32-bit words in little-endian order, in the order of [`DIRECTIVES`], 0 for
//! what is not stated. The static becomes LLVM's attributes of the function, and goes.

use std::collections::HashMap;

use super::version::Need;
use crate::llvm::{Module, Value};

/// A kernel's static is named by this and the kernel.
const PREFIX: &str = "__rumba_contract_";

/// A directive: LLVM's attribute, how many words it has, and what it needs.
struct Directive {
    attribute: &'static str,
    words: usize,
    need: Need,
}

const DIRECTIVES: [Directive; 5] = [
    Directive::new("nvvm.reqntid", 3, 21, 0),
    Directive::new("nvvm.maxntid", 1, 13, 0),
    Directive::new("nvvm.minctasm", 1, 20, 20),
    Directive::new("nvvm.maxnreg", 1, 13, 0),
    Directive::new("nvvm.cluster_dim", 3, 78, 90),
];

impl Directive {
    const fn new(attribute: &'static str, words: usize, version: u32, capability: u32) -> Self {
        let need = Need::new(version, capability);
        Self { attribute, words, need }
    }
}

/// Turns each static into attributes, and says what the directives of each kernel need.
pub(super) fn apply(module: &Module<'_>) -> HashMap<String, Need> {
    let mut needs = HashMap::new();
    for global in module.globals() {
        let symbol = global.name();
        let Some(name) = symbol.strip_prefix(PREFIX) else {
            continue;
        };
        if let (Some(kernel), Some(bytes)) = (module.function(name), global.constant_bytes()) {
            needs.insert(name.to_owned(), state(kernel, &bytes));
        }
        global.delete();
    }
    needs
}

/// Adds the attributes that a static states.
fn state(kernel: Value<'_>, bytes: &[u8]) -> Need {
    let mut need = Need::default();
    let mut words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word));
    for directive in &DIRECTIVES {
        let numbers: Vec<String> = words
            .by_ref()
            .take(directive.words)
            .filter(|&number| number != 0)
            .map(|number| number.to_string())
            .collect();
        if numbers.len() == directive.words {
            kernel.add_attribute(directive.attribute, &numbers.join(","));
            need = need.max(directive.need);
        }
    }
    need
}
