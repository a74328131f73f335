//! Reads of memory that was never written: kernels that do it, near misses, and copies to the host.

use crate::common::{Bench, kernel};
use rumba_vm::{Check, CheckSet, Config, Finding, FindingKind};

/// A device that checks for uninitialised memory, with a kernel loaded.
fn bench(declarations: &str, body: &str) -> Bench {
    let config = Config { memory_bytes: 64 << 20, checks: CheckSet::default().with(Check::Init), ..Config::default() };
    Bench::with(&kernel(declarations, body), config)
}

/// Runs a kernel of two blocks of 64 threads; `out` has 128 elements; the host writes the first `written` of them.
fn findings(declarations: &str, body: &str, written: usize) -> Vec<Finding> {
    let bench = bench(declarations, body);
    let out = bench.device.allocate(512).expect("there is memory");
    bench.write(out, &vec![1; 4 * written]).expect("it is inside");
    if let Err(error) = bench.run("k", 2, 64, &[out.into(), 7_u32.into()]) {
        panic!("{error}");
    }
    bench.device.take_findings()
}

#[track_caller]
fn is_told(declarations: &str, body: &str, written: usize, place: &str) {
    let found = findings(declarations, body, written);
    let [finding] = found.as_slice() else {
        panic!("one finding was expected: {found:#?}");
    };
    assert_eq!(finding.kind, FindingKind::UnwrittenRead);
    assert!(finding.place.contains(place), "{finding}");
    assert!(finding.sides[0].ptx_line > 0, "{finding}");
}

#[track_caller]
fn is_clean(declarations: &str, body: &str, written: usize) {
    let found = findings(declarations, body, written);
    assert!(found.is_empty(), "{}", found[0]);
}

const TILE: &str = ".shared .align 16 .b8 tile[512];";
const LOCAL: &str = ".local .align 16 .b8 depot[64];";
/// The thread's own element of the tile in `%r10`.
const OWN: &str = "
    mov.u32 %r9, tile;
    shl.b32 %r10, %r2, 2;
    add.u32 %r10, %r9, %r10;";

/// `body` with a variable on the stack, whose address is in `%rd10`.
fn with_stack(body: &str) -> String {
    format!("{LOCAL}\n mov.u64 %rd10, depot;\n{body}")
}

#[test]
fn global_memory_as_it_was_allocated() {
    let read = "ld.global.u32 %r10, [%rd2]; st.global.u32 [%rd2], %r10;";
    is_told("", read, 0, "0 bytes into a block of 512 bytes");
    is_told("", read, 100, "400 bytes into a block of 512 bytes");
    is_clean("", read, 128);
}

#[test]
fn one_element_too_few_was_written() {
    let neighbour = "
        setp.eq.u32 %p1, %r4, 127;
        @%p1 bra DONE;
        ld.global.u32 %r10, [%rd2+4];
    DONE:";
    is_told("", neighbour, 127, "508 bytes into a block");
    is_clean("", neighbour, 128);
}

#[test]
fn atomics_read_what_they_change() {
    is_told("", "atom.global.add.u32 %r10, [%rd1], 1;", 0, "0 bytes into a block");
    is_told("", "red.global.max.u32 [%rd1], %r2;", 0, "0 bytes into a block");
    is_clean("", "atom.global.add.u32 %r10, [%rd1], 1;", 1);
    is_clean("", "st.global.u32 [%rd1], 0; red.global.max.u32 [%rd1], %r2;", 0);
}

#[test]
fn an_accumulator_that_is_not_zero() {
    let add = "ld.global.u32 %r10, [%rd2]; add.u32 %r10, %r10, 1; st.global.u32 [%rd2], %r10;";
    is_told("", add, 0, "bytes into a block");
    is_clean("", &format!("st.global.u32 [%rd2], 0;\n{add}"), 0);
}

#[test]
fn shared_memory_that_no_thread_has_written() {
    let read = format!("{OWN}\n ld.shared.u32 %r11, [%r10]; st.global.u32 [%rd2], %r11;");
    let write = format!("{OWN}\n st.shared.u32 [%r10], %r2; bar.sync 0;");
    is_told(TILE, &read, 0, "bytes into shared memory");
    is_clean(TILE, &format!("{write}\n{read}"), 0);
}

