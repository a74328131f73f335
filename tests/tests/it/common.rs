//! Shared by several tests: texts without addresses, and the files of the repository.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

/// The files and folders below a folder of the repository, from its root; without those that are built, fetched or found by fuzzers.
pub fn paths_below(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.as_ref().to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).expect("the folder is part of the repository") {
            let entry = entry.expect("the folder can be read");
            let path = folder.join(entry.file_name());
            if ["target", ".git", "node_modules", "corpus"].iter().any(|name| path.ends_with(name)) {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path.clone());
            }
            found.push(path);
        }
    }
    found
}

/// The Rust files below a folder of the repository, from its root.
pub fn rust_files_below(folder: &str) -> impl Iterator<Item = PathBuf> {
    paths_below(folder).into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
}

/// The text without addresses, which have more than eight hexadecimal digits; masks have that many.
pub fn hide_addresses(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split("0x").enumerate() {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        match index {
            0 => out += part,
            _ if digits > 8 => out += &format!("0x…{}", &part[digits..]),
            _ => out += &format!("0x{part}"),
        }
    }
    out
}
