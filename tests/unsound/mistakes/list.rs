//! Frequent mistakes of users of CUDA C++, of Python's CUDA packages and of Rust: who makes each mistake, which message answers, and
//! which words of the message say what to write instead.
//!
//! The messages lie elsewhere: `kernels` has those of the builder, `programs` those of the compiler about programs,
//! `crates/cuda_std/tests/ui` those of the macros, and the book's catalogue those of the library.

use Author::{Cuda, Python, Rust};

/// The language that leads to a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// CUDA C++.
    Cuda,
    /// Numba, PyCUDA, CuPy or Triton.
    Python,
    /// Rust on the host.
    Rust,
}

/// The place of a blessed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// The builder's messages about a kernel crate: `kernels/NAME.stderr`.
    Kernel(&'static str),
    /// The compiler's messages about a program: `programs/NAME.stderr`.
    Program(&'static str),
    /// The compiler's messages about a kernel as the host compiles it: `crates/cuda_std/tests/ui/NAME.stderr`.
    Macro(&'static str),
    /// An error of the library: a section of `book/src/errors.md`.
    Error(&'static str),
    /// A finding of the checks: the first report about a kernel in `tests/ui/reports.txt`.
    Finding(&'static str),
}

/// What a message says about the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Each of these words.
    Says(&'static [&'static str]),
    /// The cause only, for this reason.
    Lacks(&'static str),
}

/// A mistake.
#[derive(Clone, Copy, Debug)]
pub struct Mistake {
    /// The language that leads to it.
    pub author: Author,
    /// The code that is written, or what the program does.
    pub written: &'static str,
    /// The message.
    pub message: Message,
    /// The remedy.
    pub remedy: Remedy,
}

const fn kernel(author: Author, written: &'static str, file: &'static str, words: &'static [&'static str]) -> Mistake {
    Mistake { author, written, message: Message::Kernel(file), remedy: Remedy::Says(words) }
}

const fn program(author: Author, written: &'static str, file: &'static str, words: &'static [&'static str]) -> Mistake {
    Mistake { author, written, message: Message::Program(file), remedy: Remedy::Says(words) }
}

const fn by_macro(
    author: Author,
    written: &'static str,
    file: &'static str,
    words: &'static [&'static str],
) -> Mistake {
    Mistake { author, written, message: Message::Macro(file), remedy: Remedy::Says(words) }
}

const fn error(author: Author, written: &'static str, name: &'static str, words: &'static [&'static str]) -> Mistake {
    Mistake { author, written, message: Message::Error(name), remedy: Remedy::Says(words) }
}

const fn finding(author: Author, written: &'static str, name: &'static str, words: &'static [&'static str]) -> Mistake {
    Mistake { author, written, message: Message::Finding(name), remedy: Remedy::Says(words) }
}

const fn lacking(author: Author, written: &'static str, message: Message, reason: &'static str) -> Mistake {
    Mistake { author, written, message, remedy: Remedy::Lacks(reason) }
}

/// The compiler words the message, and no crate can add to it.
const COMPILER: &str = "the host's compiler words the message, without a word of Rumba in it";

