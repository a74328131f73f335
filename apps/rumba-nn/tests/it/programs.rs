//! Networks as programs: the memory of their tensors, what a launch reads, and what cannot be recorded.

use cuda_std::half::f16;
use rumba::array::Array;
use rumba::{Device, LaunchConfig};
use rumba_nn::example::{PTX, softsign};
use rumba_nn::layers::{Convolution, Filters, GroupNorm};
use rumba_nn::{Activation, Element, Error, Nn, Result, Run, Tensor, Weights};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use test_processes::alone;

/// A part of a network that halves images: a norm, a convolution, the same images twice, and sums of both.
struct Network<T> {
    norm: GroupNorm<T>,
    halving: Convolution<T>,
}

impl<T: Element> Network<T> {
    fn load(nn: &Nn) -> Result<Self> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
        let layer = |name| Ok::<_, Error>(Weights::open(nn, folder.join(name))?.at("layer"));
        Ok(Network {
            norm: GroupNorm::load(&layer("group_norm.safetensors")?, 12, 3, 1e-5)?,
            halving: Convolution::load(&layer("convolution_halving.safetensors")?, Filters::of_3(12, 20).halving())?,
        })
    }

    fn forward(&self, run: &Run, x: &Tensor<T, 4>) -> Result<Tensor<T, 4>> {
        let mut x = x.clone();
        for _ in 0..3 {
            x = run.add(&x, &self.norm.activated(run, &x, Activation::Silu)?)?;
        }
        let halved = self.halving.activated(run, &x, Activation::Gelu)?;
        run.upsample(&halved)
    }
}

const IMAGES: [usize; 4] = [2, 6, 6, 12];
const RESULTS: [usize; 4] = [2, 6, 6, 20];

fn images(device: &Device, seed: usize) -> rumba::Result<Array<f32, 4>> {
    let numbers: Vec<f32> = (0..IMAGES.iter().product()).map(|i| ((i * seed) % 23) as f32 / 11.0 - 1.0).collect();
    Array::from_slice(device, IMAGES, &numbers)
}

fn run_once<T: Element>(nn: &Nn, network: &Network<T>, images: &Array<f32, 4>) -> Result<Vec<f32>> {
    let mut results = Array::zeros(nn.device(), RESULTS)?;
    nn.run(|run| run.write(&network.forward(run, &run.tensor(images.view())?)?, results.view_mut()))?;
    Ok(results.to_vec()?)
}

fn replays_as_it_runs<T: Element>(device: &Device) -> Result<()> {
    let nn = Nn::new(device)?;
    let network = Network::<T>::load(&nn)?;
    let (mut input, mut results) = (images(device, 5)?, Array::zeros(device, RESULTS)?);
    let program = nn.program(|run| {
        let x = run.tensor(input.view())?;
        run.write(&network.forward(run, &x)?, results.view_mut())
    })?;
    assert_eq!(results.to_vec()?, run_once(&nn, &network, &input)?, "what it did when it was planned");
    for seed in [7, 11] {
        let other = images(device, seed)?;
        input.copy_from(&other.view())?;
        program.launch()?;
        let (own, expected) = (results.to_vec()?, run_once(&nn, &network, &other)?);
        assert_eq!(own, expected);
        assert!(own.iter().any(|x| *x != own[0]));
    }
    Ok(())
}

#[test]
fn a_program_computes_what_a_run_does() {
    let findings = rumba::check(|device| {
        replays_as_it_runs::<f32>(device).expect("the network runs in f32");
        replays_as_it_runs::<f16>(device).expect("the network runs in f16");
        Ok(())
    });
    findings.expect("the device is a software device").assert_none();
}

#[test]
fn recording_and_replaying_allocate_nothing_but_the_plan() {
    alone(&[("RUMBA_DEVICE", "soft")], || {
        let device = Device::new()?;
        let nn = Nn::new(&device)?;
        let network = Network::<f32>::load(&nn)?;
        let (input, mut results) = (images(&device, 5)?, Array::zeros(&device, RESULTS)?);
        // Bytes in use before and after the network, of each time that it is called.
        let used = || Ok::<_, Error>(device.memory_info()?.total - device.memory_info()?.free);
        let seen = RefCell::new(Vec::new());
        let own = Cell::new(0);
        let before = used()?;
        let program = nn.program(|run| {
            let start = used()?;
            let x = run.tensor(input.view())?;
            let y = network.forward(run, &x)?;
            run.write(&y, results.view_mut())?;
            own.set(size_of::<f32>() * (x.len() + y.len()));
            seen.borrow_mut().push([start, used()?]);
            Ok(())
        })?;
        let seen = seen.into_inner();
        let [[_, first], [start, end]] = seen[..] else { panic!("the network is called twice: {seen:?}") };
        assert!(first >= before + own.get(), "the first call allocates as it goes");
        assert_eq!(end, start, "the second one has what it needs");
        assert!(start >= before + program.bytes());
        // The size of three tensors that are live at once, not that of all sixteen.
        let largest = size_of::<f32>() * RESULTS.iter().product::<usize>();
        assert!(program.bytes() <= 3 * largest, "{} bytes", program.bytes());
        let recorded = used()?;
        for _ in 0..3 {
            program.launch()?;
        }
        device.synchronize()?;
        assert_eq!(used()?, recorded);
        Ok(())
    });
}

