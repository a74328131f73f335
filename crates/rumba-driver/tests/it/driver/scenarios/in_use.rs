//! Memory that is taken away while kernels of another context use it: the call that takes it waits for them.

use super::*;

const UNIT: usize = 2 << 20;

/// Adds 1 to a word a given number of times, in each thread of a warp.
const TOUCH: &CStr = c"
.version 8.0
.target sm_70
.address_size 64
.visible .entry touch(.param .u64 words, .param .u32 rounds)
{
    .reg .b64 %q<4>;
    .reg .b32 %r<4>;
    .reg .pred %p;
    ld.param.u64 %q1, [words];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %q2, %r2, 4;
    add.s64 %q1, %q1, %q2;
AGAIN:
    ld.volatile.global.u32 %r3, [%q1];
    add.u32 %r3, %r3, 1;
    st.volatile.global.u32 [%q1], %r3;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra AGAIN;
    ret;
}
";

/// Memory of the program's own that is no part of any other mapping.
fn pages() -> u64 {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the place is not fixed.
    let place = unsafe { libc::mmap(null_mut(), UNIT, access, flags, -1, 0) };
    assert_ne!(place, libc::MAP_FAILED);
    place as u64
}

fn unmap_pages(place: u64) {
    // SAFETY: `pages` mapped them.
    assert_eq!(unsafe { libc::munmap(place as *mut c_void, UNIT) }, 0);
}

/// A mapping that kernels can use.
fn mapping() -> u64 {
    let (mut pointer, mut memory) = (0, 0);
    let properties = PoolProperties { kind: 1, location: [1, 0], ..PoolProperties::default() };
    steps! {
        0 => cuMemAddressReserve(&mut pointer, UNIT, 0, 0, 0);
        0 => cuMemCreate(&mut memory, UNIT, &properties, 0);
        0 => cuMemMap(pointer, UNIT, 0, memory, 0);
        0 => cuMemSetAccess(pointer, UNIT, &[1, 0, 3], 1);
        0 => cuMemRelease(memory);
    }
    pointer
}

/// Memory of the host's own that kernels can use.
fn registered() -> u64 {
    let place = pages();
    steps! { 0 => cuMemHostRegister_v2(place, UNIT, 1); }
    place
}

/// How memory is made in a context, and how it is taken away there.
type Allocation = (&'static str, fn() -> u64, fn(context: usize, memory: u64));

const ALLOCATIONS: [Allocation; 4] = [
    ("cuMemUnmap", mapping, |_, memory| {
        steps! {
            0 => cuMemUnmap(memory, UNIT);
            0 => cuMemAddressFree(memory, UNIT);
        }
    }),
    ("cuMemHostUnregister", registered, |_, memory| {
        steps! { 0 => cuMemHostUnregister(memory); }
        unmap_pages(memory);
    }),
    ("cuCtxDestroy", registered, |context, memory| {
        steps! { 0 => cuCtxDestroy_v2(context); }
        unmap_pages(memory);
    }),
    // A near miss: no kernel uses the memory that is taken away.
    ("cuMemUnmap of other memory", mapping, |_, _| {
        let other = mapping();
        steps! {
            0 => cuMemUnmap(other, UNIT);
            0 => cuMemAddressFree(other, UNIT);
        }
    }),
];

fn touch(function: usize, words: u64, rounds: u32) -> c_int {
    let mut arguments = [(&raw const words).cast(), (&raw const rounds).cast()];
    // SAFETY: the kernel takes these parameters.
    unsafe { launch_with(function, [1; 3], [32, 1, 1], 0, arguments.as_mut_ptr(), null_mut()) }
}

fn touching_kernel() -> usize {
    let mut module = 0;
    steps! { 0 => cuModuleLoadData(&mut module, TOUCH.as_ptr().cast()); }
    kernel(module, c"touch")
}

/// Only on the software device, which promises that no call ends the process.
pub fn memory_in_use_by_another_context() {
    primary();
    if !crate::driver::walk::is_soft() {
        return;
    }
    for (name, make, take) in ALLOCATIONS {
        let (mut owner, mut user) = (0, 0);
        steps! { 0 => cuCtxCreate_v2(&mut owner, 0, 0); }
        let memory = make();
        steps! { 0 => cuCtxCreate_v2(&mut user, 0, 0); }
        let function = touching_kernel();
        assert_eq!(touch(function, memory, 1_000_000), 0, "{name}");
        std::thread::sleep(std::time::Duration::from_millis(20));
        steps! { 0 => cuCtxSetCurrent(owner); }
        take(owner, memory);
        steps! { 0 => cuCtxSetCurrent(user); }
        // The kernel is done, or has found the memory gone.
        // SAFETY: no arguments.
        let ended = unsafe { cuCtxSynchronize() };
        assert!(is_outcome(name, ended), "{name}: {ended}");
        steps! { 0 => cuCtxDestroy_v2(user); }
    }
}

/// Whether a kernel may end so whose memory was taken away, or not.
fn is_outcome(name: &str, code: c_int) -> bool {
    code == 0 || code == 700 && !name.ends_with("other memory")
}

/// Another thread launches all the time: kernels that begin when the memory is gone fail, and no other thing happens.
pub fn memory_in_use_by_later_launches() {
    primary();
    if !crate::driver::walk::is_soft() {
        return;
    }
    for (name, make, take) in ALLOCATIONS {
        let (mut owner, mut user) = (0, 0);
        steps! { 0 => cuCtxCreate_v2(&mut owner, 0, 0); }
        let memory = make();
        steps! { 0 => cuCtxCreate_v2(&mut user, 0, 0); }
        let function = touching_kernel();
        let (sender, is_running) = std::sync::mpsc::channel();
        let launching = std::thread::spawn(move || {
            // SAFETY: the handle is that of a context.
            assert_eq!(unsafe { cuCtxSetCurrent(user) }, 0);
            for number in 0..200 {
                // SAFETY: no arguments.
                match (touch(function, memory, 500), unsafe { cuCtxSynchronize() }) {
                    (0, 0) => {}
                    code => return code,
                }
                if number == 20 {
                    sender.send(()).expect("the other thread waits");
                }
            }
            (0, 0)
        });
        is_running.recv().expect("the thread launches");
        steps! { 0 => cuCtxSetCurrent(owner); }
        take(owner, memory);
        let ended = launching.join().expect("the thread does not panic");
        assert!(ended.0 == 0 && is_outcome(name, ended.1), "{name}: {ended:?}");
        steps! {
            0 => cuCtxSetCurrent(user);
            0 => cuCtxDestroy_v2(user);
        }
    }
}
