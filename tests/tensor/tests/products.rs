//! Products by warp groups: what their PTX must be, which matrices are refused, and the numbers.
//!
//! The products run on the software device, or with `RUMBA_DEVICE=gpu` on a GPU of compute capability 9.0. Where the kernels cannot be built, `TENSOR_PTX` names
//! the file that this test wrote elsewhere (`TENSOR_PTX_TO`).

use std::process::Command;
use std::sync::OnceLock;

use cuda_builder::CudaBuilder;
use cuda_std::half::{bf16, f16};
use cuda_std::launch::{Call, ContractError, ViewError};
use cuda_std::tensor::Element;
use rumba::{Device, DeviceBuffer};
use rumba_ptx::ast::{Block, Item, Statement};
use tensor_kernels::{product_large, product_small};

const KERNELS: [&str; 4] = [
    "product_large_bf16",
    "product_large_f16",
    "product_small_bf16",
    "product_small_f16",
];

fn ptx() -> &'static str {
    static PTX: OnceLock<String> = OnceLock::new();
    PTX.get_or_init(|| {
        if let Some(file) = std::env::var_os("TENSOR_PTX") {
            return std::fs::read_to_string(file).expect("the file that `TENSOR_PTX` names");
        }
        let text = CudaBuilder::new(env!("CARGO_MANIFEST_DIR"))
            .build()
            .unwrap_or_else(|error| panic!("{error}"))
            .text;
        if let Some(file) = std::env::var_os("TENSOR_PTX_TO") {
            std::fs::write(file, &text).expect("the file that `TENSOR_PTX_TO` names");
        }
        text
    })
}

/// The instructions of each kernel, as opcodes with their modifiers.
fn instructions() -> Vec<(&'static str, Vec<String>)> {
    fn collect(block: &Block<'_>, opcodes: &mut Vec<String>) {
        for statement in &block.statements {
            match statement {
                Statement::Instruction(instruction) => opcodes.push(format!(
                    "{}{}",
                    instruction.opcode.mnemonic,
                    instruction.opcode.modifiers.concat()
                )),
                Statement::Block(block) => collect(block, opcodes),
                _ => {}
            }
        }
    }
    let module = rumba_ptx::parse(ptx()).expect("the builder's PTX is valid");
    let entries = module.items.iter().filter_map(|item| match item {
        Item::Function(function) => function.body.as_ref().map(|body| (function.name, body)),
        _ => None,
    });
    let all = entries.filter_map(|(name, body)| {
        let name = KERNELS.into_iter().find(|kernel| *kernel == name)?;
        let mut opcodes = Vec::new();
        collect(body, &mut opcodes);
        Some((name, opcodes))
    });
    all.collect()
}

#[test]
fn sums_and_operands_stay_out_of_local_memory() {
    let all = instructions();
    assert_eq!(all.iter().map(|(name, _)| *name).collect::<Vec<_>>(), KERNELS);
    for (kernel, opcodes) in all {
        for opcode in opcodes {
            let local = opcode.starts_with("ld.local") || opcode.starts_with("st.local");
            assert!(!local && !opcode.starts_with("call"), "`{kernel}` has `{opcode}`");
        }
    }
}

#[test]
fn products_are_those_of_whole_warp_groups() {
    for (kernel, opcodes) in instructions() {
        let columns = if kernel.contains("large") { 256 } else { 128 };
        let (_, element) = kernel.rsplit_once('_').expect("kernels are named by their elements");
        let product = format!("wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{element}.{element}");
        let wanted = [
            &*product,
            "setmaxnreg.dec.sync.aligned.u32",
            "setmaxnreg.inc.sync.aligned.u32",
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",
            "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group",
            "mbarrier.arrive.expect_tx.shared::cta.b64",
            "mbarrier.try_wait.parity.shared::cta.b64",
            "stmatrix.sync.aligned.m8n8.x4.shared.b16",
            "barrier.cluster.arrive.relaxed",
            "fence.proxy.async.shared::cta",
        ];
        for opcode in wanted {
            assert!(
                opcodes.iter().any(|known| known == opcode),
                "`{kernel}` has no `{opcode}`"
            );
        }
    }
}

/// The address of a tensor map is that of the parameter, not of a copy.
#[test]
fn tensor_maps_are_parameters_by_value() {
    for kernel in KERNELS {
        let parameter = format!(".param .align 64 .b8 {kernel}_param_0[128]");
        assert!(ptx().contains(&parameter), "`{kernel}` has no `{parameter}`");
    }
    assert!(ptx().contains("cvta.param.u64"));
}

