//! Functions: their attributes and settings.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::abi::{CUfunction, CUmodule, Out, answer, wrong};
use crate::api::ctx::{check_cache_config, check_shared_config};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::machine::Kernel;
use crate::soft::module::Function;
use crate::table;

const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
const PREFERRED_SHARED_MEMORY_CARVEOUT: c_int = 9;
const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: c_int = 14;

/// The function behind a handle.
pub(crate) fn function_of(handle: CUfunction) -> Result<Arc<Function>, Error> {
    Driver::get()?.function(handle)
}

pub(crate) extern "C" fn cuFuncGetAttribute(value: Out<c_int>, number: c_int, function: CUfunction) -> Code {
    answer(|| {
        let function = function_of(function)?;
        value.required("pi")?;
        value.put("pi", attribute(&function, number)?)
    })
}

/// An attribute of a function, by its number in cuda.h.
pub(crate) fn attribute(function: &Function, number: c_int) -> Result<c_int, Error> {
    let needs = function.kernel.needs();
    Ok(match number {
        0 => needs.max_threads_per_block as c_int,
        1 => needs.shared_bytes as c_int,
        2 => needs.const_bytes as c_int,
        3 => needs.local_bytes as c_int,
        4 => needs.registers as c_int,
        5 => needs.ptx_version as c_int,
        // Of its code, which is for the device's architecture.
        6 => table::multiprocessor().capability as c_int,
        7 => 0,
        MAX_DYNAMIC_SHARED_SIZE_BYTES => function.max_dynamic_shared.load(Ordering::Relaxed),
        PREFERRED_SHARED_MEMORY_CARVEOUT => function.carveout.load(Ordering::Relaxed),
        NON_PORTABLE_CLUSTER_SIZE_ALLOWED => c_int::from(function.allows_large_clusters.load(Ordering::Relaxed)),
        // The other attributes of clusters: none is set.
        10..=13 | 15 => 0,
        other => return Err(wrong("attrib", other, "there is no such attribute")),
    })
}

pub(crate) extern "C" fn cuFuncSetAttribute(function: CUfunction, number: c_int, value: c_int) -> Code {
    answer(|| {
        let function = function_of(function)?;
        function.context.usable()?;
        set_attribute(&function, number, value)
    })
}

/// Sets an attribute of a function.
pub(crate) fn set_attribute(function: &Function, number: c_int, value: c_int) -> Result<(), Error> {
    match number {
        MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            let most = table::multiprocessor().shared_per_block;
            let room = most.saturating_sub(function.kernel.needs().shared_bytes);
            if u32::try_from(value).is_ok_and(|bytes| bytes <= room) {
                function.max_dynamic_shared.store(value, Ordering::Relaxed);
                return Ok(());
            }
            Err(wrong("value", value, "static and dynamic shared memory must fit into what a block can ask for"))
        }
        PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&value) => {
            function.carveout.store(value, Ordering::Relaxed);
            Ok(())
        }
        PREFERRED_SHARED_MEMORY_CARVEOUT => Err(wrong("value", value, "it is a percentage, or -1")),
        NON_PORTABLE_CLUSTER_SIZE_ALLOWED => {
            function.allows_large_clusters.store(value != 0, Ordering::Relaxed);
            Ok(())
        }
        other => Err(wrong("attrib", other, "it cannot be set")),
    }
}

pub(crate) extern "C" fn cuFuncSetCacheConfig(function: CUfunction, config: c_int) -> Code {
    answer(|| {
        function_of(function)?.context.usable()?;
        check_cache_config(config)
    })
}

pub(crate) extern "C" fn cuFuncSetSharedMemConfig(function: CUfunction, config: c_int) -> Code {
    answer(|| {
        function_of(function)?.context.usable()?;
        check_shared_config(config)
    })
}

pub(crate) extern "C" fn cuFuncGetModule(module: Out<CUmodule>, function: CUfunction) -> Code {
    answer(|| module.put("hmod", function_of(function)?.module))
}

pub(crate) extern "C" fn cuFuncGetName(name: Out<*const c_char>, function: CUfunction) -> Code {
    answer(|| name.put("name", function_of(function)?.name.as_ptr()))
}

pub(crate) extern "C" fn cuFuncGetParamInfo(
    function: CUfunction,
    index: usize,
    offset: Out<usize>,
    bytes: Out<usize>,
) -> Code {
    answer(|| store_parameter(&function_of(function)?.kernel, index, offset, bytes))
}

/// Stores where a parameter lies in the parameter block.
pub(crate) fn store_parameter(
    kernel: &Kernel,
    index: usize,
    offset: Out<usize>,
    bytes: Out<usize>,
) -> Result<(), Error> {
    let parameter =
        kernel.parameters().get(index).ok_or_else(|| wrong("paramIndex", index, "the kernel has fewer parameters"))?;
    offset.put("paramOffset", parameter.offset)?;
    bytes.put_if(parameter.bytes);
    Ok(())
}

pub(crate) extern "C" fn cuFuncIsLoaded(state: Out<c_int>, function: CUfunction) -> Code {
    answer(|| {
        function_of(function)?;
        state.put("state", 1)
    })
}

pub(crate) extern "C" fn cuFuncLoad(function: CUfunction) -> Code {
    answer(|| function_of(function).map(drop))
}
