//! Functions calling functions: arguments and results, frames, externals that the machine itself provides.
//!
//! Arguments and results travel in transfer slots that belong to the program: one for a scalar, a predicate among them, and
//! one for each element of a vector in registers. What does not fit a slot travels as its address on the caller's or
//! callee's stack and is copied right away.

use rumba_ptx::ast::{self, OperandKind};

use crate::base::lanes::lanes_of;
use crate::base::types::ScalarType;
use crate::exec::shape::function;
use crate::exec::{control, shape};
use crate::isa::{memory, native};
use crate::lower::error::LowerError;
use crate::lower::fit;
use crate::lower::lowering::Lowering;
use crate::lower::scope::Binding;
use crate::lower::symbols::{Symbol, variable_align, variable_bytes};
use crate::lower::virtual_op::{Control, VReg, VirtualOp};
use crate::machine::op::{Handlers, Pc};
use crate::machine::program::{Class, Fixed};
use crate::machine::warp::Warp;

/// Copies `extra` bytes of the thread's stack from `a` to `b + imm`.
const COPY: Handlers = Handlers::same(copy);

/// The parameters and results of a function.
#[derive(Clone, Copy)]
struct Signature<'m> {
    returns: &'m [ast::Variable<'m>],
    parameters: &'m [ast::Variable<'m>],
}

impl<'m> Lowering<'m> {
    fn transfer(&mut self, index: usize) -> VReg {
        self.pool.fixed(Class::W64, Fixed::Transfer(index as u16))
    }

    fn stack_pointer(&mut self) -> VReg {
        self.pool.fixed(Class::W64, Fixed::StackPointer)
    }

    fn class(&self, place: VReg) -> Class {
        match place {
            VReg::Slot(slot) if slot & crate::lower::virtual_op::FIXED == 0 => self.function.classes[slot as usize],
            VReg::Slot(slot) => self.pool.fixed[(slot & !crate::lower::virtual_op::FIXED) as usize].0,
            VReg::None | VReg::Predicate(_) => Class::W32,
        }
    }

    /// Copies between slots of 32 or 64 bits.
    fn copy_slot(&mut self, to: VReg, from: VReg) {
        let handlers = match (self.class(from), self.class(to)) {
            (Class::W32, Class::W32) => memory::copy(Class::W32),
            (Class::W32, _) => shape::lanes(function!(|value: u32| -> u64 { value.cast() })),
            (_, Class::W32) => shape::lanes(function!(|value: u64| -> u32 { value.cast() })),
            _ => memory::copy(Class::W64),
        };
        self.emit(VirtualOp::unary(handlers, to, from));
    }

    /// Takes arguments over, at the start of a function.
    pub(crate) fn emit_prologue(&mut self, ast: &'m ast::Function<'m>) -> Result<(), LowerError> {
        let frame = self.new_slot(Class::W64);
        self.function.frame = Some(frame);
        let pointer = self.stack_pointer();
        let enter = VirtualOp { dst: frame, b: pointer, extra: 16, ..VirtualOp::new(control::ENTER_FRAME) };
        self.emit_control(enter, Control::Frame);
        let mut slot = 0;
        for variable in &ast.parameters {
            self.receive(variable.name, variable, slot)?;
            slot += slots(variable);
        }
        Ok(())
    }

    /// Returns from a function, or ends a kernel.
    pub(crate) fn emit_return(&mut self) -> Result<(), LowerError> {
        if self.function.is_entry {
            self.emit_control(VirtualOp::new(control::RETURN_FROM_KERNEL), Control::End);
            return Ok(());
        }
        let ids = self.pool.functions[self.function.index];
        let returns = self.pool.symbols.functions[ids].ast.returns.as_slice();
        let mut slot = 0;
        for variable in returns {
            self.send(variable.name, slot)?;
            slot += slots(variable);
        }
        if let Some(frame) = self.function.frame {
            let pointer = self.stack_pointer();
            let leave = VirtualOp { a: frame, b: pointer, ..VirtualOp::new(control::LEAVE_FRAME) };
            self.emit_control(leave, Control::Frame);
        }
        self.emit_control(VirtualOp::new(control::RETURN), Control::End);
        Ok(())
    }

    /// Puts a variable into transfer slots, from `slot` on.
    fn send(&mut self, name: &'m str, slot: usize) -> Result<(), LowerError> {
        let from = match self.lookup(name) {
            Some(Binding::Register(register)) => self.read(register),
            Some(Binding::Vector(registers)) => {
                for (element, register) in registers.into_iter().enumerate() {
                    let from = self.read(register);
                    self.send_value(from, slot + element);
                }
                return Ok(());
            }
            Some(Binding::Parameter { place, .. }) => place,
            Some(Binding::Local { .. }) => self.symbol_address(name, 0)?,
            _ => return Err(LowerError::new(format!("`{name}` cannot be passed to a function"))),
        };
        self.send_value(from, slot);
        Ok(())
    }

