//! Names that are taken in PTX: an item that keeps its own name there must not be what the runtime's calls reach.

use syn::ext::IdentExt;
use syn::{Error, Ident};

/// Functions that the device's runtime and the compiler call.
const TAKEN: [&str; 9] = ["bcmp", "free", "malloc", "memcmp", "memcpy", "memmove", "memset", "strlen", "vprintf"];

/// Prefixes of names of the compiler, of libdevice (`__nv_`), of this library (`__rumba_`) and of the driver's own
/// functions (`__assertfail`, `__cuda_`).
const PREFIXES: [&str; 3] = ["__", "_R", "_ZN"];

/// An error if an item of this name would stand in for a function of the runtime.
pub(crate) fn check(name: &Ident) -> syn::Result<()> {
    let text = name.unraw().to_string();
    let reason = if TAKEN.contains(&text.as_str()) {
        format!("`{text}` is a function of the device's runtime")
    } else if let Some(prefix) = PREFIXES.iter().find(|prefix| text.starts_with(**prefix)) {
        format!("names that begin with `{prefix}` are the compiler's and the runtime's")
    } else {
        return Ok(());
    };
    Err(Error::new_spanned(
        name,
        format!(
            "{reason}, and this item keeps its own name in the PTX, where calls would reach it; give it another name"
        ),
    ))
}
