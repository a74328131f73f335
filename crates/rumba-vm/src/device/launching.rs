//! Launches of a device: the checks of a launch's parameters, and one launch from its parameters to its findings.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use rumba_checks::Check;

use crate::base::lanes::{LANES, MAX_CLUSTER, SHARED_START, STACK_START};
use crate::base::limits;
use crate::check::monitor::Monitor;
use crate::check::notes::Notes;
use crate::check::watch::Watch;
use crate::compile::function;
use crate::device::{Comparing, Device};
use crate::explore::past::Pasts;
use crate::load::module::Function;
use crate::machine::cluster::GridBarrier;
use crate::machine::context::{Context, Variance};
use crate::machine::counters::Counters;
use crate::machine::fault::LaunchError;
use crate::machine::op::has_avx2;
use crate::machine::printf::Output;
use crate::mem::allocations::AllocationKind;
use crate::mem::arena::SHARED_STRIDE;
use crate::run::apart::HostWaits;
use crate::run::compared::{self, Ended, On, Reason, Subject};
use crate::run::launch::{self, Launch, LaunchFailure, Progress, Statistics};
use crate::run::{explored, lockstep_build, native};

impl Device {
    /// The size of the clusters of a launch.
    fn cluster(function: &Function, launch: &Launch<'_>) -> Result<[u32; 3], LaunchError> {
        let program = &function.program;
        let size = launch.cluster.or(program.required_cluster).unwrap_or([1; 3]);
        let wrong = |reason: String| Err(LaunchError::Cluster { size, reason });
        if let Some(required) = program.required_cluster
            && required != size
        {
            return wrong(format!("the kernel requires {required:?} (.reqnctapercluster)"));
        }
        if program.explicit_cluster && launch.cluster.or(program.required_cluster).is_none() {
            return wrong("the kernel wants the launch to say how large they are (.explicitcluster)".into());
        }
        let blocks = size.iter().map(|extent| u64::from(*extent)).product::<u64>();
        let limit = u64::from(program.max_cluster.unwrap_or(MAX_CLUSTER).min(MAX_CLUSTER));
        if blocks == 0 || blocks > limit {
            return wrong(format!("a cluster has 1 to {limit} blocks"));
        }
        let fits = launch.grid.iter().zip(size).all(|(grid, extent)| grid % extent == 0);
        if !fits && !program.blocks_are_clusters {
            let grid = launch.grid;
            return wrong(format!("the grid {grid:?} is not a multiple of that"));
        }
        Ok(size)
    }

    fn check_launch(&self, function: &Function, launch: &Launch<'_>) -> Result<u32, LaunchError> {
        let program = &function.program;
        if !Arc::ptr_eq(&function.module.device, &self.inner.resources) {
            return Err(LaunchError::OtherDevice);
        }
        let threads = launch.block.iter().map(|size| u64::from(*size)).product::<u64>();
        for (what, size, limit) in [("grid", launch.grid, limits::GRID), ("block", launch.block, limits::BLOCK)] {
            if size.contains(&0) {
                return Err(LaunchError::Empty { what, size });
            }
            if what == "block" && threads > u64::from(limits::THREADS_PER_BLOCK) {
                return Err(LaunchError::TooManyThreads {
                    threads,
                    limit: limits::THREADS_PER_BLOCK,
                    reason: "the device allows",
                });
            }
            if size.iter().zip(&limit).any(|(size, limit)| size > limit) {
                return Err(LaunchError::TooLarge { what, size, limit });
            }
        }
        if threads > u64::from(program.max_threads) {
            let limit = program.max_threads;
            return Err(LaunchError::TooManyThreads { threads, limit, reason: "the kernel allows (.maxntid)" });
        }
        if let Some(required) = program.required_block
            && required != launch.block
        {
            return Err(LaunchError::WrongBlock { required, size: launch.block });
        }
        let fixed = program.shared_end - SHARED_START;
        let dynamic = u64::from(launch.dynamic_shared);
        let multiprocessor = self.inner.config.multiprocessor;
        let limit = multiprocessor.shared_per_block;
        if fixed + dynamic > u64::from(limit) || fixed + dynamic > SHARED_STRIDE as u64 - 2 * SHARED_START {
            return Err(LaunchError::TooMuchShared { requested: fixed + dynamic, fixed, dynamic, limit });
        }
        if launch.parameters.len() != program.parameter_bytes {
            let (expected, given) = (program.parameter_bytes, launch.parameters.len());
            return Err(LaunchError::Parameters { expected, given });
        }
        let residency = multiprocessor.resident_blocks(threads as u32, 0, (fixed + dynamic) as u32).max(1);
        let blocks = launch.grid.iter().map(|size| u64::from(*size)).product::<u64>();
        let limit = u64::from(residency) * u64::from(self.multiprocessors());
        if launch.cooperative && blocks > limit {
            return Err(LaunchError::TooManyCooperative { blocks, limit });
        }
        Ok(residency)
    }

