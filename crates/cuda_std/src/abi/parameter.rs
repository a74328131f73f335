//! The types of kernel parameters: one trait that both compilations of a kernel rely on.
//!
//! The macro `#[kernel]` names a parameter by a *parameter type*: the type as written, less the
//! reference of a slice, so `a: f32` is `f32` and `x: &[f32]` is `[f32]`. Raw pointers are not
//! here: the macro passes them on as they are.

use bytemuck::{NoUninit, Pod};

/// The role of a parameter in its kernel, for the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// A number or a structure, passed by value.
    Value,
    /// A slice that every thread may read and none may write.
    Input,
    /// A slice of atomic cells that every thread may read and change.
    Atomic,
    /// An output in which each thread reaches its own elements only. The launch may have at most
    /// `rank` dimensions: with more, two threads would have the same element.
    PerThread {
        /// 1, 2 or 3.
        rank: u8,
        /// Elements of a thread.
        elements: u32,
    },
    /// An output with one element for each block of the launch.
    PerBlock,
    /// A slice of dynamic shared memory, whose length the host passes.
    Shared,
    /// Shared memory that the entry declares: the host passes nothing, and keeps to the largest block.
    Tile {
        /// Threads along x, y and z.
        block: [u32; 3],
    },
    /// A raw pointer: the launcher is an `unsafe fn`, whose caller answers for it.
    Pointer,
    /// A tensor map, which is passed by value and stays where the launch put it, CUDA's `__grid_constant__`: the kernel has its
    /// address.
    TensorMap {
        /// Rows and columns of the tiles that are copied.
        tile: [u32; 2],
        /// Whether the kernel writes to the matrix.
        writes: bool,
    },
}

/// A parameter of a kernel. The compilations for the device and for the host each make one, and a runtime compares what
/// they must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name in the Rust source.
    pub name: &'static str,
    /// Its type as written in the Rust source, for messages.
    pub ty: &'static str,
    /// The role of the parameter.
    pub role: Role,
    /// How it lies in memory.
    pub layout: Layout,
}

/// A parameter in memory: its elements, and its PTX parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// Bytes of an element; of a value, the value's.
    pub size: usize,
    /// The alignment of an element.
    pub align: usize,
    /// Bytes of each PTX parameter; 0 for those that it does not have.
    pub words: [usize; 4],
}

impl Layout {
    pub(crate) const fn of<T>(words: [usize; 4]) -> Self {
        Self { size: size_of::<T>(), align: align_of::<T>(), words }
    }
}

impl Parameter {
    /// A parameter that is bound as its type says.
    #[must_use]
    pub const fn bound<P: KernelParameter + ?Sized>(name: &'static str, ty: &'static str) -> Self {
        P::PARAMETER.named(name, ty)
    }

    /// The parameter by this name and this text of its type. For the macro.
    #[doc(hidden)]
    #[must_use]
    pub const fn named(self, name: &'static str, ty: &'static str) -> Self {
        Self { name, ty, ..self }
    }

    /// A parameter that is bound as its type says, without its name.
    const fn of<P: KernelParameter + ?Sized>() -> Self {
        let mut words = [size_of::<P::A>(), size_of::<P::B>(), size_of::<P::C>(), size_of::<P::D>()];
        if matches!(P::ROLE, Role::TensorMap { .. }) {
            words[0] = size_of::<P::Element>();
        }
        Self { name: "", ty: "", role: P::ROLE, layout: Layout::of::<P::Element>(words) }
    }

    /// A value of any type, of an unsafe kernel.
    #[must_use]
    pub const fn copied<T>(name: &'static str, ty: &'static str) -> Self {
        Self { name, ty, role: Role::Value, layout: Layout::of::<T>([size_of::<T>(), 0, 0, 0]) }
    }

    /// A raw pointer or a reference, of an unsafe kernel.
    #[must_use]
    pub const fn pointer<T>(name: &'static str, ty: &'static str) -> Self {
        Self { name, ty, role: Role::Pointer, layout: Layout::of::<T>([size_of::<*const T>(), 0, 0, 0]) }
    }
}

