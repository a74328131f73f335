//! Tests of other files once more, as native code.

use crate::common::compiler;

/// What the interpreter is held to, native code is held to as well: golden vectors, PTX of other compilers, faults. Other tests run
/// in this way by hand, with `RUMBA_TEST_NATIVE=1`.
#[test]
#[cfg_attr(miri, ignore = "a process of its own")]
fn vectors_and_faults_are_those_of_the_interpreter() {
    const TESTS: [&str; 6] =
        ["conformance::arithmetic_", "transfers::", "natives::", "faults::", "control::", "warps::"];
    let Some(_) = compiler::native() else { return };
    let list = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("compiled-{}", std::process::id()));
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(TESTS)
        .env("RUMBA_TEST_NATIVE", "1")
        .env(compiler::COMPILED, &list)
        .output()
        .unwrap();
    let compiled = std::fs::read_to_string(&list).unwrap_or_default().lines().count();
    let _ = std::fs::remove_file(&list);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}\n{said}", output.status);
    println!("{compiled} kernels compiled and compared");
    assert!(compiled > 2000, "only {compiled} kernels were compiled:\n{said}");
}