#[test]
fn the_assembler_keeps_products_asynchronous_and_spills_nothing() {
    let Some(ptxas) = cuda_builder::wheels::find().ptxas else {
        eprintln!("ptxas is not installed, so nothing was assembled; `cargo xtask setup` installs it");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (text, binary) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
    std::fs::write(&text, ptx()).expect("the folder is ours");
    let output = Command::new(ptxas)
        .args(["-arch=sm_90a", "-v", "-o"])
        .args([&binary, &text])
        .output()
        .expect("ptxas runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // C7510, C7517, C7519: what made it wait for products at once.
    assert!(!said.contains("wgmma"), "{said}");
    assert_eq!(said.matches("0 bytes spill stores").count(), KERNELS.len(), "{said}");
}

/// Why a launch is refused.
#[track_caller]
fn refused(call: Call<'_>) -> ViewError {
    match call.check([2, 1, 1], [384, 1, 1], 232_448) {
        Err(ContractError::View { error, .. }) => error,
        other => panic!("not refused, but {other:?}"),
    }
}

#[test]
fn matrices_without_tensor_maps_are_refused() {
    let device = Device::new().expect("a device");
    let zeros = |elements: usize| device.buffer_from(&vec![f16::ZERO; elements]).expect("memory");
    let (a, mut c) = (zeros(64 * 100), zeros(64 * 64));
    let rows = refused(product_large::<f16>(
        (&a, [64, 100]),
        (&a, [64, 100]),
        (&mut c, [64, 64]),
    ));
    assert!(matches!(rows, ViewError::TensorRows { row_bytes: 200, .. }));
    let elements = refused(product_large::<f16>(
        (&a, [64, 96]),
        (&a, [64, 100]),
        (&mut c, [64, 64]),
    ));
    assert!(matches!(elements, ViewError::Elements { elements: 6400, .. }));
    let none = zeros(0);
    let empty = refused(product_large::<f16>(
        (&none, [64, 0]),
        (&none, [64, 0]),
        (&mut c, [64, 64]),
    ));
    assert!(matches!(empty, ViewError::TensorEmpty { .. }));
}

trait Number: Element + Default {
    fn of(value: f32) -> Self;
    fn value(self) -> f32;
    fn large<'c>(a: Matrix<'c, Self>, b: Matrix<'c, Self>, c: MatrixMut<'c, Self>) -> Call<'c>;
    fn small<'c>(a: Matrix<'c, Self>, b: Matrix<'c, Self>, c: MatrixMut<'c, Self>) -> Call<'c>;
}

/// How a kernel is called.
type Launcher<T> = for<'c> fn(Matrix<'c, T>, Matrix<'c, T>, MatrixMut<'c, T>) -> Call<'c>;

type Matrix<'c, T> = (&'c DeviceBuffer<T>, [usize; 2]);
type MatrixMut<'c, T> = (&'c mut DeviceBuffer<T>, [usize; 2]);

macro_rules! numbers {
    ($($ty:ident)*) => {$(
        impl Number for $ty {
            fn of(value: f32) -> Self {
                Self::from_f32(value)
            }

            fn value(self) -> f32 {
                self.to_f32()
            }

            fn large<'c>(a: Matrix<'c, Self>, b: Matrix<'c, Self>, c: MatrixMut<'c, Self>) -> Call<'c> {
                product_large::<Self>(a, b, c)
            }

            fn small<'c>(a: Matrix<'c, Self>, b: Matrix<'c, Self>, c: MatrixMut<'c, Self>) -> Call<'c> {
                product_small::<Self>(a, b, c)
            }
        }
    )*};
}

numbers!(f16 bf16);

/// Both kernels for one shape, compared with sums in `f64`.
fn products<T: Number>(device: &Device, [m, n, k]: [usize; 3]) {
    // Small whole numbers: sums are exact until they are rounded to `T`.
    let number = |seed: usize, i: usize| ((i * 7 + seed + i / 13) % 9) as f32 - 4.0;
    let numbers = |seed, length: usize| (0..length).map(|i| T::of(number(seed, i))).collect::<Vec<T>>();
    let (a, b) = (numbers(1, m * k), numbers(5, n * k));
    let (left, right) = (device.buffer_from(&a).unwrap(), device.buffer_from(&b).unwrap());
    let module = device.load(ptx()).unwrap_or_else(|error| panic!("{error}"));
    let kernels: [(f64, (u32, u32), Launcher<T>); 2] = [(1.0, (132, 384), T::large), (0.5, (6, 256), T::small)];
    for (factor, shape, call) in kernels {
        let mut c = device.buffer_from(&vec![T::of(f32::NAN); m * n]).unwrap();
        module
            .launch(shape, call((&left, [m, k]), (&right, [n, k]), (&mut c, [m, n])))
            .unwrap_or_else(|error| panic!("{error}"));
        for (i, c) in c.to_vec().unwrap().into_iter().enumerate() {
            let (row, column) = (&a[i / n * k..][..k], &b[i % n * k..][..k]);
            let sum: f64 = row
                .iter()
                .zip(column)
                .map(|(a, b)| f64::from(a.value()) * f64::from(b.value()))
                .sum();
            let wanted = T::of((sum * factor) as f32).value();
            assert_eq!(c.value(), wanted, "row {}, column {} of {m} x {n} x {k}", i / n, i % n);
        }
    }
}

#[test]
fn products_are_those_in_f64() {
    let device = Device::new().expect("a device");
    for shape in [[256, 512, 192], [300, 520, 136], [1, 8, 64], [130, 264, 1000]] {
        products::<f16>(&device, shape);
        products::<bf16>(&device, shape);
    }
}
