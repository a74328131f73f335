//! The host side of a kernel: a call with its arguments, ready for a runtime to launch.
//!
//! `#[kernel] pub fn saxpy(a: f32, x: &[f32], y: DisjointSlice<f32>)` becomes, on the host, a
//! function that takes three arguments and returns a [`Call`]. The call borrows what it was given
//! and knows which host memory must be copied to the device and back. This module neither
//! allocates device memory nor launches anything: a runtime does, in these steps.
//!
//! 1. [`Call::check`] with the shape of the launch. A cooperative [`Contract`] needs a cooperative launch.
//! 2. For each of [`Arguments::transfers`]: allocate [`HostMemory::bytes`] on the device, copy in
//!    if [`HostMemory::source`] has something, and tell the address by [`Arguments::set_address`].
//! 3. Launch [`Kernel::name`] with [`Arguments::parameters`].
//! 4. For each transfer copy out if [`HostMemory::destination`] has something, and free.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! #[kernel(max_threads = 256)]
//! pub fn add_scaled(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
//!     let i = grid::<1>();
//!     if let Some(y) = y.get_mut(i) {
//!         *y += a * x[i];
//!     }
//! }
//!
//! # fn main() {
//! use cuda_std::launch::{ContractError, In};
//!
//! let (x, mut y) = ([1.0; 1000], vec![0.0; 1000]);
//! let call = add_scaled(2.0, In(&x), &mut y);
//! assert_eq!(call.kernel().parameters[1].ty, "&[f32]");
//! // Five PTX parameters: a number, and twice a pointer and a length.
//! assert_eq!(call.arguments().parameters().len(), 5);
//! assert_eq!(call.arguments().transfers().len(), 2);
//! assert_eq!(call.check([4, 1, 1], [256, 1, 1], 0), Ok(()));
//! assert!(matches!(call.check([1, 1, 1], [1000, 1, 1], 0), Err(ContractError::MaxThreads { .. })));
//! # examples::launch((4, 256), call);
//! # assert_eq!(y, [2.0; 1000]);
//! # }
//! ```

mod argument;
mod arguments;
mod contract;
mod debug;
mod disagreement;
mod elementwise;
mod im2col;
mod looped;
mod map;
mod operand;
mod reach;
mod stack;
mod tensor;

#[doc(hidden)]
pub use argument::Written;
pub use argument::{Argument, Elements, In, InOut, Memory, MemoryMut, Out, OutputArgument, Workspace};
pub use arguments::{Arguments, Borrowed, Extent, HostMemory, ParameterBytes, Settling, Transfer};
pub use contract::{ContractError, ViewError};
#[doc(hidden)]
pub use debug::tell;
pub use disagreement::{Disagreement, is_cooperative};
pub use im2col::ImageMemory;
#[doc(hidden)]
pub use looped::{Length, Signature};
#[doc(hidden)]
pub use map::Kernels;
pub use map::{Map, PlannedCall, ShapeError};
pub use operand::{Broadcast, Constant, Dim, Join, Operand, OperandMut, Region, Split};
pub use reach::{Reach, Unreached};
pub use stack::{Strided, TensorArray, TensorArrayMut};
pub use tensor::{TensorMemory, TensorMemoryMut, TensorShape};

pub use crate::abi::contract::Contract;
pub use crate::abi::parameter::{Layout, Parameter, Role};

/// A kernel as the macro `#[kernel]` describes it: one constant for each kernel.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernel {
    /// The name of the PTX entry: the function's, and of a generic kernel its types behind it.
    pub name: &'static str,
    /// The module of the function, from `module_path!()`.
    pub module_path: &'static str,
    /// The version of its package, if cargo compiles it.
    pub version: Option<&'static str>,
    /// The source file, as the compiler was given it.
    pub file: &'static str,
    /// The line of the function in `file`, from 1.
    pub line: u32,
    /// The parameters that a call binds, in order.
    pub parameters: &'static [Parameter],
    /// Its shared memory, in order.
    pub tiles: &'static [Parameter],
    /// The highest number of dimensions that a launch may have, or `None` where any will do. With
    /// an output of one element per thread it is that output's: a second dimension of threads
    /// would share the elements of the first.
    pub rank: Option<u8>,
    /// Elements that a thread has of its outputs, the least of all of them: 1 without such outputs.
    pub elements: u32,
    /// The largest block that its shared memory has room for: threads along x, y and z. `None` for
    /// a kernel without `Shared` parameters.
    pub max_block: Option<[u32; 3]>,
    /// The kernel's contract: `#[kernel(block = 256)]`.
    pub contract: Contract,
    /// Whether it is an `unsafe fn`, and so may access more than what its arguments borrow.
    pub is_unsafe: bool,
}

