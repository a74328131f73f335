//! Nodes of graphs: one function to add each kind, to read and to change its parameters, in the graph and in an executable
//! graph.
//!
//! No nodes for external semaphores, batches of memory operations, or conditions.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::{Arc, PoisonError};

use crate::abi::{
    CUcontext, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUgraphNode, In, Out, answer, wrong,
};
use crate::api::capture::nodes;
use crate::api::graph::{exec_of, graph_of, list, refuse_lossy};
use crate::api::launch::{AttributeValue, Shape, kernel_work, shaped};
use crate::api::rectangle::{Copy3d, transfer};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::graph::{Action, EdgeData, Graph, Node};
use crate::soft::graph_memory::GraphMemory;
use crate::soft::memory::Kind;
use crate::soft::work::{Argument, Fill, HostFunction, KernelWork, Work};

/// The node behind a handle.
fn node_of(handle: CUgraphNode) -> Result<(&'static Driver, Arc<Node>), Error> {
    let driver = Driver::get()?;
    let unknown = |_| wrong("hNode", format!("{handle:#x}"), "it is no node of a graph");
    Ok((driver, driver.nodes.get(handle).map_err(unknown)?))
}

/// Adds a node to a graph.
fn add(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    action: impl FnOnce(&'static Driver) -> Result<Action, Error>,
) -> Result<(), Error> {
    let (driver, object) = graph_of(graph)?;
    node.required("phGraphNode")?;
    let dependencies = nodes(dependencies, count)?;
    let action = action(driver)?;
    node.put("phGraphNode", object.add(driver, graph, action, 0, &dependencies)?)
}

/// Changes what a node does to something of the same kind.
fn change(node: CUgraphNode, action: impl FnOnce(&'static Driver) -> Result<Action, Error>) -> Result<(), Error> {
    let (driver, node) = node_of(node)?;
    let action = action(driver)?;
    let mut place = node.action();
    check_kind(&place, &action)?;
    *place = with_attributes_of(driver, &place, action)?;
    Ok(())
}

/// Changes a node of an executable graph.
fn change_exec(
    exec: CUgraphExec,
    node: CUgraphNode,
    action: impl FnOnce(&'static Driver) -> Result<Action, Error>,
) -> Result<(), Error> {
    let (driver, exec) = exec_of(exec)?;
    let mut steps = exec.lock();
    let step = steps
        .iter_mut()
        .find(|step| step.node == node)
        .ok_or_else(|| wrong("hNode", format!("{node:#x}"), "the executable graph was made without it"))?;
    let action = action(driver)?;
    check_kind(&step.action, &action)?;
    step.action = with_attributes_of(driver, &step.action, action)?;
    Ok(())
}

/// Parameters of a kernel node do not include the attributes of the launch, which stay as they are.
fn with_attributes_of(driver: &Driver, old: &Action, new: Action) -> Result<Action, Error> {
    let (Action::Work(Work::Kernel(old)), Action::Work(Work::Kernel(work))) = (old, &new) else {
        return Ok(new);
    };
    if (old.cooperative, old.cluster, old.programmatic) == (work.cooperative, work.cluster, work.programmatic) {
        return Ok(new);
    }
    let mut shape = Shape::of(work);
    (shape.cooperative, shape.cluster, shape.programmatic) = (old.cooperative, old.cluster, old.programmatic);
    reshaped(driver, work, &shape)
}

/// A kernel's launch in another shape.
fn reshaped(driver: &Driver, work: &KernelWork, shape: &Shape) -> Result<Action, Error> {
    let work = shaped(driver, work.function.clone(), shape, work.parameters.clone())?;
    Ok(Action::Work(Work::Kernel(Arc::new(work))))
}

fn check_kind(old: &Action, new: &Action) -> Result<(), Error> {
    if old.kind() == new.kind() {
        Ok(())
    } else {
        Err(wrong("hNode", old.name(), "the parameters are those of another kind of node"))
    }
}

/// Refuses a node of another kind than the parameters that are asked for.
fn other_kind(action: &Action) -> Error {
    wrong("hNode", action.name(), "it is of another kind")
}

pub(crate) extern "C" fn cuGraphAddEmptyNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
) -> Code {
    answer(|| add(node, graph, dependencies, count, |_| Ok(Action::Empty)))
}

/// `CUDA_KERNEL_NODE_PARAMS_v1`, with which the second form begins.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KernelParams {
    function: CUfunction,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    parameters: u64,
    extra: u64,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct KernelParams2 {
    first: KernelParams,
    kernel: usize,
    context: CUcontext,
}

impl From<KernelParams> for KernelParams2 {
    fn from(first: KernelParams) -> Self {
        Self { first, kernel: 0, context: 0 }
    }
}

fn kernel_action<T: Copy + Into<KernelParams2>>(driver: &Driver, given: In<T>) -> Result<Action, Error> {
    let given: KernelParams2 = given.get("nodeParams")?.into();
    let function = match given.first.function {
        0 => given.kernel,
        function => function,
    };
    let shape = Shape::new(given.first.grid, given.first.block, given.first.shared, false);
    // SAFETY: these are the arguments of the launch of the same names.
    let (parameters, extra) =
        unsafe { (In::from_address(given.first.parameters), In::from_address(given.first.extra)) };
    let work = kernel_work(driver, driver.function(function)?, &shape, parameters, extra)?;
    Ok(Action::Work(Work::Kernel(Arc::new(work))))
}

fn kernel_params(handle: CUgraphNode) -> Result<KernelParams2, Error> {
    let (driver, node) = node_of(handle)?;
    let action = node.action();
    let Action::Work(Work::Kernel(kernel)) = &*action else {
        return Err(other_kind(&action));
    };
    let function = driver.function_in(kernel.function.module, &kernel.function.name)?;
    let mut pointers = node.pointers.lock().unwrap_or_else(PoisonError::into_inner);
    let start = kernel.parameters.as_ptr() as u64;
    let places = kernel.function.kernel.parameters().iter();
    let places: Vec<u64> = places.map(|one| start + one.offset as u64).collect();
    // Pointers that were given out before stay valid until the node's parameters change.
    if *pointers != places {
        *pointers = places;
    }
    Ok(KernelParams2 {
        first: KernelParams {
            function,
            grid: kernel.grid,
            block: kernel.block,
            shared: kernel.shared,
            parameters: if pointers.is_empty() { 0 } else { pointers.as_ptr() as u64 },
            extra: 0,
        },
        kernel: 0,
        context: kernel.function.context.handle,
    })
}

pub(crate) extern "C" fn cuGraphAddKernelNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    given: In<KernelParams>,
) -> Code {
    answer(|| add(node, graph, dependencies, count, |driver| kernel_action(driver, given)))
}

pub(crate) extern "C" fn cuGraphAddKernelNode_v2(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    given: In<KernelParams2>,
) -> Code {
    answer(|| add(node, graph, dependencies, count, |driver| kernel_action(driver, given)))
}

pub(crate) extern "C" fn cuGraphKernelNodeGetParams(node: CUgraphNode, params: Out<KernelParams>) -> Code {
    answer(|| params.put("nodeParams", kernel_params(node)?.first))
}

pub(crate) extern "C" fn cuGraphKernelNodeGetParams_v2(node: CUgraphNode, params: Out<KernelParams2>) -> Code {
    answer(|| params.put("nodeParams", kernel_params(node)?))
}

pub(crate) extern "C" fn cuGraphKernelNodeSetParams(node: CUgraphNode, given: In<KernelParams>) -> Code {
    answer(|| change(node, |driver| kernel_action(driver, given)))
}

pub(crate) extern "C" fn cuGraphKernelNodeSetParams_v2(node: CUgraphNode, given: In<KernelParams2>) -> Code {
    answer(|| change(node, |driver| kernel_action(driver, given)))
}

pub(crate) extern "C" fn cuGraphExecKernelNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    given: In<KernelParams>,
) -> Code {
    answer(|| change_exec(exec, node, |driver| kernel_action(driver, given)))
}

