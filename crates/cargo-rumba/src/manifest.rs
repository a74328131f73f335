//! Additions to a `Cargo.toml` that keep the rest of its text. Each addition is compared with what TOML makes of the new text.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

/// A manifest, and its text before the additions.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) file: PathBuf,
    pub(crate) before: String,
    pub(crate) text: String,
}

impl Manifest {
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?;
        Ok(Self { file: file.to_owned(), before: text.clone(), text })
    }

    /// Whether there is a table.
    pub(crate) fn has(&self, table: &[&str]) -> bool {
        self.text.parse().is_ok_and(|manifest: Table| find(&manifest, table).is_some())
    }

    /// Adds a line `KEY = VALUE` to a table, unless the table has the key.
    ///
    /// # Errors
    /// If the table has another form than a header in a line of its own.
    pub(crate) fn add(&mut self, table: &[&str], key: &str, value: &str) -> Result<()> {
        let before: Table = self.text.parse().with_context(|| format!("in {}", self.file.display()))?;
        if find(&before, table).is_some_and(|table| table.contains_key(key)) {
            return Ok(());
        }
        let header = format!("[{}]", table.join("."));
        let line = format!("{key} = {value}");
        let mut lines: Vec<&str> = self.text.lines().collect();
        let is_header = |text: &&str| text.split('#').next().unwrap_or_default().trim() == header;
        match lines.iter().position(is_header) {
            Some(at) => {
                let rest = &lines[at + 1..];
                // The line is inserted behind the last line with text in this table.
                let end = rest.iter().position(|line| line.trim_start().starts_with('[')).unwrap_or(rest.len());
                let last = rest[..end].iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
                lines.insert(at + 1 + last, &line);
            }
            None => lines.extend(["", &header, &line]),
        }
        let text = lines.join("\n") + "\n";
        let after = text.parse::<Table>().ok();
        let is_right = after.is_some_and(|mut after| {
            let added = line.parse::<Table>().ok().and_then(|mut line| line.remove(key));
            added.is_some() && take(&mut after, table, key) == added && without_empty(after) == without_empty(before)
        });
        ensure!(
            is_right,
            "{} has a table `{}` in another form than lines below a header; add to the table:\n{line}",
            self.file.display(),
            table.join(".")
        );
        self.text = text;
        Ok(())
    }

    /// Adds a table of these lines to an array of tables, at the end of the text.
    ///
    /// # Errors
    /// If the array has another form than headers in lines of their own.
    pub(crate) fn add_entry(&mut self, array: &str, lines: &str) -> Result<()> {
        let before: Table = self.text.parse().with_context(|| format!("in {}", self.file.display()))?;
        let text = format!("{}\n\n[[{array}]]\n{lines}\n", self.text.trim_end());
        let mut after = text.parse::<Table>().ok();
        let entries = after.as_mut().and_then(|after| after.get_mut(array)?.as_array_mut());
        let is_right = entries.is_some_and(|entries| entries.pop().is_some()) && {
            // Without the entry there is an empty array, where there was none.
            let mut expected = before;
            expected.entry(array).or_insert_with(|| Value::Array(Vec::new()));
            after == Some(expected)
        };
        ensure!(
            is_right,
            "{} has `{array}` in another form than headers `[[{array}]]`; add to it:\n{lines}",
            self.file.display()
        );
        self.text = text;
        Ok(())
    }
}

fn find<'t>(manifest: &'t Table, path: &[&str]) -> Option<&'t Table> {
    path.iter().try_fold(manifest, |table, name| table.get(*name)?.as_table())
}

/// Takes a key out of a table.
fn take(manifest: &mut Table, path: &[&str], key: &str) -> Option<Value> {
    path.iter().try_fold(manifest, |table, name| table.get_mut(*name)?.as_table_mut())?.remove(key)
}

/// The table without empty tables in it.
fn without_empty(table: Table) -> Table {
    let kept = table.into_iter().map(|(key, value)| match value {
        Value::Table(table) => (key, Value::Table(without_empty(table))),
        value => (key, value),
    });
    kept.filter(|(_, value)| value.as_table().is_none_or(|table| !table.is_empty())).collect()
}

#[cfg(test)]
mod tests {
    use super::Manifest;

    fn manifest(text: &str) -> Manifest {
        Manifest { file: "Cargo.toml".into(), before: text.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn lines_are_added_to_tables_and_nothing_else_changes() {
        let cases = [
            ("[dependencies]\na = \"1\"\n\n[features]\n", "[dependencies]\na = \"1\"\nk = 1\n\n[features]\n"),
            ("[ package ]\n\n[dependencies] # of all\n", "[ package ]\n\n[dependencies] # of all\nk = 1\n"),
            ("[package]\nname = \"a\"", "[package]\nname = \"a\"\n\n[dependencies]\nk = 1\n"),
            ("[dependencies.a]\npath = \"a\"\n", "[dependencies.a]\npath = \"a\"\n\n[dependencies]\nk = 1\n"),
            ("[dependencies]\nk = 2 # mine\n", "[dependencies]\nk = 2 # mine\n"),
        ];
        for (before, after) in cases {
            let mut manifest = manifest(before);
            manifest.add(&["dependencies"], "k", "1").unwrap();
            assert_eq!(manifest.text, after);
        }
    }

    #[test]
    fn entries_are_added_to_arrays() {
        let added = "[[bench]]\nname = \"k\"\n";
        for before in ["[package]\nname = \"a\"\n", "[[bench]]\nname = \"b\" # mine\n\n[features]\n"] {
            let mut manifest = manifest(before);
            manifest.add_entry("bench", "name = \"k\"").unwrap();
            assert_eq!(manifest.text, format!("{before}\n{added}"));
        }
        let mut manifest = manifest("bench = [{ name = \"b\" }]\n");
        let error = manifest.add_entry("bench", "name = \"k\"").unwrap_err().to_string();
        assert!(error.contains("add to it:\nname = \"k\""), "{error}");
    }

    #[test]
    fn tables_in_other_forms_are_left_to_their_author() {
        for text in
            ["dependencies = { a = \"1\" }\n", "dependencies.a = \"1\"\n", "[dependencies]\na = [\n  [1],\n  [2],\n]\n"]
        {
            let mut manifest = manifest(text);
            let error = manifest.add(&["dependencies"], "k", "1").unwrap_err().to_string();
            assert!(error.contains("add to the table:\nk = 1"), "{error}");
            assert_eq!(manifest.text, text);
        }
    }
}
