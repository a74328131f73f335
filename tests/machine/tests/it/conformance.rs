//! Arithmetic against an H200: for every line of `h200.txt`, the results for 2048 combinations of operands.
//!
//! A line names an instruction, the types of its destination and of its sources, and the hash of what an NVIDIA H200
//! (driver 580) computed for the operands that [`Line::operands`] makes. Approximate instructions are not among them:
//! their results are only bounded. Instructions that read the carry flag find it set in odd threads; what an instruction
//! does with the flag, or its second destination, is part of the result; `sub.cc.u32+addc.u32` are two instructions, the first of
//! which sets the flag for the second. Of an atomic operation the first source is what
//! the memory holds before, and the result what it holds afterwards and what the instruction gives.
//!
//! Lines that begin with `!` are departures: there the GPU does not do what the manual says, and the machine does. They
//! are the scalar video instructions, which this GPU does not have and its driver emulates (a selector of the source
//! is not shifted down, `.sat` is lost, `.min` takes the larger of two negative numbers), and additions of packed halves
//! in shared memory, where the driver's loop leaves the upper half alone.

use crate::common::{bytes_of, engine, engine_of_full_warps, processors, u64s};
use crate::vectors::errors::FUNCTIONS;
use crate::vectors::{COUNT, Line};
use rumba_vm::{Config, Device, Launch, Source};

#[test]
fn arithmetic_is_that_of_an_h200() {
    let mut wrong = Vec::new();
    for vector_instructions in processors() {
        let config = Config {
            memory_bytes: 64 << 20,
            workers: 1,
            vector_instructions,
            engine: engine_of_full_warps(),
            ..Config::default()
        };
        let device = Device::new(config).unwrap();
        let input = device.allocate(6 * COUNT * 8).unwrap();
        let output = device.allocate(2 * COUNT * 8).unwrap();
        let parameters = bytes_of(&[input, output]);
        let lines = include_str!("../h200.txt").lines().filter(|line| !line.starts_with('#'));
        for (text, expected) in lines.filter_map(|line| line.rsplit_once(' ')) {
            let (text, departs) = text.strip_prefix("! ").map_or((text, false), |text| (text, true));
            let line = Line::parse(text);
            let ptx = line.kernel();
            let module = match device.load(&[Source { name: line.text, ptx: &ptx }]) {
                Ok(module) => module,
                Err(error) => panic!("{}: {error}", line.text),
            };
            // SAFETY: the launches have ended, and nothing else uses the device.
            unsafe { device.write(input, &bytes_of(&line.operands())) }.unwrap();
            let launch = Launch {
                grid: [COUNT as u32 / 256, 1, 1],
                block: [256, 1, 1],
                dynamic_shared: 0,
                parameters: &parameters,
                cooperative: false,
                cluster: None,
                device: 0,
            };
            if let Err(error) = device.launch(&module.function("k").unwrap(), &launch) {
                panic!("{}: {error}", line.text);
            }
            let mut results = vec![0; 2 * COUNT * 8];
            // SAFETY: the launches have ended, and nothing else uses the device.
            unsafe { device.read(output, &mut results) }.unwrap();
            let agrees = format!("{:016x}", line.hash(&u64s(&results))) == expected;
            if agrees == departs {
                wrong.push(format!("{text} (vector instructions: {vector_instructions})"));
            }
        }
    }
    assert!(wrong.is_empty(), "these instructions differ, or are marked and do not:\n{}", wrong.join("\n"));
}

#[test]
fn approximate_functions_stay_within_their_bounds() {
    let mut wrong = Vec::new();
    for vector_instructions in processors() {
        let config =
            Config { memory_bytes: 64 << 20, workers: 1, vector_instructions, engine: engine(), ..Config::default() };
        let device = Device::new(config).unwrap();
        for function in FUNCTIONS {
            let (error, x, y) = function.worst_on(&device).unwrap();
            if error.is_nan() || error > function.bound {
                let (error, bound) = (function.show(error), function.show(function.bound));
                wrong.push(format!("{} is off by {error} instead of {bound} at {x:e}, {y:e}", function.opcode));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
