//! Processes that work together, on one machine or on several: each is a rank, as MPI and NCCL call it, with a device of its own.
//!
//! A program is started once for each device, by `torchrun`, `mpirun`, `srun`, or a shell that sets some variables.
//! [`Place::from_env`] reads the rank of the process, and [`ProcessGroup`] has the collective operations. Several
//! devices in one process need no ranks: see [`nccl`](crate::nccl).
//!
//! If a rank fails, all other ranks get an error: the rank never joined, its process ended, it is late, or it called
//! another operation. So no rank waits forever.

mod place;
mod transport;
mod wire;

pub use crate::base::error::{RankError, TcpReason};
pub use crate::devices::nccl::{Element, ReduceOp};
pub use place::{Choice, Place};
pub use transport::Transport;

use crate::base::error::{Error, Result};
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::DeviceSlice;
use crate::context::same_context;
use crate::devices::device::Device;
use crate::devices::nccl::element;
use crate::devices::nccl::processes::{Collective, Rank};
use bytemuck::{cast_slice, cast_slice_mut};
use std::fmt;
use wire::{Call, Operation, Wire};

/// The ranks of a program, which exchange data: a process group, as PyTorch calls it.
///
/// All ranks call the same operations in the same order, with as many elements of the same type. Each waits for the other ranks and for
/// its result. [`transport`](Self::transport) says by which way data goes, which is the same for all ranks:
///
/// * Where each rank has a GPU of its own and NCCL 2.14 or newer (`libnccl.so.2`, or the file that `RUMBA_NCCL_LIBRARY` names), by
///   NCCL, from device to device. NCCL decides in which order floating-point numbers are added.
/// * Elsewhere through the host and rank 0, by TCP. Elements are combined in the order of the ranks.
///
/// Either way all ranks have the same bits. What is said about the operations goes to rank 0 by TCP in any case, so that a rank that is
/// lost, late or at another operation is noticed before NCCL waits for it.
///
/// # Errors of its operations
/// [`RankError::Lost`] when the process of another rank has ended, [`RankError::Late`] when one does not come within the
/// [timeout](Place::timeout) (rank 0: within twice that), [`RankError::Disagreement`] when one comes to another operation,
/// [`RankError::Stalled`] and [`RankError::Failed`] when NCCL does not end or fails. Each ends the group: all ranks get the same error,
/// and later operations too.
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
    transport: Transport,
    /// This rank's part in NCCL.
    nccl: Option<Rank>,
}

impl ProcessGroup {
    /// Waits until all ranks have come here, and have agreed on a transport. This rank's device is its [place's](Place::device).
    ///
    /// # Errors
    /// [`RankError::Absent`] and [`RankError::Unreachable`] if they have not within the timeout, [`RankError::Address`] if rank 0 cannot
    /// listen, [`RankError::Twice`], [`RankError::NoSuchRank`]; [`RankError::NoNccl`] if NCCL was asked for and cannot be used.
    pub fn join(place: &Place) -> Result<ProcessGroup> {
        ProcessGroup::with(place, || place.device())
    }

    /// As [`ProcessGroup::join`], by a rank that uses another device than its place's. By NCCL all its buffers are on that one.
    ///
    /// # Errors
    /// As [`ProcessGroup::join`].
    pub fn join_on(place: &Place, device: &Device) -> Result<ProcessGroup> {
        ProcessGroup::with(place, || Ok(device.clone()))
    }

    fn with(place: &Place, device: impl FnOnce() -> Result<Device>) -> Result<ProcessGroup> {
        let mut wire = Wire::join(place)?;
        let (transport, nccl) = transport::choose(&mut wire, device)?;
        wire.count_from_here();
        Ok(ProcessGroup { wire, transport, nccl })
    }

    /// By which way data goes from rank to rank, and if not by NCCL, why.
    pub fn transport(&self) -> &Transport {
        &self.transport
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
        Ok(self.wire.agree(Call::of::<u8>(Operation::Barrier, 0, 0))?)
    }

    /// Combines the buffers of all ranks element by element, and puts the result into all of them.
    ///
    /// # Errors
    /// Those of [`ProcessGroup`]; [`Error::OtherDevice`]; the driver's.
    pub fn all_reduce<T: Element>(&mut self, buffer: &mut DeviceBuffer<T>, op: ReduceOp) -> Result<()> {
        let (size, call) = (self.size(), Call::of::<T>(Operation::AllReduce, buffer.len(), op.number() as u32));
        if self.nccl.is_some() {
            let all = buffer.as_slice();
            return self.by_nccl(call, Collective::AllReduce(op), &all, &all);
        }
        let (mut values, mut theirs) = (buffer.to_vec()?, Vec::new());
        self.through_rank_0(call, call.length, &mut values, |wire, rank, values| {
            theirs.resize(call.length, T::zeroed());
            wire.receive(call, rank, cast_slice_mut(&mut theirs))?;
            element::combine(values, &theirs, op);
            if rank + 1 == size {
                element::average(values, op, size);
            }
            Ok(())
        })?;
        buffer.copy_from(&values)
    }

