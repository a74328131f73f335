//! Libraries and their kernels, which belong to no context.
//!
//! Unified function pointers are not served: the device has none.

use std::ffi::{c_char, c_int, c_uint};
use std::sync::{Arc, PoisonError};

use crate::abi::{CUdevice, CUdeviceptr, CUfunction, CUkernel, CUlibrary, CUmodule, In, Out, Text, answer, wrong};
use crate::api::ctx::check_cache_config;
use crate::api::func::{attribute, store_parameter};
use crate::api::jit::Log;
use crate::api::module::{UNNAMED, read_file};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::image::{self, Source};
use crate::soft::library::{Library, LibraryKernel};
use crate::soft::machine::Part;
use crate::soft::memory::Kind;
use crate::soft::report;

/// Options of a library: where its managed variables are, and whether the caller keeps the code in memory.
/// Neither changes anything here.
const LIBRARY_OPTIONS: c_int = 2;

pub(crate) extern "C" fn cuLibraryLoadData(
    library: Out<CUlibrary>,
    code: In<u8>,
    options: In<c_int>,
    values: Out<u64>,
    count: c_uint,
    library_options: In<c_int>,
    _library_values: In<u64>,
    library_count: c_uint,
) -> Code {
    answer(|| {
        library.required("library")?;
        if code.is_null() {
            return Err(Error::Null("code"));
        }
        // SAFETY: the log lives as long as the call.
        let log = unsafe { Log::new(count, options, values) }?;
        check_options(library_options, library_count)?;
        // SAFETY: the caller passes a complete image, as cuda.h demands.
        load(library, &log, || unsafe { image::read(code.address() as *const _, UNNAMED) })
    })
}

pub(crate) extern "C" fn cuLibraryLoadFromFile(
    library: Out<CUlibrary>,
    path: Text,
    options: In<c_int>,
    values: Out<u64>,
    count: c_uint,
    library_options: In<c_int>,
    _library_values: In<u64>,
    library_count: c_uint,
) -> Code {
    answer(|| {
        library.required("library")?;
        let path = path.get("fileName")?;
        // SAFETY: as above.
        let log = unsafe { Log::new(count, options, values) }?;
        check_options(library_options, library_count)?;
        load(library, &log, || read_file(path.to_bytes()))
    })
}

fn check_options(options: In<c_int>, count: c_uint) -> Result<(), Error> {
    for index in 0..count as usize {
        // SAFETY: there are `count` options.
        let option = unsafe { options.element("libraryOptions", index) }?;
        if !(0..LIBRARY_OPTIONS).contains(&option) {
            return Err(wrong("libraryOptions", option, "there is no such option"));
        }
    }
    Ok(())
}

fn load(library: Out<CUlibrary>, log: &Log, sources: impl FnOnce() -> Result<Vec<Source>, Error>) -> Result<(), Error> {
    let driver = Driver::get()?;
    let loaded = sources().and_then(|sources| {
        let program = driver.machine.load(Part::Plain, &sources)?;
        Ok((sources, program))
    });
    log.write(&loaded);
    let (sources, program) = loaded.inspect_err(report::refusal)?;
    let (handle, _) = driver.libraries.insert(|_| Library::new(sources, program));
    library.put("library", handle)
}

/// The library behind a handle.
fn library_of(handle: CUlibrary) -> Result<(&'static Driver, Arc<Library>), Error> {
    let driver = Driver::get()?;
    Ok((driver, driver.libraries.get(handle)?))
}

pub(crate) extern "C" fn cuLibraryUnload(handle: CUlibrary) -> Code {
    answer(|| {
        let (driver, library) = library_of(handle)?;
        driver.libraries.remove(handle)?;
        driver.kernels.retain(|kernel| kernel.library != handle);
        for module in library.modules() {
            // A module that went with its context is gone already.
            if driver.modules.remove(module).is_ok() {
                driver.functions.retain(|function| function.module != module);
            }
        }
        Ok(())
    })
}

/// The handle of a kernel: always the same one for a name.
fn kernel_in(driver: &Driver, handle: CUlibrary, library: &Library, name: &std::ffi::CStr) -> Result<CUkernel, Error> {
    let text = name.to_string_lossy();
    let mut kernels = library.kernels.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kernels.get(&*text) {
        return Ok(*known);
    }
    let spare = library.spare.lock().unwrap_or_else(PoisonError::into_inner);
    let kernel = match &*spare {
        Some(program) => program.kernel(&text)?,
        None => {
            let module = library.modules().into_iter().find_map(|one| driver.modules.get(one).ok());
            match module {
                Some(module) => module.program.kernel(&text)?,
                None => driver.machine.load(Part::Plain, &library.sources)?.kernel(&text)?,
            }
        }
    };
    let (found, _) = driver.kernels.insert(|_| LibraryKernel { library: handle, name: name.to_owned(), kernel });
    kernels.insert(text.into_owned(), found);
    Ok(found)
}

pub(crate) extern "C" fn cuLibraryGetKernel(kernel: Out<CUkernel>, handle: CUlibrary, name: Text) -> Code {
    answer(|| {
        let (driver, library) = library_of(handle)?;
        kernel.required("pKernel")?;
        kernel.put("pKernel", kernel_in(driver, handle, &library, name.get("name")?)?)
    })
}

