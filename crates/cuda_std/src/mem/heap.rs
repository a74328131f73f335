//! Memory that a kernel allocates, for the types of the crate `alloc`: `Box`, `Vec`, `String`.
//!
//! Off unless a kernel crate asks for it: the builder builds `alloc` too
//! (`CudaBuilder::new(..).alloc(true)`), and the crate declares the allocator.
//!
//! ```
//! extern crate alloc;
//!
//! use alloc::vec::Vec;
//! use cuda_std::prelude::*;
//!
//! #[cfg(target_arch = "nvptx64")]
//! #[global_allocator]
//! static HEAP: cuda_std::heap::DeviceHeap = cuda_std::heap::DeviceHeap;
//!
//! /// Turns each number's decimal digits around.
//! #[kernel]
//! pub fn reverse_digits(mut x: DisjointSlice<u32>) {
//!     if let Some(x) = x.own() {
//!         let mut digits = Vec::new();
//!         while *x > 0 {
//!             digits.push(*x % 10);
//!             *x /= 10;
//!         }
//!         *x = digits.iter().fold(0, |number, digit| 10 * number + digit);
//!     }
//! }
//!
//! fn main() {
//!     let mut x = [123_456, 7, 1_000];
//!     examples::launch((1, 32), reverse_digits(&mut x));
//!     assert_eq!(x, [654_321, 7, 1]);
//! }
//! ```
//!
//! An allocation is slow, and all threads take turns for it: a kernel that can do with registers, shared
//! memory or a slice is faster without. The heap has 8 MiB unless the host sets another limit
//! (`CU_LIMIT_MALLOC_HEAP_SIZE`) before the module is loaded. Memory that a thread does not give back
//! stays allocated until the context ends, also if the thread panics.

use core::alloc::{GlobalAlloc, Layout};

/// The device's heap as an allocator.
///
/// `call malloc` and `call free`, which the driver provides; PTX 3.1, sm_20.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceHeap;

/// The alignment of `malloc` (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation").
#[cfg(target_arch = "nvptx64")]
const ALIGN: usize = 16;

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    fn malloc(bytes: u64) -> *mut u8;
    fn free(memory: *mut u8);
}

// SAFETY: `malloc` gives memory of its own, or null. Where it aligns too little, the memory is larger,
// and the word in front of what is given says where it begins.
#[cfg(target_arch = "nvptx64")]
unsafe impl GlobalAlloc for DeviceHeap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (bytes, align) = (layout.size() as u64, layout.align());
        if align <= ALIGN {
            // SAFETY: any size may be asked for.
            return unsafe { malloc(bytes) };
        }
        // SAFETY: as above.
        let memory = unsafe { malloc(bytes + align as u64) };
        if memory.is_null() {
            return memory;
        }
        let offset = align - (memory.addr() & (align - 1));
        // SAFETY: at least 16 bytes from the beginning, and no more than were added; the word fits before.
        unsafe {
            let aligned = memory.add(offset);
            aligned.cast::<*mut u8>().sub(1).write(memory);
            aligned
        }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `alloc` has given the memory for this layout, and put its beginning in front of it.
        unsafe {
            if layout.align() <= ALIGN {
                free(memory);
            } else {
                free(memory.cast::<*mut u8>().sub(1).read());
            }
        }
    }
}

/// The result of a failed allocation, in place of the compiler's handler.
#[cfg(target_arch = "nvptx64")]
#[unsafe(no_mangle)]
#[cold]
#[allow(non_snake_case, reason = "the link stage looks for this name")]
extern "Rust" fn __rumba___rust_alloc_error_handler(_bytes: usize, _align: usize) -> ! {
    panic!("the device's heap is full")
}

// SAFETY: it gives no memory.
#[cfg(not(target_arch = "nvptx64"))]
unsafe impl GlobalAlloc for DeviceHeap {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        crate::device::intrinsics::device_only("DeviceHeap::alloc")
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {
        crate::device::intrinsics::device_only("DeviceHeap::dealloc")
    }
}
