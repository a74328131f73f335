//! The primary context of a device, and calls about the context that is current on the thread.

use super::{Code, Device, answer, handle, sys};
use std::ptr;

/// A device's primary context, retained once and released when this is dropped.
pub(crate) struct Primary {
    raw: sys::CUcontext,
    device: Device,
}

// SAFETY: a context is a name that the driver looks up; its calls may be made from any thread.
unsafe impl Send for Primary {}

// SAFETY: as above.
unsafe impl Sync for Primary {}

impl Primary {
    /// Retains the context of a device (`cuDevicePrimaryCtxRetain`).
    pub(crate) fn retain(device: Device) -> Result<Self, Code> {
        // SAFETY: the place is valid, and the driver gave the device out.
        let raw = handle(|raw| unsafe { sys::cuDevicePrimaryCtxRetain(raw, device.raw()) })?;
        Ok(Self { raw, device })
    }

    pub(crate) fn raw(&self) -> sys::CUcontext {
        self.raw
    }

    /// Makes it current on this thread, unless it is (`cuCtxSetCurrent`).
    pub(crate) fn make_current(&self) -> Result<(), Code> {
        let mut current = ptr::null_mut();
        // SAFETY: the place is valid.
        let asked = unsafe { sys::cuCtxGetCurrent(&mut current) };
        if asked == sys::CUresult::CUDA_SUCCESS && current == self.raw {
            return Ok(());
        }
        // SAFETY: this keeps the context retained.
        answer(unsafe { sys::cuCtxSetCurrent(self.raw) })
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: retained once by `retain`. An error is a fault that every later call reports.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device.raw()) };
    }
}

/// Waits for all work of the current context (`cuCtxSynchronize`).
pub(crate) fn synchronize() -> Result<(), Code> {
    // SAFETY: the call has no parameters.
    answer(unsafe { sys::cuCtxSynchronize() })
}

/// The lowest and the highest priority of streams of the current context (`cuCtxGetStreamPriorityRange`).
pub(crate) fn stream_priorities() -> Result<(i32, i32), Code> {
    let (mut least, mut greatest) = (0, 0);
    // SAFETY: both places are valid.
    answer(unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) })?;
    Ok((least, greatest))
}

/// Free bytes and all bytes of the memory of the current context's device (`cuMemGetInfo`).
pub(crate) fn memory() -> Result<(usize, usize), Code> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both places are valid.
    answer(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
    Ok((free, total))
}

/// The ordinal of a context's device (`cuCtxGetDevice`).
///
/// # Safety
/// The context is alive.
#[cfg(feature = "cust")]
pub(crate) unsafe fn device_of(context: sys::CUcontext) -> Result<u32, Code> {
    // SAFETY: the context that was current before stays alive; the caller's promise.
    unsafe {
        let before: sys::CUcontext = handle(|current| sys::cuCtxGetCurrent(current))?;
        answer(sys::cuCtxSetCurrent(context))?;
        let device = Device::current();
        answer(sys::cuCtxSetCurrent(before))?;
        device.map(|device| u32::try_from(device.raw()).unwrap_or(0))
    }
}

/// The context of the allocation at an address (`cuPointerGetAttribute`).
pub(crate) fn context_of(address: u64) -> Result<sys::CUcontext, Code> {
    // SAFETY: the place is one for a context; the driver refuses an address that is not in an allocation.
    handle(|context: &mut sys::CUcontext| unsafe {
        sys::cuPointerGetAttribute(std::ptr::from_mut(context).cast(), sys::CU_POINTER_ATTRIBUTE_CONTEXT, address)
    })
}

/// The ordinal of the device of the allocation at an address (`cuPointerGetAttribute`).
#[cfg(feature = "python")]
pub(crate) fn ordinal_of(address: u64) -> Result<u32, Code> {
    let mut ordinal = 0_u32;
    let place = std::ptr::from_mut(&mut ordinal).cast();
    // SAFETY: the place is one for an ordinal; the driver refuses an address that is not in an allocation.
    answer(unsafe { sys::cuPointerGetAttribute(place, sys::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) })?;
    Ok(ordinal)
}
