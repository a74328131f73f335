//! A sparse matrix times a vector: rows of different lengths, and reads from all over the vector.
//!
//! The matrix is in compressed rows (CSR): the values of all rows one after the other, the column of each, and where each
//! row starts. `LANES` lanes work on a row together, so that neighbouring lanes read neighbouring values, and a warp has
//! four rows at a time. It does so for 32 rows, and each lane keeps the sum of one of them: then the warp writes 32
//! neighbouring elements at once.

use cuda_std::prelude::*;

/// Lanes that work on a row.
const LANES: u32 = 8;
/// Rows that a warp works on at a time.
const ROWS: u32 = warp::WARP_SIZE / LANES;

/// `y = A x` for the matrix whose row `r` has `values[k]` in column `columns[k]`, for `k` from `starts[r]` to below
/// `starts[r + 1]`.
///
/// Launch it with a thread for each row, in one dimension, with blocks of whole warps. `starts` has one element more
/// than `y`; `values` and `columns` have equal lengths.
#[kernel]
pub fn spmv(starts: &[u32], columns: &[u32], values: &[f32], x: &[f32], mut y: DisjointSlice<f32>) {
    assert!(columns.len() == values.len(), "each value has a column");
    let (row, lane) = (grid::<1>().get(), warp::lane_id());
    let rows = y.len();
    // Each lane knows the bounds of its own row; rows beyond the last are empty.
    let (start, end) = if row < rows { (starts[row], starts[row + 1]) } else { (0, 0) };
    let mut own = 0.0;
    for step in 0..LANES {
        let owner = ROWS * step + lane / LANES;
        let (start, end) = (warp::shuffle(start, owner), warp::shuffle(end, owner));
        // Checked once for the row.
        let row = start as usize..end as usize;
        let (columns, values) = (&columns[row.clone()], &values[row]);
        let mut sum = 0.0;
        let (mut k, step_by) = ((lane % LANES) as usize, LANES as usize);
        // In fours, so that several reads are under way at once: behind the row's end stand a zero and the first column,
        // whose product does not count.
        while k < columns.len() {
            let places = [k, k + step_by, k + 2 * step_by, k + 3 * step_by];
            let pairs = places.map(|k| if k < columns.len() { (columns[k] as usize, values[k]) } else { (0, 0.0) });
            for (k, (column, value)) in places.into_iter().zip(pairs) {
                let product = value * x[column];
                sum += if k < columns.len() { product } else { 0.0 };
            }
            k += 4 * step_by;
        }
        for distance in [4, 2, 1] {
            sum += warp::shuffle_xor(sum, distance);
        }
        let sum = warp::shuffle(sum, lane % ROWS * LANES);
        if lane / ROWS == step {
            own = sum;
        }
    }
    if let Some(y) = y.own() {
        *y = own;
    }
}
