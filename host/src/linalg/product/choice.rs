//! Chooses the kernel of a product: a model of the kernels' times, and measurements of the most promising kernels.

use super::pack::{Packed, in_vectors, pack};
use super::types::{Multiply, Operands};
use super::{Precision, group, parts};
use crate::array::ArrayViewMut;
use crate::array::layout::Layout;
use crate::base::driver;
use crate::base::error::{Error, Result};
use crate::launch::config::LaunchConfig;
use crate::launch::library::{Launch, Library};
use crate::linalg::{Linalg, Tuning};
use bytemuck::Pod;
use rumba_linalg::product::fused;
use rumba_linalg::product::parts::PARTS;
use rumba_linalg::product::warp_group::{self, Variant};
use smallvec::SmallVec;
use std::time::Duration;

/// An algorithm to compute a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Algorithm {
    /// By threads that read the operands where they lie.
    Elements,
    /// By threads and shared memory, in large tiles.
    Threads,
    /// The same of operands copied before, so that they lie in vectors.
    ThreadsPacked,
    /// In smaller tiles.
    ThreadsSmall,
    /// By warps and shared memory.
    Warps,
    /// The same with `f64`.
    WarpsF64,
    /// The same of operands copied before, so that they lie in vectors.
    WarpsF64Packed,
    /// In smaller tiles.
    WarpsF64Small,
    /// By warps, with numbers of TensorFloat-32.
    WarpsTf32,
    /// By warp groups: the variants of [`warp_group`].
    Large,
    /// See [`warp_group::SMALL`].
    Small,
    /// See [`warp_group::STORED`].
    Stored,
    /// See [`fused::LARGE`].
    Fused,
    /// See [`fused::SMALL`].
    FusedSmall,
    /// By warp groups in parts of the sums: see [`parts`].
    Split,
    /// [`Algorithm::Large`] with numbers of TensorFloat-32.
    LargeTf32,
    /// [`Algorithm::Stored`] with numbers of TensorFloat-32.
    StoredTf32,
}

/// The properties of a kernel.
struct Properties {
    /// Its name among measured answers.
    name: &'static str,
    /// Rows and columns of the product that a block computes.
    tile: [usize; 2],
    /// How many terms of sums a multiprocessor adds in a cycle, for elements of 1, 2, 4 and 8 bytes.
    speed: [f64; 4],
    /// Whether operands have to lie in vectors, or are packed.
    in_vectors: bool,
}

impl Algorithm {
    fn properties(self) -> Properties {
        let (name, tile, speed, in_vectors) = match self {
            Algorithm::Elements => ("elements", [64, 64], [12.0, 20.0, 30.0, 24.0], false),
            Algorithm::Threads => ("threads", [256, 128], [0.0, 0.0, 100.0, 0.0], false),
            // Beside the speed of the same kernel where operands do not lie in vectors.
            Algorithm::ThreadsPacked => ("packed threads", [256, 128], [0.0, 0.0, 150.0, 0.0], true),
            Algorithm::ThreadsSmall => ("small threads", [64, 128], [0.0, 0.0, 80.0, 0.0], false),
            Algorithm::Warps => ("warps", [128, 128], [900.0, 400.0, 0.0, 0.0], true),
            Algorithm::WarpsF64 => ("f64 by warps", [64, 128], [0.0, 0.0, 0.0, 105.0], false),
            Algorithm::WarpsF64Packed => ("f64 by warps, packed", [64, 128], [0.0, 0.0, 0.0, 160.0], true),
            Algorithm::WarpsF64Small => ("f64 by warps, small", [64, 64], [0.0, 0.0, 0.0, 100.0], false),
            Algorithm::WarpsTf32 => ("tf32 by warps", [128, 128], [0.0, 0.0, 200.0, 0.0], false),
            Algorithm::Large => ("large", [128, 256], [3000.0, 1600.0, 0.0, 0.0], true),
            Algorithm::Small => ("small", [64, 128], [0.0, 1000.0, 0.0, 0.0], true),
            Algorithm::Stored => ("stored", [128, 256], [2600.0, 1400.0, 0.0, 0.0], true),
            Algorithm::Fused => ("fused", [128, 256], [3000.0, 1550.0, 0.0, 0.0], true),
            Algorithm::FusedSmall => ("small fused", [64, 128], [0.0, 950.0, 0.0, 0.0], true),
            Algorithm::Split => ("split", [128, 128], [0.0, 1600.0, 0.0, 0.0], true),
            Algorithm::LargeTf32 => ("large tf32", [128, 256], [0.0, 0.0, 800.0, 0.0], true),
            Algorithm::StoredTf32 => ("stored tf32", [128, 256], [0.0, 0.0, 700.0, 0.0], true),
        };
        Properties { name, tile, speed, in_vectors }
    }

