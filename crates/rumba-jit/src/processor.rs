//! The identity of this process's processor, to distinguish it from processors of other machines with the same home
//! directory.
//!
//! LLVM's own names of a processor and its features need LLVM; they are functions of the numbers used here.

/// Numbers that determine which code the processor can run, and for which it is best.
#[cfg(target_arch = "x86_64")]
pub(crate) fn identity() -> Vec<u64> {
    use std::arch::asm;
    use std::arch::x86_64::__cpuid_count;

    /// Leaves and subleaves with features (Intel's manual, volume 2A, CPUID; AMD's, volume 3, appendix E).
    const FEATURES: &[(u32, u32)] = &[(7, 0), (7, 1), (0xd, 1), (0x14, 0), (0x19, 0), (0x1e, 1), (0x24, 0)];
    const EXTENDED: &[(u32, u32)] = &[(0x8000_0001, 0), (0x8000_0008, 0), (0x8000_0021, 0)];

    let mut all = Vec::new();
    let vendor = __cpuid_count(0, 0);
    all.extend([vendor.ebx, vendor.ecx, vendor.edx].map(u64::from));
    // EBX of this leaf is of the core that executes it.
    let first = __cpuid_count(1, 0);
    all.extend([first.eax, first.ecx, first.edx].map(u64::from));
    let last_extended = __cpuid_count(0x8000_0000, 0).eax;
    let extended = EXTENDED.iter().filter(|(leaf, _)| *leaf <= last_extended);
    for (leaf, subleaf) in FEATURES.iter().filter(|(leaf, _)| *leaf <= vendor.eax).chain(extended) {
        let answer = __cpuid_count(*leaf, *subleaf);
        // EBX and ECX of leaf 0xd change with what the system has turned on, which XCR0 tells.
        let answer = match leaf {
            0xd => [answer.eax, 0, 0, 0],
            _ => [answer.eax, answer.ebx, answer.ecx, answer.edx],
        };
        all.extend(answer.map(u64::from));
    }
    const OSXSAVE: u32 = 1 << 27;
    if first.ecx & OSXSAVE != 0 {
        let (low, high): (u32, u32);
        // SAFETY: the system has enabled the instruction, which reads a register.
        unsafe {
            asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack, preserves_flags));
        };
        all.push(u64::from(high) << 32 | u64::from(low));
    }
    all
}

/// Numbers that determine which code the processor can run, and for which it is best.
#[cfg(target_arch = "aarch64")]
pub(crate) fn identity() -> Vec<u64> {
    const HWCAP3: libc::c_ulong = 29;
    let model =
        std::fs::read_to_string("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1").unwrap_or_default();
    let model = u64::from_str_radix(model.trim().trim_start_matches("0x"), 16).unwrap_or(0);
    // SAFETY: the calls read values that the kernel passed to the process; those it did not pass are zero.
    let features = unsafe { [libc::AT_HWCAP, libc::AT_HWCAP2, HWCAP3].map(|word| libc::getauxval(word)) };
    std::iter::once(model).chain(features).collect()
}

/// No code is compiled for other processors.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn identity() -> Vec<u64> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_core_answers_the_same() {
        let first = super::identity();
        assert!(first.len() > 3);
        for _ in 0..64 {
            let other = std::thread::spawn(super::identity).join().unwrap();
            assert_eq!(other, first);
        }
    }
}
