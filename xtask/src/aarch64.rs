//! `cargo xtask aarch64`: builds the workspace for AArch64 Linux and runs tests of it under emulation.

use crate::{setup, shell};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Build for AArch64 Linux and run the tests under emulation (qemu)
///
/// Kernels are compiled to PTX on this machine: what is emulated is the runtime, the driver's calls and the software device. Its engine
/// that compiles runs as well where rustup has a toolchain of AArch64, whose libLLVM is then loaded: `rustup toolchain install
/// 1.95.0-aarch64-unknown-linux-gnu --profile minimal --force-non-host`. The tests of the builder of kernels and of `cargo xtask` start
/// compilers, and are not among them; what else is left out is printed, with the reason. On an AArch64 machine `cargo xtask test` runs all of
/// them.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask aarch64              build the tested packages, and run the tests
  cargo xtask aarch64 --build      only build
  cargo xtask aarch64 -p rumba-vm -- popc
                                   only tests of one package whose name contains popc")]
pub(crate) struct Args {
    /// Only build: the workspace and apps, with their tests
    #[arg(long, conflicts_with_all = ["package", "args"])]
    build: bool,
    /// Only the tests of this package; may be given several times
    #[arg(long, short, value_name = "NAME")]
    package: Vec<String>,
    /// Use sudo without asking, where a package of the distribution is missing
    #[arg(long)]
    yes: bool,
    /// Arguments for the tests, after `--`
    #[arg(last = true)]
    args: Vec<String>,
}

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: &str = "qemu-aarch64";

/// Where Debian's cross compilers have AArch64's libraries.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// Packages with the linker, the libraries and the emulator.
const PACKAGES: [&str; 3] = ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user"];

/// Packages whose tests run without starting a compiler.
const EMULATED: [&str; 10] = [
    "rumba-ptx",
    "rumba-checks",
    "rumba-interface",
    "rumba-vm",
    "machine",
    "rumba-soft",
    "rumba-driver",
    "cuda_std",
    "rumba",
    "rumba-tests",
];

/// Tests that are left out, by parts of their names, and why.
const LEFT_OUT: [(&str, &str); 21] = [
    ("check::race::tests::races_of_whole_warps_are_found", "many launches under the check for races"),
    ("engines::", "each case and wrong kernel twice, in processes that compile"),
    ("ui::", "each kernel in ten or twenty orders of its threads"),
    ("unsound::", "a process each, under every check"),
    ("goldens::", "two thousand kernels that LLVM compiles"),
    ("same::", "random kernels run many times"),
    ("random::", "random kernels run many times"),
    ("matrix::", "thousands of products of matrices"),
    ("steps::", "each product of the book under every check"),
    ("a_sample_keeps_the_bounds", "thousands of numbers of 320 bits"),
    ("explore::", "every order of programs"),
    ("progress::", "loops that wait for millions of operations"),
    ("refused::", COMPILER),
    ("tensor::assembler::", COMPILER),
    ("tensor::attention::", COMPILER),
    ("tensor::products::", COMPILER),
    ("ranks_by_nccl::", COMPILER),
    ("a_tool_hears_of_ranges", COMPILER),
    ("a_library_of_another_release", COMPILER),
    ("no_program_of_the_workspace_compiles_the_software_device", COMPILER),
    ("messages_of_panics_cost_most_kernels_no_registers", COMPILER),
];

/// Why tests are left out that make a library or a kernel themselves.
const COMPILER: &str = "starts a compiler, which is not the target's";

/// Programs of tests that run alike.
struct Programs {
    /// In cargo's words.
    targets: &'static [&'static str],
    /// Whether they compile kernels, where there is a libLLVM: an emulated one takes seconds for each.
    compile: bool,
    /// Runs only tests whose names contain this.
    only: Option<&'static str>,
}

const PROGRAMS: [Programs; 3] = [
    Programs { targets: &["--lib", "--test", "trials"], compile: true, only: None },
    Programs { targets: &["--test", "it", "--test", "misuse"], compile: false, only: None },
    Programs { targets: &["--test", "it"], compile: true, only: Some(ENGINE) },
];

/// The tests of the engine that compiles, among others that need none.
const ENGINE: &str = "engine::";

/// The programs of the packages that one names.
const NAMED: [Programs; 1] = [Programs { targets: &["--lib", "--tests"], compile: false, only: None }];

/// How cargo, and the tests that start processes, run programs of the target.
const RUNNER: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER";

/// The functions of zlib that LLVM names; each fails.
const ZLIB: &str = "
int compress2(void) { return -2; }
int uncompress(void) { return -2; }
unsigned long compressBound(unsigned long bytes) { return bytes; }
unsigned long crc32(unsigned long sum) { return sum; }
";

/// In the environment of the tests: devices small enough for an emulator that keeps a record of each reserved page.
const DEVICE: [(&str, &str); 2] = [("RUMBA_MEMORY", "1024"), ("RUMBA_WORKERS", "2")];

