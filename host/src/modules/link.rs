//! Linking: several PTX texts to one module, by the driver's own linker. With it a kernel calls functions of another text, be it
//! another Rust crate's, nvcc's or one written by hand.
//!
//! Only PTX is linked: nvcc makes linkable PTX by `nvcc -rdc=true -ptx`. The kernels of two Rust crates share one
//! record of panics.

use crate::base::compiler_log::CompilerLog;
use crate::base::driver;
use crate::base::error::{Code, DriverError, ModuleError, Result, answer};
use crate::context::Context;
use crate::cuda::sys;
use crate::modules::image::{Runs, image};
use crate::modules::module::{Module, Text, c_string};
use cuda_std::panic::RECORD_SYMBOL;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

/// PTX texts that become one module: see [`crate::Device::linker`].
///
/// # Examples
/// ```
/// // A function of one text, and a kernel of another that calls it.
/// let functions = ".version 7.0 .target sm_70 .address_size 64
///     .visible .func (.reg .u32 r) triple(.reg .u32 x) { mul.lo.u32 r, x, 3; ret; }";
/// let kernels = ".version 7.0 .target sm_70 .address_size 64
///     .extern .func (.reg .u32 r) triple(.reg .u32 x);
///     .visible .entry kernel(.param .u64 out) {
///         .reg .u64 %a; .reg .u32 %x;
///         ld.param.u64 %a, [out];
///         mov.u32 %x, 14;
///         call (%x), triple, (%x);
///         st.global.u32 [%a], %x;
///         ret;
///     }";
/// let device = rumba::Device::new()?;
/// // SAFETY: no launcher is used with the kernel.
/// let linker = unsafe { device.linker().add_unchecked("kernels", kernels) };
/// // SAFETY: as above.
/// let module = unsafe { linker.add_unchecked("functions", functions) }.load()?;
/// assert_eq!(module.kernels(), ["kernel"]);
///
/// // What is missing is named.
/// let linker = unsafe { device.linker().add_unchecked("kernels", kernels) };
/// let error = linker.load().unwrap_err();
/// assert!(error.to_string().contains("triple"), "{error}");
/// # Ok::<(), rumba::Error>(())
/// ```
#[must_use = "nothing is linked before `load`"]
pub struct Linker {
    context: Arc<Context>,
    texts: Vec<(String, Text)>,
}

impl Linker {
    pub(crate) fn new(context: Arc<Context>) -> Linker {
        Linker { context, texts: Vec::new() }
    }

    /// Adds a PTX text that `cuda_builder` wrote: see [`crate::Device::load`]. Errors call it by `name`.
    pub fn add(self, name: &str, ptx: &str) -> Linker {
        self.with(name, ptx, true)
    }

    /// Adds a PTX text of any origin. Errors call it by `name`.
    ///
    /// # Safety
    /// That of [`crate::Device::load_unchecked`], for the kernels of this text and those of others that call its functions.
    pub unsafe fn add_unchecked(self, name: &str, ptx: &str) -> Linker {
        self.with(name, ptx, false)
    }

    fn with(mut self, name: &str, ptx: &str, sealed: bool) -> Linker {
        let ptx = ptx.to_owned();
        self.texts.push((name.to_owned(), Text { ptx, sealed }));
        self
    }

    /// Links the texts and loads the module.
    ///
    /// # Errors
    /// [`ModuleError`] with the linker's messages: what is not PTX, defined twice or missing.
    pub fn load(self) -> Result<Module> {
        let names: Vec<&str> = self.texts.iter().map(|(name, _)| name.as_str()).collect();
        let name = match names.as_slice() {
            [] => "a link of nothing".to_owned(),
            names => format!("the link of {}", names.join(" and ")),
        };
        let operation = || format!("load {name}");
        let (mut texts, mut elsewhere) = (Vec::new(), Vec::new());
        let mut with_record = None;
        for (name, source) in &self.texts {
            let (mut text, missing) = image(name, source.clone(), Runs::of(&self.context.limits))?;
            elsewhere.extend(missing);
            if defines_record(&text.ptx).is_some() {
                match with_record {
                    Some(_) => text.ptx = without_record(&text.ptx),
                    None => with_record = Some(texts.len()),
                }
            }
            texts.push(text);
        }
        let Some(first) = texts.first() else {
            let reason = "it is empty".to_owned();
            return Err(ModuleError::NotPtx { module: name, reason }.into());
        };
        let (raw, bell) = {
            let entered = self.context.enter(operation)?;
            let mut log = CompilerLog::new();
            let image = link(&names, &texts, &mut log);
            let loaded = image.and_then(|image| {
                // SAFETY: a whole image, as the driver's linker has made it.
                unsafe { crate::cuda::Module::load(image.as_ptr().cast()) }
            });
            let raw = match loaded {
                Ok(raw) => raw,
                Err(code) if code.is_about_code() => {
                    return Err(ModuleError::Ptx {
                        module: name.clone(),
                        error: Box::new(DriverError::new(operation(), code)),
                        log: driver::last_report().unwrap_or_else(|| log.text()),
                    }
                    .into());
                }
                Err(code) => entered.check(Err(code), operation)?,
            };
            let bell = self.context.panics.attach(&raw, &with_record.map_or(first, |index| &texts[index]).ptx);
            (raw, entered.check(bell, operation)?)
        };
        Ok(Module::from_raw(self.context, name, raw, bell, texts, elsewhere))
    }
}

