//! Tensor copies, bulk reductions, changes of tensor maps: the contents of memory, the bytes counted, and misuse.

use crate::common::{Bench, HEADER, f32s, u32s};
use rumba_vm::tensor_map::{Shape, TensorElement, TensorMap};
use rumba_vm::{FaultKind, Launch, LaunchFailure};

/// A map of a tensor without gaps; no swizzle.
pub(crate) fn map(address: u64, element: TensorElement, sizes: &[u64], extent: &[u32]) -> TensorMap {
    let mut map = TensorMap {
        address,
        rank: sizes.len(),
        element,
        interleave: 0,
        swizzle: 0,
        atom: 0,
        fills_nan: false,
        promotion: 0,
        sizes: [1; 5],
        strides: [0; 4],
        steps: [1; 5],
        shape: Shape::Tile([1; 5]),
    };
    let mut all = [1; 5];
    all[..extent.len()].copy_from_slice(extent);
    map.shape = Shape::Tile(all);
    let mut stride = u64::from(element.bits()) / 8;
    for (axis, size) in sizes.iter().enumerate() {
        map.sizes[axis] = *size;
        stride *= size;
        if axis < 4 {
            map.strides[axis] = stride;
        }
    }
    map
}

/// A kernel whose parameters are a map and a buffer, in `%rd1` and `%rd2`; `%r1` is the thread, `%r2` the address of 8 KiB
/// of shared memory, which are filled with 0x77 first, and `%r3` that of an mbarrier for one arrival.
pub(crate) fn kernel(body: &str) -> String {
    format!(
        "{HEADER}
        .global .align 128 .b8 copied[128];
        .const .align 64 .b8 constant[128];
        .visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {{
            .shared .align 1024 .b8 memory[8192];
            .shared .align 128 .b8 image[128];
            .shared .align 8 .b64 barrier;
            .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<40>; .reg .b64 %rd<40>;
            mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [out];
            mov.u32 %r1, %tid.x; mov.u32 %r2, memory; mov.u32 %r3, barrier;
            shl.b32 %r4, %r1, 2; add.u32 %r5, %r2, %r4; mov.u32 %r6, 0x77777777; mov.u32 %r7, 0;
        FILL:
            st.shared.u32 [%r5], %r6; add.u32 %r5, %r5, 128; add.u32 %r7, %r7, 1;
            setp.lt.u32 %p1, %r7, 64; @%p1 bra FILL;
            setp.eq.u32 %p1, %r1, 0;
            @%p1 mbarrier.init.shared.b64 [%r3], 1;
            fence.mbarrier_init.release.cluster; fence.proxy.async; bar.sync 0;
            {body}
            ret;
        }}"
    )
}

/// Waits for the first phase, and copies `bytes` bytes of the shared memory to the buffer.
fn fetch(bytes: u32) -> String {
    format!(
        "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra WAIT;
        {}",
        dump(bytes)
    )
}

fn dump(bytes: u32) -> String {
    format!(
        "add.u32 %r5, %r2, %r4; cvt.u64.u32 %rd5, %r4; add.u64 %rd6, %rd2, %rd5; mov.u32 %r7, 0;
    DUMP:
        ld.shared.u32 %r8, [%r5]; st.global.u32 [%rd6], %r8; add.u32 %r5, %r5, 128; add.u64 %rd6, %rd6, 128;
        add.u32 %r7, %r7, 128; setp.lt.u32 %p3, %r7, {bytes}; @%p3 bra DUMP;"
    )
}

pub(crate) fn launch(bench: &Bench, map: &TensorMap, out: u64, cluster: Option<[u32; 3]>) -> Result<(), LaunchFailure> {
    let function = bench.module.function("k").unwrap();
    let mut parameters = map.encode().to_vec();
    parameters.extend(out.to_le_bytes());
    let launch = Launch {
        grid: cluster.unwrap_or([1; 3]),
        block: [32, 1, 1],
        dynamic_shared: 0,
        parameters: &parameters,
        cooperative: false,
        cluster,
        device: 0,
    };
    bench.device.launch(&function, &launch).map(|_| ())
}