#[test]
fn a_halo_that_is_not_filled() {
    let stencil = format!(
        "{OWN}
        st.shared.u32 [%r10+4], %r2;
        HALO
        bar.sync 0;
        ld.shared.u32 %r11, [%r10];
        st.global.u32 [%rd2], %r11;"
    );
    let halo = "setp.eq.u32 %p1, %r2, 0; @%p1 st.shared.u32 [%r10], 0;";
    is_told(TILE, &stencil.replace("HALO", ""), 0, "bytes into shared memory");
    is_clean(TILE, &stencil.replace("HALO", halo), 0);
}

/// A kernel of which each thread loads its own element of a tile that nothing has written, and does something with it.
fn loads(what: &str) -> Vec<Finding> {
    findings(TILE, &format!("{OWN}\n ld.shared.u32 %r11, [%r10];\n{what}"), 128)
}

#[test]
fn a_load_of_shared_memory_is_told_where_something_depends_on_it() {
    for silent in [
        "",
        "add.u32 %r12, %r11, 1; mul.lo.u32 %r13, %r12, 0; st.global.u32 [%rd2], %r13;",
        "and.b32 %r12, %r11, 0; st.global.u32 [%rd2], %r12;",
        "setp.eq.u32 %p1, %r11, 5; setp.lt.u32 %p2, %r2, 64; or.pred %p3, %p1, %p2; @%p3 st.global.u32 [%rd2], 1;",
        "setp.lt.u32 %p2, %r2, 64; selp.u32 %r12, %r2, %r11, %p2; st.global.u32 [%rd2], %r12;",
        "mov.u32 %r11, 7; st.global.u32 [%rd2], %r11;",
        "shfl.sync.idx.b32 %r12, %r11, 0, 31, -1;",
        // To another place of shared memory, and there something else.
        "st.shared.u32 [%r10+256], %r11; st.shared.u32 [%r10+256], 1; ld.shared.u32 %r12, [%r10+256]; st.global.u32 [%rd2], %r12;",
    ] {
        let found = loads(silent);
        assert!(found.is_empty(), "{silent}: {}", found[0]);
    }
    for (used, how) in [
        ("st.global.u32 [%rd2], %r11;", "store of it to global memory"),
        ("setp.eq.u32 %p1, %r11, 5; @%p1 bra done; add.u32 %r12, %r2, 1;\ndone:", "use of it"),
        ("add.u32 %r12, %r11, 1; setp.eq.u32 %p1, %r12, 5; @%p1 st.global.u32 [%rd2], 1;", "use of it"),
        (
            "and.b32 %r12, %r11, 4; cvt.u64.u32 %rd10, %r12; add.u64 %rd10, %rd10, %rd1; st.global.u32 [%rd10], 1;",
            "use of it",
        ),
        ("shfl.sync.idx.b32 %r12, %r11, 0, 31, -1; st.global.u32 [%rd2], %r12;", "store of it to global memory"),
        (
            "setp.lt.u32 %p2, %r2, 3; selp.u32 %r12, %r2, %r11, %p2; st.global.u32 [%rd2], %r12;",
            "store of it to global memory",
        ),
        ("max.u32 %r12, %r11, %r2; st.global.u32 [%rd2], %r12;", "store of it to global memory"),
        ("red.global.add.u32 [%rd1], %r11;", "use of it"),
    ] {
        let found = loads(used);
        let [finding] = found.as_slice() else {
            panic!("one finding was expected: {used}: {found:#?}");
        };
        assert_eq!(finding.kind, FindingKind::UnwrittenRead, "{finding}");
        assert!(finding.place.ends_with("bytes into shared memory"), "{finding}");
        let [load, user] = finding.sides.as_slice() else {
            panic!("{finding}");
        };
        assert_eq!((load.what.as_str(), user.what.as_str()), ("read of shared memory", how), "{finding}");
        assert!(load.ptx_line < user.ptx_line, "{finding}");
    }
    // The memory that it is copied to within the block has nothing either.
    let found = loads("st.shared.u32 [%r10+256], %r11; ld.shared.u32 %r12, [%r10+256]; st.global.u32 [%rd2], %r12;");
    let [finding] = found.as_slice() else {
        panic!("one finding was expected: {found:#?}");
    };
    assert!(
        finding.place.contains("kernel `k` stored there at test.ptx:")
            && finding.place.contains("had read at test.ptx:"),
        "{finding}"
    );
    // The reported value lies in global memory.
    let bench = bench(TILE, &format!("{OWN}\n ld.shared.u32 %r11, [%r10]; st.global.u32 [%rd2], %r11;"));
    let out = bench.device.allocate(512).expect("there is memory");
    bench.run("k", 2, 64, &[out.into(), 7_u32.into()]).expect("it runs");
    bench.read(out, &mut [0; 512]).expect("it is inside");
    let found = bench.device.take_findings();
    assert_eq!((found.len(), found[0].count), (1, 128), "{found:#?}");
}

