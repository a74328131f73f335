//! The software device's counts of a launch's memory traffic match NVIDIA's profiler on an H200 (`traffic.txt`).

use std::path::Path;

use serde_json::Value;

/// As in the table: requests and sectors of loads, of stores; wavefronts of loads, of stores.
type Traffic = [u64; 6];

/// The software device's counterpart of a GPU's counter.
#[derive(Clone, Copy, Debug)]
enum Expected {
    Equal(u64),
    /// `!`: for the reason of its row.
    Different(u64),
    /// `~`: nothing is known of it.
    Any,
}

/// A launch of the table.
struct Row<'t> {
    kernel: &'t str,
    expected: [Expected; 6],
    /// The reason for the marks of the row, if any.
    reason: Option<&'t str>,
}

fn rows(text: &str) -> Vec<Row<'_>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let number = |digits: &str| digits.parse().expect("a number");
    let expected = |word: &str| match word.split_at(1) {
        ("~", digits) => {
            let _: u64 = number(digits);
            Expected::Any
        }
        ("!", digits) => Expected::Different(number(digits)),
        _ => Expected::Equal(number(word)),
    };
    let row = |line| {
        let (counts, reason) = str::split_once(line, "  # ").map_or((line, None), |(counts, why)| (counts, Some(why)));
        let mut words = counts.split_whitespace();
        let kernel = words.next().expect("a kernel");
        let expected = std::array::from_fn(|_| expected(words.next().expect("six numbers")));
        Row { kernel, expected, reason }
    };
    lines.map(row).collect()
}

/// The sums over the instructions of a launch.
fn traffic(launch: &Value) -> Traffic {
    let mut sums = [0; 6];
    for instruction in launch["instructions"].as_array().expect("a list") {
        let text = instruction["instruction"].as_str().expect("a text");
        let opcode = text.split_whitespace().find(|word| !word.starts_with('@'));
        let is_store = !opcode.expect("an opcode").starts_with("ld");
        let mut add = |at: usize, counts: &Value, name: &str| sums[at] += counts[name].as_u64().unwrap_or(0);
        add(if is_store { 2 } else { 0 }, &instruction["global"], "requests");
        add(if is_store { 3 } else { 1 }, &instruction["global"], "sectors");
        add(if is_store { 5 } else { 4 }, &instruction["shared"], "wavefronts");
    }
    sums
}

#[test]
fn traffic_is_counted_as_on_a_gpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("profile.json");
    let ran = test_processes::emulated(Path::new(env!("CARGO_BIN_EXE_once")))
        .env("RUMBA_DEVICE", "soft")
        .env("RUMBA_PROFILE_JSON", &file)
        .output()
        .expect("the program starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = std::fs::read_to_string(&file).expect("launches were written down");
    let table = rows(include_str!("../../traffic.txt"));
    let kernel = |launch: &Value| launch["kernel"].as_str().expect("a name").to_owned();
    // A kernel that no profiler has measured has no row.
    let launches: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .filter(|launch| table.iter().any(|row| row.kernel == kernel(launch)))
        .collect();
    let launched: Vec<String> = launches.iter().map(kernel).collect();
    assert_eq!(launched, table.iter().map(|row| row.kernel).collect::<Vec<_>>());
    let mut equal = 0;
    for (launch, row) in launches.iter().zip(&table) {
        let counted = traffic(launch);
        let is_marked = row.expected.iter().any(|expected| !matches!(expected, Expected::Equal(_)));
        assert_eq!(is_marked, row.reason.is_some(), "{}: marks have a reason", row.kernel);
        for (counted, expected) in counted.into_iter().zip(row.expected) {
            let is_right = match expected {
                Expected::Equal(there) => counted == there,
                Expected::Different(there) => counted != there,
                Expected::Any => true,
            };
            assert!(is_right, "{}: {counted} instead of {:?}", row.kernel, row.expected);
        }
        equal += u32::from(!is_marked);
    }
    assert!(equal >= 10, "only {equal} launches are compared");
}