pub(crate) extern "C" fn cuGraphExecKernelNodeSetParams_v2(
    exec: CUgraphExec,
    node: CUgraphNode,
    given: In<KernelParams2>,
) -> Code {
    answer(|| change_exec(exec, node, |driver| kernel_action(driver, given)))
}

pub(crate) extern "C" fn cuGraphKernelNodeSetAttribute(
    node: CUgraphNode,
    attribute: c_uint,
    value: In<AttributeValue>,
) -> Code {
    answer(|| {
        let value = value.get("value")?;
        let (driver, node) = node_of(node)?;
        let mut place = node.action();
        let Action::Work(Work::Kernel(kernel)) = &*place else {
            return Err(other_kind(&place));
        };
        let mut shape = Shape::of(kernel);
        shape.set(attribute, &value)?;
        *place = reshaped(driver, kernel, &shape)?;
        Ok(())
    })
}

fn copy_action(driver: &Driver, given: In<Copy3d>) -> Result<Action, Error> {
    let copy = given.get("copyParams")?;
    let work = transfer(driver, copy)?.ok_or_else(|| wrong("copyParams", "empty", "a copy has at least one byte"))?;
    Ok(Action::Work(Work::Transfer(Arc::new(work))))
}

pub(crate) extern "C" fn cuGraphAddMemcpyNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    given: In<Copy3d>,
    _context: CUcontext,
) -> Code {
    answer(|| add(node, graph, dependencies, count, |driver| copy_action(driver, given)))
}

