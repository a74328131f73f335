//! The kernels of tests/kernels/src/forms: that they run, which PTX directives and entries they become, and that a launch which does
//! not keep to what they state is refused.
//!
//! `RUMBA_DEVICE=gpu` runs them on the GPU.

use cuda_std::glam::{UVec2, Vec3};
use cuda_std::launch::ContractError;
use rumba::{Device, Error, LaunchConfig, Module, error::LaunchError};
use rumba_ptx::ast::{FunctionKind, Item};
use test_kernels::forms::{contracts, generic, rust_cuda};

const PTX: &str = include_str!(env!("FORMS_PTX"));

fn start() -> Module {
    let device = Device::new().expect("there is a device");
    device.load_named("forms.ptx", PTX).expect("the PTX is right")
}

/// The directives of a kernel, as the text has them.
fn directives(name: &str) -> Vec<String> {
    let module = rumba_ptx::parse(PTX).expect("the builder's PTX is valid");
    let entry = module.items.iter().find_map(|item| match item {
        Item::Function(function) if function.kind == FunctionKind::Entry && function.name == name => Some(function),
        _ => None,
    });
    let entry = entry.unwrap_or_else(|| panic!("there is no kernel `{name}`"));
    entry.directives.iter().map(ToString::to_string).collect()
}

#[test]
fn what_a_kernel_states_is_in_the_ptx() {
    let expected: [(&str, &[&str]); 12] = [
        ("exact_1d", &[".reqntid 128"]),
        ("exact_2d", &[".reqntid 16, 16", ".minnctapersm 2"]),
        ("at_most", &[".maxntid 256", ".minnctapersm 4"]),
        ("few_registers", &[".maxnreg 32"]),
        ("dynamic", &[".reqntid 64"]),
        ("meet", &[]),
        ("scale_f32", &[]),
        ("neighbours_u32_2", &[".maxntid 128"]),
        ("neighbours_i64_4", &[".maxntid 128"]),
        ("reverse_f32_64", &[".reqntid 64"]),
        ("reverse_f64_32", &[".reqntid 32"]),
        ("closures", &[]),
    ];
    for (kernel, stated) in expected {
        // Lengths of 1 at the end may be there or not.
        let plain = |text: String| text.trim_end_matches(", 1").to_owned();
        let found: Vec<String> = directives(kernel).into_iter().map(plain).collect();
        assert_eq!(found, stated, "{kernel}");
    }
    assert!(!PTX.contains("__rumba_contract"), "a marker is left in the PTX");
}

/// A block's size is a constant where the kernel states it.
#[test]
fn stated_sizes_are_not_read() {
    let body = cuda_builder::inspect::kernel(PTX, "exact_1d").expect("the kernel is there");
    assert!(!body.contains("%ntid"), "{body}");
    assert!(body.contains(", 128;"), "{body}");
}

#[test]
fn fast_mathematics_are_for_the_kernel_that_asks() {
    let body = |name| cuda_builder::inspect::kernel(PTX, name).expect("the kernel is there");
    assert!(body("divide").contains("div.rn.f32"), "{}", body("divide"));
    assert!(body("divide_fast").contains("div.approx.ftz.f32"), "{}", body("divide_fast"));
    assert_eq!(directives("divide_fast").len(), 1);
}

#[test]
fn launches_as_stated_run() -> rumba::Result<()> {
    let module = start();
    let mut y = [0; 300];
    module.for_each(300, contracts::exact_1d(&mut y))?;
    assert_eq!(y, [128; 300]);
    module.launch((2, 150), contracts::at_most(&mut y))?;
    assert_eq!(y, [150; 300]);
    module.for_each(300, contracts::few_registers(&mut y))?;
    assert_eq!(y, [1; 300]);
    let block = (contracts::TILE as u32, 16);
    module.launch((2, block), contracts::exact_2d((&mut y[..], [10, 30])))?;
    assert_eq!(y, [256; 300]);
    Ok(())
}

