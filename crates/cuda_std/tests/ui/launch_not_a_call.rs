use cuda_std::launch::IntoCall;
use cuda_std::prelude::*;

#[kernel]
pub fn scale(a: f32, mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= a;
    }
}

// The attribute is forgotten.
pub fn double(mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= 2.0;
    }
}

pub fn count(x: &[f32], counts: &[Atomic<u32>]) {
    counts[x[0] as usize].fetch_add(1);
}

/// As a runtime's function is.
fn for_each<'c>(n: usize, call: impl IntoCall<'c>) {
    let _ = (n, call.into_call());
}

fn main() {
    let mut y = vec![0.0_f32; 4];
    for_each(4, double(&mut y));
    for_each(4, count(&[1.0], &[]));
    for_each(4, scale);
    for_each(4, |i: usize| y[i] *= 2.0);
    for_each(4, |i| y[i] *= 2.0);
    for_each(4, scale(2.0, &mut y));
}
