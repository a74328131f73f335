//! Graphs as a whole: making, asking, copying, instantiating, launching, updating. Their nodes are in [`super::node`].
//!
//! No device launch, no conditional nodes, no user objects.

use std::ffi::{CStr, OsStr, c_char, c_int, c_uint};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use crate::abi::{CUgraph, CUgraphExec, CUgraphNode, CUstream, In, Out, Text, answer, wrong};
use crate::api::capture::nodes;
use crate::code::Code;
use crate::error::Error;
use crate::soft::capture;
use crate::soft::driver::Driver;
use crate::soft::graph::{AUTO_FREE, Action, Edge, EdgeData, Exec, Graph, State};

/// The graph behind a handle.
pub(super) fn graph_of(handle: CUgraph) -> Result<(&'static Driver, Arc<Graph>), Error> {
    let driver = Driver::get()?;
    let unknown = |_| wrong("hGraph", format!("{handle:#x}"), "it is no graph");
    Ok((driver, driver.graphs.get(handle).map_err(unknown)?))
}

/// The executable graph behind a handle.
pub(super) fn exec_of(handle: CUgraphExec) -> Result<(&'static Driver, Arc<Exec>), Error> {
    let driver = Driver::get()?;
    let unknown = |_| wrong("hGraphExec", format!("{handle:#x}"), "it is no executable graph");
    Ok((driver, driver.execs.get(handle).map_err(unknown)?))
}

pub(crate) extern "C" fn cuGraphCreate(graph: Out<CUgraph>, flags: c_uint) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        graph.required("phGraph")?;
        if flags != 0 {
            return Err(wrong("flags", flags, "it must be 0"));
        }
        graph.put("phGraph", driver.graphs.insert(|_| Graph::default()).0)
    })
}

pub(crate) extern "C" fn cuGraphDestroy(handle: CUgraph) -> Code {
    answer(|| {
        let (driver, _) = graph_of(handle)?;
        driver.graphs.remove(handle)?;
        driver.nodes.retain(|node| node.graph != handle);
        Ok(())
    })
}

pub(crate) extern "C" fn cuGraphClone(clone: Out<CUgraph>, original: CUgraph) -> Code {
    answer(|| {
        let (driver, graph) = graph_of(original)?;
        clone.required("phGraphClone")?;
        let (handle, copy) = driver.graphs.insert(|_| Graph::default());
        graph.copy_to(driver, &copy, handle)?;
        clone.put("phGraphClone", handle)
    })
}

pub(crate) extern "C" fn cuGraphNodeFindInClone(
    found: Out<CUgraphNode>,
    original: CUgraphNode,
    clone: CUgraph,
) -> Code {
    answer(|| {
        let (_, graph) = graph_of(clone)?;
        let state = graph.lock();
        let node = state.nodes.iter().find(|(_, node)| node.original == original);
        let (handle, _) = node.ok_or_else(|| wrong("hOriginalNode", format!("{original:#x}"), "it was not cloned"))?;
        found.put("phNode", *handle)
    })
}

/// Stores as many items as the caller's array has room for, and the number of items; without an array, only the number.
pub(super) fn list<T>(items: &[T], count: Out<usize>, store: impl Fn(usize, &T) -> bool) -> Result<(), Error> {
    count.required("count")?;
    // SAFETY: a list's count is the size of the caller's array, and becomes the number of items.
    let room = unsafe { count.given("count") }?;
    let mut stored = 0;
    for (index, item) in items.iter().take(room).enumerate() {
        if !store(index, item) {
            return count.put("count", items.len());
        }
        stored = index + 1;
    }
    count.put("count", if stored == 0 { items.len() } else { stored })
}

/// Lists nodes.
fn list_nodes(items: &[usize], nodes: Out<CUgraphNode>, count: Out<usize>) -> Result<(), Error> {
    list(items, count, |index, node| {
        // SAFETY: the index is below the count.
        unsafe { nodes.at(index) }.put_if(*node);
        nodes.address() != 0
    })
}

