//! The record of a thread that panicked: its layout, which device and host share, and its location. Writing and reading
//! the record is done elsewhere.

#[cfg(target_arch = "nvptx64")]
pub(crate) use device::{address, has_panicked, this_grid};

/// The record of a thread that panicked: one for each module, a variable in global memory.
///
/// Addresses are of global memory; lengths are in bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::AnyBitPattern, bytemuck::NoUninit)]
pub struct Record {
    /// Where the device rings: the address of a `u64`, usually in host memory, to which it writes the record's address.
    pub bell: u64,
    /// Threads that have panicked since the record was read. The following fields describe the first of them.
    pub count: u32,
    /// The sentence of the message: the number of a [`Kind`].
    pub kind: u32,
    /// The address of the [`PanicLocation`].
    pub place: u64,
    /// Address and length of the text, for a kind that has one.
    pub text: [u64; 2],
    /// The numbers of a kind that has some.
    pub numbers: [u64; 2],
    /// Index of the block in the grid, then of the thread in the block.
    pub indices: [u32; 6],
    /// The number of indices: 6, also before a panic. The device reads it from memory, to hide it from the compiler.
    pub dimensions: u32,
    /// The last grid in which a thread has panicked, plus 1: waiting threads of this grid read it. If two grids panic
    /// at once, threads of the first grid may keep waiting.
    pub grid: u32,
}

/// Where in the source: the memory of a [`core::panic::Location`], which the device's side checks when it is compiled.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::AnyBitPattern, bytemuck::NoUninit)]
pub struct PanicLocation {
    /// Address and length of the file's name.
    pub file: [u64; 2],
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// The variable's name in PTX.
#[cfg(not(target_arch = "nvptx64"))]
pub const RECORD_SYMBOL: &str = "__rumba_panics";

#[cfg(target_arch = "nvptx64")]
mod device {
    use core::cell::UnsafeCell;

    use super::Record;

    /// A [`Record`] that threads and host share.
    #[repr(transparent)]
    struct Mailbox(UnsafeCell<Record>);

    // SAFETY: one thread writes, the one that counted first; the host reads when no kernel runs. The grid is accessed as an atomic
    // number only.
    unsafe impl Sync for Mailbox {}

    #[unsafe(no_mangle)]
    #[allow(non_upper_case_globals, reason = "the name is a symbol that the host looks up")]
    static __rumba_panics: Mailbox = Mailbox(UnsafeCell::new(Record::with_bell(0)));

    /// The module's record.
    #[inline(always)]
    pub(crate) fn address() -> *mut Record {
        __rumba_panics.0.get()
    }

    /// The number of this grid plus 1, as stored in the record.
    #[inline(always)]
    pub(crate) fn this_grid() -> u32 {
        let grid: u64;
        // SAFETY: a special register.
        unsafe { core::arch::asm!("mov.u64 {}, %gridid;", out(reg64) grid, options(nomem, nostack, pure)) };
        (grid as u32).wrapping_add(1)
    }

    /// Whether a thread of this grid has panicked: noted where messages of panics are wanted.
    #[inline(always)]
    pub(crate) fn has_panicked() -> bool {
        let grid: u32;
        // SAFETY: of the record, and an atomic number, which threads of architectures that have waits of pipelines can load so.
        unsafe {
            let address = &raw const (*address()).grid;
            // The record is a variable in global memory.
            core::arch::asm!(
                "{{ .reg .b64 %record; cvta.to.global.u64 %record, {}; ld.relaxed.gpu.global.u32 {}, [%record]; }}",
                in(reg64) address,
                out(reg32) grid,
                options(nostack)
            );
        }
        grid == this_grid()
    }
}

/// Whether a thread of this grid has panicked.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) fn has_panicked() -> bool {
    crate::device::intrinsics::device_only("has_panicked")
}

/// Declares the kinds of panics: a name, and the sentence of `core` with `{}` for the text and for the numbers.
macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $sentence:literal,)*) => {
        /// The kind of a panic. The sentences are those of the core library.
        #[repr(u32)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $name,)*
        }

        impl Kind {
            /// Its sentence: `{}` is the text, `{0}` and `{1}` are the numbers.
            #[cfg(not(target_arch = "nvptx64"))]
            fn sentence(number: u32) -> Option<&'static str> {
                const SENTENCES: &[&str] = &[$($sentence),*];
                SENTENCES.get(number as usize).copied()
            }
        }
    };
}

kinds! {
    /// A message as it stands in the source.
    Text = "{}",
    /// An index that is not below the length.
    Index = "index out of bounds: the len is {0} but the index is {1}",
    /// A range that starts behind the end of the slice.
    RangeStart = "range start index {0} out of range for slice of length {1}",
    /// A range that ends behind the end of the slice.
    RangeEnd = "range end index {0} out of range for slice of length {1}",
    /// A range that ends before it starts.
    RangeOrder = "slice index starts at {0} but ends at {1}",
}

impl Record {
    /// A record without a panic.
    pub const fn with_bell(bell: u64) -> Self {
        Self {
            bell,
            count: 0,
            kind: 0,
            place: 0,
            text: [0; 2],
            numbers: [0; 2],
            indices: [0; 6],
            dimensions: 6,
            grid: 0,
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
impl Record {
    /// The sentence, given the text to which the record points.
    ///
    /// # Examples
    /// ```
    /// use cuda_std::panic::{Kind, Record};
    ///
    /// let record = Record { kind: Kind::Index as u32, numbers: [3, 5], ..Record::default() };
    /// assert_eq!(record.message(""), "index out of bounds: the len is 3 but the index is 5");
    /// let record = Record { kind: Kind::Text as u32, ..Record::default() };
    /// assert_eq!(record.message("no seat left"), "no seat left");
    /// ```
    pub fn message(&self, text: &str) -> std::string::String {
        let Some(sentence) = Kind::sentence(self.kind) else {
            return std::format!("a panic of the unknown kind {}", self.kind);
        };
        let mut message = sentence.replace("{}", text);
        // A text may have braces of its own.
        if sentence != "{}" {
            for (index, number) in self.numbers.iter().enumerate() {
                message = message.replace(&std::format!("{{{index}}}"), &std::format!("{number}"));
            }
        }
        message
    }
}

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::{Kind, Record};

    #[test]
    fn the_layout_has_no_padding() {
        assert_eq!(size_of::<Record>(), 8 + 2 * 4 + 8 + 16 + 16 + 24 + 8);
    }

    #[test]
    fn texts_with_braces_stay_as_they_are() {
        let record = Record { kind: Kind::Text as u32, ..Record::default() };
        assert_eq!(record.message("{0} of {}"), "{0} of {}");
        let unknown = Record { kind: 99, ..Record::default() };
        assert_eq!(unknown.message(""), "a panic of the unknown kind 99");
    }
}
