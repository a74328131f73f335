//! Processes that work together, on one machine or on several: each is a rank, as MPI and NCCL call it, with a device of its own.
//!
//! A program is started once for each device, by `torchrun`, `mpirun`, `srun`, or a shell that sets some variables.
//! [`Place::from_env`] reads the rank of the process, and [`ProcessGroup`] has the collective operations. Several
//! devices in one process need no ranks: see [`nccl`](crate::nccl).
//!
//! If a rank fails, all other ranks get an error: the rank never joined, its process ended, it is late, or it called
//! another operation. So no rank waits forever.

mod peers;
mod place;
mod transport;
mod watch;
mod wire;

pub use crate::base::error::{RankError, TcpReason};
pub use crate::devices::nccl::{Element, ReduceOp};
pub(in crate::devices) use place::timeout;
pub use place::{Choice, Place};
pub use transport::Transport;

#[cfg(doc)]
use crate::base::error::Error;
use crate::base::error::{GraphError, Result};
use crate::buffers::view::{DeviceSlice, DeviceSliceMut, same_length};
use crate::devices::device::Device;
use crate::devices::nccl::element;
use crate::devices::nccl::processes::Collective;
use crate::streams::recorded::{Exchange, Recorded};
use crate::streams::stream::Stream;
use bytemuck::{cast_slice, cast_slice_mut};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use watch::Exchanges;
use wire::{Call, Operation, Wire};

/// The ranks of a program, which exchange data: a process group, as PyTorch calls it. Clones are handles to one group.
///
/// All ranks call the same operations in the same order, with as many elements of the same type.
/// [`transport`](Self::transport) returns the path of the data, which is the same for all ranks:
///
/// * NCCL, if each rank has a GPU of its own and NCCL 2.14 or newer (`libnccl.so.2`, or the file that `RUMBA_NCCL_LIBRARY` names).
///   An operation is put on a stream, as a kernel launch is: the host does not wait unless 64 are in progress, and later uses of the
///   buffers do. The stream is the default stream, or the stream of [`on`](Self::on). NCCL chooses the order in which floating-point numbers are added.
/// * TCP otherwise, through the host and rank 0. An operation returns with its result. Elements are combined in the order of the
///   ranks.
///
/// With both transports all ranks have the same bits. With NCCL, a thread of the group sends the calls of the rank to rank 0 by TCP,
/// and watches the other ranks while operations are on streams.
///
/// # Errors of its operations
/// [`RankError::Lost`] when the process of another rank has ended, [`RankError::Late`] when a rank does not come within the
/// [timeout](Place::timeout) (rank 0: within twice that), [`RankError::Disagreement`] when ranks call different operations,
/// [`RankError::Stalled`] and [`RankError::Failed`] when NCCL does not end or fails. Each error ends the group: all ranks get the same
/// error, and later operations too.
///
/// If the group ends while operations are on a stream, the operations are aborted, and their results are meaningless. The next wait
/// returns the error, as it returns the panic of a kernel: a wait for a stream that the operations were put on, or any wait of a thread
/// that called operations, such as [`Device::synchronize`] or a copy to the host.
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
/// let group = ProcessGroup::join(&place)?;
/// let mut gradients = device.buffer_from(&[group.rank() as f32; 4])?;
/// group.all_reduce(&mut gradients, ReduceOp::Average)?;
/// assert_eq!(gradients.to_vec()?, [(group.size() - 1) as f32 / 2.0; 4]);
/// # Ok::<(), rumba::Error>(())
/// ```
#[derive(Clone)]
pub struct ProcessGroup {
    group: Arc<Group>,
    /// The stream of this handle's operations, if not the default stream.
    stream: Option<Stream>,
}

struct Group {
    place: Place,
    transport: Transport,
    connection: Connection,
}

/// The path of the data, with the connections to the other ranks.
enum Connection {
    Tcp(Box<Mutex<Wire>>),
    Nccl(Exchanges),
}

