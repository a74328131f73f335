//! Charts with logarithmic axes, as SVG and as PNG: what comparisons and rooflines are drawn with.
//!
//! A chart is data; how it looks is decided here, once: dark on white, colours that people who confuse red and green tell apart
//! (Okabe and Ito 2008), and a font that comes with the library, so that a picture is the same everywhere.

use crate::base::units;
use crate::performance::compare::Comparison;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use std::sync::Once;
use std::time::Duration;

/// Pixels of a picture.
const SIZE: (u32, u32) = (900, 560);
const FONT: &str = "sans-serif";
const TEXT: RGBColor = RGBColor(40, 40, 40);
/// By the place of a series in its chart.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 130, 95),
    RGBColor(150, 60, 130),
    RGBColor(180, 120, 0),
    RGBColor(90, 90, 90),
];

/// The quantity of an axis.
#[derive(Clone, Copy)]
pub(crate) enum Axis {
    /// A plain number, such as a size.
    Number,
    /// Seconds.
    Seconds,
    /// Operations per second.
    FlopsPerSecond,
}

impl Axis {
    fn label(self, value: f64) -> String {
        match self {
            Axis::Number if value < 1000.0 => format!("{value}"),
            Axis::Number => units::scaled(value).trim_end().replace(".00", "").replace(".0", ""),
            Axis::Seconds => {
                let (factor, unit) = match value {
                    value if value >= 1.0 => (1.0, "s"),
                    value if value >= 0.999e-3 => (1e3, "ms"),
                    value if value >= 0.999e-6 => (1e6, "µs"),
                    _ => (1e9, "ns"),
                };
                format!("{} {unit}", (value * factor * 1000.0).round() / 1000.0)
            }
            Axis::FlopsPerSecond => units::scaled(value).trim_end().replace(".00", "").replace(".0", "") + "FLOP/s",
        }
    }
}

/// A series of points.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) style: Style,
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A line with a mark at each point.
    Marked,
    /// A line alone.
    Line,
    /// A dashed line.
    Dashed,
    /// Marks with the series' name beside them, and not in the legend.
    Named,
}

/// A chart with two logarithmic axes.
pub(crate) struct Chart {
    pub(crate) title: String,
    pub(crate) x: (Axis, &'static str),
    pub(crate) y: (Axis, &'static str),
    pub(crate) series: Vec<Series>,
    /// Vertical lines, with what they say.
    pub(crate) marks: Vec<(f64, String)>,
}

type Failed<B> = DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>;

impl Chart {
    /// The picture as SVG.
    pub(crate) fn svg(&self) -> String {
        let mut text = String::new();
        // Drawing into a string cannot fail.
        let _ = self.draw(&SVGBackend::with_string(&mut text, SIZE).into_drawing_area());
        text
    }

    /// The picture as PNG.
    pub(crate) fn png(&self) -> Vec<u8> {
        let mut pixels = vec![0; 3 * (SIZE.0 * SIZE.1) as usize];
        // Drawing into memory cannot fail, nor can writing to it.
        let _ = self.draw(&BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area());
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, SIZE.0, SIZE.1);
        encoder.set_color(png::ColorType::Rgb);
        let _ = encoder.write_header().and_then(|mut writer| writer.write_image_data(&pixels));
        file
    }

    /// The least and the largest of all finite values, with some room.
    fn range(&self, of: impl Fn(&(f64, f64)) -> f64) -> (f64, f64) {
        let values = self.series.iter().flat_map(|series| &series.points).map(of);
        let values = values.filter(|value| value.is_finite() && *value > 0.0);
        let (least, most) =
            values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        if least > most { (0.1, 10.0) } else { (least / 1.5, most * 1.8) }
    }

    fn draw<B: DrawingBackend>(&self, root: &DrawingArea<B, Shift>) -> Result<(), Failed<B>> {
        static FONTS: Once = Once::new();
        FONTS.call_once(|| {
            // It is a font.
            let _ = register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
        });
        let text = |size: i32| (FONT, size).into_font().color(&TEXT);
        let ((x0, x1), (mut y0, y1)) = (self.range(|point| point.0), self.range(|point| point.1));
        if !self.marks.is_empty() {
            // Room for their words.
            y0 /= 1.0 + 2.0 * self.marks.len() as f64;
        }
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(root)
            .caption(&self.title, text(21))
            .margin(18)
            .x_label_area_size(54)
            .y_label_area_size(104)
            .build_cartesian_2d((x0..x1).log_scale(), (y0..y1).log_scale())?;
        chart
            .configure_mesh()
            .x_desc(self.x.1)
            .y_desc(self.y.1)
            .x_labels(10)
            .y_labels(10)
            .x_label_formatter(&|value| self.x.0.label(*value))
            .y_label_formatter(&|value| self.y.0.label(*value))
            .label_style(text(14))
            .axis_desc_style(text(16))
            .axis_style(TEXT)
            .bold_line_style(RGBColor(205, 205, 205))
            .light_line_style(WHITE)
            .draw()?;
        for (series, colour) in self.series.iter().zip(COLOURS.into_iter().cycle()) {
            let line = colour.stroke_width(2);
            let points = series.points.iter().copied();
            match series.style {
                Style::Named => {
                    chart.draw_series(points.clone().map(|point| Circle::new(point, 5, colour.filled())))?;
                    chart.draw_series(points.map(|(x, y)| {
                        // Names that would leave the picture stand on the left of their marks.
                        let is_right = x.ln() > x0.ln() + 0.7 * (x1.ln() - x0.ln());
                        let shift = if is_right { -9 - 8 * series.name.chars().count() as i32 } else { 9 };
                        EmptyElement::at((x, y)) + Text::new(series.name.clone(), (shift, 3), text(14))
                    }))?;
                }
                Style::Dashed => {
                    chart
                        .draw_series(DashedLineSeries::new(points, 7, 5, line))?
                        .label(series.name.as_str())
                        .legend(move |(x, y)| PathElement::new([(x, y), (x + 9, y)], line));
                }
                Style::Marked | Style::Line => {
                    chart
                        .draw_series(LineSeries::new(points.clone(), line))?
                        .label(series.name.as_str())
                        .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], line));
                    if series.style == Style::Marked {
                        chart.draw_series(points.map(|point| Circle::new(point, 4, colour.filled())))?;
                    }
                }
            }
        }
        for (row, (x, what)) in (1..).zip(self.marks.iter().filter(|(x, _)| (x0..x1).contains(x))) {
            chart.draw_series(DashedLineSeries::new([(*x, y0), (*x, y1)], 4, 4, TEXT.stroke_width(1)))?;
            chart.draw_series([EmptyElement::at((*x, y0)) + Text::new(what.clone(), (7, -20 * row), text(14))])?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.9))
            .border_style(RGBColor(170, 170, 170))
            .label_font(text(14))
            .draw()?;
        root.present()
    }
}

