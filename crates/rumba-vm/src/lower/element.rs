//! Elements of arrays as operands, `a[3]` and `a[%r1+1]` (manual, section 6.4.2): their addresses.
//!
//! Only an array declared by name has elements; what a register points at has none. An index counts scalars,
//! also in an array of vectors or of arrays, and one in a 32-bit register wraps and is extended with zeros, as
//! in code from NVIDIA's assembler.

use rumba_ptx::ast::{self, OperandKind};

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::lower::address::Address;
use crate::lower::error::LowerError;
use crate::lower::lowering::Lowering;
use crate::lower::scope::Binding;
use crate::lower::symbols;
use crate::lower::symbols::Symbol;
use crate::lower::virtual_op::VirtualOp;
use crate::machine::program::Class;

impl<'m> Lowering<'m> {
    /// The address of an element, as the state space of its array counts.
    pub(crate) fn element(&mut self, element: &'m ast::Element<'m>) -> Result<Address, LowerError> {
        let array = self.symbol(element.name)?;
        let scale = self.element_bytes(element.name)?;
        let by = |count: i64| count.wrapping_mul(scale as i64);
        let Some(register) = self.register_of(&element.index)? else {
            let OperandKind::Literal(ast::Literal::Integer { value, .. }) = element.index.kind else {
                return Err(LowerError::new("an index is a register or an integer").at(element.index.span));
            };
            let count = value.cast_signed().wrapping_add(element.offset);
            return Ok(Address { offset: array.offset.wrapping_add(by(count)), ..array });
        };
        let declared = self.function.registers[register].ty;
        let index = self.source_operand(&element.index, declared, false)?;
        let further = self.constant(declared, u128::from(element.offset.cast_unsigned()));
        let count = self.scratch(ScalarType::U64);
        match Class::of(declared) {
            Class::W32 if declared.bits() == 32 => {
                let sum = shape::lanes(function!(|index: u32, further: u32| -> u64 { (index + further).cast() }));
                self.emit(VirtualOp::binary(sum, count, index, further));
            }
            Class::W64 => {
                let sum = shape::lanes(function!(|index: u64, further: u64| -> u64 { index + further }));
                self.emit(VirtualOp::binary(sum, count, index, further));
            }
            _ => {
                let message = format!("an index of type {declared} is not one of 32 or 64 bits");
                return Err(LowerError::new(message).at(element.index.span));
            }
        }
        let base = self.scratch(ScalarType::U64);
        let scale = self.constant(ScalarType::U64, u128::from(scale));
        let place = shape::lanes(function!(|count: u64, scale: u64, base: u64| -> u64 { count * scale + base }));
        self.emit(VirtualOp::ternary(place, base, count, scale, array.base));
        Ok(Address { base, ..array })
    }

    /// Bytes of a scalar of the array `name`.
    pub(crate) fn element_bytes(&mut self, name: &'m str) -> Result<u64, LowerError> {
        let bytes = match self.lookup(name) {
            Some(Binding::Local { element, .. } | Binding::EntryParameter { element, .. }) => element,
            Some(Binding::Parameter { ty, .. }) => u64::from(ty.bytes()),
            Some(Binding::Shared(variable)) => symbols::element_bytes(variable),
            Some(Binding::Symbol(Symbol::Variable(id))) => symbols::element_bytes(self.pool.symbols.variables[id].ast),
            _ => return Err(LowerError::new(format!("`{name}` has no elements"))),
        };
        Ok(bytes)
    }
}
