//! Every program of the gallery. The name that this program is called by says which one runs, as for BusyBox: `cargo xtask run saxpy`
//! starts it as `saxpy`, and by hand it is `(exec -a saxpy target/debug/gallery --help)`.

use std::path::Path;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    let called = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&called).file_stem().unwrap_or_default().to_string_lossy();
    match gallery::programs::ALL.iter().find(|(known, _)| *known == name) {
        Some((_, program)) => program(),
        None => {
            let names: Vec<_> = gallery::programs::ALL.iter().map(|(known, _)| *known).collect();
            bail!(
                "`{name}` is no program of the gallery: this file is called by the name of one, as `cargo xtask run` does.\n\
                   There are: {}",
                names.join(", ")
            )
        }
    }
}
