//! Modules: PTX loaded onto a device, and the kernels in it.

use crate::base::activity::KernelInfo;
use crate::base::append::AppendMap;
use crate::base::compiler_log::CompilerLog;
use crate::base::error::{Code, DriverError, Error, ModuleError, Result, answer};
use crate::base::host_fn::OutsideHostFn;
use crate::base::ptx::{Declarations, Signature};
use crate::base::{driver, ptx};
use crate::context::function::Function;
use crate::context::panics::Bell;
use crate::context::{Context, Entered};
use crate::cuda::sys;
use crate::modules::image::{Elsewhere, Runs, image};
use cuda_std::launch::{Kernel, ParameterBytes, is_cooperative};
use rumba_ptx::foot;
use std::ffi::{CStr, CString};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

/// PTX loaded onto a device: the kernels to launch. Cloning gives another handle to the same module.
///
/// # Examples
/// ```
/// use rumba::{Device, LaunchConfig, Module};
/// # mod kernels { pub use rumba::test_kernels::{PTX, scale}; }
///
/// let device = Device::new()?;
/// let module = device.load(kernels::PTX)?;
///
/// // Host memory is copied to the device and back by itself.
/// let mut values = [1.0, 2.0, 3.0];
/// module.for_each(3, kernels::scale(10.0, &mut values))?;
/// assert_eq!(values, [10.0, 20.0, 30.0]);
///
/// // Device memory stays where it is.
/// let mut buffer = device.buffer_from(&values)?;
/// module.launch(LaunchConfig::new(1, 32), kernels::scale(0.5, &mut buffer))?;
/// assert_eq!(buffer.to_vec()?, [5.0, 10.0, 15.0]);
/// # Ok::<(), rumba::Error>(())
/// ```
#[derive(Clone)]
pub struct Module {
    inner: OutsideHostFn<Arc<Inner>>,
}

struct Inner {
    context: Arc<Context>,
    /// Keyed by the address of the launcher's [`Kernel`], so that a launch compares no strings.
    functions: AppendMap<usize, Function>,
    /// Some of them, each in a place that follows from its key: most launches find theirs here, with one load.
    near: [AtomicPtr<Function>; NEAR],
    /// Kernels that were looked up by name.
    named: AppendMap<String, Function>,
    raw: ManuallyDrop<crate::cuda::Module>,
    name: String,
    ptx: String,
    /// The single texts of a linked module.
    texts: Vec<Text>,
    /// Kernels in texts for other devices.
    elsewhere: Vec<Elsewhere>,
    declarations: OnceLock<Option<Declarations>>,
    /// The bell of kernels that can panic.
    bell: Option<Arc<Bell>>,
}

/// A PTX text of a module.
#[derive(Clone)]
pub(crate) struct Text {
    pub(crate) ptx: String,
    /// Whether the text ends with a valid seal: the descriptions of its kernels and the hash that `cuda_builder` wrote.
    pub(crate) sealed: bool,
}

/// Functions that are found without a look into the map.
const NEAR: usize = 32;

impl Module {
    pub(crate) fn from_file(context: Arc<Context>, path: &Path) -> Result<Module> {
        let unreadable = |source: std::io::Error| ModuleError::File { path: path.to_owned(), source: source.into() };
        let bytes = std::fs::read(path).map_err(unreadable)?;
        let name = format!("the PTX file {}", path.display());
        let text = String::from_utf8(bytes).map_err(|error| ModuleError::NotPtx {
            module: name.clone(),
            reason: format!("byte {} is not text", error.utf8_error().valid_up_to()),
        })?;
        Module::from_text(context, name, Text { ptx: text, sealed: true })
    }

    /// Loads a text that has to be sealed, or any text, for whose kernels the caller is responsible; of several texts,
    /// loads the text for the device.
    pub(crate) fn from_text(context: Arc<Context>, name: String, source: Text) -> Result<Module> {
        let (source, elsewhere) = image(&name, source, Runs::of(&context.limits))?;
        let text = c_string(&source.ptx);
        let operation = || format!("load {name}");
        let (raw, bell) = {
            let entered = context.enter(operation)?;
            let raw = match crate::cuda::Module::from_ptx(&text) {
                Ok(raw) => raw,
                Err(error) => return Err(load_error(&entered, name, error, &text)),
            };
            let bell = entered.check(context.panics.attach(&raw, &source.ptx), operation)?;
            (raw, bell)
        };
        Ok(Module::from_raw(context, name, raw, bell, vec![source], elsewhere))
    }

    /// Lets the driver load the code of cooperative kernels now and not at their first launch, which would wait for running kernels: one
    /// of these may be waiting for that launch (CUDA C++ Programming Guide, "Lazy Loading", "Concurrent Execution").
    fn load_cooperative(&self) {
        for text in self.inner.texts.iter().filter(|text| text.sealed) {
            for kernel in foot::described(&text.ptx) {
                if foot::description(&text.ptx, kernel).is_some_and(|described| is_cooperative(&described)) {
                    // An error comes again at the launch.
                    let _ = self.info(kernel);
                }
            }
        }
    }

