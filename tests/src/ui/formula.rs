//! The value of a word, by its index: `3 * (i ^ 63) + 1`. The operators and their precedence are those of C, on
//! unsigned words that wrap; `i == 5` is 1 or 0. The only variable is `i`.

use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

/// A formula of the index `i`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Formula {
    /// The index.
    Index,
    /// A number.
    Number(u32),
    /// An operator, by its index, and its operands.
    Binary(usize, Box<[Formula; 2]>),
}

/// An operator's sign, its precedence and what it does: nothing, if it divides by zero or shifts out of the word.
type Operator = (&'static str, u32, fn(u32, u32) -> Option<u32>);

/// Longer operators come before their prefixes.
const OPERATORS: [Operator; 11] = [
    ("|", 0, |a, b| Some(a | b)),
    ("^", 1, |a, b| Some(a ^ b)),
    ("&", 2, |a, b| Some(a & b)),
    ("==", 3, |a, b| Some((a == b).into())),
    ("<<", 4, u32::checked_shl),
    (">>", 4, u32::checked_shr),
    ("+", 5, |a, b| Some(a.wrapping_add(b))),
    ("-", 5, |a, b| Some(a.wrapping_sub(b))),
    ("*", 6, |a, b| Some(a.wrapping_mul(b))),
    ("/", 6, u32::checked_div),
    ("%", 6, u32::checked_rem),
];

impl Formula {
    /// Its value at an index.
    ///
    /// # Errors
    /// If it divides by zero or shifts by 32 or more.
    pub fn at(&self, index: u32) -> Result<u32> {
        match self {
            Self::Index => Ok(index),
            Self::Number(number) => Ok(*number),
            Self::Binary(operator, operands) => {
                let [a, b] = [operands[0].at(index)?, operands[1].at(index)?];
                let (_, _, operator) = OPERATORS[*operator];
                operator(a, b).with_context(|| format!("at {index}, {b} is no second operand"))
            }
        }
    }
}

impl FromStr for Formula {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut rest = text.trim();
        let formula = binary(&mut rest, 0)?;
        ensure!(rest.is_empty(), "`{rest}` is left over of the formula `{text}`");
        Ok(formula)
    }
}

/// Takes operands and operators of at least this precedence.
fn binary(rest: &mut &str, least: u32) -> Result<Formula> {
    let mut left = operand(rest)?;
    loop {
        let is_next = |(sign, precedence, _): &Operator| rest.starts_with(sign) && *precedence >= least;
        let Some(operator) = OPERATORS.iter().position(is_next) else {
            return Ok(left);
        };
        let (sign, precedence, _) = OPERATORS[operator];
        *rest = rest[sign.len()..].trim_start();
        let right = binary(rest, precedence + 1)?;
        left = Formula::Binary(operator, Box::new([left, right]));
    }
}

/// Takes `i`, a number, or a formula in parentheses.
fn operand(rest: &mut &str) -> Result<Formula> {
    if let Some(inner) = rest.strip_prefix('(') {
        *rest = inner.trim_start();
        let formula = binary(rest, 0)?;
        let behind = rest.strip_prefix(')').context("a parenthesis is not closed")?;
        *rest = behind.trim_start();
        return Ok(formula);
    }
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let (word, behind) = rest.split_at(end);
    *rest = behind.trim_start();
    let number = match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None if word == "i" => return Ok(Formula::Index),
        None => word.parse(),
    };
    match number {
        Ok(number) => Ok(Formula::Number(number)),
        Err(_) => bail!("`{word}` is neither `i` nor a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::Formula;

    #[test]
    fn formulas_are_those_of_c() {
        let at = |text: &str, index| {
            let formula: Formula = text.parse().expect("a formula");
            formula.at(index).ok()
        };
        assert_eq!(at("3 * i + (i ^ 63)", 5), Some(15 + (5 ^ 63)));
        assert_eq!(at("63 - i ^ 1", 5), Some((63 - 5) ^ 1));
        assert_eq!(at("i - 10 - 3", 20), Some(7));
        assert_eq!(at("(i == 5) * 0x10 + i / 2 * 2 % 3", 5), Some(17));
        assert_eq!(at("i & 3 | 1 << i", 4), Some(16));
        assert_eq!(at("i - 1", 0), Some(u32::MAX));
        assert_eq!(at("1 / i", 0), None);
    }

    #[test]
    fn what_is_none_is_named() {
        for (text, message) in [
            ("2 +", "`` is neither `i` nor a number"),
            ("j", "`j` is neither `i` nor a number"),
            ("(i", "a parenthesis is not closed"),
            ("i 2", "`2` is left over of the formula `i 2`"),
        ] {
            let error = text.parse::<Formula>().expect_err(text);
            assert_eq!(error.to_string(), message);
        }
    }
}