/// Loads with the instruction and gives the first `bytes` bytes of shared memory. The mbarrier waits for `expected` bytes.
fn load(map: impl Fn(u64) -> TensorMap, data: &[u32], load: &str, expected: u32, bytes: u32) -> Vec<u32> {
    let body = format!(
        "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], {expected};
        @%p1 {load}
        {}",
        fetch(bytes)
    );
    let bench = Bench::new(&kernel(&body));
    let (data, out) = (bench.upload(data), bench.zeros(8192));
    launch(&bench, &map(data), out, None).unwrap();
    u32s(&bench.download(out, bytes as usize))
}

const LOAD_2D: &str =
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd1, {4, 2}], [%r3];";

fn numbers(count: u32) -> Vec<u32> {
    (0..count).collect()
}

#[test]
fn boxes_are_loaded_row_by_row() {
    // Sixteen columns, of which eight are copied from the fourth on; four rows from the second on.
    let of = |data| map(data, TensorElement::U32, &[16, 8], &[8, 4]);
    let found = load(of, &numbers(128), LOAD_2D, 128, 128);
    let expected: Vec<u32> = (0..32).map(|index| (2 + index / 8) * 16 + 4 + index % 8).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_lies_outside_is_filled_and_counted() {
    for (element, nan, fill) in
        [(TensorElement::U32, false, 0), (TensorElement::F32, false, 0), (TensorElement::F32, true, 0x7ff7_7ff7)]
    {
        let of = |data| TensorMap { fills_nan: nan, ..map(data, element, &[16, 8], &[8, 4]) };
        for (column, row) in [(-4, -2), (12, 6), (-8, 0), (0, 8), (1000, -1000)] {
            let instruction = LOAD_2D.replace("{4, 2}", &format!("{{{column}, {row}}}"));
            // All bytes of the box are counted.
            let found = load(of, &numbers(128), &instruction, 128, 128);
            let expected: Vec<u32> = (0..32)
                .map(|index| match (column + index % 8, row + index / 8) {
                    (x @ 0..16, y @ 0..8) => (y * 16 + x) as u32,
                    _ => fill,
                })
                .collect();
            assert_eq!(found, expected, "{column}, {row}");
        }
    }
}

#[test]
fn rows_are_swizzled_by_their_address() {
    for (swizzle, atom, width) in [(1, 0, 32_u32), (2, 0, 64), (3, 0, 128), (3, 1, 128), (3, 3, 128)] {
        let columns = width / 4;
        let of =
            |data| TensorMap { swizzle, atom, ..map(data, TensorElement::F32, &[columns.into(), 32], &[columns, 16]) };
        let instruction = LOAD_2D.replace("{4, 2}", "{0, 0}");
        let found = load(of, &numbers(32 * columns), &instruction, 16 * width, 16 * width);
        for index in 0..16 * columns {
            let address = 4 * index;
            let row = address / 128;
            let moved = match (swizzle, atom) {
                (1, _) => (row % 2) * 16,
                (2, _) => (row % 4) * 16,
                (_, 0) => (row % 8) * 16,
                (_, 1) => (row % 4) * 32,
                _ => (row % 2) * 64,
            };
            assert_eq!(found[((address ^ moved) / 4) as usize], index, "swizzle {swizzle}, {atom}");
        }
    }
}

/// The last variable of shared memory is as large as what a copy writes, or 16 bytes smaller.
#[test]
fn narrow_swizzled_rows_are_checked_to_their_end() {
    for (swizzle, rows, bytes) in [(3, 8, 1024), (3, 9, 1040), (3, 1, 16), (2, 8, 512), (0, 8, 128)] {
        for missing in [0, 16] {
            let declared = bytes - missing;
            // A variable lies behind the variables named before it.
            let (memory, place) = match declared {
                0 => (String::new(), "add.u32 %r2, %r3, 1024"),
                _ => (format!(".shared .align 1024 .b8 memory[{declared}];"), "mov.u32 %r2, memory"),
            };
            let ptx = format!(
                "{HEADER}
                .visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) {{
                    .shared .align 1024 .b64 barrier;
                    {memory}
                    .reg .pred %p<4>; .reg .b32 %r<40>; .reg .b64 %rd<40>;
                    mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1;
                    mov.u32 %r3, barrier; {place};
                    mbarrier.init.shared.b64 [%r3], 1; fence.proxy.async;
                    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], {};
                    {}
                WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra WAIT;
                    ret;
                }}",
                16 * rows,
                LOAD_2D.replace("{4, 2}", "{0, 0}")
            );
            let bench = Bench::new(&ptx);
            let data = bench.upload(&numbers(1024));
            let map = TensorMap { swizzle, ..map(data, TensorElement::U32, &[32, 32], &[4, rows]) };
            let function = bench.module.function("k").unwrap();
            let mut parameters = map.encode().to_vec();
            parameters.extend(0_u64.to_le_bytes());
            let launch = Launch {
                grid: [1; 3],
                block: [1; 3],
                dynamic_shared: 0,
                parameters: &parameters,
                cooperative: false,
                cluster: None,
                device: 0,
            };
            let place = format!("swizzle {swizzle}, {rows} rows, {declared} bytes");
            match (missing, bench.device.launch(&function, &launch)) {
                (0, outcome) => drop(outcome.unwrap_or_else(|error| panic!("{place}: {error}"))),
                (_, Err(LaunchFailure::Fault(fault))) => {
                    assert_eq!(fault.kind, FaultKind::IllegalAddress, "{place}: {fault}");
                }
                (_, other) => panic!("{place}: {other:?}"),
            }
        }
    }
}

