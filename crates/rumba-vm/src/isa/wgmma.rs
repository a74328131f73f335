//! `wgmma`: products of matrices by warp groups, whose second factor, and mostly the first, lies in shared memory.
//!
//! The arithmetic is described in [`crate::isa::matrix::warpgroup`], the layout of the factors in shared memory in
//! [`crate::isa::matrix::descriptor`]. A product is computed where it is begun, warp by warp; `wait_group` is where the warps
//! of the group wait for each other.

use crate::base::types::ScalarType;
use crate::check::products::ProductRegisters;
use crate::isa::matrix::element::ElementType;
use crate::isa::matrix::fragment::{Fragment, Order};
use crate::isa::matrix::operands::{destinations, emit, emit_beside, numbers, sources, whole_warp};
use crate::isa::matrix::sparse::Sparsity;
use crate::isa::matrix::warpgroup::{Accumulation, GroupProduct, HANDLERS, expect_group};
use crate::isa::mma::shape;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::op::{Handler, Handlers, Pc};
use crate::machine::warp::{Wait, Warp};
use rumba_checks::Check;

/// The definition of `.shape`: every width that numbers have, or that integers and bits have, and a depth.
macro_rules! shapes {
    (every $k:literal) => {
        concat!(shapes!(some $k), shapes!(list $k ".m64n40" ".m64n56" ".m64n72" ".m64n88" ".m64n104" ".m64n120" ".m64n136"
            ".m64n152" ".m64n168" ".m64n184" ".m64n200" ".m64n216" ".m64n232" ".m64n248"), " };\n")
    };
    (even $k:literal) => { concat!(shapes!(some $k), " };\n") };
    (some $k:literal) => {
        concat!(".shape = { .m64n8k", $k, shapes!(list $k ".m64n16" ".m64n24" ".m64n32" ".m64n48" ".m64n64" ".m64n80"
            ".m64n96" ".m64n112" ".m64n128" ".m64n144" ".m64n160" ".m64n176" ".m64n192" ".m64n208" ".m64n224" ".m64n240"
            ".m64n256"))
    };
    (list $k:literal $($n:literal)*) => { concat!($(", ", $n, "k", $k),*) };
}

/// `wgmma`
pub(super) static WGMMA: Instruction = Instruction {
    name: "wgmma",
    section: "9.7.16.5, 9.7.16.6, 9.7.16.7",
    forms: &[
        Form {
            syntax: concat!(
                "
                // Half precision.
                wgmma.mma_async!.sync.aligned.shape.dtype.f16.f16  d, a, b, scale_d, scale_a, scale_b, trans_a{, trans_b};
                .dtype = { .f16, .f32 };
                ",
                shapes!(every "16"),
                "
                // Alternate floating point.
                wgmma.mma_async!.sync.aligned.shape.f32.bf16.bf16  d, a, b, scale_d, scale_a, scale_b, trans_a{, trans_b};
                ",
                shapes!(every "16"),
                "
                wgmma.mma_async!.sync.aligned.shape.f32.tf32.tf32  d, a, b, scale_d, scale_a, scale_b;
                ",
                shapes!(every "8"),
                "
                wgmma.mma_async!.sync.aligned.shape.dtype.atype.btype  d, a, b, scale_d, scale_a, scale_b;
                .dtype = { .f16, .f32 };
                .atype = { .e4m3, .e5m2 };
                .btype = { .e4m3, .e5m2 };
                ",
                shapes!(every "32"),
                "
                // Integers.
                wgmma.mma_async!.sync.aligned.shape{.satfinite}.s32.atype.btype  d, a, b, scale_d;
                .atype = { .s8, .u8 };
                .btype = { .s8, .u8 };
                ",
                shapes!(even "32"),
                "
                wgmma.mma_async!.sync.aligned.shape.s32.b1.b1.and.popc  d, a, b, scale_d;
                ",
                shapes!(even "256"),
                "
                // Structured sparsity.
                wgmma.mma_async.sp!.sync.aligned.shape.dtype.f16.f16
                    d, a, b, meta, select, scale_d, scale_a, scale_b, trans_a{, trans_b};
                .dtype = { .f16, .f32 };
                ",
                shapes!(every "32"),
                "
                wgmma.mma_async.sp!.sync.aligned.shape.f32.bf16.bf16
                    d, a, b, meta, select, scale_d, scale_a, scale_b, trans_a{, trans_b};
                ",
                shapes!(every "32"),
                "
                wgmma.mma_async.sp!.sync.aligned.shape.f32.tf32.tf32  d, a, b, meta, select, scale_d, scale_a, scale_b;
                ",
                shapes!(every "16"),
                "
                wgmma.mma_async.sp!.sync.aligned.shape.dtype.atype.btype
                    d, a, b, meta, select, scale_d, scale_a, scale_b;
                .dtype = { .f16, .f32 };
                .atype = { .e4m3, .e5m2 };
                .btype = { .e4m3, .e5m2 };
                ",
                shapes!(every "64"),
                "
                wgmma.mma_async.sp!.sync.aligned.shape{.satfinite}.s32.atype.btype  d, a, b, meta, select, scale_d;
                .atype = { .s8, .u8 };
                .btype = { .s8, .u8 };
                ",
                shapes!(even "64"),
            ),
            lower: lower_product,
        },
        Form {
            syntax: "wgmma.fence!.sync.aligned;",
            lower: |l, _| lower_group(l, fence, 0),
        },
        Form {
            syntax: "wgmma.commit_group!.sync.aligned;",
            lower: |l, _| lower_group(l, commit, 0),
        },
        Form {
            syntax: "wgmma.wait_group!.sync.aligned  n;",
            lower: |l, _| {
                let left = numbers(l, 0, 1, 8)?[0];
                lower_group(l, wait, left)
            },
        },
    ],
    availability: &[
        Availability::specific((8, 0), 90).below(100),
        Availability::specific((8, 2), 90).below(100).with(&[".sp"]),
    ],
    undefined: Undefined::Decides,
    ..Instruction::NEW
};

