//! (under construction)
/// (under construction)
#[derive(clap::Args)]
pub(crate) struct Args {}
pub(crate) fn run(_args: Args) -> anyhow::Result<()> {
    anyhow::bail!("not built yet")
}
