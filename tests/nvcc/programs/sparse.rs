//! Reference of `cuda/sparse.cu`.

use anyhow::Result;

use crate::compare::{close, equal};
use crate::gpu::blocks;
use crate::{Gpu, args};

/// Starts of rows and columns of a random matrix whose rows differ in length.
fn structure(rows: usize, random: &mut fastrand::Rng) -> (Vec<i32>, Vec<i32>) {
    let (mut starts, mut columns) = (vec![0], Vec::new());
    for _ in 0..rows {
        let longest = if random.u8(..) < 20 { 90 } else { 6 };
        columns.extend((0..random.usize(0..=longest)).map(|_| random.i32(0..rows as i32)));
        starts.push(columns.len() as i32);
    }
    (starts, columns)
}

fn levels(starts: &[i32], targets: &[i32]) -> Vec<i32> {
    let mut levels = vec![-1; starts.len() - 1];
    levels[0] = 0;
    let mut queue = std::collections::VecDeque::from([0_usize]);
    while let Some(node) = queue.pop_front() {
        for target in &targets[starts[node] as usize..starts[node + 1] as usize] {
            let target = *target as usize;
            if levels[target] < 0 {
                levels[target] = levels[node] + 1;
                queue.push_back(target);
            }
        }
    }
    levels
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(11);
    for rows in [1, 45, 700] {
        let (starts, columns) = structure(rows, &mut random);
        let values: Vec<f64> = columns.iter().map(|_| random.f64() - 0.5).collect();
        let x: Vec<f64> = (0..rows).map(|_| random.f64()).collect();
        let expected: Vec<f64> = (0..rows)
            .map(|row| {
                (starts[row] as usize..starts[row + 1] as usize).map(|at| values[at] * x[columns[at] as usize]).sum()
            })
            .collect();
        let (starts_on, columns_on) = (gpu.buffer(&starts)?, gpu.buffer(&columns)?);
        let (values_on, x_on) = (gpu.buffer(&values)?, gpu.buffer(&x)?);
        for (kernel, threads) in [("spmv_thread", rows), ("spmv_warp", 32 * rows)] {
            let y = gpu.zeros::<f64>(rows)?;
            let arguments = args![&starts_on, &columns_on, &values_on, &x_on, &y, rows as i32];
            gpu.launch(kernel, blocks(threads, 128), [128, 1, 1], 0, arguments)?;
            close(kernel, &gpu.read(&y)?, &expected, 1e-12)?;
        }

        let mut start = vec![-1; rows];
        start[0] = 0;
        let levels_on = gpu.buffer(&start)?;
        let (mut frontier, mut next) = (gpu.zeros::<i32>(rows)?, gpu.zeros::<i32>(rows)?);
        let (mut count, mut level) = (1, 0);
        while count > 0 {
            level += 1;
            let found = gpu.zeros::<i32>(1)?;
            let arguments = args![&starts_on, &columns_on, &levels_on, &frontier, count, &next, &found, level];
            gpu.launch("bfs_step", blocks(count as usize, 64), [64, 1, 1], 0, arguments)?;
            count = gpu.read(&found)?[0];
            std::mem::swap(&mut frontier, &mut next);
        }
        equal("levels", &gpu.read(&levels_on)?, &levels(&starts, &columns))?;
    }
    Ok(())
}