    /// As [`Properties::speed`], on the software device: measured against products by elements. A product by a warp is one operation there, but in
    /// `f64`, and warp groups wait for each other on one processor.
    fn simulated(self) -> [f64; 4] {
        match self {
            Algorithm::Elements => [1.0; 4],
            Algorithm::Threads | Algorithm::ThreadsPacked | Algorithm::ThreadsSmall => [1.5; 4],
            Algorithm::Warps => [7.0, 9.0, 1.0, 1.0],
            Algorithm::WarpsF64 | Algorithm::WarpsF64Packed | Algorithm::WarpsF64Small => [0.3; 4],
            Algorithm::WarpsTf32 => [4.0; 4],
            Algorithm::Large
            | Algorithm::Small
            | Algorithm::Stored
            | Algorithm::Fused
            | Algorithm::FusedSmall
            | Algorithm::Split
            | Algorithm::LargeTf32
            | Algorithm::StoredTf32 => [0.1; 4],
        }
    }

    /// The kernel by warp groups, if it is one.
    fn group(self) -> Option<Variant> {
        match self {
            Algorithm::Large | Algorithm::LargeTf32 => Some(warp_group::LARGE),
            Algorithm::Small => Some(warp_group::SMALL),
            Algorithm::Stored | Algorithm::StoredTf32 => Some(warp_group::STORED),
            Algorithm::Fused => Some(fused::LARGE),
            Algorithm::FusedSmall => Some(fused::SMALL),
            Algorithm::Split => Some(PARTS),
            Algorithm::Elements
            | Algorithm::Threads
            | Algorithm::ThreadsPacked
            | Algorithm::ThreadsSmall
            | Algorithm::Warps
            | Algorithm::WarpsF64
            | Algorithm::WarpsF64Packed
            | Algorithm::WarpsF64Small
            | Algorithm::WarpsTf32 => None,
        }
    }

    /// Whether a kernel by warp groups does more with sums than to write them.
    fn has_epilogue(self) -> bool {
        matches!(self, Algorithm::Stored | Algorithm::StoredTf32 | Algorithm::Fused | Algorithm::FusedSmall)
    }

    /// Whether it has an epilogue between products and tensor copies.
    fn is_fused(self) -> bool {
        matches!(self, Algorithm::Fused | Algorithm::FusedSmall)
    }

    /// Whether its products are those of TensorFloat-32.
    fn is_tf32(self) -> bool {
        matches!(self, Algorithm::WarpsTf32 | Algorithm::LargeTf32 | Algorithm::StoredTf32)
    }

    /// How it is carried out, if the operands and the device allow it.
    fn plan<T: Multiply<U>, U: Pod>(self, operands: &Operands<'_, T, U>, capability: (u32, u32)) -> Option<Plan> {
        let (a, b, c) = (&operands.a, &operands.b, operands.c.view());
        let Some(variant) = self.group() else {
            // For elements of 4 bytes or more, lines may be contiguous as well as terms.
            let lies = [*a, b.permute([0, 2, 1])]
                .map(|operand| in_vectors(&operand) || size_of::<T>() >= 4 && in_vectors(&operand.permute([0, 2, 1])));
            let packs = lies.map(|lies| self.properties().in_vectors && !lies);
            // Kernels that need no vectors also run without packing.
            let is_another = size_of::<T>() <= 2 || !self.properties().in_vectors || packs.contains(&true);
            return is_another.then_some(Plan { algorithm: self, packs });
        };
        let by_rows = c.shape()[2] <= 1 || c.strides()[2] == 1;
        let any = operands.a.shape()[2] > 0;
        let is_split = self == Algorithm::Split;
        let by_rows = by_rows || is_split;
        let fits = capability == (9, 0) && any && by_rows && (!variant.copies || in_vectors(&c));
        if is_split && !parts::divides(operands) {
            return None;
        }
        let is_plain = group::is_plain(operands);
        if !fits || !is_split && !is_plain && !self.has_epilogue() {
            return None;
        }
        // For plain products, other kernels are as fast.
        if self.is_fused() && (is_plain || !group::is_fusible(operands)) {
            return None;
        }
        // Kernels for 16 bits that write by tensor copies take any order; with an epilogue only `b`, in large tiles.
        let any_order = size_of::<T>() == 2 && variant.copies;
        let [any_a, any_b] = [any_order && !self.is_fused(), any_order && self != Algorithm::FusedSmall];
        let [a, b] = group::order(a, b);
        let packs = [a.is_none() || a == Some(true) && !any_a, b.is_none() || b == Some(false) && !any_b];
        Some(Plan { algorithm: self, packs })
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
        Problem { batch, rows, columns, terms }
    }

