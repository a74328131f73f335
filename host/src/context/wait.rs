//! Waits for the device: what they say of a kernel that panicked, and of a group of ranks that ended.

use crate::base::error::{Code, Result};
use crate::context::Entered;
use crate::context::panics::Waiting;
use crate::context::users::Waited;

impl Entered<'_> {
    /// As [`Entered::check`], for a wait: a panic of a kernel that is now done is an error too, and the end of a group of ranks whose
    /// operations are among the work.
    pub(crate) fn check_wait<T>(
        &self,
        waited: Waited,
        result: Result<T, Code>,
        operation: impl Fn() -> String,
    ) -> Result<T> {
        let value = self.check(result, &operation)?;
        if let Some(panic) = self.check(self.context.panics.take(waited), operation)? {
            return Err(panic.into());
        }
        match self.context.failures.take(waited) {
            None => Ok(value),
            Some(error) => Err(error.into()),
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