pub(crate) extern "C" fn cuGraphMemcpyNodeGetParams(handle: CUgraphNode, params: Out<Copy3d>) -> Code {
    answer(|| {
        let (_, node) = node_of(handle)?;
        let action = node.action();
        match &*action {
            Action::Work(Work::Transfer(copy)) => params.put("nodeParams", Copy3d::of(copy)),
            other => Err(other_kind(other)),
        }
    })
}

pub(crate) extern "C" fn cuGraphMemcpyNodeSetParams(node: CUgraphNode, given: In<Copy3d>) -> Code {
    answer(|| change(node, |driver| copy_action(driver, given)))
}

pub(crate) extern "C" fn cuGraphExecMemcpyNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    given: In<Copy3d>,
    _context: CUcontext,
) -> Code {
    answer(|| change_exec(exec, node, |driver| copy_action(driver, given)))
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct FillParams {
    target: CUdeviceptr,
    pitch: usize,
    value: c_uint,
    element: c_uint,
    width: usize,
    height: usize,
}

fn fill_action(driver: &Driver, given: In<FillParams>) -> Result<Action, Error> {
    let given = given.get("memsetParams")?;
    if !matches!(given.element, 1 | 2 | 4) {
        return Err(wrong("elementSize", given.element, "it must be 1, 2 or 4"));
    }
    let fill = Fill {
        target: given.target,
        pitch: given.pitch,
        value: given.value,
        element: given.element as usize,
        width: given.width,
        height: given.height,
    };
    if !super::memset::check(driver, &fill)? {
        return Err(wrong("width", given.width, "a fill has at least one element"));
    }
    Ok(Action::Work(Work::Fill(fill)))
}

pub(crate) extern "C" fn cuGraphAddMemsetNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    given: In<FillParams>,
    _context: CUcontext,
) -> Code {
    answer(|| add(node, graph, dependencies, count, |driver| fill_action(driver, given)))
}

pub(crate) extern "C" fn cuGraphMemsetNodeGetParams(handle: CUgraphNode, params: Out<FillParams>) -> Code {
    answer(|| {
        let (_, node) = node_of(handle)?;
        let action = node.action();
        let Action::Work(Work::Fill(fill)) = &*action else {
            return Err(other_kind(&action));
        };
        params.put(
            "nodeParams",
            FillParams {
                target: fill.target,
                pitch: fill.pitch,
                value: fill.value,
                element: fill.element as c_uint,
                width: fill.width,
                height: fill.height,
            },
        )
    })
}

pub(crate) extern "C" fn cuGraphMemsetNodeSetParams(node: CUgraphNode, given: In<FillParams>) -> Code {
    answer(|| change(node, |driver| fill_action(driver, given)))
}