#[test]
fn every_number_of_dimensions_is_copied() {
    let sizes = [8_u64, 3, 4, 2, 5];
    let data = numbers(8 * 3 * 4 * 2 * 5);
    for rank in 1..=5 {
        let extent = [4, 2, 3, 2, 2];
        let at = [4, 1, 2, -1, 3];
        let of = |data| map(data, TensorElement::S32, &sizes[..rank], &extent[..rank]);
        let list: Vec<String> = at[..rank].iter().map(ToString::to_string).collect();
        let instruction = format!(
            "cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint
                [%r2], [%rd1, {{{}}}], [%r3], %rd30;",
            list.join(", ")
        );
        let instruction = format!("mov.b64 %rd30, 0; @%p1 {instruction}");
        let count: u32 = extent[..rank].iter().product();
        let bytes = (4 * count).next_multiple_of(128);
        let found = load(of, &data, &instruction, 4 * count, bytes);
        for number in 0..count {
            let (mut rest, mut index, mut scale, mut inside) = (number, 0, 1, true);
            for axis in 0..rank {
                let x = at[axis] + (rest % extent[axis]) as i64;
                rest /= extent[axis];
                inside &= (0..sizes[axis] as i64).contains(&x);
                index += x * scale;
                scale *= sizes[axis] as i64;
            }
            let expected = if inside { index as u32 } else { 0 };
            assert_eq!(found[number as usize], expected, "{rank} dimensions, element {number}");
        }
    }
}

#[test]
fn every_other_row_can_be_left_out() {
    let of = |data| TensorMap { steps: [1, 2, 1, 1, 1], ..map(data, TensorElement::U32, &[16, 8], &[8, 5]) };
    let found = load(of, &numbers(128), &LOAD_2D.replace("{4, 2}", "{0, 1}"), 96, 128);
    let expected: Vec<u32> = (0..24).map(|index| (1 + 2 * (index / 8)) * 16 + index % 8).collect();
    assert_eq!(found[..24], expected);
    assert_eq!(found[24], 0x7777_7777);
}

#[test]
fn pixels_become_columns() {
    // Two images of 5 by 4 pixels of four channels; a filter of 3 by 3 with a margin of one.
    let of = |data| TensorMap {
        shape: Shape::Columns { lower: [-1, -1, 0], upper: [-1, -1, 0], channels: 4, pixels: 32 },
        ..map(data, TensorElement::U32, &[4, 5, 4, 2], &[1; 4])
    };
    let data = numbers(4 * 5 * 4 * 2);
    for (x, y) in [(0, 0), (1, 1), (2, 0)] {
        let instruction = format!(
            "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes
                [%r2], [%rd1, {{0, 1, 0, 0}}], [%r3], {{{x}, {y}}};"
        );
        let found = load(of, &data, &instruction, 512, 512);
        // The first pixel of the output is that at (2, 1), as the filter's base is there one less.
        for pixel in 0..32_i32 {
            let number = pixel + 5 + 2;
            let (column, row, image) = (number % 5 - 1 + x, number / 5 % 4 - 1 + y, number / 20);
            let inside = (0..5).contains(&column) && (0..4).contains(&row) && image < 2;
            for channel in 0..4 {
                let expected = if inside { ((image * 20 + row * 5 + column) * 4 + channel) as u32 } else { 0 };
                assert_eq!(found[(pixel * 4 + channel) as usize], expected, "({x}, {y}), pixel {pixel}");
            }
        }
    }
}

