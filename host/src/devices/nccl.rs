//! Collective operations between the devices of this process: NVIDIA's NCCL on GPUs, copies through the host on software
//! devices, so that the same program runs on both.
//!
//! One call does the part of every device, so no device can be forgotten and nothing waits forever. Several processes, on one
//! machine or on many, are [`ranks`](crate::ranks).

pub(super) mod element;
mod library;
pub(super) mod marks;
pub(super) mod processes;
mod through_host;

pub use crate::base::error::NcclError;
pub use element::{Element, ReduceOp};

use crate::base::driver;
use crate::base::error::{Error, Result};
use crate::base::host_fn::outside_host_fn;
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::context::{Context, same_context};
use crate::devices::device::Device;
use library::{Calls, Comm, Library};
use std::fmt;
use std::sync::Arc;

/// Some devices that exchange data. Each is known by its place in the list that [`Communicator::new`] was given.
///
/// The operations take one buffer for each device, in that order, and are put on the devices' default streams: the host does
/// not wait, and later uses of the buffers do.
///
/// On GPUs this is NCCL (2.10 or newer), which is loaded when it is first asked for: `libnccl.so.2`, or the file that
/// `RUMBA_NCCL_LIBRARY` names.
///
/// # Examples
/// ```
/// use rumba::nccl::{Communicator, ReduceOp};
/// use rumba::{Device, split};
///
/// # fn main() -> rumba::Result<()> {
/// # if std::env::var_os("RUMBA_DEVICE").is_some_and(|device| device == "gpu") { return Ok(()) }
/// let devices = Device::all()?;
/// // Every device has a gradient of its own; all get the sum.
/// let mut gradients = split(&devices, devices.len(), |device, part| device.buffer_from(&[part.start as f32 + 1.0; 100]))?;
/// Communicator::new(&devices)?.all_reduce(&mut gradients, ReduceOp::Sum)?;
/// let n = devices.len() as f32;
/// assert_eq!(gradients[0].to_vec()?, [n * (n + 1.0) / 2.0; 100]);
/// # Ok(())
/// # }
/// ```
pub struct Communicator {
    /// The contexts of the devices, in order.
    contexts: Vec<Arc<Context>>,
    transport: Transport,
}

enum Transport {
    Nccl { library: &'static Library, comms: Vec<Comm> },
    ThroughHost,
}

/// One device's part of an operation, for checks and for the order of its streams.
type Part<'p, T> = (DeviceSlice<'p, T>, bool);

impl Communicator {
    /// Joins devices.
    ///
    /// # Errors
    /// [`NcclError`] where NCCL is missing, too old, or refuses; for a list that is empty or has a device twice.
    pub fn new(devices: &[Device]) -> Result<Communicator> {
        let contexts: Vec<Arc<Context>> = devices.iter().map(Device::context).collect();
        for (place, context) in contexts.iter().enumerate() {
            if contexts[..place].iter().any(|other| other.ordinal == context.ordinal) {
                return Err(NcclError::Twice { device: context.ordinal }.into());
            }
        }
        if contexts.is_empty() {
            return Err(NcclError::NoDevices.into());
        }
        let transport = if driver::is_software() {
            Transport::ThroughHost
        } else {
            let library = Library::get()?;
            let ordinals: Vec<u32> = contexts.iter().map(|context| context.ordinal).collect();
            let comms = library.join(&ordinals)?;
            Transport::Nccl { library, comms }
        };
        Ok(Communicator { contexts, transport })
    }

    /// How many devices there are.
    pub fn len(&self) -> usize {
        self.contexts.len()
    }

    /// Always false: a communicator has at least one device.
    pub fn is_empty(&self) -> bool {
        self.contexts.is_empty()
    }

    /// Combines the buffers element by element, and puts the result into all of them.
    ///
    /// # Errors
    /// [`NcclError::Buffers`] unless each device has one buffer; [`Error::LengthMismatch`] if lengths differ;
    /// [`Error::OtherDevice`] if a buffer belongs to another device; the driver's and NCCL's errors.
    pub fn all_reduce<T: Element>(&self, buffers: &mut [DeviceBuffer<T>], op: ReduceOp) -> Result<()> {
        let parts: Vec<Part<'_, T>> = buffers.iter().map(|buffer| (buffer.as_slice(), true)).collect();
        self.check("all_reduce", &[(&parts, 1)])?;
        match &self.transport {
            Transport::ThroughHost => through_host::all_reduce(buffers, op),
            Transport::Nccl { library, comms } => self.group(library, "all_reduce", &parts, |calls| {
                for (rank, (view, _)) in parts.iter().enumerate() {
                    let stream = self.stream(rank);
                    // SAFETY: `group` promises what the calls ask for, and the parts are as long as said.
                    unsafe {
                        calls.all_reduce::<T>(view.address(), view.address(), view.len(), op, comms[rank], stream)?;
                    };
                }
                Ok(())
            }),
        }
    }

