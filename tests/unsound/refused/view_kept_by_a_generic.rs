//! The same through an associated type.
use cuda_std::prelude::*;

use once_cell::race::OnceRef;


pub trait Named {
    type Type;
}
pub struct ForEver;
impl Named for ForEver {
    type Type = View<'static, f32, 1>;
}

static KEPT: OnceRef<'static, f32> = OnceRef::new();

#[kernel]
pub fn keep(v: <ForEver as Named>::Type) {
    if let Some(x) = v.get([0]) {
        let _ = KEPT.set(x);
    }
}

fn main() {}
