//! From PTX sources to a module: parsing, linking, variables, programs; and the errors in these steps.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rumba_ptx::Diagnostic;
use rumba_ptx::ast::{Constant, FunctionKind, Initializer, Linkage, Literal, StateSpace};

use crate::base::lanes::SHARED_START;
use crate::base::types::ScalarType;
use crate::load::assemble::Refusal;
use crate::load::error::{LoadError, Source};
use crate::load::resources::Resources;
use crate::load::unit::Unit;
use crate::load::{assemble, passed, verify};
use crate::lower::fit::literal_bits;
use crate::lower::symbols::{FunctionId, FunctionSymbol, Located, Symbol, Symbols};
use crate::machine::program::{Flow, Parameter, Program};
use crate::mem::allocations::AllocationKind;

/// A module's memory and programs.
#[derive(Debug)]
pub(crate) struct ModuleInner {
    pub(crate) device: Arc<Resources>,
    /// The kernels in the order of the sources.
    kernels: Vec<Kernel>,
    /// The sources, while some kernel has no program yet.
    unit: Mutex<Option<Arc<Unit>>>,
    /// Variables by name: address, size.
    pub(crate) globals: HashMap<String, (u64, usize)>,
    allocations: Vec<u64>,
    /// The numbers of the targets of the module's sources.
    targets: Vec<u32>,
    const_bytes: usize,
}

/// A kernel of a module, and its program once it is wanted.
#[derive(Debug)]
struct Kernel {
    id: FunctionId,
    name: String,
    /// Refused if the kernel has instructions that the machine does not execute.
    program: OnceLock<Result<Arc<Program>, LoadError>>,
}

impl ModuleInner {
    fn kernel(&self, name: &str) -> Option<&Result<Arc<Program>, LoadError>> {
        let kernel = self.kernels.iter().find(|kernel| kernel.name == name)?;
        Some(self.program(kernel))
    }

    /// The program of a kernel, which is built if it was not wanted before. With the last program the sources go.
    fn program<'k>(&self, kernel: &'k Kernel) -> &'k Result<Arc<Program>, LoadError> {
        if let Some(program) = kernel.program.get() {
            return program;
        }
        let unit = || self.unit.lock().unwrap_or_else(PoisonError::into_inner);
        let program = kernel.program.get_or_init(|| {
            let unit = unit().clone().expect("the sources are there while a kernel has no program");
            match unit.program(kernel.id, &self.device, &mut Vec::new()) {
                Ok(program) => Ok(Arc::new(program)),
                Err(Refusal::Wrong(found) | Refusal::Unsupported(found)) => Err(unit.error(found)),
            }
        });
        if self.kernels.iter().all(|kernel| kernel.program.get().is_some()) {
            *unit() = None;
        }
        program
    }
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        let kinds = [AllocationKind::Global, AllocationKind::Constant];
        for address in &self.allocations {
            // It was allocated by `load` and is freed nowhere else.
            let _ = self.device.allocations.free(&self.device.arena, *address, &kinds);
        }
    }
}

/// A loaded module.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) inner: Arc<ModuleInner>,
}

impl Module {
    /// A kernel that can be launched.
    pub fn function(&self, name: &str) -> Option<Function> {
        let program = self.inner.kernel(name)?.as_ref().ok()?;
        Some(Function { module: Arc::clone(&self.inner), program: Arc::clone(program) })
    }

    /// The instructions for which the machine cannot execute a kernel of the module, so that [`Self::function`] does
    /// not return it.
    pub fn refusal(&self, name: &str) -> Option<&LoadError> {
        self.inner.kernel(name)?.as_ref().err()
    }

    /// All kernels that can be launched, in the order of the sources.
    pub fn functions(&self) -> impl Iterator<Item = Function> + '_ {
        let programs = self.inner.kernels.iter().filter_map(|kernel| self.inner.program(kernel).as_ref().ok());
        programs.map(|program| Function { module: Arc::clone(&self.inner), program: Arc::clone(program) })
    }

    /// The names of these kernels, whose programs are not built for it.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let is_refused = |kernel: &&Kernel| kernel.program.get().is_some_and(Result::is_err);
        self.inner.kernels.iter().filter(move |kernel| !is_refused(kernel)).map(|kernel| kernel.name.as_str())
    }

    /// Address and size of a variable in `.global` or `.const`.
    pub fn global(&self, name: &str) -> Option<(u64, usize)> {
        self.inner.globals.get(name).copied()
    }
}