#[test]
fn lanes_load_what_they_have_written() {
    // Even lanes write, and odd lanes read elements that they have not written.
    let body = |reads: &str| {
        format!(
            "{OWN}
        and.b32 %r12, %r2, 1;
        setp.eq.u32 %p1, %r12, 0;
        @%p1 st.shared.u32 [%r10], %r2;
        {reads} ld.shared.u32 %r11, [%r10];
        {reads} st.global.u32 [%rd2], %r11;"
        )
    };
    is_clean(TILE, &body("@%p1"), 0);
    let found = findings(TILE, &body("@!%p1"), 0);
    assert_eq!((found.len(), found[0].count), (1, 64), "{found:#?}");
    let found = findings(TILE, &body(""), 0);
    assert_eq!((found.len(), found[0].count, found[0].sides[0].threads), (1, 64, 16), "{found:#?}");
}

#[test]
fn operations_that_are_not_followed_are_told_at_once() {
    let matrix = format!("{OWN}\n mov.u32 %r10, %r9; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r11}}, [%r10];");
    is_told(TILE, &matrix, 0, "bytes into shared memory");
    is_told(TILE, &format!("{OWN}\n atom.shared.add.u32 %r11, [%r10], 1;"), 0, "bytes into shared memory");
}

#[test]
fn what_another_block_wrote_does_not_count() {
    let first_block_only = format!(
        "{OWN}
        setp.eq.u32 %p1, %r3, 0;
        @%p1 st.shared.u32 [%r10], %r2;
        bar.sync 0;
        ld.shared.u32 %r11, [%r10];
        st.global.u32 [%rd2], %r11;"
    );
    is_told(TILE, &first_block_only, 0, "bytes into shared memory");
    let every_block = first_block_only.replace("@%p1 st", "st");
    is_clean(TILE, &every_block, 0);
}

#[test]
fn variables_on_the_stack() {
    let read = "ld.local.u32 %r10, [%rd10+8]; st.global.u32 [%rd2], %r10;";
    is_told("", &with_stack(read), 0, "stack");
    is_clean("", &with_stack(&format!("st.local.u32 [%rd10+8], %r2;\n{read}")), 0);
    let one_lane = "setp.eq.u32 %p1, %r2, 5; @%p1 st.local.u32 [%rd10+8], %r2;";
    is_told("", &with_stack(&format!("{one_lane}\n{read}")), 0, "stack");
    let generic = "cvta.local.u64 %rd11, %rd10; ld.u32 %r10, [%rd11]; st.global.u32 [%rd2], %r10;";
    is_told("", &with_stack(generic), 0, "stack");
    is_clean("", &with_stack(&format!("st.local.v2.u32 [%rd10], {{%r2, %r2}};\n{generic}")), 0);
}

#[test]
fn one_branch_forgets_to_write() {
    let body = "
        and.b32 %r10, %r2, 1;
        setp.eq.u32 %p1, %r10, 0;
        @%p1 st.local.u32 [%rd10], %r2;
        OTHER
        ld.local.u32 %r11, [%rd10];
        st.global.u32 [%rd2], %r11;";
    is_told("", &with_stack(&body.replace("OTHER", "")), 0, "stack");
    is_clean("", &with_stack(&body.replace("OTHER", "@!%p1 st.local.u32 [%rd10], 0;")), 0);
}

#[test]
fn vectors() {
    let read =
        format!("{OWN}\n shl.b32 %r11, %r2, 3; add.u32 %r11, %r9, %r11; ld.shared.v2.u32 {{%r12, %r13}}, [%r11];");
    let half = "shl.b32 %r14, %r2, 3; mov.u32 %r9, tile; add.u32 %r14, %r14, %r9; st.shared.u32 [%r14], 1;";
    let store = |register: &str| format!("{read} st.global.u32 [%rd2], {register};");
    is_told(TILE, &store("%r12"), 0, "bytes into shared memory");
    is_clean(TILE, &format!("{half}\n{}", store("%r12")), 0);
    is_told(TILE, &format!("{half}\n{}", store("%r13")), 0, "bytes into shared memory");
    let both = format!("{half}\n st.shared.u32 [%r14+4], 2;\n{}", store("%r13"));
    is_clean(TILE, &both, 0);
    // The padding of a structure is copied with its fields.
    let whole = format!("{half}\n mov.u32 %r11, %r14; ld.shared.u64 %rd10, [%r11]; st.global.u64 [%rd1], %rd10;");
    is_clean(TILE, &whole, 0);
}

