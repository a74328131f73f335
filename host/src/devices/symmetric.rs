//! Symmetric memory: as much memory on each of several devices, which their kernels read and write of each other
//! ([`cuda_std::symmetric`]).
//!
//! The memory of a rank has the signals of the barrier, the table of all ranks' addresses, and the elements, one behind the other.

pub use cuda_std::symmetric::{Access, Get, MOST_RANKS, Put};

use crate::base::error::{Error, RankError, Result};
use crate::buffers::allocation::Memory;
use crate::buffers::buffer::DeviceBuffer;
use crate::context::Context;
use crate::devices::device::Device;
use bytemuck::{Pod, Zeroable, bytes_of};
use cuda_std::launch::{Argument, Arguments, Borrowed};
use cuda_std::symmetric::{Signals, Symmetric, Table};
use std::any::{Any, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// The memory of one rank, of as many as share an exchange: the argument for a kernel's parameter
/// [`Symmetric<T, A>`](cuda_std::symmetric::Symmetric). A rank is a launch on a device of its own.
///
/// [`SymmetricBuffer::all`] makes the memory of several devices of one process,
/// [`ProcessGroup::symmetric`](crate::ranks::ProcessGroup::symmetric) that of several processes. All elements are zero at first. The host
/// neither reads nor writes the memory: elements come and go by the other arguments of the kernel.
///
/// The kernels of all ranks wait for each other. So each rank launches its kernel, and between these launches the host waits for nothing
/// and allocates nothing on the devices. A rank that does not come within `RUMBA_RANK_TIMEOUT` seconds (300 by default) makes the kernels
/// of the others panic.
///
/// # Examples
/// ```
/// use rumba::{Device, SymmetricBuffer};
///
/// // On the software device, `RUMBA_SOFT_DEVICES=2` makes two devices.
/// let devices = Device::all()?;
/// let mut ranks = SymmetricBuffer::<f32>::all(&devices, 1000)?;
/// for (device, memory) in devices.iter().zip(&mut ranks) {
///     println!("device {} is rank {} of {}", device.ordinal(), memory.rank(), memory.ranks());
///     // modules[rank].launch((8, 128), kernels::sum_of_ranks(&x, &mut y, memory))?;
/// }
/// # Ok::<(), rumba::Error>(())
/// ```
pub struct SymmetricBuffer<T, A = Get> {
    /// The memory of this rank. It keeps the memory of the others.
    memory: Memory,
    rank: usize,
    ranks: usize,
    length: usize,
    elements: PhantomData<fn() -> (T, A)>,
}

/// Where the table begins in the memory of a rank, and where the elements begin.
const TABLE: usize = size_of::<Signals>().next_multiple_of(Memory::ALIGNMENT);
const ELEMENTS: usize = (TABLE + size_of::<Table>()).next_multiple_of(Memory::ALIGNMENT);

/// The memory of the ranks of this process, freed when no rank is left.
struct Allocations(Vec<DeviceBuffer<u8>>);

impl Drop for Allocations {
    fn drop(&mut self) {
        // Kernels of each device may use the memory of all of them. An error is a fault that every later call reports.
        for buffer in &self.0 {
            let _ = buffer.as_slice().memory().wait("free");
        }
    }
}

impl<T: Pod, A: Access> SymmetricBuffer<T, A> {
    /// Memory of `length` elements on each device; device `i` of the list is rank `i`.
    ///
    /// Access between the devices is enabled. A device may be in the list several times: the kernels of its ranks are then launched on a
    /// stream each, and must fit onto the device together.
    ///
    /// # Errors
    /// [`RankError::TooManyRanks`] for more than [`MOST_RANKS`] devices; [`RankError::Environment`] for a wrong timeout; the driver's, for
    /// example where a device [cannot access](Device::can_access_peer) another one.
    pub fn all(devices: &[Device], length: usize) -> Result<Vec<Self>> {
        let timeout = crate::devices::ranks::timeout()?;
        check_size(devices.len())?;
        for one in devices {
            for other in devices.iter().filter(|other| other.ordinal() != one.ordinal()) {
                one.enable_peer_access(other)?;
            }
        }
        let bytes = Self::bytes(length)?;
        let mut buffers: Vec<_> = devices.iter().map(|device| device.zeros::<u8>(bytes)).collect::<Result<_>>()?;
        let addresses: Vec<u64> = buffers.iter().map(|buffer| buffer.as_slice().address()).collect();
        for (rank, buffer) in buffers.iter_mut().enumerate() {
            write_table(buffer, rank, &addresses, timeout)?;
        }
        // Signals that another rank sends must not be cleared.
        devices.iter().try_for_each(Device::synchronize)?;
        let owner = Arc::new(Allocations(buffers));
        let of_rank = |(rank, (device, address)): (usize, (&Device, &u64))| {
            // SAFETY: the allocations live as long as one of their owners, and only kernels use them from now on.
            unsafe { Self::new(device.context(), *address, Box::new(owner.clone()), (rank, devices.len()), length) }
        };
        Ok(devices.iter().zip(&addresses).enumerate().map(of_rank).collect())
    }

    /// The bytes of a rank's memory.
    pub(in crate::devices) fn bytes(length: usize) -> Result<usize> {
        Memory::aligns::<T>();
        let size = size_of::<T>();
        let bytes = length.checked_mul(size).and_then(|bytes| bytes.checked_add(ELEMENTS));
        bytes.filter(|&bytes| isize::try_from(bytes).is_ok()).ok_or(Error::TooLarge { length, size })
    }

    /// The memory of a rank, of `length` elements.
    ///
    /// # Safety
    /// As long as `owner` lives, there is memory of [`bytes`](Self::bytes) at the address and at those of the other ranks, with a table,
    /// and only launches with these buffers use the memory. All ranks have buffers of this type and length.
    pub(in crate::devices) unsafe fn new(
        context: Arc<Context>,
        address: u64,
        owner: Box<dyn Any + Send + Sync>,
        (rank, ranks): (usize, usize),
        length: usize,
    ) -> Self {
        // SAFETY: the caller's.
        let memory = unsafe { Memory::foreign::<T>(context, address, ELEMENTS + length * size_of::<T>(), owner) };
        SymmetricBuffer { memory, rank, ranks, length, elements: PhantomData }
    }
}

impl<T, A> SymmetricBuffer<T, A> {
    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// How many elements each rank has.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the ranks have no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// Refuses more ranks than a table has places for.
pub(in crate::devices) fn check_size(size: usize) -> Result<()> {
    if size > MOST_RANKS {
        return Err(RankError::TooManyRanks { size, most: MOST_RANKS }.into());
    }
    Ok(())
}

/// Writes where the memory of all ranks begins to the memory of one rank.
pub(in crate::devices) fn write_table(
    memory: &mut DeviceBuffer<u8>,
    rank: usize,
    addresses: &[u64],
    timeout: Duration,
) -> Result<()> {
    let timeout = timeout.as_nanos().try_into().unwrap_or(u64::MAX);
    let mut table = Table { rank: rank as u32, size: addresses.len() as u32, timeout, ..Table::zeroed() };
    for ((elements, signals), address) in table.elements.iter_mut().zip(&mut table.signals).zip(addresses) {
        (*elements, *signals) = (address + ELEMENTS as u64, *address);
    }
    memory.as_slice_mut().slice_mut(TABLE..TABLE + size_of::<Table>()).copy_from(bytes_of(&table))
}

// SAFETY: the address of a table and the number of elements, of memory that is borrowed mutably. The rank's memory keeps that of the
// others, for as long as a launch uses it.
unsafe impl<'a, T: Pod, A: Access> Argument<'a, Symmetric<'_, T, A>> for &'a mut SymmetricBuffer<T, A> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        let (address, bytes) = self.memory.place();
        arguments.push_slice(address + TABLE as u64, self.length);
        arguments.borrow(Borrowed { owner: &self.memory, address, bytes, writes: true });
    }
}

impl<T, A> fmt::Debug for SymmetricBuffer<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SymmetricBuffer { rank, ranks, length, .. } = self;
        write!(f, "SymmetricBuffer<{}> {{ rank: {rank} of {ranks}, {length} elements }}", type_name::<T>())
    }
}