    /// Refuses a launch that [`Self::launch`] would refuse.
    ///
    /// # Errors
    /// If the launch is impossible.
    pub fn check(&self, function: &Function, launch: &Launch<'_>) -> Result<(), LaunchError> {
        Self::cluster(function, launch)?;
        self.check_launch(function, launch).map(drop)
    }

    /// The text that native code of a kernel is made of, for blocks of this shape. Nothing if it would be too long.
    pub fn native_text(&self, function: &Function, block: [u32; 3]) -> Option<String> {
        let text = function::write(&function.program, function::group_of(block))?;
        Some(text.unit.text)
    }

    /// Runs a kernel and returns when it has ended. Launches of several threads run one after another, unless one takes
    /// long: then others run beside it.
    ///
    /// # Errors
    /// If the launch is impossible or the kernel makes a mistake.
    pub fn launch(&self, function: &Function, launch: &Launch<'_>) -> Result<Statistics, LaunchFailure> {
        self.launch_for(&HostWaits::default(), function, launch)
    }

    /// Like [`Self::launch`], for a host that may go on before the launch has ended, which matters where engines are compared.
    ///
    /// # Errors
    /// If the launch is impossible or the kernel makes a mistake.
    pub fn launch_for(
        &self,
        host: &HostWaits,
        function: &Function,
        launch: &Launch<'_>,
    ) -> Result<Statistics, LaunchFailure> {
        let cluster = Self::cluster(function, launch)?;
        let mut launch = *launch;
        if function.program.blocks_are_clusters {
            for (grid, extent) in launch.grid.iter_mut().zip(cluster) {
                *grid = grid.saturating_mul(extent);
            }
        }
        let launch = &launch;
        let residency = self.check_launch(function, launch)?;
        let inner = &*self.inner;
        let once =
            Once { function, launch, cluster, residency, grid_id: inner.launches.fetch_add(1, Ordering::Relaxed) };
        let ended = match &inner.comparing {
            None => self.run(&once, On::Any, None, &inner.output),
            Some(comparing) => self.compare(comparing, host, &once),
        }?;
        if !ended.findings.is_empty() {
            inner.findings().extend(ended.findings);
        }
        ended.result
    }