/// Loads a column along the width, and gives the first channel of each pixel.
fn along_width(mode: &str, info: [u16; 2], at: [i32; 3], corners: [i32; 2], step: u32, pixels: u32) -> Vec<u32> {
    // Three images of 7 pixels in a row of 8 channels, numbered from 1 on.
    let of = |data| TensorMap {
        swizzle: 1,
        steps: [1, step, 1, 1, 1],
        shape: Shape::Columns { lower: [corners[0], 0, 0], upper: [corners[1], 0, 0], channels: 8, pixels: 20 },
        ..map(data, TensorElement::U32, &[8, 7, 12], &[1; 3])
    };
    let data: Vec<u32> = (0..8 * 7 * 12).map(|index| 1 + index / 8).collect();
    let instruction = format!(
        "mov.u16 %h1, {}; mov.u16 %h2, {};
        @%p1 cp.async.bulk.tensor.3d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes
            [%r2], [%rd1, {{{}, {}, {}}}], [%r3], {{%h1, %h2}};",
        info[0], info[1], at[0], at[1], at[2]
    );
    let found = load(of, &data, &instruction, 32 * pixels, (32 * pixels).next_multiple_of(128));
    (0..pixels as usize).map(|pixel| found[8 * pixel]).collect()
}

/// Of [`along_width`]: the number of the pixel at a place of an image, or what lies outside.
fn pixel(width: i32, image: i32) -> u32 {
    if (0..7).contains(&width) && (0..12).contains(&image) { (1 + width + 7 * image) as u32 } else { 0 }
}

