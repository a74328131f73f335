//! What PTX text declares: its kernels and the sizes of their parameters.
//!
//! The driver says neither, and both make better errors: a kernel that is not there is named beside
//! those that are, and PTX that is older than its launcher is noticed before it is launched.

use rumba_ptx::{ast, foot};
use std::collections::HashSet;
use std::ops::Range;

/// A kernel as PTX declares it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) name: String,
    /// Bytes of each parameter.
    pub(crate) parameters: Vec<usize>,
}

/// What PTX declares for the host.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declarations {
    pub(crate) kernels: Vec<Signature>,
    /// The variables in constant memory that have a name outside, and their bytes.
    pub(crate) constants: Vec<(String, usize)>,
}

/// The declarations of a module. None: the text is beyond our parser, though the driver may accept it.
pub(crate) fn declarations(text: &str) -> Option<Declarations> {
    let module = rumba_ptx::parse(text).ok()?;
    let entries = module.items.iter().filter_map(|item| match item {
        ast::Item::Function(function) if function.kind == ast::FunctionKind::Entry => Some(function),
        _ => None,
    });
    let mut signatures: Vec<Signature> = Vec::new();
    for entry in entries {
        // A declaration may precede the definition.
        if !signatures.iter().any(|known| known.name == entry.name) {
            let parameters = entry.parameters.iter().map(bytes).collect();
            signatures.push(Signature {
                name: entry.name.to_owned(),
                parameters,
            });
        }
    }
    let constants = module.items.iter().filter_map(|item| match item {
        ast::Item::Variable(variable)
            if variable.space == ast::StateSpace::Const && variable.linkage == Some(ast::Linkage::Visible) =>
        {
            Some((variable.name.to_owned(), bytes(variable)))
        }
        _ => None,
    });
    Some(Declarations {
        kernels: signatures,
        constants: constants.collect(),
    })
}

/// The declarations of texts that were linked. None: one of them is beyond our parser.
pub(crate) fn declarations_of<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Declarations> {
    let mut all = Declarations {
        kernels: Vec::new(),
        constants: Vec::new(),
    };
    for text in texts {
        let mut own = declarations(text)?;
        all.kernels.append(&mut own.kernels);
        all.constants.append(&mut own.constants);
    }
    Some(all)
}

/// A text that is looked through once, and of which kernels are then taken one by one: so that the driver compiles nothing
/// but what is used.
pub(crate) struct Pieces {
    sealed: &'static str,
    /// Without its foot.
    text: &'static str,
    /// Functions and variables by name, in the order of the text; of everything else there is little. Empty where the text is
    /// beyond our parser.
    named: Vec<(&'static str, Range<usize>)>,
}

impl Pieces {
    pub(crate) fn new(sealed: &'static str) -> Self {
        let text = foot::without(sealed);
        let items = rumba_ptx::parse(text).map_or_else(|_| Vec::new(), |module| module.items);
        let named = items.iter().filter_map(|item| match item {
            ast::Item::Function(function) => Some((function.name, function.span.range())),
            ast::Item::Variable(variable) => Some((variable.name, variable.span.range())),
            _ => None,
        });
        Self {
            sealed,
            text,
            named: named.collect(),
        }
    }

    /// The text with one kernel alone, and what it needs. It is sealed, with the kernel's description.
    pub(crate) fn only(&self, kernel: &str) -> String {
        let (text, named) = (self.text, &self.named);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let known: HashSet<&str> = named.iter().map(|(name, _)| *name).collect();
        let (mut needed, mut unread) = (HashSet::from([kernel]), vec![kernel]);
        while let Some(name) = unread.pop() {
            for (_, place) in named.iter().filter(|(known, _)| *known == name) {
                let words = text[place.clone()].split(|c| !is_name(c));
                unread.extend(words.filter(|word| known.contains(word) && needed.insert(word)));
            }
        }
        let (mut result, mut at) = (String::new(), 0);
        for (name, place) in named {
            if !needed.contains(name) {
                result.push_str(&text[at..place.start]);
                at = place.end;
                // What ends a variable or a declaration is not part of its span.
                let rest = &text[at..];
                if rest.trim_start().starts_with(';') {
                    at += rest.find(';').map_or(0, |i| i + 1);
                }
            }
        }
        result.push_str(&text[at..]);
        let description = foot::description(self.sealed, kernel);
        foot::seal(&mut result, description.iter().map(|text| (kernel, text.as_str())));
        result
    }
}

fn bytes(parameter: &ast::Variable<'_>) -> usize {
    let elements: u64 = parameter.dimensions.iter().map(|length| length.unwrap_or(0)).product();
    let lanes = parameter.vector.map_or(1, usize::from);
    parameter.ty.bytes().unwrap_or(0) as usize * lanes * elements as usize
}

#[cfg(test)]
mod tests {
    use super::{Declarations, Signature, declarations};
    #[cfg(feature = "algorithms")]
    use rumba_ptx::foot;

    #[test]
    fn kernels_and_parameter_sizes() {
        let text = ".version 7.0\n.target sm_70\n.address_size 64\n\
                    .visible .entry first(.param .u64 a, .param .align 8 .b8 b[24], .param .f32 c) { ret; }\n\
                    .visible .const .align 4 .b8 GAIN[12]; .const .b32 hidden;\n\
                    .func helper() { ret; }\n.entry second() { ret; }";
        let expected = [("first", vec![8, 24, 4]), ("second", vec![])];
        let expected = expected.map(|(name, parameters)| Signature {
            name: name.to_owned(),
            parameters,
        });
        let expected = Declarations {
            kernels: expected.into(),
            constants: vec![("GAIN".to_owned(), 12)],
        };
        assert_eq!(declarations(text).expect("valid PTX"), expected);
    }

    #[cfg(feature = "algorithms")]
    #[test]
    fn one_kernel_with_what_it_needs() {
        let head = ".version 7.0\n.target sm_70\n.address_size 64\n";
        let needed = ".global .b32 a;\n.func helper() { .reg .b32 %r; ld.global.b32 %r, [a]; ret; }\n\
                      .visible .entry first() { call helper; ret; }\n";
        let rest = ".global .b32 ab;\n.visible .entry second() { .reg .b32 %r; ld.global.b32 %r, [ab]; ret; }\n";
        let one = super::Pieces::new(format!("{head}{needed}{rest}").leak()).only("first");
        assert_eq!(foot::check(&one), Ok(()));
        assert_eq!(foot::without(&one).trim_end(), format!("{head}{needed}").trim_end());
    }
}
