//! Kernels for several architectures: which texts are made, and what stands in each.

use cuda_builder::{CudaBuilder, OptLevel, Ptx, inspect, set, wheels};

use crate::build::{assert_has, assert_lacks, fixture, try_build};

fn build(configure: impl FnOnce(CudaBuilder) -> CudaBuilder) -> Ptx {
    try_build(&fixture("architectures"), configure).expect("the fixture builds")
}

fn kernel<'a>(ptx: &'a Ptx, arch: &str, name: &str) -> &'a str {
    let texts = ptx.texts();
    let text = texts.iter().find(|text| text.target.to_string() == arch).expect("a text");
    inspect::kernel(text.text, name).unwrap_or_else(|| panic!("no kernel {name} for {arch} in\n{}", text.text))
}

#[test]
fn there_is_a_text_for_each_architecture() {
    let ptx = build(|builder| builder);
    let texts: Vec<_> = ptx
        .texts()
        .iter()
        .map(|text| (text.target.to_string(), text.version.to_owned(), set::kernels(text.text).join(" ")))
        .collect();
    let expected =
        [("sm_70", "6.0", "plain"), ("sm_80", "7.0", "plain product"), ("sm_90a", "8.0", "new plain product")];
    assert_eq!(texts, expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    assert_eq!(ptx.kernels, ["new", "plain", "product"]);
    assert_eq!((ptx.arch.to_string().as_str(), ptx.version()), ("sm_70", "6.0"));
    assert_eq!(set::check(&ptx.text), Ok(()));
    let floors = |kernel| set::floors(&ptx.text, kernel).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    assert_eq!(["plain", "product", "new"].map(floors), ["sm_70", "sm_80 sm_90a", "sm_90a"]);
}

#[test]
fn each_text_has_its_variant_and_no_trace_of_the_other() {
    for level in [OptLevel::O0, OptLevel::O3] {
        let ptx = build(|builder| builder.opt_level(level));
        let [older, newer] = ["sm_80", "sm_90a"].map(|arch| kernel(&ptx, arch, "product"));
        assert_has(newer, &["90"]);
        assert_lacks(newer, &[" 80"]);
        assert_has(older, &["80"]);
        assert_lacks(older, &[" 90"]);
        let texts = ptx.texts();
        for text in &texts[..2] {
            assert_lacks(text.text, &["wgmma"]);
        }
        assert_has(texts[2].text, &["wgmma.fence"]);
    }
}

#[test]
fn a_variable_is_one_in_each_text() {
    let ptx = build(|builder| builder);
    for text in ptx.texts() {
        let definitions = text.text.lines().filter(|line| line.contains("COUNT") && line.starts_with(".global"));
        assert_eq!(definitions.count(), 1, "{}", text.text);
    }
    for (arch, name) in [("sm_90a", "plain"), ("sm_90a", "product"), ("sm_80", "product"), ("sm_70", "plain")] {
        assert_has(kernel(&ptx, arch, name), &["fixture_architectures_COUNT"]);
    }
}

#[test]
fn a_kernel_is_the_same_in_every_text() {
    let ptx = build(|builder| builder);
    let [first, second, third] = ["sm_70", "sm_80", "sm_90a"].map(|arch| {
        let text = kernel(&ptx, arch, "plain");
        // Files and labels are numbered in each text.
        text.lines().filter(|line| !line.contains(".loc") && !line.starts_with('$')).collect::<Vec<_>>()
    });
    assert_eq!(first, second);
    assert_eq!(second, third);
}

#[test]
fn what_an_architecture_lacks_is_an_error_with_the_kernel_s_name() {
    let error = |feature: &str| {
        let built = try_build(&fixture("architectures"), |builder| builder.build_arg(format!("--features={feature}")));
        built.expect_err("it does not build").to_string()
    };
    assert_has(&error("below"), &["`below` states `sm_90`", "needs sm_90a", "cfg_arch!(\"sm_90a\")"]);
    assert_has(&error("too-new"), &["`too_new`", "PTX 8.0 and sm_90a", "#[kernel(arch = \"sm_90a\")]"]);
    assert_has(&error("unknown"), &["`unknown`", "`sm_91` is not an architecture", "sm_90a"]);
}

#[test]
fn ptxas_takes_the_text_that_a_device_runs() {
    if wheels::find().ptxas.is_none() {
        eprintln!("ptxas is not installed: the PTX was not assembled");
        return;
    }
    let ptx = build(|builder| builder);
    for (arch, kernels) in [
        ("sm_75", &["plain"][..]),
        ("sm_80", &["plain", "product"]),
        ("sm_90", &["new", "plain", "product"]),
        ("sm_90a", &["new", "plain", "product"]),
        ("sm_100", &["plain", "product"]),
        ("sm_120", &["plain", "product"]),
    ] {
        let arch = arch.parse().expect("a known architecture");
        let all = inspect::resources(&ptx.text, arch).expect("ptxas accepts it");
        let names: Vec<&str> = all.iter().map(|resources| resources.kernel.as_str()).collect();
        assert_eq!(names, kernels, "{arch}");
    }
    let newer = set::texts(&ptx.text).into_iter().skip(1).map(|text| set::Member {
        text: rumba_ptx::foot::without(text).to_owned(),
        descriptions: Vec::new(),
        floors: Vec::new(),
    });
    let turing = "sm_75".parse().expect("a known architecture");
    let error = inspect::resources(&set::seal(newer), turing).expect_err("there is none");
    assert_has(&error.to_string(), &["sm_75", "sm_80, sm_90a"]);
}
