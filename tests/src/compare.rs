//! Comparing what a device computed with the reference, or with what another device computed, naming the first difference.

use anyhow::{Result, bail};
use std::cell::RefCell;
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
    /// Not at all, but for one element in so many.
    AllBut {
        /// How many.
        one_in: usize,
    },
}

impl Tolerance {
    fn accepts(self, result: f64, reference: f64) -> bool {
        let equal = result == reference || (result.is_nan() && reference.is_nan());
        match self {
            Tolerance::Exact | Tolerance::AllBut { .. } => equal,
            Tolerance::Near { absolute, relative } => {
                equal || (result - reference).abs() <= absolute + relative * reference.abs()
            }
        }
    }
}

/// Results of a case, and how far they may be from what is right.
#[derive(Clone, Debug)]
pub struct Results {
    /// The elements; every type that is compared fits.
    pub values: Vec<f64>,
    /// As the case says.
    pub tolerance: Tolerance,
}

thread_local! {
    static RECORDED: RefCell<Option<Vec<Results>>> = const { RefCell::new(None) };
}

/// Records the values that `work` passes to [`compare`], instead of comparing them.
///
/// # Errors
/// What `work` returns.
pub fn record(work: impl FnOnce() -> Result<()>) -> Result<Vec<Results>> {
    RECORDED.set(Some(Vec::new()));
    let outcome = work();
    let recorded = RECORDED.take().unwrap_or_default();
    outcome.map(|()| recorded)
}

/// Compares element by element.
///
/// # Errors
/// The first index that differs with both values, and how many differ in all; or the lengths, if those differ.
pub fn compare<T: Copy + Display + Into<f64>>(result: &[T], reference: &[T], tolerance: Tolerance) -> Result<()> {
    let is_recorded = RECORDED.with_borrow_mut(|recorded| {
        let Some(recorded) = recorded else { return false };
        recorded.push(Results { values: result.iter().map(|&value| value.into()).collect(), tolerance });
        true
    });
    if is_recorded {
        return Ok(());
    }
    if result.len() != reference.len() {
        bail!("{} elements instead of {}", result.len(), reference.len());
    }
    let wrong = |index: &usize| !tolerance.accepts(result[*index].into(), reference[*index].into());
    let Some(first) = (0..result.len()).find(wrong) else {
        return Ok(());
    };
    let count = (first..result.len()).filter(wrong).count();
    if let Tolerance::AllBut { one_in } = tolerance
        && count * one_in <= result.len()
    {
        return Ok(());
    }
    bail!(
        "element {first} is {} instead of {} (tolerance {tolerance:?}); {count} of {} elements differ",
        result[first],
        reference[first],
        result.len()
    )
}

#[cfg(test)]
mod tests {
    use super::{Tolerance, compare, record};

    #[test]
    fn what_is_recorded_is_not_compared() {
        let recorded = record(|| compare(&[1_u32, 2], &[3, 4], Tolerance::Exact)).unwrap();
        assert_eq!((recorded.len(), &*recorded[0].values), (1, &[1.0, 2.0][..]));
        assert!(compare(&[1_u32, 2], &[3, 4], Tolerance::Exact).is_err());
    }

    #[test]
    fn few_may_differ() {
        let few = Tolerance::AllBut { one_in: 4 };
        compare(&[1, 2, 3, 4], &[1, 2, 3, 5], few).unwrap();
        assert!(compare(&[1, 2, 3], &[1, 2, 4], few).is_err());
    }

    #[test]
    fn first_difference_is_named() {
        let error = compare(&[1.0, 2.0, 4.0, f64::NAN], &[1.0, 2.5, 4.5, f64::NAN], Tolerance::Exact).unwrap_err();
        assert_eq!(error.to_string(), "element 1 is 2 instead of 2.5 (tolerance Exact); 2 of 4 elements differ");
        let near = Tolerance::Near { absolute: 0.25, relative: 0.1 };
        compare(&[1.0, 2.1], &[1.0, 2.5], near).unwrap();
        assert!(compare(&[f64::NAN], &[0.0], near).is_err());
        assert!(compare(&[0.0], &[0.0, 1.0], near).is_err());
    }
}
