//! The table of C functions between a program and its software device.
//!
//! The device may come from another build than the program, by another compiler: only C types cross, and data that C has
//! no type for crosses as bytes, JSON where it has a structure. Bytes are those of the side that hands them over, and are there
//! until the call returns. The first four fields of [`Device`] are the same in every version, so that a device of
//! another one can be told; whatever else changes in this file changes [`VERSION`].

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

/// The version of everything in this file.
pub const VERSION: u32 = 6;

/// The release that these sources belong to. A program uses a device of its own release.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// Software devices that there can be: `RUMBA_SOFT_DEVICES` asks for more than one.
pub const MOST_DEVICES: usize = 64;

/// The compute capabilities that software devices can have, 90 for 9.0, oldest first: `RUMBA_SOFT_ARCH` asks for another one
/// than the default.
pub const CAPABILITIES: [u32; 10] = [70, 72, 75, 80, 86, 87, 89, 90, 100, 120];

/// The compute capability of software devices without `RUMBA_SOFT_ARCH`.
pub const DEFAULT_CAPABILITY: u32 = 90;

/// The one symbol of a library that is a software device: an [`Entry`].
pub const ENTRY: &CStr = c"rumba_soft_device";

/// Gives the table of a library, which stays as long as the process. Behind the pointer is a [`Device`] of the library's
/// version.
pub type Entry = extern "C" fn() -> *const Device;

/// A software device.
#[repr(C)]
pub struct Device {
    /// [`VERSION`] of the device's side.
    pub version: u32,
    /// Bytes of this structure.
    pub size: u32,
    /// [`RELEASE`] of the device's side.
    pub release: Bytes<'static>,
    /// A number over the sources that the device was built from, in hexadecimal digits.
    pub sources: Bytes<'static>,
    /// Tells the device what holds in this process; comes before all that follow.
    pub start: extern "C" fn(settings: &Settings),
    /// The address of a driver call; null if there is none of that name.
    pub call: extern "C" fn(name: Bytes<'_>) -> *mut c_void,
    /// Gives the report of the last load or launch that failed, if there was one.
    pub last_report: extern "C" fn(report: Sink<'_>),
    /// Opens a checked run with the bytes ([`Wire`](crate::Wire)) of [`Options`](crate::check::Options), and returns the ordinal of
    /// its device; or gives the reason why there can be none, and returns -1.
    pub open_run: extern "C" fn(options: Bytes<'_>, reason: Sink<'_>) -> i32,
    /// Gives what the open run has found, each [`Finding`](crate::check::Finding) as its bytes, and what the host has read: for
    /// each copy the name of the kernel before it, empty if there was none, and the first bytes. If the run is one of an
    /// exploration, its order ends, and the bytes of [`Explored`](crate::check::Explored) are given. A hash of the data that the
    /// host wrote to the device is given as the bytes of [`Inputs`](crate::check::Inputs).
    pub results: extern "C" fn(findings: Sink<'_>, copies: Sink<'_>, explored: Sink<'_>, inputs: Sink<'_>),
    /// Closes the run.
    pub close_run: extern "C" fn(),
    /// Ends the calling thread's current context as a kernel does that fails with this code.
    pub lose_context: extern "C" fn(code: i32),
    /// Gives how many objects of each kind are alive, as `kind=number`.
    pub objects: extern "C" fn(counts: Sink<'_>),
}

/// The settings of a process, which its program passes to the device.
#[repr(C)]
pub struct Settings {
    /// How many devices there are.
    pub devices: u32,
    /// The compute capability that they have, of [`CAPABILITIES`].
    pub capability: u32,
    /// The [`Level`](crate::log::Level) of the log, as a number.
    pub log: u32,
    /// Gives the line of the program that allocates in this thread, as far as it is known.
    pub origin: extern "C" fn(line: Sink<'_>),
}

/// Bytes that the other side of the interface owns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    start: *const u8,
    length: usize,
    of: PhantomData<&'a [u8]>,
}

// SAFETY: it is a shared slice.
unsafe impl Send for Bytes<'_> {}
// SAFETY: it is a shared slice.
unsafe impl Sync for Bytes<'_> {}

impl<'a> Bytes<'a> {
    /// The bytes of a slice.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { start: bytes.as_ptr(), length: bytes.len(), of: PhantomData }
    }

    /// The slice.
    pub fn get(self) -> &'a [u8] {
        // SAFETY: `new` is the only way to make one, from such a slice.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }

    /// As text, whose invalid parts are replaced.
    pub fn text(self) -> String {
        String::from_utf8_lossy(self.get()).into_owned()
    }
}

/// A list that the other side adds to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sink<'a> {
    list: *mut c_void,
    put: unsafe extern "C" fn(list: *mut c_void, item: Bytes<'_>),
    of: PhantomData<&'a mut Vec<Vec<u8>>>,
}

impl<'a> Sink<'a> {
    /// Adds to `list`.
    pub fn new(list: &'a mut Vec<Vec<u8>>) -> Self {
        unsafe extern "C" fn put(list: *mut c_void, item: Bytes<'_>) {
            // SAFETY: this side made the pointer in `new`, from a list that is borrowed until the call is over.
            let list = unsafe { &mut *list.cast::<Vec<Vec<u8>>>() };
            list.push(item.get().to_vec());
        }
        Self { list: (&raw mut *list).cast(), put, of: PhantomData }
    }

    /// Adds an item.
    pub fn put(self, item: &[u8]) {
        // SAFETY: both come from the same `new`, and the list is borrowed for as long as this.
        unsafe { (self.put)(self.list, Bytes::new(item)) };
    }
}

/// Collects the values that a function of the table passes to one sink.
pub fn gather(give: impl FnOnce(Sink<'_>)) -> Vec<Vec<u8>> {
    let mut list = Vec::new();
    give(Sink::new(&mut list));
    list
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Device, Sink, gather};

    /// A program of any version finds out the version of a device.
    #[test]
    fn the_first_fields_stay_where_they_are() {
        assert_eq!(std::mem::offset_of!(Device, version), 0);
        assert_eq!(std::mem::offset_of!(Device, size), 4);
        assert_eq!(std::mem::offset_of!(Device, release), 8);
        assert_eq!(std::mem::offset_of!(Device, sources), 24);
        assert_eq!(std::mem::offset_of!(Device, start), 40);
    }

    #[test]
    fn items_arrive_in_order() {
        extern "C" fn give(sink: Sink<'_>) {
            sink.put(b"one");
            sink.put(b"");
        }
        assert_eq!(gather(|sink| give(sink)), [b"one".to_vec(), Vec::new()]);
        assert_eq!(Bytes::new(b"\xffx").text(), "\u{fffd}x");
    }
}
