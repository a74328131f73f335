//! The shape of a launch.

use crate::Stream;

/// One to three lengths: of a grid in blocks, or of a block in threads. What is not given is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim3(pub [u32; 3]);

impl From<u32> for Dim3 {
    fn from(x: u32) -> Dim3 {
        Dim3([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Dim3 {
        Dim3([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Dim3 {
        Dim3([x, y, z])
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from(lengths: [u32; 3]) -> Dim3 {
        Dim3(lengths)
    }
}

/// How a kernel is launched: how many blocks of how many threads, with how much dynamic shared
/// memory, on which stream.
///
/// # Examples
/// ```
/// use rumba::LaunchConfig;
///
/// let one_dimension = LaunchConfig::new(40, 256);
/// let image = LaunchConfig::covering((1920, 1080), (16, 16));
/// assert_eq!(image.grid(), Some([120, 68, 1]));
/// let with_shared_memory = LaunchConfig::new(40, 256).shared(1024);
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a configuration does nothing until a kernel is launched with it"]
pub struct LaunchConfig<'s> {
    pub(super) shape: Shape,
    pub(super) shared: u32,
    pub(super) stream: Option<&'s Stream>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Blocks {
        grid: [u32; 3],
        block: [u32; 3],
    },
    /// One thread for each, in blocks of a size that suits the kernel.
    Elements(usize),
    /// As many blocks as the device runs at the same time.
    AtOnce {
        block: [u32; 3],
    },
}

impl<'s> LaunchConfig<'s> {
    /// A grid of blocks, each a block of threads.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> LaunchConfig<'s> {
        LaunchConfig::with(Shape::Blocks {
            grid: grid.into().0,
            block: block.into().0,
        })
    }

    /// As many blocks as it takes to have at least these many threads in each dimension.
    pub fn covering(threads: impl Into<Dim3>, block: impl Into<Dim3>) -> LaunchConfig<'s> {
        let (Dim3(threads), Dim3(block)) = (threads.into(), block.into());
        // An empty block is an error at the launch, not here.
        let grid = [0, 1, 2].map(|axis| threads[axis].div_ceil(block[axis].max(1)));
        LaunchConfig::with(Shape::Blocks { grid, block })
    }

    /// One thread for each of `n` elements, in blocks of a size that suits the kernel.
    pub fn for_each(n: usize) -> LaunchConfig<'s> {
        LaunchConfig::with(Shape::Elements(n))
    }

    /// As many blocks as the device runs at the same time, in one dimension: for kernels whose threads
    /// share out the work by a grid-stride loop, and the largest grid of a cooperative kernel.
    pub fn at_once(block: impl Into<Dim3>) -> LaunchConfig<'s> {
        LaunchConfig::with(Shape::AtOnce { block: block.into().0 })
    }

    fn with(shape: Shape) -> LaunchConfig<'s> {
        LaunchConfig {
            shape,
            shared: 0,
            stream: None,
        }
    }

    /// Gives each block this many bytes of dynamic shared memory. By default it is what the kernel
    /// states, `#[kernel(dynamic_shared = ..)]`, or nothing.
    pub fn shared(mut self, bytes: u32) -> LaunchConfig<'s> {
        self.shared = bytes;
        self
    }

    /// Puts the work on a stream of its own instead of the default one.
    pub fn stream(mut self, stream: &'s Stream) -> LaunchConfig<'s> {
        self.stream = Some(stream);
        self
    }

    /// The blocks in x, y and z, unless they depend on the kernel.
    pub fn grid(&self) -> Option<[u32; 3]> {
        match self.shape {
            Shape::Blocks { grid, .. } => Some(grid),
            Shape::Elements(_) | Shape::AtOnce { .. } => None,
        }
    }
}

impl<G: Into<Dim3>, B: Into<Dim3>> From<(G, B)> for LaunchConfig<'_> {
    fn from((grid, block): (G, B)) -> Self {
        LaunchConfig::new(grid, block)
    }
}
