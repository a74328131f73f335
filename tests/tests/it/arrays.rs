//! Vectorized functions and kernels with views, against the same on the host. `RUMBA_DEVICE=gpu` runs them on the GPU.

use cuda_std::launch::{ContractError, ShapeError};
use rumba::array::{Array, ArrayError, every};
use rumba::{Device, Error, LaunchConfig, Module, array::Constant, error::LaunchError};
use test_kernels::forms::arrays::{self, Complex, hypotenuse, multiply_add};

const PTX: &str = include_str!(env!("FORMS_PTX"));

fn start() -> (Device, Module) {
    let device = Device::new().expect("there is a device");
    let module = device.load_named("forms.ptx", PTX).expect("the PTX is right");
    (device, module)
}

fn counted<const N: usize>(device: &Device, shape: [usize; N]) -> Array<f32, N> {
    let mut next = 0.0;
    let element = |_| {
        next += 1.0;
        next
    };
    Array::from_fn(device, shape, element).expect("there is memory")
}

/// `a * b + c` of two rows and a number, computed on the host.
fn on_the_host(a: &[f32], b: &[f32], c: f32) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a * b + c).collect()
}

#[test]
fn the_function_stays_a_function() {
    assert_eq!(hypotenuse(3.0, 4.0), 5.0);
    assert_eq!(multiply_add(2, 3, 4), 10);
}

/// Lengths around a block's chunk, and around whole chunks.
#[test]
fn flat_arrays_of_any_length() -> rumba::Result<()> {
    let (device, module) = start();
    for n in [0, 1, 2, 255, 256, 257, 768, 769, 1023, 1024, 1025, 2047, 5000] {
        let (a, b) = (counted(&device, [n]), Array::full(&device, [n], 2.0)?);
        let sum: Array<f32, 1> = module.map(multiply_add::over(&a, &b, 1.0_f32))?;
        assert_eq!(sum.to_vec()?, on_the_host(&a.to_vec()?, &b.to_vec()?, 1.0), "{n}");
    }
    Ok(())
}

#[test]
fn shapes_broadcast() -> rumba::Result<()> {
    let (device, module) = start();
    let column = Array::from_slice(&device, [2, 1], &[3.0_f32, 6.0])?;
    let row = Array::from_slice(&device, [3], &[4.0_f32, 8.0, 0.0])?;
    let c: Array<f32, 2> = module.map(hypotenuse::over(&column, &row))?;
    assert_eq!(c.shape(), [2, 3]);
    let expected: Vec<f32> = [3.0, 6.0].into_iter().flat_map(|a| [4.0, 8.0, 0.0].map(|b| hypotenuse(a, b))).collect();
    assert_eq!(c.to_vec()?, expected);

    // All numbers: no dimension at all.
    let one = module.map(hypotenuse::over(3.0, 4.0))?;
    assert_eq!((one.shape(), one.to_vec()?), ([], vec![5.0]));
    // One element for all, in memory.
    let d = module.map(hypotenuse::over(&one, &c))?;
    assert_eq!(d.to_vec()?, expected.iter().map(|&c| hypotenuse(5.0, c)).collect::<Vec<_>>());
    // No elements.
    let none = Array::<f32, 2>::zeros(&device, [0, 3])?;
    assert_eq!(module.map(hypotenuse::over(&none, &row))?.shape(), [0, 3]);
    Ok(())
}

