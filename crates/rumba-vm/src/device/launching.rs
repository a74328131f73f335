//! Launches of a device: on one engine, or on both, which are compared.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::base::lanes::LANES;
use crate::check::watch::Watch;
use crate::compile::{function, groups};
use crate::device::once::Once;
use crate::device::{Comparing, Device};
use crate::load::module::Function;
use crate::machine::fault::LaunchError;
use crate::machine::printf::Output;
use crate::run::apart::HostWaits;
use crate::run::compared::{self, Ended, On, Reason, Subject};
use crate::run::launch::{Launch, LaunchFailure, Statistics};
use crate::run::native;

impl Device {
    /// Refuses a launch that [`Self::launch`] would refuse.
    ///
    /// # Errors
    /// If the launch is impossible.
    pub fn check(&self, function: &Function, launch: &Launch<'_>) -> Result<(), LaunchError> {
        Self::cluster(function, launch)?;
        self.residency(function, launch).map(drop)
    }

    /// The text that native code of a kernel is made of, for blocks of this shape. Nothing if the kernel is always interpreted.
    pub fn native_text(&self, function: &Function, block: [u32; 3]) -> Option<String> {
        let program = &function.program;
        let text = function::is_wanted(program).then(|| function::write(program, groups::group_of(block)).ok());
        text.flatten().map(|text| text.text)
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
        let residency = self.residency(function, launch)?;
        let inner = &*self.inner;
        let once =
            Once { function, launch, cluster, residency, grid_id: inner.launches.fetch_add(1, Ordering::Relaxed) };
        let ended = match &inner.comparing {
            None => once.run(inner, On::Any, None, &inner.output),
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
            once.run(inner, On::Any, None, &inner.output)
        };
        // Compiling takes time in which no block ends.
        if !host.hold() {
            return leave_out(Reason::Host);
        }
        let config = &inner.config;
        let is_watched = config.is_not_compared() || inner.exploration.is_some();
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
            let mut ended = once.run(inner, on, watch, &output)?;
            ended.text = std::mem::take(&mut *text.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(ended)
        };
        let ended = compared::compare(&subject, &alone, &run)?;
        inner.output.print(&ended.text);
        inner.output.flush();
        Ok(ended)
    }
}
