//! By which way ranks exchange data: each says what it can, and rank 0 what all of them do.

use super::place::Choice;
use super::wire::{Call, Operation, Wire};
use crate::base::driver;
use crate::base::error::{Error, NcclError, RankError, Result, TcpReason};
use crate::devices::device::Device;
use crate::devices::nccl::processes::{Nccl, Rank, UniqueId};
use bytemuck::{Pod, Zeroable, bytes_of, bytes_of_mut};
use std::fmt;
use std::time::Instant;

/// By which way the ranks of a group exchange data, the same on all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// NVIDIA's NCCL: from device to device, by the fastest link between them.
    Nccl {
        /// Its version: major, minor, patch.
        version: (u32, u32, u32),
    },
    /// The host's memory and rank 0, by TCP.
    Tcp {
        /// Why not NCCL.
        reason: TcpReason,
    },
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transport::Nccl { version: (major, minor, patch) } => write!(f, "NCCL {major}.{minor}.{patch}"),
            Transport::Tcp { reason } => write!(f, "TCP through rank 0, since {reason}"),
        }
    }
}

/// The capabilities and the choice of a rank, as sent to rank 0.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Offer {
    /// One of the numbers below.
    can: u32,
    wants: u32,
    version: i32,
    /// 1: memory of the software device, which ranks may share.
    on_software: u32,
    gpu: [u8; 16],
}

const CAN: u32 = 0;
const NO_GPU: u32 = 1;
const NO_LIBRARY: u32 = 2;

const ANY: u32 = 0;
const NCCL: u32 = 1;
const TCP: u32 = 2;

/// The answer of rank 0 to all ranks.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Answer {
    /// 0 for NCCL, else the number of a [`TcpReason`].
    reason: u32,
    ranks: [u32; 2],
    /// 1: a rank insists on NCCL, and it cannot be had.
    refused: u32,
    id: UniqueId,
}

/// The decision of rank 0 about all offers, in the order of the ranks.
fn decide(offers: &[Offer]) -> Result<(), TcpReason> {
    let first = |is: &dyn Fn(&Offer) -> bool| offers.iter().position(is);
    if let Some(rank) = first(&|offer| offer.wants == TCP) {
        return Err(TcpReason::Chosen { rank });
    }
    if let Some(rank) = first(&|offer| offer.can == NO_GPU) {
        return Err(TcpReason::NoGpu { rank });
    }
    if let Some(rank) = first(&|offer| offer.can != CAN) {
        return Err(TcpReason::NoLibrary { rank });
    }
    if let Some(rank) = first(&|offer| offer.on_software != offers[0].on_software) {
        return Err(TcpReason::NoGpu { rank });
    }
    if let Some(rank) = first(&|offer| offer.version != offers[0].version) {
        return Err(TcpReason::Versions { rank });
    }
    for (second, offer) in offers.iter().enumerate().filter(|(_, offer)| offer.on_software == 0) {
        if let Some(first) = offers[..second].iter().position(|other| other.gpu == offer.gpu) {
            return Err(TcpReason::SharedGpu { first, second });
        }
    }
    Ok(())
}

fn encoded(reason: TcpReason) -> (u32, [u32; 2]) {
    match reason {
        TcpReason::Chosen { rank } => (1, [rank as u32, 0]),
        TcpReason::NoGpu { rank } => (2, [rank as u32, 0]),
        TcpReason::NoLibrary { rank } => (3, [rank as u32, 0]),
        TcpReason::Versions { rank } => (4, [rank as u32, 0]),
        TcpReason::SharedGpu { first, second } => (5, [first as u32, second as u32]),
    }
}

/// None if nothing prevents NCCL.
fn decoded(reason: u32, [first, second]: [u32; 2]) -> Option<TcpReason> {
    let rank = first as usize;
    match reason {
        0 => None,
        1 => Some(TcpReason::Chosen { rank }),
        2 => Some(TcpReason::NoGpu { rank }),
        3 => Some(TcpReason::NoLibrary { rank }),
        4 => Some(TcpReason::Versions { rank }),
        _ => Some(TcpReason::SharedGpu { first: rank, second: second as usize }),
    }
}

/// The parts of NCCL that this rank has: the library and its device.
enum Own {
    Ready(Nccl, Device),
    NoGpu(Option<Error>),
    NoLibrary(NcclError),
    /// It is not asked for.
    Unwanted,
}

impl Own {
    fn of(wants: Choice, device: impl FnOnce() -> Result<Device>) -> Own {
        if wants == Choice::Tcp {
            return Own::Unwanted;
        }
        let device = match device() {
            Ok(device) => device,
            Err(error) => return Own::NoGpu(Some(error)),
        };
        // NCCL itself is of no use there.
        if driver::is_software() && std::env::var_os("RUMBA_NCCL_LIBRARY").is_none() {
            return Own::NoGpu(None);
        }
        match Nccl::get() {
            Ok(nccl) if driver::is_software() && !nccl.is_for_software() => Own::NoGpu(None),
            Ok(nccl) => Own::Ready(nccl, device),
            Err(error) => Own::NoLibrary(error),
        }
    }

    fn offer(&self, wants: Choice) -> Result<Offer> {
        let wants = match wants {
            Choice::Automatic => ANY,
            Choice::Nccl => NCCL,
            Choice::Tcp => TCP,
        };
        let mut offer = Offer { can: CAN, wants, version: 0, on_software: 0, gpu: [0; 16] };
        match self {
            Own::Ready(nccl, device) => {
                offer.version = nccl.version();
                offer.on_software = nccl.is_for_software().into();
                offer.gpu = device.uuid()?.0;
            }
            Own::NoGpu(_) | Own::Unwanted => offer.can = NO_GPU,
            Own::NoLibrary(_) => offer.can = NO_LIBRARY,
        }
        Ok(offer)
    }