/// Every pair of ways in which two operands of three dimensions can lie, into every way in which the result can.
#[test]
fn views_of_any_strides() -> rumba::Result<()> {
    let (device, module) = start();
    let (a, b) = (counted(&device, [5, 7, 6]), counted(&device, [6, 7, 5]));
    let views = |array: &Array<f32, 3>| -> rumba::Result<Vec<Vec<f32>>> {
        let all = array.view();
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        orders.iter().map(|&order| all.permute(order).slice((1..4, 1..3, every(..5, -2))).to_vec()).collect()
    };
    let (host_a, host_b) = (views(&a)?, views(&b)?);
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let part = (1..4, 1..3, every(..5, -2));
    for (i, &order_a) in orders.iter().enumerate() {
        for (j, &order_b) in orders.iter().enumerate() {
            let view_a = a.view().permute(order_a).slice(part.clone());
            let view_b = b.view().permute(order_b).slice(part.clone());
            let expected = on_the_host(&host_a[i], &host_b[j], 0.5);
            let result = module.map(multiply_add::over(view_a, view_b, 0.5_f32))?;
            assert_eq!(result.to_vec()?, expected, "{order_a:?} {order_b:?}");
            let mut wide = Array::<f32, 3>::zeros(&device, [3, 5, 4])?;
            let into = wide.view_mut().permute([0, 2, 1]).slice_mut((.., 1..3, every(.., 2)));
            module.map_into(multiply_add::over(view_a, view_b, 0.5_f32), into)?;
            assert_eq!(wide.view().permute([0, 2, 1]).slice((.., 1..3, every(.., 2))).to_vec()?, expected);
            assert_eq!(wide.to_vec()?.iter().filter(|value| **value != 0.0).count(), expected.len());
        }
    }
    Ok(())
}

/// Sizes of which each axis takes several blocks, and loops over what a grid has no blocks for.
#[test]
fn large_strided_arrays() -> rumba::Result<()> {
    let (device, module) = start();
    for shape in [[70, 300], [1000, 3], [3, 1000], [1, 700], [700, 1]] {
        let a = counted(&device, shape);
        let b = counted(&device, [shape[1], shape[0]]);
        let sum = module.map(multiply_add::over(&a, 1.0_f32, b.transpose()))?;
        let (a, b, sum) = (a.to_vec()?, b.to_vec()?, sum.to_vec()?);
        for (i, sum) in sum.into_iter().enumerate() {
            let (row, column) = (i / shape[1], i % shape[1]);
            assert_eq!(sum, a[i] + b[column * shape[0] + row], "{shape:?} {i}");
        }
    }
    Ok(())
}

#[test]
fn host_memory_and_buffers() -> rumba::Result<()> {
    let (device, module) = start();
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let mut y = vec![0.0_f32; 1000];
    module.map_into(multiply_add::over(&x, 2.0_f32, &x), &mut y)?;
    assert!(y.iter().zip(&x).all(|(y, x)| *y == 3.0 * x));
    let buffer = device.buffer_from(&x)?;
    let mut out = device.zeros::<f32>(2000)?;
    module.map_into(multiply_add::over(&buffer, &y, 0.0_f32), out.slice_mut(500..1500))?;
    assert_eq!(out.to_vec()?[502..504], [12.0, 27.0]);
    // A shape for a slice, and the result to a host matrix, repeated along its rows.
    let mut matrix = [0.0_f32; 6];
    module.map_into(hypotenuse::over((&[3.0_f32, 6.0], [2, 1]), 4.0_f32), (&mut matrix, [2, 3]))?;
    assert_eq!(matrix[..4], [5.0, 5.0, 5.0, hypotenuse(6.0, 4.0)]);
    // On a stream.
    let stream = device.stream()?;
    let a = counted(&device, [3000]);
    let mut b = Array::<f32, 1>::zeros(&device, [3000])?;
    module.map_into_on(&stream, multiply_add::over(&a, &a, 0.0_f32), &mut b)?;
    stream.synchronize()?;
    assert_eq!(b.to_vec()?[2999], 9_000_000.0);
    Ok(())
}

