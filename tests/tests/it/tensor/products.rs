//! Products by warp groups: what their PTX must be, which matrices are refused, and the numbers.

use std::sync::OnceLock;

use cuda_std::half::{bf16, e4m3, e5m2, f16};
use cuda_std::launch::{Call, ContractError, TensorShape, ViewError};
use cuda_std::tensor::Factor;
use rumba::array::{Array, ArrayView};
use rumba::{Device, DeviceBuffer, Module};
use rumba_linalg::product::Activation;
use rumba_linalg::product::fused::product_fused_8;
use rumba_linalg::product::parts::{PARTS, product_parts_nt};
use rumba_linalg::product::stored::{product_stored_8, product_stored_16, product_stored_32, product_stored_s8};
use rumba_linalg::product::warp_group::{
    LARGE, SMALL, STORED, Variant, product_large_8, product_large_nn, product_large_nt, product_large_tf32,
    product_large_tn, product_large_tt, product_small_nn, product_small_nt, product_small_tn, product_small_tt,
};
use rumba_ptx::ast::Item;

use super::{ptx, text};

/// Whether the tests examine a kernel: products with a `wgmma`.
fn is_one(opcodes: &[String]) -> bool {
    opcodes.iter().any(|opcode| opcode.starts_with("wgmma"))
}

/// The instructions of each kernel of a product, as opcodes with their modifiers.
fn instructions() -> Vec<(&'static str, Vec<String>)> {
    let module = rumba_ptx::parse(text()).expect("the builder's PTX is valid");
    let entries = module.items.iter().filter_map(|item| match item {
        Item::Function(function) => function.body.as_ref().map(|body| (function.name, body)),
        _ => None,
    });
    let all = entries.filter_map(|(name, body)| {
        let opcodes: Vec<String> = body.opcodes().iter().map(ToString::to_string).collect();
        (name.starts_with("product_") && is_one(&opcodes)).then_some((name, opcodes))
    });
    all.collect()
}

