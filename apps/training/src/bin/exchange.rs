//! Measures exchanges between ranks as nccl-tests does: the time and the bus bandwidth of each collective operation of
//! `rumba::ranks`, in place and not, for buffers of several sizes. Compares the results of the ranks' transport and of TCP.
//!
//! `beside_torch.py` measures `torch.distributed` in the same way, in turns with this program.

use anyhow::{Context, Result, ensure};
use clap::Parser;
use rumba::Device;
use rumba::ranks::{Choice, Element, Place, ProcessGroup, ReduceOp, Transport};
use std::fmt::{Debug, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use training::start;

/// Measures exchanges between ranks, and compares the results with those of TCP
#[derive(Parser)]
#[command(after_help = "Examples:
  target/release/exchange
  target/release/exchange --ranks 2 --largest 1024
  torchrun --no-python --nproc-per-node 8 target/release/exchange

The ranks use NCCL where each has a GPU of its own, else TCP. RUMBA_RANK_TRANSPORT is `nccl` or `tcp` to insist on one;
RUMBA_NCCL_LIBRARY names the file of NCCL; NCCL_DEBUG=INFO makes it say what it does.

A time is that of one operation of as many as --repeat says, which are put on a stream one after the other. As in nccl-tests,
bytes are those of the whole buffer, and the bus bandwidth is the rate at which each rank sends: 2 (n - 1) / n times the bytes for
all_reduce with n ranks, (n - 1) / n for all_gather and reduce_scatter, and the bytes for broadcast.")]
struct Args {
    /// Starts so many processes on this machine
    #[arg(long, value_name = "COUNT")]
    ranks: Option<usize>,
    /// The largest buffer, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64)]
    largest: usize,
    /// How often each operation is repeated; large operations are repeated less often
    #[arg(long, value_name = "COUNT", default_value_t = 200)]
    repeat: usize,
    /// The times, as a table of comma-separated values
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

fn main() -> ExitCode {
    sigpipe::reset();
    let args = Args::parse();
    let done = match args.ranks {
        Some(count) => start::ranks(count),
        None => measure(&args),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn measure(args: &Args) -> Result<ExitCode> {
    let place = Place::from_env()?;
    let device = place.device()?;
    let (rank, size) = (place.rank, place.size);
    let tcp = Place { transport: Choice::Tcp, ..place.clone() };
    // One group after the other: they meet at the same port.
    let by_tcp = results(&ProcessGroup::join_on(&tcp, &device)?, &device)?;
    let group = ProcessGroup::join_on(&place, &device)?;
    let own = results(&group, &device)?;
    for (one, other) in by_tcp.iter().zip(&own) {
        let transport = group.transport();
        ensure!(one == other, "rank {rank}: by TCP {}, by {transport} {}", shortened(one), shortened(other));
    }
    if rank == 0 {
        println!("device:   {}, {size} rank{}", device.name(), if size > 1 { "s" } else { "" });
        println!("exchange: {}", group.transport());
        if matches!(group.transport(), Transport::Nccl { .. }) {
            println!("the same: {} operations give what they give by TCP", own.len());
        }
        println!(
            "\n{:14} {:>12} {:>14} {:>8} {:>14} {:>8}",
            "f32", "bytes", "not in place", "GB/s", "in place", "GB/s"
        );
    }
    let mut table = String::from("operation,bytes,in_place,microseconds\n");
    for operation in OPERATIONS {
        for bytes in sizes(args.largest.max(1) << 20) {
            let times = operation.times(&group, &device, bytes, args.repeat.max(1))?;
            let shown = times.map(|time| {
                time.map_or((String::from("-"), String::from("-")), |time| {
                    let sent = bytes as f64 * (operation.sent)(size as f64);
                    (format!("{:.1} µs", time.as_secs_f64() * 1e6), format!("{:.1}", sent / time.as_secs_f64() / 1e9))
                })
            });
            for (in_place, time) in times.iter().enumerate() {
                if let Some(time) = time {
                    let _ = writeln!(table, "{},{bytes},{in_place},{}", operation.name, time.as_secs_f64() * 1e6);
                }
            }
            if rank == 0 {
                let [(time, rate), (time_in_place, rate_in_place)] = shown;
                println!(
                    "{:14} {bytes:>12} {time:>14} {rate:>8} {time_in_place:>14} {rate_in_place:>8}",
                    operation.name
                );
            }
        }
    }
    if let Some(file) = args.csv.as_ref().filter(|_| rank == 0) {
        std::fs::write(file, table).with_context(|| format!("could not write {}", file.display()))?;
    }
    // No rank ends before all are done.
    group.barrier()?;
    Ok(ExitCode::SUCCESS)
}

fn shortened(text: &str) -> &str {
    text.get(..200).unwrap_or(text)
}

/// Sizes of buffers in bytes: from 8 on, each four times as large as the one before it, and the largest.
fn sizes(largest: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> =
        std::iter::successors(Some(8), |bytes| Some(4 * bytes)).take_while(|bytes| *bytes < largest).collect();
    sizes.push(largest);
    sizes
}

/// An operation to be measured.
struct Measured {
    name: &'static str,
    /// The bytes that a rank sends for each byte of the buffer, by the number of ranks.
    sent: fn(f64) -> f64,
    /// Runs the operation from one buffer to the other. Both buffers have the same length.
    run: Option<Run>,
    in_place: fn(&ProcessGroup, &mut Buffer) -> rumba::Result<()>,
}

type Buffer = rumba::DeviceBuffer<f32>;
type Run = fn(&ProcessGroup, &Buffer, &mut Buffer) -> rumba::Result<()>;

const OPERATIONS: [Measured; 4] = [
    Measured {
        name: "all_reduce",
        sent: |ranks| 2.0 * (ranks - 1.0) / ranks,
        run: Some(|group, source, target| group.all_reduce_into(source, target, ReduceOp::Sum)),
        in_place: |group, buffer| group.all_reduce(buffer, ReduceOp::Sum),
    },
    Measured {
        name: "all_gather",
        sent: |ranks| (ranks - 1.0) / ranks,
        run: Some(|group, source, target| group.all_gather(source.slice(..source.len() / group.size()), target)),
        in_place: |group, buffer| group.all_gather_in_place(buffer),
    },
    Measured {
        name: "reduce_scatter",
        sent: |ranks| (ranks - 1.0) / ranks,
        run: Some(|group, source, target| {
            let length = target.len() / group.size();
            group.reduce_scatter(source, target.slice_mut(..length), ReduceOp::Sum)
        }),
        in_place: |group, buffer| group.reduce_scatter_in_place(buffer, ReduceOp::Sum),
    },
    Measured { name: "broadcast", sent: |_| 1.0, run: None, in_place: |group, buffer| group.broadcast(buffer, 0) },
];

/// Operations before the first that is timed: they connect the ranks.
const WARM_UP: usize = 5;

/// Large operations are repeated until all have exchanged as much, but at least [`FEWEST`] times.
const ENOUGH: usize = 8 << 30;

const FEWEST: usize = 20;

impl Measured {
    /// The time of an operation, not in place and in place. A buffer has a whole number of elements for each rank.
    fn times(
        &self,
        group: &ProcessGroup,
        device: &Device,
        bytes: usize,
        repeat: usize,
    ) -> Result<[Option<Duration>; 2]> {
        let elements = (bytes / size_of::<f32>()).next_multiple_of(group.size());
        let repeat = repeat.min((ENOUGH / bytes).max(FEWEST));
        let (source, mut target) = (device.zeros::<f32>(elements)?, device.zeros::<f32>(elements)?);
        let time = |run: &mut dyn FnMut() -> rumba::Result<()>| -> Result<Duration> {
            (0..WARM_UP.min(repeat)).try_for_each(|_| run())?;
            group.barrier()?;
            let begin = Instant::now();
            (0..repeat).try_for_each(|_| run())?;
            device.synchronize()?;
            Ok(begin.elapsed() / repeat as u32)
        };
        let not_in_place = self.run.map(|run| time(&mut || run(group, &source, &mut target))).transpose()?;
        let in_place = time(&mut || (self.in_place)(group, &mut target))?;
        Ok([not_in_place, Some(in_place)])
    }
}

/// The results of each operation on each type.
fn results(group: &ProcessGroup, device: &Device) -> Result<Vec<String>> {
    let mut results = Vec::new();
    // Small whole numbers, whose sums and products are exact in any order.
    macro_rules! each_type {
        ($($element:ty: $from:expr;)*) => {$(
            check::<$element>(group, device, $from, &mut results)
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
    // No rank ends its connections before all are done.
    group.barrier()?;
    Ok(results)
}

/// Does every operation on elements of a type, of several lengths.
fn check<T: Element + Debug>(
    group: &ProcessGroup,
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
        let mut part = device.zeros(own.len())?;
        group.reduce_scatter(&whole, &mut part, ReduceOp::Max)?;
        results.push(format!("reduce_scatter of {length}: {:?}", part.to_vec()?));
    }
    Ok(())
}