/// The resources of a kernel, as a GPU counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionAttributes {
    /// 32-bit registers per thread.
    pub registers: u32,
    /// Bytes of static shared memory per block.
    pub shared_bytes: usize,
    /// Bytes of the module's constants.
    pub const_bytes: usize,
    /// Bytes of stack per thread.
    pub local_bytes: usize,
    /// Threads of the largest block.
    pub max_threads_per_block: u32,
    /// The number of the `.target` that its source was compiled for, 70 for `sm_70`: the "PTX virtual architecture version" of
    /// the driver's interface. The number behind `.version` has no attribute.
    pub ptx_version: u32,
}

/// A kernel.
#[derive(Debug, Clone)]
pub struct Function {
    pub(crate) module: Arc<ModuleInner>,
    pub(crate) program: Arc<Program>,
}

impl Function {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// Its parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.program.parameters
    }

    /// The size of the clusters that the kernel requires (`.reqnctapercluster`).
    pub fn required_cluster(&self) -> Option<[u32; 3]> {
        self.program.required_cluster
    }

    /// The most blocks of a cluster that the kernel allows (`.maxclusterrank`).
    pub fn max_cluster(&self) -> Option<u32> {
        self.program.max_cluster
    }

    /// Bytes of all its parameters.
    pub fn parameter_bytes(&self) -> usize {
        self.program.parameter_bytes
    }

    /// The lines of the kernel's PTX with instructions that native code leaves to the interpreter, because
    /// [`crate::isa`] has no form for some operation. A line appears once for each such operation.
    pub fn lines_without_form(&self) -> Vec<u32> {
        let program = &self.program;
        let operations = program.ops.iter().zip(&program.descriptors).take(program.kernel_ops);
        operations
            .filter(|(_, descriptor)| {
                matches!(descriptor.flow, Flow::Next | Flow::Park) && !descriptor.opcode.attributes().is_compiled
            })
            .map(|(op, _)| program.debug.ptx(op.source).1)
            .collect()
    }

    /// The resources that the kernel needs.
    pub fn attributes(&self) -> FunctionAttributes {
        FunctionAttributes {
            registers: self.program.registers,
            shared_bytes: (self.program.shared_end - SHARED_START) as usize,
            const_bytes: self.module.const_bytes,
            local_bytes: self.program.stack_bytes.unwrap_or(self.module.device.config.stack_bytes) as usize,
            max_threads_per_block: self.program.max_threads,
            ptx_version: self.module.targets.get(self.program.source).copied().unwrap_or(0),
        }
    }
}