pub(crate) extern "C" fn cuGraphExecMemsetNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    given: In<FillParams>,
    _context: CUcontext,
) -> Code {
    answer(|| change_exec(exec, node, |driver| fill_action(driver, given)))
}

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct HostParams {
    function: Option<HostFunction>,
    argument: *mut c_void,
}

fn host_action(given: In<HostParams>) -> Result<Action, Error> {
    let given = given.get("nodeParams")?;
    let function = given.function.ok_or(Error::Null("fn"))?;
    Ok(Action::Work(Work::Host(function, Argument(given.argument))))
}

pub(crate) extern "C" fn cuGraphAddHostNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    given: In<HostParams>,
) -> Code {
    answer(|| add(node, graph, dependencies, count, |_| host_action(given)))
}

pub(crate) extern "C" fn cuGraphHostNodeGetParams(handle: CUgraphNode, params: Out<HostParams>) -> Code {
    answer(|| {
        let (_, node) = node_of(handle)?;
        let action = node.action();
        let Action::Work(Work::Host(function, argument)) = &*action else {
            return Err(other_kind(&action));
        };
        params.put("nodeParams", HostParams { function: Some(*function), argument: argument.0 })
    })
}

pub(crate) extern "C" fn cuGraphHostNodeSetParams(node: CUgraphNode, given: In<HostParams>) -> Code {
    answer(|| change(node, |_| host_action(given)))
}

pub(crate) extern "C" fn cuGraphExecHostNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    given: In<HostParams>,
) -> Code {
    answer(|| change_exec(exec, node, |_| host_action(given)))
}

/// A node takes a copy of the graph, which goes with it.
fn child_action(driver: &Driver, child: CUgraph) -> Result<Action, Error> {
    let (_, graph) = graph_of(child)?;
    let (handle, copy) = driver.graphs.insert(|_| Graph::default());
    graph.copy_to(driver, &copy, handle)?;
    Ok(Action::Child(copy, handle))
}

pub(crate) extern "C" fn cuGraphAddChildGraphNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    child: CUgraph,
) -> Code {
    answer(|| add(node, graph, dependencies, count, |driver| child_action(driver, child)))
}

pub(crate) extern "C" fn cuGraphChildGraphNodeGetGraph(handle: CUgraphNode, graph: Out<CUgraph>) -> Code {
    answer(|| match &*node_of(handle)?.1.action() {
        Action::Child(_, child) => graph.put("phGraph", *child),
        other => Err(other_kind(other)),
    })
}

pub(crate) extern "C" fn cuGraphExecChildGraphNodeSetParams(
    exec: CUgraphExec,
    node: CUgraphNode,
    child: CUgraph,
) -> Code {
    answer(|| change_exec(exec, node, |driver| child_action(driver, child)))
}

fn record_action(event: CUevent) -> Result<Action, Error> {
    Ok(Action::Record(Driver::event(event)?, event))
}

fn await_action(event: CUevent) -> Result<Action, Error> {
    Ok(Action::Await(Driver::event(event)?, event))
}

pub(crate) extern "C" fn cuGraphAddEventRecordNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    event: CUevent,
) -> Code {
    answer(|| add(node, graph, dependencies, count, |_| record_action(event)))
}

pub(crate) extern "C" fn cuGraphAddEventWaitNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    event: CUevent,
) -> Code {
    answer(|| add(node, graph, dependencies, count, |_| await_action(event)))
}

pub(crate) extern "C" fn cuGraphEventRecordNodeGetEvent(handle: CUgraphNode, event: Out<CUevent>) -> Code {
    answer(|| match &*node_of(handle)?.1.action() {
        Action::Record(_, known) => event.put("event_out", *known),
        other => Err(other_kind(other)),
    })
}

pub(crate) extern "C" fn cuGraphEventWaitNodeGetEvent(handle: CUgraphNode, event: Out<CUevent>) -> Code {
    answer(|| match &*node_of(handle)?.1.action() {
        Action::Await(_, known) => event.put("event_out", *known),
        other => Err(other_kind(other)),
    })
}

