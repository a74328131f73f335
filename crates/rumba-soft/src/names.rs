//! Names of kernels as their sources have them: compilers of C++ and Numba mangle them with the types of parameters.

use cpp_demangle::{DemangleOptions, Symbol};

/// The name of a kernel for reports: without parameters, and as it is if it is not mangled.
pub(crate) fn readable(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    // Numba mangles types of parameters in a way of its own, and counts the letters of a long ABI tag in another way. The first part that
    // is a whole name is that of the function, or becomes one where the tags are cut off.
    let readable = demangled(name)
        .or_else(|| name.match_indices('E').find_map(|(end, _)| demangled(&name[..=end])))
        .or_else(|| name.match_indices('B').find_map(|(tag, _)| demangled(&format!("{}E", &name[..tag]))));
    readable.map_or_else(|| name.to_owned(), |readable| without_tags(&readable))
}

fn demangled(name: &str) -> Option<String> {
    let options = DemangleOptions::new().no_params().no_return_type();
    Symbol::new(name).ok()?.demangle(&options).ok()
}

/// Removes ABI tags (`[abi:v1]`), in which Numba counts the versions of a function, and the namespace that Numba puts kernels in.
fn without_tags(name: &str) -> String {
    let mut parts = name.split("[abi:");
    let first = parts.next().unwrap_or_default();
    let first = first.strip_prefix("cudapy::").unwrap_or(first);
    parts.fold(first.to_owned(), |name, part| name + part.split_once(']').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn names_are_those_of_sources() {
        for (mangled, name) in [
            ("saxpy", "saxpy"),
            ("_Z5saxpyfPKfPfi", "saxpy"),
            ("_Z9transposeILi32EEvPKfPfi", "transpose<32>"),
            ("_ZN3dsp4blurEPfi", "dsp::blur"),
            (
                "_ZN6cudapy8__main__5saxpyB2v1B96cw51cXTLSUwv1sCUt9Uw1VEw0NRRQPKzLTg4gaGKFsG2oMQGEYakJSQB1PQBk0Bynm21OiwU1a0UoLGhDpQE8oxrNQE_3dEfN5ArrayIfLi1E1A7mutable7alignedE",
                "__main__::saxpy",
            ),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_Zork", "_Zork"),
            ("_", "_"),
        ] {
            assert_eq!(readable(mangled), name);
        }
    }
}
