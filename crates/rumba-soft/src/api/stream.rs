//! Streams: making them, asking about them, waiting for them, host functions in their order.

use std::ffi::{c_int, c_uint, c_void};

use crate::abi::{CUcontext, CUdevice, CUevent, CUstream, Out, answer, wrong};
use crate::api::ctx::PRIORITIES;
use crate::code::Code;
use crate::error::Error;
use crate::soft::capture;
use crate::soft::driver::Driver;
use crate::soft::order::{AnyStream, Stream};
use crate::soft::work::{Argument, HostFunction, StreamCallback, Work};

pub(crate) extern "C" fn cuStreamCreate(stream: Out<CUstream>, flags: c_uint) -> Code {
    answer(|| create(stream, flags, 0))
}

pub(crate) extern "C" fn cuStreamCreateWithPriority(stream: Out<CUstream>, flags: c_uint, priority: c_int) -> Code {
    answer(|| create(stream, flags, priority))
}

fn create(stream: Out<CUstream>, flags: c_uint, priority: c_int) -> Result<(), Error> {
    let (driver, context) = Driver::current()?;
    stream.required("phStream")?;
    if flags & !Stream::NON_BLOCKING != 0 {
        return Err(wrong("Flags", flags, "it must be 0 or CU_STREAM_NON_BLOCKING"));
    }
    let priority = priority.clamp(PRIORITIES.0, PRIORITIES.1);
    let (handle, _) = driver.streams.insert(|_| Stream::new(context, flags, priority, driver.id()));
    stream.put("phStream", handle)
}

pub(crate) extern "C" fn cuStreamDestroy_v2(stream: CUstream) -> Code {
    answer(|| {
        let driver = Driver::get().map_err(|_| Error::Handle { kind: "stream", value: stream })?;
        let stream = driver.streams.remove(stream)?;
        // A capture that began in it can no longer end.
        if let Some(part) = capture::part(&stream.queue) {
            part.session.invalidate();
        }
        stream.context.usable()
    })
}

pub(crate) extern "C" fn cuStreamSynchronize(stream: CUstream) -> Code {
    answer(|| Driver::stream(stream)?.1.synchronize())
}

pub(crate) extern "C" fn cuStreamQuery(stream: CUstream) -> Code {
    answer(|| {
        let (_, stream) = Driver::stream(stream)?;
        if !stream.query()? {
            return Err(Error::NotReady);
        }
        stream.context().outcome()
    })
}

pub(crate) extern "C" fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> Code {
    answer(|| {
        let (_, stream) = Driver::stream(stream)?;
        let event = Driver::event(event)?;
        if flags > 1 {
            return Err(wrong("Flags", flags, "it must be 0 or CU_EVENT_WAIT_EXTERNAL"));
        }
        stream.wait_for_event(&event)
    })
}

pub(crate) extern "C" fn cuStreamGetFlags(stream: CUstream, flags: Out<c_uint>) -> Code {
    answer(|| match Driver::stream(stream)?.1 {
        AnyStream::Stream(stream) => flags.put("flags", stream.flags),
        AnyStream::Default(_) | AnyStream::Thread(..) => flags.put("flags", 0),
    })
}

pub(crate) extern "C" fn cuStreamGetPriority(stream: CUstream, priority: Out<c_int>) -> Code {
    answer(|| match Driver::stream(stream)?.1 {
        AnyStream::Stream(stream) => priority.put("priority", stream.priority),
        AnyStream::Default(_) | AnyStream::Thread(..) => priority.put("priority", 0),
    })
}

pub(crate) extern "C" fn cuStreamGetCtx(stream: CUstream, context: Out<CUcontext>) -> Code {
    answer(|| context.put("pctx", Driver::stream(stream)?.1.context().handle))
}

pub(crate) extern "C" fn cuStreamGetDevice(stream: CUstream, device: Out<CUdevice>) -> Code {
    answer(|| {
        let (_, stream) = Driver::stream(stream)?;
        device.put("device", stream.context().device)
    })
}

pub(crate) extern "C" fn cuStreamGetId(stream: CUstream, id: Out<u64>) -> Code {
    answer(|| match Driver::stream(stream)?.1 {
        AnyStream::Stream(stream) => id.put("streamId", stream.id),
        // Lives of contexts and streams are counted apart; the top bit keeps them apart here too.
        AnyStream::Default(context) => id.put("streamId", context.life | 1 << 63),
        AnyStream::Thread(context, _) => id.put("streamId", context.life | 1 << 62),
    })
}

/// # Safety
/// As cuda.h says.
pub(crate) unsafe extern "C" fn cuLaunchHostFunc(
    stream: CUstream,
    function: Option<HostFunction>,
    argument: *mut c_void,
) -> Code {
    answer(|| {
        // A null function is refused even where the stream is unusable.
        let function = function.ok_or(Error::Null("fn"))?;
        let (_, stream) = Driver::stream(stream)?;
        stream.submit(Work::Host(function, Argument(argument))).map(drop)
    })
}

/// # Safety
/// As cuda.h says.
pub(crate) unsafe extern "C" fn cuStreamAddCallback(
    stream: CUstream,
    callback: Option<StreamCallback>,
    argument: *mut c_void,
    flags: c_uint,
) -> Code {
    answer(|| {
        let (_, asked) = Driver::stream(stream)?;
        let callback = callback.ok_or(Error::Null("callback"))?;
        if flags != 0 {
            return Err(wrong("flags", flags, "it must be 0"));
        }
        asked.refuse_captured()?;
        asked.submit(Work::Callback(callback, stream, Argument(argument))).map(drop)
    })
}
