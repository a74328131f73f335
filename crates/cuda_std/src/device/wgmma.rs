//! The instructions of the ninth generation for tensors: products by warp groups (`wgmma`), copies by tensor maps, barriers
//! that count bytes, clusters, and registers that warp groups give away. They need PTX 8.0 and sm_90, `wgmma` and `setmaxnreg`
//! sm_90a: code with these runs on devices of compute capability 9.0 and on no others.
//!
//! Addresses are those of shared memory in its own window. All of them are `unsafe`: what has to hold is with the types of
//! `cuda_std::tensor`, which call them, and in the PTX ISA under each name.

/// Declares instructions: in a kernel the text, on the host a function that names itself.
macro_rules! instructions {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $ty:ty => $class:ident),*) $text:literal;)*) => {$(
        $(#[$doc])*
        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        #[allow(clippy::too_many_arguments, reason = "as many as the instruction has operands")]
        pub(crate) unsafe fn $name($($argument: $ty),*) {
            // SAFETY: the caller's.
            unsafe { core::arch::asm!($text, $($argument = in($class) $argument),*) }
        }

        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        #[track_caller]
        #[allow(clippy::too_many_arguments, reason = "as many as the instruction has operands")]
        pub(crate) unsafe fn $name($(_: $ty),*) {
            crate::device::intrinsics::device_only(stringify!($name))
        }
    )*};
}

