//! Stream-ordered allocation and its pools. A pool is an account, not a reserve: memory comes from the device
//! and goes back to it at once.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use crate::abi::{CUdevice, CUdeviceptr, CUmemoryPool, CUstream, In, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::capture;
use crate::soft::driver::Driver;
use crate::soft::graph::Action;
use crate::soft::graph_memory::{self, GraphMemory};
use crate::soft::memory::{Kind, Pool};

pub(crate) extern "C" fn cuMemAllocAsync(pointer: Out<CUdeviceptr>, bytes: usize, stream: CUstream) -> Code {
    answer(|| {
        let (driver, asked) = Driver::stream(stream)?;
        let pool = current_pool(driver, asked.context().device)?;
        allocate(pointer, bytes, pool, stream)
    })
}

pub(crate) extern "C" fn cuMemAllocFromPoolAsync(
    pointer: Out<CUdeviceptr>,
    bytes: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> Code {
    answer(|| {
        pool_of(pool)?;
        allocate(pointer, bytes, pool, stream)
    })
}

fn allocate(pointer: Out<CUdeviceptr>, bytes: usize, pool: CUmemoryPool, stream: CUstream) -> Result<(), Error> {
    let (driver, stream) = Driver::stream(stream)?;
    pointer.required("dptr")?;
    if bytes != 0 && capture::part(stream.queue()).is_some() {
        let memory = GraphMemory::new(driver, stream.context(), bytes as u64)?;
        let start = memory.start;
        stream.captures(|| Action::Allocate(memory))?;
        return pointer.put("dptr", start);
    }
    stream.captures(|| Action::Empty)?;
    let start = match bytes {
        0 => 0,
        _ => driver.allocate(stream.context(), bytes as u64, Kind::Pooled { pool })?,
    };
    if let Ok(pool_object) = driver.pools.get(pool) {
        pool_object.high.fetch_max(driver.memory.pooled(pool), Ordering::Relaxed);
    }
    pointer.put("dptr", start)
}

pub(crate) extern "C" fn cuMemFreeAsync(pointer: CUdeviceptr, stream: CUstream) -> Code {
    answer(|| {
        let (driver, stream) = Driver::stream(stream)?;
        if pointer == 0 {
            return Ok(());
        }
        if stream.captures(|| Action::Free(pointer))? || graph_memory::free(pointer)? {
            return Ok(());
        }
        driver.free_later(&stream, pointer, "device memory", |kind| matches!(kind, Kind::Pooled { .. } | Kind::Device))
    })
}

/// The pool behind a handle.
fn pool_of(handle: CUmemoryPool) -> Result<(&'static Driver, Arc<Pool>), Error> {
    let driver = Driver::get()?;
    let unknown = |_| wrong("pool", format!("{handle:#x}"), "it is no memory pool");
    Ok((driver, driver.pools.get(handle).map_err(unknown)?))
}

/// The pool that comes with a device: the handles of these are given out first, in the order of the devices.
fn default_pool(driver: &Driver, device: CUdevice) -> Result<CUmemoryPool, Error> {
    driver.default_pools.get(device as usize).copied().ok_or(Error::InvalidDevice(device))
}

/// The pool that a device allocates from.
fn current_pool(driver: &Driver, device: CUdevice) -> Result<CUmemoryPool, Error> {
    let pools = driver.device_pools.read().unwrap_or_else(PoisonError::into_inner);
    pools.get(device as usize).copied().ok_or(Error::InvalidDevice(device))
}

pub(crate) extern "C" fn cuDeviceGetDefaultMemPool(pool: Out<CUmemoryPool>, device: CUdevice) -> Code {
    answer(|| {
        let driver = Driver::device(device)?;
        pool.put("pool_out", default_pool(driver, device)?)
    })
}

pub(crate) extern "C" fn cuDeviceGetMemPool(pool: Out<CUmemoryPool>, device: CUdevice) -> Code {
    answer(|| {
        let driver = Driver::device(device)?;
        pool.put("pool", current_pool(driver, device)?)
    })
}

pub(crate) extern "C" fn cuDeviceSetMemPool(device: CUdevice, pool: CUmemoryPool) -> Code {
    answer(|| {
        let driver = Driver::device(device)?;
        if pool_of(pool)?.1.device != device {
            return Err(wrong("pool", format!("{pool:#x}"), "it belongs to another device"));
        }
        let mut pools = driver.device_pools.write().unwrap_or_else(PoisonError::into_inner);
        pools[device as usize] = pool;
        Ok(())
    })
}

/// The beginning of `CUmemPoolProps`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PoolProperties {
    kind: c_int,
    handle_types: c_int,
    location: [c_int; 2],
}

/// `CU_MEM_LOCATION_TYPE_DEVICE`.
const DEVICE: c_int = 1;

pub(crate) extern "C" fn cuMemPoolCreate(pool: Out<CUmemoryPool>, properties: In<PoolProperties>) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        pool.required("pool")?;
        let properties = properties.get("poolProps")?;
        if properties.kind != 1 {
            return Err(wrong("allocType", properties.kind, "it must be CU_MEM_ALLOCATION_TYPE_PINNED"));
        }
        if properties.handle_types != 0 || properties.location[0] != DEVICE {
            return Err(Error::Unserved { what: "a pool on the host or for other processes" });
        }
        let device = properties.location[1];
        Driver::device(device).map_err(|_| wrong("location.id", device, "there is no such device"))?;
        pool.put("pool", driver.pools.insert(|_| Pool::new(device)).0)
    })
}

