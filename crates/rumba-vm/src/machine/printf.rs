//! `vprintf`: C's format language over packed arguments, and where the text goes.
//!
//! The text that a kernel prints is collected while it runs, and handed over when it ends, or when much text has been
//! collected.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The largest number of bytes collected before they are handed over.
const BUFFER: usize = 1 << 20;

/// The receiver of printed text.
pub type Sink = Box<dyn FnMut(&[u8]) + Send>;

/// Collects what kernels print.
pub(crate) struct Output {
    state: Mutex<(Vec<u8>, Sink)>,
    printed: AtomicU64,
}

impl Output {
    pub(crate) fn new() -> Self {
        let stdout: Sink = Box::new(|text| {
            // As with C's printf on a device, a closed standard output is not reported.
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(text).and_then(|()| out.flush());
        });
        Self { state: Mutex::new((Vec::new(), stdout)), printed: AtomicU64::new(0) }
    }

    /// An output that collects the text in memory, and this memory.
    pub(crate) fn collecting() -> (Self, Arc<Mutex<Vec<u8>>>) {
        let kept = Arc::<Mutex<Vec<u8>>>::default();
        let sink = kept.clone();
        let output = Self::new();
        output.set(Box::new(move |text: &[u8]| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).extend(text);
        }));
        (output, kept)
    }

    /// Hands text over to `sink` from now on.
    pub(crate) fn set(&self, sink: Sink) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = sink;
    }

    /// The number of calls that have printed.
    pub(crate) fn printed(&self) -> u64 {
        self.printed.load(Ordering::Relaxed)
    }

    /// Adds text.
    pub(crate) fn print(&self, text: &[u8]) {
        self.printed.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.extend_from_slice(text);
        if state.0.len() >= BUFFER {
            let (buffer, sink) = &mut *state;
            sink(buffer);
            buffer.clear();
        }
    }

    /// Hands over the collected text.
    pub(crate) fn flush(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (buffer, sink) = &mut *state;
        if !buffer.is_empty() {
            sink(buffer);
            buffer.clear();
        }
    }
}

/// The source of the bytes of arguments and strings.
pub(crate) trait Arguments {
    /// The next argument, which has `bytes` bytes and is aligned to them.
    fn next(&mut self, bytes: usize) -> u64;
    /// The string at an address, at most `limit` bytes of it.
    fn string(&mut self, address: u64, limit: Option<usize>) -> Vec<u8>;
}

#[derive(Debug, Clone, Copy, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

/// The largest text of one call, in bytes; the rest is lost. A GPU's printf buffer has this size.
const LONGEST_TEXT: usize = BUFFER;

/// Formats as C's printf does, and returns the number of arguments that were used. The result is cut at [`LONGEST_TEXT`].
pub(crate) fn format(text: &[u8], arguments: &mut dyn Arguments, out: &mut Vec<u8>) -> i32 {
    let mut used = 0;
    let mut rest = text;
    while let Some(position) = rest.iter().position(|byte| *byte == b'%') {
        out.extend_from_slice(&rest[..position]);
        // A directive adds no more than its width and a string: see the bounds below.
        if out.len() >= LONGEST_TEXT {
            out.truncate(LONGEST_TEXT);
            return used;
        }
        let start = &rest[position..];
        match directive(&start[1..], arguments, out, &mut used) {
            Some(length) => rest = &start[1 + length..],
            None => {
                out.push(b'%');
                rest = &start[1..];
            }
        }
    }
    out.extend_from_slice(rest);
    out.truncate(LONGEST_TEXT);
    used
}

