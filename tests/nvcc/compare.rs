//! Comparison of results with a reference: exact, or within a relative error.

use std::fmt::Debug;

use anyhow::{Result, bail};

/// An error that names the first of the elements that differ.
pub(crate) fn equal<T: PartialEq + Debug>(what: &str, found: &[T], expected: &[T]) -> Result<()> {
    report(what, found, expected, |a, b| a == b)
}

/// The same, for numbers that may differ by `tolerance`, relative to the larger of 1 and the expected one.
pub(crate) fn close<T: Copy + Into<f64> + Debug>(
    what: &str,
    found: &[T],
    expected: &[T],
    tolerance: f64,
) -> Result<()> {
    report(what, found, expected, |a, b| {
        let (a, b): (f64, f64) = ((*a).into(), (*b).into());
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * b.abs().max(1.0)
    })
}

fn report<T: Debug>(what: &str, found: &[T], expected: &[T], same: impl Fn(&T, &T) -> bool) -> Result<()> {
    if found.len() < expected.len() {
        bail!("{what}: {} elements instead of {}", found.len(), expected.len());
    }
    let wrong = || found.iter().zip(expected).enumerate().filter(|(_, (a, b))| !same(a, b));
    if let Some((at, (a, b))) = wrong().next() {
        let count = wrong().count();
        bail!("{what}: element {at} is {a:?} instead of {b:?}; {count} of {} differ", expected.len());
    }
    Ok(())
}