/// All mistakes.
pub const MISTAKES: &[Mistake] = &[
    // Names of CUDA C++, Numba and Triton in kernels.
    kernel(Cuda, "blockIdx.x * blockDim.x + threadIdx.x", "thread_idx", &["`grid::<1>()`", "`thread::thread_idx_x()`"]),
    kernel(Cuda, "i += blockDim.x * gridDim.x", "grid_dim", &["`grid_stride(n)`"]),
    kernel(Cuda, "__syncthreads();", "syncthreads", &["`let tile = tile.sync();`", "`sync_threads()`"]),
    kernel(
        Cuda,
        "__shfl_down_sync, __ballot_sync, warpSize",
        "syncwarp",
        &["`warp::shfl_down_sync(mask, x, 16, 32)`", "`warp::WARP_SIZE`"],
    ),
    kernel(Cuda, "atomicAdd(&counts[b], 1);", "atomic_add", &["`counts[i].fetch_add(1)`", "`compare_exchange`"]),
    kernel(Cuda, "*counts[b] = 0;", "atomic_dereferenced", &["`x.store(1)`"]),
    kernel(Cuda, "printf(\"%f\\n\", x);", "printf", &["`use cuda_std::println;`"]),
    kernel(Cuda, "__shared__ float tile[256];", "shared_in_c", &["`mut tile: Shared<Tile<f32, 256>>`"]),
    kernel(Rust, "#[shared] static mut TILE", "shared_attribute", &["`mut tile: Shared<Tile<f32, 256>>`"]),
    kernel(Rust, "shared_array![f32; 256] without its import", "shared_array_macro", &["use cuda_std::shared_array;"]),
    kernel(Cuda, "__global__ void scale(float *y)", "global_function", &["`#[kernel] pub fn name(..)`"]),
    kernel(
        Python,
        "@cuda.jit, #[device], #[global]",
        "device_attribute",
        &["`#[kernel] pub fn name(..)`", "a function without an attribute"],
    ),
    kernel(Cuda, "sqrtf(x), fmaxf(x, y), __expf(x)", "c_mathematics", &["`x.sqrt()`", "`#[kernel(fast_math)]`"]),
    kernel(Cuda, "float4, float32, int", "c_types", &["`[f32; 4]`", "`i32`"]),
    kernel(
        Cuda,
        "scale<<<1, 256>>>(y) in a kernel",
        "kernel_calls_kernel",
        &["`module.launch((blocks, threads), child(&mut y))`"],
    ),
    kernel(
        Cuda,
        "a kernel that calls a kernel",
        "kernel_called",
        &["move what both kernels do into a function without `#[kernel]`"],
    ),
    kernel(Cuda, "__device__ int counter;", "static_mut", &["`count: &[Atomic<u32>]`", "`count[0].fetch_add(1)`"]),
    kernel(Python, "cuda.grid(1)", "numba_grid", &["`cuda.grid(1)` is `grid::<1>()`"]),
    kernel(Python, "cuda::grid(1), cuda::syncthreads()", "numba_path", &["`cuda.syncthreads()` is `tile.sync()`"]),
    kernel(Python, "cuda.shared.array(256, float32)", "numba_shared_array", &["`mut tile: Shared<Tile<f32, 256>>`"]),
    kernel(Python, "tl.program_id(0)", "triton_program_id", &["`tl.program_id(0)` is `thread::block_idx_x()`"]),
    kernel(Python, "grid(1)", "grid_without_dimensions", &["write `grid::<1>()`"]),
    // Rust in kernels.
    kernel(Rust, "Vec::new(), vec![0.0; 8], Box::new(x)", "vector", &["`[f32; 8]`", "`Shared<Tile<f32, 256>>`"]),
    kernel(Rust, "String::new(), format!(..)", "text", &["write an array of a fixed length"]),
    kernel(Rust, "HashMap::new()", "hash_map", &["`&[Atomic<u32>]`", "`compare_exchange`"]),
    kernel(Rust, "println!, dbg!", "println", &["`use cuda_std::println;`"]),
    kernel(Rust, "std::f32::consts::PI", "std_constant", &["`core::f32::consts::PI`"]),
    kernel(Rust, "std::time::Instant", "std_time", &["`cuda_std::thread::clock()`", "`module.launch_timed(..)`"]),
    kernel(Rust, "std::sync::Mutex, std::thread", "std_thread", &["`&[Atomic<u32>]`"]),
    kernel(Rust, "rand::random()", "random", &["`let mut random = Philox4x32::new(seed, i.get() as u64);`"]),
    kernel(Rust, "a dependency with the standard library", "dependency_on_std", &["`default-features = false`"]),
    kernel(Rust, "use rumba::prelude::* in a kernel crate", "host_function", &["a kernel crate depends on `cuda_std`"]),
    kernel(Rust, "#[kernel] without the prelude", "no_prelude", &["use cuda_std::kernel;"]),
    kernel(Rust, "x.sqrt() without the trait", "method_without_trait", &["use cuda_std::GpuFloat;"]),
    kernel(Rust, "0.5 * x in a generic kernel", "literal_in_generic", &["write `T::from_f64(0.5)`"]),
    kernel(Cuda, "x / n, 2 * x", "mixed_numbers", &["`n as f32`", "`2.0`"]),
    kernel(Cuda, "x[i] with a u32", "index_u32", &["write `x[i as usize]`"]),
    kernel(Cuda, "x[i - 1] with an int", "index_i32", &["write `x[i as usize]`"]),
    kernel(Cuda, "i < n with a length of 32 bits", "comparison_of_32_bits", &["convert a `u32` to a `usize`"]),
    kernel(Rust, "grid::<1>() as u32", "index_cast", &["write `i.get() as u32`"]),
    kernel(Rust, "*y.own() = 1.0", "output_dereferenced", &["`if let Some(y) = y.own() { *y = 1.0; }`"]),
    kernel(Rust, "y += 1.0 of a reference", "output_computed_with", &["if you dereference the left-hand side"]),
    kernel(Rust, "y: DisjointSlice<f32> without mut", "output_not_mut", &["consider changing this to be mutable"]),
    kernel(Cuda, "y: &[f32], written", "input_assigned", &["`mut y: DisjointSlice<T>`"]),
    kernel(Rust, "fetch_add(1, Ordering::Relaxed)", "atomic_ordering", &["remove the extra argument"]),
    kernel(Cuda, "a barrier in a loop", "barrier_in_loop", &["`tile.read(|tile| ..)`"]),
    kernel(Rust, "two kernels of one name", "same_name", &["`#[kernel(name = \"other_step\")]`"]),
    kernel(Rust, "a variable of the surrounding function", "captures", &["add a parameter, such as `factor: f32`"]),
    // Elements and shared memory, as the macros and traits refuse them.
    by_macro(
        Cuda,
        "y[i] = 1.0",
        "body_output_indexed",
        &["`if let Some(y) = y.own() { *y += 1.0; }`", "`y.get_mut(i)`"],
    ),
    by_macro(Cuda, "x[i - 1] of the thread's index", "body_index_computed_with", &["`i.get()`"]),
    by_macro(Rust, "y.get_mut(3)", "body_index_made_up", &["write `y.get_mut(grid::<1>())`", "`y.own()`"]),
    by_macro(Cuda, "tile[i] before a barrier", "body_tile_without_barrier", &["`let tile = tile.sync();`"]),
    by_macro(Cuda, "counts[b] += 1", "body_atomic_by_operator", &["`counts[i].fetch_add(1)`"]),
    by_macro(
        Rust,
        "println!(\"{point:?}\")",
        "body_prints_structure",
        &["print the parts of anything else one by one"],
    ),
    by_macro(Cuda, "a tile larger than shared memory", "shared_too_large", &["write a smaller tile"]),
    // Parameters.
    by_macro(
        Rust,
        "y: &mut [f32]",
        "parameter_mutable_slice",
        &["write `mut out: DisjointSlice<f32>`", "`&[Atomic<f32>]`"],
    ),
    by_macro(Rust, "sum: &mut u32", "parameter_mutable_reference", &["`mut out: Disjoint<u32, PerBlock>`"]),
    by_macro(Cuda, "x: *const f32 in a safe function", "parameter_raw_pointer", &["write `unsafe fn`, or take `&["]),
    by_macro(Rust, "factor: &f32", "parameter_reference", &["take `f32` by value"]),
    by_macro(Rust, "x: [f32]", "parameter_unsized_slice", &["write `&[f32]`"]),
    by_macro(Rust, "x: Vec<f32>", "parameter_host_types", &["take `&[f32]` to read or `DisjointSlice<f32>` to write"]),
    by_macro(Rust, "name: String, name: &str", "parameter_host_types", &["pass its bytes, `&[u8]`"]),
    by_macro(Rust, "limit: Option<u32>", "parameter_host_types", &["pass a `u32` and a flag"]),
    by_macro(
        Rust,
        "pair: (f32, f32)",
        "parameter_host_types",
        &["write a structure with `#[repr(C)]`", "or several parameters"],
    ),
    by_macro(Rust, "f: fn(f32) -> f32", "parameter_host_types", &["call the function by name in the kernel"]),
    by_macro(
        Rust,
        "f: impl Fn(f32) -> f32",
        "parameter_host_types",
        &["`#[kernel(T = [f32, f64])] fn name<T: ..>(x: T)`"],
    ),
    by_macro(Rust, "mode: Mode, an enumeration", "parameter_enum", &["`#[derive(Clone, Copy, bytemuck::NoUninit)]`"]),
    by_macro(Rust, "table: HashMap<u32, f32>", "parameter_collection", &["pass its keys and values as slices"]),
    by_macro(Rust, "(a, b): (f32, f32)", "parameter_pattern", &["name it and take it apart in the body"]),
    by_macro(Rust, "mask: &[bool]", "element_bool", &["write `&[u8]`"]),
    by_macro(Rust, "letters: &[char]", "element_bool", &["write `&[u32]`"]),
    by_macro(
        Rust,
        "rows: &[&[f32]], rows: &[Vec<f32>]",
        "element_rows",
        &["pass all rows one behind the other, `&[f32]`"],
    ),
    by_macro(Rust, "pairs: &[(f32, f32)]", "element_rows", &["or a slice for each part"]),
    by_macro(Rust, "counts: &[AtomicU32]", "element_atomic_of_core", &["write `&[Atomic<u32>]`"]),
    by_macro(
        Rust,
        "particles: &[Particle] that is not Pod",
        "element_not_plain_data",
        &["`#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`"],
    ),
    // The function and its attribute.
    by_macro(Rust, "-> f32", "kernel_returns", &["write results to an output such as `mut out: DisjointSlice<f32>`"]),
    by_macro(Rust, "async fn", "kernel_async", &["remove `async`"]),
    by_macro(Cuda, "extern \"C\", #[no_mangle]", "kernel_extern", &["remove `extern`", "remove `#[no_mangle]`"]),
    by_macro(Rust, "&self", "kernel_method", &["write a function outside the `impl`"]),
    by_macro(
        Rust,
        "#[kernel] on a structure",
        "kernel_on_struct",
        &["`#[kernel] fn name(x: &[f32], mut y: DisjointSlice<f32>) { .. }`"],
    ),
    by_macro(Rust, "x: &'static [f32]", "kernel_lifetime", &["leave `'static` out"]),
    by_macro(Cuda, "a template without types", "generic_without_list", &["`#[kernel(T = [..])]`"]),
    by_macro(
        Rust,
        "a type that is not in the list",
        "generic_not_compiled_for",
        &["goes into the list in `#[kernel(T = [..])]`"],
    ),
    by_macro(Cuda, "#[kernel(256)]", "contract_positional", &["`#[kernel(block = 256)]`"]),
    by_macro(Cuda, "#[kernel(grid = 4)]", "contract_grid", &["`module.launch((blocks, threads), ..)`"]),
    by_macro(Cuda, "#[kernel(threads = 256)]", "contract_other_name", &["write `block = 256`"]),
    by_macro(Cuda, "#[kernel(block = 2048)]", "contract_block_too_large", &["write `block = 256`"]),
    by_macro(
        Cuda,
        "grid.sync() of a kernel that is not cooperative",
        "kernel_grid_not_cooperative",
        &["write `#[kernel(cooperative)]`"],
    ),
    by_macro(Python, "@vectorize with arrays", "vectorize_slice", &["`square::over(..)`"]),
    lacking(
        Rust,
        "a generic kernel called without its types",
        Message::Macro("generic_launch_without_types"),
        COMPILER,
    ),
    // Launches.
    by_macro(
        Rust,
        "#[kernel] forgotten",
        "launch_not_a_call",
        &["a function that lacks `#[kernel]` runs on the host", "add the attribute"],
    ),
    by_macro(
        Rust,
        "a closure instead of a kernel",
        "launch_not_a_call",
        &["write a function with `#[kernel]` in the kernel crate"],
    ),
    by_macro(Rust, "&y for an output", "launch_shared_output", &["outputs take `&mut slice`, `&mut vec`"]),
    by_macro(
        Python,
        "an array of f64 for &[f32]",
        "launch_wrong_element",
        &["takes `&slice`, `&vec`", "of that very `T`"],
    ),
    by_macro(Cuda, "an f64 for an f32", "launch_wrong_scalar", &["write `2.0_f32`"]),
    by_macro(Rust, "an argument left out", "launch_too_few_arguments", &["provide the argument"]),
    by_macro(Rust, "a call that is not launched", "launch_unused", &["`module.for_each(n, call)?`"]),
    by_macro(Cuda, "an unsafe kernel without unsafe", "launch_unsafe_kernel", &["requires unsafe block"]),
    by_macro(Cuda, "a matrix without its shape", "launch_matrix_without_shape", &["`(&mut vec, [rows, columns])`"]),
    by_macro(
        Cuda,
        "a host pointer for a device pointer",
        "launch_host_pointer",
        &["raw pointers take a device pointer of the runtime"],
    ),
    lacking(Cuda, "one array as an input and an output", Message::Macro("launch_same_memory_twice"), COMPILER),
    program(Cuda, "(n.div_ceil(256), 256)", "grid_of_usize", &["`(n.div_ceil(256) as u32, 256)`"]),
    program(Cuda, "dimensions of type i32", "grid_signed", &["a number of another type is converted"]),
    program(
        Python,
        "launch(256, ..)",
        "launch_of_one_number",
        &["write `(blocks, threads)`", "`module.for_each(n, ..)`"],
    ),
    program(Python, "launch((256, 1, 1), ..)", "launch_of_three_numbers", &["`((8, 8), (16, 16))`"]),
    program(Python, "launch(.., \"scale\")", "launch_by_name", &["`module.for_each(n, scale(2.0, &mut y))`"]),
    program(Python, "for_each without the number of elements", "for_each_without_length", &["provide the argument"]),
    program(Cuda, "for_each(n, ..) with a u32", "for_each_of_u32", &["convert a `u32` to a `usize`"]),
    program(Rust, "a vector by value", "vector_by_value", &["consider mutably borrowing here"]),
    program(Cuda, "the length as an argument of each array", "too_many_arguments", &["remove the extra argument"]),
    program(Rust, "arguments in another order", "arguments_swapped", &["outputs take `&mut slice`, `&mut vec`"]),
    program(Cuda, "bytes for SharedSlice<f32>", "dynamic_shared_memory", &["`SharedSlice<T>` takes `Elements(n)`"]),
    program(Cuda, "an argument for Shared<..>", "shared_memory_passed", &["remove the extra argument"]),
    program(
        Cuda,
        "the result of a launch is dropped",
        "result_of_launch_unused",
        &["may be an `Err` variant, which should be handled"],
    ),
    program(Python, "buffer[0]", "buffer_indexed", &["`let y = buffer.to_vec()?;`"]),
    program(Python, "buffer.copy_to_host()", "copy_to_host", &["there is a method `copy_to` with a similar name"]),
    program(Rust, "Device::new() without ?", "device_without_question_mark", &["consider using `Result::expect`"]),
    program(Rust, "? in fn main()", "main_without_result", &["consider adding return type"]),
    lacking(Python, "module.get_function(\"scale\")", Message::Program("get_function"), COMPILER),
    lacking(Cuda, "scale<<<4, 256>>>(2.0, y)", Message::Program("triple_brackets"), COMPILER),
    lacking(Rust, "results read before the launch", Message::Program("read_before_launch"), COMPILER),
    lacking(Rust, "a structure that is not Pod in a buffer", Message::Program("element_not_pod"), COMPILER),
    error(
        Cuda,
        "blocks of 2048 threads",
        "LaunchError::BlockTooLarge",
        &["a grid of 200 blocks of 32 × 32 threads would fit"],
    ),
    error(Cuda, "a grid of no blocks", "LaunchError::EmptyGrid", &["use `for_each`, which does"]),
    error(Cuda, "a grid of 100000 blocks along y", "LaunchError::GridDimension", &["put the largest dimension there"]),
    error(Python, "no block size", "LaunchError::NoBlock", &["write `#[kernel(block = 256)]`"]),
    error(
        Cuda,
        "too few threads for an output",
        "LaunchError::Unreached",
        &["launch more, or with `for_each(1000, ..)`"],
    ),
    error(
        Cuda,
        "too much shared memory",
        "LaunchError::SharedMemory",
        &["at most 228352 bytes of dynamic shared memory would fit"],
    ),
    error(
        Cuda,
        "another block than the kernel states",
        "ContractError::BlockShape",
        &["launch blocks of exactly [256, 1, 1] threads"],
    ),
    error(
        Cuda,
        "a 2-D launch of a 1-D kernel",
        "ContractError::Rank",
        &["launch it in 1-D, or make `y` a `Disjoint<T, PerThread<2>>`"],
    ),
    lacking(
        Python,
        "copies between different lengths",
        Message::Error("Error::LengthMismatch"),
        "the message names both lengths, and cannot know which one is meant",
    ),
    // Builds and modules.
    program(
        Rust,
        "#[rumba::kernels] without a build script",
        "kernels_without_build_script",
        &["write build.rs with `fn main() { cuda_builder::build_kernels(\"src/main.rs\") }`"],
    ),
    program(Rust, "#[rumba::kernels] mod kernels;", "kernels_in_another_file", &["`mod kernels { .. }`"]),
    program(
        Rust,
        "#[rumba::kernels] on a function",
        "kernels_on_function",
        &["in which `#[kernel]` marks each kernel"],
    ),
    lacking(Rust, "a kernel without pub", Message::Program("kernel_private"), COMPILER),
    lacking(Rust, "env!(\"KERNEL_PTX\")", Message::Program("ptx_variable_misspelled"), COMPILER),
    lacking(Rust, "the kernel crate is no dependency", Message::Program("kernels_not_a_dependency"), COMPILER),
    error(
        Rust,
        "CudaBuilder::new of another folder",
        "BuildError::NoCrate",
        &["give build_kernels or CudaBuilder::new the directory of the kernel crate"],
    ),
    error(
        Rust,
        "build_kernels without #[rumba::kernels]",
        "BuildError::OneFile",
        &["`#[rumba::kernels] mod NAME { .. }`"],
    ),
    error(Rust, "kernels in src/main.rs", "BuildError::NoLibrary", &["kernels belong in src/lib.rs"]),
    error(Python, "a misspelled kernel", "ModuleError::MissingKernel", &["did you mean `saxpy`?"]),
    error(Cuda, "PTX of nvcc", "ModuleError::ForeignPtx", &["`Device::load_unchecked`"]),
    // Kernels that compile: the checks of the software device report these.
    finding(
        Cuda,
        "a forgotten barrier",
        "reverse_without_barrier",
        &["let the threads meet at a barrier between the accesses"],
    ),
    finding(
        Cuda,
        "a load and a store instead of an atomic addition",
        "places_by_load_and_store",
        &["use one atomic operation (`fetch_add`, `fetch_max`, ...)"],
    ),
    finding(Cuda, "a guard that is off by one", "guard_off_by_one", &["compare the index with the length"]),
    finding(
        Cuda,
        "__syncthreads() in a branch",
        "barrier_in_both_branches",
        &["move the barrier out of the branch or loop"],
    ),
];
