//! Rust: the attribute without its import.

#[kernel]
pub fn scale(mut y: DisjointSlice<f32>) {
    if let Some(y) = y.own() {
        *y *= 2.0;
    }
}
