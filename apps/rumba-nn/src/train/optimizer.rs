//! The optimizer.

use super::parameters::{Gradients, Parameters};
use crate::error::Result;
use crate::run::Nn;
use nn_kernels::gradient;
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
    /// A step of all parameters.
    ///
    /// # Errors
    /// The runtime's.
    pub fn step(&self, nn: &Nn, parameters: &mut Parameters, gradients: &Gradients) -> Result<()> {
        parameters.steps += 1;
        let corrections = self.betas.map(|beta| 1.0 - f64::from(beta).powf(parameters.steps as f64) as f32);
        let length = parameters.values.len();
        let [first, second] = &mut parameters.moments;
        let call = gradient::adam(
            gradients.of_parameters(),
            self.rate,
            self.decay,
            self.betas,
            corrections,
            &mut parameters.values,
            first,
            second,
        );
        Ok(nn.module.launch(LaunchConfig::for_each(length), call)?)
    }
}
