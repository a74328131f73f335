//! Arbitrary text: the parser returns a module or errors; a printed module parses again and prints as the same text.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let module = match rumba_ptx::parse(&text) {
        Ok(module) => module,
        Err(errors) => {
            let report = rumba_ptx::Report::new("fuzz.ptx", &text);
            for error in &errors {
                report.render(error);
            }
            report.short_log(&errors);
            return;
        }
    };
    let printed = module.to_string();
    match rumba_ptx::parse(&printed) {
        Ok(again) => assert_eq!(printed, again.to_string(), "printing is not stable"),
        Err(errors) => panic!("what was printed is refused: {errors:?}\n{printed}"),
    }
});
