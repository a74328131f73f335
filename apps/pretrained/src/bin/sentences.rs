//! Says how much sentences mean the same, by a network that was trained on a billion pairs.

use clap::Parser;
use pretrained::{Sentences, cosine};
use rumba::Device;
use rumba_nn::Nn;
use std::path::PathBuf;
use std::time::Instant;

/// Says how much sentences mean the same: 1 if they do, 0 if they have nothing in common
#[derive(Parser)]
#[command(after_help = "Examples:
  cargo xtask setup --models
  cargo xtask run sentences
  cargo xtask run sentences -- \"The cat sleeps.\" \"A kitten is asleep.\" \"Shares fell sharply.\"")]
struct Args {
    /// The sentences: two at least
    #[arg(num_args = 2.., default_values = [
        "A man is playing a guitar.",
        "Someone makes music on a string instrument.",
        "The stock market fell sharply today.",
        "Investors lost money when shares dropped.",
    ])]
    sentences: Vec<String>,
    /// The folder of the network
    #[arg(long, value_name = "DIR", default_value = "target/models/minilm")]
    model: PathBuf,
}

fn main() -> anyhow::Result<()> {
    sigpipe::reset();
    let args = Args::parse();
    let nn = Nn::new(&Device::new()?)?;
    let network = Sentences::<f32>::open(&nn, &args.model)?;
    let begin = Instant::now();
    let vectors: Vec<Vec<f32>> =
        args.sentences.iter().map(|sentence| network.embed(sentence)).collect::<Result<_, _>>()?;
    let seconds = begin.elapsed().as_secs_f64();
    println!("device: {}", nn.device().name());
    println!("{} sentences in {seconds:.2} s\n", vectors.len());
    for (sentence, own) in args.sentences.iter().zip(&vectors) {
        let cosines: Vec<String> = vectors.iter().map(|other| format!("{:5.2}", cosine(own, other))).collect();
        println!("{}  {sentence}", cosines.join(" "));
    }
    Ok(())
}
