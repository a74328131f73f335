//! Module images: what a caller hands to `cuModuleLoadData`, told apart by its first bytes.
//!
//! An image comes without a length. PTX is text that ends with NUL; a fat binary states its size; what
//! `cuLinkComplete` gives out is a container of our own, since there is no machine code to give. Machine
//! code (a cubin) is recognised and refused.

use std::cmp::Reverse;
use std::ffi::{CStr, c_void};

use rumba_ptx::{Directive, Target, skip_blank};

use crate::error::Error;
use crate::table;

/// One PTX text and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) ptx: String,
    /// The most registers that its kernels may use, where the caller asked for a bound (`CU_JIT_MAX_REGISTERS`).
    pub(crate) max_registers: Option<u32>,
}

/// The newest major version of PTX that is read.
const NEWEST_PTX_MAJOR: u32 = 9;

const ELF: [u8; 4] = *b"\x7fELF";
const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
const FATBIN_WRAPPER: [u8; 4] = 0x4662_43b1_u32.to_le_bytes();
const LINKED: [u8; 4] = *b"RUMB";

/// Reads the image at `image`.
///
/// # Safety
///
/// `image` points to a complete module image: NUL-terminated text, or a binary of the size that its header
/// states.
pub(crate) unsafe fn read(image: *const c_void, name: &str) -> Result<Vec<Source>, Error> {
    let image = image.cast::<u8>();
    // SAFETY: an image has a first byte, and a fourth one unless a NUL ended it before.
    match unsafe { first_bytes(image) } {
        Some(ELF) => {
            // SAFETY: an ELF file has a header, in which e_machine is at 18.
            let machine = unsafe { [image.add(18).read(), image.add(19).read()] };
            Err(elf(machine))
        }
        Some(FATBIN_WRAPPER) => {
            // SAFETY: the wrapper is two 32-bit words and the pointer to the fat binary.
            let data = unsafe { image.add(8).cast::<*const u8>().read_unaligned() };
            if data.is_null() {
                return Err(Error::Image("its fat binary is a null pointer".into()));
            }
            // SAFETY: as for the image itself.
            unsafe { read_sized(data, name) }
        }
        // SAFETY: as promised by the caller.
        Some(FATBIN | LINKED) => unsafe { read_sized(image, name) },
        // SAFETY: whatever is none of the binary forms has to be text.
        _ => text(unsafe { CStr::from_ptr(image.cast()) }.to_bytes(), name),
    }
}

/// Reads an image of known size.
pub(crate) fn read_bytes(image: &[u8], name: &str) -> Result<Vec<Source>, Error> {
    match image.first_chunk() {
        Some(&ELF) => Err(elf([*image.get(18).unwrap_or(&0), *image.get(19).unwrap_or(&0)])),
        Some(&FATBIN) => fat_binary(image, name),
        Some(&LINKED) => unlink(image),
        _ => {
            let end = image.iter().position(|byte| *byte == 0).unwrap_or(image.len());
            text(&image[..end], name)
        }
    }
}

/// The first four bytes of an image that may be a shorter text.
unsafe fn first_bytes(image: *const u8) -> Option<[u8; 4]> {
    let mut bytes = [0; 4];
    for (offset, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: no byte before this one was NUL, so the image goes on.
        *byte = unsafe { image.add(offset).read() };
        if *byte == 0 {
            return None;
        }
    }
    Some(bytes)
}

/// Reads an image that states its size: both forms have it as 8 bytes at 8, counted after 16 bytes.
unsafe fn read_sized(image: *const u8, name: &str) -> Result<Vec<Source>, Error> {
    // SAFETY: the header of either form is 16 bytes long.
    let size = unsafe { image.add(8).cast::<u64>().read_unaligned() };
    let size = usize::try_from(size)
        .ok()
        .and_then(|size| size.checked_add(16))
        .filter(|size| isize::try_from(*size).is_ok())
        .ok_or_else(|| Error::Image(format!("its header states {size} bytes")))?;
    // SAFETY: the header states the size of what follows.
    read_bytes(unsafe { std::slice::from_raw_parts(image, size) }, name)
}

