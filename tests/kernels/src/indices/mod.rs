//! Kernels that call the functions of `cuda_std` that take an index or a count, with any number. Each is a line of the table
//! below; tests/tests/it/indices.rs launches them and fails where a function of the library has no line.
//!
//! A kernel first writes its own elements, then accesses by the number. If the number wraps around to another thread's
//! element, the access is a data race; if the number wraps around to memory outside, the access is out of bounds. A
//! panic whose message begins with `wrong` is a mistake of the library; other panics refuse the number.
#![allow(missing_docs, unused_mut, reason = "kernels of a test, and macros write their parameters")]

use cuda_std::algorithms::scan_places;
use cuda_std::bits::{bit_field, byte_perm, funnel_shift_left, funnel_shift_right, nth_set_bit, with_bit_field};
use cuda_std::groups::{coalesced_threads, tiled_partition};
use cuda_std::half::f16;
use cuda_std::mma::{FragmentA, FragmentB, FragmentC, Fragments, WarpPart};
use cuda_std::prelude::*;
use cuda_std::random::{Generator, Philox4x32, Xoroshiro128Plus, philox4x32_10};
use cuda_std::view::{View2, View3};

pub mod shared;

/// A kernel, the functions it calls, and how it is called with a number, 1024 elements to read and 1024 to write.
#[cfg(not(target_arch = "nvptx64"))]
#[allow(missing_debug_implementations, reason = "a row of a table")]
pub struct Row {
    pub name: &'static str,
    pub functions: &'static [&'static str],
    /// Grid and block of each launch: blocks of whole warps where lanes multiply matrices.
    pub launches: &'static [[(u32, u32, u32); 2]],
    pub call: for<'a> fn(u64, &'a [u32], &'a mut [u32]) -> cuda_std::launch::Call<'a>,
}

/// How the 1024 elements to write are passed.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! output {
    (slice $y:ident) => {
        $y
    };
    (matrix $y:ident) => {
        ($y, [32, 32])
    };
    (volume $y:ident) => {
        ($y, [16, 8, 8])
    };
    (floats $y:ident) => {
        (bytemuck::cast_slice_mut::<u32, f32>($y), [16, 64])
    };
}

/// The launches of a kernel, by the type of its output. Sizes are odd or have an odd factor, so that multiplying by a
/// size and wrapping around can give any number.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! launches {
    (volume) => {
        &[[(1, 1, 4), (9, 11, 1)]]
    };
    (floats) => {
        &[[(3, 1, 1), (96, 1, 1)]]
    };
    ($form:ident) => {
        &[[(3, 1, 1), (33, 1, 1)], [(3, 1, 1), (96, 1, 1)]]
    };
}

macro_rules! table {
    ($($form:ident $name:ident [$($function:literal),*] |$n:ident, $x:ident, $y:ident: $output:ty
       $(, shared $shared:ident: $memory:ty)? $(, dynamic $dynamic:ident: $slice:ty = $length:literal)?| $body:block)*) => {
        $(
            #[kernel]
            pub fn $name($n: u64, $x: &[u32], mut $y: $output $(, mut $shared: $memory)? $(, mut $dynamic: $slice)?) {
                let $n = $n as usize;
                $body
            }
        )*

        #[cfg(not(target_arch = "nvptx64"))]
        pub const TABLE: &[Row] = &[$(Row {
            name: stringify!($name),
            functions: &[$($function),*],
            launches: launches!($form),
            call: |n, x, y| $name(n, x, output!($form y) $(, Elements($length))?),
        }),*];
    };
}

/// The value that a thread writes.
fn mark() -> u32 {
    1 + thread::index_1d()
}

