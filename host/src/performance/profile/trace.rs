//! A profile as files: the trace that browsers' viewers read (the Trace Event Format of Chromium; `chrome://tracing`, Perfetto),
//! and the folder with everything.

use crate::base::activity::Operation;
use crate::base::error::Result;
use crate::performance::capacity::Measured;
use crate::performance::files;
use crate::performance::profile::{Profile, page};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// The process number that stands for the host; devices follow.
const HOST: u32 = 0;

impl Profile {
    /// The profile as a trace: a process for each device with a row for each stream, and one for the host with a row for
    /// each thread.
    pub fn trace(&self) -> String {
        let mut events = vec![process(HOST, "host")];
        for device in &self.devices {
            let name = format!("device {} ({})", device.ordinal, device.capacity.name());
            events.push(process(device.ordinal + 1, &name));
        }
        for (row, ((device, _), name)) in self.stream_names.iter().enumerate() {
            events.push(thread(device + 1, row as u32, name));
        }
        for activity in &self.activities {
            let key = (activity.device, activity.stream);
            let row = self.stream_names.keys().position(|known| *known == key).unwrap_or(0);
            let arguments = match &activity.operation {
                Operation::Kernel(launched) => json!({
                    "grid": launched.grid,
                    "block": launched.block,
                    "dynamic shared memory": launched.dynamic_shared,
                    "registers": launched.info.registers,
                    "shared memory": launched.info.shared_memory,
                }),
                other => json!({ "bytes": other.bytes() }),
            };
            let place = (activity.device + 1, row as u32);
            events.push(span(activity.operation.name(), place, activity.start, activity.duration, arguments));
        }
        for call in &self.calls {
            events.push(span(call.name, (HOST, call.thread), call.start, call.duration, json!({})));
        }
        for range in &self.ranges {
            events.push(span(&range.name, (HOST, range.thread), range.start, range.duration, json!({})));
        }
        json!({ "traceEvents": events, "displayTimeUnit": "ns" }).to_string()
    }

    /// Writes the profile into a folder: `profile.txt`, the tables; `profile.html`, a page with timeline and tables that needs
    /// nothing else; `trace.json`; and `roofline.svg`, `roofline.png`, if the costs of kernels and the roofs are known.
    ///
    /// # Errors
    /// [`crate::Error::Unwritable`] with the file.
    pub fn save(&self, folder: impl AsRef<Path>, measured: Option<&Measured>) -> Result<()> {
        let write = |name: &str, bytes: &[u8]| files::write(folder.as_ref(), name, bytes).map(drop);
        write("profile.txt", format!("{self}\n").as_bytes())?;
        write("trace.json", self.trace().as_bytes())?;
        let roofline = self.roofline(measured);
        write("profile.html", page::document(self, roofline.as_deref()).into_string().as_bytes())?;
        if let Some(svg) = roofline {
            write("roofline.svg", svg.as_bytes())?;
        }
        if let Some(png) = self.roofline_png(measured) {
            write("roofline.png", &png)?;
        }
        write("timeline.svg", page::timeline_picture(self).as_bytes())
    }
}

fn process(number: u32, name: &str) -> Value {
    json!({ "ph": "M", "name": "process_name", "pid": number, "args": { "name": name } })
}

fn thread(process: u32, number: u32, name: &str) -> Value {
    json!({ "ph": "M", "name": "thread_name", "pid": process, "tid": number, "args": { "name": name } })
}

/// Times are microseconds.
fn span(name: &str, (process, thread): (u32, u32), start: Duration, duration: Duration, arguments: Value) -> Value {
    json!({
        "ph": "X", "name": name, "pid": process, "tid": thread,
        "ts": start.as_secs_f64() * 1e6, "dur": duration.as_secs_f64() * 1e6, "args": arguments,
    })
}