/// Loads a module. All of its kernels are lowered and assembled, in which the errors in their bodies are found, unless sources of
/// this text have passed before: then a kernel is lowered and assembled when it is wanted.
pub(crate) fn load(device: &Arc<Resources>, sources: &[Source<'_>]) -> Result<Module, LoadError> {
    let mut unit = Unit::parse(sources)?;
    for function in &mut unit.symbols_mut().functions {
        function.handle = device.next_handle();
    }
    let mut inner = ModuleInner {
        device: Arc::clone(device),
        kernels: Vec::new(),
        unit: Mutex::default(),
        globals: HashMap::new(),
        allocations: Vec::new(),
        targets: unit.modules().iter().map(verify::target).collect(),
        const_bytes: 0,
    };
    place_variables(&mut inner, unit.symbols_mut())?;
    initialise(unit.symbols()).map_err(|errors| unit.error(errors))?;
    let kernels = unit.symbols().functions.iter().enumerate();
    let kernels =
        kernels.filter(|(_, function)| function.ast.kind == FunctionKind::Entry && function.ast.body.is_some());
    let kernel = |(id, function): (FunctionId, &FunctionSymbol<'_>)| Kernel {
        id,
        name: function.ast.name.to_owned(),
        program: OnceLock::new(),
    };
    inner.kernels = kernels.map(kernel).collect();
    if passed::has_passed(sources) {
        inner.unit = Mutex::new(Some(Arc::new(unit)));
        return Ok(Module { inner: Arc::new(inner) });
    }
    let programs = device.pool.map(&inner.kernels, |kernel| {
        let mut reached = Vec::new();
        let program = unit.program(kernel.id, device, &mut reached);
        (program, reached)
    });
    let mut errors: Vec<Located> = Vec::new();
    let mut reached = HashSet::new();
    let mut all_run = true;
    for (kernel, (program, functions)) in inner.kernels.iter().zip(programs) {
        reached.extend(functions);
        let program = match program {
            Ok(program) => Ok(Arc::new(program)),
            Err(Refusal::Wrong(found)) => {
                errors.extend(found);
                continue;
            }
            Err(Refusal::Unsupported(found)) => Err(unit.error(found)),
        };
        all_run &= program.is_ok();
        kernel.program.set(program).expect("the module is not shared yet");
    }
    for (id, function) in unit.symbols().functions.iter().enumerate() {
        let is_checked = function.ast.kind == FunctionKind::Entry || reached.contains(&id);
        if !is_checked && function.ast.body.is_some() {
            errors.extend(assemble::check(unit.symbols(), unit.texts(), id));
        }
    }
    if !errors.is_empty() {
        return Err(unit.error(errors));
    }
    if all_run {
        passed::add(sources);
    }
    Ok(Module { inner: Arc::new(inner) })
}

/// Gives variables in `.global` and `.const` their memory.
fn place_variables(inner: &mut ModuleInner, symbols: &mut Symbols<'_>) -> Result<(), LoadError> {
    for variable in &mut symbols.variables {
        let kind = match variable.ast.space {
            StateSpace::Global => AllocationKind::Global,
            StateSpace::Const => AllocationKind::Constant,
            _ => continue,
        };
        if variable.ast.linkage == Some(Linkage::Extern) {
            continue;
        }
        let name = variable.ast.name.to_owned();
        let bytes = (variable.bytes as usize).max(1);
        let device = &inner.device;
        let address = device
            .allocations
            .allocate(&device.arena, bytes, kind, Some(name.clone()))
            .map_err(|error| LoadError::Memory { name: name.clone(), error })?;
        inner.allocations.push(address);
        if kind == AllocationKind::Constant {
            inner.const_bytes += variable.bytes as usize;
        }
        variable.address = address;
        inner.globals.insert(name, (address, variable.bytes as usize));
    }
    Ok(())
}

/// Writes the initial values of variables: zero without an initializer, as on a device.
fn initialise(symbols: &Symbols<'_>) -> Result<(), Vec<Located>> {
    let mut errors = Vec::new();
    for variable in symbols.variables.iter().filter(|variable| variable.address != 0) {
        let mut image = vec![0; variable.bytes as usize];
        if let Some(initializer) = &variable.ast.initializer
            && let Ok(ty) = ScalarType::try_from(variable.ast.ty)
        {
            let mut dimensions: Vec<u64> = variable.ast.dimensions.iter().map(|size| size.unwrap_or(0)).collect();
            dimensions.extend(variable.ast.vector.map(u64::from));
            let mut writer =
                Image { symbols, source: variable.source, position: variable.ast.span.end, ty, bytes: &mut image };
            if let Err(message) = writer.write(initializer, 0, &dimensions) {
                errors.push((variable.source, Diagnostic::new(variable.ast.span, message)));
            }
        }
        // SAFETY: the memory was allocated for this variable, and is not known elsewhere yet.
        unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), variable.address as *mut u8, image.len()) };
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

struct Image<'a, 's> {
    symbols: &'a Symbols<'s>,
    source: usize,
    /// The end of the initial value in the source: names in the value are declared before it.
    position: u32,
    ty: ScalarType,
    bytes: &'a mut [u8],
}

impl Image<'_, '_> {
    fn write(&mut self, value: &Initializer<'_>, offset: usize, dimensions: &[u64]) -> Result<(), String> {
        let element = self.ty.bytes() as usize;
        match value {
            Initializer::Constant(constant) => {
                let bits = self.constant(constant)?;
                let place = self
                    .bytes
                    .get_mut(offset..offset + element)
                    .ok_or("there are more initial values than the variable has elements")?;
                place.copy_from_slice(&bits.to_le_bytes()[..element]);
            }
            Initializer::List(items) => {
                let inner = dimensions.get(1..).unwrap_or(&[]);
                let nested = items.iter().any(|item| matches!(item, Initializer::List(_)));
                let stride = if nested { element * inner.iter().product::<u64>() as usize } else { element };
                for (index, item) in items.iter().enumerate() {
                    self.write(item, offset + index * stride, inner)?;
                }
            }
            Initializer::Fields(_) => return Err("textures, samplers and surfaces are not supported".into()),
        }
        Ok(())
    }

