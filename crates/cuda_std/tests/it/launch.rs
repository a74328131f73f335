//! What launchers bind, and what calls refuse.

use bytemuck::{Pod, Zeroable};
use cuda_std::launch::{ContractError, Extent, HostMemory, In, InOut, Out, Role};
use cuda_std::prelude::*;

/// A structure that a kernel takes by value.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Settings {
    gain: f32,
    steps: [u32; 4],
}

/// Documented.
#[kernel]
pub fn everything(
    flag: bool,
    settings: Settings,
    x: &[f64],
    bins: &[Atomic<u32>],
    mut y: DisjointSlice<f32>,
    mut sums: Disjoint<i64, PerBlock>,
    mut tile: Shared<Tile<f32, 64>>,
) {
    let _ = (flag, settings.gain, settings.steps, x, bins);
    let _ = (y.own(), sums.own(), tile.own());
}

#[kernel]
fn matrices(mut a: Disjoint<f32, PerThread<2>>, mut b: Disjoint<u8, PerThread<3>>) {
    let _ = (a.own(), b.own());
}

#[kernel]
fn tiles(mut a: Shared<Tile2<f32, 8, 33>>, mut b: Shared<(Tile2<u32, 16, 16>, PerWarp<f64>)>) {
    let _ = (a.own(), b.own());
}

/// # Safety
///
/// None of it is used.
#[kernel]
unsafe fn pointers(x: *const f32, n: u32) {
    let _ = (x, n);
}

/// The words of an argument list in which nothing is padding.
fn words(arguments: &cuda_std::launch::Arguments<'_>) -> Vec<u64> {
    // SAFETY: the kernels of these tests take no structure with padding.
    arguments.words().iter().map(|word| unsafe { word.assume_init() }).collect()
}

struct Address(u64);

// SAFETY: the pointer is not followed in these tests.
unsafe impl<'a> cuda_std::launch::Argument<'a, *const f32> for Address {
    fn bind(self, arguments: &mut cuda_std::launch::Arguments<'a>) {
        arguments.push_pointer(self.0);
    }
}

#[test]
fn a_launcher_describes_its_kernel() {
    let (x, mut bins, mut y, mut sums) = ([0.0; 3], vec![0_u32; 4], vec![0.0_f32; 5], [0_i64; 6]);
    let settings = Settings { gain: 2.0, steps: [1, 2, 3, 4] };
    let call = everything(true, settings, &x, &mut bins, &mut y[..], &mut sums);
    let kernel = call.kernel();
    assert_eq!((kernel.name, kernel.module_path), ("everything", "it::launch"));
    assert!(kernel.file.ends_with("launch.rs"), "{}", kernel.file);
    let line = include_str!("launch.rs").lines().position(|line| line.starts_with("pub fn everything(")).unwrap() + 1;
    assert_eq!(kernel.line as usize, line);
    let described: Vec<_> = kernel.parameters.iter().map(|p| (p.name, p.ty, p.role)).collect();
    assert_eq!(
        described,
        [
            ("flag", "bool", Role::Value),
            ("settings", "Settings", Role::Value),
            ("x", "&[f64]", Role::Input),
            ("bins", "&[Atomic<u32>]", Role::Atomic),
            ("y", "DisjointSlice<f32>", Role::PerThread { rank: 1, elements: 1 }),
            ("sums", "Disjoint<i64, PerBlock>", Role::PerBlock),
        ]
    );
    assert_eq!((kernel.rank, kernel.max_block), (Some(1), Some([64, 1, 1])));
}

