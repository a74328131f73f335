//! Matrix instructions against an H200: for every line of `h200.txt`, the results for operands of six kinds.
//!
//! A line names an instruction and holds, for each of [`form::KINDS`], the hash of what an NVIDIA H200 (driver 580) made of
//! the operands. Registers go in and come out as they are, so that the places of elements are compared with their values.
//! Block-scaled forms and those of numbers of six and four bits do not exist on an H200 and are not among the lines.

mod faults;
mod form;
mod group;
mod tiles;
mod warp;

use std::collections::HashSet;

use crate::common::bytes_of;
use form::{Form, KINDS, TILES};
use rumba_vm::{Config, Device, Launch, Source};

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A machine whose handlers use vector instructions, and one whose handlers do not.
fn devices() -> [Device; 2] {
    [true, false].map(|vector_instructions| {
        let config = Config { memory_bytes: 64 << 20, workers: 1, vector_instructions, ..Config::default() };
        Device::new(config).unwrap()
    })
}

/// The results of each machine for the operands of each kind, which are the same for both.
fn results(devices: &[Device; 2], text: &str) -> [Result<Vec<u64>, String>; 2] {
    let kernel = warp::kernel(text);
    let inputs = KINDS.map(|kind| {
        if text.starts_with("mma") {
            Form::parse(text).input(kind, TILES)
        } else {
            kernel.input(text, kind, kernel.tiles)
        }
    });
    devices.each_ref().map(|device| results_on(device, text, &kernel, &inputs))
}

fn results_on(device: &Device, text: &str, kernel: &warp::Kernel, inputs: &[Vec<u8>]) -> Result<Vec<u64>, String> {
    let source = Source { name: text, ptx: &kernel.ptx };
    let module = device.load(&[source]).map_err(|error| error.to_string())?;
    let function = module.function("k").unwrap();
    let input = device.allocate(kernel.input_bytes * kernel.tiles).unwrap();
    let output = device.allocate(kernel.output_bytes * kernel.tiles).unwrap();
    let mut hashes = Vec::new();
    for bytes in inputs {
        // SAFETY: the launches have ended, and nothing else uses the device.
        unsafe { device.write(input, bytes) }.unwrap();
        // SAFETY: as above.
        unsafe { device.fill(output, &[0], kernel.output_bytes * kernel.tiles) }.unwrap();
        let parameters = bytes_of(&[input, output]);
        let launch = Launch {
            grid: [kernel.tiles as u32, 1, 1],
            block: [kernel.threads as u32, 1, 1],
            dynamic_shared: 0,
            parameters: &parameters,
            cooperative: false,
            cluster: None,
            device: 0,
        };
        device.launch(&function, &launch).map_err(|error| error.to_string())?;
        let mut bytes = vec![0; kernel.output_bytes * kernel.tiles];
        // SAFETY: as above.
        unsafe { device.read(output, &mut bytes) }.unwrap();
        hashes.push(hash(&bytes));
    }
    device.free(input).unwrap();
    device.free(output).unwrap();
    Ok(hashes)
}

/// The lines of `h200.txt`: the instruction, and the hashes for the operands of each kind.
fn goldens() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    let lines = include_str!("../../matrix/h200.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let mut words: Vec<&str> = line.split(' ').collect();
        let hashes = words.split_off(words.len() - KINDS.len());
        (words.join(" "), hashes)
    })
}

#[test]
fn matrices_are_those_of_an_h200() {
    let mut wrong = Vec::new();
    let devices = devices();
    for (text, hashes) in goldens() {
        for (results, how) in results(&devices, &text).into_iter().zip(["with", "without"]) {
            match results {
                Err(error) => wrong.push(format!("{text}: {error}")),
                Ok(results) => {
                    for ((kind, hash), result) in KINDS.iter().zip(&hashes).zip(results) {
                        if u64::from_str_radix(hash, 16) != Ok(result) {
                            wrong.push(format!("{text}: {kind} operands ({how} vector instructions)"));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The lines that an H200 is still to be asked for are the same in both copies of the handler, as those are that it was asked for.
#[test]
fn products_of_warp_groups_do_not_depend_on_the_processor() {
    let devices = devices();
    let known: HashSet<String> = goldens().map(|(text, _)| text).collect();
    for line in group::lines().into_iter().filter(|line| !known.contains(line)) {
        let [one, other] = results(&devices, &line).map(Result::unwrap);
        assert_eq!(one, other, "{line}");
    }
}
