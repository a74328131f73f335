//! The builder: what to build, how, and where the PTX goes.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

use rumba_ptx::{Target, foot, set};

use crate::arch::NvvmArch;
use crate::archive;
use crate::cargo::{self, Built, Library};
use crate::error::BuildError;
use crate::link::{self, Codegen, LibraryFile, Sources};
use crate::llvm::OptLevel;
use crate::manifest;
use crate::one_file::{self, Generated};
use crate::shared::Libraries;
use crate::stamp::{self, Cache, Key, Stamp};
use crate::toolchain::{self, Toolchain};
use crate::{inspect, skip, terminal, wheels};

/// Placeholders for cargo's folders of sources from registries and repositories in the names of files.
const REGISTRY: &str = "registry/";
const CHECKOUTS: &str = "git/";

/// How much the PTX says about its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DebugInfo {
    /// Nothing.
    None,
    /// `.loc` lines: profilers and fault reports name the Rust line. Costs nothing when it runs.
    #[default]
    LineTables,
}

/// A build of one kernel crate.
#[derive(Debug, Clone)]
#[must_use = "nothing is built before `build`"]
pub struct CudaBuilder {
    path: PathBuf,
    /// The program's file that has the kernels, in place of a crate.
    file: Option<PathBuf>,
    arch: Option<NvvmArch>,
    ftz: bool,
    fast_sqrt: bool,
    fast_div: bool,
    fast_math: bool,
    fma_contraction: bool,
    emit_llvm_ir: bool,
    debug: DebugInfo,
    overflow_checks: bool,
    panic_messages: bool,
    opt_level: OptLevel,
    alloc: bool,
    libdevice: bool,
    copy_to: Option<PathBuf>,
    target_dir: Option<PathBuf>,
    progress: Option<bool>,
    arguments: Vec<OsString>,
}

/// The result of a build.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Ptx {
    /// The file.
    pub path: PathBuf,
    /// The contents of the file: one text, or a text for each architecture that kernels state ([`Ptx::texts`]).
    pub text: String,
    /// The kernels, sorted by name.
    pub kernels: Vec<String>,
    /// The target architecture; of several texts, the oldest.
    pub arch: NvvmArch,
    /// The libdevice that was linked; without one the crate's own maths is used.
    pub libdevice: Option<PathBuf>,
    /// The compiler that built it, unless kernels were left out: see `RUMBA_KERNELS` in the book.
    pub toolchain: Option<Toolchain>,
}

impl Ptx {
    /// The SHA-256 of the text, in hexadecimal.
    pub fn hash(&self) -> String {
        stamp::hash(&self.text)
    }

    /// The version of PTX that the text declares, such as `6.0`; of several texts, the oldest.
    pub fn version(&self) -> &str {
        version(&self.text)
    }

    /// The texts, oldest architecture first. A device runs the last that it can.
    pub fn texts(&self) -> Vec<Text<'_>> {
        let texts = set::texts(&self.text).into_iter();
        let texts = texts.filter_map(|text| {
            let target = Target::of(text)?;
            let version = version(text);
            Some(Text { text, target, version })
        });
        texts.collect()
    }
}

/// One of the texts of a build.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Text<'p> {
    /// The text.
    pub text: &'p str,
    /// The text's target architecture.
    pub target: Target,
    /// The PTX version that the text declares, such as `6.0`.
    pub version: &'p str,
}

fn version(text: &str) -> &str {
    let declared = text.lines().find_map(|line| line.strip_prefix(".version "));
    declared.unwrap_or_default().trim()
}

