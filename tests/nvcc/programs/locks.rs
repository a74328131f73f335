//! Reference of `cuda/locks.cu`.

use anyhow::Result;

use crate::compare::equal;
use crate::{Gpu, args};

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for (blocks, threads, rounds) in [(1, 32, 1), (1, 45, 3), (5, 70, 2)] {
        let (lock, counter) = (gpu.zeros::<i32>(1)?, gpu.zeros::<i32>(1)?);
        gpu.launch("spin_lock", [blocks, 1, 1], [threads, 1, 1], 0, args![&lock, &counter, rounds])?;
        equal("spin_lock", &gpu.read(&counter)?, &[(blocks * threads) as i32 * rounds])?;
        equal("lock", &gpu.read(&lock)?, &[0])?;

        let (next, serving) = (gpu.zeros::<u32>(1)?, gpu.zeros::<u32>(1)?);
        let order = gpu.zeros::<u64>((blocks * threads) as usize)?;
        gpu.launch("ticket_lock", [blocks, 1, 1], [threads, 1, 1], 0, args![&next, &serving, &order])?;
        let mut served = gpu.read(&order)?;
        served.sort_unstable();
        let everyone: Vec<u64> =
            (0..u64::from(blocks)).flat_map(|b| (0..u64::from(threads)).map(move |t| b << 32 | t)).collect();
        equal("ticket_lock", &served, &everyone)?;
    }
    for blocks in [1, 20, 150] {
        let (flags, values) = (gpu.zeros::<i32>(blocks)?, gpu.zeros::<i32>(blocks)?);
        gpu.launch("relay", [blocks as u32, 1, 1], [32, 1, 1], 0, args![&flags, &values])?;
        let expected: Vec<i32> = (0..blocks as i32).map(|i| i * (i + 1) / 2).collect();
        equal("relay", &gpu.read(&values)?, &expected)?;
    }
    for n in [1, 32, 333] {
        let input: Vec<i32> = (0..n).map(|i| i * i).collect();
        let out = gpu.zeros::<i32>(input.len())?;
        gpu.launch("produce_consume", [1, 1, 1], [64, 1, 1], 0, args![gpu.buffer(&input)?, &out, n])?;
        let at = |i: i32| input.get((i / 32 * 32 + 31 - i % 32) as usize).copied().unwrap_or(0);
        equal("produce_consume", &gpu.read(&out)?, &(0..n).map(|i| 2 * at(i)).collect::<Vec<_>>())?;
    }
    Ok(())
}
