//! Memory of every kind, and copies.

use rumba::test_kernels::{PTX, scale};
use rumba::{Error, LaunchConfig, Result};

use crate::World;

pub(super) fn zeros_and_copies(world: &World) -> Result<()> {
    let mut buffer = world.device.zeros::<u32>(100)?;
    assert_eq!(buffer.to_vec()?, [0; 100]);
    let numbers: Vec<u32> = (0..100).collect();
    buffer.copy_from(&numbers)?;
    let mut back = [0; 100];
    buffer.copy_to(&mut back)?;
    assert_eq!(back[..], numbers);
    buffer.clear()?;
    assert_eq!(buffer.to_vec()?, [0; 100]);
    Ok(())
}

pub(super) fn clones(world: &World) -> Result<()> {
    let buffer = world.device.buffer_from(&[1_u8, 2, 3])?;
    let clone = buffer.try_clone()?;
    let mut third = world.device.zeros::<u8>(3)?;
    third.copy_from_buffer(&clone)?;
    drop(buffer);
    assert_eq!((clone.to_vec()?, third.to_vec()?), (vec![1, 2, 3], vec![1, 2, 3]));
    Ok(())
}

pub(super) fn views(world: &World) -> Result<()> {
    let mut buffer = world.device.buffer_from(&[1_u64; 10])?;
    buffer.slice_mut(2..5).copy_from(&[7; 3])?;
    let part = buffer.slice(4..6).to_buffer()?;
    let (left, mut right) = buffer.as_slice_mut().split_at_mut(8);
    left.slice_mut(..1).clear()?;
    right.copy_from_device(&part.as_slice())?;
    assert_eq!(buffer.to_vec()?, [0, 1, 7, 7, 7, 1, 1, 1, 7, 1]);
    Ok(())
}

pub(super) fn casts(world: &World) -> Result<()> {
    let buffer = world.device.buffer_from(&[0x0102_0304_u32; 4])?;
    assert_eq!(buffer.as_slice().cast::<u8>().to_vec()?[..4], [4, 3, 2, 1]);
    assert_eq!(buffer.as_slice().cast::<u64>().to_vec()?, [0x0102_0304_0102_0304; 2]);
    Ok(())
}

pub(super) fn pinned_copies(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    let host = world.device.pinned_from(&[1.5_f32; 64])?;
    let mut buffer = world.device.zeros::<f32>(64)?;
    let host = buffer.copy_from_pinned(host, &stream)?.wait()?;
    assert_eq!(host[..], [1.5; 64]);
    let other = world.device.pinned::<f32>(64)?;
    let other = buffer.copy_to_pinned(other, &stream)?.wait()?;
    assert_eq!(other[..], [1.5; 64]);
    Ok(())
}

pub(super) fn a_copy_dropped_in_progress(world: &World) -> Result<()> {
    let stream = world.device.stream()?;
    let mut buffer = world.device.zeros::<u8>(1 << 16)?;
    drop(buffer.copy_from_pinned(world.device.pinned_from(&[9_u8; 1 << 16])?, &stream)?);
    drop(buffer.copy_to_pinned(world.device.pinned(1 << 16)?, &stream)?);
    stream.synchronize()?;
    assert_eq!(buffer.to_vec()?, [9; 1 << 16]);
    Ok(())
}

pub(super) fn managed(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let mut numbers = world.device.managed::<f32>(50)?;
    numbers.host_mut()?.fill(2.0);
    module.for_each(50, scale(3.0, &mut numbers))?;
    assert_eq!(*numbers.host()?, [6.0; 50]);
    Ok(())
}

pub(super) fn mapped(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let stream = world.device.stream()?;
    let mut numbers = world.device.mapped::<f32>(50)?;
    numbers.host_mut()?.fill(2.0);
    module.launch(LaunchConfig::for_each(50).stream(&stream), scale(3.0, &mut numbers))?;
    assert_eq!(*numbers.host()?, [6.0; 50]);
    assert_eq!(numbers.as_slice().to_vec()?, [6.0; 50]);
    Ok(())
}

