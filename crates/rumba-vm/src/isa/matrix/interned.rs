//! What operations refer to for good: one value for each text.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Values by their texts. They are never freed, and there are as many as there are forms.
pub(crate) struct Interned<T: 'static>(Mutex<BTreeMap<String, &'static T>>);

impl<T> Interned<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// The value of a text: this one, if there was none.
    pub(crate) fn of(&self, text: String, value: T) -> &'static T {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(text).or_insert_with(|| Box::leak(Box::new(value)))
    }
}
