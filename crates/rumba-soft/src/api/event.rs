//! Events: records in the order of a stream, and the time between two of them.

use std::ffi::c_uint;

use crate::abi::{CUevent, CUstream, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::order::Event;

/// `CU_EVENT_INTERPROCESS`.
const INTERPROCESS: c_uint = 4;

pub(crate) extern "C" fn cuEventCreate(event: Out<CUevent>, flags: c_uint) -> Code {
    answer(|| {
        let (driver, context) = Driver::current()?;
        event.required("phEvent")?;
        if flags > 7 || flags & INTERPROCESS != 0 && flags & Event::DISABLE_TIMING == 0 {
            return Err(wrong("Flags", flags, "its bits are 1, 2, and 4 together with 2"));
        }
        let (handle, _) = driver.events.insert(|_| Event::new(context, flags));
        event.put("phEvent", handle)
    })
}

pub(crate) extern "C" fn cuEventDestroy_v2(event: CUevent) -> Code {
    answer(|| {
        let driver = Driver::get().map_err(|_| Error::Handle { kind: "event", value: event })?;
        driver.events.remove(event)?.context.usable()
    })
}

pub(crate) extern "C" fn cuEventRecord(event: CUevent, stream: CUstream) -> Code {
    answer(|| record(event, stream))
}

pub(crate) extern "C" fn cuEventRecordWithFlags(event: CUevent, stream: CUstream, flags: c_uint) -> Code {
    answer(|| {
        if flags > 1 {
            return Err(wrong("flags", flags, "it must be 0 or CU_EVENT_RECORD_EXTERNAL"));
        }
        record(event, stream)
    })
}

fn record(event: CUevent, stream: CUstream) -> Result<(), Error> {
    let (_, stream) = Driver::stream(stream)?;
    let event = Driver::event(event)?;
    if event.context.life != stream.context().life {
        return Err(Error::ForeignContext { kind: "event" });
    }
    event.record(&stream)
}

pub(crate) extern "C" fn cuEventQuery(event: CUevent) -> Code {
    answer(|| {
        let event = Driver::event(event)?;
        match event.point()? {
            Some(point) if !point.is_reached() => Err(Error::NotReady),
            _ => event.context.outcome(),
        }
    })
}

pub(crate) extern "C" fn cuEventSynchronize(event: CUevent) -> Code {
    answer(|| {
        let event = Driver::event(event)?;
        if let Some(point) = event.point()? {
            point.wait();
        }
        event.context.outcome()
    })
}

pub(crate) extern "C" fn cuEventElapsedTime(milliseconds: Out<f32>, start: CUevent, end: CUevent) -> Code {
    answer(|| {
        let time = |event| Driver::event(event)?.time();
        // NVIDIA's driver answers a null result like an unusable event.
        milliseconds.required("pMilliseconds").map_err(|_| Error::EventWithoutTime("pMilliseconds is null"))?;
        let (start, end) = (time(start)?, time(end)?);
        let nanoseconds = if end >= start { (end - start) as f64 } else { -((start - end) as f64) };
        milliseconds.put("pMilliseconds", (nanoseconds / 1e6) as f32)
    })
}
