//! Stream-ordered allocation and its pools. A pool is an account, not a reserve: memory comes from the device
//! and goes back to it at once.

use std::ffi::{c_int, c_void};

use crate::abi::{CUdevice, CUdeviceptr, CUmemoryPool, CUstream, In, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::{DEFAULT_POOL, Driver};
use crate::soft::graph::Action;
use crate::soft::memory::Kind;

pub(crate) extern "C" fn cuMemAllocAsync(pointer: Out<CUdeviceptr>, bytes: usize, stream: CUstream) -> Code {
    answer(|| allocate(pointer, bytes, DEFAULT_POOL, stream))
}

pub(crate) extern "C" fn cuMemAllocFromPoolAsync(
    pointer: Out<CUdeviceptr>,
    bytes: usize,
    pool: CUmemoryPool,
    stream: CUstream,
) -> Code {
    answer(|| {
        check_pool(pool)?;
        allocate(pointer, bytes, pool, stream)
    })
}

fn allocate(pointer: Out<CUdeviceptr>, bytes: usize, pool: CUmemoryPool, stream: CUstream) -> Result<(), Error> {
    let (driver, queue) = Driver::queue(stream)?;
    pointer.required("dptr")?;
    let start = match bytes {
        0 => 0,
        _ => driver.allocate(queue.context(), bytes as u64, Kind::Pooled { pool })?,
    };
    queue.captures(|| Action::Allocate)?;
    pointer.put("dptr", start)
}

pub(crate) extern "C" fn cuMemFreeAsync(pointer: CUdeviceptr, stream: CUstream) -> Code {
    answer(|| {
        let (driver, queue) = Driver::queue(stream)?;
        if pointer == 0 {
            return Ok(());
        }
        // In a graph, memory stays as long as the context.
        if queue.captures(|| Action::Free(pointer))? {
            return Ok(());
        }
        driver.free_later(&queue, pointer, "device memory", |kind| {
            matches!(kind, Kind::Pooled { .. } | Kind::Device)
        })
    })
}

/// Refuses what is no pool.
fn check_pool(pool: CUmemoryPool) -> Result<&'static Driver, Error> {
    let driver = Driver::get()?;
    if pool != DEFAULT_POOL && driver.pools.get(pool).is_err() {
        return Err(wrong("pool", format!("{pool:#x}"), "it is no memory pool"));
    }
    Ok(driver)
}

pub(crate) extern "C" fn cuDeviceGetDefaultMemPool(pool: Out<CUmemoryPool>, device: CUdevice) -> Code {
    answer(|| {
        Driver::device(device)?;
        pool.put("pool_out", DEFAULT_POOL)
    })
}

pub(crate) extern "C" fn cuDeviceGetMemPool(pool: Out<CUmemoryPool>, device: CUdevice) -> Code {
    answer(|| {
        Driver::device(device)?;
        pool.put("pool", DEFAULT_POOL)
    })
}

pub(crate) extern "C" fn cuDeviceSetMemPool(device: CUdevice, pool: CUmemoryPool) -> Code {
    answer(|| {
        Driver::device(device)?;
        check_pool(pool).map(drop)
    })
}

pub(crate) extern "C" fn cuMemPoolCreate(pool: Out<CUmemoryPool>, properties: In<u8>) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        pool.required("pool")?;
        if properties.address() == 0 {
            return Err(Error::Null("poolProps"));
        }
        let (handle, _) = driver.pools.insert(|_| ());
        pool.put("pool", handle)
    })
}

pub(crate) extern "C" fn cuMemPoolDestroy(pool: CUmemoryPool) -> Code {
    answer(|| {
        let driver = check_pool(pool)?;
        if pool == DEFAULT_POOL {
            return Err(wrong("pool", "the default pool", "it belongs to the device"));
        }
        driver.pools.remove(pool).map(drop)
    })
}

pub(crate) extern "C" fn cuMemPoolTrimTo(pool: CUmemoryPool, _keep: usize) -> Code {
    answer(|| check_pool(pool).map(drop))
}

/// Attributes 1 to 3 are switches for reuse, 4 is the release threshold, 5 to 8 count bytes.
pub(crate) extern "C" fn cuMemPoolGetAttribute(pool: CUmemoryPool, attribute: c_int, value: Out<c_void>) -> Code {
    answer(|| {
        let driver = check_pool(pool)?;
        value.required("value")?;
        match attribute {
            1..=3 => value.cast::<c_int>().put("value", 1),
            4 => value.cast::<u64>().put("value", 0),
            5..=8 => value.cast::<u64>().put("value", driver.memory.pooled(pool)),
            _ => Err(wrong("attr", attribute, "there is no such attribute")),
        }
    })
}

pub(crate) extern "C" fn cuMemPoolSetAttribute(pool: CUmemoryPool, attribute: c_int, value: In<u8>) -> Code {
    answer(|| {
        check_pool(pool)?;
        if value.address() == 0 {
            return Err(Error::Null("value"));
        }
        // Nothing is held back, so there is nothing to set.
        if (1..=8).contains(&attribute) {
            Ok(())
        } else {
            Err(wrong("attr", attribute, "there is no such attribute"))
        }
    })
}