#[test]
fn elements_of_other_types() -> rumba::Result<()> {
    let (device, module) = start();
    let condition = Array::from_slice(&device, [4], &[1_u8, 0, 0, 1])?;
    let chosen = module.map(arrays::select::over(&condition, &[0.5_f64, 1.5, 2.5, 3.5], -7_i16))?;
    assert_eq!(chosen.to_vec()?, [0.5, -7.0, -7.0, 3.5]);
    let i = Complex { real: 0.0, imaginary: 1.0 };
    let squares = module.map(arrays::square::over(&[i, Complex { real: 2.0, imaginary: 1.0 }]))?;
    assert_eq!(squares.to_vec()?, [(-1.0, 0.0), (3.0, 4.0)].map(|(real, imaginary)| Complex { real, imaginary }));
    let same = module.map(arrays::square::over(Constant(i)))?;
    assert_eq!(same.to_vec()?, squares.to_vec()?[..1]);
    assert_eq!(module.map(arrays::norms(&[[2.0, 3.0, 6.0]]))?.to_vec()?, [7.0]);
    let bytes = Array::full(&device, [1030], 3_u8)?;
    assert_eq!(module.map(multiply_add::over(&bytes, &bytes, 1_u8))?.to_vec()?, [10; 1030]);
    let wide = module.map(multiply_add::over(&[1.5_f64], 2.0_f64, 0.25_f64))?;
    assert_eq!(wide.to_vec()?, [3.25]);
    Ok(())
}

#[test]
fn shapes_that_do_not_fit_are_shown() -> rumba::Result<()> {
    let (device, module) = start();
    let (a, b) = (counted(&device, [3, 4]), counted(&device, [3]));
    let error = module.map(hypotenuse::over(&a, &b)).expect_err("4 is not 3");
    assert_eq!(
        error.to_string(),
        "`hypotenuse`: shapes [3, 4] and [3] do not broadcast together: axis 1 from the end is 4 long in one and 3 in \
         another; lengths must be equal, or 1"
    );
    let Error::Array(error) = error else { panic!("{error}") };
    assert!(matches!(*error, ArrayError::Operands(ShapeError::Operands { first: 4, second: 3, .. })));
    let mut out = Array::<f32, 2>::zeros(&device, [4, 3])?;
    let error = module.map_into(hypotenuse::over(&a, 1.0_f32), &mut out).expect_err("it is transposed");
    assert!(error.to_string().contains("of shape [3, 4] cannot be written to an array of shape [4, 3]"), "{error}");
    let error = module.map(hypotenuse::over((&[1.0_f32; 5], [2, 3]), 1.0_f32)).expect_err("5 is not 6");
    assert!(error.to_string().contains("a slice of 5 elements has no shape [2, 3]"), "{error}");
    Ok(())
}

#[test]
fn kernels_take_views() -> rumba::Result<()> {
    let (device, module) = start();
    let (a, b) = (counted(&device, [40, 70]), counted(&device, [80, 50]));
    let mut c = Array::<f32, 2>::zeros(&device, [50, 80])?;
    let part_a = a.slice((every(.., 2), every(..40, -1)));
    let part_b = b.slice((every(.., 2), 5..25));
    let config = LaunchConfig::covering((40, 20)).block((32, 8));
    module.launch(config, arrays::add_transposed(part_a, part_b, c.slice_mut((10..30, every(.., 2)))))?;
    let (a, b, c) = (part_a.to_vec()?, part_b.to_vec()?, c.slice((10..30, every(.., 2))).to_vec()?);
    for (i, c) in c.into_iter().enumerate() {
        assert_eq!(c, a[i] + b[i % 40 * 20 + i / 40], "{i}");
    }

    // Grids that cover the array, and grids of every shape that do not.
    let expected = |[i, j, k, l]: [usize; 4]| (1000 * i + 100 * j + 10 * k + l) as u32;
    let expected = Array::from_fn(&device, [3, 4, 5, 6], expected)?.to_vec()?;
    for (grid, block) in
        [((1, 1, 1), (1, 1, 1)), ((1, 1, 1), (8, 8, 4)), ((2, 1, 2), (2, 2, 1)), ((1, 3, 1), (1, 1, 3))]
    {
        let mut a = Array::<u32, 4>::zeros(&device, [3, 4, 5, 6])?;
        module.launch((grid, block), arrays::number_four(&mut a))?;
        assert_eq!(a.to_vec()?, expected, "{grid:?} {block:?}");
        let mut b = Array::<u32, 4>::zeros(&device, [6, 5, 4, 3])?;
        module.launch((grid, block), arrays::number_four(b.view_mut().transpose()))?;
        assert_eq!(b.transpose().to_vec()?, expected, "{grid:?} {block:?}");
    }
    Ok(())
}

