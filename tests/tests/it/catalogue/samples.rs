//! An example of each error.

use cuda_std::launch::{ContractError, ShapeError, ViewError};
use cuda_std::tensor::Window;
use rumba::array::ArrayError;
use rumba::interop::{DType, InteropError};
use rumba::nccl::NcclError;
use rumba::ranks::RankError;
use rumba::{
    Device, Error, error::CustError, error::DriverError, error::Fault, error::GraphError, error::LaunchError,
    error::LibraryError, error::LinalgError, error::ModuleError,
};
use std::path::PathBuf;

use super::builds::builds;
use super::collectives::{collectives, libraries};

fn driver_error() -> DriverError {
    DriverError {
        operation: "load the gallery's PTX".to_owned(),
        code: 222,
        name: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION".to_owned(),
        text: "the provided PTX was compiled with an unsupported toolchain.".to_owned(),
    }
}

pub(super) fn no_such_file() -> std::io::Error {
    std::io::Error::from_raw_os_error(2)
}

/// A panic cannot be made by hand: this one is a kernel's.
fn panicked() -> (&'static str, String) {
    let module = Device::new().and_then(|device| device.load(include_str!(env!("FAULTY_PTX"))));
    let module = module.expect("the software device takes the kernels");
    let mut y = [0; 4];
    let error = module.for_each(4, test_kernels::faulty::index_behind_end(&[1, 2, 3, 4], &mut y));
    ("Error::Panic", error.expect_err("the kernel reads too far").to_string())
}

/// A filter with fewer channels than the images.
fn filter() -> LinalgError {
    LinalgError::Filter { images: [2, 64, 64, 320], filter: [320, 3, 3, 160] }
}

