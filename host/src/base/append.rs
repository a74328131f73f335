//! A map from which nothing is removed: references to values outlive its lock.

use parking_lot::RwLock;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// A map that only grows.
pub(crate) struct AppendMap<K, V> {
    /// Never handed out, so that each value has one owner: the map.
    values: RwLock<HashMap<K, Arc<V>>>,
}

impl<K, V> Default for AppendMap<K, V> {
    fn default() -> Self {
        AppendMap { values: RwLock::default() }
    }
}

impl<K: Eq + Hash, V> AppendMap<K, V> {
    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let value = Arc::as_ptr(self.values.read().get(key)?);
        // SAFETY: the value has an allocation of its own, which the map keeps until it is dropped or consumed.
        Some(unsafe { &*value })
    }

    /// The value of a key: this one, unless another one was there before.
    pub(crate) fn insert(&self, key: K, value: V) -> &V {
        let value = Arc::as_ptr(self.values.write().entry(key).or_insert_with(|| Arc::new(value)));
        // SAFETY: as in `get`.
        unsafe { &*value }
    }

    pub(crate) fn into_values(self) -> impl Iterator<Item = V> {
        self.values.into_inner().into_values().filter_map(Arc::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::AppendMap;

    #[test]
    fn references_stay_good_while_the_map_grows() {
        let map = AppendMap::default();
        let first = map.insert(0, "first".to_owned());
        for key in 1..1000 {
            map.insert(key, key.to_string());
        }
        assert_eq!(map.insert(0, "second".to_owned()), "first");
        assert_eq!((first.as_str(), map.get(&0), map.get(&1000)), ("first", Some(first), None));
        assert_eq!(map.into_values().count(), 1000);
    }
}
