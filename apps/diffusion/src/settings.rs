//! Files of settings, which are objects of JSON. The reader of a setting states the supported values.

use crate::error::{Error, Result};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// The largest count: more than any network has of anything, and few enough to be multiplied.
const MOST: usize = 1 << 20;

/// Levels of a network at most, each of which halves pictures.
const LEVELS: usize = 8;

/// The settings of a file.
#[derive(Debug)]
pub(crate) struct Settings {
    file: PathBuf,
    values: Map<String, Value>,
}

impl Settings {
    /// Reads a file.
    pub(crate) fn read(file: &Path) -> Result<Settings> {
        let file = file.to_owned();
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(error) => return Err(Error::Unreadable { file, error }),
        };
        Settings::of(file, &text)
    }

    /// The settings of a file's text.
    pub(crate) fn of(file: PathBuf, text: &[u8]) -> Result<Settings> {
        match serde_json::from_slice(text) {
            Ok(values) => Ok(Settings { file, values }),
            Err(error) => Err(Error::Json { file, error }),
        }
    }

    /// The value of a setting, if it has one.
    pub(crate) fn get(&self, setting: &str) -> Option<&Value> {
        self.values.get(setting).filter(|value| !value.is_null())
    }

    /// The error for a setting whose value is not supported.
    pub(crate) fn refuse<R>(&self, setting: &str, supported: impl Into<String>) -> Result<R> {
        Err(Error::Setting {
            file: self.file.clone(),
            setting: setting.to_owned(),
            value: self.values.get(setting).map_or("missing".to_owned(), Value::to_string),
            supported: supported.into(),
        })
    }

    /// Reads a setting by a function, which returns `None` for unsupported values.
    fn read_as<R>(
        &self,
        setting: &str,
        default: Option<R>,
        supported: &str,
        read: impl FnOnce(&Value) -> Option<R>,
    ) -> Result<R> {
        let value = match self.get(setting) {
            Some(value) => read(value),
            None => default,
        };
        value.map_or_else(|| self.refuse(setting, format!("it has to be {supported}")), Ok)
    }

    /// How many there are of something: one at least.
    pub(crate) fn count(&self, setting: &str, default: Option<usize>) -> Result<usize> {
        self.read_as(setting, default, &format!("a whole number from 1 to {MOST}"), count)
    }

    /// A whole number.
    pub(crate) fn whole(&self, setting: &str, default: usize) -> Result<usize> {
        let read = |value: &Value| match value.as_u64()? {
            0 => Some(0),
            _ => count(value),
        };
        self.read_as(setting, Some(default), &format!("a whole number up to {MOST}"), read)
    }

    /// A number.
    pub(crate) fn number(&self, setting: &str, default: Option<f64>) -> Result<f64> {
        self.read_as(setting, default, "a number", Value::as_f64)
    }

    /// Yes or no.
    pub(crate) fn flag(&self, setting: &str, default: bool) -> Result<bool> {
        self.read_as(setting, Some(default), "true or false", Value::as_bool)
    }

    /// As many counts as there are levels, of a list or of one number for all.
    pub(crate) fn counts(&self, setting: &str, levels: usize) -> Result<Vec<usize>> {
        let supported = format!("a whole number from 1 to {MOST}, or a list of {levels}");
        self.read_as(setting, None, &supported, |value| match value {
            Value::Array(list) if list.len() == levels => list.iter().map(count).collect(),
            value => Some(vec![count(value)?; levels]),
        })
    }

    /// Counts of the levels of a network.
    pub(crate) fn levels(&self, setting: &str) -> Result<Vec<usize>> {
        let read = |value: &Value| {
            let list = value.as_array().filter(|list| (1..=LEVELS).contains(&list.len()));
            list?.iter().map(count).collect()
        };
        let supported = format!("a list of 1 to {LEVELS} whole numbers from 1 to {MOST}");
        self.read_as(setting, None, &supported, read)
    }

    /// One of several words.
    pub(crate) fn choice<R: Copy>(&self, setting: &str, default: Option<R>, choices: &[(&str, R)]) -> Result<R> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let supported = format!("one of {}", names.join(", "));
        self.read_as(setting, default, &supported, |value| {
            let (_, choice) = choices.iter().find(|(name, _)| value == name)?;
            Some(*choice)
        })
    }

    /// Checks settings that support a single value, which is also their default.
    pub(crate) fn fixed(&self, settings: &[(&str, Value)]) -> Result<()> {
        for (setting, only) in settings {
            let value = self.values.get(*setting).unwrap_or(only);
            let same = match (value.as_f64(), only.as_f64()) {
                (Some(value), Some(only)) => value == only,
                _ => value == only,
            };
            if !same {
                return self.refuse(setting, format!("only {only} is supported"));
            }
        }
        Ok(())
    }
}

fn count(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok().filter(|count| (1..=MOST).contains(count))
}
