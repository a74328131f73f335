//! Samplers: how a picture is drawn from noise in steps, by what a network says of it.
//!
//! A noisy picture is `signal * picture + noise * noise of a normal distribution`. All samplers here go from one such [`Level`] to the next:
//! they take what the network says as a picture without noise, and make a sum of that and the noisy picture. They differ in the levels, in
//! whether noisy pictures grow with their noise, and in whether the picture before takes part. So each step is a few numbers, and the same
//! launches do for all of them. Settings and names are those of diffusers' schedulers.

use crate::error::{Error, Result};
use crate::settings::Settings;
use serde_json::{Value, json};
use std::fmt;

/// How a picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampler {
    /// Song, Meng, Ermon 2021, without noise between the steps: diffusers' `DDIMScheduler`.
    Ddim,
    /// Euler's method for the equation of Karras et al. 2022: `EulerDiscreteScheduler`.
    Euler,
    /// DPM-Solver++ (2M) of Lu et al. 2022, which has the fewest steps: `DPMSolverMultistepScheduler`.
    Dpm,
}

impl fmt::Display for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sampler::Ddim => "DDIM",
            Sampler::Euler => "Euler",
            Sampler::Dpm => "DPM-Solver++ (2M)",
        })
    }
}

/// The quantity that a network predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prediction {
    /// The noise.
    Epsilon,
    /// The velocity of Salimans, Ho 2022: `signal * noise - noise * picture`.
    Velocity,
    /// The picture.
    Sample,
}

/// The times of steps: the second table of Lin et al. 2024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Multiples of a whole number, from 0 on.
    Leading,
    /// From the first to the last.
    Linspace,
    /// From the last on downwards.
    Trailing,
}

/// The noise of each time that a network was trained on, and the settings of samplers.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// How much of a picture is left at each time, squared.
    signals: Vec<f64>,
    prediction: Prediction,
    /// The spacing from the file, if given; otherwise each sampler has its own spacing.
    spacing: Option<Spacing>,
    offset: usize,
    /// Whether DDIM ends without noise, or with that of the first time.
    ends_clean: bool,
    /// Whether the others do.
    last_is_zero: bool,
    /// Whether the last of few steps looks at one picture only.
    lower_order_final: bool,
    /// Whether the last step does in any case.
    euler_at_final: bool,
    solver_order: usize,
    /// The sampler that the file is of.
    sampler: Option<Sampler>,
    /// The name in the file.
    class: String,
}

/// How much there is of the picture and of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    signal: f64,
    noise: f64,
}

/// A step of a sampler: what is computed of a noisy picture `x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The time that the network is told.
    pub time: f64,
    /// The network is given `x` times this, and predicts `e`.
    pub input: f64,
    /// The picture is `m = p x + q e`.
    pub picture: [f64; 2],
    /// The next noisy picture is `a x + b m + c` times the `m` of the step before.
    pub next: [f64; 3],
    /// How much there is of a picture and of noise before this step.
    pub level: [f64; 2],
}

