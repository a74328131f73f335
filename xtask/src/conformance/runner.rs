//! Runs the tests of a suite in several workers at once, under a progress bar. Judges nothing.

use super::suite::{Driver, Record, Suite, Verdict};
use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Runs all of `tests`; the records come in the tests' order.
pub(super) fn run_all(
    suite: &dyn Suite,
    driver: &Driver,
    tests: &[String],
    jobs: usize,
    limit: Duration,
) -> Result<Vec<Record>> {
    let bar = progress(tests.len());
    let terminal = std::io::stderr().is_terminal();
    let next = AtomicUsize::new(0);
    let records = Mutex::new(Vec::with_capacity(tests.len()));
    let work = || -> Result<()> {
        let mut worker = suite.worker(driver)?;
        while let Some((index, test)) = take(&next, tests) {
            bar.set_message(test.clone());
            let start = Instant::now();
            let outcome = worker.run(test, limit)?;
            if outcome.verdict.is_failure() {
                bar.suspend(|| eprintln!("{:>7}  {test}", outcome.verdict.word()));
            }
            let record = Record { test: test.clone(), outcome, time: start.elapsed() };
            records.lock().expect("no thread panics with it").push((index, record));
            bar.inc(1);
            if !terminal && bar.position().is_multiple_of(100) {
                eprintln!("{} of {} tests", bar.position(), tests.len());
            }
        }
        Ok(())
    };
    let done: Vec<Result<()>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.clamp(1, tests.len().max(1))).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("workers return their errors")).collect()
    });
    bar.finish_and_clear();
    done.into_iter().collect::<Result<()>>()?;
    let mut records = records.into_inner().expect("no thread panics with it");
    records.sort_by_key(|(index, _)| *index);
    Ok(records.into_iter().map(|(_, record)| record).collect())
}

/// Hands each test to one worker; those of one module stay close together.
fn take<'t>(next: &AtomicUsize, tests: &'t [String]) -> Option<(usize, &'t String)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, tests.get(index)?))
}

fn progress(tests: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar:.cyan/dim} {pos}/{len} {elapsed} (left {eta}) {msg:50!}")
        .expect("the template is constant");
    let bar = ProgressBar::with_draw_target(Some(tests as u64), ProgressDrawTarget::stderr()).with_style(style);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// How many records have a verdict.
pub(super) fn count(records: &[Record], verdict: Verdict) -> usize {
    records.iter().filter(|record| record.outcome.verdict == verdict).count()
}