/// An example of each variant: its name, and what the library says.
pub fn samples() -> Vec<(&'static str, String)> {
    let path = PathBuf::from;
    let device = || "device 0 (NVIDIA H200)".to_owned();
    let kernel = "saxpy";
    let errors: Vec<(&str, Error)> = vec![
        ("Error::NoDevice", Error::NoDevice("RUMBA_DEVICE is `gpu`, but NVIDIA's driver reports no GPU".into())),
        ("Error::NoDeviceWith", Error::NoDeviceWith { identity: "the PCI address 0000:1a:00.0".into() }),
        ("Error::Cust", CustError::Shared.into()),
        ("Error::Interop", InteropError::ReadOnly.into()),
        ("Error::Graph", GraphError::Cooperative { kernel }.into()),
        ("Error::InHostFunction", Error::InHostFunction { operation: "wait for the device".into() }),
        ("Error::Nccl", NcclError::NoDevices.into()),
        ("Error::Rank", RankError::Twice { rank: 1 }.into()),
        ("Error::NestedProfile", Error::NestedProfile),
        (
            "Error::TooManyElements",
            Error::TooManyElements { operation: "sort", length: 5_000_000_000, limit: u32::MAX as usize },
        ),
        ("Error::NoRange", Error::NoRange { operation: "make a histogram" }),
        ("Error::Array", ArrayError::Elements { elements: 11, shape: vec![3, 4] }.into()),
        ("Error::Library", LibraryError::SoftwareDevice { library: "cuBLAS", instead: "`rumba::linalg`" }.into()),
        ("Error::Linalg", LinalgError::NoMatrix { shape: vec![4] }.into()),
        (
            "Error::Disagreement",
            Error::Disagreement {
                what: "saxpy of 1000 elements".into(),
                difference: "element 7 is 3.5 instead of 3.0".into(),
            },
        ),
        ("Error::Unwritable", Error::Unwritable { path: path("target/profile"), source: no_such_file().into() }),
        ("Error::NoSuchDevice", Error::NoSuchDevice { ordinal: 3, count: 2 }),
        ("Error::Driver", driver_error().into()),
        (
            "Error::Fault",
            Error::Fault(Box::new(Fault {
                error: DriverError {
                    operation: "wait for the device".into(),
                    code: 700,
                    name: "CUDA_ERROR_ILLEGAL_ADDRESS".into(),
                    text: "an illegal memory access was encountered".into(),
                },
                kernel: Some(kernel),
                report: None,
            })),
        ),
        (
            "Error::ContextLost",
            Error::ContextLost {
                operation: "copy from a DeviceBuffer<f32> of 4000 bytes".into(),
                device: 0,
                cause: "a kernel failed: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)"
                    .into(),
            },
        ),
        (
            "Error::NeedsRestart",
            Error::NeedsRestart {
                device: 0,
                error: Box::new(DriverError {
                    operation: "start a new context".into(),
                    code: 700,
                    name: "CUDA_ERROR_ILLEGAL_ADDRESS".into(),
                    text: "an illegal memory access was encountered".into(),
                }),
            },
        ),
        (
            "Error::ContextDestroyed",
            Error::ContextDestroyed { operation: "copy from a DeviceBuffer<f32> of 4000 bytes".into(), device: 0 },
        ),
        (
            "Error::OtherDevice",
            Error::OtherDevice {
                operation: "launch `saxpy` with a DeviceBuffer<f32> of 4000 bytes".into(),
                ours: 0,
                theirs: 1,
            },
        ),
        (
            "Error::LengthMismatch",
            Error::LengthMismatch { operation: "copy to the device", source_length: 100, destination_length: 96 },
        ),
        (
            "Error::OutOfMemory",
            Error::OutOfMemory {
                operation: "allocate a DeviceBuffer<f64> of 100000000000 elements".into(),
                device: 0,
                bytes: 800_000_000_000,
                free: 149_000_000_000,
                total: 150_000_000_000,
            },
        ),
        ("Error::TooLarge", Error::TooLarge { length: usize::MAX, size: 8 }),
        ("Error::Module", ModuleError::NotPtx { module: "the PTX text".into(), reason: "it is empty".into() }.into()),
        ("Error::Launch", LaunchError::EmptyGrid { kernel, grid: [0, 1, 1] }.into()),
    ];
    let launches = vec![
        (
            "LaunchError::BlockTooLarge",
            LaunchError::BlockTooLarge {
                kernel,
                device: device(),
                grid: [100, 1, 1],
                block: [64, 32, 1],
                threads: 2048,
                limit: 1024,
            },
        ),
        (
            "LaunchError::BlockTooLargeForKernel",
            LaunchError::BlockTooLargeForKernel {
                kernel,
                device: device(),
                grid: [100, 1, 1],
                block: [1024, 1, 1],
                threads: 1024,
                limit: 640,
                registers: 96,
            },
        ),
        (
            "LaunchError::BlockDimension",
            LaunchError::BlockDimension { kernel, device: device(), axis: 'z', value: 128, limit: 64 },
        ),
        ("LaunchError::EmptyGrid", LaunchError::EmptyGrid { kernel, grid: [0, 1, 1] }),
        ("LaunchError::EmptyBlock", LaunchError::EmptyBlock { kernel, block: [16, 0, 1] }),
        ("LaunchError::NoBlock", LaunchError::NoBlock { kernel }),
        (
            "LaunchError::GridDimension",
            LaunchError::GridDimension { kernel, device: device(), axis: 'y', value: 100_000, limit: 65_535 },
        ),
        (
            "LaunchError::SharedMemory",
            LaunchError::SharedMemory { kernel, device: device(), declared: 4096, dynamic: 262_144, limit: 232_448 },
        ),
        (
            "LaunchError::CooperativeGrid",
            LaunchError::CooperativeGrid { kernel, device: device(), blocks: 10_000, limit: 1056 },
        ),
        (
            "LaunchError::Unreached",
            LaunchError::Unreached {
                kernel,
                parameter: "y",
                grid: [1, 1, 1],
                block: [64, 1, 1],
                reached: 64,
                elements: 1000,
            },
        ),
        (
            "LaunchError::Contract",
            LaunchError::Contract(ContractError::DynamicShared { kernel, given: 512, needed: 1024 }),
        ),
    ];
    let things_of_cust = vec![
        ("CustError::OtherContext", CustError::OtherContext { what: "the stream" }),
        ("CustError::NonBlocking", CustError::NonBlocking),
        ("CustError::Shared", CustError::Shared),
        ("CustError::NotAllocated", CustError::NotAllocated),
    ];
    let (shape, address) = (vec![3, 4], 0x7f1c_4000_0000);
    let tensors = vec![
        ("InteropError::Type", InteropError::Type { found: DType::F64, wanted: DType::F32 }),
        ("InteropError::Axes", InteropError::Axes { shape: shape.clone(), wanted: 1 }),
        ("InteropError::NotContiguous", InteropError::NotContiguous { shape: shape.clone(), strides: vec![1, 3] }),
        ("InteropError::Overlaps", InteropError::Overlaps { shape, strides: vec![0, 1] }),
        ("InteropError::ReadOnly", InteropError::ReadOnly),
        ("InteropError::InUse", InteropError::InUse),
        ("InteropError::OnHost", InteropError::OnHost),
        ("InteropError::OnDevice", InteropError::OnDevice { ordinal: 0 }),
        ("InteropError::OtherDevice", InteropError::OtherDevice { theirs: 1, ours: 0 }),
        ("InteropError::OtherContext", InteropError::OtherContext { address, ordinal: 0 }),
        ("InteropError::NoDriver", InteropError::NoDriver),
        ("InteropError::OtherPrimary", InteropError::OtherPrimary { ordinal: 0 }),
        ("InteropError::Misaligned", InteropError::Misaligned { address: address + 4, alignment: 256 }),
        ("InteropError::Shared", InteropError::Shared),
        ("InteropError::NotAllocated", InteropError::NotAllocated),
        (
            "InteropError::Invalid",
            InteropError::Invalid { what: "it is of DLPack's version 2.0, and this program knows 1.0".into() },
        ),
    ];
    let graphs = vec![
        ("GraphError::HostMemory", GraphError::HostMemory { kernel, parameter: 1 }),
        ("GraphError::UnifiedMemory", GraphError::UnifiedMemory { kernel }),
        ("GraphError::Lent", GraphError::Lent { kernel }),
        ("GraphError::Cooperative", GraphError::Cooperative { kernel }),
        ("GraphError::DefaultStream", GraphError::DefaultStream { operation: "launch `scale`".into() }),
        ("GraphError::NotALaunch", GraphError::NotALaunch { operation: "record an event".into() }),
        ("GraphError::Ended", GraphError::Ended { kernel }),
    ];
    let contracts = vec![
        ("ContractError::BlockShape", ContractError::BlockShape { kernel, block: [128, 1, 1], required: [256, 1, 1] }),
        (
            "ContractError::MaxThreads",
            ContractError::MaxThreads { kernel, block: [32, 32, 1], threads: 1024, limit: 512 },
        ),
        (
            "ContractError::Cluster",
            ContractError::Cluster { kernel, dimension: 'x', blocks: 10, cluster: 4, shape: [4, 1, 1] },
        ),
        ("ContractError::DynamicShared", ContractError::DynamicShared { kernel, given: 512, needed: 1024 }),
        (
            "ContractError::Rank",
            ContractError::Rank { kernel, parameter: "y", rank: 1, launch: 2, grid: [8, 8, 1], block: [16, 16, 1] },
        ),
        ("ContractError::Block", ContractError::Block { kernel, block: [512, 1, 1], room: [256, 1, 1] }),
        (
            "ContractError::Extent",
            ContractError::Extent { kernel, dimension: 'x', blocks: 1 << 24, block: 256, threads: 1 << 32 },
        ),
        (
            "ContractError::TooFewForBlocks",
            ContractError::TooFewForBlocks { kernel, parameter: "sums", elements: 16, blocks: 20 },
        ),
        (
            "ContractError::TooFewForThreads",
            ContractError::TooFewForThreads { kernel, parameter: "y", elements: 900, needed: 1000 },
        ),
        (
            "ContractError::View",
            ContractError::View {
                kernel,
                parameter: "a",
                error: ViewError::Elements { elements: 11, shape: vec![3, 4] },
            },
        ),
        ("ContractError::Shape", ContractError::Shape { kernel, parameter: "c", elements: 1000, shape: [1, 30, 30] }),
    ];
    let modules = vec![
        (
            "ModuleError::File",
            ModuleError::File {
                path: path("target/ptx/kernels.ptx"),
                source: no_such_file().into(),
            },
        ),
        (
            "ModuleError::NotPtx",
            ModuleError::NotPtx {
                module: "the PTX text".into(),
                reason: "it is empty".into(),
            },
        ),
        (
            "ModuleError::ForeignPtx",
            ModuleError::ForeignPtx {
                module: "the PTX text".into(),
                changed: true,
            },
        ),
        (
            "ModuleError::Ptx",
            ModuleError::Ptx {
                module: "the PTX text".into(),
                error: Box::new(DriverError {
                    operation: "load the PTX text".into(),
                    code: 218,
                    name: "CUDA_ERROR_INVALID_PTX".into(),
                    text: "a PTX JIT compilation failed".into(),
                }),
                log: "error: unknown instruction `fmaa`\n --> the PTX text:17:5".into(),
            },
        ),
        (
            "ModuleError::MissingKernel",
            ModuleError::MissingKernel {
                kernel: "saxpi".into(),
                module: "the PTX text".into(),
                available: vec!["saxpy".into(), "scale".into()],
                near: vec!["saxpy".into()],
                defined_at: None,
            },
        ),
        (
            "ModuleError::NoImage",
            ModuleError::NoImage {
                kernel: "product".into(),
                module: "the PTX text".into(),
                architectures: vec!["sm_90a".into()],
                compute_capability: (8, 6),
            },
        ),
        (
            "ModuleError::StaleKernel",
            ModuleError::StaleKernel {
                kernel: kernel.into(),
                module: "the PTX text".into(),
                parameter: Some("x"),
                found: "takes `x: &[Point]` as elements to read, each of 16 bytes, aligned to 4 (PTX parameters of 8, 8 bytes)"
                    .into(),
                expected: "passes `x: &[Point]` as elements to read, each of 12 bytes, aligned to 4 (PTX parameters of 8, 8 bytes)"
                    .into(),
                defined_at: "kernels/src/lib.rs:12".into(),
            },
        ),
        (
            "ModuleError::UndescribedKernel",
            ModuleError::UndescribedKernel {
                kernel: kernel.into(),
                module: "the PTX text".into(),
                defined_at: "kernels/src/lib.rs:12".into(),
            },
        ),
        (
            "ModuleError::MissingConstant",
            ModuleError::MissingConstant {
                constant: "WEIGHTS",
                module: "the PTX text".into(),
                expected: 12,
                found: Some(8),
            },
        ),
    ];
    let too_long = || ViewError::TooLong { shape: vec![2, 3_000_000_000], strides: vec![3_000_000_000, 1] };
    let shapes = vec![
        (
            "ShapeError::Operands",
            ShapeError::Operands {
                function: "hypotenuse",
                shapes: vec![vec![3, 4], vec![3]],
                axis: 1,
                first: 4,
                second: 3,
            },
        ),
        ("ShapeError::Output", ShapeError::Output { function: "hypotenuse", result: vec![3, 4], output: vec![4, 3] }),
        (
            "ShapeError::Signature",
            ShapeError::Signature {
                function: "matmul",
                signature: "(m,n),(n,p)->(m,p)",
                name: "n".to_owned(),
                first: 3,
                second: 4,
                shapes: vec![vec![2, 3], vec![4, 5]],
            },
        ),
        ("ShapeError::TooManyAxes", ShapeError::TooManyAxes { function: "matmul", shape: vec![2; 9], axes: 9 }),
        ("ShapeError::View", ShapeError::View { function: "hypotenuse", error: too_long() }),
    ];
    let views = vec![
        ("ViewError::Elements", ViewError::Elements { elements: 11, shape: vec![3, 4] }),
        ("ViewError::TooLong", too_long()),
        ("ViewError::TensorEmpty", ViewError::TensorEmpty { shape: vec![64, 0] }),
        (
            "ViewError::TensorOverlap",
            ViewError::TensorOverlap { shape: vec![1, 64, 64], row_stride: 56, batch_stride: 4096 },
        ),
        ("ViewError::TensorRows", ViewError::TensorRows { row_bytes: 200, address: 0x7f00_0000_0000 }),
        (
            "ViewError::TensorStrides",
            ViewError::TensorStrides {
                shape: vec![1, 2, 100, 20],
                strides: vec![4000, 20, 40, 1],
                address: 0x7f00_0000_0000,
            },
        ),
        (
            "ViewError::Window",
            ViewError::Window {
                window: Window { images: [2, 64, 64, 320], taps: [3, 3], stride: [9, 9], padding: [1, 1] },
            },
        ),
        (
            "ViewError::TensorRefused",
            ViewError::TensorRefused { shape: vec![4096, 4096], tile: vec![128, 64], code: 801 },
        ),
    ];
    let arrays = vec![
        ("ArrayError::Elements", ArrayError::Elements { elements: 11, shape: vec![3, 4] }),
        ("ArrayError::Reshape", ArrayError::Reshape { from: vec![4, 3], strides: vec![1, 4], to: vec![12] }),
        ("ArrayError::Broadcast", ArrayError::Broadcast { from: vec![3, 4], to: vec![4, 4] }),
        (
            "ArrayError::Operands",
            ShapeError::Output { function: "hypotenuse", result: vec![3, 4], output: vec![4, 3] }.into(),
        ),
    ];
    let linalg = vec![
        ("LinalgError::Product", LinalgError::Product { left: vec![3, 4], right: vec![5, 6], output: vec![3, 6] }),
        ("LinalgError::NoMatrix", LinalgError::NoMatrix { shape: vec![4] }),
        (
            "LinalgError::Attention",
            LinalgError::Attention {
                queries: [1, 8, 100, 64],
                keys: [1, 8, 77, 64],
                values: [1, 8, 80, 64],
                output: [1, 8, 100, 64],
            },
        ),
        ("LinalgError::AttentionScale", LinalgError::AttentionScale { scale: -0.125 }),
        ("LinalgError::AttentionSize", LinalgError::AttentionSize { queries: [1, 1, 100, 1024], keys: 77 }),
        ("LinalgError::Filter", filter()),
        ("LinalgError::Lengths", LinalgError::Lengths { operation: "product", lengths: vec![1, 64, 64, 1 << 32] }),
        ("LinalgError::NoPlace", LinalgError::NoPlace { image: [4, 4], taps: [7, 3], stride: [1, 1], padding: [1, 0] }),
        ("LinalgError::Operand", LinalgError::Operand { operand: "bias", shape: vec![320], wanted: vec![640] }),
    ];
    said(errors)
        .chain(said(launches))
        .chain(said(contracts))
        .chain(said(graphs))
        .chain(said(things_of_cust))
        .chain(said(tensors))
        .chain(collectives())
        .chain(libraries())
        .chain(said(arrays))
        .chain(said(linalg))
        .chain(said(shapes))
        .chain(said(views))
        .chain(said(modules))
        .chain(builds())
        .chain([panicked()])
        .collect()
}

/// The library's text of each error; `main` and `unwrap` print the same text.
pub(super) fn said<T: std::fmt::Display + std::fmt::Debug>(
    of: Vec<(&'static str, T)>,
) -> impl Iterator<Item = (&'static str, String)> {
    of.into_iter().map(|(name, error)| {
        assert_eq!(format!("{error:?}"), error.to_string(), "the Debug of {name}");
        (name, error.to_string())
    })
}
