//! Assembly becomes functions, in the calling thread and in the background, from LLVM and from disk.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rumba_jit::{Cache, Code, Jit, JitError, LinkError, Settings, Source};
use rumba_llvm::{Level, Llvm, Pipeline};

/// A function of the code by its type.
macro_rules! function {
    ($code:expr, $name:literal, $($type:tt)*) => {
        // SAFETY: the assembly beside it defines the function with this type.
        unsafe { std::mem::transmute::<*mut std::ffi::c_void, $($type)*>($code.symbol($name).unwrap().as_ptr()) }
    };
}

mod ending;
mod foreign;

const PASSES: Pipeline<'static> = Pipeline::new(c"default<O2>");

/// LLVM of the toolchain that compiles these tests, if it is for the processor that runs them.
fn llvm() -> Option<&'static Llvm> {
    let library = rumba_llvm::find::library();
    assert!(library.is_some() || cfg!(not(target_arch = "x86_64")), "a toolchain has a libLLVM");
    Some(rumba_llvm::load(&library?).unwrap())
}

/// Code of a text; nothing where there is no LLVM.
fn code(text: &str) -> Option<Result<Code, LinkError>> {
    Some(Code::load(&rumba_jit::object(llvm()?, text, &PASSES, Level::O3).unwrap()))
}

const ADD: &str = "
define void @add(ptr %a, ptr %b, ptr %c) {
  %x = load <32 x float>, ptr %a, align 4
  %y = load <32 x float>, ptr %b, align 4
  %z = fadd <32 x float> %x, %y
  store <32 x float> %z, ptr %c, align 4
  ret void
}";

type Add = unsafe extern "C" fn(*const f32, *const f32, *mut f32);

#[track_caller]
fn check_add(code: &Code) {
    let add = function!(code, "add", Add);
    let (a, b): (Vec<f32>, Vec<f32>) = (0..32).map(|lane| (lane as f32, 0.5 * lane as f32)).unzip();
    let mut c = [0.0; 32];
    // SAFETY: the function reads and writes 32 numbers each.
    unsafe { add(a.as_ptr(), b.as_ptr(), c.as_mut_ptr()) };
    assert!((0..32).all(|lane| c[lane] == 1.5 * lane as f32), "{c:?}");
}

#[test]
fn vectors_of_32() {
    let Some(code) = code(ADD) else { return };
    let code = code.unwrap();
    check_add(&code);
    assert!(code.symbol("sub").is_none());
    let text = rumba_jit::assembly(llvm().unwrap(), ADD, &PASSES).unwrap();
    assert!(text.contains("add:"), "{text}");
}

#[test]
fn constants_tables_and_variables() {
    // A switch by a table, constants of 64 bytes, a variable that is zero, one that is not, a pointer to one, and calls
    // between functions.
    let cases: String = (0..12).map(|case| format!("i32 {case}, label %c{case} ")).collect();
    let bodies: String = (0..12)
        .map(|case| format!("c{case}:\n %r{case} = call i32 @leaf(i32 {})\n br label %end\n", case * case + 3))
        .collect();
    let phi: Vec<String> = (0..12).map(|case| format!("[%r{case}, %c{case}]")).collect();
    let text = format!(
        "@zero = internal global i32 0\n@seven = internal global i32 7\n@where = internal global ptr @seven\n\
         @table = internal constant [4 x i64] [i64 5, i64 6, i64 7, i64 8]\n\
         declare void @llvm.assume(i1)\n\
         define internal i32 @leaf(i32 %x) noinline {{\n %o = load i32, ptr @zero\n %n = add i32 %o, 1\n \
         store volatile i32 %n, ptr @zero\n %y = mul i32 %x, 3\n ret i32 %y\n}}\n\
         define i32 @choose(i32 %n) {{\n switch i32 %n, label %other [ {cases} ]\nother:\n ret i32 -1\n{bodies}\
         end:\n %r = phi i32 {}\n ret i32 %r\n}}\n\
         define i32 @count() {{\n %n = load volatile i32, ptr @zero\n ret i32 %n\n}}\n\
         define i32 @deref() {{\n %p = load volatile ptr, ptr @where\n %n = load i32, ptr %p\n ret i32 %n\n}}\n\
         define i64 @entry(i64 %n) {{\n %p = getelementptr i64, ptr @table, i64 %n\n %v = load i64, ptr %p\n ret i64 %v\n}}\n\
         define void @scale(ptr %p) {{\n %x = load <16 x float>, ptr %p, align 4\n %y = fmul <16 x float> %x, <{}>\n \
         store <16 x float> %y, ptr %p, align 4\n ret void\n}}\n",
        phi.join(", "),
        (0..16).map(|lane| format!("float {lane}.0")).collect::<Vec<_>>().join(", "),
    );
    let Some(code) = code(&text) else { return };
    let code = code.unwrap();
    let choose = function!(code, "choose", extern "C" fn(i32) -> i32);
    for case in 0..12 {
        assert_eq!(choose(case), 3 * (case * case + 3));
    }
    assert_eq!(choose(12), -1);
    assert_eq!(function!(code, "count", extern "C" fn() -> i32)(), 12);
    assert_eq!(function!(code, "deref", extern "C" fn() -> i32)(), 7);
    assert_eq!(function!(code, "entry", extern "C" fn(i64) -> i64)(2), 7);
    let mut numbers = [2.0_f32; 16];
    function!(code, "scale", extern "C" fn(*mut f32))(numbers.as_mut_ptr());
    assert!((0..16).all(|lane| numbers[lane] == 2.0 * lane as f32));
}

