//! Waits for the device: what they say of a kernel that panicked.

use crate::base::error::{Code, Result};
use crate::context::Entered;
use crate::context::panics::{Waited, Waiting};

impl Entered<'_> {
    /// As [`Entered::check`], for a wait: a panic of a kernel that is now done is an error too.
    pub(crate) fn check_wait<T>(
        &self,
        waited: Waited,
        result: Result<T, Code>,
        operation: impl Fn() -> String,
    ) -> Result<T> {
        let value = self.check(result, &operation)?;
        match self.check(self.context.panics.take(waited), operation)? {
            None => Ok(value),
            Some(panic) => Err(panic.into()),
        }
    }

    /// As [`Entered::check_wait`], by a launch that waits for its own kernel.
    pub(crate) fn check_wait_of<T>(
        &self,
        launch: Option<&Waiting<'_>>,
        waited: Waited,
        result: Result<T, Code>,
        operation: impl Fn() -> String,
    ) -> Result<T> {
        let value = self.check(result, &operation)?;
        if let Some(launch) = launch
            && let Some(panic) = self.check(launch.panic(), &operation)?
        {
            return Err(panic.into());
        }
        self.check_wait(waited, Ok::<_, Code>(value), operation)
    }
}
