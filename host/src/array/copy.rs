//! Copies and fills of views on the device. Elements of any type are copied as words of 1 to 16 bytes.

use crate::array::layout::Layout;
use crate::array::view::ArrayView;
use crate::base::error::Result;
use crate::base::ptx::Pieces;
use crate::buffers::buffer::DeviceBuffer;
use crate::context::same_context;
use crate::launch::builtin;
use array_kernels::{Quad, copy};
use bytemuck::Pod;
use cuda_std::launch::{Constant, Dim, Map, Operand, OperandMut, Region};
use std::sync::LazyLock;

static KERNELS: LazyLock<Pieces> = LazyLock::new(|| Pieces::new(array_kernels::PTX));

/// A type for copies of elements of its size.
trait Word: Pod {
    fn copy<'a>(operand: impl Operand<'a, Self, Rank = Dim<0>>) -> Map<'a, Self, Dim<0>>;
}

macro_rules! words {
    ($($word:ty)*) => {$(
        impl Word for $word {
            fn copy<'a>(operand: impl Operand<'a, Self, Rank = Dim<0>>) -> Map<'a, Self, Dim<0>> {
                copy::over(operand)
            }
        }
    )*};
}

words!(u8 u16 u32 u64 Quad);

/// Calls a function with the largest word that elements of a type consist of.
macro_rules! by_word {
    ($element:ty, $function:ident($($argument:expr),*)) => {
        match size_of::<$element>() {
            size if size % 16 == 0 => $function::<Quad, _, _>($($argument),*),
            size if size % 8 == 0 => $function::<u64, _, _>($($argument),*),
            size if size % 4 == 0 => $function::<u32, _, _>($($argument),*),
            size if size % 2 == 0 => $function::<u16, _, _>($($argument),*),
            _ => $function::<u8, _, _>($($argument),*),
        }
    };
}

/// Copies a view to another of the same shape, whose elements are borrowed mutably.
pub(super) fn strided<T: Pod, const N: usize>(
    source: &ArrayView<'_, T, N>,
    destination: &ArrayView<'_, T, N>,
) -> Result<()> {
    let (memory, other) = (destination.memory().memory(), source.memory().memory());
    same_context(&memory.context, &other.context, || other.operation("copy from"))?;
    if size_of::<T>() == 0 {
        return Ok(());
    }
    by_word!(T, copy_words(source, destination))
}

fn copy_words<W: Word, T: Pod, const N: usize>(
    source: &ArrayView<'_, T, N>,
    destination: &ArrayView<'_, T, N>,
) -> Result<()> {
    run(W::copy(Words(words::<W, T, N>(source, false))), WordsMut(words::<W, T, N>(destination, true)), destination)
}

/// Sets all elements of a view, which are borrowed mutably.
pub(super) fn fill<T: Pod, const N: usize>(value: T, destination: &ArrayView<'_, T, N>) -> Result<()> {
    match size_of::<T>() {
        0 => Ok(()),
        1 | 2 | 4 | 8 | 16 => by_word!(T, fill_words(value, destination)),
        // Several words, which are no number: one element in memory, repeated.
        _ => {
            let context = destination.memory().memory().context.clone();
            let one = DeviceBuffer::from_slice(context, &[value])?;
            let one = ArrayView::new(one.as_slice(), Layout::row_major(0, []));
            strided(&one.broadcast(destination.shape())?, destination)
        }
    }
}

fn fill_words<W: Word, T: Pod, const N: usize>(value: T, destination: &ArrayView<'_, T, N>) -> Result<()> {
    let word: W = bytemuck::pod_read_unaligned(bytemuck::bytes_of(&value));
    run(W::copy(Constant(word)), WordsMut(words::<W, T, N>(destination, true)), destination)
}

/// A view as words: of elements of several words, the words are a further axis.
fn words<'a, W: Word, T: Pod, const N: usize>(view: &ArrayView<'a, T, N>, writes: bool) -> Region<'a> {
    let each = size_of::<T>() / size_of::<W>();
    let layout = view.layout();
    let mut shape = layout.shape.to_vec();
    let mut strides: Vec<isize> = layout.strides.iter().map(|stride| stride * each as isize).collect();
    if each > 1 {
        shape.push(each);
        strides.push(1);
    }
    let (memory, address) = view.place();
    // SAFETY: the words of the elements of a view, which is borrowed mutably where they are written.
    unsafe { Region::device::<W>(address, memory, writes, &shape, &strides) }
}

/// Words of device memory, of any shape.
struct Words<'a>(Region<'a>);

// SAFETY: the region of a view, which is borrowed for `'a`; its elements are words of its own.
unsafe impl<'a, W: Word> Operand<'a, W> for Words<'a> {
    /// The shape is known when it runs.
    type Rank = Dim<0>;

    fn region(self) -> Region<'a> {
        self.0
    }
}

/// Words of device memory to write, of any shape.
struct WordsMut<'a>(Region<'a>);

// SAFETY: the region of a view, which is borrowed mutably for `'a`; its elements are words of its own.
unsafe impl<'a, W: Word> OperandMut<'a, W> for WordsMut<'a> {
    /// The shape is known when it runs.
    type Rank = Dim<0>;

    fn region_mut(self, _: bool) -> Region<'a> {
        self.0
    }
}

fn run<'a, W: Word, T: Pod, const N: usize>(
    map: Map<'a, W, Dim<0>>,
    to: WordsMut<'a>,
    destination: &ArrayView<'a, T, N>,
) -> Result<()> {
    let memory = destination.memory().memory();
    let Some(planned) = map.into_launch(to)? else {
        return Ok(());
    };
    let entered = memory.context.enter(|| memory.operation("copy to"))?;
    builtin::launch(&entered, &KERNELS, planned)
}
