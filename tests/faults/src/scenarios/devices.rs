//! Several devices, resets, groups of ranks.

use std::net::TcpListener;
use std::time::Duration;

use rumba::nccl::Communicator;
use rumba::ranks::{Choice, Place, ProcessGroup, ReduceOp};
use rumba::test_kernels::{PTX, scale};
use rumba::{Device, Error, Result, split_mut};
use test_kernels::faults::add;

use crate::World;

/// A second device, if there is one; else the first.
fn other() -> Result<Device> {
    Device::get(Device::count()? - 1)
}

pub(super) fn made_and_dropped(_: &World) -> Result<()> {
    let device = other()?;
    let buffer = device.buffer_from(&[1_u32; 64])?;
    let module = device.load(crate::PTX)?;
    drop(device);
    let mut y = other()?.zeros::<u32>(64)?;
    module.for_each(64, add(&buffer, &mut y))?;
    assert_eq!(y.to_vec()?, [1; 64]);
    Ok(())
}

/// Objects made before a reset are gone, and their uses are errors.
pub(super) fn reset(world: &World) -> Result<()> {
    let device = other()?;
    let (old, stream) = (device.buffer_from(&[1_u8; 10])?, device.stream()?);
    device.reset()?;
    assert!(old.to_vec().is_err() && stream.synchronize().is_err());
    let new = device.buffer_from(&[2_u8; 10])?;
    assert_eq!(new.to_vec()?, [2; 10]);
    world.device.zeros::<u8>(1).map(drop)
}

pub(super) fn copies_between(world: &World) -> Result<()> {
    let other = other()?;
    let (here, mut there) = (world.device.buffer_from(&[7_u32; 64])?, other.zeros::<u32>(64)?);
    there.copy_from_buffer(&here)?;
    let mut back = world.device.zeros::<u32>(64)?;
    back.copy_from_buffer(&there)?;
    assert_eq!((there.to_vec()?, back.to_vec()?), (vec![7; 64], vec![7; 64]));
    Ok(())
}

pub(super) fn peers(world: &World) -> Result<()> {
    let other = other()?;
    if world.device.can_access_peer(&other)? {
        world.device.enable_peer_access(&other)?;
        world.device.enable_peer_access(&other)?;
    }
    copies_between(world)
}

pub(super) fn split_over(_: &World) -> Result<()> {
    let devices = Device::all()?;
    let mut values = [1.0_f32; 100];
    split_mut(&devices, &mut values, |device, _, part| device.load(PTX)?.for_each(part.len(), scale(2.0, &mut *part)))?;
    assert_eq!(values, [2.0; 100]);
    Ok(())
}

pub(super) fn communicators(_: &World) -> Result<()> {
    let devices = Device::all()?;
    let group = Communicator::new(&devices)?;
    let mut buffers = devices.iter().map(|device| device.buffer_from(&[1.0_f32; 16])).collect::<Result<Vec<_>>>()?;
    group.all_reduce(&mut buffers, ReduceOp::Sum)?;
    for buffer in &buffers {
        assert_eq!(buffer.to_vec()?, [devices.len() as f32; 16]);
    }
    Ok(())
}

/// Two ranks, a thread each. The error of a rank reaches the other rank.
pub(super) fn ranks(world: &World) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    drop(listener);
    let rank = |rank| {
        let place = Place {
            rank,
            size: 2,
            local_rank: 0,
            address: address.clone(),
            timeout: Duration::from_secs(30),
            transport: Choice::Tcp,
        };
        let group = ProcessGroup::join_on(&place, &world.device)?;
        let mut buffer = world.device.buffer_from(&[rank as f32 + 1.0; 8])?;
        group.all_reduce(&mut buffer, ReduceOp::Sum)?;
        let mut whole = world.device.zeros::<f32>(16)?;
        group.all_gather(&buffer, &mut whole)?;
        group.broadcast(&mut buffer, 1)?;
        Ok((buffer.to_vec()?, whole.to_vec()?))
    };
    let mut results: Vec<Result<_>> = std::thread::scope(|scope| {
        let threads = [0, 1].map(|number| scope.spawn(move || rank(number)));
        threads.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    });
    // A rank's own error comes before the error that another rank reported, and before consequences of a lost context.
    results.sort_by_key(|result| match result {
        Err(Error::Rank(_)) => 2,
        Err(Error::ContextLost { .. }) => 1,
        _ => 0,
    });
    for result in results {
        assert_eq!(result?, (vec![3.0; 8], vec![3.0; 16]));
    }
    Ok(())
}

pub(super) fn identities(world: &World) -> Result<()> {
    let uuid = world.device.uuid()?;
    assert_eq!(Device::by_uuid(uuid)?.ordinal(), world.device.ordinal());
    assert_eq!(Device::by_pci_bus_id(&world.device.pci_bus_id()?)?.ordinal(), world.device.ordinal());
    Ok(())
}
