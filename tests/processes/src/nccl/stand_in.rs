//! A stand-in for NCCL between processes of this machine, for memory of the software device: what `ncclCommInitRankConfig` and the
//! operations behind it do, by TCP. Compiled by itself, as a library that programs load.
//!
//! Like NCCL, it does its work in a stream's order, answers before that is done, and waits for a rank that is gone until it is aborted.
//! `STAND_IN_NCCL` makes a rank `slow:RANK` when ranks are joined, or fail: `join:RANK` when ranks are joined, `put:RANK` when an operation is put on a stream, `operation:RANK`
//! while one runs, which `hang:RANK` does not end.

#![allow(non_snake_case, clippy::missing_safety_doc)]

use std::ffi::{c_char, c_int, c_void};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

const SUCCESS: c_int = 0;
const INVALID_ARGUMENT: c_int = 4;
const INVALID_USAGE: c_int = 5;
const REMOTE_ERROR: c_int = 6;

type HostFunction = unsafe extern "C" fn(*mut c_void);
type LaunchHostFunc = unsafe extern "C" fn(*mut c_void, HostFunction, *mut c_void) -> c_int;

static LAUNCH: OnceLock<LaunchHostFunc> = OnceLock::new();

#[unsafe(no_mangle)]
extern "C" fn rumba_nccl_on_software(launch: LaunchHostFunc) {
    let _ = LAUNCH.set(launch);
}

/// One rank of a communicator.
struct Comm {
    rank: usize,
    size: usize,
    state: AtomicI32,
    aborted: AtomicBool,
    link: Mutex<Option<TcpStream>>,
}

/// The header that each rank sends before its elements.
#[derive(Clone, Copy, PartialEq)]
struct Head {
    kind: u64,
    element: u64,
    argument: u64,
    bytes: u64,
}

const ALL_REDUCE: u64 = 1;
const BROADCAST: u64 = 2;
const ALL_GATHER: u64 = 3;
const REDUCE_SCATTER: u64 = 4;

impl Head {
    fn new(kind: u64, element: c_int, argument: c_int, bytes: usize) -> Head {
        let [element, argument, bytes] = [element as u64, argument as u64, bytes as u64];
        Head { kind, element, argument, bytes }
    }

    fn bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (place, word) in bytes.chunks_exact_mut(8).zip([self.kind, self.element, self.argument, self.bytes]) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn of(bytes: [u8; 32]) -> Head {
        let word = |at: usize| u64::from_le_bytes(bytes[8 * at..][..8].try_into().expect("8 bytes"));
        Head { kind: word(0), element: word(1), argument: word(2), bytes: word(3) }
    }
}

/// Does what rank 0's process does for all: takes what each rank has, and gives each the result.
fn hub(listener: TcpListener) -> std::io::Result<()> {
    let mut links: Vec<Option<TcpStream>> = Vec::new();
    loop {
        let (mut link, _) = listener.accept()?;
        let mut hello = [0; 16];
        link.read_exact(&mut hello)?;
        let [rank, size] = [0, 8].map(|at| u64::from_le_bytes(hello[at..][..8].try_into().expect("8 bytes")) as usize);
        links.resize_with(size, || None);
        links[rank] = Some(link);
        if links.iter().all(Option::is_some) {
            break;
        }
    }
    let mut links: Vec<TcpStream> = links.into_iter().flatten().collect();
    for link in &mut links {
        link.write_all(&[1])?;
    }
    loop {
        let mut parts = Vec::new();
        let mut heads = Vec::new();
        for link in &mut links {
            let mut head = [0; 32];
            link.read_exact(&mut head)?;
            let head = Head::of(head);
            let mut part = vec![0; head.bytes as usize];
            link.read_exact(&mut part)?;
            heads.push(head);
            parts.push(part);
        }
        assert!(heads.iter().all(|head| *head == heads[0]), "ranks are at different operations");
        let head = heads[0];
        let result = match head.kind {
            ALL_REDUCE | REDUCE_SCATTER => reduce(&parts, head.element, head.argument),
            BROADCAST => parts[head.argument as usize].clone(),
            _ => parts.concat(),
        };
        for (link, rank) in links.iter_mut().zip(0..) {
            let part = result.len() / parts.len();
            let all = if head.kind == REDUCE_SCATTER { rank * part..(rank + 1) * part } else { 0..result.len() };
            link.write_all(&result[all])?;
        }
    }
}

