//! The shape of a launch.

use crate::streams::stream::Stream;

/// One to three lengths: of a grid in blocks, or of a block in threads. Missing lengths are 1.
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
/// A kernel that states its block, `#[kernel(block = 256)]`, is launched without saying it again. For another, [`block`] says
/// it, or [`new`] for both.
///
/// [`block`]: Self::block
/// [`new`]: Self::new
///
/// # Examples
/// ```
/// # use rumba::test_kernels::{PTX, scale};
/// use rumba::LaunchConfig;
///
/// let forty_blocks = LaunchConfig::grid(40);
/// let a_thread_for_each_pixel = LaunchConfig::covering((1920, 1080)).block((16, 16));
/// let with_shared_memory = LaunchConfig::new(40, 256).shared(1024);
/// # let module = rumba::Device::new()?.load(PTX)?;
/// # let mut values = vec![1.0_f32; 100];
/// # module.launch(LaunchConfig::covering(100).block(32), scale(3.0, &mut values))?;
/// # assert_eq!(values, [3.0; 100]);
/// # Ok::<(), rumba::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a configuration does nothing until a kernel is launched with it"]
pub struct LaunchConfig<'s> {
    pub(super) extent: Extent,
    /// The block; the kernel's own block by default.
    pub(super) block: Option<[u32; 3]>,
    pub(super) shared: u32,
    pub(super) stream: Option<&'s Stream>,
    /// Whether the kernel may begin while the launch ahead of it ends.
    pub(super) dependent: bool,
}

/// How large a launch is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Extent {
    /// So many blocks.
    Blocks([u32; 3]),
    /// So many threads at least.
    Threads([u32; 3]),
    /// A thread for each, in blocks of a size that suits the kernel.
    Elements(usize),
    /// As many blocks as the device runs at the same time.
    AtOnce,
}

impl<'s> LaunchConfig<'s> {
    /// A grid of blocks, each a block of threads.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> LaunchConfig<'s> {
        LaunchConfig::grid(grid).block(block)
    }

    /// A grid of blocks.
    pub fn grid(blocks: impl Into<Dim3>) -> LaunchConfig<'s> {
        LaunchConfig::of(Extent::Blocks(blocks.into().0))
    }

    /// As many blocks as it takes to have at least these many threads in each dimension.
    pub fn covering(threads: impl Into<Dim3>) -> LaunchConfig<'s> {
        LaunchConfig::of(Extent::Threads(threads.into().0))
    }

    /// One thread for each of `n` elements, in blocks of a size that suits the kernel.
    pub fn for_each(n: usize) -> LaunchConfig<'s> {
        LaunchConfig::of(Extent::Elements(n))
    }

    /// As many blocks as the device runs at the same time, in one dimension: for kernels whose threads
    /// share out the work by a grid-stride loop, and the largest grid of a cooperative kernel.
    pub fn at_once() -> LaunchConfig<'s> {
        LaunchConfig::of(Extent::AtOnce)
    }

    fn of(extent: Extent) -> LaunchConfig<'s> {
        LaunchConfig { extent, block: None, shared: 0, stream: None, dependent: false }
    }

    /// Threads of a block, for a kernel that does not state them.
    pub fn block(mut self, threads: impl Into<Dim3>) -> LaunchConfig<'s> {
        self.block = Some(threads.into().0);
        self
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

    /// Lets the kernel begin while the launch ahead of it on the stream ends, which hides the time that a launch takes.
    ///
    /// # Safety
    ///
    /// Each block of the kernel executes `griddepcontrol.wait` before it accesses memory other than its parameters, and before it
    /// ends: kernels that do nothing but call [`cuda_std::tensor::product`] do.
    #[allow(dead_code, reason = "products by warp groups are launched so")]
    pub(crate) unsafe fn dependent(mut self) -> LaunchConfig<'s> {
        self.dependent = true;
        self
    }
}

impl<G: Into<Dim3>, B: Into<Dim3>> From<(G, B)> for LaunchConfig<'_> {
    fn from((grid, block): (G, B)) -> Self {
        LaunchConfig::new(grid, block)
    }
}

/// The configuration of a launch: a [`LaunchConfig`], or a pair of blocks and threads.
///
/// Every type that converts to a [`LaunchConfig`] is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not configure a launch",
    label = "not a pair of blocks and threads",
    note = "write `(blocks, threads)`, of which each is a `u32` or a tuple of two or three: `(4, 256)`, `((8, 8), (16, 16))`",
    note = "a number of another type is converted: `(n.div_ceil(256) as u32, 256)`",
    note = "`module.for_each(n, ..)` takes the number of elements and chooses blocks and threads; where the kernel states its block, \
            `LaunchConfig::grid(4)` states the number of blocks"
)]
pub trait IntoLaunchConfig<'s> {
    /// The configuration.
    fn into_launch_config(self) -> LaunchConfig<'s>;
}

#[diagnostic::do_not_recommend]
impl<'s, C: Into<LaunchConfig<'s>>> IntoLaunchConfig<'s> for C {
    fn into_launch_config(self) -> LaunchConfig<'s> {
        self.into()
    }
}
