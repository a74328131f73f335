//! The collective operations of software devices: everything is copied to the host, combined there in the order of the
//! devices, and copied back. The host waits.

use crate::base::error::Result;
use crate::buffers::buffer::DeviceBuffer;
use crate::devices::nccl::{Element, ReduceOp, element};

pub(super) fn all_reduce<T: Element>(buffers: &mut [DeviceBuffer<T>], op: ReduceOp) -> Result<()> {
    let combined = combine(buffers, op)?;
    buffers.iter_mut().try_for_each(|buffer| buffer.copy_from(&combined))
}

pub(super) fn broadcast<T: Element>(buffers: &mut [DeviceBuffer<T>], root: usize) -> Result<()> {
    let values = buffers[root].to_vec()?;
    buffers.iter_mut().try_for_each(|buffer| buffer.copy_from(&values))
}

pub(super) fn all_gather<T: Element>(parts: &[DeviceBuffer<T>], wholes: &mut [DeviceBuffer<T>]) -> Result<()> {
    let parts: Vec<Vec<T>> = parts.iter().map(DeviceBuffer::to_vec).collect::<Result<_>>()?;
    let whole = parts.concat();
    wholes.iter_mut().try_for_each(|buffer| buffer.copy_from(&whole))
}

pub(super) fn reduce_scatter<T: Element>(
    wholes: &[DeviceBuffer<T>],
    parts: &mut [DeviceBuffer<T>],
    op: ReduceOp,
) -> Result<()> {
    let combined = combine(wholes, op)?;
    let mut rest = &combined[..];
    for part in parts {
        let (values, behind) = rest.split_at(part.len());
        part.copy_from(values)?;
        rest = behind;
    }
    Ok(())
}

fn combine<T: Element>(buffers: &[DeviceBuffer<T>], op: ReduceOp) -> Result<Vec<T>> {
    let Some((first, others)) = buffers.split_first() else {
        return Ok(Vec::new());
    };
    let mut combined = first.to_vec()?;
    for other in others {
        element::combine(&mut combined, &other.to_vec()?, op);
    }
    element::average(&mut combined, op, buffers.len());
    Ok(combined)
}
