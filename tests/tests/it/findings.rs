//! Findings that let a kernel go on: `RUMBA_CHECK`, through the driver, with lines of Rust.

use rumba::Device;
use test_kernels::faulty as kernels;

use test_processes::alone;

#[test]
fn a_missing_barrier_is_told_with_the_lines_of_both_sides() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("findings.json");
    let environment = [
        ("RUMBA_DEVICE", "soft"),
        ("RUMBA_CHECK", "mem, race"),
        ("RUMBA_CHECK_EXIT", "0"),
        ("RUMBA_CHECK_JSON", file.to_str().expect("the folder's name is UTF-8")),
    ];
    let launched = alone(&environment, || {
        let device = Device::new()?;
        let module = device.load_named("faulty.ptx", include_str!(env!("FAULTY_PTX")))?;
        let x: Vec<u32> = (0..128).collect();
        let mut y = [0; 128];
        // SAFETY: the kernel has a data race, which does no harm on the software device.
        let call = unsafe { kernels::missing_barrier(&x, &mut y[..]) };
        module.launch((1, 128), call)?;
        Ok(device.synchronize()?)
    });
    if launched.is_none() {
        return;
    }
    let text = std::fs::read_to_string(&file).expect("there are findings");

    let objects: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect();
    let [finding, counts] = &objects[..] else { panic!("{text}") };
    assert_eq!((&counts["launches"], &counts["errors"], &counts["kernels"]), (&1.into(), &1.into(), &1.into()));
    assert_eq!(finding["kind"], "DataRace");
    assert_eq!(finding["kernel"], "missing_barrier");
    let line = |side: usize| {
        let places = finding["sides"][side]["locations"].as_array().expect("a list");
        let place = places
            .iter()
            .find(|place| place["file"].as_str().is_some_and(|file| file.ends_with("kernels/src/faulty.rs")));
        place.unwrap_or_else(|| panic!("{text}"))["line"].as_u64()
    };
    let source = include_str!("../../kernels/src/faulty.rs");
    let line_of = |code: &str| source.lines().position(|line| line.contains(code)).map(|line| line as u64 + 1);
    let mut lines = [line(0), line(1)];
    lines.sort_unstable();
    assert_eq!(lines, [line_of("tile.add(i).write"), line_of("tile.add(127 - i).read")]);
}
