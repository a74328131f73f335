//! Tensor copies, bulk copies and changes of tensor maps as lines of text, and the kernel that executes one.
//!
//! A line begins with what is done: `load`, `store`, an operation that reduces, `replace` with a field, or the opcode of a bulk
//! copy. Then come an element type and, as `name=value`, what the tensor map and the instruction are told; what is left out
//! is 0, 1, or nothing. The program that asks a GPU makes the map with its driver, the tests with [`Case::map`].

use rumba_vm::tensor_map::{Shape, TensorElement, TensorMap};

/// Dimensions of the largest tensor.
pub const MAX_RANK: usize = 5;

/// Bytes of shared memory that a copy can come to; of the second place of bulk copies; of a tensor with all gaps.
pub const SHARED: usize = 16 << 10;
pub const TENSOR: usize = 64 << 10;

/// Bytes of what a kernel leaves: shared memory, whether the mbarrier's phase ended, and the tensor.
pub const RESULT: usize = SHARED + 32 + TENSOR;

/// An element type: its name, its number in `CUtensorMapDataType`, what the machine calls it, and its bits as a number: of
/// the exponent and of the mantissa.
type Type = (&'static str, u32, TensorElement, (u32, u32));

const TYPES: [Type; 13] = [
    ("u8", 0, TensorElement::U8, (0, 8)),
    ("u16", 1, TensorElement::U16, (0, 16)),
    ("u32", 2, TensorElement::U32, (0, 32)),
    ("s32", 3, TensorElement::S32, (0, 32)),
    ("u64", 4, TensorElement::U64, (0, 64)),
    ("s64", 5, TensorElement::S64, (0, 64)),
    ("f16", 6, TensorElement::F16, (5, 10)),
    ("f32", 7, TensorElement::F32, (8, 23)),
    ("f64", 8, TensorElement::F64, (11, 52)),
    ("bf16", 9, TensorElement::Bf16, (8, 7)),
    ("f32.ftz", 10, TensorElement::F32Ftz, (8, 23)),
    ("tf32", 11, TensorElement::Tf32, (8, 23)),
    ("tf32.ftz", 12, TensorElement::Tf32Ftz, (8, 23)),
];

/// A line.
#[derive(Debug, Clone)]
pub struct Case<'t> {
    /// The operation.
    pub action: &'t str,
    ty: Type,
    /// Elements in each dimension.
    pub sizes: Vec<u64>,
    /// Bytes behind each row, and rows behind each plane.
    pad: u64,
    /// The box, unless the tensor is one of pixels.
    pub extent: Vec<u32>,
    pub steps: Vec<u32>,
    /// Pixels and channels of a column, and the corners of the box of pixels.
    pub pixels: u32,
    pub channels: u32,
    pub lower: Vec<i32>,
    pub upper: Vec<i32>,
    pub at: Vec<i32>,
    pub offsets: Vec<i32>,
    /// As the driver numbers them.
    pub interleave: u32,
    pub swizzle: u32,
    pub fill: u32,
    /// Of a change: the dimension and the value.
    axis: Option<u32>,
    value: u64,
    /// Of a bulk copy.
    bytes: u32,
    /// Whether the block is a cluster.
    pub is_cluster: bool,
}

