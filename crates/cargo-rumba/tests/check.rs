//! `cargo rumba check -- PROGRAM` and `profile -- PROGRAM`: programs of others, which load our `libcuda.so.1` as NVIDIA's driver.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program in C that loads a module of PTX and launches its kernel `count`, with 64 threads and a word of memory.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <stddef.h>
static void *driver;
#define CALL(name, ...) ((int (*)())dlsym(driver, name))(__VA_ARGS__)
int main(int argc, char **argv) {
    int device = 0;
    void *context = NULL, *module = NULL, *function = NULL;
    unsigned long long memory = 0;
    void *arguments[] = {&memory};
    if (!(driver = dlopen("libcuda.so.1", RTLD_NOW))) return 3;
    if (CALL("cuInit", 0) || CALL("cuDeviceGet", &device, 0) || CALL("cuCtxCreate_v2", &context, 0, device)) return 4;
    if (argc < 2) return 0;
    if (CALL("cuModuleLoad", &module, argv[1]) || CALL("cuModuleGetFunction", &function, module, "count")) return 5;
    if (CALL("cuMemAlloc_v2", &memory, (size_t)4) || CALL("cuMemsetD32_v2", memory, 0, (size_t)1)) return 6;
    if (CALL("cuLaunchKernel", function, 1, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL)) return 7;
    return CALL("cuCtxSynchronize");
}
"#;

/// A kernel that counts its threads, without and with atomic operations.
fn kernel(count: &str) -> String {
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry count(.param .u64 p)\n{{\n\
         .reg .u64 %a; .reg .u32 %v;\nld.param.u64 %a, [p];\n{count}\nret;\n}}\n"
    )
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("checked");
    std::fs::create_dir_all(&folder).expect("cargo's folder for tests");
    folder
}

fn write(name: &str, text: &str) -> PathBuf {
    let file = folder().join(name);
    std::fs::write(&file, text).expect("a file of this test");
    file
}

fn check(arguments: &[&Path]) -> (bool, String) {
    rumba("check", arguments)
}

fn rumba(command: &str, arguments: &[&Path]) -> (bool, String) {
    let mut rumba = Command::new(env!("CARGO_BIN_EXE_cargo-rumba"));
    rumba
        .env("CARGO", std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .arg(command)
        .args(if command == "profile" { vec!["--folder".into(), folder().join("profile")] } else { Vec::new() })
        .arg("--")
        .args(arguments);
    let Output { status, stdout, stderr } = rumba.output().expect("it runs");
    (status.success(), String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr))
}

#[test]
fn programs_of_others_are_checked() {
    let program = folder().join("program");
    let source = write("program.c", PROGRAM);
    let compiled = Command::new("cc").arg(&source).arg("-o").arg(&program).arg("-ldl").status().expect("a C compiler");
    assert!(compiled.success());
    let lost = write("lost.ptx", &kernel("ld.global.u32 %v, [%a];\nadd.u32 %v, %v, 1;\nst.global.u32 [%a], %v;"));
    let right = write("right.ptx", &kernel("red.global.add.u32 [%a], 1;"));

    let (is_clean, text) = check(&[&program, &right]);
    assert!(is_clean && text.contains("no findings in 1 launch"), "{text}");
    let (is_clean, text) = check(&[&program, &lost]);
    assert!(!is_clean, "{text}");
    for part in ["error[data-race]: kernel `count`", "lost.ptx:10", "exit code 66", "-lineinfo", "DataRace in `count`"]
    {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
    let (is_right, text) = rumba("profile", &[&program, &lost]);
    assert!(is_right, "{text}");
    for part in ["count: 1 launch", "lost.ptx:10", "times: none", "NVIDIA's Nsight Systems", "lines.html"] {
        assert!(text.contains(part), "`{part}` is missing:\n{text}");
    }
    // No verdict where there was nothing to check.
    let (is_clean, text) = check(&[&program]);
    assert!(!is_clean && text.contains("has launched no kernel, so nothing was checked"), "{text}");
    let (is_clean, text) = check(&[Path::new("true")]);
    assert!(!is_clean && text.contains("has not used the software device, so nothing was checked"), "{text}");
    let (is_clean, text) = check(&[Path::new("no-such-program")]);
    assert!(!is_clean && text.contains("could not start `no-such-program`"), "{text}");
}

/// The module that Python imports first, with a package of the name and the functions of `cuda.pathfinder`.
#[test]
fn python_does_not_find_nvjitlink_and_imports_what_it_would_have() {
    let (own, others) = (folder().join("own"), folder().join("others"));
    for folder in [own.clone(), others.join("cuda/pathfinder")] {
        std::fs::create_dir_all(folder).expect("folders of this test");
    }
    let pathfinder =
        "class DynamicLibNotFoundError(RuntimeError): pass\ndef load_nvidia_dynamic_lib(name): return name\n";
    for (file, text) in [
        (own.join("sitecustomize.py"), include_str!("../src/program/sitecustomize.py")),
        (others.join("sitecustomize.py"), "print('the other one')\n"),
        (others.join("cuda/__init__.py"), ""),
        (others.join("cuda/pathfinder/__init__.py"), pathfinder),
    ] {
        std::fs::write(file, text).expect("files of this test");
    }
    let program = "from cuda import pathfinder\nprint(pathfinder.load_nvidia_dynamic_lib('nvvm'))\n\
                   try: pathfinder.load_nvidia_dynamic_lib('nvJitLink')\n\
                   except pathfinder.DynamicLibNotFoundError: print('hidden')";
    let path = std::env::join_paths([&own, &others]).expect("paths without colons");
    let python = Command::new("python3").env("PYTHONPATH", path).args(["-B", "-c", program]).output();
    let Ok(Output { status, stdout, stderr }) = python else {
        println!("there is no Python on this machine");
        return;
    };
    let said = String::from_utf8_lossy(&stdout);
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    assert_eq!(said.lines().collect::<Vec<_>>(), ["the other one", "nvvm", "hidden"]);
}
