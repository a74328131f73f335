//! The profile as a page that needs nothing else: the timeline with streams as rows, the tables, the roofline, the hints.
//!
//! The timeline is drawn once, in percent of the width, so that the page can make it wider without drawing again.

use crate::base::activity::Operation;
use crate::base::units;
use crate::performance::profile::table::{COLUMNS, share};
use crate::performance::profile::{Profile, Row};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::collections::BTreeMap;
use std::time::Duration;

/// Pixels of a row of the timeline.
const ROW: u32 = 30;
/// Pixels of the scale below them.
const SCALE: u32 = 24;
/// The most boxes of a row: a page with more is slow to open.
const MOST: usize = 10_000;
/// Kinds of things, each with its colour; kernels have several.
const COPY_IN: &str = "#d55e00";
const COPY_OUT: &str = "#00825f";
const COPY: &str = "#b47800";
const HOST: &str = "#8a8a8a";
const RANGE: &str = "#c9d7e8";
const KERNELS: [&str; 5] = ["#0072b2", "#963c82", "#4f5bd5", "#2a9d8f", "#7a5230"];

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 2rem auto; max-width: 84rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; font: 13px/1.5 ui-monospace, monospace; }
th { text-align: right; border-bottom: 1px solid #999; padding: .2rem .6rem; } td { text-align: right; padding: .1rem .6rem; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.timeline { display: flex; border: 1px solid #bbb; } .names { flex: none; border-right: 1px solid #bbb; }
.names div { height: 30px; line-height: 30px; padding: 0 .6rem; font-size: 13px; white-space: nowrap; }
.scroll { overflow-x: auto; flex: 1; } .wide { width: 100%; }
.key span { display: inline-block; width: .9em; height: .9em; margin: 0 .35em 0 1em; vertical-align: -0.1em; }
.wrap { overflow-x: auto; } svg { display: block; max-width: none; }
";

/// A row of the timeline: its name and its boxes.
struct Track {
    name: String,
    boxes: Vec<Box>,
}

struct Box {
    name: String,
    start: Duration,
    duration: Duration,
    colour: &'static str,
    about: String,
}

/// The rows: devices' streams first, then the host's threads, with ranges above their calls.
fn tracks(profile: &Profile) -> Vec<Track> {
    let colours = kernel_colours(profile);
    let mut tracks = Vec::new();
    let mut streams: Vec<_> = profile.stream_names.iter().collect();
    streams.sort_by_key(|((device, _), name)| (*device, name.as_str()));
    for (key, name) in streams {
        let own = profile.activities.iter().filter(|activity| (activity.device, activity.stream) == *key);
        let boxes = own.map(|activity| {
            let about = match &activity.operation {
                Operation::Kernel(launched) => {
                    format!("{:?} blocks of {:?} threads", launched.grid, launched.block)
                }
                other => {
                    let bytes = other.bytes().unwrap_or(0);
                    let rate = bytes as f64 / activity.duration.as_secs_f64().max(1e-9);
                    format!("{bytes} bytes, {}B/s", units::scaled(rate))
                }
            };
            Box {
                name: activity.operation.name().to_owned(),
                start: activity.start,
                duration: activity.duration,
                colour: colour(&activity.operation, &colours),
                about,
            }
        });
        let name = match profile.devices.len() {
            0 | 1 => name.clone(),
            _ => format!("device {}, {name}", key.0),
        };
        tracks.push(Track { name, boxes: boxes.collect() });
    }
    let mut threads: Vec<u32> = profile.calls.iter().map(|call| call.thread).collect();
    threads.extend(profile.ranges.iter().map(|range| range.thread));
    threads.sort_unstable();
    threads.dedup();
    for thread in threads {
        let ranges = profile.ranges.iter().filter(|range| range.thread == thread);
        let ranges: Vec<Box> = ranges
            .map(|range| Box {
                name: range.name.clone(),
                start: range.start,
                duration: range.duration,
                colour: RANGE,
                about: "a range of the program".to_owned(),
            })
            .collect();
        if !ranges.is_empty() {
            tracks.push(Track { name: format!("ranges of thread {thread}"), boxes: ranges });
        }
        let calls = profile.calls.iter().filter(|call| call.thread == thread);
        let calls: Vec<Box> = calls
            .map(|call| Box {
                name: call.name.to_owned(),
                start: call.start,
                duration: call.duration,
                colour: HOST,
                about: "a call of the driver".to_owned(),
            })
            .collect();
        if !calls.is_empty() {
            tracks.push(Track { name: format!("calls of thread {thread}"), boxes: calls });
        }
    }
    tracks
}

/// Colours by how much time the kernels take.
fn kernel_colours(profile: &Profile) -> BTreeMap<String, &'static str> {
    let names = profile.kernels().into_iter().map(|row| row.name);
    names.zip(KERNELS.into_iter().cycle()).collect()
}

