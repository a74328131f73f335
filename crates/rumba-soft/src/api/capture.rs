//! Stream capture: gathering the work of streams into a graph.

use std::ffi::{c_int, c_uint};
use std::sync::PoisonError;

use crate::abi::{CUgraph, CUgraphNode, CUstream, In, Out, answer, wrong};
use crate::code::Code;
use crate::error::Error;
use crate::soft::capture::{self, Part};
use crate::soft::driver::Driver;
use crate::soft::graph::EdgeData;
use crate::soft::order::AnyStream;

/// The capture states of a stream: `CUstreamCaptureStatus`.
const NONE: c_int = 0;
const ACTIVE: c_int = 1;
const INVALIDATED: c_int = 2;

pub(crate) extern "C" fn cuStreamBeginCapture(stream: CUstream) -> Code {
    answer(|| begin(stream, 0, None))
}

pub(crate) extern "C" fn cuStreamBeginCapture_v2(stream: CUstream, mode: c_int) -> Code {
    answer(|| begin(stream, mode, None))
}

pub(crate) extern "C" fn cuStreamBeginCaptureToGraph(
    stream: CUstream,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    edges: In<EdgeData>,
    count: usize,
    mode: c_int,
) -> Code {
    answer(|| {
        refuse_data(edges, count)?;
        let nodes = nodes(dependencies, count)?;
        begin(stream, mode, Some((graph, nodes)))
    })
}

/// The nodes of an array, which an argument after it says the length of.
pub(super) fn nodes(nodes: In<CUgraphNode>, count: usize) -> Result<Vec<CUgraphNode>, Error> {
    // SAFETY: every call with such an argument reads `count` nodes.
    let node = |index| unsafe { nodes.element("dependencies", index) };
    (0..count).map(node).collect()
}

/// What a stream is told to depend on is always the end of nodes: a launch says itself if it depends on less.
fn refuse_data(edges: In<EdgeData>, count: usize) -> Result<(), Error> {
    if !edges.is_null() {
        for index in 0..count {
            // SAFETY: there is data for each of the nodes.
            if unsafe { edges.element("dependencyData", index) }? != EdgeData::default() {
                return Err(Error::Unserved {
                    what: "a programmatic dependency that is given to a stream in a capture",
                });
            }
        }
    }
    Ok(())
}

fn begin(stream: CUstream, mode: c_int, given: Option<(CUgraph, Vec<CUgraphNode>)>) -> Result<(), Error> {
    let (driver, stream) = Driver::stream(stream)?;
    if !(0..=2).contains(&mode) {
        return Err(wrong("mode", mode, "it must be 0 to 2"));
    }
    if matches!(stream, AnyStream::Default(_)) {
        return Err(Error::Capture(Code::STREAM_CAPTURE_UNSUPPORTED));
    }
    let given = match given {
        None => None,
        Some((handle, nodes)) => {
            let graph = driver.graphs.get(handle)?;
            let known = graph.lock().clone();
            if let Some(node) = nodes.iter().find(|node| !known.has(**node)) {
                return Err(wrong("dependencies", format!("{node:#x}"), "it is no node of the graph"));
            }
            Some((handle, graph, nodes))
        }
    };
    capture::begin(driver, stream.queue(), mode, given)
}

pub(crate) extern "C" fn cuStreamEndCapture(stream: CUstream, graph: Out<CUgraph>) -> Code {
    answer(|| {
        let (driver, stream) = Driver::stream(stream)?;
        graph.put_if(0);
        graph.put_if(capture::end(driver, stream.queue())?);
        Ok(())
    })
}

/// How a stream takes part in a capture. The default stream cannot be asked while a stream that it keeps order with is
/// being captured.
fn status(stream: &AnyStream) -> Result<(c_int, Option<Part>), Error> {
    if matches!(stream, AnyStream::Default(_)) && stream.context().has_captured_queue() {
        return Err(Error::Capture(Code::STREAM_CAPTURE_IMPLICIT));
    }
    Ok(match capture::part(stream.queue()) {
        None => (NONE, None),
        Some(part) if part.session.is_valid() => (ACTIVE, Some(part)),
        Some(_) => (INVALIDATED, None),
    })
}

pub(crate) extern "C" fn cuStreamIsCapturing(stream: CUstream, result: Out<c_int>) -> Code {
    answer(|| {
        let (_, stream) = Driver::stream(stream)?;
        result.required("captureStatus")?;
        result.put("captureStatus", status(&stream)?.0)
    })
}