    /// The reason why there is no NCCL, as far as this rank knows.
    fn cause(&self) -> Option<String> {
        match self {
            Own::NoGpu(error) => error.as_ref().map(ToString::to_string),
            Own::NoLibrary(error) => Some(error.to_string()),
            Own::Ready(..) | Own::Unwanted => None,
        }
    }
}

/// Agrees with all other ranks on a way, and joins them by it.
pub(super) fn choose(wire: &mut Wire, device: impl FnOnce() -> Result<Device>) -> Result<(Transport, Option<Rank>)> {
    let (rank, size, wants) = (wire.place().rank, wire.place().size, wire.place().transport);
    let own = Own::of(wants, device);
    let offer = own.offer(wants)?;
    let answer = exchange(wire, offer, &own)?;
    let reason = decoded(answer.reason, answer.ranks);
    let transport = match (reason, &own) {
        (None, Own::Ready(nccl, _)) => Transport::Nccl { version: nccl.release() },
        // Rank 0 says so only if all are ready.
        (None, _) => Transport::Tcp { reason: TcpReason::NoGpu { rank } },
        (Some(reason), _) => Transport::Tcp { reason },
    };
    let about = own.cause().map(|cause| format!(": {cause}")).unwrap_or_default();
    driver::say(format_args!("rank {rank} of {size} exchanges data by {transport}{about}"));
    if let (Some(reason), 1) = (reason, answer.refused) {
        let error = RankError::NoNccl { reason, cause: own.cause() };
        return Err(wire.end(error).into());
    }
    let (None, Own::Ready(nccl, device)) = (reason, own) else {
        return Ok((transport, None));
    };
    let call = Call { operation: Operation::Connect, element: 0, length: 0, argument: 0 };
    wire.agree(call)?;
    let joined = nccl.join(&device.context(), answer.id, rank, size, &mut || {
        wire.heard(call.operation)?;
        Ok(wire.watch(call.operation, Instant::now())?)
    });
    let joined = joined.map_err(|error| failed(wire, call.operation, error))?;
    // All of them, before any begins.
    wire.agree(call)?;
    Ok((transport, Some(joined)))
}

/// Sends this rank's offer to rank 0, which answers all of them.
fn exchange(wire: &mut Wire, offer: Offer, own: &Own) -> Result<Answer> {
    let (rank, size) = (wire.place().rank, wire.place().size);
    let call = Call { operation: Operation::Offer, element: 0, length: size_of::<Offer>(), argument: 0 };
    let mut answer = Answer::zeroed();
    wire.begin()?;
    if rank > 0 {
        wire.send(call, bytes_of(&offer))?;
    } else {
        let mut offers = vec![offer];
        for rank in 1..size {
            let mut theirs = Offer::zeroed();
            wire.receive(call, rank, bytes_of_mut(&mut theirs))?;
            offers.push(theirs);
        }
        match (decide(&offers), own) {
            (Ok(()), Own::Ready(nccl, _)) => {
                answer.id = nccl.unique_id().map_err(|error| failed(wire, call.operation, error.into()))?;
            }
            (Ok(()), _) => (answer.reason, answer.ranks) = encoded(TcpReason::NoGpu { rank }),
            (Err(reason), _) => {
                (answer.reason, answer.ranks) = encoded(reason);
                answer.refused = offers.iter().any(|offer| offer.wants == NCCL).into();
            }
        }
    }
    wire.deliver(call.operation, bytes_of_mut(&mut answer))?;
    Ok(answer)
}

/// Handles an error of one rank, which ends the group.
pub(super) fn failed(wire: &mut Wire, operation: Operation, error: Error) -> Error {
    match error {
        // The group has ended already.
        Error::Rank(_) => error,
        Error::Nccl(error) => wire.fail(operation, &*error).into(),
        // The driver's error concerns this rank alone.
        error => {
            wire.end(RankError::Failed {
                rank: wire.place().rank,
                operation: operation.name(),
                cause: error.to_string(),
            });
            error
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ANY, CAN, NCCL, NO_GPU, NO_LIBRARY, Offer, TCP, TcpReason, decide, decoded, encoded};

    fn offer(gpu: u8) -> Offer {
        Offer { can: CAN, wants: ANY, version: 22_809, on_software: 0, gpu: [gpu; 16] }
    }

    #[test]
    fn all_ranks_take_nccl_or_none_does() {
        let [a, b, c] = [0, 1, 2].map(offer);
        assert_eq!(decide(&[a]), Ok(()));
        assert_eq!(decide(&[a, b, Offer { wants: NCCL, ..c }]), Ok(()));
        let cases = [
            (Offer { wants: TCP, ..c }, TcpReason::Chosen { rank: 2 }),
            (Offer { can: NO_GPU, ..c }, TcpReason::NoGpu { rank: 2 }),
            (Offer { can: NO_LIBRARY, ..c }, TcpReason::NoLibrary { rank: 2 }),
            (Offer { version: 22_808, ..c }, TcpReason::Versions { rank: 2 }),
            (Offer { on_software: 1, ..c }, TcpReason::NoGpu { rank: 2 }),
            (Offer { gpu: b.gpu, ..c }, TcpReason::SharedGpu { first: 1, second: 2 }),
        ];
        for (third, reason) in cases {
            assert_eq!(decide(&[a, b, third]), Err(reason));
            let (number, ranks) = encoded(reason);
            assert_eq!(decoded(number, ranks), Some(reason));
        }
        // Memory of the software device is the host's.
        let on_software = |gpu| Offer { on_software: 1, ..offer(gpu) };
        assert_eq!(decide(&[on_software(0), on_software(0)]), Ok(()));
    }
}