impl Kernel {
    /// Describes a kernel without shared memory; `rank` follows from the parameters. For the macro.
    #[must_use]
    pub const fn new(
        name: &'static str,
        module_path: &'static str,
        file: &'static str,
        line: u32,
        parameters: &'static [Parameter],
    ) -> Self {
        let (mut rank, mut elements) = (None, 1);
        let mut index = 0;
        while index < parameters.len() {
            if let Role::PerThread { rank: own, elements: many } = parameters[index].role {
                (rank, elements) = match rank {
                    Some(least) => {
                        (Some(if least < own { least } else { own }), if elements < many { elements } else { many })
                    }
                    None => (Some(own), many),
                };
            }
            index += 1;
        }
        Self {
            name,
            module_path,
            version: None,
            file,
            line,
            parameters,
            tiles: &[],
            rank,
            elements,
            max_block: None,
            contract: Contract::ANY,
            is_unsafe: false,
        }
    }

    /// States that the function is unsafe. For the macro.
    #[must_use]
    pub const fn of_unsafe_fn(mut self) -> Self {
        self.is_unsafe = true;
        self
    }

    /// Adds the version of the package. For the macro.
    #[must_use]
    pub const fn of_version(mut self, version: Option<&'static str>) -> Self {
        self.version = version;
        self
    }

    /// Adds shared memory, and with it the largest block. For the macro.
    #[must_use]
    pub const fn with_tiles(mut self, tiles: &'static [Parameter]) -> Self {
        let mut index = 0;
        while index < tiles.len() {
            if let Role::Tile { block } = tiles[index].role {
                self.max_block = Some(match self.max_block {
                    Some(least) => crate::mem::shared::smaller(least, block),
                    None => block,
                });
            }
            index += 1;
        }
        self.tiles = tiles;
        self
    }

    /// Adds what the kernel states about its launches, after its tiles. For the macro.
    ///
    /// # Panics
    ///
    /// If no launch could keep to it: a block that its shared memory has no room for, or that has more
    /// dimensions than an output.
    #[must_use]
    #[track_caller]
    pub const fn with_contract(mut self, contract: Contract) -> Self {
        if let Some([x, y, z]) = contract.block {
            if let Some(room) = self.max_block {
                assert!(
                    x <= room[0] && y <= room[1] && z <= room[2],
                    "`block`: each thread has an element of each tile in shared memory, and a tile is smaller than \
                     the block; make the tile larger or the block smaller"
                );
            }
            if let Some(rank) = self.rank {
                assert!(
                    (rank >= 2 || y == 1) && (rank >= 3 || z == 1),
                    "`block`: it has more dimensions than an output has, and threads would share elements; make the \
                     output a `Disjoint<T, PerThread<2>>` or `<3>`, or the block 1-D"
                );
            }
        }
        self.contract = contract;
        self
    }
}

/// A kernel with its arguments: what a launcher returns and a runtime launches.
///
/// It borrows its arguments for as long as it lives, so nothing that the kernel will read or write
/// can be freed or changed meanwhile.
#[derive(Debug)]
#[must_use = "a call does nothing until it is launched: `module.for_each(n, call)?`"]
pub struct Call<'a> {
    kernel: &'static Kernel,
    arguments: Arguments<'a>,
}