pub(crate) extern "C" fn cuGraphGetNodes(handle: CUgraph, nodes: Out<CUgraphNode>, count: Out<usize>) -> Code {
    answer(|| {
        let state = graph_of(handle)?.1.lock().clone();
        let all: Vec<usize> = state.nodes.iter().map(|(node, _)| *node).collect();
        list_nodes(&all, nodes, count)
    })
}

pub(crate) extern "C" fn cuGraphGetRootNodes(handle: CUgraph, nodes: Out<CUgraphNode>, count: Out<usize>) -> Code {
    answer(|| {
        let state = graph_of(handle)?.1.lock().clone();
        let is_root = |node: &usize| state.edges.iter().all(|edge| edge.to != *node);
        let roots: Vec<usize> = state.nodes.iter().map(|(node, _)| *node).filter(is_root).collect();
        list_nodes(&roots, nodes, count)
    })
}

/// Lists edges. Without their data, there must be none other than the default.
fn edges(
    handle: CUgraph,
    from: Out<CUgraphNode>,
    to: Out<CUgraphNode>,
    data: Option<Out<EdgeData>>,
    count: Out<usize>,
) -> Result<(), Error> {
    let state = graph_of(handle)?.1.lock().clone();
    refuse_lossy(&state.edges, from, data)?;
    list(&state.edges, count, |index, edge| {
        // SAFETY: the index is below the count.
        let (from, to, data) = unsafe { (from.at(index), to.at(index), data.map(|data| data.at(index))) };
        from.put_if(edge.from);
        to.put_if(edge.to);
        if let Some(data) = data {
            data.put_if(edge.data);
        }
        from.address() != 0 && to.address() != 0
    })
}

/// Refuses to list nodes at the ends of edges without the data of these, where it says something.
pub(super) fn refuse_lossy(edges: &[Edge], nodes: Out<CUgraphNode>, data: Option<Out<EdgeData>>) -> Result<(), Error> {
    let told = nodes.address() == 0 || data.is_some_and(|data| data.address() != 0);
    if told || edges.iter().all(|edge| edge.data == EdgeData::default()) { Ok(()) } else { Err(Error::LossyQuery) }
}

pub(crate) extern "C" fn cuGraphGetEdges(
    handle: CUgraph,
    from: Out<CUgraphNode>,
    to: Out<CUgraphNode>,
    count: Out<usize>,
) -> Code {
    answer(|| edges(handle, from, to, None, count))
}

pub(crate) extern "C" fn cuGraphGetEdges_v2(
    handle: CUgraph,
    from: Out<CUgraphNode>,
    to: Out<CUgraphNode>,
    data: Out<EdgeData>,
    count: Out<usize>,
) -> Code {
    answer(|| edges(handle, from, to, Some(data), count))
}

/// Works on the state of a graph with pairs of its nodes, and data for each, if it is given.
fn with_pairs(
    handle: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    data: In<EdgeData>,
    count: usize,
    work: impl Fn(&mut State, (usize, usize), Option<EdgeData>) -> Result<(), Error>,
) -> Result<(), Error> {
    let (_, graph) = graph_of(handle)?;
    let data = |index| match data.is_null() {
        true => Ok(None),
        // SAFETY: `edgeData` has `count` elements, one for each pair of nodes.
        false => unsafe { data.element("edgeData", index) }.map(Some),
    };
    let pairs: Vec<_> = nodes(from, count)?.into_iter().zip(nodes(to, count)?).collect();
    let data: Vec<_> = (0..count).map(data).collect::<Result<_, _>>()?;
    let mut state = graph.lock();
    for (from, to) in &pairs {
        if !state.has(*from) || !state.has(*to) || from == to {
            return Err(wrong("from", format!("{from:#x}"), "both must be different nodes of the graph"));
        }
    }
    let mut pairs = pairs.into_iter().zip(data);
    pairs.try_for_each(|(pair, data)| work(&mut state, pair, data))
}

fn add_edge(state: &mut State, (from, to): (usize, usize), data: Option<EdgeData>) -> Result<(), Error> {
    let data = data.unwrap_or_default();
    state.add_edge(Edge { from, to, data })
}

