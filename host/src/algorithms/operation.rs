//! How elements are combined: the library's operators with their kernels, and those of one's own.

use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::modules::module::Module;
use bytemuck::Pod;
use cuda_std::algorithms::{And, Compiled, Identity, Max, Min, Or, Product, Sum, Xor};
use cuda_std::launch::Call;
use rumba_algorithms as kernels;
use std::marker::PhantomData;

/// The operator that combines elements of type `T` in [`reduce`](super::Algorithms::reduce) and the scans: [`Sum`],
/// [`Product`], [`Min`], [`Max`], [`And`], [`Or`], [`Xor`], or a user's operator in [`Own`].
#[diagnostic::on_unimplemented(
    message = "elements of type `{T}` cannot be combined with `{Self}`",
    note = "`Sum`, `Product`, `Min` and `Max` combine `u32`, `i32`, `u64`, `i64`, `f32` and `f64`; `And`, `Or` and `Xor` the \
            integers among them",
    note = "for others write a function with `#[reduction]` in a kernel crate, and pass `Own::new(&module, kernels::name, first)`"
)]
pub trait Operation<T: Pod> {
    /// The combination of no elements.
    fn of_nothing(&self) -> T;

    /// The module with the kernels; None for the library's own module.
    #[doc(hidden)]
    fn module(&self) -> Option<&Module> {
        None
    }

    /// The launch of [`cuda_std::algorithms::reduce`].
    #[doc(hidden)]
    fn reduce<'c>(
        &self,
        x: DeviceSlice<'c, T>,
        work: DeviceSliceMut<'c, u32>,
        result: DeviceSliceMut<'c, u32>,
    ) -> Call<'c>;

    /// The launch of [`cuda_std::algorithms::scan`].
    #[doc(hidden)]
    fn scan<'c>(
        &self,
        x: DeviceSlice<'c, T>,
        initial: T,
        is_exclusive: bool,
        y: DeviceSliceMut<'c, T>,
        published: DeviceSliceMut<'c, u64>,
    ) -> Call<'c>;
}

/// The library's operators: of which elements, by the kernels for which elements, and how many of them are 16 bytes. Bits
/// are the same whatever they mean, so signed integers share kernels with unsigned ones where signs make no difference.
macro_rules! operations {
    ($($ty:ident by $kernel:ident, $vector:literal: $($operator:ident)*;)*) => {$($(
        impl Operation<$ty> for $operator {
            fn of_nothing(&self) -> $ty {
                <$operator as Identity<$ty>>::IDENTITY
            }

            fn reduce<'c>(
                &self,
                x: DeviceSlice<'c, $ty>,
                work: DeviceSliceMut<'c, u32>,
                result: DeviceSliceMut<'c, u32>,
            ) -> Call<'c> {
                kernels::reduce::reduce::<$kernel, $operator, $vector>(x.cast::<$kernel>(), work, result)
            }

            fn scan<'c>(
                &self,
                x: DeviceSlice<'c, $ty>,
                initial: $ty,
                is_exclusive: bool,
                y: DeviceSliceMut<'c, $ty>,
                published: DeviceSliceMut<'c, u64>,
            ) -> Call<'c> {
                let (x, y, initial) = (x.cast::<$kernel>(), y.cast::<$kernel>(), bytemuck::cast::<$ty, $kernel>(initial));
                kernels::scan::scan::<$kernel, $operator, $vector>(x, initial, u32::from(is_exclusive), y, published)
            }
        }
    )*)*};
}

operations! {
    u32 by u32, 4: Sum Product Min Max And Or Xor;
    i32 by u32, 4: Sum Product And Or Xor;
    i32 by i32, 4: Min Max;
    f32 by f32, 4: Sum Product Min Max;
    u64 by u64, 2: Sum Product Min Max And Or Xor;
    i64 by u64, 2: Sum Product And Or Xor;
    i64 by i64, 2: Min Max;
    f64 by f64, 2: Sum Product Min Max;
}

/// An operator of one's own: what `#[reduction]` makes of a function in a kernel crate, with the module that has its
/// kernels.
///
/// ```ignore
/// // In the kernel crate:
/// /// Of two numbers the one that is further from zero.
/// #[reduction]
/// pub fn further(a: f32, b: f32) -> f32 {
///     if a.abs() >= b.abs() { a } else { b }
/// }
///
/// // In the program:
/// let furthest = algorithms.reduce(&x, Own::new(&module, kernels::further, 0.0))?;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Own<'m, O, T> {
    module: &'m Module,
    of_nothing: T,
    operator: PhantomData<O>,
}

impl<'m, O: Compiled<T>, T: Pod> Own<'m, O, T> {
    /// An operator of a module, and the result for no elements. This result is never combined with elements.
    pub fn new(module: &'m Module, _: O, of_nothing: T) -> Self {
        Own { module, of_nothing, operator: PhantomData }
    }
}

impl<O: Compiled<T>, T: Pod> Operation<T> for Own<'_, O, T> {
    fn of_nothing(&self) -> T {
        self.of_nothing
    }

    fn module(&self) -> Option<&Module> {
        Some(self.module)
    }

    fn reduce<'c>(
        &self,
        x: DeviceSlice<'c, T>,
        work: DeviceSliceMut<'c, u32>,
        result: DeviceSliceMut<'c, u32>,
    ) -> Call<'c> {
        O::reduce(x, work, result)
    }

    fn scan<'c>(
        &self,
        x: DeviceSlice<'c, T>,
        initial: T,
        is_exclusive: bool,
        y: DeviceSliceMut<'c, T>,
        published: DeviceSliceMut<'c, u64>,
    ) -> Call<'c> {
        O::scan(x, initial, is_exclusive, y, published)
    }
}