/// Formats one directive, given what follows its percent sign; gives its length, or nothing if it is none.
fn directive(text: &[u8], arguments: &mut dyn Arguments, out: &mut Vec<u8>, used: &mut i32) -> Option<usize> {
    let mut at = 0;
    let mut spec = Spec::default();
    loop {
        match text.get(at)? {
            b'-' => spec.left = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.alternate = true,
            b'0' => spec.zero = true,
            _ => break,
        }
        at += 1;
    }
    let mut next = |bytes: usize| {
        *used += 1;
        arguments.next(bytes)
    };
    if text.get(at) == Some(&b'*') {
        let width = next(4) as u32 as i32;
        spec.left |= width < 0;
        spec.width = width.unsigned_abs() as usize;
        at += 1;
    } else {
        spec.width = number(text, &mut at);
    }
    if text.get(at) == Some(&b'.') {
        at += 1;
        if text.get(at) == Some(&b'*') {
            let precision = next(4) as u32 as i32;
            spec.precision = usize::try_from(precision).ok();
            at += 1;
        } else {
            spec.precision = Some(number(text, &mut at));
        }
    }
    spec.width = spec.width.min(LONGEST_TEXT);
    spec.precision = spec.precision.map(|precision| precision.min(4096));
    let mut bits = 32;
    loop {
        match text.get(at)? {
            b'h' => bits = if bits == 16 { 8 } else { 16 },
            b'l' | b'j' | b'z' | b't' | b'L' | b'q' => bits = 64,
            _ => break,
        }
        at += 1;
    }
    let conversion = *text.get(at)?;
    at += 1;
    match conversion {
        b'%' => out.push(b'%'),
        b'd' | b'i' => {
            let raw = next(if bits == 64 { 8 } else { 4 });
            let value = match bits {
                8 => i64::from(raw as i8),
                16 => i64::from(raw as i16),
                32 => i64::from(raw as i32),
                _ => raw.cast_signed(),
            };
            integer(value.unsigned_abs().to_string(), sign(value < 0, spec), spec, out);
        }
        b'u' | b'x' | b'X' | b'o' => {
            let raw = next(if bits == 64 { 8 } else { 4 });
            let value = if bits == 64 { raw } else { raw & ((1 << bits) - 1) };
            let (digits, prefix) = match conversion {
                b'u' => (value.to_string(), ""),
                b'x' => (format!("{value:x}"), if spec.alternate && value != 0 { "0x" } else { "" }),
                b'X' => (format!("{value:X}"), if spec.alternate && value != 0 { "0X" } else { "" }),
                _ => (format!("{value:o}"), if spec.alternate && value != 0 { "0" } else { "" }),
            };
            integer(digits, prefix, spec, out);
        }
        b'p' => {
            let value = next(8);
            let text = if value == 0 { "(nil)".to_owned() } else { format!("{value:#x}") };
            pad("", text.as_bytes(), Spec { zero: false, ..spec }, out);
        }
        b'c' => {
            let value = next(4) as u8;
            pad("", &[value], Spec { zero: false, ..spec }, out);
        }
        b's' => {
            let address = next(8);
            let text = if address == 0 { b"(null)".to_vec() } else { arguments.string(address, spec.precision) };
            pad("", &text, Spec { zero: false, ..spec }, out);
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            let value = f64::from_bits(next(8));
            float(value, conversion, spec, out);
        }
        b'n' => {
            next(8);
        }
        _ => return None,
    }
    Some(at)
}

fn number(text: &[u8], at: &mut usize) -> usize {
    let mut value: usize = 0;
    while let Some(digit) = text.get(*at).filter(|byte| byte.is_ascii_digit()) {
        value = value.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
        *at += 1;
    }
    value
}

fn sign(negative: bool, spec: Spec) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

fn integer(mut digits: String, prefix: &str, mut spec: Spec, out: &mut Vec<u8>) {
    if let Some(precision) = spec.precision {
        spec.zero = false;
        if precision == 0 && digits == "0" {
            digits.clear();
        }
        if digits.len() < precision {
            digits.insert_str(0, &"0".repeat(precision - digits.len()));
        }
    }
    pad(prefix, digits.as_bytes(), spec, out);
}

