//! Calls of the driver in any order, from two threads, with handles that were never given out or are no longer valid,
//! absent and misaligned pointers, and absurd sizes: each call answers.
//!
//! Invalid pointers that a driver cannot detect (to host memory that is not mapped) are not passed.

#![no_main]

use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};
use std::sync::Once;

use libfuzzer_sys::arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use rumba_driver as _;

#[allow(dead_code, reason = "a part of the calls is used")]
#[path = "../../crates/rumba-driver/tests/it/driver/abi.rs"]
mod abi;
use abi::*;

const PTX: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .b8 table[64];\n\
    .visible .entry fill(.param .u64 out, .param .u32 n)\n{\n.reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<4>;\n\
    ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [n];\n\
    mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.s32 %r5, %r3, %r4, %r2;\n\
    setp.ge.u32 %p1, %r5, %r1; @%p1 ret;\n\
    mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r5; ret;\n}\n";

/// A value that an earlier call returned, or another value.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Value {
    Known(u8),
    Near(u8, i8),
    Any(u64),
    Small(u8),
}

/// A size, mostly one that makes sense.
#[derive(Arbitrary, Debug, Clone, Copy)]
enum Size {
    Small(u16),
    Page,
    Any(usize),
}

impl Size {
    fn get(self) -> usize {
        match self {
            Self::Small(size) => usize::from(size),
            Self::Page => 4096,
            Self::Any(size) => size,
        }
    }

    /// A size that is not more than the host buffer has.
    fn bounded(self) -> usize {
        self.get() % (HOST + 1)
    }
}

/// Bytes of the host buffer of each thread.
const HOST: usize = 1 << 16;

/// Bytes that mappings are multiples of.
const UNIT: usize = 2 << 20;

#[derive(Arbitrary, Debug)]
enum Call {
    Context(u8, Value, u32),
    Alloc(u8, Size, Value),
    Free(u8, Value),
    Copy(u8, Value, Value, Size, Value),
    Set(u8, Value, u32, Size, Value),
    Copy2d([u64; 4], Value, Value, [u16; 6]),
    Module(u8, Value, u8),
    Function(u8, Value, i32, i32),
    Launch { function: Value, grid: [u32; 3], block: [u32; 3], shared: Size, stream: Value, data: Value, n: u32 },
    Stream(u8, Value, Value, u32),
    Event(u8, Value, Value, u32),
    Pointer(i32, Value),
    Occupancy(u8, Value, i32, Size),
    Array(u8, Value, [u16; 3], u32, Size),
    Link(u8, Value, i32),
    Null(u8),
    Graph(u8, Value, Value, Value),
    Capture(u8, Value, i32),
    Virtual(u8, Value, Value, u8),
}

#[derive(Arbitrary, Debug)]
struct Sequence {
    first: Vec<Call>,
    second: Vec<Call>,
}

/// The state of one thread.
struct State {
    values: Vec<u64>,
    host: Vec<u8>,
}

impl State {
    fn value(&self, value: Value) -> u64 {
        let known = |index: u8| self.values.get(usize::from(index) % self.values.len().max(1)).copied().unwrap_or(0);
        match value {
            Value::Known(index) => known(index),
            Value::Near(index, by) => known(index).wrapping_add_signed(i64::from(by)),
            Value::Any(value) => value,
            Value::Small(value) => u64::from(value),
        }
    }

    fn handle(&self, value: Value) -> usize {
        self.value(value) as usize
    }

    /// An address that device calls may be given: none of host memory, so that no call can be led into it.
    fn device(&self, value: Value) -> u64 {
        self.value(value)
    }

    fn keep(&mut self, value: u64) {
        if value != 0 {
            self.values.push(value);
        }
    }

