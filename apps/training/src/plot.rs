//! The curve of a training as a picture.

use anyhow::{Context as _, Result};
use plotters::prelude::{BitMapBackend, ChartBuilder, IntoDrawingArea as _, LineSeries, SeriesLabelPosition};
use plotters::style::{BLUE, Color as _, FontStyle, RED, WHITE, register_font};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Once;

const SIZE: (u32, u32) = (900, 560);
const FONT: &str = "DejaVu Sans";

/// Draws the loss of each step, and after which steps what share of the tested digits was recognised.
///
/// # Errors
/// The system's, for a file that cannot be written.
pub fn draw(file: &Path, losses: &[(u64, f32)], recognised: &[(u64, f64)]) -> Result<()> {
    let mut pixels = vec![0; 3 * (SIZE.0 * SIZE.1) as usize];
    paint(&mut pixels, losses, recognised).map_err(|error| anyhow::anyhow!("the curve cannot be drawn: {error}"))?;
    let target = File::create(file).with_context(|| format!("could not create {}", file.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(target), SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header()?.write_image_data(&pixels)?;
    Ok(())
}

fn paint(
    pixels: &mut [u8],
    losses: &[(u64, f32)],
    recognised: &[(u64, f64)],
) -> Result<(), Box<dyn std::error::Error>> {
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        // It is a font.
        let _ = register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
    });
    let steps = losses.iter().map(|&(step, _)| step);
    let (first, last) = (steps.clone().min().unwrap_or(0), steps.max().unwrap_or(0) + 1);
    let most = losses.iter().map(|&(_, loss)| loss).fold(0.0_f32, f32::max).max(0.1) * 1.05;
    let root = BitMapBackend::with_buffer(pixels, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("Training on handwritten digits", (FONT, 22))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .right_y_label_area_size(64)
        .build_cartesian_2d(first..last, 0.0..most)?
        .set_secondary_coord(first..last, 0.0..100.0);
    chart
        .configure_mesh()
        .x_desc("steps")
        .y_desc("loss (cross-entropy)")
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 16))
        .draw()?;
    chart
        .configure_secondary_axes()
        .y_desc("recognised of the tested digits, %")
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 16))
        .draw()?;
    chart
        .draw_series(LineSeries::new(losses.iter().copied(), BLUE.stroke_width(2)))?
        .label("loss")
        .legend(|(x, y)| plotters::element::PathElement::new([(x, y), (x + 20, y)], BLUE.stroke_width(2)));
    chart
        .draw_secondary_series(LineSeries::new(recognised.iter().copied(), RED.stroke_width(2)).point_size(4))?
        .label("recognised")
        .legend(|(x, y)| plotters::element::PathElement::new([(x, y), (x + 20, y)], RED.stroke_width(2)));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleRight)
        .background_style(WHITE.filled())
        .border_style(plotters::style::BLACK)
        .label_font((FONT, 14))
        .draw()?;
    root.present()?;
    Ok(())
}