impl Schedule {
    /// Reads the settings of a scheduler of diffusers.
    pub(crate) fn read(settings: &Settings) -> Result<Schedule> {
        settings.fixed(&[
            ("trained_betas", Value::Null),
            ("rescale_betas_zero_snr", json!(false)),
            ("thresholding", json!(false)),
            ("use_karras_sigmas", json!(false)),
            ("use_exponential_sigmas", json!(false)),
            ("use_beta_sigmas", json!(false)),
            ("use_lu_lambdas", json!(false)),
            ("use_flow_sigmas", json!(false)),
            ("interpolation_type", json!("linear")),
            ("timestep_type", json!("discrete")),
            ("algorithm_type", json!("dpmsolver++")),
            ("solver_type", json!("midpoint")),
            ("variance_type", Value::Null),
        ])?;
        let (first, last) = (settings.number("beta_start", Some(0.0001))?, settings.number("beta_end", Some(0.02))?);
        // The exponent of the betas.
        let power = settings.choice("beta_schedule", Some(1), &[("linear", 1), ("scaled_linear", 2)])?;
        let count = settings.count("num_train_timesteps", Some(1000))?;
        if !(0.0 < first && first <= last && last < 1.0) {
            return settings
                .refuse("beta_start", "noise has to grow from `beta_start`, above 0, to `beta_end`, below 1");
        }
        let root = |beta: f64| beta.powf(1.0 / f64::from(power));
        let mut left = 1.0;
        let signals = (0..count).map(|time| {
            let part = time as f64 / (count.max(2) - 1) as f64;
            left *= 1.0 - (root(first) + (root(last) - root(first)) * part).powi(power);
            left
        });
        let class = settings.get("_class_name").and_then(Value::as_str).unwrap_or_default();
        let solver_order = settings.count("solver_order", Some(2))?;
        if solver_order > 2 {
            return settings.refuse("solver_order", "it has to be 1 or 2");
        }
        Ok(Schedule {
            signals: signals.collect(),
            prediction: settings.choice(
                "prediction_type",
                Some(Prediction::Epsilon),
                &[
                    ("epsilon", Prediction::Epsilon),
                    ("v_prediction", Prediction::Velocity),
                    ("sample", Prediction::Sample),
                ],
            )?,
            spacing: settings.choice(
                "timestep_spacing",
                Some(None),
                &[
                    ("leading", Some(Spacing::Leading)),
                    ("linspace", Some(Spacing::Linspace)),
                    ("trailing", Some(Spacing::Trailing)),
                ],
            )?,
            offset: settings.whole("steps_offset", 0)?,
            ends_clean: settings.flag("set_alpha_to_one", true)?,
            last_is_zero: settings.choice("final_sigmas_type", Some(true), &[("zero", true), ("sigma_min", false)])?,
            lower_order_final: settings.flag("lower_order_final", true)?,
            euler_at_final: settings.flag("euler_at_final", false)?,
            solver_order,
            sampler: match class {
                "DDIMScheduler" => Some(Sampler::Ddim),
                "EulerDiscreteScheduler" => Some(Sampler::Euler),
                "DPMSolverMultistepScheduler" => Some(Sampler::Dpm),
                _ => None,
            },
            class: class.to_owned(),
        })
    }

    /// The sampler that the folder names, if supported.
    pub fn sampler(&self) -> Option<Sampler> {
        self.sampler
    }

    /// The name of the scheduler in the folder.
    pub fn class(&self) -> &str {
        &self.class
    }

    /// The steps of a sampler, of which there are `count` from noise to a picture, without those before `first`.
    ///
    /// # Errors
    /// [`Error::Steps`].
    pub fn steps(&self, sampler: Sampler, count: usize, first: usize) -> Result<Vec<Step>> {
        let times = self.times(sampler, count)?;
        let level = |noise: f64| match sampler {
            // Noisy pictures are as large as noise in these, and grow with it in Euler's.
            Sampler::Ddim | Sampler::Dpm => {
                let signal = (noise * noise + 1.0).sqrt().recip();
                Level { signal, noise: noise * signal }
            }
            Sampler::Euler => Level { signal: 1.0, noise },
        };
        let mut levels: Vec<Level> = times.iter().map(|&time| level(self.noise(time))).collect();
        // Behind the last.
        levels.push(level(match sampler {
            Sampler::Ddim if self.ends_clean => 0.0,
            Sampler::Ddim => self.noise(0.0),
            Sampler::Euler | Sampler::Dpm if self.last_is_zero => 0.0,
            Sampler::Euler | Sampler::Dpm => self.noise(0.0),
        }));
        let mut steps = Vec::new();
        for (index, &time) in times.iter().enumerate().skip(first) {
            let from = levels[index];
            let to = match sampler {
                // It goes as far as times are apart when they are even, which is not always where the next step begins.
                Sampler::Ddim => {
                    let next = time - (self.signals.len() / count) as f64;
                    if next < 0.0 { levels[count] } else { level(self.noise(next)) }
                }
                Sampler::Euler | Sampler::Dpm => levels[index + 1],
            };
            let [a, b] = from.to(to);
            let mut next = [a, b, 0.0];
            if sampler == Sampler::Dpm && index > first && !self.looks_at_one(index, count) {
                // The second order: the line through this picture and the one before, half a step further.
                let before = from.time() - levels[index - 1].time();
                let further = 0.5 * b * (to.time() - from.time()) / before;
                next = [a, b + further, -further];
            }
            steps.push(Step {
                time,
                input: from.length().recip(),
                picture: from.picture(self.prediction),
                next,
                level: [from.signal, from.noise],
            });
        }
        Ok(steps)
    }

