//! What a kernel states is for its launcher to check, not for anybody to assume.
use cuda_std::prelude::*;



fn main() {
    cuda_std::Contract::ANY.assume();
}
