//! Large copies between a GPU and ordinary host memory: in chunks through page-locked memory, by several threads.
//!
//! A GPU fetches page-locked memory only. The driver copies any other through a buffer of its own, on one core, at a fraction
//! of what the bus carries; with several cores the bus is the limit. What is page-locked already does not come here, and small
//! copies are the driver's. Which streams a copy waits for is as for the driver's own copies: all that came before.

use crate::base::activity::Operation;
use crate::base::error::{Code, answer};
use crate::base::recording;
use crate::context::{Context, Entered, raw};
use crate::cuda::{Device, DeviceAttribute, Event, sys};
use parking_lot::Mutex;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes from which it pays to start threads.
const WORTH_IT: usize = 4 << 20;
/// Bytes of a chunk: enough to keep the bus busy, few enough that the first is on its way early.
const CHUNK: usize = 1 << 20;
/// More threads than this copy no faster than a bus of PCIe 5 with 16 lanes takes.
const MOST_THREADS: usize = 8;

/// Copies from the host, and returns when `source` may change again.
///
/// # Safety
/// As [`raw::copy_in`].
pub(crate) unsafe fn copy_in(entered: &Entered<'_>, address: u64, source: &[u8]) -> Result<(), Code> {
    let (from, bytes) = (Host(source.as_ptr().cast_mut()), source.len());
    let described = || Operation::CopyIn { bytes: bytes as u64 };
    let staged = entered.context.staging.with(bytes, described, |threads| {
        // SAFETY: `source` is borrowed until all chunks are copied, `address` has room for it (the caller's promise).
        in_chunks(entered.context, threads, bytes, |thread, chunks| unsafe { thread.send(chunks, from, address) })
    });
    // SAFETY: the caller's promise.
    staged.unwrap_or_else(|| unsafe { raw::copy_in(address, source) })
}

/// Copies to the host, after all work on the device that may change the source.
///
/// # Safety
/// As [`raw::copy_out`].
pub(crate) unsafe fn copy_out(entered: &Entered<'_>, address: u64, destination: &mut [u8]) -> Result<(), Code> {
    if entered.context.failures.are_possible() {
        // While a copy waits for the device, the driver lets no other thread of the process put work on a stream. A wait without a copy
        // does, so a thread can still end operations that wait for a lost rank.
        crate::cuda::synchronize()?;
    }
    let (to, bytes) = (Host(destination.as_mut_ptr()), destination.len());
    let described = || Operation::CopyOut { bytes: bytes as u64 };
    let staged = entered.context.staging.with(bytes, described, |threads| {
        // SAFETY: `destination` is borrowed mutably until all chunks are copied, each by one thread; at `address` are as many
        // bytes (the caller's promise).
        in_chunks(entered.context, threads, bytes, |thread, chunks| unsafe { thread.receive(chunks, to, address) })
    });
    // SAFETY: the caller's promise.
    staged.unwrap_or_else(|| unsafe { raw::copy_out(address, destination) })
}

/// The buffers of a context for such copies, made for the first copy.
#[derive(Default)]
pub(crate) struct Staging {
    threads: OnceLock<Option<Mutex<Vec<CopyThread>>>>,
}

impl Staging {
    /// Runs a copy, unless it is small, another is in progress, or the device has no use for it: the software device
    /// reads host memory as it is.
    fn with(
        &self,
        bytes: usize,
        described: impl FnOnce() -> Operation,
        copy: impl FnOnce(&mut [CopyThread]) -> Result<(), Code>,
    ) -> Option<Result<(), Code>> {
        if bytes < WORTH_IT {
            return None;
        }
        let threads = self.threads.get_or_init(|| {
            let some = || CopyThread::some().map(Mutex::new).ok();
            copies_beside_kernels().then(some).flatten()
        });
        let mut threads = threads.as_ref()?.try_lock()?;
        Some(recording::on_stream(raw::NULL_STREAM, described, || copy(&mut threads)))
    }

    /// Gives everything back to the driver. The context must be current.
    pub(crate) fn release(&mut self) {
        for thread in self.threads.take().flatten().map(Mutex::into_inner).unwrap_or_default() {
            thread.release();
        }
    }
}

/// Whether the device of the current context has an engine for copies.
fn copies_beside_kernels() -> bool {
    let asked = Device::current().and_then(|device| device.attribute(DeviceAttribute::GpuOverlap));
    asked.is_ok_and(|engines| engines != 0)
}

/// One thread's part of the means: a stream, and two page-locked chunks, one of which is on the bus while the thread fills
/// or empties the other.
struct CopyThread {
    stream: sys::CUstream,
    /// Two of them.
    slots: Vec<Slot>,
}

struct Slot {
    memory: NonNull<u8>,
    /// Happens when the slot's copy is done.
    done: sys::CUevent,
}