    /// How large the noise is that a picture is drawn from.
    pub fn beginning(&self, sampler: Sampler, steps: &[Step]) -> f64 {
        match sampler {
            Sampler::Ddim | Sampler::Dpm => 1.0,
            Sampler::Euler => {
                let noise = steps[0].level[1];
                match self.spacing(sampler) {
                    Spacing::Linspace | Spacing::Trailing => noise,
                    Spacing::Leading => (noise * noise + 1.0).sqrt(),
                }
            }
        }
    }

    /// Whether a step of DPM-Solver++ is of the first order because it is the last.
    fn looks_at_one(&self, index: usize, count: usize) -> bool {
        let is_last = index + 1 == count;
        self.solver_order == 1
            || is_last && (self.euler_at_final || self.last_is_zero || self.lower_order_final && count < 15)
    }

    /// How much larger the noise of a time is than the picture. Between times it lies on a line.
    fn noise(&self, time: f64) -> f64 {
        let noise = |time: usize| (1.0 / self.signals[time.min(self.signals.len() - 1)] - 1.0).sqrt();
        let (below, part) = (time as usize, time.fract());
        noise(below) + (noise(below + 1) - noise(below)) * part
    }

    fn spacing(&self, sampler: Sampler) -> Spacing {
        self.spacing.unwrap_or(match sampler {
            Sampler::Ddim => Spacing::Leading,
            Sampler::Euler | Sampler::Dpm => Spacing::Linspace,
        })
    }

    /// The times of the steps, the last first.
    fn times(&self, sampler: Sampler, count: usize) -> Result<Vec<f64>> {
        let trained = self.signals.len();
        // In DPM-Solver++ there is one more behind the last step, where none is taken.
        let more = usize::from(sampler == Sampler::Dpm);
        let spacing = self.spacing(sampler);
        let (steps, most) = (count, trained - more);
        if count == 0 || count > most {
            return Err(Error::Steps { steps, most });
        }
        let times = (0..count).map(|step| match spacing {
            Spacing::Leading => ((count - 1 - step + more) * (trained / (count + more)) + self.offset) as f64,
            Spacing::Linspace => {
                let parts = count - 1 + more;
                let time = match parts {
                    0 => 0.0,
                    parts => ((parts - step) * (trained - 1)) as f64 / parts as f64,
                };
                if sampler == Sampler::Euler { time } else { time.round_ties_even() }
            }
            Spacing::Trailing => {
                (trained as f64 - step as f64 * (trained as f64 / count as f64)).round_ties_even() - 1.0
            }
        });
        let times: Vec<f64> = times.collect();
        // An offset may lead behind the last time.
        if times.iter().any(|time| *time > (trained - 1) as f64) {
            return Err(Error::Steps { steps, most: most - self.offset.min(most) });
        }
        Ok(times)
    }
}

impl Level {
    /// How large noisy pictures are.
    fn length(self) -> f64 {
        self.signal.hypot(self.noise)
    }

    /// The step variable of DPM-Solver: half the logarithm of the ratio of signal to noise.
    fn time(self) -> f64 {
        (self.signal / self.noise).ln()
    }

