//! Projects of others: what `cargo rumba new` and `cargo rumba init` write builds, and its tests pass; the programs of the book run
//! in it; a project that exists takes the steps that the book has for it.
//!
//! The projects and their target folder lie in cargo's folder for tests, so that only the first run builds Rumba once more.

use std::ffi::OsStr;
use std::process::{Command, Output};

include!("../../../tests/examples/extract.rs");

fn cargo(folder: &Path) -> Command {
    in_project(Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())), folder)
}

/// The target folder of these projects.
const TARGET: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/projects-target");

/// A command in a project, with the variables of its user.
fn in_project(mut command: Command, folder: &Path) -> Command {
    // Cargo marks a target folder that it makes, and kernels are built in the next folder with a mark: without one, that is the
    // workspace's, which has `core` for the device.
    std::fs::create_dir_all(TARGET).expect("cargo's folder for tests");
    let _ = std::fs::remove_file(Path::new(TARGET).join("CACHEDIR.TAG"));
    command
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", TARGET)
        // A program in one file names a folder of its user's.
        .env("CARGO_BUILD_BUILD_DIR", TARGET)
        // With the same profile, these projects share compiled crates. With `lto = "off"`, which one project states, cargo would compile
        // a crate twice if both a program and a build script depend on the crate.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_PROFILE_DEV_LTO", "false")
        // These projects are built a few times only.
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_NET_OFFLINE", "true")
        // The software device is where a project of anyone's finds it, and not where this workspace has it.
        .env("XDG_DATA_HOME", DATA)
        .env("RUMBA_SOFT_LIBRARY", "")
        .env("RUMBA_TOOLS", tools());
    // They are this package's, and not the project's.
    for (name, _) in std::env::vars_os() {
        let package = name.to_string_lossy().starts_with("CARGO_PKG_");
        if package || ["CARGO_MANIFEST_DIR", "CUDA_LIBRARY_PATH", "RUMBA_DEVICE"].iter().any(|own| name == *own) {
            command.env_remove(name);
        }
    }
    command
}

/// The folder for data of these projects' user.
const DATA: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/data");

/// The folder of NVIDIA's tools, which those projects use too.
fn tools() -> PathBuf {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = || named("XDG_DATA_HOME").or_else(|| Some(std::env::home_dir()?.join(".local/share")));
    named("RUMBA_TOOLS").or_else(|| Some(data()?.join("rumba/tools"))).unwrap_or_default()
}

#[track_caller]
fn succeeds(mut command: Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("cargo runs");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

/// The words that make a command build what the tests of the project have not built yet, and not everything in another profile.
const DEV: &[&str] = &["--profile", "dev"];

/// A command of `cargo rumba` in a project. Release builds are not optimised, which shortens them.
fn rumba_in(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-rumba"));
    command.arg("rumba").args(words).env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    in_project(command, folder)
}

/// A command of `cargo rumba`, for these projects' user.
fn rumba(name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-rumba"));
    command.args(["rumba", name]).env("XDG_DATA_HOME", DATA).env("RUMBA_TOOLS", tools());
    command
}

#[track_caller]
fn fails(command: &mut Command, said: &str) {
    let Output { status, stderr, .. } = command.output().expect("it runs");
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(!status.success() && stderr.contains(said), "{command:?}: {stderr}");
}

/// An empty folder in cargo's for tests.
fn fresh(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder is this test's");
    }
    folder
}

/// A project as `cargo rumba new` writes it.
fn new_project(name: &str) -> PathBuf {
    let folder = fresh(name);
    let mut new = rumba("new");
    new.arg(&folder);
    assert!(succeeds(new).contains("cargo test"));
    folder
}

/// Pins the versions that this workspace was built with, which are available without a network, as `cargo rumba new` does.
fn lock(folder: &Path) {
    let lock = workspace().join("Cargo.lock");
    std::fs::copy(lock, folder.join("Cargo.lock")).expect("both folders are there");
}

