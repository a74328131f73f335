//! The PTX manual's own notation as data: the syntax of an instruction's forms, and matching an instruction against them.
//!
//! A syntax text is a list of patterns, each followed (possibly after other patterns) by the definitions of its
//! placeholders, as a section of the manual prints them:
//!
//! ```text
//! add.type       d, a, b;
//! add{.sat}.s32  d, a, b;
//! .type = { .u16, .u32, .u64, .s16, .s64 };
//! ```
//!
//! Definitions belong to the patterns above them, back to the previous definitions. A dotted name with a definition is a
//! placeholder, every other one stands for itself; braces make modifiers or trailing operands optional; an
//! alternative such as `.shared{::cta, ::cluster}` stands for three. Of operands only the count matters, and nothing
//! is known about types: that is the business of lowering.
//!
//! Modifiers are accepted in any order, as NVIDIA's assembler does (`add.f32.rm.sat.ftz`), with two exceptions. Several of one
//! kind (the types of `cvt`, the layouts of `mma`, the state spaces of `cp.async`) are told apart by their order. And a
//! modifier that the syntax marks with `!` (`mul.wide!.type`) belongs to the name of the operation: it and what precedes it
//! in the pattern stay in front.

mod parse;

use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;
use std::sync::{LazyLock, PoisonError, RwLock};

use thiserror::Error;

use crate::base::types::ScalarType;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Convergence, Form, Lower};

/// The form that an instruction has, with the modifiers that its placeholders took.
#[derive(Debug, Clone)]
pub struct Matched<'s> {
    /// The form's semantics.
    pub lower: Lower,
    /// The lanes that execute the instruction together, if the syntax says so.
    pub convergence: Option<Convergence>,
    modifiers: Modifiers<'s>,
}

/// Modifiers, each with the name that it has in the form.
type Modifiers<'s> = Vec<(&'static str, &'s str)>;

impl<'s> Matched<'s> {
    /// The modifier that stands for a placeholder (`"type"` for `.type`), with its dot.
    pub fn get(&self, placeholder: &str) -> Option<&'s str> {
        self.modifiers.iter().find(|(name, _)| name[1..] == *placeholder).map(|(_, text)| *text)
    }

    /// The element of a table that belongs to the modifier at a placeholder.
    ///
    /// # Errors
    /// If it belongs to none of them.
    pub fn choose<T: Copy>(&self, placeholder: &str, among: &[(&str, T)]) -> Result<T, LowerError> {
        let text = self.get(placeholder).unwrap_or_default();
        among
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, value)| *value)
            .ok_or_else(|| LowerError::new(format!("`{text}` has no meaning here")))
    }

    /// Whether the instruction has this modifier, which the form spells out (`".sat"`).
    pub fn has(&self, literal: &str) -> bool {
        self.modifiers.iter().any(|(name, text)| *name == literal && *text == literal)
    }

    /// The type that stands for a placeholder.
    ///
    /// # Errors
    /// If the placeholder took no modifier, or one that is not a type.
    pub fn ty(&self, placeholder: &str) -> Result<ScalarType, LowerError> {
        let text = self.get(placeholder).ok_or_else(|| LowerError::new(format!("`.{placeholder}` is missing")))?;
        ScalarType::from_name(text).ok_or_else(|| LowerError::new(format!("`{text}` is not a type that is known here")))
    }
}

/// An instruction that is none of the forms of its mnemonic.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{written}` with {operands} operand(s) is not a form of `{name}`; accepted are:{forms}")]
pub struct NotationError {
    name: String,
    written: String,
    operands: usize,
    forms: String,
}

