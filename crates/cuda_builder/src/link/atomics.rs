//! Atomic operations and fences of every ordering and scope, which Rust has no names for.
//!
//! `cuda_std` declares functions such as `__rumba_atomic_add_u32_acquire_device`, and those that a build uses are
//! written here, as LLVM's own instructions: they find out by themselves which memory they are on, which inline assembly
//! cannot. What a name may be is the grammar of [`definition`]; any other is reported as an undefined symbol.
//!
//! LLVM prints an `atomicrmw` without ordering and scope, and PTX then defaults to `.relaxed` and `.gpu`. After the
//! optimiser, [`lower`] replaces each `atomicrmw` that needs more by inline assembly with ordering and scope, which
//! also makes `core::sync::atomic` correct. Operations that LLVM expands to compare-exchange loops stay as they are:
//! LLVM prints the loops with ordering and scope.

use std::collections::BTreeMap;

use super::Failure;
use crate::llvm::{AtomicRmw, Linkage, Machine, Module, Number, Ordering, Scope};

/// The function of this name in LLVM's assembly:
/// `__rumba_atomic_OPERATION_TYPE_ORDER_SCOPE` or `__rumba_fence_ORDER_SCOPE`.
pub(super) fn definition(name: &str) -> Option<String> {
    let words: Vec<&str> = name.strip_prefix("__rumba_")?.split('_').collect();
    let (signature, body) = match *words.as_slice() {
        ["fence", order, scope] => {
            ("void ()".to_owned(), format!("fence {} {}\n  ret void", syncscope(scope)?, ordering(order)?))
        }
        ["atomic", operation, ty, order, scope] => atomic(operation, ty, ordering(order)?, syncscope(scope)?)?,
        _ => return None,
    };
    let (result, parameters) = signature.split_once(' ')?;
    Some(format!("define {result} @{name}{parameters} alwaysinline nounwind {{\n  {body}\n}}\n"))
}

/// Signature and body of an atomic operation.
fn atomic(operation: &str, ty: &str, order: &str, scope: &str) -> Option<(String, String)> {
    let (llvm, bytes) = match ty {
        "u16" | "f16" | "bf16" => ("i16", 2),
        "u32" | "i32" | "f16x2" | "bf16x2" => ("i32", 4),
        "u64" | "i64" => ("i64", 8),
        "f32" => ("float", 4),
        "f64" => ("double", 8),
        _ => return None,
    };
    // Numbers of 16 bits come as what Rust has their bits in.
    let half = match ty {
        "f16" => Some("half"),
        "f16x2" => Some("<2 x half>"),
        "bf16" => Some("bfloat"),
        "bf16x2" => Some("<2 x bfloat>"),
        _ => None,
    };
    let at = format!("{scope} {order}, align {bytes}");
    Some(match operation {
        "load" => (
            format!("{llvm} (ptr %address)"),
            format!("%old = load atomic {llvm}, ptr %address {at}\n  ret {llvm} %old"),
        ),
        "store" => (
            format!("void (ptr %address, {llvm} %value)"),
            format!("store atomic {llvm} %value, ptr %address {at}\n  ret void"),
        ),
        // LLVM would exchange the 32 bits around, of which 16 may be beyond the end of an allocation.
        "cas" if bytes == 2 => {
            let order = match order {
                "monotonic" => "relaxed",
                "seq_cst" => return None,
                order => order,
            };
            let scope = match scope {
                "" => "sys",
                scope if scope.contains("block") => "cta",
                _ => "gpu",
            };
            (
                "i16 (ptr %address, i16 %current, i16 %new)".to_owned(),
                format!(
                    "%old = call i16 asm sideeffect \"atom.{order}.{scope}.cas.b16 $0, [$1], $2, $3;\", \
                     \"=h,l,h,h,~{{memory}}\"(ptr %address, i16 %current, i16 %new)\n  ret i16 %old"
                ),
            )
        }
        "cas" => {
            // The ordering of a failed exchange, which reads and does not write.
            let failed = match order {
                "acquire" | "acq_rel" => "acquire",
                _ => "monotonic",
            };
            (
                format!("{llvm} (ptr %address, {llvm} %current, {llvm} %new)"),
                format!(
                    "%pair = cmpxchg ptr %address, {llvm} %current, {llvm} %new {scope} {order} {failed}, align {bytes}\n  \
                     %old = extractvalue {{ {llvm}, i1 }} %pair, 0\n  ret {llvm} %old"
                ),
            )
        }
        _ => {
            let instruction = read_modify_write(operation, ty)?;
            let body = match half {
                None => format!("%old = atomicrmw {instruction} ptr %address, {llvm} %value {at}"),
                Some(half) => format!(
                    "%number = bitcast {llvm} %value to {half}\n  \
                     %result = atomicrmw {instruction} ptr %address, {half} %number {at}\n  \
                     %old = bitcast {half} %result to {llvm}"
                ),
            };
            (format!("{llvm} (ptr %address, {llvm} %value)"), format!("{body}\n  ret {llvm} %old"))
        }
    })
}

