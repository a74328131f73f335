//! Parsing syntax texts.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use crate::lower::instruction::{Convergence, Form, Lower};
use crate::lower::notation::{Alternative, Pattern, PatternItem, Slot, Syntax};

impl Syntax {
    /// Parses the syntax of forms.
    ///
    /// # Errors
    /// A sentence about the first statement that is not in the notation.
    pub(super) fn parse(forms: &'static [Form]) -> Result<Self, String> {
        let mut syntax = Self::default();
        for form in forms {
            syntax.add(form)?;
        }
        Ok(syntax)
    }

    fn add(&mut self, form: &'static Form) -> Result<(), String> {
        let mut group: Vec<(&'static str, &'static str)> = Vec::new();
        let mut definitions: HashMap<&'static str, Vec<Alternative>> = HashMap::new();
        for statement in statements(form.syntax) {
            self.lines.push(format!("{};", without_marks(statement).split_whitespace().collect::<Vec<_>>().join(" ")));
            if let Some((name, alternatives)) = definition(statement) {
                let alternatives = parse_alternatives(alternatives)
                    .ok_or_else(|| format!("`{statement}`: alternatives belong in braces"))?;
                definitions.insert(name, alternatives);
                continue;
            }
            if !definitions.is_empty() {
                self.close_group(&group, &definitions, form.lower)?;
                group.clear();
                definitions.clear();
            }
            let end = head_end(statement);
            group.push((&statement[..end], statement[end..].trim()));
        }
        self.close_group(&group, &definitions, form.lower)
    }

    fn close_group(
        &mut self,
        group: &[(&'static str, &'static str)],
        definitions: &HashMap<&'static str, Vec<Alternative>>,
        lower: Lower,
    ) -> Result<(), String> {
        for (head, operands) in group {
            self.patterns.push(parse_pattern(head, operands, definitions, lower)?);
        }
        Ok(())
    }
}

/// A statement as the manual has it, without marks.
fn without_marks(statement: &str) -> String {
    let (head, operands) = statement.split_at(head_end(statement));
    format!("{}{operands}", head.replace('!', ""))
}

/// The statements of a text, without `//` comments and the closing `;`.
fn statements(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split(';').filter_map(|statement| {
        let mut statement = statement.trim();
        while let Some(comment) = statement.strip_prefix("//") {
            statement = comment.split_once('\n').map_or("", |(_, rest)| rest).trim();
        }
        (!statement.is_empty()).then_some(statement)
    })
}

/// The two sides of `.name = …`.
fn definition(statement: &'static str) -> Option<(&'static str, &'static str)> {
    if !statement.starts_with('.') {
        return None;
    }
    let (name, alternatives) = statement.split_once('=')?;
    Some((name.trim(), alternatives.trim()))
}

/// Splits at the commas outside braces, brackets and parentheses.
fn split_commas(text: &'static str) -> Vec<&'static str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (position, character) in text.char_indices() {
        match character {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..position].trim());
                start = position + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn parse_alternatives(text: &'static str) -> Option<Vec<Alternative>> {
    let inside = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut alternatives = Vec::new();
    for part in split_commas(inside) {
        match part.split_once('{') {
            None => alternatives.push(Alternative(part, "")),
            Some((base, suffixes)) => {
                alternatives.push(Alternative(base, ""));
                alternatives.extend(
                    split_commas(suffixes.strip_suffix('}')?).into_iter().map(|suffix| Alternative(base, suffix)),
                );
            }
        }
    }
    Some(alternatives)
}

/// Where the mnemonic and its modifiers end.
fn head_end(statement: &str) -> usize {
    let mut depth = 0;
    for (position, character) in statement.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ if character.is_whitespace() && depth == 0 => return position,
            _ => {}
        }
    }
    statement.len()
}

fn parse_pattern(
    head: &'static str,
    operands: &'static str,
    definitions: &HashMap<&'static str, Vec<Alternative>>,
    lower: Lower,
) -> Result<Pattern, String> {
    let name_end = head.find(['.', '{']).unwrap_or(head.len());
    let mut slots = Vec::new();
    let mut fixed = 0;
    let mut rest = &head[name_end..];
    while !rest.is_empty() {
        let (text, optional, length) = if let Some(group) = rest.strip_prefix('{') {
            let end = group.find('}').ok_or_else(|| format!("`{head}`: a brace is not closed"))?;
            (&group[..end], true, end + 2)
        } else {
            let end = rest[1..].find(['.', '{']).map_or(rest.len(), |at| at + 1);
            (&rest[..end], false, end)
        };
        let mut elements = Vec::new();
        let mut names = text;
        while !names.is_empty() {
            if !names.starts_with('.') {
                return Err(format!("`{head}`: `{names}` should start with a dot"));
            }
            let end = names[1..].find('.').map_or(names.len(), |at| at + 1);
            let name = names[..end].trim_end_matches('!');
            if name.len() < end {
                fixed = slots.len() + 1;
            }
            elements.push(PatternItem { name, alternatives: definitions.get(name).cloned().unwrap_or_default() });
            names = &names[end..];
        }
        slots.push(Slot { optional, elements });
        rest = &rest[length..];
    }
    let is_aligned = |slot: &Slot| slot.elements.iter().any(|element| element.name == ".aligned");
    let convergence = if operands.contains("membermask") {
        Some(Convergence::Members)
    } else {
        slots.iter().any(is_aligned).then_some(Convergence::Warp)
    };
    Ok(Pattern { name: &head[..name_end], slots, fixed, operands: count_operands(operands), convergence, lower })
}

/// How many operands a pattern takes: `d, a{, b}` takes two or three.
pub(super) fn count_operands(text: &'static str) -> RangeInclusive<usize> {
    let (mut least, mut most) = (0, 0);
    for part in split_commas(text) {
        let mut rest = part;
        // An optional tail belongs to the part of the operand before it: `a{, b}`.
        while let Some(open) = rest.find('{') {
            let inside = &rest[open + 1..];
            let Some(close) = matching_brace(inside) else {
                break;
            };
            if let Some(tail) = inside[..close].trim_start().strip_prefix(',') {
                most += count_operands(tail).end();
            }
            rest = &inside[close + 1..];
        }
        least += 1;
        most += 1;
    }
    least..=most
}

fn matching_brace(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (position, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(position),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}
