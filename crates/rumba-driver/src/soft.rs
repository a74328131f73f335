//! Where the software device is: in the program, or in a library that is found and loaded.
//!
//! A library is of the program's own release, or it is refused: what crosses between the two is described in
//! `rumba-interface`, and nothing here knows what the device does.

use std::ffi::OsString;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use rumba_interface::environment::{is_privileged, library_from_environment};
use rumba_interface::{Device, ENTRY, Entry, RELEASE, Settings, VERSION, log};

use crate::check;
use crate::choice::sentence;

/// The variable that names the library.
const VARIABLE: &str = "RUMBA_SOFT_LIBRARY";

/// Why the software device could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SoftLibraryError {
    /// There is no such library.
    #[error(
        "there is no software device at `{path}`, {why}: `cargo rumba setup` builds it, or in a clone of Rumba `cargo xtask setup`. A program that \
         uses the crate `rumba` with its feature `linked` has it in itself"
    )]
    Missing {
        /// Where it was looked for.
        path: String,
        /// Why there.
        why: String,
    },
    /// The file is no library, or another one.
    #[error(
        "`{path}` is no software device, or a damaged one: {cause}. `cargo rumba setup` builds it anew, or in a clone of Rumba `cargo xtask setup`"
    )]
    Damaged {
        /// The file.
        path: String,
        /// The damage.
        cause: String,
    },
    /// The library is of another release, or has another interface.
    #[error(
        "`{path}` is the software device of Rumba {found}, and this program is of Rumba {wanted}: the `cargo rumba setup` \
         of Rumba {wanted} builds the one that it needs, or `cargo xtask setup` in a clone of this release"
    )]
    Version {
        /// The file.
        path: String,
        /// Its release and the version of its interface.
        found: String,
        /// The interface of the program.
        wanted: String,
    },
    /// The library was built by cargo, and a source has changed since.
    #[error(
        "the software device `{path}` is older than `{source_file}`, from which it is built: `cargo xtask setup` builds it \
         again, and so does every command of `cargo xtask` that runs kernels"
    )]
    Outdated {
        /// The file.
        path: String,
        /// The source.
        source_file: String,
    },
    /// Nothing of the user's is loaded into a program with rights that the user lacks.
    #[error(
        "this program has rights that its user lacks (set-uid, capabilities), so it loads no software device from the user's \
         folders: build it with the feature `linked` of the crate `rumba`, which has the device in the program"
    )]
    Privileged,
}

static LINKED: OnceLock<&'static Device> = OnceLock::new();

/// Uses a device that is in this program or library already.
pub(crate) fn link(device: &'static Device) {
    // The first one stays: there is one device in a process.
    let _ = LINKED.set(device);
}

/// Starts the software device, with a number of devices of a compute capability.
pub(crate) fn start(devices: u32, capability: u32) -> Result<&'static Device, SoftLibraryError> {
    #[cfg(feature = "linked")]
    {
        static DEVICE: Device = rumba_soft::device();
        link(&DEVICE);
    }
    let device = match LINKED.get() {
        Some(device) => *device,
        None => load(&find()?)?,
    };
    (device.start)(&Settings { devices, capability, log: log::level() as u32, origin: check::origin });
    Ok(device)
}

/// The library's file.
fn find() -> Result<PathBuf, SoftLibraryError> {
    if is_privileged() {
        return Err(SoftLibraryError::Privileged);
    }
    let missing = |path: &Path, why: String| {
        let path = path.display().to_string();
        SoftLibraryError::Missing { path, why }
    };
    if let Some(path) = library_from_environment(VARIABLE).map(PathBuf::from) {
        return match path.is_file() {
            true => Ok(path),
            false => Err(missing(&path, format!("which {VARIABLE} names"))),
        };
    }
    let (beside, usual) = (beside_the_program(), place());
    let mut places = beside.iter().map(|folder| folder.join(FILE)).chain([usual.clone()]);
    places.find(|path| path.is_file()).ok_or_else(|| {
        let beside: String = beside.iter().map(|folder| format!(", nor in `{}`", folder.display())).collect();
        missing(&usual, format!("where programs without {VARIABLE} look{beside}"))
    })
}

/// The file name of the library.
const FILE: &str = "librumba_soft_device.so";