    fn transposed(&self) -> Problem {
        Problem { rows: self.columns, columns: self.rows, ..*self }
    }

    /// How many tiles there are, as blocks of a launch.
    pub(super) fn tiles(&self, [rows, columns]: [usize; 2]) -> Result<u32> {
        let tiles = self.rows.div_ceil(rows).saturating_mul(self.columns.div_ceil(columns)).saturating_mul(self.batch);
        u32::try_from(tiles).ok().filter(|tiles| *tiles <= i32::MAX as u32).ok_or(Error::TooManyElements {
            operation: "compute a product of",
            length: self.rows.saturating_mul(self.columns).saturating_mul(self.batch),
            limit: (i32::MAX as usize).saturating_mul(rows * columns),
        })
    }

    /// How long an algorithm takes, in cycles of the device.
    fn time(&self, plan: &Plan, size: usize, multiprocessors: f64) -> f64 {
        let speeds = if driver::is_software() { plan.algorithm.simulated() } else { plan.algorithm.properties().speed };
        self.time_at(speeds, plan, size, multiprocessors)
    }

    /// The same at speeds as [`Properties::speed`].
    fn time_at(&self, speeds: [f64; 4], plan: &Plan, size: usize, multiprocessors: f64) -> f64 {
        let (tile, speed) = (plan.algorithm.properties().tile, speeds[size.ilog2() as usize]);
        let tiles = self.batch as f64 * (self.rows.div_ceil(tile[0]) * self.columns.div_ceil(tile[1])) as f64;
        // Filling the first stages and writing the sums are worth some terms.
        let each = (tile[0] * tile[1]) as f64 * (self.terms as f64 + 64.0) / speed;
        let products = match plan.algorithm {
            Algorithm::Split => self.split(multiprocessors, speed).1,
            _ => (tiles / multiprocessors).ceil() * each,
        };
        let packed = [(plan.packs[0], self.rows), (plan.packs[1], self.columns)];
        // A launch, and so many bytes in a cycle to read and to write.
        let copies = packed.into_iter().filter(|(packs, _)| *packs);
        let copies: f64 = copies
            .map(|(_, lines)| 5000.0 + (2 * size * self.batch) as f64 * (lines * self.terms) as f64 / 800.0)
            .sum();
        products + copies
    }

    /// In how many parts the sums are computed by [`Algorithm::Split`], and how long that takes at such a speed.
    fn split(&self, multiprocessors: f64, speed: f64) -> (usize, f64) {
        let [rows, columns] = Algorithm::Split.properties().tile;
        let tiles = self.rows.div_ceil(2 * rows) * 2 * self.columns.div_ceil(columns);
        let elements = self.rows * self.columns;
        let time = |parts: usize| {
            let each = (rows * columns) as f64 * ((self.terms / parts) as f64 + 256.0) / speed;
            let products = ((tiles * parts) as f64 / multiprocessors).ceil() * each;
            // Another launch, and so many bytes in a cycle to write and to read.
            products + 4000.0 + (8 * parts * elements) as f64 / 4000.0
        };
        let all = parts::of(self.terms).map(|parts| (parts, time(parts)));
        all.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((1, f64::INFINITY))
    }

