//! Support for the examples in the documentation of `cuda_std`: builds their kernels to one PTX, and launches them.
//!
//! Each example is a test three times: rustdoc runs it on the software device, the program of this package runs all of
//! them on any device, and [`becomes`] looks at the PTX. Failures panic, as in any example.

use bytemuck::Pod;
use cuda_std::launch::Call;
use cuda_std::symmetric::Access;
use rumba::{Device, DeviceBuffer, LaunchConfig, Module, Result, SymmetricBuffer};
use rumba_ptx::ast::{FunctionKind, Item};
use rumba_ptx::set;
use std::sync::OnceLock;

/// The kernels of all examples.
pub static PTX: &str = include_str!(env!("EXAMPLES_PTX"));

/// The device, with the examples' kernels.
///
/// # Panics
/// If there is no device, or the device refuses the kernels.
pub fn device() -> &'static (Device, Module) {
    static DEVICE: OnceLock<(Device, Module)> = OnceLock::new();
    DEVICE.get_or_init(|| {
        let device = Device::new().unwrap_or_else(|error| panic!("{error}"));
        // SAFETY: built from the same examples. The launchers are compiled in crates of rustdoc's, whose names differ.
        let module = unsafe { device.load_unchecked("the examples", PTX) }.unwrap_or_else(|error| panic!("{error}"));
        (device, module)
    })
}

/// Launches a kernel of an example and waits for it.
///
/// # Panics
/// If the launch is refused or the kernel fails.
#[track_caller]
pub fn launch<'s>(config: impl Into<LaunchConfig<'s>>, call: Call<'_>) {
    let (device, module) = device();
    if let Err(error) = module.launch(config, call).and_then(|()| device.synchronize()) {
        panic!("{error}");
    }
}

/// Launches a kernel once for each of several ranks, which have symmetric memory and are all on one device: with an input, an output of the
/// same length, zero at first, and as much symmetric memory. Returns the outputs.
///
/// # Panics
/// If a launch is refused or a kernel fails.
#[track_caller]
pub fn ranks<T: Pod, A: Access, X: AsRef<[T]>>(
    inputs: &[X],
    (blocks, threads): (u32, u32),
    call: impl for<'a> Fn(&'a DeviceBuffer<T>, &'a mut DeviceBuffer<T>, &'a mut SymmetricBuffer<T, A>) -> Call<'a>,
) -> Vec<Vec<T>> {
    let (device, module) = device();
    let run = || -> Result<Vec<Vec<T>>> {
        let length = inputs[0].as_ref().len();
        let mut memories = SymmetricBuffer::all(&vec![device.clone(); inputs.len()], length)?;
        let x = inputs.iter().map(|x| device.buffer_from(x.as_ref())).collect::<Result<Vec<_>>>()?;
        let mut y = inputs.iter().map(|_| device.zeros::<T>(length)).collect::<Result<Vec<_>>>()?;
        let streams = inputs.iter().map(|_| device.stream()).collect::<Result<Vec<_>>>()?;
        for (((x, y), memory), stream) in x.iter().zip(&mut y).zip(&mut memories).zip(&streams) {
            module.launch(LaunchConfig::new(blocks, threads).stream(stream), call(x, y, memory))?;
        }
        y.iter().map(DeviceBuffer::to_vec).collect()
    };
    run().unwrap_or_else(|error| panic!("{error}"))
}

/// Asserts that the PTX of a kernel has instructions that start like these.
///
/// # Panics
/// If an instruction is missing. The message names the instruction and lists the kernel's instructions.
#[track_caller]
pub fn becomes(kernel: &str, opcodes: &[&str]) {
    let all = instructions(kernel);
    for opcode in opcodes {
        assert!(all.iter().any(|known| known.starts_with(opcode)), "`{kernel}` has no `{opcode}`: {all:?}");
    }
}

/// Asserts that the PTX of a kernel has no instruction that starts like one of these.
///
/// # Panics
/// If the kernel has such an instruction. The message names the instruction.
#[track_caller]
pub fn avoids(kernel: &str, opcodes: &[&str]) {
    let all = instructions(kernel);
    for opcode in opcodes {
        assert!(!all.iter().any(|known| known.starts_with(opcode)), "`{kernel}` has `{opcode}`: {all:?}");
    }
}

/// A kernel's instructions, as opcodes with their modifiers: of all its variants.
fn instructions(kernel: &str) -> Vec<String> {
    let mut opcodes: Vec<String> = Vec::new();
    for text in set::texts(PTX) {
        let module = rumba_ptx::parse_declarations(text).expect("the builder's PTX is valid");
        let functions = module.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        });
        for function in functions.filter(|function| (function.kind, function.name) == (FunctionKind::Entry, kernel)) {
            // A module with this kernel alone.
            let source = format!(".version 9.0 .target sm_100a .address_size 64 {}", &text[function.span.range()]);
            let alone = rumba_ptx::parse(&source).expect("it was valid among others");
            if let [Item::Function(function)] = &alone.items[..]
                && let Some(body) = &function.body
            {
                opcodes.extend(body.opcodes().iter().map(ToString::to_string));
            }
        }
    }
    assert!(!opcodes.is_empty(), "there is no kernel `{kernel}`");
    opcodes
}
