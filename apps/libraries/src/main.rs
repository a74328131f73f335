//! Our side of the comparison with NVIDIA's libraries. `beside_torch.py` leads: it starts this program and says by lines of JSON on the
//! standard input what to prepare, and when to run it how often. So both sides take turns on one GPU, in one run.
//!
//! ```text
//! {"prepare": {"product": {"element": "bf16", "m": 4096, "n": 4096, "k": 4096}}}
//! {"prepared": "variant 2 of 6"}
//! {"time": 20}
//! {"microseconds": 187.2}
//! {"check": null}
//! {"error": 0.0019}
//! ```
//!
//! The numbers are normally distributed. The error is the largest of a sample of results against sums in f64, relative to the
//! root of the mean square of the exact results.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{BufRead as _, Write as _};

use anyhow::{Context as _, Result};
use libraries::{Case, Launches, Work, prepare};
use rumba::Device;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    /// Makes random inputs for a case, and chooses its kernel.
    Prepare(Case),
    /// Runs the case this many times, one after the other.
    Time(u32),
    /// Compares with f64, or a whole network with PyTorch's f32.
    Check(()),
    /// Runs the case once, and reports the time of each kernel.
    Profile(()),
}

/// A case, and what so many launches of it are put on a stream by.
struct Prepared {
    work: Box<dyn Work>,
    repeated: HashMap<u32, Launches>,
}

/// How long one of several launches takes, which run without a pause between them. As on the other side, a graph has run before it is
/// measured: the first launch brings it to the device.
fn microseconds(device: &Device, Prepared { work, repeated }: &mut Prepared, times: u32) -> Result<f64> {
    let stream = device.stream()?;
    let launch = match repeated.entry(times) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => {
            let launch = place.insert(work.repeated(device, times)?);
            launch(&stream)?;
            stream.synchronize()?;
            launch
        }
    };
    let start = stream.record()?;
    launch(&stream)?;
    let end = stream.record()?;
    end.synchronize()?;
    Ok(end.since(&start)?.as_secs_f64() * 1e6 / f64::from(times))
}

fn answer(device: &Device, work: &mut Option<Prepared>, request: &str) -> Result<Value> {
    let prepared = "nothing is prepared";
    Ok(match serde_json::from_str(request)? {
        Request::Prepare(case) => {
            *work = None;
            let made = work.insert(Prepared { work: prepare(device, case)?, repeated: HashMap::new() });
            // Loaded, and chosen by measurement where the library does so.
            let stream = device.stream()?;
            made.work.launch(&stream)?;
            stream.synchronize()?;
            json!({ "prepared": made.work.kernel() })
        }
        Request::Time(times) => {
            let work = work.as_mut().context(prepared)?;
            json!({ "microseconds": microseconds(device, work, times)? })
        }
        Request::Profile(()) => json!({ "profile": work.as_mut().context(prepared)?.work.profile()? }),
        Request::Check(()) => json!({ "error": work.as_ref().context(prepared)?.work.error()? }),
    })
}

fn main() -> Result<()> {
    let device = Device::new()?;
    let mut work = None;
    for request in std::io::stdin().lock().lines() {
        let answer =
            answer(&device, &mut work, &request?).unwrap_or_else(|error| json!({ "failed": format!("{error:#}") }));
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}
