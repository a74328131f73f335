//! The machine code behind every exported call: one jump through a slot.
//!
//! A slot first leads to the resolver, which keeps every argument register, chooses the device, fills all
//! slots and goes on to the call that was made. Later calls cost one predicted jump. The code never looks
//! at arguments, so it needs no signatures.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!(
    "rumba-driver runs on x86-64 Linux: its exported calls are jumps written for that machine \
     (crates/rumba-driver/src/trampoline.rs), and another one needs its own"
);

/// Defines an exported call: a jump through its slot.
macro_rules! trampoline {
    ($name:ident) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                "jmp qword ptr [rip + {slots} + {offset}]",
                slots = sym $crate::calls::SLOTS,
                offset = const $crate::calls::Call::$name as usize * size_of::<usize>(),
            )
        }
    };
}
pub(crate) use trampoline;

/// Where a slot leads until the device is chosen: tells the resolver which call was made.
#[unsafe(naked)]
pub(crate) extern "C" fn first_call<const CALL: usize>() {
    std::arch::naked_asm!(
        "mov r11d, {call}",
        "jmp {resolve}",
        call = const CALL,
        resolve = sym resolve,
    )
}

/// Where a slot of a `_ptds` or `_ptsz` form leads on the software device: notes which default stream is meant and goes
/// on to the call that all forms share.
#[unsafe(naked)]
pub(crate) extern "C" fn per_thread<const CALL: usize>() {
    std::arch::naked_asm!(
        "mov r11d, {call}",
        "jmp {note}",
        call = const CALL,
        note = sym note_per_thread,
    )
}

/// Defines a function that saves everything that can hold an argument, asks `$ask` where the call in r11 leads and
/// continues there as if it had been called directly.
macro_rules! detour {
    ($(#[$doc:meta])* $name:ident, $ask:path) => {
        $(#[$doc])*
        #[unsafe(naked)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                "push rbp",
                "mov rbp, rsp",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                "push rbx", // keeps the stack 16-byte aligned for the call
                "sub rsp, 128",
                "movups [rsp], xmm0",
                "movups [rsp + 16], xmm1",
                "movups [rsp + 32], xmm2",
                "movups [rsp + 48], xmm3",
                "movups [rsp + 64], xmm4",
                "movups [rsp + 80], xmm5",
                "movups [rsp + 96], xmm6",
                "movups [rsp + 112], xmm7",
                "mov edi, r11d",
                "call {ask}",
                "mov r11, rax",
                "movups xmm7, [rsp + 112]",
                "movups xmm6, [rsp + 96]",
                "movups xmm5, [rsp + 80]",
                "movups xmm4, [rsp + 64]",
                "movups xmm3, [rsp + 48]",
                "movups xmm2, [rsp + 32]",
                "movups xmm1, [rsp + 16]",
                "movups xmm0, [rsp]",
                "add rsp, 128",
                "pop rbx",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "pop rbp",
                "jmp r11",
                ask = sym $ask,
            )
        }
    };
}

detour! {
    /// Chooses the device.
    resolve, crate::calls::resolve
}

detour! {
    /// Notes the default stream.
    note_per_thread, crate::calls::note_per_thread
}