/// Finds the form of the instruction `name` that an occurrence has.
///
/// `modifiers` carry their leading dots; `operands` counts destinations too.
///
/// # Errors
/// If there is none: the error lists the accepted forms.
pub fn match_forms<'s>(
    forms: &'static [Form],
    name: &str,
    modifiers: &[&'s str],
    operands: usize,
) -> Result<Matched<'s>, NotationError> {
    let parsed = parsed(forms);
    let find = |accept: fn(&Pattern, &[&'s str]) -> Option<Modifiers<'s>>| {
        parsed.patterns.iter().filter(|pattern| pattern.name == name && pattern.operands.contains(&operands)).find_map(
            |pattern| {
                let modifiers = accept(pattern, modifiers)?;
                Some(Matched { lower: pattern.lower, convergence: pattern.convergence, modifiers })
            },
        )
    };
    find(Pattern::accept).or_else(|| find(Pattern::accept_reordered)).ok_or_else(|| NotationError {
        name: name.to_owned(),
        written: format!("{name}{}", modifiers.concat()),
        operands,
        forms: parsed.text(),
    })
}

/// The syntax of an instruction, parsed.
#[derive(Debug, Default)]
struct Syntax {
    patterns: Vec<Pattern>,
    /// Statements in the order of the text, for messages.
    lines: Vec<String>,
}

/// One line of a form's syntax.
#[derive(Debug)]
struct Pattern {
    name: &'static str,
    slots: Vec<Slot>,
    /// How many slots belong to the name of the operation.
    fixed: usize,
    operands: RangeInclusive<usize>,
    convergence: Option<Convergence>,
    lower: Lower,
}

/// One modifier, or an optional group of them.
#[derive(Debug)]
struct Slot {
    optional: bool,
    elements: Vec<PatternItem>,
}

/// One modifier: the dotted name in the pattern, and what may stand there.
#[derive(Debug)]
struct PatternItem {
    name: &'static str,
    /// Empty: the name stands for itself.
    alternatives: Vec<Alternative>,
}

/// A base and a suffix (`.shared` and `::cta`; mostly empty).
#[derive(Debug, Clone, Copy)]
struct Alternative(&'static str, &'static str);

impl Alternative {
    fn is(self, text: &str) -> bool {
        text.len() == self.0.len() + self.1.len() && text.starts_with(self.0) && text.ends_with(self.1)
    }
}

impl PatternItem {
    fn accepts(&self, text: &str) -> bool {
        if self.alternatives.is_empty() {
            self.name == text
        } else {
            self.alternatives.iter().any(|alternative| alternative.is(text))
        }
    }
}

impl Slot {
    fn accepts(&self, modifiers: &[&str]) -> bool {
        modifiers.len() >= self.elements.len()
            && self.elements.iter().zip(modifiers).all(|(element, text)| element.accepts(text))
    }
}

impl Pattern {
    /// The placeholders of the modifiers, if this pattern accepts them in their order. Adjacent optional modifiers have
    /// no order.
    fn accept<'s>(&self, modifiers: &[&'s str]) -> Option<Modifiers<'s>> {
        let mut found = Vec::with_capacity(modifiers.len());
        let (fixed, free) = self.slots.split_at(self.fixed);
        let rest = in_order(fixed, modifiers, &mut found)?;
        let rest = in_order(free, rest, &mut found)?;
        rest.is_empty().then_some(found)
    }

    /// The same for modifiers in any order.
    fn accept_reordered<'s>(&self, modifiers: &[&'s str]) -> Option<Modifiers<'s>> {
        let mut found = Vec::with_capacity(modifiers.len());
        let (fixed, free) = self.slots.split_at(self.fixed);
        let rest = in_order(fixed, modifiers, &mut found)?;
        let mut search = Reordered {
            given: rest,
            kinds: rest.iter().map(|text| Kind::of(text)).collect(),
            taken: vec![None; rest.len()],
        };
        if rest.len() > 32 || !search.assign(free) {
            return None;
        }
        found.extend(search.taken.into_iter().zip(rest).filter_map(|(name, text)| Some((name?, *text))));
        Some(found)
    }
}