#[test]
fn a_frame_that_is_too_large_is_refused() {
    let text = |bytes: usize| {
        format!(
            "declare ptr @memset(ptr, i32, i64)\n\
             define ptr @f() \"warn-stack-size\"=\"4096\" {{\n %a = alloca [{bytes} x i8]\n \
             %b = call ptr @memset(ptr %a, i32 1, i64 8)\n ret ptr %b\n}}\n"
        )
    };
    let Some(llvm) = llvm() else { return };
    assert!(rumba_jit::object(llvm, &text(1024), &PASSES, Level::O3).is_ok());
    let error = rumba_jit::object(llvm, &text(8192), &PASSES, Level::O3).unwrap_err().to_string();
    assert!(error.contains("exceeds limit (4096) in function 'f'"), "{error}");
}

#[test]
fn what_llvm_calls_by_itself() {
    let text = "
define void @copy(ptr %to, ptr %from, i64 %bytes) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  ret void
}
define double @remainder(double %a, double %b) {
  %r = frem double %a, %b
  ret double %r
}
@held = global ptr @memset
define i1 @is_held(ptr %p) {
  %h = load ptr, ptr @held
  %e = icmp eq ptr %h, @memset
  ret i1 %e
}
declare ptr @memset(ptr, i32, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)";
    let Some(code) = code(text) else { return };
    let code = code.unwrap();
    let (from, mut to) = ([7_u8; 100], [0_u8; 100]);
    function!(code, "copy", extern "C" fn(*mut u8, *const u8, u64))(to.as_mut_ptr(), from.as_ptr(), 99);
    assert_eq!((to[98], to[99]), (7, 0));
    assert_eq!(function!(code, "remainder", extern "C" fn(f64, f64) -> f64)(7.5, 2.0), 1.5);
    assert!(function!(code, "is_held", extern "C" fn() -> bool)());
}

#[test]
fn other_calls_are_refused_by_name() {
    let text = "declare void @system(ptr)\ndefine void @f(ptr %p) {\n call void @system(ptr %p)\n ret void\n}";
    let Some(linked) = code(text) else { return };
    assert!(matches!(linked, Err(LinkError::Undefined(name)) if name == "system"));
    let text = "@own = thread_local global i32 1\ndefine i32 @f() {\n %a = load i32, ptr @own\n ret i32 %a\n}";
    let linked = code(text).unwrap();
    assert!(matches!(linked, Err(LinkError::Unsupported(_) | LinkError::Undefined(_))));
}

#[test]
fn damaged_objects_are_refused_or_linked() {
    let Some(llvm) = llvm() else { return };
    let object = rumba_jit::object(llvm, ADD, &PASSES, Level::O3).unwrap();
    for length in (0..object.len()).step_by(7) {
        assert!(Code::load(&object[..length]).is_err(), "{length}");
    }
    // Nothing is run; whatever is linked stays within its memory.
    let mut refused = 0;
    for index in 0..object.len() {
        for bit in [0, 3, 7] {
            let mut changed = object.clone();
            changed[index] ^= 1 << bit;
            refused += usize::from(Code::load(&changed).is_err());
        }
    }
    assert!(refused > 0);
    let mut other = object;
    other[18] = 8;
    assert!(matches!(Code::load(&other), Err(LinkError::Processor)));
}

/// The log of the compilers. The process has one log: tests that read it run one at a time.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
static TURN: Mutex<()> = Mutex::new(());

fn log(message: fmt::Arguments<'_>) {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).push(message.to_string());
}

fn said() -> String {
    std::mem::take(&mut *SAID.lock().unwrap_or_else(PoisonError::into_inner)).join("\n")
}

fn jit(folder: &Path) -> Jit {
    Jit::new(settings(folder))
}

fn settings(folder: &Path) -> Settings {
    Settings {
        library: rumba_llvm::find::library,
        cache: Some(Cache::new(folder.join("cache"))),
        build: "test".to_owned(),
        pipeline: PASSES,
        level: Level::O3,
        log,
    }
}

/// The code of [`ADD`], if it was compiled.
fn found(jit: &Jit) -> Option<Arc<Code>> {
    Some(jit.find("add", ADD.as_bytes())?.code)
}

