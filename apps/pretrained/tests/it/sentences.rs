//! Sentences as vectors.

use crate::{fetched, goldens};
use pretrained::{Result, Sentences, cosine};
use rumba::Device;
use rumba_nn::{Nn, Weights};
use serde_json::Value;
use std::path::Path;

/// The numbers of a vector.
const WIDTH: usize = 384;

#[test]
fn vectors_are_those_of_transformers() -> Result<()> {
    let Some(folder) = fetched("minilm") else { return Ok(()) };
    let nn = Nn::new(&Device::new()?)?;
    let network = Sentences::<f32>::open(&nn, &folder)?;
    let cases = std::fs::read(goldens().join("minilm.json")).expect("there is the golden");
    let cases: Vec<Value> = serde_json::from_slice(&cases).expect("it is JSON");
    let vectors = Weights::open(&nn, goldens().join("minilm.safetensors"))?;
    let vectors = vectors.array::<f32, 2>("vectors", [cases.len(), WIDTH])?.to_vec()?;
    let mut own = Vec::new();
    for (case, expected) in cases.iter().zip(vectors.chunks_exact(WIDTH)) {
        let sentence = case["sentence"].as_str().expect("a sentence");
        assert_eq!(Value::from(network.words(sentence)?), case["words"], "{sentence}");
        let vector = network.embed(sentence)?;
        let alike = cosine(&vector, expected);
        assert!(alike > 0.999_999, "{sentence}: {alike}");
        own.push(vector);
    }
    // Two sentences about music are alike, one about shares is not.
    assert!(cosine(&own[0], &own[1]) > 0.5 && cosine(&own[0], &own[2]) < 0.1);
    Ok(())
}

#[test]
fn a_folder_without_a_network_is_told() -> Result<()> {
    let nn = Nn::new(&Device::new()?)?;
    let error = Sentences::<f32>::open(&nn, Path::new("nowhere")).expect_err("there is none").to_string();
    assert!(
        error.starts_with("nowhere/config.json cannot be read: ")
            && error.ends_with("help: `cargo xtask setup --models` fetches published networks"),
        "{error}"
    );
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let config = r#"{"model_type": "bert", "hidden_act": "relu", "vocab_size": 8, "max_position_embeddings": 8, "type_vocab_size": 2,
        "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8, "layer_norm_eps": 1e-12}"#;
    std::fs::write(folder.path().join("config.json"), config).expect("it is written");
    let error = Sentences::<f32>::open(&nn, folder.path()).expect_err("it has another function").to_string();
    assert!(error.ends_with("config.json: `hidden_act` is relu, and only gelu is supported"), "{error}");
    Ok(())
}