/// Lowers an operation that all lanes of a warp of a group execute together.
fn lower_group(l: &mut Lowering<'_>, handler: Handler, imm: u64) -> Result<(), LowerError> {
    let virtual_op = VirtualOp { imm, ..VirtualOp::new(Handlers::same(handler)) };
    emit(l, virtual_op, &[], &[]);
    Ok(())
}

unsafe fn fence(warp: &mut Warp, pc: Pc) -> Pc {
    // SAFETY: the operation was made by `operands::emit`.
    unsafe {
        whole_warp(warp, pc, |warp| {
            expect_group(warp, pc)?;
            warp.products.fence();
            Ok(())
        })
    }
}

unsafe fn commit(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        expect_group(warp, pc)?;
        // SAFETY: the block is not in use elsewhere while one of its warps runs.
        let groups = unsafe { (*warp.block).commit(warp.index) };
        warp.observe_commit(groups, warp.active);
        warp.products.commit();
        Ok(())
    };
    // SAFETY: as above.
    unsafe { whole_warp(warp, pc, body) }
}

/// Waits until the other warps have committed all groups of products but the last `imm` of this one.
unsafe fn wait(warp: &mut Warp, pc: Pc) -> Pc {
    let body = |warp: &mut Warp| {
        expect_group(warp, pc)?;
        // SAFETY: the block is not in use elsewhere while one of its warps runs.
        let block = unsafe { &*warp.block };
        let groups = block.commits[warp.index as usize].saturating_sub(pc.imm as u32);
        warp.products.wait(pc.imm as u32);
        if block.has_committed(warp.index, groups) {
            warp.observe_products(groups, warp.active);
            return Ok(());
        }
        Err(warp.park(pc.next(), Wait::Products { groups }))
    };
    // SAFETY: as above.
    unsafe { whole_warp(warp, pc, body) }
}

/// Operand `index`, a factor of plus or minus one: whether it is minus one.
fn is_negative(l: &Lowering<'_>, index: usize) -> Result<bool, LowerError> {
    match l.literal(index) {
        Some(1) => Ok(false),
        Some(-1) => Ok(true),
        _ => Err(LowerError::new("1 or -1 is needed here").at(l.operand(index)?.span)),
    }
}

