//! The argument list of a call: PTX parameters as bytes, and the host memory behind some of them.
//!
//! Ordinary lists of values and device memory live in place, without an allocation. Nothing is copied to a device here.

use core::any::Any;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use bytemuck::NoUninit;
use smallvec::SmallVec;
use std::boxed::Box;
use std::vec::Vec;

use super::ViewError;
use super::operand::RegionMemory;
use super::reach::Reach;
use crate::collective::tensor::SETTLED;

/// The bound arguments of a call.
///
/// A list by itself is only numbers. A launch takes a [`Call`](super::Call), and only unsafe code can change the list
/// of a call: [`Call::arguments_mut`](super::Call::arguments_mut).
#[derive(Debug, Default)]
pub struct Arguments<'a> {
    /// The bytes of all PTX parameters; each starts at a word of its own.
    words: SmallVec<[MaybeUninit<u64>; 24]>,
    parameters: SmallVec<[ParameterBytes; 16]>,
    /// Host memory takes longer to copy than a list to allocate.
    transfers: Vec<Transfer<'a>>,
    extents: SmallVec<[Extent; 12]>,
    borrowed: SmallVec<[Borrowed<'a>; 8]>,
    settling: SmallVec<[Settling; 4]>,
    /// The outputs that a launch may leave untouched.
    outputs: SmallVec<[BoundOutput; 4]>,
    /// Bytes of dynamic shared memory that have been given out.
    shared: u64,
    /// The first argument that could not be bound, by its number, and why.
    problem: Option<Box<(usize, ViewError)>>,
    /// Device memory that was bound by address is borrowed as well.
    lifetime: PhantomData<&'a mut ()>,
}

/// Device memory that an argument borrows.
#[derive(Clone, Copy, Debug)]
pub struct Borrowed<'a> {
    /// The owner of the memory, which the runtime that made the argument downcasts to its own type.
    pub owner: &'a (dyn Any + Send + Sync),
    /// The first address that the kernel may use.
    pub address: u64,
    /// The number of bytes that the kernel may use.
    pub bytes: u64,
    /// Whether the kernel may write the memory.
    pub writes: bool,
}

/// Where a kernel is told that device memory is settled: that no earlier launch of its stream that may still be running
/// writes the memory. A launch that begins early (programmatic dependent launch) then reads the memory without waiting.
#[derive(Clone, Copy, Debug)]
pub struct Settling {
    /// The number of the memory in [`Arguments::borrowed`].
    pub memory: usize,
    word: u16,
    value: u32,
}

impl Settling {
    /// Writes to a copy of [`Arguments::words`] whether the memory is settled.
    pub fn tell(self, words: &mut [MaybeUninit<u64>], settled: bool) {
        let mut bytes = [0; 8];
        let value = if settled { self.value | SETTLED } else { self.value };
        bytes[..4].copy_from_slice(&value.to_ne_bytes());
        words[usize::from(self.word)] = MaybeUninit::new(u64::from_ne_bytes(bytes));
    }
}

/// An argument that a kernel writes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundOutput {
    /// The number of the argument.
    pub(super) argument: usize,
    pub(super) reach: Reach,
    /// Whether the argument is host memory that is copied back, but not to the device.
    pub(super) comes_back: bool,
}

/// Where the bytes of one PTX parameter are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterBytes {
    /// The word it starts at.
    pub word: u16,
    /// Its size in bytes, as in the PTX signature.
    pub bytes: u16,
}

/// How many elements an argument has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extent {
    /// Not a slice: a value or a raw pointer.
    None,
    /// A slice.
    Slice {
        /// Its elements.
        elements: usize,
    },
    /// A matrix or a volume.
    Shaped {
        /// The elements of the slice behind it.
        elements: usize,
        /// The shape it was given, slowest dimension first; what is not used is 1, in front.
        shape: [usize; 3],
    },
}

