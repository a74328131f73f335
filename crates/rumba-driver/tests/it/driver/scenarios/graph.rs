//! Graphs and stream capture.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

static CALLED: AtomicUsize = AtomicUsize::new(0);

/// The value of an attribute that is set.
const ONE: [u32; 16] = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

extern "C" fn count(step: *mut c_void) {
    CALLED.fetch_add(step as usize, Ordering::SeqCst);
}

/// A node that launches one thread.
fn launching(function: usize, parameters: *mut *const c_void) -> KernelNode {
    KernelNode {
        function,
        grid: [1; 3],
        block: [1; 3],
        shared: 0,
        parameters,
        extra: null_mut(),
        kernel: 0,
        context: 0,
    }
}

/// Four bytes of device memory as the host sees them.
fn read(pointer: u64) -> u32 {
    let mut value = 0;
    steps! { 0 => cuMemcpyDtoH_v2((&raw mut value).cast(), pointer, 4); }
    value
}

pub fn graphs() {
    primary();
    let module = kernels();
    let two = kernel(module, c"two");
    let pointer = allocate(8);
    let value = 4_u32;
    let mut parameters = [(&raw const value).cast::<c_void>(), (&raw const pointer).cast()];
    let (mut graph, mut fill, mut run, mut host, mut empty, mut exec) = (0, 0, 0, 0, 0, 0);
    let filling = FillNode { target: pointer, pitch: 0, value: 1, element: 4, width: 2, height: 1 };
    let hosting = HostNode { function: Some(count), argument: std::ptr::without_provenance_mut(1) };
    let launching = launching(two, parameters.as_mut_ptr());
    steps! {
        1 => cuGraphCreate(&mut graph, 1);
        1 => cuGraphCreate(null_mut(), 0);
        0 => cuGraphCreate(&mut graph, 0);
        0 => cuGraphAddMemsetNode(&mut fill, graph, null(), 0, &filling, NONE_CONTEXT.with(std::cell::Cell::get));
        0 => cuGraphAddKernelNode_v2(&mut run, graph, &fill, 1, &launching);
        0 => cuGraphAddHostNode(&mut host, graph, &run, 1, &hosting);
        0 => cuGraphAddEmptyNode(&mut empty, graph, null(), 0);
        0 => cuGraphAddDependencies_v2(graph, &host, &empty, null(), 1);
        1 => cuGraphAddDependencies_v2(graph, &host, &empty, null(), 1);
        0 => cuGraphRemoveDependencies_v2(graph, &host, &empty, null(), 1);
        1 => cuGraphRemoveDependencies_v2(graph, &host, &empty, null(), 1);
        0 => cuGraphDestroyNode(empty);
        // Attribute 2: all blocks of the launch run at the same time.
        0 => cuGraphKernelNodeSetAttribute(run, 2, &ONE);
        1 => cuGraphKernelNodeSetAttribute(fill, 2, &ONE);
    }
    let (mut nodes, mut number, mut kind) = ([0; 4], 0, 9);
    let mut known = launching;
    steps! {
        0 => cuGraphGetNodes(graph, null_mut(), &mut number);
        0 => cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut number);
        0 => cuGraphNodeGetType(host, &mut kind);
        0 => cuGraphKernelNodeGetParams_v2(run, &mut known);
    }
    assert_eq!((number, kind, nodes), (3, 3, [fill, run, host, 0]));
    // Queries edges without their data.
    let (mut from, mut to, mut edges) = ([0; 2], [0; 2], 2);
    steps! { 0 => cuGraphGetEdges_v2(graph, from.as_mut_ptr(), to.as_mut_ptr(), null_mut(), &mut edges); }
    assert_eq!((edges, from, to), (2, [fill, run], [run, host]));
    // Programs read parameters where they lie, and as often as they ask.
    let mut again = launching;
    steps! { 0 => cuGraphKernelNodeGetParams_v2(run, &mut again); }
    // SAFETY: the node keeps its parameters, and their addresses, until it gets others.
    let (first, second) = unsafe { (*known.parameters, *again.parameters) };
    assert_eq!((known.parameters, first), (again.parameters, second));
    assert!(!crate::driver::walk::is_soft() || first.addr().is_multiple_of(16), "parameters lie at {first:?}");
    // SAFETY: the first parameter is a word, and the node keeps it.
    assert_eq!(unsafe { (*known.parameters).cast::<u32>().read() }, 4);
    steps! {
        1 => cuGraphInstantiateWithFlags(null_mut(), graph, 0);
        0 => cuGraphInstantiateWithFlags(&mut exec, graph, 0);
        0 => cuGraphLaunch(exec, NONE);
        0 => cuGraphLaunch(exec, NONE);
        0 => cuCtxSynchronize();
    }
    assert_eq!((read(pointer), read(pointer + 4), CALLED.load(Ordering::SeqCst)), (4, 1, 2));
    let path = std::env::temp_dir().join(format!("rumba-graph-{}.dot", std::process::id()));
    let name = std::ffi::CString::new(path.to_string_lossy().as_bytes()).expect("a path without NUL");
    steps! {
        0 => cuGraphDebugDotPrint(graph, name.as_ptr(), 0);
        0 => cuGraphExecDestroy(exec);
        0 => cuGraphDestroy(graph);
    }
    let text = std::fs::read_to_string(&path).expect("the graph was printed");
    assert!(text.starts_with("digraph dot {") && text.contains("->"), "{text}");
    std::fs::remove_file(path).expect("the file is ours");
}