/// The operands of an operation. `source` may be a part of `target`, or `target` itself.
struct Operands<'v, T> {
    source: DeviceSlice<'v, T>,
    target: DeviceSlice<'v, T>,
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
        let (transport, rank) = transport::choose(&mut wire, device)?;
        wire.count_from_here();
        let place = wire.place().clone();
        let connection = match rank {
            Some(rank) => Connection::Nccl(Exchanges::new(rank, wire)?),
            None => Connection::Tcp(Box::new(Mutex::new(wire))),
        };
        Ok(ProcessGroup { group: Arc::new(Group { place, transport, connection }), stream: None })
    }

    /// The same group, whose operations through this handle go on `stream`. By TCP the host waits for the operations in any case.
    ///
    /// On the stream of [`Device::capture`], operations become part of the graph.
    ///
    /// # Examples
    /// An exchange beside kernels of the default stream:
    /// ```
    /// use rumba::ranks::{Place, ProcessGroup, ReduceOp};
    ///
    /// let place = Place::from_env()?;
    /// let device = place.device()?;
    /// let group = ProcessGroup::join(&place)?;
    /// let beside = group.on(&device.stream()?);
    /// let mut gradients = device.buffer_from(&[1.0_f32; 100])?;
    /// let (mut first, mut second) = gradients.as_slice_mut().split_at_mut(50);
    /// beside.all_reduce(first.reborrow(), ReduceOp::Average)?;
    /// // Other work on the second half goes on meanwhile.
    /// second.clear()?;
    /// # Ok::<(), rumba::Error>(())
    /// ```
    #[must_use]
    pub fn on(&self, stream: &Stream) -> ProcessGroup {
        ProcessGroup { group: self.group.clone(), stream: Some(stream.clone()) }
    }

    /// The transport of data between ranks, and if that is not NCCL, why.
    pub fn transport(&self) -> &Transport {
        &self.group.transport
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.group.place.rank
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.group.place.size
    }

    /// Waits until all ranks have come here, and all earlier operations are done on all ranks.
    ///
    /// # Errors
    /// Those of [`ProcessGroup`].
    pub fn barrier(&self) -> Result<()> {
        let call = Call::of::<u8>(Operation::Barrier, 0, 0);
        match &self.group.connection {
            Connection::Tcp(wire) => Ok(wire.lock().agree(call)?),
            Connection::Nccl(exchanges) => Ok(exchanges.barrier(call)?),
        }
    }

    /// Combines the buffers of all ranks element by element, and puts the result into all of them.
    ///
    /// # Errors
    /// Those of [`ProcessGroup`]; [`Error::OtherDevice`]; the driver's.
    pub fn all_reduce<'b, T: Element>(&self, buffer: impl Into<DeviceSliceMut<'b, T>>, op: ReduceOp) -> Result<()> {
        let all = buffer.into().into_view();
        self.reduce_all(Operands { source: all, target: all }, op)
    }

    /// As [`all_reduce`](Self::all_reduce), with the result in another buffer.
    ///
    /// # Errors
    /// Those of [`all_reduce`](Self::all_reduce); [`Error::LengthMismatch`] if the buffers differ in length.
    pub fn all_reduce_into<'s, 't, T: Element>(
        &self,
        source: impl Into<DeviceSlice<'s, T>>,
        target: impl Into<DeviceSliceMut<'t, T>>,
        op: ReduceOp,
    ) -> Result<()> {
        let (source, target) = (source.into(), target.into());
        same_length("all_reduce", source.len(), target.len())?;
        self.reduce_all(Operands { source, target: target.as_slice() }, op)
    }

    fn reduce_all<T: Element>(&self, operands: Operands<'_, T>, op: ReduceOp) -> Result<()> {
        let call = Call::of::<T>(Operation::AllReduce, operands.target.len(), op.number() as u32);
        self.put(call, Collective::AllReduce(op), &operands)
    }

    /// Copies the buffer of one rank to all others.
    ///
    /// # Errors
    /// Those of [`ProcessGroup`]; [`RankError::NoSuchRank`]; [`Error::OtherDevice`]; the driver's.
    pub fn broadcast<'b, T: Element>(&self, buffer: impl Into<DeviceSliceMut<'b, T>>, root: usize) -> Result<()> {
        let size = self.size();
        if root >= size {
            return Err(RankError::NoSuchRank { rank: root, size }.into());
        }
        let all = buffer.into().into_view();
        let call = Call::of::<T>(Operation::Broadcast, all.len(), root as u32);
        self.put(call, Collective::Broadcast { root }, &Operands { source: all, target: all })
    }

    /// Puts the parts of all ranks one behind the other, and gives that to all ranks.
    ///
    /// # Errors
    /// Those of [`ProcessGroup`]; [`Error::LengthMismatch`] unless the whole is as long as all parts together; [`Error::OtherDevice`];
    /// the driver's.
    pub fn all_gather<'p, 'w, T: Element>(
        &self,
        part: impl Into<DeviceSlice<'p, T>>,
        whole: impl Into<DeviceSliceMut<'w, T>>,
    ) -> Result<()> {
        let (part, whole) = (part.into(), whole.into());
        same_length("all_gather", part.len() * self.size(), whole.len())?;
        self.gather(Operands { source: part, target: whole.as_slice() })
    }

    /// As [`all_gather`](Self::all_gather), where this rank's part lies at its place in the whole: part `rank` of as many as there are
    /// ranks.
    ///
    /// # Errors
    /// As [`all_gather`](Self::all_gather).
    pub fn all_gather_in_place<'w, T: Element>(&self, whole: impl Into<DeviceSliceMut<'w, T>>) -> Result<()> {
        let whole = whole.into().into_view();
        self.gather(Operands { source: self.own_part("all_gather", whole)?, target: whole })
    }

    fn gather<T: Element>(&self, operands: Operands<'_, T>) -> Result<()> {
        let call = Call::of::<T>(Operation::AllGather, operands.source.len(), 0);
        self.put(call, Collective::AllGather, &operands)
    }

    /// Combines the wholes of all ranks element by element, and gives each rank its part of the result: part `rank` of as many as there
    /// are ranks.
    ///
    /// # Errors
    /// As [`all_gather`](Self::all_gather).
    ///
    /// # Examples
    /// ```
    /// use rumba::ranks::{Place, ProcessGroup, ReduceOp};
    ///
    /// let place = Place::from_env()?;
    /// let device = place.device()?;
    /// let group = ProcessGroup::join(&place)?;
    /// let whole = device.buffer_from(&vec![1_u32; 3 * group.size()])?;
    /// let mut part = device.zeros::<u32>(3)?;
    /// group.reduce_scatter(&whole, &mut part, ReduceOp::Sum)?;
    /// assert_eq!(part.to_vec()?, [group.size() as u32; 3]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn reduce_scatter<'w, 'p, T: Element>(
        &self,
        whole: impl Into<DeviceSlice<'w, T>>,
        part: impl Into<DeviceSliceMut<'p, T>>,
        op: ReduceOp,
    ) -> Result<()> {
        let (whole, part) = (whole.into(), part.into());
        same_length("reduce_scatter", whole.len(), part.len() * self.size())?;
        self.scatter(Operands { source: whole, target: part.as_slice() }, op)
    }

    /// As [`reduce_scatter`](Self::reduce_scatter), with the part of the result at its place in the whole. The other parts are
    /// meaningless afterwards.
    ///
    /// # Errors
    /// As [`all_gather`](Self::all_gather).
    pub fn reduce_scatter_in_place<'w, T: Element>(
        &self,
        whole: impl Into<DeviceSliceMut<'w, T>>,
        op: ReduceOp,
    ) -> Result<()> {
        let whole = whole.into().into_view();
        self.scatter(Operands { source: whole, target: self.own_part("reduce_scatter", whole)? }, op)
    }

    fn scatter<T: Element>(&self, operands: Operands<'_, T>, op: ReduceOp) -> Result<()> {
        let call = Call::of::<T>(Operation::ReduceScatter, operands.target.len(), op.number() as u32);
        self.put(call, Collective::ReduceScatter(op), &operands)
    }

    /// This rank's part of a whole, which has a part for each rank.
    fn own_part<'w, T: Element>(
        &self,
        operation: &'static str,
        whole: DeviceSlice<'w, T>,
    ) -> Result<DeviceSlice<'w, T>> {
        let length = whole.len() / self.size();
        same_length(operation, length * self.size(), whole.len())?;
        Ok(whole.slice(self.rank() * length..(self.rank() + 1) * length))
    }

    fn put<T: Element>(&self, call: Call, what: Collective, operands: &Operands<'_, T>) -> Result<()> {
        if let Some(stream) = &self.stream
            && let Some(recording) = stream.records()
        {
            return recording.add(self.recorded(stream, call, what, operands)?);
        }
        let Operands { source, target } = operands;
        match &self.group.connection {
            Connection::Tcp(wire) => through_rank_0(&mut wire.lock(), call, what, operands),
            Connection::Nccl(exchanges) => exchanges.put(call, what, source, target, self.stream.as_ref()),
        }
    }
}