fn lower_product(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    use rumba_ptx::ast::OperandKind;

    let modifiers = l.modifiers();
    let unknown = || LowerError::new("the shape and the types of this form are not understood");
    let [rows, n, k] = shape(modifiers).ok_or_else(unknown)?;
    let types: Vec<ElementType> = modifiers.iter().filter_map(|modifier| ElementType::from_name(modifier)).collect();
    let [d, a, b] = types[..] else { return Err(unknown()) };
    let in_registers = matches!(l.operand(1)?.kind, OperandKind::Vector(_));
    let is_sparse = m.has(".sp");
    let (sparsity, at) = if is_sparse {
        let selector = numbers(l, 4, 1, 4)?[0];
        let sparsity = Sparsity::new(a, k, selector)
            .ok_or_else(|| LowerError::new("there is no such selector of metadata for this shape"))?;
        (Some((selector, sparsity)), 5)
    } else {
        (None, 3)
    };
    // What follows the predicate: two signs, then which factors are transposed; of those only one in shared memory can be.
    let given = l.operand_count() - at - 1;
    let mut negated = [false; 2];
    if given >= 2 {
        negated = [is_negative(l, at + 1)?, is_negative(l, at + 2)?];
    }
    let mut transposed = [false; 2];
    if given > 2 {
        let wanted = if in_registers { 1 } else { 2 };
        if given - 2 != wanted {
            let message = format!("{} operands are needed here, and {} are given", at + 3 + wanted, at + 1 + given);
            return Err(LowerError::new(message));
        }
        for (index, transposed) in transposed[2 - wanted..].iter_mut().enumerate() {
            *transposed = numbers(l, at + 3 + index, 1, 2)?[0] == 1;
        }
    }
    let kept = if is_sparse { k / 2 } else { k };
    let fragment = in_registers.then(|| Fragment::packed(a.bits(), rows / 4, kept, Order::Down));
    let accumulation = match l.literal(at) {
        Some(0) => Accumulation::Never,
        Some(_) => Accumulation::Always,
        None => Accumulation::Decided,
    };
    let text = format!(
        "{} {in_registers} {negated:?} {transposed:?} {accumulation:?} {:?}",
        modifiers.concat(),
        sparsity.map(|(selector, _)| selector)
    );
    let product = GroupProduct {
        n,
        k,
        types: [d, a, b],
        fragment,
        sparsity: sparsity.map(|(_, sparsity)| sparsity),
        transposed,
        negated,
        saturates: m.has(".satfinite"),
        accumulation,
    };
    let mut read = Vec::new();
    let mut first = VReg::None;
    match &product.fragment {
        Some(fragment) => read.extend(sources(l, 1, fragment.registers, 32)?),
        None => first = l.source(1, ScalarType::B64)?,
    }
    if is_sparse {
        read.extend(sources(l, 3, 1, 32)?);
    }
    let results = product.results();
    let second = l.source(2, ScalarType::B64)?;
    let decides = match accumulation {
        Accumulation::Decided => l.source(at, ScalarType::Pred)?,
        Accumulation::Always | Accumulation::Never => VReg::None,
    };
    let beside = match accumulation {
        Accumulation::Never => Vec::new(),
        Accumulation::Always | Accumulation::Decided => sources(l, 0, results, 32)?,
    };
    let written = destinations(l, 0, results, 32)?;
    let keys = |places: &[VReg]| places.iter().filter_map(|place| l.function.register_key(*place)).collect();
    let registers = ProductRegisters {
        source: l.source,
        shape: (n as u64) << 32 | k as u64,
        accumulator: keys(&written),
        factor: keys(&read[..product.fragment.as_ref().map_or(0, |fragment| fragment.registers)]),
    };
    let product = GroupProduct::interned(text, product);
    let virtual_op = VirtualOp {
        a: first,
        b: second,
        c: decides,
        defines: 0,
        imm: std::ptr::from_ref(product) as u64,
        ..VirtualOp::new(HANDLERS)
    };
    l.pool.uses_proxies = true;
    emit_beside(l, virtual_op, &read, &beside, &written);
    if l.pool.instruments.checks.contains(Check::Sync) {
        l.emit(VirtualOp { imm: l.pool.products.len() as u64, defines: 0, ..VirtualOp::new(Handlers::same(begun)) });
        l.pool.products.push(registers);
    }
    Ok(())
}

/// Behind a product that is checked.
unsafe fn begun(warp: &mut Warp, pc: Pc) -> Pc {
    warp.record_product(pc);
    pc.next()
}
