//! Trains a classifier of handwritten digits: one process for each device, whose gradients are averaged after each step.

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rumba::ranks::{Place, ProcessGroup, ReduceOp};
use rumba_nn::Nn;
use rumba_nn::train::Adam;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use training::data::{Digits, digits, order};
use training::network::{Network, Step, Test};
use training::{plot, start};

/// Trains a classifier of handwritten digits, on one device or with a process for each of several
#[derive(Parser)]
#[command(after_help = "Examples:
  cargo xtask run training
  cargo xtask run training -- --ranks 2 --epochs 4
  cargo xtask run training -- --checkpoint target/digits.safetensors --resume
  torchrun --no-python --nproc-per-node 4 target/release/training
  mpirun -n 4 target/release/training
  srun -N 2 --ntasks-per-node 4 target/release/training

Ranks are told apart by the variables that torchrun, mpirun and srun set; RUMBA_RANK_TIMEOUT is how many seconds
one waits for another. Gradients go by NCCL where each rank has a GPU of its own, else by TCP; RUMBA_RANK_TRANSPORT is
`nccl` or `tcp` to insist on one. The program `exchange` compares both.")]
struct Args {
    /// How often all digits are learned
    #[arg(long, default_value_t = 4)]
    epochs: u64,
    /// How many digits a step has, over all ranks
    #[arg(long, default_value_t = 64)]
    batch: usize,
    /// How far a step of Adam goes
    #[arg(long, default_value_t = 3e-3)]
    rate: f32,
    /// The first parameters and the order of the digits
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Ends after so many steps
    #[arg(long, value_name = "STEPS")]
    steps: Option<u64>,
    /// Starts so many processes on this machine, and trains with all of them
    #[arg(long, value_name = "COUNT")]
    ranks: Option<usize>,
    /// A file for the parameters, written after each epoch
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
    /// Goes on from the checkpoint, if there is one
    #[arg(long, requires = "checkpoint")]
    resume: bool,
    /// The curve of the loss, as a picture
    #[arg(long, value_name = "FILE", default_value = "target/training.png")]
    plot: PathBuf,
    /// The loss of each step, as a table of comma-separated values
    #[arg(long, value_name = "FILE")]
    losses: Option<PathBuf>,
}

fn main() -> ExitCode {
    sigpipe::reset();
    let args = Args::parse();
    match args.ranks {
        Some(count) => start::ranks(count),
        None => train(&args),
    }
    .unwrap_or_else(|error| {
        match std::env::var("RANK") {
            Ok(rank) => eprintln!("rank {rank}: error: {error:#}"),
            Err(_) => eprintln!("error: {error:#}"),
        }
        ExitCode::FAILURE
    })
}

/// The part of a rank of so many things, which are shared evenly.
fn share(all: &[usize], rank: usize, size: usize) -> &[usize] {
    &all[all.len() * rank / size..all.len() * (rank + 1) / size]
}