#[test]
fn views_are_checked() -> rumba::Result<()> {
    let (device, module) = start();
    let a = counted(&device, [4]);
    let mut b = Array::<f32, 1>::zeros(&device, [1])?;
    let launched = module.launch((1, 32), arrays::read_outside(&a, &mut b)).and_then(|()| device.synchronize());
    let error = launched.expect_err("it reads past the end");
    assert!(matches!(error, Error::Panic(_)), "{error}");
    assert!(error.to_string().contains("an index is outside of the shape of a view"), "{error}");
    // More dimensions of threads than the output has.
    let error = module.launch((1, (8, 8)), arrays::read_outside(&a, &mut b)).expect_err("threads would share elements");
    assert!(
        matches!(&error, Error::Launch(error) if matches!(**error, LaunchError::Contract(ContractError::Rank { .. }))),
        "{error}"
    );
    let error = module
        .launch((1, (8, 8)), arrays::add_transposed((&[0.0; 5], [2, 3]), (&[0.0; 6], [3, 2]), (&mut [0.0; 6], [2, 3])))
        .expect_err("5 is not 6");
    assert!(error.to_string().contains("`a`: a slice of 5 elements has no shape [2, 3]"), "{error}");
    Ok(())
}

/// Threads share the default stream: a thread that waits on it does not take the panic of another thread's launch.
#[test]
fn a_panic_is_for_the_thread_that_launched() -> rumba::Result<()> {
    let (device, module) = start();
    let a = counted(&device, [4]);
    let mut b = Array::<f32, 1>::zeros(&device, [1])?;
    module.launch((1, 32), arrays::read_outside(&a, &mut b))?;
    let other = std::thread::spawn(|| {
        let (device, module) = start();
        let mut y = [0.0_f32; 4];
        // Each of these waits for work on the default stream.
        module.map_into(multiply_add::over(&[1.0_f32; 4], 2.0_f32, 3.0_f32), &mut y)?;
        let event = device.record()?;
        event.synchronize()?;
        device.synchronize()?;
        Ok::<_, Error>(y)
    });
    assert_eq!(other.join().expect("no assertion failed")?, [5.0; 4]);
    let error = device.synchronize().expect_err("it reads past the end");
    assert!(matches!(error, Error::Panic(_)), "{error}");
    Ok(())
}

/// All of it under every check of the software device: no access outside, none of unwritten memory, no race.
#[test]
fn nothing_is_wrong_with_the_kernels() -> rumba::Result<()> {
    let findings = rumba::check(|gpu| {
        let module = gpu.load_named("forms.ptx", PTX)?;
        let a = Array::full(gpu, [37, 19], 3.0_f32)?;
        let row = Array::full(gpu, [37], 4.0_f32)?;
        let c = module.map(hypotenuse::over(a.transpose(), &row))?;
        assert_eq!(c.slice((every(.., -3), 1..)).to_vec()?, [5.0; 7 * 36]);
        let d = module.map(hypotenuse::over(&c, 12.0_f32))?;
        assert_eq!(d.to_vec()?, [13.0; 19 * 37]);
        Ok(())
    })?;
    findings.assert_none();
    Ok(())
}

