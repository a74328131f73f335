//! Relocations: places in code and data that depend on where things lie ("System V Application Binary Interface, AMD64 Architecture
//! Processor Supplement", 4.4; "ELF for the Arm 64-bit Architecture", 5.7).

use object::elf;

/// The kind of target that a relocation refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Through {
    /// The symbol itself.
    Symbol,
    /// A jump to the symbol where that may be too far away.
    Stub,
    /// A word that holds the symbol's address.
    Word,
}

/// How a place is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The address, in 8 bytes.
    Absolute64,
    /// The distance from the place.
    Relative32,
    Relative64,
    /// The distance in a branch of AArch64, in words: a field of some bits from a bit on.
    Branch {
        bits: u32,
        from: u32,
    },
    /// The distance in bytes, or in pages, in an `adr` or `adrp`.
    Adr,
    Page,
    /// The lowest bits of the address, in an `add`, a load or a store of `1 << scale` bytes.
    Low {
        scale: u32,
    },
}

/// A place that cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The place lies outside of its section.
    Outside,
    /// The symbol is too far away.
    Far,
}

/// The meaning of a relocation number on the processor of this process.
pub(crate) fn meaning(number: u32) -> Option<(Through, Form)> {
    if cfg!(target_arch = "x86_64") {
        x86_64(number)
    } else if cfg!(target_arch = "aarch64") {
        aarch64(number)
    } else {
        None
    }
}

fn x86_64(number: u32) -> Option<(Through, Form)> {
    Some(match number {
        elf::R_X86_64_64 => (Through::Symbol, Form::Absolute64),
        elf::R_X86_64_PC32 => (Through::Symbol, Form::Relative32),
        elf::R_X86_64_PC64 => (Through::Symbol, Form::Relative64),
        elf::R_X86_64_PLT32 => (Through::Stub, Form::Relative32),
        elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX => {
            (Through::Word, Form::Relative32)
        }
        _ => return None,
    })
}

fn aarch64(number: u32) -> Option<(Through, Form)> {
    let branch = |through, bits, from| (through, Form::Branch { bits, from });
    let low = |scale| (Through::Symbol, Form::Low { scale });
    Some(match number {
        elf::R_AARCH64_ABS64 => (Through::Symbol, Form::Absolute64),
        elf::R_AARCH64_PREL32 => (Through::Symbol, Form::Relative32),
        elf::R_AARCH64_PREL64 => (Through::Symbol, Form::Relative64),
        elf::R_AARCH64_ADR_PREL_LO21 => (Through::Symbol, Form::Adr),
        elf::R_AARCH64_ADR_PREL_PG_HI21 | elf::R_AARCH64_ADR_PREL_PG_HI21_NC => (Through::Symbol, Form::Page),
        elf::R_AARCH64_ADR_GOT_PAGE => (Through::Word, Form::Page),
        elf::R_AARCH64_LD64_GOT_LO12_NC => (Through::Word, Form::Low { scale: 3 }),
        elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26 => branch(Through::Stub, 26, 0),
        elf::R_AARCH64_CONDBR19 | elf::R_AARCH64_LD_PREL_LO19 => branch(Through::Symbol, 19, 5),
        elf::R_AARCH64_TSTBR14 => branch(Through::Symbol, 14, 5),
        elf::R_AARCH64_ADD_ABS_LO12_NC | elf::R_AARCH64_LDST8_ABS_LO12_NC => low(0),
        elf::R_AARCH64_LDST16_ABS_LO12_NC => low(1),
        elf::R_AARCH64_LDST32_ABS_LO12_NC => low(2),
        elf::R_AARCH64_LDST64_ABS_LO12_NC => low(3),
        elf::R_AARCH64_LDST128_ABS_LO12_NC => low(4),
        _ => return None,
    })
}

impl Form {
    /// Changes the bytes at `at`, whose address is `place`, so that they refer to `target`.
    pub(crate) fn apply(self, bytes: &mut [u8], at: usize, place: u64, target: u64) -> Result<(), Problem> {
        let distance = target.wrapping_sub(place).cast_signed();
        match self {
            Self::Absolute64 => put(bytes, at, target.to_le_bytes()),
            Self::Relative64 => put(bytes, at, distance.to_le_bytes()),
            Self::Relative32 => {
                let distance = i32::try_from(distance).map_err(|_| Problem::Far)?;
                put(bytes, at, distance.to_le_bytes())
            }
            Self::Branch { bits, from } => {
                let words = reach(distance >> 2, bits)?;
                insert(bytes, at, &[(words, bits, from)])
            }
            Self::Adr => {
                let distance = reach(distance, 21)?;
                insert(bytes, at, &[(distance & 3, 2, 29), (distance >> 2, 19, 5)])
            }
            Self::Page => {
                let pages = (target >> 12).wrapping_sub(place >> 12).cast_signed() << 12 >> 12;
                let pages = reach(pages, 21)?;
                insert(bytes, at, &[(pages & 3, 2, 29), (pages >> 2, 19, 5)])
            }
            Self::Low { scale } => insert(bytes, at, &[((target & 0xfff) as u32 >> scale, 12, 10)]),
        }
    }
}