pub(super) fn pools(world: &World) -> Result<()> {
    let pool = world.device.memory_pool()?;
    let one = pool.buffer_from(&[1_u32; 1000])?;
    let two = pool.zeros::<u32>(1000)?;
    assert!(pool.used()? >= 8000);
    assert_eq!((one.to_vec()?, two.to_vec()?), (vec![1; 1000], vec![0; 1000]));
    drop((one, two));
    assert_eq!(pool.used()?, 0);
    pool.trim(0)
}

pub(super) fn pools_in_kernels(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let stream = world.device.stream()?;
    let pool = world.device.memory_pool()?;
    for step in 1..4 {
        let mut numbers = pool.buffer_from(&[step as f32; 100])?;
        module.launch(LaunchConfig::for_each(100).stream(&stream), scale(2.0, &mut numbers))?;
        assert_eq!(numbers.to_vec()?, [2.0 * step as f32; 100]);
    }
    Ok(())
}

pub(super) fn a_scope_of_copies(world: &World) -> Result<()> {
    let module = world.device.load(PTX)?;
    let streams = [world.device.stream()?, world.device.stream()?];
    let input = world.device.pinned_from(&[1.0_f32; 300])?;
    let mut output = [0.0; 300];
    let mut buffer = world.device.zeros::<f32>(300)?;
    world.device.scope(|scope| {
        for (index, mut chunk) in buffer.as_slice_mut().chunks_mut(100).enumerate() {
            let stream = &streams[index % 2];
            scope.copy_in(&input[index * 100..][..100], chunk.reborrow(), stream)?;
            module.launch(LaunchConfig::for_each(100).stream(stream), scale(2.0, chunk.reborrow()))?;
        }
        scope.copy_out(buffer.as_slice(), &mut output, &streams[0])
    })?;
    assert_eq!(output, [2.0; 300]);
    Ok(())
}

/// More than there is: an error also without a fault.
pub(super) fn too_much(world: &World) -> Result<()> {
    let total = world.device.total_memory()?;
    match world.device.zeros::<u8>(2 * total) {
        Err(Error::OutOfMemory { .. }) => {}
        Err(error) => return Err(error),
        Ok(_) => panic!("{total} bytes are there twice"),
    }
    let buffer = world.device.buffer_from(&[5_u8; 10])?;
    assert_eq!(buffer.to_vec()?, [5; 10]);
    Ok(())
}

pub(super) fn questions(world: &World) -> Result<()> {
    let info = world.device.memory_info()?;
    assert!(info.free <= info.total && world.device.free_memory()? <= info.total);
    assert!(world.device.stream_priorities()?.contains(&0));
    let attribute = rumba::device::DeviceAttribute::WarpSize;
    assert_eq!(world.device.attribute(attribute)?, 32);
    Ok(())
}

pub(super) fn nothing(world: &World) -> Result<()> {
    let mut buffer = world.device.zeros::<f64>(0)?;
    buffer.copy_from(&[])?;
    assert!(buffer.to_vec()?.is_empty() && buffer.try_clone()?.is_empty());
    assert!(world.device.pinned::<u8>(0)?.is_empty() && world.device.managed::<u8>(0)?.is_empty());
    Ok(())
}

/// Copies that a GPU gets in chunks, by several threads.
pub(super) fn large_copies(world: &World) -> Result<()> {
    let numbers: Vec<u32> = (0..3 << 19).collect();
    let buffer = world.device.buffer_from(&numbers)?;
    assert!(buffer.to_vec()? == numbers);
    Ok(())
}

pub(super) fn elements_of_three_bytes(world: &World) -> Result<()> {
    let mut buffer = world.device.buffer_from(&[[1_u8, 2, 3]; 7])?;
    buffer.slice_mut(1..2).copy_from(&[[4, 5, 6]])?;
    assert_eq!(buffer.slice(..3).to_vec()?, [[1, 2, 3], [4, 5, 6], [1, 2, 3]]);
    Ok(())
}

pub(super) fn pinned_memory_of_no_use(world: &World) -> Result<()> {
    let mut kept: Vec<_> = (1..5).map(|pages| world.device.pinned::<u8>(5000 * pages)).collect::<Result<_>>()?;
    kept.swap_remove(1);
    for (index, pinned) in kept.iter_mut().enumerate() {
        pinned.fill(index as u8);
    }
    assert!(kept.iter().enumerate().all(|(index, pinned)| pinned.iter().all(|byte| *byte == index as u8)));
    Ok(())
}