/// PTX as text: `.version` is its first directive, by the PTX manual (11.1.1).
fn text(bytes: &[u8], name: &str) -> Result<Vec<Source>, Error> {
    let Ok(ptx) = std::str::from_utf8(bytes) else {
        return Err(Error::Image("it starts like no known format and is not text".into()));
    };
    let Some(version) = skip_blank(ptx).strip_prefix(".version") else {
        let start: String = ptx.chars().take(40).collect();
        return Err(Error::Image(format!("PTX begins with `.version`, this text with {start:?}")));
    };
    let version = version.split_whitespace().next().unwrap_or_default();
    let major = version.split('.').next().unwrap_or_default();
    if major.parse::<u32>().is_ok_and(|major| major > NEWEST_PTX_MAJOR) {
        return Err(Error::PtxVersion(version.to_owned()));
    }
    let device = table::multiprocessor().capability;
    if let Some((log, newer)) = foreign_target(ptx, device) {
        let report = match newer {
            Some(wanted) => format!("{log}\n{}", Error::Newer { wanted, device }),
            None => log.clone(),
        };
        return Err(Error::Ptx { log, report });
    }
    Ok(vec![Source { name: name.to_owned(), ptx: ptx.to_owned(), max_registers: None }])
}

/// Architectures that NVIDIA's assembler knows. From 90 on there are variants.
const ARCHITECTURES: &[u32] = &[
    10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103,
    110, 120, 121,
];

/// What NVIDIA's driver logs about text for an architecture that does not exist, or that a device of this compute capability
/// does not run; with the architecture if it is a newer one.
fn foreign_target(ptx: &str, device: u32) -> Option<(String, Option<u32>)> {
    let Directive { name, line } = Directive::of(ptx)?;
    // Programs may name the virtual architecture by the prefix of nvcc's options.
    let number = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"));
    let target = number.and_then(|number| format!("sm_{number}").parse::<Target>().ok());
    match target.filter(|target| ARCHITECTURES.contains(&target.number()) && target.is_defined()) {
        Some(target) if target.number() > device => {
            let log = "ptxas fatal   : SM version specified by .target is higher than default SM version assumed";
            Some((log.into(), Some(target.number())))
        }
        Some(target) if target.runs_on((device / 10, device % 10)) => None,
        Some(_) => {
            let other = if name.ends_with('f') { "different SM-family" } else { "future" };
            Some((
                format!("ptxas fatal   : Program with .target '{name}' cannot be compiled to {other} architecture"),
                None,
            ))
        }
        None => Some((
            format!(
                "ptxas application ptx input, line {line}; fatal   : Unsupported .target '{name}'\nptxas fatal   : Ptx \
                 assembly aborted due to errors"
            ),
            None,
        )),
    }
}

/// Why an ELF file is refused: `EM_CUDA` marks machine code for a GPU.
fn elf(machine: [u8; 2]) -> Error {
    const EM_CUDA: u16 = 190;
    match u16::from_le_bytes(machine) {
        EM_CUDA => Error::NoPtx("machine code (a cubin)"),
        other => Error::Image(format!("it is an ELF file for machine {other}")),
    }
}

/// A fat binary: of its PTX texts, that for the newest architecture which the device runs. If it runs none, the error is about the text for
/// the newest architecture that is not too new.
fn fat_binary(image: &[u8], name: &str) -> Result<Vec<Source>, Error> {
    const PTX: u16 = 1;
    let broken = || Error::Image("the fat binary ends in the middle of an entry".into());
    let mut texts: Vec<(u32, &[u8], &[u8])> = Vec::new();
    let device = table::multiprocessor().capability;
    let mut newer: Option<u32> = None;
    let mut entries = image.get(usize::from(number::<2>(image, 6).unwrap_or(16) as u16)..).unwrap_or(&[]);
    while !entries.is_empty() {
        let header = number::<4>(entries, 4).ok_or_else(broken)? as usize;
        let size = number::<8>(entries, 8).ok_or_else(broken)? as usize;
        let (entry, rest) = header
            .checked_add(size)
            .and_then(|all| entries.split_at_checked(all))
            .filter(|_| header >= 32)
            .ok_or_else(broken)?;
        let architecture = number::<4>(entry, 28).ok_or_else(broken)? as u32;
        let is_ptx = number::<2>(entry, 0) == Some(u64::from(PTX));
        if is_ptx && architecture > device {
            newer = Some(newer.map_or(architecture, |other| other.min(architecture)));
        } else if is_ptx {
            texts.push((architecture, &entry[..header], &entry[header..]));
        }
        entries = rest;
    }
    texts.sort_by_key(|(architecture, ..)| Reverse(*architecture));
    let mut newest: Option<Vec<u8>> = None;
    for (_, header, payload) in texts {
        let ptx = decompress(header, payload)?;
        let is_run = std::str::from_utf8(&ptx).is_ok_and(|ptx| foreign_target(ptx, device).is_none());
        if is_run {
            return read_bytes(&ptx, name);
        }
        newest.get_or_insert(ptx);
    }
    match (newest, newer) {
        (Some(ptx), _) => read_bytes(&ptx, name),
        (None, Some(wanted)) => Err(Error::Newer { wanted, device }),
        (None, None) => Err(Error::NoPtx("machine code alone (a fat binary without PTX)")),
    }
}