impl Extent {
    /// The elements of the slice, where there is one.
    #[must_use]
    pub fn elements(self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Slice { elements } | Self::Shaped { elements, .. } => Some(elements),
        }
    }
}

/// Host memory that a kernel works on: copied to the device before, back afterwards, or both.
#[derive(Debug)]
pub struct Transfer<'a> {
    /// The word that takes the device address: see [`Arguments::set_address`].
    pub word: usize,
    /// The number of its argument.
    pub argument: usize,
    /// The memory.
    pub host: HostMemory<'a>,
    /// The alignment that the elements need, in bytes.
    pub align: usize,
}

/// Host memory, and the directions it is copied in.
#[derive(Debug)]
pub enum HostMemory<'a> {
    /// To the device.
    In(&'a [u8]),
    /// From the device; what the device memory holds before the launch does not matter.
    Out(&'a mut [u8]),
    /// To the device, and back.
    InOut(&'a mut [u8]),
    /// To the device, from memory that the argument made for it.
    Owned(Vec<u8>),
}

impl HostMemory<'_> {
    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::In(memory) => memory.len(),
            Self::Out(memory) | Self::InOut(memory) => memory.len(),
            Self::Owned(memory) => memory.len(),
        }
    }

    /// Where it begins, and its size in bytes: enough to tell whether it is the same as another time.
    #[must_use]
    pub fn place(&self) -> (usize, usize) {
        let memory: &[u8] = match self {
            Self::In(memory) => memory,
            Self::Out(memory) | Self::InOut(memory) => memory,
            Self::Owned(memory) => memory,
        };
        (memory.as_ptr().addr(), memory.len())
    }

    /// The bytes to copy to the device before the launch.
    #[must_use]
    pub fn source(&self) -> Option<&[u8]> {
        match self {
            Self::In(memory) => Some(memory),
            Self::InOut(memory) => Some(memory),
            Self::Owned(memory) => Some(memory),
            Self::Out(_) => None,
        }
    }

    /// Where to copy to from the device after the launch.
    #[must_use]
    pub fn destination(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Out(memory) | Self::InOut(memory) => Some(memory),
            Self::In(_) | Self::Owned(_) => None,
        }
    }
}

/// For implementations of [`Argument`](super::Argument): each binds its parameter by exactly one
/// of the methods `push_value`, `push_pointer`, `push_slice`, `push_transfer` and `push_shared`.
impl<'a> Arguments<'a> {
    /// An empty list.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds a value. A type without size takes no PTX parameter.
    pub fn push_value<T: NoUninit>(&mut self, value: T) {
        self.extents.push(Extent::None);
        self.push_initialised(bytemuck::bytes_of(&value));
    }

    /// Binds a value of any type, padding included: for unsafe kernels, whose caller answers for what it
    /// means on the device.
    pub fn push_copy<T: Copy>(&mut self, value: T) {
        self.extents.push(Extent::None);
        let start: *const T = &raw const value;
        // SAFETY: the bytes of `value`, of which some may not be initialised.
        self.push_bytes(unsafe { core::slice::from_raw_parts(start.cast(), size_of::<T>()) });
    }

    /// Binds a device address for a raw pointer parameter.
    pub fn push_pointer(&mut self, address: u64) {
        self.extents.push(Extent::None);
        self.push_word(address);
    }

    /// Binds `elements` elements of device memory at `address`.
    #[inline]
    pub fn push_slice(&mut self, address: u64, elements: usize) {
        self.extents.push(Extent::Slice { elements });
        self.push_word(address);
        self.push_word(elements as u64);
    }

    /// Binds host memory of `elements` elements, each aligned to `align` bytes. Its device address
    /// is 0 until the runtime sets it.
    pub fn push_transfer(&mut self, host: HostMemory<'a>, align: usize, elements: usize) {
        let word = self.words.len();
        self.push_slice(0, elements);
        self.push_host(word, host, align);
    }