    /// Copies the buffer of one device to all others.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`]; [`NcclError::NoSuchRank`] if the communicator has no device `root`.
    pub fn broadcast<T: Element>(&self, buffers: &mut [DeviceBuffer<T>], root: usize) -> Result<()> {
        let parts: Vec<Part<'_, T>> =
            buffers.iter().enumerate().map(|(rank, buffer)| (buffer.as_slice(), rank != root)).collect();
        self.check("broadcast", &[(&parts, 1)])?;
        if root >= self.len() {
            return Err(NcclError::NoSuchRank { rank: root, count: self.len() }.into());
        }
        match &self.transport {
            Transport::ThroughHost => through_host::broadcast(buffers, root),
            Transport::Nccl { library, comms } => self.group(library, "broadcast", &parts, |calls| {
                for (rank, (view, _)) in parts.iter().enumerate() {
                    let stream = self.stream(rank);
                    // SAFETY: as above.
                    unsafe { calls.broadcast::<T>(view.address(), view.len(), root, comms[rank], stream)? };
                }
                Ok(())
            }),
        }
    }

    /// Puts all parts one behind the other, and gives that to all devices.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`]; all parts must be as long, and each whole as long as all parts together.
    pub fn all_gather<T: Element>(&self, parts: &[DeviceBuffer<T>], wholes: &mut [DeviceBuffer<T>]) -> Result<()> {
        let sources: Vec<Part<'_, T>> = parts.iter().map(|buffer| (buffer.as_slice(), false)).collect();
        let targets: Vec<Part<'_, T>> = wholes.iter().map(|buffer| (buffer.as_slice(), true)).collect();
        self.check("all_gather", &[(&sources, 1), (&targets, self.len())])?;
        match &self.transport {
            Transport::ThroughHost => through_host::all_gather(parts, wholes),
            Transport::Nccl { library, comms } => {
                let all = [&sources[..], &targets[..]].concat();
                self.group(library, "all_gather", &all, |calls| {
                    for (rank, ((source, _), (target, _))) in sources.iter().zip(&targets).enumerate() {
                        let stream = self.stream(rank);
                        // SAFETY: as above.
                        unsafe {
                            calls.all_gather::<T>(
                                source.address(),
                                target.address(),
                                source.len(),
                                comms[rank],
                                stream,
                            )?;
                        }
                    }
                    Ok(())
                })
            }
        }
    }

    /// Combines the wholes element by element, and gives each device its part of the result.
    ///
    /// # Errors
    /// As [`Communicator::all_gather`].
    pub fn reduce_scatter<T: Element>(
        &self,
        wholes: &[DeviceBuffer<T>],
        parts: &mut [DeviceBuffer<T>],
        op: ReduceOp,
    ) -> Result<()> {
        let sources: Vec<Part<'_, T>> = wholes.iter().map(|buffer| (buffer.as_slice(), false)).collect();
        let targets: Vec<Part<'_, T>> = parts.iter().map(|buffer| (buffer.as_slice(), true)).collect();
        self.check("reduce_scatter", &[(&targets, 1), (&sources, self.len())])?;
        match &self.transport {
            Transport::ThroughHost => through_host::reduce_scatter(wholes, parts, op),
            Transport::Nccl { library, comms } => {
                let all = [&sources[..], &targets[..]].concat();
                self.group(library, "reduce_scatter", &all, |calls| {
                    for (rank, ((source, _), (target, _))) in sources.iter().zip(&targets).enumerate() {
                        let stream = self.stream(rank);
                        // SAFETY: as above.
                        unsafe {
                            calls.reduce_scatter::<T>(
                                source.address(),
                                target.address(),
                                target.len(),
                                op,
                                comms[rank],
                                stream,
                            )?;
                        }
                    }
                    Ok(())
                })
            }
        }
    }

