//! Processes for several ranks on this machine, where no launcher starts them.

use anyhow::{Context, Result, ensure};
use std::net::TcpListener;
use std::process::{Child, Command, ExitCode};

/// Starts this program once for each rank, as `torchrun --standalone` does, and waits for all. They get the arguments of this one,
/// but for `--ranks COUNT`.
///
/// # Errors
/// If they cannot be started.
pub fn ranks(count: usize) -> Result<ExitCode> {
    ensure!(count > 0, "--ranks is 1 or more");
    let own: Vec<_> = std::env::args_os().skip(1).collect();
    // Its own value is `--ranks COUNT` or `--ranks=COUNT`.
    let mut arguments = Vec::new();
    let mut rest = own.into_iter();
    while let Some(argument) = rest.next() {
        let text = argument.to_string_lossy();
        if text == "--ranks" {
            rest.next();
        } else if !text.starts_with("--ranks=") {
            arguments.push(argument);
        }
    }
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr())?.port();
    let program = std::env::current_exe().context("this program's own file is not known")?;
    let start = |rank: usize| -> Result<Child> {
        let mut command = Command::new(&program);
        command.args(&arguments).env("RANK", rank.to_string()).env("LOCAL_RANK", rank.to_string());
        command.env("WORLD_SIZE", count.to_string());
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port.to_string());
        command.spawn().context("a process for a rank could not be started")
    };
    let mut children: Vec<Child> = Vec::new();
    for rank in 0..count {
        match start(rank) {
            Ok(child) => children.push(child),
            Err(error) => {
                for child in &mut children {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                return Err(error);
            }
        }
    }
    let mut failed = false;
    for (rank, child) in children.iter_mut().enumerate() {
        let status = child.wait()?;
        if !status.success() {
            eprintln!("rank {rank} ended with {status}");
            failed = true;
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
