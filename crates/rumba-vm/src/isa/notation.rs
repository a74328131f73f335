//! Matching an instruction against the forms that the PTX manual gives for it.

/// The form that an instruction matched, with the modifiers that its placeholders took.
pub struct Matched<'s> {
    modifiers: Vec<(&'static str, &'s str)>,
}

impl<'s> Matched<'s> {
    /// The modifier that stands for a placeholder (`"type"` for `.type`), with its dot.
    pub fn get(&self, placeholder: &str) -> Option<&'s str> {
        self.modifiers
            .iter()
            .find(|(name, _)| *name == placeholder)
            .map(|(_, text)| *text)
    }
}
