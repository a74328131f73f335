//! Questions about addresses.

use std::ffi::{c_int, c_uint, c_void};

use crate::abi::{CUdeviceptr, In, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::memory::{Allocation, Kind};

/// The value of one attribute, in the size in which it is stored.
enum Value {
    /// 32 bits.
    Word(u32),
    /// 64 bits.
    Long(u64),
}

/// An attribute of an allocation, by its number in cuda.h; `None` where the allocation has none.
fn attribute(
    driver: &Driver,
    allocation: &Allocation,
    address: CUdeviceptr,
    number: c_int,
) -> Result<Option<Value>, Error> {
    /// `CU_MEMORYTYPE_HOST` and `CU_MEMORYTYPE_DEVICE`.
    const MEMORY_TYPES: (u32, u32) = (1, 2);
    let is_host = matches!(allocation.kind, Kind::Host { .. } | Kind::Registered { .. });
    let is_managed = allocation.kind == Kind::Managed;
    let pool = match allocation.kind {
        Kind::Pooled { pool } => pool as u64,
        Kind::Device
        | Kind::Graph
        | Kind::Managed
        | Kind::Mapped
        | Kind::Array
        | Kind::Host { .. }
        | Kind::Registered { .. } => 0,
    };
    Ok(Some(match number {
        1 => Value::Long(allocation.context as u64),
        2 => Value::Word(if is_host { MEMORY_TYPES.0 } else { MEMORY_TYPES.1 }),
        3 => Value::Long(address),
        4 if is_host || is_managed => Value::Long(address),
        4 | 5 => return Ok(None),
        6 => Value::Word(u32::from(!is_host)),
        7 | 20 => Value::Long(allocation.id),
        8 => Value::Word(u32::from(is_managed)),
        9 => Value::Word(driver.device_of(allocation.context) as u32),
        // No inter-process handles, no handle types.
        10 | 15 => Value::Word(0),
        11 | 19 => Value::Long(allocation.start),
        12 | 18 => Value::Long(allocation.bytes),
        13 => Value::Word(1),
        14 => Value::Long(0),
        // Readable and writable.
        16 => Value::Word(3),
        17 => Value::Long(pool),
        _ => return Err(wrong("attribute", number, "there is no such attribute")),
    }))
}

pub(crate) extern "C" fn cuPointerGetAttribute(data: Out<c_void>, number: c_int, pointer: CUdeviceptr) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        data.required("data")?;
        let allocation = driver
            .memory
            .holding(pointer)
            .ok_or(Error::NotAllocated { address: pointer, expected: "memory of the device" })?;
        match attribute(driver, &allocation, pointer, number)? {
            Some(value) => store(data, value),
            None => {
                // SAFETY: what is refused is the size of the attribute, at most that of a pointer.
                unsafe { data.holding::<u64>() }.put("data", 0)?;
                Err(wrong("attribute", number, "this memory does not have it"))
            }
        }
    })
}

fn store(data: Out<c_void>, value: Value) -> Result<(), Error> {
    // SAFETY: a value has the size of its attribute.
    unsafe {
        match value {
            Value::Word(value) => data.holding().put("data", value),
            Value::Long(value) => data.holding().put("data", value),
        }
    }
}

pub(crate) extern "C" fn cuPointerGetAttributes(
    count: c_uint,
    numbers: In<c_int>,
    data: In<u64>,
    pointer: CUdeviceptr,
) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        let allocation = driver.memory.holding(pointer);
        for index in 0..count as usize {
            // SAFETY: both arrays have `count` elements, and each place holds its attribute.
            let (number, data) = unsafe {
                let number = numbers.element("attributes", index)?;
                (number, Out::<c_void>::from_address(data.element("data", index)?))
            };
            let value = match &allocation {
                Some(allocation) => attribute(driver, allocation, pointer, number)?,
                // Unlike its singular, this call answers for memory that the device does not know.
                None if number == 9 => Some(Value::Word(-2_i32 as u32)),
                None if matches!(number, 2 | 6 | 8 | 10 | 13 | 15 | 16) => Some(Value::Word(0)),
                None => None,
            };
            store(data, value.unwrap_or(Value::Long(0)))?;
        }
        Ok(())
    })
}

pub(crate) extern "C" fn cuPointerSetAttribute(value: In<u8>, number: c_int, pointer: CUdeviceptr) -> Code {
    answer(|| {
        /// `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS`: copies are synchronous here in any case.
        const SYNC_MEMOPS: c_int = 6;
        let driver = Driver::get()?;
        if value.address() == 0 {
            return Err(Error::Null("value"));
        }
        if number != SYNC_MEMOPS {
            return Err(wrong("attribute", number, "it cannot be set"));
        }
        driver.check(pointer, 1)
    })
}
