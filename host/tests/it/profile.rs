//! Profiles, from the view of the profiled program.

use rumba::test_kernels::{PTX, saxpy, scale};
use rumba::{Device, Error, Profile, Profiler, estimate::Cost, nvtx::range, profile, profile::Operation, split};
use std::sync::mpsc::channel;
use std::thread;
use test_processes::alone;

#[test]
fn everything_that_ran_is_there() {
    alone(&[], || {
        let device = Device::new()?;
        let module = device.load(PTX)?;
        let (result, profile) = profile(|| {
            let x = device.buffer_from(&vec![1.0_f32; 1000])?;
            let mut y = device.zeros::<f32>(1000)?;
            for _ in 0..3 {
                module.launch((4, 256), saxpy(2.0, &x, &mut y))?;
            }
            module.launch((8, 128), scale(0.5, &mut y))?;
            y.to_vec()
        })?;
        assert_eq!(result?, [3.0; 1000]);

        let kernels = profile.kernels();
        let saxpy = kernels.iter().find(|row| row.name == "saxpy").expect("it was launched");
        assert_eq!(saxpy.calls, 3);
        assert!(saxpy.min <= saxpy.mean() && saxpy.mean() <= saxpy.max && saxpy.max <= saxpy.total);
        let facts = saxpy.launch.as_ref().expect("a kernel has them");
        assert_eq!((facts.launched.grid, facts.launched.block), ([4, 1, 1], [256, 1, 1]));
        assert_eq!(facts.occupancy.threads, 256);

        let copies = profile.copies();
        let bytes = |name: &str| copies.iter().find(|row| row.name == name).and_then(|row| row.bytes);
        assert_eq!(bytes("copy host to device"), Some(4000));
        assert_eq!(bytes("copy device to host"), Some(4000));
        assert_eq!(bytes("fill"), Some(4000));

        // In order on their stream, within the profile, and the host's calls beside them.
        let launches: Vec<_> =
            profile.activities().iter().filter(|activity| matches!(activity.operation, Operation::Kernel(_))).collect();
        assert_eq!(launches.len(), 4);
        assert!(launches.iter().all(|launch| profile.stream(launch) == "default stream"));
        // Events are read with seven digits.
        let tolerance = profile.wall().div_f64(1e6);
        assert!(launches.windows(2).all(|pair| pair[0].start + pair[0].duration <= pair[1].start + tolerance));
        let end = launches[3].start + launches[3].duration;
        assert!(end <= profile.wall() && profile.busy() <= profile.wall(), "{profile}");
        let launched = profile.calls().iter().filter(|call| call.name == "launch a kernel");
        assert_eq!(launched.count(), 4);

        let text = profile.to_string();
        for part in ["saxpy", "scale", "copy device to host", "GB/s", "occupancy", "limited by", "launch a kernel"] {
            assert!(text.contains(part), "`{part}` is missing in {text}");
        }
        Ok(())
    });
}

#[test]
fn devices_may_end_before_the_profile() {
    alone(&[], || {
        let (result, profile) = profile(|| {
            let module = Device::new()?.load(PTX)?;
            let mut values = [1.0; 100];
            module.for_each(100, scale(2.0, &mut values))
        })?;
        result?;
        assert_eq!(profile.kernels().len(), 1);
        Ok(())
    });
}

#[test]
fn streams_have_rows_of_their_own() {
    alone(&[], || {
        let device = Device::new()?;
        let module = device.load(PTX)?;
        let (first, second) = (device.stream()?, device.stream()?);
        let (result, profile) = profile(|| {
            let (mut a, mut b) = (device.zeros::<f32>(64)?, device.zeros::<f32>(64)?);
            for stream in [&first, &second] {
                let buffer = if std::ptr::eq(stream, &first) { &mut a } else { &mut b };
                let config = rumba::LaunchConfig::new(1, 64).stream(stream);
                module.launch(config, scale(2.0, buffer))?;
            }
            device.synchronize()
        })?;
        result?;
        let kernels = profile.activities().iter();
        let kernels = kernels.filter(|activity| matches!(activity.operation, Operation::Kernel(_)));
        let names: Vec<&str> = kernels.map(|launch| profile.stream(launch)).collect();
        assert_eq!(names, ["stream 1", "stream 2"]);
        assert_eq!(profile.kernels().len(), 1, "one kernel, whatever the stream");
        Ok(())
    });
}

/// How often a kernel ran.
fn calls(profile: &Profile, kernel: &str) -> u64 {
    let rows = profile.kernels();
    rows.iter().filter(|row| row.name == kernel).map(|row| row.calls).sum()
}

