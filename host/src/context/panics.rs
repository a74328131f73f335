//! Panics of kernels: where the device rings, and how the records are read.
//!
//! Every module whose kernels can panic has a record in device memory ([`cuda_std::panic`]) and a bell, a word of host
//! memory to which the device writes the record's address. Looking at a bell costs a load; the record is read only when
//! it has rung. When to look is the callers' business: after each wait for the device.
//!
//! A launch that waits for its own kernel is told of its panic, whatever other threads wait for meanwhile; so are all such
//! launches of the module that are in progress then, since a record does not say of which launch it is. Any other panic is
//! reported once: by the next wait of a thread that has launched kernels of the module, or the next wait for a stream that
//! they were launched on. Threads that use the device for something else, as the tests of one program do, do not see it,
//! unless all threads that launched the module have ended.

use crate::base::error::{Code, KernelPanic, answer};
use crate::context::raw;
use crate::context::users::{Users, Waited};
use crate::cuda::sys;
use bytemuck::Zeroable;
use cuda_std::panic::{PanicLocation, RECORD_SYMBOL, Record};
use parking_lot::Mutex;
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest text that is believed.
const MAX_TEXT: u64 = 1 << 16;

/// A record as the host copies it.
type Words = [u64; size_of::<Record>() / 8];

/// The records of threads that panicked in a context.
#[derive(Default)]
pub(crate) struct Panics {
    /// The bells of the loaded modules.
    bells: Mutex<Vec<Arc<Bell>>>,
    /// A panic of a module that was dropped before its bell was read.
    left: Mutex<Option<KernelPanic>>,
}

/// A word of pinned host memory: 0, or the address of a record in which a panic is written.
pub(crate) struct Bell {
    word: *mut u64,
    /// Held while the word is read, so that a panic is taken by the launch that waits for it.
    heard: Mutex<Heard>,
    /// The threads that have launched kernels of the module.
    users: Users,
}

/// The launches that wait for a bell, and what it has rung for.
#[derive(Default)]
struct Heard {
    /// Launches in progress that look by themselves.
    waiting: usize,
    /// How many panics were taken by them.
    count: u64,
    /// The last of them.
    last: Option<KernelPanic>,
}

/// A launch that waits for its kernel, begun before the kernel is.
pub(crate) struct Waiting<'a> {
    bell: &'a Bell,
    /// [`Heard::count`] then.
    from: u64,
}

// SAFETY: the word is used as an atomic only.
unsafe impl Send for Bell {}
// SAFETY: as above.
unsafe impl Sync for Bell {}

impl Bell {
    /// The bell, and where the device finds it.
    fn new() -> Result<(Bell, u64), Code> {
        let (mut word, mut address) = (std::ptr::null_mut(), 0);
        // SAFETY: the context is current, as for every function here; both are valid places.
        unsafe {
            answer(sys::cuMemHostAlloc(&mut word, size_of::<u64>(), sys::CU_MEMHOSTALLOC_DEVICEMAP))?;
            if let Err(error) = answer(sys::cuMemHostGetDevicePointer_v2(&mut address, word, 0)) {
                // It was allocated just now, and no kernel knows it.
                let _ = sys::cuMemFreeHost(word);
                return Err(error);
            }
        }
        let bell = Bell { word: word.cast(), heard: Mutex::default(), users: Users::default() };
        bell.word().store(0, Ordering::Relaxed);
        Ok((bell, address))
    }

    fn word(&self) -> &AtomicU64 {
        // SAFETY: aligned, allocated until `Panics::detach`, and used as an atomic only.
        unsafe { AtomicU64::from_ptr(self.word) }
    }

    /// Before a launch that will wait.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        let mut heard = self.heard.lock();
        heard.waiting += 1;
        let from = heard.count;
        Waiting { bell: self, from }
    }

    /// Notes the thread and the stream of a launch, before it.
    #[inline]
    pub(crate) fn launch(&self, stream: u64) {
        self.users.note(stream);
    }

    /// The panic it rang for, unless a launch in progress will take it, or another thread.
    fn take_if_idle(&self, waited: Waited) -> Result<Option<KernelPanic>, Code> {
        let heard = self.heard.lock();
        if heard.waiting > 0 || self.word().load(Ordering::Relaxed) == 0 || !self.users.include(waited) {
            return Ok(None);
        }
        self.take()
    }

    /// The panic it rang for. Silences it.
    fn take(&self) -> Result<Option<KernelPanic>, Code> {
        match self.word().swap(0, Ordering::Acquire) {
            0 => Ok(None),
            // SAFETY: only `__rumba_raise` of the module's kernels rings, with the address of the module's record, which stays
            // until `Panics::detach`.
            record => match unsafe { read(record) } {
                Ok(panic) => {
                    HEARD.fetch_add(1, Ordering::Relaxed);
                    Ok(Some(panic))
                }
                Err(error) => {
                    // The record is kept, and no other panic overwrites it: the next wait reads it again.
                    self.word().store(record, Ordering::Relaxed);
                    Err(error)
                }
            },
        }
    }

    /// Gives the memory of the bell back to the driver, in the current context.
    ///
    /// # Safety
    /// No kernel rings any more, and nothing reads the word afterwards.
    unsafe fn release(&self) {
        // SAFETY: allocated by `Bell::new`, and the caller's promise. An error is a fault that every later call reports.
        let _ = unsafe { sys::cuMemFreeHost(self.word.cast()) };
    }
}