impl<'t> Case<'t> {
    pub fn parse(line: &'t str) -> Self {
        let mut words = line.split(' ');
        let action = words.next().expect("an action");
        let name = words.next().expect("a type");
        let mut case = Self {
            action,
            ty: *TYPES.iter().find(|ty| ty.0 == name).expect("a type"),
            sizes: Vec::new(),
            pad: 0,
            extent: Vec::new(),
            steps: Vec::new(),
            pixels: 0,
            channels: 0,
            lower: Vec::new(),
            upper: Vec::new(),
            at: Vec::new(),
            offsets: Vec::new(),
            interleave: 0,
            swizzle: 0,
            fill: 0,
            axis: None,
            value: 0,
            bytes: 0,
            is_cluster: false,
        };
        for word in words {
            let (name, value) = word.split_once('=').expect("name=value");
            let numbers = || value.split(',').map(|number| number.parse::<i64>().expect("a number"));
            let signed = || numbers().map(|number| number as i32).collect::<Vec<_>>();
            let unsigned = || numbers().map(|number| number as u32).collect::<Vec<_>>();
            let one = || numbers().next().expect("a number");
            match name {
                "sizes" => case.sizes = numbers().map(|number| number as u64).collect(),
                "pad" => case.pad = one() as u64,
                "box" => case.extent = unsigned(),
                "steps" => case.steps = unsigned(),
                "pixels" => case.pixels = one() as u32,
                "channels" => case.channels = one() as u32,
                "lower" => case.lower = signed(),
                "upper" => case.upper = signed(),
                "at" => case.at = signed(),
                "offsets" => case.offsets = signed(),
                "interleave" => case.interleave = one() as u32 / 16,
                "swizzle" => {
                    case.swizzle = [0, 32, 64, 128].iter().position(|bytes| *bytes == one()).expect("bytes") as u32;
                }
                "fill" => case.fill = u32::from(value == "nan"),
                "axis" => case.axis = Some(one() as u32),
                "value" => case.value = one() as u64,
                "bytes" => case.bytes = one() as u32,
                "cluster" => case.is_cluster = one() == 1,
                _ => panic!("{name} is no part of a line"),
            }
        }
        let rank = case.sizes.len();
        case.steps.resize(rank, 1);
        case.at.resize(MAX_RANK, 0);
        case.offsets.resize(MAX_RANK - 2, 0);
        case
    }

    /// The element type, as the driver numbers it.
    pub fn element(&self) -> u32 {
        self.ty.1
    }

    /// Whether the tensor is one of pixels.
    pub fn is_columns(&self) -> bool {
        self.pixels != 0
    }

    /// Whether it has a tensor at all.
    fn is_bulk(&self) -> bool {
        self.action.starts_with("cp")
    }

    fn element_bytes(&self) -> usize {
        let (exponent, mantissa) = self.ty.3;
        (exponent + mantissa).div_ceil(8) as usize
    }

    /// Bytes from an element to the next of each dimension but the first.
    pub fn strides(&self) -> Vec<u64> {
        let unit = match self.interleave {
            0 => self.element_bytes() as u64,
            slices => 16 * u64::from(slices),
        };
        let row = (self.sizes[0] * unit).next_multiple_of(16.max(16 * u64::from(self.interleave))) + self.pad;
        let mut strides = vec![row];
        for size in &self.sizes[1..self.sizes.len().max(2) - 1] {
            strides.push(strides[strides.len() - 1] * (size + u64::from(self.pad != 0)));
        }
        strides.truncate(self.sizes.len() - 1);
        strides
    }

    /// The map, as the machine makes it.
    #[allow(dead_code, reason = "a GPU's driver makes its own")]
    pub fn map(&self, address: u64) -> TensorMap {
        let (mut sizes, mut strides, mut steps) = ([1; MAX_RANK], [0; MAX_RANK - 1], [1; MAX_RANK]);
        sizes[..self.sizes.len()].copy_from_slice(&self.sizes);
        steps[..self.steps.len()].copy_from_slice(&self.steps);
        let given = self.strides();
        strides[..given.len()].copy_from_slice(&given);
        let mut extent = [1; MAX_RANK];
        extent[..self.extent.len()].copy_from_slice(&self.extent);
        let corner = |corner: &[i32]| std::array::from_fn(|axis| corner.get(axis).copied().unwrap_or(0));
        TensorMap {
            address,
            rank: self.sizes.len(),
            element: self.ty.2,
            interleave: self.interleave,
            swizzle: self.swizzle,
            atom: 0,
            fills_nan: self.fill == 1,
            promotion: 0,
            sizes,
            strides,
            steps,
            shape: if self.is_columns() {
                Shape::Columns {
                    lower: corner(&self.lower),
                    upper: corner(&self.upper),
                    channels: self.channels,
                    pixels: self.pixels,
                }
            } else {
                Shape::Tile(extent)
            },
        }
    }

