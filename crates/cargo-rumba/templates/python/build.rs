fn main() { cuda_builder::build_file("src/lib.rs") }