#[test]
fn sums_and_operands_stay_out_of_local_memory() {
    let all = instructions();
    assert_eq!(all.len(), KERNELS.len(), "{:?}", all.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (kernel, opcodes) in all {
        for opcode in opcodes {
            let local = opcode.starts_with("ld.local") || opcode.starts_with("st.local");
            assert!(!local && !opcode.starts_with("call"), "`{kernel}` has `{opcode}`");
        }
    }
}

/// The kernels, and the shape and types of their products.
pub(crate) const KERNELS: [(&str, &str); 45] = [
    ("product_fused_8_e4m3_bf16", "m64n256k32.f32.e4m3.e4m3"),
    ("product_fused_8_e4m3_f16", "m64n256k32.f32.e4m3.e4m3"),
    ("product_fused_8_e5m2_bf16", "m64n256k32.f32.e5m2.e5m2"),
    ("product_fused_8_e5m2_f16", "m64n256k32.f32.e5m2.e5m2"),
    ("product_fused_large_nn_bf16_bf16", "m64n256k16.f32.bf16.bf16"),
    ("product_fused_large_nn_f16_f16", "m64n256k16.f32.f16.f16"),
    ("product_fused_large_nt_bf16_bf16", "m64n256k16.f32.bf16.bf16"),
    ("product_fused_large_nt_f16_f16", "m64n256k16.f32.f16.f16"),
    ("product_fused_small_nt_bf16_bf16", "m64n128k16.f32.bf16.bf16"),
    ("product_fused_small_nt_f16_f16", "m64n128k16.f32.f16.f16"),
    ("product_large_8_e4m3_bf16", "m64n256k32.f32.e4m3.e4m3"),
    ("product_large_8_e4m3_f16", "m64n256k32.f32.e4m3.e4m3"),
    ("product_large_8_e5m2_bf16", "m64n256k32.f32.e5m2.e5m2"),
    ("product_large_8_e5m2_f16", "m64n256k32.f32.e5m2.e5m2"),
    ("product_large_nn_bf16", "m64n256k16.f32.bf16.bf16"),
    ("product_large_nn_f16", "m64n256k16.f32.f16.f16"),
    ("product_large_nt_bf16", "m64n256k16.f32.bf16.bf16"),
    ("product_large_nt_f16", "m64n256k16.f32.f16.f16"),
    ("product_large_tf32", "m64n256k8.f32.tf32.tf32"),
    ("product_large_tn_bf16", "m64n256k16.f32.bf16.bf16"),
    ("product_large_tn_f16", "m64n256k16.f32.f16.f16"),
    ("product_large_tt_bf16", "m64n256k16.f32.bf16.bf16"),
    ("product_large_tt_f16", "m64n256k16.f32.f16.f16"),
    ("product_parts_nt_bf16", "m64n128k16.f32.bf16.bf16"),
    ("product_parts_nt_f16", "m64n128k16.f32.f16.f16"),
    ("product_small_nn_bf16", "m64n128k16.f32.bf16.bf16"),
    ("product_small_nn_f16", "m64n128k16.f32.f16.f16"),
    ("product_small_nt_bf16", "m64n128k16.f32.bf16.bf16"),
    ("product_small_nt_f16", "m64n128k16.f32.f16.f16"),
    ("product_small_tn_bf16", "m64n128k16.f32.bf16.bf16"),
    ("product_small_tn_f16", "m64n128k16.f32.f16.f16"),
    ("product_small_tt_bf16", "m64n128k16.f32.bf16.bf16"),
    ("product_small_tt_f16", "m64n128k16.f32.f16.f16"),
    ("product_stored_16_bf16_bf16", "m64n256k16.f32.bf16.bf16"),
    ("product_stored_16_bf16_f32", "m64n256k16.f32.bf16.bf16"),
    ("product_stored_16_f16_f16", "m64n256k16.f32.f16.f16"),
    ("product_stored_16_f16_f32", "m64n256k16.f32.f16.f16"),
    ("product_stored_32_f32_f32", "m64n256k8.f32.tf32.tf32"),
    ("product_stored_8_e4m3_bf16", "m64n256k32.f32.e4m3.e4m3"),
    ("product_stored_8_e4m3_f16", "m64n256k32.f32.e4m3.e4m3"),
    ("product_stored_8_e4m3_f32", "m64n256k32.f32.e4m3.e4m3"),
    ("product_stored_8_e5m2_bf16", "m64n256k32.f32.e5m2.e5m2"),
    ("product_stored_8_e5m2_f16", "m64n256k32.f32.e5m2.e5m2"),
    ("product_stored_8_e5m2_f32", "m64n256k32.f32.e5m2.e5m2"),
    ("product_stored_s8_i8_i32", "m64n256k32.s32.s8.s8"),
];

#[test]
fn products_are_those_of_whole_warp_groups() {
    let all = instructions();
    for (kernel, product) in KERNELS {
        let (_, opcodes) = all.iter().find(|(name, _)| *name == kernel).unwrap_or_else(|| panic!("no `{kernel}`"));
        let product = format!("wgmma.mma_async.sync.aligned.{product}");
        let copies = !kernel.contains("stored");
        let clusters = !kernel.contains("small");
        let wanted = [
            (&*product, true),
            ("setmaxnreg.dec.sync.aligned.u32", true),
            ("setmaxnreg.inc.sync.aligned.u32", true),
            (
                "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",
                clusters,
            ),
            ("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group", copies),
            ("mbarrier.arrive.expect_tx.shared::cta.b64", true),
            ("mbarrier.try_wait.parity.shared::cta.b64", true),
            (
                "stmatrix.sync.aligned.m8n8.x4.shared.b16",
                copies && !kernel.contains("tf32") && !kernel.contains("parts"),
            ),
            ("barrier.cluster.arrive.relaxed", clusters),
            ("fence.proxy.async.shared::cta", copies),
            ("mapa.shared::cluster.u32", clusters),
            ("griddepcontrol.wait", true),
        ];
        for (opcode, is_wanted) in wanted {
            assert_eq!(opcodes.iter().any(|known| known == opcode), is_wanted, "`{kernel}` and `{opcode}`");
        }
    }
}

/// The address of a tensor map is that of the parameter, not of a copy.
#[test]
fn tensor_maps_are_parameters_by_value() {
    for (kernel, _) in KERNELS {
        let parameter = format!(".param .align 64 .b8 {kernel}_param_0[128]");
        assert!(text().contains(&parameter), "`{kernel}` has no `{parameter}`");
    }
    assert!(text().contains("cvta.param.u64"));
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
    let rows = refused(product_large_nt::<f16>((&a, [64, 100]), (&a, [64, 100]), (&mut c, [64, 64])));
    assert!(matches!(rows, ViewError::TensorRows { row_bytes: 200, .. }));
    let elements = refused(product_large_nt::<f16>((&a, [64, 96]), (&a, [64, 100]), (&mut c, [64, 64])));
    assert!(matches!(elements, ViewError::Elements { elements: 6400, .. }));
    let none = zeros(0);
    let empty = refused(product_large_nt::<f16>((&none, [64, 0]), (&none, [64, 0]), (&mut c, [64, 64])));
    assert!(matches!(empty, ViewError::TensorEmpty { .. }));
    // Rows that overlap are read, and not written.
    let rows_apart = |row_stride| TensorShape { batches: 1, rows: 64, columns: 64, row_stride, batch_stride: 0 };
    let near = product_large_nt::<f16>((&a, rows_apart(32)), (&a, rows_apart(32)), (&mut c, [64, 64]));
    assert!(near.check([2, 1, 1], [384, 1, 1], 232_448).is_ok());
    drop(near);
    let a = zeros(64 * 64);
    let overlap = refused(product_large_nt::<f16>((&a, [64, 64]), (&a, [64, 64]), (&mut c, rows_apart(56))));
    assert!(matches!(overlap, ViewError::TensorOverlap { row_stride: 56, .. }), "{overlap:?}");
}

/// Numbers whose products are computed: small whole ones, whose sums are exact until they are rounded to what is written.
trait Number: Factor + Default {
    fn of(value: f32) -> Self;
    fn value(self) -> f64;
}

macro_rules! numbers {
    ($($ty:ident: |$value:ident| $of:expr, $number:expr;)*) => {$(
        impl Number for $ty {
            fn of($value: f32) -> Self {
                $of
            }

            fn value(self) -> f64 {
                let $value = self;
                f64::from($number)
            }
        }
    )*};
}

numbers! {
    f16: |value| Self::from_f32(value), value.to_f32();
    bf16: |value| Self::from_f32(value), value.to_f32();
    e4m3: |value| Self::from_f32(value), value.to_f32();
    e5m2: |value| Self::from_f32(value), value.to_f32();
    f32: |value| value, value;
    i8: |value| value as i8, value;
}

/// The type of a product's output, and the rounding of an exact sum to this type.
trait Written: bytemuck::Pod + PartialEq + std::fmt::Debug {
    const NOTHING: Self;
    fn rounded(sum: f64) -> Self;
}

impl Written for f16 {
    const NOTHING: Self = Self::NAN;
    fn rounded(sum: f64) -> Self {
        Self::from_f64(sum)
    }
}

impl Written for bf16 {
    const NOTHING: Self = Self::NAN;
    fn rounded(sum: f64) -> Self {
        Self::from_f64(sum)
    }
}

impl Written for f32 {
    const NOTHING: Self = Self::NAN;
    fn rounded(sum: f64) -> Self {
        sum as f32
    }
}

impl Written for i32 {
    const NOTHING: Self = Self::MIN;
    fn rounded(sum: f64) -> Self {
        sum as i32
    }
}

fn module() -> &'static (Device, Module) {
    static MODULE: OnceLock<(Device, Module)> = OnceLock::new();
    MODULE.get_or_init(|| {
        let device = Device::new().expect("a device");
        let module = device.load(ptx()).unwrap_or_else(|error| panic!("{error}"));
        (device, module)
    })
}