    /// A module that the driver has loaded from these texts.
    pub(crate) fn from_raw(
        context: Arc<Context>,
        name: String,
        raw: crate::cuda::Module,
        bell: Option<Arc<Bell>>,
        texts: Vec<Text>,
        elsewhere: Vec<Elsewhere>,
    ) -> Module {
        let inner = Inner {
            context,
            functions: AppendMap::default(),
            near: Default::default(),
            named: AppendMap::default(),
            raw: ManuallyDrop::new(raw),
            name,
            ptx: texts.iter().map(|text| text.ptx.as_str()).collect::<Vec<_>>().join("\n"),
            texts,
            elsewhere,
            declarations: OnceLock::new(),
            bell,
        };
        let module = Module { inner: OutsideHostFn::new(Arc::new(inner)) };
        module.load_cooperative();
        module
    }

    /// Where the module came from, as errors name it.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The text that was loaded: of texts for several architectures, that for this device; of a module that was linked, its
    /// texts one after the other.
    pub fn ptx(&self) -> &str {
        &self.inner.ptx
    }

    /// The names of its kernels that this device runs.
    pub fn kernels(&self) -> Vec<&str> {
        self.signatures().unwrap_or_default().iter().map(|signature| signature.name.as_str()).collect()
    }

    /// The resources of a kernel, from the driver's compiler.
    ///
    /// # Errors
    /// [`ModuleError::MissingKernel`] if the module lacks the kernel.
    pub fn info(&self, kernel: &str) -> Result<KernelInfo> {
        let entered = self.enter(kernel)?;
        Ok(self.named(&entered, kernel)?.info)
    }

    /// The bell of kernels that can panic.
    pub(crate) fn bell(&self) -> Option<&Bell> {
        self.inner.bell.as_deref()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.inner.context
    }

    /// Begins an operation with a kernel of this module.
    pub(crate) fn enter(&self, kernel: &str) -> Result<Entered<'_>> {
        self.inner.context.enter(|| format!("use the kernel `{kernel}` of {}", self.inner.name))
    }

    /// The function of a launcher's kernel; the first time it is looked up by its name and its
    /// parameters are compared with what the launcher passes.
    pub(crate) fn function(
        &self,
        entered: &Entered<'_>,
        kernel: &'static Kernel,
        parameters: &[ParameterBytes],
    ) -> Result<&Function> {
        let key = std::ptr::from_ref(kernel).addr();
        let near = &self.inner.near[key / align_of::<Kernel>() % NEAR];
        // SAFETY: null, or a function in the map, which keeps it in its place as long as the module lives.
        match unsafe { near.load(Ordering::Acquire).as_ref() } {
            Some(function) if function.key == key => Ok(function),
            _ => self.function_in_map(entered, kernel, parameters, near),
        }
    }

    #[cold]
    fn function_in_map(
        &self,
        entered: &Entered<'_>,
        kernel: &'static Kernel,
        parameters: &[ParameterBytes],
        near: &AtomicPtr<Function>,
    ) -> Result<&Function> {
        let key = std::ptr::from_ref(kernel).addr();
        let function = match self.inner.functions.get(&key) {
            Some(function) => function,
            None => {
                let function = self.look_up(entered, kernel.name, Some(kernel))?;
                self.compare(kernel, parameters)?;
                self.inner.functions.insert(key, function)
            }
        };
        near.store(std::ptr::from_ref(function).cast_mut(), Ordering::Release);
        Ok(function)
    }

    /// The function of a name; the driver is asked the first time only.
    pub(crate) fn named(&self, entered: &Entered<'_>, name: &str) -> Result<&Function> {
        match self.inner.named.get(name) {
            Some(function) => Ok(function),
            None => {
                let function = self.look_up(entered, name, None)?;
                Ok(self.inner.named.insert(name.to_owned(), function))
            }
        }
    }

    #[cold]
    fn look_up(&self, entered: &Entered<'_>, name: &str, kernel: Option<&'static Kernel>) -> Result<Function> {
        let operation = || format!("look up the kernel `{name}` in {}", self.inner.name);
        let Ok(symbol) = CString::new(name) else {
            return Err(self.missing(name, kernel));
        };
        let raw = match self.inner.raw.function(&symbol) {
            Err(Code::NOT_FOUND) if !self.kernels().contains(&name) => return Err(self.missing(name, kernel)),
            other => entered.check(other, operation)?,
        };
        let key = kernel.map_or(0, |kernel| std::ptr::from_ref(kernel).addr());
        // SAFETY: the function is kept in one of the module's own maps.
        unsafe { Function::new(key, raw, entered, operation) }
    }

    fn missing(&self, name: &str, kernel: Option<&'static Kernel>) -> Error {
        if let Some(known) = self.inner.elsewhere.iter().find(|known| known.kernel == name) {
            let no_image = ModuleError::NoImage {
                kernel: name.to_owned(),
                module: self.inner.name.clone(),
                architectures: known.architectures.iter().map(ToString::to_string).collect(),
                compute_capability: self.inner.context.limits.compute_capability,
            };
            return no_image.into();
        }
        const ALIKE: f64 = 0.8;
        let available: Vec<String> = self.kernels().into_iter().map(str::to_owned).collect();
        let near = available.iter().filter(|other| strsim::jaro_winkler(name, other) >= ALIKE).cloned().collect();
        let missing = ModuleError::MissingKernel {
            kernel: name.to_owned(),
            module: self.inner.name.clone(),
            available,
            near,
            defined_at: kernel.map(place),
        };
        missing.into()
    }

    /// Returns an error if the kernel in the PTX does not match its launcher, as far as a launch depends on it. For a
    /// text that is not sealed, only the sizes of the parameters are known.
    fn compare(&self, kernel: &'static Kernel, parameters: &[ParameterBytes]) -> Result<()> {
        let stale = |parameter, found, expected| ModuleError::StaleKernel {
            kernel: kernel.name.to_owned(),
            module: self.inner.name.clone(),
            parameter,
            found,
            expected,
            defined_at: place(kernel),
        };
        let mut sealed = self.inner.texts.iter().filter(|text| text.sealed);
        match sealed.find_map(|text| foot::description(&text.ptx, kernel.name)) {
            Some(described) => {
                if let Some(other) = kernel.disagreement(&described) {
                    return Err(stale(other.parameter, other.found, other.expected).into());
                }
            }
            None if self.inner.texts.iter().all(|text| text.sealed) => {
                let undescribed = ModuleError::UndescribedKernel {
                    kernel: kernel.name.to_owned(),
                    module: self.inner.name.clone(),
                    defined_at: place(kernel),
                };
                return Err(undescribed.into());
            }
            None => {}
        }
        let declared = self.signatures().and_then(|all| all.iter().find(|signature| signature.name == kernel.name));
        let Some(declared) = declared else { return Ok(()) };
        let passed: Vec<usize> = parameters.iter().map(|parameter| usize::from(parameter.bytes)).collect();
        if declared.parameters == passed {
            return Ok(());
        }
        let (found, expected) = (sizes(&declared.parameters), sizes(&passed));
        Err(stale(None, format!("takes {found}"), format!("passes {expected}")).into())
    }

    fn signatures(&self) -> Option<&[Signature]> {
        Some(&self.declarations()?.kernels)
    }

    fn declarations(&self) -> Option<&Declarations> {
        self.inner
            .declarations
            .get_or_init(|| ptx::declarations_of(self.inner.texts.iter().map(|text| text.ptx.as_str())))
            .as_ref()
    }

    /// The bytes of a variable in constant memory.
    pub(crate) fn constant_bytes(&self, name: &str) -> Option<usize> {
        let constants = &self.declarations()?.constants;
        constants.iter().find(|(known, _)| known == name).map(|&(_, bytes)| bytes)
    }

    pub(crate) fn raw(&self) -> &crate::cuda::Module {
        &self.inner.raw
    }
}

