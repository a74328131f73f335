//! (types only, for now)
use core::marker::PhantomData;
/// 1-D.
pub struct DisjointSlice<T>(PhantomData<*mut T>);
/// 2-D.
pub struct DisjointSlice2<T>(PhantomData<*mut T>);
/// 3-D.
pub struct DisjointSlice3<T>(PhantomData<*mut T>);
/// One element per block.
pub struct PerBlock<T>(PhantomData<*mut T>);
