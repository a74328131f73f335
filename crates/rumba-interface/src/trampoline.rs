//! Machine code that stands between a caller and a driver call whose signature it does not know, for x86-64 (System V ABI) and
//! AArch64 (AAPCS64). It keeps what can hold an argument, and uses what no caller expects to be kept: `r11`, or `x9` and `x16`.

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux")))]
compile_error!(
    "Rumba's driver runs on Linux, on x86-64 and AArch64: its calls are jumps written for these machines \
     (crates/rumba-interface/src/trampoline.rs), and another one needs its own"
);

/// Defines a function that saves everything that can hold an argument, asks `$ask` where the call in `r11` or `x9` leads and
/// continues there as if it had been called directly.
#[macro_export]
macro_rules! detour {
    ($(#[$doc:meta])* $name:ident, $ask:path) => {
        $(#[$doc])*
        #[unsafe(naked)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                #[cfg(target_arch = "x86_64")]
                "push rbp
                mov rbp, rsp
                push rdi
                push rsi
                push rdx
                push rcx
                push r8
                push r9
                push rax
                push rbx // keeps the stack 16-byte aligned for the call
                sub rsp, 128
                movups [rsp], xmm0
                movups [rsp + 16], xmm1
                movups [rsp + 32], xmm2
                movups [rsp + 48], xmm3
                movups [rsp + 64], xmm4
                movups [rsp + 80], xmm5
                movups [rsp + 96], xmm6
                movups [rsp + 112], xmm7
                mov edi, r11d
                call {ask}
                mov r11, rax
                movups xmm7, [rsp + 112]
                movups xmm6, [rsp + 96]
                movups xmm5, [rsp + 80]
                movups xmm4, [rsp + 64]
                movups xmm3, [rsp + 48]
                movups xmm2, [rsp + 32]
                movups xmm1, [rsp + 16]
                movups xmm0, [rsp]
                add rsp, 128
                pop rbx
                pop rax
                pop r9
                pop r8
                pop rcx
                pop rdx
                pop rsi
                pop rdi
                pop rbp
                jmp r11",
                #[cfg(target_arch = "aarch64")]
                "stp x29, x30, [sp, #-224]!
                mov x29, sp
                stp x0, x1, [sp, #16]
                stp x2, x3, [sp, #32]
                stp x4, x5, [sp, #48]
                stp x6, x7, [sp, #64]
                str x8, [sp, #80]
                stp q0, q1, [sp, #96]
                stp q2, q3, [sp, #128]
                stp q4, q5, [sp, #160]
                stp q6, q7, [sp, #192]
                mov w0, w9
                bl {ask}
                mov x16, x0
                ldp q6, q7, [sp, #192]
                ldp q4, q5, [sp, #160]
                ldp q2, q3, [sp, #128]
                ldp q0, q1, [sp, #96]
                ldr x8, [sp, #80]
                ldp x6, x7, [sp, #64]
                ldp x4, x5, [sp, #48]
                ldp x2, x3, [sp, #32]
                ldp x0, x1, [sp, #16]
                ldp x29, x30, [sp], #224
                br x16",
                ask = sym $ask,
            )
        }
    };
}

/// The body of a naked function that continues at a detour with the number of a call.
#[macro_export]
macro_rules! with_call {
    ($call:expr, $detour:path) => {
        std::arch::naked_asm!(
            #[cfg(target_arch = "x86_64")]
            "mov r11d, {call}
            jmp {detour}",
            #[cfg(target_arch = "aarch64")]
            "movz w9, {call}
            b {detour}",
            call = const $call,
            detour = sym $detour,
        )
    };
}