fn colour(operation: &Operation, kernels: &BTreeMap<String, &'static str>) -> &'static str {
    match operation {
        Operation::Kernel(launched) => kernels.get(launched.kernel).copied().unwrap_or(KERNELS[0]),
        Operation::Graph => KERNELS[0],
        Operation::CopyIn { .. } => COPY_IN,
        Operation::CopyOut { .. } => COPY_OUT,
        Operation::Copy { .. } | Operation::Fill { .. } => COPY,
    }
}

/// From when to when something happens, in seconds.
fn window(tracks: &[Track]) -> (f64, f64) {
    let boxes = || tracks.iter().flat_map(|track| &track.boxes);
    let from = boxes().map(|shape| shape.start).min().unwrap_or_default();
    let to = boxes().map(|shape| shape.start + shape.duration).max().unwrap_or_default();
    (from.as_secs_f64(), to.saturating_sub(from).as_secs_f64().max(1e-6))
}

/// Round times for a scale of this length, about eight.
fn ticks(length: f64) -> impl Iterator<Item = f64> {
    let rough = length / 8.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    (0..=(length / step) as u32).map(move |tick| f64::from(tick) * step)
}

/// The legend of the colours.
fn key(profile: &Profile) -> Vec<(String, &'static str)> {
    let mut key: Vec<(String, &str)> = kernel_colours(profile).into_iter().collect();
    let copies = profile.copies();
    for (name, shown, colour) in [
        ("copy host to device", "host to device", COPY_IN),
        ("copy device to host", "device to host", COPY_OUT),
        ("copy on the device", "on the device", COPY),
    ] {
        if copies.iter().any(|row| row.name == name) {
            key.push((shown.to_owned(), colour));
        }
    }
    key.push(("call of the driver".to_owned(), HOST));
    key
}

/// The timeline as SVG of a width that the page decides: rows of boxes over a scale, names as tooltips.
fn drawing(tracks: &[Track]) -> Markup {
    let (from, length) = window(tracks);
    let percent = |seconds: f64| format!("{:.4}%", 100.0 * seconds / length);
    let bottom = ROW * tracks.len() as u32;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" width="100%" height=(bottom + SCALE) overflow="visible" font-family="sans-serif" font-size="12" {
            @for tick in ticks(length) {
                @let x = percent(tick);
                line x1=(x) x2=(x) y1="0" y2=(bottom) stroke="#ddd" {}
                @if tick < 0.93 * length {
                    text x=(x) dx="2" y=(bottom + 16) fill="#333" { (units::time(Duration::from_secs_f64(tick))) }
                }
            }
            @for (row, track) in tracks.iter().enumerate() {
                @let y = ROW * row as u32;
                line x1="0" x2="100%" y1=(y + ROW) y2=(y + ROW) stroke="#eee" {}
                @for shape in track.boxes.iter().take(MOST) {
                    @let share = shape.duration.as_secs_f64() / length;
                    @let x = percent(shape.start.as_secs_f64() - from);
                    @let shown = shape.name.trim_start_matches("copy ");
                    rect x=(x) y=(y + 4) width=(percent(shape.duration.as_secs_f64())) height=(ROW - 8) fill=(shape.colour) stroke="#fff" stroke-width="0.4" {
                        title { (shape.name) ", " (units::time(shape.duration)) ", " (shape.about) }
                    }
                    // A name where it fits.
                    @if share > 0.011 * shown.chars().count() as f64 {
                        text x=(x) dx="4" y=(y + 19) fill=(if shape.colour == RANGE { "#111" } else { "#fff" }) pointer-events="none" { (shown) }
                    }
                }
            }
        }
    }
}

