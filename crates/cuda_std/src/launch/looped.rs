//! Calls of functions of arrays: which axes belong to a call of the function, and which are gone through.

use std::vec::Vec;

use smallvec::SmallVec;

use super::map::{Axis, PlannedCall, broadcast, join, placed};
use super::operand::{Lengths, Region, RegionMemory, Strides};
use super::{Arguments, Call, HostMemory, Kernel, ShapeError, ViewError};
use crate::array::strided::LONGEST;
use crate::array::vectorize::AXES;

/// The axes of a function's arrays: what `#[guvectorize("(m,n),(n)->(m)")]` says.
#[derive(Debug, PartialEq, Eq)]
#[doc(hidden)]
pub struct Signature {
    /// The source text.
    pub text: &'static str,
    /// The axes of each operand.
    pub operands: &'static [&'static [Length]],
    /// The axes of the result.
    pub result: &'static [Length],
}

/// The length of an axis of a function's array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum Length {
    /// A named length: axes with the same name have the same length.
    Named(&'static str),
    /// A number.
    Fixed(usize),
}

/// A function of arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Looped {
    pub(super) function: &'static str,
    pub(super) kernel: &'static Kernel,
    pub(super) signature: &'static Signature,
}

impl Looped {
    /// The axes that are gone through, and the lengths of the result of a call.
    fn shapes(&self, operands: &[Region<'_>]) -> Result<(Lengths, Lengths), ShapeError> {
        let wrong = |name: &str, first: usize, second: usize| ShapeError::Signature {
            function: self.function,
            signature: self.signature.text,
            name: name.into(),
            first,
            second,
            shapes: operands.iter().map(|operand| operand.shape.to_vec()).collect(),
        };
        let mut known: SmallVec<[(&str, usize); 8]> = SmallVec::new();
        for (operand, axes) in operands.iter().zip(self.signature.operands) {
            let lengths = &operand.shape[operand.shape.len() - axes.len()..];
            for (axis, &length) in axes.iter().zip(lengths) {
                match *axis {
                    Length::Fixed(fixed) if fixed == length => {}
                    Length::Fixed(fixed) => return Err(wrong(&std::format!("{fixed}"), fixed, length)),
                    Length::Named(name) => match known.iter().find(|known| known.0 == name) {
                        Some(&(_, first)) if first != length => return Err(wrong(name, first, length)),
                        Some(_) => {}
                        None => known.push((name, length)),
                    },
                }
            }
        }
        let result = self.signature.result.iter().map(|axis| match *axis {
            Length::Fixed(length) => length,
            // The macro asks for it: each name of the result is an operand's.
            Length::Named(name) => known.iter().find(|known| known.0 == name).map_or(0, |known| known.1),
        });
        let result = result.collect();
        let around = operands
            .iter()
            .zip(self.signature.operands)
            .map(|(operand, axes)| &operand.shape[..operand.shape.len() - axes.len()]);
        let around = broadcast(around).map_err(|(axis, first, second)| ShapeError::Operands {
            function: self.function,
            shapes: operands.iter().map(|operand| operand.shape.to_vec()).collect(),
            axis,
            first,
            second,
        })?;
        Ok((around, result))
    }

    /// The shape of all results together.
    pub(super) fn shape(&self, operands: &[Region<'_>]) -> Result<Lengths, ShapeError> {
        let (mut shape, result) = self.shapes(operands)?;
        shape.extend(result);
        Ok(shape)
    }

    pub(super) fn launch<'a>(
        &self,
        operands: SmallVec<[Region<'a>; 4]>,
        output: Region<'a>,
    ) -> Result<Option<PlannedCall<'a>>, ShapeError> {
        let function = self.function;
        let (around, result) = self.shapes(&operands)?;
        let fits = output.shape.len() >= result.len() && {
            let (loops, own) = output.shape.split_at(output.shape.len() - result.len());
            *own == *result && broadcast([&*around, loops]).is_ok_and(|both| *both == *loops)
        };
        if !fits {
            return Err(ShapeError::Output {
                function,
                result: around.iter().chain(&result).copied().collect(),
                output: output.shape.to_vec(),
            });
        }
        if output.shape.contains(&0) {
            return Ok(None);
        }
        let loops = &output.shape[..output.shape.len() - result.len()];
        let mut strides: SmallVec<[Strides; 4]> = SmallVec::new();
        strides.push(output.strides[..loops.len()].into());
        for (operand, axes) in operands.iter().zip(self.signature.operands) {
            strides.push(operand.around(axes.len()).strides_in(loops));
        }
        let order: SmallVec<[Axis; 6]> = join(loops, &strides);
        let too_long = || ShapeError::View {
            function,
            error: ViewError::TooLong { shape: output.shape.to_vec(), strides: output.strides.to_vec() },
        };
        if order.len() > AXES - 2 {
            let shape = output.shape.to_vec();
            return Err(ShapeError::TooManyAxes { function, shape, axes: order.len() });
        }
        let (axes, mut steps) = placed(&order, 2, strides.len()).ok_or_else(too_long)?;
        // SAFETY: what each parameter is made of is bound below, in order, for the operands of the map.
        let mut call = unsafe { Call::new(self.kernel) };
        // SAFETY: as above.
        let arguments = unsafe { call.arguments_mut() };
        for ((operand, axes), steps) in operands.into_iter().zip(self.signature.operands).zip(steps.drain(1..)) {
            let core = operand.core(axes.len()).ok_or_else(too_long)?;
            arguments.push_looped(operand, &steps, &core);
        }
        let core = output.core(result.len()).ok_or_else(too_long)?;
        arguments.push_looped(output, &steps[0], &core);
        arguments.push_part(bytemuck::bytes_of(&axes));
        const THREADS: u32 = 128;
        let (grid, block) = ([axes.outer.div_ceil(THREADS), 1, 1], [THREADS, 1, 1]);
        Ok(Some(PlannedCall { call, grid, block }))
    }
}

impl Region<'_> {
    /// Shape and strides without the last axes.
    fn around(&self, core: usize) -> Region<'static> {
        let rank = self.shape.len() - core;
        Region {
            place: RegionMemory::Number(SmallVec::new()),
            size: self.size,
            align: self.align,
            shape: self.shape[..rank].into(),
            strides: self.strides[..rank].into(),
            problem: None,
        }
    }

    /// The last axes as a kernel's `Dimensions`: lengths, then strides. `None` if one is too long.
    fn core(&self, core: usize) -> Option<Vec<u32>> {
        let rank = self.shape.len() - core;
        let (lengths, strides) = (&self.shape[rank..], &self.strides[rank..]);
        let mut words = Vec::with_capacity(2 * core);
        for &length in lengths {
            words.push(u32::try_from(length).ok().filter(|&length| length as usize <= LONGEST)?);
        }
        for (&length, &stride) in lengths.iter().zip(strides) {
            words.push(if length > 1 { i32::try_from(stride).ok()? as u32 } else { 0 });
        }
        Some(words)
    }
}

impl<'a> Arguments<'a> {
    /// Binds a `Looped`, or a `Single` if it has no axes of its own, or the first of a `LoopedResult`.
    fn push_looped(&mut self, operand: Region<'a>, steps: &[i32; AXES], core: &[u32]) {
        let elements = operand.elements();
        let place = match operand.place {
            // The kernel takes an address, so the number is passed as memory.
            RegionMemory::Number(bytes) => RegionMemory::Host(HostMemory::Owned(bytes.to_vec())),
            place => place,
        };
        self.push_place(place, operand.align, elements);
        self.push_part(bytemuck::bytes_of(steps));
        self.push_part(bytemuck::cast_slice(core));
    }
}
