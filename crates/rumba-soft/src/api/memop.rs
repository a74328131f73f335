//! Words in memory that streams write and wait for.

use std::ffi::c_uint;

use crate::abi::{CUdeviceptr, CUstream, In, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::order::AnyStream;
use crate::soft::work::{Word, Work};

/// `CU_STREAM_WAIT_VALUE_FLUSH`: there is nothing to flush.
const FLUSH: c_uint = 1 << 30;

/// `CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER`: there is always one.
const NO_BARRIER: c_uint = 1;

/// Refuses a word that is not entirely in memory of the device, or not aligned.
fn check(driver: &Driver, address: CUdeviceptr, is_wide: bool) -> Result<(), Error> {
    let bytes = if is_wide { 8 } else { 4 };
    if !address.is_multiple_of(bytes) {
        return Err(wrong("addr", format!("{address:#x}"), "it must be aligned to its word"));
    }
    driver.check(address, bytes)
}

fn wait_work(driver: &Driver, address: u64, value: u64, is_wide: bool, flags: c_uint) -> Result<Work, Error> {
    if flags & !FLUSH > 3 {
        return Err(wrong("flags", format!("{flags:#x}"), "there is no such condition"));
    }
    check(driver, address, is_wide)?;
    Ok(Work::Wait(Word { address, value, is_wide, flags: flags & 3 }))
}

fn write_work(driver: &Driver, address: u64, value: u64, is_wide: bool, flags: c_uint) -> Result<Work, Error> {
    if flags & !NO_BARRIER != 0 {
        return Err(wrong("flags", format!("{flags:#x}"), "it has unknown bits"));
    }
    check(driver, address, is_wide)?;
    Ok(Work::Write(Word { address, value, is_wide, flags: 0 }))
}

/// Enqueues what `work` makes.
fn enqueue(stream: CUstream, work: impl FnOnce(&Driver) -> Result<Work, Error>) -> Result<(), Error> {
    let (driver, stream) = Driver::stream(stream)?;
    stream.submit(work(driver)?).map(drop)
}

pub(crate) extern "C" fn cuStreamWaitValue32(
    stream: CUstream,
    address: CUdeviceptr,
    value: u32,
    flags: c_uint,
) -> Code {
    answer(|| enqueue(stream, |driver| wait_work(driver, address, value.into(), false, flags)))
}

pub(crate) extern "C" fn cuStreamWaitValue64(
    stream: CUstream,
    address: CUdeviceptr,
    value: u64,
    flags: c_uint,
) -> Code {
    answer(|| enqueue(stream, |driver| wait_work(driver, address, value, true, flags)))
}

pub(crate) extern "C" fn cuStreamWriteValue32(
    stream: CUstream,
    address: CUdeviceptr,
    value: u32,
    flags: c_uint,
) -> Code {
    answer(|| enqueue(stream, |driver| write_work(driver, address, value.into(), false, flags)))
}

pub(crate) extern "C" fn cuStreamWriteValue64(
    stream: CUstream,
    address: CUdeviceptr,
    value: u64,
    flags: c_uint,
) -> Code {
    answer(|| enqueue(stream, |driver| write_work(driver, address, value, true, flags)))
}

/// `CUstreamBatchMemOpParams`: the waits and writes of the union, which are laid out alike.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    kind: c_uint,
    address: CUdeviceptr,
    value: u64,
    flags: c_uint,
    alias: CUdeviceptr,
    reserved: u64,
}

impl Operation {
    /// The work; `None` for those that only order memory.
    fn work(&self, driver: &Driver) -> Result<Option<Work>, Error> {
        let word = u64::from(self.value as u32);
        match self.kind {
            1 => wait_work(driver, self.address, word, false, self.flags).map(Some),
            2 => write_work(driver, self.address, word, false, self.flags).map(Some),
            3 | 6 => Ok(None),
            4 => wait_work(driver, self.address, self.value, true, self.flags).map(Some),
            5 => write_work(driver, self.address, self.value, true, self.flags).map(Some),
            other => Err(wrong("operation", other, "there is no such operation")),
        }
    }
}

pub(crate) extern "C" fn cuStreamBatchMemOp(
    stream: CUstream,
    count: c_uint,
    operations: In<Operation>,
    flags: c_uint,
) -> Code {
    answer(|| {
        /// The largest number of operations of one call.
        const MOST: c_uint = 256;
        let (driver, stream): (_, AnyStream) = Driver::stream(stream)?;
        if flags != 0 || count > MOST {
            return Err(wrong("count", count, "it must be at most 256, and flags must be 0"));
        }
        let works: Result<Vec<_>, Error> = (0..count as usize)
            // SAFETY: there are `count` operations.
            .map(|index| unsafe { operations.element("paramArray", index) }?.work(driver))
            .collect();
        for work in works?.into_iter().flatten() {
            stream.submit(work)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_layout_of_cuda_h() {
        assert_eq!(size_of::<Operation>(), 48);
        assert_eq!(std::mem::offset_of!(Operation, alias), 32);
    }
}