/// The training of one rank.
fn train(args: &Args) -> Result<ExitCode> {
    let place = Place::from_env()?;
    let (rank, size) = (place.rank, place.size);
    ensure!(
        args.batch > 0 && args.batch.is_multiple_of(size),
        "a batch of {} digits cannot be shared evenly by {size} ranks; --batch says how many it has",
        args.batch
    );
    let [learned, tested] = digits();
    ensure!(args.batch <= learned.len(), "a batch has {} digits at most, as many as are learned", learned.len());
    let device = place.device()?;
    let nn = Nn::new(&device)?;
    let network = Network::default();
    let mut parameters = network.parameters(&device, args.seed)?;
    let group = ProcessGroup::join(&place)?;
    if let Some(file) = args.checkpoint.as_ref().filter(|file| args.resume && file.exists()) {
        parameters.restore(&nn, file)?;
    }
    // All ranks are where rank 0 is, or a checkpoint was not the same for all.
    let mut begins = device.buffer_from(&[parameters.steps()])?;
    group.broadcast(&mut begins, 0)?;
    let begin = begins.to_vec()?[0];
    ensure!(
        begin == parameters.steps(),
        "this rank's checkpoint has {} steps and that of rank 0 {begin}; all ranks need the same file",
        parameters.steps()
    );
    group.broadcast(parameters.values_mut(), 0)?;

    let per_epoch = (learned.len() / args.batch) as u64;
    let end = args.steps.unwrap_or(u64::MAX).min(args.epochs * per_epoch);
    let mut step = Step::new(&nn, &network, &parameters, args.batch / size)?;
    let mut test = Test::new(&nn, &network, &parameters, args.batch / size)?;
    let adam = Adam { rate: args.rate, ..Adam::default() };
    let reports = rank == 0;
    if reports {
        println!(
            "device:     {}{}",
            device.name(),
            if size > 1 { format!(", one of {size} ranks") } else { String::new() }
        );
        println!("exchange:   {}", group.transport());
        println!("digits:     {} to learn, {} to test", learned.len(), tested.len());
        println!(
            "parameters: {}, a graph of {} launches for each step",
            parameters.count(),
            step.program().graph().len()
        );
    }
    let bar = ProgressBar::new(end).with_style(
        ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} steps, {per_sec}, {eta} left")
            .expect("the template is constant"),
    );
    if !reports {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar.set_position(begin);
    bar.reset_eta();
    let mut curve = Curve::default();
    let (mut computing, mut exchanging) = (Duration::ZERO, Duration::ZERO);
    while parameters.steps() < end {
        let now = parameters.steps();
        let epoch = now / per_epoch;
        let order = order(learned.len(), args.seed, epoch);
        let first = (now % per_epoch) as usize * args.batch;
        let begin = Instant::now();
        // ANCHOR: step
        step.run(&learned.select(share(&order[first..first + args.batch], rank, size)))?;
        device.synchronize()?;
        let computed = Instant::now();
        group.all_reduce(step.gradients.buffer_mut(), ReduceOp::Average)?;
        exchanging += computed.elapsed();
        adam.step(&nn, &mut parameters, &step.gradients)?;
        // ANCHOR_END: step
        computing += computed - begin;
        let loss = step.gradients.loss()?;
        if !loss.is_finite() {
            bail!("the loss of step {now} is {loss}; a smaller --rate may help");
        }
        curve.losses.push((now, loss));
        bar.set_message(format!("loss {loss:.3}"));
        bar.inc(1);
        let done = parameters.steps();
        if done.is_multiple_of(per_epoch) || done == end {
            let share = recognised(&mut test, &tested, &group, &device)?;
            curve.recognised.push((done, 100.0 * share));
            if reports {
                bar.suspend(|| {
                    println!("step {done}: loss {loss:.3}, {:.1} % of the tested digits recognised", 100.0 * share);
                });
                if let Some(file) = &args.checkpoint {
                    parameters.save(file)?;
                }
            }
        }
    }
    bar.finish_and_clear();
    if reports {
        let steps = curve.losses.len();
        let all = (computing + exchanging).as_secs_f64();
        if steps > 0 {
            println!(
                "speed:      {:.0} digits/s, {:.1} % of the time in exchanges",
                (steps * args.batch) as f64 / all,
                100.0 * exchanging.as_secs_f64() / all
            );
        }
        curve.save(args)?;
    }
    // No rank ends, and with it its connections, before all are done.
    group.barrier()?;
    Ok(ExitCode::SUCCESS)
}

/// The share of the tested digits that all ranks together recognise.
fn recognised(test: &mut Test, tested: &Digits, group: &ProcessGroup, device: &rumba::Device) -> Result<f64> {
    let all: Vec<usize> = (0..tested.len()).collect();
    let own = tested.select(share(&all, group.rank(), group.size()));
    let mut right = device.buffer_from(&[test.recognised(&own)?])?;
    group.all_reduce(&mut right, ReduceOp::Sum)?;
    Ok(right.to_vec()?[0] as f64 / tested.len() as f64)
}

/// How a training went.
#[derive(Default)]
struct Curve {
    losses: Vec<(u64, f32)>,
    recognised: Vec<(u64, f64)>,
}

impl Curve {
    fn save(&self, args: &Args) -> Result<()> {
        if let Some(folder) = args.plot.parent().filter(|folder| *folder == Path::new("target")) {
            std::fs::create_dir_all(folder)
                .context("the folder `target` cannot be made; --plot FILE names another place")?;
        }
        plot::draw(&args.plot, &self.losses, &self.recognised)?;
        println!("plot:       {}", args.plot.display());
        if let Some(file) = &args.checkpoint {
            println!("checkpoint: {}", file.display());
        }
        if let Some(file) = &args.losses {
            let mut table = String::from("step,loss\n");
            for (step, loss) in &self.losses {
                let _ = writeln!(table, "{step},{loss}");
            }
            std::fs::write(file, table).with_context(|| format!("could not write {}", file.display()))?;
        }
        Ok(())
    }
}
