//! Symmetric memory of several processes: each makes a handle of its memory, which the others open (CUDA's IPC).

use super::{Connection, ProcessGroup, RankError};
use crate::base::error::{Code, Result, answer};
use crate::buffers::buffer::DeviceBuffer;
use crate::context::{Context, same_context};
use crate::cuda::sys;
use crate::devices::device::Device;
use crate::devices::nccl::ReduceOp;
use crate::devices::symmetric::{Access, SymmetricBuffer, check_size, write_table};
use bytemuck::{Pod, Zeroable, bytes_of};
use std::any::type_name;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// What a rank tells the others about its memory.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Offer {
    handle: sys::CUipcMemHandle,
    /// The elements of a rank, and the bytes of an element.
    length: u64,
    size: u64,
    /// A hash of the types of elements and accesses.
    types: u64,
    /// The driver's code for the handle, 0 if there is a handle.
    code: u64,
}

/// The memory of other ranks that this process has opened, and its own.
struct Opened {
    context: Arc<Context>,
    addresses: Vec<u64>,
    /// Never freed: other processes may have opened it.
    own: ManuallyDrop<DeviceBuffer<u8>>,
}

impl Drop for Opened {
    fn drop(&mut self) {
        let Some(_entered) = self.context.enter_to_release() else { return };
        let _ = crate::cuda::synchronize();
        for address in &self.addresses {
            // SAFETY: opened once, in this context, whose work is done. An error is a fault that every later call reports.
            let _ = unsafe { sys::cuIpcCloseMemHandle(*address) };
        }
    }
}

impl ProcessGroup {
    /// Memory of `length` elements on the GPU of each rank, which the kernels of all ranks read and write of each other while they run:
    /// over NVLink, or over PCIe where the platform allows it. All ranks call this with the same types and length, and each launches
    /// its kernel: see [`SymmetricBuffer`].
    ///
    /// The memory of a rank is freed when its process ends, since other ranks may be using it until then. Before a process ends, it
    /// waits for its device, and for the other ranks in [`barrier`](Self::barrier).
    ///
    /// # Errors
    /// [`RankError::NoPeerMemory`] unless all ranks have GPUs that reach each other in one machine, or share one;
    /// [`RankError::Disagreement`] if the ranks ask for different memory; those of [`ProcessGroup`]; [`Error::OtherDevice`] if the
    /// group uses NCCL with another device; the driver's.
    ///
    /// [`Error::OtherDevice`]: crate::Error::OtherDevice
    ///
    /// # Examples
    /// ```
    /// use rumba::ranks::{Place, ProcessGroup};
    ///
    /// let place = Place::from_env()?;
    /// let (device, group) = (place.device()?, ProcessGroup::join(&place)?);
    /// let memory = group.symmetric::<f32, rumba::symmetric::Get>(&device, 1000)?;
    /// assert_eq!((memory.rank(), memory.ranks()), (group.rank(), group.size()));
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn symmetric<T: Pod, A: Access>(&self, device: &Device, length: usize) -> Result<SymmetricBuffer<T, A>> {
        let (rank, size) = (self.rank(), self.size());
        if size == 1 {
            let mut alone = SymmetricBuffer::all(std::slice::from_ref(device), length)?;
            return Ok(alone.remove(0));
        }
        check_size(size)?;
        let context = device.context();
        let operation = || "make symmetric memory".to_owned();
        if let Connection::Nccl(exchanges) = &self.group.connection {
            same_context(exchanges.context(), &context, operation)?;
        }
        let own = device.zeros::<u8>(SymmetricBuffer::<T, A>::bytes(length)?.next_multiple_of(PAGE))?;
        let address = own.as_slice().address();
        let offer = {
            let _entered = context.enter(operation)?;
            Offer::of::<T, A>(address, length)
        };
        let offers = self.offers(device, offer)?;

        let mut opened = Opened { context: context.clone(), addresses: Vec::new(), own: ManuallyDrop::new(own) };
        let mut addresses = vec![address; size];
        let mut failed = Ok(());
        {
            let _entered = context.enter(operation)?;
            for (other, offer) in offers.iter().enumerate().filter(|(other, _)| *other != rank) {
                match open(offer) {
                    Ok(address) => {
                        addresses[other] = address;
                        opened.addresses.push(address);
                    }
                    Err(code) => failed = Err(code),
                }
            }
        }
        // All ranks have the memory, or none.
        let mut codes = device.buffer_from(&[failed.map_or_else(Code::number, |()| 0)])?;
        self.all_reduce(&mut codes, ReduceOp::Max)?;
        if let Some(code) = codes.to_vec()?.into_iter().find(|code| *code != 0) {
            return Err(no_peer_memory(format!("a rank cannot open the memory of another one: {}", named(code))));
        }
        write_table(&mut opened.own, rank, &addresses, self.group.place.timeout)?;
        device.synchronize()?;
        self.barrier()?;
        // SAFETY: the memory of all ranks stays as long as `opened`: that of this rank is never freed, and that of the others as long as
        // their processes. Only kernels use the memory from now on, and all ranks have agreed on types and length.
        Ok(unsafe { SymmetricBuffer::new(context, address, Box::new(opened), (rank, size), length) })
    }