#[test]
fn a_stated_block_is_not_said_again() -> rumba::Result<()> {
    let module = start();
    let mut y = vec![0; 300];
    module.launch(LaunchConfig::grid(3), contracts::exact_1d(&mut y))?;
    assert_eq!(y, [128; 300]);
    y.fill(0);
    module.launch(LaunchConfig::covering((30, 10)), contracts::exact_2d((&mut y[..], [10, 30])))?;
    assert_eq!(y, [256; 300]);

    // An explicit block is compared with the kernel's block.
    let other = LaunchConfig::grid(3).block(64);
    let error = refused(module.launch(other, contracts::exact_1d(&mut y)));
    assert!(matches!(error, LaunchError::Contract(ContractError::BlockShape { .. })), "{error}");

    let unstated = |config: LaunchConfig<'_>, y: &mut [u32]| module.launch(config, contracts::at_most(y));
    for config in [LaunchConfig::grid(3), LaunchConfig::covering(300), LaunchConfig::at_once()] {
        let error = refused(unstated(config, &mut y));
        assert!(matches!(error, LaunchError::NoBlock { kernel: "at_most" }), "{error}");
        assert!(error.to_string().contains(".block(256)"), "{error}");
    }
    unstated(LaunchConfig::covering(300).block(100), &mut y)?;
    assert_eq!(y, [100; 300]);
    unstated(LaunchConfig::for_each(300).block(50), &mut y)?;
    assert_eq!(y, [50; 300]);
    Ok(())
}

#[test]
fn dynamic_shared_memory_is_given_as_stated() -> rumba::Result<()> {
    let module = start();
    let x: Vec<u32> = (0..128).collect();
    let (mut y, mut bytes) = ([0; 128], [0; 2]);
    module.for_each(128, contracts::dynamic(&x, &mut y, &mut bytes))?;
    let expected: Vec<u32> = (0..64).rev().chain((64..128).rev()).collect();
    assert_eq!((&y[..], bytes), (&expected[..], [256; 2]));
    module.launch(LaunchConfig::new(2, 64).shared(1000), contracts::dynamic(&x, &mut y, &mut bytes))?;
    assert_eq!(bytes, [1000; 2]);
    Ok(())
}

#[test]
fn blocks_of_a_cooperative_kernel_meet() -> rumba::Result<()> {
    let module = start();
    let mut seen = vec![0; 1 << 16];
    module.launch(LaunchConfig::at_once().block(32), contracts::meet(&mut [0], &mut seen))?;
    let blocks = seen.iter().take_while(|&&seen| seen > 0).count();
    assert!(blocks > 1 && seen[..blocks].iter().all(|&seen| seen as usize == blocks));
    Ok(())
}

/// The error of a launch, which must be refused.
fn refused(launched: rumba::Result<()>) -> LaunchError {
    match launched.expect_err("the launch is not what the kernel states") {
        Error::Launch(error) => *error,
        other => panic!("another error: {other}"),
    }
}

#[test]
fn other_launches_are_refused_before_the_driver_sees_them() {
    let module = start();
    let mut y = [0; 1024];
    let mut bytes = [0; 16];
    let error = refused(module.launch((1, 64), contracts::exact_1d(&mut y)));
    assert!(matches!(error, LaunchError::Contract(ContractError::BlockShape { .. })));
    assert_eq!(
        error.to_string(),
        "cannot launch kernel `exact_1d`: a block of [64, 1, 1] threads, but the kernel is declared with `block = 128`; \
         launch blocks of exactly [128, 1, 1] threads, or change the declaration"
    );
    let error = refused(module.launch((1, (16, 8)), contracts::exact_2d((&mut y[..], [32, 32]))));
    assert!(error.to_string().contains("`block = (16, 16)`"), "{error}");
    let error = refused(module.launch((1, 257), contracts::at_most(&mut y)));
    assert!(matches!(error, LaunchError::Contract(ContractError::MaxThreads { limit: 256, threads: 257, .. })));
    let error =
        refused(module.launch(LaunchConfig::new(1, 64).shared(255), contracts::dynamic(&[0; 64], &mut y, &mut bytes)));
    assert!(matches!(error, LaunchError::Contract(ContractError::DynamicShared { given: 255, needed: 256, .. })));
    let mut seen = vec![0; 1 << 20];
    let error = refused(module.launch((1 << 20, 1024), contracts::meet(&mut [0], &mut seen)));
    assert!(matches!(error, LaunchError::CooperativeGrid { blocks: 0x10_0000, .. }), "{error}");
}