thread_local! {
    /// The context that nodes of memory operations are added for: the current one.
    static NONE_CONTEXT: std::cell::Cell<usize> = std::cell::Cell::new({
        let mut context = 0;
        steps! { 0 => cuCtxGetCurrent(&mut context); }
        context
    });
}

pub fn graph_updates() {
    primary();
    let two = kernel(kernels(), c"two");
    let pointer = allocate(4);
    let value = 4_u32;
    let mut parameters = [(&raw const value).cast::<c_void>(), (&raw const pointer).cast()];
    let mut node = launching(two, parameters.as_mut_ptr());
    let (mut graph, mut run, mut clone, mut copied, mut exec, mut roots) = (0, 0, 0, 0, 0, 9);
    steps! {
        0 => cuGraphCreate(&mut graph, 0);
        0 => cuGraphAddKernelNode_v2(&mut run, graph, null(), 0, &node);
        0 => cuGraphInstantiateWithFlags(&mut exec, graph, 0);
        0 => cuGraphClone(&mut clone, graph);
        0 => cuGraphNodeFindInClone(&mut copied, run, clone);
        0 => cuGraphGetRootNodes(clone, null_mut(), &mut roots);
        0 => cuGraphLaunch(exec, NONE);
    }
    assert_eq!((read(pointer), roots), (4, 1));
    assert_ne!(copied, run);
    let changed = 8_u32;
    parameters[0] = (&raw const changed).cast();
    node.parameters = parameters.as_mut_ptr();
    steps! {
        0 => cuGraphExecKernelNodeSetParams_v2(exec, run, &node);
        0 => cuGraphLaunch(exec, NONE);
    }
    assert_eq!(read(pointer), 8);
    let (mut info, mut child) = (UpdateInfo::default(), 0);
    steps! {
        0 => cuGraphExecUpdate_v2(exec, clone, &mut info);
        0 => cuGraphLaunch(exec, NONE);
    }
    assert_eq!((read(pointer), info.result), (4, 0), "the clone has the first value");
    steps! {
        0 => cuGraphAddChildGraphNode(&mut child, clone, null(), 0, graph);
        910 => cuGraphExecUpdate_v2(exec, clone, &mut info);
        0 => cuGraphExecDestroy(exec);
        0 => cuGraphInstantiateWithFlags(&mut exec, clone, 0);
        0 => cuGraphLaunch(exec, NONE);
        0 => cuCtxSynchronize();
    }
    assert_eq!(info.result, 2, "the topology changed");
}

/// `CUgraphEdgeData` as a number: `CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC` from `CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC`.
const PROGRAMMATIC: u64 = 1 << 16 | 1;