/// A signed number in `bits` bits.
fn reach(number: i64, bits: u32) -> Result<u32, Problem> {
    let limit = 1_i64 << (bits - 1);
    if (-limit..limit).contains(&number) { Ok((number & ((1 << bits) - 1)) as u32) } else { Err(Problem::Far) }
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) -> Result<(), Problem> {
    let end = at.checked_add(N).ok_or(Problem::Outside)?;
    bytes.get_mut(at..end).ok_or(Problem::Outside)?.copy_from_slice(&value);
    Ok(())
}

/// Replaces fields of an instruction of AArch64: each a value, its bits, and the bit it begins at.
fn insert(bytes: &mut [u8], at: usize, fields: &[(u32, u32, u32)]) -> Result<(), Problem> {
    let end = at.checked_add(4).ok_or(Problem::Outside)?;
    let place = bytes.get_mut(at..end).ok_or(Problem::Outside)?;
    let mut word = u32::from_le_bytes(place.try_into().map_err(|_| Problem::Outside)?);
    for (value, bits, from) in fields {
        let mask = ((1_u32 << bits) - 1) << from;
        word = word & !mask | value << from & mask;
    }
    place.copy_from_slice(&word.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Form, Problem, Through, aarch64, elf};

    /// Checks the relocation of an AArch64 instruction against the output of GNU's assembler and linker.
    #[track_caller]
    fn check(number: u32, word: u32, place: u64, target: u64, expected: u32) {
        let mut bytes = word.to_le_bytes();
        let (_, form) = aarch64(number).unwrap();
        form.apply(&mut bytes, 0, place, target).unwrap();
        assert_eq!(u32::from_le_bytes(bytes), expected, "{:08x}", u32::from_le_bytes(bytes));
    }

    #[test]
    fn instructions_of_aarch64() {
        // bl; b.eq; tbz x0, #0; adr x0; adrp x0; add x0, x0, #lo12; ldr x0, [x0, #lo12]; ldr q0, [x0, #lo12]
        check(elf::R_AARCH64_CALL26, 0x9400_0000, 0x1_0000, 0x1_0100, 0x9400_0040);
        check(elf::R_AARCH64_CALL26, 0x9400_0000, 0x1_0000, 0xff00, 0x97ff_ffc0);
        check(elf::R_AARCH64_CONDBR19, 0x5400_0000, 0x1000, 0x1008, 0x5400_0040);
        check(elf::R_AARCH64_TSTBR14, 0x3600_0000, 0x1000, 0x0ffc, 0x3607_ffe0);
        check(elf::R_AARCH64_ADR_PREL_LO21, 0x1000_0000, 0x1000, 0x1005, 0x3000_0020);
        check(elf::R_AARCH64_ADR_PREL_PG_HI21, 0x9000_0000, 0x40_0ffc, 0x41_1234, 0xb000_0080);
        check(elf::R_AARCH64_ADR_PREL_PG_HI21, 0x9000_0000, 0x40_1000, 0x40_0ff8, 0xf0ff_ffe0);
        check(elf::R_AARCH64_ADD_ABS_LO12_NC, 0x9100_0000, 0, 0x41_1234, 0x9108_d000);
        check(elf::R_AARCH64_LDST64_ABS_LO12_NC, 0xf940_0000, 0, 0x41_1238, 0xf941_1c00);
        check(elf::R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc0_0000, 0, 0x41_1230, 0x3dc0_8c00);
    }

    #[test]
    fn what_is_too_far_is_told() {
        let mut bytes = [0; 8];
        let far = 1 << 40;
        assert_eq!(Form::Relative32.apply(&mut bytes, 0, 0, far), Err(Problem::Far));
        assert_eq!(Form::Page.apply(&mut bytes, 0, 0, far), Err(Problem::Far));
        assert_eq!(Form::Branch { bits: 26, from: 0 }.apply(&mut bytes, 0, 0, far), Err(Problem::Far));
        assert_eq!(Form::Absolute64.apply(&mut bytes, 1, 0, far), Err(Problem::Outside));
        assert_eq!(Form::Absolute64.apply(&mut bytes, 0, 0, far), Ok(()));
        assert_eq!(aarch64(elf::R_AARCH64_CALL26).unwrap().0, Through::Stub);
    }
}
