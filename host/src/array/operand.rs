//! Arrays, views and buffers as kernel parameters that are views, and as operands of vectorized functions.

use crate::array::{Array, ArrayView, ArrayViewMut};
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::unified::UnifiedBuffer;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use bytemuck::Pod;
use cuda_std::launch::{Dim, Operand, OperandMut, Region};

/// The region of a view; `writes`: it was a mutable one.
fn view<'a, T: Pod, const N: usize>(view: &ArrayView<'a, T, N>, writes: bool) -> Region<'a> {
    let (memory, address) = view.place();
    // SAFETY: the elements of a view, which is borrowed for `'a`, mutably where they are written.
    unsafe { Region::device::<T>(address, memory, writes, &view.layout().shape, &view.layout().strides) }
}

fn slice<'a, T: Pod>(slice: &DeviceSlice<'a, T>, writes: bool) -> Region<'a> {
    // SAFETY: as above.
    unsafe { Region::device::<T>(slice.address(), slice.memory(), writes, &[slice.len()], &[1]) }
}

/// Operands that lend elements for reading, and for writing.
macro_rules! operands {
    ($([$($generic:tt)*] $rank:expr, $shared:ty, $mutable:ty, $region:ident: |$own:ident| $read:expr, $write:expr;)*) => {$(
        // SAFETY: the elements of a view are borrowed for `'a`.
        unsafe impl<'a, T: Pod, $($generic)*> Operand<'a, T> for $shared {
            type Rank = Dim<{ $rank }>;

            fn region(self) -> Region<'a> {
                let $own = self;
                $region(&$read, false)
            }
        }

        // SAFETY: they are borrowed mutably for `'a`, and a mutable view has each once.
        unsafe impl<'a, T: Pod, $($generic)*> OperandMut<'a, T> for $mutable {
            type Rank = Dim<{ $rank }>;

            fn region_mut(self, _: bool) -> Region<'a> {
                let $own = self;
                $region(&$write, true)
            }
        }
    )*};
}

operands! {
    [const N: usize] N, &'a Array<T, N>, &'a mut Array<T, N>, view: |own| own.view(), own.view_mut().into_view();
    [const N: usize] N, ArrayView<'a, T, N>, ArrayViewMut<'a, T, N>, view: |own| own, own.into_view();
    [] 1, &'a DeviceBuffer<T>, &'a mut DeviceBuffer<T>, slice: |own| own.as_slice(), own.as_slice_mut().into_view();
    [] 1, &'a UnifiedBuffer<T>, &'a mut UnifiedBuffer<T>, slice: |own| own.as_slice(), own.as_slice_mut().into_view();
    [] 1, DeviceSlice<'a, T>, DeviceSliceMut<'a, T>, slice: |own| own, own.into_view();
}
