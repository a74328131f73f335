//! Several PTX texts in one value: one for each architecture that a crate's kernels ask for.
//!
//! A set is its texts one behind the other, oldest architecture first, each with a foot of its own ([`foot`]); most sets are
//! one text, which is then an ordinary PTX file. Each text of a set is complete for the devices that it is chosen for:
//! it has the newest variant of each kernel for its architecture, and the module's variables. So a device loads one
//! text, never two.
//!
//! ```
//! use rumba_ptx::set::{self, Member};
//!
//! let text = |target: &str| format!(".version 8.0\n.target {target}\n.visible .entry product() {{ ret; }}\n");
//! let set = set::seal([("sm_80", "sm_80"), ("sm_90a", "sm_90a")].map(|(target, floor)| Member {
//!     text: text(target),
//!     descriptions: vec![("product", "some crate 1.0")],
//!     floors: vec![("product", floor.parse().unwrap())],
//! }));
//! assert_eq!(set::check(&set), Ok(()));
//!
//! let target = |capability| set::choose(&set, capability).and_then(rumba_ptx::Target::of).unwrap().to_string();
//! assert_eq!(target((9, 0)), "sm_90a");
//! assert_eq!(target((10, 0)), "sm_80");
//! assert!(set::choose(&set, (7, 5)).is_none());
//! ```

use crate::foot::{self, SEAL, Unsealed};
use crate::target::Target;

/// A text before it is sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'k> {
    /// The PTX.
    pub text: String,
    /// The descriptions of kernels by their names.
    pub descriptions: Vec<(&'k str, &'k str)>,
    /// The architecture for which each kernel of the text was compiled, which may be older than the text's.
    pub floors: Vec<(&'k str, Target)>,
}

/// Seals texts and joins them. A single text is sealed as [`foot::seal`] does it.
pub fn seal<'k>(members: impl IntoIterator<Item = Member<'k>>) -> String {
    let mut members: Vec<Member<'_>> = members.into_iter().collect();
    if let [only] = members.as_mut_slice() {
        foot::seal(&mut only.text, only.descriptions.iter().copied());
        return std::mem::take(&mut only.text);
    }
    let count = members.len();
    let mut set = String::new();
    for (index, member) in members.into_iter().enumerate() {
        let mut text = member.text;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&place(index, count));
        for (kernel, floor) in member.floors {
            text.push_str(&format!("{FLOOR}{kernel} {floor}\n"));
        }
        foot::seal(&mut text, member.descriptions);
        set.push_str(&text);
    }
    set
}

/// The start of the line with the number of the text in its set, and the number of texts.
pub(crate) const PLACE: &str = "//@text ";
/// The start of the line with the architecture for which a kernel was compiled.
pub(crate) const FLOOR: &str = "//@floor ";

/// The line with the number of the text in its set, and the number of texts.
fn place(index: usize, count: usize) -> String {
    format!("{PLACE}{} of {count}\n", index + 1)
}

/// The texts of a set, each with its foot.
pub fn texts(set: &str) -> Vec<&str> {
    let (mut texts, mut rest) = (Vec::new(), set);
    let seal = format!("\n{SEAL}");
    while let Some(at) = rest.find(&seal) {
        let end = rest[at + 1..].find('\n').map_or(rest.len(), |end| at + 1 + end + 1);
        let (text, after) = rest.split_at(end);
        texts.push(text);
        rest = after;
    }
    if texts.is_empty() || !rest.trim().is_empty() {
        texts.push(rest);
    }
    texts
}

/// Whether all texts are sealed, and none is missing.
///
/// # Errors
/// [`Unsealed`] names the reason if they are not.
pub fn check(set: &str) -> Result<(), Unsealed> {
    let texts = texts(set);
    let (count, mut first) = (texts.len(), None);
    for (index, text) in texts.iter().enumerate() {
        // A text of a set of several states its number, and a single text does not.
        let is_placed = if count > 1 {
            text.contains(&format!("\n{}", place(index, count)))
        } else {
            !text.contains(&format!("\n{PLACE}"))
        };
        match foot::check(text) {
            Ok(()) if is_placed => {}
            Err(unsealed) if count == 1 => return Err(unsealed),
            Ok(()) | Err(_) => first = Some(Unsealed::Changed),
        }
    }
    first.map_or(Ok(()), Err)
}

/// The text for a device of this compute capability, major and minor: the text for the newest architecture that the
/// device runs.
pub fn choose(set: &str, capability: (u32, u32)) -> Option<&str> {
    let fitting = texts(set).into_iter().filter_map(|text| {
        let target = Target::of(text)?;
        target.runs_on(capability).then_some((target, text))
    });
    fitting.max_by_key(|&(target, _)| target).map(|(_, text)| text)
}

/// The kernels of a text, in its order.
pub fn kernels(text: &str) -> Vec<&str> {
    const ENTRY: &str = ".entry";
    text.match_indices(ENTRY)
        .filter_map(|(at, _)| {
            let before = text[..at].rsplit('\n').next()?;
            let rest = text[at + ENTRY.len()..].lines().next()?;
            let name = rest.trim_start().split(['(', ' ', '\t']).next()?;
            (!name.is_empty() && !before.trim_start().starts_with("//")).then_some(name)
        })
        .collect()
}

/// The architectures that a kernel was compiled for, oldest first; empty if the set has no kernel of this name.
pub fn floors(set: &str, kernel: &str) -> Vec<Target> {
    let line = format!("\n{FLOOR}{kernel} ");
    let with_kernel = texts(set).into_iter().filter(|text| kernels(text).contains(&kernel));
    let mut floors: Vec<Target> = with_kernel
        .filter_map(|text| match text.rfind(&line) {
            Some(at) => text[at + line.len()..].lines().next()?.parse().ok(),
            None => Target::of(text),
        })
        .collect();
    floors.sort();
    floors.dedup();
    floors
}

