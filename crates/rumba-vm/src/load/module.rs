//! From PTX sources to a module: parsing, linking, variables, programs; and the errors in these steps.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rumba_ptx::ast::{self, Constant, FunctionKind, Initializer, Linkage, Literal, StateSpace};
use rumba_ptx::{Diagnostic, Report};
use thiserror::Error;

use crate::base::lanes::SHARED_START;
use crate::base::types::ScalarType;
use crate::load::assemble::Refusal;
use crate::load::resources::Resources;
use crate::load::{assemble, survey, verify};
use crate::lower::fit::literal_bits;
use crate::lower::fixed::Instruments;
use crate::lower::sources::SourceText;
use crate::lower::symbols::{FunctionId, Located, Symbol, Symbols};
use crate::lower::vectors;
use crate::machine::program::{Flow, Parameter, Program};
use crate::mem::allocations::{AllocationKind, MemoryError};

/// A PTX source.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The name of the source in reports.
    pub name: &'a str,
    /// The text.
    pub ptx: &'a str,
}

/// The errors of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceErrors {
    /// The source.
    pub name: String,
    /// The faults.
    pub diagnostics: Vec<Diagnostic>,
    /// The faults at length, with excerpts.
    pub report: String,
    /// The faults as NVIDIA's assembler would print them.
    pub short: String,
    /// Line and column of the first fault.
    pub position: (u32, u32),
}

/// Why a module cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoadError {
    /// A source is wrong.
    #[error("{}", .0.iter().map(|errors| errors.report.as_str()).collect::<Vec<_>>().join("\n\n"))]
    Source(Vec<SourceErrors>),
    /// There is no room for the module's variables.
    #[error("no room for the variable `{name}`: {error}")]
    Memory {
        /// The variable.
        name: String,
        /// The cause.
        error: MemoryError,
    },
}

impl LoadError {
    /// The faults as NVIDIA's assembler would print them.
    pub fn short(&self) -> String {
        match self {
            Self::Source(list) => list.iter().map(|errors| errors.short.as_str()).collect(),
            Self::Memory { .. } => format!("{self}\n"),
        }
    }

    fn new(sources: &[Source<'_>], errors: Vec<Located>) -> Self {
        let mut list = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let mut own: Vec<Diagnostic> =
                errors.iter().filter(|(at, _)| *at == index).map(|(_, error)| error.clone()).collect();
            own.sort_by_key(|error| error.span.start);
            own.dedup_by(|a, b| a.span.start == b.span.start && a.message == b.message);
            let Some(first) = own.first() else { continue };
            let report = Report::new(source.name, source.ptx);
            let position = report.position(first);
            list.push(SourceErrors {
                name: source.name.to_owned(),
                report: own.iter().map(|error| report.render(error)).collect::<Vec<_>>().join("\n\n"),
                short: report.short_log(&own),
                position: (position.line, position.column),
                diagnostics: own,
            });
        }
        Self::Source(list)
    }
}

/// A module's memory and programs.
#[derive(Debug)]
pub(crate) struct ModuleInner {
    pub(crate) device: Arc<Resources>,
    pub(crate) kernels: Vec<Arc<Program>>,
    /// Kernels with instructions that the machine does not execute, by name.
    refused: HashMap<String, LoadError>,
    /// Variables by name: address, size.
    pub(crate) globals: HashMap<String, (u64, usize)>,
    allocations: Vec<u64>,
    /// The numbers of the targets of the module's sources.
    targets: Vec<u32>,
    const_bytes: usize,
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
        let program = self.inner.kernels.iter().find(|program| program.name == name)?;
        Some(Function { module: Arc::clone(&self.inner), program: Arc::clone(program) })
    }

    /// The instructions for which the machine cannot execute a kernel of the module, so that [`Self::function`] does
    /// not return it.
    pub fn refusal(&self, name: &str) -> Option<&LoadError> {
        self.inner.refused.get(name)
    }

    /// All kernels that can be launched, in the order of the sources.
    pub fn functions(&self) -> impl Iterator<Item = Function> + '_ {
        self.inner
            .kernels
            .iter()
            .map(|program| Function { module: Arc::clone(&self.inner), program: Arc::clone(program) })
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
        let operations = program.ops.iter().zip(&program.facts).take(program.kernel_ops);
        operations
            .filter(|(_, facts)| matches!(facts.flow, Flow::Next | Flow::Park) && !facts.kind.has_form())
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