#[test]
fn own_kernels_are_recorded_with_the_layers() -> Result<()> {
    let device = Device::new()?;
    let (nn, module) = (Nn::new(&device)?, device.load(PTX)?);
    let mut x = Array::from_slice(&device, [3], &[1.0_f32, -1.0, 3.0])?;
    let mut y = Array::zeros(&device, [3])?;
    let program = nn.program(|run| {
        let x = run.tensor::<f32, 1>(x.view())?;
        let own = run.make(x.shape(), |reads, y| {
            let y = y.into_slice().expect("a new tensor lies in one piece");
            run.launch(&module, LaunchConfig::for_each(3), softsign(reads.slice(&x)?, y))
        })?;
        run.write(&run.add(&own, &x)?, y.view_mut())
    })?;
    assert_eq!(program.graph().kernels().filter(|name| *name == "softsign").count(), 1);
    x.copy_from_slice(&[0.0, 3.0, -1.0])?;
    program.launch()?;
    assert_eq!(y.to_vec()?, [0.0, 3.75, -1.5]);
    Ok(())
}

#[test]
fn a_network_that_changes_its_mind_is_refused() -> Result<()> {
    let device = Device::new()?;
    let nn = Nn::new(&device)?;
    let x = Array::full(&device, [100], 1.0_f32)?;
    let calls = Cell::new(0);
    // For each network, its behavior in the second call.
    type Second = fn(&Run, Tensor<f32, 1>) -> Result<()>;
    let ways: [(&str, Second); 4] = [
        ("another tensor", |run, x| run.add(&x, &x).map(drop)),
        ("a larger one", |run, _| run.make::<f32, 1>([1000], |_, mut y| Ok(y.fill(0.0)?)).map(drop)),
        ("another order of drops", |run, x| {
            let y = run.activate(&x, Activation::Silu)?;
            drop((y, x));
            Ok(())
        }),
        ("less", |_, _| Ok(())),
    ];
    for (way, second) in ways {
        calls.set(0);
        let program = nn.program(|run| {
            calls.set(calls.get() + 1);
            let x = run.tensor::<f32, 1>(x.view())?;
            if calls.get() == 1 {
                let y = run.activate(&x, Activation::Silu)?;
                drop(x);
                drop(y);
                return Ok(());
            }
            second(run, x)
        });
        assert!(matches!(program, Err(Error::Changed)), "{way}: {program:?}");
    }
    Ok(())
}

#[test]
fn tensors_stay_in_their_run() -> Result<()> {
    let device = Device::new()?;
    let nn = Nn::new(&device)?;
    let x = Array::full(&device, [4], 1.0_f32)?;
    let kept = nn.run(|run| run.tensor::<f32, 1>(x.view()))?;
    let other = nn.run(|run| run.activate(&kept, Activation::Silu));
    assert!(matches!(other, Err(Error::OtherRun)), "{other:?}");
    let nested = nn.run(|run| {
        run.make::<f32, 1>([4], |_, _| {
            run.tensor::<f32, 1>(x.view())?;
            Ok(())
        })
    });
    assert!(matches!(nested, Err(Error::Nested)), "{nested:?}");
    Ok(())
}

#[test]
fn layers_name_what_they_do_not_take() -> Result<()> {
    let device = Device::new()?;
    let nn = Nn::new(&device)?;
    let network = Network::<f32>::load(&nn)?;
    let x = Array::zeros(&device, [1, 4, 4, 20])?;
    let error = nn.run(|run| network.forward(run, &run.tensor(x.view())?)).expect_err("it has 20 channels");
    assert_eq!(error.to_string(), "GroupNorm takes images with 12 channels, not a tensor of shape [1, 4, 4, 20]");
    Ok(())
}
