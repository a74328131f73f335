//! Pictures in files of the format PNG.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;

/// A picture of red, green and blue, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels of a row.
    pub columns: usize,
    /// Pixels of a column.
    pub rows: usize,
    /// Three numbers for each pixel.
    pub pixels: Vec<u8>,
}

impl Picture {
    /// A picture of numbers from 0 to 1; those beyond are cut off.
    ///
    /// # Panics
    /// Unless there are three numbers for each pixel.
    #[must_use]
    pub fn of_numbers(numbers: &[f32], [rows, columns]: [usize; 2]) -> Picture {
        assert_eq!(numbers.len(), rows * columns * 3, "three numbers for each pixel");
        let shade = |number: &f32| (number.clamp(0.0, 1.0) * 255.0).round() as u8;
        Picture { columns, rows, pixels: numbers.iter().map(shade).collect() }
    }

    /// The pixels as numbers from 0 to 1.
    pub fn numbers(&self) -> Vec<f32> {
        self.pixels.iter().map(|&shade| f32::from(shade) / 255.0).collect()
    }

    /// Reads a PNG. Transparent pixels are blended with white.
    ///
    /// # Errors
    /// [`Error::Picture`].
    pub fn read(file: &Path) -> Result<Picture> {
        let error = |error: String| Error::Picture { file: file.to_owned(), done: "read", error };
        let opened = File::open(file).map_err(|reason| error(reason.to_string()))?;
        let decode = || -> Result<_, png::DecodingError> {
            let mut decoder = png::Decoder::new(BufReader::new(opened));
            decoder.set_transformations(png::Transformations::normalize_to_color8());
            let mut reader = decoder.read_info()?;
            let size = reader.output_buffer_size();
            let mut bytes = vec![0; size.ok_or(png::DecodingError::LimitsExceeded)?];
            let frame = reader.next_frame(&mut bytes)?;
            bytes.truncate(frame.buffer_size());
            Ok((frame, bytes))
        };
        let (frame, bytes) =
            decode().map_err(|reason| error(format!("{reason}; pictures are files of the format PNG")))?;
        let on_white = |shade: u8, alpha: u8| {
            let (shade, alpha) = (u32::from(shade), u32::from(alpha));
            ((shade * alpha + 255 * (255 - alpha) + 127) / 255) as u8
        };
        let pixels = match frame.color_type {
            png::ColorType::Rgb => bytes,
            png::ColorType::Rgba => {
                let pixel = |&[r, g, b, a]: &[u8; 4]| [r, g, b].map(|shade| on_white(shade, a));
                bytes.as_chunks().0.iter().flat_map(pixel).collect()
            }
            png::ColorType::Grayscale => bytes.iter().flat_map(|&shade| [shade; 3]).collect(),
            png::ColorType::GrayscaleAlpha => {
                let pixel = |&[shade, a]: &[u8; 2]| [on_white(shade, a); 3];
                bytes.as_chunks().0.iter().flat_map(pixel).collect()
            }
            other => return Err(error(format!("its colours are {other:?}"))),
        };
        Ok(Picture { columns: frame.width as usize, rows: frame.height as usize, pixels })
    }

    /// Writes a PNG.
    ///
    /// # Errors
    /// [`Error::Picture`].
    pub fn write(&self, file: &Path) -> Result<()> {
        let error = |error: String| Error::Picture { file: file.to_owned(), done: "written", error };
        let created = File::create(file).map_err(|reason| error(reason.to_string()))?;
        let (columns, rows) = (self.columns as u32, self.rows as u32);
        let mut encoder = png::Encoder::new(BufWriter::new(created), columns, rows);
        encoder.set_color(png::ColorType::Rgb);
        let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&self.pixels));
        written.map_err(|reason| error(reason.to_string()))
    }

    /// Resizes the picture, by the cubic filter of Keys 1981 with a = -1/2, widened in proportion when shrinking.
    #[must_use]
    pub fn resized(&self, [rows, columns]: [usize; 2]) -> Picture {
        if [rows, columns] == [self.rows, self.columns] {
            return self.clone();
        }
        let numbers = self.numbers();
        // Rows become shorter or longer, then columns.
        let across = taps(self.columns, columns);
        let mut wide = Vec::with_capacity(self.rows * columns * 3);
        for row in numbers.chunks_exact(self.columns * 3) {
            for (first, weights) in &across {
                wide.extend((0..3).map(|color| -> f32 {
                    let tap = |(index, weight): (usize, &f32)| weight * row[(first + index) * 3 + color];
                    weights.iter().enumerate().map(tap).sum()
                }));
            }
        }
        let mut pixels = Vec::with_capacity(rows * columns * 3);
        for (first, weights) in &taps(self.rows, rows) {
            for place in 0..columns * 3 {
                let tap = |(index, weight): (usize, &f32)| weight * wide[(first + index) * columns * 3 + place];
                pixels.push(weights.iter().enumerate().map(tap).sum());
            }
        }
        Picture::of_numbers(&pixels, [rows, columns])
    }
}

/// For each place of a line of the new length, where the pixels begin that it is made of, and their weights.
fn taps(old: usize, new: usize) -> Vec<(usize, Vec<f32>)> {
    let scale = old as f64 / new as f64;
    let width = scale.max(1.0);
    let cubic = |x: f64| match x.abs() {
        x if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
        x if x < 2.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
        _ => 0.0,
    };
    let place = |place: usize| {
        let center = (place as f64 + 0.5) * scale;
        let first = (center - 2.0 * width + 0.5).max(0.0) as usize;
        let end = ((center + 2.0 * width + 0.5) as usize).min(old);
        let weight = |pixel: usize| cubic((pixel as f64 + 0.5 - center) / width);
        let sum: f64 = (first..end).map(weight).sum();
        (first, (first..end).map(|pixel| (weight(pixel) / sum) as f32).collect())
    };
    (0..new).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::Picture;

    fn ramp(rows: usize, columns: usize) -> Picture {
        let pixels = (0..rows * columns * 3).map(|i| (i / 3 % columns * 20) as u8).collect();
        Picture { columns, rows, pixels }
    }

    #[test]
    fn a_line_stays_a_line() {
        let large = ramp(3, 12).resized([6, 24]);
        let row: Vec<u8> = large.pixels[..24 * 3].iter().step_by(3).copied().collect();
        // Away from the ends.
        for column in 4..20 {
            let expected = (column as f32 + 0.5) * 10.0 - 10.0;
            assert!((f32::from(row[column]) - expected).abs() <= 1.0, "{row:?}");
        }
        assert_eq!(large.resized([3, 12]).pixels.len(), 3 * 12 * 3);
        let plain = Picture { columns: 5, rows: 4, pixels: vec![77; 60] };
        assert_eq!(plain.resized([9, 2]).pixels, [77; 54]);
    }

    #[test]
    fn files_have_what_was_written() {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let file = folder.path().join("picture.png");
        let picture = ramp(3, 5);
        picture.write(&file).expect("it is written");
        assert_eq!(Picture::read(&file).expect("it is read"), picture);
        std::fs::write(&file, "no picture").expect("it is written");
        let error = Picture::read(&file).expect_err("it is none").to_string();
        assert!(error.contains("picture.png cannot be read: "), "{error}");
    }
}