pub(crate) extern "C" fn cuGraphEventRecordNodeSetEvent(node: CUgraphNode, event: CUevent) -> Code {
    answer(|| change(node, |_| record_action(event)))
}

pub(crate) extern "C" fn cuGraphEventWaitNodeSetEvent(node: CUgraphNode, event: CUevent) -> Code {
    answer(|| change(node, |_| await_action(event)))
}

pub(crate) extern "C" fn cuGraphExecEventRecordNodeSetEvent(
    exec: CUgraphExec,
    node: CUgraphNode,
    event: CUevent,
) -> Code {
    answer(|| change_exec(exec, node, |_| record_action(event)))
}

pub(crate) extern "C" fn cuGraphExecEventWaitNodeSetEvent(
    exec: CUgraphExec,
    node: CUgraphNode,
    event: CUevent,
) -> Code {
    answer(|| change_exec(exec, node, |_| await_action(event)))
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct AllocationParameters {
    kind: c_int,
    handle_types: c_int,
    location: [c_int; 2],
    security: u64,
    maximum: usize,
    usage: u16,
    reserved: [u8; 54],
    access: u64,
    access_count: usize,
    bytes: usize,
    pointer: CUdeviceptr,
}

/// `CU_MEM_ALLOCATION_TYPE_PINNED` and `CU_MEM_LOCATION_TYPE_DEVICE`.
const PINNED: c_int = 1;
const DEVICE: c_int = 1;

pub(crate) extern "C" fn cuGraphAddMemAllocNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    parameters: Out<AllocationParameters>,
) -> Code {
    answer(|| {
        parameters.required("nodeParams")?;
        // SAFETY: the call reads what is to be allocated, and writes the address to it.
        let given = unsafe { parameters.given("nodeParams") }?;
        let (_, context) = Driver::current()?;
        if given.kind != PINNED || given.handle_types != 0 || given.location[0] != DEVICE {
            let rule = "memory of graphs is pinned, on a device, and of this process";
            return Err(wrong("poolProps", given.kind, rule));
        }
        Driver::device(given.location[1])?;
        if given.location[1] != context.device {
            return Err(Error::Unserved {
                what: "memory of a graph on another device than that of the current context",
            });
        }
        if given.bytes == 0 {
            return Err(wrong("bytesize", given.bytes, "an allocation has at least one byte"));
        }
        let mut pointer = 0;
        add(node, graph, dependencies, count, |driver| {
            let memory = GraphMemory::new(driver, &context, given.bytes as u64)?;
            pointer = memory.start;
            Ok(Action::Allocate(memory))
        })?;
        parameters.put("nodeParams", AllocationParameters { pointer, ..given })
    })
}

pub(crate) extern "C" fn cuGraphMemAllocNodeGetParams(
    handle: CUgraphNode,
    parameters: Out<AllocationParameters>,
) -> Code {
    answer(|| match &*node_of(handle)?.1.action() {
        Action::Allocate(memory) => parameters.put(
            "params_out",
            AllocationParameters {
                kind: PINNED,
                handle_types: 0,
                location: [DEVICE, memory.device],
                security: 0,
                maximum: 0,
                usage: 0,
                reserved: [0; 54],
                access: 0,
                access_count: 0,
                bytes: memory.bytes as usize,
                pointer: memory.start,
            },
        ),
        other => Err(other_kind(other)),
    })
}

pub(crate) extern "C" fn cuGraphAddMemFreeNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: In<CUgraphNode>,
    count: usize,
    pointer: CUdeviceptr,
) -> Code {
    answer(|| {
        add(node, graph, dependencies, count, |driver| match driver.memory.holding(pointer) {
            Some(one) if one.start == pointer && one.kind == Kind::Graph => Ok(Action::Free(pointer)),
            _ => Err(Error::NotAllocated { address: pointer, expected: "memory of a graph" }),
        })
    })
}

pub(crate) extern "C" fn cuGraphMemFreeNodeGetParams(handle: CUgraphNode, pointer: Out<CUdeviceptr>) -> Code {
    answer(|| match &*node_of(handle)?.1.action() {
        Action::Free(known) => pointer.put("dptr_out", *known),
        other => Err(other_kind(other)),
    })
}