fn reduce(parts: &[Vec<u8>], element: u64, op: u64) -> Vec<u8> {
    macro_rules! by_type {
        ($($number:literal: $type:ty, $add:expr, $multiply:expr;)*) => {
            match element {
                $($number => {
                    const SIZE: usize = size_of::<$type>();
                    let read = |bytes: &[u8]| <$type>::from_le_bytes(bytes.try_into().expect("one element"));
                    let (add, multiply): (fn($type, $type) -> $type, fn($type, $type) -> $type) = ($add, $multiply);
                    let all = (0..parts[0].len() / SIZE).flat_map(|index| {
                        let values = parts.iter().map(|part| read(&part[index * SIZE..][..SIZE]));
                        let value = values.reduce(|a, b| match op {
                            0 | 4 => add(a, b),
                            1 => multiply(a, b),
                            2 => if a > b { a } else { b },
                            _ => if a < b { a } else { b },
                        });
                        let value = value.expect("there is a rank");
                        let value = if op == 4 { value / parts.len() as $type } else { value };
                        value.to_le_bytes()
                    });
                    all.collect()
                })*
                _ => panic!("elements of type {element} are not served"),
            }
        };
    }
    by_type! {
        0: i8, i8::wrapping_add, i8::wrapping_mul;
        1: u8, u8::wrapping_add, u8::wrapping_mul;
        2: i32, i32::wrapping_add, i32::wrapping_mul;
        3: u32, u32::wrapping_add, u32::wrapping_mul;
        4: i64, i64::wrapping_add, i64::wrapping_mul;
        5: u64, u64::wrapping_add, u64::wrapping_mul;
        7: f32, |a, b| a + b, |a, b| a * b;
        8: f64, |a, b| a + b, |a, b| a * b;
    }
}

#[repr(C)]
struct UniqueId([u8; 128]);

