//! The only list of the parts of PTX that the machine does not execute, with the reasons.
//!
//! A module that holds such an instruction loads; a kernel that holds one, or calls a function that does, cannot be
//! launched. Everything that is neither here nor in [`crate::isa::INSTRUCTIONS`] is taken for a mistake in the source.

/// Instructions that are not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsupported {
    /// How their opcodes begin, in whole modifiers.
    pub opcodes: &'static [&'static str],
    /// Why they are not executed.
    pub reason: &'static str,
}

/// Every instruction of PTX that is not executed.
pub const UNSUPPORTED: &[Unsupported] = &[
    Unsupported {
        opcodes: &["tcgen05"],
        reason: "tensor cores of the fifth generation, with memory of their own (sm_100)",
    },
    Unsupported {
        opcodes: &["tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq"],
        reason: "textures, samplers and surfaces",
    },
];

/// Why an opcode is not executed; `None` if it is not on the list. The modifiers carry their dots.
pub fn reason(mnemonic: &str, modifiers: &[&str]) -> Option<&'static str> {
    let begins = |start: &str| {
        let mut wanted = start.split('.');
        let mut modifiers = modifiers.iter().map(|modifier| modifier.trim_start_matches('.'));
        wanted.next() == Some(mnemonic) && wanted.all(|wanted| modifiers.next() == Some(wanted))
    };
    UNSUPPORTED.iter().find(|entry| entry.opcodes.iter().any(|start| begins(start))).map(|entry| entry.reason)
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn whole_modifiers_count() {
        assert!(reason("tex", &[".1d", ".v4", ".f32", ".s32"]).is_some());
        assert!(reason("tcgen05", &[".mma", ".cta_group::1"]).is_some());
        assert!(reason("cp", &[".async", ".bulk", ".tensor", ".3d", ".im2col::w"]).is_none());
        assert!(reason("cp", &[".async", ".bulk", ".commit_group"]).is_none());
        assert!(reason("cp", &[".async", ".ca", ".shared", ".global"]).is_none());
        assert!(reason("testp", &[".finite", ".f32"]).is_none());
        assert!(reason("cp", &[".async"]).is_none());
    }
}
