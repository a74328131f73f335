//! Launches that do not fit: each is refused with a typed error before anything runs.

use cuda_std::prelude::*;

cuda_std::constant! {
    /// Eight bytes of constant memory.
    pub static PAIR: [u32; 2] = [1, 2];
}

/// Adds one to each element.
#[kernel]
pub fn add_one(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = y.wrapping_add(1 + PAIR[0]);
    }
}

/// Each thread has an element of the tile.
#[kernel]
pub fn through_a_tile(mut y: DisjointSlice<u32>, mut tile: Shared<Tile<u32, 64>>) {
    *tile.own() = 1;
    let tile = tile.sync();
    if let Some(y) = y.own() {
        *y = tile[63 - thread::thread_idx_x() as usize];
    }
}

/// Each thread has an element of dynamic shared memory, if there is one.
#[kernel]
pub fn through_a_shared_slice(mut y: DisjointSlice<u32>, mut keys: SharedSlice<u32>) {
    if let Some(own) = keys.own() {
        *own = 1;
    }
    let keys = keys.sync();
    if let Some(y) = y.own() {
        *y = keys.iter().sum();
    }
}

/// Adds one to each element of a matrix.
#[kernel]
pub fn add_one_to_tiles(mut y: Disjoint<u32, Tiles<8, 8>>) {
    y.each(|_, y| *y += 1);
}

/// Doubles a number.
#[vectorize]
pub fn twice(x: u32) -> u32 {
    x.wrapping_mul(2)
}

/// Attacks by these kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use crate::Target;
    use cuda_std::launch::Elements;
    use rumba::{Error, Result, error::ModuleError};

    /// Asserts that a launch was refused: not by the device after the fact, but before it ran.
    #[track_caller]
    fn refused(outcome: Result<()>) -> Result<()> {
        match outcome {
            Err(Error::Launch(_)) => Ok(()),
            other => panic!("{other:?} instead of an error about the launch"),
        }
    }

    /// With a second dimension, two threads would have one element.
    pub fn launch_of_more_dimensions(target: &Target) -> Result<()> {
        let mut y = target.device.zeros::<u32>(64)?;
        refused(target.module.launch(((1, 2), (4, 4)), super::add_one(&mut y)))?;
        refused(target.module.launch(((1, 1, 2), 64), super::add_one(&mut y)))?;
        assert_eq!(y.to_vec()?, [0; 64]);
        Ok(())
    }

    /// 2³¹ threads have no index of 31 bits.
    pub fn threads_beyond_an_index(target: &Target) -> Result<()> {
        let mut y = target.device.zeros::<u32>(64)?;
        refused(target.module.launch((1 << 22, 1024), super::add_one(&mut y)))?;
        refused(target.module.launch((u32::MAX, 1024), super::add_one(&mut y)))
    }

    /// Threads without an element of the tile.
    pub fn block_larger_than_tile(target: &Target) -> Result<()> {
        let mut y = target.device.zeros::<u32>(128)?;
        refused(target.module.launch((1, 65), super::through_a_tile(&mut y)))?;
        refused(target.module.launch((1, 128), super::through_a_tile(&mut y)))
    }

    /// A block of two dimensions for a tile of one.
    pub fn tile_in_two_dimensions(target: &Target) -> Result<()> {
        let mut y = target.device.zeros::<u32>(64)?;
        refused(target.module.launch((1, (8, 8)), super::through_a_tile(&mut y)))
    }

    /// A shape whose product wraps to the number of elements.
    pub fn matrix_shape_wraps(target: &Target) -> Result<()> {
        let mut y = target.device.zeros::<u32>(64)?;
        for shape in [[1 << 63, 2], [1 << 32, 1 << 32], [usize::MAX, 64]] {
            refused(target.module.launch(((1, 1), (8, 8)), super::add_one_to_tiles((&mut y, shape))))?;
        }
        Ok(())
    }

    /// A shape of more elements than there are.
    pub fn matrix_shape_beyond_slice(target: &Target) -> Result<()> {
        let mut y = target.device.zeros::<u32>(64)?;
        refused(target.module.launch(((8, 1), (8, 8)), super::add_one_to_tiles((&mut y, [8, 9]))))
    }

    /// Shared memory of more bytes than there are numbers.
    pub fn shared_slice_too_long(target: &Target) -> Result<()> {
        let mut y = target.device.zeros::<u32>(64)?;
        for length in [1 << 40, usize::MAX, usize::MAX / 4 + 2, 1 << 30] {
            refused(target.module.launch((1, 33), super::through_a_shared_slice(&mut y, Elements(length))))?;
        }
        Ok(())
    }

    /// A constant of the same name and another size.
    pub fn constant_of_other_type(target: &Target) -> Result<()> {
        static OTHER: cuda_std::constant::Constant<[u32; 4]> = cuda_std::constant::Constant::new("PAIR", [0; 4]);
        let outcome = target.module.set_constant(&OTHER, &[9; 4]);
        assert!(
            matches!(&outcome, Err(Error::Module(error)) if matches!(**error, ModuleError::MissingConstant { .. })),
            "{outcome:?}"
        );
        target.module.set_constant(&super::PAIR, &[0, 0])?;
        let mut y = [1_u32; 4];
        target.module.for_each(4, super::add_one(&mut y))?;
        assert_eq!(y, [2; 4]);
        Ok(())
    }

    /// Operands of shapes that are not each other's.
    pub fn operand_shapes_wrap(target: &Target) -> Result<()> {
        let x = rumba::array::Array::<u32, 2>::zeros(&target.device, [8, 8])?;
        let mut y = rumba::array::Array::<u32, 2>::zeros(&target.device, [8, 4])?;
        let outcome = target.module.map_into(super::twice::over(&x), &mut y);
        assert!(outcome.is_err(), "an output of half the size was taken");
        Ok(())
    }

    /// Two calls whose parameters have the same sizes: each keeps what it was given.
    pub fn same_parameters_swapped(target: &Target) -> Result<()> {
        let (mut few, mut many) = (target.device.zeros::<u32>(4)?, target.device.zeros::<u32>(64)?);
        let (mut one, mut two) = (super::add_one(&mut few), super::add_one(&mut many));
        std::mem::swap(&mut one, &mut two);
        target.module.launch((1, 64), one)?;
        target.module.launch((1, 64), two)?;
        target.device.synchronize()?;
        assert_eq!((few.to_vec()?.len(), many.to_vec()?.len()), (4, 64));
        Ok(())
    }
}
