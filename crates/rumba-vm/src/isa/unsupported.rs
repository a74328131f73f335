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
        opcodes: &["tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.shift", "tcgen05.ld.red"],
        reason: "sparse and weight-stationary products, shifts and reductions of tensor memory",
    },
    Unsupported {
        opcodes: &[
            "tcgen05.cp.cta_group::1.4x256b",
            "tcgen05.cp.cta_group::1.128x128b.b8x16",
            "tcgen05.cp.cta_group::1.128x256b.b8x16",
            "tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16",
            "tcgen05.cp.cta_group::1.64x128b.warpx2::01_23.b8x16",
            "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16",
            "tcgen05.cp.cta_group::2.4x256b",
            "tcgen05.cp.cta_group::2.128x128b.b8x16",
            "tcgen05.cp.cta_group::2.128x256b.b8x16",
            "tcgen05.cp.cta_group::2.32x128b.warpx4.b8x16",
            "tcgen05.cp.cta_group::2.64x128b.warpx2::01_23.b8x16",
            "tcgen05.cp.cta_group::2.64x128b.warpx2::02_13.b8x16",
        ],
        reason: "copies to tensor memory of four rows, or that widen elements",
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
        assert!(reason("tcgen05", &[".mma", ".cta_group::1", ".kind::f16"]).is_none());
        assert!(reason("tcgen05", &[".mma", ".sp", ".cta_group::1", ".kind::f16"]).is_some());
        assert!(reason("tcgen05", &[".fence::before_thread_sync"]).is_none());
        assert!(reason("cp", &[".async", ".bulk", ".tensor", ".3d", ".im2col::w"]).is_none());
        assert!(reason("cp", &[".async", ".bulk", ".commit_group"]).is_none());
        assert!(reason("cp", &[".async", ".ca", ".shared", ".global"]).is_none());
        assert!(reason("testp", &[".finite", ".f32"]).is_none());
        assert!(reason("cp", &[".async"]).is_none());
    }
}
