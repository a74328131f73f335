//! Profiles of instructions.

use crate::common::{Bench, kernel};
use rumba_vm::{Branches, Config, GlobalTraffic, InstructionProfile, SharedTraffic};

/// The instructions of a launch whose text contains `name`.
fn profile(declarations: &str, body: &str, grid: u32, block: u32, name: &str) -> Vec<InstructionProfile> {
    let config = Config { memory_bytes: 64 << 20, profile: true, ..Config::default() };
    let bench = Bench::with(&kernel(declarations, body), config);
    let out = bench.zeros(1 << 16);
    if let Err(error) = bench.run("k", grid, block, &[out.into(), 0_u32.into()]) {
        panic!("{error}");
    }
    let mut profiles = bench.device.take_profiles();
    assert_eq!(profiles.len(), 1);
    let profile = profiles.remove(0);
    assert_eq!((profile.kernel.as_str(), profile.grid, profile.block), ("k", [grid, 1, 1], [block, 1, 1]));
    assert!(bench.device.take_profiles().is_empty());
    let instructions = profile.instructions.into_iter();
    instructions.filter(|row| row.instruction.contains(name)).collect()
}

#[track_caller]
fn sectors(body: &str, sectors: u64, ideal: u64) {
    let rows = profile("", body, 2, 64, ".global");
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!((rows[0].executions, rows[0].threads), (4, 128));
    let expected = GlobalTraffic { requests: 4, sectors: 4 * sectors, ideal_sectors: 4 * ideal };
    assert_eq!(rows[0].global, Some(expected));
    assert_eq!((rows[0].shared, rows[0].branch), (None, None));
}

#[test]
fn global_memory_is_asked_for_sectors() {
    sectors("st.global.u32 [%rd2], %r2;", 4, 4);
    sectors("ld.global.u32 %r10, [%rd1+64];", 1, 1);
    // A column of a matrix with rows of 128 bytes.
    sectors("mul.wide.u32 %rd10, %r2, 128; add.u64 %rd10, %rd1, %rd10; ld.global.u32 %r10, [%rd10];", 32, 4);
    sectors(
        "mul.wide.u32 %rd10, %r2, 16; add.u64 %rd10, %rd1, %rd10; ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd10];",
        16,
        16,
    );
    sectors("ld.global.u32 %r10, [%rd2+4];", 5, 4);
}

#[track_caller]
fn wavefronts(body: &str, requests: u64, wavefronts: u64, ideal: u64) {
    let tile = ".shared .align 16 .b8 tile[8192];";
    let rows = profile(tile, &format!("mov.u32 %r9, tile;\n {body}"), 1, 64, ".shared");
    let expected = SharedTraffic { requests, wavefronts: requests * wavefronts, ideal_wavefronts: requests * ideal };
    assert_eq!(rows[0].shared, Some(expected));
    assert_eq!(rows[0].global, None);
}

#[test]
fn shared_memory_has_banks() {
    let at = |stride: u32, access: &str| format!("mad.lo.u32 %r10, %r2, {stride}, %r9;\n {access}");
    wavefronts(&at(4, "st.shared.u32 [%r10], %r2;"), 2, 1, 1);
    wavefronts(&at(8, "st.shared.u32 [%r10], %r2;"), 2, 2, 1);
    wavefronts(&at(128, "ld.shared.u32 %r11, [%r10];"), 2, 32, 1);
    wavefronts(&at(8, "ld.shared.v2.u32 {%r11, %r12}, [%r10];"), 2, 2, 2);
    wavefronts(&at(16, "ld.shared.v4.u32 {%r11, %r12, %r13, %r14}, [%r10];"), 2, 4, 4);
    wavefronts("ld.shared.u32 %r11, [%r9];", 2, 1, 1);
    // Only the first warp.
    wavefronts("setp.lt.u32 %p1, %r2, 32;\n @%p1 ld.shared.u32 %r11, [%r9];", 1, 1, 1);
}

#[test]
fn generic_addresses_are_what_they_are() {
    let tile = ".shared .align 16 .b8 tile[8192];";
    let body = "
    cvta.shared.u64 %rd10, tile;
    mul.wide.u32 %rd11, %r2, 8;
    add.u64 %rd10, %rd10, %rd11;
    st.u32 [%rd10], %r2;
    st.u32 [%rd2], %r2;";
    let rows = profile(tile, body, 1, 32, "st.u32");
    assert_eq!(rows[0].shared.map(|shared| shared.wavefronts), Some(2));
    assert_eq!(rows[1].global.map(|global| global.sectors), Some(4));
}

#[test]
fn branches_diverge() {
    let body = |limit: u32| format!("setp.lt.u32 %p1, %r2, {limit};\n @%p1 bra over;\n add.u32 %r10, %r2, 1;\nover:");
    let branch = |limit| profile("", &body(limit), 3, 64, "bra over")[0].branch;
    let expected = |divergent| Some(Branches { executions: 6, divergent });
    assert_eq!(branch(16), expected(3));
    assert_eq!(branch(32), expected(0));
    let rows = profile("", &body(16), 3, 64, "add.u32 %r10");
    assert_eq!((rows[0].executions, rows[0].threads), (6, 3 * 48));
    assert_eq!((rows[0].ptx.as_str(), rows[0].instruction.as_str()), ("test.ptx", "add.u32 %r10, %r2, 1;"));
}

#[test]
fn nothing_is_counted_unasked() {
    let bench = Bench::new(&kernel("", "st.global.u32 [%rd2], %r2;"));
    let out = bench.zeros(256);
    bench.run("k", 1, 64, &[out.into(), 0_u32.into()]).unwrap();
    assert!(bench.device.take_profiles().is_empty());
}
