//! `cuInit`, versions, error names and texts, and addresses of driver calls.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

use rumba_interface::calls::{self, CUDA_VERSION};

use crate::abi::{In, Out, Text, answer, wrong};
use crate::code::{self, Code};
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::targets;

pub(crate) extern "C" fn cuInit(flags: c_uint) -> Code {
    answer(|| {
        if flags != 0 {
            return Err(wrong("Flags", flags, "it must be 0"));
        }
        Driver::init().map(drop)
    })
}

pub(crate) extern "C" fn cuDriverGetVersion(version: Out<c_int>) -> Code {
    answer(|| version.put("driverVersion", CUDA_VERSION))
}

pub(crate) extern "C" fn cuGetErrorName(error: c_int, name: Out<*const c_char>) -> Code {
    answer(|| {
        let described = code::describe(error);
        name.put("pStr", described.map_or(ptr::null(), |(name, _)| name.as_ptr()))?;
        described.map(drop).ok_or_else(|| wrong("error", error, "it is no result code"))
    })
}

pub(crate) extern "C" fn cuGetErrorString(error: c_int, text: Out<*const c_char>) -> Code {
    answer(|| {
        let described = code::describe(error);
        text.put("pStr", described.map_or(ptr::null(), |(_, text)| text.as_ptr()))?;
        described.map(drop).ok_or_else(|| wrong("error", error, "it is no result code"))
    })
}

pub(crate) extern "C" fn cuGetProcAddress(
    symbol: Text,
    function: Out<*const c_void>,
    version: c_int,
    flags: u64,
) -> Code {
    answer(|| address(symbol, function, version, flags, None))
}

pub(crate) extern "C" fn cuGetProcAddress_v2(
    symbol: Text,
    function: Out<*const c_void>,
    version: c_int,
    flags: u64,
    status: Out<c_int>,
) -> Code {
    answer(|| address(symbol, function, version, flags, Some(status)))
}

/// Finds the newest form of a call that `version` already had.
fn address(
    symbol: Text,
    function: Out<*const c_void>,
    version: c_int,
    flags: u64,
    status: Option<Out<c_int>>,
) -> Result<(), Error> {
    /// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
    const PER_THREAD_DEFAULT_STREAM: u64 = 2;
    const FOUND: c_int = 0;
    const NO_SUCH_SYMBOL: c_int = 1;
    const VERSION_TOO_OLD: c_int = 2;
    let symbol = symbol.get("symbol")?.to_string_lossy();
    function.required("pfn")?;
    if flags > 2 {
        return Err(wrong("flags", flags, "only the two default-stream flags exist"));
    }
    let (result, found) = match calls::find(&symbol, version, flags & PER_THREAD_DEFAULT_STREAM != 0) {
        calls::Found::At(index) => (FOUND, targets::address(calls::NAMES[index].as_bytes()).cast_const()),
        calls::Found::Later => (VERSION_TOO_OLD, ptr::null()),
        calls::Found::Nowhere => (NO_SUCH_SYMBOL, ptr::null()),
    };
    function.put("pfn", found)?;
    // A caller that reads the status learns it there; the call itself then succeeds.
    if let Some(status) = status.filter(|status| status.address() != 0) {
        return status.put("symbolStatus", result);
    }
    if result == FOUND { Ok(()) } else { Err(Error::NoFunction(symbol.into_owned())) }
}

/// Tables of functions without names, which tools of NVIDIA's use; the device has none.
pub(crate) extern "C" fn cuGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) -> Code {
    answer(|| {
        id.get("pExportTableId")?;
        table.put("ppExportTable", ptr::null())?;
        Err(Error::NotFound { kind: "export table", name: "of that number".into() })
    })
}