pub(crate) fn run(args: Args) -> Result<()> {
    if cfg!(target_arch = "aarch64") {
        bail!("this is an AArch64 machine: `cargo xtask test` runs the tests on it");
    }
    setup::ensure()?;
    install(args.yes)?;
    let library = shell::target().join(TARGET).join("release/librumba_soft_device.so");
    shell::run(cargo(&["build"], &library).args(["--release", "--package", "rumba-soft-library"]))?;
    if args.build {
        shell::run(cargo(&["build"], &library).args(["--workspace", "--all-targets"]))?;
        let mut apps = cargo(&["build"], &library);
        return shell::run(apps.current_dir(shell::apps()).args(["--workspace", "--all-targets"]));
    }
    let packages: Vec<&str> = match &args.package[..] {
        [] => EMULATED.to_vec(),
        packages => packages.iter().map(String::as_str).collect(),
    };
    let stand_in = stand_in()?;
    let llvm = llvm();
    match &llvm {
        Some(library) => eprintln!("compiled kernels: {}", library.display()),
        None => eprintln!(
            "compiled kernels: not tested, there is no libLLVM for AArch64; `rustup toolchain install \
             1.95.0-aarch64-unknown-linux-gnu --profile minimal --force-non-host` brings one"
        ),
    }
    let mut filters = args.args;
    let is_filtered = !filters.is_empty();
    if !is_filtered {
        for (name, reason) in LEFT_OUT {
            eprintln!("left out: {name} ({reason})");
            filters.extend(["--skip", name].map(str::to_owned));
        }
    }
    // A process for each test: the emulator keeps what it noted of a device's memory when that is freed.
    let command = if shell::has_nextest() {
        &["nextest", "run"][..]
    } else {
        eprintln!(
            "without cargo-nextest, all tests of a program share a process, which may take more memory than there is"
        );
        &["test"]
    };
    let mut failed = false;
    for programs in if args.package.is_empty() { &PROGRAMS[..] } else { &NAMED } {
        let llvm = llvm.as_ref().filter(|_| programs.compile);
        let filter = match programs.only {
            // They compile kernels, or fail; and who names tests gets these alone.
            Some(_) if llvm.is_none() || is_filtered => continue,
            Some(only) => vec![only],
            None if !programs.compile && !is_filtered => vec!["--skip", ENGINE],
            None => vec![],
        };
        let mut tests = cargo(command, &library);
        tests
            .env(RUNNER, runner(&stand_in, programs.compile))
            .envs(DEVICE)
            .envs(llvm.map(|library| ("RUMBA_LLVM_LIBRARY", library)))
            .arg("--no-fail-fast")
            // For its unit tests the machine is not optimized; an emulator makes that too slow.
            .args(["--config", "profile.dev.package.rumba-vm.opt-level=1"])
            // A package may lack some of these programs.
            .args(programs.targets)
            .args(packages.iter().flat_map(|package| ["--package", package]))
            .arg("--")
            .args(filter)
            .args(&filters);
        failed |= shell::run(&mut tests).is_err();
    }
    if failed {
        bail!("some tests failed; their output stands above");
    }
    Ok(())
}

/// How programs are run there: with zlib's stand-in, and with a libLLVM or without.
fn runner(stand_in: &Path, compiles: bool) -> String {
    let mut runner = format!("{EMULATOR} -L {LIBRARIES} -E LD_LIBRARY_PATH={}", stand_in.display());
    if !compiles {
        // Toolchains are where LLVM is looked for.
        runner += " -E RUSTUP_HOME=/nonexistent";
    }
    runner
}

/// The libLLVM that a toolchain of rustup has for AArch64.
fn llvm() -> Option<PathBuf> {
    let toolchains = std::fs::read_dir(rumba_llvm::find::rustup_home()?.join("toolchains")).ok()?;
    let libraries = toolchains.flatten().map(|toolchain| toolchain.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.contains("aarch64")
    });
    let files = libraries.filter_map(|path| std::fs::read_dir(path.join("lib")).ok());
    let files = files.flatten().flatten().map(|file| file.path());
    let mut found = files.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libLLVM.so.")
    });
    found.next()
}

/// The folder with what stands in for zlib: LLVM is linked with it, and compresses nothing here. Debian's cross compilers come without.
fn stand_in() -> Result<PathBuf> {
    let folder = shell::target().join(TARGET).join("zlib");
    std::fs::create_dir_all(&folder)?;
    let (source, versions) = (folder.join("zlib.c"), folder.join("versions"));
    std::fs::write(&source, ZLIB)?;
    std::fs::write(&versions, "ZLIB_1.2.0 { compressBound; };\n")?;
    let mut compiler = Command::new(LINKER);
    compiler.args(["-shared", "-fPIC", "-Wl,-soname,libz.so.1", "-o"]);
    compiler.arg(folder.join("libz.so.1")).arg(&source);
    shell::run(compiler.arg(format!("-Wl,--version-script={}", versions.display())))?;
    Ok(folder)
}

/// A command of cargo that builds for the target, and runs there what it builds.
fn cargo(command: &[&str], library: &Path) -> Command {
    let mut cargo = shell::cargo();
    cargo
        .args(command)
        .args(["--target", TARGET])
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
        .env("RUMBA_SOFT_LIBRARY", library);
    cargo
}

/// Installs the target's library, linker and emulator, if they are missing.
fn install(yes: bool) -> Result<()> {
    let sysroot = shell::output(Command::new("rustc").current_dir(shell::workspace()).args(["--print", "sysroot"]))?;
    if !Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).is_dir() {
        let rustup = setup::rustup().with_context(|| {
            format!("Rust's library for {TARGET} is missing, and there is no rustup to install it: \
                     install it beside your rustc (in Debian it is the package libstd-rust-dev of the architecture arm64)")
        })?;
        shell::run(Command::new(rustup).current_dir(shell::workspace()).args(["target", "add", TARGET]))?;
    }
    let is_missing = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        !std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    if is_missing(LINKER) || is_missing(EMULATOR) {
        let reason = "A linker and an emulator for AArch64 are missing.";
        match setup::apt_install(&PACKAGES, reason, yes)? {
            Some(done) => eprintln!("{done}"),
            None => {
                bail!("`{LINKER}` and `{EMULATOR}` are needed; Debian's packages {} have them", PACKAGES.join(", "))
            }
        }
    }
    Ok(())
}