impl CudaBuilder {
    /// A build of the crate in a directory (where its `Cargo.toml` is), relative to the current one.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            file: None,
            arch: None,
            ftz: false,
            fast_sqrt: false,
            fast_div: false,
            fast_math: false,
            fma_contraction: true,
            emit_llvm_ir: false,
            debug: DebugInfo::LineTables,
            overflow_checks: terminal::in_build_script() && is_debug(env::var_os("PROFILE").as_deref()),
            panic_messages: true,
            opt_level: OptLevel::O3,
            alloc: false,
            libdevice: true,
            copy_to: None,
            target_dir: None,
            progress: None,
            arguments: Vec::new(),
        }
    }

    /// A build of the kernels in a source file of the package whose build script this is: its modules with the attribute
    /// `#[rumba::kernels]`. [`build_kernels`] is a build script for such a file.
    pub fn of_file(file: impl AsRef<Path>) -> Self {
        let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        Self { file: Some(file.as_ref().to_owned()), ..Self::new(package) }
    }

    /// The virtual architecture to write for, of kernels that state none in `#[kernel(arch = "sm_90a")]`. By default the one that the crate states in its `Cargo.toml`,
    ///
    /// ```toml
    /// [package.metadata.cuda_builder]
    /// arch = "sm_80"
    /// ```
    ///
    /// or else the oldest one that the kernels' own instructions allow, which every newer device and most
    /// drivers accept. The build finds it by trying, so stating it shortens the build of crates that need a newer one.
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = Some(arch);
        self
    }

    /// Whether denormal `f32` values are flushed to zero (nvcc's `-ftz`). Off by default.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.ftz = ftz;
        self
    }

    /// Whether `f32` square roots may be approximated (nvcc's `-prec-sqrt=false`). Off by default.
    pub fn fast_sqrt(mut self, fast_sqrt: bool) -> Self {
        self.fast_sqrt = fast_sqrt;
        self
    }

    /// Whether `f32` division may be approximated (nvcc's `-prec-div=false`). Off by default.
    pub fn fast_div(mut self, fast_div: bool) -> Self {
        self.fast_div = fast_div;
        self
    }

    /// Whether every kernel has fast mathematics (nvcc's `-use_fast_math`): [`ftz`](Self::ftz),
    /// [`fast_div`](Self::fast_div), [`fast_sqrt`](Self::fast_sqrt), and the hardware's approximations
    /// for the `f32` functions `sin`, `cos`, `tan`, `exp`, `exp10`, `ln`, `log2`, `log10` and `powf`.
    /// Off by default. A single kernel asks for it by the section `.fast_math` of its entry.
    pub fn fast_math(mut self, fast_math: bool) -> Self {
        self.fast_math = fast_math;
        self
    }

    /// Whether a product may be fused with the sum that uses it (nvcc's `-fmad`). On by default, as
    /// in nvcc: the result is rounded once instead of twice.
    pub fn fma_contraction(mut self, fma_contraction: bool) -> Self {
        self.fma_contraction = fma_contraction;
        self
    }

    /// Also writes the optimised LLVM assembly, beside the PTX with the extension `ll`.
    pub fn emit_llvm_ir(mut self, emit_llvm_ir: bool) -> Self {
        self.emit_llvm_ir = emit_llvm_ir;
        self
    }

    /// How much the PTX says about its source. [`DebugInfo::LineTables`] by default.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.debug = debug;
        self
    }

    /// Whether integer overflow panics, in the kernels and in what they use of `cuda_std`; otherwise it wraps around.
    ///
    /// By default as in the program: in a build script it is on in `cargo build`, `run` and `test`, and off with `--release`
    /// (cargo's `PROFILE`, which is `debug` for the profile `dev` and those that inherit from it). Outside of build scripts
    /// it is off.
    pub fn overflow_checks(mut self, overflow_checks: bool) -> Self {
        self.overflow_checks = overflow_checks;
        self
    }

    /// Whether a thread that panics leaves a message for the host. On by default; off, it exits without a trace,
    /// which shows what the messages cost.
    pub fn panic_messages(mut self, panic_messages: bool) -> Self {
        self.panic_messages = panic_messages;
        self
    }

    /// How much LLVM optimises. [`OptLevel::O3`] by default.
    pub fn opt_level(mut self, opt_level: OptLevel) -> Self {
        self.opt_level = opt_level;
        self
    }

    /// Whether the crate `alloc` is built too, for kernels that bring an allocator.
    pub fn alloc(mut self, alloc: bool) -> Self {
        self.alloc = alloc;
        self
    }

    /// Whether NVIDIA's device library is used where it is installed. On by default.
    pub fn libdevice(mut self, libdevice: bool) -> Self {
        self.libdevice = libdevice;
        self
    }

    /// Writes the PTX to this file too.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Where cargo's files go. By default a folder `cuda-builder` in the target directory that the
    /// build script or the workspace uses.
    pub fn target_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.target_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Whether cargo's progress is shown. By default it is, except in build scripts, whose output
    /// is shown only when they fail.
    pub fn progress(mut self, progress: bool) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Passes another argument to cargo, such as `--features=…` or `--locked`.
    pub fn build_arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Compiles, links and writes the PTX. In a build script it also tells cargo when to run the
    /// script again.
    ///
    /// # Errors
    /// No toolchain, a crate that does not compile (its errors have been printed), or code that LLVM
    /// or the link stage refuses.
    pub fn build(self) -> Result<Ptx, BuildError> {
        let script = terminal::in_build_script();
        if script {
            rerun_if_set(&[toolchain::OVERRIDE, wheels::FOLDER]);
        }
        let generated = match &self.file {
            None => None,
            Some(file) => match one_file::generate(file)? {
                Some(generated) => Some(generated),
                // The compiler of the program says what is wrong.
                None => return self.in_place_of_kernels(&one_file::output()?, "the program's file is no Rust"),
            },
        };
        let crate_dir = match &generated {
            Some(generated) => generated.directory.clone(),
            None => archive::build_folder(self.crate_dir()?, env::var_os("OUT_DIR").filter(|_| script).as_deref())?,
        };
        let target_dir = self.resolve_target_dir(&crate_dir);
        if script {
            rerun_if_set(&skip::ASKED);
            if let Some(reason) = skip::asked()? {
                return self.without_kernels(&crate_dir, &target_dir, &reason);
            }
        }
        let toolchain = match toolchain::find() {
            Ok(toolchain) => toolchain,
            Err(missing) => match skip::without_toolchain(&missing).filter(|_| script) {
                Some(reason) => {
                    rerun_if_set(&skip::BY);
                    return self.without_kernels(&crate_dir, &target_dir, &reason);
                }
                None => return Err(missing.into()),
            },
        };
        let libdevice = wheels::find().libdevice.filter(|_| self.libdevice);
        let rustflags = Self::rustflags(&toolchain, libdevice.is_some());
        // Cargo names files alike for all flags, so each set of flags has a folder: builds with other
        // options would replace its `core`. The lock holds until the libraries have been read.
        let flags = rustflags.join(" ");
        let target_dir = target_dir.join(&stamp::hash(&flags)[..12]);
        let _lock = lock(&target_dir)?;
        let libraries = Libraries::new(&format!("{} {} {flags}", toolchain.rustc.display(), toolchain.release));
        if let Some(libraries) = &libraries {
            libraries.restore(&target_dir);
        }
        let built = cargo::build(&cargo::Request {
            toolchain: &toolchain,
            crate_dir: &crate_dir,
            target_dir: &target_dir,
            rustflags,
            overflow_checks: self.overflow_checks,
            crate_flags: crate_flags(&crate_dir, generated.is_some()),
            build_std: if self.alloc { "core,alloc" } else { "core" },
            arguments: self.arguments.clone(),
            progress: self.progress.unwrap_or(!script),
        });
        let built = built.map_err(|error| match (error, &generated) {
            (BuildError::Compile { errors, diagnostics, .. }, Some(Generated { inputs, .. })) => {
                BuildError::Compile { directory: inputs[0].clone(), errors, diagnostics }
            }
            (error, _) => error,
        })?;
        if let Some(libraries) = &libraries {
            libraries.keep(&target_dir, &built.shared);
        }
        if script {
            rerun_if_changed(&built, &crate_dir, generated.as_ref());
        }
        let path = self.output(&target_dir, &built.crate_name);
        let arch = match self.arch {
            Some(arch) => Some(arch),
            None => manifest::arch(&crate_dir)?,
        };
        let positions = self.debug == DebugInfo::LineTables;
        let sources = sources(&built, &crate_dir);
        let mut options = Key::new();
        options.file(&toolchain.llvm);
        options.value(&(self.codegen(), positions, &sources));
        let options = options.finish();
        let cache = Cache::new(&target_dir, &crate_dir, &self.arguments, options.clone());
        let input = link::Input {
            llvm: toolchain.llvm.clone(),
            libraries: built.libraries.iter().map(library_file).collect(),
            libdevice: libdevice.clone(),
            arch,
            codegen: self.codegen(),
            positions,
            sources,
            keep_ir: self.emit_llvm_ir,
            cache: cache.clone(),
        };
        let key = key(&input, &options);
        let known = Stamp::current(&cache, &path, &key).filter(|_| !self.emit_llvm_ir);
        let known = known.and_then(|(stamp, text)| Some((stamp.arch.parse().ok()?, stamp, text)));
        let (text, kernels, arch) = match known {
            Some((arch, stamp, text)) => {
                write_if_changed(&path, &text)?;
                stamp.store_for(&cache, &path);
                (text, stamp.kernels, arch)
            }
            None => {
                let output = link::run(input)?;
                write_if_changed(&path, &output.ptx)?;
                if let Some(ir) = &output.ir {
                    write_if_changed(&path.with_extension("ll"), ir)?;
                }
                Stamp::new(&path, key, &output.ptx, &output.kernels, output.arch.to_string()).store(&cache);
                (output.ptx, output.kernels, output.arch)
            }
        };
        Ok(Ptx { path, text, kernels, arch, libdevice, toolchain: Some(toolchain) })
    }

    /// The PTX of an earlier build, or a text that says why it has no kernels, which a load of it repeats.
    fn without_kernels(&self, crate_dir: &Path, target_dir: &Path, reason: &str) -> Result<Ptx, BuildError> {
        self.in_place_of_kernels(&self.output(target_dir, &manifest::library(crate_dir)?), reason)
    }

    fn in_place_of_kernels(&self, path: &Path, reason: &str) -> Result<Ptx, BuildError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) if foot::reason_unbuilt(&text).is_none() => text,
            _ => {
                let text = foot::unbuilt(reason);
                write_if_changed(path, &text)?;
                text
            }
        };
        let kernels = inspect::kernels(&text).into_iter().map(str::to_owned).collect();
        let arch = self.arch.unwrap_or(NvvmArch::ALL[0]);
        Ok(Ptx { path: path.to_owned(), text, kernels, arch, libdevice: None, toolchain: None })
    }

    fn crate_dir(&self) -> Result<PathBuf, BuildError> {
        let directory = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        if directory.join("Cargo.toml").is_file() { Ok(directory) } else { Err(BuildError::NoCrate { directory }) }
    }

    fn resolve_target_dir(&self, crate_dir: &Path) -> PathBuf {
        if let Some(folder) = &self.target_dir {
            return std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
        }
        // Cargo marks the target directory; a build script's OUT_DIR lies in it.
        let out_dir = env::var_os("OUT_DIR").map(PathBuf::from);
        let outer = out_dir
            .as_deref()
            .and_then(|out_dir| out_dir.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file()));
        let outer = match (outer, env::var_os("CARGO_TARGET_DIR")) {
            (Some(outer), _) => outer.to_owned(),
            (None, Some(named)) => PathBuf::from(named),
            (None, None) => workspace_root(crate_dir).join("target"),
        };
        outer.join("cuda-builder")
    }

    fn output(&self, target_dir: &Path, crate_name: &str) -> PathBuf {
        let file = format!("{crate_name}.ptx");
        match (&self.copy_to, env::var_os("OUT_DIR")) {
            (Some(path), _) => path.clone(),
            (None, Some(out_dir)) if terminal::in_build_script() => PathBuf::from(out_dir).join(file),
            (None, _) => target_dir.join(file),
        }
    }

    fn codegen(&self) -> Codegen {
        Codegen {
            contract: self.fma_contraction,
            ftz: self.ftz,
            fast_div: self.fast_div,
            fast_sqrt: self.fast_sqrt,
            fast_math: self.fast_math,
            panic_messages: self.panic_messages,
            level: self.opt_level,
        }
    }

    /// Flags for every crate on the device. Kernel crates with the same options share these flags,
    /// so that `core` is built once.
    fn rustflags(toolchain: &Toolchain, libdevice: bool) -> Vec<String> {
        let mut flags: Vec<String> = [
            "-Cno-prepopulate-passes",
            "-Copt-level=3",
            "-Cpanic=abort",
            "-Ccodegen-units=1",
            "-Cembed-bitcode=yes",
            "-Csymbol-mangling-version=v0",
            "-Cdebuginfo=line-directives-only",
            // rustc's own jump threading copies calls, barriers among them, to where only some threads come; LLVM's knows
            // which calls must not be copied.
            "-Zmir-enable-passes=-JumpThreading",
        ]
        .map(str::to_owned)
        .into();
        if libdevice {
            flags.push("--cfg=rumba_libdevice".to_owned());
        }
        flags.push("--check-cfg=cfg(rumba_libdevice)".to_owned());
        let mut remap = |root: &Path, name: &str| {
            flags.push(format!("--remap-path-prefix={}/={name}", root.display()));
        };
        // Distributions reach the sources through a link, which cargo follows or not.
        remap(&toolchain.library, "");
        if let Ok(real) = toolchain.library.canonicalize() {
            remap(&real, "");
        }
        if let Some(home) = toolchain::cargo_home() {
            remap(&home.join("registry/src"), REGISTRY);
            remap(&home.join("git/checkouts"), CHECKOUTS);
        }
        flags
    }
}

