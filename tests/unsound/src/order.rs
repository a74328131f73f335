//! Faults while other work is under way.

use cuda_std::prelude::*;

/// Calls itself more often than the stack has room for.
#[kernel]
pub fn recurse(x: &[u32], mut y: DisjointSlice<u32>) {
    #[inline(never)]
    fn down(n: u32, x: &[u32]) -> u32 {
        let mut numbers = [n; 64];
        numbers[(n % 64) as usize] += 1;
        if n == 0 || x.is_empty() { numbers[0] } else { numbers[(n % 7) as usize].wrapping_add(down(n - 1, x)) }
    }
    if let Some(y) = y.own() {
        *y = down(1_000_000, x);
    }
}

/// Attacks by this kernel.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use crate::Target;
    use rumba::Result;

    /// The stack's end is noticed, and the launch ends with an error.
    pub fn recursion_without_end(target: &Target) -> Result<()> {
        let x = target.device.buffer_from(&[3_u32; 4])?;
        let mut y = target.device.zeros::<u32>(4)?;
        let launched = target.module.launch((1, 4), super::recurse(&x, &mut y));
        let outcome = launched.and_then(|()| target.device.synchronize());
        assert!(outcome.is_err(), "a million frames of 256 bytes fit the stack");
        Ok(())
    }

    /// A scope whose copies the program does not wait for ends when they have ended.
    pub fn scope_not_waited_for(target: &Target) -> Result<()> {
        let source = target.device.buffer_from(&[7_u32; 1024])?;
        let stream = target.device.stream()?;
        let mut pinned = target.device.pinned::<u32>(1024)?;
        target.device.scope(|scope| scope.copy_out(source.as_slice(), &mut pinned, &stream))?;
        assert!(pinned.iter().all(|&value| value == 7), "the scope ended before its copy");
        Ok(())
    }
}