/// The driver refuses the same launches as our launcher, with the same number on every device.
#[test]
fn the_driver_refuses_them_too() -> Result<(), Box<dyn std::error::Error>> {
    use cust::sys::{self, CUresult};
    use std::ffi::c_void;

    let _context = cust::quick_init()?;
    let module = cust::module::Module::from_ptx(PTX, &[])?;
    let memory = cust::memory::DeviceBuffer::<u32>::zeroed(1024)?;
    let (mut address, mut length) = (memory.as_device_ptr().as_raw(), 1024_usize);
    let mut launch = |kernel: &str, [x, y, z]: [u32; 3]| -> Result<CUresult, cust::error::CudaError> {
        let function = module.get_function(kernel)?.to_raw();
        let mut parameters: [*mut c_void; 2] = [(&raw mut address).cast(), (&raw mut length).cast()];
        let stream = std::ptr::null_mut();
        // SAFETY: the kernel takes a pointer to words and their number, and writes no others.
        Ok(unsafe {
            sys::cuLaunchKernel(function, 1, 1, 1, x, y, z, 0, stream, parameters.as_mut_ptr(), std::ptr::null_mut())
        })
    };
    let expected = [
        ("exact_1d", [128, 1, 1], CUresult::CUDA_SUCCESS),
        ("exact_1d", [64, 1, 1], CUresult::CUDA_ERROR_INVALID_VALUE),
        ("exact_1d", [64, 2, 1], CUresult::CUDA_ERROR_INVALID_VALUE),
        ("exact_1d", [256, 1, 1], CUresult::CUDA_ERROR_INVALID_VALUE),
        ("at_most", [256, 1, 1], CUresult::CUDA_SUCCESS),
        ("at_most", [257, 1, 1], CUresult::CUDA_ERROR_INVALID_VALUE),
        ("at_most", [16, 16, 2], CUresult::CUDA_ERROR_INVALID_VALUE),
    ];
    let given = expected.map(|(kernel, block, _)| launch(kernel, block).map(|code| (kernel, block, code)));
    let given = given.into_iter().collect::<Result<Vec<_>, _>>()?;
    assert_eq!(given, expected);
    // SAFETY: no arguments.
    assert_eq!(unsafe { sys::cuCtxSynchronize() }, CUresult::CUDA_SUCCESS);
    Ok(())
}

#[test]
fn the_driver_knows_what_a_kernel_states() -> rumba::Result<()> {
    let module = start();
    assert_eq!(module.info("at_most")?.threads_per_block, 256);
    // NVIDIA's driver does not tell the shape that a kernel requires.
    assert_eq!(module.info("exact_1d")?.threads_per_block, 1024);
    assert!(module.info("few_registers")?.registers <= 32);
    assert_eq!(module.info("divide")?.threads_per_block, 1024);
    Ok(())
}

#[test]
fn generic_kernels_run_for_each_type() -> rumba::Result<()> {
    let module = start();
    let (x, mut y) = ([1.0_f32, 2.0, 3.0], [0.0; 3]);
    module.for_each(3, generic::scale::<f32>(2.0, &x, &mut y))?;
    assert_eq!(y, [2.0, 4.0, 6.0]);
    let (x, mut y) = ([1.0_f64, 2.0, 3.0], [0.0; 3]);
    module.for_each(3, generic::scale::<f64>(0.5, &x, &mut y))?;
    assert_eq!(y, [0.5, 1.0, 1.5]);

    let (x, mut y) = ([1_u32, 2, 3, 4, 5], [0; 4]);
    module.for_each(4, generic::neighbours::<u32, 2>(&x, &mut y))?;
    assert_eq!(y, [3, 5, 7, 9]);
    let (x, mut y) = ([-1_i64, 2, 3, 4, 5], [0; 2]);
    let call = generic::neighbours::<i64, 4>(&x, &mut y);
    assert_eq!(call.kernel().name, "neighbours_i64_4");
    module.for_each(2, call)?;
    assert_eq!(y, [8, 14]);

    let x: Vec<f32> = (0..128_u8).map(f32::from).collect();
    let mut y = vec![0.0; 128];
    module.for_each(128, generic::reverse::<f32, 64>(&x, &mut y))?;
    assert_eq!((y[0], y[127]), (63.0, 64.0));
    let error = refused(module.launch((4, 32), generic::reverse::<f32, 64>(&x, &mut y)));
    assert!(matches!(error, LaunchError::Contract(ContractError::BlockShape { .. })));
    Ok(())
}