    /// Runs a kernel on both engines, if that can be.
    fn compare(&self, comparing: &Comparing, host: &HostWaits, once: &Once<'_>) -> Result<Ended, LaunchError> {
        let inner = &*self.inner;
        let (program, launch) = (&once.function.program, once.launch);
        let leave_out = |reason| {
            comparing.counts.leave_out(reason);
            host.release();
            let _beside = comparing.apart.join();
            self.run(once, On::Any, None, &inner.output)
        };
        // Compiling takes time in which no block ends.
        if !host.hold() {
            return leave_out(Reason::Host);
        }
        let config = &inner.config;
        let is_watched = config.is_interpreted() || inner.exploration.is_some();
        let Some(compiler) = config.engine.compiler().filter(|_| !is_watched) else {
            return leave_out(Reason::Watched);
        };
        if native::of(program, launch.block, &**compiler).code().is_none() {
            return leave_out(Reason::NoCode);
        }
        let Some(alone) = comparing.apart.compare() else {
            return leave_out(Reason::Beside);
        };
        let subject = Subject {
            program,
            block: launch.block,
            is_one_warp: launch.grid == [1; 3] && launch.block.iter().product::<u32>() <= LANES as u32,
            resources: &inner.resources,
            heap: &inner.heap,
            counts: &comparing.counts,
            host,
        };
        let run = |on, watch: Option<&Watch>| {
            let (output, text) = Output::collecting();
            let mut ended = self.run(once, on, watch, &output)?;
            ended.text = std::mem::take(&mut *text.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(ended)
        };
        let ended = compared::compare(&subject, &alone, &run)?;
        inner.output.print(&ended.text);
        inner.output.flush();
        Ok(ended)
    }

    /// Runs a kernel once.
    fn run(&self, once: &Once<'_>, on: On, watch: Option<&Watch>, output: &Output) -> Result<Ended, LaunchError> {
        let Once { function, launch, cluster, residency, grid_id } = *once;
        let inner = &*self.inner;
        let program = &*function.program;
        let checks = inner.config.checks;
        let looks_for_races = checks.contains(Check::Race);
        let races = if looks_for_races {
            Some(inner.take_races(program, launch.block.iter().product(), cluster.iter().product())?)
        } else {
            None
        };
        let slot = inner.slots.take();
        let window = inner.arena.parameters.of_slot(slot.number);
        let parameters = window.start;
        if !launch.parameters.is_empty() {
            // SAFETY: a slot's window was committed when the device was made, and one launch has it at a time.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    launch.parameters.as_ptr(),
                    parameters as *mut u8,
                    launch.parameters.len(),
                );
            }
            inner.allocations.register(parameters, launch.parameters.len(), AllocationKind::Parameters, None);
        }
        let blocks = launch.grid.iter().map(|size| u64::from(*size)).product::<u64>();
        let clusters = usize::try_from(blocks).unwrap_or(usize::MAX) / cluster.iter().product::<u32>() as usize;
        let exploration = inner.exploration.as_ref();
        let explored = exploration.filter(|_| blocks <= explored::MOST_BLOCKS);
        if let Some(exploration) = exploration.filter(|_| explored.is_none()) {
            exploration.limit(format!(
                "a launch of `{}` has {blocks} blocks, and launches of up to {} are explored",
                program.name,
                explored::MOST_BLOCKS
            ));
        }
        // The interpreter tells a watch of each access.
        let is_told = watch.is_some() && on == On::Interpreter;
        let is_monitored = looks_for_races || checks.contains(Check::Init) || explored.is_some() || is_told;
        let monitor = is_monitored.then(|| Monitor::new(races, explored.map(|_| Pasts::new(0, 0))));
        // Findings must not depend on the speed of workers.
        let all_workers = inner.workers;
        let workers = if looks_for_races || inner.config.seed.is_some() || exploration.is_some() || on != On::Any {
            1
        } else {
            all_workers.min(clusters)
        };
        let resident_clusters = if launch.cooperative {
            clusters.div_ceil(workers)
        } else {
            residency as usize / (blocks as usize / clusters)
        };
        let residency = resident_clusters.max(1) * (blocks as usize / clusters);
        let grid_workspace = if launch.cooperative { inner.grid_workspace(slot.number) } else { 0 };
        let stack = program
            .stack_bytes
            .unwrap_or(STACK_START + program.frame_bytes + inner.stack_bytes.load(Ordering::Relaxed))
            .next_multiple_of(program.stack_align.max(16));
        // Blocks of an order that is explored are all there at once.
        let most_blocks = residency.max(if explored.is_some() { blocks as usize } else { 0 });
        let threads = (launch.block.iter().product::<u32>() as usize).next_multiple_of(LANES) * most_blocks * workers;
        let stacks = inner.stacks.take(stack.saturating_mul(threads as u64));
        if on != On::Any {
            // The contents of unwritten memory and registers are the same in each run.
            inner.arena.discard(stacks.window.start..stacks.window.end);
            slot.worker(0).clear_registers();
        }
        let config = &inner.config;
        let full_warps = launch.block.iter().product::<u32>() >= LANES as u32;
        let plain = config.seed.is_none() && !config.profile && exploration.is_none();
        let can_be_native = plain && monitor.is_none() && on != On::Interpreter;
        let compiler = config.engine.compiler().filter(|_| can_be_native);
        let tier_up = compiler.map(|compiler| native::of(&function.program, launch.block, &**compiler));
        let code = tier_up.and_then(|tier_up| tier_up.code());
        let lockstep =
            code.is_none() && config.lockstep && config.vector_instructions && has_avx2() && full_warps && plain;
        let progress = Progress::new();
        let notes = checks.finds().then(Notes::default);
        let counters = config.profile.then(|| Counters::new(program.debug.points.len()));
        let context = Context {
            program,
            lockstep: lockstep.then(|| lockstep_build::of(program, launch.block)).flatten(),
            native: code,
            tier_up: tier_up.filter(|_| code.is_none()),
            arena: &inner.arena,
            allocations: &inner.allocations,
            output,
            heap: &inner.heap,
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.dynamic_shared,
            parameters: launch.parameters,
            parameter_start: parameters,
            shared: inner.arena.shared.of_slot(slot.number),
            local: stacks.window,
            stack_stride: stack,
            number: grid_id,
            run: inner.runs.fetch_add(1, Ordering::Relaxed),
            workers: all_workers,
            active_workers: workers,
            next: AtomicU64::new(0),
            residency,
            cooperative: launch.cooperative,
            cluster,
            explicit_cluster: launch.cluster.or(program.required_cluster).is_some(),
            grid_workspace,
            grid_barrier: GridBarrier::new(blocks),
            checks,
            notes: notes.as_ref(),
            profile: counters.as_ref(),
            seed: config.seed,
            explores: explored.is_some(),
            monitor: monitor.as_ref(),
            beat: inner.comparing.as_ref().map(|comparing| comparing.apart.beat()),
            watch,
            variance: Variance::default(),
            instruction_limit: inner.config.instruction_limit,
            time_limit: inner.config.time_limit,
            long_launches: inner.long_launches.get(),
            printed: output.printed(),
            started: Instant::now(),
        };
        inner.pool.run(workers, &|number| {
            let mut worker = slot.worker(number);
            match explored {
                Some(exploration) => explored::work(&context, &progress, &mut worker, exploration),
                None => launch::work(&context, &progress, &mut worker),
            }
        });
        if !launch.parameters.is_empty() {
            inner.allocations.unregister(parameters);
        }
        if grid_workspace != 0 {
            inner.allocations.unregister(grid_workspace);
        }
        output.flush();
        let warp_instructions = progress.executed();
        let mut findings = Vec::new();
        if let Some(monitor) = &monitor {
            findings.extend(monitor.take(&context));
        }
        if let Some(counters) = &counters {
            let mut profiles = inner.profiles.lock().unwrap_or_else(PoisonError::into_inner);
            profiles.push(counters.profile(&context));
        }
        if let Some(notes) = &notes {
            findings.extend(notes.findings(&context));
        }
        let fault = progress.fault(&context);
        let Variance { clock, turns } = context.variance;
        let (read_clock, took_turns) = (clock.into_inner(), turns.into_inner());
        if let Some(races) = monitor.and_then(Monitor::into_races) {
            inner.races().push(races);
        }
        let result = match fault {
            Some(fault) => Err(Box::new(fault).into()),
            None => Ok(Statistics { warp_instructions, blocks, workers }),
        };
        Ok(Ended { result, findings, text: Vec::new(), read_clock, took_turns })
    }
}

/// A launch that was checked, to be run once or twice.
struct Once<'a> {
    function: &'a Function,
    launch: &'a Launch<'a>,
    cluster: [u32; 3],
    residency: u32,
    grid_id: u64,
}