/// The PTX that lies beside the kernels of arrays is what they become, as far as another toolchain would make it too:
/// entries and parameters. `UPDATE_EXPECT=1` writes it anew.
#[test]
fn the_kernels_of_arrays_are_their_ptx() {
    let built = include_str!(env!("ARRAY_KERNELS_PTX"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/array-kernels/kernels.ptx");
        std::fs::write(path, built).expect("the sources can be written");
        return;
    }
    let entries = |ptx: &str| -> Vec<String> {
        let mut entries: Vec<String> = ptx
            .split(".entry ")
            .skip(1)
            .map(|entry| entry.split_once("\n{").expect("an entry has a body").0.to_owned())
            .collect();
        entries.sort();
        entries
    };
    assert_eq!(entries(array_kernels::PTX), entries(built), "UPDATE_EXPECT=1 writes the file anew");
    assert!(!array_kernels::PTX.contains(".local"), "something is indexed in local memory");
}

#[test]
fn functions_of_arrays() -> rumba::Result<()> {
    let (device, module) = start();
    // A stack of matrices by one matrix, its axes in another order.
    let (a, b) = (counted(&device, [5, 2, 3]), counted(&device, [4, 3]));
    let c = module.map(arrays::matmul::over(&a, b.transpose()))?;
    assert_eq!(c.shape(), [5, 2, 4]);
    let (a, b, c) = (a.to_vec()?, b.to_vec()?, c.to_vec()?);
    for (i, c) in c.into_iter().enumerate() {
        let (row, column) = (i / 4, i % 4);
        let sum: f32 = (0..3).map(|k| a[3 * row + k] * b[3 * column + k]).sum();
        assert_eq!(c, sum, "{i}");
    }
    // Numbers and arrays of numbers where there are no axes; columns of a wider array as the results.
    let x = Array::from_fn(&device, [300, 7], |[row, column]| (row * 7 + column) as i32)?;
    let factors = Array::arange(&device, 1_i32, 1, 300)?;
    let mut sums = Array::<i32, 2>::zeros(&device, [7, 600])?;
    let into = sums.view_mut().transpose().slice_mut((every(.., 2), ..));
    module.map_into(arrays::running_sum::over(&x, &factors), into)?;
    let sums = sums.transpose().slice((every(.., 2), ..)).to_vec()?;
    for (i, sum) in sums.iter().enumerate() {
        let (row, column) = (i / 7, i % 7);
        let expected: i32 = (0..=column).map(|k| (row * 7 + k) as i32 * (row as i32 + 1)).sum();
        assert_eq!(*sum, expected, "{i}");
    }
    let doubled = module.map(arrays::running_sum::over(&[1.0_f64, 2.0, 3.0], 2.0_f64))?;
    assert_eq!(doubled.to_vec()?, [2.0, 6.0, 12.0]);
    let normal =
        module.map(arrays::cross::over(&[1.0_f32, 0.0, 0.0], (&[0.0_f32, 1.0, 0.0, 0.0, 0.0, 1.0], [2, 3])))?;
    assert_eq!(normal.to_vec()?, [0.0, 0.0, 1.0, 0.0, -1.0, 0.0]);

    let error = module.map(arrays::matmul::over(&Array::<f32, 2>::zeros(&device, [2, 3])?, &x_like(&device)?));
    assert_eq!(
        error.expect_err("3 is not 4").to_string(),
        "`matmul`: with shapes [2, 3] and [4, 5], axis `n` of \"(m,n),(n,p)->(m,p)\" is 3 long in one place and 4 in another"
    );
    let error = module.map(arrays::cross::over(&[1.0_f32; 4], &[1.0_f32; 3])).expect_err("4 is not 3");
    assert!(
        error.to_string().contains("axis `3` of \"(3),(3)->(3)\" is 3 long in one place and 4 in another"),
        "{error}"
    );
    Ok(())
}

fn x_like(device: &Device) -> rumba::Result<Array<f32, 2>> {
    Array::zeros(device, [4, 5])
}

/// The speed of arrays on a GPU, in GB/s, next to a copy by the driver: with `RUMBA_FIGURES=1`.
#[test]
fn figures() -> rumba::Result<()> {
    if std::env::var_os("RUMBA_FIGURES").is_none() {
        return Ok(());
    }
    let (device, module) = start();
    let gallery = device.load(gallery::PTX)?;
    let n = 1 << 13;
    let (a, b) = (Array::full(&device, [n, n], 1.5_f32)?, Array::full(&device, [n, n], 2.5_f32)?);
    let row = Array::full(&device, [n], 0.5_f32)?;
    let mut c = Array::<f32, 2>::zeros(&device, [n, n])?;
    let array = (n * n * 4) as f64;
    let mut measure = |what: &str, arrays: f64, work: &mut dyn FnMut(&mut Array<f32, 2>) -> rumba::Result<()>| {
        let mut times = Vec::new();
        for round in 0..12 {
            let before = device.record()?;
            for _ in 0..5 {
                work(&mut c)?;
            }
            let after = device.record()?;
            device.synchronize()?;
            if round >= 2 {
                times.push(after.since(&before)?.as_secs_f64() / 5.0);
            }
        }
        times.sort_by(f64::total_cmp);
        println!("{what:<48} {:8.1} us {:8.0} GB/s", times[5] * 1e6, arrays * array / times[5] / 1e9);
        Ok::<(), Error>(())
    };
    measure("cuMemcpyDtoD", 2.0, &mut |c| c.copy_from(&a.view()))?;
    measure("the gallery's add, written by hand", 3.0, &mut |c| {
        let (a, b) = (a.as_slice(), b.as_slice());
        let out = c.view_mut().into_slice().expect("it is whole");
        gallery.for_each(n * n, kernels_gpu::elementwise::add(a, b, out))
    })?;
    measure("vectorized hypotenuse(a, b)", 3.0, &mut |c| module.map_into(hypotenuse::over(&a, &b), c))?;
    measure("vectorized a * 2 + 1", 2.0, &mut |c| module.map_into(multiply_add::over(&a, 2.0_f32, 1.0_f32), c))?;
    measure("vectorized a * row + b, broadcast", 3.0, &mut |c| module.map_into(multiply_add::over(&a, &row, &b), c))?;
    measure("vectorized a * column + b, broadcast", 3.0, &mut |c| {
        module.map_into(multiply_add::over(&a, row.view().insert_axis(1), &b), c)
    })?;
    measure("vectorized hypotenuse(a, transpose of b)", 3.0, &mut |c| {
        module.map_into(hypotenuse::over(&a, b.transpose()), c)
    })?;
    measure("copy of the transpose", 2.0, &mut |c| c.copy_from(&a.transpose()))?;
    measure("copy of every second column, twice", 2.0, &mut |c| {
        c.slice_mut((.., ..n / 2)).copy_from(&a.slice((.., every(.., 2))))?;
        c.slice_mut((.., n / 2..)).copy_from(&a.slice((.., every(1.., 2))))
    })?;
    measure("copy of the left half to the right", 1.0, &mut |c| {
        c.slice_mut((.., n / 2..)).copy_from(&a.slice((.., ..n / 2)))
    })?;
    measure("fill", 1.0, &mut |c| c.fill(3.0))
}

/// Every operator on every type, with every kind of operand on either side.
#[test]
fn arrays_compute() -> rumba::Result<()> {
    let (device, _) = start();
    macro_rules! each {
        ($($number:ident: $div:expr;)*) => {$(
            let (a, b) = ([12 as $number, 7 as $number, 100 as $number], [5 as $number, 7 as $number, 3 as $number]);
            let two = 2 as $number;
            let (x, y) = (Array::from_slice(&device, [3], &a)?, Array::from_slice(&device, [3], &b)?);
            let with = |f: fn($number, $number) -> $number| [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2])];
            assert_eq!((&x + &y).eval()?.to_vec()?, with(|a, b| a + b));
            assert_eq!((&x - 2 as $number).eval()?.to_vec()?, a.map(|a| a - two));
            assert_eq!((2 as $number * x.view()).eval()?.to_vec()?, a.map(|a| two * a));
            assert_eq!((&x / &y).eval()?.to_vec()?, with($div));
            assert_eq!((x.view() * &y - (&y - 3 as $number) * &y).eval()?.to_vec()?, with(|a, b| a * b - (b - 3 as $number) * b));
        )*};
    }
    each! {
        u32: |a, b| a / b;
        i32: |a, b| a / b;
        u64: |a, b| a / b;
        i64: |a, b| a / b;
        f32: |a, b| a / b;
        f64: |a, b| a / b;
    }
    // Division by zero and `i32::MIN / -1`, which trap on a CPU.
    let edges = Array::from_slice(&device, [3], &[i32::MIN, i32::MAX, 5])?;
    let divisors = Array::from_slice(&device, [3], &[-1, -1, 0])?;
    assert_eq!((&edges / &divisors).eval()?.to_vec()?, [i32::MIN, -i32::MAX, 0]);
    assert_eq!((&edges + 1).eval()?.to_vec()?, [i32::MIN + 1, i32::MIN, 6]);
    assert_eq!((-&edges).eval()?.to_vec()?, [i32::MIN, -i32::MAX, -5]);
    let zeros = (-(&Array::full(&device, [2], 0.0_f32)? * 1.0)).eval()?.to_vec()?;
    assert!(zeros.iter().all(|zero| zero.to_bits() == (-0.0_f32).to_bits()));
    Ok(())
}