    /// Host memory of the argument that was bound last.
    fn push_host(&mut self, word: usize, host: HostMemory<'a>, align: usize) {
        let argument = self.extents.len() - 1;
        self.transfers.push(Transfer { word, argument, host, align });
    }

    /// Binds the next `elements` elements of dynamic shared memory, each of `size` bytes and aligned to `align`.
    pub fn push_shared(&mut self, size: usize, align: usize, elements: usize) {
        self.extents.push(Extent::Slice { elements });
        let start = self.shared.next_multiple_of(align as u64);
        self.shared = start.saturating_add((elements as u64).saturating_mul(size as u64));
        // No device has more shared memory than 32 bits can count: the saturated sum makes the launch fail.
        for word in [start, elements as u64] {
            self.push_initialised(&u32::try_from(word).unwrap_or(u32::MAX).to_ne_bytes());
        }
    }

    /// Remembers that the kernel writes to the argument that was bound last, and what a launch reaches of it.
    #[inline]
    pub(super) fn written(&mut self, reach: Reach) {
        if reach != Reach::All {
            let argument = self.extents.len() - 1;
            let own = self.transfers.last().filter(|transfer| transfer.argument == argument);
            self.outputs.push(BoundOutput {
                argument,
                reach,
                comes_back: own.is_some_and(|transfer| matches!(transfer.host, HostMemory::Out(_))),
            });
        }
    }

    /// Remembers the device memory that was bound last, for the runtime that made it and finds it again in
    /// [`borrowed`](Self::borrowed). It takes no PTX parameter.
    #[inline]
    pub fn borrow(&mut self, memory: Borrowed<'a>) {
        self.borrowed.push(memory);
    }

    /// Borrows memory that the kernel reads through a tensor map, whose last PTX parameter, `value`, tells whether the
    /// memory is settled.
    pub(super) fn borrow_settling(&mut self, memory: Borrowed<'a>, value: u32) {
        if let Some(last) = self.parameters.last() {
            self.settling.push(Settling { memory: self.borrowed.len(), word: last.word, value });
        }
        self.borrow(memory);
    }

    /// Binds the address of a region of `elements` elements, each aligned to `align` bytes. The other parts of the
    /// parameter follow with [`push_part`](Self::push_part).
    pub(super) fn push_place(&mut self, place: RegionMemory<'a>, align: usize, elements: usize) {
        // The address of an empty region: a reference is neither null nor unaligned.
        const NOWHERE: u64 = 256;
        self.extents.push(Extent::Slice { elements });
        let word = self.words.len();
        let address = match place {
            RegionMemory::Device(address, borrowed) => {
                self.borrow(borrowed);
                address
            }
            RegionMemory::Host(host) => {
                self.push_host(word, host, align);
                0
            }
            RegionMemory::Number(_) => NOWHERE,
        };
        self.push_initialised(&address.to_ne_bytes());
    }

    /// Binds a further PTX parameter of the argument that was bound last.
    pub(super) fn push_part(&mut self, bytes: &[u8]) {
        self.push_initialised(bytes);
    }

    /// Remembers that the argument to be bound next cannot be: the launch is refused.
    pub(super) fn refuse(&mut self, problem: ViewError) {
        let argument = self.extents.len();
        self.problem.get_or_insert_with(|| Box::new((argument, problem)));
    }

    /// The argument that could not be bound, by its number, and why.
    pub(super) fn problem(&self) -> Option<&(usize, ViewError)> {
        self.problem.as_deref()
    }

    /// Turns the slice that was bound last into a matrix (`shape` of 2) or a volume (of 3), with
    /// its lengths in place of the slice's. Slowest dimension first.
    pub(super) fn shape_last<const N: usize>(&mut self, shape: [usize; N]) {
        let elements = match self.extents.pop() {
            Some(Extent::Slice { elements }) => elements,
            other => unreachable!("a shape follows a slice, not {other:?}"),
        };
        let mut padded = [1; 3];
        padded[3 - N..].copy_from_slice(&shape);
        self.extents.push(Extent::Shaped { elements, shape: padded });
        self.parameters.pop();
        self.words.pop();
        for length in shape {
            // A length that 32 bits cannot hold has no matching slice either: the check before the
            // launch refuses it, since the product of the true lengths is what it compares.
            self.push_initialised(&u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes());
        }
    }

