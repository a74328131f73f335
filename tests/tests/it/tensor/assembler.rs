//! The verdict of NVIDIA's assembler on the kernels.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

use rumba_interface::environment::cache_folder;

use super::{attention, products, text};

/// The assembler's report about a text, which takes half a minute, and is cached for all clones because it never changes.
fn assembled(ptxas: &Path, text: &str) -> String {
    let file = ptxas.metadata().expect("an installed assembler");
    let mut hasher = DefaultHasher::new();
    (text, ptxas, file.len(), file.modified().ok()).hash(&mut hasher);
    let folder = cache_folder().map(|folder| folder.join("tests"));
    let folder = folder.unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").into());
    std::fs::create_dir_all(&folder).expect("a folder of the user's");
    let known = folder.join(format!("assembled-{:016x}.txt", hasher.finish()));
    if let Ok(said) = std::fs::read_to_string(&known) {
        return said;
    }
    let folder = tempfile::tempdir_in(&folder).expect("a temporary folder");
    let path = |name| folder.path().join(name);
    std::fs::write(path("k.ptx"), text).expect("the folder is ours");
    let output = Command::new(ptxas)
        .args(["-arch=sm_90a", "-v", "-o"])
        .args([path("k.cubin"), path("k.ptx")])
        .output()
        .expect("ptxas runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    std::fs::write(path("said"), &said).expect("the folder is ours");
    std::fs::rename(path("said"), known).expect("it lies in the same folder");
    said
}

#[test]
fn products_stay_asynchronous_and_spill_nothing() {
    let Some(ptxas) = cuda_builder::wheels::find().ptxas else {
        eprintln!("ptxas is not installed, so nothing was assembled; `cargo xtask setup` installs it");
        return;
    };
    let said = assembled(&ptxas, text());
    let of_attention = attention::KERNELS.iter().map(|(name, ..)| *name);
    for kernel in products::KERNELS.iter().map(|(name, _)| *name).chain(of_attention) {
        // C7510, C7517, C7519: what made it wait for products at once.
        let mut lines = said.lines().filter(|line| line.contains("C75"));
        assert_eq!(lines.find(|line| line.contains(kernel)), None);
        let (_, properties) = said
            .split_once(&format!("Function properties for {kernel}\n"))
            .unwrap_or_else(|| panic!("nothing is said of `{kernel}`:\n{said}"));
        let mut properties = properties.lines().next().unwrap_or_default().split(", ");
        let stored = properties.find_map(|property| property.strip_suffix(" bytes spill stores")?.parse::<u32>().ok());
        assert_eq!(stored, Some(0), "bytes that `{kernel}` spills");
    }
}