/// Matches the slots with the start of `modifiers`, and returns the remaining modifiers.
fn in_order<'s, 'm>(slots: &[Slot], modifiers: &'m [&'s str], found: &mut Modifiers<'s>) -> Option<&'m [&'s str]> {
    let mut rest = modifiers;
    let mut take = |slot: &Slot, rest: &mut &'m [&'s str]| {
        for element in &slot.elements {
            found.push((element.name, rest[0]));
            *rest = &rest[1..];
        }
    };
    let mut slots = slots;
    while let Some(slot) = slots.first() {
        if !slot.optional {
            if !slot.accepts(rest) {
                return None;
            }
            take(slot, &mut rest);
            slots = &slots[1..];
            continue;
        }
        let run = slots.iter().take_while(|slot| slot.optional).count();
        let mut used = 0_u64;
        while let Some(next) = (0..run).find(|&index| used & (1 << index) == 0 && slots[index].accepts(rest)) {
            used |= 1 << next;
            take(&slots[next], &mut rest);
        }
        slots = &slots[run..];
    }
    Some(rest)
}

/// Modifiers of one kind keep their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Type,
    Layout,
    Space,
    /// A modifier whose name already identifies its slot.
    Other,
}

impl Kind {
    fn of(text: &str) -> Self {
        match text {
            ".row" | ".col" => Self::Layout,
            ".global" | ".const" | ".local" | ".param" => Self::Space,
            ".pred" => Self::Type,
            _ if text.starts_with(".shared") => Self::Space,
            _ if is_type(text) => Self::Type,
            _ => Self::Other,
        }
    }
}

/// Whether a modifier is the type of an operand or of the elements of a matrix: `.u32`, `.bf16x2`, `.ue8m0`, `.b6x16_p32`.
fn is_type(text: &str) -> bool {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match text.trim_start_matches(['.', 'u']).strip_prefix('e') {
        // Bits of the exponent and of the mantissa.
        Some(float) => float[digits(float)..].strip_prefix('m'),
        None => [".bf", ".tf", ".b", ".u", ".s", ".f"].iter().find_map(|kind| text.strip_prefix(kind)),
    };
    rest.is_some_and(|rest| {
        let bits = digits(rest);
        bits > 0 && (rest.len() == bits || rest[bits..].starts_with('x'))
    })
}

/// A search for the slot of each modifier.
struct Reordered<'a, 's> {
    given: &'a [&'s str],
    kinds: Vec<Kind>,
    /// The name of each modifier that has a slot.
    taken: Vec<Option<&'static str>>,
}

impl Reordered<'_, '_> {
    /// Finds modifiers for the slots, in their order, and leaves none over.
    fn assign(&mut self, slots: &[Slot]) -> bool {
        let Some((slot, others)) = slots.split_first() else {
            return self.taken.iter().all(Option::is_some);
        };
        let before = self.taken.clone();
        if slot.elements.iter().all(|element| self.take(element)) && self.assign(others) {
            return true;
        }
        self.taken = before;
        slot.optional && self.assign(others)
    }

    /// Finds a modifier for an element: one behind which no modifier of its kind has a slot already, and before which none
    /// is left without.
    fn take(&mut self, element: &PatternItem) -> bool {
        let fits = |&index: &usize| {
            self.taken[index].is_none()
                && element.accepts(self.given[index])
                && (self.kinds[index] == Kind::Other
                    || (0..index).all(|before| self.kinds[before] != self.kinds[index] || self.taken[before].is_some()))
        };
        let found = (0..self.given.len()).find(fits);
        if let Some(index) = found {
            self.taken[index] = Some(element.name);
        }
        found.is_some()
    }
}

impl Syntax {
    /// The statements, one a line, for messages.
    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("\n    {line}")).collect()
    }
}