static HEARD: AtomicU64 = AtomicU64::new(0);

/// Panics of kernels that the process has heard of so far.
pub(crate) fn heard() -> u64 {
    HEARD.load(Ordering::Relaxed)
}

impl Waiting<'_> {
    /// The panic of a kernel of the module, after the wait.
    pub(super) fn panic(&self) -> Result<Option<KernelPanic>, Code> {
        let mut heard = self.bell.heard.lock();
        if let Some(panic) = self.bell.take()? {
            heard.count += 1;
            heard.last = Some(panic);
        }
        Ok(heard.last.clone().filter(|_| heard.count > self.from))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.bell.heard.lock().waiting -= 1;
    }
}

impl Panics {
    /// Tells a module's kernels where to ring, if they can panic.
    pub(crate) fn attach(&self, module: &crate::cuda::Module, ptx: &str) -> Result<Option<Arc<Bell>>, Code> {
        // Another program's variable of this name may have another size.
        if !ptx.contains(&format!("{RECORD_SYMBOL}[{}]", size_of::<Record>())) {
            return Ok(None);
        }
        let symbol = CString::new(RECORD_SYMBOL).expect("the name has no zero");
        let (record, _) = module.variable(&symbol)?;
        let (bell, address) = Bell::new()?;
        let words: Words = bytemuck::cast(Record::with_bell(address));
        // SAFETY: the variable has the size of a record, as the text says, and the module is loaded.
        if let Err(error) = unsafe { raw::copy_in(record, bytemuck::bytes_of(&words)) } {
            // SAFETY: none of the module's kernels was launched.
            unsafe { bell.release() };
            return Err(error);
        }
        let bell = Arc::new(bell);
        self.bells.lock().push(bell.clone());
        Ok(Some(bell))
    }

    /// Forgets a module that is about to be unloaded, none of whose kernels run any more.
    pub(crate) fn detach(&self, bell: &Arc<Bell>) {
        let mut bells = self.bells.lock();
        bells.retain(|other| !Arc::ptr_eq(other, bell));
        if let Ok(Some(panic)) = bell.take() {
            self.left.lock().get_or_insert(panic);
        }
        // SAFETY: no kernel writes to it any more, and with the lock held it is not read.
        unsafe { bell.release() };
    }

    /// The panic that a thread of a kernel has left behind, after a wait for the device.
    pub(crate) fn take(&self, waited: Waited) -> Result<Option<KernelPanic>, Code> {
        let bells = self.bells.lock();
        let mut found = self.left.lock().take();
        for bell in bells.iter() {
            match bell.take_if_idle(waited) {
                Ok(None) => {}
                Ok(Some(panic)) => match &mut found {
                    None => found = Some(panic),
                    Some(first) => first.threads = first.threads.saturating_add(panic.threads),
                },
                Err(error) => {
                    // The next wait tells of what was found so far.
                    *self.left.lock() = found;
                    return Err(error);
                }
            }
        }
        Ok(found)
    }
}

/// Reads a record and makes it ready for the next panic.
///
/// # Safety
/// `address` is that of a [`Record`] in which the device has written a panic, in a module of the current context.
#[cold]
unsafe fn read(address: u64) -> Result<KernelPanic, Code> {
    let mut record = Record::zeroed();
    // SAFETY: the caller's promise.
    unsafe { raw::copy_out(address, bytemuck::bytes_of_mut(&mut record)) }?;
    let mut place = PanicLocation::zeroed();
    // SAFETY: a panic has the address of a constant of its module, as do the texts in and below it.
    unsafe { raw::copy_out(record.place, bytemuck::bytes_of_mut(&mut place)) }?;
    // SAFETY: as above.
    let (message, file) = unsafe { (text(record.text)?, text(place.file)?) };
    // At last: where one of these copies fails, the panic is still there to be read.
    let unread = Record::with_bell(record.bell);
    // SAFETY: as above; the device writes no further panic before the record is unread again.
    unsafe { raw::copy_in(address, bytemuck::bytes_of(&unread)) }?;
    let [block_x, block_y, block_z, x, y, z] = record.indices;
    Ok(KernelPanic {
        message: record.message(&message),
        file,
        line: place.line,
        column: place.column,
        kernel: None,
        block: [block_x, block_y, block_z],
        thread: [x, y, z],
        threads: record.count,
    })
}

/// # Safety
/// At `address` are `length` bytes of one allocation or module of the current context.
unsafe fn text([address, length]: [u64; 2]) -> Result<String, Code> {
    let mut bytes = vec![0; length.min(MAX_TEXT) as usize];
    // SAFETY: the caller's promise.
    unsafe { raw::copy_out(address, &mut bytes) }?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
