//! Contexts: making them, making them current, their settings.

use std::ffi::{c_int, c_uint};

use crate::abi::{CUcontext, CUdevice, In, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::context::{Context, current_handle, with_stack};
use crate::soft::driver::{Driver, primary_device};

/// `CU_CTX_MAP_HOST`, which every context has.
pub(crate) const MAP_HOST: c_uint = 8;

/// `CU_CTX_FLAGS_MASK`.
const FLAGS: c_uint = 0xff;

/// The driver interface version of contexts, as `cuCtxGetApiVersion` counts it.
const API_VERSION: c_uint = 3020;

/// Stream priorities: greatest and least.
pub(crate) const PRIORITIES: (c_int, c_int) = (-5, 0);

/// Refuses flags that no context can have.
pub(crate) fn check_flags(flags: c_uint) -> Result<(), Error> {
    if flags & !FLAGS == 0 { Ok(()) } else { Err(wrong("flags", format!("{flags:#x}"), "it has unknown bits")) }
}

pub(crate) extern "C" fn cuCtxCreate_v2(context: Out<CUcontext>, flags: c_uint, device: CUdevice) -> Code {
    answer(|| create(context, flags, device))
}

pub(crate) extern "C" fn cuCtxCreate_v3(
    context: Out<CUcontext>,
    _affinities: In<u8>,
    count: c_int,
    flags: c_uint,
    device: CUdevice,
) -> Code {
    answer(|| {
        if count != 0 {
            return Err(Error::ExecAffinity);
        }
        create(context, flags, device)
    })
}

pub(crate) extern "C" fn cuCtxCreate_v4(
    context: Out<CUcontext>,
    _parameters: In<u8>,
    flags: c_uint,
    device: CUdevice,
) -> Code {
    answer(|| create(context, flags, device))
}

fn create(context: Out<CUcontext>, flags: c_uint, device: CUdevice) -> Result<(), Error> {
    let driver = Driver::get()?;
    current_handle()?;
    context.required("pctx")?;
    check_flags(flags)?;
    Driver::device(device)?;
    let (handle, _) = driver.contexts.insert(|handle| Context::new(handle, device, flags | MAP_HOST));
    with_stack(|stack| stack.push(handle))?;
    context.put("pctx", handle)
}

pub(crate) extern "C" fn cuCtxDestroy_v2(context: CUcontext) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        match context {
            0 => return Err(Error::Null("ctx")),
            handle if primary_device(handle).is_some() => return Err(Error::PrimaryContext),
            _ => {}
        }
        let destroyed = driver.contexts.remove(context).map_err(|_| Error::UnknownContext(context))?;
        driver.destroy(&destroyed);
        with_stack(|stack| {
            if stack.last() == Some(&context) {
                stack.pop();
            }
        })
    })
}

pub(crate) extern "C" fn cuCtxPushCurrent_v2(context: CUcontext) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        if context == 0 {
            return Err(Error::Null("ctx"));
        }
        driver.context(context)?;
        with_stack(|stack| stack.push(context))
    })
}

pub(crate) extern "C" fn cuCtxPopCurrent_v2(context: Out<CUcontext>) -> Code {
    answer(|| {
        Driver::get()?;
        let popped = with_stack(Vec::pop)?.ok_or(Error::NoContext)?;
        context.put_if(popped);
        Ok(())
    })
}

pub(crate) extern "C" fn cuCtxSetCurrent(context: CUcontext) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        // A context that was destroyed may be made current: the calls that need it then say so.
        match driver.context(context) {
            Err(Error::UnknownContext(_)) if context != 0 => return Err(Error::UnknownContext(context)),
            _ => {}
        }
        with_stack(|stack| {
            stack.pop();
            if context != 0 {
                stack.push(context);
            }
        })
    })
}

pub(crate) extern "C" fn cuCtxGetCurrent(context: Out<CUcontext>) -> Code {
    answer(|| {
        Driver::get()?;
        context.put("pctx", current_handle()?.unwrap_or(0))
    })
}

pub(crate) extern "C" fn cuCtxGetDevice(device: Out<CUdevice>) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        let handle = current_handle()?.ok_or(Error::NoContext)?;
        device.put("device", driver.device_of(handle))
    })
}

pub(crate) extern "C" fn cuCtxGetDevice_v2(device: Out<CUdevice>, context: CUcontext) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        let handle = match named(context)? {
            Some(handle) => handle,
            None => current_handle()?.ok_or(Error::NoContext)?,
        };
        device.put("device", driver.device_of(handle))
    })
}

/// The context that a call of CUDA 13 names, if it names one.
///
/// Programs older than CUDA 13 that prefer names with `_v2` (Numba does) call it with the arguments of the call without:
/// the context is then whatever the register holds, and the caller means the current one.
fn named(context: CUcontext) -> Result<Option<CUcontext>, Error> {
    let known = primary_device(context).is_some() || Driver::get()?.context(context).is_ok();
    Ok(known.then_some(context))
}

pub(crate) extern "C" fn cuCtxGetFlags(flags: Out<c_uint>) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        let handle = current_handle()?.ok_or(Error::NoContext)?;
        // The flags of a context outlive it.
        let value = match driver.context(handle) {
            Ok(context) => context.flags(),
            Err(_) => driver.primary(driver.device_of(handle)).flags | MAP_HOST,
        };
        flags.put("flags", value)
    })
}

pub(crate) extern "C" fn cuCtxSetFlags(flags: c_uint) -> Code {
    answer(|| {
        let (driver, context) = Driver::current()?;
        check_flags(flags)?;
        context.set_flags(flags | MAP_HOST);
        if let Some(device) = primary_device(context.handle) {
            driver.primary_mut(device).flags = flags;
        }
        Ok(())
    })
}

