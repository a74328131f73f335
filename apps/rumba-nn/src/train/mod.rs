//! Training in `f32`: parameters and their gradients, each in one piece of memory, layers with a backward pass, and Adam.
//!
//! There is no automatic differentiation. A network has a forward and a backward pass, which it writes as one function of a [`Run`](crate::Run):
//! each layer's `backward` takes the gradient of its result, writes those of its parameters, and makes that of its input. Processes that
//! train together average their gradients with [`Buckets`], as part of the program.
//!
//! ```
//! use rumba::array::Array;
//! use rumba_nn::Nn;
//! use rumba_nn::train::{Adam, Gradients, Layout, Parameters};
//!
//! let device = rumba::Device::new()?;
//! let nn = Nn::new(&device)?;
//! let mut layout = Layout::new();
//! let layer = layout.linear("layer", [2, 2]);
//! let mut seed = 0.0;
//! let mut parameters = Parameters::new(&device, &layout, || { seed += 0.37_f32; seed.fract() })?;
//! let mut gradients = Gradients::new(&device, &layout)?;
//!
//! // Points are of class 0 if their first number is larger.
//! let points = Array::from_slice(&device, [4, 2], &[1.0, 0.0, 0.0, 1.0, 3.0, 2.0, -1.0, 4.0_f32])?;
//! let classes = device.buffer_from(&[0, 1, 0, 1])?;
//! let adam = Adam { rate: 0.05, ..Adam::default() };
//! let step = nn.program(|run| {
//!     let x = run.tensor(points.view())?;
//!     let logits = layer.forward(run, &parameters, &x)?;
//!     let gradient = run.cross_entropy(&logits, classes.as_slice(), &mut gradients)?;
//!     layer.backward(run, &x, &gradient, &mut gradients)?;
//!     adam.step(run, &mut parameters, &gradients)
//! })?;
//! for _ in 0..100 {
//!     step.launch()?;
//! }
//! let losses = parameters.losses(100)?;
//! assert!(losses[99] < losses[0] / 2.0, "{losses:?}");
//! # Ok::<(), rumba_nn::Error>(())
//! ```

mod buckets;
mod layers;
mod optimizer;
mod parameters;

pub use buckets::{Buckets, Layer};
pub use layers::{Convolution, Convolved, Linear};
pub use optimizer::Adam;
pub use parameters::{Gradients, Layout, Parameters};