/// LLVM's name of an operation, which depends on the kind of number.
fn read_modify_write(operation: &str, ty: &str) -> Option<&'static str> {
    if ty == "u16" || operation == "swap" && ty.contains("f16") {
        return None;
    }
    Some(match (operation, ty.as_bytes().first()?) {
        ("add", b'f' | b'b') => "fadd",
        ("add", _) => "add",
        ("swap", _) => "xchg",
        ("min", b'u') => "umin",
        ("min", b'i') => "min",
        ("max", b'u') => "umax",
        ("max", b'i') => "max",
        ("and", b'u' | b'i') => "and",
        ("or", b'u' | b'i') => "or",
        ("xor", b'u' | b'i') => "xor",
        ("inc", b'u') => "uinc_wrap",
        ("dec", b'u') => "udec_wrap",
        _ => return None,
    })
}

fn ordering(order: &str) -> Option<&'static str> {
    Some(match order {
        "relaxed" => "monotonic",
        "acquire" => "acquire",
        "release" => "release",
        "acqrel" => "acq_rel",
        "seqcst" => "seq_cst",
        _ => return None,
    })
}

fn syncscope(scope: &str) -> Option<&'static str> {
    Some(match scope {
        "block" => "syncscope(\"block\")",
        "device" => "syncscope(\"device\")",
        "system" => "",
        _ => return None,
    })
}

/// Replaces each `atomicrmw` that needs an ordering, or a wider scope than the device.
pub(super) fn lower<'c>(module: &Module<'c>, machine: &Machine<'c>) -> Result<(), Failure> {
    let stated = |module: &Module<'c>| {
        let all = module.functions().into_iter().flat_map(crate::llvm::Value::instructions);
        all.filter_map(|instruction| Some((instruction, assembly(instruction.atomic_rmw()?)?))).collect::<Vec<_>>()
    };
    if stated(module).is_empty() {
        return Ok(());
    }
    // What memory a parameter points to is known only after the first of these.
    machine.run(module, c"generic-to-nvvm,function(nvptx-lower-args,infer-address-spaces)")?;
    let instructions = stated(module);
    let functions: BTreeMap<&str, &str> =
        instructions.iter().map(|(_, function)| (function.name.as_str(), function.text.as_str())).collect();
    let texts: String = functions.into_values().collect();
    let source = Module::parse(module.context(), &texts)?;
    machine.adopt(&source);
    module.link(source)?;
    for (instruction, function) in &instructions {
        if let Some(function) = module.function(&function.name) {
            function.set_linkage(Linkage::Internal);
            instruction.replace_with_call(function);
        }
    }
    machine.run(module, c"always-inline,globaldce")?;
    Ok(())
}

/// A function in LLVM's assembly.
struct Assembly {
    name: String,
    text: String,
}