/// The same for instructions with a result of 32 bits, which the text names `result`.
macro_rules! questions {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $ty:ty => $class:ident),*) $text:literal;)*) => {$(
        $(#[$doc])*
        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        pub(crate) unsafe fn $name($($argument: $ty),*) -> u32 {
            let result;
            // SAFETY: the caller's.
            unsafe { core::arch::asm!($text, $($argument = in($class) $argument,)* result = out(reg32) result) }
            result
        }

        $(#[$doc])*
        #[cfg(not(target_arch = "nvptx64"))]
        #[track_caller]
        pub(crate) unsafe fn $name($(_: $ty),*) -> u32 {
            crate::device::intrinsics::device_only(stringify!($name))
        }
    )*};
}

pub(super) use {instructions, questions};

// PTX ISA, "mbarrier".
instructions! {
    fn mbarrier_init(barrier: u32 => reg32, arrivals: u32 => reg32)
        "mbarrier.init.shared::cta.b64 [{barrier}], {arrivals};";
    /// Makes initialised barriers known to the other blocks of the cluster and to tensor copies.
    fn fence_mbarrier_init() "fence.mbarrier_init.release.cluster;";
    /// An arrival, and the bytes that the phase waits for besides.
    fn mbarrier_arrive_expect_tx(barrier: u32 => reg32, bytes: u32 => reg32)
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [{barrier}], {bytes};";
    fn mbarrier_arrive(barrier: u32 => reg32) "mbarrier.arrive.shared::cta.b64 _, [{barrier}];";
    /// An arrival at the barrier that another block of the cluster has at the same address.
    fn mbarrier_arrive_cluster(barrier: u32 => reg32, block: u32 => reg32)
        "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {barrier}, {block}; mbarrier.arrive.shared::cluster.b64 _, [remote]; }}";
    /// The same, after which the other block sees what this thread knows of.
    fn mbarrier_arrive_release_cluster(barrier: u32 => reg32, block: u32 => reg32)
        "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {barrier}, {block}; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }}";
    /// Two numbers to the block's shared memory.
    fn store_pair(address: u32 => reg32, low: u32 => reg32, high: u32 => reg32)
        "st.shared.v2.b32 [{address}], {{{low}, {high}}};";
}
questions! {
    /// Whether the phase of this parity is over; waits for a while.
    fn mbarrier_try_wait(barrier: u32 => reg32, parity: u32 => reg32)
        "{{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [{barrier}], {parity}; selp.u32 {result}, 1, 0, done; }}";
}

questions! {
    /// The same; other blocks' writes before their arrivals are seen afterwards.
    fn mbarrier_try_wait_acquire_cluster(barrier: u32 => reg32, parity: u32 => reg32)
        "{{ .reg .pred done; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [{barrier}], {parity}; selp.u32 {result}, 1, 0, done; }}";
}

/// Four numbers of another block of the cluster, at an address that is this block's too.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) unsafe fn load_four(address: u32, block: u32) -> [f32; 4] {
    let (a, b, c, d);
    // SAFETY: the caller's.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {address}, {block}; ld.shared::cluster.v4.f32 {{{a}, {b}, {c}, {d}}}, [remote]; }}",
            address = in(reg32) address,
            block = in(reg32) block,
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
pub(crate) unsafe fn load_four(_: u32, _: u32) -> [f32; 4] {
    crate::device::intrinsics::device_only("load_four")
}

// PTX ISA, "cp.async.bulk.tensor".
instructions! {
    fn prefetch_tensormap(map: *const u8 => reg64) "prefetch.tensormap [{map}];";
    fn load_tile(tile: u32 => reg32, map: *const u8 => reg64, batch: u32 => reg32, row: u32 => reg32, column: u32 => reg32, barrier: u32 => reg32)
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{tile}], [{map}, {{{column}, {row}, {batch}}}], [{barrier}];";
    /// To the same address in each block of the cluster that the mask has, and their barriers.
    fn load_tile_multicast(tile: u32 => reg32, map: *const u8 => reg64, batch: u32 => reg32, row: u32 => reg32, column: u32 => reg32, barrier: u32 => reg32, blocks: u16 => reg16)
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [{tile}], [{map}, {{{column}, {row}, {batch}}}], [{barrier}], {blocks};";
    /// Pixels one after the other, each moved by as many columns and rows as the offsets say: PTX ISA, "im2col mode".
    fn load_pixels(tile: u32 => reg32, map: *const u8 => reg64, channel: u32 => reg32, column: u32 => reg32, row: u32 => reg32, image: u32 => reg32, barrier: u32 => reg32, right: u16 => reg16, down: u16 => reg16)
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [{tile}], [{map}, {{{channel}, {column}, {row}, {image}}}], [{barrier}], {{{right}, {down}}};";
    /// Tensor copies that start afterwards see earlier writes of this thread to shared memory.
    fn fence_proxy_async() "fence.proxy.async.shared::cta;";
    fn store_tile(map: *const u8 => reg64, batch: u32 => reg32, row: u32 => reg32, column: u32 => reg32, tile: u32 => reg32)
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [{map}, {{{column}, {row}, {batch}}}], [{tile}];";
    fn store_commit() "cp.async.bulk.commit_group;";
    /// Until all of this thread's stores but the last have read shared memory.
    fn store_wait_read_1() "cp.async.bulk.wait_group.read 1;";
    /// Until all of this thread's stores have read shared memory.
    fn store_wait_read() "cp.async.bulk.wait_group.read 0;";
    /// PTX ISA, "stmatrix": four matrices of 8 by 8 numbers of 16 bits.
    fn stmatrix_x4(row: u32 => reg32, a: u32 => reg32, b: u32 => reg32, c: u32 => reg32, d: u32 => reg32)
        "stmatrix.sync.aligned.m8n8.x4.shared.b16 [{row}], {{{a}, {b}, {c}, {d}}};";
}

questions! {
    /// Two numbers rounded to 16 bits, the first in the lower half.
    fn pack_f16(low: f32 => reg32, high: f32 => reg32) "cvt.rn.f16x2.f32 {result}, {high}, {low};";
    fn pack_bf16(low: f32 => reg32, high: f32 => reg32) "cvt.rn.bf16x2.f32 {result}, {high}, {low};";
}

// PTX ISA, "barrier.cluster".
instructions! {
    /// Orders no accesses.
    fn cluster_arrive() "barrier.cluster.arrive.relaxed;";
    /// Other blocks see behind the barrier what this thread wrote.
    fn cluster_arrive_release() "barrier.cluster.arrive.release;";
    fn cluster_wait() "barrier.cluster.wait.acquire;";
}

// PTX ISA, "wgmma".
instructions! {
    fn wgmma_commit() "wgmma.commit_group.sync.aligned;";
    /// Until all groups but the last are over.
    fn wgmma_wait_1() "wgmma.wait_group.sync.aligned 1;";
    /// Until all groups but the last two are over.
    fn wgmma_wait_2() "wgmma.wait_group.sync.aligned 2;";
}

