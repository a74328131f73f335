//! Prints the words of tensor maps that differ in one argument each, to compare devices:
//! `RUMBA_DEVICE=soft cargo run -p rumba-driver --example tensor_maps`, and the same with `gpu`.

#[path = "../tests/it/driver/abi.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod abi;

use abi::{
    TILE, TensorMap, Tile, columns, cuCtxSetCurrent, cuDevicePrimaryCtxRetain, cuInit, cuTensorMapReplaceAddress, tiled,
};
use rumba_driver as _;

fn main() {
    // SAFETY: the call takes no pointer.
    let code = unsafe { cuInit(0) };
    assert_eq!(code, 0, "cuInit");
    print("without a context, tiled", |map| tiled(map, &TILE));
    print("without a context, columns", |map| {
        columns(map, &Tile { rank: 4, ..TILE }, -1, 1, 32)
    });
    let mut context = Default::default();
    // SAFETY: as cuda.h declares them; the context is a local variable.
    let codes = unsafe { [cuDevicePrimaryCtxRetain(&raw mut context, 0), cuCtxSetCurrent(context)] };
    assert_eq!(codes, [0; 2], "a context, which NVIDIA's driver wants");
    let mut tiles = vec![("tile".to_owned(), TILE)];
    for element in 0..16 {
        let tile = Tile {
            element,
            extent: [128 >> (element % 4), 8, 1, 1, 1],
            swizzle: 0,
            ..TILE
        };
        tiles.push((format!("type {element}"), tile));
    }
    for rank in 1..=5 {
        tiles.push((format!("rank {rank}"), Tile { rank, ..TILE }));
    }
    for swizzle in 0..7 {
        let extent = [8, 8, 1, 1, 1];
        tiles.push((
            format!("swizzle {swizzle}"),
            Tile {
                swizzle,
                extent,
                ..TILE
            },
        ));
    }
    for promotion in 0..4 {
        tiles.push((format!("promotion {promotion}"), Tile { promotion, ..TILE }));
    }
    for (interleave, swizzle) in [(1, 0), (1, 3), (2, 1)] {
        let tile = Tile {
            rank: 4,
            interleave,
            swizzle,
            extent: [4 * interleave, 8, 4, 2, 1],
            ..TILE
        };
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
    tiles.push((
        "strides".to_owned(),
        Tile {
            rank: 5,
            strides,
            ..TILE
        },
    ));
    tiles.push((
        "box".to_owned(),
        Tile {
            rank: 5,
            extent,
            ..TILE
        },
    ));
    tiles.push(("steps".to_owned(), Tile { rank: 5, steps, ..TILE }));
    for (name, tile) in tiles {
        print(&name, |map| tiled(map, &tile));
    }
    // SAFETY: as above; the map is a local variable.
    let replace = |map: &mut TensorMap, address| unsafe { cuTensorMapReplaceAddress(map, address) };
    print("another address", |map| {
        tiled(map, &TILE) | replace(map, 0x7f00_0001_0000)
    });
    print("address 0", |map| tiled(map, &TILE) | replace(map, 0));
    print("another address of zeros", |map| replace(map, 0x7f00_0001_0000));
    for rank in 3..=5 {
        for (lower, upper, pixels) in [(-1, -1, 32), (0, 2, 1024), (-16, 15, 1)] {
            let name = format!("columns of {rank} dimensions, {lower} to {upper}, {pixels} pixels");
            print(&name, |map| columns(map, &Tile { rank, ..TILE }, lower, upper, pixels));
        }
    }
}

fn print(name: &str, encode: impl FnOnce(&mut TensorMap) -> i32) {
    let mut map = TensorMap([0; 16]);
    let code = encode(&mut map);
    print!("{name}: {code}");
    for (index, word) in map
        .0
        .iter()
        .flat_map(|word| [*word as u32, (*word >> 32) as u32])
        .enumerate()
    {
        if word != 0 {
            print!(" {index}:{word:x}");
        }
    }
    println!();
}
