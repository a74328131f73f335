//! Where the installed software device lies, which programs outside of Rumba's workspace load. The launcher of `cargo xtask` has this file
//! too: it must not wait for this crate to be compiled.

use std::path::PathBuf;

/// The file of the device's library.
pub const FILE: &str = "librumba_soft_device.so";

/// The file beside the library of an archive that says what the archive holds.
pub const RECORD: &str = "record.json";

/// The path at which programs look for the library, as `rumba-driver` knows it.
pub fn library() -> Option<PathBuf> {
    let data = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(".local/share")))?;
    let folder = data.join("rumba/soft").join(env!("CARGO_PKG_VERSION"));
    Some(folder.join(FILE))
}
