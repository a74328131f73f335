//! The program as people start it: with several ranks, with one that is killed, and again from a checkpoint.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use test_processes::stand_in_for_nccl;

fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_training"));
    command.current_dir(folder).args(["--plot", "curve.png", "--losses", "losses.csv"]);
    command.stdin(Stdio::null()).env_remove("RANK").env_remove("WORLD_SIZE");
    command
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room")
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

fn succeed(command: &mut Command) -> String {
    let output = run(command);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

/// The loss of each step that a run in this folder has written.
fn losses(folder: &Path) -> Vec<f32> {
    let table = std::fs::read_to_string(folder.join("losses.csv")).expect("the program wrote it");
    let rows = table.lines().skip(1).map(|line| line.split(',').nth(1).expect("two columns"));
    rows.map(|loss| loss.parse().expect("a number")).collect()
}

#[test]
fn one_two_and_four_ranks_learn_the_same() {
    let curves: Vec<Vec<f32>> = [(1, false), (2, false), (4, false), (2, true)]
        .into_iter()
        .map(|(ranks, by_nccl)| {
            let folder = folder();
            let mut command = program(folder.path());
            if by_nccl {
                command.env("RUMBA_NCCL_LIBRARY", stand_in_for_nccl());
            }
            // Few digits, of which each of four ranks still has several.
            command.args(["--steps", "12", "--batch", "16", "--ranks", &ranks.to_string()]);
            let text = succeed(&mut command);
            assert_eq!(text.contains("exchange:   NCCL 2.28.9"), by_nccl, "{text}");
            assert!(text.contains("of the tested digits recognised"), "{text}");
            let picture = std::fs::read(folder.path().join("curve.png")).expect("the program wrote it");
            assert!(picture.starts_with(b"\x89PNG"));
            losses(folder.path())
        })
        .collect();
    assert_eq!(curves[0].len(), 12);
    assert!(curves[0][11] < 0.8 * curves[0][0], "{:?}", curves[0]);
    for other in &curves[1..] {
        for (step, (one, many)) in curves[0].iter().zip(other).enumerate() {
            // Sums of gradients are rounded differently.
            assert!((one - many).abs() < 1e-3 * one, "step {step}: {one} and {many}");
        }
    }
}

#[test]
fn training_goes_on_from_a_checkpoint() {
    let [straight, parts] = [folder(), folder()];
    let few = ["--batch", "16"];
    succeed(program(straight.path()).args(few).args(["--steps", "6"]));
    let mut continued = Vec::new();
    for steps in ["3", "6"] {
        let mut command = program(parts.path());
        command.args(few);
        succeed(command.args(["--checkpoint", "here.safetensors", "--resume", "--steps", steps]));
        continued.extend(losses(parts.path()));
    }
    assert_eq!(continued, losses(straight.path()));
    // Nothing is left to do.
    let mut command = program(parts.path());
    command.args(few);
    succeed(command.args(["--checkpoint", "here.safetensors", "--resume", "--steps", "6"]));
    std::fs::write(parts.path().join("here.safetensors"), "no such thing").expect("there is room");
    let mut command = program(parts.path());
    let output = run(command.args(["--checkpoint", "here.safetensors", "--resume"]));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("here.safetensors"), "{errors}");
}

/// Starts two ranks, as a launcher does, and waits until they train. Data goes by TCP, or by a stand-in for NCCL.
fn two_ranks(folder: &Path, by_nccl: bool) -> [Child; 2] {
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = port.expect("a port is free").port().to_string();
    let mut ranks = [0, 1].map(|rank| {
        let mut command = program(folder);
        command.args(["--epochs", "1000"]).env("RUMBA_RANK_TIMEOUT", "60");
        command.env("RANK", rank.to_string()).env("WORLD_SIZE", "2");
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", &port);
        if by_nccl {
            command.env("RUMBA_NCCL_LIBRARY", stand_in_for_nccl());
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    });
    let said = BufReader::new(ranks[0].stdout.as_mut().expect("it is a pipe")).lines();
    let said: Vec<String> =
        said.map(|line| line.expect("it prints UTF-8")).take_while(|line| !line.starts_with("parameters:")).collect();
    let way = if by_nccl { "NCCL 2.28.9" } else { "TCP through rank 0" };
    assert!(said.iter().any(|line| line.starts_with("exchange:") && line.contains(way)), "{said:?}");
    // They are at some step.
    std::thread::sleep(Duration::from_millis(300));
    ranks
}

#[test]
fn a_killed_rank_is_told_to_the_others() {
    for (victim, by_nccl) in [(0, false), (1, false), (0, true), (1, true)] {
        let folder = folder();
        let mut ranks = two_ranks(folder.path(), by_nccl);
        ranks[victim].kill().expect("it runs");
        let begin = Instant::now();
        let [first, second] = ranks;
        let outputs = [first, second].map(|rank| rank.wait_with_output().expect("it ends"));
        assert!(begin.elapsed() < Duration::from_secs(30), "the other rank waited for {:?}", begin.elapsed());
        let other = &outputs[1 - victim];
        let errors = String::from_utf8_lossy(&other.stderr);
        assert_eq!(other.status.code(), Some(1), "{errors}");
        assert!(errors.contains(&format!("rank {victim} is lost")), "{errors}");
    }
}

/// The program that compares both ways finds them the same, and says which way it has compared with TCP.
#[test]
fn both_ways_give_the_same() {
    for (by_nccl, way) in [(false, "TCP through rank 0, since rank 0 has no NVIDIA GPU"), (true, "NCCL 2.28.9")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_exchange"));
        command.args(["--ranks", "2", "--largest", "1", "--repeat", "2"]);
        if by_nccl {
            command.env("RUMBA_NCCL_LIBRARY", stand_in_for_nccl());
        }
        let text = succeed(command.stdin(Stdio::null()));
        assert!(text.contains(way) && text.contains("the same: 192 operations") == by_nccl, "{text}");
        for operation in ["all_reduce", "all_gather", "reduce_scatter", "broadcast"] {
            let rows = text.lines().filter(|line| line.starts_with(operation));
            assert_eq!(
                rows.map(|row| row.matches("µs").count()).sum::<usize>(),
                if operation == "broadcast" { 10 } else { 20 }
            );
        }
    }
}

#[test]
fn a_rank_that_never_comes_is_named() {
    let folder = folder();
    let mut command = program(folder.path());
    command.env("RANK", "0").env("WORLD_SIZE", "3").env("RUMBA_RANK_TIMEOUT", "1");
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = port.expect("a port is free").port().to_string();
    let output = run(command.args(["--batch", "66"]).env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", port));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("of 3 ranks, ranks 1, 2 did not come within 1s"), "{errors}");
}

#[test]
fn wrong_arguments_are_explained() {
    let folder = folder();
    for (arguments, part) in [
        (&["--batch", "0"][..], "cannot be shared evenly"),
        (&["--batch", "100000"], "4000 digits at most"),
        (&["--ranks", "0"], "--ranks is 1 or more"),
        (&["--resume"], "--checkpoint"),
        (&["--rate", "1e30", "--steps", "9"], "a smaller --rate may help"),
    ] {
        let output = run(program(folder.path()).args(arguments));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && errors.contains(part), "{arguments:?}: {errors}");
    }
}
