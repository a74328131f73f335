//! Further instructions of the ninth generation: products by warp groups whose left operand is in registers and whose right one
//! lies in rows along its columns, copies of tiles of arrays with four dimensions, and the barriers by which warp groups take
//! turns. Floors and duties are those of [`wgmma`](super::wgmma).

use super::wgmma::{Sums, instructions};

// PTX ISA, "cp.async.bulk.tensor".
instructions! {
    fn load_tile_4d(tile: u32 => reg32, map: *const u8 => reg64, column: u32 => reg32, row: u32 => reg32, i: u32 => reg32, j: u32 => reg32, barrier: u32 => reg32)
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{tile}], [{map}, {{{column}, {row}, {i}, {j}}}], [{barrier}];";
    fn store_tile_4d(map: *const u8 => reg64, column: u32 => reg32, row: u32 => reg32, i: u32 => reg32, j: u32 => reg32, tile: u32 => reg32)
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [{map}, {{{column}, {row}, {i}, {j}}}], [{tile}];";
}

// PTX ISA, "barrier": the lanes of a warp come together, and the barrier counts the threads of these warps.
instructions! {
    /// Arrives at a barrier of the block, and waits until so many threads have arrived there.
    fn barrier_sync(barrier: u32 => reg32, threads: u32 => reg32) "bar.sync {barrier}, {threads};";
    /// Arrives there, and does not wait.
    fn barrier_arrive(barrier: u32 => reg32, threads: u32 => reg32) "bar.arrive {barrier}, {threads};";
}

/// Four numbers of the block's shared memory, at an address that is a multiple of 16.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) unsafe fn load_four(address: u32) -> [u32; 4] {
    let (a, b, c, d);
    // SAFETY: the caller's.
    unsafe {
        core::arch::asm!(
            "ld.shared.v4.b32 {{{a}, {b}, {c}, {d}}}, [{address}];",
            address = in(reg32) address,
            a = out(reg32) a,
            b = out(reg32) b,
            c = out(reg32) c,
            d = out(reg32) d,
        );
    }
    [a, b, c, d]
}

#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
pub(crate) unsafe fn load_four(_: u32) -> [u32; 4] {
    crate::device::intrinsics::device_only("load_four")
}

/// Products of 16 columns of `a`, four registers in each thread, and 16 rows of `b`.
///
/// # Safety
///
/// As for [`Sums`]. Between a product and its wait, nothing changes the registers of `a` either.
pub(crate) trait RegisterProducts: Sums {
    /// Starts to add the product of numbers `bf16` where `BRAIN` is set, or else `f16`.
    unsafe fn multiply_registers<const BRAIN: bool>(&mut self, a: [u32; 4], b: u64);
}

/// An instruction, by its columns, the name of its elements, and the numbers of its registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! product {
    ($columns:literal, $name:literal, $sums:expr, $a:expr, $b:expr, [$first:literal $($i:literal)*]) => {
        core::arch::asm!(
            concat!(
                "wgmma.mma_async.sync.aligned.m64n", $columns, "k16.f32.", $name, ".", $name, " {{{0}" $(, ", {", $i, "}")*,
                "}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, 1, 1, 1, 1;",
            ),
            inout(reg32) $sums[0],
            $(inout(reg32) $sums[$i],)*
            a0 = in(reg32) $a[0],
            a1 = in(reg32) $a[1],
            a2 = in(reg32) $a[2],
            a3 = in(reg32) $a[3],
            b = in(reg64) $b,
        )
    };
}

macro_rules! products {
    ($($columns:literal $registers:tt;)*) => {$(
        impl RegisterProducts for [f32; $columns / 2] {
            #[inline(always)]
            unsafe fn multiply_registers<const BRAIN: bool>(&mut self, a: [u32; 4], b: u64) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's.
                unsafe {
                    if BRAIN {
                        product!($columns, "bf16", self, a, b, $registers);
                    } else {
                        product!($columns, "f16", self, a, b, $registers);
                    }
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = (a, b);
                    crate::device::intrinsics::device_only("wgmma")
                }
            }
        }
    )*};
}

#[rustfmt::skip]
products! {
    64 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31];
    128 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41
        42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63];
    192 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41
        42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80
        81 82 83 84 85 86 87 88 89 90 91 92 93 94 95];
    256 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41
        42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80
        81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114
        115 116 117 118 119 120 121 122 123 124 125 126 127];
}

/// The number is computed before what follows: of no instruction, but LLVM orders arithmetic by it.
#[inline(always)]
pub(crate) fn pin(number: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut number = number;
        // SAFETY: no instruction.
        unsafe { core::arch::asm!("// pinned {}", inout(reg32) number) };
        number
    }
    #[cfg(not(target_arch = "nvptx64"))]
    number
}

/// The registers are in use up to here: LLVM gives them to nothing else, though it sees no instruction that reads them.
#[inline(always)]
pub(crate) fn keep(registers: [u32; 4]) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: no instruction.
    unsafe {
        core::arch::asm!(
            "// {0} {1} {2} {3}",
            in(reg32) registers[0],
            in(reg32) registers[1],
            in(reg32) registers[2],
            in(reg32) registers[3],
        );
    }
    #[cfg(not(target_arch = "nvptx64"))]
    let _ = registers;
}
