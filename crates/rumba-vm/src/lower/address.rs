//! Addresses as operands: of variables and functions, and in brackets.

use rumba_ptx::ast::{Literal, OperandKind, StateSpace};

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::lower::error::LowerError;
use crate::lower::fit;
use crate::lower::fixed::Reference;
use crate::lower::lowering::{Lowering, Source};
use crate::lower::scope::Binding;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::program::{Class, Fixed};

/// An address operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    /// The register or constant.
    pub(crate) base: VReg,
    /// Whether `base` has 32 bits instead of 64.
    pub(crate) narrow: bool,
    /// The offset added.
    pub(crate) offset: i64,
    /// The state space of the variable that it names.
    pub(crate) space: Option<StateSpace>,
}

impl<'m> Lowering<'m> {
    /// The address of a variable or function as an operand, which few instructions have.
    pub(crate) fn address_operand(&mut self, name: &'m str, ty: ScalarType) -> Result<Source, LowerError> {
        if !self.names.has_addresses() {
            return Err(LowerError::new(format!("`{name}` is no register, and its address is taken by mov")));
        }
        self.address_sum(name, 0, ty)
    }

    /// The address of a variable with a number added, which NVIDIA's assembler takes as an operand of any instruction.
    pub(crate) fn address_sum(&mut self, name: &'m str, addend: i64, ty: ScalarType) -> Result<Source, LowerError> {
        let address = self.symbol(name)?;
        if let (32, Some(StateSpace::Global | StateSpace::Const)) = (ty.bits(), address.space) {
            return Err(LowerError::new(format!("the address of `{name}` has 64 bits")));
        }
        let place = self.symbol_address(name, addend)?;
        Ok(Source::VReg(place, ScalarType::U64))
    }

    /// The address of a variable or function, as its own state space counts.
    pub(crate) fn symbol_address(&mut self, name: &'m str, addend: i64) -> Result<VReg, LowerError> {
        let address = self.symbol(name)?;
        Ok(self.sum(Address { offset: address.offset.wrapping_add(addend), ..address }))
    }

    /// An address as one value.
    pub(crate) fn sum(&mut self, address: Address) -> VReg {
        if address.offset == 0 {
            return address.base;
        }
        let sum = self.new_slot(Class::W64);
        let offset = self.constant(ScalarType::U64, u128::from(address.offset.cast_unsigned()));
        let add = shape::lanes(function!(|a: u64, b: u64| -> u64 { a + b }));
        self.emit(VirtualOp::binary(add, sum, address.base, offset));
        sum
    }

    /// The address of a variable or function, as its own state space counts: constants are folded.
    pub(crate) fn symbol(&mut self, name: &'m str) -> Result<Address, LowerError> {
        let binding = self.lookup(name).ok_or_else(|| self.unknown(name))?;
        let wide = |base, offset, space| Address { base, narrow: false, offset, space };
        match binding {
            Binding::Local { offset, space, .. } => match self.function.frame {
                None => {
                    let start = crate::base::lanes::STACK_START + offset;
                    Ok(wide(self.constant(ScalarType::U64, u128::from(start)), 0, Some(space)))
                }
                Some(frame) => Ok(wide(frame, offset as i64, Some(space))),
            },
            Binding::Shared(variable) => {
                let offset = self.pool.shared(variable);
                Ok(wide(offset, 0, Some(StateSpace::Shared)))
            }
            Binding::EntryParameter { offset, .. } => {
                let address = self.pool.fixed(Class::W64, Fixed::ParameterAddress(offset));
                Ok(wide(address, 0, Some(StateSpace::Param)))
            }
            Binding::Symbol(symbol) => {
                let (reference, space) = self.pool.reference(self.function.source, symbol)?;
                let base = match reference {
                    Reference::Address(address) => self.constant(ScalarType::U64, u128::from(address)),
                    Reference::Shared(place) => place,
                };
                Ok(wide(base, 0, space))
            }
            Binding::Register(_)
            | Binding::Vector(_)
            | Binding::Parameter { .. }
            | Binding::Label(_)
            | Binding::Targets(_)
            | Binding::CallTargets(_)
            | Binding::Prototype(_) => Err(LowerError::new(format!("`{name}` has no address"))),
        }
    }

    /// Operand `index` as address in memory.
    pub(crate) fn address(&mut self, index: usize) -> Result<Address, LowerError> {
        let operand = self.operand(index)?;
        let address = match &operand.kind {
            OperandKind::Address(address) => address,
            OperandKind::Element(element) => return self.element(element).map_err(|error| error.at(operand.span)),
            _ => return Err(LowerError::new("an address in brackets is needed here").at(operand.span)),
        };
        let at = |error: LowerError| error.at(address.base.span);
        match address.base.kind {
            OperandKind::Literal(Literal::Integer { value, .. }) => {
                let value = value.wrapping_add(address.offset.cast_unsigned());
                let base = self.constant(ScalarType::U64, u128::from(value));
                Ok(Address { base, narrow: false, offset: 0, space: None })
            }
            OperandKind::Name(name) => match self.register_of(&address.base)? {
                Some(register) => {
                    let register = &mut self.function.registers[register];
                    register.used = true;
                    fit::address(name, register.ty).map_err(at)?;
                    let narrow = register.ty.bits() == 32;
                    Ok(Address { base: register.place, narrow, offset: address.offset, space: None })
                }
                None => {
                    let symbol = self.symbol(name).map_err(at)?;
                    Ok(Address { offset: symbol.offset.wrapping_add(address.offset), ..symbol })
                }
            },
            _ => Err(at(LowerError::new("an address is a register, a variable or a number"))),
        }
    }
}