/// The argument of a launch: a [`Call`], and nothing else. A trait, for a better compiler message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a call of a kernel",
    label = "not what a function with `#[kernel]` returns",
    note = "a launch takes the call of a kernel with its arguments: `module.for_each(n, scale(2.0, &mut y))`, where `scale` is a function \
            with `#[kernel]`",
    note = "a function that lacks `#[kernel]` runs on the host, at once, and returns `()`: add the attribute",
    note = "a closure is compiled for the host only: write a function with `#[kernel]` in the kernel crate, and pass it what the closure \
            captures"
)]
pub trait IntoCall<'a>: sealed::IntoCall {
    /// The call.
    fn into_call(self) -> Call<'a>;
}

mod sealed {
    pub trait IntoCall {}
}

impl sealed::IntoCall for Call<'_> {}

impl<'a> IntoCall<'a> for Call<'a> {
    #[inline]
    fn into_call(self) -> Self {
        self
    }
}

impl<'a> Call<'a> {
    /// A call whose arguments are bound next, in place: [`Argument::bind`] with
    /// [`arguments_mut`](Self::arguments_mut). For the macro.
    ///
    /// # Safety
    ///
    /// Before anything else is done with it, one argument is bound for each parameter of `kernel`, in order and of that
    /// parameter's type.
    #[inline]
    pub unsafe fn new(kernel: &'static Kernel) -> Self {
        Self { kernel, arguments: Arguments::new() }
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// The arguments.
    #[must_use]
    pub fn arguments(&self) -> &Arguments<'a> {
        &self.arguments
    }

    /// The arguments: for the macro to bind them, and for the runtime to fill in device addresses.
    ///
    /// # Safety
    ///
    /// They stay those of the kernel's parameters, in order: nothing is bound but by an [`Argument`] of the next parameter's
    /// type, and a [`Transfer`]'s address is that of device memory that is as large as the host's, aligned as it says, and
    /// this call's alone.
    #[must_use]
    #[inline]
    pub unsafe fn arguments_mut(&mut self) -> &mut Arguments<'a> {
        &mut self.arguments
    }

    /// Checks the call against a launch of `grid` blocks of `block` threads, each with `dynamic_shared` bytes
    /// of dynamic shared memory.
    ///
    /// It checks what soundness of the kernel rests on and what the kernel states, not what the device
    /// is capable of.
    ///
    /// # Errors
    ///
    /// * [`ContractError::BlockShape`], [`ContractError::MaxThreads`], [`ContractError::Cluster`],
    ///   [`ContractError::DynamicShared`]: the kernel states something else.
    /// * [`ContractError::Rank`]: the launch has more dimensions than an output.
    /// * [`ContractError::Block`]: a block with more threads than the shared memory has elements.
    /// * [`ContractError::Extent`]: 2³¹ threads or more along one dimension.
    /// * [`ContractError::TooFewForBlocks`]: an output of one element per block is too short.
    /// * [`ContractError::Shape`]: a matrix argument whose shape is not its number of elements.
    /// * [`ContractError::View`]: an array that no view can be made of.
    pub fn check(&self, grid: [u32; 3], block: [u32; 3], dynamic_shared: u32) -> Result<(), ContractError> {
        debug_assert_eq!(self.kernel.parameters.len(), self.arguments.extents().len());
        if let Some((argument, error)) = self.arguments.problem() {
            return Err(ContractError::View {
                kernel: self.kernel.name,
                parameter: self.kernel.parameters[*argument].name,
                error: error.clone(),
            });
        }
        contract::check_stated(self.kernel, grid, block, dynamic_shared)?;
        contract::check(self.kernel, self.arguments.extents(), grid, block)
    }

    /// The outputs of which a launch of `grid` blocks of `block` threads leaves elements untouched, for want of threads or of
    /// blocks. Whether one that may stride does is for the caller to find out.
    pub fn unreached(&self, grid: [u32; 3], block: [u32; 3]) -> impl Iterator<Item = Unreached> {
        reach::unreached(self.kernel, &self.arguments, grid, block)
    }

    /// Checks, for a launch of one thread for each of `n` elements, that every output of one
    /// element per thread has that many.
    ///
    /// # Errors
    ///
    /// [`ContractError::TooFewForThreads`] for the first output that has fewer.
    pub fn check_for_each(&self, n: usize) -> Result<(), ContractError> {
        contract::check_for_each(self.kernel, self.arguments.extents(), n)
    }
}
