//! Architectures as `.target` names them, and which devices run a text for one (manual, section 11.1.2, ".target").
//!
//! This module has no list of architectures: it accepts any number, also one that no device has yet.

use std::fmt;
use std::str::FromStr;

/// A virtual architecture: `sm_80`, `sm_90a`, `sm_100f`. They are ordered by their number, then by how much of the hardware a
/// text for them may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    number: u32,
    features: Features,
}

/// The features that a text may use beyond those of all later architectures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Features {
    /// No further features: the text runs on every later device.
    Common,
    /// The features of the family: `sm_100f`.
    Family,
    /// The features of this architecture alone: `sm_90a`.
    Specific,
}

/// The families of more than one architecture (manual, section 11.1.2, the table of family-specific targets).
const FAMILIES: [&[u32]; 2] = [&[100, 103], &[120, 121]];

impl Target {
    /// The target that `.target` names in a text; `None` if the text has no such directive, or a malformed one.
    pub fn of(text: &str) -> Option<Self> {
        Directive::of(text)?.name.parse().ok()
    }

    /// The number: 90 for `sm_90a`.
    pub fn number(self) -> u32 {
        self.number
    }

    /// Whether there are such features: those of one architecture came with 9.0, those of a family with 10.0.
    pub fn is_defined(self) -> bool {
        match self.features {
            Features::Common => true,
            Features::Specific => self.number >= 90,
            Features::Family => self.number >= 100,
        }
    }

    /// Whether a text for this target runs on some devices only, not on every later device.
    pub fn is_specific(self) -> bool {
        self.features != Features::Common
    }

    /// The target of the same number with the features of the family: `sm_103f` for `sm_103`.
    #[must_use]
    pub fn family(self) -> Self {
        Self { features: Features::Family, ..self }
    }

    /// Whether a device of this compute capability, major and minor, runs a text for this target.
    pub fn runs_on(self, (major, minor): (u32, u32)) -> bool {
        let device = Self { number: major * 10 + minor, features: Features::Specific };
        device.includes(self)
    }

    /// Whether code for `other` is also code for this target.
    pub fn includes(self, other: Self) -> bool {
        let is_of_family =
            || FAMILIES.iter().any(|family| family.contains(&self.number) && family.contains(&other.number));
        match other.features {
            Features::Common => self.number >= other.number,
            Features::Family => {
                self.is_specific() && self.number >= other.number && (self.number == other.number || is_of_family())
            }
            Features::Specific => self == other,
        }
    }

    /// The target with this number, as [`code`](Self::code) encodes targets.
    pub fn from_code(code: u32) -> Option<Self> {
        let features = match code % 4 {
            0 => Features::Common,
            1 => Features::Family,
            2 => Features::Specific,
            _ => return None,
        };
        let number = code / 4;
        Some(Self { number, features })
    }

    /// The target as one number, for interfaces that pass numbers only: `cuda_std::cfg_arch!` computes the same number.
    pub fn code(self) -> u32 {
        let features = match self.features {
            Features::Common => 0,
            Features::Family => 1,
            Features::Specific => 2,
        };
        self.number * 4 + features
    }
}

/// The directive `.target` of a text, which follows `.version` (manual, section 11.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Directive<'t> {
    /// The first name, which is that of the architecture.
    pub name: &'t str,
    /// The line, from 1.
    pub line: usize,
}

impl<'t> Directive<'t> {
    /// The directive of a text, if it is there.
    pub fn of(text: &'t str) -> Option<Self> {
        let is_blank = |letter: char| letter.is_whitespace();
        let version = skip_blank(skip_blank(text).strip_prefix(".version")?);
        let directive = skip_blank(&version[version.find(is_blank)?..]);
        let names = skip_blank(directive.strip_prefix(".target")?);
        let end = names.find(|letter| is_blank(letter) || letter == ',' || letter == '/').unwrap_or(names.len());
        let before = &text[..text.len() - directive.len()];
        Some(Self { name: &names[..end], line: before.matches('\n').count() + 1 })
    }
}

/// The text after leading white space and comments.
pub fn skip_blank(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let rest = if let Some(comment) = text.strip_prefix("//") {
            comment.split_once('\n')
        } else if let Some(comment) = text.strip_prefix("/*") {
            comment.split_once("*/")
        } else {
            return text;
        };
        text = rest.map_or("", |(_, rest)| rest);
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.features {
            Features::Common => "",
            Features::Family => "f",
            Features::Specific => "a",
        };
        write!(f, "sm_{}{suffix}", self.number)
    }
}