/// Changes how many registers the threads of the calling warp group have: `setmaxnreg.dec` where `GROW` is not set.
///
/// # Safety
///
/// All threads of the warp group come here together, and nothing lives in registers beyond the new number.
#[inline(always)]
pub(crate) unsafe fn set_registers<const REGISTERS: u32, const GROW: bool>() {
    const {
        assert!(
            REGISTERS.is_multiple_of(8) && REGISTERS >= 24 && REGISTERS <= 256,
            "24 to 256 registers, in steps of 8"
        );
    };
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's.
    unsafe {
        if GROW {
            core::arch::asm!("setmaxnreg.inc.sync.aligned.u32 {};", const REGISTERS);
        } else {
            core::arch::asm!("setmaxnreg.dec.sync.aligned.u32 {};", const REGISTERS);
        }
    }
    #[cfg(not(target_arch = "nvptx64"))]
    crate::device::intrinsics::device_only("set_registers");
}

/// Products of one width: 64 rows of `a` by as many of `b`, in the registers of a warp group's threads.
///
/// # Safety
///
/// For all methods: the threads of a warp group come to each of them together. Between a product and `wait`, nothing reads or
/// changes the sums but products into them.
pub(crate) trait Sums: Copy {
    /// A sum.
    type Number: Copy;
    /// Zeros, without a loop: what a loop indexes has to be in memory.
    fn zeroed() -> Self;
    /// Earlier changes of the sums are complete before products that follow: `wgmma.fence`, which the compiler treats
    /// as an access of these registers.
    unsafe fn fence(&mut self);
    /// Waits for all products of the warp group: `wgmma.wait_group 0`, which gives the sums.
    unsafe fn wait(&mut self);
    /// Waits for all but those that were committed last: `wgmma.wait_group 1`, which gives the sums of the others.
    unsafe fn wait_1(&mut self);
    /// Numbers of 16 bits, two in a register: four registers for each 16 columns.
    type Packed: bytemuck::Zeroable + AsRef<[[u32; 4]]>;
    /// The sums as numbers of 16 bits: `pair` is told the register of the first.
    fn pack(&self, to: &mut Self::Packed, pair: impl FnMut(usize, Self::Number, Self::Number) -> u32);
    /// Replaces each number.
    fn each(&mut self, work: impl FnMut(usize, Self::Number) -> Self::Number);
    /// Passes on the numbers two at a time, which stand in neighbouring columns, with the register of the first.
    fn pairs(&self, work: impl FnMut(usize, Self::Number, Self::Number));
}

/// Numbers of 8 bits with 4 bits of exponent, and with 5: names for [`Wgmma`].
#[derive(Debug)]
pub(crate) enum E4m3 {}
#[derive(Debug)]
pub(crate) enum E5m2 {}

/// Products of elements `T`, 32 bytes of the sum's dimension at a time.
pub(crate) trait Wgmma<T>: Sums {
    /// Starts to compute a sum of products, which is added to the accumulators (`add` 1) or replaces them (`add` 0).
    unsafe fn multiply<A: Order, B: Order>(&mut self, a: u64, b: u64, add: u32);
    /// [`fence`](Sums::fence), and the products of four pairs of operands in turn. In one inline assembly: LLVM
    /// processes the registers of all sums once for each inline assembly, which dominates its work in such kernels.
    unsafe fn multiply_four<A: Order, B: Order>(&mut self, a: [u64; 4], b: [u64; 4], add: u32);
}

/// How an operand lies in shared memory.
pub trait Order: sealed::Order {
    /// 1 where its rows are across the sum's dimension, which those of numbers with 16 bits may be.
    const ACROSS: u32;
}

mod sealed {
    pub trait Order {}
    impl Order for super::Along {}
    impl Order for super::Across {}
}

/// Rows are along the sum.
#[derive(Debug)]
pub struct Along(());

/// Rows are across the sum.
#[derive(Debug)]
pub struct Across(());

impl Order for Along {
    const ACROSS: u32 = 0;
}

impl Order for Across {
    const ACROSS: u32 = 1;
}