    /// A parameter of eight bytes, which most are.
    #[inline]
    fn push_word(&mut self, word: u64) {
        let place = u16::try_from(self.words.len()).expect("a kernel's parameters have 4 KB at most");
        self.words.push(MaybeUninit::new(word));
        self.parameters.push(ParameterBytes { word: place, bytes: 8 });
    }

    fn push_initialised(&mut self, bytes: &[u8]) {
        // SAFETY: an initialised byte is one that may not be.
        self.push_bytes(unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) });
    }

    fn push_bytes(&mut self, bytes: &[MaybeUninit<u8>]) {
        if bytes.is_empty() {
            return;
        }
        let word = self.words.len();
        let words = bytes.len().div_ceil(8);
        self.words.resize(word + words, MaybeUninit::new(0));
        // A pointer to the slice, not to its first element: a pointer to the first may not reach the others.
        let place = self.words[word..].as_mut_ptr();
        // SAFETY: `place` begins `words` words, which have room for the bytes.
        unsafe { place.cast::<MaybeUninit<u8>>().copy_from(bytes.as_ptr(), bytes.len()) };
        self.parameters.push(ParameterBytes {
            word: u16::try_from(word).expect("a kernel's parameters have 4 KB at most"),
            bytes: u16::try_from(bytes.len()).expect("a kernel's parameters have 4 KB at most"),
        });
    }
}

/// For runtimes.
impl<'a> Arguments<'a> {
    /// The PTX parameters: where each is among [`words`](Self::words), and its size.
    #[must_use]
    pub fn parameters(&self) -> &[ParameterBytes] {
        &self.parameters
    }

    /// The memory passed to [`borrow`](Self::borrow), in order.
    #[must_use]
    pub fn borrowed(&self) -> &[Borrowed<'a>] {
        &self.borrowed
    }

    /// The borrowed memory that a kernel can be told to be settled. Only the runtime tells it.
    #[must_use]
    pub fn settling(&self) -> &[Settling] {
        &self.settling
    }

    /// The bytes of the PTX parameters. Padding of structures is not initialised.
    #[must_use]
    pub fn words(&self) -> &[MaybeUninit<u64>] {
        &self.words
    }

    /// The address of each PTX parameter's bytes: the array that `cuLaunchKernel` wants.
    pub fn pointers(&mut self) -> impl Iterator<Item = *mut c_void> {
        let words = self.words.as_mut_ptr();
        self.parameters.iter().map(move |parameter| words.wrapping_add(usize::from(parameter.word)).cast::<c_void>())
    }

    /// The bytes of dynamic shared memory that the arguments need.
    #[must_use]
    pub fn shared_bytes(&self) -> u64 {
        self.shared
    }

    /// The host memory to be copied, in the order of the arguments.
    #[must_use]
    pub fn transfers(&self) -> &[Transfer<'a>] {
        &self.transfers
    }

    /// The same memory, as the destination of results.
    #[must_use]
    pub fn transfers_mut(&mut self) -> &mut [Transfer<'a>] {
        &mut self.transfers
    }

    /// Sets the device address of a transfer: `word` is [`Transfer::word`].
    ///
    /// # Panics
    ///
    /// If `word` is not one of this list's.
    pub fn set_address(&mut self, word: usize, address: u64) {
        self.words[word] = MaybeUninit::new(address);
    }

    /// The outputs that a launch may leave untouched.
    pub(super) fn outputs(&self) -> impl Iterator<Item = BoundOutput> {
        self.outputs.iter().copied()
    }

    /// How many elements each argument has: one entry for each parameter in the Rust source.
    #[must_use]
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }
}