/// The parameters with [`Role::TensorMap`], for the builder: for each its number among the PTX parameters, its size and
/// its alignment. For the macro, which asks for the `LENGTH` first.
#[doc(hidden)]
#[must_use]
pub const fn grid_constants<const LENGTH: usize>(parameters: &[Parameter]) -> ([u32; LENGTH], usize) {
    let (mut words, mut length) = ([0; LENGTH], 0);
    let (mut index, mut number) = (0, 0);
    while index < parameters.len() {
        let Parameter { role, layout, .. } = parameters[index];
        if matches!(role, Role::TensorMap { .. }) {
            if length < LENGTH {
                words[length] = number;
                words[length + 1] = layout.size as u32;
                words[length + 2] = layout.align as u32;
            }
            length += 3;
        }
        let mut word = 0;
        while word < layout.words.len() {
            number += (layout.words[word] > 0) as u32;
            word += 1;
        }
        index += 1;
    }
    (words, length)
}

/// A type that may be the element of a slice that host and device share.
///
/// Every [`Pod`] type is one: numbers, arrays of numbers, and structures that are `#[repr(C)]` and
/// derive [`Pod`]. So is [`Atomic`](crate::atomic::Atomic) of a number.
///
/// # Safety
///
/// * The type has the same layout on host and device, without padding, and is valid for any bits.
/// * `ROLE` is [`Role::Atomic`] if the type has interior mutability, and [`Role::Input`] if not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the element of a slice that host and device share",
    label = "not plain data",
    note = "elements are numbers, arrays of numbers, `Atomic<..>` of a number, or structures of your own with \
            `#[repr(C)]` and `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`"
)]
pub unsafe trait Element: 'static {
    /// The accesses that a kernel may make to a shared slice of this type.
    const ROLE: Role = Role::Input;
}

// SAFETY: `Pod` demands the first; a `Pod` type has no interior mutability.
#[diagnostic::do_not_recommend]
unsafe impl<T: Pod> Element for T {
    const ROLE: Role = {
        demand(
            align_of::<T>() <= 256,
            "device memory is aligned to 256 bytes: an element cannot ask for more by `repr(align(..))`",
        );
        Role::Input
    };
}

/// A condition on a kernel's constants; the error is at the kernel that requires it.
#[track_caller]
pub(crate) const fn demand(holds: bool, message: &'static str) {
    assert!(holds, "{}", message);
}

/// The address of an output's elements, which is the first of its PTX parameters.
#[inline(always)]
pub(crate) fn start_of<T: Element>(first: &'static mut [T; 0]) -> *mut T {
    // Whether memory is aligned for the element.
    let _ = T::ROLE;
    first.as_mut_ptr()
}

/// The type of a parameter of a `#[kernel]`, and its PTX parameters.
///
/// # Safety
///
/// * `A` to `D` (less those that are `()`) become PTX parameters in that order, and an
///   [`Argument`](crate::launch::Argument) for this type binds exactly those. Where `ROLE` is [`Role::TensorMap`], `A` is a
///   pointer to an `Element`, which is bound by value.
/// * `assemble` gives a value that is sound to hand to every thread of a launch that keeps to
///   `ROLE`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel parameter",
    label = "not something the host can pass to a kernel",
    note = "inputs are written `&[T]`, or `View<T, N>` for arrays with strides; outputs `DisjointSlice<T>`, or `Disjoint<T, Layout>` with \
            a layout of `cuda_std::output`: `Disjoint<T, PerBlock>`, `Disjoint<T, PerThread<2>>`",
    note = "values and elements are numbers, or structures with `#[repr(C)]` and `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`; \
            values are also enumerations with `#[repr(u32)]` and `#[derive(Clone, Copy, bytemuck::NoUninit)]`",
    note = "shared memory is `Shared<..>`, `Alternating<..>`, `Pipeline<..>` or `BlockScratch<..>` by that very name: the host passes nothing for it, so \
            `#[kernel]` has to know it when it sees it, and an alias hides it"
)]
pub unsafe trait KernelParameter {
    /// The role of the parameter.
    const ROLE: Role;
    /// The type of elements behind the parameter, which host and device must lay out alike; of a value, its type.
    type Element;
    /// The first PTX parameter.
    type A;
    /// The second PTX parameter, or `()`.
    type B;
    /// The third PTX parameter, or `()`.
    type C;
    /// The fourth PTX parameter, or `()`.
    type D;
    /// The type that the body of the kernel sees, in a launch that lasts for `'l`. The body is generic over `'l`, so no
    /// argument outlives the launch.
    type Value<'l>;