/// The payload of an entry: as it is, or in the form that the entry's flags name.
fn decompress(header: &[u8], payload: &[u8]) -> Result<Vec<u8>, Error> {
    const LZ4: u64 = 0x2000;
    const ZSTD: u64 = 0x8000;
    /// No compiler writes more PTX than this into one entry.
    const LARGEST: u64 = 1 << 30;
    let flags = number::<8>(header, 40).unwrap_or(0);
    if flags & (LZ4 | ZSTD) == 0 {
        return Ok(payload.to_vec());
    }
    let broken = |cause: String| Error::Image(format!("the PTX of the fat binary does not decompress: {cause}"));
    let compressed = number::<4>(header, 16).unwrap_or(0) as usize;
    let size = number::<8>(header, 56).filter(|size| *size <= LARGEST);
    let (Some(payload), Some(size)) = (payload.get(..compressed), size) else {
        return Err(broken("its sizes make no sense".into()));
    };
    if flags & LZ4 != 0 {
        return lz4_flex::block::decompress(payload, size as usize).map_err(|error| broken(error.to_string()));
    }
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(payload).map_err(|error| broken(error.to_string()))?;
    let mut ptx = Vec::new();
    std::io::Read::read_to_end(&mut decoder, &mut ptx).map_err(|error| broken(error.to_string()))?;
    Ok(ptx)
}

