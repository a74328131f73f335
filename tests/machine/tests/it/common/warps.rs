//! Native code for launches whose warps all have, or all lack, active lanes: half of the code, which LLVM compiles in half of the time.

use rumba_vm::Engine;

use super::compiler;

/// The warps of a launch. Native code has a version of each block for warps with all lanes active, and one for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warps {
    Full,
    Partial,
}

impl Warps {
    /// Native code without the version that no warp of the launch enters; nothing on machines without LLVM. A warp that enters that
    /// version after all is refused, and interpreted.
    pub(crate) fn native(self) -> Option<Engine> {
        let compiler = match self {
            Self::Full => compiler::of(Some(|text| refuse(text, "Masked"))),
            Self::Partial => compiler::of(Some(|text| refuse(text, "Full"))),
        };
        Some(Engine::compiled(compiler?))
    }
}

/// Refuses warps that enter the code in a version: no branch of an entry leads there.
fn refuse(text: &str, version: &str) -> String {
    let is_entry = |label: &str| label.starts_with("%entry") && label.ends_with(version);
    let edit = |word: &str| if is_entry(word) { "%refused".to_owned() } else { word.to_owned() };
    let of_line = |line: &str| line.split(", label ").map(edit).collect::<Vec<_>>().join(", label ") + "\n";
    text.lines().map(of_line).collect()
}
