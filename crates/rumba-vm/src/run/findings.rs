//! The findings of a launch's checks, with the names and positions of its program.

use crate::base::lanes::LANES;
use crate::base::report::{Access, Location};
use crate::check::finding::{Finding, Side};
use crate::check::monitor::Monitor;
use crate::check::notes::{Actor, Notes};
use crate::check::record::ThreadAccess;
use crate::machine::context::Context;
use crate::machine::counters::{Branches, Count, Counters, GlobalTraffic, InstructionProfile, Profile, SharedTraffic};
use rumba_checks::Severity;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::Ordering;

impl Monitor {
    /// The findings, in the order of the program.
    pub(crate) fn take(&self, context: &Context<'_>) -> Vec<Finding> {
        let mut found: Vec<_> = self.drain();
        found.sort_by_key(|(key, _)| *key);
        let debug = &context.program.debug;
        let side = |touch: ThreadAccess, address: u64| {
            let ThreadAccess { thread, bytes, kind, source, asynchronous } = touch;
            let (ptx, ptx_line) = debug.ptx(source);
            let index = u32::from(thread.index);
            let arena = context.arena;
            let space = match address {
                _ if arena.shared.contains(address) => "shared",
                _ if arena.local.contains(address) => "local",
                _ => "global",
            };
            let access = Access { kind, bytes: bytes as u32, space };
            Side {
                block: context.coordinates(u64::from(thread.block)),
                thread: context.thread(index / LANES as u32, index % LANES as u32),
                threads: 1,
                what: match asynchronous {
                    None => access.to_string(),
                    Some(operation) => operation.describe(kind, space),
                },
                access: Some(access),
                locations: debug.locations(source),
                ptx,
                ptx_line,
            }
        };
        let findings = found.into_iter().map(|((kind, ..), found)| {
            let own = side(found.touch, found.address);
            let others = found.others.iter().map(|other| side(*other, found.address));
            Finding {
                kind,
                severity: found.severity,
                kernel: Some(context.program.name.clone()),
                sides: std::iter::once(own).chain(others).collect(),
                address: Some(found.address),
                place: found.place,
                count: found.count,
                seed: context.seed,
            }
        });
        grouped(findings)
    }
}

impl Notes {
    /// The findings, in the order of the program.
    pub(crate) fn findings(&self, context: &Context<'_>) -> Vec<Finding> {
        let mut notes = self.drain();
        notes.sort_by_key(|(key, _)| *key);
        let debug = &context.program.debug;
        let side = |actor: Actor| {
            let (ptx, ptx_line) = debug.ptx(actor.source);
            Side {
                block: actor.block,
                thread: context.thread(actor.warp, actor.lanes.trailing_zeros() & 31),
                threads: actor.lanes.count_ones(),
                what: actor.what.to_owned(),
                access: None,
                locations: debug.locations(actor.source),
                ptx,
                ptx_line,
            }
        };
        let findings = notes.into_iter().map(|((kind, ..), note)| Finding {
            kind,
            severity: kind.severity(),
            kernel: Some(context.program.name.clone()),
            sides: std::iter::once(note.actor).chain(note.other).map(side).collect(),
            address: None,
            place: note.detail,
            count: note.count,
            seed: context.seed,
        });
        grouped(findings)
    }
}

/// The place of a side of a finding: the source lines, or the line of the PTX where nothing is known of these.
#[derive(PartialEq, Eq, Hash)]
enum Origin {
    Source(Vec<Location>),
    Ptx(String, u32),
}

impl Origin {
    /// Of information the innermost function is the place, wherever it was inlined; of a mistake the whole chain of functions,
    /// since the outer ones say who made it.
    fn of(side: &Side, severity: Severity) -> Self {
        match &side.locations[..] {
            [] => Self::Ptx(side.ptx.clone(), side.ptx_line),
            [innermost, ..] if severity == Severity::Info => Self::Source(vec![innermost.clone()]),
            all => Self::Source(all.to_vec()),
        }
    }
}

/// Findings of one kind at the same places, as one, which is the worst of them: a line of the source may be many instructions.
fn grouped(findings: impl Iterator<Item = Finding>) -> Vec<Finding> {
    let mut groups: Vec<Finding> = Vec::new();
    let mut known: HashMap<_, usize> = HashMap::new();
    for finding in findings {
        let places: Vec<Origin> = finding.sides.iter().map(|side| Origin::of(side, finding.severity)).collect();
        match known.entry((finding.kind, places)) {
            Entry::Occupied(place) => {
                let group = &mut groups[*place.get()];
                let count = group.count + finding.count;
                if finding.severity > group.severity {
                    *group = finding;
                }
                group.count = count;
            }
            Entry::Vacant(place) => {
                place.insert(groups.len());
                groups.push(finding);
            }
        }
    }
    groups
}

impl Counters {
    /// The profile of the launch, when it has ended.
    pub(crate) fn profile(&self, context: &Context<'_>) -> Profile {
        let debug = &context.program.debug;
        let rows = self.0.iter().enumerate().filter_map(|(source, row)| {
            let get = |count: Count| row[count as usize].load(Ordering::Relaxed);
            if get(Count::Executions) == 0 {
                return None;
            }
            let (ptx, ptx_line) = debug.ptx(source as u32);
            let global = GlobalTraffic {
                requests: get(Count::GlobalRequests),
                sectors: get(Count::Sectors),
                ideal_sectors: get(Count::IdealSectors),
            };
            let shared = SharedTraffic {
                requests: get(Count::SharedRequests),
                wavefronts: get(Count::Wavefronts),
                ideal_wavefronts: get(Count::IdealWavefronts),
            };
            let branch = Branches { executions: get(Count::Branches), divergent: get(Count::Divergent) };
            Some(InstructionProfile {
                ptx,
                ptx_line,
                instruction: debug.texts.get(source).cloned().unwrap_or_default(),
                locations: debug.locations(source as u32),
                executions: get(Count::Executions),
                threads: get(Count::Threads),
                global: (global.requests > 0).then_some(global),
                shared: (shared.requests > 0).then_some(shared),
                branch: (branch.executions > 0).then_some(branch),
            })
        });
        let mut instructions: Vec<_> = rows.collect();
        instructions.sort_by(|a, b| (&a.ptx, a.ptx_line).cmp(&(&b.ptx, b.ptx_line)));
        Profile { kernel: context.program.name.clone(), grid: context.grid, block: context.block, instructions }
    }
}
