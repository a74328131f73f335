//! The findings of a launch's checks, with the names and positions of its program.

use crate::base::lanes::LANES;
use crate::base::report::{Access, Location};
use crate::check::clock::MOST_BLOCKS;
use crate::check::finding::{Finding, Side, SideLaunch};
use crate::check::monitor::Monitor;
use crate::check::notes::{Actor, Notes};
use crate::check::record::ThreadAccess;
use crate::machine::context::Context;
use crate::machine::counters::{Branches, Count, Counters, GlobalTraffic, InstructionProfile, Profile, SharedTraffic};
use crate::run::session::{Member, Membership};
use rumba_checks::Severity;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Monitor {
    /// The findings, in the order of the program. In a session of several launches, a side may belong to another launch.
    pub(crate) fn take(&self, context: &Context<'_>, membership: Option<&Membership<'_>>) -> Vec<Finding> {
        let mut found: Vec<_> = self.drain();
        found.sort_by_key(|(key, _)| *key);
        let own = context.place_in_session.first_block;
        let side = |touch: ThreadAccess, address: u64| {
            let ThreadAccess { thread, bytes, kind, source, asynchronous } = touch;
            let member = membership.and_then(|membership| membership.launch_of(thread.block));
            let (program, geometry) = match &member {
                Some((_, member)) => (&*member.program, member.geometry),
                None => (context.program, context.geometry()),
            };
            let first_source = member.as_ref().map_or(0, |(_, member)| member.first_source);
            let first_block = member.as_ref().map_or(0, |(index, _)| index * MOST_BLOCKS);
            let (debug, source) = (&program.debug, source - first_source);
            let (ptx, ptx_line) = debug.ptx(source);
            let index = u32::from(thread.index);
            let arena = context.arena;
            let space = match address {
                _ if arena.tensor(address) => "tensor",
                _ if arena.shared.contains(address) => "shared",
                _ if arena.local.contains(address) => "local",
                _ => "global",
            };
            let access = Access { kind, bytes: bytes as u32, space };
            let side = Side {
                block: geometry.coordinates(u64::from(thread.block - first_block)),
                thread: geometry.thread(index / LANES as u32, index % LANES as u32),
                threads: 1,
                launch: None,
                what: match asynchronous {
                    None => access.to_string(),
                    Some(operation) => operation.describe(kind, space),
                },
                access: Some(access),
                locations: debug.locations(source),
                ptx,
                ptx_line,
            };
            (side, first_block, member.map(|(_, member)| member))
        };
        let findings = found.into_iter().map(|((kind, ..), found)| {
            let touches = std::iter::once(&found.touch).chain(&found.others);
            let mut sides: Vec<_> = touches.map(|touch| side(*touch, found.address)).collect();
            name_launches(&mut sides, own);
            Finding {
                kind,
                severity: found.severity,
                kernel: Some(context.program.name.clone()),
                sides: sides.into_iter().map(|(side, ..)| side).collect(),
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
                launch: None,
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

/// A side of a finding, with the number of the first block of its launch, and its launch in a session.
type SideOfLaunch = (Side, u32, Option<Arc<Member>>);

/// Lets each side name its launch, if they are of several. The launch whose first block has the number `own` has noticed the
/// finding.
fn name_launches(sides: &mut [SideOfLaunch], own: u32) {
    let Some((_, first, Some(launch))) = sides.first() else { return };
    let (first, device) = (*first, launch.device);
    if sides.iter().all(|(_, other, _)| *other == first) {
        return;
    }
    let member_of = |(_, _, member): &SideOfLaunch| member.clone();
    let has_devices = sides.iter().filter_map(member_of).any(|member| member.device != device);
    let noticing = sides.iter().find(|(_, first, _)| *first == own).and_then(member_of);
    for (side, first, member) in sides {
        let Some(member) = member else { continue };
        let is_like =
            |noticing: &Arc<Member>| (&noticing.program.name, noticing.device) == (&member.program.name, member.device);
        side.launch = Some(SideLaunch {
            kernel: member.program.name.clone(),
            device: has_devices.then_some(member.device),
            is_another: *first != own && noticing.as_ref().is_some_and(is_like),
        });
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
