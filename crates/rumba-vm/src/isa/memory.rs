//! The common part of lowering instructions that access memory: state spaces, vectors, parameters.
//!
//! [`crate::exec::access`] performs accesses, [`crate::exec::memory`] checks them.

use rumba_ptx::ast::{Literal, OperandKind, StateSpace};

use crate::base::types::ScalarType;
use crate::check::order::Order;
use crate::exec::memory::Space;
use crate::exec::shape::function;
use crate::exec::{access, shape};
use crate::lower::address::Address;
use crate::lower::error::LowerError;
use crate::lower::fit;
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::scope::Binding;
use crate::lower::symbols::Symbol;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::op::opcode::Opcode;
use crate::machine::op::{Handlers, Pc};
use crate::machine::program::{ChoiceAccess, ChoiceKind, Class, Fixed};
use crate::machine::warp::Warp;

/// Orders what follows a load behind it; if `extra` is not 0, one of a word at `[a + imm]`.
const AFTER_LOAD: Handlers = Handlers::same(after_load).with_opcode(Opcode::Fence { polls: true });
/// Orders what precedes a store before it.
const BEFORE_STORE: Handlers = Handlers::same(before_store).with_opcode(Opcode::Fence { polls: false });

unsafe fn after_load(warp: &mut Warp, pc: Pc) -> Pc {
    std::sync::atomic::fence(std::sync::atomic::Ordering::Acquire);
    if pc.extra != 0 {
        warp.poll_grid_barrier(pc);
    }
    // A thread that reads like that may be waiting for another one.
    warp.fuel.poll();
    pc.next()
}

unsafe fn before_store(_: &mut Warp, pc: Pc) -> Pc {
    std::sync::atomic::fence(std::sync::atomic::Ordering::Release);
    pc.next()
}

/// The state space that an access through operand `index` is to: the one that a modifier names, and without a modifier
/// that of a variable in `.shared` that the operand names, as NVIDIA's assembler takes it.
pub(crate) fn space(l: &mut Lowering<'_>, m: &Matched<'_>, index: usize) -> Space {
    match modifier_space(m) {
        Space::Generic if named_space(l, index) == Some(StateSpace::Shared) => Space::Shared,
        space => space,
    }
}

/// The state space of an instruction that also accesses `.local`.
pub(crate) fn space_or_local(l: &mut Lowering<'_>, m: &Matched<'_>, index: usize) -> Space {
    match space(l, m, index) {
        Space::Generic if named_space(l, index) == Some(StateSpace::Local) => Space::Local,
        space => space,
    }
}

/// The state space of the variable that an address operand names.
pub(crate) fn named_space(l: &mut Lowering<'_>, index: usize) -> Option<StateSpace> {
    let name = match &l.operand(index).ok()?.kind {
        OperandKind::Address(address) => match address.base.kind {
            OperandKind::Name(name) => name,
            _ => return None,
        },
        OperandKind::Element(element) => element.name,
        OperandKind::Name(name) | OperandKind::Offset(name, _) => name,
        _ => return None,
    };
    match l.lookup(name)? {
        Binding::Local { space, .. } => Some(space),
        Binding::Shared(_) => Some(StateSpace::Shared),
        Binding::Symbol(Symbol::Variable(id)) => Some(l.pool.symbols.variables[id].ast.space),
        _ => None,
    }
}

/// The state space that a modifier names.
pub(crate) fn modifier_space(m: &Matched<'_>) -> Space {
    match m.get("ss") {
        None => Space::Generic,
        Some(".global") => Space::Global,
        Some(".const") => Space::Const,
        Some(".local") => Space::Local,
        Some(text) if text.starts_with(".param") => Space::Param,
        Some(_) => Space::Shared,
    }
}

