//! Which kernel computes a product: a model of the time that each takes, and measurements of those that may be the fastest.

use super::Precision;
use super::pack::{Packed, in_vectors, pack};
use super::types::{Multiply, Operands};
use crate::array::ArrayViewMut;
use crate::array::layout::Layout;
use crate::base::driver;
use crate::base::error::{Error, Result};
use crate::launch::config::LaunchConfig;
use crate::launch::library::Library;
use crate::linalg::{Linalg, Tuning};
use bytemuck::Pod;
use smallvec::SmallVec;
use std::time::Duration;

/// A way to compute a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Way {
    /// By threads that read the operands where they lie.
    Elements,
    /// By threads and shared memory, in large tiles.
    Threads,
    /// The same in smaller ones.
    ThreadsSmall,
    /// By warps and shared memory.
    Warps,
    /// The same in smaller tiles.
    WarpsSmall,
    /// By warps, with numbers of TensorFloat-32.
    WarpsTf32,
}

/// What is known of a way.
struct Facts {
    /// Its name among measured answers.
    name: &'static str,
    /// Rows and columns of the product that a block computes.
    tile: [usize; 2],
    /// How many terms of sums a multiprocessor adds in a cycle, for elements of 1, 2, 4 and 8 bytes.
    speed: [f64; 4],
    /// The same on the software device, against the others.
    simulated: f64,
    /// Whether elements of 1 and 2 bytes have to lie in vectors.
    in_vectors: bool,
}

impl Way {
    fn facts(self) -> Facts {
        let (name, tile, speed, simulated, in_vectors) = match self {
            Way::Elements => ("elements", [64, 64], [24.0, 24.0, 30.0, 24.0], 1.0, false),
            Way::Threads => ("threads", [256, 128], [0.0, 0.0, 100.0, 0.0], 1.0, false),
            Way::ThreadsSmall => ("small threads", [128, 128], [0.0, 0.0, 90.0, 0.0], 1.0, false),
            Way::Warps => ("warps", [128, 128], [900.0, 500.0, 0.0, 80.0], 1.0, true),
            Way::WarpsSmall => ("small warps", [128, 64], [0.0, 0.0, 0.0, 80.0], 1.0, true),
            Way::WarpsTf32 => ("warps tf32", [128, 128], [0.0, 0.0, 200.0, 0.0], 1.0, false),
        };
        Facts {
            name,
            tile,
            speed,
            simulated,
            in_vectors,
        }
    }
}

/// The sizes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    batch: usize,
    rows: usize,
    columns: usize,
    terms: usize,
}

impl Problem {
    pub(super) fn new([batch, rows, columns, terms]: [usize; 4]) -> Problem {
        Problem {
            batch,
            rows,
            columns,
            terms,
        }
    }

    /// How many tiles there are, as blocks of a launch.
    pub(super) fn tiles(&self, [rows, columns]: [usize; 2]) -> Result<u32> {
        let tiles = self
            .rows
            .div_ceil(rows)
            .saturating_mul(self.columns.div_ceil(columns))
            .saturating_mul(self.batch);
        u32::try_from(tiles)
            .ok()
            .filter(|tiles| *tiles <= i32::MAX as u32)
            .ok_or(Error::TooManyElements {
                operation: "compute a product of",
                length: self.rows.saturating_mul(self.columns).saturating_mul(self.batch),
                limit: (i32::MAX as usize).saturating_mul(rows * columns),
            })
    }

    /// How long a way takes, in cycles of the device.
    fn time(&self, plan: &Plan, size: usize, multiprocessors: f64) -> f64 {
        let Facts {
            tile, speed, simulated, ..
        } = plan.way.facts();
        let speed = if driver::is_software() {
            simulated
        } else {
            speed[size.ilog2() as usize]
        };
        let tiles = (self.batch * self.rows.div_ceil(tile[0]) * self.columns.div_ceil(tile[1])) as f64;
        // Filling the first stages and writing the sums are worth some terms.
        let each = (tile[0] * tile[1]) as f64 * (self.terms as f64 + 64.0) / speed;
        let packed = [(plan.packs[0], self.rows), (plan.packs[1], self.columns)];
        // A launch, and so many bytes in a cycle to read and to write.
        let copies = packed.into_iter().filter(|(packs, _)| *packs);
        let copies: f64 = copies
            .map(|(_, lines)| 5000.0 + (2 * size * self.batch * lines * self.terms) as f64 / 800.0)
            .sum();
        (tiles / multiprocessors).ceil() * each + copies
    }

    /// What products that are answered alike have in common: sizes of the same class.
    fn class(&self) -> String {
        let [batch, rows, columns, terms] = [self.batch, self.rows, self.columns, self.terms].map(class);
        format!("{batch}x{rows}x{columns}x{terms}")
    }
}

/// The next power of two, or three quarters of it.
fn class(length: usize) -> usize {
    let power = length.max(1).checked_next_power_of_two().unwrap_or(usize::MAX);
    if length <= power / 4 * 3 { power / 4 * 3 } else { power }
}

/// A way, and which operands are copied before.
#[derive(Clone, Copy)]
struct Plan {
    way: Way,
    packs: [bool; 2],
}