/// Builds kernels in a build script: those of a kernel crate, named by its folder, or those of a source file of the package, its
/// modules with the attribute `#[rumba::kernels]`. Paths begin at the folder of the package.
///
/// ```no_run
/// // build.rs
/// cuda_builder::build_kernels("kernels"); // or "src/main.rs"
/// ```
///
/// The package then has the PTX of the crate as `include_str!(env!("KERNELS_PTX"))`, and the PTX of a file as the constant `PTX`
/// of each such module. The kernels of a file use the dependencies of the package that they name. The function prints an error
/// and ends the build script; [`CudaBuilder::build`] has options and returns its errors.
pub fn build_kernels(path: impl AsRef<Path>) {
    let path = path.as_ref();
    let is_file = path.extension().is_some_and(|extension| extension == "rs");
    let builder = if is_file { CudaBuilder::of_file(path) } else { CudaBuilder::new(path) };
    match builder.build() {
        Ok(ptx) => println!("cargo::rustc-env=KERNELS_PTX={}", ptx.path.display()),
        Err(error) => {
            eprintln!("error: {error}");
            std::process::exit(1);
        }
    }
}

/// Makes cargo run the build script again when one of these variables changes.
fn rerun_if_set(variables: &[&str]) {
    for variable in variables {
        println!("cargo::rerun-if-env-changed={variable}");
    }
}