#[cfg(test)]
mod tests {
    use super::{Member, check, choose, floors, kernels, seal, texts};
    use crate::foot::{self, Unsealed};
    use crate::target::Target;

    fn target(name: &str) -> Target {
        name.parse().expect("an architecture")
    }

    /// A text with kernels and the architectures that they were compiled for.
    fn member<'k>(name: &str, compiled: &[(&'k str, &str)]) -> Member<'k> {
        let entries = compiled.iter().map(|(kernel, _)| format!(".visible .entry {kernel}(\n)\n{{ ret; }}\n"));
        Member {
            text: format!(".version 8.0\n.target {name}\n{}", entries.collect::<String>()),
            descriptions: compiled.iter().map(|(kernel, _)| (*kernel, "a crate")).collect(),
            floors: compiled.iter().map(|(kernel, floor)| (*kernel, target(floor))).collect(),
        }
    }

    fn set() -> String {
        seal([
            member("sm_70", &[("plain", "sm_70")]),
            member("sm_80", &[("plain", "sm_70"), ("product", "sm_80")]),
            member("sm_90a", &[("plain", "sm_70"), ("product", "sm_90a"), ("new", "sm_90a")]),
        ])
    }

    #[test]
    fn the_newest_text_that_a_device_runs_is_chosen() {
        let names = ["sm_70", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a", "sm_103"];
        for (has, capability, chosen) in [
            (&["sm_80"][..], (8, 0), Some("sm_80")),
            (&["sm_80"], (12, 1), Some("sm_80")),
            (&["sm_80"], (7, 5), None),
            (&["sm_90a"], (9, 0), Some("sm_90a")),
            (&["sm_90a"], (8, 9), None),
            (&["sm_90a"], (10, 0), None),
            (&["sm_70", "sm_90a"], (10, 0), Some("sm_70")),
            (&["sm_80", "sm_90", "sm_90a"], (9, 0), Some("sm_90a")),
            (&["sm_80", "sm_90", "sm_90a"], (8, 6), Some("sm_80")),
            (&["sm_80", "sm_90", "sm_90a"], (10, 0), Some("sm_90")),
            (&["sm_90", "sm_100f"], (10, 3), Some("sm_100f")),
            (&["sm_90", "sm_100f"], (12, 0), Some("sm_90")),
            (&["sm_90", "sm_100f", "sm_100a"], (10, 0), Some("sm_100a")),
            (&names, (7, 0), Some("sm_70")),
            (&names, (8, 9), Some("sm_80")),
            (&names, (9, 0), Some("sm_90a")),
            (&names, (10, 0), Some("sm_100a")),
            (&names, (10, 3), Some("sm_103")),
            (&names, (12, 0), Some("sm_103")),
            (&names, (6, 1), None),
        ] {
            let set = seal(has.iter().map(|name| member(name, &[("k", name)])));
            let found = choose(&set, capability).and_then(Target::of);
            assert_eq!(found, chosen.map(target), "of {has:?} for {capability:?}");
        }
    }

    #[test]
    fn a_set_of_one_is_a_plain_text() {
        let one = member("sm_70", &[("plain", "sm_70")]);
        let mut plain = one.text.clone();
        foot::seal(&mut plain, one.descriptions.iter().copied());
        assert_eq!(seal([one]), plain);
        assert_eq!(texts(&plain), [plain.as_str()]);
        assert_eq!(check(&plain), Ok(()));
        assert_eq!(floors(&plain, "plain"), [target("sm_70")]);
    }

    #[test]
    fn each_text_is_itself() {
        let set = set();
        assert_eq!(check(&set), Ok(()));
        assert_eq!(texts(&set).concat(), set);
        let all: Vec<_> = texts(&set).into_iter().map(kernels).collect();
        assert_eq!(all, [&["plain"][..], &["plain", "product"], &["plain", "product", "new"]]);
        for text in texts(&set) {
            assert_eq!(foot::check(text), Ok(()));
            assert_eq!(foot::description(text, "plain").as_deref(), Some("a crate"));
            assert!(!foot::without(text).contains("//@"), "{text}");
        }
        assert_eq!(floors(&set, "plain"), [target("sm_70")]);
        assert_eq!(floors(&set, "product"), [target("sm_80"), target("sm_90a")]);
        assert_eq!(floors(&set, "new"), [target("sm_90a")]);
        assert_eq!(floors(&set, "old"), []);
    }

    #[test]
    fn what_is_missing_or_added_is_noticed() {
        let set = set();
        let of = texts(&set);
        for (what, other) in [
            ("the last text", [of[0], of[1]].concat()),
            ("the first text", [of[1], of[2]].concat()),
            ("all but one", of[0].to_owned()),
            ("the order", [of[1], of[0], of[2]].concat()),
            ("one twice", [of[0], of[1], of[2], of[2]].concat()),
            ("a plain text behind", set.clone() + &seal([member("sm_100", &[])])),
            ("text behind", format!("{set}.entry other() {{ trap; }}")),
            ("a changed text", set.replacen("ret", "trap", 1)),
            ("a cut text", set[..set.len() - 30].to_owned()),
        ] {
            assert_eq!(check(&other), Err(Unsealed::Changed), "{what}");
        }
        assert_eq!(check(".version 8.0\n.target sm_70\n"), Err(Unsealed::Absent));
        assert_eq!(check(""), Err(Unsealed::Absent));
    }
}