#[test]
fn arguments_are_the_parameters_of_the_ptx() {
    let (x, mut bins, mut y, mut sums) = ([0.5; 3], vec![7_u32; 4], vec![0.0_f32; 5], [0_i64; 6]);
    let settings = Settings { gain: 2.0, steps: [1, 2, 3, 4] };
    let mut call = everything(true, settings, &x, InOut(&mut bins), Out(&mut y), Out(&mut sums));
    // SAFETY: the call is not launched.
    let arguments = unsafe { call.arguments_mut() };
    // One byte, a structure of 20 in three words, then four times a pointer and a length.
    let shape: Vec<_> = arguments.parameters().iter().map(|p| (p.word, p.bytes)).collect();
    assert_eq!(shape, [(0, 1), (1, 20), (4, 8), (5, 8), (6, 8), (7, 8), (8, 8), (9, 8), (10, 8), (11, 8)]);
    assert_eq!(words(arguments)[0], 1);
    let words = words(arguments);
    let bytes: &[u8] = bytemuck::cast_slice(&words[1..4]);
    assert_eq!(&bytes[..20], bytemuck::bytes_of(&settings));
    assert_eq!([5, 7, 9, 11].map(|word| words[word]), [3, 4, 5, 6]);

    let transfers: Vec<_> = arguments
        .transfers()
        .iter()
        .map(|t| (t.word, t.align, t.host.bytes(), t.host.source().map(<[u8]>::len)))
        .collect();
    assert_eq!(transfers, [(4, 8, 24, Some(24)), (6, 4, 16, Some(16)), (8, 4, 20, None), (10, 8, 48, None)]);
    assert!(matches!(arguments.transfers()[1].host, HostMemory::InOut(_)));
    let returned: Vec<_> =
        arguments.transfers_mut().iter_mut().map(|t| t.host.destination().map(|memory| memory.len())).collect();
    assert_eq!(returned, [None, Some(16), Some(20), Some(48)]);

    let word = arguments.transfers()[2].word;
    arguments.set_address(word, 0x7000);
    let pointers: Vec<_> = arguments.pointers().collect();
    assert_eq!(pointers.len(), 10);
    // SAFETY: the pointers are to the words of the list, which is not changed meanwhile.
    let (flag, address) = unsafe { (pointers[0].cast::<bool>().read(), pointers[6].cast::<u64>().read()) };
    assert_eq!((flag, address), (true, 0x7000));
}

#[test]
fn host_memory_of_every_form_is_taken() {
    #[kernel]
    fn copy(x: &[u16], mut y: DisjointSlice<u16>) {
        let _ = (x, y.own());
    }
    let (vector, array) = (vec![1_u16, 2], [1_u16, 2]);
    let (mut out_vector, mut out_array) = (vec![0_u16; 2], [0_u16; 2]);
    for call in [
        copy(&vector, &mut out_vector),
        copy(&array, &mut out_array),
        copy(&vector[..], &mut vec![0; 2][..]),
        copy(In(&vector), InOut(&mut [0; 2])),
        copy(In(&array[..]), Out(&mut vec![0; 2])),
    ] {
        assert_eq!(call.arguments().extents(), [Extent::Slice { elements: 2 }; 2]);
    }
}

#[test]
fn raw_pointers_are_device_addresses() {
    // SAFETY: the call is not launched.
    let call = unsafe { pointers(Address(0x1234), 7) };
    assert_eq!(words(call.arguments()), [0x1234, 7]);
    assert_eq!(call.kernel().parameters[0].role, Role::Pointer);
    assert_eq!(call.check([5, 5, 5], [2, 2, 2], 0), Ok(()));
}

#[test]
fn shapes_take_the_place_of_lengths() {
    let (mut a, mut b) = (vec![0.0_f32; 12], vec![0_u8; 24]);
    let call = matrices((&mut a, [3, 4]), (Out(&mut b), [2, 3, 4]));
    assert_eq!(words(call.arguments()), [0, 3, 4, 0, 2, 3, 4]);
    let bytes: Vec<_> = call.arguments().parameters().iter().map(|p| p.bytes).collect();
    assert_eq!(bytes, [8, 4, 4, 8, 4, 4, 4]);
    assert_eq!(call.kernel().rank, Some(2));
    assert_eq!(call.check([1, 1, 1], [4, 3, 1], 0), Ok(()));

    drop(call);
    let call = matrices((&mut a, [3, 5]), (&mut b, [2, 3, 4]));
    let error = call.check([1, 1, 1], [4, 3, 1], 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel `matrices`: `a` has 12 elements, but its shape [1, 3, 5] has 15; give a shape that multiplies up to 12"
    );
    drop(call);
    // A shape that overflows does not pass for a small one.
    let call = matrices((&mut a, [1 << 63, 2]), (&mut b, [2, 3, 4]));
    assert!(matches!(call.check([1; 3], [1; 3], 0), Err(ContractError::Shape { .. })));
}

#[test]
fn a_launch_has_no_more_dimensions_than_the_output() {
    let mut y = [0_u32; 8];
    #[kernel]
    fn fill(mut y: DisjointSlice<u32>) {
        let _ = y.own();
    }
    let call = fill(&mut y);
    assert_eq!(call.check([4, 1, 1], [2, 1, 1], 0), Ok(()));
    let error = call.check([4, 1, 1], [2, 2, 1], 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel `fill`: its output `y` gives each thread of a 1-D launch one element, but the launch is 2-D (grid \
         [4, 1, 1], block [2, 2, 1]), where several threads would share one; launch it in 1-D, or make `y` a \
         `Disjoint<T, PerThread<2>>`"
    );
    assert!(matches!(call.check([1, 1, 2], [2, 1, 1], 0), Err(ContractError::Rank { launch: 3, .. })));
}