pub(crate) extern "C" fn cuLibraryGetKernelCount(count: Out<c_uint>, handle: CUlibrary) -> Code {
    answer(|| count.put("count", library_of(handle)?.1.names.len() as c_uint))
}

pub(crate) extern "C" fn cuLibraryEnumerateKernels(kernels: Out<CUkernel>, count: c_uint, handle: CUlibrary) -> Code {
    answer(|| {
        let (driver, library) = library_of(handle)?;
        kernels.required("kernels")?;
        for (index, name) in library.names.iter().take(count as usize).enumerate() {
            let name = std::ffi::CString::new(name.as_str()).unwrap_or_default();
            // SAFETY: there is room for `count` kernels.
            let place = unsafe { kernels.at(index) };
            place.put("kernels", kernel_in(driver, handle, &library, &name)?)?;
        }
        Ok(())
    })
}

pub(crate) extern "C" fn cuLibraryGetModule(module: Out<CUmodule>, handle: CUlibrary) -> Code {
    answer(|| {
        let (driver, library) = library_of(handle)?;
        let (_, context) = Driver::current()?;
        module.required("pMod")?;
        module.put("pMod", library.module_in(driver, &context)?)
    })
}

fn variable(
    pointer: Out<CUdeviceptr>,
    bytes: Out<usize>,
    handle: CUlibrary,
    name: Text,
    managed: bool,
) -> Result<(), Error> {
    let (driver, library) = library_of(handle)?;
    let (_, context) = Driver::current()?;
    let name = name.get("name")?.to_string_lossy();
    if pointer.required("dptr").is_err() {
        bytes.required("bytes")?;
    }
    let module = driver.modules.get(library.module_in(driver, &context)?)?;
    let is_managed = |address| driver.memory.holding(address).is_some_and(|one| one.kind == Kind::Managed);
    let (address, size) =
        module.program.variable(&name).filter(|(address, _)| !managed || is_managed(*address)).ok_or_else(|| {
            Error::NotFound { kind: if managed { "managed variable" } else { "variable" }, name: name.into_owned() }
        })?;
    pointer.put_if(address);
    bytes.put_if(size as usize);
    Ok(())
}

pub(crate) extern "C" fn cuLibraryGetGlobal(
    pointer: Out<CUdeviceptr>,
    bytes: Out<usize>,
    handle: CUlibrary,
    name: Text,
) -> Code {
    answer(|| variable(pointer, bytes, handle, name, false))
}

/// PTX says of managed variables only that they are global (`.attribute(.managed)`), so none is found here.
pub(crate) extern "C" fn cuLibraryGetManaged(
    pointer: Out<CUdeviceptr>,
    bytes: Out<usize>,
    handle: CUlibrary,
    name: Text,
) -> Code {
    answer(|| variable(pointer, bytes, handle, name, true))
}

/// The kernel behind a handle.
fn kernel_of(handle: CUkernel) -> Result<(&'static Driver, Arc<LibraryKernel>), Error> {
    let driver = Driver::get()?;
    Ok((driver, driver.kernels.get(handle)?))
}

pub(crate) extern "C" fn cuKernelGetFunction(function: Out<CUfunction>, handle: CUkernel) -> Code {
    answer(|| {
        let (driver, kernel) = kernel_of(handle)?;
        function.required("pFunc")?;
        function.put("pFunc", driver.function_of_kernel(&kernel)?)
    })
}

pub(crate) extern "C" fn cuKernelGetLibrary(library: Out<CUlibrary>, handle: CUkernel) -> Code {
    answer(|| library.put("pLib", kernel_of(handle)?.1.library))
}

pub(crate) extern "C" fn cuKernelGetName(name: Out<*const c_char>, handle: CUkernel) -> Code {
    // The name lives as long as the kernel, which the library keeps.
    answer(|| name.put("name", kernel_of(handle)?.1.name.as_ptr()))
}

pub(crate) extern "C" fn cuKernelGetParamInfo(
    handle: CUkernel,
    index: usize,
    offset: Out<usize>,
    bytes: Out<usize>,
) -> Code {
    answer(|| store_parameter(&kernel_of(handle)?.1.kernel, index, offset, bytes))
}

/// The kernel's function in the current context keeps what can be set; without one there are the defaults.
pub(crate) extern "C" fn cuKernelGetAttribute(
    value: Out<c_int>,
    number: c_int,
    handle: CUkernel,
    device: CUdevice,
) -> Code {
    answer(|| {
        let (driver, kernel) = kernel_of(handle)?;
        value.required("pi")?;
        Driver::device(device)?;
        let function = driver.functions.get(driver.function_of_kernel(&kernel)?)?;
        value.put("pi", attribute(&function, number)?)
    })
}

pub(crate) extern "C" fn cuKernelSetAttribute(number: c_int, value: c_int, handle: CUkernel, device: CUdevice) -> Code {
    answer(|| {
        let (driver, kernel) = kernel_of(handle)?;
        Driver::device(device)?;
        let function = driver.functions.get(driver.function_of_kernel(&kernel)?)?;
        super::func::set_attribute(&function, number, value)
    })
}

pub(crate) extern "C" fn cuKernelSetCacheConfig(handle: CUkernel, config: c_int, device: CUdevice) -> Code {
    answer(|| {
        kernel_of(handle)?;
        Driver::device(device)?;
        check_cache_config(config)
    })
}
