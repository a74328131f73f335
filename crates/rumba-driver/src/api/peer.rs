//! Peer access and handles for other processes: the device has neither.

use std::ffi::{c_int, c_uint};

use crate::abi::{CUcontext, CUdevice, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;

pub(crate) extern "C" fn cuDeviceCanAccessPeer(can: Out<c_int>, device: CUdevice, peer: CUdevice) -> Code {
    answer(|| {
        Driver::device(device)?;
        Driver::device(peer)?;
        can.put("canAccessPeer", 0)
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
        Err(wrong(
            "dstDevice",
            format!("{peer} (attribute {number})"),
            "a device is no peer of itself",
        ))
    })
}

pub(crate) extern "C" fn cuCtxEnablePeerAccess(_peer: CUcontext, _flags: c_uint) -> Code {
    answer(|| {
        Driver::current()?;
        Err(Error::NoPeer)
    })
}

pub(crate) extern "C" fn cuCtxDisablePeerAccess(_peer: CUcontext) -> Code {
    answer(|| {
        Driver::current()?;
        Err(Error::PeerNotEnabled)
    })
}