/// Loads a module.
pub(crate) fn load(device: &Arc<Resources>, sources: &[Source<'_>]) -> Result<Module, LoadError> {
    let mut modules = Vec::new();
    let mut errors: Vec<Located> = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        match rumba_ptx::parse(source.ptx) {
            Ok(mut module) => {
                vectors::expand(&mut module);
                modules.push(module);
            }
            Err(found) => errors.extend(found.into_iter().map(|error| (index, error))),
        }
    }
    if !errors.is_empty() {
        return Err(LoadError::new(sources, errors));
    }
    for (index, module) in modules.iter().enumerate() {
        if module.address_size == Some(32) {
            let error = Diagnostic::new(ast::Span::default(), "32-bit addresses are not supported")
                .with_help("compile for `.address_size 64`");
            errors.push((index, error));
        }
    }
    for (index, module) in modules.iter().enumerate() {
        errors.extend(verify::module(module).into_iter().map(|error| (index, error)));
    }
    if !errors.is_empty() {
        return Err(LoadError::new(sources, errors));
    }
    let mut symbols = Symbols::collect(&modules).map_err(|errors| LoadError::new(sources, errors))?;
    for function in &mut symbols.functions {
        function.handle = device.next_handle();
    }
    let mut inner = ModuleInner {
        device: Arc::clone(device),
        kernels: Vec::new(),
        refused: HashMap::new(),
        globals: HashMap::new(),
        allocations: Vec::new(),
        targets: modules.iter().map(verify::target).collect(),
        const_bytes: 0,
    };
    place_variables(&mut inner, &mut symbols)?;
    initialise(&symbols).map_err(|errors| LoadError::new(sources, errors))?;
    let texts: Vec<SourceText<'_>> =
        modules.iter().zip(sources).map(|(module, source)| SourceText::new(source.ptx, module)).collect();
    let names: Vec<String> = sources.iter().map(|source| source.name.to_owned()).collect();
    let target = assemble::ProgramOptions {
        vector_instructions: device.config.vector_instructions,
        instruments: Instruments {
            checks: device.config.checks,
            profile: device.config.profile,
            scatter: device.config.seed.is_some(),
            choices: device.exploration.is_some(),
        },
    };
    let addressed = survey::addressed(&symbols);
    let kernels = symbols.functions.iter().enumerate();
    let kernels =
        kernels.filter(|(_, function)| function.ast.kind == FunctionKind::Entry && function.ast.body.is_some());
    let kernels: Vec<FunctionId> = kernels.map(|(id, _)| id).collect();
    let programs = device.pool.map(&kernels, |id| {
        let mut reached = Vec::new();
        let program = assemble::program(&symbols, &texts, &names, *id, &addressed, &target, &mut reached);
        (program, reached)
    });
    let mut reached = HashSet::new();
    for (id, (program, functions)) in kernels.into_iter().zip(programs) {
        reached.extend(functions);
        match program {
            Ok(program) => inner.kernels.push(Arc::new(program)),
            Err(Refusal::Wrong(found)) => errors.extend(found),
            Err(Refusal::Unsupported(found)) => {
                let name = symbols.functions[id].ast.name.to_owned();
                inner.refused.insert(name, LoadError::new(sources, found));
            }
        }
    }
    for (id, function) in symbols.functions.iter().enumerate() {
        let is_checked = function.ast.kind == FunctionKind::Entry || reached.contains(&id);
        if !is_checked && function.ast.body.is_some() {
            errors.extend(assemble::check(&symbols, &texts, id));
        }
    }
    if !errors.is_empty() {
        return Err(LoadError::new(sources, errors));
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