    /// The class of a product's sizes. Products of the same class share an answer.
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

/// An algorithm, and which operands are copied before.
#[derive(Clone, Copy)]
struct Plan {
    algorithm: Algorithm,
    packs: [bool; 2],
}

/// The plans that give the result that is asked for, from the one that the model thinks the fastest on.
fn plans<T: Multiply<U>, U: Pod>(
    linalg: &Linalg,
    operands: &Operands<'_, T, U>,
    problem: &Problem,
    precision: Precision,
) -> SmallVec<[(f64, Plan); 4]> {
    let limits = linalg.library.device().limits();
    let split = T::IN_PARTS.then_some(&Algorithm::Split);
    let algorithms =
        T::ALGORITHMS.iter().chain(split).filter(|algorithm| !algorithm.is_tf32() || precision == Precision::Tf32);
    let algorithms = algorithms.filter(|algorithm| linalg.only.is_none_or(|only| algorithm.properties().name == only));
    let plans = algorithms.filter_map(|algorithm| algorithm.plan(operands, limits.compute_capability));
    let mut plans: SmallVec<[(f64, Plan); 4]> = plans
        .map(|plan| (problem.time(&plan, size_of::<T>(), f64::from(limits.multiprocessors_at_once)), plan))
        .collect();
    plans.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    plans
}

/// The approximate cycles of a product of 16-bit numbers, `[rows, columns, terms]`, whose operands need no packing.
pub(in crate::linalg) fn cycles_of_halves([rows, columns, terms]: [usize; 3], multiprocessors: f64) -> f64 {
    let problem = Problem::new([1, rows, columns, terms]);
    let plans = [Algorithm::Large, Algorithm::Small].map(|algorithm| Plan { algorithm, packs: [false; 2] });
    let times = plans.map(|plan| problem.time_at(plan.algorithm.properties().speed, &plan, 2, multiprocessors));
    times[0].min(times[1])
}

/// A plan is measured if the model says that it takes at most so many times as long as the fastest.
const PERHAPS: f64 = 2.5;

/// The kernel that reads operands where they lie is measured as well if it takes at most so many cycles: of small products the model
/// knows too little, and none shall take longer than by this one.
const BRIEF: f64 = 200_000.0;

/// The candidates to measure, from plans in ascending order of their times.
fn candidates(plans: &[(f64, Plan)]) -> SmallVec<[Plan; 4]> {
    let fastest = plans.first().map_or(0.0, |(time, _)| *time);
    let measured = plans
        .iter()
        .filter(|(time, plan)| *time <= fastest * PERHAPS || plan.algorithm == Algorithm::Elements && *time <= BRIEF);
    measured.map(|(_, plan)| *plan).collect()
}

/// Computes a product.
pub(super) fn run<T: Multiply<U>, U: Pod>(
    linalg: &Linalg,
    operands: Operands<'_, T, U>,
    problem: &Problem,
    precision: Precision,
) -> Result<()> {
    // By rows, whichever way the output lies: the transpose of a product is that of the operands' transposes.
    let [_, down, across] = operands.c.view().strides();
    let (operands, problem) =
        if across != 1 && down == 1 { (operands.transposed(), &problem.transposed()) } else { (operands, problem) };
    let plan = choose(linalg, &operands, problem, precision);
    carry_out(&linalg.library, plan, operands, problem, &mut |library, config, call| library.launch(None, config, call))
}

fn choose<T: Multiply<U>, U: Pod>(
    linalg: &Linalg,
    operands: &Operands<'_, T, U>,
    problem: &Problem,
    precision: Precision,
) -> Plan {
    let plans = plans(linalg, operands, problem, precision);
    // By elements everything is computed.
    let Some(&(_, first)) = plans.first() else {
        return Plan { algorithm: Algorithm::Elements, packs: [false; 2] };
    };
    let candidates = candidates(&plans);
    if linalg.tuning == Tuning::Heuristic || driver::is_software() || candidates.len() < 2 {
        return first;
    }
    let names: SmallVec<[&'static str; 4]> = candidates.iter().map(|plan| plan.algorithm.properties().name).collect();
    let last = |name: &'static str| name.rsplit("::").next().unwrap_or(name);
    let packs = candidates.iter().fold([false; 2], |all, plan| [all[0] | plan.packs[0], all[1] | plan.packs[1]]);
    let packs = packs.map(|packs| if packs { "packed" } else { "there" });
    // Some kernels have no epilogue: their answers are invalid for products with an epilogue.
    let epilogue = if group::is_plain(operands) { "plain" } else { "epilogue" };
    let question = format!(
        "product {} {} {} {} {} {precision:?} {epilogue}",
        last(std::any::type_name::<T>()),
        last(std::any::type_name::<U>()),
        packs[0],
        packs[1],
        problem.class()
    );
    let by_name = |name: &str| candidates.iter().copied().find(|plan| plan.algorithm.properties().name == name);
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
    let mut scratch = linalg.library.work(operands.c.len().checked_mul(size_of::<U>())?.div_ceil(4)).ok()?;
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

/// Copies what has to be copied, and computes.
fn carry_out<T: Multiply<U>, U: Pod>(
    library: &Library,
    plan: Plan,
    operands: Operands<'_, T, U>,
    problem: &Problem,
    launch: &mut Launch<'_>,
) -> Result<()> {
    let tile = plan.algorithm.properties().tile;
    let (mut left, mut right): (Option<Packed<'_>>, Option<Packed<'_>>) = (None, None);
    let Operands { a, b, bias, residual, alpha, beta, activation, c } = operands;
    let a = match plan.packs[0] {
        false => a,
        true => left.insert(pack(library, &a, launch)?).view(),
    };
    let b = match plan.packs[1] {
        false => b,
        true => right.insert(pack(library, &b.permute([0, 2, 1]), launch)?).view().permute([0, 2, 1]),
    };
    let operands = Operands { a, b, bias, residual, alpha, beta, activation, c };
    let Some(variant) = plan.algorithm.group() else {
        let call = T::call(plan.algorithm, operands);
        return launch(library, LaunchConfig::grid(problem.tiles(tile)?), call);
    };
    // Clusters stay, and go through the tiles.
    let multiprocessors = library.device().limits().multiprocessors_at_once;
    let config = |batches: usize| -> Result<LaunchConfig<'static>> {
        let problem = Problem { batch: problem.batch * batches, ..*problem };
        let tiles = problem.tiles([tile[0] * variant.cluster as usize, tile[1]])?;
        let clusters = tiles.clamp(1, (multiprocessors / variant.cluster).max(1));
        // SAFETY: kernels by warp groups do nothing but call `cuda_std::tensor::product`.
        Ok(unsafe { LaunchConfig::new(clusters * variant.cluster, variant.threads).dependent() })
    };
    if plan.algorithm == Algorithm::Split {
        let [_, speed, ..] = plan.algorithm.properties().speed;
        let (parts, _) = problem.split(f64::from(multiprocessors), speed);
        return parts::run(library, operands, parts, config(parts)?, launch);
    }
    launch(library, config(1)?, T::call(plan.algorithm, operands))
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, Plan, Problem, candidates};

    /// The kernels measured for a product of `f16` whose operands need no packing, or need packing.
    fn measured(problem: [usize; 4], packs: bool) -> Vec<Algorithm> {
        let problem = Problem::new(problem);
        let algorithms = [Algorithm::Large, Algorithm::Small, Algorithm::Stored, Algorithm::Warps, Algorithm::Elements];
        let mut plans = Vec::from(algorithms.map(|algorithm| {
            let plan = Plan { algorithm, packs: [packs && algorithm != Algorithm::Elements; 2] };
            (problem.time_at(algorithm.properties().speed, &plan, 2, 132.0), plan)
        }));
        plans.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        candidates(&plans).into_iter().map(|plan| plan.algorithm).collect()
    }

    #[test]
    fn the_plain_kernel_is_measured_where_it_may_win() {
        for small in [[1, 1, 1, 1], [1, 64, 64, 64], [1, 1, 256, 256], [8, 100, 3, 200]] {
            for packs in [false, true] {
                assert!(measured(small, packs).contains(&Algorithm::Elements), "{small:?}");
            }
        }
        for large in [[1, 2048, 2048, 2048], [64, 512, 512, 512]] {
            assert!(!measured(large, false).contains(&Algorithm::Elements), "{large:?}");
            assert!(measured(large, true).contains(&Algorithm::Large), "{large:?}");
        }
    }
}