#[test]
fn kernels_are_generic_over_what_they_compute() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let y = device.zeros::<i32>(3)?;
    let y_pointer = y.as_device_pointer();
    // SAFETY: three elements, as `x` has.
    module.for_each(3, unsafe { generic::combine::<generic::Sum, false>(&[1, 2, 3], y_pointer) })?;
    assert_eq!(y.to_vec()?, [4, 5, 6]);
    let y_pointer = y.as_device_pointer();
    // SAFETY: as above.
    module.for_each(3, unsafe { generic::combine::<generic::Product, true>(&[1, 2, 3], y_pointer) })?;
    assert_eq!(y.to_vec()?, [-3, -6, -9]);
    Ok(())
}

#[test]
fn closures_and_generic_functions_are_called() -> rumba::Result<()> {
    let module = start();
    let (x, mut y) = ([0.0_f32, 1.0], [0.0; 2]);
    module.for_each(2, generic::closures(0.5, &x, &mut y))?;
    assert_eq!(y, [6.0, 17.0]);
    Ok(())
}

#[test]
fn kernels_written_for_rust_cuda_run() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let (a, b) = ([1.0_f32, 2.0, 3.0], [10.0, 20.0, 30.0]);
    let c = device.zeros::<f32>(3)?;
    // SAFETY: `c` is as long as `a`.
    module.launch((1, 32), unsafe { rust_cuda::vector_sum(&a, &b, c.as_device_pointer()) })?;
    assert_eq!(c.to_vec()?, [11.0, 22.0, 33.0]);

    let block = rust_cuda::BLOCK as u32;
    let x: Vec<u32> = (0..2 * block).collect();
    let mut expected = x.clone();
    expected.chunks_mut(rust_cuda::BLOCK).for_each(<[u32]>::reverse);
    for kernel in [rust_cuda::reverse_static, rust_cuda::reverse_macro] {
        let buffer = device.buffer_from(&x)?;
        // SAFETY: an element for each thread.
        module.launch((2, block), unsafe { kernel(buffer.as_device_pointer()) })?;
        assert_eq!(buffer.to_vec()?, expected);
    }
    Ok(())
}

#[test]
fn structures_and_references_are_passed_to_unsafe_kernels() -> rumba::Result<()> {
    let device = Device::new()?;
    let module = device.load(PTX)?;
    let out = device.zeros::<Vec3>(6)?;
    let light = device.buffer_from(&[[0.0, 0.0, 0.0, 0.5_f32]])?;
    let view = rust_cuda::View { bounds: UVec2::new(3, 2), flip: true, origin: Vec3::new(1.0, 2.0, 20.0) };
    let (out_pointer, light_pointer) = (out.as_device_pointer(), light.as_device_pointer());
    // SAFETY: six pixels, and one light.
    module.launch((1, (8, 4)), unsafe { rust_cuda::shade(out_pointer, view, light_pointer) })?;
    let row = |y: f32| [0.0, 1.0, 2.0].map(|x| Vec3::new(1.0 + x / 2.0, 2.0 + y / 2.0, 10.0));
    assert_eq!(out.to_vec()?, [row(1.0), row(0.0)].concat());
    assert!(PTX.contains("GAMMA"), "the host would not find it");
    Ok(())
}

#[test]
fn kernels_of_one_function_name_have_names_of_their_own() {
    use contracts::{first, second};
    let module = start();
    let mut y = [0; 3];
    module.for_each(3, first::same_name(&mut y)).expect("it runs");
    assert_eq!(y, [1; 3]);
    module.for_each(3, second::same_name(&mut y)).expect("it runs");
    assert_eq!(y, [2; 3]);
    let mut z = [0.0; 3];
    module.for_each(3, second::fill::<f64>(7.0, &mut z)).expect("it runs");
    assert_eq!(z, [7.0; 3]);
    for name in [
        "same_name",
        "second_of_its_name",
        "fill_by_name_u32",
        "fill_by_name_f64",
        "twice_by_name_flat",
        "twice_by_name_strided",
    ] {
        assert!(cuda_builder::inspect::kernel(PTX, name).is_some(), "{name}");
    }
    assert_eq!(second::same_name(&mut y).kernel().name, "second_of_its_name");
    let doubled: rumba::array::Array<f32, 1> = module.map(second::twice::over(&[1.0_f32, 2.0])).expect("it runs");
    assert_eq!(doubled.to_vec().expect("it is there"), [2.0, 4.0]);
}