#[test]
fn thread_indices_fit() {
    let mut y = [0_u32; 8];
    #[kernel]
    fn fill(mut y: DisjointSlice<u32>) {
        let _ = y.own();
    }
    let call = fill(&mut y);
    assert_eq!(call.check([(1 << 21) - 1, 1, 1], [1024, 1, 1], 0), Ok(()));
    let error = call.check([1 << 21, 1, 1], [1024, 1, 1], 0).unwrap_err();
    assert!(error.to_string().contains("2147483648 threads along x (2097152 blocks of 1024 threads)"), "{error}");
    assert!(call.check([u32::MAX, 1, 1], [u32::MAX, 1, 1], 0).is_err());
}

#[test]
fn outputs_are_long_enough() {
    let (mut y, mut sums) = (vec![0.0_f32; 10], vec![0.0_f32; 3]);
    #[kernel]
    fn both(mut y: DisjointSlice<f32>, mut sums: Disjoint<f32, PerBlock>) {
        let _ = (y.own(), sums.own());
    }
    let call = both(&mut y, &mut sums);
    assert_eq!(call.check([3, 1, 1], [4, 1, 1], 0), Ok(()));
    let error = call.check([4, 1, 1], [4, 1, 1], 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel `both`: `sums` has 3 elements, but the launch has 4 blocks and each writes one; make it 4 elements long, \
         or launch 3 blocks"
    );
    assert_eq!(call.check_for_each(10), Ok(()));
    let error = call.check_for_each(1000).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel `both`: `y` has 10 elements, but the launch needs 1000; make it 1000 elements long, or launch over 10"
    );
}

#[test]
fn a_launch_tells_what_it_does_not_reach() {
    #[kernel]
    #[allow(unused_variables)]
    fn all_kinds(
        tiles: Disjoint<f32, Tiles<32, 32>>,
        exchanged: Disjoint<f32, Tiles<32, 32, Transposed>>,
        matrix: Disjoint<f32, PerThread<2>>,
        sums: Disjoint<f32, PerBlock>,
    ) {
    }

    let (mut a, mut b, mut c, mut sums) = (vec![0.0; 96 * 128], vec![0.0; 128 * 96], vec![0.0; 96 * 128], [0.0; 12]);
    let mut unreached = |grid, block| -> Vec<(&str, usize, bool)> {
        let call = all_kinds((Out(&mut a), [96, 128]), (&mut b, [128, 96]), (&mut c, [96, 128]), Out(&mut sums));
        let all = call.unreached(grid, block);
        all.map(|output| (output.parameter, output.reached, output.comes_back)).collect()
    };
    // Tiles of both orders by as many blocks; a thread has one element of the matrix.
    assert_eq!(unreached([4, 3, 1], [32, 32, 1]), []);
    assert_eq!(unreached([4, 3, 1], [32, 8, 1]), [("matrix", 24 * 128, false)]);
    // Rows and columns of blocks exchanged.
    assert_eq!(
        unreached([3, 4, 1], [32, 32, 1]),
        [("tiles", 96 * 96, true), ("exchanged", 96 * 96, false), ("matrix", 96 * 96, false)]
    );
    assert_eq!(unreached([4, 2, 1], [64, 64, 1])[0], ("tiles", 64 * 128, true));
    assert_eq!(unreached([4, 2, 1], [64, 64, 1])[2], ("sums", 8, true));
}

#[test]
fn blocks_fit_their_tiles() {
    let call = tiles();
    assert_eq!(call.kernel().max_block, Some([16, 8, 1]));
    assert_eq!(call.check([7, 7, 7], [16, 8, 1], 0), Ok(()));
    let error = call.check([1, 1, 1], [16, 16, 1], 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel `tiles`: a block of [16, 16, 1] threads, but each thread has an element in shared memory, and there is \
         room for [16, 8, 1]; launch blocks of at most [16, 8, 1] threads"
    );
}

#[test]
#[should_panic(
    expected = "`thread_idx_x` runs on a CUDA device only: call it from a `#[kernel]` function and launch that"
)]
fn device_functions_name_themselves_on_the_host() {
    let _ = thread::thread_idx_x();
}