/// Whether a program is built for debugging, by the `PROFILE` that cargo tells a build script.
fn is_debug(profile: Option<&OsStr>) -> bool {
    profile.is_some_and(|profile| profile == "debug")
}

/// Flags for the kernel crate alone.
fn crate_flags(crate_dir: &Path, generated: bool) -> Vec<String> {
    // Cargo takes two copies of a workspace for one; this also tells them apart.
    let mut flags = vec![format!("--remap-path-prefix={}=", workspace_root(crate_dir).display())];
    if generated {
        // The compilation of the program reports unused items.
        flags.extend(["-Zcrate-attr=no_std".to_owned(), "-Aunused".to_owned()]);
        return flags;
    }
    // Rust-CUDA's kernel crates do not say that they are without the standard library.
    let root = std::fs::read_to_string(crate_dir.join("src/lib.rs"));
    let says = |line: &str| line.contains("no_std") && !line.trim_start().starts_with("//");
    if root.is_ok_and(|text| !text.lines().any(says)) {
        flags.push("-Zcrate-attr=no_std".to_owned());
    }
    flags
}

fn library_file(library: &Library) -> LibraryFile {
    LibraryFile { path: library.rlib.clone(), standard: library.standard }
}

/// Everything that the text depends on.
fn key(input: &link::Input, options: &str) -> String {
    let mut key = Key::new();
    for library in &input.libraries {
        key.file(&library.path);
    }
    key.value(&input.libdevice);
    if let Some(libdevice) = &input.libdevice {
        key.file(libdevice);
    }
    key.value(&(&input.arch, options));
    key.finish()
}