    fn constant(&self, constant: &Constant<'_>) -> Result<u128, String> {
        match constant {
            Constant::Literal(literal @ Literal::Integer { value, .. }) => {
                if self.ty.is_float() && *value != 0 {
                    literal_bits(*literal, self.ty).map_err(|error| error.message)
                } else {
                    Ok(u128::from(*value))
                }
            }
            Constant::Literal(literal) => literal_bits(*literal, self.ty).map_err(|error| error.message),
            Constant::Difference(a, b) => Err(format!("`{a}-{b}` can only stand in a .section")),
            Constant::Symbol(symbol) => {
                let address = match self.symbols.find_before(self.source, symbol.name, self.position) {
                    Some(Symbol::Function(id)) => self.symbols.functions[id].handle,
                    Some(Symbol::Variable(id)) => self.symbols.variables[id].address,
                    None => return Err(format!("`{}` is not declared", symbol.name)),
                };
                if address == 0 {
                    return Err(format!("`{}` has no address that is known when the module is loaded", symbol.name));
                }
                let value = address.wrapping_add_signed(symbol.addend);
                let value = match symbol.mask {
                    None => value,
                    Some(mask) => {
                        let shift = mask.trailing_zeros();
                        if !shift.is_multiple_of(8) || mask.checked_shr(shift) != Some(0xff) {
                            return Err(format!("the mask {mask:#x} is not that of one byte"));
                        }
                        (value & mask) >> shift
                    }
                };
                Ok(u128::from(value))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::base::config::Config;
    use crate::device::Device;
    use crate::load::error::Source;
    use crate::load::module::Module;

    const HEADER: &str = ".version 7.8\n.target sm_90\n.address_size 64\n";

    fn load(device: &Device, body: &str) -> Module {
        let ptx = format!("{HEADER}.global .u32 x;\n.func f() {{ ret; }}\n{body}");
        device.load(&[Source { name: "test", ptx: &ptx }]).unwrap_or_else(|error| panic!("{error}"))
    }

    fn built(module: &Module) -> Vec<bool> {
        module.inner.kernels.iter().map(|kernel| kernel.program.get().is_some()).collect()
    }

    #[test]
    fn kernels_of_a_text_that_has_passed_are_built_when_they_are_wanted() {
        let device = Device::new(Config::default()).expect("a device");
        let body = ".entry a(.param .u64 p) { .reg .u32 %r; ld.global.u32 %r, [x]; call f; ret; }\n.entry b() { ret; }";
        let first = load(&device, body);
        assert_eq!(built(&first), [true, true]);
        let second = load(&device, body);
        assert_eq!(built(&second), [false, false]);
        assert_eq!(second.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_ne!(first.global("x"), second.global("x"));
        assert!(second.function("c").is_none() && second.refusal("c").is_none());
        let function = second.function("a").expect("it is there");
        assert_eq!(built(&second), [true, false]);
        assert_eq!(function.attributes(), first.function("a").expect("it is there").attributes());
        assert_eq!(function.program.ops.len(), first.function("a").expect("it is there").program.ops.len());
        assert!(second.inner.unit.lock().expect("no thread panicked").is_some());
        assert_eq!(second.functions().count(), 2);
        assert!(second.inner.unit.lock().expect("no thread panicked").is_none(), "all programs are built");
    }

    #[test]
    fn a_text_with_an_unsupported_kernel_is_built_at_each_load() {
        let device = Device::new(Config::default()).expect("a device");
        let body = ".entry a() { .reg .b64 %r; suq.width.b32 %r, [%r]; ret; }\n.entry b() { ret; }";
        for _ in 0..2 {
            let module = load(&device, body);
            assert_eq!(built(&module), [true, true]);
            assert_eq!(module.names().collect::<Vec<_>>(), ["b"]);
            assert!(module.refusal("a").is_some() && module.function("b").is_some());
        }
    }

    #[test]
    fn a_wrong_text_is_wrong_each_time() {
        let device = Device::new(Config::default()).expect("a device");
        let ptx = format!("{HEADER}.entry a() {{ .reg .u32 %r; add.f32 %r, %r, %q; ret; }}");
        for _ in 0..2 {
            let error = device.load(&[Source { name: "test", ptx: &ptx }]).expect_err("%q is not declared");
            assert!(error.to_string().contains("%q"), "{error}");
        }
    }
}