    /// The picture, as a sum of a noisy one and of what a network predicts.
    fn picture(self, prediction: Prediction) -> [f64; 2] {
        let (Level { signal, noise }, length) = (self, self.length());
        match prediction {
            Prediction::Epsilon => [signal.recip(), -noise / signal],
            Prediction::Velocity => [signal / (length * length), -noise / length],
            Prediction::Sample => [0.0, 1.0],
        }
    }

    /// A picture with other noise, as a sum of a noisy one and of one without noise.
    fn to(self, next: Level) -> [f64; 2] {
        let ratio = next.noise / self.noise;
        [ratio, next.signal - ratio * self.signal]
    }
}

#[cfg(test)]
mod tests {
    use super::{Sampler, Schedule, Step};
    use crate::settings::Settings;
    use serde_json::Value;

    fn schedule(config: &str) -> Schedule {
        let settings = Settings::of("scheduler_config.json".into(), config.as_bytes()).expect("it is JSON");
        Schedule::read(&settings).expect("it is supported")
    }

    fn numbers(value: &Value) -> Vec<f64> {
        let numbers = value.as_array().expect("a list");
        numbers.iter().map(|number| number.as_f64().expect("a number")).collect()
    }

    /// The stand-in for a network in `tests/goldens/make.py`, and the results of diffusers with it.
    #[test]
    fn samplers_do_what_those_of_diffusers_do() {
        let file = include_str!("../tests/goldens/schedules.json");
        let cases: Vec<Value> = serde_json::from_str(file).expect("it is JSON");
        assert_eq!(cases.len(), 135);
        for case in &cases {
            let sampler = match case["sampler"].as_str() {
                Some("ddim") => Sampler::Ddim,
                Some("euler") => Sampler::Euler,
                Some("dpm") => Sampler::Dpm,
                other => panic!("{other:?} is none"),
            };
            let schedule = schedule(&case["config"].to_string());
            let [count, first] = ["steps", "first"].map(|key| case[key].as_u64().expect("a number") as usize);
            let steps = schedule.steps(sampler, count, first).expect("there are as many");
            let times = numbers(&case["times"]);
            assert_eq!(steps.len(), times.len());
            assert!(steps.iter().zip(&times).all(|(step, time)| (step.time - time).abs() < 1e-4), "{case}");

            let mut x = [0.7, -1.3, 0.1, 2.0];
            if first == 0 {
                x = x.map(|x| x * schedule.beginning(sampler, &steps));
            } else {
                let [signal, noise] = steps[0].level;
                for (x, picture) in x.iter_mut().zip([0.5, -0.5, 0.25, 1.0]) {
                    *x = signal * picture + noise * *x;
                }
            }
            let mut before = [0.0; 4];
            for Step { time, input, picture: [p, q], next: [a, b, c], .. } in steps {
                for (x, before) in x.iter_mut().zip(&mut before) {
                    let said = (3.0 * input * *x + time / 500.0).sin();
                    let picture = p * *x + q * said;
                    *x = a * *x + b * picture + c * *before;
                    *before = picture;
                }
            }
            for (own, expected) in x.iter().zip(numbers(&case["result"])) {
                // Diffusers computes in f32.
                assert!((own - expected).abs() < 1e-4 * expected.abs().max(1.0), "{x:?}: {case}");
            }
        }
    }

    #[test]
    fn a_schedule_has_as_many_steps_as_times() {
        let schedule = schedule(r#"{"_class_name": "PNDMScheduler", "steps_offset": 1, "num_train_timesteps": 50}"#);
        assert_eq!((schedule.sampler(), schedule.class()), (None, "PNDMScheduler"));
        for (sampler, most) in [(Sampler::Ddim, 49), (Sampler::Euler, 50), (Sampler::Dpm, 49)] {
            assert_eq!(schedule.steps(sampler, most, 0).expect("as many").len(), most);
            let error = schedule.steps(sampler, most + 1, 0).expect_err("too many").to_string();
            assert_eq!(error, format!("{} steps: a schedule has 1 to {most}", most + 1));
            schedule.steps(sampler, 0, 0).expect_err("none");
        }
    }
}