    /// Sends elements from one of the devices to another: `ncclSend` and `ncclRecv` in one.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless both are as long; [`NcclError::NotAMember`] for memory of a device that is not one of
    /// these; the driver's and NCCL's.
    pub fn send<T: Element>(&self, source: DeviceSlice<'_, T>, mut destination: DeviceSliceMut<'_, T>) -> Result<()> {
        let target = destination.as_slice();
        let (from, to) = (self.rank_of(&source)?, self.rank_of(&target)?);
        if source.len() != target.len() {
            return Err(Error::LengthMismatch {
                operation: "send",
                source_length: source.len(),
                destination_length: target.len(),
            });
        }
        match &self.transport {
            Transport::ThroughHost => destination.copy_from_device(&source),
            Transport::Nccl { .. } if from == to => destination.copy_from_device(&source),
            Transport::Nccl { library, comms } => {
                self.group(library, "send", &[(source, false), (target, true)], |calls| {
                    // SAFETY: as above.
                    unsafe {
                        calls.send::<T>(source.address(), source.len(), to, comms[from], self.stream(from))?;
                        calls.receive::<T>(target.address(), target.len(), from, comms[to], self.stream(to))
                    }
                })
            }
        }
    }

    fn rank_of<T: Element>(&self, view: &DeviceSlice<'_, T>) -> Result<usize> {
        let context = &view.memory().context;
        let rank = self.contexts.iter().position(|other| Arc::ptr_eq(other, context));
        rank.ok_or_else(|| NcclError::NotAMember { device: context.ordinal }.into())
    }

    /// Checks that each device has a part, in its memory, and that each part is `times` as long as the shortest kind.
    fn check<T: Element>(&self, operation: &'static str, kinds: &[(&[Part<'_, T>], usize)]) -> Result<()> {
        let length = kinds.first().and_then(|(parts, _)| parts.first()).map_or(0, |(view, _)| view.len());
        for (parts, times) in kinds {
            if parts.len() != self.len() {
                return Err(NcclError::Buffers { operation, buffers: parts.len(), devices: self.len() }.into());
            }
            for (context, (view, _)) in self.contexts.iter().zip(*parts) {
                let memory = view.memory();
                same_context(context, &memory.context, || memory.operation(&format!("{operation} with")))?;
                if view.len() != length * times {
                    return Err(Error::LengthMismatch {
                        operation,
                        source_length: length * times,
                        destination_length: view.len(),
                    });
                }
            }
        }
        Ok(())
    }

    fn stream(&self, rank: usize) -> crate::cuda::sys::CUstream {
        self.contexts[rank].queues.default.raw.raw()
    }

    /// Makes calls of NCCL that belong together, in the order of the devices' other work: while `calls` runs and until its
    /// work is on the streams, all contexts are alive and nothing else uses the parts.
    fn group<T: Element>(
        &self,
        library: &Library,
        operation: &'static str,
        parts: &[Part<'_, T>],
        calls: impl FnOnce(&Calls<'_>) -> Result<(), NcclError>,
    ) -> Result<()> {
        let text = || format!("{operation} between {} devices", self.len());
        // One order for all communicators, so that two threads do not wait for each other.
        let mut sorted: Vec<&Arc<Context>> = self.contexts.iter().collect();
        sorted.sort_by_key(|context| context.ordinal);
        let mut orders: Vec<_> = sorted.iter().map(|context| context.queues.order.lock()).collect();
        let mut entered = Vec::with_capacity(sorted.len());
        for (context, order) in sorted.iter().zip(&mut orders) {
            let alive = context.enter(text)?;
            for (view, writes) in parts.iter().filter(|(view, _)| Arc::ptr_eq(&view.memory().context, context)) {
                context.queues.default.next_to_use(&view.memory().uses, &view.access(*writes), order, &alive)?;
            }
            entered.push(alive);
        }
        library.group(operation, calls)?;
        Ok(())
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let devices: Vec<u32> = self.contexts.iter().map(|context| context.ordinal).collect();
        f.debug_struct("Communicator").field("devices", &devices).finish()
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        let Transport::Nccl { library, comms } = &mut self.transport else {
            return;
        };
        let (library, comms, contexts) = (*library, std::mem::take(comms), std::mem::take(&mut self.contexts));
        outside_host_fn(move || {
            for (context, comm) in contexts.iter().zip(comms) {
                if let Some(entered) = context.enter_to_release() {
                    // Its operations may still be running.
                    entered.settle(&entered.context.queues.default);
                    // SAFETY: made by `join`, destroyed once, in a living context.
                    unsafe { library.leave(comm) };
                }
            }
        });
    }
}