/// Time over size: the CPU, the device with its copies, the kernel alone.
impl Comparison {
    /// The comparison as a picture: time over size, with the sizes from which on the device is faster.
    ///
    /// ```
    /// # use rumba::{compare::Comparison, compare::Contender, Module, Timings, test_kernels::{PTX, scale}};
    /// # struct Pair(Module, Vec<f32>);
    /// # impl Contender for Pair {
    /// #     fn cpu(&mut self) { self.1.iter_mut().for_each(|x| *x *= 1.0); }
    /// #     fn device(&mut self) -> rumba::Result<Timings> { self.0.for_each_timed(self.1.len(), scale(1.0, &mut self.1)) }
    /// #     fn agree(&self) -> Result<(), String> { Ok(()) }
    /// # }
    /// # let module = rumba::Device::new()?.load(PTX)?;
    /// let comparison = rumba::compare("scale", [1 << 8, 1 << 10], |n| Ok(Pair(module.clone(), vec![1.0; n])))?;
    /// assert!(comparison.svg().starts_with("<svg"));
    /// assert!(comparison.png().starts_with(b"\x89PNG"));
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn svg(&self) -> String {
        self.chart().svg()
    }

    /// The plot as PNG.
    pub fn png(&self) -> Vec<u8> {
        self.chart().png()
    }

    fn chart(&self) -> Chart {
        let series = |name: &str, time: fn(&crate::performance::compare::Size) -> Duration| Series {
            name: name.to_owned(),
            points: self.sizes.iter().map(|size| (size.n as f64, time(size).as_secs_f64())).collect(),
            style: Style::Marked,
        };
        let has_copies = self.copies();
        let crossovers: &[(Option<f64>, &str)] = match has_copies {
            true => {
                &[(self.kernel_crossover(), "the kernel is faster from"), (self.crossover(), "with its copies from")]
            }
            false => &[(self.kernel_crossover(), "the kernel is faster from")],
        };
        let mut marks = Vec::new();
        let first = self.sizes.first().map_or(0.0, |size| size.n as f64);
        for (crossover, what) in crossovers {
            if let Some(n) = crossover.filter(|n| *n > first) {
                marks.push((n, format!("{what} {} on", Axis::Number.label(n.round()))));
            }
        }
        Chart {
            title: format!("{}: CPU against device", self.name),
            x: (Axis::Number, "elements"),
            y: (Axis::Seconds, "time"),
            series: match has_copies {
                true => vec![
                    series("CPU", |size| size.cpu),
                    series("device, with copies from and to host memory", |size| size.device.total()),
                    series("kernel alone", |size| size.device.kernel),
                ],
                false => vec![series("CPU", |size| size.cpu), series("kernel", |size| size.device.kernel)],
            },
            marks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn labels_have_units() {
        let labels = [1e-6, 1e-3, 0.01, 1.0, 100e-9].map(|value| Axis::Seconds.label(value));
        assert_eq!(labels, ["1 µs", "1 ms", "10 ms", "1 s", "100 ns"]);
        assert_eq!([100.0, 1e6, 0.125].map(|n| Axis::Number.label(n)), ["100", "1 M", "0.125"]);
        assert_eq!(Axis::FlopsPerSecond.label(1e12), "1 TFLOP/s");
    }
}
