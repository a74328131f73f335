//! Copies of tensors and in bulk, reductions, changes of tensor maps, against an H200: for every line of `h200.txt`, what lies in shared
//! and in global memory afterwards.
//!
//! A line says what is done, as [`case::Case`] reads it, and holds the hash of what an NVIDIA H200 (driver 580) left in memory, or
//! `fault` where it ended the kernel (an illegal instruction). Lines that begin with `!` are departures: there the machine reports what
//! the GPU lets pass. `multimem` is not among the lines: it takes addresses of multicast objects, which are made for the links between GPUs.

#[allow(dead_code, reason = "what a GPU is asked for uses the rest")]
mod case;

use case::{Case, RESULT, TENSOR};
use rumba_vm::{Config, Device, Launch, LaunchFailure, Source};

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The memory after the machine's run, or the sentence of its fault.
fn outcome(device: &Device, line: &str) -> Result<Vec<u8>, String> {
    let case = Case::parse(line);
    let memory = device.allocate(RESULT).unwrap();
    let map = if case.sizes.is_empty() { [0; 128] } else { case.map(memory + (RESULT - TENSOR) as u64).encode() };
    let ptx = case.ptx();
    let module = device.load(&[Source { name: line, ptx: &ptx }]).map_err(|error| error.to_string())?;
    // SAFETY: no launch is under way.
    unsafe { device.write(memory, &case.memory(&map)) }.unwrap();
    let mut parameters = map.to_vec();
    parameters.extend(memory.to_le_bytes());
    parameters.extend(case.at.iter().flat_map(|at| at.to_le_bytes()));
    parameters.extend(case.offsets.iter().flat_map(|offset| (*offset as i16).to_le_bytes()));
    let launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        parameters: &parameters,
        cooperative: false,
        cluster: case.is_cluster.then_some([1; 3]),
        device: 0,
    };
    let result = device.launch(&module.function("k").unwrap(), &launch);
    let mut results = vec![0; RESULT];
    // SAFETY: the launch has ended.
    unsafe { device.read(memory, &mut results) }.unwrap();
    device.free(memory).unwrap();
    match result {
        Ok(_) => {
            case.outcome(&mut results);
            Ok(results)
        }
        Err(LaunchFailure::Fault(fault)) => Err(fault.message.clone()),
        Err(error) => panic!("{line}: {error}"),
    }
}

#[test]
fn transfers_are_those_of_an_h200() {
    let config = Config { memory_bytes: 64 << 20, workers: 1, engine: crate::common::engine(), ..Config::default() };
    let device = Device::new(config).unwrap();
    let mut wrong = Vec::new();
    let lines = include_str!("../../transfers/h200.txt").lines().filter(|line| !line.starts_with('#'));
    for (text, expected) in lines.filter_map(|line| line.rsplit_once(' ')) {
        let (text, departs) = text.strip_prefix("! ").map_or((text, false), |text| (text, true));
        let (found, sentence) = match outcome(&device, text) {
            Ok(results) => (format!("{:016x}", hash(&results)), String::new()),
            Err(sentence) => ("fault".to_owned(), sentence),
        };
        if (found == expected) == departs || departs && found != "fault" {
            wrong.push(format!("{text}: {found} {sentence}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
