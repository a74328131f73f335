//! Kernel launches. They are checked here and run in the order of their stream; that a kernel failed is told by a later
//! call, as on a GPU.

use std::ffi::c_uint;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::abi::{CUfunction, CUstream, In, answer, wrong};
use crate::api::occupancy::resident_blocks;
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::module::Function;
use crate::soft::work::{KernelWork, ParameterBlock, Work};
use crate::table;

/// The largest cluster, in blocks, that every device with clusters takes, and the largest that kernels can opt in to.
pub(super) const PORTABLE_CLUSTER: u32 = 8;
pub(super) const LARGEST_CLUSTER: u32 = 16;

/// The shape of a launch.
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: u32,
    pub(super) cooperative: bool,
    /// Blocks of a cluster.
    pub(super) cluster: Option<[u32; 3]>,
    /// Whether the kernel itself waits for the work ahead of it in the stream (programmatic stream serialization).
    pub(super) programmatic: bool,
}

impl Shape {
    /// The shape of a launch that was checked.
    pub(super) fn of(work: &KernelWork) -> Self {
        let KernelWork { grid, block, shared, cooperative, cluster, programmatic, .. } = *work;
        Self { grid, block, shared, cooperative, cluster, programmatic }
    }

    pub(super) fn new(grid: [u32; 3], block: [u32; 3], shared: u32, cooperative: bool) -> Self {
        Self { grid, block, shared, cooperative, cluster: None, programmatic: false }
    }
}

pub(crate) extern "C" fn cuLaunchKernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: CUstream,
    parameters: In<u64>,
    extra: In<u64>,
) -> Code {
    answer(|| {
        let shape = Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared, false);
        launch(function, &shape, stream, parameters, extra)
    })
}

pub(crate) extern "C" fn cuLaunchCooperativeKernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: CUstream,
    parameters: In<u64>,
) -> Code {
    answer(|| {
        let shape = Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared, true);
        launch(function, &shape, stream, parameters, In::NULL)
    })
}

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: CUstream,
    attributes: u64,
    attribute_count: c_uint,
}

/// `CUlaunchAttribute`.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct LaunchAttribute {
    id: c_uint,
    padding: c_uint,
    value: AttributeValue,
}

pub(crate) extern "C" fn cuLaunchKernelEx(
    config: In<LaunchConfig>,
    function: CUfunction,
    parameters: In<u64>,
    extra: In<u64>,
) -> Code {
    answer(|| {
        let config = config.get("config")?;
        launch(function, &shape_of(&config)?, config.stream, parameters, extra)
    })
}

/// The value of an attribute of a launch.
pub(super) type AttributeValue = [u32; 16];

impl Shape {
    /// Sets an attribute of the launch.
    pub(super) fn set(&mut self, attribute: c_uint, value: &AttributeValue) -> Result<(), Error> {
        const COOPERATIVE: c_uint = 2;
        const CLUSTER_DIMENSION: c_uint = 4;
        const PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;
        const LAST: c_uint = 18;
        match attribute {
            COOPERATIVE => self.cooperative = value[0] != 0,
            CLUSTER_DIMENSION => self.cluster = Some([value[0], value[1], value[2]]),
            PROGRAMMATIC_STREAM_SERIALIZATION => self.programmatic = value[0] != 0,
            // Hints on caches, priorities and overlap change no result.
            0..=LAST => {}
            other => return Err(wrong("attrs", other, "there is no such attribute")),
        }
        Ok(())
    }
}

/// The shape that a configuration describes.
pub(super) fn shape_of(config: &LaunchConfig) -> Result<Shape, Error> {
    // SAFETY: the configuration has the attributes' address.
    let attributes = unsafe { In::<LaunchAttribute>::from_address(config.attributes) };
    let mut shape = Shape::new(config.grid, config.block, config.shared, false);
    for index in 0..config.attribute_count as usize {
        // SAFETY: `attrs` has `attribute_count` elements.
        let attribute = unsafe { attributes.element("attrs", index) }?;
        shape.set(attribute.id, &attribute.value)?;
    }
    Ok(shape)
}

fn launch(
    function: CUfunction,
    shape: &Shape,
    stream: CUstream,
    parameters: In<u64>,
    extra: In<u64>,
) -> Result<(), Error> {
    let (driver, stream) = Driver::stream(stream)?;
    let function = driver.function(function)?;
    if function.context.life != stream.context().life {
        return Err(Error::ForeignContext { kind: "function" });
    }
    let work = kernel_work(driver, function, shape, parameters, extra)?;
    stream.submit(Work::Kernel(Arc::new(work))).map(drop)
}

/// Takes the parameters of a launch, and checks what only this interface limits; the machine checks the rest.
pub(super) fn kernel_work(
    driver: &Driver,
    function: Arc<Function>,
    shape: &Shape,
    parameters: In<u64>,
    extra: In<u64>,
) -> Result<KernelWork, Error> {
    let most = function.max_dynamic_shared.load(Ordering::Relaxed);
    if i64::from(shape.shared) > i64::from(most) {
        return Err(Error::Launch(format!(
            "{} bytes of dynamic shared memory exceed the kernel's limit of {most}: cuFuncSetAttribute raises it",
            shape.shared
        )));
    }
    let parameters = gather(&function, parameters, extra)?;
    shaped(driver, function, shape, parameters)
}