/// An address with a 64-bit base that suits an access to `space`.
pub(crate) fn address(l: &mut Lowering<'_>, index: usize, space: Space) -> Result<Address, LowerError> {
    let address = l.address(index)?;
    if let OperandKind::Address(written) = &l.operand(index)?.kind
        && matches!(written.base.kind, OperandKind::Literal(_))
        && space != Space::Local
    {
        let message = "a number is an address in .local only";
        return Err(LowerError::new(message).at(written.base.span));
    }
    if address.space.is_some_and(|named| !in_space(space, named)) {
        let message = "the variable lies in another state space than the instruction accesses";
        return Err(LowerError::new(message).at(l.operand(index)?.span));
    }
    if !address.narrow {
        return Ok(address);
    }
    if matches!(space, Space::Generic | Space::Global) {
        let message = "an address of 32 bits is given here, and addresses have 64";
        return Err(LowerError::new(message).at(l.operand(index)?.span));
    }
    let base = l.scratch(ScalarType::U64);
    l.emit(VirtualOp::unary(shape::lanes(function!(|address: u32| -> u64 { address.cast() })), base, address.base));
    Ok(Address { base, narrow: false, ..address })
}

/// Whether a variable of a state space can be named in an access to another.
pub(crate) fn in_space(space: Space, named: StateSpace) -> bool {
    match space {
        Space::Generic | Space::Global => named == StateSpace::Global,
        Space::Const => named == StateSpace::Const,
        Space::Shared => named == StateSpace::Shared,
        Space::Local => matches!(named, StateSpace::Local | StateSpace::Param),
        Space::Param => named == StateSpace::Param,
    }
}

/// Checks that the operand at `index`, a cache policy, is present if and only if a modifier asks for it.
pub(crate) fn check_policy(l: &Lowering<'_>, m: &Matched<'_>, index: usize) -> Result<(), LowerError> {
    match (m.get("hint").is_some(), l.operand_count() > index) {
        (true, false) => Err(LowerError::new("`.L2::cache_hint` needs a cache policy as the last operand")),
        (false, true) => Err(LowerError::new("a cache policy needs `.L2::cache_hint`").at(l.operand(index)?.span)),
        _ => Ok(()),
    }
}

/// Number of elements that `.v2` and its like ask for.
fn vector(m: &Matched<'_>) -> usize {
    match m.get("vec") {
        Some(".v2") => 2,
        Some(".v4") => 4,
        Some(".v8") => 8,
        _ => 1,
    }
}

/// The `count` elements of a vector operand.
pub(super) fn elements<'m>(
    l: &mut Lowering<'m>,
    index: usize,
    count: usize,
) -> Result<Vec<&'m rumba_ptx::ast::Operand<'m>>, LowerError> {
    let operand = l.operand(index)?;
    let list: Vec<_> = match &operand.kind {
        OperandKind::Vector(items) => items.iter().collect(),
        _ => vec![operand],
    };
    if list.len() != count {
        let message = format!("{count} element(s) are needed here, not {}", list.len());
        return Err(LowerError::new(message).at(operand.span));
    }
    let mut width = None;
    let is_sink = |item: &&rumba_ptx::ast::Operand<'_>| item.kind == OperandKind::Name("_");
    if count > 1 && list.iter().all(is_sink) {
        return Err(LowerError::new("one of the registers at least is needed here").at(operand.span));
    }
    for item in list.iter().filter(|item| !is_sink(item)) {
        let Some(ty) = l.register_type(item)? else { continue };
        if *width.get_or_insert(ty.bits()) != ty.bits() {
            let message = "the registers of a vector have one width";
            return Err(LowerError::new(message).at(item.span));
        }
    }
    Ok(list)
}