pub fn programmatic_edges() {
    primary();
    let two = kernel(kernels(), c"two");
    let pointer = allocate(4);
    let value = 4_u32;
    let mut parameters = [(&raw const value).cast::<c_void>(), (&raw const pointer).cast()];
    let node = launching(two, parameters.as_mut_ptr());
    let (mut graph, mut first, mut second, mut empty, mut plain, mut exec) = (0, 0, 0, 0, 0, 0);
    let (mut from, mut to, mut data, mut number) = ([0; 2], [0; 2], [9; 2], 2);
    steps! {
        0 => cuGraphCreate(&mut graph, 0);
        0 => cuGraphAddKernelNode_v2(&mut first, graph, null(), 0, &node);
        0 => cuGraphAddKernelNode_v2(&mut second, graph, null(), 0, &node);
        0 => cuGraphAddEmptyNode(&mut empty, graph, null(), 0);
        // Between kernels only, of a type and from a port that there are, and the port is not that of the end.
        1 => cuGraphAddDependencies_v2(graph, &first, &empty, &PROGRAMMATIC, 1);
        1 => cuGraphAddDependencies_v2(graph, &empty, &second, &PROGRAMMATIC, 1);
        1 => cuGraphAddDependencies_v2(graph, &first, &second, &(1 << 16), 1);
        1 => cuGraphAddDependencies_v2(graph, &first, &second, &(7 << 16 | 1), 1);
        0 => cuGraphAddDependencies_v2(graph, &first, &second, &PROGRAMMATIC, 1);
        402 => cuGraphGetEdges_v2(graph, from.as_mut_ptr(), to.as_mut_ptr(), null_mut(), &mut number);
        0 => cuGraphGetEdges_v2(graph, from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &mut number);
    }
    assert_eq!((from[0], to[0], data[0], number), (first, second, PROGRAMMATIC, 1));
    steps! {
        402 => cuGraphNodeGetDependencies_v2(second, from.as_mut_ptr(), null_mut(), &mut number);
        0 => cuGraphNodeGetDependencies_v2(second, from.as_mut_ptr(), data.as_mut_ptr(), &mut number);
        0 => cuGraphInstantiateWithFlags(&mut exec, graph, 0);
        0 => cuGraphLaunch(exec, NONE);
        0 => cuCtxSynchronize();
        // Whatever data is said, the edge is removed.
        0 => cuGraphRemoveDependencies_v2(graph, &first, &second, &0, 1);
        0 => cuGraphAddDependencies_v2(graph, &first, &second, &PROGRAMMATIC, 1);
        0 => cuGraphRemoveDependencies_v2(graph, &first, &second, null(), 1);
        1 => cuGraphRemoveDependencies_v2(graph, &first, &second, null(), 1);
    }
    assert_eq!((read(pointer), data[0]), (4, PROGRAMMATIC));
    // A launch that says so becomes such an edge, behind kernels only.
    let attribute = LaunchAttribute { id: 6, padding: 0, value: [1, 0, 0, 0, 0, 0, 0, 0] };
    let mut stream = 0;
    steps! { 0 => cuStreamCreate(&mut stream, 1); }
    let config =
        LaunchConfig { grid: [1; 3], block: [1; 3], shared: 0, stream, attributes: &raw const attribute, count: 1 };
    let pointers = parameters.as_mut_ptr();
    steps! {
        0 => cuStreamBeginCapture_v2(stream, 0);
        0 => cuMemsetD32Async(pointer, 1, 1, stream);
        0 => cuLaunchKernelEx(&config, two, pointers, null_mut());
        0 => cuLaunchKernelEx(&config, two, pointers, null_mut());
        0 => cuLaunchKernel(two, 1, 1, 1, 1, 1, 1, 0, stream, pointers, null_mut());
        0 => cuStreamEndCapture(stream, &mut plain);
    }
    let (mut from, mut to, mut data, mut number) = ([0; 4], [0; 4], [9; 4], 4);
    steps! { 0 => cuGraphGetEdges_v2(plain, from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &mut number); }
    let programmatic = data[..number].iter().filter(|&&data| data == PROGRAMMATIC).count();
    let default = data[..number].iter().filter(|&&data| data == 0).count();
    assert_eq!((number, programmatic, default), (3, 1, 2));
    steps! {
        0 => cuGraphInstantiateWithFlags(&mut exec, plain, 0);
        0 => cuGraphLaunch(exec, stream);
        0 => cuStreamSynchronize(stream);
    }
}