#[test]
fn columns_go_along_the_width() {
    // From the third pixel of the second image on; two pixels follow the last one.
    let found = along_width("im2col::w", [2, 0], [0, 3, 1], [0, 0], 1, 22);
    let expected: Vec<u32> = (0..22).map(|number| pixel((3 + number) % 7, 1 + (3 + number) / 7)).collect();
    assert_eq!(found, expected);
    // A margin of one to the left and the steps of a filter that moves by two: the manual's first example of `wOffset`.
    let wander = |count: i32, from: i32, per_row: i32| {
        (0..count).map(move |number| pixel(from + 2 * (number % per_row), number / per_row))
    };
    let found = along_width("im2col::w", [1, 0], [0, -1, 0], [-1, 0], 2, 21);
    let expected: Vec<u32> = wander(20, -1, 4).chain([pixel(7, 4)]).collect();
    assert_eq!(found, expected);
    let found = along_width("im2col::w", [0, 1], [0, -1, 0], [-1, 0], 2, 20);
    assert_eq!(found, wander(20, 0, 4).collect::<Vec<_>>());
    // To the left of the box a column may begin.
    let found = along_width("im2col::w", [0, 0], [0, -3, 0], [0, 0], 1, 20);
    let expected = (-3..17_i32).map(|number| pixel(if number < 0 { number } else { number % 7 }, number.max(0) / 7));
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn halos_follow_every_32_pixels() {
    let found = along_width("im2col::w::128", [3, 0], [0, 1, 0], [0, 0], 1, 4 * 35);
    let mut expected = Vec::new();
    for number in 0..128 {
        let (width, image) = ((1 + number) % 7, (1 + number) / 7);
        expected.push(pixel(width, image));
        if number % 32 == 31 {
            expected.extend((1..=3).map(|beyond| pixel(width + beyond, image)));
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn columns_along_the_width_have_rules() {
    let of = |swizzle| {
        move |data| TensorMap {
            swizzle,
            shape: Shape::Columns { lower: [0; 3], upper: [0; 3], channels: 4, pixels: 4 },
            ..map(data, TensorElement::U32, &[16, 4, 2], &[1; 3])
        }
    };
    let load = |mode: &str, info: [u16; 2], width: i32| {
        format!(
            "mov.u16 %h1, {}; mov.u16 %h2, {}; @%p1 cp.async.bulk.tensor.3d.shared::cta.global.{mode}.mbarrier::complete_tx::bytes
                [%r2], [%rd1, {{0, {width}, 0}}], [%r3], {{%h1, %h2}};",
            info[0], info[1]
        )
    };
    let invalid = FaultKind::InvalidInstruction;
    fault(of(0), &load("im2col::w", [0, 0], 0), invalid, "columns along the width are swizzled");
    fault(
        of(1),
        &load("im2col::w", [512, 0], 0),
        invalid,
        "a halo of 512 pixels and an offset of 0: they are below 512 and 32",
    );
    fault(of(1), &load("im2col::w::128", [32, 0], 0), invalid, "they are below 32 and 32");
    fault(of(1), &load("im2col::w", [0, 32], 0), invalid, "an offset of 32");
    fault(of(1), &load("im2col::w", [0, 0], 4), invalid, "lies outside of the box of pixels");
    let sliced = move |data| TensorMap { interleave: 1, ..of(1)(data) };
    fault(sliced, &load("im2col::w", [0, 0], 0), invalid, "tensors in interleaved slices");
    let boxes = |data| map(data, TensorElement::U32, &[16, 4, 2], &[4, 4, 2]);
    fault(boxes, &load("im2col::w", [0, 0], 0), invalid, "one for boxes of 3 dimension(s)");
}

#[test]
fn four_rows_are_gathered_and_scattered() {
    let of = |data| map(data, TensorElement::U32, &[16, 8], &[8, 1]);
    let instruction = "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes
        [%r2], [%rd1, {4, 7, 0, -1, 3}], [%r3];";
    let found = load(of, &numbers(128), instruction, 128, 128);
    let row = |row: u32| (0..8).map(move |column| row * 16 + 4 + column);
    let expected: Vec<u32> = row(7).chain(row(0)).chain([0; 8]).chain(row(3)).collect();
    assert_eq!(found, expected);
}

#[test]
fn stores_keep_within_the_tensor() {
    let body = |operation: &str, at: &str| {
        kernel(&format!(
            "add.u32 %r5, %r2, %r4; st.shared.u32 [%r5], %r1; fence.proxy.async.shared::cta; bar.sync 0;
            @%p1 {operation} [%rd1, {at}], [%r2];
            cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
        ))
    };
    let run = |operation: &str, at: &str, element: TensorElement, data: &[u32]| {
        let bench = Bench::new(&body(operation, at));
        let address = bench.upload(data);
        launch(&bench, &map(address, element, &[16, 8], &[8, 4]), 0, None).unwrap();
        u32s(&bench.download(address, 4 * data.len()))
    };
    let store = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group";
    for (column, row) in [(4, 2), (0, 0), (12, 6), (16, 0)] {
        let found = run(store, &format!("{{{column}, {row}}}"), TensorElement::U32, &[999; 128]);
        for (index, found) in (0..).zip(found) {
            let expected = match (index % 16 - column, index / 16 - row) {
                (x @ 0..8, y @ 0..4) => (y * 8 + x) as u32,
                _ => 999,
            };
            assert_eq!(found, expected, "at {column}, {row}: element {index}");
        }
    }
    type Operation = (&'static str, fn(u32, u32) -> u32);
    let operations: [Operation; 8] = [
        ("add", |old, x| old + x),
        ("min", u32::min),
        ("max", u32::max),
        ("inc", |old, x| if old >= x { 0 } else { old + 1 }),
        ("dec", |old, x| if old == 0 || old > x { x } else { old - 1 }),
        ("and", |old, x| old & x),
        ("or", |old, x| old | x),
        ("xor", |old, x| old ^ x),
    ];
    for (name, f) in operations {
        let reduce = format!("cp.reduce.async.bulk.tensor.2d.global.shared::cta.{name}.tile.bulk_group");
        let found = run(&reduce, "{4, 2}", TensorElement::U32, &[17; 128]);
        for (index, found) in (0..).zip(found) {
            let expected = match (index % 16 - 4, index / 16 - 2) {
                (x @ 0..8, y @ 0..4) => f(17, (y * 8 + x) as u32),
                _ => 17,
            };
            assert_eq!(found, expected, "{name}: element {index}");
        }
    }
}

#[test]
fn numbers_are_reduced_as_their_type_says() {
    let body = kernel(
        "cvt.rn.f32.u32 %r8, %r1; add.u32 %r5, %r2, %r4; st.shared.b32 [%r5], %r8;
        fence.proxy.async.shared::cta; bar.sync 0;
        @%p1 cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd1, {0}], [%r2];
        @%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd2], [%r2], 64;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;",
    );
    let bench = Bench::new(&body);
    let (data, out) = (bench.upload(&[0.5_f32; 32]), bench.upload(&[0.25_f32; 32]));
    launch(&bench, &map(data, TensorElement::F32, &[32], &[32]), out, None).unwrap();
    let expected: Vec<f32> = (0..32_u8).map(|index| f32::from(index) + 0.5).collect();
    assert_eq!(f32s(&bench.download(data, 128)), expected);
    let found = f32s(&bench.download(out, 128));
    assert_eq!((found[15], found[16]), (15.25, 0.25));
}

#[test]
fn a_cluster_gets_one_box() {
    // Block 0 loads for blocks 0 and 2 of three; each of these waits for its own bytes. Block 1 gets nothing.
    let body = format!(
        "mov.u32 %r10, %cluster_ctarank; setp.ne.u32 %p2, %r10, 1;
        and.pred %p3, %p1, %p2;
        @%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 128;
        barrier.cluster.arrive; barrier.cluster.wait;
        setp.eq.u32 %p3, %r10, 0; and.pred %p3, %p3, %p1; mov.u16 %h1, 5;
        @%p3 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
            [%r2], [%rd1, {{4, 2}}], [%r3], %h1;
        mul.wide.u32 %rd10, %r10, 128; add.u64 %rd2, %rd2, %rd10;
        @!%p2 bra SKIP;
    WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra WAIT;
    SKIP:
        {}
        barrier.cluster.arrive; barrier.cluster.wait;",
        dump(128)
    );
    let bench = Bench::new(&kernel(&body));
    let (data, out) = (bench.upload(&numbers(128)), bench.zeros(384));
    let map = map(data, TensorElement::U32, &[16, 8], &[8, 4]);
    launch(&bench, &map, out, Some([3, 1, 1])).unwrap();
    let found = u32s(&bench.download(out, 384));
    let expected: Vec<u32> = (0..32).map(|index| (2 + index / 8) * 16 + 4 + index % 8).collect();
    assert_eq!(found[..32], expected);
    assert_eq!(found[32..64], [0x7777_7777; 32]);
    assert_eq!(found[64..], expected);
}

#[test]
fn maps_are_changed_in_shared_memory_and_copied() {
    // The map of a parameter is for other data, and of 128 zero bytes there is none: every field is replaced.
    let replace = |field: &str, value: &str| format!("@%p1 tensormap.replace.tile.{field} {value};\n");
    let mut changes = String::new();
    for (field, value) in [
        ("global_address.shared::cta.b1024.b64", "[%rd20], %rd2"),
        ("rank.shared::cta.b1024.b32", "[%rd20], 1"),
        ("global_dim.shared::cta.b1024.b32", "[%rd20], 0, 16"),
        ("global_dim.shared::cta.b1024.b32", "[%rd20], 1, 8"),
        ("global_stride.shared::cta.b1024.b64", "[%rd20], 0, 64"),
        ("box_dim.shared::cta.b1024.b32", "[%rd20], 0, 8"),
        ("box_dim.shared::cta.b1024.b32", "[%rd20], 1, 4"),
        ("element_stride.shared::cta.b1024.b32", "[%rd20], 1, 1"),
        ("elemtype.shared::cta.b1024.b32", "[%rd20], 7"),
        ("interleave_layout.shared::cta.b1024.b32", "[%rd20], 0"),
        ("swizzle_mode.shared::cta.b1024.b32", "[%rd20], 1"),
        ("swizzle_atomicity.shared::cta.b1024.b32", "[%rd20], 0"),
        ("fill_mode.shared::cta.b1024.b32", "[%rd20], 1"),
    ] {
        changes += &replace(field, value);
    }
    let body = format!(
        "mov.u32 %r10, image; cvt.u64.u32 %rd20, %r10; add.u32 %r11, %r10, %r4; cvt.u64.u32 %rd3, %r4;
        add.u64 %rd3, %rd3, %rd1; ld.b32 %r12, [%rd3]; st.shared.b32 [%r11], BEFORE; bar.sync 0;
        {changes} bar.sync 0;
        mov.u64 %rd21, copied;
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd21], [%rd20], 128;
        cvta.global.u64 %rd21, %rd21;
        fence.proxy.tensormap::generic.acquire.gpu [%rd21], 128;
        @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 128;
        @%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd21, {{12, 7}}], [%r3];
        {}",
        fetch(128)
    );
    for before in ["%r12", "0"] {
        let bench = Bench::new(&kernel(&body.replace("BEFORE", before)));
        let (data, other) = (bench.upload(&numbers(128)), bench.upload(&[5_u32; 16]));
        launch(&bench, &map(other, TensorElement::U8, &[16], &[16]), data, None).unwrap();
        let found = u32s(&bench.download(data, 128));
        assert_eq!(found[..8], [124, 125, 126, 127, 0x7ff7_7ff7, 0x7ff7_7ff7, 0x7ff7_7ff7, 0x7ff7_7ff7], "{before}");
    }
}

#[test]
fn constants_may_be_maps() {
    let body = format!(
        "mov.u64 %rd20, constant; cvta.const.u64 %rd20, %rd20;
        @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 128;
        @%p1 prefetch.tensormap [%rd20];
        @%p1 {} {}",
        LOAD_2D.replace("%rd1,", "%rd20,"),
        fetch(128)
    );
    let bench = Bench::new(&kernel(&body));
    let (data, out) = (bench.upload(&numbers(128)), bench.zeros(128));
    let map = map(data, TensorElement::U32, &[16, 8], &[8, 4]);
    let (constant, _) = bench.module.global("constant").unwrap();
    bench.write(constant, &map.encode()).unwrap();
    launch(&bench, &map, out, None).unwrap();
    assert_eq!(u32s(&bench.download(out, 128))[0], 36);
}

#[track_caller]
fn fault(of: impl Fn(u64) -> TensorMap, body: &str, kind: FaultKind, message: &str) {
    let bench = Bench::new(&kernel(body));
    let data = bench.upload(&[9_u32; 128]);
    match launch(&bench, &of(data), data, None) {
        Err(LaunchFailure::Fault(fault)) => {
            assert_eq!(fault.kind, kind, "{fault}");
            assert!(fault.message.contains(message), "{fault}");
        }
        other => panic!("a fault was expected, not {other:?}"),
    }
}

#[test]
fn misuse_is_told() {
    let good = |data| map(data, TensorElement::U32, &[16, 8], &[8, 4]);
    let invalid = FaultKind::InvalidInstruction;
    let load = format!("@%p1 {LOAD_2D}");
    fault(good, &load.replace("%rd1,", "%rd2,"), invalid, "are no tensor map");
    let of_zeros =
        "mov.u64 %rd20, copied; cvta.global.u64 %rd20, %rd20; ".to_owned() + &load.replace("%rd1,", "%rd20,");
    fault(good, &of_zeros, invalid, "nothing has set its field `global_address`");
    let moved = format!("add.u64 %rd1, %rd1, 16; {load}");
    fault(good, &moved, FaultKind::MisalignedAddress, "which is not a multiple of 64");
    let moved = format!("add.u32 %r2, %r2, 64; {load}");
    fault(good, &moved, FaultKind::MisalignedAddress, "which is not a multiple of 128");
    let beyond = format!("add.u32 %r2, %r2, 8320; {load}");
    fault(good, &beyond, FaultKind::IllegalAddress, "write of 128 bytes of shared memory");
    let flat = |data| map(data, TensorElement::U32, &[128], &[8]);
    fault(flat, &load, invalid, "one for boxes of 1 dimension(s)");
    // The tensor is larger than the allocation.
    let large = |data| map(data, TensorElement::U32, &[16, 12], &[8, 4]);
    fault(large, &load.replace("{4, 2}", "{0, 6}"), FaultKind::IllegalAddress, "read of 32 bytes of global memory");
    let odd = load.replace("{4, 2}", "{6, 2}");
    fault(good, &odd, invalid, "the innermost coordinate 6 is at byte 24 of its row");
    let store =
        |at: &str| format!("@%p1 cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {at}], [%r2];");
    let negative = "is negative: tensor stores and reductions begin in the tensor";
    fault(good, &store("{4, -2}"), invalid, &format!("the coordinate -2 of dimension 1 {negative}"));
    fault(good, &store("{-4, 0}"), invalid, &format!("the coordinate -4 of dimension 0 {negative}"));
    let reduce = store("{0, -1}").replace("cp.async", "cp.reduce.async").replace("shared::cta", "shared::cta.add");
    fault(good, &reduce, invalid, &format!("the coordinate -1 of dimension 1 {negative}"));
    let bytes = |data| map(data, TensorElement::U8, &[64, 8], &[32, 4]);
    let reduce = "@%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {0, 0}], [%r2];";
    fault(bytes, reduce, invalid, "the reduction `.add` does not exist for elements of type U8");
    let replace = "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd1], 0, 300;";
    fault(good, replace, invalid, "300 as `box_dim` of a tensor map: a box has 1 to 256 elements");
    let pixels = |lower, upper| {
        move |data| TensorMap {
            shape: Shape::Columns { lower: [lower, 0, 0], upper: [upper, 0, 0], channels: 4, pixels: 4 },
            ..map(data, TensorElement::U32, &[16, 4, 2], &[1; 3])
        }
    };
    let column = |at: &str| {
        format!(
            "mov.u16 %h1, 0; @%p1 cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes
                [%r2], [%rd1, {at}], [%r3], {{%h1}};"
        )
    };
    let outside = "the coordinate 4 of dimension 1 lies outside of the box of pixels, from -1 to 3";
    fault(pixels(-1, 0), &column("{0, 4, 0}"), invalid, outside);
    fault(pixels(0, -1), &column("{0, -1, 0}"), invalid, "outside of the box of pixels, from 0 to 2");
    let store_column =
        "@%p1 cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group [%rd1, {0, 0, 0}], [%r2];";
    let message = "the box of pixels reaches beyond the tensor, where nothing can be stored";
    fault(pixels(-1, 0), store_column, invalid, message);
    fault(pixels(0, 1), store_column, invalid, message);
    let replace = "tensormap.replace.tile.rank.global.b1024.b32 [%rd1], 1;";
    let columns = |data| TensorMap {
        shape: Shape::Columns { lower: [0; 3], upper: [0; 3], channels: 4, pixels: 4 },
        ..map(data, TensorElement::U32, &[16, 4, 2], &[1; 3])
    };
    let message = "1 as `rank` of a tensor map: columns of pixels have at least three dimensions";
    fault(columns, replace, invalid, message);
    let huge = |data| map(data, TensorElement::U8, &[256; 5], &[256; 5]);
    let load = load.replace(".2d.", ".5d.").replace("{4, 2}", "{0, 0, 0, 0, 0}");
    fault(huge, &load, FaultKind::IllegalAddress, "of shared memory");
    fault(good, "setmaxnreg.dec.sync.aligned.u32 40;", FaultKind::Synchronisation, "four whole warps");
}

#[test]
fn one_device_has_one_place() {
    let body = "add.u64 %rd3, %rd2, 64;
        @%p1 multimem.st.relaxed.gpu.global.u32 [%rd2], 7;
        bar.sync 0;
        multimem.red.relaxed.gpu.global.add.u32 [%rd2], %r1;
        bar.sync 0;
        multimem.ld_reduce.relaxed.gpu.global.add.u32 %r8, [%rd2];
        setp.eq.u32 %p2, %r1, 5;
        @%p2 st.global.u32 [%rd2+4], %r8;
        @%p2 multimem.st.global.v4.f32 [%rd3], {%r8, %r8, %r1, %r8};
        @%p2 multimem.ld_reduce.global.add.v4.f32 {%r9, %r10, %r11, %r12}, [%rd3];
        @%p2 st.global.u32 [%rd2+8], %r11;";
    let bench = Bench::new(&kernel(body));
    let out = bench.zeros(128);
    launch(&bench, &map(out, TensorElement::U32, &[32], &[32]), out, None).unwrap();
    let found = u32s(&bench.download(out, 128));
    assert_eq!(found[..3], [503, 503, 5]);
}
