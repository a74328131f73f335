//! Tensor maps that differ in one argument each, and their words.

use std::fmt::Write as _;

use super::abi::{TILE, TensorMap, Tile, columns, cuTensorMapReplaceAddress, tiled};

/// A line for each map: the driver's code, and the words that are not zero. There has to be a context.
pub fn words() -> String {
    let mut text = String::new();
    let mut tiles = vec![("tile".to_owned(), TILE)];
    for element in 0..16 {
        let tile = Tile { element, extent: [128 >> (element % 4), 8, 1, 1, 1], swizzle: 0, ..TILE };
        tiles.push((format!("type {element}"), tile));
    }
    for rank in 1..=5 {
        tiles.push((format!("rank {rank}"), Tile { rank, ..TILE }));
    }
    for swizzle in 0..7 {
        let extent = [8, 8, 1, 1, 1];
        tiles.push((format!("swizzle {swizzle}"), Tile { swizzle, extent, ..TILE }));
    }
    for promotion in 0..4 {
        tiles.push((format!("promotion {promotion}"), Tile { promotion, ..TILE }));
    }
    for (interleave, swizzle) in [(1, 0), (1, 3), (2, 1)] {
        let tile = Tile { rank: 4, interleave, swizzle, extent: [4 * interleave, 8, 4, 2, 1], ..TILE };
        tiles.push((format!("interleave {interleave}, swizzle {swizzle}"), tile));
    }
    tiles.push(("fill".to_owned(), Tile { fill: 1, ..TILE }));
    for size in [65_535, 65_536, 65_537, 1 << 20, 1 << 31, 1 << 32] {
        let sizes = [64, size, 1, 1, 1];
        tiles.push((format!("{size} rows"), Tile { sizes, ..TILE }));
    }
    let strides = [(1 << 36) + 16, (1 << 37) + 32, (1 << 38) + 48, (1 << 39) + 64];
    let extent = [32, 7, 5, 3, 2];
    let steps = [1, 2, 3, 4, 5];
    tiles.push(("strides".to_owned(), Tile { rank: 5, strides, ..TILE }));
    tiles.push(("box".to_owned(), Tile { rank: 5, extent, ..TILE }));
    tiles.push(("steps".to_owned(), Tile { rank: 5, steps, ..TILE }));
    for (name, tile) in tiles {
        line(&mut text, &name, |map| tiled(map, &tile));
    }
    // SAFETY: as above; the map is a local variable.
    let replace = |map: &mut TensorMap, address| unsafe { cuTensorMapReplaceAddress(map, address) };
    line(&mut text, "another address", |map| tiled(map, &TILE) | replace(map, 0x7f00_0001_0000));
    line(&mut text, "address 0", |map| tiled(map, &TILE) | replace(map, 0));
    for rank in 3..=5 {
        for (lower, upper, pixels) in [(-1, -1, 32), (0, 2, 1024), (-16, 15, 1)] {
            let name = format!("columns of {rank} dimensions, {lower} to {upper}, {pixels} pixels");
            line(&mut text, &name, |map| columns(map, &Tile { rank, ..TILE }, lower, upper, pixels));
        }
    }
    text
}

fn line(text: &mut String, name: &str, encode: impl FnOnce(&mut TensorMap) -> i32) {
    let mut map = TensorMap([0; 16]);
    let code = encode(&mut map);
    let _ = write!(text, "{name}: {code}");
    let words = map.0.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
    for (index, word) in words.enumerate().filter(|(_, word)| code == 0 && *word != 0) {
        let _ = write!(text, " {index}:{word:x}");
    }
    text.push('\n');
}
