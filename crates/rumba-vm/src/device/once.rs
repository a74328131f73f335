//! One run of a launch: a plan, the memory that the run takes from the device, the run itself, and what the device keeps of it.

use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use rumba_checks::Check;

use crate::base::engine::Compiler;
use crate::base::lanes::{LANES, STACK_START};
use crate::base::pool;
use crate::check::monitor::{Detector, Monitor};
use crate::check::notes::Notes;
use crate::check::watch::Watch;
use crate::compile::kernel;
use crate::device::{GRID_WORKSPACE_BYTES, Inner};
use crate::explore::Exploration;
use crate::explore::past::Pasts;
use crate::load::module::Function;
use crate::machine::cluster::GridBarrier;
use crate::machine::context::{Context, Variance};
use crate::machine::counters::Counters;
use crate::machine::fault::LaunchError;
use crate::machine::geometry::Geometry;
use crate::machine::printf::Output;
use crate::machine::program::{Native, Program, TierUp};
use crate::mem::allocations::{AllocationKind, Allocations};
use crate::run::compared::{Ended, On};
use crate::run::launch::{self, Launch, Statistics};
use crate::run::progress::Progress;
use crate::run::session::{Member, Membership};
use crate::run::{explored, native};

/// A launch that was checked, to be run once or twice.
pub(super) struct Once<'a> {
    pub(super) function: &'a Function,
    pub(super) launch: &'a Launch<'a>,
    pub(super) cluster: [u32; 3],
    /// Blocks that a multiprocessor keeps resident.
    pub(super) residency: u32,
    pub(super) grid_id: u64,
}

/// The decisions about a run.
struct Plan<'a> {
    blocks: u64,
    /// The workers that run blocks, and the blocks that each of them may keep resident.
    workers: usize,
    residency: usize,
    /// Bytes of each thread's stack, and of all stacks.
    stack: u64,
    stacks: u64,
    /// The exploration whose orders the launch follows.
    exploration: Option<&'a Exploration>,
    /// Whether the history of accesses is kept.
    is_monitored: bool,
    /// The native code of all blocks, if there is some; otherwise what makes it, unless the launch is always interpreted.
    native: Option<&'a Native>,
    tier_up: Option<TierUp<'a>>,
    /// With a seed, the program and the compiler of which later blocks may want native code.
    compilable: Option<(&'a Arc<Program>, &'a dyn Compiler)>,
}