pub(crate) extern "C" fn cuStreamGetCaptureInfo(stream: CUstream, result: Out<c_int>, id: Out<u64>) -> Code {
    answer(|| info(stream, result, id).map(drop))
}

/// Stores status and number of the capture, and gives the stream's part in it.
fn info(stream: CUstream, result: Out<c_int>, id: Out<u64>) -> Result<(AnyStream, Option<Part>), Error> {
    let (_, stream) = Driver::stream(stream)?;
    result.required("captureStatus_out")?;
    let (status, part) = status(&stream)?;
    result.put_if(status);
    if let Some(part) = &part {
        id.put_if(part.session.id);
    }
    Ok((stream, part))
}

/// Stores also the graph and the nodes that come before what is captured next. They stay where they are until the stream
/// is asked again.
fn details(
    stream: CUstream,
    result: Out<c_int>,
    id: Out<u64>,
    graph: Out<CUgraph>,
    dependencies: Out<u64>,
    count: Out<usize>,
) -> Result<(), Error> {
    let (stream, part) = info(stream, result, id)?;
    let Some(part) = part else { return Ok(()) };
    graph.put_if(part.session.handle);
    count.put_if(part.tail.len());
    let mut told = stream.queue().told.lock().unwrap_or_else(PoisonError::into_inner);
    *told = part.tail;
    dependencies.put_if(told.as_ptr() as u64);
    Ok(())
}

pub(crate) extern "C" fn cuStreamGetCaptureInfo_v2(
    stream: CUstream,
    result: Out<c_int>,
    id: Out<u64>,
    graph: Out<CUgraph>,
    dependencies: Out<u64>,
    count: Out<usize>,
) -> Code {
    answer(|| details(stream, result, id, graph, dependencies, count))
}

pub(crate) extern "C" fn cuStreamGetCaptureInfo_v3(
    stream: CUstream,
    result: Out<c_int>,
    id: Out<u64>,
    graph: Out<CUgraph>,
    dependencies: Out<u64>,
    edges: Out<u64>,
    count: Out<usize>,
) -> Code {
    answer(|| {
        // A stream depends on the ends of nodes, until a launch says otherwise.
        edges.put_if(0);
        details(stream, result, id, graph, dependencies, count)
    })
}

pub(crate) extern "C" fn cuStreamUpdateCaptureDependencies(
    stream: CUstream,
    dependencies: In<CUgraphNode>,
    count: usize,
    flags: c_uint,
) -> Code {
    answer(|| update(stream, dependencies, count, flags))
}

pub(crate) extern "C" fn cuStreamUpdateCaptureDependencies_v2(
    stream: CUstream,
    dependencies: In<CUgraphNode>,
    edges: In<EdgeData>,
    count: usize,
    flags: c_uint,
) -> Code {
    answer(|| {
        refuse_data(edges, count)?;
        update(stream, dependencies, count, flags)
    })
}

fn update(stream: CUstream, dependencies: In<CUgraphNode>, count: usize, flags: c_uint) -> Result<(), Error> {
    /// `CU_STREAM_SET_CAPTURE_DEPENDENCIES`; 0 adds to them.
    const SET: c_uint = 1;
    let (_, stream) = Driver::stream(stream)?;
    if flags > SET {
        return Err(wrong("flags", flags, "it must be 0 or 1"));
    }
    let nodes = nodes(dependencies, count)?;
    let mut capture = stream.queue().capture.lock().unwrap_or_else(PoisonError::into_inner);
    let part = capture.as_mut().ok_or(Error::Capture(Code::ILLEGAL_STATE))?;
    let known = part.session.graph.lock().clone();
    if let Some(node) = nodes.iter().find(|node| !known.has(**node)) {
        return Err(wrong("dependencies", format!("{node:#x}"), "it is no node of the graph"));
    }
    if flags == SET {
        part.tail.clear();
    }
    for node in nodes {
        if !part.tail.contains(&node) {
            part.tail.push(node);
        }
    }
    Ok(())
}

pub(crate) extern "C" fn cuThreadExchangeStreamCaptureMode(mode: Out<c_int>) -> Code {
    answer(|| {
        mode.required("mode")?;
        // SAFETY: the call exchanges the mode.
        let given = unsafe { mode.given("mode") }?;
        if !(0..=2).contains(&given) {
            return Err(wrong("mode", given, "it must be 0 to 2"));
        }
        mode.put("mode", capture::exchange_mode(given))
    })
}
