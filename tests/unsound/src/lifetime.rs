//! Memory, streams and graphs whose owner goes while the device still uses them.

use cuda_std::prelude::*;

/// Writes a value after many rounds of arithmetic.
#[kernel]
pub fn write_late(rounds: u32, value: u32, mut y: DisjointSlice<u32>) {
    let mut hash = thread::thread_idx_x();
    let mut round = 0;
    while round < rounds {
        hash = hash.wrapping_mul(1_664_525).wrapping_add(round) ^ (hash >> 7);
        round += 1;
    }
    if let Some(y) = y.own() {
        *y = value.wrapping_add(u32::from(hash == u32::MAX));
    }
}

/// Attacks by this kernel.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use crate::{Target, table};
    use rumba::{LaunchConfig, Result};

    /// Rounds that take the software device some milliseconds.
    const ROUNDS: u32 = 20_000;
    const N: usize = 64;

    /// The buffer goes while the kernel writes to it; the next one may be in its place.
    pub fn buffer_dropped_while_the_kernel_runs(target: &Target) -> Result<()> {
        let stream = target.device.stream()?;
        let mut buffer = target.device.zeros::<u32>(N)?;
        target
            .module
            .launch(LaunchConfig::new(1, N as u32).stream(&stream), super::write_late(ROUNDS, 7, &mut buffer))?;
        drop(buffer);
        let next = target.device.buffer_from(&[5_u32; N])?;
        stream.synchronize()?;
        assert_eq!(next.to_vec()?, [5; N]);
        Ok(())
    }

    /// The stream goes while its kernel runs; the buffer is still its kernel's until that ends.
    pub fn stream_dropped_while_the_kernel_runs(target: &Target) -> Result<()> {
        let mut buffer = target.device.zeros::<u32>(N)?;
        let stream = target.device.stream()?;
        target
            .module
            .launch(LaunchConfig::new(1, N as u32).stream(&stream), super::write_late(ROUNDS, 7, &mut buffer))?;
        drop(stream);
        let other = target.device.stream()?;
        target.module.launch(LaunchConfig::new(1, N as u32).stream(&other), super::write_late(0, 9, &mut buffer))?;
        assert_eq!(buffer.to_vec()?, [9; N]);
        Ok(())
    }

    /// A copy without a wait keeps what it copies to.
    pub fn copy_forgotten(target: &Target) -> Result<()> {
        let stream = target.device.stream()?;
        let mut buffer = target.device.zeros::<u32>(N)?;
        target
            .module
            .launch(LaunchConfig::new(1, N as u32).stream(&stream), super::write_late(ROUNDS, 7, &mut buffer))?;
        std::mem::forget(buffer.copy_to_pinned(target.device.pinned::<u32>(N)?, &stream)?);
        let mut next = target.device.pinned::<u32>(N)?;
        next.fill(5);
        stream.synchronize()?;
        assert!(next.iter().all(|&value| value == 5));
        Ok(())
    }

    /// A graph keeps the memory of its launches.
    pub fn graph_outlives_its_buffers(target: &Target) -> Result<()> {
        let graph = {
            let mut buffer = target.device.zeros::<u32>(N)?;
            target.device.capture(|stream| {
                target.module.launch(LaunchConfig::for_each(N).stream(stream), super::write_late(0, 7, &mut buffer))
            })?
        };
        let next = target.device.buffer_from(&[5_u32; N])?;
        graph.launch()?;
        target.device.synchronize()?;
        assert_eq!(next.to_vec()?, [5; N]);
        Ok(())
    }

    /// A graph cannot copy host memory that it does not own.
    pub fn host_memory_in_a_graph(target: &Target) -> Result<()> {
        let outcome = target.device.capture(|stream| {
            target.module.launch(LaunchConfig::for_each(4).stream(stream), super::write_late(0, 7, &mut [0_u32; 4]))
        });
        assert!(outcome.is_err(), "memory of the stack was taken into a graph");
        Ok(())
    }

    /// The stream of a recording is no stream after the recording.
    pub fn capture_that_is_over(target: &Target) -> Result<()> {
        let mut kept = None;
        let _ = target.device.capture(|stream| {
            kept = Some(stream.clone());
            Ok(())
        });
        let stream = kept.expect("the recording ran");
        let mut buffer = target.device.zeros::<u32>(N)?;
        let outcome =
            target.module.launch(LaunchConfig::for_each(N).stream(&stream), super::write_late(0, 7, &mut buffer));
        assert!(outcome.is_err(), "a launch was taken by a recording that is over");
        Ok(())
    }

    /// Parts of a buffer that it does not have.
    pub fn buffer_slices_out_of_bounds(target: &Target) -> Result<()> {
        let buffer = target.device.zeros::<u32>(N)?;
        for range in [0..N + 1, N + 1..N + 1, usize::MAX..usize::MAX] {
            assert!(table::panics(|| buffer.slice(range.clone()).len()), "{range:?} of {N}");
        }
        Ok(())
    }

    /// Objects of a destroyed context are refused, not used.
    pub fn context_reset(target: &Target) -> Result<()> {
        if target.is_checked {
            // A checked run has one context.
            return Ok(());
        }
        let mut buffer = target.device.buffer_from(&[1_u32; 4])?;
        target.device.reset()?;
        assert!(buffer.to_vec().is_err(), "memory of the context that is gone was read");
        assert!(target.module.launch((1, 4), super::write_late(0, 7, &mut buffer)).is_err());
        Ok(())
    }

    /// A checked run's device, kept behind its end.
    pub fn buffer_of_an_ended_check(target: &Target) -> Result<()> {
        if target.is_checked {
            // Checked runs are not nested.
            return Ok(());
        }
        let mut kept = None;
        let found = rumba::check(|device| {
            kept = Some((device.clone(), device.buffer_from(&[1_u32; N])?));
            Ok(())
        });
        // On a GPU, checked runs are refused.
        if let (Ok(_), Some((device, buffer))) = (found, kept) {
            assert!(buffer.to_vec().is_err(), "memory of a machine that is gone was read");
            assert!(device.zeros::<u32>(N).is_err());
        }
        Ok(())
    }
}