/// A matrix to read, a row for each of the first number, with which columns it is in memory.
type Operand<'c, T> = (&'c DeviceBuffer<T>, TensorShape);

/// Computes products of `batches` matrices, `m` by `n` of sums of `k` numbers, by one kernel, and compares them with sums in `f64`. `a` and `b` lie
/// transposed or not, as `orders` says.
#[track_caller]
fn check<T: Number, O: Written>(
    Variant { cluster, threads, .. }: Variant,
    orders: &str,
    [batches, m, n, k]: [usize; 4],
    call: impl for<'c> FnOnce(Operand<'c, T>, Operand<'c, T>, (&'c mut DeviceBuffer<O>, TensorShape)) -> Call<'c>,
) {
    let number = |seed: usize, i: usize| ((i * 7 + seed + i / 13) % 9) as f32 - 4.0;
    let numbers = |seed, length: usize| (0..length).map(|i| T::of(number(seed, i))).collect::<Vec<T>>();
    let (a, b) = (numbers(1, batches * m * k), numbers(5, batches * n * k));
    let (device, module) = module();
    let (left, right) = (device.buffer_from(&a).unwrap(), device.buffer_from(&b).unwrap());
    let mut c = device.buffer_from(&vec![O::NOTHING; batches * m * n]).unwrap();
    let (along_a, along_b) = (orders.starts_with('n'), orders.ends_with('t'));
    let shape = |along, length| TensorShape::from(if along { [batches, length, k] } else { [batches, k, length] });
    let call =
        call((&left, shape(along_a, m)), (&right, shape(along_b, n)), (&mut c, TensorShape::from([batches, m, n])));
    // More than one tile for each cluster, of which there are two.
    module.launch((2 * cluster, threads), call).unwrap_or_else(|error| panic!("{error}"));
    for (i, c) in c.to_vec().unwrap().into_iter().enumerate() {
        let (batch, row, column) = (i / (m * n), i / n % m, i % n);
        let at = |along, length: usize, i: usize, j: usize| {
            batch * length * k + if along { i * k + j } else { j * length + i }
        };
        let sum: f64 = (0..k).map(|j| a[at(along_a, m, row, j)].value() * b[at(along_b, n, column, j)].value()).sum();
        assert_eq!(
            c,
            O::rounded(sum),
            "batch {batch}, row {row}, column {column} of {batches} x {m} x {n} x {k}, {orders}"
        );
    }
}

