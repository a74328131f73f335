//! Handlers that are compiled once for any processor and once for those with vector instructions, from one body.

#[cfg(target_arch = "x86_64")]
use crate::exec::processor::Avx2;
use crate::exec::processor::{Baseline, Processor};
use crate::machine::op::opcode::Opcode;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::Warp;

/// The body of an operation, for each target.
pub(crate) trait Body {
    /// The meaning of the operation.
    const OPCODE: Opcode = Opcode::Opaque;

    /// # Safety
    /// As for [`crate::machine::op::Handler`]; the processor is `X`.
    unsafe fn run<X: Processor>(warp: &mut Warp, pc: Pc) -> Pc;

    /// [`Self::run`] for processors without the vector instructions that others of the target have. Few processors use
    /// it, so families of many bodies share the loop over the lanes here.
    ///
    /// # Safety
    /// As for [`crate::machine::op::Handler`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_by_lane(warp: &mut Warp, pc: Pc) -> Pc {
        // SAFETY: as the caller promises.
        unsafe { Self::run::<Baseline>(warp, pc) }
    }
}

#[cfg(target_arch = "x86_64")]
unsafe fn baseline<B: Body>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { B::run_by_lane(warp, pc) }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn baseline<B: Body>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { B::run::<Baseline>(warp, pc) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn avx2<B: Body>(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: as the caller promises.
    unsafe { B::run::<Avx2>(warp, pc) }
}

#[cfg(not(target_arch = "x86_64"))]
use baseline as avx2;

/// Both copies.
pub(crate) const fn handlers<B: Body>() -> Handlers {
    Handlers { baseline: baseline::<B>, avx2: avx2::<B>, opcode: B::OPCODE }
}
