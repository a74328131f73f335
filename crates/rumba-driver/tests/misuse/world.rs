//! The world in which the table's cases run: a device with one object of each kind, and room for results.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use crate::abi::*;

/// The PTX of all kernels, ended by NUL.
pub const KERNELS: &str = concat!(include_str!("kernels.ptx"), "\0");

/// Bytes of [`World::device`].
pub const BYTES: usize = 4096;

/// Handles and addresses of live objects, and places for what a call gives.
pub struct World {
    pub context: usize,
    pub other_context: usize,
    pub module: usize,
    pub nothing: usize,
    pub store: usize,
    pub at_most_64: usize,
    pub exactly_32: usize,
    pub pairs: usize,
    pub foreign_function: usize,
    pub foreign_event: usize,
    /// A stream that waits for no other.
    pub stream: usize,
    /// Never recorded.
    pub event: usize,
    /// Recorded without time.
    pub untimed: usize,
    pub recorded: usize,
    /// [`BYTES`] bytes of device memory.
    pub device: u64,
    pub managed: u64,
    pub pinned: u64,
    /// Memory of the host's own.
    pub host: Vec<u8>,
    /// 16 elements of 4 bytes.
    pub line: usize,
    /// 8 rows of 8 elements of 4 bytes.
    pub plane: usize,
    pub graph: usize,
    pub node: usize,
    pub other_graph: usize,
    pub exec: usize,
    pub link: usize,
    pub pool: usize,
    pub library: usize,
    /// Addresses that are reserved and not mapped.
    pub reserved: u64,
    pub physical: u64,
    /// Places for results.
    pub handle: usize,
    pub address: u64,
    pub bytes: usize,
    pub number: c_int,
    pub word: u32,
    pub wide: u64,
    pub time: f32,
    pub map: TensorMap,
    pub text: [c_char; 64],
    pub parameters: [*const c_void; 2],
    pub extra: [*const c_void; 5],
}

/// Refuses to go on in a world that could not be made.
fn fine(code: c_int, what: &str) {
    assert_eq!(code, 0, "{what}");
}

macro_rules! make {
    ($($call:ident($($argument:expr),* $(,)?);)*) => {
        // SAFETY: the calls are declared as in cuda.h and get pointers to what the world owns.
        $(fine(unsafe { $call($($argument),*) }, stringify!($call));)*
    };
}

/// An initialised driver, and no context.
pub fn bare() -> World {
    make! { cuInit(0); }
    World {
        context: 0,
        other_context: 0,
        module: 0,
        nothing: 0,
        store: 0,
        at_most_64: 0,
        exactly_32: 0,
        pairs: 0,
        foreign_function: 0,
        foreign_event: 0,
        stream: 0,
        event: 0,
        untimed: 0,
        recorded: 0,
        device: 0,
        managed: 0,
        pinned: 0,
        host: vec![0; 4 * BYTES],
        line: 0,
        plane: 0,
        graph: 0,
        node: 0,
        other_graph: 0,
        exec: 0,
        link: 0,
        pool: 0,
        library: 0,
        reserved: 0,
        physical: 0,
        handle: 0,
        address: 0,
        bytes: 0,
        number: 0,
        word: 0,
        wide: 0,
        time: 0.0,
        map: TensorMap([0; 16]),
        text: [0; 64],
        parameters: [null(); 2],
        extra: [null(); 5],
    }
}

fn function(module: usize, name: &CStr) -> usize {
    let mut function = 0;
    make! { cuModuleGetFunction(&mut function, module, name.as_ptr()); }
    function
}

/// A world with a current context and all objects in it.
pub fn working() -> World {
    let mut w = bare();
    let mut foreign = 0;
    let kernels = KERNELS.as_ptr().cast();
    make! {
        cuDevicePrimaryCtxRetain(&mut w.context, 0);
        cuCtxCreate_v2(&mut w.other_context, 0, 0);
        cuModuleLoadData(&mut foreign, kernels);
        cuEventCreate(&mut w.foreign_event, 0);
    }
    w.foreign_function = function(foreign, c"nothing");
    make! {
        cuCtxSetCurrent(w.context);
        cuModuleLoadData(&mut w.module, kernels);
    }
    w.nothing = function(w.module, c"nothing");
    w.store = function(w.module, c"store");
    w.at_most_64 = function(w.module, c"at_most_64");
    w.exactly_32 = function(w.module, c"exactly_32");
    w.pairs = function(w.module, c"pairs");
    let line = Flat { width: 16, height: 0, format: 0x20, channels: 1 };
    let plane = Flat { width: 8, height: 8, ..line };
    let local = PoolProperties { kind: 1, location: [1, 0], ..PoolProperties::default() };
    make! {
        cuStreamCreate(&mut w.stream, 1);
        cuEventCreate(&mut w.event, 0);
        cuEventCreate(&mut w.untimed, 2);
        cuEventCreate(&mut w.recorded, 0);
        cuEventRecord(w.untimed, w.stream);
        cuEventRecord(w.recorded, w.stream);
        cuMemAlloc_v2(&mut w.device, BYTES);
        cuMemAllocManaged(&mut w.managed, BYTES, 1);
        cuMemAllocHost_v2(&mut w.pinned, BYTES);
        cuArrayCreate_v2(&mut w.line, &line);
        cuArrayCreate_v2(&mut w.plane, &plane);
        cuGraphCreate(&mut w.graph, 0);
        cuGraphAddEmptyNode(&mut w.node, w.graph, null(), 0);
        cuGraphCreate(&mut w.other_graph, 0);
        cuGraphInstantiateWithFlags(&mut w.exec, w.graph, 0);
        cuLinkCreate_v2(0, null_mut(), null_mut(), &mut w.link);
        cuMemPoolCreate(&mut w.pool, &local);
        cuLibraryLoadData(&mut w.library, kernels, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0);
        cuMemAddressReserve(&mut w.reserved, UNIT, 0, 0, 0);
        cuMemCreate(&mut w.physical, UNIT, &local, 0);
        cuCtxSynchronize();
    }
    w
}

