//! Machine code that stands between a caller and a driver call whose signature it does not know.

/// Defines a function that saves everything that can hold an argument, asks `$ask` where the call in r11 leads and
/// continues there as if it had been called directly.
#[macro_export]
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