    /// The place of a register that is read.
    fn read(&mut self, register: usize) -> VReg {
        let register = &mut self.function.registers[register];
        register.used = true;
        register.place
    }

    /// Puts a value into a transfer slot, a predicate as 0 or 1.
    fn send_value(&mut self, from: VReg, slot: usize) {
        let transfer = self.transfer(slot);
        if let VReg::Predicate(_) = from {
            let (one, zero) = (self.constant(ScalarType::U64, 1), self.constant(ScalarType::U64, 0));
            let select = shape::select::<u64>();
            return self.emit(VirtualOp::ternary(select, transfer, one, zero, from));
        }
        self.copy_slot(transfer, from);
    }

    /// Takes a variable out of transfer slots, from `slot` on.
    fn receive(&mut self, name: &'m str, declared: &ast::Variable<'m>, slot: usize) -> Result<(), LowerError> {
        match self.lookup(name) {
            Some(Binding::Register(register)) => self.receive_value(register, slot)?,
            Some(Binding::Vector(registers)) => {
                for (element, register) in registers.into_iter().enumerate() {
                    self.receive_value(register, slot + element)?;
                }
            }
            Some(Binding::Parameter { place, .. }) => {
                let transfer = self.transfer(slot);
                self.copy_slot(place, transfer);
            }
            Some(Binding::Local { .. }) => {
                let bytes = variable_bytes(declared).map_err(|error| LowerError::new(error.message))?;
                let to = self.symbol(name)?;
                let copy = VirtualOp {
                    a: self.transfer(slot),
                    b: to.base,
                    imm: to.offset.cast_unsigned(),
                    extra: u16::try_from(bytes)
                        .map_err(|_| LowerError::new(format!("`{name}` is too large to be passed by value")))?,
                    ..VirtualOp::new(COPY)
                };
                self.emit(copy);
            }
            _ => return Err(LowerError::new(format!("`{name}` cannot receive a result"))),
        }
        Ok(())
    }

    /// Takes the value of a register out of a transfer slot.
    fn receive_value(&mut self, register: usize, slot: usize) -> Result<(), LowerError> {
        let register = &self.function.registers[register];
        let to = register.place;
        if to.is_fixed() {
            return Err(LowerError::new(format!("`{}` cannot receive a result", register.name)));
        }
        let transfer = self.transfer(slot);
        if let VReg::Predicate(_) = to {
            let zero = self.constant(ScalarType::U64, 0);
            let test = shape::test(function!(|a: u64, b: u64| -> bool { a.ne(b) }));
            self.emit(VirtualOp::binary(test, to, transfer, zero));
        } else {
            self.copy_slot(to, transfer);
        }
        Ok(())
    }

