//! The machine code behind every exported call: one jump through a slot.
//!
//! A slot first leads to the resolver, which keeps every argument register, chooses the device, fills all
//! slots and goes on to the call that was made. Later calls cost one predicted jump. The code never looks
//! at arguments, so it needs no signatures.

use std::ffi::c_void;

use rumba_interface::calls::NAMES;
use rumba_interface::detour;

/// Defines an exported call: a jump through its slot.
macro_rules! trampoline {
    ($name:ident) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                #[cfg(target_arch = "x86_64")]
                "jmp qword ptr [rip + {slots} + {offset}]",
                #[cfg(target_arch = "aarch64")]
                "adrp x16, {slots} + {offset}
                ldr x16, [x16, :lo12:{slots} + {offset}]
                br x16",
                slots = sym $crate::slots::SLOTS,
                offset = const rumba_interface::calls::Call::$name as usize * size_of::<usize>(),
            )
        }
    };
}
pub(crate) use trampoline;

/// The code of one stub.
pub(crate) type Stub = [u8; 16];

unsafe extern "C" {
    /// Where the slots lead until the device is chosen.
    #[link_name = "rumba_driver_first_calls"]
    pub(crate) static FIRST_CALLS: [Stub; NAMES.len()];
    /// Where the slots lead of calls that the chosen driver does not have.
    #[link_name = "rumba_driver_refusals"]
    pub(crate) static REFUSALS: [Stub; NAMES.len()];
    /// Where the slots lead while calls are watched.
    #[link_name = "rumba_driver_watched_calls"]
    pub(crate) static WATCHED_CALLS: [Stub; NAMES.len()];
}

/// The address of a stub.
pub(crate) const fn stub(table: *const [Stub; NAMES.len()], call: usize) -> *mut c_void {
    table.cast::<Stub>().wrapping_add(call).cast_mut().cast()
}

/// Defines a stub for each call, which says in `r11` or `x9` which call it is and goes on to `$to`. The assembler repeats them: as
/// functions of Rust they would take the compiler many seconds.
macro_rules! stubs {
    ($table:literal, $to:path) => {
        std::arch::global_asm!(
            ".pushsection .text",
            ".balign 16",
            concat!(".globl ", $table),
            concat!(".hidden ", $table),
            concat!($table, ":"),
            concat!(".set ", $table, "_number, 0"),
            ".rept {count}",
            #[cfg(target_arch = "x86_64")]
            concat!("mov r11d, offset ", $table, "_number"),
            #[cfg(target_arch = "x86_64")]
            "jmp {to}",
            #[cfg(target_arch = "aarch64")]
            concat!("movz w9, ", $table, "_number"),
            #[cfg(target_arch = "aarch64")]
            "b {to}",
            ".balign 16",
            concat!(".set ", $table, "_number, ", $table, "_number + 1"),
            ".endr",
            ".popsection",
            count = const NAMES.len(),
            to = sym $to,
        );
    };
}

stubs!("rumba_driver_first_calls", resolve);
stubs!("rumba_driver_refusals", refuse);
stubs!("rumba_driver_watched_calls", watch);

detour! {
    /// Chooses the device.
    resolve, crate::slots::resolve
}

detour! {
    /// Says why the call is refused, and goes on to what answers it.
    refuse, crate::refusal::refuse
}

detour! {
    /// Notes the call, and goes on to what answers it or to an error.
    watch, crate::fault::watched
}