pub(crate) extern "C" fn cuCtxGetId(context: CUcontext, id: Out<u64>) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        let handle = if context == 0 { current_handle()?.ok_or(Error::NoContext)? } else { context };
        id.put("ctxId", driver.context(handle)?.life)
    })
}

pub(crate) extern "C" fn cuCtxGetApiVersion(context: CUcontext, version: Out<c_uint>) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        let handle = if context == 0 { current_handle()?.ok_or(Error::NoContext)? } else { context };
        driver.context(handle).map_err(|_| Error::UnknownContext(handle))?;
        version.put("version", API_VERSION)
    })
}

pub(crate) extern "C" fn cuCtxSynchronize() -> Code {
    answer(|| synchronize(&Driver::current()?.1))
}

/// Waits for all work of a context.
fn synchronize(context: &Context) -> Result<(), Error> {
    context.refuse_captured(false, Code::STREAM_CAPTURE_UNSUPPORTED)?;
    context.finish();
    context.outcome()
}

pub(crate) extern "C" fn cuCtxSynchronize_v2(context: CUcontext) -> Code {
    answer(|| match named(context)? {
        Some(context) => {
            let context = Driver::get()?.context(context)?;
            context.usable()?;
            synchronize(&context)
        }
        None => synchronize(&Driver::current()?.1),
    })
}

/// `CU_LIMIT_STACK_SIZE`, in steps of 16 bytes up to what local memory has per thread.
const STACK_SIZE: c_int = 0;
/// `CU_LIMIT_MALLOC_HEAP_SIZE`
const HEAP_SIZE: c_int = 2;
const LARGEST_STACK: usize = 512 << 10;

pub(crate) extern "C" fn cuCtxGetLimit(value: Out<usize>, limit: c_int) -> Code {
    answer(|| {
        let (_, context) = Driver::current()?;
        value.required("pvalue")?;
        match limit {
            0..=2 | 4..=8 => value.put("pvalue", context.settings().limits[limit as usize]),
            3 | 9 => Err(Error::Limit(limit)),
            _ => Err(wrong("limit", limit, "there is no such limit")),
        }
    })
}

pub(crate) extern "C" fn cuCtxSetLimit(limit: c_int, value: usize) -> Code {
    answer(|| {
        let (driver, context) = Driver::current()?;
        let value = match limit {
            STACK_SIZE if value > LARGEST_STACK => {
                return Err(wrong("value", value, "a thread's stack cannot be that large"));
            }
            STACK_SIZE => value.next_multiple_of(16),
            1 | 2 | 4..=6 => value,
            3 | 7..=9 => return Err(Error::Limit(limit)),
            _ => return Err(wrong("limit", limit, "there is no such limit")),
        };
        match limit {
            STACK_SIZE => driver.machine.set_stack_limit(value as u64),
            HEAP_SIZE => driver.machine.set_heap_limit(value),
            _ => {}
        }
        context.settings().limits[limit as usize] = value;
        Ok(())
    })
}

pub(crate) extern "C" fn cuCtxGetCacheConfig(config: Out<c_int>) -> Code {
    answer(|| {
        let (_, context) = Driver::current()?;
        config.put("pconfig", context.settings().cache_config)
    })
}

pub(crate) extern "C" fn cuCtxSetCacheConfig(config: c_int) -> Code {
    answer(|| {
        let (_, context) = Driver::current()?;
        check_cache_config(config)?;
        context.settings().cache_config = config;
        Ok(())
    })
}

/// Refuses numbers that are no `CUfunc_cache`.
pub(crate) fn check_cache_config(config: c_int) -> Result<(), Error> {
    if (0..=3).contains(&config) { Ok(()) } else { Err(wrong("config", config, "it must be 0 to 3")) }
}

pub(crate) extern "C" fn cuCtxGetSharedMemConfig(config: Out<c_int>) -> Code {
    answer(|| {
        let (_, context) = Driver::current()?;
        config.put("pConfig", context.settings().shared_config)
    })
}

pub(crate) extern "C" fn cuCtxSetSharedMemConfig(config: c_int) -> Code {
    answer(|| {
        Driver::current()?;
        // Banks have had one width since sm_50; the setting is checked and has no effect.
        check_shared_config(config)
    })
}

/// Refuses numbers that are no `CUsharedconfig`.
pub(crate) fn check_shared_config(config: c_int) -> Result<(), Error> {
    if (0..=2).contains(&config) { Ok(()) } else { Err(wrong("config", config, "it must be 0 to 2")) }
}

pub(crate) extern "C" fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) -> Code {
    answer(|| {
        Driver::current()?;
        least.put_if(PRIORITIES.1);
        greatest.put_if(PRIORITIES.0);
        Ok(())
    })
}

/// `CUexecAffinityParam`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ExecAffinity {
    kind: c_int,
    multiprocessors: c_uint,
}

pub(crate) extern "C" fn cuCtxGetExecAffinity(affinity: Out<ExecAffinity>, kind: c_int) -> Code {
    answer(|| {
        Driver::current()?;
        affinity.required("pExecAffinity")?;
        // Only the affinity to a number of multiprocessors exists, and no context can have it.
        if kind == 0 { Err(Error::ExecAffinity) } else { Err(wrong("type", kind, "there is no such affinity")) }
    })
}

pub(crate) extern "C" fn cuCtxResetPersistingL2Cache() -> Code {
    answer(|| Driver::current().map(drop))
}
