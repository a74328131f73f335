//! Numbers as people read them: three significant digits and a unit that fits.

use std::time::Duration;

/// "2.50 ms".
pub(crate) fn time(time: Duration) -> String {
    match time.as_secs_f64() {
        s if s >= 1.0 => format!("{} s", three(s)),
        s if s >= 1e-3 => format!("{} ms", three(s * 1e3)),
        s => format!("{} µs", three(s * 1e6)),
    }
}

/// "12.3 %".
pub(crate) fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent >= 10.0 => format!("{percent:.0} %"),
        percent => format!("{percent:.1} %"),
    }
}

/// "4.81 T" of 4.81e12: the unit comes behind it.
pub(crate) fn scaled(value: f64) -> String {
    let prefixes = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    match prefixes.iter().find(|(factor, _)| value >= *factor) {
        Some((factor, prefix)) => format!("{}{prefix}", three(value / factor)),
        None => format!("{} ", three(value)),
    }
}

/// Three significant digits, if it is below 1000.
fn three(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{percent, scaled, time};
    use std::time::Duration;

    #[test]
    fn three_digits_and_a_unit() {
        let times = [2.5, 0.25, 0.025, 0.0025, 0.000_25, 0.000_002_5, 0.0];
        let times = times.map(|seconds| time(Duration::from_secs_f64(seconds)));
        assert_eq!(times, ["2.50 s", "250 ms", "25.0 ms", "2.50 ms", "250 µs", "2.50 µs", "0.00 µs"]);
        assert_eq!([percent(0.5), percent(0.012)], ["50 %", "1.2 %"]);
        assert_eq!([scaled(4.814e12), scaled(50.0)], ["4.81 T", "50.0 "]);
    }
}