/// Waits until no other build uses the folder.
fn lock(folder: &Path) -> Result<File, BuildError> {
    let path = folder.join(".lock");
    let locked = std::fs::create_dir_all(folder).and_then(|()| File::create(&path)).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    locked.map_err(|source| BuildError::Io { path, source })
}

/// The directory of the workspace's lock file.
pub(crate) fn workspace_root(crate_dir: &Path) -> &Path {
    crate_dir.ancestors().find(|folder| folder.join("Cargo.lock").is_file()).unwrap_or(crate_dir)
}

/// Names source files by where they are in the workspace, or by their crate outside of it.
fn sources(built: &Built, crate_dir: &Path) -> Sources {
    let workspace = workspace_root(crate_dir);
    let mut roots = vec![(workspace.to_owned(), String::new())];
    // What the remapping of the registry and of the standard library leaves.
    let mut libraries = ["alloc/src/", "core/src/", REGISTRY, CHECKOUTS].map(str::to_owned).to_vec();
    for library in &built.libraries {
        let directory = &library.directory;
        let name = match directory.strip_prefix(workspace) {
            Ok(inside) => inside.to_owned(),
            Err(_) => {
                let folder = PathBuf::from(directory.file_name().unwrap_or_default());
                roots.push((directory.clone(), folder.display().to_string()));
                folder
            }
        };
        if library.name == "cuda_std" {
            libraries.push(format!("{}/", name.display()));
        }
    }
    Sources { roots, libraries }
}