/// Whatever the edge's data is: cuda.h says that it has to match, but NVIDIA's driver does not compare it.
fn remove_edge(state: &mut State, pair: (usize, usize), _: Option<EdgeData>) -> Result<(), Error> {
    let place = state.edges.iter().position(|edge| (edge.from, edge.to) == pair);
    let place = place.ok_or_else(|| wrong("to", format!("{:#x}", pair.1), "there is no such dependency"))?;
    state.edges.remove(place);
    Ok(())
}

pub(crate) extern "C" fn cuGraphAddDependencies(
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    count: usize,
) -> Code {
    answer(|| with_pairs(graph, from, to, In::NULL, count, add_edge))
}

pub(crate) extern "C" fn cuGraphAddDependencies_v2(
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    data: In<EdgeData>,
    count: usize,
) -> Code {
    answer(|| with_pairs(graph, from, to, data, count, add_edge))
}

pub(crate) extern "C" fn cuGraphRemoveDependencies(
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    count: usize,
) -> Code {
    answer(|| with_pairs(graph, from, to, In::NULL, count, remove_edge))
}

pub(crate) extern "C" fn cuGraphRemoveDependencies_v2(
    graph: CUgraph,
    from: In<CUgraphNode>,
    to: In<CUgraphNode>,
    data: In<EdgeData>,
    count: usize,
) -> Code {
    answer(|| with_pairs(graph, from, to, data, count, remove_edge))
}

fn instantiate(exec: Out<CUgraphExec>, handle: CUgraph, flags: u64) -> Result<(), Error> {
    /// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`.
    const DEVICE_LAUNCH: u64 = 4;
    let (driver, graph) = graph_of(handle)?;
    exec.required("phGraphExec")?;
    if flags & !15 != 0 {
        return Err(wrong("flags", flags, "it has unknown bits"));
    }
    if flags & (AUTO_FREE | DEVICE_LAUNCH) == AUTO_FREE | DEVICE_LAUNCH {
        return Err(wrong("flags", flags, "a kernel's launch of a graph frees no memory"));
    }
    if flags & DEVICE_LAUNCH != 0 {
        return Err(Error::Unserved { what: "a graph that kernels launch" });
    }
    let made = Exec::new(&graph, flags)?;
    exec.put("phGraphExec", driver.execs.insert(|_| made).0)
}

/// The older form, which has room for a node at fault and a log.
pub(crate) extern "C" fn cuGraphInstantiate_v2(
    exec: Out<CUgraphExec>,
    graph: CUgraph,
    node: Out<CUgraphNode>,
    log: Out<c_char>,
    bytes: usize,
) -> Code {
    answer(|| {
        node.put_if(0);
        if bytes > 0 {
            log.put_if(0);
        }
        instantiate(exec, graph, 0)
    })
}

