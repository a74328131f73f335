//! `cargo rumba init`: kernels for a package that exists. The command works out every change before it writes the first.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_rumba::source::{CUDA_BUILDER, CUDA_STD, Library, RUMBA, Source};
use cargo_rumba::{project, setup, soft};
use project::{Metadata, Package};

use crate::manifest::Manifest;

/// Add kernels to the package in this folder: a kernel crate, its build, a first kernel, its tests and a benchmark
///
/// Files and dependencies that are there stay as they are, so the command can be repeated. The package may be a program, a
/// library or a member of a workspace.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo rumba init && cargo test
  cargo rumba init --dry-run                 show the changes, and make none
  cargo rumba init crates/simulation         a member of a workspace
  cargo rumba init --kernels gpu             the kernel crate into the folder gpu
  cargo rumba init --git https://example.org/rumba.git")]
pub(crate) struct Args {
    /// The folder of the package
    #[arg(default_value = ".")]
    path: PathBuf,
    /// The folder of the kernel crate, in the package
    #[arg(long, value_name = "FOLDER", default_value = "kernels")]
    kernels: String,
    /// Show the changes, and make none
    #[arg(long)]
    dry_run: bool,
    /// Depend on Rumba by a git repository instead of by the path of its sources
    #[arg(long, value_name = "URL")]
    git: Option<String>,
}

const KERNELS: &str = include_str!("../templates/init/kernels.rs");
const TEST: &str = include_str!("../templates/init/test.rs");
const CHECKS: &str = include_str!("../templates/init/checks.rs");
const BENCH: &str = include_str!("../templates/init/bench.rs");
const BUILD: &str = include_str!("../templates/init/build.rs");

/// The package whose optimised code makes loads of modules faster.
const OPTIMISED: &str = "rumba-ptx";

/// A file that is written.
#[derive(Debug)]
struct Change {
    file: PathBuf,
    /// The text before, of a file that is there.
    before: Option<String>,
    after: String,
}

impl fmt::Display for Change {
    /// "add FILE", or "edit FILE" with the lines that are added.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        let Some(before) = &self.before else {
            return write!(f, "add  {file}");
        };
        write!(f, "edit {file}")?;
        let mut before = before.lines().peekable();
        for line in self.after.lines() {
            if before.peek() == Some(&line) {
                before.next();
            } else if !line.is_empty() {
                write!(f, "\n       + {line}")?;
            }
        }
        Ok(())
    }
}

pub(crate) fn run(args: Args) -> Result<()> {
    let path = args.path.canonicalize().with_context(|| format!("there is no folder {}", args.path.display()))?;
    let metadata = project::metadata(&path).context(
        "`init` adds kernels to a package that exists; `cargo init` begins a package, `cargo rumba new PATH` a whole project",
    )?;
    let package = package_in(&metadata, &path)?;
    let source = Source::new(args.git)?;
    let plan = Plan { package, metadata: &metadata, kernels: &args.kernels, source: &source };
    let changes = plan.changes()?;
    for change in &changes {
        println!("{change}");
    }
    if let Some(note) = plan.note() {
        println!("note: {note}");
    }
    if args.dry_run {
        println!("nothing was written (--dry-run)");
        return Ok(());
    }
    for Change { file, after, .. } in &changes {
        let folder = file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
        std::fs::write(file, after).with_context(|| format!("could not write {}", file.display()))?;
    }
    if changes.is_empty() {
        println!("nothing to do: {} has kernels", package.name);
    }
    setup::ensure()?;
    // Programs load it, from where it is put now.
    soft::ensure()?;
    println!("\nNext:\n  cargo test --package {0}\n  cargo rumba bench --package {0}\n", package.name);
    println!("A launch from your own code:\n{LAUNCH}");
    Ok(())
}

/// The lines of a program that launches the first kernel.
const LAUNCH: &str = "  use rumba::prelude::*;

  let module = Device::new()?.load(include_str!(env!(\"KERNELS_PTX\")))?;
  module.for_each(values.len(), kernels::amplify(3.0, &mut values))?;";

/// The package whose manifest lies in a folder.
fn package_in<'m>(metadata: &'m Metadata, path: &Path) -> Result<&'m Package> {
    if let Some(package) = metadata.packages.iter().find(|package| project::folder(package) == path) {
        return Ok(package);
    }
    let members: Vec<String> = metadata
        .packages
        .iter()
        .map(|package| {
            let folder = project::folder(package);
            format!("\n  cargo rumba init {}", folder.strip_prefix(path).unwrap_or(&folder).display())
        })
        .collect();
    bail!("{} is the folder of no package; the packages of its workspace are:{}", path.display(), members.concat())
}

/// The changes of one package.
struct Plan<'a> {
    package: &'a Package,
    metadata: &'a Metadata,
    kernels: &'a str,
    source: &'a Source,
}

