//! Folders that lack something, or have it otherwise: each error says what, and where.

use crate::pictures::goldens;
use diffusion::{Error, Folder, Pipeline, Request, Result, Sampler, Source};
use rumba::Device;
use rumba_nn::{Nn, WeightError};
use std::fs;
use std::path::Path;

/// A copy of a golden folder.
fn copy(name: &str) -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).expect("there is room for a folder");
        for entry in fs::read_dir(from).expect("it is a folder") {
            let entry = entry.expect("it can be read");
            let to = to.join(entry.file_name());
            if entry.path().is_dir() {
                copy(&entry.path(), &to);
            } else {
                fs::copy(entry.path(), to).expect("it is copied");
            }
        }
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    copy(&goldens().join(name), folder.path());
    folder
}

/// The error of opening a folder after a change to it, with its path left out.
fn said(name: &str, change: impl FnOnce(&Path)) -> (Error, String) {
    let folder = copy(name);
    change(folder.path());
    let opened = || {
        let nn = Nn::new(&Device::new()?)?;
        Pipeline::<f32>::open(&nn, Folder::open(folder.path())?)
    };
    match opened() {
        Ok(_) => panic!("it was accepted"),
        Err(error) => {
            let text = error.to_string().replace(&format!("{}", folder.path().display()), "DIR");
            (error, text)
        }
    }
}

fn replace(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).expect("it is a text");
    assert!(text.contains(from), "{from} in {text}");
    fs::write(file, text.replacen(from, to, 1)).expect("it is written");
}

#[test]
fn parts_are_missing() {
    let (error, text) = said("one", |folder| {
        fs::remove_dir_all(folder.join("unet")).expect("it is removed");
        fs::remove_file(folder.join("tokenizer/merges.txt")).expect("it is removed");
    });
    assert!(matches!(error, Error::Lacks { .. }));
    assert_eq!(
        text,
        "DIR lacks unet/config.json, tokenizer/vocab.json with tokenizer/merges.txt, or tokenizer/tokenizer.json, \
         unet/diffusion_pytorch_model.safetensors"
    );
    let error = Folder::open("no such folder").expect_err("there is none");
    assert!(matches!(error, Error::NoFolder { .. }));
}

#[test]
fn weights_are_in_another_format() {
    let (error, text) = said("one", |folder| {
        let file = folder.join("text_encoder/model.safetensors");
        fs::rename(file, folder.join("text_encoder/pytorch_model.bin")).expect("it is moved");
    });
    assert!(matches!(error, Error::Lacks { .. }));
    assert_eq!(
        text,
        "DIR lacks text_encoder/model.safetensors\nhelp: there are weights in PyTorch's own format, which can run code and is not \
         read; diffusers' `save_pretrained` writes safetensors"
    );
}

#[test]
fn half_precision_has_a_name_of_its_own() -> Result<()> {
    let folder = copy("one");
    for (part, stem) in
        [("text_encoder", "model"), ("unet", "diffusion_pytorch_model"), ("vae", "diffusion_pytorch_model")]
    {
        let part = folder.path().join(part);
        let to = part.join(format!("{stem}.fp16.safetensors"));
        fs::rename(part.join(format!("{stem}.safetensors")), to).expect("it is moved");
    }
    Pipeline::<f32>::open(&Nn::new(&Device::new()?)?, Folder::open(folder.path())?)?;
    Ok(())
}

