//! Tensor maps: their arguments, and the need for a context.

use super::super::tensor_maps::words;
use super::*;

pub fn tensor_maps() {
    steps! { 0 => cuInit(0); }
    let mut map = TensorMap([0; 16]);
    let mut other = TensorMap([0; 16]);
    let mut context = 0;
    steps! {
        201 => tiled(&mut map, &TILE);
        201 => columns(&mut map, &Tile { rank: 4, ..TILE }, -1, 1, 32);
        0 => cuDevicePrimaryCtxRetain(&mut context, 0);
        0 => cuCtxSetCurrent(context);
        0 => tiled(&mut map, &TILE);
        1 => tiled(null_mut(), &TILE);
        0 => tiled(&mut other, &Tile { address: 0x7f00_0001_0000, ..TILE });
    }
    assert_ne!(map, other);
    steps! {
        0 => cuTensorMapReplaceAddress(&mut map, 0x7f00_0001_0000);
        1 => cuTensorMapReplaceAddress(&mut map, 0x7f00_0001_0004);
        // NVIDIA's driver crashes.
        soft { 1 => cuTensorMapReplaceAddress(null_mut(), 0x7f00_0001_0000); }
    }
    assert_eq!(map, other);
    steps! {
        0 => columns(&mut map, &Tile { rank: 4, ..TILE }, -1, 1, 32);
        1 => columns(&mut map, &TILE, -1, 1, 32);
        1 => columns(&mut map, &Tile { rank: 4, ..TILE }, -129, 1, 32);
        1 => columns(&mut map, &Tile { rank: 4, ..TILE }, -1, 1, 0);
        0 => columns(&mut map, &Tile { rank: 4, ..TILE }, -1, 1, 1024);
        1 => columns(&mut map, &Tile { rank: 4, ..TILE }, -1, 1, 1025);
    }
    // Of three dimensions there is the width alone; the mode is not in the image.
    let (row, mut wide) = (Tile { rank: 3, ..TILE }, TensorMap([0; 16]));
    steps! {
        0 => columns(&mut map, &row, -2, 3, 17);
        0 => along_width(&mut wide, &row, (-2, 3), 17, 0);
    }
    assert_eq!(map, wide);
    steps! {
        0 => along_width(&mut wide, &row, (-2, 3), 17, 1);
        1 => along_width(&mut other, &row, (-2, 3), 17, 2);
        1 => along_width(&mut other, &row, (-2, 3), 1025, 1);
        1 => along_width(&mut other, &Tile { rank: 4, ..TILE }, (-129, 0), 17, 0);
        1 => along_width(&mut other, &Tile { rank: 2, ..TILE }, (-2, 3), 17, 0);
        1 => along_width(&mut other, &row, (0, -(row.sizes[1] as i32)), 17, 0);
        1 => along_width(null_mut(), &row, (-2, 3), 17, 0);
    }
    assert_eq!(map, wide);
    // The images are those of an H200, byte for byte: `cargo run -p rumba-driver --example tensor_maps`.
    assert_eq!(words(), include_str!("../tensor_maps.txt"));
}
