//! A linker for one object: lays its sections out in memory, relocates them, and finds its functions by name.
//!
//! It links what LLVM writes for position-independent modules without thread-local variables; anything else is refused by name.

use std::collections::HashMap;
use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags, SectionIndex};
use object::{SectionKind, SymbolIndex, SymbolSection, elf};

use crate::memory::{Memory, Protection, page};
use crate::relocate::{self, Problem, Through};
use crate::symbols;

/// Why an object is not used.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The bytes are no object file, or a damaged one.
    #[error("the object is damaged: {0}")]
    Damaged(String),
    /// The object is for another processor.
    #[error("the object is for another processor")]
    Processor,
    /// The object calls a function that compiled code may not call.
    #[error("the object refers to `{0}`, which is no function that compiled code may call")]
    Undefined(String),
    /// The object uses a feature that this linker does not support.
    #[error("the object has {0}, which is not supported")]
    Unsupported(String),
    /// The system has no memory for the code.
    #[error("there is no memory for code: {0}")]
    Memory(#[source] io::Error),
}

/// Functions of this process, made from an object. Dropping this value frees their code.
#[derive(Debug)]
pub struct Code {
    memory: Memory,
    functions: HashMap<String, usize>,
}

/// Parts of the memory, one behind the other: each part starts at a page boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Constants,
    Variables,
}

/// A section with its place.
struct Placed<'a> {
    index: SectionIndex,
    part: Part,
    /// From the start of the memory.
    offset: usize,
    bytes: usize,
    data: &'a [u8],
}

/// Bytes of a jump to any address, and of a word.
const STUB: usize = 16;
const WORD: usize = 8;

impl Code {
    /// Links an object.
    ///
    /// To call a function of it is as safe as the module that it was made from.
    ///
    /// # Errors
    /// If it is damaged, for another processor, or has what this linker does not know.
    pub fn load(object: &[u8]) -> Result<Self, LinkError> {
        let damaged = |error: object::Error| LinkError::Damaged(error.to_string());
        let file: ElfFile64<'_> = ElfFile64::parse(object).map_err(damaged)?;
        if Some(file.elf_header().e_machine.get(file.endian())) != machine() {
            return Err(LinkError::Processor);
        }
        let (jumps, words) = (through(&file, Through::Stub)?, through(&file, Through::Word)?);
        let (sections, layout) = place(sections(&file)?, jumps.len(), words.len())?;
        let mut memory = Memory::new(layout.end).map_err(LinkError::Memory)?;
        let base = memory.start().as_ptr() as u64;
        let linker = Linker { file, sections, layout, jumps, words, base };
        // SAFETY: no page is protected yet.
        linker.write(unsafe { memory.bytes_mut() })?;
        let functions = linker.functions()?;
        let layout = linker.layout;
        memory.protect(0..layout.constants, Protection::Execute).map_err(LinkError::Memory)?;
        memory.protect(layout.constants..layout.variables, Protection::Read).map_err(LinkError::Memory)?;
        Ok(Self { memory, functions })
    }

    /// The function of that name which other modules may call.
    pub fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        let offset = *self.functions.get(name)?;
        // SAFETY: functions lie within the memory.
        Some(unsafe { self.memory.start().add(offset) }.cast())
    }
}

/// The sections that must be in memory when the code runs.
fn sections<'a>(file: &ElfFile64<'a>) -> Result<Vec<Placed<'a>>, LinkError> {
    let mut all = Vec::new();
    for section in file.sections() {
        let name = section.name().unwrap_or_default();
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            continue;
        };
        let has = |flag: u32| sh_flags & u64::from(flag) != 0;
        // No frame is ever unwound: neither the functions nor their callees throw.
        if !has(elf::SHF_ALLOC) || name.starts_with(".eh_frame") {
            continue;
        }
        if has(elf::SHF_TLS) {
            return Err(LinkError::Unsupported(format!("thread-local variables in `{name}`")));
        }
        let part = match (has(elf::SHF_EXECINSTR), has(elf::SHF_WRITE)) {
            (true, _) => Part::Code,
            (false, false) => Part::Constants,
            (false, true) => Part::Variables,
        };
        let is_zero = section.kind() == SectionKind::UninitializedData;
        let data = if is_zero { &[] } else { section.data().map_err(|error| LinkError::Damaged(error.to_string()))? };
        let size = |number: u64| {
            let number = usize::try_from(number).ok().filter(|number| *number <= MOST_BYTES);
            number.ok_or_else(|| LinkError::Damaged(format!("the section `{name}` has an impossible size")))
        };
        all.push(Placed {
            index: section.index(),
            part,
            // Until it is placed, its alignment.
            offset: size(section.align())?.max(1),
            bytes: size(section.size())?,
            data,
        });
    }
    Ok(all)
}