#[test]
fn settings_are_not_supported() {
    type Case = (&'static str, &'static str, &'static str, &'static str);
    let cases: [Case; 12] = [
        (
            "unet/config.json",
            r#""act_fn": "silu""#,
            r#""act_fn": "gelu""#,
            r#"setting `act_fn` of DIR/unet/config.json is "gelu"; only "silu" is supported"#,
        ),
        (
            "unet/config.json",
            r#""in_channels": 4"#,
            r#""in_channels": 9"#,
            "setting `in_channels` of DIR/unet/config.json is 9; only as many as `out_channels` are supported, which leaves out inpainting",
        ),
        (
            "unet/config.json",
            r#""cross_attention_dim": 16"#,
            r#""cross_attention_dim": 12"#,
            "setting `cross_attention_dim` of DIR/unet/config.json is 12; the text encoder has 16 numbers for a word",
        ),
        (
            "unet/config.json",
            r#""attention_head_dim": 2"#,
            r#""attention_head_dim": [2, 2, 2]"#,
            "setting `attention_head_dim` of DIR/unet/config.json is [2,2,2]; it has to be a whole number from 1 to 1048576, or a list of 2",
        ),
        (
            "unet/config.json",
            r#""DownBlock2D""#,
            r#""AttnDownBlock2D""#,
            r#"setting `down_block_types` of DIR/unet/config.json is ["CrossAttnDownBlock2D","AttnDownBlock2D"]; it has to be a list of 2, each DownBlock2D or CrossAttnDownBlock2D"#,
        ),
        (
            "unet/config.json",
            r#""UpBlock2D""#,
            r#""CrossAttnUpBlock2D""#,
            r#"setting `up_block_types` of DIR/unet/config.json is ["CrossAttnUpBlock2D","CrossAttnUpBlock2D"]; only the blocks of `down_block_types` in reverse are supported"#,
        ),
        (
            "unet/config.json",
            r#""norm_num_groups": 2"#,
            r#""norm_num_groups": 0"#,
            "setting `norm_num_groups` of DIR/unet/config.json is 0; it has to be a whole number from 1 to 1048576",
        ),
        (
            "vae/config.json",
            r#""latent_channels": 4"#,
            r#""latent_channels": 16"#,
            "setting `latent_channels` of DIR/vae/config.json is 16; the U-Net has images of 4 channels",
        ),
        (
            "text_encoder/config.json",
            r#""hidden_size": 16,"#,
            "",
            "setting `hidden_size` of DIR/text_encoder/config.json is missing; it has to be a whole number from 1 to 1048576",
        ),
        (
            "text_encoder/config.json",
            r#""quick_gelu""#,
            r#""relu""#,
            r#"setting `hidden_act` of DIR/text_encoder/config.json is "relu"; it has to be one of quick_gelu, gelu"#,
        ),
        (
            "scheduler/scheduler_config.json",
            r#""scaled_linear""#,
            r#""squaredcos_cap_v2""#,
            r#"setting `beta_schedule` of DIR/scheduler/scheduler_config.json is "squaredcos_cap_v2"; it has to be one of linear, scaled_linear"#,
        ),
        (
            "scheduler/scheduler_config.json",
            r#""epsilon""#,
            r#""flow""#,
            r#"setting `prediction_type` of DIR/scheduler/scheduler_config.json is "flow"; it has to be one of epsilon, v_prediction, sample"#,
        ),
    ];
    for (file, from, to, expected) in cases {
        let (error, text) = said("one", |folder| replace(&folder.join(file), from, to));
        assert!(matches!(error, Error::Setting { .. }), "{error:?}");
        assert_eq!(text, expected);
    }
    let (error, text) = said("one", |folder| {
        fs::write(folder.join("vae/config.json"), "{\"act_fn\": ").expect("it is written");
    });
    assert!(matches!(error, Error::Json { .. }));
    assert_eq!(text, "DIR/vae/config.json is no JSON: EOF while parsing a value at line 1 column 11");
}