table! {
    slice rounds_store ["Rounds::store"] |n, _x, y: Disjoint<u32, Rounds<[VectorOf<4>; 1]>>| {
        y.store(0, [[mark(); 4]]);
        y.store(n, [[mark(); 4]]);
    }
    slice rounds_store_in_runs ["Rounds::store"] |n, _x, y: Disjoint<u32, Rounds<[VectorOf<4>; 2], Run<4>>>| {
        y.store(1, [[mark(); 4]; 2]);
        y.store(n, [[mark(); 4]; 2]);
    }
    slice rounds_load ["Rounds::load"] |n, x, y: Disjoint<u32, Rounds<[VectorOf<4>; 1]>>| {
        let values = y.load(x, n);
        y.store(0, values);
    }
    slice rounds_indices ["Rounds::tile_start", "Rounds::indices"] |n, x, y: Disjoint<u32, Rounds<[VectorOf<4>; 1]>>| {
        let (start, [index]) = (y.tile_start(n), y.indices(n));
        let element = |i: usize| x.get(i).copied().unwrap_or(0);
        y.store(0, [[element(start), element(index), 0, 0]]);
    }
    volume columns ["Column::get_mut"] |n, _x, y: Disjoint<u32, Layers<4>>| {
        if let Some(mut column) = y.own() {
            column.each(|_, y| *y = mark());
            if let Some(y) = column.get_mut(n) {
                *y = mark();
            }
        }
    }
    slice part_index ["Part::index", "Part::index_mut"] |n, _x, y: DisjointSlice<u32>, shared tile: Shared<Tile<u32, 128>>| {
        *tile.own() = 0;
        let mut part = tile.part();
        part[n] = mark();
        if let Some(y) = y.own() {
            *y = part[0] + part[n];
        }
    }
    slice slice_part_get_mut ["Part::get_mut"]
        |n, _x, y: DisjointSlice<u32>, dynamic tile: SharedSlice<u32> = 128| {
        if let Some(own) = tile.own() {
            *own = 0;
        }
        let mut part = tile.part();
        if let Some(own) = part.get_mut(n) {
            *own = mark();
        }
        if let Some(y) = y.own() {
            *y = part.get_mut(0).map_or(0, |own| *own);
        }
    }
    floats fragments_of_rows ["FragmentA::from_rows", "FragmentB::from_rows"]
        |n, _x, y: Disjoint<f32, Fragments<16, 24>>, shared tiles: Shared<(Table2<f16, 32, 16>, Table2<f16, 32, 16>)>| {
        let (mut a, mut b) = tiles.part();
        a.each(|_, a| *a = f16::ONE);
        b.each(|_, b| *b = f16::ONE);
        let tiles = tiles.sync();
        let (a, b) = tiles.get();
        let mut sum = FragmentC::<f16>::zero();
        sum.multiply_add(&FragmentA::from_rows(a, 0, 0), &FragmentB::from_rows(b, n, 0));
        sum.multiply_add(&FragmentA::from_rows(a, n, 0), &FragmentB::from_rows(b, 0, 0));
        y.store(0, &sum);
    }
    floats fragments_of_columns ["FragmentA::from_rows", "FragmentB::from_rows"]
        |n, _x, y: Disjoint<f32, Fragments<16, 24>>, shared tiles: Shared<(Table2<f16, 32, 24>, Table2<f16, 32, 24>)>| {
        let (mut a, mut b) = tiles.part();
        a.each(|_, a| *a = f16::ONE);
        b.each(|_, b| *b = f16::ONE);
        let tiles = tiles.sync();
        let (a, b) = tiles.get();
        let mut sum = FragmentC::<f16>::zero();
        sum.multiply_add(&FragmentA::from_rows(a, 0, 0), &FragmentB::from_rows(b, 0, n));
        sum.multiply_add(&FragmentA::from_rows(a, 0, n), &FragmentB::from_rows(b, 0, 0));
        y.store(0, &sum);
    }
    floats fragments_of_transposes ["FragmentB::row_from_columns"]
        |n, _x, y: Disjoint<f32, Fragments<16, 24>>, shared tile: Shared<Table2<f16, 32, 24>>| {
        let mut part = tile.part();
        part.each(|_, a| *a = f16::ONE);
        let tile = tile.sync();
        let tile = tile.get();
        let a = [FragmentA::load(|_, _| f16::ONE)];
        let mut sums = [[FragmentC::<f16>::zero(); 2]];
        FragmentC::multiply_add_all(&mut sums, &a, &FragmentB::row_from_columns(tile, 0, 0));
        FragmentC::multiply_add_all(&mut sums, &a, &FragmentB::row_from_columns(tile, n, 0));
        FragmentC::multiply_add_all(&mut sums, &a, &FragmentB::row_from_columns(tile, 0, n));
        y.store(0, &sums[0][1]);
    }
    floats tables_of_fragments ["FragmentA::column_from_rows", "FragmentB::row_from_rows"]
        |n, _x, y: Disjoint<f32, Fragments<16, 24>>, shared tiles: Shared<(Table2<f16, 32, 16>, Table2<f16, 32, 16>)>| {
        let (mut a, mut b) = tiles.part();
        a.each(|_, a| *a = f16::ONE);
        b.each(|_, b| *b = f16::ONE);
        let tiles = tiles.sync();
        let (a, b) = tiles.get();
        let mut sums = [[FragmentC::<f16>::zero(); 2]; 2];
        FragmentC::multiply_add_all(
            &mut sums,
            &FragmentA::column_from_rows(a, n, 0),
            &FragmentB::row_from_rows(b, 0, 0),
        );
        FragmentC::multiply_add_all(
            &mut sums,
            &FragmentA::column_from_rows(a, 0, 0),
            &FragmentB::row_from_rows(b, n, 0),
        );
        y.store(0, &sums[0][1]);
    }
    floats rows_of_fragments ["FragmentA::row_from_rows"]
        |n, _x, y: Disjoint<f32, Fragments<16, 24>>, shared tile: Shared<Table2<f16, 32, 16>>| {
        let mut part = tile.part();
        part.each(|_, a| *a = f16::ONE);
        let tile = tile.sync();
        let tile = tile.get();
        let b = [FragmentB::load(|_, _| f16::ONE)];
        let mut sums = [[FragmentC::<f16>::zero(); 1]];
        FragmentC::multiply_add_all(&mut sums, &FragmentA::row_from_rows::<_, 1>(tile, n, 0), &b);
        FragmentC::multiply_add_all(&mut sums, &FragmentA::row_from_rows::<_, 1>(tile, 0, n), &b);
        y.store(0, &sums[0][0]);
    }
    floats fragments_store ["Fragments::part_start", "Fragments::store"]
        |n, _x, y: Disjoint<f32, Fragments<16, 24>>| {
        let mut fragment = FragmentC::<f16>::zero();
        fragment.each(|_, _, value| *value = mark() as f32);
        y.store(0, &fragment);
        y.store(n, &fragment);
        let [row, column] = y.part_start(n);
        assert!(row >= 16 || column < 24, "wrong: a part beside the tile");
    }
    floats fragments_store_all ["Fragments::store_all"] |n, _x, y: Disjoint<f32, Fragments<32, 48, WarpPart<16, 16>>>| {
        let fragments = [[FragmentC::<f16>::zero(); 2]];
        y.store_all(0, &fragments);
        y.store_all(n, &fragments);
    }
    slice views ["View::new", "View::get", "View::index", "View::row", "View::column"] |n, x, y: DisjointSlice<u32>| {
        let matrix = View::new(x, [32, 32]);
        if let Some(y) = y.own() {
            *y = [[n, 0], [0, n], [n, n]].into_iter().filter_map(|at| matrix.get(at)).sum();
            if n < 32 {
                *y += matrix.row(n)[n] + matrix.column(n)[n];
            }
        }
        if thread::thread_idx_x() == 0 {
            let _ = matrix.row(n)[0];
        }
        if thread::thread_idx_x() == 1 {
            let _ = matrix.column(n)[0];
        }
        if thread::thread_idx_x() == 2 {
            let _ = View::new(x, [n, 1024])[[0, 0]];
        }
        if thread::thread_idx_x() == 3 {
            let _ = View::new(x, [2, n, n])[[1, 0, 0]];
        }
    }
    slice neighbours ["View::four", "View::nearest"] |n, x, y: DisjointSlice<u32>| {
        let matrix = View::new(x, [32, 32]);
        if let Some(y) = y.own() {
            for at in [[n, 0], [0, n], [n, n]] {
                let [a, b, c, d] = matrix.four(at, 0);
                *y += a + b + c + d + matrix.nearest(at).copied().unwrap_or(0);
            }
        }
    }
    slice views_to_write ["ViewMut::new", "ViewMut::get_mut", "ViewMut::index", "ViewMut::index_mut"] |n, _x, y: DisjointSlice<u32>| {
        let mut own = [0; 8];
        let mut matrix = ViewMut::new(&mut own, [2, 4]);
        for at in [[n, 0], [0, n], [n, n]] {
            if let Some(element) = matrix.get_mut(at) {
                *element += mark();
            }
        }
        if let Some(y) = y.own() {
            *y = own.iter().sum();
        }
        if thread::thread_idx_x() == 0 {
            ViewMut::new(&mut own, [n, 8])[[0, 7]] = 1;
        }
        if thread::thread_idx_x() == 1 {
            let mut row = ViewMut::new(&mut own, [8]);
            let old = row[n];
            row[n] = old + 1;
        }
    }
    slice plain_views ["View2::new", "View2::get", "View3::new", "View3::get"] |n, x, y: DisjointSlice<u32>| {
        let (matrix, volume) = (View2::new(x, [32, 32]), View3::new(x, [4, 16, 16]));
        if let Some(y) = y.own() {
            *y = [[n, 0], [0, n], [n, n]].into_iter().filter_map(|at| matrix.get(at)).sum();
            *y += [[n, 0, 0], [0, n, 0], [0, 0, n]].into_iter().filter_map(|at| volume.get(at)).sum::<u32>();
        }
        if thread::thread_idx_x() == 0 {
            let _ = View2::new(x, [n, n])[[0, 0]];
        }
        if thread::thread_idx_x() == 1 {
            let _ = View3::new(x, [n, 2, n])[[0, 1, 0]];
        }
    }
    slice strides ["grid_stride"] |n, x, y: DisjointSlice<u32>| {
        if let Some(y) = y.own() {
            *y = grid_stride(n).take(20).map(|i| x.get(i).copied().unwrap_or(1)).sum();
        }
    }
    slice lanes ["shuffle", "shuffle_up", "shuffle_down", "shuffle_xor"] |n, _x, y: DisjointSlice<u32>| {
        let n = n as u32;
        let sum = warp::shuffle(mark(), n) ^ warp::shuffle_up(mark(), n) ^ warp::shuffle_down(mark(), n);
        let sum = sum ^ warp::shuffle_xor(mark(), n);
        if let Some(y) = y.own() {
            *y = sum;
        }
    }
    slice lanes_of_segments ["shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"] |n, _x, y: DisjointSlice<u32>| {
        let (n, all) = (n as u32, warp::FULL_MASK);
        let of = |lane, width| {
            warp::shfl_sync(all, mark(), lane, width)
                ^ warp::shfl_up_sync(all, mark(), lane, width)
                ^ warp::shfl_down_sync(all, mark(), lane, width)
                ^ warp::shfl_xor_sync(all, mark(), lane, width)
        };
        let sum = of(n, 8) ^ of(1, n) ^ of(n, n);
        if let Some(y) = y.own() {
            *y = sum;
        }
    }
    slice groups ["WarpTile::shfl_xor", "shfl", "shfl_up", "shfl_down"]
        |n, _x, y: DisjointSlice<u32>| {
        let (n, tile) = (n as u32, tiled_partition::<8>());
        let sum = tile.shfl(mark(), n) ^ tile.shfl_up(mark(), n) ^ tile.shfl_down(mark(), n) ^ tile.shfl_xor(mark(), n);
        if let Some(y) = y.own() {
            *y = sum;
        }
    }
    slice coalesced ["shfl", "shfl_up", "shfl_down"] |n, _x, y: DisjointSlice<u32>| {
        let n = n as u32;
        let mut sum = 0;
        if thread::thread_idx_x() % 3 == 1 {
            let group = coalesced_threads();
            let rank = group.thread_rank();
            let above = group.shfl_down(rank, n);
            // The last ones keep their own.
            assert!(
                above == rank || u64::from(above) == u64::from(rank) + u64::from(n),
                "wrong: another lane than the one so far above"
            );
            sum = group.shfl(mark(), n) ^ group.shfl_up(mark(), n) ^ above;
        }
        if let Some(y) = y.own() {
            *y = sum;
        }
    }
    slice bits ["nth_set_bit", "bit_field", "with_bit_field", "byte_perm", "funnel_shift_left", "funnel_shift_right"]
        |n, x, y: DisjointSlice<u32>| {
        let (n, x) = (n as u32, x[1]);
        if let Some(y) = y.own() {
            *y = nth_set_bit(x, n).unwrap_or(0) ^ bit_field(x, n, n) ^ bit_field(x, 3, n) ^ with_bit_field(x, 5, n, n);
            *y ^= byte_perm(x, n, n) ^ funnel_shift_left(x, n, n) ^ funnel_shift_right(x, n, n);
        }
    }
    slice streams ["Philox4x32::new", "Philox4x32::at", "philox4x32_10", "Xoroshiro128Plus::stream", "Xoroshiro128Plus::new"]
        |n, _x, y: DisjointSlice<u32>| {
        let (wide, n) = (n as u64, n as u32);
        let mut random = [Philox4x32::new(1, wide).at(wide), Philox4x32::new(wide, 1)];
        if let Some(y) = y.own() {
            *y = random[0].next_u32() ^ random[1].next_u32() ^ philox4x32_10([n; 4], [n; 2])[0];
            *y ^= Xoroshiro128Plus::stream(1, n).next_u32() ^ Xoroshiro128Plus::new(wide).next_u32();
        }
    }
    slice places_of_a_scan ["places"] |n, _x, y: DisjointSlice<u32>| {
        // At least one place for each tile; saturates for large numbers.
        assert!(scan_places(n) >= n, "wrong: fewer places than tiles");
        if let Some(y) = y.own() {
            *y = 1;
        }
    }
}