/// The symbols outside of the object that places refer to in a certain way.
fn through(file: &ElfFile64<'_>, way: Through) -> Result<Vec<SymbolIndex>, LinkError> {
    let mut all = Vec::new();
    for section in file.sections() {
        for (_, relocation) in section.relocations() {
            let (RelocationTarget::Symbol(symbol), RelocationFlags::Elf { r_type }) =
                (relocation.target(), relocation.flags())
            else {
                continue;
            };
            let is_wanted = relocate::meaning(r_type).is_some_and(|(through, _)| through == way);
            if !is_wanted || all.contains(&symbol) {
                continue;
            }
            let is_outside =
                file.symbol_by_index(symbol).map_err(|error| LinkError::Damaged(error.to_string()))?.is_undefined();
            // A word is needed in any case: the instruction loads from it.
            if is_outside || way == Through::Word {
                all.push(symbol);
            }
        }
    }
    Ok(all)
}
/// No object of ours is nearly as large; it keeps sums from wrapping around.
const MOST_BYTES: usize = 1 << 30;

/// ELF's number of the processor.
fn machine() -> Option<u16> {
    if cfg!(target_arch = "x86_64") {
        Some(elf::EM_X86_64)
    } else if cfg!(target_arch = "aarch64") {
        Some(elf::EM_AARCH64)
    } else {
        None
    }
}

/// Where things begin.
#[derive(Debug, Clone, Copy)]
struct Layout {
    stubs: usize,
    constants: usize,
    words: usize,
    variables: usize,
    end: usize,
}

/// Gives each section its place.
fn place(mut sections: Vec<Placed<'_>>, stubs: usize, words: usize) -> Result<(Vec<Placed<'_>>, Layout), LinkError> {
    let page = page();
    let mut end = 0_usize;
    let mut part = |part: Part, end: &mut usize| -> Result<(), LinkError> {
        for section in sections.iter_mut().filter(|section| section.part == part) {
            let align = section.offset;
            if !align.is_power_of_two() || align > page {
                return Err(LinkError::Unsupported(format!("a section that is aligned to {align} bytes")));
            }
            section.offset = end.next_multiple_of(align);
            *end = section.offset + section.bytes;
            if *end > MOST_BYTES {
                return Err(LinkError::Unsupported("more than a gigabyte".to_owned()));
            }
        }
        Ok(())
    };
    part(Part::Code, &mut end)?;
    let stub_start = end.next_multiple_of(STUB);
    let constants = (stub_start + stubs * STUB).next_multiple_of(page);
    end = constants;
    part(Part::Constants, &mut end)?;
    let word_start = end.next_multiple_of(WORD);
    let variables = (word_start + words * WORD).next_multiple_of(page);
    end = variables;
    part(Part::Variables, &mut end)?;
    let layout = Layout { stubs: stub_start, constants, words: word_start, variables, end };
    Ok((sections, layout))
}

/// An object with the places of its sections.
struct Linker<'a> {
    file: ElfFile64<'a>,
    sections: Vec<Placed<'a>>,
    layout: Layout,
    /// Symbols with a stub, and symbols with a word.
    jumps: Vec<SymbolIndex>,
    words: Vec<SymbolIndex>,
    base: u64,
}

