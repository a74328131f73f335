//! Atomic operations and fences of every ordering and scope, which Rust has no names for.
//!
//! `cuda_std` declares functions such as `__rumba_atomic_add_u32_acquire_device`, and those that a build uses are
//! written here, as LLVM's own instructions: they find out by themselves which memory they are on, which inline assembly
//! cannot. What a name may be is the grammar of [`definition`]; any other is reported as an undefined symbol.

/// The function of this name in LLVM's assembly:
/// `__rumba_atomic_OPERATION_TYPE_ORDER_SCOPE` or `__rumba_fence_ORDER_SCOPE`.
pub(super) fn definition(name: &str) -> Option<String> {
    let words: Vec<&str> = name.strip_prefix("__rumba_")?.split('_').collect();
    let (signature, body) = match *words.as_slice() {
        ["fence", order, scope] => (
            "void ()".to_owned(),
            format!("fence {} {}\n  ret void", syncscope(scope)?, ordering(order)?),
        ),
        ["atomic", operation, ty, order, scope] => atomic(operation, ty, ordering(order)?, syncscope(scope)?)?,
        _ => return None,
    };
    let (result, parameters) = signature.split_once(' ')?;
    Some(format!(
        "define {result} @{name}{parameters} alwaysinline nounwind {{\n  {body}\n}}\n"
    ))
}

/// Signature and body of an atomic operation.
fn atomic(operation: &str, ty: &str, order: &str, scope: &str) -> Option<(String, String)> {
    let (llvm, bytes) = match ty {
        "u32" | "i32" => ("i32", 4),
        "u64" | "i64" => ("i64", 8),
        "f32" => ("float", 4),
        "f64" => ("double", 8),
        _ => return None,
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
        "cas" => {
            // What a failed exchange orders: it reads, and does not write.
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
            (
                format!("{llvm} (ptr %address, {llvm} %value)"),
                format!("%old = atomicrmw {instruction} ptr %address, {llvm} %value {at}\n  ret {llvm} %old"),
            )
        }
    })
}

/// LLVM's name of an operation, which depends on the kind of number.
fn read_modify_write(operation: &str, ty: &str) -> Option<&'static str> {
    Some(match (operation, ty.as_bytes().first()?) {
        ("add", b'f') => "fadd",
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
    fn other_names_are_not_ours() {
        for name in [
            "__rumba_panics",
            "__rumba_atomic_and_f32_relaxed_device",
            "__rumba_atomic_add_u16_relaxed_device",
            "__rumba_atomic_add_u32_relaxed_cluster",
            "__rumba_atomic_add_u32_consume_device",
            "atomic_add_u32_relaxed_device",
        ] {
            assert_eq!(definition(name), None, "{name}");
        }
    }
}
