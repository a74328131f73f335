//! Work shared out to several devices: each gets a part of a range or of a slice, and a thread of the host.
//!
//! Parts are equal but for one element; devices of different speeds are not told apart.

use crate::base::error::{Error, Result};
use crate::base::recording;
use crate::devices::device::Device;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

/// Cuts `0..length` into one part for each device, and runs `work` with each device and its part, at the same time. The
/// results are in the order of the devices.
///
/// # Errors
/// The first of `work`'s, in the order of the devices; [`Error::NoDevice`] without devices.
///
/// # Examples
/// ```
/// use rumba::{Device, split};
/// # use rumba::test_kernels::{PTX, scale};
///
/// let input: Vec<f32> = (0..1000).map(|i| i as f32).collect();
/// let parts = split(&Device::all()?, input.len(), |device, part| {
///     let module = device.load(PTX)?;
///     let mut values = device.buffer_from(&input[part])?;
///     module.for_each(values.len(), scale(2.0, &mut values))?;
///     values.to_vec()
/// })?;
/// assert!(parts.concat().iter().zip(&input).all(|(output, input)| *output == 2.0 * input));
/// # Ok::<(), rumba::Error>(())
/// ```
pub fn split<R: Send>(
    devices: &[Device],
    length: usize,
    work: impl Fn(&Device, Range<usize>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    at_once(devices, parts(length, devices.len()), work)
}

/// Cuts a slice into one part for each device, and runs `work` with each device, the index of the part's first element
/// and the part, at the same time.
///
/// # Errors
/// As [`split`].
///
/// # Examples
/// ```
/// use rumba::{Device, split_mut};
/// # use rumba::test_kernels::{PTX, scale};
///
/// let mut values = vec![1.0_f32; 1000];
/// split_mut(&Device::all()?, &mut values, |device, _, part| {
///     device.load(PTX)?.for_each(part.len(), scale(3.0, part))
/// })?;
/// assert_eq!(values, [3.0; 1000]);
/// # Ok::<(), rumba::Error>(())
/// ```
pub fn split_mut<T: Send, R: Send>(
    devices: &[Device],
    values: &mut [T],
    work: impl Fn(&Device, usize, &mut [T]) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let ranges = parts(values.len(), devices.len());
    let mut rest = values;
    let slices = ranges.map(|range| {
        let (part, behind) = std::mem::take(&mut rest).split_at_mut(range.len());
        rest = behind;
        (range.start, part)
    });
    at_once(devices, slices, |device, (start, part)| work(device, start, part))
}

/// `count` ranges one behind the other, the first ones longer by one where it does not come out even.
fn parts(length: usize, count: usize) -> impl Iterator<Item = Range<usize>> {
    let (each, longer) = (length.checked_div(count).unwrap_or(0), length.checked_rem(count).unwrap_or(0));
    let start = move |index: usize| index * each + index.min(longer);
    (0..count).map(move |index| start(index)..start(index + 1))
}

fn at_once<P: Send, R: Send>(
    devices: &[Device],
    parts: impl Iterator<Item = P>,
    work: impl Fn(&Device, P) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    if devices.is_empty() {
        let empty = "there is no device to share the work out to: the list of devices is empty";
        return Err(Error::NoDevice(empty.to_owned()));
    }
    let (work, recorder) = (&work, recording::own());
    thread::scope(|scope| {
        let pairs = devices.iter().zip(parts);
        let threads: Vec<_> = pairs
            .map(|(device, part)| {
                let recorder = recorder.clone();
                scope.spawn(move || recording::within(recorder, || work(device, part)))
            })
            .collect();
        let outcomes: Vec<_> =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect();
        outcomes.into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn parts_cover_everything_once() {
        for (length, count) in [(0, 1), (1, 4), (10, 3), (12, 4), (7, 8)] {
            let all: Vec<_> = parts(length, count).collect();
            assert_eq!(all.len(), count);
            assert_eq!(all.iter().cloned().flatten().collect::<Vec<_>>(), (0..length).collect::<Vec<_>>());
            let lengths = all.iter().map(ExactSizeIterator::len);
            assert!(lengths.clone().max().unwrap_or(0) - lengths.min().unwrap_or(0) <= 1);
        }
        assert_eq!(parts(5, 0).count(), 0);
    }
}