impl<'a> Once<'a> {
    fn plan(&self, device: &'a Inner, on: On, watch: Option<&Watch>) -> Plan<'a> {
        let Once { function, launch, cluster, residency, .. } = *self;
        let program = &*function.program;
        let (config, checks) = (&device.config, device.config.checks);
        let blocks = launch.grid.iter().map(|size| u64::from(*size)).product::<u64>();
        let clusters = usize::try_from(blocks).unwrap_or(usize::MAX) / cluster.iter().product::<u32>() as usize;
        let explores = device.exploration.as_ref();
        let exploration = explores.filter(|_| blocks <= explored::MOST_BLOCKS);
        if let Some(explores) = explores.filter(|_| exploration.is_none()) {
            explores.limit(format!(
                "a launch of `{}` has {blocks} blocks, and launches of up to {} are explored",
                program.name,
                explored::MOST_BLOCKS
            ));
        }
        // Findings must not depend on the speed of workers.
        let is_in_order = checks.contains(Check::Race) || config.seed.is_some() || explores.is_some() || on != On::Any;
        let workers = if is_in_order { 1 } else { device.workers.min(clusters) };
        let blocks_of_cluster = blocks as usize / clusters;
        let resident_clusters =
            if launch.cooperative { clusters.div_ceil(workers) } else { residency as usize / blocks_of_cluster };
        let residency = resident_clusters.max(1) * blocks_of_cluster;
        let stack = program
            .stack_bytes
            .unwrap_or(STACK_START + program.frame_bytes + device.stack_bytes.load(Ordering::Relaxed))
            .next_multiple_of(program.stack_align.max(16));
        // Blocks of an order that is explored are all there at once.
        let most_blocks = residency.max(if exploration.is_some() { blocks as usize } else { 0 });
        let threads = (launch.block.iter().product::<u32>() as usize).next_multiple_of(LANES) * most_blocks * workers;
        // The interpreter tells a watch of each access.
        let is_told = watch.is_some() && on == On::Interpreter;
        let is_monitored = program.is_monitored() || exploration.is_some() || is_told;
        let compilable = self.compilable(device, on);
        let tier_up = compilable
            .filter(|_| config.seed.is_none())
            .map(|(program, compiler)| native::of(program, launch.block, compiler));
        let native = tier_up.and_then(|tier_up| tier_up.code());
        Plan {
            blocks,
            workers,
            residency,
            stack,
            stacks: stack.saturating_mul(threads as u64),
            exploration,
            is_monitored,
            native,
            tier_up: tier_up.filter(|_| native.is_none()),
            compilable: compilable.filter(|_| config.seed.is_some()),
        }
    }

    /// The program and the compiler, unless the launch is always interpreted.
    fn compilable(&self, device: &'a Inner, on: On) -> Option<(&'a Arc<Program>, &'a dyn Compiler)> {
        let config = &device.config;
        // With a seed, the two engines let lanes diverge at different operations.
        let is_compared = on == On::Native || config.engine.compares();
        if on == On::Interpreter
            || config.profile
            || device.exploration.is_some()
            || (config.seed.is_some() && is_compared)
        {
            return None;
        }
        Some((&self.function.program, &**config.engine.compiler()?))
    }

    /// The check of races, if the launch has it, and the launch's part in a session of launches that are checked together.
    fn detector<'d>(
        &self,
        device: &'d Inner,
        plan: &Plan<'_>,
        on: On,
    ) -> io::Result<(Option<Membership<'d>>, Option<Detector>)> {
        if !device.config.checks.contains(Check::Race) {
            return Ok((None, None));
        }
        let Once { function, launch, cluster, grid_id, .. } = *self;
        let program = &function.program;
        let (residency, seed) = (plan.residency, device.config.seed);
        let member = Member {
            program: Arc::clone(program),
            geometry: Geometry { grid: launch.grid, block: launch.block, cluster, residency, seed, number: grid_id },
            device: launch.device,
            first_source: 0,
        };
        let may_join = on == On::Any && plan.exploration.is_none() && plan.native.is_none() && !device.config.profile;
        if may_join
            && kernel::polls(program)
            && let Some(membership) = device.detectors.join(member.clone(), &device.resources)?
        {
            let detector = membership.detector();
            return Ok((Some(membership), detector));
        }
        let races = device.detectors.take(&member, &device.resources)?;
        Ok((None, Some(Detector::Own(Box::new(UnsafeCell::new(races))))))
    }

