//! Measures exchanges between ranks, and compares the results of NCCL and TCP: the collective operations of
//! `rumba::ranks` on buffers of several sizes.

use anyhow::{Context, Result, ensure};
use clap::Parser;
use rumba::Device;
use rumba::ranks::{Choice, Element, Place, ProcessGroup, ReduceOp, Transport};
use std::fmt::Debug;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use training::start;

/// Compares the ways by which ranks exchange data: what they give, and how long they take
#[derive(Parser)]
#[command(after_help = "Examples:
  target/release/exchange
  target/release/exchange --ranks 2
  torchrun --no-python --nproc-per-node 8 target/release/exchange

The other way than TCP is what the ranks choose: NCCL where each has a GPU of its own. RUMBA_RANK_TRANSPORT=nccl makes it an
error if they cannot; RUMBA_NCCL_LIBRARY names the file of NCCL; NCCL_DEBUG=INFO makes it say what it does.")]
struct Args {
    /// Starts so many processes on this machine
    #[arg(long, value_name = "COUNT")]
    ranks: Option<usize>,
    /// The largest buffer, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    largest: usize,
    /// How often each operation is timed
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    repeat: usize,
}

fn main() -> ExitCode {
    sigpipe::reset();
    let args = Args::parse();
    let done = match args.ranks {
        Some(count) => start::ranks(count),
        None => compare(&args),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn compare(args: &Args) -> Result<ExitCode> {
    let place = Place::from_env()?;
    let device = place.device()?;
    let (rank, size) = (place.rank, place.size);
    let tcp = Place { transport: Choice::Tcp, ..place.clone() };
    // One group after the other: they meet at the same port.
    let by_tcp = measure(&tcp, &device, args)?;
    let chosen = measure(&place, &device, args)?;
    if rank == 0 {
        println!("device:   {}, {size} rank{}", device.name(), if size > 1 { "s" } else { "" });
        println!("exchange: {}", chosen.transport);
        println!("the same: {} operations give what they give by TCP", chosen.results.len());
    }
    for (one, other) in by_tcp.results.iter().zip(&chosen.results) {
        ensure!(one == other, "rank {rank}: by TCP {}, by {} {}", shortened(one), chosen.transport, shortened(other));
    }
    if rank == 0 {
        println!("\nall_reduce of f32, the median of {}:", args.repeat);
        let way = match chosen.transport {
            Transport::Nccl { .. } => "NCCL",
            _ => "TCP",
        };
        println!("{:>12}  {:>12}  {:>12}", "bytes", format!("by {way}"), "by TCP");
        for ((bytes, one), (_, other)) in chosen.times.iter().zip(&by_tcp.times) {
            println!("{bytes:>12}  {:>12}  {:>12}", shown(*one), shown(*other));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}

fn shortened(text: &str) -> &str {
    text.get(..200).unwrap_or(text)
}

/// The measurements of a group of all ranks.
struct Measured {
    transport: Transport,
    /// The result of each operation.
    results: Vec<String>,
    /// The sizes of all-reduces in bytes, and their times.
    times: Vec<(usize, Duration)>,
}

fn measure(place: &Place, device: &Device, args: &Args) -> Result<Measured> {
    let mut group = ProcessGroup::join_on(place, device)?;
    let mut results = Vec::new();
    // Small whole numbers, whose sums and products are exact in any order.
    macro_rules! each_type {
        ($($element:ty: $from:expr;)*) => {$(
            check::<$element>(&mut group, device, $from, &mut results)
                .with_context(|| format!("by {}", stringify!($element)))?;
        )*};
    }
    each_type! {
        i8: |n| n as i8;
        u8: |n| n as u8;
        i32: |n| n as i32;
        u32: |n| n;
        i64: i64::from;
        u64: u64::from;
        f32: |n| n as f32;
        f64: f64::from;
    }
    let mut times = Vec::new();
    let largest = args.largest.max(1) << 20;
    let mut bytes = 4;
    while bytes <= largest {
        let mut buffer = device.zeros::<f32>(bytes / 4)?;
        let mut all = Vec::new();
        // The first one connects the ranks.
        group.all_reduce(&mut buffer, ReduceOp::Sum)?;
        for _ in 0..args.repeat.max(1) {
            let begin = Instant::now();
            group.all_reduce(&mut buffer, ReduceOp::Sum)?;
            all.push(begin.elapsed());
        }
        all.sort();
        times.push((bytes, all[all.len() / 2]));
        bytes *= 16;
    }
    // No rank ends its connections before all are done.
    group.barrier()?;
    Ok(Measured { transport: group.transport().clone(), results, times })
}

/// Does every operation on elements of a type, of several lengths.
fn check<T: Element + Debug>(
    group: &mut ProcessGroup,
    device: &Device,
    from: impl Fn(u32) -> T,
    results: &mut Vec<String>,
) -> Result<()> {
    let (rank, size) = (group.rank(), group.size());
    for length in [1, 1000, 20_001] {
        let own: Vec<T> = (0..length).map(|index| from((index % 3 + rank as u32 % 2) % 4)).collect();
        for op in [ReduceOp::Sum, ReduceOp::Product, ReduceOp::Max, ReduceOp::Min, ReduceOp::Average] {
            // NCCL multiplies by a fraction, which is exact for these.
            if op == ReduceOp::Average && !size.is_power_of_two() {
                continue;
            }
            let mut buffer = device.buffer_from(&own)?;
            group.all_reduce(&mut buffer, op)?;
            results.push(format!("{op:?} of {length}: {:?}", buffer.to_vec()?));
        }
        let mut buffer = device.buffer_from(&own)?;
        group.broadcast(&mut buffer, size - 1)?;
        results.push(format!("broadcast of {length}: {:?}", buffer.to_vec()?));
        let mut whole = device.zeros(own.len() * size)?;
        group.all_gather(&device.buffer_from(&own)?, &mut whole)?;
        results.push(format!("all_gather of {length}: {:?}", whole.to_vec()?));
    }
    Ok(())
}
