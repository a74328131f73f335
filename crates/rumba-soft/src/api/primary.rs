//! The primary contexts of the devices.
//!
//! After a kernel failed, NVIDIA's driver refuses to work until the process ends. The software device works
//! again once the primary context is reset or released, so that one test process can see many failures.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;

use crate::abi::{CUcontext, CUdevice, Out, answer};
use crate::api::ctx::MAP_HOST;
use crate::code::Code;
use crate::error::Error;
use crate::soft::context::Context;
use crate::soft::driver::{Driver, primary_handle};

pub(crate) extern "C" fn cuDevicePrimaryCtxRetain(context: Out<CUcontext>, device: CUdevice) -> Code {
    answer(|| {
        let driver = Driver::device(device)?;
        context.required("pctx")?;
        let mut primary = driver.primary_mut(device);
        let flags = primary.flags | MAP_HOST;
        primary.active.get_or_insert_with(|| Arc::new(Context::new(primary_handle(device), device, flags)));
        primary.retained += 1;
        context.put("pctx", primary_handle(device))
    })
}

pub(crate) extern "C" fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> Code {
    answer(|| {
        let driver = Driver::device(device)?;
        let ended = {
            let mut primary = driver.primary_mut(device);
            primary.retained = primary.retained.checked_sub(1).ok_or(Error::NotRetained)?;
            if primary.retained == 0 { primary.active.take() } else { None }
        };
        if let Some(context) = ended {
            driver.destroy(&context);
        }
        Ok(())
    })
}

pub(crate) extern "C" fn cuDevicePrimaryCtxReset_v2(device: CUdevice) -> Code {
    answer(|| {
        let driver = Driver::device(device)?;
        let ended = driver.primary_mut(device).active.take();
        if let Some(context) = ended {
            driver.destroy(&context);
        }
        Ok(())
    })
}

pub(crate) extern "C" fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint) -> Code {
    answer(|| {
        let driver = Driver::device(device)?;
        crate::api::ctx::check_flags(flags)?;
        let mut primary = driver.primary_mut(device);
        primary.flags = flags;
        if let Some(context) = &primary.active {
            context.set_flags(flags | MAP_HOST);
        }
        Ok(())
    })
}

pub(crate) extern "C" fn cuDevicePrimaryCtxGetState(device: CUdevice, flags: Out<c_uint>, active: Out<c_int>) -> Code {
    answer(|| {
        let driver = Driver::device(device)?;
        flags.required("flags")?;
        active.required("active")?;
        let primary = driver.primary(device);
        flags.put("flags", primary.flags)?;
        active.put("active", c_int::from(primary.active.is_some()))
    })
}