#[test]
fn settings_that_no_network_has_are_refused() {
    for (file, from, to) in [
        ("scheduler/scheduler_config.json", r#""steps_offset": 1"#, r#""steps_offset": 18446744073709551615"#),
        ("unet/config.json", r#""layers_per_block": 1"#, r#""layers_per_block": 9999999999"#),
        ("unet/config.json", r#""sample_size": 8"#, r#""sample_size": -8"#),
        ("vae/config.json", "    4,\n", &"4,".repeat(70)),
    ] {
        let (error, text) = said("one", |folder| replace(&folder.join(file), from, to));
        assert!(matches!(error, Error::Setting { .. }), "{text}");
    }
    let (error, text) = said("one", |folder| {
        let file = folder.join("tokenizer/tokenizer_config.json");
        replace(&file, r#""model_max_length": 77"#, r#""model_max_length": 1"#);
    });
    assert!(matches!(error, Error::Tokenizer { .. }));
    assert!(text.ends_with("texts have 1 words at most, and no room for a beginning and an end"), "{text}");
}

#[test]
fn tokenizers_do_not_fit() {
    let (error, text) = said("one", |folder| {
        let file = folder.join("text_encoder/config.json");
        replace(&file, r#""vocab_size": 604"#, r#""vocab_size": 603"#);
    });
    assert!(matches!(error, Error::Tokenizer { .. }));
    assert_eq!(
        text,
        "no tokenizer can be made of DIR/tokenizer/vocab.json: word \"<|endoftext|>\" has number 603; the text encoder has 603 words"
    );
    let (error, text) = said("one", |folder| {
        fs::write(folder.join("tokenizer/merges.txt"), "#version: 0.2\nthe whole line is no pair\n")
            .expect("it is written");
    });
    assert!(matches!(error, Error::Tokenizer { .. }), "{text}");
}

#[test]
fn weights_do_not_fit() {
    let (error, text) = said("one", |folder| {
        replace(
            &folder.join("unet/config.json"),
            r#""use_linear_projection": false"#,
            r#""use_linear_projection": true"#,
        );
    });
    assert!(matches!(error, Error::Nn(rumba_nn::Error::Weight(WeightError::Shape { .. }))));
    assert_eq!(
        text,
        "tensor `down_blocks.0.attentions.0.proj_in.weight` of DIR/unet/diffusion_pytorch_model.safetensors has shape [4, 4, 1, 1]; the \
         network has it in shape [4, 4]"
    );
    let (error, text) = said("one", |folder| {
        replace(&folder.join("text_encoder/config.json"), r#""num_hidden_layers": 2"#, r#""num_hidden_layers": 3"#);
    });
    assert!(matches!(error, Error::Nn(rumba_nn::Error::Weight(WeightError::Missing { .. }))));
    assert!(
        text.starts_with(
            "DIR/text_encoder/model.safetensors has no tensor `text_model.encoder.layers.2.layer_norm1.weight`, which"
        ),
        "{text}"
    );
    let (error, text) = said("one", |folder| {
        let file = folder.join("vae/diffusion_pytorch_model.safetensors");
        let bytes = fs::read(&file).expect("it is read");
        fs::write(file, &bytes[..bytes.len() - 100]).expect("it is written");
    });
    assert!(matches!(error, Error::Nn(rumba_nn::Error::Weight(WeightError::Damaged { .. }))));
    assert!(
        text.starts_with("DIR/vae/diffusion_pytorch_model.safetensors is no whole file of safetensors: "),
        "{text}"
    );
}

#[test]
fn requests_do_not_fit() -> Result<()> {
    let pipeline = Pipeline::<f32>::open(&Nn::new(&Device::new()?)?, Folder::open(goldens().join("one"))?)?;
    let noise = diffusion::normal(0, 4 * 4 * 4);
    let request = Request {
        prompt: "",
        negative: "",
        guidance: 1.0,
        size: [8, 8],
        sampler: Sampler::Ddim,
        steps: 2,
        source: Source::Noise(&noise),
    };
    let image = |strength, pixels| Source::Picture { pixels, strength, sample: &noise, noise: &noise };
    let gray = [0.5; 8 * 8 * 3];
    let cases = [
        (
            Request { size: [9, 8], ..request },
            "a picture of 8x9 pixels cannot be drawn by these networks: both are to be multiples of 2, up to 16384",
        ),
        (
            Request { size: [8, 1 << 62], ..request },
            "a picture of 4611686018427387904x8 pixels cannot be drawn by these networks: both are to be multiples of 2, up to 16384",
        ),
        (Request { size: [16, 8], ..request }, "the noise has 64 numbers; a picture of this size has 128"),
        (Request { steps: 0, ..request }, "0 steps: a schedule has 1 to 1000"),
        (
            Request { source: image(0.3, &gray), ..request },
            "no step is left of 2 at strength 0.3: strength is from 0 to 1, and says which part of the steps is done",
        ),
        (
            Request { source: image(1.5, &gray), ..request },
            "no step is left of 2 at strength 1.5: strength is from 0 to 1, and says which part of the steps is done",
        ),
        (
            Request { source: image(1.0, &gray[3..]), ..request },
            "the picture has 189 numbers; a picture of this size has 192",
        ),
    ];
    for (request, expected) in cases {
        let error = pipeline.draw(&request, |_| ()).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(pipeline.nearest([9, 31]), [10, 32]);
    Ok(())
}
