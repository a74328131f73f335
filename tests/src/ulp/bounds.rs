//! The table of worst errors, `bounds.txt`: a line for each function, type and library.

use super::measure::Measured;
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;

const TEXT: &str = include_str!("bounds.txt");

/// The largest error known, for each measured function; none where the table has no line.
#[derive(Debug, Default)]
pub struct Bounds {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    key: [String; 3],
    ulps: f64,
}

impl Bounds {
    /// The table.
    ///
    /// # Errors
    /// A line that does not read, by number.
    pub fn read() -> Result<Self> {
        let mut lines = Vec::new();
        for (number, line) in TEXT.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let mut words = line.split_whitespace().map(str::to_owned);
            let mut word = || words.next().with_context(|| format!("line {} of bounds.txt is short", number + 1));
            let key = [word()?, word()?, word()?];
            let ulps = word()?.parse().with_context(|| format!("line {} of bounds.txt", number + 1))?;
            lines.push(Line { key, ulps });
        }
        Ok(Self { lines })
    }

    /// The bound of a function.
    pub fn of(&self, measured: &Measured) -> Option<f64> {
        let key = [measured.function, measured.ty, measured.library];
        self.lines.iter().find(|line| line.key == key).map(|line| line.ulps)
    }

    /// Compares, naming everything that is worse than its bound.
    ///
    /// # Errors
    /// The functions with larger errors, or without a bound.
    pub fn check(&self, all: &[Measured]) -> Result<()> {
        let mut worse = String::new();
        for measured in all {
            let bound = self.of(measured);
            if bound.is_none_or(|bound| measured.ulps > bound) {
                let Measured { function, ty, library, ulps, input } = measured;
                let bound = bound.map_or("no bound".to_owned(), |bound| format!("{bound} ulp in bounds.txt"));
                writeln!(worse, "{function} of {ty}, {library}: {ulps:.3} ulp at {input}, {bound}")?;
            }
        }
        if worse.is_empty() {
            return Ok(());
        }
        bail!("larger errors than known; `cargo xtask ulp --bless` writes them down\n{worse}")
    }

    /// The table with what was measured, where that is worse: rounded up to a hundredth, and with a tenth more where
    /// inputs were samples.
    pub fn blessed(&self, all: &[Measured], exhaustive: bool) -> String {
        let mut text: String =
            TEXT.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        for measured in all {
            let all_inputs = exhaustive && measured.ty == "f32" && !measured.input.contains(',');
            let margin = if all_inputs || measured.ulps == 0.0 { 1.0 } else { 1.1 };
            let rounded = (measured.ulps * margin * 100.0).ceil() / 100.0;
            let ulps = self.of(measured).map_or(rounded, |bound| if measured.ulps > bound { rounded } else { bound });
            let Measured { function, ty, library, .. } = measured;
            text += &format!("{function:14} {ty} {library:9} {ulps}\n");
        }
        text
    }
}
