//! Smaller cases that engines still disagree about: delta debugging over launches and over the lines of the body (Zeller and
//! Hildebrandt, "Simplifying and isolating failure-inducing input", 2002).

use std::time::{Duration, Instant};

use crate::case::Case;
use crate::engines::{Disagreement, Engines};
use crate::module::{BODY, END};

/// Whether a line of a body has to stay: labels, barriers, and what bounds loops.
fn is_kept(line: &str) -> bool {
    line.ends_with(':') || line.contains("// keep") || line.contains("bar.") || line.contains("barrier")
}

/// Leaves out what a disagreement does not need, for so long at most.
pub fn reduce(case: &Case, engines: &Engines, time: Duration) -> Case {
    let end = Instant::now() + time;
    let differs = |case: &Case| {
        Instant::now() < end
            && matches!(engines.compare(case), Err(Disagreement::Differs { .. } | Disagreement::Text(_)))
    };
    let mut best = case.clone();
    for shape in case.launches.clone() {
        let alone = Case { launches: vec![shape], ..case.clone() };
        if case.launches.len() > 1 && differs(&alone) {
            best = alone;
            break;
        }
    }
    let lines: Vec<String> = best.ptx.lines().map(str::to_owned).collect();
    let position = |mark| lines.iter().position(|line| line == mark);
    let (Some(start), Some(stop)) = (position(BODY), position(END)) else {
        return best;
    };
    let mut body = lines[start + 1..stop].to_vec();
    let with = |body: &[String], best: &Case| {
        let all = [&lines[..=start], body, &lines[stop..]].concat();
        Case { ptx: all.join("\n") + "\n", ..best.clone() }
    };
    let mut size = body.len().div_ceil(2);
    while size > 0 {
        let (mut at, mut smaller) = (0, false);
        while at < body.len() {
            let to = (at + size).min(body.len());
            let mut fewer = body[..at].to_vec();
            fewer.extend(body[at..to].iter().filter(|line| is_kept(line)).cloned());
            let kept = fewer.len();
            fewer.extend_from_slice(&body[to..]);
            if fewer.len() < body.len() && differs(&with(&fewer, &best)) {
                (body, at, smaller) = (fewer, kept, true);
            } else {
                at = to;
            }
        }
        if !(smaller && size == 1) {
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
        if Instant::now() >= end {
            break;
        }
    }
    with(&body, &best)
}
