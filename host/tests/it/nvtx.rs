//! Ranges reach a tool that asks for them as NVIDIA's do: a library of its own, named in the environment. This one counts.

use std::process::Command;
use test_processes::alone;

/// The tool: what NVTX's header calls an injection library.
const TOOL: &str = r#"
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

static DEPTH: AtomicI32 = AtomicI32::new(0);
static SEEN: AtomicI32 = AtomicI32::new(0);
static MARKS: AtomicI32 = AtomicI32::new(0);

unsafe extern "C" fn push(text: *const c_char) -> c_int {
    if unsafe { CStr::from_ptr(text) }.to_bytes().starts_with(b"phase") {
        SEEN.fetch_add(1, Relaxed);
    }
    DEPTH.fetch_add(1, Relaxed)
}
unsafe extern "C" fn pop() -> c_int { DEPTH.fetch_sub(1, Relaxed) }
unsafe extern "C" fn mark(_: *const c_char) { MARKS.fetch_add(1, Relaxed); }

#[unsafe(no_mangle)]
extern "C" fn counted() -> c_int { SEEN.load(Relaxed) * 100 + MARKS.load(Relaxed) * 10 + DEPTH.load(Relaxed) }

#[repr(C)]
struct Callbacks { size: usize, table: unsafe extern "C" fn(c_uint, *mut *mut *mut *mut c_void, *mut c_uint) -> c_int }

#[unsafe(no_mangle)]
unsafe extern "C" fn InitializeInjectionNvtx2(export: unsafe extern "C" fn(c_uint) -> *const c_void) -> c_int {
    let callbacks = unsafe { &*export(1).cast::<Callbacks>() };
    let (mut places, mut size) = (std::ptr::null_mut(), 0);
    if unsafe { (callbacks.table)(1, &mut places, &mut size) } != 1 || size < 12 { return 0; }
    unsafe {
        **places.add(2) = mark as *mut c_void;
        **places.add(9) = push as *mut c_void;
        **places.add(11) = pop as *mut c_void;
    }
    1
}
"#;

#[test]
fn a_tool_hears_of_ranges() {
    alone(&[], || {
        let folder = tempfile::tempdir().expect("a folder");
        let (source, library) = (folder.path().join("tool.rs"), folder.path().join("libtool.so"));
        std::fs::write(&source, TOOL).expect("as above");
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let built = Command::new(rustc)
            .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
            .args([&library, &source])
            .status();
        assert!(built.expect("tests are built with rustc").success());
        // SAFETY: the only test of this process, which asks the environment once, has no other thread yet that reads the environment.
        unsafe { std::env::set_var("NVTX_INJECTION64_PATH", &library) };

        let outer = rumba::nvtx::range("phase 1");
        drop(rumba::nvtx::range("phase 2"));
        rumba::nvtx::mark("here");
        // A name that C has no text for is no range for the tool.
        drop(rumba::nvtx::range("ze\0ro"));

        // SAFETY: the library is ours, and loaded already; the function has this signature.
        let counted = unsafe {
            let library = libloading::Library::new(&library).expect("it was built");
            let counted = library.get::<extern "C" fn() -> i32>(b"counted\0").expect("it has one");
            counted()
        };
        assert_eq!(counted, 211, "two ranges, a mark, one range open");
        drop(outer);
        Ok(())
    });
}
