//! The engines that tables of tests run on.

/// A device, and how it is set up.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    /// As trials call it.
    pub name: &'static str,
    /// The variables of a process that uses it.
    pub environment: &'static [(&'static str, &'static str)],
}

const ENGINES: &[Engine] = &[
    Engine {
        name: "interpreted",
        environment: &[("RUMBA_DEVICE", "soft"), ("RUMBA_ENGINE", "interpreter"), ("RUMBA_WORKERS", "1")],
    },
    Engine { name: COMPILED, environment: &[("RUMBA_DEVICE", "soft"), ("RUMBA_ENGINE", "compiled")] },
    Engine { name: GPU, environment: &[("RUMBA_DEVICE", "gpu")] },
];

/// Both, compared: instead of the two where the tests run under `RUMBA_ENGINE=compare`.
const COMPARED: Engine =
    Engine { name: "compared", environment: &[("RUMBA_DEVICE", "soft"), ("RUMBA_ENGINE", "compare")] };

const COMPILED: &str = "compiled";

const GPU: &str = "gpu";

/// Whether tests run on a GPU as well, and fail without a GPU: `RUMBA_TEST_GPU`.
pub fn has_gpu() -> bool {
    std::env::var_os("RUMBA_TEST_GPU").is_some()
}

/// The software device in two settings, or one that compares them, and the GPU if [`has_gpu`]. Under emulation kernels are compiled where a libLLVM is named: others
/// are for the processor that emulates.
pub fn engines() -> impl Iterator<Item = &'static Engine> {
    let compares = std::env::var("RUMBA_ENGINE").is_ok_and(|engine| engine == "compare");
    let compared = compares.then_some(&COMPARED);
    let others = ENGINES.iter().filter(move |engine| !compares || engine.name == GPU);
    compared.into_iter().chain(others).filter(|engine| match engine.name {
        GPU => has_gpu(),
        COMPILED => cfg!(target_arch = "x86_64") || std::env::var_os("RUMBA_LLVM_LIBRARY").is_some(),
        _ => true,
    })
}