/// The syntax of an instruction's forms; it is parsed once.
fn parsed(forms: &'static [Form]) -> &'static Syntax {
    static PARSED: LazyLock<RwLock<FxHashMap<(usize, usize), &'static Syntax>>> = LazyLock::new(RwLock::default);
    // Forms live forever, so an address and a length name one list.
    let key = (forms.as_ptr() as usize, forms.len());
    let known = PARSED.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(parsed) = known.get(&key) {
        return parsed;
    }
    drop(known);
    let parsed = Syntax::parse(forms).unwrap_or_else(|message| {
        // A test parses every registered syntax, so this is about one that is not registered.
        panic!("the syntax of an instruction is not in the notation: {message}")
    });
    PARSED.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert_with(|| Box::leak(Box::new(parsed)))
}

#[cfg(test)]
mod tests {
    use super::parse::count_operands;
    use super::*;
    use crate::isa::INSTRUCTIONS;
    use crate::lower::lowering::Lowering;

    fn integers(_: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
        Err(LowerError::new("integers"))
    }

    fn floats(_: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
        Err(LowerError::new("floats"))
    }

    const ADD: &[Form] = &[
        Form {
            syntax: "
                add.type       d, a, b;
                add{.sat}.s32  d, a, b;
                .type = { .u16, .u32 };
            ",
            lower: integers,
        },
        Form {
            syntax: "
                add{.rnd}{.ftz}{.sat}.f32 d, a, b;
                .rnd = { .rn, .rz };
            ",
            lower: floats,
        },
    ];

    /// The forms of one syntax.
    fn forms(syntax: &'static str) -> &'static [Form] {
        std::slice::from_ref(Box::leak(Box::new(Form { syntax, lower: integers })))
    }

    fn add(modifiers: &[&'static str], operands: usize) -> Option<Matched<'static>> {
        match_forms(ADD, "add", modifiers, operands).ok()
    }

    fn ld(syntax: &'static str, modifiers: &[&'static str], operands: usize) -> Option<Matched<'static>> {
        match_forms(forms(syntax), "ld", modifiers, operands).ok()
    }

    fn is(matched: &Matched<'_>, lower: Lower) -> bool {
        std::ptr::fn_addr_eq(matched.lower, lower)
    }

    #[test]
    fn placeholders_and_literals() {
        assert_eq!(add(&[".u16"], 3).unwrap().get("type"), Some(".u16"));
        let sat = add(&[".sat", ".s32"], 3).unwrap();
        assert!(is(&sat, integers) && sat.has(".sat") && sat.has(".s32"));
        let float = add(&[".rz", ".sat", ".ftz", ".f32"], 3).unwrap();
        assert_eq!(float.get("rnd"), Some(".rz"));
        assert!(is(&float, floats) && float.has(".ftz") && float.has(".sat"));
        assert!(!add(&[".f32"], 3).unwrap().has(".sat"));
        assert!(add(&[".f32"], 2).is_none());
        assert!(add(&[".rn", ".rn", ".f32"], 3).is_none());
    }

    #[test]
    fn modifiers_have_no_order() {
        let float = add(&[".f32", ".sat", ".rn"], 3).unwrap();
        assert_eq!(float.get("rnd"), Some(".rn"));
        assert!(is(&float, floats) && float.has(".sat"));
        assert!(add(&[".f32", ".rn", ".rn"], 3).is_none());
        assert!(add(&[".f32", ".rn", ".s32"], 3).is_none());
    }

    #[test]
    fn modifiers_of_one_kind_have_an_order() {
        const LD: &str = "
            ld{.rnd}.dtype.atype d, a;
            .rnd = { .rn };
            .dtype = { .f16, .f32 };
            .atype = { .f32, .s32 };

            ld.row.layout.to.from d, a, b;
            .layout = { .row, .col };
            .to = { .shared{::cta} };
            .from = { .global };";
        let types = ld(LD, &[".f16", ".rn", ".f32"], 2).unwrap();
        assert_eq!((types.get("dtype"), types.get("atype")), (Some(".f16"), Some(".f32")));
        assert!(ld(LD, &[".f32", ".f16", ".rn"], 2).is_none());
        assert!(ld(LD, &[".s32", ".rn", ".f32"], 2).is_none());
        assert!(ld(LD, &[".shared", ".row", ".global", ".col"], 3).is_some());
        assert!(ld(LD, &[".shared", ".col", ".global", ".row"], 3).is_none());
        assert!(ld(LD, &[".row", ".row", ".global", ".shared::cta"], 3).is_none());
    }

    #[test]
    fn what_belongs_to_the_name_stays_in_front() {
        const LD: &str = "ld.async!.sat{.ftz}.x d; ld.wait!{.parity!}{.ss}.y d; .ss = { .global };";
        assert!(ld(LD, &[".async", ".x", ".ftz", ".sat"], 1).is_some());
        assert!(ld(LD, &[".sat", ".async", ".x"], 1).is_none());
        assert!(ld(LD, &[".wait", ".y", ".global"], 1).is_some());
        assert!(ld(LD, &[".wait", ".parity", ".y", ".global"], 1).unwrap().has(".parity"));
        assert!(ld(LD, &[".wait", ".global", ".parity", ".y"], 1).is_none());
        let error = match_forms(forms(LD), "ld", &[".z"], 1).unwrap_err().to_string();
        assert!(error.contains("ld.wait{.parity}{.ss}.y d;"), "{error}");
    }

    #[test]
    fn types_are_told_from_other_modifiers() {
        for text in [".u32", ".pred", ".bf16x2", ".tf32", ".e4m3x2", ".ue8m0x2", ".e2m1", ".b6x16_p32", ".b128"] {
            assert_eq!(Kind::of(text), Kind::Type, "{text}");
        }
        for text in [".sat", ".sp", ".x4", ".m8n8", ".v2", ".f4e", ".b", ".s", ".L2::128B", ".eq"] {
            assert_eq!(Kind::of(text), Kind::Other, "{text}");
        }
    }

    #[test]
    fn definitions_belong_to_the_forms_above() {
        const TWO: &str = "ld.type d; .type = { .x }; ld.type d, e; .type = { .y };";
        assert!(ld(TWO, &[".x"], 1).is_some());
        assert!(ld(TWO, &[".x"], 2).is_none());
        assert!(ld(TWO, &[".y"], 2).is_some());
    }

    #[test]
    fn suffixed_alternatives_and_optional_operands() {
        const LD: &str = "
            // A comment.
            ld{.ss}{.level::hint}.type d, [a]{, policy};
            .ss = { .const, .shared{::cta, ::cluster} };
            .level::hint = { .L2::hint };
            .type = { .b32 };";
        assert_eq!(ld(LD, &[".shared::cta", ".b32"], 2).unwrap().get("ss"), Some(".shared::cta"));
        assert!(ld(LD, &[".shared", ".L2::hint", ".b32"], 3).is_some());
        assert!(ld(LD, &[".shared", ".b32"], 4).is_none());
        assert_eq!(count_operands("d, a{, b{, c}}"), 2..=4);
        assert_eq!(count_operands("{d0, d1}, [a, {b, c}], {!}p"), 3..=3);
        assert_eq!(count_operands("p[|q], a, b"), 3..=3);
        assert_eq!(count_operands(""), 0..=0);
    }

    #[test]
    fn errors_list_the_forms() {
        let error = match_forms(ADD, "add", &[".u8"], 3).unwrap_err().to_string();
        assert_eq!(error.lines().next(), Some("`add.u8` with 3 operand(s) is not a form of `add`; accepted are:"));
        assert!(error.contains("\n    add{.sat}.s32 d, a, b;"), "{error}");
        assert!(error.contains("\n    .type = { .u16, .u32 };"), "{error}");
    }

    /// Positions in a pattern for the intersection test: the flattened elements, and where each may be followed.
    fn states(pattern: &Pattern) -> Vec<(&PatternItem, usize, bool)> {
        let mut states = Vec::new();
        for slot in &pattern.slots {
            for (index, element) in slot.elements.iter().enumerate() {
                let skip = if slot.optional && index == 0 { slot.elements.len() } else { 0 };
                states.push((element, skip, slot.optional));
            }
        }
        states
    }

    fn overlap(a: &PatternItem, b: &PatternItem) -> bool {
        let texts = |element: &PatternItem| -> Vec<String> {
            if element.alternatives.is_empty() {
                vec![element.name.to_owned()]
            } else {
                element.alternatives.iter().map(|alternative| format!("{}{}", alternative.0, alternative.1)).collect()
            }
        };
        let b = texts(b);
        texts(a).iter().any(|text| b.contains(text))
    }

    fn intersect(a: &[(&PatternItem, usize, bool)], b: &[(&PatternItem, usize, bool)]) -> bool {
        match (a.first(), b.first()) {
            (None, None) => true,
            (Some(&(_, skip, _)), _) if skip > 0 && intersect(&a[skip..], b) => true,
            (_, Some(&(_, skip, _))) if skip > 0 && intersect(a, &b[skip..]) => true,
            (Some((x, ..)), Some((y, ..))) => overlap(x, y) && intersect(&a[1..], &b[1..]),
            _ => false,
        }
    }

    #[test]
    fn every_form_has_a_syntax_under_the_name_of_the_instruction() {
        for instruction in INSTRUCTIONS {
            let name = instruction.name;
            assert!(!instruction.forms.is_empty(), "{name} has no form");
            for form in instruction.forms {
                let syntax =
                    Syntax::parse(std::slice::from_ref(form)).unwrap_or_else(|message| panic!("{name}: {message}"));
                assert!(!syntax.patterns.is_empty(), "a form of {name} has no syntax");
                for pattern in &syntax.patterns {
                    assert_eq!(pattern.name, name);
                }
            }
            assert!(
                instruction.section.starts_with(|first: char| first.is_ascii_digit()),
                "{name} names no section of the manual"
            );
        }
    }

    #[test]
    fn no_two_forms_accept_the_same_text() {
        for instruction in INSTRUCTIONS {
            let syntax = Syntax::parse(instruction.forms).unwrap();
            for (index, a) in syntax.patterns.iter().enumerate() {
                for (offset, b) in syntax.patterns[index + 1..].iter().enumerate() {
                    let counts = a.operands.start() <= b.operands.end() && b.operands.start() <= a.operands.end();
                    assert!(
                        !(counts && intersect(&states(a), &states(b))),
                        "patterns {index} and {} of {} accept the same text",
                        index + 1 + offset,
                        instruction.name
                    );
                }
            }
        }
    }

    #[test]
    fn the_syntax_says_which_lanes_execute_it_together() {
        let convergence = |name: &str, modifiers: &[&'static str], operands: usize| {
            let instruction = crate::isa::find(name).unwrap();
            let matched = match_forms(instruction.forms, name, modifiers, operands).unwrap();
            matched.convergence.unwrap_or(instruction.convergence)
        };
        assert_eq!(convergence("vote", &[".sync", ".any", ".pred"], 3), Convergence::Members);
        assert_eq!(convergence("bar", &[".warp", ".sync"], 1), Convergence::Members);
        assert_eq!(convergence("bar", &[".sync"], 1), Convergence::Warp);
        assert_eq!(convergence("barrier", &[".sync"], 1), Convergence::Warp);
        assert_eq!(convergence("movmatrix", &[".sync", ".aligned", ".m8n8", ".trans", ".b16"], 2), Convergence::Warp);
        assert_eq!(convergence("activemask", &[".b32"], 1), Convergence::Warp);
        assert_eq!(convergence("add", &[".u32"], 3), Convergence::Lane);
    }

    #[test]
    fn mnemonics_are_sorted_and_unique() {
        for pair in INSTRUCTIONS.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} before {}", pair[0].name, pair[1].name);
        }
    }
}
