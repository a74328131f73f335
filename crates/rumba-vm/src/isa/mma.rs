//! `mma`: the product of two matrices that lie in the registers of a warp, and its sum with a third.
//!
//! [`crate::isa::matrix::product`] has the arithmetic. Other instructions, `wgmma` and `tcgen05`, multiply matrices in
//! shared and in tensor memory.

use crate::isa::emit;
use crate::isa::matrix::element::ElementType;
use crate::isa::matrix::fragment::{Fragment, Order, Quads};
use crate::isa::matrix::operands;
use crate::isa::matrix::operands::{destinations, numbers, sources};
use crate::isa::matrix::product::{HANDLERS, Product, Rule, Scaling};
use crate::isa::matrix::sparse::Sparsity;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::op::opcode::Members;

/// `mma`
pub(super) static MMA: Instruction = Instruction {
    name: "mma",
    section: "9.7.15.5.14, 9.7.15.6.3",
    forms: &[Form {
        syntax: "
            // Half precision.
            mma.sync.aligned.m8n8k4.alayout.blayout.dtype.f16.f16.ctype  d, a, b, c;
            .alayout = { .row, .col };
            .blayout = { .row, .col };
            .ctype = { .f16, .f32 };
            .dtype = { .f16, .f32 };
            mma.sync.aligned.shape.row.col.dtype.f16.f16.ctype  d, a, b, c;
            .shape = { .m16n8k8, .m16n8k16 };
            .ctype = { .f16, .f32 };
            .dtype = { .f16, .f32 };

            // Alternate floating point.
            mma.sync.aligned.shape.row.col.f32.atype.btype.f32  d, a, b, c;
            .shape = { .m16n8k4, .m16n8k8 };
            .atype = { .tf32 };
            .btype = { .tf32 };
            mma.sync.aligned.shape.row.col.f32.atype.btype.f32  d, a, b, c;
            .shape = { .m16n8k8, .m16n8k16 };
            .atype = { .bf16 };
            .btype = { .bf16 };
            mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype  d, a, b, c;
            mma.sync.aligned.m16n8k32.row.col.kind.dtype.atype6.btype6.ctype  d, a, b, c;
            .shape = { .m16n8k16, .m16n8k32 };
            .kind = { .kind::f8f6f4 };
            .atype = { .e4m3, .e5m2 };
            .btype = { .e4m3, .e5m2 };
            .atype6 = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
            .btype6 = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
            .ctype = { .f16, .f32 };
            .dtype = { .f16, .f32 };

            // Block scaling.
            mma.sync.aligned.m16n8k64.row.col.kind.block_scale{.scale_vec}.f32.e2m1.e2m1.f32.stype
                d, a, b, c, scale_a, {byte_a, thread_a}, scale_b, {byte_b, thread_b};
            mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind.block_scale{.scale_vec}.f32.e2m1.e2m1.f32.stype
                d, a, b, c, e, f, scale_a, {byte_a, thread_a}, scale_b, {byte_b, thread_b};
            .kind = { .kind::mxf4, .kind::mxf4nvf4 };
            .scale_vec = { .scale_vec::2X, .scale_vec::4X };
            .stype = { .ue8m0, .ue4m3 };
            mma.sync.aligned.m16n8k32.row.col.kind.block_scale{.scale_vec}.f32.atype.btype.f32.stype
                d, a, b, c, scale_a, {byte_a, thread_a}, scale_b, {byte_b, thread_b};
            mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind.block_scale{.scale_vec}.f32.atype.btype.f32.stype
                d, a, b, c, e, f, scale_a, {byte_a, thread_a}, scale_b, {byte_b, thread_b};
            .kind = { .kind::mxf8f6f4 };
            .scale_vec = { .scale_vec::1X };
            .atype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
            .btype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
            .stype = { .ue8m0 };

            // Double precision.
            mma.sync.aligned.shape.row.col{.rnd}.f64.f64.f64.f64  d, a, b, c;
            .shape = { .m8n8k4, .m16n8k4, .m16n8k8, .m16n8k16 };
            .rnd = { .rn, .rz, .rm, .rp };

            // Integers.
            mma.sync.aligned.shape.row.col{.satfinite}.s32.atype.btype.s32  d, a, b, c;
            .shape = { .m8n8k16, .m16n8k16, .m16n8k32 };
            .atype = { .u8, .s8 };
            .btype = { .u8, .s8 };
            mma.sync.aligned.shape.row.col{.satfinite}.s32.atype.btype.s32  d, a, b, c;
            .shape = { .m8n8k32, .m16n8k32, .m16n8k64 };
            .atype = { .u4, .s4 };
            .btype = { .u4, .s4 };
            mma.sync.aligned.shape.row.col.s32.b1.b1.s32.bitop.popc  d, a, b, c;
            .shape = { .m8n8k128, .m16n8k128, .m16n8k256 };
            .bitop = { .xor, .and };

            // Structured sparsity.
            mma.sp.sync.aligned.shape.row.col.dtype.f16.f16.ctype  d, a, b, c, e, f;
            .sp = { .sp, .sp::ordered_metadata };
            .shape = { .m16n8k16, .m16n8k32 };
            .ctype = { .f16, .f32 };
            .dtype = { .f16, .f32 };
            mma.sp.sync.aligned.shape.row.col.f32.atype.btype.f32  d, a, b, c, e, f;
            .sp = { .sp, .sp::ordered_metadata };
            .shape = { .m16n8k16, .m16n8k32 };
            .atype = { .bf16 };
            .btype = { .bf16 };
            mma.sp.sync.aligned.shape.row.col.f32.atype.btype.f32  d, a, b, c, e, f;
            .sp = { .sp, .sp::ordered_metadata };
            .shape = { .m16n8k8, .m16n8k16 };
            .atype = { .tf32 };
            .btype = { .tf32 };
            mma.sp.sync.aligned.m16n8k64.row.col.dtype.atype.btype.ctype  d, a, b, c, e, f;
            .sp = { .sp, .sp::ordered_metadata };
            .atype = { .e4m3, .e5m2 };
            .btype = { .e4m3, .e5m2 };
            .ctype = { .f16, .f32 };
            .dtype = { .f16, .f32 };
            mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind.dtype.atype.btype.ctype  d, a, b, c, e, f;
            .kind = { .kind::f8f6f4 };
            .atype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
            .btype = { .e4m3, .e5m2, .e3m2, .e2m3, .e2m1 };
            .ctype = { .f16, .f32 };
            .dtype = { .f16, .f32 };
            mma.sp.sync.aligned.shape.row.col{.satfinite}.s32.atype.btype.s32  d, a, b, c, e, f;
            .sp = { .sp, .sp::ordered_metadata };
            .shape = { .m16n8k32, .m16n8k64 };
            .atype = { .u8, .s8 };
            .btype = { .u8, .s8 };
            mma.sp.sync.aligned.shape.row.col{.satfinite}.s32.atype.btype.s32  d, a, b, c, e, f;
            .sp = { .sp, .sp::ordered_metadata };
            .shape = { .m16n8k64, .m16n8k128 };
            .atype = { .u4, .s4 };
            .btype = { .u4, .s4 };
        ",
        lower,
    }],
    availability: &[
        // On GPUs these forms first exist on sm_120a; the machine accepts them for sm_100a, too, as a device with all
        // forms.
        Availability::specific((8, 7), 100).with(&[".kind::f8f6f4"]),
    ],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

/// Rows, columns and depth of a shape such as `m16n8k32`.
pub(super) fn shape(modifiers: &[&str]) -> Option<[usize; 3]> {
    modifiers.iter().find_map(|modifier| {
        let (m, rest) = modifier.strip_prefix(".m")?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
    })
}

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let modifiers = l.modifiers();
    let unknown = || LowerError::new("the shape and the types of this form are not understood");
    let [rows, columns, depth] = shape(modifiers).ok_or_else(unknown)?;
    let types: Vec<ElementType> = modifiers.iter().filter_map(|modifier| ElementType::from_name(modifier)).collect();
    let [d, a, b, c] = types[..] else { return Err(unknown()) };
    let kind = m.get("kind");
    let sparse = modifiers.iter().any(|modifier| modifier.starts_with(".sp"));
    let scaled = modifiers.contains(&".block_scale");
    let selector = if sparse { numbers(l, 5, 1, 4)?[0] } else { 0 };
    let sparsity = if sparse {
        let sparsity = Sparsity::new(a, depth, selector);
        Some(sparsity.ok_or_else(|| LowerError::new("there is no such selector of metadata for this shape"))?)
    } else {
        None
    };
    let quads = [rows, columns, depth] == [8, 8, 4] && a == ElementType::F16;
    let kept = if sparse { depth / 2 } else { depth };
    // Numbers of four bits fill bytes, unless the kind packs them.
    let packed = matches!(kind, Some(".kind::mxf4" | ".kind::mxf4nvf4"));
    let bits = |element: ElementType| if packed { 4 } else { element.bits() };
    let fragments = if quads {
        // Only the numbers of registers count; the places are those of `Quads`.
        let sum = |element: ElementType| Fragment::accumulator(element.bits(), 32, 8, Order::Down);
        let factor = Fragment::packed(16, 16, 8, Order::Down);
        [sum(d), factor.clone(), factor, sum(c)]
    } else {
        let sum = |element: ElementType| Fragment::accumulator(element.bits(), rows, columns, Order::Down);
        [
            sum(d),
            Fragment::packed(bits(a), rows, kept, Order::Down),
            Fragment::packed(bits(b), columns, depth, Order::Down),
            sum(c),
        ]
    };
    let mut scaling = None;
    if scaled {
        let at = if sparse { 7 } else { 5 };
        let limits = |selectors: Vec<u64>| [selectors[0] as usize, selectors[1] as usize];
        let (of_a, of_b) = (limits(numbers(l, at, 2, 4)?), limits(numbers(l, at + 2, 2, 4)?));
        let groups = match (m.get("scale_vec"), kind) {
            (Some(".scale_vec::4X"), _) => 4,
            (Some(".scale_vec::2X"), _) | (None, Some(".kind::mxf4" | ".kind::mxf4nvf4")) => 2,
            _ => 1,
        };
        scaling = Some(Scaling {
            groups,
            fine: m.get("stype") == Some(".ue4m3"),
            byte: [of_a[0], of_b[0]],
            thread: [of_a[1], of_b[1]],
        });
    }
    let rule = match (scaling, a) {
        (Some(scaling), _) => Rule::Scaled(scaling),
        _ if quads => {
            let sum = |element: ElementType| {
                if element == ElementType::F32 { Quads::Floats } else { Quads::Halves }
            };
            let factor = |along: bool| if along { Quads::Along } else { Quads::Across };
            let (of_a, of_b) = (m.get("alayout") == Some(".row"), m.get("blayout") == Some(".col"));
            Rule::Quads([sum(d), factor(of_a), factor(of_b), sum(c)])
        }
        (_, ElementType::F64) => Rule::Double(emit::rounding(m.get("rnd"))),
        (_, ElementType::S8 | ElementType::U8 | ElementType::S4 | ElementType::U4) => {
            Rule::Integer { saturate: m.has(".satfinite") }
        }
        (_, ElementType::B1) => Rule::Bits { differ: m.get("bitop") == Some(".xor") },
        _ => Rule::Float,
    };
    let text = format!("mma{} {selector} {scaling:?}", modifiers.concat());
    let product = Product { rule, m: rows, n: columns, k: depth, types: [d, a, b, c], fragments, sparsity };
    let mut further = if sparse { sources(l, 4, 1, 32)? } else { Vec::new() };
    if scaled {
        let at = if sparse { 6 } else { 4 };
        further.extend(sources(l, at, 1, 32)?);
        further.extend(sources(l, at + 2, 1, 32)?);
    }
    emit(l, text, product, further)
}

/// Appends the operation of a product whose operands are `d`, `a`, `b`, `c` and what follows them.
pub(super) fn emit(
    l: &mut Lowering<'_>,
    text: String,
    product: Product,
    further: Vec<crate::lower::virtual_op::VReg>,
) -> Result<(), LowerError> {
    let mut read = Vec::new();
    for index in 1..4 {
        let bits = product.types[index].bits();
        read.extend(sources(l, index, product.fragments[index].registers, bits)?);
    }
    read.extend(further);
    let written = destinations(l, 0, product.fragments[0].registers, product.types[0].bits())?;
    let product = Product::interned(text, product);
    let virtual_op =
        VirtualOp { imm: std::ptr::from_ref(product) as u64, ..VirtualOp::new(HANDLERS.together(Members::Warp, None)) };
    operands::emit(l, virtual_op, &read, &written);
    Ok(())
}