pub(crate) extern "C" fn cuMemPoolDestroy(handle: CUmemoryPool) -> Code {
    answer(|| {
        let (driver, pool) = pool_of(handle)?;
        let own = default_pool(driver, pool.device)?;
        if handle == own {
            return Err(wrong("pool", "the default pool", "it belongs to the device"));
        }
        driver.pools.remove(handle)?;
        let mut pools = driver.device_pools.write().unwrap_or_else(PoisonError::into_inner);
        pools.iter_mut().filter(|one| **one == handle).for_each(|one| *one = own);
        Ok(())
    })
}

pub(crate) extern "C" fn cuMemPoolTrimTo(pool: CUmemoryPool, _keep: usize) -> Code {
    answer(|| pool_of(pool).map(drop))
}

/// Attributes 1 to 3 are switches for reuse, 4 is the release threshold, 5 to 8 count bytes: reserved now and at most, in
/// use now and at most. Nothing is reserved that is not in use.
pub(crate) extern "C" fn cuMemPoolGetAttribute(handle: CUmemoryPool, attribute: c_int, value: Out<c_void>) -> Code {
    answer(|| {
        let (driver, pool) = pool_of(handle)?;
        value.required("value")?;
        // SAFETY: the attribute says which of both the value is; only that one is written.
        let (switch, bytes) = unsafe { (value.holding::<c_int>(), value.holding::<u64>()) };
        let settings = *pool.settings.lock().unwrap_or_else(PoisonError::into_inner);
        match attribute {
            1..=3 => switch.put("value", settings[attribute as usize - 1] as c_int),
            4 => bytes.put("value", settings[3]),
            5 | 7 => bytes.put("value", driver.memory.pooled(handle)),
            6 | 8 => bytes.put("value", pool.high.load(Ordering::Relaxed)),
            _ => Err(wrong("attr", attribute, "there is no such attribute")),
        }
    })
}

pub(crate) extern "C" fn cuMemPoolSetAttribute(handle: CUmemoryPool, attribute: c_int, value: In<u8>) -> Code {
    answer(|| {
        let (driver, pool) = pool_of(handle)?;
        if value.is_null() {
            return Err(Error::Null("value"));
        }
        let address = value.address();
        // SAFETY: the attribute says which of both the value is; only that one is read.
        let (switch, bytes) = unsafe { (In::<c_int>::from_address(address), In::<u64>::from_address(address)) };
        let mut settings = pool.settings.lock().unwrap_or_else(PoisonError::into_inner);
        match attribute {
            1..=3 => settings[attribute as usize - 1] = u64::from(switch.get("value")? != 0),
            4 => settings[3] = bytes.get("value")?,
            6 | 8 => {
                if bytes.get("value")? != 0 {
                    return Err(wrong("value", "not 0", "a high-water mark can only be set to 0"));
                }
                pool.high.store(driver.memory.pooled(handle), Ordering::Relaxed);
            }
            _ => return Err(wrong("attr", attribute, "it cannot be set")),
        }
        Ok(())
    })
}

/// `CUmemAccessDesc`: a location and what may be done there.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct PoolAccess {
    location: [c_int; 2],
    flags: c_int,
}

/// Checks the arguments, and changes nothing: all devices reach the memory of all pools.
pub(crate) extern "C" fn cuMemPoolSetAccess(handle: CUmemoryPool, access: In<PoolAccess>, count: usize) -> Code {
    answer(|| {
        let (_, pool) = pool_of(handle)?;
        for index in 0..count {
            // SAFETY: there are `count` descriptions.
            let access = unsafe { access.element("map", index) }?;
            if access.location[0] != DEVICE || !matches!(access.flags, 0 | 1 | 3) {
                return Err(wrong("map", access.flags, "it must be 0, 1 or 3, for a device"));
            }
            Driver::device(access.location[1])?;
            if access.location[1] == pool.device && access.flags != 3 {
                return Err(wrong("map", access.flags, "a device keeps access to its own pool"));
            }
        }
        Ok(())
    })
}

pub(crate) extern "C" fn cuMemPoolGetAccess(flags: Out<c_int>, handle: CUmemoryPool, location: In<[c_int; 2]>) -> Code {
    answer(|| {
        pool_of(handle)?;
        flags.required("flags")?;
        Driver::device(location.get("location")?[1])?;
        flags.put("flags", 3)
    })
}

/// `CUgraphMem_attribute`: bytes in use and reserved, now and at most, of which what is now is the most.
pub(crate) extern "C" fn cuDeviceGetGraphMemAttribute(device: CUdevice, attribute: c_int, value: Out<u64>) -> Code {
    answer(|| {
        let driver = Driver::device(device)?;
        value.required("value")?;
        let (used, reserved) = graph_memory::bytes(driver, device);
        match attribute {
            0 | 1 => value.put("value", used),
            2 | 3 => value.put("value", reserved),
            other => Err(wrong("attr", other, "there is no such attribute")),
        }
    })
}

/// Nothing is reserved that no graph can allocate.
pub(crate) extern "C" fn cuDeviceGraphMemTrim(device: CUdevice) -> Code {
    answer(|| Driver::device(device).map(drop))
}
