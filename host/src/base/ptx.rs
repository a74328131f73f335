//! The declarations of a PTX text: its kernels and the sizes of their parameters.
//!
//! The driver reports neither, and both make better errors: the error of a missing kernel lists the existing kernels,
//! and PTX that is older than its launcher is detected before the launch.

use crate::base::error::{ModuleError, Result};
use rumba_ptx::{Target, ast, foot, set};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

/// A kernel as PTX declares it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) name: String,
    /// Bytes of each parameter.
    pub(crate) parameters: Vec<usize>,
}

/// The declarations of a PTX text for the host.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declarations {
    pub(crate) kernels: Vec<Signature>,
    /// The variables in constant memory that have a name outside, and their bytes.
    pub(crate) constants: Vec<(String, usize)>,
}

/// The declarations of a module. None: the text is beyond our parser, though the driver may accept it.
pub(crate) fn declarations(text: &str) -> Option<Declarations> {
    let module = rumba_ptx::parse_declarations(text).ok()?;
    let entries = module.items.iter().filter_map(|item| match item {
        ast::Item::Function(function) if function.kind == ast::FunctionKind::Entry => Some(function),
        _ => None,
    });
    let mut signatures: Vec<Signature> = Vec::new();
    for entry in entries {
        // A declaration may precede the definition.
        if !signatures.iter().any(|known| known.name == entry.name) {
            let parameters = entry.parameters.iter().map(bytes).collect();
            signatures.push(Signature { name: entry.name.to_owned(), parameters });
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
    Some(Declarations { kernels: signatures, constants: constants.collect() })
}

/// The declarations of linked texts. None if our parser cannot parse a text.
pub(crate) fn declarations_of<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Declarations> {
    let mut all = Declarations { kernels: Vec::new(), constants: Vec::new() };
    for text in texts {
        let mut own = declarations(text)?;
        all.kernels.append(&mut own.kernels);
        all.constants.append(&mut own.constants);
    }
    Some(all)
}

/// A text, or a text for each of several architectures, from which kernels are extracted one by one, so that the driver
/// compiles used kernels only. Each text is searched once, when a kernel is first extracted from it.
pub(crate) struct Pieces {
    sealed: &'static str,
    texts: Vec<Piece>,
}

/// One of the texts.
struct Piece {
    target: Option<Target>,
    sealed: &'static str,
    /// Without its foot.
    text: &'static str,
    /// Functions and variables by name, in the order of the text; of everything else there is little. Empty where the text is
    /// beyond our parser.
    named: OnceLock<Vec<(&'static str, Range<usize>)>>,
}

impl Pieces {
    pub(crate) fn new(sealed: &'static str) -> Self {
        let texts = set::texts(sealed).into_iter().map(|sealed| Piece {
            target: Target::of(sealed),
            sealed,
            text: foot::without(sealed),
            named: OnceLock::new(),
        });
        Self { sealed, texts: texts.collect() }
    }

    /// The text with one kernel alone, and what it needs, for a device of this compute capability. It is sealed, with the
    /// kernel's description.
    ///
    /// # Errors
    /// [`ModuleError::NoImage`] if the device runs none that has the kernel.
    pub(crate) fn only(&self, kernel: &str, capability: (u32, u32)) -> Result<String> {
        let fitting = self.texts.iter().filter(|text| text.target.is_some_and(|target| target.runs_on(capability)));
        let newest = fitting.max_by_key(|text| text.target);
        match newest.filter(|text| text.has(kernel)) {
            Some(text) => Ok(text.only(kernel)),
            None => Err(ModuleError::NoImage {
                kernel: kernel.to_owned(),
                module: "the runtime".to_owned(),
                architectures: set::floors(self.sealed, kernel).iter().map(ToString::to_string).collect(),
                compute_capability: capability,
            }
            .into()),
        }
    }
}

impl Piece {
    fn named(&self) -> &[(&'static str, Range<usize>)] {
        self.named.get_or_init(|| {
            let items = rumba_ptx::parse_declarations(self.text).map_or_else(|_| Vec::new(), |module| module.items);
            let named = items.iter().filter_map(|item| match item {
                ast::Item::Function(function) => Some((function.name, function.span.range())),
                ast::Item::Variable(variable) => Some((variable.name, variable.span.range())),
                _ => None,
            });
            named.collect()
        })
    }

    fn has(&self, kernel: &str) -> bool {
        let named = self.named();
        named.is_empty() || named.iter().any(|(name, _)| *name == kernel)
    }

    fn only(&self, kernel: &str) -> String {
        let (text, named) = (self.text, self.named());
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
                // The end of a variable or a declaration is not part of its span.
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
    #[cfg(any(feature = "algorithms", feature = "linalg"))]
    use rumba_ptx::{Target, foot, set};

    #[test]
    fn kernels_and_parameter_sizes() {
        let text = ".version 7.0\n.target sm_70\n.address_size 64\n\
                    .visible .entry first(.param .u64 a, .param .align 8 .b8 b[24], .param .f32 c) { ret; }\n\
                    .visible .const .align 4 .b8 GAIN[12]; .const .b32 hidden;\n\
                    .func helper() { ret; }\n.entry second() { ret; }";
        let expected = [("first", vec![8, 24, 4]), ("second", vec![])];
        let expected = expected.map(|(name, parameters)| Signature { name: name.to_owned(), parameters });
        let expected = Declarations { kernels: expected.into(), constants: vec![("GAIN".to_owned(), 12)] };
        assert_eq!(declarations(text).expect("valid PTX"), expected);
    }

    #[cfg(any(feature = "algorithms", feature = "linalg"))]
    #[test]
    fn one_kernel_with_what_it_needs() {
        let head = ".version 7.0\n.target sm_70\n.address_size 64\n";
        let needed = ".global .b32 a;\n.func helper() { .reg .b32 %r; ld.global.b32 %r, [a]; ret; }\n\
                      .visible .entry first() { call helper; ret; }\n";
        let rest = ".global .b32 ab;\n.visible .entry second() { .reg .b32 %r; ld.global.b32 %r, [ab]; ret; }\n";
        let one = super::Pieces::new(format!("{head}{needed}{rest}").leak()).only("first", (9, 0));
        let one = one.expect("any device runs it");
        assert_eq!(foot::check(&one), Ok(()));
        assert_eq!(foot::without(&one).trim_end(), format!("{head}{needed}").trim_end());
    }

    #[cfg(any(feature = "algorithms", feature = "linalg"))]
    #[test]
    fn of_several_texts_that_for_the_device() {
        let member = |target: &str, kernels: &[&str]| {
            let entries = kernels.iter().map(|name| format!(".visible .entry {name}() {{ ret; }}\n"));
            let head = format!(".version 8.0\n.target {target}\n.address_size 64\n");
            set::Member {
                text: entries.fold(head, |text, entry| text + &entry),
                descriptions: Vec::new(),
                floors: Vec::new(),
            }
        };
        let sealed = set::seal([member("sm_80", &["first"]), member("sm_90a", &["first", "second"])]);
        let pieces = super::Pieces::new(sealed.leak());
        let target = |kernel, capability| {
            let one = pieces.only(kernel, capability).map_err(|error| error.to_string())?;
            assert_eq!(foot::check(&one), Ok(()));
            assert_eq!(set::kernels(&one), [kernel]);
            Ok::<String, String>(Target::of(&one).expect("it has one").to_string())
        };
        assert_eq!(target("first", (9, 0)).as_deref(), Ok("sm_90a"));
        assert_eq!(target("first", (10, 0)).as_deref(), Ok("sm_80"));
        assert_eq!(target("second", (9, 0)).as_deref(), Ok("sm_90a"));
        for (kernel, capability, parts) in [
            ("second", (8, 0), ["`second`", "sm_90a", "8.0"]),
            ("first", (7, 5), ["`first`", "sm_80 and sm_90a", "7.5"]),
        ] {
            let refusal = target(kernel, capability).expect_err("the device runs none");
            assert!(parts.iter().all(|part| refusal.contains(part)), "{refusal}");
        }
    }
}
