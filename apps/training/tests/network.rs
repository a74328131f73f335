//! The network's passes over batches of several sizes.

use rumba::Device;
use rumba::array::Array;
use rumba_nn::Nn;
use rumba_nn::train::Adam;
use training::data::{SIZE, digits};
use training::network::{Network, Settings, Step};

#[test]
fn the_loss_of_a_batch_is_the_mean_of_those_of_its_parts() {
    let device = Device::new().expect("there is a device");
    let nn = Nn::new(&device).expect("the kernels load");
    let network = Network::new([8, 16]);
    let mut parameters = network.parameters(&device, 3).expect("there is memory");
    let [learned, _] = digits();
    let shape = [learned.len(), SIZE * SIZE];
    let images = Array::from_slice(&device, shape, &learned.pixels).expect("there is memory");
    let numbers: Vec<usize> = (0..64).map(|i| i * 61).collect();
    let mut means: Vec<Vec<f64>> = Vec::new();
    // Steps that leave the parameters as they are.
    let adam = Adam { rate: 0.0, ..Adam::default() };
    for count in [64, 32, 16, 8, 1] {
        let settings = Settings { adam, count, exchange: None };
        let mut step = Step::new(&nn, &network, &mut parameters, &images, settings).expect("shapes fit");
        let mut sums: Vec<f64> = Vec::new();
        for part in numbers.chunks(count) {
            let done = parameters.steps().expect("they are there");
            step.run(done, &[learned.batch(part)]).expect("it is launched");
            let all = step.gradients.buffer_mut().to_vec().expect("they are there");
            sums.resize(all.len(), 0.0);
            sums.iter_mut().zip(all).for_each(|(sum, own)| *sum += f64::from(own));
        }
        let parts = (numbers.len() / count) as f64;
        means.push(sums.into_iter().map(|sum| sum / parts).collect());
    }
    // The last one is the loss.
    for other in &means[1..] {
        for (place, (whole, mean)) in means[0].iter().zip(other).enumerate() {
            assert!((whole - mean).abs() < 1e-5 + 1e-3 * whole.abs(), "{place}: {whole}, {mean}");
        }
    }
}