#[test]
fn what_was_compiled_is_found_in_memory_and_on_disk() {
    let Some(_) = llvm() else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let first = jit(folder.path());
    said();
    assert!(first.find("add", ADD.as_bytes()).is_none());
    let code = first.compile_now(&Source::of_text("add", ADD)).unwrap();
    check_add(&code);
    assert!(said().starts_with("kernel `add`: compiled in "));
    assert!(Arc::ptr_eq(&code, &found(&first).unwrap()));
    assert_eq!(said(), "");
    // Another process, which has no LLVM any more; its own library is part of the key.
    let second = jit(folder.path());
    check_add(&found(&second).unwrap());
    assert_eq!(said(), "kernel `add`: compiled code from the cache");
    // Of another build, of other passes, of another text, with another library: not the same.
    let differs = |change: fn(&mut Settings), text: &str| {
        let mut settings = settings(folder.path());
        change(&mut settings);
        Jit::new(settings).find("add", text.as_bytes()).is_none()
    };
    assert!(!differs(|_| {}, ADD));
    assert!(differs(|settings| settings.build.push('2'), ADD));
    assert!(differs(|settings| settings.pipeline.widens_loops = false, ADD));
    assert!(differs(|settings| settings.library = || Some("/other/libLLVM.so.22".into()), ADD));
    assert!(differs(|_| {}, &format!("{ADD}\n")));
}

#[test]
fn a_record_is_found_with_its_code() {
    let Some(_) = llvm() else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let source =
        Source { name: "add".to_owned(), key: b"key".to_vec(), record: b"record".to_vec(), text: ADD.to_owned() };
    let first = jit(folder.path());
    assert!(first.find("add", b"key").is_none());
    let code = first.compile_now(&source).unwrap();
    for jit in [&first, &jit(folder.path())] {
        let found = jit.find("add", b"key").unwrap();
        assert_eq!(found.record, b"record");
        check_add(&found.code);
    }
    // The key stands for the text, unless the record is another.
    let other = Source { text: format!("{ADD}\n"), ..source };
    assert!(Arc::ptr_eq(&code, &first.compile_now(&other).unwrap()));
    let replaced = first.compile_now(&Source { record: Vec::new(), ..other }).unwrap();
    assert!(!Arc::ptr_eq(&code, &replaced));
    for jit in [&first, &jit(folder.path())] {
        assert_eq!(jit.find("add", b"key").unwrap().record, b"");
    }
}

#[test]
fn a_damaged_file_is_compiled_again() {
    let Some(_) = llvm() else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    jit(folder.path()).compile_now(&Source::of_text("add", ADD)).unwrap();
    let file = std::fs::read_dir(folder.path().join("cache")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    said();
    check_add(&jit(folder.path()).compile_now(&Source::of_text("add", ADD)).unwrap());
    assert!(said().starts_with("kernel `add`: compiled in "));
    assert!(found(&jit(folder.path())).is_some());
}

#[test]
fn the_background_hands_over_what_comes() {
    let Some(_) = llvm() else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let jit = jit(folder.path());
    let (sender, results) = channel();
    for (number, text) in [ADD, "define void @f() {", ADD].into_iter().enumerate() {
        let sender = sender.clone();
        let source = Source::of_text(&format!("kernel{number}"), text);
        jit.compile(source, Box::new(move |result| sender.send((number, result)).unwrap()));
    }
    let wait = Duration::from_secs(60);
    for expected in 0..3 {
        let (number, result) = results.recv_timeout(wait).unwrap();
        assert_eq!(number, expected);
        match result {
            Ok(code) => check_add(&code),
            Err(error) => {
                assert_eq!(number, 1);
                assert!(matches!(&error, JitError::Llvm(_)), "{error}");
            }
        }
    }
}

#[test]
fn without_llvm_only_what_is_kept_is_found() {
    let Some(_) = llvm() else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let with = |library: fn() -> Option<PathBuf>| Jit::new(Settings { library, ..settings(folder.path()) });
    said();
    assert!(matches!(with(|| None).compile_now(&Source::of_text("add", ADD)), Err(JitError::NoLlvm)));
    assert_eq!(said(), "kernel `add`: interpreted: there is no libLLVM on this machine");
    let error =
        with(|| Some("/nonexistent/libLLVM.so.22".into())).compile_now(&Source::of_text("add", ADD)).unwrap_err();
    assert!(matches!(&error, JitError::Load { .. }));
    assert!(error.to_string().contains("No such file"), "{error}");
}

#[test]
fn long_texts_are_not_compiled() {
    let Some(_) = llvm() else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let with = |comments: usize| format!("{ADD}\n{}", "; a comment\n".repeat(comments));
    said();
    assert!(jit(folder.path()).compile_now(&Source::of_text("add", &with(1000))).is_ok());
    let error = jit(folder.path()).compile_now(&Source::of_text("add", &with(300_000))).unwrap_err();
    assert!(matches!(error, JitError::Long { .. }));
    let said = said();
    assert!(said.contains("kernel `add`: interpreted: its code in LLVM's assembly has 3515 KiB"), "{said}");
}

#[test]
fn a_cache_that_cannot_be_used_is_told_once() {
    let Some(_) = llvm() else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cache");
    std::fs::write(&file, b"").unwrap();
    said();
    let jit = jit(folder.path());
    check_add(&jit.compile_now(&Source::of_text("add", ADD)).unwrap());
    check_add(&jit.compile_now(&Source::of_text("add", ADD)).unwrap());
    let said = said();
    assert_eq!(said.matches("is no folder").count(), 1, "{said}");
}