/// The plans that give the result that is asked for, from the one that the model thinks the fastest on.
fn plans<T: Multiply<U>, U: Pod>(
    operands: &Operands<'_, T, U>,
    problem: &Problem,
    precision: Precision,
    multiprocessors: u32,
) -> SmallVec<[(f64, Plan); 4]> {
    let lies = [in_vectors(&operands.a), in_vectors(&operands.b.permute([0, 2, 1]))];
    let ways = T::WAYS
        .iter()
        .filter(|way| **way != Way::WarpsTf32 || precision == Precision::Tf32);
    let mut plans: SmallVec<[(f64, Plan); 4]> = ways
        .map(|&way| {
            let needs_vectors = way.facts().in_vectors && size_of::<T>() <= 2;
            let plan = Plan {
                way,
                packs: lies.map(|lies| needs_vectors && !lies),
            };
            (problem.time(&plan, size_of::<T>(), f64::from(multiprocessors)), plan)
        })
        .collect();
    plans.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    plans
}

/// A plan is measured if the model says that it takes at most so many times as long as the fastest.
const PERHAPS: f64 = 2.5;

/// Computes a product.
pub(super) fn run<T: Multiply<U>, U: Pod>(
    linalg: &Linalg,
    operands: Operands<'_, T, U>,
    problem: &Problem,
    precision: Precision,
) -> Result<()> {
    let plan = choose(linalg, &operands, problem, precision);
    carry_out(
        &linalg.library,
        plan,
        operands,
        problem,
        &mut |library, config, call| library.launch(None, config, call),
    )
}

fn choose<T: Multiply<U>, U: Pod>(
    linalg: &Linalg,
    operands: &Operands<'_, T, U>,
    problem: &Problem,
    precision: Precision,
) -> Plan {
    let plans = plans(
        operands,
        problem,
        precision,
        linalg.library.device().limits().multiprocessors,
    );
    let (fastest, first) = plans[0];
    let candidates: SmallVec<[Plan; 4]> = plans
        .iter()
        .filter(|(time, _)| *time <= fastest * PERHAPS)
        .map(|(_, plan)| *plan)
        .collect();
    if linalg.tuning == Tuning::Heuristic || driver::is_software() || candidates.len() < 2 {
        return first;
    }
    let names: SmallVec<[&'static str; 4]> = candidates.iter().map(|plan| plan.way.facts().name).collect();
    let last = |name: &'static str| name.rsplit("::").next().unwrap_or(name);
    let packs = candidates
        .iter()
        .fold([false; 2], |all, plan| [all[0] | plan.packs[0], all[1] | plan.packs[1]]);
    let packs = packs.map(|packs| if packs { "packed" } else { "there" });
    let question = format!(
        "product {} {} {} {} {} {precision:?}",
        last(std::any::type_name::<T>()),
        last(std::any::type_name::<U>()),
        packs[0],
        packs[1],
        problem.class()
    );
    let by_name = |name: &str| candidates.iter().copied().find(|plan| plan.way.facts().name == name);
    if let Some(known) = linalg.tuner.known(&question, &names) {
        return by_name(known).unwrap_or(first);
    }
    if linalg.library.is_recording() {
        return first;
    }
    measure(linalg, operands, problem, &question, &names, by_name).unwrap_or(first)
}

/// Runs the candidates on an output of their own. None: there is no memory for it, or none runs.
fn measure<T: Multiply<U>, U: Pod>(
    linalg: &Linalg,
    operands: &Operands<'_, T, U>,
    problem: &Problem,
    question: &str,
    names: &[&'static str],
    by_name: impl Fn(&str) -> Option<Plan>,
) -> Option<Plan> {
    let shape = operands.c.shape();
    let mut scratch = linalg
        .library
        .work(operands.c.len().checked_mul(size_of::<U>())?.div_ceil(4))
        .ok()?;
    let answer = linalg.tuner.measure(question, names, |name| {
        let mut memory = scratch.slice().cast::<U>();
        let c = ArrayViewMut::new(memory.reborrow().into_view(), Layout::row_major(0, shape));
        let mut all = Duration::ZERO;
        let run = carry_out(
            &linalg.library,
            by_name(name)?,
            operands.with_output(c),
            problem,
            &mut |library, config, call| {
                all += library.launch_timed(config, call)?;
                Ok(())
            },
        );
        run.ok().map(|()| all)
    });
    scratch.discard();
    by_name(answer?)
}

/// How a kernel is launched.
pub(super) type Launch<'l> = dyn FnMut(&Library, LaunchConfig<'_>, cuda_std::launch::Call<'_>) -> Result<()> + 'l;

/// Copies what has to be copied, and computes.
fn carry_out<T: Multiply<U>, U: Pod>(
    library: &Library,
    plan: Plan,
    operands: Operands<'_, T, U>,
    problem: &Problem,
    launch: &mut Launch<'_>,
) -> Result<()> {
    let blocks = problem.tiles(plan.way.facts().tile)?;
    let (mut left, mut right): (Option<Packed<'_>>, Option<Packed<'_>>) = (None, None);
    let Operands {
        a,
        b,
        bias,
        residual,
        alpha,
        beta,
        activation,
        c,
    } = operands;
    let a = match plan.packs[0] {
        false => a,
        true => left.insert(pack(library, &a, launch)?).view(),
    };
    let b = match plan.packs[1] {
        false => b,
        true => right
            .insert(pack(library, &b.permute([0, 2, 1]), launch)?)
            .view()
            .permute([0, 2, 1]),
    };
    let operands = Operands {
        a,
        b,
        bias,
        residual,
        alpha,
        beta,
        activation,
        c,
    };
    launch(library, LaunchConfig::grid(blocks), T::call(plan.way, operands))
}
