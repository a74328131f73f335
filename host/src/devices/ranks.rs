//! Processes that work together, on one machine or on several: each is a rank, as MPI and NCCL call it, with a device of its own.
//!
//! A program is started once for each device, by what people start such programs with: `torchrun`, `mpirun`, `srun`, or a shell that
//! sets some variables. [`Place::from_env`] reads which rank it is, and [`ProcessGroup`] has the collective operations. Several
//! devices in one process need none of this: see [`nccl`](crate::nccl).
//!
//! Whatever is wrong with one rank, all others are told: that it never came, that its process ended, that it is late, that it came to
//! another operation. So no rank waits forever.

mod place;
mod wire;

pub use crate::base::error::RankError;
pub use crate::devices::nccl::{Element, ReduceOp};
pub use place::Place;

use crate::base::error::{Error, Result};
use crate::buffers::buffer::DeviceBuffer;
use crate::devices::nccl::element;
use bytemuck::{cast_slice, cast_slice_mut};
use std::fmt;
use wire::{Call, Operation, Wire};

/// The ranks of a program, which exchange data: a process group, as PyTorch calls it.
///
/// All ranks call the same operations in the same order, with as many elements of the same type. Data goes through the host and
/// rank 0, by TCP, on all devices: each operation waits for the device and for the other ranks. Elements are combined in the order of
/// the ranks, so all of them have the same bits.
///
/// # Errors of its operations
/// [`RankError::Lost`] when the process of another rank has ended, [`RankError::Late`] when one does not come within the
/// [timeout](Place::timeout) (rank 0: within twice that), [`RankError::Disagreement`] when one comes to another operation. Each ends
/// the group: all ranks get the same error, and later operations too.
///
/// Connections are neither encrypted nor authenticated: as with MPI and NCCL, the network between the machines is trusted.
///
/// # Examples
/// ```
/// use rumba::ranks::{Place, ProcessGroup, ReduceOp};
///
/// // Alone, unless a launcher has started several.
/// let place = Place::from_env()?;
/// let device = place.device()?;
/// let mut group = ProcessGroup::join(&place)?;
/// let mut gradients = device.buffer_from(&[group.rank() as f32; 4])?;
/// group.all_reduce(&mut gradients, ReduceOp::Average)?;
/// assert_eq!(gradients.to_vec()?, [(group.size() - 1) as f32 / 2.0; 4]);
/// # Ok::<(), rumba::Error>(())
/// ```
pub struct ProcessGroup {
    wire: Wire,
}

impl ProcessGroup {
    /// Waits until all ranks have come here.
    ///
    /// # Errors
    /// [`RankError::Absent`] and [`RankError::Unreachable`] if they have not within the timeout, [`RankError::Address`] if rank 0 cannot
    /// listen, [`RankError::Twice`], [`RankError::NoSuchRank`].
    pub fn join(place: &Place) -> Result<ProcessGroup> {
        Ok(ProcessGroup {
            wire: Wire::join(place)?,
        })
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.wire.place().rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.wire.place().size
    }

    /// Waits until all ranks have come here.
    ///
    /// # Errors
    /// Those of [`ProcessGroup`].
    pub fn barrier(&mut self) -> Result<()> {
        self.exchange::<u8>(Operation::Barrier, 0, 0, &[], |_, _| ())?;
        Ok(self.wire.deliver(Operation::Barrier, &mut [])?)
    }

    /// Combines the buffers of all ranks element by element, and puts the result into all of them.
    ///
    /// # Errors
    /// Those of [`ProcessGroup`]; the driver's.
    pub fn all_reduce<T: Element>(&mut self, buffer: &mut DeviceBuffer<T>, op: ReduceOp) -> Result<()> {
        let (operation, argument, size) = (Operation::AllReduce, op.number() as u32, self.size());
        let own = buffer.to_vec()?;
        let mut combined = own.clone();
        self.exchange(operation, argument, own.len(), &own, |_, theirs| {
            element::combine(&mut combined, theirs, op);
        })?;
        element::average(&mut combined, op, size);
        self.wire.deliver(operation, cast_slice_mut(&mut combined))?;
        buffer.copy_from(&combined)
    }

    /// Copies the buffer of one rank to all others.
    ///
    /// # Errors
    /// Those of [`ProcessGroup`]; [`RankError::NoSuchRank`]; the driver's.
    pub fn broadcast<T: Element>(&mut self, buffer: &mut DeviceBuffer<T>, root: usize) -> Result<()> {
        let (rank, size) = (self.rank(), self.size());
        if root >= size {
            return Err(RankError::NoSuchRank { rank: root, size }.into());
        }
        let mut values = buffer.to_vec()?;
        let own = if rank == root { values.clone() } else { Vec::new() };
        self.exchange(Operation::Broadcast, root as u32, values.len(), &own, |rank, theirs| {
            if rank == root {
                values.copy_from_slice(theirs);
            }
        })?;
        self.wire.deliver(Operation::Broadcast, cast_slice_mut(&mut values))?;
        buffer.copy_from(&values)
    }

    /// Puts the parts of all ranks one behind the other, and gives that to all ranks.
    ///
    /// # Errors
    /// Those of [`ProcessGroup`]; [`Error::LengthMismatch`] unless the whole is as long as all parts together; the driver's.
    pub fn all_gather<T: Element>(&mut self, part: &DeviceBuffer<T>, whole: &mut DeviceBuffer<T>) -> Result<()> {
        let length = part.len();
        if whole.len() != length * self.size() {
            return Err(Error::LengthMismatch {
                operation: "all_gather",
                source_length: length * self.size(),
                destination_length: whole.len(),
            });
        }
        let own = part.to_vec()?;
        let mut all = vec![T::zeroed(); whole.len()];
        all[..length].copy_from_slice(&own);
        self.exchange(Operation::AllGather, 0, length, &own, |rank, theirs| {
            all[rank * length..][..length].copy_from_slice(theirs);
        })?;
        self.wire.deliver(Operation::AllGather, cast_slice_mut(&mut all))?;
        whole.copy_from(&all)
    }

    /// Brings what the ranks have to rank 0, which `take`s it in the order of the ranks, but its own.
    fn exchange<T: Element>(
        &mut self,
        operation: Operation,
        argument: u32,
        length: usize,
        own: &[T],
        mut take: impl FnMut(usize, &[T]),
    ) -> Result<()> {
        self.wire.begin()?;
        let call = Call {
            operation,
            element: T::TYPE,
            length,
            argument,
        };
        if self.rank() > 0 {
            return Ok(self.wire.send(call, cast_slice(own))?);
        }
        let mut theirs = vec![T::zeroed(); length];
        for rank in 1..self.size() {
            // Of a broadcast, one rank sends something.
            let count = if operation == Operation::Broadcast && rank != argument as usize {
                0
            } else {
                length
            };
            self.wire.receive(call, rank, cast_slice_mut(&mut theirs[..count]))?;
            take(rank, &theirs[..count]);
        }
        Ok(())
    }
}

impl fmt::Debug for ProcessGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessGroup")
            .field("place", self.wire.place())
            .finish()
    }
}