    fn call(&mut self, call: &Call) {
        let mut out = [0_usize; 4];
        let [a, b, ..] = &mut out;
        let (mut address, mut number, mut other) = (0_u64, 0_i32, 0_i32);
        let mut word = 0_u32;
        // SAFETY: every pointer that is passed is null or points to something of the size that the call writes; the rest
        // is what the driver has to look through by itself.
        unsafe {
            match *call {
                Call::Context(kind, value, flags) => match kind % 12 {
                    0 => drop(cuCtxCreate_v2(a, flags, value_device(value))),
                    1 => drop(cuCtxDestroy_v2(self.handle(value))),
                    2 => drop(cuCtxPushCurrent_v2(self.handle(value))),
                    3 => drop(cuCtxPopCurrent_v2(a)),
                    4 => drop(cuCtxSetCurrent(self.handle(value))),
                    5 => drop(cuCtxGetCurrent(a)),
                    6 => drop(cuCtxSetLimit(flags as i32, self.handle(value) % (1 << 20))),
                    7 => drop(cuCtxGetLimit(b, flags as i32)),
                    8 => drop(cuDevicePrimaryCtxRetain(a, value_device(value))),
                    9 => drop(cuDevicePrimaryCtxRelease_v2(value_device(value))),
                    10 => drop(cuDevicePrimaryCtxSetFlags_v2(value_device(value), flags)),
                    _ => drop(cuCtxSynchronize()),
                },
                Call::Alloc(kind, size, stream) => match kind % 5 {
                    0 => drop(cuMemAlloc_v2(&mut address, size.get())),
                    1 => drop(cuMemAllocManaged(&mut address, size.get(), 1)),
                    2 => drop(cuMemHostAlloc(&mut address, size.get(), 0)),
                    3 => drop(cuMemAllocAsync(&mut address, size.get(), self.handle(stream))),
                    _ => drop(cuMemAllocPitch_v2(&mut address, a, size.get(), size.bounded(), 4)),
                },
                Call::Free(kind, value) => match kind % 5 {
                    0 | 1 => drop(cuMemFree_v2(self.device(value))),
                    2 => drop(cuMemFreeHost(self.device(value))),
                    3 => drop(cuMemFreeAsync(self.device(value), 0)),
                    _ => drop(cuMemHostUnregister(self.device(value))),
                },
                Call::Copy(kind, to, from, size, stream) => {
                    let host = self.host.as_mut_ptr().cast::<c_void>();
                    match kind % 5 {
                        0 => drop(cuMemcpyHtoD_v2(self.device(to), host, size.bounded())),
                        1 => drop(cuMemcpyDtoH_v2(host, self.device(from), size.bounded())),
                        2 => drop(cuMemcpyDtoD_v2(self.device(to), self.device(from), size.get())),
                        3 => {
                            cuMemcpyHtoDAsync_v2(self.device(to), host, size.bounded(), self.handle(stream));
                            cuCtxSynchronize();
                        }
                        _ => drop(cuMemcpyHtoD_v2(self.device(to), null(), size.bounded())),
                    }
                }
                Call::Set(kind, to, value, size, stream) => match kind % 5 {
                    0 => drop(cuMemsetD8_v2(self.device(to), value as u8, size.get())),
                    1 => drop(cuMemsetD16_v2(self.device(to), value as u16, size.get())),
                    2 => drop(cuMemsetD32_v2(self.device(to), value, size.get())),
                    3 => drop(cuMemsetD32Async(self.device(to), value, size.get(), self.handle(stream))),
                    _ => drop(cuMemsetD2D8_v2(self.device(to), size.get(), value as u8, size.bounded(), 3)),
                },
                Call::Copy2d([x, y, width, height], to, from, _) => {
                    let mut copy = Copy2d::default();
                    copy.width = width as usize;
                    copy.height = height as usize;
                    copy.source = self.side(from, x as usize, y as usize);
                    copy.target = self.side(to, y as usize, x as usize);
                    drop(cuMemcpy2D_v2(&copy));
                }
                Call::Module(kind, value, name) => {
                    let text = CString::new(if name % 4 == 0 { "not PTX" } else { PTX }).unwrap_or_default();
                    let name = [c"fill", c"table", c"nothing"][usize::from(name) % 3];
                    match kind % 5 {
                        0 | 1 => drop(cuModuleLoadData(a, text.as_ptr().cast())),
                        2 => drop(cuModuleGetFunction(a, self.handle(value), name.as_ptr())),
                        3 => drop(cuModuleGetGlobal_v2(&mut address, b, self.handle(value), name.as_ptr())),
                        _ => drop(cuModuleUnload(self.handle(value))),
                    }
                }
                Call::Function(kind, value, attribute, to) => match kind % 4 {
                    0 => drop(cuFuncGetAttribute(&mut number, attribute, self.handle(value))),
                    1 => drop(cuFuncSetAttribute(self.handle(value), attribute, to)),
                    2 => drop(cuFuncGetModule(a, self.handle(value))),
                    _ => drop(cuFuncGetParamInfo(self.handle(value), to as usize, a, b)),
                },
                Call::Launch { function, grid, block, shared, stream, data, n } => {
                    let (data, grid, block) = (self.device(data), grid.map(|n| n % 70_000), block.map(|n| n % 1100));
                    // Large sizes are refused, or too slow to wait for.
                    let small = grid.iter().map(|n| u64::from(*n)).product::<u64>() < 200;
                    let grid = if small { grid } else { [2, 1, 1] };
                    let parameters: [*const c_void; 2] = [(&raw const data).cast(), (&raw const n).cast()];
                    cuLaunchKernel(
                        self.handle(function),
                        grid[0],
                        grid[1],
                        grid[2],
                        block[0],
                        block[1],
                        block[2],
                        shared.get() as u32,
                        self.handle(stream),
                        parameters.as_ptr().cast_mut(),
                        null_mut(),
                    );
                    cuCtxSynchronize();
                }
                Call::Stream(kind, value, second, flags) => match kind % 8 {
                    0 => drop(cuStreamCreate(a, flags)),
                    1 => drop(cuStreamCreateWithPriority(a, flags, flags as i32)),
                    2 => drop(cuStreamDestroy_v2(self.handle(value))),
                    3 => drop(cuStreamSynchronize(self.handle(value))),
                    4 => drop(cuStreamQuery(self.handle(value))),
                    5 => drop(cuStreamWaitEvent(self.handle(value), self.handle(second), flags)),
                    6 => drop(cuStreamGetFlags(self.handle(value), &mut word)),
                    _ => drop(cuStreamGetCtx(self.handle(value), a)),
                },
                Call::Event(kind, value, second, flags) => match kind % 6 {
                    0 => drop(cuEventCreate(a, flags)),
                    1 => drop(cuEventRecord(self.handle(value), self.handle(second))),
                    2 => drop(cuEventQuery(self.handle(value))),
                    3 => drop(cuEventSynchronize(self.handle(value))),
                    4 => drop(cuEventElapsedTime(&mut 0.0, self.handle(value), self.handle(second))),
                    _ => drop(cuEventDestroy_v2(self.handle(value))),
                },
                Call::Pointer(attribute, value) => {
                    let mut room = [0_u64; 8];
                    cuPointerGetAttribute(room.as_mut_ptr().cast(), attribute, self.device(value));
                    drop(cuMemGetAddressRange_v2(&mut 0, b, self.device(value)));
                }
                Call::Occupancy(kind, value, threads, size) => match kind % 2 {
                    0 => {
                        let function = self.handle(value);
                        drop(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut number, function, threads, size.get()));
                    }
                    _ => {
                        let function = self.handle(value);
                        drop(cuOccupancyMaxPotentialBlockSize(
                            &mut number,
                            &mut other,
                            function,
                            None,
                            size.get(),
                            threads,
                        ));
                    }
                },
                Call::Array(kind, value, _, _, size) => match kind % 2 {
                    0 => drop(cuArrayDestroy(self.handle(value))),
                    _ => {
                        let host = self.host.as_ptr().cast();
                        drop(cuMemcpyHtoA_v2(self.handle(value), size.get(), host, size.bounded()));
                    }
                },
                Call::Link(kind, value, ty) => match kind % 4 {
                    0 => drop(cuLinkCreate_v2(0, null_mut(), null_mut(), a)),
                    1 => {
                        let bytes = PTX.len() + 1;
                        let text = CString::new(PTX).unwrap_or_default();
                        let handle = self.handle(value);
                        let name = c"fuzz".as_ptr();
                        cuLinkAddData_v2(handle, ty, text.as_ptr().cast(), bytes, name, 0, null_mut(), null_mut());
                    }
                    2 => drop(cuLinkComplete(self.handle(value), &mut null(), b)),
                    _ => drop(cuLinkDestroy(self.handle(value))),
                },
                Call::Null(kind) => match kind % 8 {
                    0 => drop(cuMemAlloc_v2(null_mut(), 16)),
                    1 => drop(cuCtxCreate_v2(null_mut(), 0, 0)),
                    2 => drop(cuModuleLoadData(null_mut(), null())),
                    3 => drop(cuStreamCreate(null_mut(), 0)),
                    4 => drop(cuEventCreate(null_mut(), 0)),
                    5 => drop(cuMemGetInfo_v2(null_mut(), null_mut())),
                    6 => drop(cuMemcpy2D_v2(null())),
                    _ => drop(cuDeviceGetName(null_mut(), 10, 0)),
                },
                Call::Graph(kind, one, second, third) => {
                    let (one, second, third) = (self.handle(one), self.handle(second), self.handle(third));
                    let fill = FillNode {
                        target: third as u64,
                        pitch: 0,
                        value: 7,
                        element: 4,
                        width: second % HOST,
                        height: 1,
                    };
                    match kind % 12 {
                        0 => drop(cuGraphCreate(a, 0)),
                        1 => drop(cuGraphAddEmptyNode(a, one, &second, usize::from(kind) / 12 % 2)),
                        2 => drop(cuGraphAddDependencies_v2(one, &second, &third, null(), 1)),
                        3 => drop(cuGraphAddMemsetNode(a, one, null(), 0, &fill, second)),
                        4 => drop(cuGraphAddChildGraphNode(a, one, null(), 0, second)),
                        5 => drop(cuGraphInstantiateWithFlags(a, one, 0)),
                        6 => {
                            cuGraphLaunch(one, second);
                            cuCtxSynchronize();
                        }
                        7 => drop(cuGraphExecDestroy(one)),
                        8 => drop(cuGraphDestroyNode(one)),
                        9 => drop(cuGraphClone(a, one)),
                        10 => drop(cuGraphRemoveDependencies_v2(one, &second, &third, null(), 1)),
                        _ => drop(cuGraphDestroy(one)),
                    }
                }
                Call::Capture(kind, stream, mode) => match kind % 4 {
                    0 | 1 => drop(cuStreamBeginCapture_v2(self.handle(stream), mode)),
                    2 => drop(cuStreamEndCapture(self.handle(stream), a)),
                    _ => drop(cuStreamIsCapturing(self.handle(stream), &mut number)),
                },
                Call::Virtual(kind, place, memory, units) => {
                    let (place, memory) = (self.device(place), self.value(memory));
                    let size = usize::from(units) * UNIT / 2;
                    let properties = PoolProperties { kind: 1, location: [1, 0], ..PoolProperties::default() };
                    match kind % 7 {
                        0 => drop(cuMemAddressReserve(&mut address, size, 0, 0, 0)),
                        1 => drop(cuMemCreate(&mut address, size, &properties, 0)),
                        2 => drop(cuMemMap(place, size, 0, memory, 0)),
                        3 => drop(cuMemSetAccess(place, size, &[1, 0, 3], 1)),
                        4 => drop(cuMemUnmap(place, size)),
                        5 => drop(cuMemRelease(memory)),
                        _ => drop(cuMemAddressFree(place, size)),
                    }
                }
            }
        }
        self.keep(address);
        self.keep(out[0] as u64);
    }

    fn side(&self, value: Value, x: usize, y: usize) -> Side {
        // CU_MEMORYTYPE_DEVICE: an address of the host cannot be looked through.
        Side { x, y, memory: 2, device: self.device(value), pitch: x.wrapping_add(y), ..Side::default() }
    }
}