/// Writes a sign or prefix and a text, filled up to the width.
fn pad(prefix: &str, text: &[u8], spec: Spec, out: &mut Vec<u8>) {
    let missing = spec.width.saturating_sub(prefix.len() + text.len());
    let fill = |out: &mut Vec<u8>, byte| out.extend(std::iter::repeat_n(byte, missing));
    if !spec.left && !spec.zero {
        fill(out, b' ');
    }
    out.extend_from_slice(prefix.as_bytes());
    if !spec.left && spec.zero {
        fill(out, b'0');
    }
    out.extend_from_slice(text);
    if spec.left {
        fill(out, b' ');
    }
}

fn float(value: f64, conversion: u8, spec: Spec, out: &mut Vec<u8>) {
    let upper = conversion.is_ascii_uppercase();
    let prefix = sign(value.is_sign_negative() && !value.is_nan() || value.is_nan() && value.is_sign_negative(), spec);
    let magnitude = value.abs();
    if !value.is_finite() {
        let text = if value.is_nan() { "nan" } else { "inf" };
        let text = if upper { text.to_uppercase() } else { text.to_owned() };
        return pad(prefix, text.as_bytes(), Spec { zero: false, ..spec }, out);
    }
    let text = match conversion.to_ascii_lowercase() {
        b'f' => fixed(magnitude, spec.precision.unwrap_or(6), spec.alternate),
        b'e' => scientific(magnitude, spec.precision.unwrap_or(6), spec.alternate),
        b'g' => general(magnitude, spec),
        _ => hexadecimal(magnitude, spec.precision),
    };
    let text = if upper { text.to_uppercase() } else { text };
    pad(prefix, text.as_bytes(), spec, out);
}

fn fixed(value: f64, precision: usize, point: bool) -> String {
    let mut text = format!("{value:.precision$}");
    if precision == 0 && point {
        text.push('.');
    }
    text
}

