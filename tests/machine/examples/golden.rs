//! Makes the lines of `tests/h200.txt` on a GPU: each line on standard input, an instruction and its types, comes out with
//! the hash of its results. With `--dump`, operands and results come out instead; with `--errors`, the worst errors of
//! the GPU's approximate functions. With `--matrix` the lines are those of `tests/matrix/h200.txt`: an instruction and what
//! follows it, with the hash for each kind of operands; `--groups` writes lines of products of warp groups, which that takes:
//! `golden --groups | golden --matrix`. With `--transfers` they are those of `tests/transfers/h200.txt`: copies of tensors and in bulk,
//! and what becomes of them, or `fault`; with a folder behind it, what the kernel left is written there too. Needs NVIDIA's driver and nothing else; the software device has no part in it.

#[path = "../tests/it/transfers/case.rs"]
mod case;
#[path = "../tests/it/matrix/form.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod form;
#[path = "../tests/it/matrix/group.rs"]
mod group;
#[path = "../tests/it/vectors/mod.rs"]
mod vectors;
#[path = "../tests/it/matrix/warp.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod warp;

use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::io::{BufRead, Write};
use std::ptr::{null, null_mut};

use case::{Case, RESULT};
use form::{Form, KINDS, TILES};
use vectors::errors::{FUNCTIONS, INPUTS};
use vectors::{COUNT, Line};

/// A function of the driver whose result is an error code.
macro_rules! call {
    ($library:expr, $name:literal, ($($ty:ty),*), $($argument:expr),*) => {{
        let place = $library.find($name)?;
        // SAFETY: the driver's header declares the function with these types.
        let function = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) -> c_int>(place) };
        // SAFETY: the arguments match the function's declaration.
        match unsafe { function($($argument),*) } {
            0 => Ok(()),
            code => Err(format!("{}: error {code}", $name)),
        }
    }};
}

struct Library(*mut c_void);

impl Library {
    fn open() -> Result<Self, String> {
        // SAFETY: the name is a C string.
        let handle = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            return Err("there is no libcuda.so.1".into());
        }
        Ok(Self(handle))
    }

    fn find(&self, name: &str) -> Result<*mut c_void, String> {
        let symbol = CString::new(name).map_err(|error| error.to_string())?;
        // SAFETY: the library is open, the name is a C string.
        let place = unsafe { libc::dlsym(self.0, symbol.as_ptr()) };
        if place.is_null() { Err(format!("the driver has no {name}")) } else { Ok(place) }
    }
}

/// Bytes of operands, and of results.
const BYTES: usize = 16 << 20;

const _: () = assert!(16 * INPUTS <= BYTES);

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The device's memory for operands and results.
struct Gpu {
    library: Library,
    input: u64,
    output: u64,
}

impl Gpu {
    fn new() -> Result<Self, String> {
        let library = Library::open()?;
        let (mut device, mut context) = (0, null_mut::<c_void>());
        call!(library, "cuInit", (c_uint), 0)?;
        call!(library, "cuDeviceGet", (*mut c_int, c_int), &raw mut device, 0)?;
        call!(library, "cuDevicePrimaryCtxRetain", (*mut *mut c_void, c_int), &raw mut context, device)?;
        call!(library, "cuCtxSetCurrent", (*mut c_void), context)?;
        let (mut input, mut output) = (0, 0);
        call!(library, "cuMemAlloc_v2", (*mut u64, usize), &raw mut input, BYTES)?;
        call!(library, "cuMemAlloc_v2", (*mut u64, usize), &raw mut output, BYTES)?;
        Ok(Self { library, input, output })
    }

