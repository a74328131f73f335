//! Comparing what a device computed with the reference, naming the first difference.

use anyhow::{Result, bail};
use std::fmt::Display;

/// How far a result may be from the reference.
#[derive(Clone, Copy, Debug)]
pub enum Tolerance {
    /// Not at all; two NaNs are equal.
    Exact,
    /// `|result - reference| <= absolute + relative * |reference|`
    Near {
        /// The absolute part.
        absolute: f64,
        /// The relative part.
        relative: f64,
    },
}

impl Tolerance {
    fn accepts(self, result: f64, reference: f64) -> bool {
        let equal = result == reference || (result.is_nan() && reference.is_nan());
        match self {
            Tolerance::Exact => equal,
            Tolerance::Near { absolute, relative } => {
                equal || (result - reference).abs() <= absolute + relative * reference.abs()
            }
        }
    }
}

/// Compares element by element.
///
/// # Errors
/// The first index that differs with both values, and how many differ in all; or the lengths, if those differ.
pub fn compare<T: Copy + Display + Into<f64>>(result: &[T], reference: &[T], tolerance: Tolerance) -> Result<()> {
    if result.len() != reference.len() {
        bail!("{} elements instead of {}", result.len(), reference.len());
    }
    let wrong = |index: &usize| !tolerance.accepts(result[*index].into(), reference[*index].into());
    let Some(first) = (0..result.len()).find(wrong) else {
        return Ok(());
    };
    let count = (first..result.len()).filter(wrong).count();
    bail!(
        "element {first} is {} instead of {} (tolerance {tolerance:?}); {count} of {} elements differ",
        result[first],
        reference[first],
        result.len()
    )
}

#[cfg(test)]
mod tests {
    use super::{Tolerance, compare};

    #[test]
    fn first_difference_is_named() {
        let error = compare(&[1.0, 2.0, 4.0, f64::NAN], &[1.0, 2.5, 4.5, f64::NAN], Tolerance::Exact).unwrap_err();
        assert_eq!(
            error.to_string(),
            "element 1 is 2 instead of 2.5 (tolerance Exact); 2 of 4 elements differ"
        );
        let near = Tolerance::Near {
            absolute: 0.25,
            relative: 0.1,
        };
        compare(&[1.0, 2.1], &[1.0, 2.5], near).unwrap();
        assert!(compare(&[f64::NAN], &[0.0], near).is_err());
        assert!(compare(&[0.0], &[0.0, 1.0], near).is_err());
    }
}