    /// Lowers `call`.
    pub(crate) fn emit_call(&mut self) -> Result<(), LowerError> {
        let mut index = 0;
        let mut returns: &[ast::Operand<'m>] = &[];
        if let OperandKind::List(items) = &self.operand(0)?.kind {
            returns = items;
            index = 1;
        }
        let target = self.operand(index)?;
        let mut arguments: &[ast::Operand<'m>] = &[];
        let mut prototype = None;
        for position in index + 1..self.operand_count() {
            let operand = self.operand(position)?;
            match &operand.kind {
                OperandKind::List(items) => arguments = items,
                OperandKind::Name(name) => prototype = Some((*name, operand.span)),
                _ => return Err(LowerError::new("a list of arguments is needed here").at(operand.span)),
            }
        }
        let OperandKind::Name(name) = target.kind else {
            return Err(LowerError::new("a function is needed here").at(target.span));
        };
        match self.lookup(name) {
            Some(Binding::Symbol(Symbol::Function(id))) => {
                let ast = self.pool.symbols.functions[id].ast;
                let signature = Signature { returns: &ast.returns, parameters: &ast.parameters };
                if ast.body.is_none() {
                    let Some((native, waits)) = native::find(name) else {
                        let message = format!("`{name}` is called, but no source defines it");
                        return Err(LowerError::new(message)
                            .at(target.span)
                            .with_help("load the source that defines it together with this one"));
                    };
                    self.pass(name, arguments, signature.parameters)?;
                    let [dst, b, c, d] = [0, 1, 2, 3].map(|index| self.transfer(index));
                    let virtual_op = VirtualOp { dst, a: dst, b, c, d, ..VirtualOp::new(native) };
                    self.emit_control(virtual_op, if waits { Control::Park } else { Control::Next });
                    return self.take_results(name, returns, signature.returns);
                }
                if ast.kind == ast::FunctionKind::Entry {
                    return Err(LowerError::new(format!("`{name}` is a kernel and cannot be called")).at(target.span));
                }
                let callee = self.pool.function(id);
                self.function.calls.push(callee);
                self.pass(name, arguments, signature.parameters)?;
                self.emit_control(VirtualOp::new(control::CALL), Control::Call(callee));
                self.take_results(name, returns, signature.returns)
            }
            Some(Binding::Register(_)) => {
                let handle = self.source_operand(target, ScalarType::U64, false)?;
                let signature = self.signature(prototype, target.span)?;
                self.function.calls_indirectly = true;
                self.pass(name, arguments, signature.parameters)?;
                let call = VirtualOp {
                    a: handle,
                    extra: u16::from(self.modifiers().contains(&".uni")),
                    ..VirtualOp::new(control::CALL_INDIRECT)
                };
                self.emit_control(call, Control::CallIndirect);
                self.take_results(name, returns, signature.returns)
            }
            _ => Err(LowerError::new(format!("`{name}` is not a function")).at(target.span)),
        }
    }

    /// The signature that an indirect call names.
    fn signature(&mut self, name: Option<(&'m str, ast::Span)>, span: ast::Span) -> Result<Signature<'m>, LowerError> {
        let Some((name, span)) = name else {
            return Err(LowerError::new("an indirect call needs a .callprototype or a list of targets").at(span));
        };
        match self.lookup(name) {
            Some(Binding::Prototype(prototype)) if prototype.span.start < span.start => {
                Ok(Signature { returns: &prototype.returns, parameters: &prototype.parameters })
            }
            Some(Binding::CallTargets(list)) => {
                let first = list.names.first().map_or("", |label| label.name);
                match self.lookup(first) {
                    Some(Binding::Symbol(Symbol::Function(id))) => {
                        let ast = self.pool.symbols.functions[id].ast;
                        Ok(Signature { returns: &ast.returns, parameters: &ast.parameters })
                    }
                    _ => Err(LowerError::new(format!("`{first}` is not a function")).at(span)),
                }
            }
            _ => Err(LowerError::new(format!("`{name}` is neither a .callprototype nor a list of targets")).at(span)),
        }
    }

    fn pass(
        &mut self,
        name: &str,
        arguments: &'m [ast::Operand<'m>],
        parameters: &'m [ast::Variable<'m>],
    ) -> Result<(), LowerError> {
        if arguments.len() != parameters.len() {
            return Err(LowerError::new(format!(
                "`{name}` takes {} parameter(s), and {} argument(s) are given",
                parameters.len(),
                arguments.len()
            )));
        }
        let mut slot = 0;
        for (argument, parameter) in arguments.iter().zip(parameters) {
            let at = |error: LowerError| error.at(argument.span);
            self.check_type(argument, parameter)?;
            match &argument.kind {
                OperandKind::Name(name) => self.send(name, slot).map_err(at)?,
                OperandKind::Vector(elements) => {
                    for (element, operand) in elements.iter().enumerate() {
                        if let Some(register) = self.register_of(operand)? {
                            let from = self.read(register);
                            self.send_value(from, slot + element);
                        }
                    }
                }
                OperandKind::Member(..) => return Err(at(LowerError::new("an element of a vector cannot be passed"))),
                _ => {
                    let ty = crate::lower::symbols::slot_type(parameter)
                        .filter(|ty| *ty != ScalarType::Pred)
                        .ok_or_else(|| at(LowerError::new("a variable is needed here")))?;
                    let value = self.source_operand(argument, ty, false)?;
                    self.send_value(value, slot);
                }
            }
            slot += slots(parameter);
        }
        Ok(())
    }

    fn take_results(
        &mut self,
        name: &str,
        results: &'m [ast::Operand<'m>],
        declared: &'m [ast::Variable<'m>],
    ) -> Result<(), LowerError> {
        if results.len() != declared.len() {
            return Err(LowerError::new(format!(
                "`{name}` returns {} value(s), and {} are taken",
                declared.len(),
                results.len()
            )));
        }
        let mut next = 0;
        for (result, declared) in results.iter().zip(declared) {
            let slot = next;
            next += slots(declared);
            let at = |error: LowerError| error.at(result.span);
            match &result.kind {
                OperandKind::Name("_") => {}
                OperandKind::Name(name) => {
                    self.check_type(result, declared)?;
                    self.receive(name, declared, slot).map_err(at)?;
                }
                OperandKind::Vector(elements) => {
                    self.check_type(result, declared)?;
                    for (element, operand) in elements.iter().enumerate() {
                        if let Some(register) = self.register_of(operand)? {
                            self.receive_value(register, slot + element).map_err(at)?;
                        }
                    }
                }
                _ => return Err(at(LowerError::new("a variable is needed here, for the result"))),
            }
        }
        Ok(())
    }