/// Tells cargo which files the PTX depends on: every source file of the build that is no part of the
/// registry, and the manifests beside them.
fn rerun_if_changed(built: &Built, crate_dir: &Path, generated: Option<&Generated>) {
    let list = std::fs::read_to_string(&built.dep_info).unwrap_or_default();
    let mut files: Vec<PathBuf> = dependencies(&list).into_iter().map(PathBuf::from).collect();
    let local = built.libraries.iter().filter(|library| library.local);
    files.extend(local.map(|library| library.directory.join("Cargo.toml")));
    files.push(workspace_root(crate_dir).join("Cargo.lock"));
    if let Some(Generated { directory, inputs }) = generated {
        files.retain(|file| !file.starts_with(directory));
        files.extend(inputs.iter().cloned());
    }
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
}

/// The files in a list of dependencies as make reads them: `target: file file`, spaces escaped.
fn dependencies(list: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in list.lines() {
        let Some((_, rest)) = line.split_once(": ") else {
            continue;
        };
        let mut file = String::new();
        for word in rest.split(' ') {
            match word.strip_suffix('\\') {
                Some(start) => file.extend([start, " "]),
                None => {
                    file.push_str(word);
                    files.push(std::mem::take(&mut file));
                }
            }
        }
    }
    files.retain(|file| !file.is_empty());
    files
}

/// Writes a file unless it already holds the text, so that what depends on it is not rebuilt.
pub(crate) fn write_if_changed(path: &Path, text: &str) -> Result<(), BuildError> {
    if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    let failed = |source| BuildError::Io { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::dependencies;

    #[test]
    fn dependency_lists() {
        let list = "/t/libk.rlib: /a/src/lib.rs /with\\ space/src/x.rs\n";
        assert_eq!(dependencies(list), ["/a/src/lib.rs", "/with space/src/x.rs"]);
        assert!(dependencies("").is_empty());
    }
}