/// A variable in `.param` that an address operand names as a whole.
fn parameter<'m>(l: &mut Lowering<'m>, index: usize) -> Result<Option<(Binding<'m>, i64)>, LowerError> {
    let (name, offset) = match &l.operand(index)?.kind {
        OperandKind::Address(address) => match address.base.kind {
            OperandKind::Name(name) => (name, address.offset),
            _ => return Ok(None),
        },
        OperandKind::Element(element) => match element.index.kind {
            OperandKind::Literal(Literal::Integer { value, .. }) => {
                let count = value.cast_signed().wrapping_add(element.offset);
                let scale = l.element_bytes(element.name)?;
                (element.name, count.wrapping_mul(scale as i64))
            }
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let binding = l.lookup(name);
    Ok(match binding {
        Some(binding @ (Binding::EntryParameter { .. } | Binding::Parameter { .. } | Binding::Local { .. })) => {
            Some((binding, offset))
        }
        _ => None,
    })
}

/// Whether order, scope and cache hints of a load or store go together, as the manual wants.
fn check_modifiers(l: &Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ordered = matches!(m.get("sem"), Some(".relaxed" | ".acquire" | ".release"));
    let message = if ordered != m.get("scope").is_some() {
        "a memory order goes with a scope, and a scope with a memory order"
    } else if m.has(".nc") && (ordered || m.get("ss") != Some(".global")) {
        "`.nc` goes with `.global` and without a memory order"
    } else if (ordered || m.get("sem") == Some(".volatile")) && m.get("cop").is_some() {
        "a cache operator goes with accesses that are neither volatile nor ordered"
    } else if ordered && matches!(m.get("ss"), Some(".const")) {
        "constants are read without a memory order"
    } else if m.has(".mmio") && (!ordered || m.get("scope") != Some(".sys")) {
        "`.mmio` goes with `.relaxed.sys`"
    } else if l.operand_count() == 3 && m.get("hint").is_none() && !m.has(".async") {
        "a cache policy goes with `.L2::cache_hint`"
    } else {
        return Ok(());
    };
    Err(LowerError::new(message))
}

/// Lowers `ld`, `ldu`.
pub(crate) fn lower_load(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    check_modifiers(l, m)?;
    let ty = m.ty("type")?;
    let count = vector(m);
    let mut space = space_or_local(l, m, 1);
    check_policy(l, m, 2)?;
    if m.has(".nc") && space != Space::Global {
        return Err(LowerError::new("`.nc` is for .global"));
    }
    let targets = elements(l, 0, count)?;
    if space == Space::Param {
        match parameter(l, 1)? {
            Some((Binding::EntryParameter { .. }, _)) if m.get("ss") == Some(".param::func") => {
                return Err(LowerError::new("a parameter of a kernel is in .param::entry"));
            }
            Some((Binding::EntryParameter { offset, .. }, addend)) => {
                for (position, target) in targets.iter().enumerate() {
                    let at = i64::from(offset) + addend + position as i64 * i64::from(ty.bytes());
                    let offset = u32::try_from(at)
                        .map_err(|_| LowerError::new("the address lies before the kernel's parameters"))?;
                    load_entry_parameter(l, target, (count == 1).then_some(0), offset, ty)?;
                }
                return Ok(());
            }
            Some((Binding::Parameter { place, ty: declared }, 0)) if count == 1 => {
                return load_slot(l, place, declared, ty);
            }
            // Arguments of a call, or a parameter of this function, on the stack.
            Some(_) => space = Space::Local,
            None if !l.function.is_entry => space = Space::Local,
            None => {}
        }
    }
    let address = address(l, 1, space)?;
    let bytes = ty.bytes();
    choose(l, m, (space, address), bytes * count as u32, ChoiceAccess::Reads);
    let mut places = Vec::with_capacity(count);
    for target in targets {
        places.push(l.destination_operand(target, ty, true)?);
    }
    for (part, places) in places.chunks(4).enumerate() {
        let handlers = access::load(space, bytes, places.len())
            .ok_or_else(|| LowerError::new(format!("a vector of {count} × {ty} cannot be loaded")))?;
        let mut virtual_op = virtual_op(handlers, space, address, part as u64 * 4 * u64::from(bytes));
        virtual_op.extra |= Order::of_access(m).bits();
        virtual_op.moves = bytes as u8;
        put(&mut virtual_op, places);
        virtual_op.defines = [0b1, 0b101, 0b1101, 0b11101][places.len() - 1];
        l.emit(virtual_op);
    }
    if matches!(m.get("sem"), Some(".volatile" | ".relaxed" | ".acquire")) {
        // Code that has asked where the state of the grid's barrier is may wait there.
        let is_word = count == 1 && bytes == 4 && matches!(space, Space::Generic | Space::Global);
        l.emit(if is_word && l.pool.knows_grid() {
            VirtualOp { a: address.base, imm: address.offset.cast_unsigned(), extra: 1, ..VirtualOp::new(AFTER_LOAD) }
        } else {
            VirtualOp::new(AFTER_LOAD)
        });
    }
    Ok(())
}

/// Places a point of choice before a load or store by which threads may synchronize. Returns whether the access is one.
fn choose(
    l: &mut Lowering<'_>,
    m: &Matched<'_>,
    (space, address): (Space, Address),
    bytes: u32,
    access: ChoiceAccess,
) -> bool {
    let is_strong = matches!(m.get("sem"), Some(".volatile" | ".relaxed" | ".acquire" | ".release")) || m.has(".mmio");
    let is_common = matches!(space, Space::Generic | Space::Global | Space::Shared);
    if is_strong && is_common {
        let kind = ChoiceKind::Memory { bytes: bytes as u8, access };
        l.choose(kind, (address.base, VReg::None), (space, address.offset));
    }
    is_strong && is_common
}

fn virtual_op(handlers: Handlers, space: Space, address: Address, further: u64) -> VirtualOp {
    VirtualOp {
        a: address.base,
        imm: address.offset.cast_unsigned().wrapping_add(further),
        extra: space as u16,
        ..VirtualOp::new(handlers)
    }
}

fn put(virtual_op: &mut VirtualOp, places: &[VReg]) {
    let mut places = places.iter().copied();
    for place in [&mut virtual_op.dst, &mut virtual_op.b, &mut virtual_op.c, &mut virtual_op.d] {
        *place = places.next().unwrap_or(VReg::None);
    }
}

fn load_entry_parameter<'m>(
    l: &mut Lowering<'m>,
    target: &'m rumba_ptx::ast::Operand<'m>,
    alias: Option<usize>,
    offset: u32,
    ty: ScalarType,
) -> Result<(), LowerError> {
    if target.kind == OperandKind::Name("_") {
        return Ok(());
    }
    let declared = l.register_type(target)?.unwrap_or(ty);
    if declared == ScalarType::Pred {
        return Err(LowerError::new("a parameter cannot be loaded into a predicate").at(target.span));
    }
    fit::register("the register", declared, ty, true).map_err(|error| error.at(target.span))?;
    let class = Class::of(declared);
    let value = l.pool.fixed(class, Fixed::Parameter { offset, ty });
    if let Some(index) = alias
        && l.alias(index, value, declared)
    {
        return Ok(());
    }
    let target = l.destination_operand(target, declared, false)?;
    l.emit(VirtualOp::unary(copy(class), target, value));
    Ok(())
}

/// Copies a slot.
pub(crate) fn copy(class: Class) -> Handlers {
    match class {
        Class::W32 => shape::lanes(function!(|value: u32| -> u32 { value })),
        Class::W64 => shape::lanes(function!(|value: u64| -> u64 { value })),
        Class::W128 => Handlers::same(copy_wide),
    }
}

unsafe fn copy_wide(warp: &mut Warp, pc: Pc) -> Pc {
    let (to, from) = (warp.lanes::<u128>(pc.dst), warp.lanes::<u128>(pc.a));
    for lane in crate::base::lanes::lanes_of(warp.active) {
        // SAFETY: both slots have 32 lanes of 128 bits.
        unsafe { *to.add(lane) = *from.add(lane) };
    }
    pc.next()
}

/// Reads a parameter that is kept in a slot.
fn load_slot(l: &mut Lowering<'_>, place: VReg, declared: ScalarType, ty: ScalarType) -> Result<(), LowerError> {
    if ty.bits() > declared.bits() {
        return Err(LowerError::new(format!("the parameter is declared as {declared} and loaded as {ty}")));
    }
    let target = l.wide_destination(0, ty)?;
    let handlers = resize(declared, ty)?;
    l.emit(VirtualOp::unary(handlers, target, place));
    Ok(())
}

/// Writes a parameter that is kept in a slot.
fn store_slot(l: &mut Lowering<'_>, place: VReg, declared: ScalarType, ty: ScalarType) -> Result<(), LowerError> {
    if ty.bits() > declared.bits() {
        return Err(LowerError::new(format!("the parameter is declared as {declared} and stored as {ty}")));
    }
    let value = l.wide_source(1, ty)?;
    let handlers = resize(ty, declared)?;
    l.emit(VirtualOp::unary(handlers, place, value));
    Ok(())
}

/// Copies a value of type `from` as one of type `to`, cut to the narrower of the two.
fn resize(from: ScalarType, to: ScalarType) -> Result<Handlers, LowerError> {
    let bits = from.bits().min(to.bits());
    Ok(match (Class::of(from), Class::of(to), bits) {
        (Class::W32, Class::W32, 8) => shape::lanes(function!(|value: u8| -> u8 { value })),
        (Class::W32, Class::W32, 16) => shape::lanes(function!(|value: u16| -> u16 { value })),
        (Class::W32, Class::W32, _) => shape::lanes(function!(|value: u32| -> u32 { value })),
        (Class::W32, Class::W64, 8) => shape::lanes(function!(|value: u8| -> u64 { value.cast() })),
        (Class::W32, Class::W64, 16) => shape::lanes(function!(|value: u16| -> u64 { value.cast() })),
        (Class::W32, Class::W64, _) => shape::lanes(function!(|value: u32| -> u64 { value.cast() })),
        (Class::W64, Class::W32, 8) => shape::lanes(function!(|value: u64| -> u8 { value.cast() })),
        (Class::W64, Class::W32, 16) => shape::lanes(function!(|value: u64| -> u16 { value.cast() })),
        (Class::W64, Class::W32, _) => shape::lanes(function!(|value: u64| -> u32 { value.cast() })),
        (Class::W64, Class::W64, _) => shape::lanes(function!(|value: u64| -> u64 { value })),
        (Class::W128, ..) | (_, Class::W128, _) => {
            return Err(LowerError::new("a parameter of 128 bits is not supported here"));
        }
    })
}

/// Lowers `st`.
pub(crate) fn lower_store(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    check_modifiers(l, m)?;
    let ty = m.ty("type")?;
    let count = vector(m);
    let mut space = space_or_local(l, m, 0);
    if space == Space::Param {
        match parameter(l, 0)? {
            Some((Binding::EntryParameter { .. }, _)) => {
                return Err(LowerError::new("a kernel cannot write to its parameters"));
            }
            Some((Binding::Parameter { place, ty: declared }, 0)) if count == 1 => {
                return store_slot(l, place, declared, ty);
            }
            _ => space = Space::Local,
        }
    }
    let address = address(l, 0, space)?;
    let bytes = ty.bytes();
    if !choose(l, m, (space, address), bytes * count as u32, ChoiceAccess::Writes) {
        l.note_write();
    }
    let mut places = Vec::with_capacity(count);
    for source in elements(l, 1, count)? {
        places.push(l.source_operand(source, ty, true)?);
    }
    if matches!(m.get("sem"), Some(".release")) {
        l.emit(VirtualOp::new(BEFORE_STORE));
    }
    for (part, places) in places.chunks(4).enumerate() {
        let handlers = access::store(space, bytes, places.len())
            .ok_or_else(|| LowerError::new(format!("a vector of {count} × {ty} cannot be stored")))?;
        let mut virtual_op = virtual_op(handlers, space, address, part as u64 * 4 * u64::from(bytes));
        virtual_op.extra |= Order::of_access(m).bits();
        virtual_op.moves = bytes as u8;
        put(&mut virtual_op, places);
        virtual_op.defines = 0;
        l.emit(virtual_op);
    }
    Ok(())
}