/// No bias, or no residual.
fn nothing<O: bytemuck::Pod>() -> ArrayView<'static, O, 3> {
    let (device, _) = module();
    let none: &Array<O, 3> = Box::leak(Box::new(Array::zeros(device, [0; 3]).expect("memory")));
    none.view()
}

/// No bias of columns.
fn no_row() -> ArrayView<'static, u32, 1> {
    let (device, _) = module();
    let none: &Array<u32, 1> = Box::leak(Box::new(Array::zeros(device, [0]).expect("memory")));
    none.view()
}

/// A kernel that is given no epilogue.
macro_rules! plain {
    ($kernel:ident, $ty:ident, $output:ident, $one:literal, $zero:literal) => {
        |a, b, c| $kernel::<$ty, $output>(a, b, nothing(), nothing(), $one, $zero, Activation::Identity, c)
    };
}

/// All orders of operands, of a type of 16 bits.
macro_rules! orders {
    ($ty:ident, $variant:expr, $nn:ident $nt:ident $tn:ident $tt:ident) => {
        check::<$ty, $ty>($variant, "nn", [1, 300, 264, 72], |a, b, c| $nn::<$ty>(a, b, c));
        check::<$ty, $ty>($variant, "nt", [1, 129, 264, 72], |a, b, c| $nt::<$ty>(a, b, c));
        check::<$ty, $ty>($variant, "tn", [1, 136, 264, 65], |a, b, c| $tn::<$ty>(a, b, c));
        check::<$ty, $ty>($variant, "tt", [1, 72, 264, 72], |a, b, c| $tt::<$ty>(a, b, c));
    };
}

#[test]
fn large_products_are_those_in_f64() {
    orders!(f16, LARGE, product_large_nn product_large_nt product_large_tn product_large_tt);
    orders!(bf16, LARGE, product_large_nn product_large_nt product_large_tn product_large_tt);
    check::<f16, f16>(LARGE, "nt", [1, 1, 8, 1000], |a, b, c| product_large_nt::<f16>(a, b, c));
}

#[test]
fn small_products_are_those_in_f64() {
    orders!(f16, SMALL, product_small_nn product_small_nt product_small_tn product_small_tt);
    orders!(bf16, SMALL, product_small_nn product_small_nt product_small_tn product_small_tt);
}

