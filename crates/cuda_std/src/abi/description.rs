//! The text on which a kernel and its launcher must agree: the compilation for the device writes the text into the PTX,
//! and a runtime compares it with the launcher's.
//!
//! Both compilations have the same source, and yet may differ: by `cfg`s, features of a dependency, `debug_assertions`. Or
//! the PTX is of another version, or of another crate. The text has what the safety of a launch rests on, and no more:
//! names of parameters and fields may change.
//!
//! ```text
//! kernels_gpu 0.1.0 0 0 0 0 0 0 0 0 0 0
//! value 0 0 4 4 4 0 0 0 0 0 0 a: f32
//! input 0 0 4 4 8 8 0 0 0 0 0 x: &[f32]
//! per-thread 1 1 4 4 8 8 0 0 0 0 0 y: DisjointSlice<f32>
//! ```
//!
//! The first line names the crate and its version, and has the numbers of the [`Contract`] that [`CLAUSES`] names. Each other
//! is a parameter: its role with rank and elements of a thread, size and alignment of an element, the sizes of its PTX
//! parameters, and the largest block of a tile.

use crate::abi::contract::Contract;
use crate::abi::parameter::{Parameter, Role};

/// The numbers of a contract, in order, by the words of `#[kernel(..)]`.
#[cfg_attr(target_arch = "nvptx64", allow(dead_code, reason = "the host reads them"))]
pub(crate) const CLAUSES: [(&str, usize); 6] =
    [("block", 3), ("max_threads", 1), ("cluster", 3), ("dynamic_shared", 1), ("cooperative", 1), ("dependent", 1)];

/// The description of a kernel. For the macro.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Description<'d> {
    /// A path in the kernel's crate.
    pub module_path: &'d str,
    /// The version of its package.
    pub version: Option<&'d str>,
    /// The kernel's contract.
    pub contract: Contract,
    /// The parameters that a call binds.
    pub parameters: &'d [Parameter],
    /// Shared memory that the entry declares.
    pub tiles: &'d [Parameter],
}

impl Description<'_> {
    /// Bytes of the text.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.write(&mut [])
    }

    /// The text.
    #[must_use]
    pub const fn text<const LENGTH: usize>(&self) -> [u8; LENGTH] {
        let mut text = [0; LENGTH];
        self.write(&mut text);
        text
    }

    /// Writes the text as far as there is room, and returns its length.
    pub(crate) const fn write(&self, text: &mut [u8]) -> usize {
        let mut writer = Writer { text, length: 0 };
        writer.crate_of(self.module_path);
        writer.byte(b' ');
        writer.word(match self.version {
            Some(version) => version,
            None => "-",
        });
        let Contract {
            block,
            max_threads,
            cluster,
            dynamic_shared,
            cooperative,
            dependent,
            // They concern the driver's compiler alone.
            min_blocks: _,
            max_registers: _,
        } = self.contract;
        writer.shape(block);
        writer.number(match max_threads {
            Some(threads) => threads as usize,
            None => 0,
        });
        writer.shape(cluster);
        writer.number(dynamic_shared as usize);
        writer.number(cooperative as usize);
        writer.number(dependent as usize);
        writer.parameters(self.parameters);
        writer.parameters(self.tiles);
        writer.length
    }
}

/// Text that is written when the compiler evaluates constants.
struct Writer<'t> {
    text: &'t mut [u8],
    length: usize,
}

impl Writer<'_> {
    const fn byte(&mut self, byte: u8) {
        if self.length < self.text.len() {
            self.text[self.length] = byte;
        }
        self.length += 1;
    }

    const fn word(&mut self, word: &str) {
        let mut index = 0;
        while index < word.len() {
            // A type that is written over several lines is one line here.
            self.byte(match word.as_bytes()[index] {
                b'\n' | b'\r' => b' ',
                byte => byte,
            });
            index += 1;
        }
    }

    /// A space and a number.
    const fn number(&mut self, number: usize) {
        self.byte(b' ');
        let mut unit = 1;
        while number / unit >= 10 {
            unit *= 10;
        }
        while unit > 0 {
            self.byte(b'0' + (number / unit % 10) as u8);
            unit /= 10;
        }
    }

    const fn shape(&mut self, shape: Option<[u32; 3]>) {
        let [x, y, z] = match shape {
            Some(shape) => shape,
            None => [0; 3],
        };
        self.number(x as usize);
        self.number(y as usize);
        self.number(z as usize);
    }

    /// The first segment of a path.
    const fn crate_of(&mut self, path: &str) {
        let mut index = 0;
        while index < path.len() && path.as_bytes()[index] != b':' {
            self.byte(path.as_bytes()[index]);
            index += 1;
        }
    }

    const fn parameters(&mut self, parameters: &[Parameter]) {
        let mut index = 0;
        while index < parameters.len() {
            let Parameter { name, ty, role, layout } = parameters[index];
            self.byte(b'\n');
            let (word, [rank, elements], block) = match role {
                Role::Value => ("value", [0; 2], None),
                Role::Input => ("input", [0; 2], None),
                Role::Atomic => ("atomic", [0; 2], None),
                Role::PerThread { rank, elements } => ("per-thread", [rank as u32, elements], None),
                Role::PerBlock => ("per-block", [0; 2], None),
                Role::Shared => ("shared", [0; 2], None),
                Role::Tile { block } => ("tile", [0; 2], Some(block)),
                Role::Pointer => ("pointer", [0; 2], None),
                Role::TensorMap { tile, writes: false } => ("tensor-map", tile, None),
                Role::TensorMap { tile, writes: true } => ("tensor-output", tile, None),
            };
            self.word(word);
            self.number(rank as usize);
            self.number(elements as usize);
            self.number(layout.size);
            self.number(layout.align);
            let mut part = 0;
            while part < layout.words.len() {
                self.number(layout.words[part]);
                part += 1;
            }
            self.shape(block);
            self.byte(b' ');
            self.word(name);
            self.word(": ");
            self.word(ty);
            index += 1;
        }
    }
}