pub fn captures() {
    primary();
    let two = kernel(kernels(), c"two");
    let pointer = allocate(4);
    let value = 4_u32;
    let mut parameters = [(&raw const value).cast::<c_void>(), (&raw const pointer).cast()];
    let (mut stream, mut other, mut event, mut joined, mut graph, mut exec) = (0, 0, 0, 0, 0, 0);
    let (mut status, mut id, mut number, mut mode) = (9, 0, 0, 2);
    steps! {
        0 => cuMemsetD32_v2(pointer, 1, 1);
        0 => cuStreamCreate(&mut stream, 1);
        0 => cuStreamCreate(&mut other, 1);
        0 => cuEventCreate(&mut event, 2);
        0 => cuEventCreate(&mut joined, 2);
        900 => cuStreamBeginCapture_v2(NONE, 0);
        1 => cuStreamBeginCapture_v2(stream, 9);
        401 => cuStreamEndCapture(stream, &mut graph);
        0 => cuStreamBeginCapture_v2(stream, 0);
        401 => cuStreamBeginCapture_v2(stream, 0);
        0 => cuStreamIsCapturing(stream, &mut status);
        0 => cuLaunchKernel(two, 1, 1, 1, 1, 1, 1, 0, stream, parameters.as_mut_ptr(), null_mut());
        // An event spreads the capture to another stream and back.
        0 => cuEventRecord(event, stream);
        0 => cuStreamWaitEvent(other, event, 0);
        0 => cuMemsetD32Async(pointer, 5, 1, other);
        0 => cuEventRecord(joined, other);
        0 => cuStreamWaitEvent(stream, joined, 0);
        0 => cuStreamGetCaptureInfo_v2(stream, &mut status, &mut id, &mut graph, null_mut(), &mut number);
    }
    assert_eq!((status, number), (1, 2), "the stream waits for its own node and the other's");
    steps! {
        0 => cuStreamEndCapture(stream, &mut graph);
        0 => cuStreamIsCapturing(other, &mut status);
        0 => cuGraphGetNodes(graph, null_mut(), &mut number);
        0 => cuThreadExchangeStreamCaptureMode(&mut mode);
    }
    assert_eq!((status, number, mode, read(pointer)), (0, 2, 0, 1), "nothing has run");
    steps! {
        0 => cuGraphInstantiateWithFlags(&mut exec, graph, 0);
        0 => cuGraphLaunch(exec, stream);
        0 => cuStreamSynchronize(stream);
    }
    assert_eq!(read(pointer), 5);
}

pub fn invalid_captures() {
    primary();
    let pointer = allocate(4);
    let (mut stream, mut other, mut event, mut real, mut graph, mut status) = (0, 0, 0, 0, 9, 9);
    steps! {
        0 => cuStreamCreate(&mut stream, 0);
        0 => cuStreamCreate(&mut other, 1);
        0 => cuEventCreate(&mut event, 0);
        0 => cuEventCreate(&mut real, 0);
        0 => cuEventRecord(real, other);
        // Waiting for a stream in a capture invalidates the capture.
        0 => cuStreamBeginCapture_v2(stream, 2);
        900 => cuStreamSynchronize(stream);
        901 => cuMemsetD32Async(pointer, 5, 1, stream);
        0 => cuStreamIsCapturing(stream, &mut status);
        901 => cuStreamEndCapture(stream, &mut graph);
    }
    assert_eq!((status, graph), (2, 0));
    steps! {
        // So does asking for its events,
        0 => cuStreamBeginCapture_v2(stream, 2);
        0 => cuEventRecord(event, stream);
        907 => cuEventQuery(event);
        901 => cuStreamEndCapture(stream, &mut graph);
        // the default stream,
        0 => cuStreamBeginCapture_v2(stream, 2);
        906 => cuMemsetD32Async(pointer, 5, 1, NONE);
        901 => cuStreamEndCapture(stream, &mut graph);
        // waiting for an event that is not captured,
        0 => cuStreamBeginCapture_v2(stream, 2);
        905 => cuStreamWaitEvent(stream, real, 0);
        901 => cuStreamEndCapture(stream, &mut graph);
        // and leaving a stream behind.
        0 => cuStreamBeginCapture_v2(stream, 2);
        0 => cuEventRecord(event, stream);
        0 => cuStreamWaitEvent(other, event, 0);
        0 => cuMemsetD32Async(pointer, 5, 1, other);
        904 => cuStreamEndCapture(stream, &mut graph);
        0 => cuStreamSynchronize(stream);
        0 => cuStreamSynchronize(other);
    }
}

