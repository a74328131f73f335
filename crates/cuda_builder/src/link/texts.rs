//! Decides which texts a build makes, and which parts each text contains.
//!
//! There is a text for each architecture that a kernel states, and a text for all kernels that state none. Each text
//! has all kernels that its devices run, each kernel in its newest variant: so a device needs one text, which has each
//! variable of the crate once. A part that belongs to several texts is printed once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rumba_ptx::Target;
use rumba_ptx::set::{self, Member};

use super::parts::Whole;
use super::version::Floor;
use super::{Printed, merge};
use crate::arch::NvvmArch;

/// Parts that were printed for one architecture.
pub(super) struct Group {
    pub(super) floor: Floor,
    pub(super) printed: Vec<Printed>,
}

/// The parts by the architectures that their kernels state. The first group begins with what the host may look up, which has
/// no kernel. The kernels that probably need most come first: what they need is known before others are printed in vain.
pub(super) fn groups(whole: &Whole) -> Vec<(Option<NvvmArch>, Vec<Option<String>>)> {
    let mut groups: BTreeMap<Option<NvvmArch>, Vec<Option<String>>> = BTreeMap::new();
    let mut kernels: Vec<&String> = whole.symbols.kernels.iter().collect();
    kernels.sort_by_key(|kernel| Reverse(whole.estimates.get(*kernel)));
    for kernel in kernels {
        match whole.stated.get(kernel) {
            None => groups.entry(None).or_default().push(Some(kernel.clone())),
            Some(stated) => {
                for &arch in stated {
                    groups.entry(Some(arch)).or_default().push(Some(kernel.clone()));
                }
            }
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    match groups.first_mut() {
        Some((_, first)) => first.insert(0, None),
        None => groups.push((None, vec![None])),
    }
    groups
}

/// The architectures of the texts: those of the parts, and more where a device runs parts for two of which neither includes the
/// other, as one of 10.3 does for `sm_100f` and `sm_103`.
fn targets(floors: impl Iterator<Item = Target>) -> BTreeSet<Target> {
    let floors: BTreeSet<Target> = floors.collect();
    let joined = floors.iter().flat_map(|&newer| {
        let older = floors.iter().filter(move |&&older| older < newer && !newer.includes(older));
        older.map(move |&older| (newer.family(), older))
    });
    let joined: Vec<Target> = joined
        .filter(|(family, older)| family.includes(*older) && NvvmArch::of(*family).is_some())
        .map(|(family, _)| family)
        .collect();
    floors.into_iter().chain(joined).collect()
}

/// The sealed texts, and the architecture of the oldest.
pub(super) fn compose(groups: &[Group], whole: &Whole) -> (String, NvvmArch) {
    let targets = targets(groups.iter().map(|group| group.floor.arch.target()));
    let members = targets.iter().map(|&target| member(target, groups, whole));
    let oldest = targets.first().and_then(|&target| NvvmArch::of(target));
    (set::seal(members), oldest.unwrap_or(Floor::OLDEST.arch))
}

/// The text for an architecture.
fn member<'w>(target: Target, groups: &'w [Group], whole: &'w Whole) -> Member<'w> {
    let mut chosen: BTreeMap<Option<&str>, (Target, u32, &Printed)> = BTreeMap::new();
    for Group { floor, printed } in groups {
        let own = floor.arch.target();
        for part in printed {
            let kernel = part.kernel.as_deref();
            let is_newest = chosen.get(&kernel).is_none_or(|&(other, ..)| other < own);
            // Symbols for the host have no code.
            if kernel.is_none() || target.includes(own) && is_newest {
                chosen.insert(kernel, (own, floor.version, part));
            }
        }
    }
    let version = chosen.values().map(|&(_, version, _)| version);
    let oldest = NvvmArch::of(target).map(NvvmArch::ptx_version);
    let version = version.chain(oldest).max().unwrap_or(Floor::OLDEST.version);
    let parts: Vec<&str> = chosen.values().map(|(.., part)| part.ptx.as_str()).collect();
    let kernels = chosen.iter().filter_map(|(kernel, (floor, ..))| Some(((*kernel)?, *floor)));
    let descriptions = kernels.clone().filter_map(|(kernel, _)| {
        let description = whole.descriptions.get(kernel)?;
        Some((kernel, description.as_str()))
    });
    Member {
        text: merge::texts(&parts, target, version, &whole.symbols.statics),
        descriptions: descriptions.collect(),
        floors: kernels.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Whole, groups, targets};
    use crate::link::symbols::Symbols;
    use crate::link::version::Need;

    #[test]
    fn kernels_that_need_most_are_printed_first() {
        let name = str::to_owned;
        let whole = Whole {
            bitcode: Vec::new(),
            symbols: Symbols { kernels: ["a", "b", "c", "d"].map(name).into(), statics: Default::default() },
            directives: Default::default(),
            estimates: [("b", Need::new(70, 80)), ("c", Need::new(62, 30)), ("d", Need::new(80, 90))]
                .map(|(kernel, need)| (name(kernel), need))
                .into(),
            descriptions: Default::default(),
            stated: [(name("d"), vec!["sm_90".parse().expect("an architecture")])].into(),
        };
        let groups = groups(&whole);
        let parts: Vec<Vec<_>> = groups.iter().map(|(_, parts)| parts.iter().map(Option::as_deref).collect()).collect();
        assert_eq!(parts, [vec![None, Some("b"), Some("c"), Some("a")], vec![Some("d")]]);
    }

    #[test]
    fn a_text_for_each_device_has_all_that_it_runs() {
        for (floors, texts) in [
            (&["sm_80"][..], &["sm_80"][..]),
            (&["sm_80", "sm_90a", "sm_90"], &["sm_80", "sm_90", "sm_90a"]),
            (&["sm_90a", "sm_100"], &["sm_90a", "sm_100"]),
            (&["sm_100f", "sm_103"], &["sm_100f", "sm_103", "sm_103f"]),
            (&["sm_100f", "sm_103a"], &["sm_100f", "sm_103a"]),
            (&["sm_100a", "sm_103"], &["sm_100a", "sm_103"]),
            (&["sm_100f", "sm_120"], &["sm_100f", "sm_120"]),
        ] {
            let floors = floors.iter().map(|name| name.parse().expect("an architecture"));
            let found: Vec<String> = targets(floors).iter().map(ToString::to_string).collect();
            assert_eq!(found, texts);
        }
    }
}