/// Operands in between that have the shape of the result, and some that have not.
#[test]
fn expressions_broadcast() -> rumba::Result<()> {
    let (device, _) = start();
    let (row, column) = (counted(&device, [1, 300]), counted(&device, [200, 1]));
    let whole = counted(&device, [200, 300]);
    let (r, c, w) = (row.to_vec()?, column.to_vec()?, whole.to_vec()?);
    let expected: Vec<f32> =
        (0..60_000).map(|i| (r[i % 300] * 2.0 + c[i / 300]) / (w[i] - (c[i / 300] + 1.0)) - w[i]).collect();
    let expression = || (&row * 2.0 + &column) / (&whole - (&column + 1.0)) - whole.view();
    let result = expression().eval()?;
    assert_eq!(result.shape(), [200, 300]);
    assert_eq!(result.to_vec()?, expected);
    // To a part of another array, transposed, and repeated.
    let mut wide = Array::<f32, 2>::zeros(&device, [300, 400])?;
    expression().eval_into(wide.slice_mut((.., every(.., 2))).transpose())?;
    assert_eq!(wide.slice((.., every(.., 2))).transpose().to_vec()?, expected);
    assert_eq!(wide.to_vec()?.iter().filter(|element| **element == 0.0).count(), 60_000);
    (&row + 1.0).eval_into(wide.slice_mut((..20, ..300)))?;
    assert_eq!(wide.row(19).to_vec()?[..3], [2.0, 3.0, 4.0]);
    // Views of no elements, and arrays of no dimensions.
    let none = whole.slice((5..5, ..));
    assert_eq!((none + &row).eval()?.shape(), [0, 300]);
    let one = Array::<f32, 0>::from_slice(&device, [], &[7.0])?;
    assert_eq!((1.0 - &one).eval()?.to_vec()?, [-6.0]);
    // An expression built in a loop.
    let mut sum = &one + 0.0;
    for _ in 0..2000 {
        sum = sum + &one;
    }
    assert_eq!(sum.eval()?.to_vec()?, [7.0 * 2001.0]);
    let error = (&row + whole.slice((.., ..5))).eval().expect_err("5 is not 300");
    let expected = "`add`: shapes [1, 300] and [200, 5] do not broadcast together";
    assert!(error.to_string().starts_with(expected), "{error}");
    Ok(())
}
