//! The optimizer.

use super::parameters::{Gradients, Parameters};
use crate::error::Result;
use crate::run::Run;
use nn_kernels::gradient::{self, Rates};
use rumba::LaunchConfig;

/// Adam (Kingma, Ba 2015) with decoupled weight decay (Loshchilov, Hutter 2019): PyTorch's `AdamW`.
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    /// How far a step goes.
    pub rate: f32,
    /// How much of the rate each parameter becomes smaller by.
    pub decay: f32,
    /// How much of the moments of the gradient is kept.
    pub betas: [f32; 2],
}

impl Default for Adam {
    fn default() -> Self {
        Adam { rate: 1e-3, decay: 0.01, betas: [0.9, 0.999] }
    }
}

impl Adam {
    /// A step of all parameters, on the run's stream: the last part of a training step. In the first call of [`Nn::program`](crate::Nn::program)
    /// the method does nothing.
    ///
    /// # Errors
    /// The runtime's.
    pub fn step(&self, run: &Run, parameters: &mut Parameters, gradients: &Gradients) -> Result<()> {
        if run.plans() {
            return Ok(());
        }
        let logarithms = self.betas.map(|beta| f64::from(beta).ln() as f32);
        let rates = Rates { rate: self.rate, decay: self.decay, betas: self.betas, logarithms };
        let Parameters { values, moments: [first, second], steps, losses, .. } = parameters;
        let config = LaunchConfig::for_each(values.len());
        let call = gradient::adam(gradients.as_slice(), rates, values, first, second, steps, losses);
        run.launch(run.module(), config, call)
    }
}
