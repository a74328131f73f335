//! Norms of any number of channels and groups against sums in f64, under every check: each way in which warps share an image out.

use crate::goldens::checked;
use cuda_std::half::{bf16, f16};
use rumba::array::Array;
use rumba_nn::layers::{GroupNorm, LayerNorm};
use rumba_nn::{Activation, Element, Nn, Result, Weights};
use safetensors::tensor::{Dtype, TensorView, serialize};

/// Numbers that all types have, around a mean that is larger than they differ.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) % 127) as f32 / 16.0 + 8.0).collect()
}

/// `weight` and `bias` of a norm.
fn weights(nn: &Nn, scale: &[f32], shift: &[f32]) -> Result<Weights> {
    let tensor = |numbers: &[f32]| -> Vec<u8> { numbers.iter().flat_map(|x| x.to_le_bytes()).collect() };
    let (scale, shift) = (tensor(scale), tensor(shift));
    let shape = vec![scale.len() / 4];
    let view = |bytes| TensorView::new(Dtype::F32, shape.clone(), bytes).expect("a vector of numbers");
    let file = serialize([("weight", view(&scale)), ("bias", view(&shift))], None).expect("a file of two tensors");
    Weights::from_bytes(nn, "norm.safetensors", file)
}

/// `(x - mean) / deviation` of the numbers at some places.
fn normalise(x: &mut [f64], places: &[usize], epsilon: f64) {
    let count = places.len() as f64;
    let mean = places.iter().map(|&i| x[i]).sum::<f64>() / count;
    let variance = places.iter().map(|&i| (x[i] - mean).powi(2)).sum::<f64>() / count;
    for &i in places {
        x[i] = (x[i] - mean) / (variance + epsilon).sqrt();
    }
}

/// `[images, pixels, channels, groups]`.
fn group_norm<T: Element>([images, pixels, channels, groups]: [usize; 4], tolerance: f64) {
    let (x, rows) = (numbers(images * pixels * channels, 1), numbers(images * channels, 2));
    let (scale, shift) = (numbers(channels, 3), numbers(channels, 4));
    let mut results = Vec::new();
    let findings = rumba::check(|device| {
        checked((|| {
            let nn = Nn::new(device)?;
            let norm = GroupNorm::<T>::load(&weights(&nn, &scale, &shift)?, channels, groups, 1e-5)?;
            let shape = [images, pixels, 1, channels];
            let (x, rows) =
                (Array::from_slice(device, shape, &x)?, Array::from_slice(device, [images, channels], &rows)?);
            let mut y = Array::zeros(device, shape)?;
            nn.run(|run| {
                let (x, rows) = (run.tensor::<T, 4>(x.view())?, run.tensor(rows.view())?);
                let y_of = norm.activated_with(run, &x, &rows, Activation::Relu)?;
                run.write(&y_of, y.view_mut())
            })?;
            results = y.to_vec()?;
            Ok(())
        })())
    });
    findings.expect("the norm is computed").assert_none();

    let each = channels / groups;
    let at = |image: usize, pixel: usize, channel: usize| (image * pixels + pixel) * channels + channel;
    let mut exact: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    for image in 0..images {
        for group in 0..groups {
            let channels_of = group * each..(group + 1) * each;
            let places: Vec<usize> = (0..pixels)
                .flat_map(|pixel| channels_of.clone().map(move |channel| at(image, pixel, channel)))
                .collect();
            for &place in &places {
                exact[place] += f64::from(rows[image * channels + place % channels]);
            }
            normalise(&mut exact, &places, 1e-5);
        }
    }
    for (i, (own, exact)) in results.iter().zip(&exact).enumerate() {
        let channel = i % channels;
        let exact = (exact * f64::from(scale[channel]) + f64::from(shift[channel])).max(0.0);
        assert!(
            (f64::from(*own) - exact).abs() <= tolerance * exact.abs().max(8.0),
            "{images} images of {pixels} pixels, {channels} channels in {groups} groups: {i} is {own} instead of {exact}"
        );
    }
}

#[test]
fn group_norms_of_any_channels_are_those_in_f64() {
    for shape in [
        [2, 9, 320, 32],  // parts of four groups
        [1, 3, 64, 8],    // of one, eight channels each
        [1, 40, 12, 3],   // without vectors of f16
        [3, 5, 10, 2],    // without vectors of f32
        [1, 7, 2560, 32], // 80 channels each
        [1, 2, 592, 2],   // groups of several parts
        [1, 2, 37, 1],    // parts of one channel: 37 is a prime
        [2, 5, 16, 16],   // groups of one channel
        [1, 2100, 8, 4],  // many chunks, the last one shorter
    ] {
        group_norm::<f32>(shape, 2e-6);
        group_norm::<f16>(shape, 1e-3);
        group_norm::<bf16>(shape, 8e-3);
    }
}

#[test]
fn layer_norms_of_any_columns_are_those_in_f64() {
    for columns in [1, 5, 8, 36, 320, 1000] {
        let rows = 3;
        let x = numbers(rows * columns, 5);
        let (scale, shift) = (numbers(columns, 6), numbers(columns, 7));
        let mut results = Vec::new();
        let findings = rumba::check(|device| {
            checked((|| {
                let nn = Nn::new(device)?;
                let norm = LayerNorm::<f16>::load(&weights(&nn, &scale, &shift)?, columns, 1e-5)?;
                let x = Array::from_slice(device, [rows, columns], &x)?;
                let mut y = Array::zeros(device, [rows, columns])?;
                nn.run(|run| run.write(&norm.forward(run, &run.tensor(x.view())?)?, y.view_mut()))?;
                results = y.to_vec()?;
                Ok(())
            })())
        });
        findings.expect("the norm is computed").assert_none();
        let mut exact: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
        for row in 0..rows {
            normalise(&mut exact, &(row * columns..(row + 1) * columns).collect::<Vec<_>>(), 1e-5);
        }
        for (i, (own, exact)) in results.iter().zip(&exact).enumerate() {
            let exact = exact * f64::from(scale[i % columns]) + f64::from(shift[i % columns]);
            let difference = (f64::from(*own) - exact).abs();
            assert!(difference <= 1e-3 * exact.abs().max(8.0), "row of {columns}: {i} is {own} instead of {exact}");
        }
    }
}
