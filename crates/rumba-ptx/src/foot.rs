//! The foot that the builder of kernels writes behind the PTX, in comment lines: the parameters of each kernel, and a
//! hash over the text.
//!
//! Such a text is *sealed*: a loader that finds the hash right knows that the text is what a builder wrote, whole and
//! unchanged. The hash finds accidents (an edit, a cut, PTX of another origin). It is no protection against intent:
//! a text with any contents can be sealed.
//!
//! ```
//! use rumba_ptx::foot;
//!
//! let mut text = ".version 7.0\n.target sm_70\n.visible .entry k() { ret; }\n".to_owned();
//! assert_eq!(foot::check(&text), Err(foot::Unsealed::Absent));
//! foot::seal(&mut text, [("k", "some crate 1.0\nvalue 4")]);
//! assert_eq!(foot::check(&text), Ok(()));
//! assert_eq!(foot::description(&text, "k").as_deref(), Some("some crate 1.0\nvalue 4"));
//! assert!(foot::described(&text).eq(["k"]));
//! assert_eq!(foot::check(&text.replace("ret", "trap")), Err(foot::Unsealed::Changed));
//! ```

use crate::set::{FLOOR, PLACE};

/// The start of each line of the foot.
const FOOT: &str = "//@";
/// The start of each line of a description.
const LINE: &str = "//@ ";
/// The start of the line before a kernel's description.
const KERNEL: &str = "//@kernel ";
/// The start of the last line.
pub(crate) const SEAL: &str = "//@seal ";

/// Why a text is not sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsealed {
    /// The text has no hash.
    Absent,
    /// The text differs from the text that was hashed.
    Changed,
}

/// Appends the descriptions of kernels by their names, and the hash over the text and the descriptions.
pub fn seal<'k>(text: &mut String, descriptions: impl IntoIterator<Item = (&'k str, &'k str)>) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    for (kernel, description) in descriptions {
        text.extend([KERNEL, kernel, "\n"]);
        for line in description.lines() {
            text.extend([LINE, line, "\n"]);
        }
    }
    let hash = written(text);
    text.extend([SEAL, &hash, "\n"]);
}

/// The start of a text that stands for PTX that was not built.
const UNBUILT: &str = "//@unbuilt ";

/// The text in place of PTX that was not built, with the reason.
///
/// ```
/// use rumba_ptx::foot;
///
/// let text = foot::unbuilt("docs.rs builds no kernels");
/// assert_eq!(foot::reason_unbuilt(&text), Some("docs.rs builds no kernels"));
/// assert_eq!(foot::reason_unbuilt(".version 7.0"), None);
/// ```
#[must_use]
pub fn unbuilt(reason: &str) -> String {
    format!("{UNBUILT}{}\n", reason.replace('\n', " "))
}

/// The reason why PTX was not built, if a text is in its place.
#[must_use]
pub fn reason_unbuilt(text: &str) -> Option<&str> {
    Some(text.strip_prefix(UNBUILT)?.trim_end())
}

/// The hash of a text as the seal line spells it: 16 hexadecimal digits.
fn written(text: &str) -> String {
    format!("{:016x}", hash(text.as_bytes()))
}

/// Whether a text is sealed.
///
/// # Errors
/// [`Unsealed`] names the reason if it is not.
pub fn check(text: &str) -> Result<(), Unsealed> {
    let text = text.trim_end();
    let start = text.rfind('\n').map_or(0, |newline| newline + 1);
    let (sealed, last) = text.split_at(start);
    match last.strip_prefix(SEAL) {
        Some(known) if known == written(sealed) => Ok(()),
        Some(_) => Err(Unsealed::Changed),
        // Something was put behind the hash, or there is none.
        None if sealed.contains(SEAL) => Err(Unsealed::Changed),
        None => Err(Unsealed::Absent),
    }
}

/// The text without its foot: the PTX alone.
pub fn without(text: &str) -> &str {
    let foot = [PLACE, FLOOR, KERNEL, SEAL].iter().filter_map(|line| {
        let first = text.starts_with(line).then_some(0);
        first.or_else(|| text.find(&format!("\n{line}")).map(|newline| newline + 1))
    });
    &text[..foot.min().unwrap_or(text.len())]
}

/// The description of a kernel.
pub fn description(text: &str, kernel: &str) -> Option<String> {
    let head = format!("\n{KERNEL}{kernel}\n");
    let start = text.rfind(&head)? + head.len();
    let lines = text[start..].lines().map_while(|line| line.strip_prefix(LINE));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// The kernels that have descriptions.
pub fn described(text: &str) -> impl Iterator<Item = &str> {
    // The descriptions are the last lines.
    text.lines().rev().take_while(|line| line.starts_with(FOOT)).filter_map(|line| line.strip_prefix(KERNEL))
}

/// A hash of 64 bits, of whole words: FNV-1a with a rotation, so that each bit reaches all others.
fn hash(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(PRIME).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    for &byte in rest {
        hash = step(hash, u64::from(byte));
    }
    // Texts of other lengths differ, and the last words reach all bits.
    (0..4).fold(step(hash, bytes.len() as u64), |hash, _| step(hash, 0))
}

#[cfg(test)]
mod tests {
    use super::{Unsealed, check, description, seal, without};

    fn sealed() -> String {
        let mut text = ".version 7.0\n.visible .entry k() { ret; }".to_owned();
        seal(&mut text, [("k", "one\ntwo"), ("kernel", "three")]);
        text
    }

    #[test]
    fn every_change_breaks_the_seal() {
        let text = sealed();
        assert_eq!(check(&text), Ok(()));
        assert_eq!(check(text.trim_end()), Ok(()), "white space at the end does not count");
        for at in 0..text.trim_end().len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let Ok(other) = String::from_utf8(bytes) else { continue };
            assert!(check(&other).is_err(), "a change of byte {at}");
            let mut cut = text.clone();
            cut.remove(at);
            assert!(check(&cut).is_err(), "without byte {at}");
        }
        assert_eq!(check(&format!("{text}.entry other() {{ trap; }}")), Err(Unsealed::Changed));
        assert_eq!(check(&format!(" {text}")), Err(Unsealed::Changed));
        assert_eq!(check(""), Err(Unsealed::Absent));
    }

    #[test]
    fn descriptions_are_found_by_the_whole_name() {
        let text = sealed();
        assert_eq!(description(&text, "k").as_deref(), Some("one\ntwo"));
        assert_eq!(description(&text, "kernel").as_deref(), Some("three"));
        assert_eq!(description(&text, "ker"), None);
        assert_eq!(without(&text), ".version 7.0\n.visible .entry k() { ret; }\n");
        assert_eq!(without("no foot"), "no foot");
    }
}