    /// Copies the buffer of one rank to all others.
    ///
    /// # Errors
    /// Those of [`ProcessGroup`]; [`RankError::NoSuchRank`]; [`Error::OtherDevice`]; the driver's.
    pub fn broadcast<T: Element>(&mut self, buffer: &mut DeviceBuffer<T>, root: usize) -> Result<()> {
        let (is_root, size) = (self.rank() == root, self.size());
        if root >= size {
            return Err(RankError::NoSuchRank { rank: root, size }.into());
        }
        let call = Call::of::<T>(Operation::Broadcast, buffer.len(), root as u32);
        if self.nccl.is_some() {
            let all = buffer.as_slice();
            return self.by_nccl(call, Collective::Broadcast { root }, &all, &all);
        }
        let (mut values, sent) =
            if is_root { (buffer.to_vec()?, call.length) } else { (vec![T::zeroed(); call.length], 0) };
        self.through_rank_0(call, sent, &mut values, |wire, rank, values| {
            let count = if rank == root { values.len() } else { 0 };
            wire.receive(call, rank, cast_slice_mut(&mut values[..count]))
        })?;
        if is_root { Ok(()) } else { buffer.copy_from(&values) }
    }

    /// Puts the parts of all ranks one behind the other, and gives that to all ranks.
    ///
    /// # Errors
    /// Those of [`ProcessGroup`]; [`Error::LengthMismatch`] unless the whole is as long as all parts together; [`Error::OtherDevice`];
    /// the driver's.
    pub fn all_gather<T: Element>(&mut self, part: &DeviceBuffer<T>, whole: &mut DeviceBuffer<T>) -> Result<()> {
        let length = part.len();
        if whole.len() != length * self.size() {
            return Err(Error::LengthMismatch {
                operation: "all_gather",
                source_length: length * self.size(),
                destination_length: whole.len(),
            });
        }
        let call = Call::of::<T>(Operation::AllGather, length, 0);
        if self.nccl.is_some() {
            return self.by_nccl(call, Collective::AllGather, &part.as_slice(), &whole.as_slice());
        }
        // This rank's part is sent from the front, which at rank 0 is also its place.
        let mut values = vec![T::zeroed(); whole.len()];
        part.copy_to(&mut values[..length])?;
        self.through_rank_0(call, length, &mut values, |wire, rank, values| {
            wire.receive(call, rank, cast_slice_mut(&mut values[rank * length..][..length]))
        })?;
        whole.copy_from(&values)
    }

    /// Sends this rank's first values to rank 0, which `receive`s those of each other rank, and gives all ranks what came of it.
    fn through_rank_0<T: Element>(
        &mut self,
        call: Call,
        sent: usize,
        values: &mut [T],
        mut receive: impl FnMut(&mut Wire, usize, &mut [T]) -> Result<(), RankError>,
    ) -> Result<()> {
        self.wire.begin()?;
        if self.rank() > 0 {
            self.wire.send(call, cast_slice(&values[..sent]))?;
        } else {
            (1..self.size()).try_for_each(|rank| receive(&mut self.wire, rank, values))?;
        }
        Ok(self.wire.deliver(call.operation, cast_slice_mut(values))?)
    }

    /// Comes to a call together with all other ranks, which then do it by NCCL.
    fn by_nccl<T: Element>(
        &mut self,
        call: Call,
        what: Collective,
        source: &DeviceSlice<'_, T>,
        target: &DeviceSlice<'_, T>,
    ) -> Result<()> {
        let (wire, operation) = (&mut self.wire, call.operation);
        let nccl = self.nccl.as_mut().expect("data goes by NCCL");
        for view in [source, target] {
            let memory = view.memory();
            same_context(nccl.context(), &memory.context, || memory.operation(&format!("{} with", operation.name())))?;
        }
        wire.agree(call)?;
        if call.length == 0 {
            return Ok(());
        }
        let done = nccl.run(what, operation.name(), source, target, &mut || Ok(wire.watch(operation)?));
        done.map_err(|error| {
            // First, so that nothing on the stream waits for other ranks any more.
            nccl.abort();
            transport::failed(wire, operation, error)
        })
    }
}

impl fmt::Debug for ProcessGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessGroup").field("place", self.wire.place()).field("transport", &self.transport).finish()
    }
}