pub(crate) extern "C" fn cuGraphInstantiateWithFlags(exec: Out<CUgraphExec>, graph: CUgraph, flags: u64) -> Code {
    answer(|| instantiate(exec, graph, flags))
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct InstantiateParams {
    flags: u64,
    upload_stream: CUstream,
    error_node: CUgraphNode,
    result: c_int,
}

pub(crate) extern "C" fn cuGraphInstantiateWithParams(
    exec: Out<CUgraphExec>,
    graph: CUgraph,
    parameters: Out<InstantiateParams>,
) -> Code {
    answer(|| {
        parameters.required("instantiateParams")?;
        // SAFETY: the call reads the parameters, and writes its results into them.
        let mut given = unsafe { parameters.given("instantiateParams") }?;
        let outcome = instantiate(exec, graph, given.flags);
        given.error_node = 0;
        given.result = c_int::from(outcome.is_err());
        parameters.put_if(given);
        outcome
    })
}

pub(crate) extern "C" fn cuGraphExecGetFlags(handle: CUgraphExec, flags: Out<u64>) -> Code {
    answer(|| flags.put("flags", exec_of(handle)?.1.flags))
}

pub(crate) extern "C" fn cuGraphExecDestroy(handle: CUgraphExec) -> Code {
    answer(|| exec_of(handle)?.0.execs.remove(handle).map(drop))
}

/// There is nowhere to upload to.
pub(crate) extern "C" fn cuGraphUpload(handle: CUgraphExec, stream: CUstream) -> Code {
    answer(|| {
        exec_of(handle)?;
        Driver::stream(stream).map(drop)
    })
}

pub(crate) extern "C" fn cuGraphLaunch(handle: CUgraphExec, stream: CUstream) -> Code {
    answer(|| {
        let (_, exec) = exec_of(handle)?;
        let (driver, stream) = Driver::stream(stream)?;
        if capture::part(stream.queue()).is_some() {
            let (child, graph) = driver.graphs.insert(|_| Graph::default());
            let mut last = Vec::new();
            for step in exec.lock().iter().filter(|step| step.enabled) {
                last = vec![graph.add(driver, child, step.action.clone(), 0, &last)?];
            }
            return capture::add(stream.queue(), || Action::Child(graph, child)).map(drop);
        }
        exec.launch(&stream)
    })
}

/// Why a graph could not be updated, as `CUgraphExecUpdateResult`.
const TOPOLOGY_CHANGED: c_int = 2;
const NODE_TYPE_CHANGED: c_int = 3;

/// Takes the parameters of a graph's nodes over into an executable graph of the same shape.
fn update(handle: CUgraphExec, graph: CUgraph) -> Result<Result<(), c_int>, Error> {
    let (_, exec) = exec_of(handle)?;
    let (_, graph) = graph_of(graph)?;
    let (kinds, edges) = graph.topology();
    if kinds.len() != exec.topology.0.len() || edges != exec.topology.1 {
        return Ok(Err(TOPOLOGY_CHANGED));
    }
    if kinds != exec.topology.0 {
        return Ok(Err(NODE_TYPE_CHANGED));
    }
    let state = graph.lock();
    let mut steps = exec.lock();
    for step in steps.iter_mut() {
        let place = exec.listed.iter().position(|node| *node == step.node);
        if let Some((_, node)) = place.and_then(|place| state.nodes.get(place)) {
            step.action = node.action().clone();
        }
    }
    Ok(Ok(()))
}

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UpdateInfo {
    result: c_int,
    node: CUgraphNode,
    from: CUgraphNode,
}

pub(crate) extern "C" fn cuGraphExecUpdate(
    exec: CUgraphExec,
    graph: CUgraph,
    node: Out<CUgraphNode>,
    result: Out<c_int>,
) -> Code {
    answer(|| {
        let outcome = update(exec, graph)?;
        node.put_if(0);
        result.put_if(outcome.err().unwrap_or(0));
        outcome.map_err(|_| Error::Capture(Code::GRAPH_EXEC_UPDATE_FAILURE))
    })
}

pub(crate) extern "C" fn cuGraphExecUpdate_v2(exec: CUgraphExec, graph: CUgraph, info: Out<UpdateInfo>) -> Code {
    answer(|| {
        info.required("resultInfo")?;
        let outcome = update(exec, graph)?;
        let result = outcome.err().unwrap_or(0);
        info.put_if(UpdateInfo { result, node: 0, from: 0 });
        outcome.map_err(|_| Error::Capture(Code::GRAPH_EXEC_UPDATE_FAILURE))
    })
}

pub(crate) extern "C" fn cuGraphDebugDotPrint(handle: CUgraph, path: Text, _flags: c_uint) -> Code {
    answer(|| {
        let (_, graph) = graph_of(handle)?;
        let path: &CStr = path.get("path")?;
        let state = graph.lock().clone();
        let mut text =
            String::from("digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\" graph[style=\"dashed\"];\n");
        let place = |node: usize| state.nodes.iter().position(|(one, _)| *one == node).unwrap_or(0);
        for (index, (_, node)) in state.nodes.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "\"graph_1_node_{index}\"[style=\"solid\" shape=\"rectangle\" label=\"{index}\n{}\n\"];",
                node.action().name()
            );
        }
        for edge in &state.edges {
            let (from, to) = (place(edge.from), place(edge.to));
            let _ = writeln!(text, "\"graph_1_node_{from}\" -> \"graph_1_node_{to}\" [headlabel=0];");
        }
        text.push_str("}\n}\n");
        std::fs::write(OsStr::from_bytes(path.to_bytes()), text)
            .map_err(|cause| wrong("path", format!("{}: {cause}", path.to_string_lossy()), "it must be writable"))
    })
}
