//! Trains a classifier of handwritten digits: one process for each device, whose gradients are averaged in each step.

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rumba::array::Array;
use rumba::ranks::{Place, ProcessGroup, ReduceOp};
use rumba_nn::Nn;
use rumba_nn::train::Adam;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use training::data::{Digits, SIZE, digits, order};
use training::network::{BATCHES, Exchange, Network, Settings, Step, Test};
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
    /// Channels after each of the two convolutions
    #[arg(long, value_name = "FIRST,SECOND", value_delimiter = ',', default_values_t = [8, 16])]
    channels: Vec<usize>,
    /// How far a step of Adam goes
    #[arg(long, default_value_t = 3e-3)]
    rate: f32,
    /// Gradients of layers are exchanged together until they have so many KiB
    #[arg(long, value_name = "KIB", default_value_t = 1024)]
    bucket: usize,
    /// Kernels average the gradients in symmetric memory: each rank has a GPU of its own, all in one machine
    #[arg(long)]
    symmetric: bool,
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
    let [first, second] = args.channels[..] else { bail!("--channels has two numbers") };
    ensure!(first > 0 && second > 0, "a convolution has a channel at least; --channels says how many");
    let network = Network::new([first, second]);
    let mut parameters = network.parameters(&device, args.seed)?;
    let group = ProcessGroup::join(&place)?;
    if let Some(file) = args.checkpoint.as_ref().filter(|file| args.resume && file.exists()) {
        parameters.restore(&nn, file)?;
    }
    // All ranks are where rank 0 is, or a checkpoint was not the same for all.
    let mut done = parameters.steps()?;
    let mut begins = device.buffer_from(&[done])?;
    group.broadcast(&mut begins, 0)?;
    let begin = begins.to_vec()?[0];
    ensure!(
        begin == done,
        "this rank's checkpoint has {done} steps and that of rank 0 {begin}; all ranks need the same file"
    );
    group.broadcast(parameters.values_mut(), 0)?;

    let per_epoch = (learned.len() / args.batch) as u64;
    let end = args.steps.unwrap_or(u64::MAX).min(args.epochs * per_epoch);
    let images = Array::from_slice(&device, [learned.len(), SIZE * SIZE], &learned.pixels)?;
    let exchange = Exchange { group: &group, bucket: args.bucket << 10, by_kernels: args.symmetric };
    let adam = Adam { rate: args.rate, ..Adam::default() };
    let settings = Settings { adam, count: args.batch / size, exchange: Some(exchange) };
    let mut step = Step::new(&nn, &network, &mut parameters, &images, settings)?;
    let mut test = Test::new(&nn, &network, &parameters, args.batch / size)?;
    let reports = rank == 0;
    if reports {
        println!(
            "device:     {}{}",
            device.name(),
            if size > 1 { format!(", one of {size} ranks") } else { String::new() }
        );
        println!("exchange:   {}", group.transport());
        println!("digits:     {} to learn, {} to test", learned.len(), tested.len());
        let graph = step.program().graph();
        println!(
            "parameters: {}, a graph of {} launches and {} exchange{} for each step",
            parameters.count(),
            graph.len(),
            graph.exchanges(),
            if graph.exchanges() == 1 { "" } else { "s" }
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
    let mut spent = Duration::ZERO;
    while done < end {
        // The host waits for the device after some steps, and at the end of an epoch.
        let now = done;
        let first = now % per_epoch;
        let count = (BATCHES as u64).min(per_epoch - first).min(end - now) as usize;
        let order = order(learned.len(), args.seed, now / per_epoch);
        let digits = order.chunks(args.batch).skip(first as usize).take(count);
        let batches: Vec<_> = digits.map(|digits| learned.batch(share(digits, rank, size))).collect();
        let begin = Instant::now();
        step.run(now, &batches)?;
        let losses = parameters.losses(count)?;
        spent += begin.elapsed();
        done += count as u64;
        for (step, &loss) in (now..).zip(&losses) {
            if !loss.is_finite() {
                bail!("the loss of step {step} is {loss}; a smaller --rate may help");
            }
            curve.losses.push((step, loss));
        }
        let loss = losses[count - 1];
        bar.set_message(format!("loss {loss:.3}"));
        bar.inc(count as u64);
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
    let steps = curve.losses.len();
    if reports {
        if steps > 0 {
            println!("speed:      {:.0} digits/s", (steps * args.batch) as f64 / spent.as_secs_f64());
        }
        curve.save(args)?;
    }
    if steps > 0 {
        let alone = Settings { exchange: None, ..settings };
        let mut alone = Step::new(&nn, &network, &mut parameters, &images, alone)?;
        let batch = learned.batch(share(&order(args.batch, 0, 0), rank, size));
        let batches = vec![batch; steps.min(BATCHES)];
        // Each once more, since the first runs may load kernels and connect the ranks.
        let mut times = [Duration::ZERO; 4];
        for (index, time) in times.iter_mut().enumerate().filter(|(index, _)| size > 1 || index % 2 == 0) {
            let step = if index % 2 == 0 { &mut step } else { &mut alone };
            group.barrier()?;
            let begin = Instant::now();
            step.run(0, &batches)?;
            device.synchronize()?;
            *time = begin.elapsed() / batches.len() as u32;
        }
        if reports {
            let [_, _, with, without] = times.map(|time| 1e6 * time.as_secs_f64());
            println!("step:       {with:.1} µs");
            if size > 1 {
                let open = (with - without).max(0.0);
                println!("exchanges:  {open:.1} µs of a step are not hidden, {:.1} %", 100.0 * open / with);
            }
        }
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