/// The text names no architecture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no architecture such as `sm_80`, `sm_90a` or `sm_100f`")]
pub struct NoTarget(String);

impl FromStr for Target {
    type Err = NoTarget;

    /// Reads `sm_90a`.
    fn from_str(text: &str) -> Result<Self, NoTarget> {
        let unknown = || NoTarget(text.to_owned());
        let short = text.strip_prefix("sm_").ok_or_else(unknown)?;
        let digits = short.trim_end_matches(|c: char| !c.is_ascii_digit());
        let features = match &short[digits.len()..] {
            "" => Features::Common,
            "f" => Features::Family,
            "a" => Features::Specific,
            _ => return Err(unknown()),
        };
        let is_number = (2..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(number) if is_number => Ok(Self { number, features }),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Directive, Target};

    fn target(name: &str) -> Target {
        name.parse().expect("an architecture")
    }

    #[test]
    fn names_round_trip() {
        for name in ["sm_70", "sm_90a", "sm_100f", "sm_121"] {
            assert_eq!(target(name).to_string(), name);
            assert_eq!(Target::from_code(target(name).code()), Some(target(name)));
        }
        for name in ["sm_", "sm_9", "90", "sm_90b", "sm_90aa", "sm_a", "sm_1000", "compute_90", "sm_9a0", "sm_+90"] {
            assert!(name.parse::<Target>().is_err(), "{name}");
        }
        assert!(target("sm_90") < target("sm_90a") && target("sm_90a") < target("sm_100"));
    }

    #[test]
    fn a_text_says_what_it_is_for() {
        assert_eq!(Target::of(".version 8.0\n.target sm_90a\n"), Some(target("sm_90a")));
        assert_eq!(Target::of(".version 8.0 .target sm_80, debug .address_size 64"), Some(target("sm_80")));
        assert_eq!(Target::of(".version 8.0 .target compute_80"), None);
        assert_eq!(Target::of(".version 8.0"), None);
        let text = "// .version 7.0 .target sm_70\n.version 8.0 // not yet .target sm_75\n/* .target\nsm_80 */ .target\n\tsm_90a, debug\n";
        assert_eq!(Directive::of(text), Some(Directive { name: "sm_90a", line: 4 }));
        assert_eq!(Directive::of(".version 8.0\n.target sm_80// why"), Some(Directive { name: "sm_80", line: 2 }));
        assert_eq!(Directive::of(".version 8.0\n.target"), Some(Directive { name: "", line: 2 }));
    }

    #[test]
    fn what_runs_where() {
        let runs = |name: &str, major, minor| target(name).runs_on((major, minor));
        for (name, on, not_on) in [
            ("sm_80", [(8, 0), (8, 9), (12, 0)], [(7, 5), (7, 0), (0, 0)]),
            ("sm_90a", [(9, 0); 3], [(8, 9), (10, 0), (12, 0)]),
            ("sm_100f", [(10, 0), (10, 3), (10, 3)], [(9, 0), (10, 1), (12, 0)]),
            ("sm_100a", [(10, 0); 3], [(10, 3), (9, 0), (12, 0)]),
            ("sm_120f", [(12, 0), (12, 1), (12, 1)], [(10, 3), (11, 0), (9, 0)]),
        ] {
            for (major, minor) in on {
                assert!(runs(name, major, minor), "{name} on {major}.{minor}");
            }
            for (major, minor) in not_on {
                assert!(!runs(name, major, minor), "{name} on {major}.{minor}");
            }
        }
    }

    #[test]
    fn what_code_is_code_for_what() {
        let includes = |this: &str, other: &str| target(this).includes(target(other));
        assert!(includes("sm_90a", "sm_90") && includes("sm_90a", "sm_80") && includes("sm_90a", "sm_90a"));
        assert!(!includes("sm_90", "sm_90a") && !includes("sm_100a", "sm_90a") && !includes("sm_80", "sm_90"));
        assert!(includes("sm_100a", "sm_100f") && includes("sm_103f", "sm_100f") && includes("sm_103a", "sm_100f"));
        assert!(!includes("sm_103", "sm_100f") && !includes("sm_103f", "sm_100a") && !includes("sm_120f", "sm_100f"));
    }
}