impl Linker<'_> {
    /// Writes sections, stubs and words, and relocates.
    fn write(&self, memory: &mut [u8]) -> Result<(), LinkError> {
        let outside = || LinkError::Damaged("a section lies outside of the object".to_owned());
        for section in &self.sections {
            let end = section.offset + section.data.len().min(section.bytes);
            let data = section.data.get(..end - section.offset).ok_or_else(outside)?;
            memory.get_mut(section.offset..end).ok_or_else(outside)?.copy_from_slice(data);
        }
        for (number, symbol) in self.jumps.iter().enumerate() {
            let start = self.layout.stubs + number * STUB;
            let stub = stub(self.address(*symbol)?);
            memory.get_mut(start..start + STUB).ok_or_else(outside)?.copy_from_slice(&stub);
        }
        for (number, symbol) in self.words.iter().enumerate() {
            let start = self.layout.words + number * WORD;
            let word = self.address(*symbol)?.to_le_bytes();
            memory.get_mut(start..start + WORD).ok_or_else(outside)?.copy_from_slice(&word);
        }
        for section in &self.sections {
            self.relocate(section, memory)?;
        }
        Ok(())
    }

    fn relocate(&self, placed: &Placed<'_>, memory: &mut [u8]) -> Result<(), LinkError> {
        let damaged = |error: object::Error| LinkError::Damaged(error.to_string());
        let section = self.file.section_by_index(placed.index).map_err(damaged)?;
        for (at, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                continue;
            };
            let unknown = || LinkError::Unsupported(format!("a relocation of the kind {r_type}"));
            let (through, form) = relocate::meaning(r_type).ok_or_else(unknown)?;
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                return Err(unknown());
            };
            let entry = |start: usize, size: usize, symbols: &[SymbolIndex]| {
                let number = symbols.iter().position(|known| *known == symbol)?;
                Some(self.base + (start + number * size) as u64)
            };
            let special = match through {
                Through::Symbol => None,
                Through::Stub => entry(self.layout.stubs, STUB, &self.jumps),
                Through::Word => entry(self.layout.words, WORD, &self.words),
            };
            let target = match special {
                Some(address) => address,
                None => self.address(symbol)?,
            };
            let target = target.wrapping_add_signed(relocation.addend());
            let offset = usize::try_from(at).ok().filter(|at| *at < placed.bytes);
            let offset =
                offset.ok_or_else(|| LinkError::Damaged("a relocation lies outside of its section".to_owned()))?;
            let offset = placed.offset + offset;
            let outcome = form.apply(memory, offset, self.base + offset as u64, target);
            outcome.map_err(|problem| match problem {
                Problem::Outside => LinkError::Damaged("a relocation lies outside of its section".to_owned()),
                Problem::Far => {
                    LinkError::Unsupported(format!("a relocation of the kind {r_type} that reaches too far"))
                }
            })?;
        }
        Ok(())
    }

    /// The address of a symbol, in the object or outside of it.
    fn address(&self, index: SymbolIndex) -> Result<u64, LinkError> {
        let damaged = |error: object::Error| LinkError::Damaged(error.to_string());
        let symbol = self.file.symbol_by_index(index).map_err(damaged)?;
        let name = symbol.name().unwrap_or_default();
        match symbol.section() {
            SymbolSection::Section(section) => {
                let placed = self.sections.iter().find(|placed| placed.index == section);
                let placed = placed
                    .ok_or_else(|| LinkError::Unsupported(format!("`{name}` in a section that is not loaded")))?;
                Ok(self.base + placed.offset as u64 + symbol.address())
            }
            SymbolSection::Undefined => {
                let address = symbols::address(name).ok_or_else(|| LinkError::Undefined(name.to_owned()))?;
                Ok(address as u64)
            }
            _ => Err(LinkError::Unsupported(format!("the symbol `{name}` without a section"))),
        }
    }

    /// Offsets of the functions that the object defines for others.
    fn functions(&self) -> Result<HashMap<String, usize>, LinkError> {
        let mut all = HashMap::new();
        for symbol in self.file.symbols() {
            let SymbolSection::Section(section) = symbol.section() else {
                continue;
            };
            let placed = self.sections.iter().find(|placed| placed.index == section);
            let Some(placed) = placed.filter(|placed| placed.part == Part::Code) else {
                continue;
            };
            if !symbol.is_global() {
                continue;
            }
            let offset = usize::try_from(symbol.address()).ok().filter(|offset| *offset < placed.bytes);
            let offset =
                offset.ok_or_else(|| LinkError::Damaged("a function lies outside of its section".to_owned()))?;
            all.insert(symbol.name().unwrap_or_default().to_owned(), placed.offset + offset);
        }
        Ok(all)
    }
}

/// A jump to an address, which stands behind the instructions.
fn stub(address: u64) -> [u8; STUB] {
    let mut stub = [0; STUB];
    // jmp *0(%rip), and the address right behind it; ldr x16, 8; br x16, and the address behind.
    let (instructions, at): (&[u8], usize) = if cfg!(target_arch = "aarch64") {
        (&[0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6], 8)
    } else {
        (&[0xff, 0x25, 0, 0, 0, 0], 6)
    };
    stub[..instructions.len()].copy_from_slice(instructions);
    stub[at..at + 8].copy_from_slice(&address.to_le_bytes());
    stub
}