    /// Bytes of shared memory that the copy comes to.
    fn copied(&self) -> usize {
        if self.is_bulk() {
            return self.bytes as usize;
        }
        let row = if self.interleave == 0 { self.element_bytes() } else { 16 * self.interleave as usize };
        if self.is_columns() {
            let channels = if self.interleave == 0 { self.channels as usize } else { 1 };
            return row * channels * self.pixels as usize;
        }
        let counts = self.extent.iter().zip(&self.steps).enumerate().map(|(axis, (extent, step))| {
            let step = if axis == 0 && self.interleave == 0 { 1 } else { *step };
            extent.div_ceil(step) as usize
        });
        row * counts.product::<usize>()
    }

    /// Whether the shared memory holds a tensor map, which is changed.
    pub fn changes_map(&self) -> bool {
        self.action.starts_with("replace")
    }

    /// The initial contents of shared memory and of the tensor. Floating-point numbers are small, or special values.
    pub fn input(&self, seed: u64, bytes: usize) -> Vec<u8> {
        let (exponent, mantissa) = self.ty.3;
        let size = self.element_bytes();
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let x = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ x >> 31
        };
        let mut all = Vec::with_capacity(bytes);
        while all.len() < bytes {
            let x = next();
            let bits = if exponent == 0 {
                x
            } else {
                let fraction = (1_u64 << mantissa) - 1;
                let infinity = ((1_u64 << exponent) - 1) << mantissa;
                let sign = (x & 1) << (exponent + mantissa);
                let (one, half) = (infinity >> 1 & infinity, (fraction >> 11) + 1);
                let special = [
                    0,
                    1,
                    fraction / 2,
                    fraction,
                    fraction + 1,
                    infinity - 1,
                    infinity,
                    infinity | fraction,
                    infinity | 5,
                    // In the middle between two numbers with 10 bits of mantissa.
                    one | half,
                    one | (3 * half),
                ];
                sign | match x >> 1 & 3 {
                    0 => special[(x >> 8) as usize % special.len()],
                    _ => ((1 << (exponent - 1)) - 5 + (x >> 8) % 9) << mantissa | x >> 12 & fraction,
                }
            };
            all.extend_from_slice(&bits.to_le_bytes()[..size.min(bytes - all.len())]);
        }
        all
    }

    /// The module.
    pub fn ptx(&self) -> String {
        let rank = self.sizes.len();
        let list = |prefix: &str, from: usize, count: usize| {
            let names: Vec<String> = (from..from + count).map(|index| format!("%{prefix}{index}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let expect = format!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], {};", self.copied());
        let wait = "mov.u32 %r8, 0;
        WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0; @%p2 bra DONE;
            add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 1000; @%p1 bra WAIT; bra WAITED;
        DONE: mov.u32 %r9, 1;
        WAITED:";
        let finish = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
        let coordinates = list("r", 10, rank);
        let body = match self.action {
            "load" if self.is_columns() => format!(
                "{expect} cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes
                    [%r3], [%rd1, {coordinates}], [%r4], {}; {wait}",
                list("h", 0, rank - 2)
            ),
            "load" => format!(
                "{expect} cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
                    [%r3], [%rd1, {coordinates}], [%r4]; {wait}"
            ),
            "store" | "add" | "min" | "max" | "inc" | "dec" | "and" | "or" | "xor" => {
                let mode = if self.is_columns() { ".im2col_no_offs" } else { ".tile" };
                let (name, operation) = match self.action {
                    "store" => ("cp", String::new()),
                    operation => ("cp.reduce", format!(".{operation}")),
                };
                format!(
                    "{name}.async.bulk.tensor.{rank}d.global.shared::cta{operation}{mode}.bulk_group
                        [%rd1, {coordinates}], [%r3]; {finish}"
                )
            }
            _ if self.changes_map() => {
                let field = &self.action["replace.".len()..];
                let axis = self.axis.map_or(String::new(), |axis| format!("{axis}, "));
                let value = self.value;
                // Fields with a few named values take a constant.
                let (ty, operand) = match field {
                    "global_address" | "global_stride" => ("b64", "%rd8".to_owned()),
                    "elemtype" | "interleave_layout" | "swizzle_mode" | "fill_mode" => ("b32", value.to_string()),
                    _ => ("b32", "%r8".to_owned()),
                };
                format!(
                    "mov.b64 %rd8, {value}; cvt.u32.u64 %r8, %rd8; cvt.u64.u32 %rd7, %r3;
                    tensormap.replace.tile.{field}.shared::cta.b1024.{ty} [%rd7], {axis}{operand};"
                )
            }
            opcode if opcode.contains(".bulk_group") => format!("{opcode} [%rd6], [%r3], {}; {finish}", self.bytes),
            opcode if opcode.contains(".global") => {
                format!("{expect} {opcode} [%r3], [%rd6], {}, [%r4]; {wait}", self.bytes)
            }
            // From the second half of shared memory to the first, by its address in the cluster.
            opcode => format!(
                "add.u32 %r8, %r3, {}; mapa.shared::cluster.u32 %r5, %r3, 0; mapa.shared::cluster.u32 %r6, %r4, 0;
                {expect} {opcode} [%r5], [%r8], {}, [%r6]; {wait}",
                SHARED / 2,
                self.bytes
            ),
        };
        let cluster = if self.is_cluster { ".reqnctapercluster 1, 1, 1" } else { "" };
        format!(
            ".version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 result, .param .align 4 .b8 at[20], .param .align 2 .b8 offsets[6])
{cluster}
{{
    .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %rd<10>;
    .shared .align 1024 .b8 memory[{SHARED}];
    .shared .align 8 .b64 barrier;
    mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [result]; cvta.to.global.u64 %rd2, %rd2; add.u64 %rd6, %rd2, {tensor};
    ld.param.b32 %r10, [at]; ld.param.b32 %r11, [at+4]; ld.param.b32 %r12, [at+8]; ld.param.b32 %r13, [at+12];
    ld.param.b32 %r14, [at+16];
    ld.param.b16 %h0, [offsets]; ld.param.b16 %h1, [offsets+2]; ld.param.b16 %h2, [offsets+4];
    mov.u32 %r3, memory; mov.u32 %r4, barrier; mov.u32 %r9, 0;
    mov.u32 %r5, 0; mov.u64 %rd3, %rd2; mov.u32 %r6, %r3;
IN:
    ld.global.v4.b32 {{%r15, %r16, %r17, %r18}}, [%rd3]; st.shared.v4.b32 [%r6], {{%r15, %r16, %r17, %r18}};
    add.u64 %rd3, %rd3, 16; add.u32 %r6, %r6, 16; add.u32 %r5, %r5, 16; setp.lt.u32 %p1, %r5, {SHARED}; @%p1 bra IN;
    mbarrier.init.shared::cta.b64 [%r4], 1;
    fence.proxy.async;
    {body}
    mov.u32 %r5, 0; mov.u64 %rd3, %rd2; mov.u32 %r6, %r3;
OUT:
    ld.shared.v4.b32 {{%r15, %r16, %r17, %r18}}, [%r6]; st.global.v4.b32 [%rd3], {{%r15, %r16, %r17, %r18}};
    add.u64 %rd3, %rd3, 16; add.u32 %r6, %r6, 16; add.u32 %r5, %r5, 16; setp.lt.u32 %p1, %r5, {SHARED}; @%p1 bra OUT;
    st.global.b32 [%rd2+{SHARED}], %r9;
    ret;
}}
",
            tensor = SHARED + 32,
        )
    }

    /// The initial contents of the kernel's memory: shared memory, four words, the tensor. `map`: the driver's map.
    pub fn memory(&self, map: &[u8]) -> Vec<u8> {
        let mut all = if self.changes_map() { map.to_vec() } else { self.input(1, SHARED) };
        all.resize(SHARED + 32, 0);
        all.extend(self.input(2, TENSOR));
        all
    }

    /// Keeps the part of the kernel's results that does not depend on the tensor's address.
    pub fn outcome(&self, results: &mut [u8]) {
        if self.changes_map() && !self.action.ends_with("global_address") {
            results[..8].fill(0);
        }
    }
}
