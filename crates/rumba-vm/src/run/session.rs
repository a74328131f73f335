//! The detectors of races of a device, and the session of the launches that are checked together.
//!
//! Kernels that run at the same time may wait for each other through memory. Launches of kernels that poll memory in a loop
//! therefore share one detector: the first such launch opens a session, others join it as long as it is open, and it closes with
//! the last one. In a session, launches take turns ([`crate::check::turns`]). Accesses by other launches are not known to it: by
//! kernels that do not poll, by launches of more blocks than the numbers of blocks allow, or under a profile or an exploration.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::check::clock::{MOST_BLOCKS, MOST_LAUNCHES, launch_of};
use crate::check::joint::JointRaces;
use crate::check::launches::LaunchShape;
use crate::check::monitor::Detector;
use crate::check::program::OfProgram;
use crate::check::race::Races;
use crate::load::resources::Resources;
use crate::machine::context::PlaceInSession;
use crate::machine::geometry::Geometry;
use crate::machine::program::Program;

/// A launch, as far as the detector and findings know it.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) program: Arc<Program>,
    pub(crate) geometry: Geometry,
    /// The ordinal of the device.
    pub(crate) device: u32,
    /// The number of its first instruction.
    pub(crate) first_source: u32,
}

impl Member {
    fn shape(&self) -> LaunchShape {
        let Geometry { block, cluster, .. } = self.geometry;
        LaunchShape { device: self.device, threads: block.iter().product(), cluster: cluster.iter().product() }
    }
}

/// The launches that are checked together.
struct Session {
    races: Arc<JointRaces>,
    /// All that have joined, by their indices.
    members: Mutex<Vec<Arc<Member>>>,
    /// Whether a launch has panicked, perhaps in the middle of a change of the detector.
    is_broken: AtomicBool,
}

/// The session that launches can join.
struct Open {
    session: Arc<Session>,
    /// The launches that have not ended.
    running: usize,
    /// The instructions of all programs.
    sources: u32,
}

/// The detectors of a device.
#[derive(Default)]
pub(crate) struct Detectors {
    /// Those of earlier launches, for reuse.
    free: Mutex<Vec<Races>>,
    open: Mutex<Option<Open>>,
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

fn of_program(program: &Program) -> OfProgram<'_> {
    OfProgram {
        instructions: program.debug.points.len(),
        updates: &program.updates,
        uses_proxies: program.uses_proxies,
    }
}

impl Detectors {
    /// The detector of a launch alone.
    ///
    /// # Errors
    /// If the system refuses address space.
    pub(crate) fn take(&self, launch: &Member, resources: &Resources) -> io::Result<Races> {
        let free = lock(&self.free).pop();
        let mut races = match free {
            Some(races) => races,
            None => Races::new(&resources.arena)?,
        };
        let allocations = &resources.allocations;
        let (host, allocations) = (allocations.registered(&resources.arena), allocations.writable());
        races.launch(launch.shape(), &host, allocations, &of_program(&launch.program))?;
        Ok(races)
    }

    /// Gives a detector back.
    pub(crate) fn give_back(&self, races: Races) {
        lock(&self.free).push(races);
    }

    /// Whether a session is open.
    #[cfg(test)]
    pub(crate) fn has_session(&self) -> bool {
        lock(&self.open).is_some()
    }

    /// A launch joins the open session, or opens one. Nothing if the launch has to stay alone.
    ///
    /// # Errors
    /// If the system refuses address space.
    pub(crate) fn join(&self, mut launch: Member, resources: &Resources) -> io::Result<Option<Membership<'_>>> {
        if launch.geometry.blocks() > u64::from(MOST_BLOCKS) {
            return Ok(None);
        }
        let instructions = launch.program.debug.points.len() as u32;
        let mut open = lock(&self.open);
        let Some(Open { session, running, sources }) = &mut *open else {
            launch.first_source = 0;
            let races = Arc::new(JointRaces::new(self.take(&launch, resources)?));
            races.turns.begin_launch();
            let members = Mutex::new(vec![Arc::new(launch)]);
            let session = Arc::new(Session { races, members, is_broken: AtomicBool::new(false) });
            *open = Some(Open { session: Arc::clone(&session), running: 1, sources: instructions });
            return Ok(Some(Membership { detectors: self, session: Some(session), index: 0, first_source: 0 }));
        };
        let mut members = lock(&session.members);
        // A program that has joined before keeps its numbers.
        let known = members.iter().find(|member| Arc::ptr_eq(&member.program, &launch.program));
        let known = known.map(|member| member.first_source);
        let is_full = members.len() as u32 == MOST_LAUNCHES || sources.checked_add(instructions).is_none();
        if is_full || session.is_broken.load(Ordering::Relaxed) {
            return Ok(None);
        }
        launch.first_source = known.unwrap_or(*sources);
        let mut turn = session.races.turns.take();
        let host = resources.allocations.registered(&resources.arena);
        session.races.with(&mut turn, |races| {
            let first_source = known.is_none().then_some(launch.first_source);
            races.join(launch.shape(), &host, &of_program(&launch.program), first_source)
        })?;
        if known.is_none() {
            *sources += instructions;
        }
        *running += 1;
        session.races.turns.begin_launch();
        let (index, first_source) = (members.len() as u32, launch.first_source);
        members.push(Arc::new(launch));
        drop((turn, members));
        Ok(Some(Membership { detectors: self, session: Some(Arc::clone(session)), index, first_source }))
    }
}

/// The membership of a launch in a session, which ends when it is dropped.
pub(crate) struct Membership<'a> {
    detectors: &'a Detectors,
    /// Present until it is dropped.
    session: Option<Arc<Session>>,
    index: u32,
    first_source: u32,
}

impl Membership<'_> {
    /// The place of the launch in the session.
    pub(crate) fn place(&self) -> PlaceInSession<'_> {
        PlaceInSession {
            first_block: self.index * MOST_BLOCKS,
            first_source: self.first_source,
            turns: self.session.as_ref().map(|session| &session.races.turns),
        }
    }

    /// The detector that the launches share.
    pub(crate) fn detector(&self) -> Option<Detector> {
        self.session.as_ref().map(|session| Detector::Joint(Arc::clone(&session.races)))
    }

    /// The launch of a block, by the number that the detector has for it: its index, and its description.
    pub(crate) fn launch_of(&self, block: u32) -> Option<(u32, Arc<Member>)> {
        let index = launch_of(block);
        let member = lock(&self.session.as_ref()?.members).get(index as usize).cloned()?;
        Some((index, member))
    }
}

impl Drop for Membership<'_> {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        let mut open = lock(&self.detectors.open);
        if std::thread::panicking() {
            session.is_broken.store(true, Ordering::Relaxed);
        } else {
            let mut turn = session.races.turns.take();
            session.races.with(&mut turn, |races| races.end_launch(self.index));
        }
        session.races.turns.end_launch();
        if let Some(of) = &mut *open {
            of.running -= 1;
            if of.running == 0 {
                *open = None;
            }
        }
        drop(open);
        // Another detector than a broken one is used again.
        if !session.is_broken.load(Ordering::Relaxed)
            && let Some(session) = Arc::into_inner(session)
            && let Some(races) = Arc::into_inner(session.races)
        {
            self.detectors.give_back(races.into_races());
        }
    }
}
