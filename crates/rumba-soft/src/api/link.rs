//! Linking several PTX texts to one image. There is no machine code to link: the image holds the texts, which
//! are linked again when it is loaded.

use std::ffi::{c_int, c_uint};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::{CUlinkState, In, Out, Text, answer, wrong};
use crate::api::jit::Log;
use crate::api::module::file;
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::image::{self, Source};
use crate::soft::module::{Link, LinkState};
use crate::soft::report;

/// `CUjitInputType`.
const CUBIN: c_int = 0;
const PTX: c_int = 1;
const FATBIN: c_int = 2;
const OBJECT: c_int = 3;
const LIBRARY: c_int = 4;

pub(crate) extern "C" fn cuLinkCreate_v2(
    count: c_uint,
    options: In<c_int>,
    values: Out<u64>,
    state: Out<CUlinkState>,
) -> Code {
    answer(|| {
        let (driver, context) = Driver::current()?;
        state.required("stateOut")?;
        // SAFETY: the caller keeps the values and what they name until the link is destroyed, as cuda.h demands.
        let log = unsafe { Log::new(count, options, values) }?;
        let link = LinkState { log, ..LinkState::default() };
        let (handle, _) = driver.links.insert(|_| Link { context, state: Mutex::new(link) });
        state.put("stateOut", handle)
    })
}

/// A link in a context in working order.
fn link_of(handle: CUlinkState) -> Result<(&'static Driver, Arc<Link>), Error> {
    let driver = Driver::get().map_err(|_| Error::Handle { kind: "link state", value: handle })?;
    let link = driver.links.get(handle)?;
    link.context.usable()?;
    Ok((driver, link))
}

fn locked(link: &Link) -> MutexGuard<'_, LinkState> {
    link.state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds an input, unless the link is complete.
fn add(handle: CUlinkState, kind: c_int, bytes: &[u8], name: &str) -> Result<(), Error> {
    let (_, link) = link_of(handle)?;
    let mut state = locked(&link);
    if state.image.is_some() {
        return Err(wrong("state", "complete", "nothing can be added to a complete link"));
    }
    let sources = match kind {
        PTX | FATBIN => image::read_bytes(bytes, name),
        LIBRARY => image::read_library(bytes, name),
        CUBIN => Err(Error::NoPtx("machine code (a cubin)")),
        OBJECT => Err(Error::Unserved { what: "linking host objects" }),
        other => return Err(wrong("type", other, "there is no such input type")),
    };
    let sources = sources.and_then(check_syntax);
    state.log.write(&sources);
    let mut sources = sources.inspect_err(report::refusal)?;
    state.log.bound(&mut sources);
    state.sources.extend(sources);
    Ok(())
}

/// Refuses PTX that cannot be read; what is missing in it may still come with another text.
fn check_syntax(sources: Vec<Source>) -> Result<Vec<Source>, Error> {
    for source in &sources {
        crate::soft::machine::check_syntax(source)?;
    }
    Ok(sources)
}

pub(crate) extern "C" fn cuLinkAddData_v2(
    state: CUlinkState,
    kind: c_int,
    data: In<u8>,
    size: usize,
    name: Text,
    count: c_uint,
    options: In<c_int>,
    values: Out<u64>,
) -> Code {
    answer(|| {
        link_of(state)?;
        // SAFETY: the log is only looked at for options that are wrong.
        unsafe { Log::new(count, options, values) }?;
        if data.is_null() || size == 0 {
            return Err(wrong("data", "empty", "there is nothing to link"));
        }
        // SAFETY: the data is as long as the caller says.
        let bytes = unsafe { data.slice("data", size) }?;
        let name = name.get("name").map_or("PTX".into(), |name| name.to_string_lossy());
        add(state, kind, bytes, &name)
    })
}

pub(crate) extern "C" fn cuLinkAddFile_v2(
    state: CUlinkState,
    kind: c_int,
    path: Text,
    count: c_uint,
    options: In<c_int>,
    values: Out<u64>,
) -> Code {
    answer(|| {
        link_of(state)?;
        // SAFETY: as above.
        unsafe { Log::new(count, options, values) }?;
        let path = path.get("path")?;
        let (bytes, name) = file(path.to_bytes())?;
        add(state, kind, &bytes, &name)
    })
}

pub(crate) extern "C" fn cuLinkComplete(state: CUlinkState, image: Out<u64>, size: Out<usize>) -> Code {
    answer(|| {
        let (driver, link) = link_of(state)?;
        image.required("cubinOut")?;
        let mut state = locked(&link);
        if state.image.is_some() {
            return Err(Error::Handle { kind: "open link state", value: 0 });
        }
        // Loading once finds what is missing or defined twice where the caller expects to hear of it.
        let checked = if state.sources.is_empty() {
            Ok(())
        } else {
            driver.machine.load(driver.part(&link.context), &state.sources).map(drop)
        };
        state.log.write(&checked);
        checked.inspect_err(report::refusal)?;
        let linked = image::link(&state.sources);
        let linked = state.image.insert(linked);
        size.put_if(linked.len());
        image.put("cubinOut", linked.as_ptr() as u64)
    })
}

pub(crate) extern "C" fn cuLinkDestroy(state: CUlinkState) -> Code {
    answer(|| {
        let (driver, _) = link_of(state)?;
        driver.links.remove(state).map(drop)
    })
}