#[test]
fn batches_are_products_of_their_own() {
    check::<f16, f16>(LARGE, "nt", [3, 100, 40, 72], |a, b, c| product_large_nt::<f16>(a, b, c));
    check::<bf16, bf16>(SMALL, "tn", [5, 72, 40, 30], |a, b, c| product_small_tn::<bf16>(a, b, c));
    let shape = [3, 7, 9, 16];
    check::<f16, f32>(STORED, "nt", shape, plain!(product_stored_16, f16, f32, 1.0, 0.0));
    check::<f16, f32>(PARTS, "nt", [3, 130, 260, 72], |a, b, c| product_parts_nt::<f16>(a, b, c));
    check::<bf16, f32>(PARTS, "nt", [8, 7, 12, 136], |a, b, c| product_parts_nt::<bf16>(a, b, c));
}

#[test]
fn rows_of_any_length_are_stored() {
    for n in [1, 2, 259, 260] {
        check::<f16, f16>(STORED, "nt", [1, 130, n, 72], plain!(product_stored_16, f16, f16, 1.0, 0.0));
        check::<bf16, f32>(STORED, "nt", [1, 3, n, 64], plain!(product_stored_16, bf16, f32, 1.0, 0.0));
    }
}

#[test]
fn products_of_32_and_8_bits_are_those_in_f64() {
    let shape = [1, 130, 260, 144];
    check::<f32, f32>(LARGE, "nt", shape, |a, b, c| product_large_tf32(a, b, c));
    let odd = [1, 130, 257, 144];
    check::<f32, f32>(STORED, "nt", odd, plain!(product_stored_32, f32, f32, 1.0, 0.0));
    check::<i8, i32>(STORED, "nt", shape, plain!(product_stored_s8, i8, i32, 1, 0));
    check::<e4m3, f16>(LARGE, "nt", [1, 130, 264, 144], |a, b, c| product_large_8::<e4m3, f16>(a, b, 1.0, c));
    check::<e4m3, f16>(LARGE, "nt", [1, 130, 264, 144], |a, b, c| {
        product_fused_8::<e4m3, f16>(a, b, no_row(), nothing(), 1.0, Activation::Identity, c)
    });
    check::<e5m2, bf16>(LARGE, "nt", [1, 130, 264, 144], |a, b, c| product_large_8::<e5m2, bf16>(a, b, 1.0, c));
    check::<e5m2, bf16>(LARGE, "nt", [1, 130, 264, 144], |a, b, c| {
        product_fused_8::<e5m2, bf16>(a, b, no_row(), nothing(), 1.0, Activation::Identity, c)
    });
    check::<e4m3, f32>(STORED, "nt", shape, plain!(product_stored_8, e4m3, f32, 1.0, 0.0));
    check::<e5m2, bf16>(STORED, "nt", shape, plain!(product_stored_8, e5m2, bf16, 1.0, 0.0));
}

/// Rows further apart than they are long.
#[test]
fn rows_may_be_apart() {
    let (device, module) = module();
    let number = |i: usize| f16::from_f32((i % 5) as f32);
    let a = device.buffer_from(&(0..64 * 80).map(number).collect::<Vec<_>>()).unwrap();
    let mut c = device.buffer_from(&vec![f16::ZERO; 64 * 72]).unwrap();
    let shape = |columns, row_stride| TensorShape { batches: 1, rows: 64, columns, row_stride, batch_stride: 0 };
    let call = product_small_nt::<f16>((&a, shape(40, 80)), (&a, shape(40, 80)), (&mut c, shape(64, 72)));
    module.launch((1, SMALL.threads), call).unwrap_or_else(|error| panic!("{error}"));
    let (a, c) = (a.to_vec().unwrap(), c.to_vec().unwrap());
    for (i, c) in c.into_iter().enumerate() {
        let (row, column) = (i / 72, i % 72);
        let sum: f64 = (0..40).map(|j| a[row * 80 + j].value() * a[column.min(63) * 80 + j].value()).sum();
        assert_eq!(c.value(), if column < 64 { sum } else { 0.0 }, "row {row}, column {column}");
    }
}