#[test]
fn what_other_threads_do_is_not_in_it() {
    alone(&[], || {
        let device = Device::new()?;
        let module = device.load(PTX)?;
        let work = |factor: f32| module.for_each(100, scale(factor, &mut [1.0; 100]));
        let (result, profile): (rumba::Result<()>, _) = profile(|| {
            work(2.0)?;
            // Neither a thread that knows nothing of the profile, nor one that takes its own at the same time.
            thread::scope(|scope| {
                let own = scope.spawn(|| rumba::profile(|| work(3.0).and_then(|()| work(4.0))));
                let none = scope.spawn(|| {
                    let _range = range("of another thread");
                    work(5.0)
                });
                none.join().expect("it does not panic")?;
                let (result, inner) = own.join().expect("it does not panic")?;
                result?;
                assert_eq!(calls(&inner, "scale"), 2, "{inner}");
                Ok(())
            })
        })?;
        result?;
        assert_eq!(calls(&profile, "scale"), 1, "{profile}");
        assert_eq!((profile.copies().len(), profile.ranges().len()), (2, 0));
        // But it says that there was more: a copy in, a launch and a copy out at least.
        let text = profile.to_string();
        let count =
            text.split_once("without ").and_then(|(_, rest)| rest.split_once(" launches and copies of other threads"));
        let count: u64 = count.expect("the line is there").0.parse().expect("a number");
        assert!(count >= 3, "{text}");
        Ok(())
    });
}

#[test]
fn threads_that_work_for_the_program_are_in_it() {
    alone(&[], || {
        let devices = Device::all()?;
        let module = devices[0].load(PTX)?;
        let stream = devices[0].stream()?;
        let (result, profile): (rumba::Result<()>, _) = profile(|| {
            split(&devices, 100, |device, part| {
                let _range = range("part");
                device.load(PTX)?.for_each(part.len(), scale(2.0, &mut vec![1.0; part.len()]))
            })
            .map(drop)?;
            let (sender, receiver) = channel();
            stream.add_callback(move |_| {
                let done = module.for_each(10, scale(2.0, &mut [1.0; 10]));
                sender.send(done).expect("the test waits");
            })?;
            receiver.recv().expect("the callback runs")
        })?;
        result?;
        assert_eq!(calls(&profile, "scale"), devices.len() as u64 + 1, "{profile}");
        assert_eq!(profile.ranges().len(), devices.len());
        Ok(())
    });
}

#[test]
fn all_threads_are_in_a_profile_of_all() {
    alone(&[], || {
        // A shape that no other test launches: the profile may include work of other tests.
        const SHAPE: ([u32; 3], [u32; 3]) = ([7, 1, 1], [33, 1, 1]);
        let launches = |profile: &Profile| {
            let operations = profile.activities().iter().map(|activity| &activity.operation);
            let is_ours =
                |operation: &&Operation| matches!(operation, Operation::Kernel(it) if (it.grid, it.block) == SHAPE);
            operations.filter(is_ours).count()
        };
        let module = Device::new()?.load(PTX)?;
        let work = || module.launch((7, 33), scale(2.0, &mut [1.0; 7 * 33]));
        let profiler = Profiler::start_for_all_threads()?;
        work()?;
        thread::scope(|scope| {
            // A profile that a thread takes meanwhile has that thread's part.
            let thread = scope.spawn(|| profile(work));
            let (result, inner) = thread.join().expect("it does not panic")?;
            assert_eq!(launches(&inner), 1, "{inner}");
            result
        })?;
        let all = profiler.finish();
        assert_eq!(launches(&all), 2, "{all}");
        assert!(!all.to_string().contains("of other threads"), "{all}");
        Ok(())
    });
}

#[test]
fn ranges_are_named_and_nest() {
    alone(&[], || {
        let (value, profile) = profile(|| {
            let _outer = range("outer");
            let inner = range("inner");
            drop(inner);
            7
        })?;
        assert_eq!(value, 7);
        let [inner, outer] = profile.ranges() else { panic!("two ranges: {:?}", profile.ranges()) };
        assert_eq!((inner.name.as_str(), outer.name.as_str()), ("inner", "outer"));
        assert!(outer.start <= inner.start && inner.duration <= outer.duration);
        assert!(profile.to_string().contains("nothing ran on a device"));
        Ok(())
    });
}

#[test]
fn a_profile_within_a_profile() {
    alone(&[], || {
        let (inner, _) = profile(|| profile(|| ()))?;
        let Err(error) = inner else { panic!("they cannot nest") };
        assert!(matches!(error, Error::NestedProfile), "{error}");
        // Both have ended: the next one begins.
        drop(Profiler::start()?);
        let profiler = Profiler::start()?;
        assert!(profiler.finish().activities().is_empty());
        Ok(())
    });
}