/// A line for each width: its columns, the numbers of its registers, those of each sixteen columns, and the even ones.
macro_rules! widths {
    ($($columns:literal $registers:tt $sixteens:tt $evens:tt;)*) => {$(
        sums!(f32, $columns, $registers, $sixteens, $evens);
        sums!(i32, $columns, $registers, $sixteens, $evens);
        products!(f32, $columns, "k16.f32.f16.f16", ::half::f16, across, $registers);
        products!(f32, $columns, "k16.f32.bf16.bf16", ::half::bf16, across, $registers);
        products!(f32, $columns, "k8.f32.tf32.tf32", f32, scaled, $registers);
        products!(f32, $columns, "k32.f32.e4m3.e4m3", E4m3, scaled, $registers);
        products!(f32, $columns, "k32.f32.e5m2.e5m2", E5m2, scaled, $registers);
        products!(i32, $columns, "k32.s32.s8.s8", i8, plain, $registers);
    )*};
}

macro_rules! sums {
    ($number:ty, $columns:literal, [$($i:literal)*], [$($sixteen:literal)*], [$($even:literal)*]) => {
        impl Sums for [$number; $columns / 2] {
            type Number = $number;

            #[inline(always)]
            fn zeroed() -> Self {
                // SAFETY: zeros are numbers.
                unsafe { core::mem::zeroed() }
            }

            #[inline(always)]
            unsafe fn fence(&mut self) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's.
                unsafe {
                    core::arch::asm!(
                        concat!("wgmma.fence.sync.aligned; //" $(, " {", $i, "}")*),
                        $(inout(reg32) self[$i]),*
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                crate::device::intrinsics::device_only("wgmma_fence")
            }

            #[inline(always)]
            unsafe fn wait(&mut self) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's.
                unsafe {
                    core::arch::asm!(
                        concat!("wgmma.wait_group.sync.aligned 0; //" $(, " {", $i, "}")*),
                        $(inout(reg32) self[$i]),*
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                crate::device::intrinsics::device_only("wgmma_wait")
            }

            #[inline(always)]
            unsafe fn wait_1(&mut self) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's.
                unsafe {
                    core::arch::asm!(
                        concat!("wgmma.wait_group.sync.aligned 1; //" $(, " {", $i, "}")*),
                        $(inout(reg32) self[$i]),*
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                crate::device::intrinsics::device_only("wgmma_wait_1")
            }

            type Packed = [[u32; 4]; $columns / 16];

            #[inline(always)]
            fn pack(&self, to: &mut Self::Packed, mut pair: impl FnMut(usize, $number, $number) -> u32) {
                $(
                    to[$sixteen][0] = pair(8 * $sixteen, self[8 * $sixteen], self[8 * $sixteen + 1]);
                    to[$sixteen][1] = pair(8 * $sixteen + 2, self[8 * $sixteen + 2], self[8 * $sixteen + 3]);
                    to[$sixteen][2] = pair(8 * $sixteen + 4, self[8 * $sixteen + 4], self[8 * $sixteen + 5]);
                    to[$sixteen][3] = pair(8 * $sixteen + 6, self[8 * $sixteen + 6], self[8 * $sixteen + 7]);
                )*
            }

            #[inline(always)]
            fn each(&mut self, mut work: impl FnMut(usize, $number) -> $number) {
                $(self[$i] = work($i, self[$i]);)*
            }

            #[inline(always)]
            fn pairs(&self, mut work: impl FnMut(usize, $number, $number)) {
                $(work($even, self[$even], self[$even + 1]);)*
            }
        }
    };
}

/// The products of one type: which sums, the shape's depth and types, the elements, and what stands behind the operands.
/// Numbers of 16 bits may lie across the sum's dimension, others have factors of 1 or -1, those of whole numbers not even that.
macro_rules! products {
    ($number:ty, $columns:literal, $types:literal, $ty:ty, across, $registers:tt) => {
        products!($number, $columns, $types, $ty, ", 1, 1, {across_a}, {across_b}",
            [across_a = const A::ACROSS, across_b = const B::ACROSS,], {}, $registers);
    };
    ($number:ty, $columns:literal, $types:literal, $ty:ty, scaled, $registers:tt) => {
        products!($number, $columns, $types, $ty, ", 1, 1", [],
            { const { assert!(A::ACROSS + B::ACROSS == 0, "only numbers of 16 bits may lie across") } }, $registers);
    };
    ($number:ty, $columns:literal, $types:literal, $ty:ty, plain, $registers:tt) => {
        products!($number, $columns, $types, $ty, "", [],
            { const { assert!(A::ACROSS + B::ACROSS == 0, "only numbers of 16 bits may lie across") } }, $registers);
    };
    ($number:ty, $columns:literal, $types:literal, $ty:ty, $behind:literal, [$($operand:tt)*], $check:block, [$first:literal $($i:literal)*]) => {
        impl Wgmma<$ty> for [$number; $columns / 2] {
            #[inline(always)]
            unsafe fn multiply<A: Order, B: Order>(&mut self, a: u64, b: u64, add: u32) {
                $check
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's.
                unsafe {
                    core::arch::asm!(
                        "{{ .reg .pred add; setp.ne.b32 add, {add}, 0;",
                        product!($columns, $types, [$($i)*], "{a}, {b}, add", $behind),
                        "}}",
                        inout(reg32) self[0],
                        $(inout(reg32) self[$i],)*
                        a = in(reg64) a,
                        b = in(reg64) b,
                        add = in(reg32) add,
                        $($operand)*
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = (a, b, add);
                    crate::device::intrinsics::device_only("wgmma")
                }
            }

            #[inline(always)]
            unsafe fn multiply_four<A: Order, B: Order>(&mut self, a: [u64; 4], b: [u64; 4], add: u32) {
                $check
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the caller's.
                unsafe {
                    core::arch::asm!(
                        "wgmma.fence.sync.aligned;",
                        "{{ .reg .pred add; setp.ne.b32 add, {add}, 0;",
                        product!($columns, $types, [$($i)*], "{a0}, {b0}, add", $behind),
                        product!($columns, $types, [$($i)*], "{a1}, {b1}, 1", $behind),
                        product!($columns, $types, [$($i)*], "{a2}, {b2}, 1", $behind),
                        product!($columns, $types, [$($i)*], "{a3}, {b3}, 1", $behind),
                        "}}",
                        inout(reg32) self[0],
                        $(inout(reg32) self[$i],)*
                        a0 = in(reg64) a[0],
                        a1 = in(reg64) a[1],
                        a2 = in(reg64) a[2],
                        a3 = in(reg64) a[3],
                        b0 = in(reg64) b[0],
                        b1 = in(reg64) b[1],
                        b2 = in(reg64) b[2],
                        b3 = in(reg64) b[3],
                        add = in(reg32) add,
                        $($operand)*
                    );
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = (a, b, add);
                    crate::device::intrinsics::device_only("wgmma")
                }
            }
        }
    };
}

/// The text of an instruction, by its columns, depth and types, and the numbers of its registers but the first.
#[cfg(target_arch = "nvptx64")]
macro_rules! product {
    ($columns:literal, $types:literal, [$($i:literal)*], $operands:literal, $behind:literal) => {
        concat!(
            "wgmma.mma_async.sync.aligned.m64n", $columns, $types, " {{{0}" $(, ", {", $i, "}")*, "}}, ", $operands, $behind, ";",
        )
    };
}
#[rustfmt::skip]
widths! {
    32 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15]
        [0 1]
        [0 2 4 6 8 10 12 14];
    64 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31]
        [0 1 2 3]
        [0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30];
    128 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42
        43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63]
        [0 1 2 3 4 5 6 7]
        [0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 58 60 62];
    160 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42
        43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79]
        [0 1 2 3 4 5 6 7 8 9]
        [0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 58 60 62 64 66 68 70 72 74 76 78];
    176 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42
        43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81
        82 83 84 85 86 87]
        [0 1 2 3 4 5 6 7 8 9 10]
        [0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 58 60 62 64 66 68 70 72 74 76 78 80
        82 84 86];
    192 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42
        43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81
        82 83 84 85 86 87 88 89 90 91 92 93 94 95]
        [0 1 2 3 4 5 6 7 8 9 10 11]
        [0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 58 60 62 64 66 68 70 72 74 76 78 80
        82 84 86 88 90 92 94];
    256 [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42
        43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81
        82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115
        116 117 118 119 120 121 122 123 124 125 126 127]
        [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15]
        [0 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30 32 34 36 38 40 42 44 46 48 50 52 54 56 58 60 62 64 66 68 70 72 74 76 78 80
        82 84 86 88 90 92 94 96 98 100 102 104 106 108 110 112 114 116 118 120 122 124 126];
}
