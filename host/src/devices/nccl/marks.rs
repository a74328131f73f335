//! Marks of streams in host memory: each stream writes the numbers of operations that are done to a word of its own.
//!
//! A thread that watches other processes reads the words. It must not ask the driver: while another thread of the process copies between
//! host and device, the driver lets calls of the context wait for that copy, and the copy may wait for an operation that only the watcher
//! ends. So another thread puts the marks on streams. A mark takes a stream several microseconds, as long as a small operation, so many
//! operations share a mark.

use crate::base::error::{Code, Result, answer};
use crate::context::Context;
use crate::cuda::sys;
use crate::streams::stream::Stream;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Streams whose operations are in progress at a time, at most.
const STREAMS: usize = 512;

pub(in crate::devices) struct Marks {
    context: Arc<Context>,
    words: *mut u32,
    address: u64,
    /// The streams that words belong to.
    streams: Vec<Marked>,
    /// The number of the last operation before a mark.
    last: u64,
}

/// A stream, and the last operation before its last mark.
struct Marked {
    queue: u64,
    number: u64,
}

// SAFETY: the words are used as atomics only.
unsafe impl Send for Marks {}

impl Marks {
    pub(in crate::devices) fn new(context: &Arc<Context>) -> Result<Marks> {
        let operation = || "allocate the marks of a group of ranks".to_owned();
        let entered = context.enter(operation)?;
        let (mut words, mut address): (*mut c_void, u64) = (std::ptr::null_mut(), 0);
        let bytes = STREAMS * size_of::<u32>();
        // SAFETY: the context is current, and the places are valid.
        let allocated = answer(unsafe { sys::cuMemHostAlloc(&mut words, bytes, sys::CU_MEMHOSTALLOC_DEVICEMAP) });
        entered.check(allocated, operation)?;
        let words = words.cast();
        let mut marks = Marks { context: context.clone(), words, address: 0, streams: Vec::new(), last: 0 };
        // SAFETY: allocated just now; `address` is a valid place.
        let mapped = answer(unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, words.cast(), 0) });
        entered.check(mapped, operation)?;
        marks.address = address;
        Ok(marks)
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        // SAFETY: one of the allocated words, which are aligned and used as atomics only.
        unsafe { AtomicU32::from_ptr(self.words.add(index)) }
    }

    /// The number of the last operation on a marked stream that is done, or of one before it that another stream did.
    fn done(&self, index: usize) -> u64 {
        let number = self.streams[index].number;
        number - u64::from((number as u32).wrapping_sub(self.word(index).load(Ordering::Acquire)))
    }

    /// The number of the last operation that is known to be done. NCCL does the operations of a rank in order.
    pub(in crate::devices) fn look(&self) -> u64 {
        let indices = 0..self.streams.len();
        if indices.clone().all(|index| self.done(index) == self.streams[index].number) {
            return self.last;
        }
        indices.map(|index| self.done(index)).max().unwrap_or(0)
    }

    /// The word for operations on a queue. A new word says what is known to be done.
    fn index(&mut self, queue: u64, known: u64) -> usize {
        if let Some(index) = self.streams.iter().position(|marked| marked.queue == queue) {
            return index;
        }
        loop {
            if self.streams.len() < STREAMS {
                self.word(self.streams.len()).store(known as u32, Ordering::Release);
                self.streams.push(Marked { queue, number: known });
                return self.streams.len() - 1;
            }
            let idle = (0..STREAMS).find(|&index| self.done(index) == self.streams[index].number);
            if let Some(index) = idle {
                self.word(index).store(known as u32, Ordering::Release);
                self.streams[index] = Marked { queue, number: known };
                return index;
            }
            std::thread::yield_now();
        }
    }

    /// Puts a mark on a stream, or on the default stream, behind the operation of a number, unless a later operation there has one.
    pub(in crate::devices) fn put(&mut self, stream: Option<&Stream>, number: u64) -> Result<()> {
        let operation = || "mark an operation of a group of ranks".to_owned();
        let context = self.context.clone();
        let queue = match stream {
            Some(stream) => stream.queue(operation)?,
            None => &context.queues.default,
        };
        let entered = context.enter(operation)?;
        let known = self.look();
        let index = self.index(queue.id(), known);
        if number <= self.streams[index].number {
            return Ok(());
        }
        let address = self.address + (index * size_of::<u32>()) as u64;
        // SAFETY: the word stays until `drop`, which waits for the stream.
        let written = answer(unsafe { sys::cuStreamWriteValue32_v2(queue.raw.raw(), address, number as u32, 0) });
        entered.check(written, operation)?;
        self.streams[index].number = number;
        self.last = self.last.max(number);
        Ok(())
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        if let Some(_entered) = self.context.enter_to_release() {
            // Behind an aborted operation, marks may still be on streams. An error is a fault that every later call reports.
            let _: Result<(), Code> = crate::cuda::synchronize();
            // SAFETY: allocated by `new`, and no stream writes to it any more.
            let _ = unsafe { sys::cuMemFreeHost(self.words.cast()) };
        }
    }
}