/// Converts a text to a C string for the driver. The text has no NUL, as checked by [`image`].
pub(crate) fn c_string(ptx: &str) -> CString {
    let end = ptx.find('\0').unwrap_or(ptx.len());
    CString::new(&ptx[..end]).unwrap_or_default()
}

fn place(kernel: &'static Kernel) -> String {
    format!("{}:{}", kernel.file, kernel.line)
}

fn sizes(parameters: &[usize]) -> String {
    let list: Vec<String> = parameters.iter().map(ToString::to_string).collect();
    match list.len() {
        0 => "no parameters".to_owned(),
        1 => format!("1 parameter of {} bytes", list[0]),
        count => format!("{count} parameters of {} bytes", list.join(", ")),
    }
}

/// The error of PTX that does not load, with the compiler's messages.
#[cold]
fn load_error(entered: &Entered<'_>, module: String, code: Code, text: &CStr) -> Error {
    let operation = format!("load {module}");
    if !code.is_about_code() {
        return match entered.check(Err::<(), Code>(code), || operation) {
            Err(error) => error,
            Ok(()) => unreachable!("an error was passed in"),
        };
    }
    let log = driver::last_report().or_else(|| compile_again(text)).unwrap_or_default();
    ModuleError::Ptx { module, error: Box::new(DriverError::new(operation, code)), log }.into()
}

/// Loads the text once more, for the compiler's messages.
fn compile_again(text: &CStr) -> Option<String> {
    let mut log = CompilerLog::new();
    let (mut options, mut values) = log.options();
    let mut module = std::ptr::null_mut();
    // SAFETY: the text is terminated, both arrays have two entries, and the log is as long as said.
    let result = answer(unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            text.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    });
    if result.is_ok() {
        // SAFETY: the module was loaded just now and nothing uses it.
        let _ = unsafe { sys::cuModuleUnload(module) };
        return None;
    }
    Some(log.text()).filter(|text| !text.trim().is_empty())
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("name", &self.inner.name).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(_entered) = self.context.enter_to_release() {
            // Kernels may still be running. An error is a fault that every later call reports.
            let _ = crate::cuda::synchronize();
            if let Some(bell) = &self.bell {
                self.context.panics.detach(bell);
            }
            // SAFETY: dropped once, here, in a living context, with none of its kernels running.
            unsafe { ManuallyDrop::drop(&mut self.raw) };
        }
    }
}
