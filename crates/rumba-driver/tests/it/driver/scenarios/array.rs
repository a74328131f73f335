//! CUDA arrays, and copies of rectangles and boxes into and out of them.

use super::*;

/// `CU_AD_FORMAT_FLOAT`.
const FLOAT: c_int = 0x20;

pub fn arrays() {
    primary();
    let line = Flat { width: 10, height: 0, format: FLOAT, channels: 2 };
    let cube = Deep { width: 4, height: 4, depth: 6, format: 1, channels: 1, flags: 4 };
    let (mut array, mut other) = (0, 0);
    steps! {
        1 => cuArrayCreate_v2(&mut array, null());
        1 => cuArrayCreate_v2(null_mut(), &line);
        1 => cuArrayCreate_v2(&mut array, &Flat { width: 0, ..line });
        1 => cuArrayCreate_v2(&mut array, &Flat { channels: 3, ..line });
        1 => cuArrayCreate_v2(&mut array, &Flat { format: 0, ..line });
        1 => cuArrayCreate_v2(&mut array, &Flat { width: 1 << 40, ..line });
        1 => cuArray3DCreate_v2(&mut array, &Deep { height: 5, ..cube });
        1 => cuArray3DCreate_v2(&mut array, &Deep { depth: 5, ..cube });
        1 => cuArray3DCreate_v2(&mut array, &Deep { height: 0, flags: 0, ..cube });
        0 => cuArray3DCreate_v2(&mut other, &Deep { height: 0, flags: 1, ..cube });
        0 => cuArrayDestroy(other);
        0 => cuArray3DCreate_v2(&mut other, &cube);
        0 => cuArrayCreate_v2(&mut array, &line);
        400 => cuArrayDestroy(NONE);
    }
    let (mut flat, mut deep) = (Flat::default(), Deep::default());
    steps! {
        0 => cuArrayGetDescriptor_v2(&mut flat, array);
        0 => cuArray3DGetDescriptor_v2(&mut deep, other);
        1 => cuArrayGetDescriptor_v2(null_mut(), array);
        400 => cuArray3DGetDescriptor_v2(&mut deep, NONE);
    }
    assert_eq!((flat, deep), (line, cube));

    let numbers: [u8; 80] = std::array::from_fn(|index| index as u8);
    let mut back = [0_u8; 80];
    let pointer = allocate(80);
    steps! {
        0 => cuMemcpyHtoA_v2(array, 0, numbers.as_ptr().cast(), 80);
        1 => cuMemcpyHtoA_v2(array, 8, numbers.as_ptr().cast(), 80);
        1 => cuMemcpyHtoA_v2(array, 0, null(), 80);
        0 => cuMemcpyAtoD_v2(pointer, array, 40, 40);
        0 => cuMemcpyDtoA_v2(array, 0, pointer, 40);
        0 => cuMemcpyAtoA_v2(array, 8, array, 72, 8);
        0 => cuMemcpyAtoH_v2(back.as_mut_ptr().cast(), array, 0, 80);
        1 => cuMemcpyAtoH_v2(back.as_mut_ptr().cast(), array, 80, 8);
    }
    assert_eq!(back[..8], numbers[40..48]);
    assert_eq!(back[8..16], numbers[72..]);
    assert_eq!(back[16..40], numbers[56..80]);
    assert_eq!(back[40..], numbers[40..]);
    steps! { 0 => cuArrayDestroy(array); }
    steps! {
        // NVIDIA's driver does not recognise handles that are stale.
        soft {
            400 => cuArrayDestroy(array);
            400 => cuMemcpyHtoA_v2(array, 0, numbers.as_ptr().cast(), 8);
        }
        0 => cuArrayDestroy(other);
        0 => cuMemFree_v2(pointer);
    }
}

pub fn boxes() {
    primary();
    let volume = Deep { width: 4, height: 3, depth: 2, format: 1, channels: 4, flags: 0 };
    let mut array = 0;
    steps! { 0 => cuArray3DCreate_v2(&mut array, &volume); }
    let numbers: [u8; 96] = std::array::from_fn(|index| index as u8);
    let mut back = [0xff_u8; 96];
    let host = |address: usize, pitch: usize| Side3d { memory: 1, host: address, pitch, ..Side3d::default() };
    let in_array = Side3d { memory: 3, array, ..Side3d::default() };
    let mut copy =
        Copy3d { source: host(numbers.as_ptr() as usize, 0), target: in_array, width: 16, height: 3, depth: 2 };
    steps! {
        1 => cuMemcpy3D_v2(null());
        0 => cuMemcpy3D_v2(&copy);
    }
    // One column of elements of the second slice, into rows of 8 bytes.
    copy.source = Side3d { x: 4, y: 1, z: 1, ..in_array };
    copy.target = host(back.as_mut_ptr() as usize, 8);
    (copy.width, copy.height, copy.depth) = (4, 2, 1);
    steps! { 0 => cuMemcpy3D_v2(&copy); }
    assert_eq!(back[..4], numbers[48 + 16 + 4..][..4]);
    assert_eq!(back[4..8], [0xff; 4]);
    assert_eq!(back[8..12], numbers[48 + 32 + 4..][..4]);
    copy.source.x = 16;
    steps! { 1 => cuMemcpy3D_v2(&copy); }
    (copy.source.x, copy.source.y) = (0, 2);
    steps! { 1 => cuMemcpy3D_v2(&copy); }
    (copy.source.y, copy.depth) = (0, 2);
    steps! { 1 => cuMemcpy3D_v2(&copy); }
    copy.depth = 0;
    steps! { 0 => cuMemcpy3D_v2(&copy); }

    // A rectangle of the first slice, and the same through a pitched rectangle of device memory.
    let pointer = allocate(64);
    let rectangle = Copy2d {
        source: Side { memory: 3, array, x: 8, y: 1, ..Side::default() },
        target: Side { memory: 2, device: pointer, pitch: 32, ..Side::default() },
        width: 8,
        height: 2,
    };
    steps! {
        0 => cuMemcpy2D_v2(&rectangle);
        0 => cuMemcpyDtoH_v2(back.as_mut_ptr().cast(), pointer, 40);
        1 => cuMemcpy2D_v2(&Copy2d { height: 3, ..rectangle });
        1 => cuMemcpy2D_v2(&Copy2d { width: 12, ..rectangle });
        0 => cuArrayDestroy(array);
    }
    assert_eq!(back[..8], numbers[24..32]);
    assert_eq!(back[32..40], numbers[40..48]);
}
