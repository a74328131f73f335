//! Values that operations refer to for the lifetime of the process: one value for each text.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Values by their texts. They are never freed; their number is bounded by the number of instruction forms.
pub(crate) struct Interned<T: 'static>(Mutex<BTreeMap<String, &'static T>>);

impl<T> Interned<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// The value of a text: `value`, if the text had none.
    pub(crate) fn of(&self, text: String, value: T) -> &'static T {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(text).or_insert_with(|| Box::leak(Box::new(value)))
    }
}
