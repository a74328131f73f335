//! Attention by warp groups: what the PTX of its kernels must be. Its numbers are with the runtime's tests.

use super::text;

/// The kernels, their products for scores and for the output, and how many keys are in a block.
pub(crate) const KERNELS: [(&str, &str, &str, usize); 8] = [
    ("attention_64_f16", "m64n128k16.f32.f16.f16", "m64n64k16.f32.f16.f16", 128),
    ("attention_64_bf16", "m64n128k16.f32.bf16.bf16", "m64n64k16.f32.bf16.bf16", 128),
    ("attention_128_f16", "m64n128k16.f32.f16.f16", "m64n128k16.f32.f16.f16", 128),
    ("attention_128_bf16", "m64n128k16.f32.bf16.bf16", "m64n128k16.f32.bf16.bf16", 128),
    ("attention_192_f16", "m64n64k16.f32.f16.f16", "m64n192k16.f32.f16.f16", 64),
    ("attention_192_bf16", "m64n64k16.f32.bf16.bf16", "m64n192k16.f32.bf16.bf16", 64),
    ("attention_512_f16", "m64n64k16.f32.f16.f16", "m64n256k16.f32.f16.f16", 64),
    ("attention_512_bf16", "m64n64k16.f32.bf16.bf16", "m64n256k16.f32.bf16.bf16", 64),
];

/// The text of a kernel, from its head to the brace that ends it.
fn kernel(name: &str) -> &'static str {
    let start = text().find(&format!(".entry {name}(")).unwrap_or_else(|| panic!("no `{name}`"));
    let text = &text()[start..];
    // Instructions written as text may have braces of their own.
    let ends = text.match_indices("\n}").map(|(at, _)| at);
    let mut ends = ends.filter(|at| !text[at + 2..].trim_start().starts_with("// end inline asm"));
    &text[..ends.next().expect("a kernel ends")]
}

#[test]
fn scores_and_sums_stay_in_registers() {
    for (name, scores, output, _) in KERNELS {
        let text = kernel(name);
        for instruction in ["ld.local", "st.local", ".local ", "call."] {
            assert!(!text.contains(instruction), "`{name}` has `{instruction}`");
        }
        let wanted = [
            format!("wgmma.mma_async.sync.aligned.{scores}"),
            format!("wgmma.mma_async.sync.aligned.{output}"),
            "cp.async.bulk.tensor.4d.shared::cluster.global".into(),
            "cp.async.bulk.tensor.4d.global.shared::cta".into(),
            "ex2.approx.ftz.f32".into(),
        ];
        for instruction in wanted {
            assert!(text.contains(&instruction), "`{name}` has no `{instruction}`");
        }
    }
}

/// By warps, as before compute capability 9.0, they do too, and tiles come 16 bytes at a time.
#[test]
fn by_warps_scores_and_sums_stay_in_registers() {
    for name in [
        "attention_64_by_warps_f16",
        "attention_64_by_warps_bf16",
        "attention_128_by_warps_f16",
        "attention_128_by_warps_bf16",
    ] {
        let text = kernel(name);
        for instruction in ["ld.local", "st.local", ".local ", "call."] {
            assert!(!text.contains(instruction), "`{name}` has `{instruction}`");
        }
        for instruction in [
            "cp.async.cg.shared.global",
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
            "mma.sync.aligned.m16n8k16.row.col.f32",
        ] {
            assert!(text.contains(instruction), "`{name}` has no `{instruction}`");
        }
    }
}

/// The computation on the scores lies between the wait for them and the wait for the sums that run meanwhile.
#[test]
fn weights_are_computed_under_a_product() {
    for (name, _, _, keys) in KERNELS {
        let parts: Vec<&str> = kernel(name).split("wgmma.wait_group.sync.aligned 1").collect();
        if name.contains("_512") {
            assert_eq!(parts.len(), 1, "`{name}` waits for all products at once");
            continue;
        }
        assert_eq!(parts.len(), 2, "`{name}` has one loop over keys");
        let meanwhile = parts[1].split("wgmma.wait_group.sync.aligned 0").next().unwrap_or_default();
        let powers = meanwhile.matches("ex2.approx.ftz.f32").count();
        assert!(powers >= keys / 2, "`{name}` has {powers} powers under its product, of {}", keys / 2);
    }
}
