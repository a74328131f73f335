mod kernels {
    use cuda_std::Element;
    use cuda_std::prelude::*;

    #[kernel(T = [u8, u64])]
    pub fn set_all<T: Element + From<u8>>(mut y: DisjointSlice<T>) {
        if let Some(y) = y.own() {
            *y = T::from(7);
        }
    }
}

struct Wide;

impl kernels::__set_all_entry<Wide> for () {
    const KERNEL: &'static cuda_std::launch::Kernel = <() as kernels::__set_all_entry<u64>>::KERNEL;
}

fn main() {}
