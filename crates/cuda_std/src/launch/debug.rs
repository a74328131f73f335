//! `Debug` of errors: what `main` and `unwrap` print.

use core::fmt;
use std::error::Error;
use std::string::ToString;

/// Gives errors a `Debug` that says what their `Display` says, and what their sources add to it: a program whose `main`
/// returns an error, or that unwraps one, then shows the sentence that was written for the person who runs it.
#[doc(hidden)]
#[macro_export]
macro_rules! __debug_as_display {
    ($($error:ty),* $(,)?) => {$(
        impl ::core::fmt::Debug for $error {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $crate::launch::tell(self, f)
            }
        }
    )*};
}

/// Writes an error, and what its sources say that it does not say itself.
#[doc(hidden)]
pub fn tell(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut said = error.to_string();
    f.write_str(&said)?;
    let mut source = error.source();
    while let Some(cause) = source {
        let text = cause.to_string();
        if !said.contains(&text) {
            write!(f, "\ncaused by: {text}")?;
            said.push_str(&text);
        }
        source = cause.source();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::io;

    #[derive(thiserror::Error)]
    #[error("cannot read the table")]
    struct Bare(#[source] io::Error);

    #[derive(thiserror::Error)]
    #[error("cannot read the table: {0}")]
    struct Telling(#[source] io::Error);

    crate::__debug_as_display!(Bare, Telling);

    #[test]
    fn debug_tells_each_thing_once() {
        let cause = || io::Error::other("the disk is full");
        assert_eq!(format!("{:?}", Bare(cause())), "cannot read the table\ncaused by: the disk is full");
        assert_eq!(format!("{:?}", Telling(cause())), "cannot read the table: the disk is full");
        let shape = crate::launch::ViewError::Elements { elements: 3, shape: std::vec![2, 2] };
        assert_eq!(format!("{shape:?}"), format!("{shape}"));
    }
}