impl Plan<'_> {
    fn changes(&self) -> Result<Vec<Change>> {
        let folder = project::folder(self.package);
        let kernels = folder.join(self.kernels);
        if let Some(there) = self.package.dependency("kernels").filter(|there| *there != Some(&kernels)) {
            let name = &self.package.name;
            match there {
                Some(there) => bail!(
                    "the package {name} has the kernel crate {} already: write another kernel into its src/lib.rs. A second kernel crate \
                     belongs to another package of the workspace: `cargo new NAME && cargo rumba init NAME`",
                    there.display()
                ),
                None => bail!("the package {name} has another dependency with the name `kernels`; rename that one"),
            }
        }
        let mut changes = Vec::new();
        let mut add = |file: PathBuf, text: String| {
            let is_new = !file.exists();
            if is_new {
                changes.push(Change { file, before: None, after: text });
            }
            is_new
        };
        let manifest = kernels.join("Cargo.toml");
        let mut benches = false;
        let mut name = format!("{}-kernels", self.package.name);
        if !manifest.exists() {
            if kernels.exists() {
                bail!("{} exists and is no package; name another folder with --kernels", kernels.display());
            }
            add(manifest, self.kernel_manifest(&name));
            add(kernels.join("src/lib.rs"), KERNELS.to_owned());
            add(folder.join("tests/kernels.rs"), TEST.to_owned());
            add(folder.join("tests/kernel_checks.rs"), CHECKS.to_owned());
            benches = add(folder.join("benches/kernels.rs"), BENCH.to_owned());
        } else {
            let metadata = project::metadata(&kernels)?;
            let package = package_in(&metadata, &kernels)?;
            name.clone_from(&package.name);
            if !project::is_kernel_crate(package) {
                bail!(
                    "{} is no kernel crate: it does not depend on cuda_std; name another folder with --kernels",
                    kernels.display()
                );
            }
        }
        let root = self.metadata.workspace_root.join("Cargo.toml");
        let own = folder.join("Cargo.toml");
        let mut manifest = Manifest::read(&own)?;
        self.depend(&mut manifest, &name)?;
        if benches {
            manifest.add_entry("bench", "name = \"kernels\"\nharness = false")?;
        }
        if own == root {
            if !manifest.has(&["workspace"]) {
                manifest.add(&["workspace"], "members", &format!("[{:?}]", self.kernels))?;
            }
            optimise(&mut manifest)?;
        } else {
            let mut of_workspace = Manifest::read(&root)?;
            optimise(&mut of_workspace)?;
            changes.extend(edited(of_workspace));
        }
        changes.extend(edited(manifest));
        let build = self.build_script();
        let before = build.exists().then(|| std::fs::read_to_string(&build)).transpose();
        let before = before.with_context(|| format!("could not read {}", build.display()))?;
        if let Some(after) = self.edited_script(before.as_deref(), &build)? {
            changes.push(Change { file: build, before, after });
        }
        Ok(changes)
    }

    /// What the changes mean for the package, where it is easily missed.
    fn note(&self) -> Option<String> {
        let build = self.build_script();
        let text = std::fs::read_to_string(&build).ok()?;
        let names_files = text.contains("rerun-if") || text.contains("cuda_builder");
        let note = "cargo runs it again when the kernels change, and no longer when any file of the package does: name the files that \
                    it reads with `cargo::rerun-if-changed=FILE`";
        (!names_files).then(|| format!("{}: {note}", build.display()))
    }

    fn build_script(&self) -> PathBuf {
        let script = self.package.targets.iter().find(|target| target.is("custom-build"));
        match script {
            Some(target) => target.src_path.clone(),
            None => project::folder(self.package).join("build.rs"),
        }
    }

    /// The manifest of the kernel crate.
    fn kernel_manifest(&self, name: &str) -> String {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\ndescription = \"CUDA kernels in Rust\"\n\
             publish = false\n\n[lib]\ndoctest = false\n\n[dependencies]\ncuda_std = {}\n",
            self.dependency(&CUDA_STD)
        )
    }

    /// A dependency on a library, as manifests write it.
    fn dependency(&self, library: &Library) -> String {
        let entries: Vec<String> =
            self.source.entries(library).map(|(key, text)| format!("{key} = {text:?}")).collect();
        format!("{{ {} }}", entries.join(", "))
    }

    /// Adds the dependencies of the package, on the kernel crate of this name among others.
    fn depend(&self, manifest: &mut Manifest, name: &str) -> Result<()> {
        let kernels = format!("{{ package = \"{name}\", path = {:?} }}", self.kernels);
        manifest.add(&["dependencies"], "kernels", &kernels)?;
        manifest.add(&["dependencies"], "rumba", &self.dependency(&RUMBA))?;
        manifest.add(&["build-dependencies"], "cuda_builder", &self.dependency(&CUDA_BUILDER))
    }

    /// The build script with the build of the kernels, or nothing if it has that.
    fn edited_script(&self, before: Option<&str>, file: &Path) -> Result<Option<String>> {
        let Some(before) = before else {
            return Ok(Some(BUILD.replace("{{kernels}}", self.kernels)));
        };
        if before.contains("cuda_builder") {
            return Ok(None);
        }
        let line = format!("cuda_builder::build_kernels({:?});", self.kernels);
        let body = before.find("fn main(").and_then(|main| Some(main + before[main..].find('{')? + 1));
        let Some(body) = body else {
            bail!("{} has no function `main`; write this line into the function that builds:\n{line}", file.display());
        };
        let (head, rest) = before.split_at(body);
        Ok(Some(format!("{head}\n    {line}{rest}")))
    }
}

/// Optimises the reader of PTX in builds for development.
fn optimise(manifest: &mut Manifest) -> Result<()> {
    manifest.add(&["profile", "dev", "package"], OPTIMISED, "{ opt-level = 1 }")
}

/// The change of a manifest, if there is one.
fn edited(Manifest { file, before, text }: Manifest) -> Option<Change> {
    (text != before).then_some(Change { file, before: Some(before), after: text })
}
