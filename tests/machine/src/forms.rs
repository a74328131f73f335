//! The forms of instructions that compute values, from the corpus that assemblers agree about.

use std::sync::LazyLock;

use crate::choices::Choices;

const FORMS: &str = include_str!("../tests/ptxas/forms.txt");

/// The instructions that compute values of their operands alone.
const VALUES: &[&str] = &[
    "abs", "add", "and", "bfe", "bfi", "bfind", "bmsk", "brev", "clz", "cnot", "copysign", "cos", "cvt", "div", "dp2a",
    "dp4a", "ex2", "fma", "lg2", "lop3", "mad", "mad24", "max", "min", "mul", "mul24", "neg", "not", "or", "popc",
    "prmt", "rcp", "rem", "rsqrt", "sad", "selp", "set", "setp", "shf", "shl", "shr", "sin", "slct", "sqrt", "sub",
    "szext", "tanh", "testp", "xor",
];

/// The forms of these.
pub(crate) fn values() -> &'static [&'static str] {
    static ALL: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let is_value = |line: &&str| {
            let name = line.split(['.', ' ']).next().unwrap_or_default();
            VALUES.contains(&name) && !line.contains(['[', '{'])
        };
        FORMS.lines().filter(is_value).collect()
    });
    &ALL
}

/// A form with registers of the program.
pub(crate) fn with_registers(form: &str, choices: &mut Choices) -> String {
    // The registers of the corpus, which have their width only, and those of programs, with how many there are.
    const KINDS: &[(&str, char, usize)] =
        &[("%rd", 'q', 6), ("%r", 'r', 8), ("%h", 'h', 4), ("%p", 'p', 6), ("%b", 'b', 2), ("%q", 'w', 2)];
    let turn = choices.below(64);
    let mut out = String::new();
    let mut rest = form;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let found = KINDS.iter().find_map(|(name, kind, count)| {
            let behind = rest.strip_prefix(name)?;
            let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
            let number: usize = behind[..digits].parse().ok()?;
            Some((format!("%{kind}{}", (number + turn) % count), &behind[digits..]))
        });
        match found {
            Some((register, behind)) => {
                out.push_str(&register);
                rest = behind;
            }
            None => {
                out.push('%');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}
