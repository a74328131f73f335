//! Modules: loading PTX, finding functions and variables in it.

use std::ffi::{CString, OsStr, c_int, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use crate::abi::{CUdeviceptr, CUfunction, CUmodule, In, Out, Text, answer, wrong};
use crate::api::jit::Log;
use crate::code::Code;
use crate::error::Error;
use crate::soft::capture;
use crate::soft::driver::Driver;
use crate::soft::image::{self, Source};
use crate::soft::module::Module;
use crate::soft::report;

/// The name of unnamed PTX in reports.
pub(crate) const UNNAMED: &str = "PTX";

pub(crate) extern "C" fn cuModuleLoad(module: Out<CUmodule>, path: Text) -> Code {
    answer(|| {
        Driver::current()?;
        module.required("module")?;
        let path = path.get("fname")?;
        load(module, &Log::default(), || read_file(path.to_bytes()))
    })
}

/// The texts in a file.
pub(crate) fn read_file(path: &[u8]) -> Result<Vec<Source>, Error> {
    let (bytes, name) = file(path)?;
    image::read_bytes(&bytes, &name)
}

/// The contents of a file, and its name.
pub(crate) fn file(path: &[u8]) -> Result<(Vec<u8>, String), Error> {
    let path = OsStr::from_bytes(path);
    let name = path.to_string_lossy().into_owned();
    match std::fs::read(path) {
        Ok(bytes) => Ok((bytes, name)),
        Err(cause) => Err(Error::File { path: name, cause: cause.to_string() }),
    }
}

pub(crate) extern "C" fn cuModuleLoadData(module: Out<CUmodule>, image: In<u8>) -> Code {
    answer(|| load_image(module, image, &Log::default()))
}

pub(crate) extern "C" fn cuModuleLoadFatBinary(module: Out<CUmodule>, image: In<u8>) -> Code {
    answer(|| load_image(module, image, &Log::default()))
}

pub(crate) extern "C" fn cuModuleLoadDataEx(
    module: Out<CUmodule>,
    image: In<u8>,
    count: c_uint,
    options: In<c_int>,
    values: Out<u64>,
) -> Code {
    answer(|| {
        Driver::current()?;
        // SAFETY: the log lives as long as the call.
        let log = unsafe { Log::new(count, options, values) }?;
        load_image(module, image, &log)
    })
}

fn load_image(module: Out<CUmodule>, image: In<u8>, log: &Log) -> Result<(), Error> {
    Driver::current()?;
    module.required("module")?;
    if image.is_null() {
        return Err(Error::Null("image"));
    }
    // SAFETY: the caller passes a complete image, as cuda.h demands.
    load(module, log, || unsafe { image::read(image.address() as *const _, UNNAMED) })
}

/// Loads what `sources` gives, and tells the log and the report how that went.
fn load(module: Out<CUmodule>, log: &Log, sources: impl FnOnce() -> Result<Vec<Source>, Error>) -> Result<(), Error> {
    let (driver, context) = Driver::current()?;
    let program = sources().and_then(|mut sources| {
        log.bound(&mut sources);
        driver.machine.load(driver.part(&context), &sources)
    });
    log.write(&program);
    let program = program.inspect_err(report::refusal)?;
    let (handle, _) = driver.modules.insert(|_| Module::new(context, program));
    module.put("module", handle)
}

pub(crate) extern "C" fn cuModuleUnload(module: CUmodule) -> Code {
    answer(|| {
        let driver = Driver::get().map_err(|_| Error::Handle { kind: "module", value: module })?;
        let context = Arc::clone(&driver.modules.get(module)?.context);
        context.usable()?;
        capture::refuse_unsafe()?;
        context.finish();
        driver.modules.remove(module)?;
        driver.functions.retain(|function| function.module != module);
        Ok(())
    })
}

/// A module in a context in working order.
fn module_of(handle: CUmodule) -> Result<(&'static Driver, std::sync::Arc<Module>), Error> {
    let (driver, _) = Driver::current()?;
    let module = driver.modules.get(handle)?;
    module.context.usable()?;
    Ok((driver, module))
}

pub(crate) extern "C" fn cuModuleGetFunction(function: Out<CUfunction>, handle: CUmodule, name: Text) -> Code {
    answer(|| {
        let (driver, _) = module_of(handle)?;
        function.required("hfunc")?;
        let name = name.get("name")?;
        if name.is_empty() {
            return Err(wrong("name", "empty", "a function has a name"));
        }
        function.put("hfunc", driver.function_in(handle, name)?)
    })
}

pub(crate) extern "C" fn cuModuleGetFunctionCount(count: Out<c_uint>, handle: CUmodule) -> Code {
    answer(|| {
        let (_, module) = module_of(handle)?;
        count.put("count", module.program.kernel_names().len() as c_uint)
    })
}

pub(crate) extern "C" fn cuModuleEnumerateFunctions(
    functions: Out<CUfunction>,
    count: c_uint,
    handle: CUmodule,
) -> Code {
    answer(|| {
        let (driver, module) = module_of(handle)?;
        functions.required("functions")?;
        for (index, name) in module.program.kernel_names().iter().take(count as usize).enumerate() {
            let name = CString::new(name.as_str()).unwrap_or_default();
            // SAFETY: there is room for `count` functions.
            let place = unsafe { functions.at(index) };
            place.put("functions", driver.function_in(handle, &name)?)?;
        }
        Ok(())
    })
}

pub(crate) extern "C" fn cuModuleGetGlobal_v2(
    pointer: Out<CUdeviceptr>,
    bytes: Out<usize>,
    handle: CUmodule,
    name: Text,
) -> Code {
    answer(|| {
        let (_, module) = module_of(handle)?;
        let name = name.get("name")?.to_string_lossy();
        if pointer.required("dptr").is_err() {
            bytes.required("bytes")?;
        }
        let Some((address, size)) = module.program.variable(&name) else {
            if module.program.kernel_names().iter().any(|kernel| *kernel == name) {
                return Err(wrong("name", name, "it is that of a kernel"));
            }
            let name = name.into_owned();
            return Err(Error::NotFound { kind: "variable", name });
        };
        pointer.put_if(address);
        bytes.put_if(size as usize);
        Ok(())
    })
}

/// `CU_MODULE_EAGER_LOADING`: a module is complete once it is loaded.
pub(crate) extern "C" fn cuModuleGetLoadingMode(mode: Out<c_int>) -> Code {
    answer(|| {
        Driver::get()?;
        mode.put("mode", 1)
    })
}
