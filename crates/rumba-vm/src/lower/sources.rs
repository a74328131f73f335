//! The texts that a module was loaded from: line numbers, file names, strings of the debugging information.

use rustc_hash::FxHashMap;

use rumba_ptx::ast::{self, Constant, Item, Literal, SectionEntry};

use crate::machine::program::Debug;

/// One source.
#[derive(Debug)]
pub(crate) struct SourceText<'m> {
    text: &'m str,
    /// Offsets of line breaks.
    breaks: Vec<u32>,
    files: FxHashMap<u32, &'m str>,
    /// `.debug_str`, and where its labels stand in it.
    strings: Vec<u8>,
    labels: FxHashMap<&'m str, usize>,
}

impl<'m> SourceText<'m> {
    /// Indexes a source.
    pub(crate) fn new(text: &'m str, module: &'m ast::Module<'m>) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32).collect();
        let mut this =
            Self { text, breaks, files: FxHashMap::default(), strings: Vec::new(), labels: FxHashMap::default() };
        for item in &module.items {
            match item {
                Item::File(file) => {
                    this.files.insert(file.index, file.name);
                }
                Item::Section(section) if section.name == ".debug_str" => this.debug_str(section),
                Item::Section(_) | Item::Function(_) | Item::Variable(_) | Item::Alias(_) | Item::Pragma(_) => {}
            }
        }
        this
    }

    fn debug_str(&mut self, section: &ast::Section<'m>) {
        for entry in &section.contents {
            match entry {
                SectionEntry::Label(label) => {
                    self.labels.insert(label.name, self.strings.len());
                }
                SectionEntry::Data { values, .. } => self.strings.extend(values.iter().map(|value| match value {
                    Constant::Literal(Literal::Integer { value, .. }) => *value as u8,
                    Constant::Literal(_) | Constant::Symbol(_) | Constant::Difference(..) => 0,
                })),
            }
        }
    }

    /// The text of a span.
    pub(crate) fn text(&self, span: ast::Span) -> &'m str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The line that a byte stands in, from 1.
    pub(crate) fn line(&self, offset: u32) -> u32 {
        self.breaks.partition_point(|at| *at < offset) as u32 + 1
    }

    /// The string that a label into `.debug_str` marks.
    pub(crate) fn string(&self, symbol: &ast::Symbol<'_>) -> Option<String> {
        let start = self.labels.get(symbol.name)?.checked_add_signed(symbol.addend as isize)?;
        let bytes = self.strings.get(start..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    /// The index of a `.file` in the program's table.
    pub(crate) fn file(&self, debug: &mut Debug, index: u32) -> usize {
        let name = self.files.get(&index).copied().unwrap_or("?");
        debug.files.iter().position(|known| known == name).unwrap_or_else(|| {
            debug.files.push(name.to_owned());
            debug.files.len() - 1
        })
    }
}