    /// Checks that an argument or result has the declared type.
    fn check_type(&mut self, operand: &'m ast::Operand<'m>, declared: &ast::Variable<'m>) -> Result<(), LowerError> {
        if let OperandKind::Vector(elements) = &operand.kind {
            return self.check_vector(operand, elements, declared);
        }
        let OperandKind::Name(name) = operand.kind else {
            return Ok(());
        };
        let wanted = crate::lower::symbols::slot_type(declared);
        match (self.lookup(name), wanted) {
            (Some(Binding::Register(register)), Some(wanted)) => {
                let ty = self.function.registers[register].ty;
                fit::register(name, ty, wanted, false).map_err(|error| error.at(operand.span))
            }
            (Some(Binding::Parameter { ty, .. }), Some(wanted)) => {
                fit::register(name, ty, wanted, false).map_err(|error| error.at(operand.span))
            }
            (Some(Binding::Parameter { .. } | Binding::Register(_)), None) => {
                Err(LowerError::new(format!("`{name}` is a scalar; an array is passed here")).at(operand.span))
            }
            (Some(Binding::Local { .. }), Some(_)) => {
                // The callee keeps it in a slot if it can; the caller decided otherwise because it needs its address.
                let message = format!("`{name}` is not accessed as a whole, so it cannot be passed as a scalar");
                Err(LowerError::new(message).at(operand.span))
            }
            (Some(Binding::Local { variable, .. }), None) if variable_align(variable) < variable_align(declared) => {
                let message = format!("`{name}` is not aligned as the parameter is");
                Err(LowerError::new(message).at(operand.span))
            }
            (Some(Binding::Local { variable, .. }), None) => {
                let size = |variable: &ast::Variable<'_>| variable_bytes(variable).unwrap_or(0);
                let (own, wanted) = (size(variable), size(declared));
                if own == wanted {
                    return Ok(());
                }
                let message = format!("`{name}` has {own} bytes; {wanted} are passed here");
                Err(LowerError::new(message).at(operand.span))
            }
            _ => Ok(()),
        }
    }

    /// Checks a vector of registers against the declared type.
    fn check_vector(
        &mut self,
        operand: &'m ast::Operand<'m>,
        elements: &'m [ast::Operand<'m>],
        declared: &ast::Variable<'m>,
    ) -> Result<(), LowerError> {
        let wanted = ScalarType::try_from(declared.ty).ok();
        let Some(wanted) = wanted.filter(|_| elements.len() == slots(declared)) else {
            let message = format!("a vector is given here, and `{}` is none of as many elements", declared.name);
            return Err(LowerError::new(message).at(operand.span));
        };
        for element in elements {
            let ty = self.register_type(element)?.unwrap_or(wanted);
            fit::register("the vector", ty, wanted, false).map_err(|error| error.at(operand.span))?;
        }
        Ok(())
    }
}

/// How many transfer slots a parameter or result takes.
fn slots(variable: &ast::Variable<'_>) -> usize {
    let vector = variable.vector.filter(|_| variable.space == ast::StateSpace::Reg);
    vector.map_or(1, usize::from)
}

unsafe fn copy(warp: &mut Warp, pc: Pc) -> Pc {
    let (from, to) = (warp.lanes::<u64>(pc.a), warp.lanes::<u64>(pc.b));
    let bytes = usize::from(pc.extra);
    let unwritten = warp.context().allocations.unwritten.as_ref();
    for lane in lanes_of(warp.active) {
        let stack = warp.stack_base + lane as u64 * warp.stack_stride;
        // SAFETY: the slots have 32 lanes of 64 bits.
        let (from, to) = unsafe { (*from.add(lane), (*to.add(lane)).wrapping_add(pc.imm)) };
        if from.max(to).saturating_add(bytes as u64) <= warp.stack_stride {
            // SAFETY: both ranges were just found to lie in the stack of this thread, which only it accesses.
            unsafe { std::ptr::copy((stack + from) as *const u8, (stack + to) as *mut u8, bytes) };
            if let Some(map) = unwritten {
                map.copy(None, stack + to, stack + from, bytes as u64);
            }
        }
    }
    pc.next()
}