/// The linked image, in the current context. `log` takes the linker's messages.
fn link(names: &[&str], texts: &[Text], log: &mut CompilerLog) -> Result<Vec<u8>, Code> {
    let (mut options, mut values) = log.options();
    let mut state = std::ptr::null_mut();
    // SAFETY: the context is current; both arrays have two entries and, as the log, outlive the link, which ends here.
    answer(unsafe {
        sys::cuLinkCreate_v2(options.len() as u32, options.as_mut_ptr(), values.as_mut_ptr(), &mut state)
    })?;
    let complete = || {
        for (name, text) in names.iter().zip(texts) {
            // Neither has a zero within: the texts were checked, and a name without its end is a name.
            let (name, text) = (c_string(name), c_string(&text.ptx));
            // SAFETY: the link is open, the text as long as said, with its zero; the linker copies what it keeps.
            answer(unsafe {
                sys::cuLinkAddData_v2(
                    state,
                    sys::CUjitInputType::CU_JIT_INPUT_PTX,
                    text.as_ptr().cast_mut().cast(),
                    text.as_bytes_with_nul().len(),
                    name.as_ptr(),
                    0,
                    std::ptr::null_mut(),
                    std::ptr::null_mut(),
                )
            })?;
        }
        let (mut image, mut size) = (std::ptr::null_mut::<c_void>(), 0);
        // SAFETY: the link is open, both places are valid.
        answer(unsafe { sys::cuLinkComplete(state, &mut image, &mut size) })?;
        // SAFETY: the link owns so many bytes there until it is destroyed, below.
        Ok(unsafe { std::slice::from_raw_parts(image.cast::<u8>(), size) }.to_vec())
    };
    let image = complete();
    // SAFETY: made above, destroyed once.
    let _ = unsafe { sys::cuLinkDestroy(state) };
    image
}

/// Where a text defines the record of its kernels' panics: the range of the definition's line.
fn defines_record(text: &str) -> Option<std::ops::Range<usize>> {
    let symbol = text.match_indices(RECORD_SYMBOL).map(|(at, _)| at);
    symbol
        .map(|at| {
            let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
            let end = text[at..].find(';').map_or(text.len(), |end| at + end + 1);
            start..end
        })
        .find(|range| text[range.clone()].starts_with(".visible .global"))
}

/// The text with the record of panics declared only, since another text defines it.
fn without_record(text: &str) -> String {
    match defines_record(text) {
        None => text.to_owned(),
        Some(range) => {
            let declared = text[range.clone()].split('=').next().unwrap_or_default().trim_end_matches([' ', ';']);
            let declared = declared.replacen(".visible", ".extern", 1);
            format!("{}{declared};{}", &text[..range.start], &text[range.end..])
        }
    }
}

impl fmt::Debug for Linker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.texts.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Linker").field("texts", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::without_record;

    #[test]
    fn the_second_record_is_declared_only() {
        let text = ".version 7.0\n.visible .global .align 8 .b8 __rumba_panics[88] = {0, 6};\n.entry k() { mov.u64 a, __rumba_panics; }";
        let expected =
            ".version 7.0\n.extern .global .align 8 .b8 __rumba_panics[88];\n.entry k() { mov.u64 a, __rumba_panics; }";
        assert_eq!(without_record(text), expected);
        assert_eq!(without_record(expected), expected, "nothing is left to do");
    }
}
