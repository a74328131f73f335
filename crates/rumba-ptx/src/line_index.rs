//! From byte offsets to lines and columns, without looking at the source again.

use std::fmt;

/// Where something stands, counted from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The line starts of one source, to look up positions in logarithmic time.
#[derive(Clone, Debug, Default)]
pub struct LineIndex {
    /// Offset of each line's first byte.
    starts: Vec<u32>,
    /// Offsets of the bytes that continue a character; PTX is nearly always plain ASCII.
    continuations: Vec<u32>,
    length: u32,
}

impl LineIndex {
    /// Reads `source` once.
    ///
    /// Offsets beyond 4 GiB do not exist here; [`parse`](crate::parse) refuses such sources.
    pub fn new(source: &str) -> Self {
        let length = offset(source.len());
        let mut starts = Vec::with_capacity(source.len() / 24 + 1);
        starts.push(0);
        starts.extend(memchr::memchr_iter(b'\n', source.as_bytes()).map(|at| offset(at + 1)));
        let continuations = if source.is_ascii() {
            Vec::new()
        } else {
            (0..source.len()).filter(|&at| !source.is_char_boundary(at)).map(offset).collect()
        };
        Self { starts, continuations, length }
    }

    /// The line that `offset` is on, from 1. Offsets behind the end count as the end.
    pub fn line(&self, offset: u32) -> u32 {
        let lines = self.starts.partition_point(|&start| start <= offset.min(self.length));
        u32::try_from(lines).unwrap_or(u32::MAX)
    }

    /// The line and column of `offset`. Offsets behind the end count as the end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = offset.min(self.length);
        let line = self.line(offset);
        let start = self.starts[line as usize - 1];
        let continued = self.continuations.partition_point(|&at| at < offset)
            - self.continuations.partition_point(|&at| at < start);
        let continued = u32::try_from(continued).unwrap_or(u32::MAX);
        Position { line, column: offset - start - continued + 1 }
    }

    /// The number of lines; an empty source has one line.
    pub fn lines(&self) -> usize {
        self.starts.len()
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(source: &str, offset: u32) -> (u32, u32) {
        let Position { line, column } = LineIndex::new(source).position(offset);
        (line, column)
    }

    #[test]
    fn counts_from_one() {
        assert_eq!(at("", 0), (1, 1));
        assert_eq!(at("ab\ncd", 0), (1, 1));
        assert_eq!(at("ab\ncd", 2), (1, 3));
        assert_eq!(at("ab\ncd", 3), (2, 1));
        assert_eq!(at("ab\ncd\n", 6), (3, 1));
    }

    #[test]
    fn an_offset_behind_the_end_is_the_end() {
        assert_eq!(at("ab\ncd", 99), (2, 3));
    }

    #[test]
    fn columns_are_characters() {
        let source = "é\n// äö x\n";
        assert_eq!(at(source, u32::try_from(source.find('x').unwrap()).unwrap()), (2, 7));
        assert_eq!(at(source, 2), (1, 2));
    }
}
