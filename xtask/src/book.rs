//! `cargo xtask book`: the book as pages, in the browser.
//!
//! mdBook makes them. It is a program and not a library of this package, because the first run of the demo should not
//! have to build it. That its programs run is the business of `cargo test -p examples --test book`.

use crate::quiet::run_quietly;
use crate::shell;
use anyhow::{Context, Result, bail};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The version of mdBook that the pages were looked at with.
const MDBOOK: &str = "0.5.4";
/// How long building mdBook may take.
const LIMIT: Duration = Duration::from_secs(900);

/// Make the book's pages and open them; installs mdBook first if it is missing
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo xtask book                 into target/book, and into the browser
  cargo xtask book --no-open       without the browser")]
pub(crate) struct Args {
    /// Do not open the pages
    #[arg(long)]
    no_open: bool,
}

pub(crate) fn run(args: Args) -> Result<()> {
    let pages = shell::target().join("book");
    let source = shell::workspace().join("book");
    shell::run(Command::new(mdbook()?).arg("build").arg(source).arg("--dest-dir").arg(&pages))?;
    let first = pages.join("index.html");
    println!("{}", first.display());
    if !args.no_open && std::io::stdout().is_terminal() {
        open(&first)?;
    }
    Ok(())
}

/// The program: the one on the search path, else one of this workspace's own.
fn mdbook() -> Result<PathBuf> {
    let own = shell::target().join("mdbook");
    let candidates = [PathBuf::from("mdbook"), own.join("bin/mdbook")];
    let runs = |program: &PathBuf| {
        let mut version = Command::new(program);
        version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    };
    if let Some(program) = candidates.into_iter().find(runs) {
        return Ok(program);
    }
    let mut install = shell::cargo();
    install.args(["install", "--quiet", "--locked", "mdbook", "--version", MDBOOK]);
    // Search in the pages, and nothing that serves or watches them.
    install.args(["--no-default-features", "--features", "search"]).arg("--root").arg(&own);
    run_quietly(&mut install, "building mdBook, which makes the pages", LIMIT)?;
    Ok(own.join("bin/mdbook"))
}

fn open(page: &Path) -> Result<()> {
    let opened = Command::new("xdg-open").arg(page).stderr(Stdio::null()).status();
    if !opened.context("xdg-open, which opens pages, could not be started")?.success() {
        bail!("xdg-open did not open {}; open it by hand", page.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::Cli;
    use clap::Parser;

    /// Every `cargo xtask …` that the book and the README show is a command with those arguments.
    #[test]
    fn commands_in_the_book_exist() {
        let book = crate::shell::workspace().join("book/src");
        let mut files: Vec<_> = book.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        files.push(crate::shell::workspace().join("README.md"));
        let mut seen = 0;
        for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
            let text = std::fs::read_to_string(file).unwrap();
            let mut shell = false;
            for line in text.lines() {
                if let Some(language) = line.strip_prefix("```") {
                    shell = language == "sh";
                } else if shell && let Some((_, command)) = line.split_once("cargo xtask") {
                    let command = command.split(['#', '&', '|']).next().unwrap_or_default();
                    let words = std::iter::once("cargo xtask").chain(command.split_whitespace());
                    if let Err(error) = Cli::try_parse_from(words) {
                        panic!("{}: `cargo xtask{command}`: {error}", file.display());
                    }
                    seen += 1;
                }
            }
        }
        assert!(seen > 5, "{seen} commands were found");
    }
}