#[repr(C)]
struct Config {
    size: usize,
    magic: u32,
    version: u32,
    blocking: c_int,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGetVersion(version: *mut c_int) -> c_int {
    unsafe { *version = 22_809 };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn ncclGetErrorString(code: c_int) -> *const c_char {
    let text = match code {
        REMOTE_ERROR => c"remote process exited or there was a network error",
        INVALID_ARGUMENT => c"invalid argument",
        _ => c"invalid usage",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn ncclGetLastError(_: *mut Comm) -> *const c_char {
    c"the stand-in was told to fail".as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclGetUniqueId(id: *mut UniqueId) -> c_int {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let id = unsafe { &mut *id };
    id.0 = [7; 128];
    id.0[..2].copy_from_slice(&port.to_le_bytes());
    thread::spawn(move || {
        // Ranks that still wait for the one that is gone go on waiting: the listener and the links stay.
        let _ = hub(listener);
    });
    SUCCESS
}

/// Whether this rank is told to fail in this way.
fn fails(way: &str, rank: usize) -> bool {
    std::env::var("STAND_IN_NCCL").is_ok_and(|told| told == format!("{way}:{rank}"))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommInitRankConfig(
    comm: *mut *const Comm,
    size: c_int,
    id: UniqueId,
    rank: c_int,
    config: *mut Config,
) -> c_int {
    let config = unsafe { &*config };
    if config.magic != 0xcafe_beef || config.version != 21_400 || config.size != 24 || id.0[127] != 7 {
        return INVALID_ARGUMENT;
    }
    // Refuses communicators that do not block, which start a thread for each operation.
    if config.blocking != 1 || size < 1 || rank >= size {
        return INVALID_USAGE;
    }
    let own = Arc::new(Comm {
        rank: rank as usize,
        size: size as usize,
        state: AtomicI32::new(SUCCESS),
        aborted: AtomicBool::new(false),
        link: Mutex::new(None),
    });
    unsafe { *comm = Arc::into_raw(own.clone()) };
    let port = u16::from_le_bytes([id.0[0], id.0[1]]);
    if fails("join", own.rank) {
        return REMOTE_ERROR;
    }
    let Ok(mut link) = TcpStream::connect(("127.0.0.1", port)) else {
        return REMOTE_ERROR;
    };
    let hello = [rank as u64, size as u64].map(u64::to_le_bytes).concat();
    if link.write_all(&hello).is_err() || !receive(&own, &mut link, &mut [0]) {
        return REMOTE_ERROR;
    }
    *own.link.lock().expect("no thread panics") = Some(link);
    if fails("slow", own.rank) {
        thread::sleep(Duration::from_millis(200));
    }
    SUCCESS
}

/// Waits for bytes, until the communicator is aborted.
fn receive(comm: &Comm, link: &mut TcpStream, bytes: &mut [u8]) -> bool {
    let _ = link.set_read_timeout(Some(Duration::from_millis(5)));
    let mut done = 0;
    while done < bytes.len() {
        if comm.aborted.load(SeqCst) {
            return false;
        }
        match link.read(&mut bytes[done..]) {
            // Waits even for a lost peer, as NCCL does between GPUs that share memory.
            Ok(0) => thread::sleep(Duration::from_millis(5)),
            Ok(count) => done += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
    true
}

/// An operation on a stream.
struct Job {
    comm: Arc<Comm>,
    head: Head,
    source: usize,
    target: usize,
    result: usize,
}

/// In the stream's order.
unsafe extern "C" fn work(job: *mut c_void) {
    let job = unsafe { Box::from_raw(job.cast::<Job>()) };
    let [fails, hangs] = ["operation", "hang"].map(|way| fails(way, job.comm.rank));
    if fails || hangs {
        if fails {
            job.comm.state.store(REMOTE_ERROR, SeqCst);
        }
        // The stream waits, as it does for a kernel of NCCL's, until the communicator is aborted.
        while !job.comm.aborted.load(SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        return;
    }
    let mut link = job.comm.link.lock().expect("no thread panics");
    let link = link.as_mut().expect("the ranks are joined");
    let own = unsafe { std::slice::from_raw_parts(job.source as *const u8, job.head.bytes as usize) };
    let _ = link.write_all(&job.head.bytes()).and_then(|()| link.write_all(own));
    let mut result = vec![0; job.result];
    if receive(&job.comm, link, &mut result) {
        unsafe { std::ptr::copy_nonoverlapping(result.as_ptr(), job.target as *mut u8, result.len()) };
    }
}

/// Puts an operation on a stream, as a communicator that blocks does.
fn begin(comm: *const Comm, head: Head, source: u64, target: u64, result: usize, stream: *mut c_void) -> c_int {
    let own = unsafe {
        Arc::increment_strong_count(comm);
        Arc::from_raw(comm)
    };
    if fails("put", own.rank) {
        return REMOTE_ERROR;
    }
    let job = Job { comm: own, head, source: source as usize, target: target as usize, result };
    let launch = LAUNCH.get().expect("the program is Rumba's");
    unsafe { launch(stream, work, Box::into_raw(Box::new(job)).cast()) }
}

fn size_of_element(element: c_int) -> usize {
    [1, 1, 4, 4, 8, 8, 2, 4, 8, 2][element as usize]
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclAllReduce(
    source: u64,
    target: u64,
    count: usize,
    element: c_int,
    op: c_int,
    comm: *const Comm,
    stream: *mut c_void,
) -> c_int {
    let bytes = count * size_of_element(element);
    begin(comm, Head::new(ALL_REDUCE, element, op, bytes), source, target, bytes, stream)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclBroadcast(
    source: u64,
    target: u64,
    count: usize,
    element: c_int,
    root: c_int,
    comm: *const Comm,
    stream: *mut c_void,
) -> c_int {
    let bytes = count * size_of_element(element);
    begin(comm, Head::new(BROADCAST, element, root, bytes), source, target, bytes, stream)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclAllGather(
    source: u64,
    target: u64,
    count: usize,
    element: c_int,
    comm: *const Comm,
    stream: *mut c_void,
) -> c_int {
    let bytes = count * size_of_element(element);
    let head = Head::new(ALL_GATHER, element, 0, bytes);
    let size = unsafe { (*comm).size };
    begin(comm, head, source, target, bytes * size, stream)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclReduceScatter(
    source: u64,
    target: u64,
    count: usize,
    element: c_int,
    op: c_int,
    comm: *const Comm,
    stream: *mut c_void,
) -> c_int {
    let bytes = count * size_of_element(element);
    let size = unsafe { (*comm).size };
    begin(comm, Head::new(REDUCE_SCATTER, element, op, bytes * size), source, target, bytes, stream)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommGetAsyncError(comm: *const Comm, state: *mut c_int) -> c_int {
    unsafe { *state = (*comm).state.load(SeqCst) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommFinalize(comm: *const Comm) -> c_int {
    unsafe { (*comm).state.store(SUCCESS, SeqCst) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommDestroy(comm: *const Comm) -> c_int {
    drop(unsafe { Arc::from_raw(comm) });
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ncclCommAbort(comm: *const Comm) -> c_int {
    let comm = unsafe { Arc::from_raw(comm) };
    comm.aborted.store(true, SeqCst);
    SUCCESS
}

/// Functions of communicators within one process, which a program on the software device never calls.
macro_rules! unserved {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> c_int {
            INVALID_USAGE
        }
    )*};
}

unserved!(ncclCommInitAll ncclGroupStart ncclGroupEnd ncclSend ncclRecv);