pub(crate) extern "C" fn cuGraphNodeGetType(handle: CUgraphNode, kind: Out<c_int>) -> Code {
    answer(|| {
        let found = node_of(handle)?.1.action().kind();
        kind.put("type", found)
    })
}

/// Lists the nodes at the other ends of a node's edges, and the edges' data.
fn neighbours(
    handle: CUgraphNode,
    towards: bool,
    nodes: Out<CUgraphNode>,
    data: Option<Out<EdgeData>>,
    count: Out<usize>,
) -> Result<(), Error> {
    let (driver, node) = node_of(handle)?;
    let mut edges = driver.graphs.get(node.graph)?.lock().edges.clone();
    edges.retain(|edge| handle == if towards { edge.from } else { edge.to });
    refuse_lossy(&edges, nodes, data)?;
    list(&edges, count, |index, edge| {
        // SAFETY: the index is below the count.
        let (node, data) = unsafe { (nodes.at(index), data.map(|data| data.at(index))) };
        node.put_if(if towards { edge.to } else { edge.from });
        if let Some(data) = data {
            data.put_if(edge.data);
        }
        nodes.address() != 0
    })
}

pub(crate) extern "C" fn cuGraphNodeGetDependencies(
    handle: CUgraphNode,
    nodes: Out<CUgraphNode>,
    count: Out<usize>,
) -> Code {
    answer(|| neighbours(handle, false, nodes, None, count))
}

pub(crate) extern "C" fn cuGraphNodeGetDependencies_v2(
    handle: CUgraphNode,
    nodes: Out<CUgraphNode>,
    data: Out<EdgeData>,
    count: Out<usize>,
) -> Code {
    answer(|| neighbours(handle, false, nodes, Some(data), count))
}

pub(crate) extern "C" fn cuGraphNodeGetDependentNodes(
    handle: CUgraphNode,
    nodes: Out<CUgraphNode>,
    count: Out<usize>,
) -> Code {
    answer(|| neighbours(handle, true, nodes, None, count))
}

pub(crate) extern "C" fn cuGraphNodeGetDependentNodes_v2(
    handle: CUgraphNode,
    nodes: Out<CUgraphNode>,
    data: Out<EdgeData>,
    count: Out<usize>,
) -> Code {
    answer(|| neighbours(handle, true, nodes, Some(data), count))
}

pub(crate) extern "C" fn cuGraphDestroyNode(handle: CUgraphNode) -> Code {
    answer(|| {
        let (driver, node) = node_of(handle)?;
        let graph = driver.graphs.get(node.graph)?;
        let mut state = graph.lock();
        state.nodes.retain(|(one, _)| *one != handle);
        state.edges.retain(|edge| edge.from != handle && edge.to != handle);
        driver.nodes.remove(handle).map(drop)
    })
}

pub(crate) extern "C" fn cuGraphNodeSetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: c_uint) -> Code {
    answer(|| {
        with_step(exec, node, |step| {
            step.enabled = enabled != 0;
            Ok(())
        })
    })
}

pub(crate) extern "C" fn cuGraphNodeGetEnabled(exec: CUgraphExec, node: CUgraphNode, enabled: Out<c_uint>) -> Code {
    answer(|| with_step(exec, node, |step| enabled.put("isEnabled", c_uint::from(step.enabled))))
}

/// Works on the step of an executable graph that a node became; only kernels, copies and fills can be disabled.
fn with_step(
    exec: CUgraphExec,
    node: CUgraphNode,
    work: impl FnOnce(&mut crate::soft::graph::Step) -> Result<(), Error>,
) -> Result<(), Error> {
    let (_, exec) = exec_of(exec)?;
    let mut steps = exec.lock();
    let step = steps.iter_mut().find(|step| step.node == node);
    let step = step.filter(|step| step.action.kind() <= 2);
    work(step.ok_or_else(|| wrong("hNode", format!("{node:#x}"), "it is none that can be disabled"))?)
}