/// The function whose call means the same as an `atomicrmw`, or none where LLVM writes it rightly.
fn assembly(atomic: AtomicRmw) -> Option<Assembly> {
    let AtomicRmw { operation, ordering, scope, space, number } = atomic;
    // The number, its register, the register's letter, and how many bits it has.
    let (llvm, register, constraint, bits) = match number {
        Number::Integer(32) => ("i32", "i32", "r", 32),
        Number::Integer(64) => ("i64", "i64", "l", 64),
        Number::F16 => ("half", "i16", "h", 16),
        Number::Bf16 => ("bfloat", "i16", "h", 16),
        Number::F16x2 => ("<2 x half>", "i32", "r", 32),
        Number::Bf16x2 => ("<2 x bfloat>", "i32", "r", 32),
        Number::F32 => ("float", "float", "f", 32),
        Number::F64 => ("double", "double", "d", 64),
        Number::Integer(_) | Number::Other => return None,
    };
    // Numbers of 16 bits LLVM turns into loops, on PTX older than it thinks is needed and in pairs.
    if ordering == Ordering::Relaxed && scope != Scope::System && llvm == register {
        return None;
    }
    // LLVM's `AtomicRMWInst::BinOp` and PTX ISA, "atom".
    let operation = match (operation, number) {
        (0, _) => format!("exch.b{bits}"),
        // Subtraction adds the negative.
        (1 | 2, Number::Integer(_)) => format!("add.u{bits}"),
        (3, _) => format!("and.b{bits}"),
        (5, _) => format!("or.b{bits}"),
        (6, _) => format!("xor.b{bits}"),
        (7, _) => format!("max.s{bits}"),
        (8, _) => format!("min.s{bits}"),
        (9, _) => format!("max.u{bits}"),
        (10, _) => format!("min.u{bits}"),
        (11, Number::F32 | Number::F64) => format!("add.f{bits}"),
        (11, Number::F16) => "add.noftz.f16".to_owned(),
        (11, Number::F16x2) => "add.noftz.f16x2".to_owned(),
        (11, Number::Bf16) => "add.noftz.bf16".to_owned(),
        (11, Number::Bf16x2) => "add.noftz.bf16x2".to_owned(),
        (15, Number::Integer(32)) => "inc.u32".to_owned(),
        (16, Number::Integer(32)) => "dec.u32".to_owned(),
        _ => return None,
    };
    let scope = match scope {
        Scope::Block => "cta",
        Scope::Device => "gpu",
        Scope::System => "sys",
    };
    // Sequential consistency is a fence before the operation: PTX ISA, "Memory Consistency Model".
    let (fence, order) = match ordering {
        Ordering::Relaxed => (String::new(), "relaxed"),
        Ordering::Acquire => (String::new(), "acquire"),
        Ordering::Release => (String::new(), "release"),
        Ordering::AcquireRelease => (String::new(), "acq_rel"),
        Ordering::Sequential => (format!("fence.sc.{scope}; "), "acq_rel"),
    };
    let state_space = match space {
        1 => ".global",
        3 => ".shared",
        _ => "",
    };
    let negative = atomic.operation == 2;
    let name = format!("__rumba_atom_{}_{order}_{scope}_{space}_{operation}_{negative}", fence.len());
    let operand = if negative {
        format!("%operand = sub {llvm} 0, %value")
    } else {
        format!("%operand = bitcast {llvm} %value to {register}")
    };
    let text = format!(
        "define {llvm} @\"{name}\"(ptr addrspace({space}) %address, {llvm} %value) alwaysinline nounwind {{\n  \
         {operand}\n  \
         %result = call {register} asm sideeffect \"{fence}atom.{order}.{scope}{state_space}.{operation} $0, [$1], $2;\", \
         \"={constraint},l,{constraint},~{{memory}}\"(ptr addrspace({space}) %address, {register} %operand)\n  \
         %old = bitcast {register} %result to {llvm}\n  \
         ret {llvm} %old\n}}\n"
    );
    Some(Assembly { name, text })
}

#[cfg(test)]
mod tests {
    use super::definition;

    #[test]
    fn names_say_it_all() {
        assert_eq!(
            definition("__rumba_atomic_min_i64_acquire_block").as_deref(),
            Some(
                "define i64 @__rumba_atomic_min_i64_acquire_block(ptr %address, i64 %value) alwaysinline nounwind {\n  \
                 %old = atomicrmw min ptr %address, i64 %value syncscope(\"block\") acquire, align 8\n  ret i64 %old\n}\n"
            )
        );
        assert_eq!(
            definition("__rumba_fence_seqcst_system").as_deref(),
            Some(
                "define void @__rumba_fence_seqcst_system() alwaysinline nounwind {\n  fence  seq_cst\n  ret void\n}\n"
            )
        );
    }

    #[test]
    fn halves_come_as_their_bits() {
        assert_eq!(
            definition("__rumba_atomic_add_bf16x2_relaxed_device").as_deref(),
            Some(
                "define i32 @__rumba_atomic_add_bf16x2_relaxed_device(ptr %address, i32 %value) alwaysinline nounwind {\n  \
                 %number = bitcast i32 %value to <2 x bfloat>\n  \
                 %result = atomicrmw fadd ptr %address, <2 x bfloat> %number syncscope(\"device\") monotonic, align 4\n  \
                 %old = bitcast <2 x bfloat> %result to i32\n  ret i32 %old\n}\n"
            )
        );
    }

    #[test]
    fn other_names_are_not_ours() {
        for name in [
            "__rumba_panics",
            "__rumba_atomic_and_f32_relaxed_device",
            "__rumba_atomic_add_u16_relaxed_device",
            "__rumba_atomic_swap_f16_relaxed_device",
            "__rumba_atomic_swap_bf16x2_relaxed_device",
            "__rumba_atomic_add_u32_relaxed_cluster",
            "__rumba_atomic_add_u32_consume_device",
            "atomic_add_u32_relaxed_device",
        ] {
            assert_eq!(definition(name), None, "{name}");
        }
    }
}
