//! Peers: access to the memory of other devices.
//!
//! All software devices share one memory, so a kernel reaches that of another device also where access was not enabled.

use std::ffi::{c_int, c_uint};
use std::sync::PoisonError;

use crate::abi::{CUcontext, CUdevice, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;

pub(crate) extern "C" fn cuDeviceCanAccessPeer(can: Out<c_int>, device: CUdevice, peer: CUdevice) -> Code {
    answer(|| {
        Driver::device(device)?;
        Driver::device(peer)?;
        can.put("canAccessPeer", c_int::from(device != peer))
    })
}

pub(crate) extern "C" fn cuDeviceGetP2PAttribute(
    value: Out<c_int>,
    number: c_int,
    device: CUdevice,
    peer: CUdevice,
) -> Code {
    answer(|| {
        value.required("value")?;
        Driver::device(device)?;
        Driver::device(peer)?;
        if device == peer {
            return Err(wrong("dstDevice", peer, "a device is no peer of itself"));
        }
        match number {
            // The rank of the link, access, atomics; arrays are not reached.
            1 => value.put("value", 0),
            2 | 3 => value.put("value", 1),
            4 | 5 => value.put("value", 0),
            other => Err(wrong("attrib", other, "there is no such attribute")),
        }
    })
}

pub(crate) extern "C" fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) -> Code {
    answer(|| {
        let (driver, context) = Driver::current()?;
        if flags != 0 {
            return Err(wrong("Flags", flags, "it must be 0"));
        }
        if driver.device_count() == 1 {
            return Err(Error::NoPeer);
        }
        let other = driver.context(peer)?;
        if other.device == context.device {
            return Err(Error::InvalidDevice(other.device));
        }
        let mut peers = context.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.contains(&peer) {
            return Err(Error::PeerEnabled);
        }
        peers.push(peer);
        Ok(())
    })
}

pub(crate) extern "C" fn cuCtxDisablePeerAccess(peer: CUcontext) -> Code {
    answer(|| {
        let (_, context) = Driver::current()?;
        let mut peers = context.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let place = peers.iter().position(|known| *known == peer);
        peers.remove(place.ok_or(Error::PeerNotEnabled)?);
        Ok(())
    })
}