impl ProcessGroup {
    /// An operation for a graph, which keeps the memory and the group.
    fn recorded<T: Element>(
        &self,
        stream: &Stream,
        call: Call,
        what: Collective,
        operands: &Operands<'_, T>,
    ) -> Result<Recorded> {
        let name = call.operation.name();
        for memory in [operands.source.memory(), operands.target.memory()] {
            stream.belongs_to(&memory.context, || memory.operation(&format!("{name} with")))?;
            if memory.is_unified() {
                return Err(GraphError::UnifiedMemory { kernel: name }.into());
            }
            if memory.is_lent() {
                return Err(GraphError::Lent { kernel: name }.into());
            }
        }
        let (source, target) = (operands.source.keep(), operands.target.keep());
        let group = self.group.clone();
        let put = move |stream: Option<&Stream>| {
            let group = ProcessGroup { group: group.clone(), stream: stream.cloned() };
            group.put(call, what, &Operands::<T> { source: source.view(), target: target.view() })
        };
        Ok(Recorded::Exchange(Exchange { name, put: Box::new(put) }))
    }
}

/// Does an operation by TCP: rank 0 receives the elements of the other ranks, and sends the result.
fn through_rank_0<T: Element>(
    wire: &mut Wire,
    call: Call,
    what: Collective,
    Operands { source, target }: &Operands<'_, T>,
) -> Result<()> {
    let (rank, size, length) = (wire.place().rank, wire.place().size, call.length);
    if size == 1 {
        wire.begin()?;
        // The result of one rank is its own data.
        return match source.address() == target.address() {
            true => Ok(()),
            // SAFETY: the caller of the operation has borrowed the target mutably.
            false => unsafe { target.assume_mut() }.copy_from_device(source),
        };
    }
    let mut values = match what {
        Collective::Broadcast { root } if root != rank => vec![T::zeroed(); length],
        Collective::AllReduce(_) | Collective::Broadcast { .. } | Collective::ReduceScatter(_) => source.to_vec()?,
        // This rank's part is sent from the front, which at rank 0 is also its place.
        Collective::AllGather => {
            let mut values = vec![T::zeroed(); target.len()];
            source.copy_to(&mut values[..length])?;
            values
        }
    };
    wire.begin()?;
    if rank > 0 {
        let sent = match what {
            Collective::Broadcast { root } if root != rank => 0,
            _ => source.len(),
        };
        wire.send(call, cast_slice(&values[..sent]))?;
    } else {
        let mut theirs = Vec::new();
        for other in 1..size {
            match what {
                Collective::AllReduce(op) | Collective::ReduceScatter(op) => {
                    theirs.resize(values.len(), T::zeroed());
                    wire.receive(call, other, cast_slice_mut(&mut theirs))?;
                    element::combine(&mut values, &theirs, op);
                }
                Collective::Broadcast { root } => {
                    let count = if other == root { length } else { 0 };
                    wire.receive(call, other, cast_slice_mut(&mut values[..count]))?;
                }
                Collective::AllGather => {
                    wire.receive(call, other, cast_slice_mut(&mut values[other * length..][..length]))?;
                }
            }
        }
        if let Collective::AllReduce(op) | Collective::ReduceScatter(op) = what {
            element::average(&mut values, op, size);
        }
    }
    if let Collective::ReduceScatter(_) = what {
        wire.deliver_parts(call.operation, cast_slice_mut(&mut values), target.bytes())?;
        values.truncate(length);
    } else {
        wire.deliver(call.operation, cast_slice_mut(&mut values))?;
    }
    match what {
        Collective::Broadcast { root } if root == rank => Ok(()),
        // SAFETY: the caller of the operation has borrowed the target mutably.
        _ => unsafe { target.assume_mut() }.copy_from(&values),
    }
}

impl fmt::Debug for ProcessGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Group { place, transport, .. } = &*self.group;
        f.debug_struct("ProcessGroup").field("place", place).field("transport", transport).finish()
    }
}
