//! A launch with device memory allocates nothing on the host: counted, beside a bare `cuLaunchKernel` through the same
//! driver, since the software device allocates for the launches that it queues.

use cust::sys;
use rumba::LaunchConfig;
use rumba::test_kernels::{PTX, saxpy};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use test_processes::alone;

thread_local! {
    /// Allocations of this thread; what the device's threads do is theirs.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: the system's allocator does everything.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise, here and below.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LAUNCHES: usize = 1000;

fn count(mut work: impl FnMut()) -> usize {
    let before = COUNT.get();
    (0..LAUNCHES).for_each(|_| work());
    COUNT.get() - before
}

#[test]
fn a_launch_allocates_nothing() {
    alone(&[], || {
        const N: usize = 64;
        let device = rumba::Device::new()?;
        let (module, stream) = (device.load(PTX)?, device.stream()?);
        let x = device.zeros::<f32>(N)?;
        let mut y = device.zeros::<f32>(N)?;
        let mut launch = || {
            let threads = LaunchConfig::new(1, N as u32).stream(&stream);
            module.launch(threads, saxpy(2.0, &x, &mut y)).expect("a launch");
        };
        launch();
        let ours = count(&mut launch);
        stream.synchronize()?;

        // The device has made its context current on this thread.
        let raw = cust::module::Module::from_ptx(PTX, &[]).expect("the PTX is right");
        let function = raw.get_function("saxpy").expect("it has the kernel");
        let queue = cust::stream::Stream::new(cust::stream::StreamFlags::DEFAULT, None).expect("a stream");
        let mut words = [2.0_f32.to_bits().into(), x.as_device_pointer().address(), N as u64, 0, N as u64];
        words[3] = y.as_device_pointer().address();
        let mut pointers = words.each_mut().map(|word| ptr::from_mut(word).cast::<c_void>());
        let mut bare_launch = || {
            // SAFETY: the pointers lead to the kernel's parameters, and the buffers outlive the wait below.
            let launched = unsafe {
                sys::cuLaunchKernel(
                    function.to_raw(),
                    1,
                    1,
                    1,
                    N as u32,
                    1,
                    1,
                    0,
                    queue.as_inner(),
                    pointers.as_mut_ptr(),
                    ptr::null_mut(),
                )
            };
            assert_eq!(launched, sys::CUresult::CUDA_SUCCESS);
        };
        bare_launch();
        let bare = count(&mut bare_launch);
        queue.synchronize().expect("the launches are right");

        // Queues grow now and then; one allocation for each launch would be a thousand.
        assert!(ours < bare + LAUNCHES / 10, "{ours} allocations in {LAUNCHES} launches, {bare} by the driver alone");
        Ok(())
    });
}