fn value_device(value: Value) -> i32 {
    match value {
        Value::Any(value) => value as i32,
        _ => 0,
    }
}

fn thread(calls: &[Call]) {
    let mut state = State { values: Vec::new(), host: vec![7; HOST] };
    let mut context = 0;
    // SAFETY: the place for the handle is good.
    unsafe {
        cuCtxCreate_v2(&mut context, 0, 0);
    }
    for call in calls.iter().take(60) {
        state.call(call);
    }
    // SAFETY: the device refuses a destroyed context.
    unsafe {
        cuCtxDestroy_v2(context);
        while cuCtxPopCurrent_v2(&mut context) == 0 && context != 0 {}
    }
}

fuzz_target!(|data: &[u8]| {
    static START: Once = Once::new();
    START.call_once(|| {
        // SAFETY: no other thread was started.
        unsafe {
            std::env::set_var("RUMBA_DEVICE", "soft");
            std::env::set_var("RUMBA_WORKERS", "1");
            std::env::set_var("RUMBA_MEMORY", "64");
            std::env::set_var("RUMBA_LOG", "off");
            std::env::set_var("RUMBA_TIMEOUT", "1");
            cuInit(0);
        }
    });
    let Ok(sequence) = Sequence::arbitrary(&mut Unstructured::new(data)) else { return };
    std::thread::scope(|scope| {
        scope.spawn(|| thread(&sequence.second));
        thread(&sequence.first);
    });
});