    /// The results of a kernel whose blocks have 256 threads.
    fn run(&self, kernel: &str, operands: &[u64], blocks: usize, count: usize) -> Result<Vec<u64>, String> {
        let bytes: Vec<u8> = operands.iter().flat_map(|operand| operand.to_le_bytes()).collect();
        let results = self.run_bytes(kernel, &bytes, (blocks, 256), 8 * count)?;
        let (words, _) = results.as_chunks();
        Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    /// The hashes of the results of a matrix instruction for each kind of operands.
    fn matrix(&self, line: &str) -> Result<Vec<u64>, String> {
        let kernel = warp::kernel(line);
        let results = KINDS.iter().map(|kind| {
            let input = if line.starts_with("mma") {
                Form::parse(line).input(kind, TILES)
            } else {
                kernel.input(line, kind, kernel.tiles)
            };
            let size = (kernel.tiles, kernel.threads);
            Ok(hash(&self.run_bytes(&kernel.ptx, &input, size, kernel.tiles * kernel.output_bytes)?))
        });
        results.collect()
    }

    fn run_bytes(
        &self,
        kernel: &str,
        operands: &[u8],
        (blocks, threads): (usize, usize),
        bytes: usize,
    ) -> Result<Vec<u8>, String> {
        let (module, function) = self.load(kernel)?;
        self.write(self.input, operands)?;
        let (mut input, mut output) = (self.input, self.output);
        let mut parameters = [(&raw mut input).cast::<c_void>(), (&raw mut output).cast::<c_void>()];
        self.launch(function, (blocks, threads), &mut parameters)?;
        let results = self.read(self.output, bytes)?;
        call!(self.library, "cuModuleUnload", (*mut c_void), module)?;
        Ok(results)
    }

    /// The memory after a copy, or `None` if the copy ends the kernel, after which no call works any more.
    fn transfer(&self, case: &Case<'_>) -> Result<Option<Vec<u8>>, String> {
        let tensor = self.output + (RESULT - case::TENSOR) as u64;
        let mut map = Aligned([0; 128]);
        if !case.sizes.is_empty() {
            self.encode(case, tensor, &mut map)?;
        }
        let (module, function) = self.load(&case.ptx())?;
        self.write(self.output, &case.memory(&map.0))?;
        let mut output = self.output;
        let (mut at, mut offsets) = ([0_i32; 5], [0_i16; 3]);
        at.copy_from_slice(&case.at);
        for (to, offset) in offsets.iter_mut().zip(&case.offsets) {
            *to = *offset as i16;
        }
        let mut parameters = [
            (&raw mut map).cast::<c_void>(),
            (&raw mut output).cast(),
            (&raw mut at).cast(),
            (&raw mut offsets).cast(),
        ];
        self.launch(function, (1, 1), &mut parameters)?;
        let Ok(mut results) = self.read(self.output, RESULT) else {
            return Ok(None);
        };
        call!(self.library, "cuModuleUnload", (*mut c_void), module)?;
        case.outcome(&mut results);
        Ok(Some(results))
    }

    /// Lets the driver make the map.
    fn encode(&self, case: &Case<'_>, address: u64, map: &mut Aligned) -> Result<(), String> {
        // The strides of a tensor of one dimension are none, and still are given.
        let strides = [case.strides(), vec![0]].concat();
        let image = (&raw mut map.0).cast::<c_void>();
        let rank = case.sizes.len() as c_uint;
        if !case.is_columns() {
            return call!(
                self.library,
                "cuTensorMapEncodeTiled",
                (
                    *mut c_void,
                    c_uint,
                    c_uint,
                    u64,
                    *const u64,
                    *const u64,
                    *const c_uint,
                    *const c_uint,
                    c_uint,
                    c_uint,
                    c_uint,
                    c_uint
                ),
                image,
                case.element(),
                rank,
                address,
                case.sizes.as_ptr(),
                strides.as_ptr(),
                case.extent.as_ptr(),
                case.steps.as_ptr(),
                case.interleave,
                case.swizzle,
                0,
                case.fill
            );
        }
        call!(
            self.library,
            "cuTensorMapEncodeIm2col",
            (
                *mut c_void,
                c_uint,
                c_uint,
                u64,
                *const u64,
                *const u64,
                *const c_int,
                *const c_int,
                c_uint,
                c_uint,
                *const c_uint,
                c_uint,
                c_uint,
                c_uint,
                c_uint
            ),
            image,
            case.element(),
            rank,
            address,
            case.sizes.as_ptr(),
            strides.as_ptr(),
            case.lower.as_ptr(),
            case.upper.as_ptr(),
            case.channels,
            case.pixels,
            case.steps.as_ptr(),
            case.interleave,
            case.swizzle,
            0,
            case.fill
        )
    }

    /// The module and its kernel.
    fn load(&self, kernel: &str) -> Result<(*mut c_void, *mut c_void), String> {
        let text = CString::new(kernel).map_err(|error| error.to_string())?;
        let (mut module, mut function) = (null_mut::<c_void>(), null_mut::<c_void>());
        let mut log = [0 as c_char; 2048];
        // CU_JIT_ERROR_LOG_BUFFER and its size.
        let (mut options, mut values) = ([5_i32, 6], [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void]);
        let loaded = call!(
            self.library,
            "cuModuleLoadDataEx",
            (*mut *mut c_void, *const c_char, c_uint, *mut c_int, *mut *mut c_void),
            &raw mut module,
            text.as_ptr(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr()
        );
        // SAFETY: the driver ends what it writes with a zero, and the last byte was zero before.
        loaded.map_err(|error| format!("{error}: {}", unsafe { CStr::from_ptr(log.as_ptr()) }.to_string_lossy()))?;
        call!(
            self.library,
            "cuModuleGetFunction",
            (*mut *mut c_void, *mut c_void, *const c_char),
            &raw mut function,
            module,
            c"k".as_ptr()
        )?;
        Ok((module, function))
    }

    fn write(&self, to: u64, bytes: &[u8]) -> Result<(), String> {
        call!(self.library, "cuMemcpyHtoD_v2", (u64, *const u8, usize), to, bytes.as_ptr(), bytes.len())
    }

    fn read(&self, from: u64, bytes: usize) -> Result<Vec<u8>, String> {
        let mut results = vec![0; bytes];
        call!(self.library, "cuMemcpyDtoH_v2", (*mut u8, u64, usize), results.as_mut_ptr(), from, results.len())?;
        Ok(results)
    }

    fn launch(
        &self,
        function: *mut c_void,
        (blocks, threads): (usize, usize),
        parameters: &mut [*mut c_void],
    ) -> Result<(), String> {
        call!(
            self.library,
            "cuLaunchKernel",
            (
                *mut c_void,
                c_uint,
                c_uint,
                c_uint,
                c_uint,
                c_uint,
                c_uint,
                c_uint,
                *const c_void,
                *mut *mut c_void,
                *const c_void
            ),
            function,
            blocks as c_uint,
            1,
            1,
            threads as c_uint,
            1,
            1,
            0,
            null(),
            parameters.as_mut_ptr(),
            null()
        )
    }
}

/// A `CUtensorMap`.
#[repr(align(64))]
struct Aligned([u8; 128]);

/// Answers lines until one ends its kernel; the others are asked for by another process.
fn transfers(gpu: &Gpu, folder: Option<&str>) -> Result<(), Box<dyn Error>> {
    let lines: Vec<String> = std::io::stdin().lock().lines().collect::<Result<_, _>>()?;
    for (number, line) in lines.iter().enumerate() {
        match gpu.transfer(&Case::parse(line)) {
            Ok(Some(results)) => {
                println!("{line} {:016x}", hash(&results));
                if let Some(folder) = folder {
                    std::fs::write(format!("{folder}/{}", line.replace('/', "_")), results)?;
                }
            }
            Ok(None) => {
                println!("{line} fault");
                let mut next = std::process::Command::new(std::env::current_exe()?)
                    .args(std::env::args().skip(1))
                    .stdin(std::process::Stdio::piped())
                    .spawn()?;
                if let Some(mut input) = next.stdin.take() {
                    input.write_all(lines[number + 1..].join("\n").as_bytes())?;
                }
                next.wait()?;
                return Ok(());
            }
            Err(error) => eprintln!("{line}: {error}"),
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mode = std::env::args().nth(1);
    if mode.as_deref() == Some("--groups") {
        group::lines().iter().for_each(|line| println!("{line}"));
        return Ok(());
    }
    let gpu = Gpu::new()?;
    if mode.as_deref() == Some("--transfers") {
        return transfers(&gpu, std::env::args().nth(2).as_deref());
    }
    if mode.as_deref() == Some("--errors") {
        for function in FUNCTIONS {
            let operands = function.operands();
            let results = gpu.run(&function.kernel(), &operands, INPUTS / 256, INPUTS)?;
            let (error, x, y) = function.worst(&operands, &results);
            println!("{} {} {error:e} {} {x:e} {y:e}", function.opcode, function.place, function.show(error));
        }
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    for text in std::io::stdin().lock().lines() {
        let text = text?;
        if mode.as_deref() == Some("--matrix") {
            match gpu.matrix(&text) {
                Ok(hashes) => {
                    let hashes: Vec<String> = hashes.iter().map(|hash| format!("{hash:016x}")).collect();
                    writeln!(out, "{text} {}", hashes.join(" "))?;
                }
                Err(error) => eprintln!("{text}: {error}"),
            }
            continue;
        }
        let line = Line::parse(&text);
        let operands = line.operands();
        match gpu.run(&line.kernel(), &operands, COUNT / 256, 2 * COUNT) {
            Ok(results) if mode.is_some() => {
                for index in 0..64 {
                    let sources: Vec<String> =
                        operands[index..].iter().step_by(COUNT).map(|x| format!("{x:x}")).collect();
                    let (result, second) = (results[index], results[COUNT + index]);
                    writeln!(out, "{text} | {} | {result:x} {second:x}", sources.join(" "))?;
                }
            }
            Ok(results) => writeln!(out, "{text} {:016x}", line.hash(&results))?,
            Err(error) => eprintln!("{text}: {error}"),
        }
    }
    Ok(())
}
