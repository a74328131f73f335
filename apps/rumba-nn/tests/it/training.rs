//! Training: gradients against differences of the loss, Adam against its formula, files of parameters.

use crate::goldens::checked;
use rumba::Device;
use rumba::array::Array;
use rumba_nn::train::{Adam, Convolution, Gradients, Layout, Linear, Parameters};
use rumba_nn::{Nn, Result, Run};
use std::path::Path;

/// Numbers without a pattern, from 0 to below 1.
fn uniform() -> impl FnMut() -> f32 {
    let mut seed = 7_u32;
    move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as f32 / (1 << 24) as f32
    }
}

/// A network of every kind of layer: images of 8 by 8 by 2, three classes.
struct Network {
    layout: Layout,
    convolutions: [Convolution; 2],
    linear: Linear,
    images: Array<f32, 4>,
    labels: rumba::DeviceBuffer<u32>,
}

impl Network {
    fn new(device: &Device) -> rumba::Result<Network> {
        let mut layout = Layout::new();
        let mut uniform = uniform();
        let pixels: Vec<f32> = (0..5 * 8 * 8 * 2).map(|_| uniform() - 0.3).collect();
        Ok(Network {
            convolutions: [layout.convolution("one", [2, 3]), layout.convolution("two", [3, 4])],
            linear: layout.linear("three", [2 * 2 * 4, 3]),
            layout,
            images: Array::from_slice(device, [5, 8, 8, 2], &pixels)?,
            labels: device.buffer_from(&[0, 1, 2, 1, 1])?,
        })
    }

    fn pass(&self, run: &Run, parameters: &Parameters, gradients: &mut Gradients) -> Result<()> {
        let x = run.tensor(self.images.view())?;
        let one = self.convolutions[0].forward(run, parameters, &x)?;
        let two = self.convolutions[1].forward(run, parameters, &one.y)?;
        let flat = two.y.reshape([5, 16]);
        let logits = self.linear.forward(run, parameters, &flat)?;
        let gradient = run.cross_entropy(&logits, self.labels.as_slice(), gradients)?;
        self.linear.backward(run, &flat, &gradient, gradients)?;
        let gradient = self.linear.input_gradient(run, parameters, &gradient)?.reshape(two.y.shape());
        let gradient = self.convolutions[1].backward(run, parameters, &two, &gradient, gradients)?;
        self.convolutions[0].backward_to_filters(run, &one, &gradient, gradients)
    }
}

#[test]
fn gradients_are_those_of_differences() {
    let device = Device::new().expect("there is a device");
    let nn = Nn::new(&device).expect("the kernels load");
    let network = Network::new(&device).expect("there is memory");
    let mut parameters = Parameters::new(&device, &network.layout, uniform()).expect("there is memory");
    let mut gradients = Gradients::new(&device, &network.layout).expect("there is memory");
    let mut loss = |values: &[f32], parameters: &mut Parameters| {
        parameters.values_mut().copy_from(values).expect("as many");
        nn.run(|run| network.pass(run, parameters, &mut gradients)).expect("shapes fit");
        (gradients.loss().expect("it is there"), gradients.buffer_mut().to_vec().expect("they are there"))
    };
    let values = parameters.values_mut().to_vec().expect("they are there");
    let (_, exact) = loss(&values, &mut parameters);
    let mut seen = 0;
    // Of places between parameters, neither number is one.
    for place in (0..values.len()).filter(|&place| exact[place] != 0.0).step_by(3) {
        let mut difference = |step: f32, parameters: &mut Parameters| {
            let mut moved = values.clone();
            moved[place] += step;
            loss(&moved, parameters).0
        };
        // Short: the loss has a kink wherever a rectified or pooled number changes places with another.
        let step = 1e-3;
        let slope = (difference(step, &mut parameters) - difference(-step, &mut parameters)) / (2.0 * step);
        assert!((slope - exact[place]).abs() < 2e-3 + 0.04 * slope.abs(), "{place}: {slope}, {}", exact[place]);
        seen += 1;
    }
    assert!(seen > 70, "{seen} parameters were moved");
}

