//! Steps of a scenario: a call, the code it must answer, and what to do when it answers another.

use std::cell::RefCell;

use test_processes::alone;

thread_local! {
    static WRONG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Runs a scenario in a process of its own.
pub fn isolated(scenario: fn()) {
    alone(&[], || {
        // The steps that went wrong explain why a result is not what it should be.
        let outcome = std::panic::catch_unwind(scenario);
        let wrong = WRONG.take();
        assert!(wrong.is_empty(), "{} steps answered another code:\n{}", wrong.len(), wrong.join("\n"));
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        Ok(())
    });
}

/// Notes a step that answered another code than the one expected.
pub fn expect(expected: i32, answered: i32, step: &str, line: u32) {
    if answered != expected {
        let step = step.split_whitespace().collect::<Vec<_>>().join(" ");
        WRONG.with_borrow_mut(|wrong| wrong.push(format!("line {line}: {step} answers {answered}, not {expected}")));
    }
}

/// Whether the software device answers.
pub fn is_soft() -> bool {
    rumba_driver::device_kind() == Ok(rumba_driver::DeviceKind::Software)
}

/// Steps: `code => call;`, and `soft { steps }` for those that only the software device can take.
macro_rules! steps {
    () => {};
    (soft { $($step:tt)* } $($rest:tt)*) => {
        if crate::driver::walk::is_soft() {
            steps!($($step)*);
        }
        steps!($($rest)*);
    };
    ($code:expr => $call:expr; $($rest:tt)*) => {
        // SAFETY: the call is declared as in cuda.h; the scenario passes pointers to its own variables, or
        // invalid ones where the driver has to recognise them.
        #[allow(unused_unsafe, reason = "some steps compare results instead of calling")]
        let answered = unsafe { $call };
        crate::driver::walk::expect($code, answered, stringify!($call), line!());
        steps!($($rest)*);
    };
}
pub(crate) use steps;
