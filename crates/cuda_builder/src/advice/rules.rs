//! The messages that get advice, and the advice.

/// Advice for messages of a kind. Empty lists have no condition, except `codes`. In a text, `..` stands for any text.
pub(super) struct Rule {
    /// The compiler's error codes; empty for errors without one.
    pub(super) codes: &'static [&'static str],
    /// The message has one of these in it,
    pub(super) says: &'static [&'static str],
    /// the message, a label or a note one of these,
    pub(super) about: &'static [&'static str],
    /// the line of source code one of these,
    pub(super) source: &'static [&'static str],
    /// and the message none of these.
    pub(super) unless: &'static [&'static str],
    pub(super) text: &'static str,
}

impl Rule {
    const NEW: Rule = Rule { codes: &[], says: &[], about: &[], source: &[], unless: &[], text: "" };
}

/// Codes of rustc's errors about unresolved names.
const MISSING: &[&str] = &["E0405", "E0412", "E0425", "E0432", "E0433", "E0463"];

/// Concrete number types, as rustc's messages spell them.
const NUMBERS: &[&str] = &[
    "`{integer}`",
    "`u8`",
    "`i8`",
    "`u16`",
    "`i16`",
    "`u32`",
    "`i32`",
    "`u64`",
    "`i64`",
    "`u128`",
    "`i128`",
    "`usize`",
    "`isize`",
    "`f32`",
    "`f64`",
];

const MEMORY: &str = "kernels are compiled without the standard library, and allocate nothing unless they are told to: write an array of a \
                      fixed length, `[f32; 8]`, shared memory, `Shared<Tile<f32, 256>>` or `SharedSlice<f32>`, or take a slice of \
                      memory that the host has allocated; `cuda_std::heap` says how a kernel crate gets the types of `alloc`";

const FLOAT: &str = "a literal is `f32` or `f64`, and a generic number may be either: write `T::from_f64(0.5)`";

const PRINT: &str = "kernels print by `cuda_std::println!`: `use cuda_std::println;`";

const ATTRIBUTE: &str = "`#[kernel] pub fn name(..)`, with `use cuda_std::prelude::*;`, is a kernel (CUDA's `__global__`, Numba's \
                         `@cuda.jit`); a function that kernels call (`__device__`) is a function without an attribute";

const SHARED: &str =
    "shared memory is a parameter of the kernel, for which the host passes nothing: `mut tile: Shared<Tile<f32, 256>>`";