/// The timeline alone, as a picture with the names of its rows and a key.
pub(super) fn timeline_picture(profile: &Profile) -> String {
    const WIDTH: u32 = 900;
    const LEFT: u32 = 180;
    let tracks = tracks(profile);
    let bottom = ROW * tracks.len() as u32 + SCALE;
    let mut x = 12;
    let key: Vec<(String, &str, u32)> = key(profile)
        .into_iter()
        .map(|(name, colour)| {
            let at = x;
            x += 28 + 7 * name.chars().count() as u32;
            (name, colour, at)
        })
        .collect();
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (bottom + 34) } width=(WIDTH) height=(bottom + 34) font-family="sans-serif" font-size="12" {
            rect width="100%" height="100%" fill="#fff" {}
            svg x=(LEFT) y="6" width=(WIDTH - LEFT - 12) height=(bottom) overflow="visible" { (drawing(&tracks)) }
            @for (row, track) in tracks.iter().enumerate() {
                text x=(LEFT - 8) y=(ROW * row as u32 + 25) fill="#222" text-anchor="end" { (track.name) }
            }
            @for (name, colour, x) in &key {
                rect x=(x) y=(bottom + 12) width="11" height="11" fill=(colour) {}
                text x=(x + 16) y=(bottom + 22) fill="#222" { (name) }
            }
        }
    };
    picture.into_string()
}

/// The page.
pub(super) fn document(profile: &Profile, roofline: Option<&str>) -> Markup {
    let tracks = tracks(profile);
    let devices: Vec<&str> = profile.devices.iter().map(|device| device.capacity.name()).collect();
    let rows: Vec<Row> = profile.kernels().into_iter().chain(profile.copies()).collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                title { "Profile" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Profile of " (units::time(profile.wall)) " on " (devices.join(", ")) }
                p {
                    "Something ran on a device for " (units::time(profile.busy())) ", "
                    (units::percent(share(profile.busy(), profile.wall))) " of the time."
                }
                h2 { "Timeline" }
                p.key {
                    label { "zoom " input type="range" min="100" max="5000" value="100" oninput="document.querySelector('.wide').style.width = this.value + '%'"; }
                    @for (name, colour) in key(profile) {
                        span style={ "background:" (colour) } {} (name)
                    }
                }
                div.timeline {
                    div.names { @for track in &tracks { div { (track.name) } } }
                    div.scroll { div.wide { (drawing(&tracks)) } }
                }
                @if tracks.iter().any(|track| track.boxes.len() > MOST) {
                    p { "Of each row the first " (MOST) " are drawn; trace.json has all." }
                }
                h2 { "On the devices" }
                div.wrap { table {
                    tr { @for column in COLUMNS { th { (column) } } }
                    @for row in &rows { tr { @for cell in profile.cells(row) { td { (cell) } } } }
                } }
                p {
                    "GB/s and GFLOP/s of kernels are of what was counted or stated for a launch: bytes that warps asked for, which caches "
                    "may have served, so that they can exceed the memory's peak. Of peak: of the memory's theoretical bandwidth, for copies "
                    "from and to the host of the bus's."
                }
                h2 { "Calls of the driver, on the host's clock" }
                table {
                    tr { th { "" } th { "calls" } th { "total" } th { "share" } th { "mean" } }
                    @for (name, calls, total) in profile.call_rows() {
                        tr {
                            td { (name) } td { (calls) } td { (units::time(total)) }
                            td { (units::percent(share(total, profile.wall))) }
                            td { (units::time(total.div_f64(calls.max(1) as f64))) }
                        }
                    }
                }
                @if let Some(svg) = roofline {
                    h2 { "Roofline" }
                    div.wrap { (PreEscaped(svg)) }
                }
                @if rows.iter().any(|row| row.launch.as_ref().is_some_and(|facts| !facts.hints.is_empty())) {
                    h2 { "Hints" }
                    ul {
                        @for row in &rows {
                            @for hint in row.launch.iter().flat_map(|facts| &facts.hints) {
                                li { b { (row.name) } ": " (hint.to_string()) }
                            }
                        }
                    }
                }
            }
        }
    }
}
