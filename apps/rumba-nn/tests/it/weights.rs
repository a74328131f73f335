//! Weights that are not there, or not what a network asks for: each error names the file, the tensor and its shape.

use rumba::Device;
use rumba_nn::layers::{Convolution, Filters, GroupNorm, Linear};
use rumba_nn::{Error, Nn, Result, WeightError, Weights};
use safetensors::tensor::{Dtype, TensorView, serialize};

fn nn() -> Nn {
    Nn::new(&Device::new().expect("there is a device")).expect("the kernels load")
}

/// A file with one layer: `down.fc.weight`, `[3, 2]`, and `down.fc.bias`, which is whole numbers.
fn file() -> Vec<u8> {
    let bytes = vec![0; 24];
    let weight = TensorView::new(Dtype::F32, vec![3, 2], &bytes).expect("24 bytes are six numbers");
    let bias = TensorView::new(Dtype::I64, vec![3], &bytes).expect("24 bytes are three numbers");
    serialize([("down.fc.weight", weight), ("down.fc.bias", bias)], None).expect("the tensors are whole")
}

fn message<R>(result: Result<R>) -> String {
    match result {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_tensor_is_missing() {
    let weights = Weights::from_bytes(&nn(), "tiny.safetensors", file()).expect("the file is whole");
    let error = Linear::<f32>::load_unbiased(&weights.at("up.fc"), [2, 3]);
    assert!(matches!(&error, Err(Error::Weight(WeightError::Missing { .. }))), "{error:?}");
    assert_eq!(
        message(error),
        "tiny.safetensors has no tensor `up.fc.weight`, which the network has in shape [3, 2]\n\
         help: it has `down.fc.weight`"
    );
    // A name that shares only its last part is not suggested.
    let error = message(GroupNorm::<f32>::load(&weights.at("norm"), 4, 2, 1e-5));
    assert_eq!(error, "tiny.safetensors has no tensor `norm.weight`, which the network has in shape [4]");
}

#[test]
fn a_tensor_has_another_shape() {
    let weights = Weights::from_bytes(&nn(), "tiny.safetensors", file()).expect("the file is whole");
    let shape = |error| message(error);
    assert_eq!(
        shape(Linear::<f32>::load_unbiased(&weights.at("down").at("fc"), [3, 2]).map(drop)),
        "tensor `down.fc.weight` of tiny.safetensors has shape [3, 2]; the network has it in shape [2, 3]"
    );
    // As many elements, but of a convolution.
    assert_eq!(
        shape(Convolution::<f32>::load(&weights.at("down.fc"), Filters::of_1(2, 3)).map(drop)),
        "tensor `down.fc.weight` of tiny.safetensors has shape [3, 2]; the network has it in shape [3, 2, 1, 1]"
    );
    assert!(Linear::<f32>::load_unbiased(&weights.at("down.fc"), [2, 3]).is_ok());
}

#[test]
fn a_tensor_has_whole_numbers() {
    let weights = Weights::from_bytes(&nn(), "tiny.safetensors", file()).expect("the file is whole");
    assert_eq!(
        message(Linear::<f32>::load(&weights.at("down.fc"), [2, 3])),
        "tensor `down.fc.bias` of tiny.safetensors, of shape [3], has elements of type I64; weights are F32, F16 or BF16"
    );
}

#[test]
fn a_file_is_cut_off() {
    let (nn, whole) = (nn(), file());
    for length in [0, 4, 40, whole.len() - 1] {
        let error = Weights::from_bytes(&nn, "tiny.safetensors", whole[..length].to_vec());
        assert!(
            matches!(&error, Err(Error::Weight(WeightError::Damaged { bytes, .. })) if *bytes == length),
            "{error:?}"
        );
        let text = message(error);
        assert!(
            text.starts_with("tiny.safetensors is no whole file of safetensors: ")
                && text.contains(&format!("it has {length} bytes")),
            "{text}"
        );
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let error = message(Weights::open(&nn, folder.path().join("none.safetensors")));
    assert!(error.contains("none.safetensors cannot be read: "), "{error}");
}

#[test]
fn layers_refuse_what_they_cannot_share_out() {
    let weights = Weights::from_bytes(&nn(), "tiny.safetensors", file()).expect("the file is whole");
    let error = message(GroupNorm::<f32>::load(&weights, 10, 3, 1e-5));
    assert_eq!(error, "GroupNorm takes channels in 3 groups, not a tensor of shape [10]");
}