fn write(file: PathBuf, text: &str) {
    std::fs::create_dir_all(file.parent().expect("a file lies in a folder")).expect("folders can be made");
    std::fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

#[test]
fn a_new_project_builds_and_passes_its_tests() {
    let folder = new_project("heat-flow");
    let mut fmt = cargo(&folder);
    fmt.args(["fmt", "--all", "--check"]);
    succeeds(fmt);
    // From another folder, whose settings are not the project's.
    let mut test = cargo(Path::new("/"));
    test.args(["test", "--workspace", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    let printed = succeeds(test);
    for name in ["saxpy_computes_what_a_loop_does", "saxpy_passes_every_check"] {
        assert!(printed.contains(&format!("test {name} ... ok")), "{printed}");
    }
    let mut run = cargo(&folder);
    run.args(["run", "--quiet"]).env("RUMBA_DEVICE", "soft");
    assert!(succeeds(run).contains("the last is 5"));

    is_profiled(&folder, DEV);
    is_measured(&folder, DEV);

    // A second time the path is taken.
    fails(rumba("new").arg(&folder), "not empty");
}

/// The same without a profile on the command line: in release.
#[test]
#[ignore = "it compiles Rumba in release; `cargo xtask test --apps` runs it"]
fn a_new_project_is_profiled_and_measured_in_release() {
    let folder = new_project("cold-flow");
    is_profiled(&folder, &[]);
    is_measured(&folder, &[]);
}

/// `cargo rumba profile` in a new project.
fn is_profiled(folder: &Path, options: &[&str]) {
    let (name, files) = (name(folder), Path::new(TARGET).join("rumba/profile"));
    let exists = |name: &str| files.join(name).exists();
    let printed = succeeds(rumba_in(folder, &[&["profile", "--device", "soft"], options].concat()));
    let table = ["kernels/src/lib.rs:15", "4.0 of 4.0", "*y += a * x[i];"];
    for part in table.into_iter().chain(["copy host to device", "GFLOP/s", "launch a kernel", "profile.html"]) {
        assert!(printed.contains(part), "`{part}` is missing:\n{printed}");
    }
    for name in
        ["lines.html", "counts.json", "profile.html", "profile.txt", "trace.json", "roofline.png", "timeline.svg"]
    {
        assert!(exists(name) && printed.contains(name), "{name}\n{printed}");
    }
    let page = std::fs::read_to_string(files.join("lines.html")).expect("it was written just now");
    assert!(page.contains(&format!("Profile of {name}")) && page.contains("pub fn saxpy"), "the page has the source");

    // Without the feature `report`.
    let mut build = cargo(folder);
    build.args(["build", "--quiet"]);
    succeeds(build);
    let program = format!("{TARGET}/debug/{name}");
    let printed = succeeds(rumba_in(folder, &["profile", "--device", "soft", "--", &program]));
    let missing = "`--features rumba/report` on cargo's command line";
    for part in table.into_iter().chain(["the last is 5", "copy host to device", missing]) {
        assert!(printed.contains(part), "`{part}` is missing:\n{printed}");
    }
    assert!(exists("profile.txt") && !exists("profile.html") && !exists("trace.json"), "{printed}");

    let mut other = rumba_in(folder, &["profile", "--kernel", "scan", "--", &program]);
    fails(&mut other, "launched no kernel `scan`; it launched saxpy");
    fails(&mut rumba_in(folder, &["profile", "--", "true"]), "`cargo rumba init`");
    fails(&mut rumba_in(folder, &["profile", "--", "false"]), "the program failed on the software device");
    fails(&mut rumba_in(Path::new("/"), &["profile"]), "`cargo rumba profile -- PROGRAM` profiles any program");
    if !Path::new("/dev/nvidiactl").exists() {
        fails(&mut rumba_in(folder, &["profile", "--device", "gpu"]), "there is no NVIDIA GPU for `--device gpu`");
    }
}

/// The name of a new project.
fn name(folder: &Path) -> &str {
    folder.file_name().and_then(OsStr::to_str).expect("a name that this file states")
}

/// `cargo rumba bench` in a new project.
fn is_measured(folder: &Path, options: &[&str]) {
    let plot = Path::new(TARGET).join("rumba/bench/saxpy.svg");
    let bench = |word| rumba_in(folder, &[&["bench", "--device", "soft", word], options].concat());
    let printed = succeeds(bench("sax"));
    let parts =
        ["device: Rumba software device", "4194304", "GB/s", "of memory", "CPU / kernel", "limits of the device: "];
    for part in parts.into_iter().chain(["the device is faster", &plot.display().to_string()]) {
        assert!(printed.contains(part), "`{part}` is missing:\n{printed}");
    }
    assert!(plot.exists() && plot.with_extension("png").exists());
    let printed = succeeds(bench("sort"));
    assert!(printed.contains("no benchmark here has `sort` in its name; there are: saxpy"), "{printed}");
    let (name, kernels) = (name(folder), format!("{}-kernels", name(folder)));
    fails(&mut rumba_in(folder, &["bench", "--package", "heat"]), &format!("it has {name}, {kernels}"));
    fails(&mut rumba_in(folder, &["bench", "--package", &kernels]), "harness = false");
}

/// The setting of new projects with which crates above this one are compiled in the same way.
const PROFILE: &str = "\n[profile.dev.package]\nrumba-ptx = { opt-level = 1 }\n";

/// A library in a workspace, with a build script of its own, gets kernels. A program of another workspace depends on the library with one
/// line, and launches its kernel.
#[test]
fn kernels_are_added_to_a_library() {
    // Not below this workspace, of which cargo would make them members.
    let place = tempfile::tempdir().expect("a folder");
    let [physics, program] = ["physics", "program"].map(|name| place.path().join(name));
    let library = physics.join("springs");
    let workspace = format!("[workspace]\nresolver = \"3\"\nmembers = [\"springs\"]\n{PROFILE}");
    write(physics.join("Cargo.toml"), &workspace);
    for (folder, kind) in [(&library, "--lib"), (&program, "--bin")] {
        let mut new = cargo(place.path());
        new.args(["new", "--quiet", "--vcs", "none", kind]).arg(folder);
        succeeds(new);
    }
    write(library.join("build.rs"), "fn main() {\n    println!(\"cargo::rustc-env=OWN=7\");\n}\n");
    fails(rumba("init").arg(&physics), "cargo rumba init springs");
    fails(rumba("init").arg(place.path()), "cargo rumba new PATH");
    let init = || {
        let mut init = rumba("init");
        init.arg(&library);
        init
    };
    let mut dry = init();
    dry.arg("--dry-run");
    assert!(succeeds(dry).contains("cuda_builder::build_kernels(\"kernels\");"));
    assert!(!library.join("kernels").exists());
    let said = succeeds(init());
    assert!(said.contains("note: ") && said.contains("rerun-if-changed"), "{said}");
    assert!(succeeds(init()).contains("nothing to do"));
    fails(init().args(["--kernels", "more"]), "springs/kernels already");

    let file = library.join("src/lib.rs");
    let text = "pub fn triple(values: &mut [f32]) -> rumba::Result<String> {
    let device = rumba::Device::new()?;
    let module = device.load(include_str!(env!(\"KERNELS_PTX\")))?;
    module.for_each(values.len(), kernels::amplify(3.0, values))?;
    Ok(format!(\"{} on {}\", env!(\"OWN\"), device.name()))
}
";
    write(file, text);
    let manifest = std::fs::read_to_string(program.join("Cargo.toml")).expect("cargo wrote it");
    write(
        program.join("Cargo.toml"),
        &with_sections(
            &manifest,
            &format!("\n[dependencies]\nsprings = {{ path = \"../physics/springs\" }}\n{PROFILE}"),
        ),
    );
    let main = "fn main() {
    let mut values = [1.0, 2.0];
    let said = springs::triple(&mut values).unwrap();
    println!(\"{values:?}, {said}\");
}
";
    write(program.join("src/main.rs"), main);
    lock(&program);
    let run = || {
        let mut run = cargo(Path::new("/"));
        run.args(["run", "--quiet", "--manifest-path"]).arg(program.join("Cargo.toml")).env("RUMBA_DEVICE", "soft");
        run
    };
    // Documentation and lints need no kernels; the program says so where it needs them.
    fails(run().env("RUMBA_KERNELS", "skip"), "its kernels were not built, since RUMBA_KERNELS=skip");
    assert!(succeeds(run()).starts_with("[3.0, 6.0], 7 on Rumba software device"));

    lock(&physics);
    let mut test = cargo(&physics);
    // The benchmark as well, which compares results then.
    test.args(["test", "--workspace", "--all-targets"]);
    let printed = succeeds(test);
    for name in ["amplify_multiplies_each_element", "amplify_passes_every_check"] {
        assert!(printed.contains(&format!("test {name} ... ok")), "{printed}");
    }
    assert!(printed.contains("amplify: the CPU and the device agree, size 1024"), "{printed}");
}

/// A program with its kernels in one file: it runs, an edit reaches the device, and errors in kernels name the line of the file.
#[test]
fn a_program_in_one_file_runs() {
    let folder = fresh("hello-kernels");
    let mut new = rumba("new");
    new.arg("--one-file").arg(&folder);
    assert!(succeeds(new).contains("cargo run"));
    let run = || {
        let mut run = cargo(&folder);
        run.args(["run", "--quiet"]).env("RUMBA_DEVICE", "soft");
        run
    };
    assert!(succeeds(run()).starts_with("[12.0, 14.0, 16.0] on Rumba software device"));
    // Lines of the file itself, and not of the copy that was compiled.
    let program = format!("{TARGET}/debug/hello-kernels");
    let printed = succeeds(rumba_in(&folder, &["profile", "--", &program]));
    assert!(printed.contains("src/main.rs:12") && printed.contains("*y += a * x[i];"), "{printed}");
    let file = folder.join("src/main.rs");
    let text = std::fs::read_to_string(&file).expect("the template has it");
    let edited = |kernel: &str| text.replace("a * x[i];", kernel);
    write(file.clone(), &edited("a * x[i] + 1.0;"));
    assert!(succeeds(run()).starts_with("[13.0, 15.0, 17.0]"));
    write(file.clone(), &edited("a * x[i] + missing;"));
    fails(&mut run(), "src/main.rs:12:30");
    write(file.clone(), &edited("a * x[i]; let text = \"open;"));
    fails(&mut run(), "unterminated double quote string");
    write(file.clone(), "fn main() {}\n");
    fails(&mut run(), "there is no module `#[rumba::kernels] mod NAME { .. }` at its top level");

    // Cargo cannot tell packages of one name from each other in a folder of several programs, but by the paths of the build script's inputs.
    let other = tempfile::tempdir().expect("a folder");
    let other = other.path().join("hello-kernels");
    succeeds({
        let mut new = rumba("new");
        new.arg("--one-file").arg(&other);
        new
    });
    write(file, &edited("a * x[i] + 2.0;"));
    for _ in 0..2 {
        for (folder, result) in [(&folder, "[14.0, 16.0, 18.0]"), (&other, "[12.0, 14.0, 16.0]")] {
            let mut run = cargo(folder);
            run.args(["run", "--quiet"]).env("RUMBA_DEVICE", "soft");
            assert!(succeeds(run).starts_with(result), "{}", folder.display());
        }
    }
}

/// An extension module of Python: its arrays are memory of the device in both directions, and mistakes are exceptions. NumPy is not
/// needed; the tests of the project itself use it.
#[test]
#[ignore = "it compiles PyO3; `cargo xtask test --apps` runs it"]
fn a_module_for_python_computes_where_the_arrays_are() {
    let folder = fresh("shallow-waves");
    let mut new = rumba("new");
    new.arg("--python").arg(&folder);
    assert!(succeeds(new).contains("maturin develop"));
    let mut fetch = cargo(&folder);
    fetch.args(["fetch", "--quiet"]).env("CARGO_NET_OFFLINE", "false");
    succeeds(fetch);
    let mut build = cargo(&folder);
    // As maturin does: the interpreter has Python's symbols.
    build.args(["build", "--quiet"]).env("PYO3_BUILD_EXTENSION_MODULE", "1");
    succeeds(build);
    let built = Path::new(TARGET).join("debug/libshallow_waves.so");
    std::fs::copy(built, folder.join("shallow_waves.so")).expect("cargo built it");
    let mut python = Command::new("python3");
    python.current_dir(&folder).args(["-c", PYTHON]).env("RUMBA_DEVICE", "soft").env("XDG_DATA_HOME", DATA);
    python.env("RUMBA_SOFT_LIBRARY", "");
    assert!(succeeds(python).ends_with("all is as it should be\n"));
}

/// What a program in Python sees of the module.
const PYTHON: &str = r#"
import array, gc, shallow_waves as waves

def floats(values):
    return list(array.array("f", values.tobytes()))

assert waves.device().startswith("Rumba software device")
x, y = waves.ones(4), waves.ones(4)
address = y.__cuda_array_interface__["data"][0]
waves.saxpy(2.0, x, y)
assert floats(y) == [3.0] * 4 and floats(x) == [1.0] * 4, floats(y)
assert y.__cuda_array_interface__["data"] == (address, False)
assert (y.shape, y.dtype, len(y), y.__dlpack_device__()) == ((4,), "float32", 4, (2, 0))
assert repr(y) == "DeviceArray(shape=[4], dtype=float32, device=0)"

# A library from before DLPack had versions, and one that has the array interface alone.
class Old:
    __dlpack_device__ = staticmethod(y.__dlpack_device__)
    def __dlpack__(self, stream=None):
        assert stream == 1
        return y.__dlpack__(stream=stream)

class Interface:
    def __init__(self, **changes):
        self.__cuda_array_interface__ = {**y.__cuda_array_interface__, **changes}

waves.saxpy(2.0, x, Old())
waves.saxpy(2.0, x, Interface(stream=7))
assert floats(y) == [7.0] * 4
waves.saxpy(1.0, Interface(data=(address, True), strides=(4,)), x)
assert floats(x) == [8.0] * 4

def fails(kind, words, *arguments):
    try:
        waves.saxpy(*arguments)
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no {kind}")

fails(TypeError, "an object of type `list` is no array", 1.0, [1.0], y)
fails(TypeError, "elements of type float64, and the program expects float32", 1.0, x, Interface(typestr="<f8", shape=(2,)))
fails(TypeError, "elements of type `>f4` are not supported", 1.0, x, Interface(typestr=">f4"))
fails(TypeError, "2 dimensions, of shape [2, 2], and the program expects 1", 1.0, x, Interface(shape=(2, 2)))
fails(ValueError, "the tensor is read-only", 1.0, x, Interface(data=(address, True)))
fails(ValueError, "the memory of the tensor is in use", 1.0, y, y)
fails(ValueError, "strides of [6] bytes are not whole elements", 1.0, x, Interface(strides=(6,)))
fails(ValueError, "are not one after the other", 1.0, x, Interface(shape=(2,), strides=(8,)))
fails(ValueError, "does not belong to the primary context of device 0", 1.0, x, Interface(data=(4096, False)))
fails(ValueError, "`x` has 4 elements, and `y` has 5", 1.0, x, waves.ones(5))

# A capsule that is not consumed releases its tensor, and a consumed capsule cannot be consumed again.
capsule = y.__dlpack__(max_version=(1, 1))
del capsule
class Twice:
    __dlpack_device__ = staticmethod(y.__dlpack_device__)
    capsule = y.__dlpack__()
    def __dlpack__(self, stream=None):
        return self.capsule
twice = Twice()
waves.saxpy(0.0, x, twice)
fails(BufferError, "a capsule that was used already", 1.0, x, twice)
waves.saxpy(1.0, waves.ones(0), waves.ones(0))
del x, y, twice
gc.collect()
print("all is as it should be")
"#;

/// Every program of the book, in a new project of a name that the book does not have: nothing is added but the crates that a
/// chapter says to add. All are modules of one program, each chapter's kernels a module of the crate of kernels.
#[test]
fn the_programs_of_the_book_run_in_a_new_project() {
    let folder = new_project("warm-rod");
    let chapters = files(&workspace().join("book/src"), "md");
    let (mut kernels, mut modules, mut list) = (String::new(), String::new(), String::new());
    for (name, text) in &chapters {
        let Example { name, kernels: own, programs, .. } = chapter(name, text);
        if programs.is_empty() {
            continue;
        }
        writeln!(kernels, "pub mod {name} {{\n{own}\n}}").expect("a string takes all text");
        for Program { module, code, .. } in programs {
            writeln!(modules, "pub mod {name}_{module} {{\nuse ::kernels::{name}::kernels;\n{code}\n}}")
                .expect("a string takes all text");
            writeln!(list, "    (\"{name}_{module}\", || done({name}_{module}::main())),")
                .expect("a string takes all text");
        }
        // The chapter on other projects begins with another one.
        if name != "book_existing_project" {
            for wanted in text.split("`cargo add ").skip(1).filter_map(|rest| rest.split('`').next()) {
                let mut add = cargo(&folder);
                add.args(["add", "--offline", "--quiet", "--package", "warm-rod"]).args(wanted.split_whitespace());
                succeeds(add);
            }
        }
    }
    let library = folder.join("kernels/src/lib.rs");
    let text = std::fs::read_to_string(&library).expect("it was written just now");
    write(library, &format!("{text}\n#[allow(unused, missing_docs)]\nmod book {{\n{kernels}}}\npub use book::*;\n"));
    write(
        folder.join("src/bin/book.rs"),
        &format!(
            "#![allow(clippy::all, missing_docs, unused)]\n{modules}\n{RUN}\nconst ALL: &[(&str, fn())] = &[\n{list}];\n"
        ),
    );
    let mut run = cargo(&folder);
    run.args(["run", "--quiet", "--features", "algorithms", "--bin", "book"]);
    run.env("RUMBA_DEVICE", "soft");
    let printed = succeeds(run);
    let ran = printed.lines().filter(|line| line.starts_with("ran book_")).count();
    assert_eq!(ran, list.lines().count(), "{printed}");
    assert!(ran >= 40, "{ran} programs ran\n{printed}");
}

/// The command that runs the programs of the book.
const RUN: &str = concat!(
    include_str!("../../../tests/examples/done.rs"),
    r#"
fn main() {
    for (name, program) in ALL {
        program();
        println!("ran {name}");
    }
}
"#
);

/// The chapter "Adding Rumba to an existing project", step by step, on what `cargo new` makes. The first line of each block
/// names the file that it is added to. Tests of the runtime pass there.
#[test]
fn a_project_that_exists_takes_the_steps_of_the_book() {
    takes_the_steps_of_the_book(|command, _| {
        command.env("RUMBA_SOFT_LIBRARY", std::env::var_os("RUMBA_SOFT_LIBRARY").unwrap_or_default());
    });
}

/// The same with the software device in the programs, and without a library. It takes half as long to compile as with the chapter's
/// optimisation, and these tests are short.
#[test]
#[ignore = "it compiles the software device once more; `cargo xtask test --apps` runs it"]
fn the_software_device_is_in_the_program() {
    takes_the_steps_of_the_book(|command, empty| {
        command.args(["--features", "rumba/linked", "--config", "profile.dev.package.rumba-vm.opt-level=0"]);
        command.env("XDG_DATA_HOME", empty);
    });
}

/// `with_device` gives a command of cargo a device, and is told a folder without one.
fn takes_the_steps_of_the_book(with_device: fn(&mut Command, &Path)) {
    // Not below this workspace, of which cargo would make it a member.
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("my-program");
    let mut new = cargo(place.path());
    new.args(["new", "--quiet", "--vcs", "none"]).arg(&folder);
    succeeds(new);
    lock(&folder);
    let chapter =
        std::fs::read_to_string(workspace().join("book/src/existing-project.md")).expect("the chapter is there");
    let lines: Vec<&str> = chapter.lines().collect();
    let mut files = 0;
    for Fence { code, .. } in fences(&lines) {
        let first = code.lines().next().unwrap_or_default();
        let Some(file) = first.strip_prefix("# ").or_else(|| first.strip_prefix("// ")) else {
            continue;
        };
        let file = folder.join(file);
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        let text = match file.extension().is_some_and(|extension| extension == "toml") {
            true => with_sections(&there, &from_here(&code)),
            false => code,
        };
        write(file, &text);
        files += 1;
    }
    assert_eq!(files, 6, "the chapter has a manifest, another, three sources and the profiles");
    let mut run = cargo(Path::new("/"));
    run.args(["run", "--quiet", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    with_device(run.env("RUMBA_DEVICE", "soft"), place.path());
    let printed = succeeds(run);
    assert!(printed.contains("on Rumba software device"), "{printed}");

    let (tests, to) = (["common", "launch", "memory", "reach"], folder.join("tests/it"));
    for test in tests {
        let from = workspace().join("host/tests/it").join(test).with_extension("rs");
        let text = std::fs::read_to_string(&from).expect("the runtime has such a test");
        write(to.join(test).with_extension("rs"), &text);
    }
    write(to.join("main.rs"), &tests.map(|test| format!("mod {test};\n")).concat());
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("it was written just now");
    let helper = workspace().join("tests/processes");
    let helper = format!("\n[dev-dependencies]\ntest-processes = {{ path = \"{}\" }}\n", helper.display());
    write(folder.join("Cargo.toml"), &with_sections(&manifest, &helper));
    let mut run = cargo(Path::new("/"));
    run.args(["test", "--manifest-path"]).arg(folder.join("Cargo.toml"));
    with_device(run.env("RUMBA_DEVICE", "soft"), place.path());
    let printed = succeeds(run);
    let passed = printed.lines().filter(|line| line.starts_with("test result: ok.") && !line.contains(" 0 passed"));
    assert_eq!(passed.count(), 1, "{printed}");
}

/// The manifest with what is added to its sections, and with the new ones.
fn with_sections(manifest: &str, added: &str) -> String {
    let mut text = manifest.to_owned();
    for section in added.split("\n[").skip(1) {
        let (header, lines) = section.split_once('\n').expect("a section has a line");
        let header = format!("[{header}\n");
        match text.find(&header) {
            Some(at) => text.insert_str(at + header.len(), &format!("{}\n", lines.trim_end_matches('\n'))),
            None => write!(text, "\n{header}{lines}").expect("a string takes all text"),
        }
    }
    text
}

/// The manifest with the crates of this workspace in place of those of the repository.
fn from_here(manifest: &str) -> String {
    let crates = [("rumba", "host"), ("cuda_builder", "crates/cuda_builder"), ("cuda_std", "crates/cuda_std")];
    let line = |line: &str| {
        let found = crates.iter().find(|(name, _)| line.starts_with(&format!("{name} = ")));
        match found {
            Some((_, folder)) => line.replace("git = \"…\"", &format!("path = {:?}", workspace().join(folder))),
            None => line.to_owned(),
        }
    };
    manifest.lines().map(line).collect::<Vec<_>>().join("\n") + "\n"
}