    /// The offers of all ranks, which are for memory of the same kind.
    fn offers(&self, device: &Device, offer: Offer) -> Result<Vec<Offer>> {
        let part = device.buffer_from(bytes_of(&offer))?;
        let mut whole = device.zeros::<u8>(part.len() * self.size())?;
        self.all_gather(&part, &mut whole)?;
        let offers: Vec<Offer> =
            whole.to_vec()?.chunks_exact(size_of::<Offer>()).map(bytemuck::pod_read_unaligned).collect();
        if let Some(rank) = offers.iter().position(|offer| offer.kind() != offers[0].kind()) {
            let (theirs, ours) = (offers[rank].to_string(), offers[0].to_string());
            return Err(RankError::Disagreement { rank, theirs, ours }.into());
        }
        if let Some(rank) = offers.iter().position(|offer| offer.code != 0) {
            let cause = named(offers[rank].code as u32);
            return Err(no_peer_memory(format!("the driver of rank {rank} makes no handle of its memory: {cause}")));
        }
        Ok(offers)
    }
}

/// The driver makes a handle of whole pages: no other memory is in these.
const PAGE: usize = 2 << 20;

impl Offer {
    /// The offer of the memory at an address of the current context.
    fn of<T, A>(address: u64, length: usize) -> Offer {
        let mut hasher = DefaultHasher::new();
        (type_name::<T>(), type_name::<A>()).hash(&mut hasher);
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        // SAFETY: the place is valid, and the address that of an allocation of this process.
        let made = answer(unsafe { sys::cuIpcGetMemHandle(&mut handle, address) });
        let code = made.err().map_or(0, |code| u64::from(code.number()));
        Offer { handle, length: length as u64, size: size_of::<T>() as u64, types: hasher.finish(), code }
    }

    fn kind(&self) -> (u64, u64, u64) {
        (self.length, self.size, self.types)
    }
}

impl std::fmt::Display for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Offer { length, size, types, .. } = self;
        write!(f, "symmetric memory of {length} elements of {size} bytes (types {types:016x})")
    }
}

/// Opens the memory of another process: its address in this process.
fn open(offer: &Offer) -> Result<u64, Code> {
    /// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`
    const ENABLE_PEER_ACCESS: u32 = 1;
    let mut address = 0;
    // SAFETY: the place is valid; the handle is one that the driver has made.
    answer(unsafe { sys::cuIpcOpenMemHandle_v2(&mut address, offer.handle, ENABLE_PEER_ACCESS) })?;
    Ok(address)
}

fn named(code: u32) -> String {
    Code(sys::CUresult(code)).name().unwrap_or_else(|| format!("error {code}"))
}

fn no_peer_memory(reason: String) -> crate::Error {
    RankError::NoPeerMemory { reason }.into()
}
