//! Builds the kernels of the examples to PTX, and writes their host parts into one file for the program.

use std::process::ExitCode;

include!("extract.rs");

fn main() -> ExitCode {
    let (mut modules, mut list) = (String::new(), String::new());
    for Example { name, host, programs, .. } in examples() {
        writeln!(modules, "pub mod {name} {{\n{host}").expect("a string takes all text");
        for Program { module, code, soft } in programs {
            // One copy of the text for all programs: a constant is in each unit of code that names it.
            let code = code.replace("const PTX: &str = include_str!(env!(\"KERNELS_PTX\"));", "use ::examples::PTX;");
            let path = if module.is_empty() {
                name.clone()
            } else {
                writeln!(modules, "pub mod {module} {{\nuse super::kernels;\n{code}\n}}")
                    .expect("a string takes all text");
                format!("{name}::{module}")
            };
            writeln!(list, "    (\"{path}\", {soft}, || done({path}::main())),").expect("a string takes all text");
        }
        modules.push_str("}\n");
    }
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let text = format!(
        "{modules}\n/// Name, whether it is for the software device only, and the program.\n\
         pub const ALL: &[(&str, bool, fn())] = &[\n{list}];\n"
    );
    std::fs::write(Path::new(&out).join("examples.rs"), text).expect("the folder is ours to write");

    // The documentation states the PTX of builds without overflow checks.
    let builder = cuda_builder::CudaBuilder::new("kernels").alloc(true).overflow_checks(false);
    match builder.build() {
        Ok(ptx) => {
            println!("cargo::rustc-env=EXAMPLES_PTX={}", ptx.path.display());
            // The name that the book's programs know.
            println!("cargo::rustc-env=KERNELS_PTX={}", ptx.path.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