    /// How many of the block's barriers are its own: one, or none.
    const BARRIERS: u32 = 0;
    /// How often it divides the block into roles. A kernel can do so once: threads in one role do not meet those in another.
    const ROLES: usize = 0;
    /// Whether all blocks of a launch have to run at the same time: `#[kernel(cooperative)]`.
    const COOPERATIVE: bool = false;
    /// The parameter, without its name. For the macro.
    #[doc(hidden)]
    const PARAMETER: Parameter = Parameter::of::<Self>();

    /// Makes the kernel's value from its PTX parameters.
    ///
    /// # Safety
    ///
    /// The parameters are those that the launch of this very kernel was given, the memory they
    /// refer to stays valid while the kernel runs, and each thread calls this once.
    unsafe fn assemble(a: Self::A, b: Self::B, c: Self::C, d: Self::D) -> Self::Value<'static>;

    /// Gives the value its barrier, if it has one.
    ///
    /// # Safety
    ///
    /// Nothing else uses the barrier; it has the same number in every thread.
    #[must_use]
    #[inline(always)]
    unsafe fn with_barrier<const BARRIER: u32>(value: Self::Value<'static>) -> Self::Value<'static> {
        value
    }

    /// Tells the value how many registers each thread begins with ([`Contract::registers`](crate::Contract::registers)).
    ///
    /// # Safety
    ///
    /// The kernel states so.
    #[must_use]
    #[inline(always)]
    unsafe fn with_registers<const REGISTERS: u32>(value: Self::Value<'static>) -> Self::Value<'static> {
        value
    }

    /// Where its memory is, for [`leave`](Self::leave); 0 where that does nothing.
    #[must_use]
    #[inline(always)]
    fn place(_value: &Self::Value<'static>) -> u32 {
        0
    }

    /// The end of a thread that returns from the kernel.
    ///
    /// # Safety
    ///
    /// Each thread that returns calls this once, with the place of the kernel's value, and does nothing afterwards.
    #[inline(always)]
    unsafe fn leave(_place: u32) {}
}

/// A type whose values are passed to a kernel as they are: `NoUninit`, with the compiler's messages about what is not.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel by value",
    label = "not plain data",
    note = "values are numbers, arrays of numbers, and structures of these with `#[repr(C)]` and \
            `#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]`, or enumerations with `#[repr(u32)]` and \
            `#[derive(Clone, Copy, bytemuck::NoUninit)]`"
)]
pub trait ByValue: NoUninit {}

#[diagnostic::do_not_recommend]
impl<T: NoUninit> ByValue for T {}

// SAFETY: one PTX parameter, by value; `NoUninit` types have no padding that could be missing.
unsafe impl<T: ByValue> KernelParameter for T {
    const ROLE: Role = Role::Value;
    type Element = T;
    type A = T;
    type B = ();
    type C = ();
    type D = ();
    type Value<'l> = T;

    #[inline(always)]
    unsafe fn assemble(value: T, (): (), (): (), (): ()) -> T {
        value
    }
}

// SAFETY: pointer and length, which every thread may read; `Element` tells what else it may do.
unsafe impl<T: Element> KernelParameter for [T] {
    const ROLE: Role = T::ROLE;
    type Element = T;
    // A reference rather than a pointer: it makes the parameter `noalias readonly`, and the loads
    // `ld.global.nc`, unless the element has interior mutability.
    type A = &'static [T; 0];
    type B = usize;
    type C = ();
    type D = ();
    type Value<'l> = &'l [T];

    #[inline(always)]
    unsafe fn assemble(start: Self::A, length: usize, (): (), (): ()) -> &'static [T] {
        // SAFETY: the caller passes what the launch was given, which is `length` elements at
        // `start` that outlive the kernel.
        unsafe { core::slice::from_raw_parts(start.as_ptr(), length) }
    }
}