    /// Runs the kernel.
    pub(super) fn run(
        &self,
        device: &Inner,
        on: On,
        watch: Option<&Watch>,
        output: &Output,
    ) -> Result<Ended, LaunchError> {
        let Once { function, launch, cluster, grid_id, .. } = *self;
        let program = &*function.program;
        let config = &device.config;
        let plan = self.plan(device, on, watch);
        let refused = |error: io::Error| LaunchError::Checks { reason: error.to_string() };
        let slot = device.slots.take();
        let stacks = device.stacks.take(plan.stacks);
        // Launches that have ended by now come before this one.
        let (membership, detector) = self.detector(device, &plan, on).map_err(refused)?;
        let monitor = plan.is_monitored.then(|| Monitor::new(detector, plan.exploration.map(|_| Pasts::new(0, 0))));
        let parameters = Registered::parameters(device, slot.number, launch.parameters);
        let grid = launch.cooperative.then(|| Registered::grid(device, slot.number));
        if on != On::Any {
            // The contents of unwritten memory and registers are the same in each run.
            device.arena.discard(stacks.window.start..stacks.window.end);
            slot.worker(0).clear_registers();
        }
        let progress = Progress::new();
        let notes = config.checks.finds().then(Notes::default);
        let counters = config.profile.then(|| Counters::new(program.debug.points.len()));
        let context = Context {
            program,
            native: plan.native,
            tier_up: plan.tier_up,
            compilable: plan.compilable,
            arena: &device.arena,
            allocations: &device.allocations,
            output,
            heap: &device.heap,
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.dynamic_shared,
            parameters: launch.parameters,
            parameter_start: parameters.address,
            shared: device.arena.shared.of_slot(slot.number),
            local: stacks.window,
            stack_stride: plan.stack,
            number: grid_id,
            run: device.runs.fetch_add(1, Ordering::Relaxed),
            workers: device.workers,
            active_workers: plan.workers,
            next: AtomicU64::new(0),
            residency: plan.residency,
            cooperative: launch.cooperative,
            cluster,
            explicit_cluster: launch.cluster.or(program.required_cluster).is_some(),
            grid_workspace: grid.as_ref().map_or(0, |grid| grid.address),
            grid_barrier: GridBarrier::new(plan.blocks),
            checks: config.checks,
            notes: notes.as_ref(),
            profile: counters.as_ref(),
            seed: config.seed,
            explores: plan.exploration.is_some(),
            place_in_session: membership.as_ref().map(Membership::place).unwrap_or_default(),
            monitor: monitor.as_ref(),
            beat: device.comparing.as_ref().map(|comparing| comparing.apart.beat()),
            watch,
            variance: Variance::default(),
            instruction_limit: config.instruction_limit,
            time_limit: config.time_limit,
            long_launches: device.long_launches.get(),
            printed: output.printed(),
            started: Instant::now(),
        };
        let work = |number| {
            let mut worker = slot.worker(number);
            match plan.exploration {
                Some(exploration) => explored::work(&context, &progress, &mut worker, exploration),
                None => launch::work(&context, &progress, &mut worker),
            }
        };
        if launch.cooperative && !slot.is_alone {
            // The threads of the pool may run a launch that waits for this one, of which all blocks have to run at the same time.
            pool::run_on_own_threads(plan.workers, &work);
        } else {
            device.pool.run(plan.workers, &work);
        }
        drop((parameters, grid));
        output.flush();
        let mut findings = Vec::new();
        if let Some(monitor) = &monitor {
            findings.extend(monitor.take(&context, membership.as_ref()));
        }
        if let Some(counters) = &counters {
            let mut profiles = device.profiles.lock().unwrap_or_else(PoisonError::into_inner);
            profiles.push(counters.profile(&context));
        }
        if let Some(notes) = &notes {
            findings.extend(notes.findings(&context));
        }
        let result = match progress.fault(&context) {
            Some(fault) => Err(Box::new(fault).into()),
            None => {
                Ok(Statistics { warp_instructions: progress.executed(), blocks: plan.blocks, workers: plan.workers })
            }
        };
        let Variance { clock, turns } = context.variance;
        let (read_clock, took_turns) = (clock.into_inner(), turns.into_inner());
        if let Some(races) = monitor.and_then(Monitor::into_races) {
            device.detectors.give_back(races);
        }
        Ok(Ended { result, findings, text: Vec::new(), read_clock, took_turns })
    }
}

/// Memory that threads can address as long as the run takes.
struct Registered<'a> {
    allocations: &'a Allocations,
    address: u64,
    bytes: usize,
}

impl<'a> Registered<'a> {
    fn new(device: &'a Inner, address: u64, bytes: usize, kind: AllocationKind, name: Option<String>) -> Self {
        if bytes != 0 {
            device.allocations.register(address, bytes, kind, name);
        }
        Self { allocations: &device.allocations, address, bytes }
    }

    /// The parameters of a launch.
    fn parameters(device: &'a Inner, slot: usize, parameters: &[u8]) -> Self {
        let address = device.arena.parameters.of_slot(slot).start;
        // SAFETY: a slot's window was committed when the device was made, and one launch has it at a time.
        unsafe { std::ptr::copy_nonoverlapping(parameters.as_ptr(), address as *mut u8, parameters.len()) };
        Self::new(device, address, parameters.len(), AllocationKind::Parameters, None)
    }

    /// The memory in which compiled code keeps the state of a grid's barrier.
    fn grid(device: &'a Inner, slot: usize) -> Self {
        let address = device.arena.grids.of_slot(slot).start;
        // SAFETY: as above.
        unsafe { std::ptr::write_bytes(address as *mut u8, 0, GRID_WORKSPACE_BYTES) };
        Self::new(device, address, GRID_WORKSPACE_BYTES, AllocationKind::Global, Some("barrier of the grid".into()))
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        if self.bytes != 0 {
            self.allocations.unregister(self.address);
        }
    }
}