#[test]
fn training_is_clean_under_all_checks_and_lowers_the_loss() {
    let mut losses = Vec::new();
    let findings = rumba::check(|device| {
        losses.clear();
        checked((|| {
            let nn = Nn::new(device)?;
            let network = Network::new(device)?;
            let mut parameters = Parameters::new(device, &network.layout, uniform())?;
            let mut gradients = Gradients::new(device, &network.layout)?;
            let adam = Adam { rate: 1e-2, ..Adam::default() };
            for _ in 0..8 {
                nn.run(|run| network.pass(run, &parameters, &mut gradients))?;
                nn.run(|run| adam.step(run, &mut parameters, &gradients))?;
                losses.push(gradients.loss()?);
            }
            Ok(())
        })())
    });
    findings.expect("shapes fit").assert_none();
    assert!(losses[7] < 0.7 * losses[0], "{losses:?}");
}

/// A layout of one layer, and parameters that are all one number.
fn one_layer(device: &Device, value: f32) -> (Layout, Parameters) {
    let mut layout = Layout::new();
    layout.linear("layer", [3, 2]);
    let mut parameters = Parameters::new(device, &layout, || 0.5).expect("there is memory");
    let length = parameters.values_mut().len();
    parameters.values_mut().copy_from(&vec![value; length]).expect("as many");
    (layout, parameters)
}

#[test]
fn adam_is_its_formula() {
    let device = Device::new().expect("there is a device");
    let nn = Nn::new(&device).expect("the kernels load");
    let (layout, mut parameters) = one_layer(&device, 2.0);
    let mut gradients = Gradients::new(&device, &layout).expect("there is memory");
    let adam = Adam { rate: 0.1, decay: 0.02, betas: [0.8, 0.9] };
    let (mut value, mut first, mut second) = (2.0_f64, 0.0, 0.0);
    for step in 1..=5 {
        let gradient = f64::from(step) - 2.5;
        let length = gradients.buffer_mut().len();
        gradients.buffer_mut().copy_from(&vec![gradient as f32; length]).expect("as many");
        nn.run(|run| adam.step(run, &mut parameters, &gradients)).expect("it is launched");
        first = 0.8 * first + 0.2 * gradient;
        second = 0.9 * second + 0.1 * gradient * gradient;
        let (mean, square) = (first / (1.0 - 0.8_f64.powi(step)), second / (1.0 - 0.9_f64.powi(step)));
        value -= 0.1 * (mean / (square.sqrt() + 1e-8) + 0.02 * value);
        let own = parameters.values_mut().to_vec().expect("they are there")[0];
        assert!((f64::from(own) - value).abs() < 1e-5, "{step}: {own}, {value}");
    }
    assert_eq!((parameters.steps().expect("they are there"), parameters.count()), (5, 8));
}

#[test]
fn parameters_come_back_from_a_file() {
    let device = Device::new().expect("there is a device");
    let nn = Nn::new(&device).expect("the kernels load");
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join("checkpoint.safetensors");
    let (layout, mut parameters) = one_layer(&device, 2.0);
    let mut gradients = Gradients::new(&device, &layout).expect("there is memory");
    let length = gradients.buffer_mut().len();
    gradients.buffer_mut().copy_from(&vec![1.0; length]).expect("as many");
    let step = |parameters: &mut Parameters| {
        nn.run(|run| Adam::default().step(run, parameters, &gradients)).expect("it is launched");
        parameters.values_mut().to_vec().expect("they are there")
    };
    step(&mut parameters);
    parameters.save(&file).expect("the folder is there");
    let straight = step(&mut parameters);
    let (_, mut other) = one_layer(&device, 0.0);
    other.restore(&nn, &file).expect("it was written");
    let again = step(&mut other);
    // Files do not contain the padding between parameters.
    assert_eq!(
        (&again[..6], &again[64..66], other.steps().expect("they are there")),
        (&straight[..6], &straight[64..66], 2)
    );

    let mut layout = Layout::new();
    layout.linear("layer", [2, 2]);
    let mut narrow = Parameters::new(&device, &layout, || 0.5).expect("there is memory");
    let text = narrow.restore(&nn, &file).expect_err("it is another layer").to_string();
    assert!(text.contains("layer.weight") && text.contains("[2, 3]") && text.contains("[2, 2]"), "{text}");
    let text = parameters.save(Path::new("/no/such/folder/file")).expect_err("there is none").to_string();
    assert!(text.contains("/no/such/folder/file"), "{text}");
    let whole = std::fs::read(&file).expect("it was written");
    std::fs::write(&file, &whole[..whole.len() / 2]).expect("there is room");
    let text = parameters.restore(&nn, &file).expect_err("half is missing").to_string();
    assert!(text.contains("checkpoint.safetensors"), "{text}");
}
