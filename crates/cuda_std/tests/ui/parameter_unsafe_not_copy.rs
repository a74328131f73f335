use cuda_std::prelude::*;

pub struct State {
    pub steps: u32,
}

/// # Safety
/// None.
#[kernel]
pub unsafe fn advance(state: State, y: *mut f32) {
    let _ = (state.steps, y);
}

fn main() {}