/// The granularity of mappings, in bytes.
pub const UNIT: usize = 2 << 20;

/// A context in which a kernel has failed.
pub fn failed() -> World {
    let w = working();
    let trapping = function(w.module, c"trapping");
    make! { cuLaunchKernel(trapping, 1, 1, 1, 1, 1, 1, 0, 0, null_mut(), null_mut()); }
    // SAFETY: it takes nothing.
    unsafe { cuCtxSynchronize() };
    w
}

/// A primary context that was released and is still current.
pub fn released() -> World {
    let w = working();
    make! { cuDevicePrimaryCtxRelease_v2(0); }
    w
}

/// The start of memory of the process of twice as many bytes, whose second half is mapped no longer.
pub fn half_mapped(bytes: usize) -> u64 {
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a new mapping at an address of the system's choice, of which a part is given back.
    unsafe {
        let start = libc::mmap(null_mut(), 2 * bytes, access, flags, -1, 0);
        assert!(start != libc::MAP_FAILED, "there are addresses");
        assert_eq!(libc::munmap(start.byte_add(bytes), bytes), 0);
        start as u64
    }
}

/// Begins a capture of the stream anew.
pub fn begin_capture(w: &mut World) {
    // SAFETY: the places for results are the world's.
    unsafe {
        cuStreamEndCapture(w.stream, &mut w.handle);
    }
    make! { cuStreamBeginCapture_v2(w.stream, 0); }
}

/// A launch of one thread in the default stream, with what the world has for parameters.
pub fn launch(function: usize, grid: [u32; 3], block: [u32; 3], shared: u32) -> c_int {
    let ([x, y, z], [a, b, c]) = (grid, block);
    // SAFETY: the kernels that the table launches so take no parameters.
    unsafe { cuLaunchKernel(function, x, y, z, a, b, c, shared, 0, null_mut(), null_mut()) }
}

/// A launch of one thread with these parameters.
pub fn launch_with(function: usize, parameters: *mut *const c_void, extra: *mut *const c_void) -> c_int {
    // SAFETY: the caller passes what the kernel takes, or what the driver has to recognise.
    unsafe { cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, parameters, extra) }
}

unsafe extern "C" {
    pub fn cuDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) -> c_int;
    pub fn cuDeviceGetPCIBusId(id: *mut c_char, bytes: c_int, device: c_int) -> c_int;
    pub fn cuStreamWaitValue64_v2(stream: usize, address: u64, value: u64, flags: u32) -> c_int;
}

/// A launch of blocks of 32 threads with one attribute.
pub fn launch_attribute(function: usize, grid: u32, id: u32, value: [u32; 3]) -> c_int {
    let [x, y, z] = value.map(u64::from);
    let attribute = LaunchAttribute { id, padding: 0, value: [x | y << 32, z, 0, 0, 0, 0, 0, 0] };
    let config =
        LaunchConfig { grid: [grid, 1, 1], block: [32, 1, 1], shared: 0, stream: 0, attributes: &attribute, count: 1 };
    // SAFETY: the configuration lives until the call returns; the kernel takes no parameters.
    unsafe { cuLaunchKernelEx(&config, function, null_mut(), null_mut()) }
}

/// Loads a text without adding anything to it.
pub fn load(text: &CStr) -> c_int {
    let mut module = 0;
    // SAFETY: the text is NUL-terminated.
    unsafe { cuModuleLoadData(&mut module, text.as_ptr().cast()) }
}

/// A callback that does nothing.
pub extern "C" fn ignore(_stream: usize, _status: c_int, _argument: *mut c_void) {}
