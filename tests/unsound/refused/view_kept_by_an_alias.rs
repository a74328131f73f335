//! An alias with a written lifetime hides it from a macro, which sees names only.
use cuda_std::prelude::*;

use once_cell::race::OnceRef;


type Forever = View<'static, f32, 1>;

static KEPT: OnceRef<'static, f32> = OnceRef::new();

#[kernel]
pub fn keep(v: Forever) {
    if let Some(x) = v.get([0]) {
        let _ = KEPT.set(x);
    }
}

fn main() {}
