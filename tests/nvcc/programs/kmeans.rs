//! Reference of `cuda/kmeans.cu`.

use anyhow::Result;
use bytemuck::{Pod, Zeroable};
use cust::memory::DeviceCopy;

use super::random;
use crate::compare::{close, equal};
use crate::gpu::blocks;
use crate::{Gpu, args};

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable, DeviceCopy)]
#[repr(C)]
struct Centre {
    at: [f32; 3],
    members: i32,
}

fn nearest(point: &[f32], centres: &[Centre]) -> u8 {
    let mut best = (f32::INFINITY, 0);
    for (index, centre) in centres.iter().enumerate() {
        let d: Vec<f32> = (0..3).map(|i| point[i] - centre.at[i]).collect();
        let distance = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        if distance < best.0 {
            best = (distance, index as u8);
        }
    }
    best.1
}

pub(super) fn run(gpu: &Gpu) -> Result<()> {
    for (n, k) in [(1, 1), (77, 3), (1500, 9)] {
        let points = random(20, 3 * n);
        let mut centres: Vec<Centre> =
            random(21, 3 * k).chunks(3).map(|at| Centre { at: [at[0], at[1], at[2]], members: 0 }).collect();
        let points_on = gpu.buffer(&points)?;
        let cluster_on = gpu.zeros::<u8>(n)?;
        let mut cluster = vec![0_u8; n];
        for _ in 0..4 {
            let centres_on = gpu.buffer(&centres)?;
            let changed = gpu.zeros::<u64>(1)?;
            let arguments = args![&points_on, n as i32, &centres_on, k as i32, &cluster_on, &changed];
            gpu.launch("assign", blocks(n, 96), [96, 1, 1], 0, arguments)?;
            let now: Vec<u8> = points.chunks(3).map(|point| nearest(point, &centres)).collect();
            let moved = now.iter().zip(&cluster).filter(|(a, b)| a != b).count() as u64;
            cluster = now;
            equal("clusters", &gpu.read(&cluster_on)?, &cluster)?;
            equal("changed", &gpu.read(&changed)?, &[moved])?;

            let sums = gpu.zeros::<Centre>(k)?;
            let arguments = args![&points_on, &cluster_on, n as i32, &sums, k as i32];
            gpu.launch("accumulate", [3, 1, 1], [64, 1, 1], (k * size_of::<Centre>()) as u32, arguments)?;
            gpu.launch("divide", [1, 1, 1], [32, 1, 1], 0, args![&sums, k as i32])?;
            for (index, centre) in centres.iter_mut().enumerate() {
                let members: Vec<&[f32]> = points
                    .chunks(3)
                    .zip(&cluster)
                    .filter(|(_, cluster)| usize::from(**cluster) == index)
                    .map(|(point, _)| point)
                    .collect();
                let count = members.len().max(1) as f32;
                let mean = |i: usize| members.iter().map(|point| point[i]).sum::<f32>() / count;
                *centre = Centre { at: [mean(0), mean(1), mean(2)], members: members.len() as i32 };
            }
            let found = gpu.read(&sums)?;
            let flat = |list: &[Centre]| list.iter().flat_map(|centre| centre.at).collect::<Vec<f32>>();
            close("centres", &flat(&found), &flat(&centres), 1e-5)?;
            let members = |list: &[Centre]| list.iter().map(|centre| centre.members).collect::<Vec<_>>();
            equal("members", &members(&found), &members(&centres))?;
            centres = found;
        }
    }
    Ok(())
}