/// The little-endian number of `N` bytes at `offset`.
fn number<const N: usize>(bytes: &[u8], offset: usize) -> Option<u64> {
    let field = bytes.get(offset..)?.first_chunk::<N>()?;
    Some(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// The image from `cuLinkComplete`: the linked texts, with their names.
///
/// Magic, 4 bytes of version, 8 bytes of size counted after these 16, then per text its bound of registers or 0, the
/// length of its name, the name, its length and the text.
pub(crate) fn link(sources: &[Source]) -> Vec<u8> {
    let mut body = Vec::new();
    for source in sources {
        body.extend_from_slice(&u64::from(source.max_registers.unwrap_or(0)).to_le_bytes());
        for text in [&source.name, &source.ptx] {
            body.extend_from_slice(&(text.len() as u64).to_le_bytes());
            body.extend_from_slice(text.as_bytes());
        }
    }
    let mut image = Vec::with_capacity(16 + body.len());
    image.extend_from_slice(&LINKED);
    image.extend_from_slice(&2_u32.to_le_bytes());
    image.extend_from_slice(&(body.len() as u64).to_le_bytes());
    image.extend_from_slice(&body);
    image
}

fn unlink(image: &[u8]) -> Result<Vec<Source>, Error> {
    fn next_number(rest: &mut &[u8]) -> Option<u64> {
        let value = number::<8>(rest, 0)?;
        *rest = &rest[8..];
        Some(value)
    }
    fn next_text(rest: &mut &[u8]) -> Option<String> {
        let length = usize::try_from(next_number(rest)?).ok()?;
        let (text, after) = rest.split_at_checked(length)?;
        *rest = after;
        String::from_utf8(text.to_vec()).ok()
    }
    let mut rest = image.get(16..).unwrap_or(&[]);
    let mut sources = Vec::new();
    while !rest.is_empty() {
        let mut source = || {
            let max_registers = next_number(&mut rest)? as u32;
            Some(Source {
                name: next_text(&mut rest)?,
                ptx: next_text(&mut rest)?,
                max_registers: (max_registers > 0).then_some(max_registers),
            })
        };
        sources.push(source().ok_or_else(|| Error::Image("the linked image is cut short".into()))?);
    }
    Ok(sources)
}

/// The PTX in a library, an archive as `ar` makes it. A linker takes of a library what it can use: members without PTX
/// are left out, and what is then missing is an unresolved name.
pub(crate) fn read_library(archive: &[u8], name: &str) -> Result<Vec<Source>, Error> {
    const MAGIC: &[u8] = b"!<arch>\n";
    const HEADER: usize = 60;
    let Some(mut rest) = archive.strip_prefix(MAGIC) else {
        return Err(Error::Image("it is no library: it does not begin with `!<arch>`".into()));
    };
    let mut sources = Vec::new();
    while rest.len() >= HEADER {
        let (header, after) = rest.split_at(HEADER);
        let size = std::str::from_utf8(&header[48..58]).ok();
        let size = size.and_then(|size| size.trim().parse::<usize>().ok());
        let Some((member, after)) = size.and_then(|size| after.split_at_checked(size)) else {
            return Err(Error::Image("the library ends in the middle of a member".into()));
        };
        sources.extend(read_bytes(member, name).unwrap_or_default());
        // Members begin at even offsets.
        rest = after.get(member.len() % 2..).unwrap_or(&[]);
    }
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "// by hand\n.version 7.0\n.target sm_70\n.address_size 64\n";

    fn source(name: &str) -> Source {
        Source { name: name.into(), ptx: PTX.into(), max_registers: None }
    }

    /// A fat binary with one entry, laid out as NVIDIA's fatbinary does.
    fn fat(kind: u16, architecture: u32, flags: u64, payload: &[u8], size: usize) -> Vec<u8> {
        let mut entry = vec![0; 64];
        entry[0..2].copy_from_slice(&kind.to_le_bytes());
        entry[4..8].copy_from_slice(&64_u32.to_le_bytes());
        entry[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        entry[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        entry[28..32].copy_from_slice(&architecture.to_le_bytes());
        entry[40..48].copy_from_slice(&flags.to_le_bytes());
        entry[56..64].copy_from_slice(&(size as u64).to_le_bytes());
        entry.extend_from_slice(payload);
        let mut image = FATBIN.to_vec();
        image.extend_from_slice(&[1, 0, 16, 0]);
        image.extend_from_slice(&(entry.len() as u64).to_le_bytes());
        image.extend_from_slice(&entry);
        image
    }

    #[test]
    fn text_for_other_devices_is_refused_as_nvidias_driver_does() {
        let log = |target: &str| foreign_target(&PTX.replace("sm_70", target), 90);
        for target in ["sm_90", "sm_90a", "sm_20", "compute_90", "sm_90, debug", "sm_75 // why"] {
            assert_eq!(log(target), None, "{target}");
        }
        for target in ["sm_100", "sm_100a", "sm_120", "sm_100f"] {
            assert!(
                log(target).is_some_and(|(log, newer)| {
                    log.contains("higher than default SM version assumed") && newer >= Some(100)
                }),
                "{target}"
            );
        }
        for target in ["sm_999", "sm_91", "sm_70a", "sm_90f", "fermi"] {
            let expected = format!("line 3; fatal   : Unsupported .target '{target}'");
            assert!(log(target).is_some_and(|(log, newer)| log.contains(&expected) && newer.is_none()), "{target}");
        }
        let text = PTX.replace("sm_70", "sm_120");
        let report = read_bytes(text.as_bytes(), "a").expect_err("it is for a newer device").to_string();
        for part in ["the PTX is for sm_120", "capability 9.0", "compile the kernels for sm_90", "RUMBA_SOFT_ARCH"] {
            assert!(report.contains(part), "{report}");
        }
    }

    #[test]
    fn an_older_device_takes_what_is_as_old() {
        let log = |target: &str, device| foreign_target(&PTX.replace("sm_70", target), device);
        for (target, device) in [("sm_80", 80), ("sm_75", 80), ("sm_70", 70), ("sm_86", 89)] {
            assert_eq!(log(target, device), None, "{target} on {device}");
        }
        for (target, device) in [("sm_90", 80), ("sm_90a", 89), ("sm_86", 80), ("sm_75", 72)] {
            let (refusal, _) = log(target, device).expect("it is newer");
            assert!(refusal.contains("higher than default SM version assumed"), "{target} on {device}");
        }
    }

    #[test]
    fn variants_run_on_their_architecture_or_family() {
        let log = |target: &str, device| foreign_target(&PTX.replace("sm_70", target), device).map(|(log, _)| log);
        for (target, device) in
            [("sm_100a", 100), ("sm_100f", 100), ("sm_100", 120), ("sm_90", 100), ("sm_120a", 120), ("sm_120f", 120)]
        {
            assert_eq!(log(target, device), None, "{target} on {device}");
        }
        for (target, device, refusal) in [
            ("sm_90a", 100, "cannot be compiled to future architecture"),
            ("sm_100a", 120, "cannot be compiled to future architecture"),
            ("sm_100f", 120, "cannot be compiled to different SM-family architecture"),
            ("sm_103a", 100, "higher than default SM version assumed"),
            ("sm_90f", 100, "Unsupported .target 'sm_90f'"),
        ] {
            assert!(log(target, device).is_some_and(|log| log.contains(refusal)), "{target} on {device}");
        }
    }

    #[test]
    fn text_must_begin_as_ptx_does() {
        assert_eq!(read_bytes(PTX.as_bytes(), "a"), Ok(vec![source("a")]));
        for other in ["", "hello", "/* no end", "\n// only a comment"] {
            assert!(matches!(read_bytes(other.as_bytes(), "a"), Err(Error::Image(_))), "{other:?}");
        }
    }

    #[test]
    fn images_without_length_are_told_apart() {
        let text = std::ffi::CString::new(PTX).unwrap();
        // SAFETY: NUL-terminated text.
        assert_eq!(unsafe { read(text.as_ptr().cast(), "a") }, Ok(vec![source("a")]));
        let linked = link(&[source("a"), source("b")]);
        // SAFETY: our own container states its size.
        let read_back = unsafe { read(linked.as_ptr().cast(), "c") };
        assert_eq!(read_back, Ok(vec![source("a"), source("b")]));
    }

    #[test]
    fn machine_code_is_refused_by_name() {
        let mut elf = vec![0; 64];
        elf[..4].copy_from_slice(&ELF);
        assert!(matches!(read_bytes(&elf, "a"), Err(Error::Image(_))));
        elf[18] = 190;
        assert!(matches!(read_bytes(&elf, "a"), Err(Error::NoPtx(_))));
        assert!(matches!(read_bytes(&fat(2, 86, 0, &elf, 64), "a"), Err(Error::NoPtx(_))));
    }

    #[test]
    fn fat_binaries_give_their_ptx() {
        assert_eq!(read_bytes(&fat(1, 70, 0, PTX.as_bytes(), 0), "a"), Ok(vec![source("a")]));
        let packed = lz4_flex::block::compress(PTX.as_bytes());
        assert_eq!(read_bytes(&fat(1, 70, 0x2000, &packed, PTX.len()), "a"), Ok(vec![source("a")]));
        assert!(matches!(read_bytes(&fat(1, 70, 0x2000, &packed[1..], PTX.len()), "a"), Err(Error::Image(_))));
        assert!(matches!(read_bytes(&fat(1, 120, 0, PTX.as_bytes(), 0), "a"), Err(Error::Newer { .. })));
        // No device runs the newer one of these texts.
        let mut both = fat(1, 90, 0, PTX.replace("sm_70", "sm_90f").as_bytes(), 0);
        assert!(matches!(read_bytes(&both, "a"), Err(Error::Ptx { log, .. }) if log.contains("sm_90f")));
        both.extend_from_slice(&fat(1, 70, 0, PTX.as_bytes(), 0)[16..]);
        let size = (both.len() - 16) as u64;
        both[8..16].copy_from_slice(&size.to_le_bytes());
        assert_eq!(read_bytes(&both, "a"), Ok(vec![source("a")]));
    }

    #[test]
    fn a_bound_of_registers_travels_with_its_text() {
        let bounded = Source { max_registers: Some(38), ..source("a") };
        let sources = vec![bounded, source("b")];
        assert_eq!(read_bytes(&link(&sources), "c"), Ok(sources));
    }

    #[test]
    fn libraries_give_what_ptx_they_have() {
        let member = |bytes: &[u8]| {
            let mut member = format!("{:<48}{:<10}`\n", "a.o/", bytes.len()).into_bytes();
            member.extend_from_slice(bytes);
            member.resize(member.len().next_multiple_of(2), b'\n');
            member
        };
        let library = [b"!<arch>\n".to_vec(), member(b"\x7fELF odd"), member(PTX.as_bytes())].concat();
        assert_eq!(read_library(&library, "a"), Ok(vec![source("a")]));
        assert_eq!(read_library(b"!<arch>\n", "a"), Ok(vec![]));
        assert!(matches!(read_library(&library[..140], "a"), Err(Error::Image(_))));
        assert!(matches!(read_library(PTX.as_bytes(), "a"), Err(Error::Image(_))));
    }

    #[test]
    fn broken_images_are_refused() {
        let whole = fat(1, 70, 0, PTX.as_bytes(), 0);
        for end in 4..whole.len() - 1 {
            let _ = read_bytes(&whole[..end], "a");
        }
        let linked = link(&[source("a")]);
        for end in 4..linked.len() {
            let _ = read_bytes(&linked[..end], "a");
        }
    }
}
