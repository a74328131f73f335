//! Matrix instructions that cannot be executed as they are asked for.

use rumba_vm::{Device, FaultKind, Source};

use crate::common::{Bench, kernel};

/// The fault of a kernel whose warps execute `body`.
#[track_caller]
fn check(body: &str, threads: u32, kind: FaultKind, message: &str) {
    let declarations = ".shared .align 16 .b8 buffer[1024];";
    let bench = Bench::new(&kernel(declarations, body).replace(".version 8.0", ".version 8.8"));
    let out = bench.zeros(4096);
    let fault = bench.fault("k", 1, threads, &[out.into(), 0_u32.into()]);
    assert_eq!(fault.kind, kind, "{fault}");
    assert!(fault.message.contains(message), "{fault}");
}

const MMA: &str = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r10, %r11}, {%r10, %r11}, {%r12}, {%r10, %r11};";

#[test]
fn a_part_of_a_warp_multiplies_nothing() {
    let message = "needs all 32 lanes of the warp, of which only 0x0000ffff are left";
    check(MMA, 16, FaultKind::Synchronisation, message);
    let body = format!("setp.gt.u32 %p1, %r2, 15;\n@%p1 exit;\n{MMA}");
    check(&body, 32, FaultKind::Synchronisation, message);
}

#[test]
fn lanes_that_go_elsewhere_are_missed() {
    let body = format!("setp.gt.u32 %p1, %r2, 15;\n@%p1 bra OVER;\n{MMA}\nOVER:\nbar.warp.sync 0xffffffff;");
    check(&body, 32, FaultKind::Deadlock, "");
}

#[test]
fn lanes_that_come_late_are_waited_for() {
    let body = "
        setp.gt.u32 %p1, %r2, 15;
        mov.u32 %r10, %r2;
        @%p1 bra OTHER;
        add.u32 %r10, %r10, 100;
        bra BOTH;
        OTHER:
        add.u32 %r10, %r10, 200;
        BOTH:
        movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r10;
        movmatrix.sync.aligned.m8n8.trans.b16 %r11, %r11;
        st.global.u32 [%rd2], %r11;";
    let out = crate::common::run("", body, 1, 32, 0, 32);
    let expected: Vec<u32> = (0..32).map(|lane| lane + if lane > 15 { 200 } else { 100 }).collect();
    assert_eq!(out, expected);
}

#[test]
fn rows_are_checked() {
    let load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r11];";
    let rows = "mov.u32 %r11, buffer; mad.lo.u32 %r11, %r2, ";
    let within = "of shared memory";
    check(&format!("{rows}128, %r11;\nadd.u32 %r11, %r11, 8; {load}"), 32, FaultKind::MisalignedAddress, "16 bytes");
    check(&format!("{rows}152, %r11;\nand.b32 %r11, %r11, -16; {load}"), 32, FaultKind::IllegalAddress, within);
    let store = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r11], {%r10, %r10, %r10, %r10};";
    check(&format!("{rows}48, %r11;\n{store}"), 32, FaultKind::IllegalAddress, within);
    // The addresses of the other lanes do not count.
    let bench = Bench::new(&kernel(".shared .align 16 .b8 buffer[1024];", &format!("{rows}128, %r11;\n{load}")));
    let out = bench.zeros(4096);
    assert!(bench.run("k", 1, 32, &[out.into(), 0_u32.into()]).is_ok());
}

#[test]
fn fragments_are_checked() {
    let load = "wmma.load.a.sync.aligned.row.m16n16k8.global.tf32 {%r10, %r11, %r12, %r13}";
    check(&format!("{load}, [%rd1+3840], 8;"), 32, FaultKind::IllegalAddress, "4096 bytes");
    check(&format!("{load}, [%rd1+2], 8;"), 32, FaultKind::MisalignedAddress, "4 bytes");
    check(&format!("{load}, [%rd2], 8;"), 32, FaultKind::InvalidInstruction, "different addresses");
}

#[test]
fn forms_that_do_not_exist_are_refused() {
    let device = Device::new(rumba_vm::Config { memory_bytes: 64 << 20, ..rumba_vm::Config::default() }).unwrap();
    for (body, message) in [
        ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1}, {%r1, %r1}, {%r1}, {%r1, %r1};", "2 register(s)"),
        (
            "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {%r1, %r1, %r1, %r1}, {%r1, %r1, %r1, %r1}, \
             {%r1, %r1, %r1, %r1}, {%r1, %r1, %r1, %r1}, %r1, 1;",
            "no such selector",
        ),
        (
            "mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%r1, %r1}, \
             {%r1, %r1, %r1, %r1}, %r1, %r1;",
            "a number below 4",
        ),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f32 {%r1}, [%rd1];", "no fragment"),
        ("ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%r1}, [%rd1];", "is not a form of `ldmatrix`"),
    ] {
        let ptx = kernel("", body).replace(".version 8.0", ".version 8.8");
        let source = Source { name: "refused.ptx", ptx: &ptx };
        let error = match device.load(&[source]) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("`{body}` was accepted"),
        };
        assert!(error.contains(message), "{body}: {error}");
    }
}