/// The first that fits is printed.
pub(super) const RULES: &[Rule] = &[
    // The standard library.
    Rule {
        codes: &["E0463"],
        says: &["can't find crate for `std`"],
        text: "kernels are compiled without the standard library, and so are their dependencies: many crates leave it out by \
               `default-features = false` in Cargo.toml; others are no dependencies of a kernel crate",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &["`std`"],
        source: &["std::time", "Instant"],
        text: "kernels are compiled without the standard library: `cuda_std::thread::clock()` counts cycles, \
               `cuda_std::thread::global_timer()` is the time in nanoseconds; the host measures a launch by `module.launch_timed(..)`",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &["`std`"],
        source: &["std::thread", "Mutex", "RwLock", "mpsc"],
        text: "kernels are compiled without the standard library, and their threads are those of the launch: a number that threads share \
               is a parameter `&[Atomic<u32>]`, and threads of a block exchange data in shared memory, `Shared<Tile<f32, 256>>`",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &["`std`"],
        text: "kernels are compiled without the standard library: write `core::` for what needs no operating system, as in \
               `core::f32::consts::PI`; the mathematical functions are those of `cuda_std::GpuFloat`",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &["`HashMap`", "`HashSet`"],
        text: "kernels are compiled without the standard library: a table that threads share is a slice `&[Atomic<u32>]`, with open \
               addressing by `compare_exchange`, or `Shared<Table<Atomic<u32>, N>>` for a block",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &[
            "`alloc`",
            "`Vec`",
            "`VecDeque`",
            "`Box`",
            "`Rc`",
            "`Arc`",
            "`String`",
            "`ToString`",
            "`BTreeMap`",
            "`BTreeSet`",
        ],
        text: MEMORY,
        ..Rule::NEW
    },
    Rule { says: &["cannot find macro `vec`", "cannot find macro `format`"], text: MEMORY, ..Rule::NEW },
    Rule {
        says: &["cannot find macro `println`", "cannot find macro `print`", "cannot find macro `dbg`"],
        text: PRINT,
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &["module or crate `rand`"],
        text: "kernels draw random numbers from `cuda_std::random`: `let mut random = Philox4x32::new(seed, i.get() as u64);` has a stream \
               of its own for each thread, of which `random.uniform_f32()` is the next number",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &["module or crate `rumba`"],
        text: "the runtime `rumba` belongs to the program, which launches kernels: a kernel crate depends on `cuda_std` and has the kernels \
               and the functions that they call",
        ..Rule::NEW
    },
    // Names of CUDA C++, Numba and Triton.
    Rule {
        codes: MISSING,
        says: &["`threadIdx`", "`blockIdx`", "`blockDim`", "`gridDim`"],
        text: "the thread's index in the grid, `blockIdx.x * blockDim.x + threadIdx.x`, is `grid::<1>()`, and `grid_stride(n)` iterates over \
               the indices of a grid-stride loop; single registers are functions: `thread::thread_idx_x()`, `thread::block_idx_x()`, \
               `thread::block_dim_x()`, `thread::grid_dim_x()`",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &["`__syncthreads`", "`syncthreads`"],
        text: "`let tile = tile.sync();` waits for the block and gives all threads the whole tile of shared memory; a barrier alone is \
               `sync_threads()`",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &[
            "`__shfl",
            "`__ballot",
            "`__any",
            "`__all",
            "`__syncwarp",
            "`__activemask",
            "`__match",
            "`warpSize`",
            "`laneId`",
        ],
        text: "the functions of a warp are in `cuda_std::warp`, without underscores: `warp::shfl_down_sync(mask, x, 16, 32)`, \
               `warp::ballot_sync(mask, p)`, `warp::sync_warp(mask)`; for whole warps `warp::shuffle_down(x, 16)`, `warp::ballot(p)`, \
               `warp::reduce_sum(x)`; `warp::WARP_SIZE` is 32, `warp::lane_id()` the thread's lane",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &[
            "`atomicAdd`",
            "`atomicSub`",
            "`atomicMin`",
            "`atomicMax`",
            "`atomicAnd`",
            "`atomicOr`",
            "`atomicXor`",
            "`atomicExch`",
            "`atomicCAS`",
        ],
        text: "atomic functions are methods of the elements of a parameter `counts: &[Atomic<u32>]`: `counts[i].fetch_add(1)`, `fetch_sub`, \
               `fetch_min`, `fetch_max`, `fetch_and`, `fetch_or`, `fetch_xor`, `swap`, `compare_exchange`",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &["`cuda`"],
        text: "names of Numba: `cuda.grid(1)` is `grid::<1>()`, `cuda.threadIdx.x` is `thread::thread_idx_x()`, `cuda.syncthreads()` is \
               `tile.sync()` or `sync_threads()`, `cuda.shared.array(256, float32)` is a parameter `mut tile: Shared<Tile<f32, 256>>`, \
               `cuda.atomic.add(x, i, v)` is `x[i].fetch_add(v)` with `x: &[Atomic<f32>]`, `@cuda.jit` is `#[kernel]`",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &["`tl`"],
        source: &["tl.program_id", "tl.load", "tl.store", "tl.arange", "tl::"],
        text: "names of Triton: `tl.program_id(0)` is `thread::block_idx_x()`, and a kernel is the program of one thread, whose index in the \
               grid is `grid::<1>()`: `tl.load(x + i)` is `x[i]`, `tl.store(y + i, v)` is `if let Some(y) = y.own() { *y = v; }`",
        ..Rule::NEW
    },
    Rule { codes: MISSING, says: &["function `printf`"], text: PRINT, ..Rule::NEW },
    Rule {
        codes: MISSING,
        says: &[
            "function `sqrt`",
            "function `sqrtf`",
            "function `rsqrt`",
            "function `rsqrtf`",
            "function `sin`",
            "function `sinf`",
            "function `cos`",
            "function `cosf`",
            "function `tan`",
            "function `tanf`",
            "function `tanhf`",
            "function `exp`",
            "function `expf`",
            "function `exp2f`",
            "function `log`",
            "function `logf`",
            "function `log2f`",
            "function `log10f`",
            "function `pow`",
            "function `powf`",
            "function `fabs`",
            "function `fabsf`",
            "function `fmax`",
            "function `fmaxf`",
            "function `fmin`",
            "function `fminf`",
            "function `floorf`",
            "function `ceilf`",
            "function `roundf`",
            "function `fma`",
            "function `fmaf`",
            "function `erff`",
            "function `__expf`",
            "function `__logf`",
            "function `__sinf`",
            "function `__cosf`",
            "function `__powf`",
            "function `__fdividef`",
        ],
        text: "mathematical functions are methods, of `cuda_std::GpuFloat`, which is in the prelude: `x.sqrt()`, `x.exp()`, `x.max(y)`, \
               `a.mul_add(b, c)`; `#[kernel(fast_math)]` uses the device's fast approximations",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &[
            "`float2`",
            "`float3`",
            "`float4`",
            "`int2`",
            "`int3`",
            "`int4`",
            "`uint2`",
            "`uint3`",
            "`uint4`",
            "`double2`",
        ],
        text: "vectors are arrays, `[f32; 4]`, or the types of the crate `cuda_std::glam`, as in `cuda_std::glam::Vec4`",
        ..Rule::NEW
    },
    Rule {
        codes: MISSING,
        says: &["`float32`", "`float64`", "`int32`", "`int64`", "`uint32`", "`uint64`", "`float16`"],
        text: "numbers are `f32`, `f64`, `i32`, `i64`, `u32`, `u64`, and `cuda_std::half::f16`",
        ..Rule::NEW
    },
    Rule {
        says: &[
            "cannot find attribute `global`",
            "cannot find attribute `device`",
            "cannot find attribute `host`",
            "cannot find attribute `jit`",
            "cannot find attribute `cuda`",
        ],
        text: ATTRIBUTE,
        ..Rule::NEW
    },
    Rule {
        says: &["found keyword `fn`"],
        source: &["__global__", "__device__", "__host__"],
        text: ATTRIBUTE,
        ..Rule::NEW
    },
    Rule { says: &["cannot find attribute `shared`"], text: SHARED, ..Rule::NEW },
    Rule { says: &["expected"], source: &["__shared__"], text: SHARED, ..Rule::NEW },
    Rule {
        says: &["expected"],
        source: &["<<<"],
        text: "the host launches kernels: `module.launch((blocks, threads), child(&mut y))`; a function that a kernel calls is a function \
               without `#[kernel]`",
        ..Rule::NEW
    },
    Rule {
        says: &["functions with the \"gpu-kernel\" ABI cannot be called"],
        text: "a kernel is called by the host only: move what both kernels do into a function without `#[kernel]`, and call that",
        ..Rule::NEW
    },
    // Elements, indices, memory.
    Rule {
        codes: &["E0507", "E0382"],
        says: &["move"],
        about: &["`cuda_std::shared::Shared<", "`cuda_std::shared::View<", "`Shared<", "`SharedSlice<"],
        text: "`tile.read(|tile| ..)` waits for the block, reads and waits again, and borrows the memory only, so that it may stand in a loop \
               or a closure; with `sync`, the next turn of a loop starts from what `view.sync()` gives: `tile = view.sync();`",
        ..Rule::NEW
    },
    Rule {
        codes: &["E0277"],
        says: &["cannot multiply `", "cannot divide `", "cannot add `", "cannot subtract `"],
        about: &["`{float}"],
        unless: NUMBERS,
        text: FLOAT,
        ..Rule::NEW
    },
    Rule {
        codes: &["E0277"],
        says: &[
            "cannot multiply `..` by `",
            "cannot divide `..` by `",
            "cannot add `..` to `",
            "cannot subtract `..` from `",
        ],
        about: &[
            "no implementation for `f32 ",
            "no implementation for `f64 ",
            "no implementation for `{float} ",
            "no implementation for `{integer} ",
            "no implementation for `u32 ",
            "no implementation for `i32 ",
            "no implementation for `usize ",
        ],
        text: "both sides of an operator have one type: convert a number, `n as f32`, and write literals of that type, `2.0`",
        ..Rule::NEW
    },
    Rule {
        codes: &["E0308"],
        says: &["mismatched types"],
        about: &["type parameter `..`, found floating-point number"],
        text: FLOAT,
        ..Rule::NEW
    },
    Rule {
        codes: &["E0277"],
        says: &["cannot be indexed by `u32`", "cannot be indexed by `i32`", "cannot be indexed by `u64`"],
        text: "an index is a `usize`: write `x[i as usize]`; the index of the thread itself, `let i = grid::<1>();`, is one as it is",
        ..Rule::NEW
    },
    Rule {
        codes: &["E0605", "E0606"],
        says: &["cast: `ThreadIndex<", "casting `ThreadIndex<"],
        text: "the index of a thread is a number by `i.get()`, or by `i.x()`, `i.y()` and `i.z()`: write `i.get() as u32`",
        ..Rule::NEW
    },
    Rule {
        codes: &["E0614"],
        says: &["type `Option<&mut "],
        text: "a thread behind the end of the output has no element: write `if let Some(y) = y.own() { *y = 1.0; }`",
        ..Rule::NEW
    },
    Rule {
        codes: &["E0614"],
        says: &["type `cuda_std::atomic::Atomic<", "type `Atomic<"],
        text: "an atomic number is read by `x.load()`, written by `x.store(1)`, and changed by `x.fetch_add(1)` and its kin",
        ..Rule::NEW
    },
    Rule {
        codes: &["E0594"],
        says: &["[_]`, which is behind a `&` reference"],
        text: "inputs of a kernel, `&[T]`, are read only; an output is a parameter `mut y: DisjointSlice<T>`, of which \
               `if let Some(y) = y.own() { *y = 1.0; }` writes the thread's own element",
        ..Rule::NEW
    },
    Rule {
        codes: &["E0061", "E0282", "E0283", "E0284"],
        says: &["0 arguments but 1", "type annotations needed"],
        source: &["grid("],
        text: "the number of dimensions is a parameter of the type: write `grid::<1>()`, `grid::<2>()` or `grid::<3>()`",
        ..Rule::NEW
    },
    Rule {
        codes: &["E0133"],
        says: &["use of mutable static"],
        text: "a number that all threads change is a parameter `count: &[Atomic<u32>]`: `count[0].fetch_add(1)`; shared memory is a \
               parameter `mut tile: Shared<Tile<f32, 256>>`",
        ..Rule::NEW
    },
    Rule {
        codes: &["E0434"],
        says: &["can't capture dynamic environment"],
        text: "a kernel gets its values from the launch: add a parameter, such as `factor: f32`, and pass the value with the call",
        ..Rule::NEW
    },
];