#[test]
fn memory_of_the_kernel_itself() {
    let declarations = "
.extern .func (.param .b64 ret) malloc(.param .b64 size);";
    let body = "
        { .param .b64 size; .param .b64 ret;
          st.param.b64 [size], 64;
          call.uni (ret), malloc, (size);
          ld.param.b64 %rd10, [ret]; }
        WRITE
        ld.u32 %r10, [%rd10+4];
        st.global.u32 [%rd2], %r10;";
    is_told(declarations, &body.replace("WRITE", ""), 0, "allocated by a kernel");
    is_clean(declarations, &body.replace("WRITE", "st.u64 [%rd10], 0;"), 0);
}

#[test]
fn copies_that_have_not_arrived() {
    let copy = format!(
        "{OWN}
        cvta.to.global.u64 %rd10, %rd2;
        cp.async.ca.shared.global [%r10], [%rd10], 4;
        cp.async.wait_all;
        bar.sync 0;
        ld.shared.u32 %r11, [%r10];
        st.global.u32 [%rd2], %r11;"
    );
    is_clean(TILE, &copy, 128);
    is_told(TILE, &copy, 0, "bytes into a block of 512 bytes");
}

#[test]
fn module_variables_start_as_zeros() {
    let declarations = ".global .align 4 .u32 counter;\n.global .align 4 .b8 table[512];";
    let body = "
        mov.u64 %rd10, counter;
        atom.global.add.u32 %r10, [%rd10], 1;
        mov.u64 %rd11, table;
        ld.global.u32 %r11, [%rd11+508];
        st.global.u32 [%rd2], %r11;";
    is_clean(declarations, body, 0);
}

#[test]
fn the_report_says_where_and_why() {
    let declarations = ".file 1 \"src/kernel.rs\"";
    let found = findings(declarations, "\n.loc 1 7 9\n ld.global.u32 %r10, [%rd2];", 32);
    let text = found[0].to_string();
    assert_eq!(
        text,
        "error: read of uninitialised memory in kernel `k`: 128 bytes into a block of 512 bytes\n  read of 4 bytes of global memory \
         by thread (32, 0, 0) of block (0, 0, 0)\n    at src/kernel.rs:7:9\n  neither the host nor a kernel has written there \
         since the memory was allocated or the block began, so it may hold anything; 96 times\n  help: write to the memory before it is read, or do not read \
         beyond what was written"
    );
}

#[test]
fn the_host_copies_unwritten_memory() {
    let bench = bench("", "st.global.u32 [%rd2], %r2;");
    let device = &bench.device;
    let (a, b) = (device.allocate(512).unwrap(), device.allocate(512).unwrap());
    let mut bytes = [0; 512];
    bench.read(a, &mut bytes).unwrap();
    let found = device.take_findings();
    assert_eq!((found[0].kind, found[0].count), (FindingKind::UnwrittenCopy, 512));
    assert!(found[0].to_string().contains("0 bytes into a block of 512 bytes"), "{}", found[0]);
    // The kernel writes 256 bytes; copies on the device tell nothing, and take along what is known.
    bench.run("k", 1, 64, &[a.into(), 0_u32.into()]).unwrap();
    bench.copy(b, a, 512).unwrap();
    assert!(device.take_findings().is_empty());
    bench.read(b, &mut bytes[..256]).unwrap();
    assert!(device.take_findings().is_empty());
    bench.read(b, &mut bytes).unwrap();
    let found = device.take_findings();
    assert_eq!((found[0].address, found[0].count), (Some(b + 256), 256));
    bench.fill(b, &[0], 512).unwrap();
    device.assume_written(a, 512);
    bench.read(b, &mut bytes).unwrap();
    bench.read(a, &mut bytes).unwrap();
    assert!(device.take_findings().is_empty());
    // Memory that is handed out again is unwritten.
    device.free(a).unwrap();
    let again = device.allocate(512).unwrap();
    bench.read(again, &mut bytes).unwrap();
    assert_eq!(device.take_findings().len(), 1);
}

