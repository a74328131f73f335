//! Destructors of variables that LLVM makes while it compiles.
//!
//! A variable within a function of C++ is made when the function is first called, and its destructor registered then, by
//! `__cxa_atexit`. The end of a process runs what was registered last first: such a destructor runs before anything that could
//! wait for the thread that still uses the variable. So the library gets a `__cxa_atexit` that registers nothing, in the table
//! that its calls go through. What it registered when it was loaded stays, and runs after the wait (`exit`). Memory of
//! a process that ends needs no destructor.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use object::elf;

use crate::memory::page;

/// `Elf64_Dyn`.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// `Elf64_Rela`.
#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// `Elf64_Sym`.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// Registers nothing, and says that it has.
extern "C" fn register_nothing(_: *mut c_void, _: *mut c_void, _: *mut c_void) -> c_int {
    0
}

/// A library that is searched for by an address in it, and what was changed in it.
struct Search {
    address: usize,
    changed: usize,
}

/// Lets the library that has this address register no destructors from now on. How many references were changed: none
/// where the library is not as expected.
pub(crate) fn forget(address: *const ()) -> usize {
    let mut search = Search {
        address: address as usize,
        changed: 0,
    };
    // SAFETY: the loader calls the function for each library, none of which goes away meanwhile, with our argument.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.changed
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: the loader hands over a description that is valid during the call, and the argument of `forget`.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
    let base = info.dlpi_addr as usize;
    // SAFETY: so many headers are there.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let range = |header: &libc::Elf64_Phdr| {
        let start = base.wrapping_add(header.p_vaddr as usize);
        start..start.wrapping_add(header.p_memsz as usize)
    };
    let mut segments = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    if !segments.any(|header| range(header).contains(&search.address)) {
        return 0;
    }
    let find = |kind: u32| headers.iter().find(|header| header.p_type == kind);
    let Some(dynamic) = find(libc::PT_DYNAMIC) else {
        return 1;
    };
    let protected = find(libc::PT_GNU_RELRO).map_or(0..0, range);
    // SAFETY: these are the headers of a library that is loaded.
    search.changed = unsafe { change(base, range(dynamic).start as *const Dynamic, protected) };
    1
}

/// Changes the references to `__cxa_atexit` in a library.
///
/// # Safety
/// The library is loaded at `base`, `dynamic` is its dynamic section, and `protected` what the loader has made read-only.
unsafe fn change(base: usize, dynamic: *const Dynamic, protected: std::ops::Range<usize>) -> usize {
    // SAFETY: the section ends with a null entry.
    let value = |tag: u32| unsafe {
        let mut entry = dynamic;
        while (*entry).tag != i64::from(elf::DT_NULL) {
            if (*entry).tag == i64::from(tag) {
                return Some((*entry).value as usize);
            }
            entry = entry.add(1);
        }
        None
    };
    // Some loaders put addresses into the section, some leave what the file has.
    let address = |tag: u32| value(tag).map(|found| if found < base { base + found } else { found });
    let (Some(symbols), Some(names)) = (address(elf::DT_SYMTAB), address(elf::DT_STRTAB)) else {
        return 0;
    };
    let table = |start: u32, bytes: u32, skip: usize| {
        let count = value(bytes).unwrap_or(0) / size_of::<Relocation>();
        let start = address(start).unwrap_or(0) as *const Relocation;
        (skip.min(count)..count).map(move |index| start.wrapping_add(index))
    };
    // Relative relocations, of which there are most, come first and name no symbol.
    let relative = value(elf::DT_RELACOUNT).unwrap_or(0);
    let calls = table(elf::DT_JMPREL, elf::DT_PLTRELSZ, 0);
    let mut changed = 0;
    for relocation in calls.chain(table(elf::DT_RELA, elf::DT_RELASZ, relative)) {
        // SAFETY: the tables have as many entries as the section says; symbols and names lie in the library.
        let (place, name) = unsafe {
            let Relocation { offset, info, addend } = &*relocation;
            if *addend != 0 || !refers(*info as u32) {
                continue;
            }
            let symbol = &*(symbols as *const Symbol).add((info >> 32) as usize);
            let name = CStr::from_ptr((names as *const c_char).add(symbol.name as usize));
            (base + *offset as usize, name)
        };
        if name != c"__cxa_atexit" {
            continue;
        }
        // SAFETY: the place holds the address of that function, as a word, and threads that call it meanwhile find either.
        changed += usize::from(unsafe { replace(place, &protected) });
    }
    changed
}

/// Whether a relocation is the address of a function in a table.
fn refers(kind: u32) -> bool {
    if cfg!(target_arch = "aarch64") {
        matches!(kind, elf::R_AARCH64_JUMP_SLOT | elf::R_AARCH64_GLOB_DAT)
    } else {
        matches!(kind, elf::R_X86_64_JUMP_SLOT | elf::R_X86_64_GLOB_DAT)
    }
}

/// Puts our function into a place. Whether the system lets us.
///
/// # Safety
/// The place is a word of the library's with the address of `__cxa_atexit`.
unsafe fn replace(place: usize, protected: &std::ops::Range<usize>) -> bool {
    let start = (place & !(page() - 1)) as *mut c_void;
    let is_protected = protected.contains(&place);
    // SAFETY: the page is the library's; it becomes what it was again.
    unsafe {
        if is_protected && libc::mprotect(start, page(), libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return false;
        }
        let word = AtomicPtr::from_ptr(place as *mut *mut c_void);
        word.store(register_nothing as *mut c_void, Ordering::SeqCst);
        if is_protected {
            libc::mprotect(start, page(), libc::PROT_READ);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::forget;

    #[test]
    fn llvm_calls_it_through_one_place() {
        let Some(library) = rumba_llvm::find::library() else {
            return;
        };
        let llvm = rumba_llvm::load(&library).unwrap();
        assert_eq!(forget(llvm.api().LLVMContextCreate as *const ()), 1);
        assert_eq!(forget(std::ptr::null()), 0);
    }
}