#[test]
fn a_reset_takes_what_was_recorded_with_it() {
    alone(&[], || {
        // A device of its own, which only the software device has.
        if !Device::new()?.capacity()?.is_software() {
            return Ok(());
        }
        let (result, profile) = profile(|| {
            rumba::check(|device| {
                let module = device.load(PTX)?;
                let mut values = device.buffer_from(&[1.0_f32; 32])?;
                module.launch((1, 32), scale(2.0, &mut values))
            })
        })?;
        result?.assert_none();
        assert!(profile.kernels().iter().all(|row| row.name == "scale"));
        Ok(())
    });
}

#[test]
fn costs_become_rates() {
    alone(&[], || {
        let module = Device::new()?.load(PTX)?;
        let mut values = vec![1.0_f32; 10_000];
        let (result, mut profile) = profile(|| module.for_each(10_000, scale(2.0, &mut values)))?;
        result?;
        assert_eq!(profile.kernels()[0].rate(), None, "its cost was not stated");
        profile.set_cost("scale", Cost { bytes: 80_000, flops: 10_000 });
        let row = &profile.kernels()[0];
        let expected = 80_000.0 / row.total.as_secs_f64();
        assert!((row.rate().expect("it was said") / expected - 1.0).abs() < 1e-9);
        assert!(profile.to_string().contains("GFLOP/s"));
        Ok(())
    });
}

#[cfg(feature = "report")]
#[test]
fn files_can_be_read_by_those_they_are_for() {
    alone(&[], || {
        let device = Device::new()?;
        let module = device.load(PTX)?;
        let (result, mut profile) = profile(|| {
            let _range = range("a <range> & more");
            let mut values = vec![1.0_f32; 1000];
            module.for_each(1000, scale(2.0, &mut values))
        })?;
        result?;
        profile.set_cost("scale", Cost { bytes: 8000, flops: 1000 });
        let trace: serde_json::Value = serde_json::from_str(&profile.trace()).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("a list");
        let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
        assert_eq!((named("scale"), named("a <range> & more")), (1, 1));
        let spans = events.iter().filter(|event| event["ph"] == "X");
        assert!(spans.clone().count() >= 5, "a kernel, two copies, a range, calls");
        for span in spans {
            assert!(span["ts"].as_f64().is_some_and(|ts| ts >= 0.0) && span["dur"].is_f64(), "{span}");
        }

        let folder = tempfile::tempdir().expect("a folder");
        profile.save(folder.path(), Some(&device.measure()?))?;
        let read = |name: &str| {
            std::fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        assert!(read("profile.txt").contains("scale"));
        let page = read("profile.html");
        for part in ["<svg", "default stream", "a &lt;range&gt; &amp; more", "Roofline", "scale, "] {
            assert!(page.contains(part), "`{part}` is missing in the page");
        }
        assert!(read("roofline.svg").starts_with("<svg"));
        assert!(read("timeline.svg").starts_with("<svg"));
        let error = profile.save("/dev/null/nowhere", None).expect_err("no such folder");
        assert!(error.to_string().contains("/dev/null/nowhere"), "{error}");
        Ok(())
    });
}

/// A program that takes no profile of the whole, and one of a part.
#[test]
fn a_variable_asks_for_a_profile_of_the_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("of-%p").display().to_string();
    let counts = folder.path().join("counts.json");
    std::fs::write(&counts, COUNTS).expect("a file");
    let printed = alone(&[("RUMBA_PROFILE", &place), ("RUMBA_PROFILE_COUNTS", &counts.display().to_string())], || {
        let module = Device::new()?.load(PTX)?;
        let launch = |times: usize| (0..times).try_for_each(|_| module.for_each(1000, scale(2.0, &mut [1.0; 1000])));
        let (result, part) = profile(|| launch(1))?;
        result?;
        assert_eq!(part.kernels()[0].calls, 1);
        thread::scope(|scope| scope.spawn(|| launch(2)).join()).expect("no panic")?;
        println!("process {}", std::process::id());
        Ok(())
    });
    let Some(printed) = printed else { return };
    let process = printed.split("process ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("its number");
    let folder = folder.path().join(format!("of-{process}"));
    let text = std::fs::read_to_string(folder.join("profile.txt")).expect("the process has ended");
    let row = text.lines().find(|line| line.trim_start().starts_with("scale")).expect("it was launched");
    assert_eq!(row.split_whitespace().nth(1), Some("3"), "{text}");
    for file in ["profile.html", "trace.json", "timeline.svg", "roofline.svg"] {
        assert_eq!(folder.join(file).exists(), cfg!(feature = "report"), "{file}");
    }
}

/// The counts of a launch of `scale`.
const COUNTS: &str = r#"{"kernel":"scale","instructions":[{"instruction":"mul.rn.f32 %f2, %f1, %f3;","executions":32,"threads":1000,"global":null},{"instruction":"ld.global.f32 %f1, [%rd1];","executions":32,"threads":1000,"global":{"sectors":125}}]}"#;
