//! `.version` and `.target` (manual, section 11.1).

use crate::lower::availability::Target;
use rumba_ptx::ast::{self, Span, Version};

use crate::load::verify::Errors;

/// The architectures, with the version that introduced them.
const TARGETS: &[(u32, (u32, u32))] = &[
    (20, (2, 0)),
    (21, (2, 0)),
    (30, (3, 0)),
    (32, (4, 0)),
    (35, (3, 1)),
    (37, (4, 1)),
    (50, (4, 0)),
    (52, (4, 1)),
    (53, (4, 2)),
    (60, (5, 0)),
    (61, (5, 0)),
    (62, (5, 0)),
    (70, (6, 0)),
    (72, (6, 1)),
    (75, (6, 3)),
    (80, (7, 0)),
    (86, (7, 1)),
    (87, (7, 4)),
    (88, (9, 0)),
    (89, (7, 8)),
    (90, (7, 8)),
    (100, (8, 6)),
    (101, (8, 6)),
    (103, (8, 8)),
    (110, (9, 0)),
    (120, (8, 7)),
    (121, (8, 8)),
];

/// The last minor version of each earlier major version.
const LAST_MINORS: [u32; 9] = [0, 5, 3, 2, 3, 1, 5, 8, 8];

/// The latest known major version. Its later minor versions are accepted: a form that they add is refused where it
/// occurs.
const LAST_MAJOR: u32 = 9;

/// Checks the directives at the start of a module, and returns its target.
pub(super) fn check(module: &ast::Module<'_>, errors: &mut Errors) -> Target {
    let start = Span::default();
    let mut target = Target { number: 90, specific: true };
    let Version { major, minor } = module.version;
    if major > LAST_MAJOR {
        errors.add(start, format!("PTX of version {major}.{minor} is newer than this device knows"));
    }
    if LAST_MINORS.get(major as usize).is_some_and(|last| minor > *last) {
        errors.add(start, format!("there is no version {major}.{minor} of PTX"));
    }
    for (position, name) in module.targets.iter().enumerate() {
        if position > 0 && OPTIONS.contains(name) {
            if *name == "debug" && !module.items.iter().any(|item| matches!(item, ast::Item::Section(_))) {
                errors.add(start, "`.target debug` needs sections of debug information");
            }
            continue;
        }
        let Some(digits) = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_")) else {
            errors.add(start, format!("`{name}` is not a target"));
            continue;
        };
        let specific = digits.ends_with(['a', 'f']);
        let number = digits.trim_end_matches(['a', 'f']).parse().unwrap_or(0);
        let Some((_, since)) = TARGETS.iter().find(|(known, _)| *known == number) else {
            errors.add(start, format!("`{name}` is not a target that is known"));
            continue;
        };
        if (major, minor) < *since {
            let (major, minor) = since;
            errors.add(start, format!("`{name}` needs .version {major}.{minor} or later"));
        }
        target = Target { number, specific };
    }
    target
}

/// The options that may follow the architecture.
const OPTIONS: &[&str] = &["debug", "texmode_unified", "texmode_independent"];