pub fn graph_memory() {
    primary();
    let target = allocate(64);
    let (mut stream, mut graph, mut exec, mut first, mut last) = (0, 0, 0, 0, 0);
    let (mut kinds, mut number, mut pointer, mut bytes) = ([0, 0], 0, 0, 9);
    let mut parameters = AllocationNode {
        kind: 1,
        handle_types: 0,
        location: [1, 0],
        security: 0,
        maximum: 0,
        usage: [0; 28],
        access: 0,
        access_count: 0,
        bytes: 256,
        pointer: 0,
    };
    let mut known = parameters;
    let mut empty = AllocationNode { bytes: 0, ..parameters };
    steps! {
        0 => cuStreamCreate(&mut stream, 1);
        0 => cuGraphCreate(&mut graph, 0);
        1 => cuGraphAddMemAllocNode(&mut first, graph, null(), 0, null_mut());
        1 => cuGraphAddMemAllocNode(&mut first, graph, null(), 0, &mut empty);
        0 => cuGraphAddMemAllocNode(&mut first, graph, null(), 0, &mut parameters);
        1 => cuGraphAddMemFreeNode(&mut last, graph, &first, 1, target);
        0 => cuGraphAddMemFreeNode(&mut last, graph, &first, 1, parameters.pointer);
        0 => cuGraphNodeGetType(first, &mut kinds[0]);
        0 => cuGraphNodeGetType(last, &mut kinds[1]);
        0 => cuGraphMemAllocNodeGetParams(first, &mut known);
        1 => cuGraphMemAllocNodeGetParams(last, &mut known);
        0 => cuGraphInstantiateWithFlags(&mut exec, graph, 0);
        0 => cuGraphLaunch(exec, stream);
        0 => cuGraphLaunch(exec, stream);
        0 => cuStreamSynchronize(stream);
        0 => cuGraphExecDestroy(exec);
        0 => cuGraphDestroy(graph);
    }
    assert_ne!(parameters.pointer, 0);
    assert_eq!((kinds, known.pointer, known.bytes), ([10, 11], parameters.pointer, 256));
    // A capture that allocates and frees.
    steps! {
        0 => cuStreamBeginCapture_v2(stream, 0);
        0 => cuMemAllocAsync(&mut pointer, 64, stream);
        0 => cuMemsetD32Async(pointer, 7, 16, stream);
        0 => cuMemcpyDtoDAsync_v2(target, pointer, 64, stream);
        0 => cuMemFreeAsync(pointer, stream);
        0 => cuStreamEndCapture(stream, &mut graph);
        0 => cuGraphGetNodes(graph, null_mut(), &mut number);
        0 => cuGraphInstantiateWithFlags(&mut exec, graph, 0);
        0 => cuGraphLaunch(exec, stream);
        0 => cuGraphLaunch(exec, stream);
        0 => cuStreamSynchronize(stream);
        0 => cuGraphExecDestroy(exec);
        0 => cuGraphDestroy(graph);
    }
    assert_eq!((number, read(target)), (4, 7));
    // One that only allocates: each launch waits for the program to free the memory, unless it frees it itself.
    steps! {
        0 => cuStreamBeginCapture_v2(stream, 0);
        0 => cuMemAllocAsync(&mut pointer, 64, stream);
        0 => cuMemsetD32Async(pointer, 9, 16, stream);
        0 => cuStreamEndCapture(stream, &mut graph);
        0 => cuGraphInstantiateWithFlags(&mut exec, graph, 0);
        0 => cuGraphLaunch(exec, stream);
        1 => cuGraphLaunch(exec, stream);
        0 => cuStreamSynchronize(stream);
    }
    assert_eq!(read(pointer), 9);
    steps! {
        0 => cuMemFreeAsync(pointer, stream);
        1 => cuMemFreeAsync(pointer, stream);
        0 => cuGraphLaunch(exec, stream);
        0 => cuStreamSynchronize(stream);
        0 => cuMemFree_v2(pointer);
        0 => cuGraphExecDestroy(exec);
        0 => cuGraphInstantiateWithFlags(&mut exec, graph, 1);
        0 => cuGraphLaunch(exec, stream);
        0 => cuGraphLaunch(exec, stream);
        0 => cuStreamSynchronize(stream);
        // The memory outlives the graph that has allocated it.
        0 => cuGraphExecDestroy(exec);
        0 => cuGraphDestroy(graph);
    }
    assert_eq!(read(pointer), 9);
    steps! {
        0 => cuMemFreeAsync(pointer, stream);
        1 => cuMemFreeAsync(pointer, stream);
        0 => cuStreamSynchronize(stream);
        0 => cuDeviceGraphMemTrim(0);
        0 => cuDeviceGetGraphMemAttribute(0, 0, &mut bytes);
        1 => cuDeviceGetGraphMemAttribute(0, 9, &mut bytes);
    }
    assert_eq!(bytes, 0);
}