// SAFETY: the handles are names that the driver looks up from any thread, the memory is the slot's own.
unsafe impl Send for CopyThread {}

/// An address of host memory that threads share out among each other.
#[derive(Clone, Copy)]
struct Host(*mut u8);

// SAFETY: each thread touches the chunks only that it took.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

/// The chunks of a copy, each handed out once.
struct Chunks<'c> {
    next: &'c AtomicUsize,
    bytes: usize,
}

impl Iterator for Chunks<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let start = self.next.fetch_add(CHUNK, Ordering::Relaxed);
        (start < self.bytes).then(|| start..self.bytes.min(start + CHUNK))
    }
}

/// Lets each thread's thread work on chunks until none is left, and waits for all of them.
fn in_chunks(
    context: &Context,
    threads: &mut [CopyThread],
    bytes: usize,
    work: impl Fn(&CopyThread, Chunks<'_>) -> Result<(), Code> + Sync,
) -> Result<(), Code> {
    let before = Event::new()?;
    before.record(None)?;
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let (next, before, work) = (&next, &before, &work);
        let threads: Vec<_> = threads
            .iter_mut()
            .map(|thread| {
                scope.spawn(move || {
                    context.make_current()?;
                    // SAFETY: both are alive; the null stream waits for all other streams, and so does this one then.
                    answer(unsafe { sys::cuStreamWaitEvent(thread.stream, before.raw(), 0) })?;
                    let worked = work(thread, Chunks { next, bytes });
                    // Nothing may be under way in the slots, or in the borrowed memory, when the threads end.
                    // SAFETY: the stream is alive.
                    worked.and(answer(unsafe { sys::cuStreamSynchronize(thread.stream) }))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err(Code::UNKNOWN))).fold(Ok(()), Result::and)
    })
}

fn new_event() -> Result<sys::CUevent, Code> {
    let mut event = std::ptr::null_mut();
    let untimed = sys::CU_EVENT_DISABLE_TIMING;
    // SAFETY: `event` is a valid place for a handle, and a context is current.
    answer(unsafe { sys::cuEventCreate(&mut event, untimed) })?;
    Ok(event)
}

impl CopyThread {
    /// One for every second core; the other half is the program's.
    fn some() -> Result<Vec<CopyThread>, Code> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let mut threads = Vec::new();
        for _ in 0..(cores / 2).clamp(1, MOST_THREADS) {
            match CopyThread::new() {
                Ok(thread) => threads.push(thread),
                Err(error) if threads.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(threads)
    }

    fn new() -> Result<CopyThread, Code> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: `stream` is a valid place for a handle, and a context is current.
        answer(unsafe { sys::cuStreamCreate(&mut stream, 0) })?;
        let mut thread = CopyThread { stream, slots: Vec::with_capacity(2) };
        for _ in 0..2 {
            match Slot::new() {
                Ok(slot) => thread.slots.push(slot),
                Err(error) => {
                    thread.release();
                    return Err(error);
                }
            }
        }
        Ok(thread)
    }

    /// Copies chunks to the device.
    ///
    /// # Safety
    /// Each chunk lies in memory that is valid at `from` and at `address` until the stream is done.
    unsafe fn send(&self, chunks: Chunks<'_>, from: Host, address: u64) -> Result<(), Code> {
        for (turn, chunk) in chunks.enumerate() {
            let slot = &self.slots[turn % 2];
            if turn >= 2 {
                slot.wait()?;
            }
            // SAFETY: the chunk lies in the source, and in the slot, whose last copy is done.
            unsafe {
                from.0.add(chunk.start).copy_to_nonoverlapping(slot.memory.as_ptr(), chunk.len());
            }
            let to = address + chunk.start as u64;
            // SAFETY: the slot stays as it is until `done`; the caller's promise for the device's side.
            answer(unsafe { sys::cuMemcpyHtoDAsync_v2(to, slot.memory.as_ptr().cast(), chunk.len(), self.stream) })?;
            slot.mark(self.stream)?;
        }
        Ok(())
    }

    /// Copies chunks from the device, one on the bus while the one before is put in its place.
    ///
    /// # Safety
    /// As [`CopyThread::send`], with `to` to be written.
    unsafe fn receive(&self, chunks: Chunks<'_>, to: Host, address: u64) -> Result<(), Code> {
        let mut under_way: Option<(&Slot, Range<usize>)> = None;
        let deliver = |(slot, chunk): (&Slot, Range<usize>)| {
            slot.wait()?;
            // SAFETY: the chunk lies in the destination, and in the slot, whose copy is done.
            unsafe {
                to.0.add(chunk.start).copy_from_nonoverlapping(slot.memory.as_ptr(), chunk.len());
            }
            Ok(())
        };
        for (turn, chunk) in chunks.enumerate() {
            let slot = &self.slots[turn % 2];
            let from = address + chunk.start as u64;
            // SAFETY: what the slot held was delivered two turns ago.
            answer(unsafe { sys::cuMemcpyDtoHAsync_v2(slot.memory.as_ptr().cast(), from, chunk.len(), self.stream) })?;
            slot.mark(self.stream)?;
            if let Some(before) = under_way.replace((slot, chunk)) {
                deliver(before)?;
            }
        }
        under_way.map_or(Ok(()), deliver)
    }

    fn release(self) {
        for slot in self.slots {
            // SAFETY: made by `new`, released once, while nothing uses it.
            let _ = unsafe { sys::cuEventDestroy_v2(slot.done) };
            // SAFETY: as above.
            let _ = unsafe { sys::cuMemFreeHost(slot.memory.as_ptr().cast()) };
        }
        // SAFETY: as above.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.stream) };
    }
}

impl Slot {
    fn new() -> Result<Slot, Code> {
        let mut memory = std::ptr::null_mut();
        // SAFETY: `memory` is a valid place for a pointer, and a context is current.
        answer(unsafe { sys::cuMemAllocHost_v2(&mut memory, CHUNK) })?;
        let place = NonNull::new(memory.cast()).ok_or(Code::UNKNOWN)?;
        match new_event() {
            Ok(done) => Ok(Slot { memory: place, done }),
            Err(error) => {
                // SAFETY: allocated above, and not known elsewhere.
                let _ = unsafe { sys::cuMemFreeHost(memory) };
                Err(error)
            }
        }
    }

    fn mark(&self, stream: sys::CUstream) -> Result<(), Code> {
        // SAFETY: both are alive.
        answer(unsafe { sys::cuEventRecord(self.done, stream) })
    }

    fn wait(&self) -> Result<(), Code> {
        // SAFETY: the event is alive.
        answer(unsafe { sys::cuEventSynchronize(self.done) })
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Code, CopyThread, Host, in_chunks};
    use crate::devices::device::Device;
    use rumba_driver::code;
    use rumba_driver::fault::{self, Fault};

    /// On any device, whether it has a use for it or not.
    #[test]
    fn copies_of_every_length_arrive_whole() {
        let device = Device::new().unwrap();
        let context = device.context();
        let mut threads: Vec<CopyThread> = {
            let _entered = context.enter(String::new).unwrap();
            (0..3).map(|_| CopyThread::new().unwrap_or_else(|_| panic!("the device makes streams"))).collect()
        };
        for bytes in [1, CHUNK - 1, CHUNK, CHUNK + 1, 7 * CHUNK + 12_345] {
            let source: Vec<u8> = (0..bytes).map(|i| (i % 251) as u8).collect();
            let mut back = vec![0_u8; bytes];
            let buffer = device.zeros::<u8>(bytes).unwrap();
            let address = buffer.as_device_pointer().address();
            let entered = context.enter(String::new).unwrap();
            let (from, to) = (Host(source.as_ptr().cast_mut()), Host(back.as_mut_ptr()));
            // SAFETY: both vectors and the buffer are `bytes` long and live on.
            let sent = in_chunks(&context, &mut threads, bytes, |thread, chunks| unsafe {
                thread.send(chunks, from, address)
            });
            // SAFETY: as above.
            let came = in_chunks(&context, &mut threads, bytes, |thread, chunks| unsafe {
                thread.receive(chunks, to, address)
            });
            assert!(entered.check(sent.and(came), String::new).is_ok());
            assert!(source == back, "{bytes} bytes");
        }
        let _entered = context.enter(String::new).unwrap();
        threads.into_iter().for_each(CopyThread::release);
    }
    /// Each call fails that makes a part of a thread's means; the other parts go back to the driver.
    #[test]
    fn means_that_cannot_be_made_leave_nothing_behind() {
        // The calls and objects of all threads count.
        test_processes::alone(&[], || {
            let device = Device::new()?;
            let context = device.context();
            let _entered = context.enter(String::new)?;
            let before = fault::objects();
            for call in 1.. {
                fault::begin(Some(Fault { call, error: code::Code::OUT_OF_MEMORY }));
                let made = CopyThread::new();
                let is_failed = fault::end().failed.is_some();
                match made {
                    Ok(thread) => thread.release(),
                    Err(error) => assert!(is_failed && error == Code::OUT_OF_MEMORY, "{error:?}"),
                }
                assert_eq!(fault::objects(), before, "call {call}");
                if !is_failed {
                    assert!(call > 5, "a stream, and memory and an event of two slots");
                    break;
                }
            }
            Ok(())
        });
    }
}
