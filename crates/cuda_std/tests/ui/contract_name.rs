use cuda_std::prelude::*;

#[kernel(name = scale_rows)]
pub fn unquoted(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(name = "scale rows")]
pub fn two_words(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(name = "malloc")]
pub fn taken(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(name)]
pub fn without(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(name = "a", name = "b")]
pub fn twice(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

#[kernel(export_name = "a")]
pub fn other_word(mut y: DisjointSlice<f32>) {
    let _ = y.own();
}

fn main() {}