fn scientific(value: f64, precision: usize, point: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = if precision == 0 && point { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", exponent.unsigned_abs())
}

fn general(value: f64, spec: Spec) -> String {
    let precision = spec.precision.unwrap_or(6).max(1);
    let rounded = format!("{value:.*e}", precision - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let trim = |text: String| {
        if spec.alternate || !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if exponent < -4 || exponent >= precision as i32 {
        let text = scientific(value, precision - 1, spec.alternate);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        return format!("{}e{exponent}", trim(mantissa.to_owned()));
    }
    trim(fixed(value, (precision as i32 - 1 - exponent).max(0) as usize, spec.alternate))
}

fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (mut exponent, mut fraction) = ((bits >> 52) as i64 - 1023, bits & ((1 << 52) - 1));
    let mut lead = 1u64;
    if exponent == -1023 {
        lead = 0;
        exponent = if fraction == 0 { 0 } else { -1022 };
    }
    if let Some(precision) = precision.filter(|precision| *precision < 13) {
        let drop = 52 - 4 * precision as u32;
        let mut whole = (lead << 52) | fraction;
        let (half, odd) = (1u64 << (drop - 1), whole >> drop & 1);
        whole = (whole + half - 1 + odd) >> drop << drop;
        lead = whole >> 52;
        fraction = whole & ((1 << 52) - 1);
    }
    let mut digits = format!("{fraction:013x}");
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(precision) => {
            digits.truncate(precision);
            digits.push_str(&"0".repeat(precision.saturating_sub(13)));
        }
    }
    let point = if digits.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("0x{lead}{point}{digits}p{sign}{}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::{Arguments, LONGEST_TEXT, format};

    struct Fixed(Vec<u64>);

    impl Arguments for Fixed {
        fn next(&mut self, _: usize) -> u64 {
            if self.0.is_empty() { 0 } else { self.0.remove(0) }
        }

        fn string(&mut self, _: u64, limit: Option<usize>) -> Vec<u8> {
            let text = b"text".to_vec();
            text[..limit.unwrap_or(4).min(4)].to_vec()
        }
    }

    fn check(text: &str, arguments: &[u64], expected: &str) {
        let mut out = Vec::new();
        format(text.as_bytes(), &mut Fixed(arguments.to_vec()), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
    }

    #[test]
    fn integers() {
        check("%d|%5d|%-5d|%05d|%+d|% d", &[1, 2, 3, 4, 5, 6], "1|    2|3    |00004|+5| 6");
        check("%d %i %u", &[-1i32 as u32 as u64, -5i32 as u32 as u64, 0xffff_ffff], "-1 -5 4294967295");
        check(
            "%ld %lld %lu",
            &[-1i64 as u64, i64::MIN as u64, u64::MAX],
            "-1 -9223372036854775808 18446744073709551615",
        );
        check("%hhd %hd %hhu", &[0x1ff, 0x1_8000, 0x1ff], "-1 -32768 255");
        check("%x %X %#x %#o %08.3x|%.0d|", &[255, 255, 255, 8, 5, 0], "ff FF 0xff 010      005||");
        check("%*d|%-*d|%.*d", &[4, 7, 4, 7, 3, 7], "   7|7   |007");
    }

    #[test]
    fn floats() {
        let bits = |value: f64| value.to_bits();
        check(
            "%f %.2f %8.3f %-8.1f|",
            &[bits(1.5), bits(2.345), bits(-1.0), bits(2.0)],
            "1.500000 2.35   -1.000 2.0     |",
        );
        check("%e %.0e %E", &[bits(12345.678), bits(5.0), bits(1e-10)], "1.234568e+04 5e+00 1.000000E-10");
        check(
            "%g %g %g %g",
            &[bits(0.0001), bits(1e-5), bits(123456789.0), bits(100000.0)],
            "0.0001 1e-05 1.23457e+08 100000",
        );
        check("%f %F %5.1f", &[bits(f64::INFINITY), bits(f64::NAN), bits(f64::NEG_INFINITY)], "inf NAN  -inf");
        check("%a %a %.1a", &[bits(1.0), bits(0.5), bits(1.96875)], "0x1p+0 0x1p-1 0x2.0p+0");
        check("%#.0f %+.1f", &[bits(3.0), bits(0.25)], "3. +0.2");
    }

    #[test]
    fn texts() {
        check("%s|%6s|%-6s|%.2s|%c|%%", &[1, 1, 1, 1, 65], "text|  text|text  |te|A|%");
        check("%p %p %s", &[0x10, 0, 0], "0x10 (nil) (null)");
        check("100%", &[], "100%");
        check("%y", &[], "%y");
    }
    /// A format of some kilobytes asks for gigabytes.
    #[test]
    fn a_text_is_cut_where_a_gpu_has_no_room_either() {
        let wide = format!("%{LONGEST_TEXT}d");
        let half = format!("%{}d", LONGEST_TEXT / 2);
        for (text, expected) in [
            // Near misses: texts that are cut to exactly the room left.
            (wide.clone(), LONGEST_TEXT),
            (half.repeat(2), LONGEST_TEXT),
            (format!("{half}and no more"), LONGEST_TEXT / 2 + 11),
            (wide.repeat(1000), LONGEST_TEXT),
            (format!("{wide}and more"), LONGEST_TEXT),
            (half.repeat(3), LONGEST_TEXT),
            (format!("%{}d", usize::MAX).repeat(1000), LONGEST_TEXT),
            ("%*d".repeat(1000), LONGEST_TEXT),
            (format!("%-{LONGEST_TEXT}s%s"), LONGEST_TEXT),
        ] {
            let mut out = Vec::new();
            format(text.as_bytes(), &mut Fixed(vec![1 << 30; 2000]), &mut out);
            assert_eq!(out.len(), expected, "{}", &text[..text.len().min(40)]);
            assert!(out.capacity() <= 4 * LONGEST_TEXT, "{} bytes", out.capacity());
        }
    }
}