/// The folders where a program that was copied to another machine has its libraries: the program's folder, and `lib` in
/// it.
fn beside_the_program() -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let own = program.as_deref().and_then(Path::parent);
    own.map(|own| vec![own.to_owned(), own.join("lib")]).unwrap_or_default()
}

/// Where `cargo xtask setup` puts the library: in the user's folder for data, by release.
fn place() -> PathBuf {
    let named = |variable| std::env::var_os(variable).filter(|folder: &OsString| Path::new(folder).is_absolute());
    let data = match (named("XDG_DATA_HOME"), std::env::home_dir()) {
        (Some(data), _) => data.into(),
        (None, Some(home)) => home.join(".local/share"),
        (None, None) => PathBuf::from("/nonexistent"),
    };
    data.join("rumba/soft").join(RELEASE).join(FILE)
}

/// Loads a library and gives its device, if that is of this release.
fn load(path: &Path) -> Result<&'static Device, SoftLibraryError> {
    let shown = path.display().to_string();
    let damaged = |cause: String| SoftLibraryError::Damaged { path: shown.clone(), cause };
    if let Some(source) = newer_source(path) {
        return Err(SoftLibraryError::Outdated { path: shown, source_file: source.display().to_string() });
    }
    is_whole(path).map_err(damaged)?;
    // SAFETY: loading runs the library's initializers. The library is the user's own file: only the user's files are
    // searched.
    let library =
        unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| damaged(sentence(&error)))?;
    // SAFETY: a symbol of this name is an entry, in every release.
    let entry =
        *unsafe { library.get::<Entry>(ENTRY.to_bytes_with_nul()) }.map_err(|error| damaged(sentence(&error)))?;
    // The library is never unloaded: its threads run until the process ends.
    mem::forget(library);
    let device = entry();
    // SAFETY: these fields are the same in every version.
    let (version, size, release) = unsafe { ((*device).version, (*device).size, (*device).release.text()) };
    if (version, size as usize, &*release) != (VERSION, size_of::<Device>(), RELEASE) {
        return Err(SoftLibraryError::Version {
            path: shown,
            found: format!("{release} (interface {version})"),
            wanted: format!("{RELEASE} (interface {VERSION})"),
        });
    }
    // SAFETY: of this version it is such a table, and stays.
    let device = unsafe { &*device };
    log::say(log::Level::Errors, format_args!("software device: {shown}, sources {}", device.sources.text()));
    Ok(device)
}

/// A source that is newer than the library, where cargo built it and lists its sources beside it.
fn newer_source(library: &Path) -> Option<PathBuf> {
    let built = library.metadata().ok()?.modified().ok()?;
    let list = std::fs::read_to_string(library.with_extension("d")).ok()?;
    let (_, sources) = list.split_once(": ")?;
    // Blanks within names are escaped.
    let sources = sources.trim_end().replace("\\ ", "\0");
    sources.split(' ').map(|source| PathBuf::from(source.replace('\0', " "))).find(|source| {
        let modified = source.metadata().and_then(|metadata| metadata.modified());
        modified.is_ok_and(|modified| modified > built)
    })
}

/// Whether a file is as long as its ELF headers say: the loader maps what they name, and a program that touches a page
/// behind the end of the file dies.
fn is_whole(path: &Path) -> Result<(), String> {
    use std::io::Read;
    use std::os::unix::fs::FileExt;

    let open = || -> std::io::Result<(std::fs::File, u64, [u8; 64])> {
        let mut file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        let mut header = [0; 64];
        file.read_exact(&mut header)?;
        Ok((file, length, header))
    };
    let (file, length, header) = open().map_err(|error| error.to_string())?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return Err("it is no ELF file of 64 bits".to_owned());
    }
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    // The tables of sections and of segments, each with its offset, the size of an entry and the number of entries.
    let sections = (number(&header[40..48]), number(&header[58..60]), number(&header[60..62]));
    let (offset, size, count) = (number(&header[32..40]), number(&header[54..56]), number(&header[56..58]));
    let mut end = sections.0.saturating_add(sections.1 * sections.2);
    let mut segments = vec![0; (size * count) as usize];
    file.read_exact_at(&mut segments, offset).map_err(|error| error.to_string())?;
    for segment in segments.chunks_exact((size as usize).max(40)) {
        end = end.max(number(&segment[8..16]).saturating_add(number(&segment[32..40])));
    }
    if end > length {
        return Err(format!("it has {length} bytes, and should have {end}"));
    }
    Ok(())
}