#[test]
fn values_of_which_a_part_was_written_are_told_by_name() {
    let body = format!(
        "{OWN} st.shared.u8 [%r10], 1; st.shared.u8 [%r10+1], 1; LAST st.shared.u8 [%r10+3], 1;
        ld.shared.u32 %r11, [%r10]; st.global.u32 [%rd2], %r11;"
    );
    let found = |check: Check, last: &str| {
        let config = Config { memory_bytes: 64 << 20, checks: CheckSet::default().with(check), ..Config::default() };
        let bench = Bench::with(&kernel(TILE, &body.replace("LAST", last)), config);
        let out = bench.zeros(512);
        bench.run("k", 2, 64, &[out.into(), 7_u32.into()]).expect("it runs");
        let found = bench.device.take_findings();
        found.iter().map(|finding| finding.kind).collect::<Vec<_>>()
    };
    let last = "st.shared.u8 [%r10+2], 1;";
    assert_eq!(found(Check::Init, ""), []);
    assert_eq!(found(Check::InitBytes, ""), [FindingKind::UnwrittenRead]);
    assert_eq!(found(Check::InitBytes, last), []);
}

/// Functions that take and give back structures of 16 bytes.
const FUNCTIONS: &str = "
.func sum(.param .b64 to, .param .align 4 .b8 e[16])
{
    .reg .b64 %rd<2>; .reg .b32 %r<5>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [e]; ld.param.u32 %r2, [e+4]; ld.param.u32 %r3, [e+8]; ld.param.u32 %r4, [e+12];
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4;
    st.u32 [%rd1], %r1;
    ret;
}
.func first(.param .b64 to, .param .align 4 .b8 e[16])
{
    .reg .b64 %rd<2>; .reg .b32 %r<2>;
    ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [e]; st.u32 [%rd1], %r1;
    ret;
}
.func passed_on(.param .b64 to, .param .align 4 .b8 e[16])
{
    .reg .b64 %rd<2>; .reg .b32 %r<5>;
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r1, [e]; ld.param.u32 %r2, [e+4]; ld.param.u32 %r3, [e+8]; ld.param.u32 %r4, [e+12];
    { .param .b64 a; .param .align 4 .b8 b[16];
      st.param.b64 [a], %rd1;
      st.param.b32 [b], %r1; st.param.b32 [b+4], %r2; st.param.b32 [b+8], %r3; st.param.b32 [b+12], %r4;
      call.uni sum, (a, b); }
    ret;
}
.func (.param .align 4 .b8 made[16]) make(.param .b32 x)
{
    .reg .b32 %r<2>;
    ld.param.u32 %r1, [x];
    st.param.b32 [made], %r1; st.param.b32 [made+4], %r1; st.param.b32 [made+8], %r1; st.param.b32 [made+12], %r1;
    ret;
}
.func (.param .align 4 .b8 made[16]) make_in_part(.param .b32 x)
{
    .reg .b32 %r<2>;
    ld.param.u32 %r1, [x];
    st.param.b32 [made], %r1; st.param.b32 [made+4], %r1; st.param.b32 [made+8], %r1;
    ret;
}";

#[test]
fn structures_by_value_are_as_written_as_their_fields() {
    let passes = |last: &str, call: &str| {
        format!(
            "{{ .param .b64 a; .param .align 4 .b8 b[16];
              st.param.b64 [a], %rd2;
              st.param.b32 [b], %r2; st.param.b32 [b+4], %r2; st.param.b32 [b+8], %r2; {last}
              {call} }}"
        )
    };
    let pointer = "mov.u64 %rd20, sum;
        prototype: .callprototype () _ (.param .b64 _, .param .align 4 .b8 _[16]);
        call %rd20, (a, b), prototype;";
    let last = "st.param.b32 [b+12], %r2;";
    for call in ["call.uni sum, (a, b);", "call.uni passed_on, (a, b);", pointer] {
        is_clean(FUNCTIONS, &passes(last, call), 0);
        is_told(FUNCTIONS, &passes("", call), 0, "stack");
    }
    // A field that the function does not use need not be written.
    is_clean(FUNCTIONS, &passes("", "call.uni first, (a, b);"), 0);
    is_clean(FUNCTIONS, &passes("st.param.b32 [b+12], %r50;", "call.uni first, (a, b);"), 0);
    let returns = |function: &str, offset: u32| {
        format!(
            "{{ .param .b32 x; .param .align 4 .b8 b[16];
              st.param.b32 [x], %r2;
              call.uni (b), {function}, (x);
              ld.param.b32 %r10, [b+{offset}]; st.global.u32 [%rd2], %r10; }}"
        )
    };
    is_clean(FUNCTIONS, &returns("make", 12), 0);
    is_clean(FUNCTIONS, &returns("make_in_part", 8), 0);
    is_told(FUNCTIONS, &returns("make_in_part", 12), 0, "stack");
}
