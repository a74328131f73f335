fn main() { cuda_builder::build_file("src/main.rs") }