/// The launch of a kernel in a shape, which is checked.
pub(super) fn shaped(
    driver: &Driver,
    function: Arc<Function>,
    shape: &Shape,
    parameters: ParameterBlock,
) -> Result<KernelWork, Error> {
    let cluster = shape.cluster.unwrap_or([1; 3]).iter().map(|extent| u64::from(*extent)).product::<u64>();
    let generation = table::multiprocessor();
    if cluster > 1 && !generation.has_clusters() {
        return Err(Error::Cluster(format!(
            "a device of compute capability {}.{} has no clusters",
            generation.capability / 10,
            generation.capability % 10
        )));
    }
    if cluster > u64::from(PORTABLE_CLUSTER) && !function.allows_large_clusters.load(Ordering::Relaxed) {
        return Err(Error::Cluster(format!(
            "a cluster of {cluster} blocks needs CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED"
        )));
    }
    let work = KernelWork {
        function,
        grid: shape.grid,
        block: shape.block,
        shared: shape.shared,
        cooperative: shape.cooperative,
        cluster: shape.cluster,
        programmatic: shape.programmatic,
        parameters,
        host: None,
    };
    driver.machine.check(&work.function.kernel, &work.launch())?;
    // The machine could keep more blocks, but programs plan by what cuOccupancy says.
    if shape.cooperative {
        let blocks = shape.grid.iter().map(|extent| u64::from(*extent)).product();
        let threads = shape.block.iter().product();
        let resident = u64::from(resident_blocks(work.function.kernel.needs(), threads, shape.shared))
            * u64::from(driver.machine.multiprocessors());
        if blocks > resident {
            return Err(Error::TooManyBlocks { blocks, resident });
        }
    }
    Ok(work)
}

/// Builds the parameter block from either form in which parameters are passed.
fn gather(function: &Function, parameters: In<u64>, extra: In<u64>) -> Result<ParameterBlock, Error> {
    let taken = function.kernel.parameter_bytes();
    let mut block = ParameterBlock::zeros(taken);
    match (parameters.is_null(), extra.is_null()) {
        _ if taken == 0 => {}
        (true, true) => return Err(Error::Null("kernelParams")),
        (false, false) => return Err(wrong("extra", "given", "kernelParams is given too")),
        (false, true) => {
            for (index, parameter) in function.kernel.parameters().iter().enumerate() {
                // SAFETY: there is an address for each parameter, at which its value is.
                let value = unsafe {
                    let value = In::from_address(parameters.element("kernelParams", index)?);
                    value.slice("an element of kernelParams", parameter.bytes)?
                };
                block[parameter.offset..][..parameter.bytes].copy_from_slice(value);
            }
        }
        (true, false) => {
            let bytes = packed(extra)?;
            if bytes.len() > taken {
                return Err(Error::ParameterBytes { given: bytes.len(), taken });
            }
            if bytes.len() < taken {
                return Err(wrong("CU_LAUNCH_PARAM_BUFFER_SIZE", bytes.len(), "the kernel takes more"));
            }
            block.copy_from_slice(bytes);
        }
    }
    Ok(block)
}

/// The ready-made parameter block in `extra`: pairs of a key and a value, ended by a key of 0.
fn packed<'a>(extra: In<'a, u64>) -> Result<&'a [u8], Error> {
    const END: u64 = 0;
    const BUFFER_POINTER: u64 = 1;
    const BUFFER_SIZE: u64 = 2;
    let (mut buffer, mut size) = (In::<u8>::NULL, In::<usize>::NULL);
    let mut index = 0;
    // SAFETY: no key but the last is END, and each key before it has a value, the address of what the key names.
    unsafe {
        loop {
            match extra.element("extra", index)? {
                END => break,
                BUFFER_POINTER => buffer = In::from_address(extra.element("extra", index + 1)?),
                BUFFER_SIZE => size = In::from_address(extra.element("extra", index + 1)?),
                other => return Err(wrong("extra", other, "there is no such key")),
            }
            index += 2;
        }
    }
    let size = size.get("CU_LAUNCH_PARAM_BUFFER_SIZE")?;
    // SAFETY: the buffer is as long as the caller says.
    unsafe { buffer.slice("CU_LAUNCH_PARAM_BUFFER_POINTER", size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launch_structs_have_the_layout_of_cuda_h() {
        assert_eq!(size_of::<LaunchConfig>(), 56);
        assert_eq!(std::mem::offset_of!(LaunchConfig, stream), 32);
        assert_eq!(size_of::<LaunchAttribute>(), 72);
        assert_eq!(std::mem::offset_of!(LaunchAttribute, value), 8);
    }
}
